//! Random operations from a seed: few names, so that operations interact; offsets at which the layout of a UFS file
//! changes.

use super::{Features, Op};
use ordo_rt::Rng;
use ordo_vfs::{FallocMode, Kind, RenameMode, Whence, XattrMode};
use std::collections::VecDeque;

/// The names and sizes that operations use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// Names that are mostly directories.
    pub dirs: Vec<String>,
    /// Names that are mostly files.
    pub files: Vec<String>,
    /// Approximate largest number of slashes in a path.
    pub depth: u64,
    /// Sizes of a block and of a fragment, in bytes: at their multiples the layout of a file changes.
    pub block: u64,
    /// See `block`.
    pub frag: u64,
    /// Largest offset that is written or truncated to.
    pub max_offset: u64,
    /// Most bytes of one transfer.
    pub max_transfer: u64,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape {
            dirs: ["d", "e", "g", "h"].map(str::to_owned).to_vec(),
            files: ["a", "b", "c", "f", "m".repeat(60).as_str(), "l".repeat(255).as_str()].map(str::to_owned).to_vec(),
            depth: 3,
            block: 4096,
            frag: 512,
            max_offset: 1 << 32,
            max_transfer: 1 << 17,
        }
    }
}

/// Slots that operations hold files in: the lower ones by `Open`, the last by `Tmpfile`.
const OPEN_SLOTS: u64 = 3;
const TMPFILE_SLOT: u8 = 3;

/// Direct pointers of an inode.
const DIRECT: u64 = 12;

/// The kinds of operations, with frequencies per thousand.
#[derive(Debug, Clone, Copy)]
enum What {
    Create,
    Mknod,
    Mkdir,
    Symlink,
    Link,
    LinkTmpfile,
    Unlink,
    Rmdir,
    Rename,
    Tmpfile,
    Open,
    Close,
    Write,
    Read,
    Truncate,
    Fallocate,
    Seek,
    Readdir,
    Readlink,
    Stat,
    Chmod,
    Chown,
    SetTime,
    SetFlags,
    SetXattr,
    SetAcl,
    GetXattr,
    ListXattr,
    RemoveXattr,
    Fsync,
    Sync,
}

const WEIGHTS: [(u64, What); 31] = [
    (100, What::Create),
    (15, What::Mknod),
    (80, What::Mkdir),
    (25, What::Symlink),
    (50, What::Link),
    (8, What::LinkTmpfile),
    (70, What::Unlink),
    (30, What::Rmdir),
    (120, What::Rename),
    (8, What::Tmpfile),
    (30, What::Open),
    (20, What::Close),
    (130, What::Write),
    (50, What::Read),
    (55, What::Truncate),
    (40, What::Fallocate),
    (20, What::Seek),
    (25, What::Readdir),
    (8, What::Readlink),
    (25, What::Stat),
    (20, What::Chmod),
    (12, What::Chown),
    (10, What::SetTime),
    (12, What::SetFlags),
    (20, What::SetXattr),
    (8, What::SetAcl),
    (8, What::GetXattr),
    (6, What::ListXattr),
    (8, What::RemoveXattr),
    (8, What::Fsync),
    (2, What::Sync),
];

/// An endless list of operations; the same for the same arguments.
#[derive(Debug, Clone)]
pub struct Generator {
    rng: Rng,
    shape: Shape,
    features: Features,
    /// Paths that were to be created lately, directories and others: they are likely to exist.
    dirs: VecDeque<String>,
    files: VecDeque<String>,
}

/// Number of paths remembered of either kind.
const RECENT: usize = 12;

impl Generator {
    /// Operations that use `features` only.
    pub fn new(seed: u64, shape: Shape, features: Features) -> Generator {
        Generator { rng: Rng::new(seed), shape, features, dirs: VecDeque::new(), files: VecDeque::new() }
    }

    fn what(&mut self) -> What {
        let mut at = self.rng.below(WEIGHTS.iter().map(|(weight, _)| weight).sum());
        for (weight, what) in WEIGHTS {
            match at.checked_sub(weight) {
                Some(rest) => at = rest,
                None => return what,
            }
        }
        What::Sync
    }

    /// The path of a directory, or of something else; often one that is likely to exist.
    fn path(&mut self, dir: bool) -> String {
        // Now and then the other kind, to test refusals.
        let dir = dir != self.rng.chance(8, 100);
        let recent = if dir { &self.dirs } else { &self.files };
        if recent.is_empty() || self.rng.chance(35, 100) {
            return self.new_path(dir);
        }
        recent[self.rng.below(recent.len() as u64) as usize].clone()
    }

