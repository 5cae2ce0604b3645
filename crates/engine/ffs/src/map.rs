//! From a file's blocks to their addresses.
//!
//! P1. A pointer is checked each time before it is used: it must lead to whole data fragments within the volume. A
//!     damaged one would otherwise read, or overwrite, another file or the maps.
//! P2. Data that lies across the border of two blocks is read, as every kernel reads it, and never grown or freed: the
//!     maps would become wrong. `fsck -y` moves it to a place within one block.
//! P3. No pointer leads back to a block of pointers above it: a block that names itself would be a file without end.

use crate::{Ffs, corrupt};
use ordo_buf::{BufRef, Key, Role, Run, Want};
use ordo_disk::DiskOff;
use ordo_ondisk::dinode::mode;
use ordo_ondisk::{BlockPath, Corrupt, FragNo, Geometry, Ino, Lbn, NDADDR, Root, Rule, Structure};
use ordo_ufs::{Inode, Mapped};
use ordo_vfs::{Error, Result};

/// How much of the path to a block exists.
pub(crate) struct Walk {
    /// The indirect blocks that exist, from the inode on.
    pub(crate) there: [Option<BufRef>; 3],
    /// How many.
    pub(crate) count: usize,
    /// The pointer in the last of them, or in the inode: to the block, or a hole.
    pub(crate) pointer: FragNo,
}

impl Walk {
    /// The last indirect block that exists.
    pub(crate) fn last(&self) -> Option<&BufRef> {
        self.there[self.count.checked_sub(1)?].as_ref()
    }
}

#[cold]
fn wild(g: &Geometry, ino: Ino, lbn: Lbn, to: FragNo, frags: u32) -> Error {
    let (structure, field) = match lbn.0 {
        0..12 => (Structure::Inode(ino), "di_db"),
        _ if (0..2).any(|i| lbn == Geometry::extattr_lbn(i)) => (Structure::Inode(ino), "di_extb"),
        _ if (0..3).any(|i| lbn == g.indirect_root(i)) => (Structure::Inode(ino), "di_ib"),
        _ => (Structure::Indirect(ino), "pointer"),
    };
    if field != "di_ib" && g.is_readable_range(to, frags) {
        let damage =
            Corrupt::new(structure, field, to.0, Rule::Words("from where the data crosses into another block"));
        return corrupt(damage).told_as(format!(
            "inode {}: block {} lies across the border of two blocks, from fragment {} on: it can be read only; \
             ordo fsck -y moves it to a place of its own",
            ino.0, lbn.0, to.0
        ));
    }
    let damage = Corrupt::new(structure, field, to.0, Rule::Words("which is no data block"));
    corrupt(damage).told_as(format!(
        "inode {}: the pointer to block {} leads to fragment {}, which is no data block",
        ino.0, lbn.0, to.0
    ))
}

/// Two pointers of a file lead to the same place.
#[cold]
pub(crate) fn twice(ino: Ino, to: FragNo) -> Error {
    let rule = Rule::Words("to which another pointer of the file leads, too");
    let text = format!("inode {}: two of its pointers lead to fragment {}", ino.0, to.0);
    corrupt(Corrupt::new(Structure::Indirect(ino), "pointer", to.0, rule)).told_as(text)
}

impl Ffs {
    /// The address of a fragment.
    pub(crate) fn addr(&self, frag: FragNo) -> DiskOff {
        DiskOff(self.g.byte(frag).0)
    }

    /// Checks a pointer that is not a hole (P1).
    #[inline]
    pub(crate) fn sane(&self, ino: Ino, lbn: Lbn, to: FragNo, frags: u32) -> Result<FragNo> {
        if self.g.is_data_range(to, frags) { Ok(to) } else { Err(wild(&self.g, ino, lbn, to, frags)) }
    }

    /// The same for data that will only be read, or overwritten in its place (P2).
    #[inline]
    pub(crate) fn readable(&self, ino: Ino, lbn: Lbn, to: FragNo, frags: u32) -> Result<FragNo> {
        if self.g.is_readable_range(to, frags) { Ok(to) } else { Err(wild(&self.g, ino, lbn, to, frags)) }
    }

    /// Refuses what cannot be freed (P2) of the direct blocks from `first` on, before anything of the file changes.
    pub(crate) fn can_be_cut(&self, inode: &Inode, first: u64) -> Result<()> {
        let dinode = inode.dinode();
        if !dinode.has_blocks(&self.g) {
            return Ok(());
        }
        for (i, &at) in dinode.db.iter().enumerate().skip(first.min(NDADDR as u64) as usize) {
            if !at.is_hole() {
                self.sane(inode.ino(), Lbn(i as i64), at, self.g.blkfrags(dinode.size, i as u64))?;
            }
        }
        Ok(())
    }

