//! Reading directories.

use super::{Metadata, Volume};
use ordo_vfs::{FileSystem, Kind, Result};
use std::ffi::OsString;
use std::iter::FusedIterator;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// The entries of a directory at the time when it was read.
pub struct ReadDir<'v> {
    volume: &'v Volume,
    dir: PathBuf,
    found: std::vec::IntoIter<Found>,
}

struct Found {
    name: Vec<u8>,
    ino: u64,
    kind: Option<Kind>,
}

/// An entry of a directory.
#[derive(Clone)]
pub struct DirEntry<'v> {
    volume: &'v Volume,
    path: PathBuf,
    name: OsString,
    ino: u64,
    kind: Option<Kind>,
}

impl std::fmt::Debug for DirEntry<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("DirEntry").field(&self.path).finish()
    }
}

impl Volume {
    /// The entries of a directory, without `.` and `..`, in the order in which they are stored.
    ///
    /// ```
    /// # use ordofs::{NewVolume, Volume};
    /// # let dir = tempfile::tempdir()?;
    /// # let image = dir.path().join("disk.img");
    /// # NewVolume::new(16 << 20).create(&image)?;
    /// # let volume = Volume::open(&image)?.mount()?;
    /// volume.create_dir("/etc")?;
    /// volume.write("/etc/motd", "hello")?;
    /// for entry in volume.read_dir("/etc")? {
    ///     assert_eq!(entry.file_name(), "motd");
    ///     assert_eq!(entry.metadata()?.len(), 5);
    ///     assert_eq!(volume.read(entry.path())?, b"hello");
    /// }
    /// # volume.unmount()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Volume::metadata`].
    pub fn read_dir(&self, path: impl AsRef<Path>) -> Result<ReadDir<'_>> {
        let dir = path.as_ref();
        self.at_path(dir, true, async |fs, entry| {
            let mut found = Vec::new();
            let mut take = |entry: ordo_vfs::DirEntry<'_>| {
                if entry.name != b"." && entry.name != b".." {
                    let kind = Kind::from_bits(u16::from(entry.kind));
                    found.push(Found { name: entry.name.to_vec(), ino: entry.ino, kind });
                }
                true
            };
            fs.readdir(entry.node, 0, &mut take).await?;
            Ok(ReadDir { volume: self, dir: dir.to_owned(), found: found.into_iter() })
        })
    }
}

impl<'v> Iterator for ReadDir<'v> {
    type Item = DirEntry<'v>;

    fn next(&mut self) -> Option<DirEntry<'v>> {
        let Found { name, ino, kind } = self.found.next()?;
        let name = OsString::from_vec(name);
        Some(DirEntry { volume: self.volume, path: self.dir.join(&name), name, ino, kind })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.found.size_hint()
    }
}

impl ExactSizeIterator for ReadDir<'_> {}
impl FusedIterator for ReadDir<'_> {}

impl DirEntry<'_> {
    /// Its name.
    pub fn file_name(&self) -> OsString {
        self.name.clone()
    }

    /// The path of the directory that was read, joined with the name.
    pub fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// The inode number of the file.
    pub fn ino(&self) -> u64 {
        self.ino
    }

    /// The kind of the file; symbolic links are not followed. Reads the inode only where the format does not store the
    /// kind in the entry.
    ///
    /// # Errors
    /// As [`Volume::metadata`].
    pub fn kind(&self) -> Result<Kind> {
        self.kind.map_or_else(|| Ok(self.metadata()?.kind()), Ok)
    }

    /// The current attributes of the file; symbolic links are not followed.
    ///
    /// # Errors
    /// As [`Volume::metadata`].
    pub fn metadata(&self) -> Result<Metadata> {
        self.volume.symlink_metadata(&self.path)
    }
}
