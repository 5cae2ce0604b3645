//! Attributes of a file: permissions, owners, times, extended attributes.

use super::{Volume, caller};
use ordo_vfs::{Attr, Error, FileSystem, Kind, Mode, Refusal, Result, SetAttr, SetTime, Stamp, XattrMode};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The attributes of a file at the time of the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metadata(Attr);

impl Metadata {
    pub(super) fn new(attr: Attr) -> Metadata {
        Metadata(attr)
    }

    /// All attributes that the volume stores: inode number, links, owner, flags, space.
    pub fn attr(&self) -> &Attr {
        &self.0
    }

    /// The kind of file.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// It is a directory.
    pub fn is_dir(&self) -> bool {
        self.0.kind == Kind::Directory
    }

    /// It is a regular file.
    pub fn is_file(&self) -> bool {
        self.0.kind == Kind::Regular
    }

    /// It is a symbolic link.
    pub fn is_symlink(&self) -> bool {
        self.0.kind == Kind::Symlink
    }

    /// The length in bytes.
    #[allow(clippy::len_without_is_empty, reason = "std::fs::Metadata has none either")]
    pub fn len(&self) -> u64 {
        self.0.size
    }

    /// Permission bits.
    pub fn permissions(&self) -> Mode {
        self.0.mode
    }

    /// The time of the last change of contents.
    pub fn modified(&self) -> SystemTime {
        moment(self.0.mtime)
    }

    /// The time of the last read.
    pub fn accessed(&self) -> SystemTime {
        moment(self.0.atime)
    }

    /// The time of creation; `None` where the format has no field for it (UFS1).
    pub fn created(&self) -> Option<SystemTime> {
        self.0.birth.map(moment)
    }
}

/// The times to be set; others stay unchanged.
///
/// ```
/// # use ordofs::{NewVolume, Volume};
/// # let dir = tempfile::tempdir()?;
/// # let image = dir.path().join("disk.img");
/// # NewVolume::new(16 << 20).create(&image)?;
/// # let volume = Volume::open(&image)?.mount()?;
/// use ordofs::FileTimes;
/// use std::time::{Duration, UNIX_EPOCH};
/// volume.write("/old", "news")?;
/// let then = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
/// volume.set_times("/old", FileTimes::new().set_modified(then))?;
/// assert_eq!(volume.metadata("/old")?.modified(), then);
/// # volume.unmount()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct FileTimes {
    accessed: Option<SystemTime>,
    modified: Option<SystemTime>,
}

impl FileTimes {
    /// No times yet.
    pub fn new() -> FileTimes {
        FileTimes::default()
    }

    /// Also sets the time of the last read.
    pub fn set_accessed(mut self, to: SystemTime) -> FileTimes {
        self.accessed = Some(to);
        self
    }

    /// Also sets the time of the last change of contents.
    pub fn set_modified(mut self, to: SystemTime) -> FileTimes {
        self.modified = Some(to);
        self
    }
}

impl From<FileTimes> for SetAttr {
    fn from(times: FileTimes) -> SetAttr {
        let at = |time: Option<SystemTime>| time.map(|time| SetTime::At(stamp(time)));
        SetAttr { atime: at(times.accessed), mtime: at(times.modified), ..SetAttr::default() }
    }
}

fn moment(stamp: Stamp) -> SystemTime {
    let (secs, nanos) = (Duration::from_secs(stamp.secs.unsigned_abs()), Duration::from_nanos(stamp.nanos.into()));
    let start = if stamp.secs < 0 { UNIX_EPOCH.checked_sub(secs) } else { UNIX_EPOCH.checked_add(secs) };
    // The system cannot represent so large a time, which only a damaged volume contains.
    start.and_then(|start| start.checked_add(nanos)).unwrap_or(UNIX_EPOCH)
}

fn stamp(time: SystemTime) -> Stamp {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => Stamp { secs: since.as_secs() as i64, nanos: since.subsec_nanos() },
        Err(error) => {
            let before = error.duration();
            let whole = before.as_secs() + u64::from(before.subsec_nanos() > 0);
            let nanos = (1_000_000_000 - before.subsec_nanos()) % 1_000_000_000;
            Stamp { secs: (whole as i64).wrapping_neg(), nanos }
        }
    }
}

impl Volume {
    /// The attributes of the file at `path`; symbolic links are followed.
    ///
    /// # Errors
    /// `NotFound`, `NotDirectory`, `Io`, `Corrupt`, as for every call with a path.
    pub fn metadata(&self, path: impl AsRef<Path>) -> Result<Metadata> {
        self.at_path(path, true, async |_, entry| Ok(Metadata(entry.attr)))
    }

