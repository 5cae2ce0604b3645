//! A regular file or a block device as a disk.
//!
//! F1. A file opened for writing is locked: a second writer is refused, since it would undo the first one's work
//!     without either noticing. Readers share a lock, which excludes writers. Other names of the same bytes (loop
//!     devices and partitions of them) are locked, too, and QEMU's locks are respected ([`lock`]).
//! F2. A flush is `fdatasync`, a forced write is `RWF_DSYNC`. The page cache is not durable, so the disk's cache is
//!     volatile even if the device's own is not; only direct I/O to a write-through device has no volatile cache.
//! F3. A file that has become shorter is *gone*, for reads at once and for writes at the next flush: the page cache
//!     would let it grow again, with holes where data was.
//! F4. A window may begin at any byte if the file is regular and only read through the page cache: nothing there needs
//!     whole sectors. Everything else begins at one: a write of a part of a sector would have to read it first.

mod below;
mod holder;
mod lock;
mod new;
mod open;
mod options;
mod rotation;

use std::fs::File;
use std::io;
use std::path::Path;
use std::rc::Rc;

use ordo_rt::Rt;

use crate::engine::direct::Direct;
use crate::engine::work::Work;
use crate::engine::{Driven, Engine, pool, uring};
use crate::error::OpenError;
use crate::{Cause, Disk, DiskError, DiskFuture, DiskInfo, DiskOff, ReadPart, WritePart};
use lock::Locked;
pub use new::{Existing, is_blank, new_file};
use open::{Opened, open_disk, size_of};
pub use options::{EngineChoice, FileOptions};

/// A file or block device; clones are handles of the same one.
#[derive(Clone)]
pub struct FileDisk(Rc<Shared>);

struct Shared {
    info: DiskInfo,
    offset: u64,
    /// Whether the length can change under us (F3).
    regular: bool,
    /// Declared before the lock: requests in flight end before others may write.
    driven: Driven,
    file: Locked,
    name: &'static str,
}

impl FileDisk {
    /// Opens and locks `path`.
    pub fn open(rt: &Rt, path: impl AsRef<Path>, options: &FileOptions) -> Result<FileDisk, OpenError> {
        let path = path.as_ref();
        let refused = |source| OpenError::Io { path: path.into(), source };
        let Opened { file, size, sector, volatile_cache, regular } = open_disk(path, options)?;
        let unit = u64::from(sector);
        // F4: a window that begins within a sector, which plain reads of a file allow.
        let odd = !options.offset.is_multiple_of(unit);
        let size = if odd { size_of(&file).map_err(|errno| refused(errno.into()))? } else { size };
        let rest = size.saturating_sub(options.offset);
        let len = options.len.unwrap_or(rest - rest % unit);
        let end = options.offset.saturating_add(len);
        let plain = regular && options.read_only && !options.direct;
        if end > size || odd && !plain || !len.is_multiple_of(unit) {
            return Err(OpenError::Window { path: path.into(), offset: options.offset, end, size, sector });
        }
        let (engine, name) = engine(&file, options.engine).map_err(refused)?;
        let info = DiskInfo {
            size: len,
            sector,
            volatile_cache: options.volatile_cache.unwrap_or(volatile_cache),
            read_only: options.read_only,
            max_transfer: 1 << 20,
            depth: if name == "io_uring" { uring::DEPTH } else { pool::THREADS * 2 },
            immediate: false,
            times_only: false,
            rotates: rotation::rotates(&file),
        };
        let direct = (!options.direct).then(|| Direct::new(rt, &file)).transpose().map_err(refused)?;
        let driven = Driven::new(rt, engine, direct).map_err(refused)?;
        Ok(FileDisk(Rc::new(Shared { info, offset: options.offset, regular, file, driven, name })))
    }

    /// What makes the system calls: `io_uring` or `threads`.
    pub fn engine(&self) -> &'static str {
        self.0.name
    }
}

fn engine(file: &File, choice: EngineChoice) -> io::Result<(Rc<dyn Engine>, &'static str)> {
    let choice = match (choice, std::env::var("ORDO_IO").as_deref()) {
        (EngineChoice::Auto, Ok("uring")) => EngineChoice::Uring,
        (EngineChoice::Auto, Ok("threads")) => EngineChoice::Threads,
        _ => choice,
    };
    if choice != EngineChoice::Threads {
        match uring::Ring::new(file) {
            Ok(ring) => return Ok((Rc::new(ring), "io_uring")),
            // EPERM, ENOSYS, ENOMEM (locked memory), EMFILE: whatever the reason, threads need less.
            Err(error) if choice == EngineChoice::Uring => return Err(error),
            Err(_) => {}
        }
    }
    Ok((Rc::new(pool::Pool::new(file)?), "threads"))
}

impl Disk for FileDisk {
    fn info(&self) -> DiskInfo {
        self.0.info.clone()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        let work = Work::Read { at: self.0.offset.saturating_add(at.0), parts };
        self.0.driven.ask(&self.0.info, at, work, Work::into_read)
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        let work = Work::Write { at: self.0.offset.saturating_add(at.0), parts, fua };
        self.0.driven.ask(&self.0.info, at, work, |_| Ok(()))
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        if self.0.info.read_only {
            return DiskFuture::now(Ok(()));
        }
        let shared = self.0.clone();
        self.0.driven.ask(&self.0.info, DiskOff(0), Work::Flush, move |_| {
            let size = shared.info.size;
            let gone = shared.regular && size_of(&shared.file).is_ok_and(|now| now < shared.offset + size);
            if gone { Err(Cause::Gone { size }) } else { Ok(()) }
        })
    }

    fn discard(&self, at: DiskOff, len: u64) -> DiskFuture<Result<(), DiskError>> {
        let work = Work::Punch { at: self.0.offset.saturating_add(at.0), len };
        self.0.driven.ask(&self.0.info, at, work, |_| Ok(()))
    }
}

#[cfg(test)]
mod tests;
