//! The disk on which a writer writes while it has the claim.

use std::rc::Rc;

use super::claim::Claim;
use crate::error::DiskError;
use crate::{Disk, DiskFuture, DiskInfo, DiskOff, ReadPart, WritePart};

/// A disk that is written to only while its writer has the claim. Reads pass.
#[derive(Clone)]
pub struct Fence {
    disk: Rc<dyn Disk>,
    claim: Claim,
}

impl Claim {
    /// `disk` for this writer: what is written to it is checked against this claim.
    pub fn fence(&self, disk: Rc<dyn Disk>) -> Fence {
        Fence { disk, claim: self.clone() }
    }
}

impl Fence {
    /// Gives a request to the disk as soon as fence-1 allows it. What comes back later than VALID is believed only
    /// after another look: nobody is told that something is done on a disk that another one has.
    fn guarded(
        &self,
        request: impl FnOnce(&dyn Disk) -> DiskFuture<Result<(), DiskError>> + 'static,
    ) -> DiskFuture<Result<(), DiskError>> {
        let (disk, claim) = (self.disk.clone(), self.claim.clone());
        if !claim.is_valid() {
            return DiskFuture::later(async move {
                claim.valid().await?;
                request(&*disk).await?;
                claim.valid().await
            });
        }
        match request(&*disk) {
            DiskFuture::Now(Some(answer)) if claim.is_valid() || answer.is_err() => DiskFuture::now(answer),
            answer => DiskFuture::later(async move {
                answer.await?;
                claim.valid().await
            }),
        }
    }
}

impl Disk for Fence {
    fn info(&self) -> DiskInfo {
        self.disk.info()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        self.disk.read(at, parts)
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        self.guarded(move |disk| disk.write(at, parts, fua))
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.guarded(|disk| disk.flush())
    }

    fn announce(&self, ranges: &[(DiskOff, u64)]) -> DiskFuture<Result<(), DiskError>> {
        let ranges = ranges.to_vec();
        self.guarded(move |disk| disk.announce(&ranges))
    }

    fn keeps_snapshots(&self) -> bool {
        self.disk.keeps_snapshots()
    }

    fn is_fenced(&self) -> bool {
        true
    }

    fn positioning(&self, at: DiskOff, is_write: bool) -> Option<u64> {
        self.disk.positioning(at, is_write)
    }

    fn discard(&self, at: DiskOff, len: u64) -> DiskFuture<Result<(), DiskError>> {
        self.guarded(move |disk| disk.discard(at, len))
    }
}
