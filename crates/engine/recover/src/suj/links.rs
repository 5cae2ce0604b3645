//! Links: which of the inodes that the records name survive, and with how many links (recover-suj-1).
//!
//! A place is a byte of a directory. Every link of an inode is either at a place that no record of the inode touches,
//! and was there before the first of them; or at a place that a record touches, and then the disk shows whether it is
//! there. So neither the chains of moved entries nor the order of records matter, except for the first record of each
//! place: it tells whether the link was there before.
//!
//! An inode dies if no link leads to it: a file without a link; a directory without a name, or without its own `.`. The
//! entries of a dying directory do not count as links, so other inodes can die with it.

use super::records::{Event, What};
use super::replay::Replay;
use crate::outcome::NotReplayed;
use ordo_ondisk::Ino;
use ordo_ondisk::dinode::{IFMT, mode};
use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

/// Byte of a directory at which its `..` is.
pub(super) const DOTDOT: u32 = 12;

/// A place that records touch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EntryPlace {
    pub(super) parent: u32,
    pub(super) at: u32,
    /// The inode whose name is there on the disk; 0 if there is none.
    pub(super) names: u32,
    /// The type in the entry.
    pub(super) kind: u8,
}

/// The records of one inode about one place.
#[derive(Clone, Copy)]
pub(super) struct Touch {
    pub(super) place: usize,
    /// The link was there before the first record.
    pub(super) before: bool,
    /// The last record removes it.
    pub(super) leaves: bool,
}

/// An inode that records name.
pub(super) struct Node {
    pub(super) ino: u32,
    /// Links before the first record; `None` if its entries only move.
    start: Option<u16>,
    touches: Range<usize>,
    /// The mode on the disk; 0 if the inode is free there.
    pub(super) mode: u16,
    pub(super) nlink: u16,
    /// The mode in the last record.
    pub(super) told_mode: u16,
    /// Within the journal the number was reused, by a directory and by another file.
    pub(super) reused: bool,
    pub(super) alive: bool,
}

impl Node {
    /// According to the disk, or, if it is not there, according to the last record.
    pub(super) fn is_dir(&self) -> bool {
        let known = if self.mode == 0 { self.told_mode } else { self.mode };
        known & IFMT == mode::DIR
    }
}

/// All inodes and places of the records.
#[derive(Default)]
pub(super) struct Links {
    pub(super) places: Vec<EntryPlace>,
    pub(super) nodes: Vec<Node>,
    touches: Vec<Touch>,
    /// Which nodes touch a place, sorted by place.
    touching: Vec<(usize, usize)>,
    /// Inodes without records that die.
    pub(super) doomed: BTreeSet<u32>,
}

impl Links {
    pub(super) fn of(mut events: Vec<Event>) -> Links {
        let place = |e: &Event| EntryPlace { parent: e.parent, at: e.at, ..EntryPlace::default() };
        let mut links = Links { places: events.iter().map(place).collect(), ..Links::default() };
        links.places.sort_unstable();
        links.places.dedup();
        events.sort_unstable_by_key(|e| (e.ino, e.seq));
        for own in events.chunk_by_mut(|a, b| a.ino == b.ino) {
            let Some(ino) = own.first().map(|event| event.ino) else { continue };
            let told = |event: &Event| event.links;
            let start = own.iter().find_map(told).map(|(nlink, _)| nlink);
            let told_mode = own.iter().rev().find_map(told).map_or(0, |(_, mode)| mode);
            let was_dir = |event: &Event| told(event).map(|(_, mode)| mode & IFMT == mode::DIR);
            let reused = own.iter().any(|e| was_dir(e) == Some(true)) && own.iter().any(|e| was_dir(e) == Some(false));
            let first = links.touches.len();
            // Stable: the records of a place stay in their order.
            own.sort_by_key(|e| (e.parent, e.at));
            for of_place in own.chunk_by(|a, b| (a.parent, a.at) == (b.parent, b.at)) {
                let (Some(head), Some(last)) = (of_place.first(), of_place.last()) else { continue };
                let Some(place) = links.place(head.parent, head.at) else { continue };
                links.touching.push((place, links.nodes.len()));
                let (before, leaves) = (head.what == What::Goes, last.what == What::Goes);
                links.touches.push(Touch { place, before, leaves });
            }
            let touches = first..links.touches.len();
            links.nodes.push(Node { ino, start, touches, mode: 0, nlink: 0, told_mode, reused, alive: false });
        }
        links.touching.sort_unstable();
        links
    }

    pub(super) fn place(&self, parent: u32, at: u32) -> Option<usize> {
        self.places.binary_search_by_key(&(parent, at), |place| (place.parent, place.at)).ok()
    }

