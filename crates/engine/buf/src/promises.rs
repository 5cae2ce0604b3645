//! What a scheme promises: what survives a power cut, and what one may leave behind.

/// What a promise means: after which event the effect of a call survives a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Durable {
    /// When the call returns.
    OnReturn,
    /// After fsync of the file or directory.
    AfterFsync,
    /// After a sync of the volume.
    AfterSync,
}

/// What a power cut may leave behind, from the best to the worst. Each includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CrashLeaves {
    /// Nothing that needs repair.
    Nothing,
    /// Space and inodes that are marked used and are free; link counts that are too high. The volume is safe to write
    /// at once; only that space is lost, until a check (McKusick and Ganger 1999: what soft updates leaves).
    Leaks,
    /// Stale maps and counts, wrong in both directions: a fragment in use may be marked free. Link counts that are too
    /// high, and files without a name. `fsck -p` repairs all of it without loss. It must run before the volume is
    /// written: an allocation from the stale maps would give one fragment to two files.
    Counts,
    /// A volume that is useless without its log, which holds all that is missing. The next mount, or `fsck -p`, replays
    /// the log; then there is nothing to repair.
    Log,
    /// Anything. `fsck -y` may lose files.
    Anything,
}

/// The promises of a scheme. The crash explorer checks them, and the documents are made from them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promises {
    /// A name made by create, mkdir, symlink, link or rename.
    pub name_added: Durable,
    /// A name removed by unlink, rmdir or rename.
    pub name_removed: Durable,
    /// Contents of files.
    pub data: Durable,
    /// Mode, owner, flags, times, and extended attributes with the access control lists among them.
    pub attributes: Durable,
    /// fsync of a new file makes its name durable, too.
    pub fsync_covers_name: bool,
    /// After a crash a renamed file has its old name or its new one, never neither. While two names are exchanged, one
    /// of the files has a third name beside them, which a crash may leave unless the names are of one moment. A
    /// directory that replaces an empty one has two names for a while, which no directory may have: a crash then leaves
    /// only its old name, and the empty directory is gone.
    pub rename_never_loses: bool,
    /// After a crash all names are those of one moment of the volume's history. A call that makes, moves or removes
    /// names has happened as a whole or not at all: never a rename with both names. If a call has happened, so have all
    /// calls that returned before it began. This says nothing about contents and attributes.
    pub names_of_a_moment: bool,
    /// What was durable stays durable, whatever happens to the same file later. Without an order, a block that moves,
    /// or an inode written before its blocks, loses old contents.
    pub durable_stays: bool,
    /// What a crash may leave.
    pub crash_leaves: CrashLeaves,
    /// A file never shows bytes of another file.
    pub no_stale_data: bool,
    /// A crashed volume may be mounted read-write at once.
    pub mount_at_once: bool,
    /// The rules behind the scheme's order: name and text.
    pub rules: Vec<(&'static str, &'static str)>,
}
