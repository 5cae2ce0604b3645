//! Active journaling as the paper evaluated it: as ext3 in ordered mode, but a commit goes to the journal of the group
//! nearest to the head, in free space; and blocks that are read after a dock get copies there, which cost nothing to
//! write. Checkpoints are immediate.
//!
//! A1. Without free space a commit goes to ext3's journal, and nothing is copied: the behaviour is that of ext3.
//! A2. A page may lie in several places: at home, in the journal as the newest commit left it, and near each of up to
//!     three docks. A change makes all of them void but the home; the commit writes the copies anew with it.
//! A3. With virtual checkpointing the newest version stays in the journal, and only the map is written: 20 bytes a
//!     block. It goes home when free space is short, and not before.
//! A4. A group's journal takes free blocks of its group as long as there are unused ones, and then its own oldest. A
//!     group that has none to give is passed over for the next nearest. Versions that are old stay readable until then.

use super::ext3::{Ext3, body};
use super::seam::{Batch, Done, Layout, write_all};
use crate::sched::{Copies, Tag, Taken};
use crate::setting::{Mode, Setting};
use crate::volume::{GROUP, NONE, Volume};
use ordo_learning::{Learning, Read, Rule, Terms};
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// Blocks of a group that copies leave to its journal.
const RESERVE: u32 = 64;
/// Bytes of an entry of the map (the paper: 5 MB for a GB of blocks), and those of a block.
const ENTRY: usize = 20;
const BLOCK: usize = 4096;
/// Docks that one page has copies near.
const REPLICAS: usize = 3;
/// How many groups away from the dock a copy may lie.
const REACH: usize = 8;

/// The paper's rule, block by block, over all that is read. It does not say how often a preference must be seen:
/// "durable" is its word. A copy that is wished again is there already.
const TERMS: Terms = Terms {
    rule: Rule::Docks,
    near: GROUP as u64,
    window: Terms::WINDOW,
    dock: Terms::DOCK_BLOCKS,
    longest: 1,
    times: 2,
    pairs: usize::MAX,
    wishes: usize::MAX,
};

/// The free space of a group: the journal and the copies take it as they need it.
#[derive(Debug)]
struct Free {
    from: u32,
    /// What comes from here on has never been used.
    next: u32,
    end: u32,
    /// The blocks of the journal, the oldest first.
    journal: VecDeque<u32>,
    /// The page whose version lies in each block of the journal.
    owners: Vec<u32>,
}

impl Free {
    fn new(from: u32, end: u32) -> Free {
        Free { from, next: from, end, journal: VecDeque::new(), owners: vec![NONE; (end - from) as usize] }
    }

    fn unused(&self) -> u32 {
        self.end - self.next
    }

    /// How many blocks a commit may have at most.
    fn room(&self) -> u32 {
        self.unused() + self.journal.len() as u32
    }

    fn owner(&mut self, block: u32) -> &mut u32 {
        &mut self.owners[(block - self.from) as usize]
    }

    /// The old blocks that the next so many would overwrite.
    fn overwritten(&self, blocks: u32) -> impl Iterator<Item = u32> {
        self.journal.iter().copied().take(blocks.saturating_sub(self.unused()) as usize)
    }

    /// The next so many blocks of the journal: unused ones, and then the oldest.
    fn take(&mut self, blocks: u32) -> Vec<u32> {
        let new = blocks.min(self.unused());
        let mut taken: Vec<u32> = (self.next..self.next + new).collect();
        self.next += new;
        let old = self.journal.len().min((blocks - new) as usize);
        taken.extend(self.journal.drain(..old));
        self.journal.extend(&taken);
        taken
    }
}

pub(super) struct Active {
    passive: Ext3,
    /// Where each page is at home; the passive part's places are those of the newest versions.
    homes: Vec<u32>,
    /// Copies near docks, the newest first, and whether the page has changed since they were written.
    copies: Vec<[u32; REPLICAS]>,
    is_old: Vec<bool>,
    /// Where in the journal the newest version of a page lies, too.
    journaled: Vec<u32>,
    free: Vec<Free>,
    /// Blocks of a group.
    group: u32,
    learning: Option<Learning>,
    /// The pages that were read, by their homes.
    read: HashMap<u64, u32>,
    is_virtual: bool,
    /// The group whose journal the current commit uses; `None` is ext3's.
    chosen: Option<usize>,
    done: Done,
}

