//! New volumes that are worked on at once, with the requests to their disks counted: for the tour, and for the
//! benchmarks of `ordo-lab`, which bring the disks.

use crate::image;
use anyhow::Context;
use ordofs::disk::{Counted, Disk, FileDisk, FileOptions, Requests};
use ordofs::rt::Rt;
use ordofs::{
    DEFAULT_SCHEME, LFS_SCHEME, Located, LogKind, MountOptions, Mounted, NewLfs, NewVolume, Tuning, locate_on, schemes,
};
use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;

/// The kind of log that the scheme of these options keeps.
pub fn wants_log(options: &MountOptions) -> Option<LogKind> {
    schemes::by_name(options.scheme.as_deref().unwrap_or(DEFAULT_SCHEME)).and_then(schemes::Known::wants_log)
}

/// The size of a new volume.
#[derive(Debug, Clone, Copy)]
pub struct NewSize {
    /// Its bytes.
    pub bytes: u64,
    /// Bytes of its blocks, of which a fragment is an eighth; `None` for what is usual.
    pub block: Option<u32>,
}

impl NewSize {
    /// A volume of so many bytes, with blocks as usual.
    pub fn of(bytes: u64) -> NewSize {
        NewSize { bytes, block: None }
    }

    /// Bytes of a block and of a fragment.
    pub fn block_and_fragment(self) -> Option<(u32, u32)> {
        self.block.map(|block| (block, (block / 8).max(512)))
    }
}

/// A new volume, mounted, with the requests to its disks counted.
pub struct Fresh {
    /// The volume.
    pub mounted: Mounted,
    /// What its disks were asked for since the mount.
    pub requests: Rc<Cell<Requests>>,
}

impl Fresh {
    /// A volume in the new file `path`.
    ///
    /// # Errors
    /// When the file cannot be made; those of [`Fresh::on`].
    pub fn in_file(rt: &Rt, path: &Path, size: NewSize, options: &MountOptions) -> anyhow::Result<Fresh> {
        Fresh::on(rt, new_file(rt, path, size.bytes)?, None, size, options)
    }

    /// A volume for the scheme of these options over all that is on `disk`, and its log on a second disk if one is
    /// given.
    ///
    /// # Errors
    /// When the disks do not suit the scheme, and those of the disks.
    pub fn on(
        rt: &Rt,
        disk: Rc<dyn Disk>,
        log: Option<Rc<dyn Disk>>,
        size: NewSize,
        options: &MountOptions,
    ) -> anyhow::Result<Fresh> {
        let open_error = |error| image::open_error(Path::new("the new volume"), error);
        let shape = size.block_and_fragment();
        let (plan, zeroed) = match options.scheme.as_deref() {
            Some(LFS_SCHEME) => {
                let log = NewLfs::new(size.bytes).with(|of| {
                    (of.block, of.fragment) = shape.map_or((of.block, of.fragment), |(b, f)| (Some(b), Some(f)));
                });
                (log.plan(), false)
            }
            _ => {
                let volume = NewVolume::new(size.bytes).with(|of| {
                    (of.bsize, of.fsize) = shape.unwrap_or((of.bsize, of.fsize));
                });
                (volume.plan(), true)
            }
        };
        plan.and_then(|plan| plan.write(rt, disk.clone(), zeroed)).map_err(open_error)?;
        if let Some(kind) = wants_log(options).filter(|_| log.is_none()) {
            Tuning::for_log(kind).apply_on(rt, disk.clone()).context("the new volume has no place for a journal")?;
        }
        let (disk, requests) = Counted::count(disk);
        let log = log.map(|log| Counted::beside(log, &requests));
        let located = Located { log: log.map(Into::into), ..locate_on(rt, disk).map_err(open_error)? };
        let mounted = rt.block_on(Mounted::mount(rt, located, options)).map_err(open_error)?;
        requests.set(Requests::default());
        Ok(Fresh { mounted, requests })
    }
}

/// A disk of `size` bytes in the new file `path`.
///
/// # Errors
/// When it is there already, or cannot be made.
pub fn new_file(rt: &Rt, path: &Path, size: u64) -> anyhow::Result<Rc<dyn Disk>> {
    let file = std::fs::File::create_new(path).with_context(|| format!("cannot make {}", path.display()))?;
    file.set_len(size).with_context(|| path.display().to_string())?;
    Ok(Rc::new(FileDisk::open(rt, path, &FileOptions::default())?))
}
