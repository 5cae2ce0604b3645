//! The arena of nodes.
//!
//! A slot is reused with the next generation, and a [`NodeId`] has slot and generation, so the id of a freed node is
//! recognised as stale and does not refer to another file.

use crate::contents::Contents;
use crate::dir::Dir;
use crate::ino::{Ino, ROOT};
use bytes::Bytes;
use ordo_vfs::{Attr, NodeId, Refusal, Result};
use std::collections::BTreeMap;

/// The parts that depend on the kind.
#[derive(Debug)]
pub(crate) enum Body {
    File(Contents),
    Dir(Box<Dir>),
    Symlink(Bytes),
    Special,
}

/// Extended attributes by full name. Sorted, so that listings are repeatable.
pub(crate) type Xattrs = BTreeMap<Vec<u8>, Bytes>;

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) attr: Attr,
    pub(crate) lookups: u64,
    /// Made by `tmpfile` and not linked yet (model-4).
    pub(crate) linkable: bool,
    pub(crate) body: Body,
    /// `None` in most files: one word instead of a map.
    pub(crate) xattrs: Option<Box<Xattrs>>,
}

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    node: Option<Node>,
}

#[derive(Debug)]
pub(crate) struct Arena {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

const LIVE: &str = "M1: an entry names a live node";

impl Arena {
    /// An arena whose first node, added next, gets the root's number.
    pub(crate) fn new() -> Arena {
        Arena { slots: (0..=ROOT.0).map(|_| Slot::default()).collect(), free: vec![ROOT.0] }
    }

    /// Live nodes.
    pub(crate) fn len(&self) -> u64 {
        (self.slots.len() - ROOT.0 as usize - self.free.len()) as u64
    }

    /// Stores a node and writes its number and generation into its attributes.
    pub(crate) fn add(&mut self, mut node: Node) -> Ino {
        let slot_no = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            (self.slots.len() - 1) as u32
        });
        let slot = &mut self.slots[slot_no as usize];
        node.attr.ino = u64::from(slot_no);
        node.attr.generation = slot.generation;
        slot.node = Some(node);
        Ino(slot_no)
    }

    /// Removes a node; its ids are stale from now on.
    pub(crate) fn take(&mut self, ino: Ino) -> Node {
        let slot = &mut self.slots[ino.0 as usize];
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(ino.0);
        slot.node.take().expect(LIVE)
    }

    pub(crate) fn at(&self, ino: Ino) -> &Node {
        self.slots[ino.0 as usize].node.as_ref().expect(LIVE)
    }

    pub(crate) fn at_mut(&mut self, ino: Ino) -> &mut Node {
        self.slots[ino.0 as usize].node.as_mut().expect(LIVE)
    }

    /// The id of a live node.
    pub(crate) fn id(&self, ino: Ino) -> NodeId {
        NodeId(u64::from(self.slots[ino.0 as usize].generation) << 32 | u64::from(ino.0))
    }

    /// The number behind an id from a caller.
    ///
    /// # Errors
    /// `Stale` if the node is freed or has no lookup.
    pub(crate) fn ino(&self, id: NodeId) -> Result<Ino> {
        let slot_no = id.0 as u32;
        let looked_up = self.slots.get(slot_no as usize).is_some_and(|slot| {
            u64::from(slot.generation) == id.0 >> 32
                && slot.node.as_ref().is_some_and(|node| node.lookups > 0 || slot_no == ROOT.0)
        });
        if looked_up { Ok(Ino(slot_no)) } else { Err(Refusal::Stale.into()) }
    }

    /// The number of a live node that has names, and this generation.
    ///
    /// # Errors
    /// `Stale`.
    pub(crate) fn numbered(&self, ino: u64, generation: u32) -> Result<Ino> {
        let slot_no = u32::try_from(ino).map_err(|_| Refusal::Stale)?;
        let named =
            |slot: &&Slot| slot.generation == generation && slot.node.as_ref().is_some_and(|node| node.attr.nlink > 0);
        self.slots.get(slot_no as usize).filter(named).map(|_| Ino(slot_no)).ok_or_else(|| Refusal::Stale.into())
    }

    /// Lookups that were not forgotten yet.
    pub(crate) fn lookups(&self) -> u64 {
        self.slots.iter().filter_map(|slot| slot.node.as_ref()).map(|node| node.lookups).sum()
    }
}

impl Node {
    pub(crate) fn dir(&self) -> Result<&Dir> {
        match &self.body {
            Body::Dir(dir) => Ok(dir),
            _ => Err(Refusal::NotDirectory.into()),
        }
    }

    pub(crate) fn dir_mut(&mut self) -> Result<&mut Dir> {
        match &mut self.body {
            Body::Dir(dir) => Ok(dir),
            _ => Err(Refusal::NotDirectory.into()),
        }
    }

    pub(crate) fn file(&self) -> Result<&Contents> {
        match &self.body {
            Body::File(contents) => Ok(contents),
            Body::Dir(_) => Err(Refusal::IsDirectory.into()),
            Body::Symlink(_) | Body::Special => Err(Refusal::Invalid.into()),
        }
    }

    pub(crate) fn file_mut(&mut self) -> Result<&mut Contents> {
        match &mut self.body {
            Body::File(contents) => Ok(contents),
            Body::Dir(_) => Err(Refusal::IsDirectory.into()),
            Body::Symlink(_) | Body::Special => Err(Refusal::Invalid.into()),
        }
    }
}
