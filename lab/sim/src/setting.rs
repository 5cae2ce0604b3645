//! What a run of the simulator can be set to, with the values of the paper's Table I.

use crate::sched::Scheduler;

/// What ext3 journals, and in which order data is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Data and metadata.
    Journal,
    /// Metadata, when the data is on the disk.
    Ordered,
    /// Metadata; data is written in no order.
    Writeback,
}

/// A file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// In place, written back by a timer.
    Ext2,
    /// In place, with a journal near the first group.
    Ext3(Mode),
    /// One log.
    Lfs,
    /// Data in place, metadata in a log in a partition behind it.
    DualFs,
    /// Data of larger files in place, the rest in a log in the middle of the disk.
    Hfs,
    /// A journal that writes near the head, and learns what is read together.
    Active,
    /// The same, but only the map of copies is checkpointed.
    ActiveVirtual,
}

impl System {
    /// Those that the paper compares.
    pub const SIX: [System; 6] =
        [System::Ext2, System::Ext3(Mode::Ordered), System::Lfs, System::DualFs, System::Hfs, System::Active];
    /// All of them.
    pub const ALL: [System; 9] = [
        System::Ext2,
        System::Ext3(Mode::Ordered),
        System::Ext3(Mode::Journal),
        System::Ext3(Mode::Writeback),
        System::Lfs,
        System::DualFs,
        System::Hfs,
        System::Active,
        System::ActiveVirtual,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            System::Ext2 => "ext2",
            System::Ext3(Mode::Ordered) => "ext3",
            System::Ext3(Mode::Journal) => "ext3-journal",
            System::Ext3(Mode::Writeback) => "ext3-writeback",
            System::Lfs => "lfs",
            System::DualFs => "dualfs",
            System::Hfs => "hfs",
            System::Active => "active",
            System::ActiveVirtual => "active-virtual",
        }
    }

    /// The system of that name.
    pub fn named(name: &str) -> Option<System> {
        System::ALL.into_iter().find(|system| system.name() == name)
    }
}

/// The parameters of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    /// Memory for pages and slabs, in bytes.
    pub cache: u64,
    /// Which request of the queue comes next.
    pub scheduler: Scheduler,
    /// Milliseconds between two write-backs or commits.
    pub timer_ms: f64,
    /// The part of each group that files may fill.
    pub full: f64,
    /// Whether `active` learns.
    pub learns: bool,
}

/// The cache of the paper's Table II, which is in MB of 2^20 bytes here.
const CACHE: u64 = 160 << 20;

impl Default for Setting {
    fn default() -> Setting {
        Setting { cache: CACHE, scheduler: Scheduler::Deadline, timer_ms: 5000.0, full: 0.9, learns: true }
    }
}
