//! A disk on which a command that changes nothing, as most that fail, leaves the bytes as they were.
//!
//! Whoever opens a volume for writing marks it as in use, and at the end as no longer in use. So even a command whose
//! arguments turn out to be wrong (no such file, a name that exists) would change bytes, in an image that somebody may
//! have hashed. Therefore writes are kept back until a command has written more than these marks.
//!
//! T1. Writes and flushes are kept in their order, up to [`MOST`] bytes, and are sent in it: a kill or a power cut
//!     leaves what it would leave of a disk that is slower. Nobody is told that a command has done its work before all
//!     of it was sent: [`Tentative::end`] comes before its status.
//! T2. Only superblocks, and bytes that are there already, count as nothing: no command that uses this changes the
//!     superblock alone. Whatever else was written is sent, whether the command failed or not.

use ordofs::disk::{
    Block, Cause, Disk, DiskError, DiskFuture, DiskInfo, DiskOff, DiskOp, Kind, Overlay, ReadPart, Tag, WritePart,
    write_len,
};
use ordofs::rt::sync::Mutex;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Most bytes that are kept back.
const MOST: u64 = 4 << 20;

/// What was asked of the disk.
enum Asked {
    Write(DiskOff, Vec<WritePart>, bool),
    Flush,
}

/// The disk; clones are handles of the same one.
#[derive(Clone)]
pub(crate) struct Tentative(Rc<Inner>);

struct Inner {
    below: Rc<dyn Disk>,
    over: Overlay,
    kept: RefCell<Vec<Asked>>,
    bytes: Cell<u64>,
    /// Nothing is kept back any more.
    through: Cell<bool>,
    sending: Mutex<()>,
}

impl Tentative {
    pub(crate) fn new(below: Rc<dyn Disk>) -> Tentative {
        let (over, kept, sending) = (Overlay::new(below.clone()), RefCell::default(), Mutex::new(()));
        Tentative(Rc::new(Inner { below, over, kept, bytes: Cell::new(0), through: Cell::new(false), sending }))
    }

    /// The command has ended, and the volume is closed. What is kept back is sent, unless it is nothing (T2).
    ///
    /// # Errors
    /// Those of the disk.
    pub(crate) async fn end(&self) -> Result<(), DiskError> {
        if !self.0.through.get() && self.is_nothing().await? {
            self.0.kept.borrow_mut().clear();
            return Ok(());
        }
        self.0.send().await
    }

    async fn is_nothing(&self) -> Result<bool, DiskError> {
        let mut written = Vec::new();
        for asked in &*self.0.kept.borrow() {
            let Asked::Write(at, parts, _) = asked else { continue };
            let mut at = at.0;
            for part in parts {
                if part.tag.kind != Kind::Superblock {
                    written.push((at, part.image.to_vec()));
                }
                at += part.image.len() as u64;
            }
        }
        let sector = u64::from(self.0.below.info().sector);
        for (at, bytes) in written {
            let start = at - at % sector;
            let len = (at + bytes.len() as u64).next_multiple_of(sector) - start;
            let part = ReadPart { block: Block::zeroed(len as usize), tag: Tag::default() };
            let there = self.0.below.read(DiskOff(start), vec![part]).await?;
            let there: Vec<u8> = there.iter().flat_map(|part| part.block.iter().copied()).collect();
            if there[(at - start) as usize..][..bytes.len()] != bytes[..] {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Inner {
    /// Sends what is kept back, in its order (T1).
    async fn send(&self) -> Result<(), DiskError> {
        let _alone = self.sending.lock().await;
        loop {
            let kept = self.kept.take();
            if kept.is_empty() {
                self.through.set(true);
                return Ok(());
            }
            for asked in kept {
                match asked {
                    Asked::Write(at, parts, fua) => self.below.write(at, parts, fua).await?,
                    Asked::Flush => self.below.flush().await?,
                }
            }
        }
    }
}

impl Disk for Tentative {
    fn info(&self) -> DiskInfo {
        self.0.below.info()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        if self.0.through.get() { self.0.below.read(at, parts) } else { self.0.over.read(at, parts) }
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        let inner = self.0.clone();
        if inner.through.get() {
            return inner.below.write(at, parts, fua);
        }
        let len = write_len(&parts);
        if let Err(error) = self.info().check(DiskOp::Write, at, len) {
            return DiskFuture::now(Err(error));
        }
        // In memory: it is done at once.
        drop(inner.over.write(at, parts.clone(), false));
        inner.kept.borrow_mut().push(Asked::Write(at, parts, fua));
        inner.bytes.set(inner.bytes.get() + len);
        match inner.bytes.get() > MOST {
            true => DiskFuture::later(async move { inner.send().await }),
            false => DiskFuture::now(Ok(())),
        }
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        let inner = self.0.clone();
        if inner.through.get() {
            return inner.below.flush();
        }
        inner.kept.borrow_mut().push(Asked::Flush);
        // While others are sent this one must not come before them.
        match inner.bytes.get() > MOST {
            true => DiskFuture::later(async move { inner.send().await }),
            false => DiskFuture::now(Ok(())),
        }
    }

    fn discard(&self, at: DiskOff, len: u64) -> DiskFuture<Result<(), DiskError>> {
        match self.0.through.get() {
            true => self.0.below.discard(at, len),
            false => DiskFuture::now(Err(DiskError::new(DiskOp::Discard, at, len, Cause::Unsupported))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordofs::disk::RamDisk;
    use ordofs::rt::Rt;

    fn write(disk: &Tentative, at: u64, len: usize, with: u8, kind: Kind) -> DiskFuture<Result<(), DiskError>> {
        disk.write(
            DiskOff(at),
            vec![WritePart { image: Block::copy_of(&vec![with; len]).image(), tag: kind.into() }],
            true,
        )
    }

    #[test]
    fn superblocks_alone_are_nothing_and_all_else_is_sent() {
        let rt = Rt::virtual_time(1);
        for (kind, with, stays) in
            [(Kind::Superblock, 2, true), (Kind::Data, 1, true), (Kind::Data, 2, false), (Kind::Log, 2, false)]
        {
            let ram = RamDisk::from_bytes(&[1; 4096]);
            let disk = Tentative::new(Rc::new(ram.clone()));
            rt.block_on(async {
                write(&disk, 512, 512, 3, Kind::Superblock).await.unwrap();
                disk.flush().await.unwrap();
                write(&disk, 1024, 512, with, kind).await.unwrap();
                assert_eq!(ram.to_vec(), [1; 4096]);
                disk.end().await.unwrap();
            });
            assert_eq!(ram.to_vec() == [1; 4096], stays, "{kind:?} {with}");
        }
    }

    #[test]
    fn much_goes_through_in_its_order() {
        let rt = Rt::virtual_time(1);
        let ram = RamDisk::new(16 << 20);
        let disk = Tentative::new(Rc::new(ram.clone()));
        rt.block_on(async {
            for at in 0..9u64 {
                write(&disk, at << 20, 1 << 20, 1, Kind::Data).await.unwrap();
                write(&disk, at << 20, 512, at as u8, Kind::Superblock).await.unwrap();
            }
            disk.flush().await.unwrap();
            let bytes = ram.to_vec();
            assert!(
                (0..9u64).all(|at| bytes[(at << 20) as usize] == at as u8 && bytes[(at << 20) as usize + 512] == 1)
            );
            let part = ReadPart { block: Block::zeroed(512), tag: Tag::default() };
            assert_eq!(disk.read(DiskOff(8 << 20), vec![part]).await.unwrap()[0].block[0], 8);
            disk.end().await.unwrap();
        });
    }
}
