//! Encoding replies to the kernel.

use super::abi::{self, Dirent, EntryOut};
use bytes::Bytes;
use ordo_vfs::{Attr, DirEntry, Entry, NodeId, Stamp, StatFs};
use rustix::io::Errno;
use zerocopy::IntoBytes;

/// How long the kernel may cache names and attributes: practically for ever.
///
/// The server is the only writer, and every change passes through the kernel, which itself invalidates what the change
/// makes stale: both directories' attributes and the file's change time after link, unlink, rename and exchange; size,
/// blocks and times after write and fallocate; the access time after a read; the change time after setxattr. A removed
/// name is dropped, not cached as absent. So no timeout is needed. Changes that the kernel cannot see (flags set by
/// ioctl, set-user-id cleared by a write) are reported with [`Notice`].
const KEEP_SECS: u64 = 10 * 365 * 24 * 3600;

/// The reply to one request, without its header.
#[derive(Debug)]
pub enum Reply {
    /// No reply is sent: the kernel does not wait.
    Silent,
    /// Success, without data.
    Done,
    /// One structure, or several, or bytes.
    Bytes(Vec<u8>),
    /// Data in pieces that are sent without copying them together.
    Data(Vec<Bytes>),
    /// A node that counts as one lookup once the kernel has the reply.
    Entry(NodeId, Vec<u8>),
    /// A directory with the nodes that count as one lookup each.
    Listing(Vec<NodeId>, Vec<u8>),
}

/// A reply, or the number of an error.
pub type Answer = Result<Reply, Errno>;

/// A notification to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The cached attributes of this file (in the kernel's numbers) are stale.
    StaleAttributes(u64),
    /// All that is cached of this file is stale. The kernel writes first what it has not written, and takes the notice
    /// only when that is answered.
    Stale(u64),
}

impl Notice {
    /// Code and body of the message.
    pub fn encode(self) -> (i32, Vec<u8>) {
        let inval =
            |nodeid, off| (abi::NOTIFY_INVAL_INODE, abi::InvalInodeOut { nodeid, off, len: 0 }.as_bytes().to_vec());
        match self {
            // A negative offset: attributes only. Invalidating pages would take the file's lock, which the caller of
            // the current request may hold.
            Notice::StaleAttributes(nodeid) => inval(nodeid, -1),
            Notice::Stale(nodeid) => inval(nodeid, 0),
        }
    }
}

/// How files are presented: the numbers of nodes, and owners and permissions that the mount's options replace.
#[derive(Debug, Clone, Copy)]
pub struct Show {
    root: NodeId,
    /// Every file belongs to this user.
    uid: Option<u32>,
    /// Every file belongs to this group.
    gid: Option<u32>,
    /// Permission bits that are masked.
    umask: u16,
}

impl Show {
    /// Presents the files below `root` unchanged.
    pub fn new(root: NodeId) -> Show {
        Show { root, uid: None, gid: None, umask: 0 }
    }

    /// The same with owner, group and masked permissions as given.
    pub fn with(self, uid: Option<u32>, gid: Option<u32>, umask: u16) -> Show {
        Show { uid, gid, umask, ..self }
    }

    /// The kernel's number of a node: the root has 1, and the node that has 1 gets the root's. Its own inverse.
    pub fn swap(&self, number: u64) -> u64 {
        match number {
            n if n == self.root.0 => abi::ROOT_ID,
            abi::ROOT_ID => self.root.0,
            n => n,
        }
    }

    /// The node for the kernel's `number`.
    pub fn node(&self, number: u64) -> NodeId {
        NodeId(self.swap(number))
    }

    fn mode(&self, attr: &Attr) -> u32 {
        (attr.kind as u32) << 12 | u32::from(attr.mode.bits() & !self.umask)
    }

    fn attr(&self, attr: &Attr) -> abi::FileAttr {
        abi::FileAttr {
            ino: attr.ino,
            size: attr.size,
            blocks: attr.sectors,
            atime: attr.atime.secs,
            mtime: attr.mtime.secs,
            ctime: attr.ctime.secs,
            atimensec: attr.atime.nanos,
            mtimensec: attr.mtime.nanos,
            ctimensec: attr.ctime.nanos,
            mode: self.mode(attr),
            nlink: attr.nlink,
            uid: self.uid.unwrap_or(attr.uid),
            gid: self.gid.unwrap_or(attr.gid),
            // Both use Linux's encoding; the protocol has room for its lower half, like the kernel itself.
            rdev: attr.rdev as u32,
            blksize: attr.block_size,
            flags: 0,
        }
    }

    /// Reply to GETATTR and SETATTR.
    pub fn attr_out(&self, attr: &Attr) -> Vec<u8> {
        abi::AttrOut { attr_valid: KEEP_SECS, attr: self.attr(attr), ..Default::default() }.as_bytes().to_vec()
    }