    /// A path at which to create a directory or something else.
    fn new_path(&mut self, dir: bool) -> String {
        let mut path = match self.rng.below(20) {
            0 => format!("@{}/", self.rng.below(OPEN_SLOTS)),
            1 => format!("{}/", self.rng.pick(&self.shape.dirs)),
            2..12 if !self.dirs.is_empty() => {
                format!("{}/", self.dirs[self.rng.below(self.dirs.len() as u64) as usize])
            }
            _ => String::new(),
        };
        if self.rng.chance(3, 100) {
            path.push_str("../");
        }
        if path.matches('/').count() as u64 > self.shape.depth {
            path.clear();
        }
        let names = if dir { &self.shape.dirs } else { &self.shape.files };
        path + self.rng.pick(names).as_str()
    }

    /// Remembers that a path will probably exist.
    fn remember(&mut self, path: &str, dir: bool) {
        let recent = if dir { &mut self.dirs } else { &mut self.files };
        if !path.starts_with('@') && !recent.iter().any(|known| known == path) {
            recent.push_back(path.to_owned());
            if recent.len() > RECENT {
                recent.pop_front();
            }
        }
    }

    /// Drops a path that will probably be removed, and returns it.
    fn gone(&mut self, path: String) -> String {
        self.dirs.retain(|known| *known != path);
        self.files.retain(|known| *known != path);
        path
    }

    /// A file to work on: by path, or held.
    fn file(&mut self) -> String {
        match self.rng.below(10) {
            0 => format!("@{}", self.rng.below(OPEN_SLOTS)),
            1 if self.features.tmpfile && self.rng.chance(50, 100) => format!("@{TMPFILE_SLOT}"),
            _ => self.path(false),
        }
    }

    /// Any path.
    fn any(&mut self) -> String {
        if self.rng.chance(30, 100) { self.path(true) } else { self.file() }
    }

    /// An offset, often at an edge: of a fragment or block, of the direct blocks, of an indirect level.
    fn offset(&mut self) -> u64 {
        let (block, frag) = (self.shape.block, self.shape.frag);
        let pointers = block / if self.rng.chance(50, 100) { 8 } else { 4 };
        let edge = match self.rng.below(12) {
            0..3 => 0,
            3 => frag * self.rng.below(16),
            4..6 => block * self.rng.below(DIRECT + 4),
            6 => block * DIRECT,
            7 => block * (DIRECT + pointers),
            8 => block.saturating_mul(DIRECT + pointers + pointers * pointers),
            9 => self.rng.below(block * 4),
            _ => self.rng.below(block * (DIRECT + 2)),
        };
        let near = match self.rng.below(4) {
            0 => self.rng.below(frag),
            1 => (block - 1).saturating_sub(self.rng.below(3)),
            _ => 0,
        };
        let back = if self.rng.chance(20, 100) { self.rng.below(frag + 1) } else { 0 };
        edge.saturating_add(near).saturating_sub(back).min(self.shape.max_offset)
    }

    /// A length of a transfer, at least 1.
    fn len(&mut self) -> u64 {
        let (block, frag) = (self.shape.block, self.shape.frag);
        let len = match self.rng.below(7) {
            0 => 1,
            1 => self.rng.within(1, 100),
            2 => self.rng.within(frag - 1, frag + 1),
            3 => self.rng.within(block - 1, block + 1),
            4 => frag * self.rng.within(1, 8),
            5 => block * self.rng.within(1, 4),
            _ => self.rng.within(1, block * 16),
        };
        len.clamp(1, self.shape.max_transfer)
    }

    fn xattr_name(&mut self) -> String {
        let trusted = self.features.trusted && self.rng.chance(20, 100);
        format!("{}.{}", if trusted { "trusted" } else { "user" }, self.rng.pick(&["x", "y", "longer-name"]))
    }

    fn mode(&mut self) -> u32 {
        let mode = *self.rng.pick(&[0o644, 0o600, 0o755, 0o777, 0o640, 0o444]);
        // A caller who may not give files away is not a superuser either, and would lose access.
        if self.features.owners { mode } else { mode | 0o700 }
    }

