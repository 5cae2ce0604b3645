//! A disk as it is: a file or device of the host, a partition, a view of a volume.
//!
//! W1. Clients may address bytes, disks have sectors. A write of a part of a sector reads the rest first, and then no
//!     other write may run, since it could be undone.
//! W2. Holes are known, and made, only where the disk is a regular file of the host: there a punched range reads as
//!     zeroes. Of other disks everything is data, and zeroes are written.

use std::fs::File;
use std::rc::Rc;

use bytes::Bytes;
use ordo_disk::{Block, Disk, DiskOff, ReadPart, Tag, WritePart, nbd_proto as proto};
use ordo_rt::sync::RwLock;
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

use crate::export::{Description, Export, Extent, Failure};

/// Zeroes for one write. A block of this size takes no memory while it is all zeroes.
const ZEROES: usize = 64 << 10;

/// See the module.
pub struct Whole {
    disk: Rc<dyn Disk>,
    /// A file of the host with the same bytes, from this offset on (W2).
    host: Option<(File, u64)>,
    description: Description,
    /// Held alone for a write of a part of a sector (W1).
    parts: RwLock<()>,
}

impl Whole {
    /// Exports `disk`; nothing can be changed if `read_only`, or if the disk is. `host` is the regular file that has
    /// the same bytes, and where they begin in it, if there is one.
    pub fn new(disk: Rc<dyn Disk>, host: Option<(File, u64)>, read_only: bool, text: impl Into<String>) -> Whole {
        let info = disk.info();
        let description = Description {
            size: info.size,
            read_only: read_only || info.read_only,
            least: info.sector,
            preferred: info.sector.max(4096),
            piece: (info.max_transfer - info.max_transfer % info.sector).clamp(info.sector, 1 << 20),
            fast_zeroes: host.is_some(),
            rotates: info.rotates,
            text: text.into(),
        };
        Whole { disk, host, description, parts: RwLock::new(()) }
    }

    fn is_whole(&self, at: u64, len: u64) -> bool {
        let sector = u64::from(self.description.least);
        at.is_multiple_of(sector) && len.is_multiple_of(sector)
    }

    /// Reads whole sectors, in pieces.
    async fn fetch(&self, mut at: u64, len: u64) -> Result<Vec<Block>, Failure> {
        let (end, mut blocks) = (at + len, Vec::new());
        while at < end {
            let block = Block::unspecified((end - at).min(u64::from(self.description.piece)) as usize);
            at += block.len() as u64;
            let part = ReadPart { block, tag: Tag::default() };
            let read = self.disk.read(DiskOff(at - part.block.len() as u64), vec![part]).await?;
            blocks.extend(read.into_iter().map(|part| part.block));
        }
        Ok(blocks)
    }

    async fn store(&self, mut at: u64, blocks: Vec<Block>, force: bool) -> Result<(), Failure> {
        for block in blocks {
            let len = block.len() as u64;
            let part = WritePart { image: block.image(), tag: Tag::default() };
            self.disk.write(DiskOff(at), vec![part], force).await?;
            at += len;
        }
        Ok(())
    }

    /// The sectors around a range, and where they begin.
    async fn around(&self, at: u64, len: u64) -> Result<(u64, Vec<u8>), Failure> {
        let sector = u64::from(self.description.least);
        let (from, to) = (at - at % sector, (at + len).next_multiple_of(sector));
        let mut bytes = Vec::new();
        self.fetch(from, to - from).await?.iter().for_each(|block| bytes.extend_from_slice(block));
        Ok((from, bytes))
    }

    /// Writes a range that begins or ends within a sector (W1).
    async fn patch(&self, at: u64, data: &[Block], force: bool) -> Result<(), Failure> {
        let len = data.iter().map(|block| block.len() as u64).sum();
        let _alone = self.parts.write().await;
        let (from, mut bytes) = self.around(at, len).await?;
        let mut to = (at - from) as usize;
        for block in data {
            bytes[to..to + block.len()].copy_from_slice(block);
            to += block.len();
        }
        let blocks = bytes.chunks(self.description.piece as usize).map(Block::copy_of).collect();
        self.store(from, blocks, force).await
    }

