//! The records of blocks, by block.

use crate::outcome::{Done, give_up};
use ordo_ondisk::suj::BlockRecord;
use ordo_ondisk::{FragNo, Geometry};
use std::collections::{BTreeMap, BTreeSet};

/// A use of fragments of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Use {
    pub(crate) ino: u32,
    pub(crate) lbn: i64,
    /// First fragment within the block, and how many.
    pub(crate) first: u32,
    pub(crate) frags: u32,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Record {
    pub(crate) of: Use,
    pub(crate) freed: bool,
}

/// The records of blocks, by the first fragment of each block.
#[derive(Default)]
pub(crate) struct Blocks(pub(crate) BTreeMap<u64, Vec<Record>>);

impl Use {
    pub(crate) fn mask(&self) -> u8 {
        (((1u16 << self.frags.min(8)) - 1) << self.first.min(8)) as u8
    }
}

/// The block of a fragment, and its number in that.
pub(crate) fn split(geo: &Geometry, frag: FragNo) -> (u64, u32) {
    (geo.blknum(frag).0, geo.fragnum(frag))
}

impl Blocks {
    /// bsdreplay-blocks-1.
    pub(crate) fn tell(&mut self, geo: &Geometry, of: BlockRecord, freed: bool) -> Done<()> {
        let (base, first) = split(geo, of.blkno);
        let of = Use { ino: of.ino.0, lbn: of.lbn.0, first, frags: of.frags.into() };
        if of.first + of.frags > geo.frag {
            return give_up(format!("a record of block {base} leaves it"));
        }
        let records = self.0.entry(base).or_default();
        if let Some(known) = records.iter().position(|known| known.of == of) {
            if freed {
                return Ok(());
            }
            records.remove(known);
        }
        records.push(Record { of, freed });
        Ok(())
    }

    /// The inodes that records of blocks name.
    pub(crate) fn inos(&self) -> BTreeSet<u32> {
        self.0.values().flatten().map(|record| record.of.ino).collect()
    }

    /// The fragments of a use that may be freed (bsdreplay-blocks-4).
    pub(crate) fn unprotected(&self, base: u64, of: Use) -> u8 {
        let mut protected = 0;
        for record in self.0.get(&base).into_iter().flatten() {
            let other = record.of;
            let same = (other.ino, other.lbn, other.first) == (of.ino, of.lbn, of.first) && other.frags >= of.frags;
            match same {
                true => protected = 0,
                false => protected |= other.mask() & of.mask(),
            }
        }
        of.mask() & !protected
    }

    /// Whether the last record of this very run has fewer fragments: it counts as another use, and protects them
    /// (bsdreplay-blocks-4).
    pub(crate) fn is_cut_short(&self, base: u64, of: Use) -> bool {
        let key = |of: Use| (of.ino, of.lbn, of.first);
        let mut same = self.0.get(&base).into_iter().flatten().filter(|record| key(record.of) == key(of));
        same.next_back().is_some_and(|record| record.of.frags < of.frags)
    }
}