impl Active {
    pub(super) fn new(volume: &Volume, setting: &Setting, is_virtual: bool) -> Active {
        let (passive, regions) = Ext3::with_free(volume, setting, Mode::Ordered);
        // Files that are not simulated fill a group to the same share, but where is not known.
        let room = |(from, to): (u32, u32)| {
            let size = (to - from).min((f64::from(volume.group) * (1.0 - setting.full)) as u32);
            Free::new(to - size, to)
        };
        Active {
            homes: passive.places.clone(),
            copies: vec![[NONE; REPLICAS]; volume.pages()],
            is_old: vec![false; volume.pages()],
            journaled: vec![NONE; volume.pages()],
            free: regions.into_iter().map(room).collect(),
            passive,
            group: volume.group,
            learning: setting.learns.then(|| Learning::new(TERMS)),
            read: HashMap::new(),
            is_virtual,
            chosen: None,
            done: Done::default(),
        }
    }

    /// The group nearest to the head whose journal has so many blocks, and has not to send a version home for them. If
    /// there is none, free space is short: the nearest one that is large enough.
    fn nearest(&self, head: u32, blocks: u32) -> Option<usize> {
        let away = |at: usize| self.free[at].next.abs_diff(head);
        let large = || (0..self.free.len()).filter(|at| self.free[*at].room() >= blocks);
        let ready = large().filter(|at| !self.is_virtual || self.newest(*at, blocks).next().is_none());
        ready.min_by_key(|at| away(*at)).or_else(|| large().min_by_key(|at| away(*at)))
    }

    /// The pages whose newest version the next so many blocks of a group's journal would overwrite.
    fn newest(&self, group: usize, blocks: u32) -> impl Iterator<Item = u32> {
        let free = &self.free[group];
        free.overwritten(blocks).filter_map(|block| {
            let page = free.owners[(block - free.from) as usize];
            (page != NONE && self.passive.places[page as usize] == block).then_some(page)
        })
    }

    /// Gives pages the copies that they prefer to have.
    fn copy_all(&mut self) {
        let Some(learning) = &mut self.learning else { return };
        while let Some(wish) = learning.take() {
            let (group, Some(&page)) = ((wish.dock / u64::from(self.group)) as usize, self.read.get(&wish.at)) else {
                continue;
            };
            let near = |block: u32| block != NONE && (block / self.group) as usize == group;
            if near(self.homes[page as usize]) {
                continue;
            }
            if std::mem::take(&mut self.is_old[page as usize]) {
                self.copies[page as usize] = [NONE; REPLICAS];
            }
            if self.copies[page as usize].iter().any(|copy| near(*copy)) {
                continue;
            }
            let order = (0..=REACH).flat_map(|away| [group.checked_sub(away), Some(group + away)]).flatten();
            let room = order.into_iter().find(|at| self.free.get(*at).is_some_and(|free| free.unused() > RESERVE));
            if let Some(free) = room.and_then(|at| self.free.get_mut(at)) {
                // The oldest makes way.
                self.copies[page as usize].rotate_right(1);
                self.copies[page as usize][0] = free.next;
                free.next += 1;
                self.done.copies += 1;
            }
        }
    }

    /// Writes blocks to the journal that the commit uses; the blocks.
    fn journal(&mut self, blocks: u32, tag: Tag, writes: &mut Vec<Taken>) -> Vec<u32> {
        let Some(at) = self.chosen else {
            self.passive.journal.write(blocks, writes);
            return Vec::new();
        };
        let taken = self.free[at].take(blocks);
        for &block in &taken {
            let owner = std::mem::replace(self.free[at].owner(block), NONE);
            if owner != NONE && self.journaled[owner as usize] == block {
                self.journaled[owner as usize] = NONE;
            }
        }
        // In the order of the journal, not of the disk.
        taken.iter().for_each(|block| write_all(&mut [*block], tag, writes));
        taken
    }