    /// The same, for a symbolic link itself.
    ///
    /// # Errors
    /// As [`Volume::metadata`].
    pub fn symlink_metadata(&self, path: impl AsRef<Path>) -> Result<Metadata> {
        self.at_path(path, false, async |_, entry| Ok(Metadata(entry.attr)))
    }

    /// Sets the permission bits of the file at `path`.
    ///
    /// # Errors
    /// As [`Volume::set_attributes`].
    pub fn set_permissions(&self, path: impl AsRef<Path>, mode: Mode) -> Result<()> {
        self.set(path, true, SetAttr { mode: Some(mode), ..SetAttr::default() })
    }

    /// Sets times of the file at `path`.
    ///
    /// # Errors
    /// As [`Volume::set_attributes`].
    pub fn set_times(&self, path: impl AsRef<Path>, times: FileTimes) -> Result<()> {
        self.set(path, true, times.into())
    }

    /// Sets owner and group of the file at `path`; `None` leaves one unchanged.
    ///
    /// # Errors
    /// As [`Volume::set_attributes`].
    pub fn chown(&self, path: impl AsRef<Path>, uid: Option<u32>, gid: Option<u32>) -> Result<()> {
        self.set(path, true, SetAttr { uid, gid, ..SetAttr::default() })
    }

    /// Changes any attributes. If the last name is a symbolic link, the link itself is changed.
    ///
    /// # Errors
    /// As [`Volume::metadata`]; `ReadOnly`; `NotPermitted` where the file's flags forbid it.
    pub fn set_attributes(&self, path: impl AsRef<Path>, set: &SetAttr) -> Result<Metadata> {
        self.at_path(path, false, async |fs, entry| fs.setattr(entry.node, set).await.map(Metadata))
    }

    fn set(&self, path: impl AsRef<Path>, follow: bool, set: SetAttr) -> Result<()> {
        self.at_path(path, follow, async |fs, entry| fs.setattr(entry.node, &set).await.map(drop))
    }

    /// The value of the extended attribute with this name (for instance `user.NAME`), if it exists.
    ///
    /// ```
    /// # use ordofs::{NewVolume, Volume};
    /// # let dir = tempfile::tempdir()?;
    /// # let image = dir.path().join("disk.img");
    /// # NewVolume::new(16 << 20).create(&image)?;
    /// # let volume = Volume::open(&image)?.mount()?;
    /// volume.write("/photo", "pixels")?;
    /// volume.set_xattr("/photo", "user.place", "Berkeley")?;
    /// assert_eq!(volume.xattr("/photo", "user.place")?.as_deref(), Some(&b"Berkeley"[..]));
    /// assert_eq!(volume.xattr("/photo", "user.time")?, None);
    /// # volume.unmount()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Volume::metadata`]; `NotSupported` for a name in no known namespace, and on UFS1.
    pub fn xattr(&self, path: impl AsRef<Path>, name: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        self.at_path(path, true, async |fs, entry| match fs.getxattr(entry.node, name.as_ref()).await {
            Ok(value) => Ok(Some(value.to_vec())),
            Err(Error::Refused(Refusal::NoAttribute)) => Ok(None),
            Err(error) => Err(error),
        })
    }

    /// Makes or replaces an extended attribute.
    ///
    /// # Errors
    /// As [`Volume::xattr`]; `AttributeTooBig`; `NoSpace`.
    pub fn set_xattr(&self, path: impl AsRef<Path>, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        let (name, value) = (name.as_ref(), value.as_ref());
        self.at_path(path, true, async |fs, entry| {
            fs.setxattr(&caller(), entry.node, name, value, XattrMode::Set).await
        })
    }

    /// The names of all extended attributes.
    ///
    /// # Errors
    /// As [`Volume::metadata`].
    pub fn xattrs(&self, path: impl AsRef<Path>) -> Result<Vec<Vec<u8>>> {
        self.at_path(path, true, async |fs, entry| fs.listxattr(entry.node).await)
    }

    /// Removes an extended attribute.
    ///
    /// # Errors
    /// As [`Volume::xattr`]; `NoAttribute`.
    pub fn remove_xattr(&self, path: impl AsRef<Path>, name: impl AsRef<[u8]>) -> Result<()> {
        self.at_path(path, true, async |fs, entry| fs.removexattr(entry.node, name.as_ref()).await)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_before_and_after_1970_come_back_as_they_were() {
        for (secs, nanos) in
            [(0, 0), (1, 5), (-1, 0), (-1, 999_999_999), (-2, 1), (1 << 40, 7), (i64::MAX, 1), (i64::MIN, 0)]
        {
            assert_eq!(stamp(moment(Stamp { secs, nanos })), Stamp { secs, nanos });
        }
    }
}
