//! Where workloads run: a volume in memory, a volume in a file, a directory of any mounted file system.

use super::job::MachineOf;
use crate::image;
use anyhow::{Context, bail};
use ordo_drive::{Kind, Profile};
use ordofs::disk::{Counted, Disk, FileDisk, FileOptions, RamDisk, Requests};
use ordofs::rt::Rt;
use ordofs::{
    DEFAULT_SCHEME, LOG_SCHEME, Located, LogKind, MountOptions, Mounted, NewLog, NewVolume, Tuning, locate_on, schemes,
};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::str::FromStr;

/// The value of `--disk`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Bed {
    /// `ram`
    Ram,
    /// `file:PATH`; the file is made for each run.
    File(PathBuf),
    /// `erase:PLACE`: a device, a file or an export that is there; all of it is overwritten.
    Erase(PathBuf),
    /// `dir:PATH`
    Dir(PathBuf),
    /// `sim:NAME`: a modelled drive, in virtual time.
    Sim(String),
}

impl FromStr for Bed {
    type Err = String;

    fn from_str(text: &str) -> Result<Bed, String> {
        match text.split_once(':') {
            None if text == "ram" => Ok(Bed::Ram),
            Some(("file", path)) if !path.is_empty() => Ok(Bed::File(path.into())),
            Some(("erase", place)) if !place.is_empty() => Ok(Bed::Erase(place.into())),
            Some(("dir", path)) if !path.is_empty() => Ok(Bed::Dir(path.into())),
            Some(("sim", name)) if ordo_lab::drives().contains(&name) => Ok(Bed::Sim(name.into())),
            Some(("sim", name)) => Err(format!("{name:?} is not a drive; ordo disks lists them")),
            _ => Err(format!("{text:?} is not a disk; use ram, file:PATH, erase:PLACE, sim:NAME or dir:PATH")),
        }
    }
}

impl std::fmt::Display for Bed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Bed::Ram => f.write_str("ram"),
            Bed::File(path) => write!(f, "file:{}", path.display()),
            Bed::Erase(place) => write!(f, "erase:{}", place.display()),
            Bed::Dir(path) => write!(f, "dir:{}", path.display()),
            Bed::Sim(name) => write!(f, "sim:{name}"),
        }
    }
}

impl Bed {
    /// In words. `None`: where the bed says nothing that its name does not say.
    pub(crate) fn says(&self) -> Option<String> {
        match self {
            Bed::Ram => Some("memory as a disk".to_owned()),
            Bed::File(_) => Some("a file on a disk of this machine".to_owned()),
            Bed::Erase(_) | Bed::Dir(_) => None,
            Bed::Sim(drive) => drive_says(drive),
        }
    }
}

/// A modelled drive in words: its kind, its year where a machine of that year is modelled with it, and its maker's
/// name.
pub(crate) fn drive_says(drive: &str) -> Option<String> {
    let profile = Profile::named(drive).ok()?;
    let kind = match &profile.kind {
        Kind::Disk(_) => "a disk",
        Kind::Ssd(_) => "a flash drive",
    };
    let year = MachineOf::with_drive(drive).year().map(|year| format!(" of {year}")).unwrap_or_default();
    let model = profile.name.split(" (").next().unwrap_or_default();
    Some(format!("{kind}{year}, modelled: {model}"))
}

/// Size of a log on a disk of its own: what `ordo tune -o log=on` gives the largest volumes.
const LOG: u64 = 128 << 20;

/// The kind of log that the scheme of these options keeps.
pub(crate) fn wants_log(options: &MountOptions) -> Option<LogKind> {
    schemes::by_name(options.scheme.as_deref().unwrap_or(DEFAULT_SCHEME)).and_then(schemes::Known::wants_log)
}

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

/// The size of a new volume.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewSize {
    /// Its bytes.
    pub(crate) bytes: u64,
    /// Bytes of its blocks, of which a fragment is an eighth; `None` for what is usual.
    pub(crate) block: Option<u32>,
}

impl NewSize {
    /// A volume of so many bytes, with blocks as usual.
    pub(crate) fn of(bytes: u64) -> NewSize {
        NewSize { bytes, block: None }
    }

    /// Bytes of a block and of a fragment.
    pub(crate) fn block_and_fragment(self) -> Option<(u32, u32)> {
        self.block.map(|block| (block, (block / 8).max(512)))
    }
}

/// A new volume, mounted, with the requests to its disks counted.
pub(crate) struct Fresh {
    pub(crate) mounted: Mounted,
    pub(crate) requests: Rc<Cell<Requests>>,
}

