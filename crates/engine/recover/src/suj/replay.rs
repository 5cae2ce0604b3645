//! The volume during a replay, and what its steps hand to each other.

use super::group::{Groups, InodeKind};
use super::records::{Claim, Event, FileBlock};
use crate::image::Image;
use crate::outcome::{NotReplayed, Replayed};
use ordo_disk::Disk;
use ordo_ondisk::{ByteOff, Geometry, Superblock};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The most visits of a replay to one fragment, with a margin: reading its names, counting its file, finding the end of
/// the file, truncating after that; or it is freed with a file, or with a pointer block.
const PASSES: u64 = 8;

/// The volume during a replay. The modules describe their steps.
pub(crate) struct Replay {
    pub(crate) image: Image,
    pub(crate) sb: Superblock,
    pub(crate) geo: Geometry,
    /// Bytes of the disk's sector.
    pub(super) sector: usize,
    /// Seconds since 1970.
    pub(crate) now: i64,
    pub(super) groups: Groups,
    /// Links, in the order of the journal.
    pub(super) events: Vec<Event>,
    /// Blocks, in the order of the journal.
    pub(super) claims: Vec<Claim>,
    /// The shortest size to which a file was being truncated.
    pub(super) truncations: BTreeMap<u32, u64>,
    /// The open inodes without a name, in the order of their list.
    pub(super) unlinked: Vec<u32>,
    /// Inodes as they must be before an additional name leads to them.
    pub(super) raised: Vec<(ByteOff, Vec<u8>)>,
    /// Fragments without records of their own that are freed together with recorded ones.
    pub(super) implied: Vec<FileBlock>,
    /// Final bits of the bitmaps of inodes.
    pub(super) inode_bits: BTreeMap<u32, (bool, InodeKind)>,
    /// Inodes that the replay freed.
    pub(super) reclaimed: BTreeSet<u32>,
    /// Pointer blocks that must be freed late (recover-suj-4), with their distance from data.
    pub(super) late: BTreeMap<u64, usize>,
    /// Fragments that pointers may still lead to (recover-suj-7).
    pub(super) budget: u64,
    pub(crate) done: Replayed,
}

impl Replay {
    pub(crate) fn new(disk: Rc<dyn Disk>, sb: Superblock, now: i64) -> Replay {
        let (geo, sector) = (sb.geometry(), disk.info().sector.max(512) as usize);
        Replay {
            image: Image::new(disk, sb.volume_bytes(), geo.bsize),
            budget: geo.size.saturating_mul(PASSES),
            sb,
            geo,
            sector,
            now,
            groups: Groups::default(),
            events: vec![],
            claims: vec![],
            truncations: BTreeMap::new(),
            unlinked: vec![],
            raised: vec![],
            implied: vec![],
            inode_bits: BTreeMap::new(),
            reclaimed: BTreeSet::new(),
            late: BTreeMap::new(),
            done: Replayed::default(),
        }
    }

    /// Charges the fragments that a pointer leads to, which ends cycles of pointers (recover-suj-7).
    pub(super) fn spend(&mut self, frags: u64) -> Result<(), NotReplayed> {
        self.budget = self.budget.checked_sub(frags).ok_or(NotReplayed::Endless)?;
        Ok(())
    }
}
