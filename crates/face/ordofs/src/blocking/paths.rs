//! Calls by path: whole contents, links, and creating, removing and renaming.

use super::{Volume, bytes, caller};
use crate::Fs;
use crate::path::parent;
use ordo_vfs::{Entry, Error, FileSystem, Kind, Mode, Name, NodeId, Refusal, RenameMode, Result, SetAttr, Whence};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Bytes that one call reads.
const PIECE: u32 = 1 << 20;

impl Volume {
    /// Whether `path` exists; symbolic links are followed.
    ///
    /// # Errors
    /// As [`Volume::metadata`], except `NotFound`.
    pub fn exists(&self, path: impl AsRef<Path>) -> Result<bool> {
        match self.metadata(path) {
            Ok(_) => Ok(true),
            Err(Error::Refused(Refusal::NotFound)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The contents of a file.
    ///
    /// # Errors
    /// As [`Volume::metadata`]; `IsDirectory`.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Vec<u8>> {
        self.at_path(path, true, async |fs, entry| {
            let mut contents = Vec::new();
            loop {
                let segments = fs.read(entry.node, contents.len() as u64, PIECE).await?;
                if segments.iter().all(|segment| segment.is_empty()) {
                    return Ok(contents);
                }
                segments.iter().for_each(|segment| contents.extend_from_slice(segment));
            }
        })
    }

    /// The contents of a text file.
    ///
    /// # Errors
    /// As [`Volume::read`]; `Invalid` if the contents are not UTF-8.
    pub fn read_to_string(&self, path: impl AsRef<Path>) -> Result<String> {
        String::from_utf8(self.read(path)?).map_err(|_| Refusal::Invalid.into())
    }

    /// Replaces the contents of a file, and creates it if it does not exist.
    ///
    /// # Errors
    /// `NoSpace`; as [`Volume::create`].
    pub fn write(&self, path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> Result<()> {
        self.create(path)?.write_at(0, contents.as_ref())
    }

    /// Copies contents and permission bits of a file, without its holes. The file at `to` is replaced. Returns the
    /// size.
    ///
    /// # Errors
    /// `Invalid` if `from` is not a regular file, or both names are the same file; `NoSpace`; as [`Volume::create`].
    pub fn copy(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<u64> {
        let source = self.hold(from, true)?;
        let there = match self.hold(to.as_ref(), true) {
            Ok(held) => held.node() == source.node(),
            Err(Error::Refused(Refusal::NotFound)) => false,
            Err(error) => return Err(error),
        };
        if source.attr().kind != Kind::Regular || there {
            return Err(Refusal::Invalid.into());
        }
        let (attr, target) = (source.attr(), self.create(to)?);
        self.rt.block_on(async {
            copy_contents(self.fs(), source.node(), target.node(), attr.size).await?;
            let set = SetAttr { size: Some(attr.size), mode: Some(attr.mode), ..SetAttr::default() };
            self.fs().setattr(target.node(), &set).await
        })?;
        Ok(attr.size)
    }

    /// The target of a symbolic link.
    ///
    /// # Errors
    /// `Invalid` for anything else.
    pub fn read_link(&self, path: impl AsRef<Path>) -> Result<PathBuf> {
        self.at_path(path, false, async |fs, entry| {
            Ok(PathBuf::from(OsString::from_vec(fs.readlink(entry.node).await?.to_vec())))
        })
    }

    /// Makes a symbolic link at `path`, to `target`.
    ///
    /// # Errors
    /// `Exists`; `NoSpace`; `NameTooLong`.
    pub fn symlink(&self, target: impl AsRef<Path>, path: impl AsRef<Path>) -> Result<()> {
        let target = target.as_ref().as_os_str().as_bytes();
        self.make(path, async |fs, dir, name| fs.symlink(&caller(), dir, name, target).await)
    }

    /// Gives the file at `path` another name. If the last name is a symbolic link, the link itself gets it.
    ///
    /// # Errors
    /// `Exists`; `NotPermitted` for a directory; `TooManyLinks`; `NoSpace`.
    pub fn hard_link(&self, path: impl AsRef<Path>, new: impl AsRef<Path>) -> Result<()> {
        let file = self.hold(path, false)?;
        self.make(new, async |fs, dir, name| fs.link(file.node(), dir, name).await)
    }

    /// Creates a directory.
    ///
    /// # Errors
    /// `Exists`; `NoSpace`.
    pub fn create_dir(&self, path: impl AsRef<Path>) -> Result<()> {
        self.make(path, async |fs, dir, name| fs.mkdir(&caller(), dir, name, Mode::new(0o755)).await)
    }

    fn make(
        &self,
        path: impl AsRef<Path>,
        make: impl AsyncFnOnce(&Fs, NodeId, Name<'_>) -> Result<Entry>,
    ) -> Result<()> {
        self.at_parent(path, async |fs, dir, name| {
            let entry = make(fs, dir, name).await?;
            fs.forget(entry.node, 1);
            Ok(())
        })
    }

    /// Removes a name that is not a directory; a symbolic link is not followed.
    ///
    /// # Errors
    /// `IsDirectory`; `NotPermitted` where the file's flags forbid it.
    pub fn remove_file(&self, path: impl AsRef<Path>) -> Result<()> {
        self.at_parent(path, async |fs, dir, name| fs.unlink(dir, name).await)
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// `NotEmpty`; `NotDirectory`.
    pub fn remove_dir(&self, path: impl AsRef<Path>) -> Result<()> {
        self.at_parent(path, async |fs, dir, name| fs.rmdir(dir, name).await)
    }

    /// Renames a file or directory; an existing file at the new name is replaced.
    ///
    /// # Errors
    /// `NotEmpty`, `IsDirectory`, `NotDirectory` if the new name cannot be replaced; `Invalid` if a directory would be
    /// moved below itself.
    pub fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<()> {
        let (to_dir, to_name) = self.rt.block_on(parent(self.fs(), bytes(to.as_ref())))?;
        self.at_parent(from, async |fs, dir, name| {
            fs.rename(dir, name, to_dir.node(), to_name, RenameMode::Replace).await
        })
    }
}

/// Copies the stored ranges below `size`.
async fn copy_contents(fs: &Fs, from: NodeId, to: NodeId, size: u64) -> Result<()> {
    let mut at = 0;
    while at < size {
        at = match fs.seek(from, at, Whence::Data).await {
            Ok(data) => data,
            Err(Error::Refused(Refusal::BeyondEnd)) => return Ok(()),
            Err(error) => return Err(error),
        };
        let end = fs.seek(from, at, Whence::Hole).await?;
        while at < end {
            match fs.copy_range(&caller(), from, at, to, at, end - at).await? {
                0 => return Ok(()),
                copied => at += copied,
            }
        }
    }
    Ok(())
}