    /// The indirect block `name` of a file, which lies at `at`.
    pub(crate) async fn indirect(&self, ino: Ino, name: Lbn, at: FragNo) -> Result<BufRef> {
        self.sane(ino, name, at, self.g.frag)?;
        let (key, addr) = (Key::File(ino, name), self.addr(at));
        self.cache.read(Want { key, role: Role::Indirect, addr, len: self.g.bsize as usize }).await
    }

    /// Pointer `i` of an indirect block.
    #[inline]
    pub(crate) fn pointer(&self, block: &BufRef, i: u32) -> FragNo {
        // An index comes from a path, and is below the number of pointers; beyond them all is a hole.
        self.g.pointer(&block.bytes(), i).unwrap_or(FragNo::HOLE)
    }

    /// The root pointer of a path.
    pub(crate) fn root_pointer(&self, inode: &Inode, root: Root) -> FragNo {
        let dinode = inode.dinode();
        if !dinode.has_blocks(&self.g) {
            return FragNo::HOLE;
        }
        match root {
            Root::Direct(i) => dinode.db[i],
            Root::Indirect(i) => dinode.ib[i],
        }
    }

    /// Follows `path` as far as it exists.
    pub(crate) async fn walk(&self, inode: &Inode, path: &BlockPath) -> Result<Walk> {
        let pointer = self.root_pointer(inode, path.root);
        let mut walk = Walk { there: [const { None }; 3], count: 0, pointer };
        let mut above = [FragNo::HOLE; 3];
        for (name, step) in path.indirects() {
            if walk.pointer.is_hole() {
                break;
            }
            let block = self.indirect(inode.ino(), name, walk.pointer).await?;
            above[walk.count] = walk.pointer;
            walk.pointer = self.pointer(&block, step);
            if !walk.pointer.is_hole() && above.contains(&walk.pointer) {
                return Err(twice(inode.ino(), walk.pointer));
            }
            walk.there[walk.count] = Some(block);
            walk.count += 1;
        }
        Ok(walk)
    }

    /// The run of direct block `i`: no fragments for a hole.
    pub(crate) fn direct_run(&self, inode: &Inode, i: usize) -> Result<Run> {
        let dinode = inode.dinode();
        let at = dinode.db[i];
        if at.is_hole() || !dinode.has_blocks(&self.g) {
            return Ok(Run { at: FragNo::HOLE, frags: 0 });
        }
        let frags = self.g.blkfrags(dinode.size, i as u64);
        Ok(Run { at: self.sane(inode.ino(), Lbn(i as i64), at, frags)?, frags })
    }

    /// Block `lbn` of a file, which lies in `run`.
    pub(crate) async fn data_block(&self, inode: &Inode, lbn: u64, run: Run) -> Result<BufRef> {
        let key = Key::File(inode.ino(), Lbn(lbn as i64));
        let len = (run.frags * self.g.fsize) as usize;
        self.cache.read(Want { key, role: role(inode), addr: self.addr(run.at), len }).await
    }

    pub(crate) async fn map(&self, inode: &Inode, lbn: Lbn, count: u64) -> Result<Mapped> {
        if self.is_snapshot(inode) {
            // Nothing of it is a hole: what has no block is in the volume.
            return Ok(Mapped::Stored { blocks: count.max(1) });
        }
        let Placed { at, blocks } = self.run_at(inode, lbn, count).await?;
        Ok(if at.is_hole() { Mapped::Hole { blocks } } else { Mapped::Stored { blocks } })
    }

    pub(crate) async fn read_ahead(&self, inode: &Inode, from: Lbn, to: Lbn) -> Result<()> {
        let (mut lbn, end) = (from.0.max(0) as u64, to.0.max(0) as u64);
        if self.is_snapshot(inode) {
            return Ok(());
        }
        if inode.is_dir() {
            // Direct blocks only, whose addresses are at hand. A larger directory's blocks are mostly contiguous.
            for lbn in lbn..end.min(NDADDR as u64) {
                let (at, size) = (inode.dinode().db[lbn as usize], inode.size());
                if !at.is_hole() && self.g.is_readable_range(at, self.g.blkfrags(size, lbn)) {
                    self.start_read(inode, lbn, at, Role::Directory);
                }
            }
            return Ok(());
        }
        while lbn < end {
            if self.cache.find(Key::File(inode.ino(), Lbn(lbn as i64))).is_some() {
                lbn += 1;
                continue;
            }
            let Placed { at, blocks } = self.run_at(inode, Lbn(lbn as i64), end - lbn).await?;
            for i in 0..if at.is_hole() { 0 } else { blocks } {
                self.start_read(inode, lbn + i, FragNo(at.0 + i * u64::from(self.g.frag)), Role::Data);
            }
            lbn += blocks.max(1);
        }
        Ok(())
    }

