//! The attributes of a file: all that is known besides its contents.

/// A moment as files carry it: seconds since 1970 (negative before it) and nanoseconds within that second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Stamp {
    /// Seconds since the start of 1970, UTC.
    pub secs: i64,
    /// Nanoseconds, below 1,000,000,000.
    pub nanos: u32,
}

/// The kind of a file. The numbers are those of `mode >> 12` and of the type byte in a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Kind {
    Fifo = 1,
    CharDevice = 2,
    Directory = 4,
    BlockDevice = 6,
    Regular = 8,
    Symlink = 10,
    Socket = 12,
}

impl Kind {
    /// The kind in the upper four bits of a mode, or `None` if they are not one.
    pub fn from_bits(bits: u16) -> Option<Kind> {
        Some(match bits {
            1 => Kind::Fifo,
            2 => Kind::CharDevice,
            4 => Kind::Directory,
            6 => Kind::BlockDevice,
            8 => Kind::Regular,
            10 => Kind::Symlink,
            12 => Kind::Socket,
            _ => return None,
        })
    }

    /// `true` for character and block devices.
    pub fn is_device(self) -> bool {
        matches!(self, Kind::CharDevice | Kind::BlockDevice)
    }
}

/// Permission bits (`0o7777`), without the kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mode(u16);

impl Mode {
    /// The low twelve bits of `bits`.
    pub fn new(bits: u32) -> Mode {
        Mode((bits & 0o7777) as u16)
    }

    /// The bits, at most `0o7777`.
    pub fn bits(self) -> u16 {
        self.0
    }
}

/// The attributes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attr {
    /// The number that `stat` shows.
    pub ino: u64,
    /// Generation of the inode: differs when the number is used again.
    pub generation: u32,
    /// What it is.
    pub kind: Kind,
    /// Permission bits.
    pub mode: Mode,
    /// Number of names, as callers see it: removals that are not durable yet are already counted.
    pub nlink: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Device number, in Linux's encoding, for devices; else 0.
    pub rdev: u64,
    /// Bytes.
    pub size: u64,
    /// Allocated space in units of 512 bytes, indirect blocks and attributes included.
    pub sectors: u64,
    /// Preferred size of a transfer, in bytes.
    pub block_size: u32,
    /// BSD file flags (`UF_*`, `SF_*`).
    pub flags: u32,
    /// Last read.
    pub atime: Stamp,
    /// Last change of contents.
    pub mtime: Stamp,
    /// Last change of anything.
    pub ctime: Stamp,
    /// Creation; `None` where the format has no place for it (UFS1).
    pub birth: Option<Stamp>,
}

/// A time to be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetTime {
    /// The volume's own clock.
    Now,
    /// This moment.
    At(Stamp),
}

/// What [`crate::FileSystem::setattr`] changes; `None` leaves a field as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct SetAttr {
    pub mode: Option<Mode>,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    pub size: Option<u64>,
    pub atime: Option<SetTime>,
    pub mtime: Option<SetTime>,
    /// Set by a kernel that keeps times itself; otherwise any change sets it to now.
    pub ctime: Option<SetTime>,
    pub birth: Option<Stamp>,
    /// BSD file flags.
    pub flags: Option<u32>,
    /// Changes nothing, and is refused with [`crate::Refusal::Changed`], if the file's ctime is another one. The time
    /// is compared when nothing else can change the file any more.
    pub if_ctime: Option<Stamp>,
}

/// The space of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StatFs {
    /// Unit of allocation in bytes (a fragment); the unit of the three counts below.
    pub frag_size: u32,
    /// Preferred size of a transfer in bytes (a block).
    pub block_size: u32,
    /// Fragments that can hold data.
    pub frags: u64,
    /// Free fragments, including space that is being freed.
    pub free_frags: u64,
    /// Free fragments above the reserve (`minfree`): what a user without privilege can have.
    pub avail_frags: u64,
    /// Inodes.
    pub inodes: u64,
    /// Free inodes.
    pub free_inodes: u64,
    /// Longest name in bytes.
    pub name_max: u32,
}