    /// Reply to STATX.
    pub fn statx_out(&self, attr: &Attr) -> Vec<u8> {
        const BASIC_STATS: u32 = 0x7ff;
        const BTIME: u32 = 0x800;
        let time = |t: Stamp| abi::SxTime { secs: t.secs, nanos: t.nanos, reserved: 0 };
        let stat = abi::Statx {
            mask: BASIC_STATS | if attr.birth.is_some() { BTIME } else { 0 },
            blksize: attr.block_size,
            nlink: attr.nlink,
            uid: self.uid.unwrap_or(attr.uid),
            gid: self.gid.unwrap_or(attr.gid),
            mode: self.mode(attr) as u16,
            ino: attr.ino,
            size: attr.size,
            blocks: attr.sectors,
            atime: time(attr.atime),
            btime: time(attr.birth.unwrap_or_default()),
            ctime: time(attr.ctime),
            mtime: time(attr.mtime),
            rdev_major: rustix::fs::major(attr.rdev),
            rdev_minor: rustix::fs::minor(attr.rdev),
            ..Default::default()
        };
        abi::StatxOut { attr_valid: KEEP_SECS, stat, ..Default::default() }.as_bytes().to_vec()
    }

    fn entry_out(&self, entry: &Entry) -> EntryOut {
        EntryOut {
            nodeid: self.swap(entry.node.0),
            generation: u64::from(entry.attr.generation),
            entry_valid: KEEP_SECS,
            attr_valid: KEEP_SECS,
            attr: self.attr(&entry.attr),
            ..Default::default()
        }
    }

    /// Reply to LOOKUP and to operations that make a file.
    pub fn entry(&self, entry: &Entry) -> Reply {
        Reply::Entry(entry.node, self.entry_out(entry).as_bytes().to_vec())
    }

    /// Reply to TMPFILE: the file, and an open file without state.
    pub fn opened(&self, entry: &Entry) -> Reply {
        let mut bytes = self.entry_out(entry).as_bytes().to_vec();
        bytes.extend_from_slice(abi::OpenOut::default().as_bytes());
        Reply::Entry(entry.node, bytes)
    }
}

/// Reply to LOOKUP of a name that does not exist: unlike ENOENT, the kernel caches it.
pub fn absent() -> Reply {
    Reply::Bytes(EntryOut { entry_valid: KEEP_SECS, ..Default::default() }.as_bytes().to_vec())
}

/// Reply to STATFS.
pub fn statfs(space: &StatFs) -> Reply {
    let out = abi::StatfsOut {
        blocks: space.frags,
        bfree: space.free_frags,
        bavail: space.avail_frags,
        files: space.inodes,
        ffree: space.free_inodes,
        bsize: space.block_size,
        namelen: space.name_max,
        frsize: space.frag_size,
        ..Default::default()
    };
    Reply::Bytes(out.as_bytes().to_vec())
}

/// Bytes of an entry: head and name, up to a multiple of eight.
fn record_size(head: usize, name: &[u8]) -> usize {
    (head + name.len()).next_multiple_of(8)
}

/// An entry that waits for the lookup of its file.
#[derive(Debug)]
pub struct Kept {
    ino: u64,
    kind: u8,
    next: u64,
    /// The name.
    pub name: Box<[u8]>,
}

impl Kept {
    /// `.` and `..` are not looked up: the kernel counts no lookup for them.
    pub fn is_dot_or_dotdot(&self) -> bool {
        matches!(&*self.name, b"." | b"..")
    }
}

/// A reply to READDIR or READDIRPLUS, of at most the size that the kernel has room for.
#[derive(Debug)]
pub struct Listing {
    bytes: Vec<u8>,
    limit: usize,
}

impl Listing {
    /// Room for `limit` bytes.
    pub fn new(limit: u32) -> Listing {
        Listing { bytes: Vec::new(), limit: limit as usize }
    }

    /// Adds an entry; `false` if it does not fit.
    pub fn push(&mut self, entry: &DirEntry<'_>) -> bool {
        let size = record_size(size_of::<Dirent>(), entry.name);
        if self.bytes.len() + size > self.limit {
            return false;
        }
        self.dirent(entry.ino, entry.next, entry.kind, entry.name);
        true
    }

    fn dirent(&mut self, ino: u64, off: u64, kind: u8, name: &[u8]) {
        let start = self.bytes.len();
        let head = Dirent { ino, off, namelen: name.len() as u32, kind: u32::from(kind) };
        self.bytes.extend_from_slice(head.as_bytes());
        self.bytes.extend_from_slice(name);
        self.bytes.resize(start + record_size(size_of::<Dirent>(), name), 0);
    }

    /// Reserves room for `entry` with its attributes, and keeps it; `None` if it does not fit.
    pub fn reserve(&mut self, entry: &DirEntry<'_>) -> Option<Kept> {
        let size = record_size(size_of::<EntryOut>() + size_of::<Dirent>(), entry.name);
        // `limit` decreases when room is reserved; `bytes` grows only when `push_plus` uses it.
        self.limit = self.limit.checked_sub(size)?;
        Some(Kept { ino: entry.ino, kind: entry.kind, next: entry.next, name: entry.name.into() })
    }

