//! Where an image is filled that takes the place of something, or of nothing.
//!
//! S1. A volume that is there stays until its successor is complete: that is built beside it, in the same directory,
//!     and renamed. A rename changes more than contents where the file has several names, another owner or attributes,
//!     and it needs a directory that can be written and room for both; there the file is emptied, and built in place.
//! S2. What is built in place or as a new file is no volume until it is complete ([`ordofs::disk::Withheld`]): its
//!     superblocks come last, and so does what their copies are known by. So a kill leaves the old volume, or none, or
//!     the new one, and nothing that could be read or repaired and is only a part of one. Where it is built beside the
//!     old one, it also leaves the file `.NAME.*.new`.
//! S3. After a failure there is no file where none was, the old volume where it was kept, and otherwise zeroes.

use anyhow::Context;
use ordofs::disk::{Existing, FileDisk, FileOptions};
use ordofs::rt::Rt;
use rustix::fs as host;
use std::fs::{File, Metadata, OpenOptions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::TempPath;

/// Room beyond what a tree needs, for superblocks and groups.
const MORE: u64 = 16 << 20;

/// A place for an image.
pub(super) enum Site {
    /// No file was there.
    Fresh(PathBuf),
    /// A file without contents, which keeps its length.
    Empty(PathBuf, u64),
    /// A file whose contents are lost as soon as the work begins.
    InPlace(PathBuf, u64),
    /// A file beside the one that it will replace, which is locked meanwhile.
    Beside { new: TempPath, old: PathBuf, _lock: Box<FileDisk> },
}

/// What is there after a failure (S3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// No image.
    Nothing,
    /// What was there before.
    Old,
    /// What was there is gone, and there is no volume.
    Lost,
}

impl Site {
    /// The site for an image at `path`, of which about `need` bytes are stored.
    ///
    /// # Errors
    /// When the file there is in use, or cannot be opened.
    pub(super) fn choose(path: &Path, need: u64) -> anyhow::Result<Site> {
        let Ok(found) = path.metadata() else { return Ok(Site::Fresh(path.to_owned())) };
        // Behind a symbolic link it is the file that is replaced, not the link.
        let path = path.canonicalize()?;
        let len = found.len();
        if len == 0 || ordofs::disk::is_blank(&File::open(&path)?)? {
            return Ok(Site::Empty(path, len));
        }
        let lock = Box::new(FileDisk::open(&Rt::real_time(), &path, &FileOptions::default())?);
        Ok(match beside(&path, &found, need.saturating_add(MORE)) {
            Some(new) => Site::Beside { new, old: path, _lock: lock },
            None => Site::InPlace(path, len),
        })
    }

    /// The file to build in.
    pub(super) fn path(&self) -> &Path {
        match self {
            Site::Fresh(path) | Site::Empty(path, _) | Site::InPlace(path, _) => path,
            Site::Beside { new, .. } => new,
        }
    }

    /// Whether what is in the file to build in may be lost: it is ours, or the user said so.
    pub(super) fn existing(&self, force: bool) -> Existing {
        match self {
            Site::Fresh(_) | Site::Empty(..) if !force => Existing::Refuse,
            _ => Existing::Overwrite,
        }
    }

    /// The image is complete.
    ///
    /// # Errors
    /// When the old file cannot be replaced; it is there then.
    pub(super) fn keep(self) -> anyhow::Result<()> {
        let Site::Beside { new, old, .. } = self else { return Ok(()) };
        let dir = old.parent().unwrap_or(Path::new("/")).to_owned();
        new.persist(&old).with_context(|| format!("{}: cannot be replaced", old.display()))?;
        // Otherwise a power cut could bring the old one back, which is no loss: the new one is not promised before.
        File::open(&dir).and_then(|dir| dir.sync_all()).with_context(|| dir.display().to_string())
    }

