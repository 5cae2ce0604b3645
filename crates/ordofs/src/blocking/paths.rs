//! Calls that name files: contents as a whole, links, names that come, go and move.

use super::{Volume, bytes, caller};
use crate::Fs;
use crate::path::parent;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use vfs::{Entry, Error, FileSystem, Kind, Mode, Name, NodeId, Refusal, RenameMode, Result, SetAttr, Whence};

/// Bytes that one call reads.
const PIECE: u32 = 1 << 20;

impl Volume {
    /// Whether `path` leads to something; symbolic links are followed.
    ///
    /// # Errors
    /// As [`Volume::metadata`], but `NotFound`.
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

    /// The contents of a file that is text.
    ///
    /// # Errors
    /// As [`Volume::read`]; `Invalid` for what is no UTF-8.
    pub fn read_to_string(&self, path: impl AsRef<Path>) -> Result<String> {
        String::from_utf8(self.read(path)?).map_err(|_| Refusal::Invalid.into())
    }

    /// Writes a file whole, made anew if it is not there.
    ///
    /// # Errors
    /// `NoSpace`; as [`Volume::create`].
    pub fn write(&self, path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> Result<()> {
        self.create(path)?.write_at(0, contents.as_ref())
    }

    /// Copies contents and permission bits of a file, without its holes. What was at `to` is replaced. Returns the size.
    ///
    /// # Errors
    /// `Invalid` for what is no regular file, and for one file under both names; `NoSpace`; as [`Volume::create`].
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

    /// Gives the file at `path` another name. A last symbolic link gets it itself.
    ///
    /// # Errors
    /// `Exists`; `NotPermitted` for a directory; `TooManyLinks`; `NoSpace`.
    pub fn hard_link(&self, path: impl AsRef<Path>, new: impl AsRef<Path>) -> Result<()> {
        let file = self.hold(path, false)?;
        self.make(new, async |fs, dir, name| fs.link(file.node(), dir, name).await)
    }

    /// Makes a directory.
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

    /// Removes a name that is not a directory's; a symbolic link itself.
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

    /// Moves a file or directory; what the new name meant before is replaced.
    ///
    /// # Errors
    /// `NotEmpty`, `IsDirectory`, `NotDirectory` where the new name is in the way; `Invalid` for a directory that would
    /// be moved below itself.
    pub fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<()> {
        let (to_dir, to_name) = self.rt.block_on(parent(self.fs(), bytes(to.as_ref())))?;
        self.at_parent(from, async |fs, dir, name| {
            fs.rename(dir, name, to_dir.node(), to_name, RenameMode::Replace).await
        })
    }
}

/// Copies what is stored below `size`.
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
