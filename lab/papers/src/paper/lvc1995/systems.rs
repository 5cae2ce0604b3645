//! The systems that the paper compares, each with the machine that it runs on.
//!
//! Y1. Systems on one testbed share its drive, its CPU and the number of its buffers. They differ in what a system
//!     is: layout, parameters of the volume, when it writes.
//! Y2. Sprite's two systems are ours on the machine of the earlier work (Table 1, right column). The paper has numbers
//!     of others there, and scales them by Table 2: so are ours.

use crate::Machine;
use ordofs::ondisk::superblock::newfs::Rotation;
use ordofs::schemes::Settings;
use ordofs::{AllocInit, LFS_SCHEME};

/// Which disk, with which machine around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Disk {
    /// The paper's.
    Theirs,
    /// A flash drive with power-loss protection, and a CPU of today.
    Today,
}

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct System {
    /// Its name in the claims.
    pub(super) key: &'static str,
    /// What it is, in one line.
    pub(super) what: &'static str,
    pub(super) scheme: &'static str,
    /// Blocks in a cluster.
    maxcontig: u32,
    /// Blocks of 8 KB between clusters.
    rotdelay: u32,
    /// Of the earlier work.
    sprite: bool,
    /// Clusters are moved to contiguous places before they are written (`doreallocblks`).
    reallocates: bool,
}

const fn lfs(key: &'static str, what: &'static str) -> System {
    System { key, what, scheme: LFS_SCHEME, maxcontig: 8, rotdelay: 0, sprite: false, reallocates: false }
}

const fn ffs(key: &'static str, what: &'static str, maxcontig: u32, rotdelay: u32) -> System {
    System { key, what, scheme: "sync", maxcontig, rotdelay, sprite: false, reallocates: false }
}

pub(super) const LFS: System = lfs("bsd-lfs", "the log of 4.4BSD");
pub(super) const M8R0: System = ffs("ffs-m8r0", "clusters of 64 KB, tuned for reading", 8, 0);
pub(super) const M8R2: System = ffs("ffs-m8r2", "clusters of 64 KB and a gap of two blocks, tuned for writing", 8, 2);
pub(super) const M1R2: System = ffs("ffs-m1r2", "no clusters, a gap of two blocks", 1, 2);
pub(super) const SPRITE: System = System { sprite: true, ..lfs("sprite-lfs", "a log on a Sun 4/260, scaled") };
pub(super) const SUN: System = System { sprite: true, ..ffs("sun-ffs", "no clusters, on a Sun 4/260, scaled", 1, 1) };

/// FFS as it can be varied, and that with reallocation, which the paper's systems did not have.
pub(super) const VARIED: [System; 8] = [
    M8R0,
    moving("ffs-m8r0+r", "the same, and clusters are reallocated", M8R0),
    M8R2,
    moving("ffs-m8r2+r", "the same, and clusters are reallocated", M8R2),
    ffs("ffs-m4r0", "clusters of 32 KB", 4, 0),
    moving("ffs-m4r0+r", "the same, and clusters are reallocated", ffs("", "", 4, 0)),
    ffs("ffs-m1r0", "no clusters, no gap", 1, 0),
    M1R2,
];

const fn moving(key: &'static str, what: &'static str, of: System) -> System {
    System { key, what, reallocates: true, ..of }
}

/// Those of section 3.
pub(super) const THREE: [System; 3] = [LFS, M8R0, M8R2];
/// Those of section 2.
pub(super) const VALIDATED: [System; 5] = [LFS, SPRITE, M1R2, M8R2, SUN];

const fn today(key: &'static str, what: &'static str, scheme: &'static str) -> System {
    System { scheme, ..ffs(key, what, 8, 0) }
}

/// The other ways to keep metadata in order, which the paper did not have.
pub(super) const BEYOND: [System; 7] = [
    LFS,
    M8R0,
    today("no-order", "no order: what order costs", "async"),
    today("soft-updates", "soft updates", "softupdates"),
    today("suj", "soft updates with an intent journal", "suj"),
    today("wafs", "a log of changes beside the volume", "wafs"),
    today("block-journal", "a journal of whole blocks", "block-journal"),
];

/// A block as FFS has it, in bytes; 4.4BSD's buffers are as large.
const BLOCK: u32 = 8192;

/// The drive of the earlier work.
pub(super) const SPRITE_DRIVE: &str = "cdc_wren_iv";
/// How much slower the CPU of a Sun 4/260 is: SPECint92, Table 1.
const SUN_4_260: f64 = 21.8 / 8.7;

impl System {
    pub(super) fn is_lfs(&self) -> bool {
        self.scheme == LFS_SCHEME
    }

    /// The settings of its scheme. 4.4BSD frees the fragments that a file has outgrown at once, as FreeBSD does.
    pub(super) fn settings(&self) -> Settings {
        let outgrown: &[&str] = if self.scheme == "sync" { &["moved-contents", "moved-fragment"] } else { &[] };
        let without = outgrown.iter().map(|rule| (*rule).to_owned()).collect();
        Settings { without, ..Settings::default() }
    }

    /// The BSD systems initialise only blocks of pointers and of names.
    pub(super) fn alloc_init(&self) -> Option<AllocInit> {
        (self.scheme == "sync").then_some(AllocInit::Directories)
    }

    /// Its machine, with blocks of `block` bytes.
    pub(super) fn machine(&self, disk: Disk, block: u32) -> Machine {
        match disk {
            Disk::Theirs => self.of_1995(block),
            Disk::Today => Machine::today("nvme_ssd_plp"),
        }
    }

    fn of_1995(&self, block: u32) -> Machine {
        let mut machine = Machine::of_1995();
        machine.shape.block = block;
        machine.shape.maxcontig = Some(self.maxcontig * BLOCK / block);
        machine.policy.cluster = self.maxcontig * BLOCK;
        machine.memory = machine.memory_for_bufs();
        machine.policy.reallocates = self.reallocates;
        if self.rotdelay > 0 {
            // A turn of 57 sectors takes 11.1 ms, 16 of them (a block) 3.1 ms.
            machine.shape.rotation = Some(Rotation { rotdelay_ms: 3 * self.rotdelay, rps: 90, nsect: 57 });
        }
        if self.is_lfs() {
            machine = machine.over_a_log();
        }
        if self.sprite {
            machine.drive = SPRITE_DRIVE.to_owned();
            machine.volume = Some(300 << 20);
            machine.costs = machine.costs.slower(SUN_4_260);
            // Neither system had clusters.
            machine.policy.read_ahead = u64::from(block);
        }
        machine
    }
}
