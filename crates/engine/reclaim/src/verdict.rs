//! The last pass over the inodes: second names of directories, link counts, and files without a name.

use crate::Phase;
use crate::reclaimer::{Next, Pass, damage};
use crate::scan::{DirOffset, Nameless, Scan};
use ordo_buf::{CallKind, Fields, Op};
use ordo_ondisk::{Cgx, Ino, dirent};
use ordo_ufs::{Inode, Layout};
use ordo_vfs::Result;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Inodes examined while no name changes.
const INODES: usize = 32;

/// What to do about an inode.
enum Verdict {
    Right,
    /// It has no name: it is freed.
    Nameless(Rc<Inode>),
}

impl Pass<'_> {
    /// Crashes during renames of a directory have left it more than one name. The name that its `..` agrees with stays;
    /// of several such names the first one in that directory, as in fsck.
    pub(crate) async fn second_name_step(self) -> Result<()> {
        let Some((ino, places)) = self.reclaimer.scan(Scan::take_names_of_one).flatten() else {
            self.reclaimer.next.set(Some(Next::Verdict { dirs: true, c: Cgx(0), from: 0 }));
            return Ok(());
        };
        self.fs.call_alone(CallKind::Reclaim, async |op| self.keep_one_name(op, ino, places).await).await
    }

    async fn keep_one_name(self, op: Op, ino: Ino, places: Vec<DirOffset>) -> Result<()> {
        let mut names = Vec::with_capacity(places.len());
        for place in places {
            names.extend(self.name_at(place, ino).await?.map(|name| (place, name)));
        }
        let Some(inode) = self.suspect(ino).await?.filter(|_| names.len() > 1) else { return Ok(()) };
        let parent = self.fs.parent_of(&inode).await?;
        // Sorted by place, not in the order of the scan: if the scan stopped after the first removal, or fsck ran,
        // another name would stay.
        names.sort_unstable();
        let Some(home) = names.iter().position(|(place, _)| place.0 == parent) else {
            return Err(damage(format_args!("directory {} has several names, and is at home in none", ino.0)));
        };
        names.remove(home);
        for (place, name) in names {
            self.remove_second_name(op, &inode, place, &name).await?;
        }
        Ok(())
    }

    async fn remove_second_name(self, op: Op, inode: &Rc<Inode>, (dir, offset): DirOffset, name: &[u8]) -> Result<()> {
        let Some(dir) = self.suspect(dir).await? else { return Ok(()) };
        self.fs.remove_name(op, &dir, offset, name, inode).await?;
        self.reclaimer.count(|progress| progress.names_removed += 1);
        Ok(())
    }

    /// The name at this place, if it still means `ino`.
    async fn name_at(self, (dir, offset): DirOffset, ino: Ino) -> Result<Option<Vec<u8>>> {
        let Some(dir) = self.suspect(dir).await? else { return Ok(None) };
        let _shared = dir.lock.read().await;
        if !dir.is_dir() || dir.links_seen() == 0 || offset >= dir.size() {
            return Ok(None);
        }
        let format = self.layout().geometry().dir_format();
        let start = offset - offset % format.block as u64;
        let (block, within) = self.fs.dir_block(&dir, start).await?;
        let bytes = block.bytes();
        let mut entries = dirent::entries(&bytes[within..within + format.block], format, dir.ino(), start);
        let found = entries.find_map(|entry| entry.ok().filter(|entry| start + entry.offset as u64 == offset));
        Ok(found.filter(|entry| entry.is_name() && entry.ino == ino).map(|entry| entry.name.to_vec()))
    }

    pub(crate) async fn verdict_step(self, dirs: bool, c: Cgx, from: u32) -> Result<()> {
        let doubtful = self.reclaimer.scan(|scan| scan.names.doubtful(c, from, dirs, INODES));
        let (inodes, next) = doubtful.unwrap_or_default();
        if !inodes.is_empty() {
            self.judge_all(&inodes, dirs).await?;
        }
        let next = match next {
            Some(from) => Next::Verdict { dirs, c, from },
            None if c.0 + 1 < self.layout().geometry().ncg => Next::Verdict { dirs, c: Cgx(c.0 + 1), from: 0 },
            None if dirs => {
                self.settle_directories().await?;
                Next::Verdict { dirs: false, c: Cgx(0), from: 0 }
            }
            None => Next::Directories,
        };
        self.reclaimer.next.set(Some(next));
        Ok(())
    }

    /// reclaim-5: in waves, first those that no other one names any more.
    async fn settle_directories(self) -> Result<()> {
        let mut left = self.reclaimer.scan(|scan| std::mem::take(&mut scan.nameless)).unwrap_or_default();
        while !left.is_empty() {
            let named: BTreeSet<Ino> = left.iter().flat_map(|dir| dir.names.iter().copied()).collect();
            let (mut wave, rest): (Vec<_>, Vec<_>) =
                left.into_iter().partition(|dir| !named.contains(&dir.inode.ino()));
            left = rest;
            if wave.is_empty() {
                // Only damage makes a cycle of them; its members are freed together.
                wave = std::mem::take(&mut left);
            }
            for dir in &wave {
                self.free_nameless(&dir.inode).await?;
            }
            let cache = self.layout().cache();
            let must = cache.scheme().clone().sync(cache);
            cache.obey(must).await?;
        }
        Ok(())
    }

    async fn free_nameless(self, inode: &Rc<Inode>) -> Result<()> {
        self.fs.call(CallKind::Reclaim, async |op| self.fs.release(op, inode).await).await?;
        self.reclaimer.count(|progress| progress.inodes_freed += 1);
        Ok(())
    }

    /// Directories without a name are kept for [`Pass::settle_directories`]; files are freed at once.
    async fn judge_all(self, inodes: &[Ino], dirs: bool) -> Result<()> {
        for inode in self.fs.call_alone(CallKind::Reclaim, async |op| self.judge(op, inodes).await).await? {
            if dirs {
                let names = self.named_in(&inode).await?;
                self.reclaimer.scan(|scan| scan.nameless.push(Nameless { inode, names }));
            } else {
                self.free_nameless(&inode).await?;
            }
        }
        Ok(())
    }

    /// The inodes that entries of a directory name, except itself and its parent.
    async fn named_in(self, dir: &Rc<Inode>) -> Result<Vec<Ino>> {
        let format = self.layout().geometry().dir_format();
        let (mut offset, mut named) = (0, Vec::new());
        while offset + format.block as u64 <= dir.size() {
            let (block, within) = self.fs.dir_block(dir, offset).await?;
            let bytes = block.bytes();
            let entries = dirent::entries(&bytes[within..within + format.block], format, dir.ino(), offset);
            let names = entries.map_while(|entry| entry.ok()).filter(|entry| entry.is_name());
            named.extend(names.filter(|entry| entry.name != b"." && entry.name != b"..").map(|entry| entry.ino));
            offset += format.block as u64;
        }
        Ok(named)
    }

    /// To be called while no call changes links (reclaim-3). Returns the inodes without a name: their counts are 0 now,
    /// so no call can give them a name either.
    async fn judge(self, op: Op, inodes: &[Ino]) -> Result<Vec<Rc<Inode>>> {
        let mut nameless = Vec::new();
        for &ino in inodes {
            if let Verdict::Nameless(inode) = self.judge_one(op, ino).await? {
                nameless.push(inode);
            }
        }
        Ok(nameless)
    }

    async fn judge_one(self, op: Op, ino: Ino) -> Result<Verdict> {
        let known = self.reclaimer.scan(|scan| {
            let suspect = scan.names.is_suspect(ino) && !scan.is_going(ino);
            suspect.then(|| (scan.names.names(ino), scan.pending(ino)))
        });
        let Some(Some((names, pending))) = known else { return Ok(Verdict::Right) };
        let Some(inode) = self.suspect(ino).await? else {
            if names > 0 {
                return Err(damage(format_args!("inode {} has a name and is free", ino.0)));
            }
            self.layout().free_bare(ino).await?;
            self.reclaimer.scan(|scan| scan.names.freed(ino, false));
            self.reclaimer.count(|progress| progress.inodes_freed += 1);
            return Ok(Verdict::Right);
        };
        let (links, right) = (u32::from(inode.dinode().nlink), names + pending);
        if links < right {
            return Err(damage(format_args!("inode {}: {links} links, but {right} names", ino.0)));
        }
        if links > right {
            inode.dinode_mut().nlink = right as u16;
            self.fs.changed(op, &inode, Fields::LinksDown).await?;
            self.reclaimer.count(|progress| progress.links_lowered += u64::from(right > 0));
        }
        // Removed since the mount, and still open: the upkeep frees it when its last user is gone.
        let free = right == 0 && !self.fs.is_looked_up(ino);
        Ok(if free { Verdict::Nameless(inode) } else { Verdict::Right })
    }

    /// Corrects the groups' counts of directories.
    pub(crate) async fn directories_step(self) -> Result<()> {
        for c in 0..self.reclaimer.scan(|scan| scan.names.groups()).unwrap_or(0) {
            let more = self.reclaimer.scan(|scan| scan.names.take_miscounted(Cgx(c))).unwrap_or(0);
            if more != 0 {
                self.fs.call(CallKind::Reclaim, async |_| self.layout().mend_directories(Cgx(c), more).await).await?;
            }
        }
        self.reclaimer.phase(Phase::FreeBlocks, Next::Blocks(Cgx(0)));
        Ok(())
    }
}
