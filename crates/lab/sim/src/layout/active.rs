//! Active journaling as the paper evaluated it: as ext3 in ordered mode, but a commit goes to the journal of the group
//! nearest to the head, in free space; and blocks that are read after a dock get copies there, which cost nothing to
//! write. Checkpoints are immediate.
//!
//! A1. Without free space a commit goes to ext3's journal, and nothing is copied: the behaviour is that of ext3.
//! A2. A page has one copy beside its newest version (the paper: two versions of normal blocks). A change makes the
//!     copy void.
//! A3. With virtual checkpointing the newest version stays in the journal, and only the map is written: 20 bytes a
//!     block. It goes home when the journal comes round to it.

use super::ext3::{Circle, Ext3, Mode, body};
use super::{Batch, Done, Layout, write_all};
use crate::learning::Learning;
use crate::sched::{Tag, Taken};
use crate::setting::Setting;
use crate::volume::{GROUP, NONE, Volume};

/// Blocks of a group journal at most.
const LARGEST: u32 = 4096;
/// Bytes of an entry of the map (the paper: 5 MB for a GB of blocks), and those of a block.
const ENTRY: usize = 20;
const BLOCK: usize = 4096;
/// How many groups away from the dock a copy may lie.
const REACH: usize = 8;

/// The free space of a group: a journal, and room for copies.
#[derive(Debug)]
struct Free {
    journal: Circle,
    /// With virtual checkpointing: the page in each block of the journal.
    owners: Vec<u32>,
    next_copy: u32,
    end: u32,
}

pub(super) struct Active {
    passive: Ext3,
    /// Where each page is at home; the passive part's places are those of the newest versions.
    homes: Vec<u32>,
    copies: Vec<u32>,
    free: Vec<Free>,
    learning: Option<Learning>,
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
            let size = (to - from).min((f64::from(GROUP) * (1.0 - setting.full)) as u32);
            let from = to - size;
            let journal = (size / 4).min(LARGEST);
            Free {
                journal: Circle::new(from, journal),
                owners: vec![NONE; if is_virtual { journal as usize } else { 0 }],
                next_copy: from + journal,
                end: to,
            }
        };
        Active {
            homes: passive.places.clone(),
            copies: vec![NONE; volume.pages()],
            free: regions.into_iter().map(room).collect(),
            passive,
            learning: setting.learns.then(|| Learning::new(volume.pages())),
            is_virtual,
            chosen: None,
            done: Done::default(),
        }
    }

    /// The group nearest to the head whose journal has so many blocks.
    fn nearest(&self, head: u32, blocks: u32) -> Option<usize> {
        let away = |free: &Free| free.journal.first.abs_diff(head);
        let roomy = self.free.iter().enumerate().filter(|(_, free)| free.journal.blocks >= blocks);
        roomy.min_by_key(|(_, free)| away(free)).map(|(at, _)| at)
    }

    /// Gives pages the copies that they prefer to have.
    fn copy_all(&mut self) {
        let Some(learning) = &mut self.learning else { return };
        for (page, dock) in learning.take() {
            let group = (dock / GROUP) as usize;
            let near = |block: u32| block != NONE && (block / GROUP) as usize == group;
            if near(self.homes[page as usize]) || near(self.copies[page as usize]) {
                continue;
            }
            let order = (0..=REACH).flat_map(|away| [group.checked_sub(away), Some(group + away)]).flatten();
            let room = order.into_iter().find(|at| self.free.get(*at).is_some_and(|free| free.next_copy < free.end));
            if let Some(free) = room.and_then(|at| self.free.get_mut(at)) {
                self.copies[page as usize] = free.next_copy;
                free.next_copy += 1;
                self.done.copies += 1;
            }
        }
    }

    /// The journal that the commit uses.
    fn journal(&mut self) -> &mut Circle {
        match self.chosen {
            Some(at) => &mut self.free[at].journal,
            None => &mut self.passive.journal,
        }
    }

    /// The pages whose newest version the commit would overwrite go home first.
    fn make_room(&mut self, blocks: u32, writes: &mut Vec<Taken>) {
        let Some(at) = self.chosen.filter(|_| self.is_virtual) else { return };
        let free = &self.free[at];
        let mut homes = Vec::new();
        for block in free.journal.ahead(blocks) {
            let page = free.owners[(block - free.journal.first) as usize];
            if page != NONE && self.passive.places[page as usize] == block {
                self.passive.places[page as usize] = self.homes[page as usize];
                homes.push(self.homes[page as usize]);
            }
        }
        self.done.forced += homes.len() as u64;
        self.done.checkpointed += homes.len() as u64;
        write_all(&mut homes, Tag::Checkpoint, writes);
    }

    /// The newest versions are in the journal from now on.
    fn remember(&mut self, pages: &[u32], first: usize, writes: &[Taken]) {
        let Some(at) = self.chosen.filter(|_| self.is_virtual) else { return };
        let free = &mut self.free[at];
        // The descriptors come first.
        let blocks = writes[first..].iter().flat_map(|taken| taken.block..taken.block + taken.blocks);
        let skipped = body(pages.len()) as usize - pages.len();
        for (&page, block) in pages.iter().zip(blocks.skip(skipped)) {
            free.owners[(block - free.journal.first) as usize] = page;
            self.passive.places[page as usize] = block;
        }
    }

    fn checkpoint(&mut self, pages: &[u32], writes: &mut Vec<Taken>) {
        if self.is_virtual && self.chosen.is_some() {
            let blocks = (pages.len() * ENTRY).div_ceil(BLOCK) as u32;
            let first = writes.len();
            self.journal().write(blocks, writes);
            writes[first..].iter_mut().for_each(|taken| taken.tag = Tag::Checkpoint);
            self.done.mapped += u64::from(blocks);
            self.done.checkpointed += u64::from(blocks);
            return;
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

    fn copy(&self, page: u32) -> u32 {
        self.copies[page as usize]
    }

    fn reads(&mut self, now: f64, page: u32) {
        if let Some(learning) = &mut self.learning {
            learning.read(now, page, self.homes[page as usize]);
        }
    }

    fn changes(&mut self, page: u32) {
        self.copies[page as usize] = NONE;
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
                let first = writes.len();
                self.journal().write(body(pages.len()), writes);
                self.remember(pages, first, writes);
                self.copy_all();
            }
            3 => self.journal().write(1, writes),
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