    /// The operation, or `None` where the features do not allow it.
    fn build(&mut self, what: What) -> Option<Op> {
        match what {
            What::Create | What::Mknod | What::Mkdir | What::Symlink | What::Link | What::LinkTmpfile => {
                self.build_new(what)
            }
            What::Write | What::Read | What::Truncate | What::Fallocate | What::Seek | What::Fsync => {
                self.build_contents(what)
            }
            What::Chmod | What::Chown | What::SetTime | What::SetFlags => self.build_attributes(what),
            What::SetXattr | What::SetAcl | What::GetXattr | What::ListXattr | What::RemoveXattr => {
                self.build_xattr(what)
            }
            What::Unlink => {
                let path = self.path(false);
                Some(Op::Unlink { path: self.gone(path) })
            }
            What::Rmdir => {
                let path = self.path(true);
                Some(Op::Rmdir { path: self.gone(path) })
            }
            What::Rename => Some(self.build_rename()),
            What::Tmpfile if self.features.tmpfile => {
                // Not in a held directory: it is unspecified whether a removed one still accepts such files.
                let path =
                    if self.rng.chance(50, 100) { self.rng.pick(&self.shape.dirs).clone() } else { "/".to_owned() };
                Some(Op::Tmpfile { slot: TMPFILE_SLOT, path, mode: self.mode() })
            }
            What::Tmpfile => None,
            What::Open => {
                let mostly_dir = self.rng.chance(40, 100);
                Some(Op::Open { slot: self.rng.below(OPEN_SLOTS) as u8, path: self.path(mostly_dir) })
            }
            What::Close => Some(Op::Close { slot: self.rng.below(OPEN_SLOTS + 1) as u8 }),
            What::Readdir => {
                let path = if self.rng.chance(20, 100) { String::from("/") } else { self.path(true) };
                Some(Op::Readdir { path, batch: self.rng.within(1, 5) as u32 })
            }
            What::Readlink => Some(Op::Readlink { path: self.path(false) }),
            What::Stat => Some(Op::Stat { path: self.any() }),
            What::Sync => Some(Op::Sync),
        }
    }

    fn build_new(&mut self, what: What) -> Option<Op> {
        let dir = matches!(what, What::Mkdir);
        let path = self.new_path(dir);
        self.remember(&path, dir);
        let mode = self.mode();
        Some(match what {
            What::Mkdir => Op::Mkdir { path, mode: mode | 0o700 },
            What::Mknod => {
                let kinds = [Kind::Regular, Kind::Fifo, Kind::Socket, Kind::CharDevice, Kind::BlockDevice];
                let kind = *self.rng.pick(if self.features.devices { &kinds } else { &kinds[..3] });
                let rdev = if kind.is_device() { self.rng.pick(&[259, 2049, 0x0010_0203, 0x00ab_cdef]) } else { &0 };
                Op::Mknod { path, kind, mode, rdev: *rdev }
            }
            What::Symlink => {
                // Around the longest that fits into an inode of either format (60 and 120), and the longest of all.
                let len = *self.rng.pick(&[1, 59, 60, 61, 119, 120, 121, 500, 1023]);
                Op::Symlink { path, target: "t".repeat(len) }
            }
            What::Link => {
                let kind = self.rng.chance(10, 100);
                Op::Link { path: self.path(kind), to: path }
            }
            What::LinkTmpfile if !self.features.tmpfile => return None,
            What::LinkTmpfile => Op::Link { path: format!("@{TMPFILE_SLOT}"), to: path },
            _ => Op::Create { path, mode },
        })
    }

    fn build_rename(&mut self) -> Op {
        let as_dir = self.rng.chance(50, 100);
        let modes: &[RenameMode] = &[
            RenameMode::Replace,
            RenameMode::Replace,
            RenameMode::Replace,
            RenameMode::NoReplace,
            RenameMode::Exchange,
        ];
        let mode = *self.rng.pick(if self.features.exchange { modes } else { &modes[..4] });
        let path = self.path(as_dir);
        let to = if self.rng.chance(50, 100) { self.new_path(as_dir) } else { self.path(as_dir) };
        let path = self.gone(path);
        self.remember(&to, as_dir);
        Op::Rename { path, to, mode }
    }