    /// Adds an entry that [`Listing::reserve`] kept, with the result of its lookup; without it the kernel gets only the
    /// name.
    pub fn push_plus(&mut self, show: &Show, kept: &Kept, found: Option<&Entry>) {
        let out = found.map_or_else(EntryOut::default, |entry| show.entry_out(entry));
        self.bytes.extend_from_slice(out.as_bytes());
        self.dirent(kept.ino, kept.next, kept.kind, &kept.name);
    }

    /// The reply's bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// `bytes`, or only their number if the caller passed a buffer of size 0.
pub(crate) fn sized(bytes: &[u8], room: u32) -> Answer {
    if room == 0 {
        let size = u32::try_from(bytes.len()).map_err(|_| Errno::TOOBIG)?;
        return Ok(Reply::Bytes(abi::GetxattrOut { size, padding: 0 }.as_bytes().to_vec()));
    }
    if bytes.len() > room as usize {
        return Err(Errno::RANGE);
    }
    Ok(Reply::Bytes(bytes.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_vfs::{Kind, Mode};
    use zerocopy::FromBytes;

    #[test]
    fn the_size_alone_is_told_to_who_has_no_room() {
        assert!(matches!(sized(b"abc", 0), Ok(Reply::Bytes(b)) if b == [3, 0, 0, 0, 0, 0, 0, 0]));
        assert!(matches!(sized(b"abc", 3), Ok(Reply::Bytes(b)) if b == b"abc"));
        assert_eq!(sized(b"abc", 2).unwrap_err(), Errno::RANGE);
    }

    fn attr() -> Attr {
        let at = |secs| Stamp { secs, nanos: secs as u32 };
        Attr {
            ino: 4,
            generation: 7,
            kind: Kind::Regular,
            mode: Mode::new(0o4755),
            nlink: 2,
            uid: 10,
            gid: 20,
            rdev: 0,
            size: 1 << 40,
            sectors: 8,
            block_size: 32768,
            flags: 0,
            atime: at(1),
            mtime: at(2),
            ctime: at(3),
            birth: Some(at(4)),
        }
    }

    #[test]
    fn the_root_and_the_number_one_change_places() {
        let show = Show::new(NodeId(2));
        assert_eq!((show.swap(2), show.swap(1), show.swap(3)), (1, 2, 3));
        assert_eq!(show.node(1), NodeId(2));
    }

    #[test]
    fn an_entry_carries_generation_mode_and_times() {
        let Reply::Entry(NodeId(4), bytes) = Show::new(NodeId(2)).entry(&Entry { node: NodeId(4), attr: attr() })
        else {
            panic!("not an entry")
        };
        let out = EntryOut::read_from_bytes(&bytes).unwrap();
        assert_eq!((out.nodeid, out.generation, out.attr.mode), (4, 7, 0o104755));
        assert_eq!((out.attr.mtime, out.attr.mtimensec, out.attr.size), (2, 2, 1 << 40));
    }

    #[test]
    fn options_replace_owner_and_mask_permissions() {
        let show = Show::new(NodeId(2)).with(Some(1), Some(2), 0o4022);
        let out = abi::AttrOut::read_from_bytes(&show.attr_out(&attr())).unwrap();
        assert_eq!((out.attr.uid, out.attr.gid, out.attr.mode), (1, 2, 0o100755));
    }

    #[test]
    fn statx_has_the_birth_time_only_where_the_volume_has_it() {
        let show = Show::new(NodeId(2));
        let with = abi::StatxOut::read_from_bytes(&show.statx_out(&attr())).unwrap();
        assert_eq!((with.stat.mask, with.stat.btime.secs), (0xfff, 4));
        let without = abi::StatxOut::read_from_bytes(&show.statx_out(&Attr { birth: None, ..attr() })).unwrap();
        assert_eq!(without.stat.mask, 0x7ff);
    }

    #[test]
    fn a_listing_pads_names_and_stops_at_its_limit() {
        let mut listing = Listing::new(64);
        let entry = |name: &'static [u8]| DirEntry { ino: 3, kind: 8, next: 9, name };
        assert!(listing.push(&entry(b"abc")));
        assert!(listing.push(&entry(b"12345678")));
        assert!(!listing.push(&entry(b"x")));
        let bytes = listing.into_bytes();
        assert_eq!(bytes.len(), 64);
        assert_eq!(&bytes[24..32], b"abc\0\0\0\0\0");
    }

    #[test]
    fn a_listing_with_attributes_never_outgrows_its_room() {
        let mut listing = Listing::new(400);
        let entry = DirEntry { ino: 3, kind: 8, next: 9, name: b"abc" };
        let kept: Vec<Kept> = std::iter::from_fn(|| listing.reserve(&entry)).collect();
        assert_eq!(kept.len(), 2);
        kept.iter().for_each(|k| listing.push_plus(&Show::new(NodeId(2)), k, None));
        assert_eq!(listing.into_bytes().len(), 320);
    }
}
