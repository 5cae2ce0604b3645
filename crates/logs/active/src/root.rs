//! The root of the map: two slots in turn, each with a twin.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::bytes;
use crate::groups::Base;
use crate::page::{Down, PAGE};
use ordo_disk::Block;
use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

const MAGIC: [u8; 8] = *b"ORDOAJMP";
const VERSION: u32 = 2;
/// An upper bound for the number of a root. A larger one was not written by this program.
const NUMBER_MOST: u64 = 1 << 62;

/// A root on the disk: in the first sector of its slot, which is never torn.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Raw {
    sum: U32,
    version: U32,
    magic: [u8; 8],
    number: U64,
    id: U64,
    before: U64,
    upto: U64,
    frag: U32,
    levels: U32,
    page: U32,
    page_sum: U32,
    spread: U32,
    start: U32,
    line: U32,
    pass_next: U64,
    pass_began: U64,
    pass_ended: U64,
    zero: [u8; 412],
}
const _: () = assert!(size_of::<Raw>() == 512);

/// A pass over all that the map knows, in parts ([`crate::Active::scrub_some`]): how far it has come. Kept with the
/// map, whose next root has it. Times are seconds since 1970, 0 if there was none. Nothing here is trusted: whatever
/// stands in a root, the parts read what the map has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pass {
    /// Where the next part begins.
    pub next: u64,
    /// When it began.
    pub began: u64,
    /// When the last whole one ended.
    pub ended: u64,
}

/// A root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Root {
    /// Grows with each root; its lowest bit is the slot.
    pub(crate) number: u64,
    /// The journal of the mount that wrote it (logs-active-7).
    pub(crate) id: u64,
    /// The journal of the mount before: the superblock has this number until the new mount has written it.
    pub(crate) before: u64,
    /// The pages have everything up to this transaction of the journal `id` (logs-active-2).
    pub(crate) upto: u64,
    /// Where the pieces of the journal `id` are at first ([`crate::groups`]).
    pub(crate) base: Base,
    /// The piece that the line of that journal enters next: the one after it begins there.
    pub(crate) line: u32,
    /// Bytes of a fragment.
    pub(crate) frag: u32,
    /// How far the scrub has come.
    pub(crate) pass: Pass,
    /// The topmost page, and its level.
    pub(crate) top: Option<(Down, u32)>,
}

impl Root {
    pub(crate) fn encode(&self) -> Block {
        let mut raw = Raw::new_zeroed();
        (raw.magic, raw.version) = (MAGIC, VERSION.into());
        (raw.number, raw.id, raw.before) = (self.number.into(), self.id.into(), self.before.into());
        (raw.upto, raw.frag) = (self.upto.into(), self.frag.into());
        raw.spread = u32::from(self.base.spread).into();
        (raw.start, raw.line) = (self.base.start.into(), self.line.into());
        raw.pass_next = self.pass.next.into();
        (raw.pass_began, raw.pass_ended) = (self.pass.began.into(), self.pass.ended.into());
        if let Some((down, level)) = self.top {
            (raw.levels, raw.page, raw.page_sum) = (level.saturating_add(1).into(), down.page.into(), down.sum.into());
        }
        raw.sum = bytes::sum(raw.as_bytes()).into();
        let mut slot = Block::zeroed(PAGE as usize);
        slot[..size_of::<Raw>()].copy_from_slice(raw.as_bytes());
        slot
    }

    pub(crate) fn decode(block: &[u8]) -> Option<Root> {
        let raw = Raw::ref_from_bytes(block.get(..512)?).ok()?;
        let whole = raw.magic == MAGIC && raw.sum.get() == bytes::sum(raw.as_bytes());
        if !whole || raw.version.get() != VERSION || raw.levels.get() > 8 || raw.number.get() > NUMBER_MOST {
            return None;
        }
        let top = raw.levels.get().checked_sub(1);
        Some(Root {
            number: raw.number.get(),
            id: raw.id.get(),
            before: raw.before.get(),
            upto: raw.upto.get(),
            base: Base { spread: raw.spread.get() != 0, start: raw.start.get() },
            line: raw.line.get(),
            frag: raw.frag.get(),
            pass: Pass { next: raw.pass_next.get(), began: raw.pass_began.get(), ended: raw.pass_ended.get() },
            top: top.map(|level| (Down { page: raw.page.get(), sum: raw.page_sum.get() }, level)),
        })
    }

    /// The newest of those in all slots.
    pub(crate) fn newest(slots: impl IntoIterator<Item = Option<Root>>) -> Option<Root> {
        slots.into_iter().flatten().max_by_key(|root| root.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_survives_being_written_and_the_newer_of_two_counts() {
        let root = Root {
            number: 4,
            id: 7,
            before: 6,
            upto: 5,
            base: Base { spread: true, start: 3 },
            line: 9,
            frag: 2048,
            pass: Pass { next: 1 << 63 | 40, began: 10, ended: 9 },
            top: Some((Down { page: 1, sum: 2 }, 1)),
        };
        let next = Root { number: 5, top: None, ..root };
        let slots = [&root, &next].map(|root| Root::decode(&root.encode()));
        assert_eq!(slots, [Some(root), Some(next)]);
        assert_eq!(Root::newest(slots), Some(next));
        let mut torn = next.encode();
        torn[40] ^= 1;
        assert_eq!(Root::newest([Some(root), Root::decode(&torn)]), Some(root));
        assert_eq!(Root::decode(&[0; 4096]), None);
    }
}
