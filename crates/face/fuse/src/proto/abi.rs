//! The structures of the FUSE protocol, version 7.40, as Linux declares them in `<linux/fuse.h>`.
//!
//! A1. All are native-endian: kernel and server run on one machine. Sizes are multiples of eight, otherwise a reply
//!     after them would be cut short; each is asserted below against the kernel's header.
//! A2. They are plain bytes without invariants: only [`super::request`] reads the ones that the kernel sends.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Major version of the protocol that the server supports.
pub const VERSION_MAJOR: u32 = 7;
/// Minor version. The newest message that the server answers is STATX, of 7.39; newer ones are announced by a flag.
pub const VERSION_MINOR: u32 = 40;
/// Minor version of the oldest kernel served: 7.31 (Linux 5.4) has everything that is not announced by a flag.
pub const VERSION_MINOR_LEAST: u32 = 31;
/// Number of the root directory.
pub const ROOT_ID: u64 = 1;

macro_rules! wire {
    ($($(#[$doc:meta])* struct $name:ident[$size:literal] { $($field:ident: $kind:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
        #[repr(C)]
        #[allow(missing_docs)]
        pub struct $name { $(pub $field: $kind,)* }
        const _: () = assert!(size_of::<$name>() == $size);
    )*};
}

wire! {
    /// The header of every request.
    struct InHeader[40] {
        len: u32, opcode: u32, unique: u64, nodeid: u64, uid: u32, gid: u32, pid: u32,
        total_extlen: u16, padding: u16,
    }
    /// The header of every reply and every notification (`unique` 0, the code in `error`).
    struct OutHeader[16] { len: u32, error: i32, unique: u64, }
    /// Attributes of a file.
    struct FileAttr[88] {
        ino: u64, size: u64, blocks: u64, atime: i64, mtime: i64, ctime: i64,
        atimensec: u32, mtimensec: u32, ctimensec: u32, mode: u32, nlink: u32, uid: u32, gid: u32, rdev: u32,
        blksize: u32, flags: u32,
    }
    /// Reply to LOOKUP and to all operations that make a file.
    struct EntryOut[128] {
        nodeid: u64, generation: u64, entry_valid: u64, attr_valid: u64, entry_valid_nsec: u32, attr_valid_nsec: u32,
        attr: FileAttr,
    }
    /// Reply to GETATTR and SETATTR.
    struct AttrOut[104] { attr_valid: u64, attr_valid_nsec: u32, padding: u32, attr: FileAttr, }
    /// A time in a STATX reply.
    struct SxTime[16] { secs: i64, nanos: u32, reserved: i32, }
    /// Attributes as statx(2) has them.
    struct Statx[256] {
        mask: u32, blksize: u32, attributes: u64, nlink: u32, uid: u32, gid: u32, mode: u16, spare0: u16,
        ino: u64, size: u64, blocks: u64, attributes_mask: u64,
        atime: SxTime, btime: SxTime, ctime: SxTime, mtime: SxTime,
        rdev_major: u32, rdev_minor: u32, dev_major: u32, dev_minor: u32, spare2: [u64; 14],
    }
    /// Arguments of STATX.
    struct StatxIn[24] { getattr_flags: u32, reserved: u32, fh: u64, sx_flags: u32, sx_mask: u32, }
    /// Reply to STATX.
    struct StatxOut[288] { attr_valid: u64, attr_valid_nsec: u32, flags: u32, spare: [u64; 2], stat: Statx, }
    /// Reply to STATFS.
    struct StatfsOut[80] {
        blocks: u64, bfree: u64, bavail: u64, files: u64, ffree: u64, bsize: u32, namelen: u32, frsize: u32,
        padding: u32, spare: [u32; 6],
    }
    /// Arguments of FORGET.
    struct ForgetIn[8] { nlookup: u64, }
    /// Arguments of BATCH_FORGET; `count` items follow.
    struct BatchForgetIn[8] { count: u32, dummy: u32, }
    /// One item of BATCH_FORGET.
    struct ForgetOne[16] { nodeid: u64, nlookup: u64, }
    /// Arguments of MKNOD; the name follows.
    struct MknodIn[16] { mode: u32, rdev: u32, umask: u32, padding: u32, }
    /// Arguments of MKDIR; the name follows.
    struct MkdirIn[8] { mode: u32, umask: u32, }
    /// Arguments of CREATE and TMPFILE; a name follows.
    struct CreateIn[16] { flags: u32, mode: u32, umask: u32, open_flags: u32, }
    /// Reply to OPEN; the second part of the reply to TMPFILE.
    struct OpenOut[16] { fh: u64, open_flags: u32, backing_id: i32, }
    /// Arguments of RENAME; two names follow.
    struct RenameIn[8] { newdir: u64, }
    /// Arguments of RENAME2; two names follow.
    struct Rename2In[16] { newdir: u64, flags: u32, padding: u32, }
    /// Arguments of LINK; the name follows.
    struct LinkIn[8] { oldnodeid: u64, }
    /// Arguments of SETATTR.
    struct SetattrIn[88] {
        valid: u32, padding: u32, fh: u64, size: u64, lock_owner: u64, atime: i64, mtime: i64, ctime: i64,
        atimensec: u32, mtimensec: u32, ctimensec: u32, mode: u32, unused4: u32, uid: u32, gid: u32, unused5: u32,
    }
    /// Arguments of READ, READDIR and READDIRPLUS.
    struct ReadIn[40] {
        fh: u64, offset: u64, size: u32, read_flags: u32, lock_owner: u64, flags: u32, padding: u32,
    }
    /// Arguments of WRITE; the data follows.
    struct WriteIn[40] {
        fh: u64, offset: u64, size: u32, write_flags: u32, lock_owner: u64, flags: u32, padding: u32,
    }
    /// Reply to WRITE.
    struct WriteOut[8] { size: u32, padding: u32, }
    /// Arguments of FSYNC and FSYNCDIR.
    struct FsyncIn[16] { fh: u64, fsync_flags: u32, padding: u32, }
    /// Arguments of SETXATTR with `SETXATTR_EXT`; name and value follow.
    struct SetxattrIn[16] { size: u32, flags: u32, setxattr_flags: u32, padding: u32, }
    /// Arguments of SETXATTR without it.
    struct SetxattrShortIn[8] { size: u32, flags: u32, }
    /// Arguments of GETXATTR (the name follows) and LISTXATTR.
    struct GetxattrIn[8] { size: u32, padding: u32, }
    /// Reply to GETXATTR and LISTXATTR when only the size was requested.
    struct GetxattrOut[8] { size: u32, padding: u32, }
    /// Arguments of INIT.
    struct InitIn[64] {
        major: u32, minor: u32, max_readahead: u32, flags: u32, flags2: u32, unused: [u32; 11],
    }
    /// Reply to INIT.
    struct InitOut[64] {
        major: u32, minor: u32, max_readahead: u32, flags: u32, max_background: u16, congestion_threshold: u16,
        max_write: u32, time_gran: u32, max_pages: u16, map_alignment: u16, flags2: u32, max_stack_depth: u32,
        request_timeout: u16, unused2: u16, unused: [u32; 5],
    }
    /// Arguments of INTERRUPT.
    struct InterruptIn[8] { unique: u64, }
    /// Arguments of FALLOCATE.
    struct FallocateIn[32] { fh: u64, offset: u64, length: u64, mode: u32, padding: u32, }
    /// Arguments of COPY_FILE_RANGE.
    struct CopyFileRangeIn[56] {
        fh_in: u64, off_in: u64, nodeid_out: u64, fh_out: u64, off_out: u64, len: u64, flags: u64,
    }
    /// Arguments of LSEEK.
    struct LseekIn[24] { fh: u64, offset: u64, whence: u32, padding: u32, }
    /// Reply to LSEEK.
    struct LseekOut[8] { offset: u64, }
    /// Arguments of IOCTL; `in_size` bytes follow.
    struct IoctlIn[32] { fh: u64, flags: u32, cmd: u32, arg: u64, in_size: u32, out_size: u32, }
    /// Reply to IOCTL; the data follows.
    struct IoctlOut[16] { result: i32, flags: u32, in_iovs: u32, out_iovs: u32, }
    /// `struct fsxattr` of FS_IOC_FSGETXATTR, without its trailing padding (`unused` holds it).
    struct FsXattr[28] { xflags: u32, extsize: u32, nextents: u32, projid: u32, cowextsize: u32, unused: [u32; 2], }
    /// A directory entry; the name follows, padded to eight bytes.
    struct Dirent[24] { ino: u64, off: u64, namelen: u32, kind: u32, }
    /// The contents of one entry of FUSE over io_uring, in either direction.
    struct UringEntry[32] { flags: u64, commit_id: u64, payload_size: u32, padding: u32, reserved: u64, }
    /// The command in a submission of FUSE over io_uring.
    struct UringCommand[24] { flags: u64, commit_id: u64, queue: u16, padding: [u8; 6], }
    /// Notification that the attributes (`off` negative) or pages of a file are stale.
    struct InvalInodeOut[24] { nodeid: u64, off: i64, len: i64, }
}

macro_rules! opcodes {
    ($($name:ident = $number:literal,)*) => {
        /// The operation of a request.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u32)]
        #[allow(missing_docs)]
        pub enum Opcode { $($name = $number,)* }

        impl Opcode {
            /// The operation of a number, or `None` for one that this version of the protocol does not have.
            pub fn from_number(number: u32) -> Option<Opcode> {
                match number {
                    $($number => Some(Opcode::$name),)*
                    _ => None,
                }
            }
        }
    };
}

opcodes! {
    Lookup = 1, Forget = 2, Getattr = 3, Setattr = 4, Readlink = 5, Symlink = 6, Mknod = 8, Mkdir = 9, Unlink = 10,
    Rmdir = 11, Rename = 12, Link = 13, Open = 14, Read = 15, Write = 16, Statfs = 17, Release = 18, Fsync = 20,
    Setxattr = 21, Getxattr = 22, Listxattr = 23, Removexattr = 24, Flush = 25, Init = 26, Opendir = 27, Readdir = 28,
    Releasedir = 29, Fsyncdir = 30, Getlk = 31, Setlk = 32, Setlkw = 33, Access = 34, Create = 35, Interrupt = 36,
    Bmap = 37, Destroy = 38, Ioctl = 39, Poll = 40, NotifyReply = 41, BatchForget = 42, Fallocate = 43,
    Readdirplus = 44, Rename2 = 45, Lseek = 46, CopyFileRange = 47, Setupmapping = 48, Removemapping = 49,
    Syncfs = 50, Tmpfile = 51, Statx = 52,
}

/// Flags of INIT, both halves in one number.
#[allow(missing_docs)]
pub mod init {
    pub const ASYNC_READ: u64 = 1 << 0;
    pub const EXPORT_SUPPORT: u64 = 1 << 4;
    pub const BIG_WRITES: u64 = 1 << 5;
    pub const DONT_MASK: u64 = 1 << 6;
    pub const HAS_IOCTL_DIR: u64 = 1 << 11;
    pub const DO_READDIRPLUS: u64 = 1 << 13;
    pub const READDIRPLUS_AUTO: u64 = 1 << 14;
    pub const ASYNC_DIO: u64 = 1 << 15;
    pub const WRITEBACK_CACHE: u64 = 1 << 16;
    pub const NO_OPEN_SUPPORT: u64 = 1 << 17;
    pub const PARALLEL_DIROPS: u64 = 1 << 18;
    pub const POSIX_ACL: u64 = 1 << 20;
    pub const MAX_PAGES: u64 = 1 << 22;
    pub const CACHE_SYMLINKS: u64 = 1 << 23;
    pub const NO_OPENDIR_SUPPORT: u64 = 1 << 24;
    pub const EXPLICIT_INVAL_DATA: u64 = 1 << 25;
    pub const HANDLE_KILLPRIV_V2: u64 = 1 << 28;
    pub const SETXATTR_EXT: u64 = 1 << 29;
    pub const INIT_EXT: u64 = 1 << 30;
    pub const OVER_IO_URING: u64 = 1 << 41;
}

/// Bits of [`SetattrIn::valid`].
#[allow(missing_docs)]
pub mod fattr {
    pub const MODE: u32 = 1 << 0;
    pub const UID: u32 = 1 << 1;
    pub const GID: u32 = 1 << 2;
    pub const SIZE: u32 = 1 << 3;
    pub const ATIME: u32 = 1 << 4;
    pub const MTIME: u32 = 1 << 5;
    pub const ATIME_NOW: u32 = 1 << 7;
    pub const MTIME_NOW: u32 = 1 << 8;
    pub const CTIME: u32 = 1 << 10;
    pub const KILL_SUIDGID: u32 = 1 << 11;
}

/// In [`WriteIn::write_flags`]: from the kernel's cache; the writer's call has already returned.
pub const WRITE_CACHE: u32 = 1 << 0;
/// In [`WriteIn::write_flags`]: the write must clear set-user-id and set-group-id.
pub const WRITE_KILL_SUIDGID: u32 = 1 << 2;
/// In [`FsyncIn::fsync_flags`]: the times need not become durable.
pub const FSYNC_DATA_ONLY: u32 = 1 << 0;
/// In [`SetxattrIn::setxattr_flags`]: setting the ACL must clear set-group-id.
pub const SETXATTR_ACL_KILL_SGID: u32 = 1 << 0;
/// Code of the notification that carries an [`InvalInodeOut`].
pub const NOTIFY_INVAL_INODE: i32 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn fields_lie_where_the_kernels_header_puts_them() {
        assert_eq!(offset_of!(InHeader, nodeid), 16);
        assert_eq!(offset_of!(InHeader, total_extlen), 36);
        assert_eq!(offset_of!(FileAttr, atimensec), 48);
        assert_eq!(offset_of!(FileAttr, blksize), 80);
        assert_eq!(offset_of!(EntryOut, attr), 40);
        assert_eq!(offset_of!(SetattrIn, atimensec), 56);
        assert_eq!(offset_of!(SetattrIn, uid), 76);
        assert_eq!(offset_of!(InitOut, max_pages), 28);
        assert_eq!(offset_of!(InitOut, flags2), 32);
        assert_eq!(offset_of!(StatxOut, stat), 32);
        assert_eq!(offset_of!(Statx, btime), 80);
        assert_eq!(offset_of!(Statx, rdev_major), 128);
        assert_eq!(offset_of!(Dirent, namelen), 16);
        assert_eq!(offset_of!(WriteIn, lock_owner), 24);
    }

    #[test]
    fn opcodes_are_found_by_their_number_and_gaps_are_not() {
        assert_eq!(Opcode::from_number(1), Some(Opcode::Lookup));
        assert_eq!(Opcode::from_number(52), Some(Opcode::Statx));
        for gap in [0, 7, 19, 53, 4096, 436_207_616, u32::MAX] {
            assert_eq!(Opcode::from_number(gap), None);
        }
    }
}
