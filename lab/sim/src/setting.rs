//! What a run of the simulator can be set to, with the values of the paper's Table I.

use crate::sched::Scheduler;
use crate::volume::GROUP;
use std::ops::RangeInclusive;

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

/// A number that no system can be set to.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// A number of blocks.
    #[error("a {what} of {blocks} blocks; choose {least} to {most}")]
    Blocks {
        /// Journal, group or segment.
        what: &'static str,
        /// What was asked for.
        blocks: u32,
        /// The fewest.
        least: u32,
        /// And the most.
        most: u32,
    },
    /// Milliseconds between two commits.
    #[error("a commit every {ms} ms; choose 1 to 3600000")]
    Timer {
        /// What was asked for.
        ms: f64,
    },
    /// The part of a group that files fill.
    #[error("groups that are full to {part}; choose 0 to 1")]
    Full {
        /// What was asked for.
        part: f64,
    },
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
    /// Blocks of the journal of ext3. The active one uses it when no group has room.
    pub journal: u32,
    /// Blocks of an allocation group. What `active` takes for near when it learns stays the paper's group.
    pub group: u32,
    /// Blocks of a segment; `None` is the paper's, which differ.
    pub segment: Option<u32>,
    /// Whether the kernel reads ahead.
    pub prefetch: bool,
    /// Whether `active` learns.
    pub learns: bool,
}

impl Setting {
    /// Blocks that a journal may have: ext3's own limit.
    pub const JOURNAL: RangeInclusive<u32> = 16..=102_400;
    /// Blocks that a group may have: a block of its bitmap has no more bits.
    pub const GROUP: RangeInclusive<u32> = 8192..=32_768;
    /// Blocks that a segment may have: a summary, and at least as many more.
    pub const SEGMENT: RangeInclusive<u32> = 16..=32_768;

    /// Milliseconds that the timer may have.
    pub const TIMER_MS: RangeInclusive<f64> = 1.0..=3_600_000.0;

    /// Refuses what no system can be set to.
    pub(crate) fn checked(&self) -> Result<&Setting, SettingError> {
        let within = |what, blocks: u32, of: RangeInclusive<u32>| match of.contains(&blocks) {
            true => Ok(()),
            false => Err(SettingError::Blocks { what, blocks, least: *of.start(), most: *of.end() }),
        };
        within("journal", self.journal, Setting::JOURNAL)?;
        within("group", self.group, Setting::GROUP)?;
        within("segment", self.segment.unwrap_or(*Setting::SEGMENT.end()), Setting::SEGMENT)?;
        if !Setting::TIMER_MS.contains(&self.timer_ms) {
            return Err(SettingError::Timer { ms: self.timer_ms });
        }
        if !(0.0..=1.0).contains(&self.full) {
            return Err(SettingError::Full { part: self.full });
        }
        Ok(self)
    }
}

/// The cache of the paper's Table II, which is in MB of 2^20 bytes here.
const CACHE: u64 = 160 << 20;

impl Default for Setting {
    fn default() -> Setting {
        Setting {
            cache: CACHE,
            scheduler: Scheduler::Deadline,
            timer_ms: 5000.0,
            full: 0.9,
            journal: 8192,
            group: GROUP,
            segment: None,
            prefetch: false,
            learns: true,
        }
    }
}
