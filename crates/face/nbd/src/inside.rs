//! A regular file inside a mounted volume: the disk of a virtual machine, kept by the volume's scheme.
//!
//! I1. A flush is fsync of the file, without its times; a forced write is a write and then fsync. What the volume does
//!     not promise to be durable is not answered as if it were.
//! I2. The size is that of the moment when the file was opened: nothing else can change the file meanwhile.

use std::rc::Rc;

use bytes::Bytes;
use ordo_disk::{Block, nbd_proto as proto};
use ordo_vfs::{Caller, FallocMode, FileSystem, NodeId, Refusal, Whence};

use crate::export::{Description, Export, Extent, Failure};

/// The most bytes that one call of the file system frees or zeroes: a transaction of a log has its bounds.
const RANGE_MOST: u64 = 64 << 20;
/// The most bytes that one call of the file system reads or writes.
const PIECE: u32 = 1 << 20;

/// See the module.
pub struct Inside<F: FileSystem> {
    fs: Rc<F>,
    node: NodeId,
    description: Description,
}

impl<F: FileSystem> Inside<F> {
    /// Exports `node`, a regular file of `size` bytes, which the caller keeps looked up as long as it is served.
    pub fn new(fs: Rc<F>, node: NodeId, size: u64, read_only: bool, text: impl Into<String>) -> Inside<F> {
        let description = Description {
            size,
            read_only: read_only || fs.read_only(),
            least: 1,
            preferred: 4096,
            piece: PIECE,
            fast_zeroes: true,
            rotates: false,
            text: text.into(),
        };
        Inside { fs, node, description }
    }

    fn caller() -> Caller {
        Caller { privileged: true, ..Caller::default() }
    }

    /// Applies `mode` to the range, in pieces.
    async fn fallocate(&self, mut at: u64, len: u64, mode: FallocMode) -> Result<(), Failure> {
        let end = at + len;
        while at < end {
            let piece = (end - at).min(RANGE_MOST);
            self.fs.fallocate(&Self::caller(), self.node, at, piece, mode).await?;
            at += piece;
        }
        Ok(())
    }

    async fn write_all(&self, mut at: u64, data: &[u8]) -> Result<(), Failure> {
        let mut rest = data;
        while !rest.is_empty() {
            let done = self.fs.write(&Self::caller(), self.node, at, &rest[..rest.len().min(PIECE as usize)]).await?;
            at += u64::from(done);
            rest = &rest[done as usize..];
        }
        Ok(())
    }

    /// The next place of a kind, or the end of the file.
    async fn next(&self, at: u64, whence: Whence) -> Result<u64, Failure> {
        match self.fs.seek(self.node, at, whence).await {
            Ok(found) => Ok(found.min(self.description.size)),
            Err(ordo_vfs::Error::Refused(Refusal::BeyondEnd)) => Ok(self.description.size),
            Err(error) => Err(error.into()),
        }
    }
}

impl<F: FileSystem> Export for Inside<F> {
    fn describe(&self) -> Description {
        self.description.clone()
    }

    async fn read(&self, at: u64, len: u32) -> Result<Vec<Bytes>, Failure> {
        let (mut pieces, mut done) = (Vec::new(), 0);
        while done < len {
            let segments = self.fs.read(self.node, at + u64::from(done), (len - done).min(PIECE)).await?;
            let got: usize = segments.iter().map(Bytes::len).sum();
            if got == 0 {
                return Err(Failure::new(proto::EIO, "the file has become shorter"));
            }
            done += got as u32;
            pieces.extend(segments);
        }
        Ok(pieces)
    }

    async fn write(&self, mut at: u64, data: Vec<Block>, force: bool) -> Result<(), Failure> {
        for block in data {
            self.write_all(at, &block).await?;
            at += block.len() as u64;
        }
        if !force {
            return Ok(());
        }
        // A lack of space here is not that of the write, which has returned.
        self.flush().await.map_err(|Failure { text, .. }| Failure::new(proto::EIO, text))
    }

    async fn flush(&self) -> Result<(), Failure> {
        Ok(self.fs.fsync(self.node, true).await?)
    }

    async fn trim(&self, at: u64, len: u64) -> Result<(), Failure> {
        match self.fallocate(at, len, FallocMode::PunchHole).await {
            Err(Failure { code: proto::ENOTSUP, .. }) => Ok(()),
            done => done,
        }
    }

    async fn zero(&self, at: u64, len: u64, holes: bool, fast: bool) -> Result<(), Failure> {
        if !holes && fast {
            return Err(Failure::new(proto::ENOTSUP, "zeroes that take space have to be written"));
        }
        let mode = if holes { FallocMode::PunchHole } else { FallocMode::ZeroRange { keep_size: true } };
        match self.fallocate(at, len, mode).await {
            Err(Failure { code: proto::ENOTSUP, .. }) if !fast => {}
            done => return done,
        }
        let (zeroes, end, mut at) = (Block::zeroed(64 << 10), at + len, at);
        while at < end {
            let step = (end - at).min(zeroes.len() as u64);
            self.write_all(at, &zeroes[..step as usize]).await?;
            at += step;
        }
        Ok(())
    }

    async fn extent(&self, at: u64) -> Result<Extent, Failure> {
        let data = self.next(at, Whence::Data).await?;
        let extent = match data > at {
            true => Extent { end: data, hole: true },
            false => Extent { end: self.next(at, Whence::Hole).await?, hole: false },
        };
        // There is progress even if a write came in between.
        Ok(if extent.end > at { extent } else { Extent { end: self.description.size, hole: false } })
    }
}