    /// The pages whose newest version the commit would overwrite go home first.
    fn make_room(&mut self, blocks: u32, writes: &mut Vec<Taken>) {
        let Some(at) = self.chosen.filter(|_| self.is_virtual) else { return };
        let pages: Vec<u32> = self.newest(at, blocks).collect();
        let mut homes: Vec<u32> = pages.iter().map(|page| self.homes[*page as usize]).collect();
        for page in pages {
            self.passive.places[page as usize] = self.homes[page as usize];
        }
        self.done.forced += homes.len() as u64;
        self.done.checkpointed += homes.len() as u64;
        write_all(&mut homes, Tag::Checkpoint, writes);
    }

    /// The pages are in these blocks of the journal from now on, and their copies near docks are written with them.
    fn remember(&mut self, pages: &[u32], blocks: &[u32]) {
        let Some(at) = self.chosen else { return };
        // The descriptors come first.
        let descriptors = body(pages.len()) as usize - pages.len();
        for (&page, &block) in pages.iter().zip(blocks.iter().skip(descriptors)) {
            *self.free[at].owner(block) = page;
            if self.is_virtual {
                self.passive.places[page as usize] = block;
            } else {
                self.journaled[page as usize] = block;
            }
            self.is_old[page as usize] = false;
        }
    }

    fn checkpoint(&mut self, pages: &[u32], writes: &mut Vec<Taken>) {
        if self.is_virtual && self.chosen.is_some() {
            let blocks = (pages.len() * ENTRY).div_ceil(BLOCK) as u32;
            self.journal(blocks, Tag::Checkpoint, writes);
            self.done.mapped += u64::from(blocks);
            self.done.checkpointed += u64::from(blocks);
            return;
        }
        if self.is_virtual {
            // No journal of a group has room: only that sends them home.
            pages.iter().for_each(|page| self.passive.places[*page as usize] = self.homes[*page as usize]);
            self.done.forced += pages.len() as u64;
        }
        let mut blocks: Vec<u32> = pages.iter().map(|page| self.homes[*page as usize]).collect();
        self.done.checkpointed += blocks.len() as u64;
        write_all(&mut blocks, Tag::Checkpoint, writes);
    }
}

impl Layout for Active {
    fn place(&self, page: u32) -> u32 {
        self.passive.place(page)
    }

    fn copies(&self, page: u32) -> Copies {
        let at = page as usize;
        let mut all = [self.journaled[at]; REPLICAS + 1];
        all[1..].copy_from_slice(if self.is_old[at] { &[NONE; REPLICAS] } else { &self.copies[at] });
        all
    }

    fn reads(&mut self, now: f64, page: u32) {
        if let Some(learning) = &mut self.learning {
            let at = u64::from(self.homes[page as usize]);
            self.read.insert(at, page);
            learning.read(Read { now: Duration::from_secs_f64(now / 1e3), at, len: 1, served: None });
        }
    }

    fn changes(&mut self, page: u32) {
        self.is_old[page as usize] = true;
        self.journaled[page as usize] = NONE;
    }

    fn step(&mut self, batch: &Batch, step: u32, head: u32, writes: &mut Vec<Taken>) -> bool {
        let pages = &batch.metadata;
        // The commit block, and the blocks of the map.
        let more = 1 + (pages.len() * ENTRY).div_ceil(BLOCK) as u32;
        match step {
            0 => {
                let mut blocks: Vec<u32> = batch.data.iter().map(|page| self.homes[*page as usize]).collect();
                write_all(&mut blocks, Tag::Home, writes);
            }
            _ if pages.is_empty() => {
                self.copy_all();
                return false;
            }
            1 => {
                let needed = body(pages.len()) + more;
                self.chosen = self.nearest(head, needed);
                self.make_room(needed, writes);
            }
            2 => {
                let blocks = self.journal(body(pages.len()), Tag::Journal, writes);
                self.remember(pages, &blocks);
                self.copy_all();
            }
            3 => drop(self.journal(1, Tag::Journal, writes)),
            4 => {
                self.checkpoint(pages, writes);
                self.done.commits += 1;
                self.done.journaled += pages.len() as u64;
            }
            _ => return false,
        }
        true
    }

