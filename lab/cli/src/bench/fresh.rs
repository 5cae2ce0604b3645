//! A new volume for a run, on each kind of disk.

use ordo_cli::fresh::{Fresh, NewSize, new_file};
use ordofs::MountOptions;
use ordofs::disk::{Disk, FileOptions, RamDisk};
use ordofs::rt::Rt;
use std::path::Path;
use std::rc::Rc;

/// Size of a log on a disk of its own: what `ordo tune -o log=on` gives the largest volumes.
const LOG: u64 = 128 << 20;

/// A volume for a scheme could not be made or mounted on a disk that is there: nothing was run.
#[derive(Debug)]
pub(crate) struct NotHere(String);

impl NotHere {
    /// For this reason.
    pub(crate) fn because(why: &anyhow::Error) -> NotHere {
        NotHere(format!("{why:#}"))
    }
}

impl std::fmt::Display for NotHere {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotHere {}

/// A volume in memory, and optionally a separate log.
///
/// # Errors
/// [`NotHere`].
pub(crate) fn in_ram(rt: &Rt, size: NewSize, options: &MountOptions, own_log: bool) -> anyhow::Result<Fresh> {
    let log = own_log.then(|| -> Rc<dyn Disk> { Rc::new(RamDisk::new(LOG)) });
    on(rt, Rc::new(RamDisk::new(size.bytes)), log, size, options)
}

/// A volume in the new file `path`, with an optional log in the new file `log`.
///
/// # Errors
/// [`NotHere`]; when a file cannot be made.
pub(crate) fn in_files(
    rt: &Rt,
    path: &Path,
    log: Option<&Path>,
    size: NewSize,
    options: &MountOptions,
) -> anyhow::Result<Fresh> {
    let log = log.map(|log| new_file(rt, log, LOG)).transpose()?;
    on(rt, new_file(rt, path, size.bytes)?, log, size, options)
}

/// A volume over all that is in `place`: a device, a file, an export. It has at most `size` bytes.
///
/// # Errors
/// [`NotHere`]; when the place cannot be opened.
pub(crate) fn over(rt: &Rt, place: &Path, size: NewSize, options: &MountOptions) -> anyhow::Result<Fresh> {
    let disk = ordofs::disk::open(rt, place, &FileOptions::default())?;
    let size = NewSize { bytes: size.bytes.min(disk.info().size), ..size };
    on(rt, disk, None, size, options)
}

fn on(
    rt: &Rt,
    disk: Rc<dyn Disk>,
    log: Option<Rc<dyn Disk>>,
    size: NewSize,
    options: &MountOptions,
) -> anyhow::Result<Fresh> {
    Fresh::on(rt, disk, log, size, options).map_err(|why| NotHere::because(&why).into())
}