    fn start_read(&self, inode: &Inode, lbn: u64, at: FragNo, role: Role) {
        let len = self.g.blksize(inode.size(), lbn) as usize;
        if len > 0 {
            let key = Key::File(inode.ino(), Lbn(lbn as i64));
            self.cache.read_ahead(Want { key, role, addr: self.addr(at), len });
        }
    }

    /// Where `count` blocks of a file from `lbn` on lie: the first run of them.
    async fn run_at(&self, inode: &Inode, lbn: Lbn, count: u64) -> Result<Placed> {
        let count = count.max(1);
        let stored_blocks = inode.size().div_ceil(self.g.bsize.into());
        let first = u64::try_from(lbn.0).unwrap_or(u64::MAX);
        let path = match self.g.path(lbn) {
            Some(path) if first < stored_blocks => path,
            _ => return Ok(Placed::hole(count)),
        };
        let count = count.min(stored_blocks - first);
        if let Root::Direct(i) = path.root {
            let pointer = |k: u32| self.root_pointer(inode, Root::Direct(i + k as usize));
            return self.run_of(inode, first, count.min(12 - first), &pointer);
        }
        let walk = self.walk(inode, &path).await?;
        let depth = path.depth();
        if walk.count < depth {
            // A whole subtree is missing: what is left of it from here on.
            let span = self.g.span(depth - walk.count);
            let before: u64 = path
                .indirects()
                .zip((0..depth).rev())
                .skip(walk.count)
                .fold(0, |sum, ((_, step), below)| sum + u64::from(step) * self.g.span(below));
            return Ok(Placed::hole(count.min(span - before)));
        }
        let (Some(last), Some((_, step))) = (walk.last(), path.indirects().next_back()) else {
            return Ok(Placed::hole(1));
        };
        let pointer = |k: u32| self.pointer(last, step + k);
        self.run_of(inode, first, count.min(u64::from(self.g.nindir - step)), &pointer)
    }

    /// The run at the head of `count` pointers.
    fn run_of(&self, inode: &Inode, first: u64, count: u64, pointer: &dyn Fn(u32) -> FragNo) -> Result<Placed> {
        let at = pointer(0);
        let belongs = |k: u64| match at.is_hole() {
            true => pointer(k as u32).is_hole(),
            false => pointer(k as u32).0 == at.0 + k * u64::from(self.g.frag),
        };
        let blocks = 1 + (1..count).take_while(|&k| belongs(k)).count() as u64;
        if at.is_hole() {
            return Ok(Placed::hole(blocks));
        }
        for k in 0..blocks {
            let frags = self.g.blkfrags(inode.size(), first + k).max(1);
            self.readable(inode.ino(), Lbn((first + k) as i64), pointer(k as u32), frags)?;
        }
        Ok(Placed { at, blocks })
    }

    pub(crate) async fn block(&self, inode: &Inode, lbn: Lbn) -> Result<Option<BufRef>> {
        // A cached block is stored: a buf without a pointer to its block exists only while its file is locked.
        if let Some(buf) = self.cache.find(Key::File(inode.ino(), lbn)) {
            return Ok(Some(buf));
        }
        let Ok(n) = u64::try_from(lbn.0) else { return Ok(None) };
        let frags = self.g.blkfrags(inode.size(), n);
        let Some(path) = self.g.path(lbn).filter(|_| frags > 0 && n < inode.size().div_ceil(self.g.bsize.into()))
        else {
            return Ok(None);
        };
        let at = match path.root {
            Root::Direct(_) => self.root_pointer(inode, path.root),
            Root::Indirect(_) => {
                let walk = self.walk(inode, &path).await?;
                if walk.count < path.depth() { FragNo::HOLE } else { walk.pointer }
            }
        };
        if self.is_snapshot(inode) {
            return self.snapshot_block(inode, n, at).await;
        }
        if at.is_hole() {
            return Ok(None);
        }
        self.readable(inode.ino(), lbn, at, frags)?;
        self.data_block(inode, n, Run { at, frags }).await.map(Some)
    }
}

/// A run of a file's blocks: one after the other from fragment `at` on, or a hole.
struct Placed {
    at: FragNo,
    blocks: u64,
}

impl Placed {
    fn hole(blocks: u64) -> Placed {
        Placed { at: FragNo::HOLE, blocks }
    }
}

/// What the blocks of a file are.
pub(crate) fn role(inode: &Inode) -> Role {
    match inode.dinode().kind() {
        mode::DIR => Role::Directory,
        mode::LNK => Role::Symlink,
        _ => Role::Data,
    }
}
