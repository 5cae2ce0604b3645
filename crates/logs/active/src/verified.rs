//! The bytes of a volume as the map of its active journal proves them, for somebody who is not its writer: a judge, or
//! a server of the whole disk.
//!
//! V1. A home that is wrong is read from a copy, and nothing is written for that: the disk may have another writer's
//!     lock, and the judge may have been told to change nothing.
//! V2. From the first write through this disk on, reads give what is there: the map has what was there before, and
//!     would take the new bytes for rot. It must be void then for everybody: who writes says how
//!     ([`Verified::voiding`]), and that is durable before the write. Otherwise the next mount would write the old
//!     bytes over the new ones.

use crate::Active;
use crate::disk::fill;
use ordo_disk::{Block, Cause, Disk, DiskError, DiskFuture, DiskInfo, DiskOff, Extent, Kind, ReadPart, Tag, WritePart};
use ordo_rt::sync::Mutex;
use std::cell::Cell;
use std::rc::Rc;

/// What a read of a place gives that is nowhere right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NowhereRight {
    /// An error: nobody may take the bytes for right.
    IsAnError,
    /// The bytes as they are, for who judges them by himself.
    IsAsItIs,
}

/// A disk whose reads are verified. Clones are handles of the same one.
#[derive(Clone)]
pub struct Verified(Rc<Inner>);

struct Inner {
    /// It only reads.
    active: Active,
    below: Rc<dyn Disk>,
    nowhere: NowhereRight,
    /// What makes the map void, and where it is written.
    voids: Option<(DiskOff, Vec<u8>)>,
    /// Held alone while the map becomes void.
    voiding: Mutex<()>,
    written: Cell<bool>,
    /// Reads that met a place that is nowhere right.
    unproven: Cell<u64>,
}

impl Verified {
    /// A disk over `below` with the map of `active`, which was opened over the same disk for reading only. Who writes
    /// through it has made the map void by himself.
    pub fn new(active: Active, below: Rc<dyn Disk>, nowhere: NowhereRight) -> Verified {
        Verified::with(active, below, nowhere, None)
    }

    /// The same; these bytes, whole sectors at this place, make the map void before the first write (V2).
    pub fn voiding(active: Active, below: Rc<dyn Disk>, nowhere: NowhereRight, voids: (DiskOff, Vec<u8>)) -> Verified {
        Verified::with(active, below, nowhere, Some(voids))
    }

    fn with(active: Active, below: Rc<dyn Disk>, nowhere: NowhereRight, voids: Option<(DiskOff, Vec<u8>)>) -> Verified {
        let (written, unproven) = (Cell::new(false), Cell::new(0));
        Verified(Rc::new(Inner { active, below, nowhere, voids, voiding: Mutex::new(()), written, unproven }))
    }

    /// How many reads met a place that is nowhere right, and gave it as it is.
    pub fn unproven(&self) -> u64 {
        self.0.unproven.get()
    }

    /// A request that writes: the first one waits until the map is void.
    fn writes(
        &self,
        request: impl FnOnce(&dyn Disk) -> DiskFuture<Result<(), DiskError>> + 'static,
    ) -> DiskFuture<Result<(), DiskError>> {
        if self.0.written.get() {
            return request(&*self.0.below);
        }
        let inner = self.0.clone();
        DiskFuture::later(async move {
            let one = inner.voiding.lock().await;
            if !inner.written.get() {
                if let Some((at, bytes)) = &inner.voids {
                    let part = WritePart { image: Block::copy_of(bytes).image(), tag: Tag::of(Kind::Superblock) };
                    inner.below.write(*at, vec![part], false).await?;
                    inner.below.flush().await?;
                }
                inner.written.set(true);
            }
            drop(one);
            request(&*inner.below).await
        })
    }
}

impl Inner {
    /// The same fragment by fragment: what is right in a copy is so beside what is nowhere right, too. A judge who saw
    /// the home there would repair what a heal then changes.
    async fn each_fragment(&self, at: DiskOff, len: u64, mut parts: Vec<ReadPart>) -> Result<Vec<ReadPart>, DiskError> {
        let (frag, end) = (self.active.0.area.frag, at.0 + len);
        let mut bytes = Vec::with_capacity(len as usize);
        let mut next = at.0;
        while next < end {
            let piece = next..(next / frag * frag + frag).min(end);
            let part =
                || vec![ReadPart { block: Block::zeroed((piece.end - piece.start) as usize), tag: Tag::default() }];
            let read = match self.active.read(DiskOff(next), part()).await {
                Err(error) if error.cause == Cause::Rot => self.below.read(DiskOff(next), part()).await?,
                done => done?,
            };
            read.iter().for_each(|part| bytes.extend_from_slice(&part.block));
            next = piece.end;
        }
        fill(&mut parts, &bytes);
        Ok(parts)
    }
}

impl Disk for Verified {
    fn info(&self) -> DiskInfo {
        self.0.below.info()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        let inner = &self.0;
        let len: u64 = parts.iter().map(|part| part.block.len() as u64).sum();
        // The active disk goes on behind the volume, with its journal.
        if inner.written.get() || inner.below.info().check(ordo_disk::DiskOp::Read, at, len).is_err() {
            return inner.below.read(at, parts);
        }
        if inner.nowhere == NowhereRight::IsAnError {
            return inner.active.read(at, parts);
        }
        let again: Vec<_> =
            parts.iter().map(|part| ReadPart { block: Block::zeroed(part.block.len()), tag: part.tag }).collect();
        let (proven, inner) = (inner.active.read(at, parts), inner.clone());
        DiskFuture::later(async move {
            match proven.await {
                Err(error) if error.cause == Cause::Rot => {
                    inner.unproven.set(inner.unproven.get() + 1);
                    inner.each_fragment(at, len, again).await
                }
                done => done,
            }
        })
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        self.writes(move |below| below.write(at, parts, fua))
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.0.below.flush()
    }

    fn announce(&self, ranges: &[(DiskOff, u64)]) -> DiskFuture<Result<(), DiskError>> {
        self.0.below.announce(ranges)
    }

    fn keeps_snapshots(&self) -> bool {
        self.0.below.keeps_snapshots()
    }

    fn is_fenced(&self) -> bool {
        self.0.below.is_fenced()
    }

    fn hold(&self, lease: &ordo_disk::fence::Lease) {
        self.0.below.hold(lease);
    }

    fn extents(&self, at: DiskOff, len: u64) -> DiskFuture<Result<Vec<Extent>, DiskError>> {
        self.0.below.extents(at, len)
    }

    fn discard(&self, at: DiskOff, len: u64) -> DiskFuture<Result<(), DiskError>> {
        self.writes(move |below| below.discard(at, len))
    }
}
