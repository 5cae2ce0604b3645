//! Where workloads run: a volume in memory, a volume in a file, a directory of any mounted file system.

use super::machine::MachineOf;
use anyhow::bail;
use ordo_drive::{Kind, Profile};
use std::path::{Path, PathBuf};
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
            Some(("sim", name)) if ordo_papers::drives().contains(&name) => Ok(Bed::Sim(name.into())),
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