    async fn write_zeroes(&self, mut at: u64, len: u64) -> Result<(), Failure> {
        let end = at + len;
        while at < end {
            // As far as a piece goes, from one multiple of it to the next.
            let piece = u64::from(self.description.piece);
            let step = (end - at).min(piece - at % piece);
            let blocks = (0..step.div_ceil(ZEROES as u64))
                .map(|number| Block::zeroed((step - number * ZEROES as u64).min(ZEROES as u64) as usize));
            self.write(at, blocks.collect(), false).await?;
            at += step;
        }
        Ok(())
    }
}

impl Export for Whole {
    fn describe(&self) -> Description {
        self.description.clone()
    }

    async fn read(&self, at: u64, len: u32) -> Result<Vec<Bytes>, Failure> {
        if self.is_whole(at, len.into()) {
            return Ok(self.fetch(at, len.into()).await?.into_iter().map(Bytes::from_owner).collect());
        }
        let (from, bytes) = self.around(at, len.into()).await?;
        let skip = (at - from) as usize;
        Ok(vec![Bytes::from(bytes).slice(skip..skip + len as usize)])
    }

    async fn write(&self, at: u64, data: Vec<Block>, force: bool) -> Result<(), Failure> {
        let whole = data.iter().all(|block| self.is_whole(at, block.len() as u64));
        if !whole {
            return self.patch(at, &data, force).await;
        }
        let _beside = self.parts.read().await;
        self.store(at, data, force).await
    }

    async fn flush(&self) -> Result<(), Failure> {
        Ok(self.disk.flush().await?)
    }

    async fn trim(&self, at: u64, len: u64) -> Result<(), Failure> {
        let sector = u64::from(self.description.least);
        let (from, to) = (at.next_multiple_of(sector), (at + len) / sector * sector);
        if from >= to {
            return Ok(());
        }
        let _beside = self.parts.read().await;
        match self.disk.discard(DiskOff(from), to - from).await.map_err(Failure::from) {
            // Advice that cannot be taken: the bytes stay, which the client must expect anyway.
            Err(Failure { code: proto::ENOTSUP, .. }) => Ok(()),
            done => done,
        }
    }

    async fn zero(&self, at: u64, len: u64, holes: bool, fast: bool) -> Result<(), Failure> {
        let can_punch = self.host.is_some() && holes && self.is_whole(at, len);
        if can_punch {
            let _beside = self.parts.read().await;
            match self.disk.discard(DiskOff(at), len).await.map_err(Failure::from) {
                Err(Failure { code: proto::ENOTSUP, .. }) => {}
                done => return done,
            }
        }
        if fast {
            return Err(Failure::new(proto::ENOTSUP, "these zeroes would have to be written"));
        }
        self.write_zeroes(at, len).await
    }

    async fn extent(&self, at: u64) -> Result<Extent, Failure> {
        let size = self.description.size;
        let Some((file, begins)) = &self.host else { return Ok(Extent { end: size, hole: false }) };
        // A short call, which asks for no block: it may run on the executor's thread.
        let next = |whence: fn(u64) -> SeekFrom| match seek(file, whence(begins + at)) {
            Ok(found) => Ok(found.saturating_sub(*begins).min(size)),
            Err(Errno::NXIO) => Ok(size),
            Err(errno) => Err(errno),
        };
        let extent = next(SeekFrom::Data).and_then(|data| match data > at {
            true => Ok(Extent { end: data, hole: true }),
            false => Ok(Extent { end: next(SeekFrom::Hole)?, hole: false }),
        });
        // Whoever cannot say where holes are has none; and there is progress even if the file changes meanwhile.
        Ok(extent.ok().filter(|extent| extent.end > at).unwrap_or(Extent { end: size, hole: false }))
    }
}