impl Fresh {
    /// A volume in memory, and optionally a separate log.
    pub(crate) fn in_ram(rt: &Rt, size: NewSize, options: &MountOptions, own_log: bool) -> anyhow::Result<Fresh> {
        let log = own_log.then(|| -> Rc<dyn Disk> { Rc::new(RamDisk::new(LOG)) });
        Fresh::on(rt, Rc::new(RamDisk::new(size.bytes)), log, size, options)
    }

    /// A volume in the new file `path`.
    pub(crate) fn in_file(rt: &Rt, path: &Path, size: NewSize, options: &MountOptions) -> anyhow::Result<Fresh> {
        Fresh::in_files(rt, path, None, size, options)
    }

    /// The same, with an optional log in the new file `log`.
    pub(crate) fn in_files(
        rt: &Rt,
        path: &Path,
        log: Option<&Path>,
        size: NewSize,
        options: &MountOptions,
    ) -> anyhow::Result<Fresh> {
        let log = log.map(|log| new_file(rt, log, LOG)).transpose()?;
        Fresh::on(rt, new_file(rt, path, size.bytes)?, log, size, options)
    }

    /// A volume over all that is in `place`: a device, a file, an export. It has at most `size` bytes.
    pub(crate) fn over(rt: &Rt, place: &Path, size: NewSize, options: &MountOptions) -> anyhow::Result<Fresh> {
        let disk = ordofs::disk::open(rt, place, &FileOptions::default())?;
        let size = NewSize { bytes: size.bytes.min(disk.info().size), ..size };
        Fresh::on(rt, disk, None, size, options)
    }

    fn on(
        rt: &Rt,
        disk: Rc<dyn Disk>,
        log: Option<Rc<dyn Disk>>,
        size: NewSize,
        options: &MountOptions,
    ) -> anyhow::Result<Fresh> {
        Fresh::made(rt, disk, log, size, options).map_err(|why| NotHere::because(&why).into())
    }

    fn made(
        rt: &Rt,
        disk: Rc<dyn Disk>,
        log: Option<Rc<dyn Disk>>,
        size: NewSize,
        options: &MountOptions,
    ) -> anyhow::Result<Fresh> {
        let open_error = |error| image::open_error(Path::new("the new volume"), error);
        let shape = size.block_and_fragment();
        match options.scheme.as_deref() {
            Some(LOG_SCHEME) => {
                let log = NewLog::new(size.bytes).with(|of| {
                    (of.block, of.fragment) = shape.map_or((of.block, of.fragment), |(b, f)| (Some(b), Some(f)));
                });
                log.create_on(rt, disk.clone()).map_err(open_error)?;
            }
            _ => {
                let volume = NewVolume::new(size.bytes).with(|of| {
                    (of.bsize, of.fsize) = shape.unwrap_or((of.bsize, of.fsize));
                });
                volume.create_on(rt, disk.clone(), true).map_err(open_error)?;
            }
        }
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
fn new_file(rt: &Rt, path: &Path, size: u64) -> anyhow::Result<Rc<dyn Disk>> {
    let file = std::fs::File::create_new(path).with_context(|| format!("cannot make {}", path.display()))?;
    file.set_len(size).with_context(|| path.display().to_string())?;
    Ok(Rc::new(FileDisk::open(rt, path, &FileOptions::default())?))
}

/// A file that is removed after the run, even if the run fails.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    /// # Errors
    /// When a file exists there, which must not be removed.
    pub(crate) fn new(path: &Path) -> anyhow::Result<Scratch> {
        if path.symlink_metadata().is_ok() {
            bail!("{}: is there already; name a file that may be made and removed", path.display());
        }
        Ok(Scratch(path.to_owned()))
    }

    /// `PATH.log` beside `path`.
    ///
    /// # Errors
    /// Those of [`Scratch::new`].
    pub(crate) fn beside(path: &Path) -> anyhow::Result<Scratch> {
        let mut log = path.as_os_str().to_owned();
        log.push(".log");
        Scratch::new(Path::new(&log))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It may never have been made.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_are_named_and_shown_alike() {
        for text in ["ram", "file:/tmp/x:y", "dir:.", "erase:nbd+unix:///e?socket=/s"] {
            assert_eq!(text.parse::<Bed>().unwrap().to_string(), text);
        }
        for text in ["", "rom", "file:", "dir", "sim:x", "erase:"] {
            assert!(text.parse::<Bed>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_file_that_is_there_is_not_touched() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mine");
        std::fs::write(&path, "keep").unwrap();
        assert!(Scratch::new(&path).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "keep");
        drop(Scratch::new(&dir.path().join("none")).unwrap());
    }
}