    fn build_contents(&mut self, what: What) -> Option<Op> {
        let path = self.file();
        let offset = self.offset();
        Some(match what {
            What::Write => Op::Write { path, offset, len: self.len() as u32, seed: self.rng.below(1000) },
            What::Read => Op::Read { path, offset, len: self.len() as u32 },
            What::Truncate => Op::Truncate { path, size: offset },
            What::Seek => Op::Seek { path, offset, whence: *self.rng.pick(&[Whence::Data, Whence::Hole]) },
            What::Fsync => Op::Fsync { path, data_only: self.rng.chance(50, 100) },
            _ => {
                let keep_size = self.rng.chance(40, 100);
                let mode = match self.rng.below(4) {
                    0 | 1 if self.features.punch => FallocMode::PunchHole,
                    2 if self.features.zero_range => FallocMode::ZeroRange { keep_size },
                    _ if self.features.allocate => FallocMode::Allocate { keep_size },
                    _ => return None,
                };
                Op::Fallocate { path, offset, len: self.len(), mode }
            }
        })
    }

    fn build_attributes(&mut self, what: What) -> Option<Op> {
        let path = self.any();
        Some(match what {
            What::Chmod => {
                let group_id = if self.rng.chance(30, 100) { 0o2000 } else { 0 };
                Op::Chmod { path, mode: self.mode() | 0o600 | group_id }
            }
            What::Chown if self.features.owners => {
                Op::Chown { path, uid: self.rng.below(3) as u32 * 500, gid: self.rng.below(3) as u32 * 500 }
            }
            What::SetTime => {
                let secs = *self.rng.pick(&[0, 1, 1_000_000_000, i64::from(i32::MAX)]);
                Op::SetTime { path, secs, nanos: self.rng.below(1_000_000_000) as u32 }
            }
            What::SetFlags if self.features.flags != 0 => {
                // Mostly cleared, or in the end no file could be changed any more.
                let bits: Vec<u32> = (0..32).map(|bit| 1 << bit).filter(|bit| self.features.flags & bit != 0).collect();
                let flags = if self.rng.chance(30, 100) { *self.rng.pick(&bits) } else { 0 };
                Op::SetFlags { path, flags }
            }
            _ => return None,
        })
    }

    fn build_xattr(&mut self, what: What) -> Option<Op> {
        let path = self.any();
        let (xattrs, acls) = (self.features.xattrs, self.features.acls);
        Some(match what {
            What::SetXattr if xattrs => {
                let len = *self.rng.pick(&[0, 1, 10, 100, 300]);
                let mode = *self.rng.pick(&[XattrMode::Set, XattrMode::Set, XattrMode::Create, XattrMode::Replace]);
                Op::SetXattr { path, name: self.xattr_name(), len, seed: self.rng.below(1000), mode }
            }
            What::SetAcl if acls => {
                let user = self.rng.below(3) as u32 * 500;
                Op::SetAcl { path, default: self.rng.chance(50, 100), mode: self.mode(), user }
            }
            What::GetXattr if xattrs => Op::GetXattr { path, name: self.xattr_name() },
            What::ListXattr if xattrs => Op::ListXattr { path },
            What::RemoveXattr if acls && self.rng.chance(30, 100) => {
                let which = self.rng.pick(&["access", "default"]);
                Op::RemoveXattr { path, name: format!("system.posix_acl_{which}") }
            }
            What::RemoveXattr if xattrs => Op::RemoveXattr { path, name: self.xattr_name() },
            _ => return None,
        })
    }
}

impl Iterator for Generator {
    type Item = Op;

    fn next(&mut self) -> Option<Op> {
        loop {
            let what = self.what();
            if let Some(op) = self.build(what) {
                return Some(op);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Outcome, Player};
    use ordo_model::{MemFs, ready};
    use ordo_vfs::Caller;
    use std::collections::BTreeMap;

    #[test]
    fn every_operation_happens_now_and_then_and_a_third_of_all_do() {
        let mut done = BTreeMap::<String, u64>::new();
        let mut total = 0;
        for seed in 0..10 {
            let fs = MemFs::timeless();
            let mut player = Player::new(&fs, Caller::default());
            for op in Generator::new(seed, Shape::default(), Features::all()).take(2000) {
                let happened = !matches!(ready(player.apply(&op)), Outcome::Refused(_) | Outcome::Skipped);
                let word = op.to_string().split(' ').next().unwrap_or_default().to_owned();
                *done.entry(word).or_default() += u64::from(happened);
                total += u64::from(happened);
            }
        }
        assert!(done.len() == 30 && done.values().all(|count| *count > 0), "{done:?}");
        assert!(total > 20_000 / 3, "{total} of 20,000 happened");
    }
}
