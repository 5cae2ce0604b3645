//! How far the reclaim is, for callers.

/// The present phase of the scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// There is nothing to do: the volume was clean.
    #[default]
    Idle,
    /// It scans the inodes.
    Inodes,
    /// It scans the tree.
    Names,
    /// It frees inodes, and lowers link counts.
    FreeInodes,
    /// It frees blocks.
    FreeBlocks,
    /// Everything that had leaked is free.
    Done,
    /// It was stopped by an unmount.
    Stopped,
    /// It found damage, or could not go on.
    Failed,
}

impl Phase {
    /// Its name, one word.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Idle => "idle",
            Phase::Inodes => "inodes",
            Phase::Names => "names",
            Phase::FreeInodes => "free-inodes",
            Phase::FreeBlocks => "free-blocks",
            Phase::Done => "done",
            Phase::Stopped => "stopped",
            Phase::Failed => "failed",
        }
    }

    /// The scan has ended.
    pub fn is_over(self) -> bool {
        matches!(self, Phase::Idle | Phase::Done | Phase::Stopped | Phase::Failed)
    }
}

/// The progress of the scan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// The present phase.
    pub phase: Phase,
    /// Inodes seen so far.
    pub inodes: u64,
    /// Inodes to see: those in use at the mount.
    pub of: u64,
    /// Directories scanned so far.
    pub directories: u64,
    /// Inodes freed.
    pub inodes_freed: u64,
    /// Link counts lowered.
    pub links_lowered: u64,
    /// Removed names of directories that had a second one.
    pub names_removed: u64,
    /// Inodes whose size or count of blocks was repaired.
    pub inodes_mended: u64,
    /// Fragments freed, except those of inodes that were freed.
    pub frags_freed: u64,
    /// Why it failed.
    pub failure: Option<String>,
}
