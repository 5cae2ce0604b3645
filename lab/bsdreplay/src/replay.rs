//! The replay: what records say, in FreeBSD's order.

use crate::inodes::Inodes;
use crate::lists::Told;
use crate::outcome::{Done, Why};
use crate::uses::Blocks;
use crate::volume::Volume;
use ordo_ondisk::suj::Record;
use std::collections::{BTreeMap, BTreeSet};

/// Errors of some versions of FreeBSD, which a writer of records must not depend on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quirks {
    /// Whether a freed indirect block is still in use is looked up at a wrong place of the map (2019).
    pub wrong_bit: bool,
}

/// The volume during a replay, and what its records say.
pub(crate) struct Replay {
    pub(crate) volume: Volume,
    pub(crate) quirks: Quirks,
    pub(crate) inodes: Inodes,
    pub(crate) blocks: Blocks,
    /// The smallest size to which a file was being truncated.
    pub(crate) truncations: BTreeMap<u32, u64>,
    /// Groups whose directories may be counted wrongly.
    pub(crate) unsure: BTreeSet<u32>,
    /// Groups that may have leaks.
    pub(crate) leaks: BTreeSet<u32>,
}

impl Replay {
    /// FreeBSD's order: lists of names, the list of nameless inodes, truncations, blocks, their counts, links.
    pub(crate) fn run(&mut self, sector: usize) -> Done<()> {
        let records = self.records(sector)?;
        for record in records {
            match record {
                Record::AddRef(of) => self.inodes.tell(Told::Added(of)),
                Record::RemRef(of) => self.inodes.tell(Told::Removed(of)),
                Record::MvRef(of) => self.inodes.tell(Told::Moved(of)),
                Record::NewBlk(of) => self.blocks.tell(&self.volume.geo, of, false)?,
                Record::FreeBlk(of) => self.blocks.tell(&self.volume.geo, of, true)?,
                Record::Trunc(of) => {
                    let size = self.truncations.entry(of.ino.0).or_insert(of.size);
                    *size = of.size.min(*size);
                }
                Record::Sync(of) => drop(self.truncations.remove(&of.ino.0)),
            }
        }
        self.inodes.merge();
        self.reclaim_nameless()?;
        for (ino, size) in std::mem::take(&mut self.truncations) {
            self.truncate(ino, size)?;
        }
        self.check_blocks()?;
        for ino in self.blocks.inos() {
            self.count_blocks(ino)?;
        }
        self.check_links()
    }

    /// Inodes that were open without a name when the power went.
    fn reclaim_nameless(&mut self) -> Done<()> {
        let mut next = self.volume.sb.fields.sujfree.cast_unsigned();
        self.volume.sb.fields.sujfree = 0;
        let mut left = self.volume.geo.inodes();
        while next != 0 {
            // FreeBSD would go round for ever.
            left = left.checked_sub(1).ok_or_else(|| Why::Other("the list of nameless inodes has a loop".into()))?;
            let ino = next;
            let mut dinode = self.volume.dinode(ino)?;
            next = std::mem::take(&mut dinode.freelink);
            if dinode.nlink == 0 {
                self.volume.put_dinode(ino, &dinode)?;
                self.reclaim(ino)?;
            }
        }
        Ok(())
    }
}