    /// The work failed.
    pub(super) fn give_up(self) -> Left {
        let emptied = |path: &Path, len| {
            let file = OpenOptions::new().write(true).open(path);
            // OK to ignore: what is there is no volume (S2), and the failure that led here is reported.
            let _ = file.and_then(|file| file.set_len(0).and_then(|()| file.set_len(len)));
        };
        match self {
            Site::Fresh(path) => {
                // OK to ignore: as above.
                let _ = std::fs::remove_file(path);
                Left::Nothing
            }
            Site::Empty(path, len) => {
                emptied(&path, len);
                Left::Nothing
            }
            Site::InPlace(path, len) => {
                emptied(&path, len);
                Left::Lost
            }
            Site::Beside { .. } => Left::Old,
        }
    }
}

/// A file beside `path` that can take its place unnoticed (S1).
fn beside(path: &Path, found: &Metadata, need: u64) -> Option<TempPath> {
    let (dir, name) = (path.parent()?, path.file_name()?.to_string_lossy().into_owned());
    let room = host::statvfs(dir).ok()?;
    if found.nlink() != 1 || has_attributes(path) || room.f_bavail.saturating_mul(room.f_frsize) < need {
        return None;
    }
    let prefix = format!(".{name}.");
    let made = tempfile::Builder::new().prefix(&prefix).suffix(".new").tempfile_in(dir).ok()?;
    let own = made.as_file().metadata().ok()?;
    if (own.uid(), own.gid()) != (found.uid(), found.gid()) {
        let (uid, gid) = (host::Uid::from_raw(found.uid()), host::Gid::from_raw(found.gid()));
        host::fchown(made.as_file(), Some(uid), Some(gid)).ok()?;
    }
    made.as_file().set_permissions(std::fs::Permissions::from_mode(found.mode() & 0o7777)).ok()?;
    Some(made.into_temp_path())
}

/// Attributes, lists included, that a new file would not have. A label of SELinux the system gives by itself.
fn has_attributes(path: &Path) -> bool {
    let mut names = vec![0; 1 << 16];
    match host::listxattr(path, &mut names[..]) {
        Ok(len) => names[..len].split(|&b| b == 0).any(|name| !name.is_empty() && name != b"security.selinux"),
        Err(error) => error != rustix::io::Errno::OPNOTSUPP,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_is_replaced_by_a_name_only_where_nothing_else_changes() {
        let dir = tempfile::tempdir().unwrap();
        let (path, link, other) = (dir.path().join("v"), dir.path().join("link"), dir.path().join("other"));
        assert!(matches!(Site::choose(&path, 0).unwrap(), Site::Fresh(_)));
        std::fs::write(&path, [0; 999]).unwrap();
        assert!(matches!(Site::choose(&path, 0).unwrap(), Site::Empty(_, 999)));
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let site = Site::choose(&link, 0).unwrap();
        assert!(matches!(&site, Site::Beside { .. }));
        assert!(Site::choose(&path, 0).is_err(), "it is locked meanwhile");
        std::fs::write(site.path(), "new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        site.keep().unwrap();
        assert_eq!((std::fs::read(&path).unwrap(), path.metadata().unwrap().mode() & 0o7777), (b"new".to_vec(), 0o640));
        assert!(link.symlink_metadata().unwrap().is_symlink());
        let site = Site::choose(&path, 0).unwrap();
        assert_eq!(site.give_up(), Left::Old);
        assert!(matches!(Site::choose(&path, u64::MAX).unwrap(), Site::InPlace(..)), "no room for both");
        std::fs::hard_link(&path, &other).unwrap();
        let site = Site::choose(&path, 0).unwrap();
        assert!(matches!(&site, Site::InPlace(..)), "the other name would keep the old one");
        assert_eq!((site.give_up(), std::fs::read(&other).unwrap()), (Left::Lost, vec![0; 3]));
        let mut names: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["link", "other", "v"], "and nothing is left beside it");
    }
}