    pub(super) fn node(&self, ino: u32) -> Option<usize> {
        self.nodes.binary_search_by_key(&ino, |node| node.ino).ok()
    }

    pub(super) fn touches(&self, node: &Node) -> &[Touch] {
        self.touches.get(node.touches.clone()).unwrap_or_default()
    }

    /// The nodes that touch a place.
    pub(super) fn touching(&self, place: usize) -> impl Iterator<Item = usize> {
        let from = self.touching.partition_point(|(of, _)| *of < place);
        self.touching.get(from..).unwrap_or_default().iter().take_while(move |(of, _)| *of == place).map(|(_, n)| *n)
    }

    fn lives(&self, ino: u32) -> bool {
        match self.node(ino).and_then(|node| self.nodes.get(node)) {
            Some(node) => node.alive,
            None => !self.doomed.contains(&ino),
        }
    }

    /// The places where the inode has a link now, in directories that live.
    pub(super) fn present<'a>(&'a self, node: &'a Node) -> impl Iterator<Item = (Touch, EntryPlace)> + 'a {
        let with_place = |touch: &Touch| Some((*touch, *self.places.get(touch.place)?));
        self.touches(node)
            .iter()
            .filter_map(with_place)
            .filter(|(_, place)| place.names == node.ino && (place.parent == node.ino || self.lives(place.parent)))
    }

    /// The current links of the inode; `None` if its records contain no count.
    pub(super) fn count(&self, node: &Node) -> Result<Option<u64>, NotReplayed> {
        let Some(start) = node.start else { return Ok(None) };
        let before = self.touches(node).iter().filter(|touch| touch.before).count() as u64;
        let untouched = u64::from(start).checked_sub(before);
        let what = "its records take more links than it had";
        let untouched = untouched.ok_or(NotReplayed::Inode { ino: node.ino, what })?;
        Ok(Some(untouched + self.present(node).count() as u64))
    }

    /// Whether a directory has a name at a place that no record touches.
    pub(super) fn has_untouched_name(&self, node: &Node) -> bool {
        let is_name = |touch: &Touch| self.places.get(touch.place).is_some_and(|place| is_name(node.ino, place));
        let had = self.touches(node).iter().any(|touch| touch.before && is_name(touch));
        node.ino == Ino::ROOT.0 || !had && node.start.is_none_or(|start| start >= 2)
    }

    fn should_live(&self, node: &Node) -> Result<bool, NotReplayed> {
        if node.mode == 0 {
            return Ok(false);
        }
        let links = self.count(node)?.unwrap_or(node.nlink.into());
        if !node.is_dir() {
            return Ok(links >= 1);
        }
        let named = self.has_untouched_name(node) || self.present(node).any(|(_, place)| is_name(node.ino, &place));
        Ok(links >= 2 && named)
    }

    /// Removes the inodes to which no link leads, and those that follow from that.
    pub(super) fn settle(&mut self) -> Result<(), NotReplayed> {
        self.nodes.iter_mut().for_each(|node| node.alive = node.mode != 0);
        let mut waiting: VecDeque<usize> = (0..self.nodes.len()).collect();
        while let Some(index) = waiting.pop_front() {
            let Some(node) = self.nodes.get(index).filter(|node| node.alive) else { continue };
            if self.should_live(node)? {
                continue;
            }
            let ino = node.ino;
            if ino == Ino::ROOT.0 {
                return Err(NotReplayed::Inode { ino, what: "nothing would lead to the root" });
            }
            let from = self.places.partition_point(|place| place.parent < ino);
            let inside = (from..).zip(self.places.get(from..).unwrap_or_default());
            for (place, _) in inside.take_while(|(_, place)| place.parent == ino) {
                waiting.extend(self.touching(place));
            }
            if let Some(node) = self.nodes.get_mut(index) {
                node.alive = false;
            }
        }
        Ok(())
    }
}

/// True for a name other than `.` and `..`.
pub(super) fn is_name(ino: u32, place: &EntryPlace) -> bool {
    place.parent != ino && place.at != DOTDOT
}

impl Replay {
    /// Reads the inodes and places of the records from the disk.
    pub(super) async fn look_up(&mut self, links: &mut Links) -> Result<(), NotReplayed> {
        for node in &mut links.nodes {
            let dinode = self.dinode(node.ino).await?;
            (node.mode, node.nlink) = (dinode.mode, dinode.nlink);
        }
        self.read_places(&mut links.places).await?;
        for ino in self.unlinked.clone() {
            let dinode = self.dinode(ino).await?;
            if dinode.mode != 0 && dinode.nlink == 0 && links.node(ino).is_none() {
                links.doomed.insert(ino);
            }
        }
        Ok(())
    }
}