    fn done(&self) -> Done {
        self.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Catalogue, Contents, Directory, File, Trace};

    fn small() -> Volume {
        let directories = vec![Directory { parent: None, place: 0.5 }];
        let files = (0..40).map(|_| File { directory: 0, blocks: 1, new: false }).collect();
        let contents = Contents::Files(Catalogue { directories, files });
        Volume::of(
            &Trace { name: "small".to_owned(), drive: "quantum_atlas_10k", contents, requests: Vec::new() },
            GROUP,
        )
    }

    /// Commits metadata with the head in the middle of the disk.
    fn commit(layout: &mut Active, pages: &[u32]) {
        let batch = Batch { data: Vec::new(), metadata: pages.to_vec() };
        pages.iter().for_each(|page| layout.changes(*page));
        let mut writes = Vec::new();
        let mut step = 0;
        while layout.step(&batch, step, layout.homes[pages[0] as usize], &mut writes) {
            step += 1;
        }
    }

    fn metadata(volume: &Volume) -> u32 {
        volume.files[0].inode
    }

    #[test]
    fn a_journal_takes_unused_blocks_and_then_its_oldest() {
        let mut free = Free::new(100, 110);
        assert_eq!(free.take(4), [100, 101, 102, 103]);
        free.next += 3;
        assert_eq!(free.overwritten(5).collect::<Vec<_>>(), [100, 101]);
        assert_eq!(free.take(5), [107, 108, 109, 100, 101]);
        assert_eq!((free.room(), free.take(7)), (7, vec![102, 103, 107, 108, 109, 100, 101]));
    }

    #[test]
    fn what_was_journaled_can_be_read_there_until_it_changes_or_is_overwritten() {
        let volume = small();
        // 32 free blocks in each group: a commit of one page takes three.
        let mut layout = Active::new(&volume, &Setting { full: 0.999, ..Setting::default() }, false);
        let page = metadata(&volume);
        commit(&mut layout, &[page]);
        let [copy, rest @ ..] = layout.copies(page);
        assert!(copy != layout.place(page) && copy.abs_diff(layout.place(page)) < GROUP, "{copy}");
        assert_eq!(rest, [NONE; REPLICAS]);
        layout.changes(page);
        assert_eq!(layout.copies(page), [NONE; REPLICAS + 1]);
        commit(&mut layout, &[page]);
        let other = page + 1;
        for commits in 0..20 {
            assert_eq!(layout.copies(page)[0] == NONE, commits > 10, "after {commits} more commits");
            commit(&mut layout, &[other]);
        }
    }

    #[test]
    fn a_version_goes_home_only_when_no_group_has_free_space() {
        let volume = small();
        let forced = |full: f64| {
            let mut layout = Active::new(&volume, &Setting { full, ..Setting::default() }, true);
            let page = metadata(&volume);
            for _ in 0..2000 {
                commit(&mut layout, &[page]);
            }
            assert!(layout.place(page) != layout.homes[page as usize] || layout.done.forced > 0);
            layout.done.forced
        };
        // 2000 commits are 8000 blocks of a disk of two million; what is overwritten is old, so little is enough.
        assert_eq!((forced(0.9), forced(0.999)), (0, 0));
        assert_eq!(forced(1.0), 2000, "ext3's journal, and home at once");
    }

    #[test]
    fn a_commit_writes_copies_near_docks_anew() {
        let volume = small();
        let mut layout = Active::new(&volume, &Setting::default(), false);
        let page = metadata(&volume);
        layout.copies[page as usize][0] = 7;
        layout.changes(page);
        assert_eq!(layout.copies(page)[1], NONE);
        commit(&mut layout, &[page]);
        assert_eq!(layout.copies(page)[1], 7);
    }
}
