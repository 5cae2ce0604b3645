//! The blocking face: a volume with the calls of `std::fs`.

use crate::path::{Held, parent, resolve};
use crate::{AllocInit, Fs, ImageSpec, MountOptions, Mounted, OpenError};
use rt::Rt;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::rc::Rc;
use vfs::{Attr, Caller, Entry, Error, FileSystem, Kind, Mode, Name, NodeId, Refusal, RenameMode, Result, SetAttr};

/// A volume that is about to be mounted: choose, then [`OpenVolume::mount`].
pub struct OpenVolume {
    spec: ImageSpec,
    options: MountOptions,
}

impl OpenVolume {
    /// The scheme that keeps metadata in order, by name (see [`schemes::ALL`]).
    pub fn scheme(mut self, name: &str) -> Self {
        self.options.scheme = Some(name.into());
        self
    }

    /// Change nothing.
    pub fn read_only(mut self) -> Self {
        self.options.read_only = true;
        self
    }

    /// Mount a volume that needs repair read-write all the same.
    pub fn force(mut self) -> Self {
        self.options.force = true;
        self
    }

    /// Memory for the cache, in bytes.
    pub fn cache(mut self, bytes: usize) -> Self {
        self.options.cache = bytes;
        self
    }

    /// What is initialised on the disk before it is pointed to.
    pub fn alloc_init(mut self, init: AllocInit) -> Self {
        self.options.alloc_init = init;
        self
    }

    /// Any other option.
    pub fn options(mut self, change: impl FnOnce(&mut MountOptions)) -> Self {
        change(&mut self.options);
        self
    }

    /// Mounts it.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn mount(self) -> std::result::Result<Volume, OpenError> {
        let rt = Rt::real_time();
        let mounted = Mounted::open(&rt, &self.spec, &self.options)?;
        Ok(Volume { rt, mounted })
    }
}

/// A mounted volume. Paths start at its root, with or without a slash. Symbolic links are followed within the volume.
///
/// A volume that is dropped without [`Volume::unmount`] is left as after a crash: what was not synced is lost, and it
/// needs a check.
pub struct Volume {
    rt: Rt,
    mounted: Mounted,
}

impl Drop for Volume {
    /// Lets go of the image, so that the next one may have it: tasks that nobody will poll again would keep it open.
    fn drop(&mut self) {
        if Rc::strong_count(self.fs()) == 1 {
            self.rt.drop_tasks();
        }
    }
}

impl Volume {
    /// The volume in a file, a device, or a partition (`disk.img@p2`).
    ///
    /// # Errors
    /// `BadSpec` for a suffix that names no partition. The image itself is opened by [`OpenVolume::mount`].
    pub fn open(image: impl AsRef<Path>) -> std::result::Result<OpenVolume, OpenError> {
        Ok(OpenVolume { spec: ImageSpec::parse(image.as_ref())?, options: MountOptions::default() })
    }

    /// The same for a place that was parsed before.
    pub fn at(spec: ImageSpec) -> OpenVolume {
        OpenVolume { spec, options: MountOptions::default() }
    }

    /// The mounted volume behind this face.
    pub fn mounted(&self) -> &Mounted {
        &self.mounted
    }

    /// The executor, for calls of the async face.
    pub fn rt(&self) -> &Rt {
        &self.rt
    }

    fn fs(&self) -> &Rc<Fs> {
        self.mounted.fs()
    }

    /// Writes everything, and marks the volume clean.
    ///
    /// # Errors
    /// `Io` when something could not be written.
    pub fn unmount(self) -> Result<()> {
        self.rt.block_on(self.fs().unmount())
    }

    /// Makes everything durable.
    ///
    /// # Errors
    /// `Io`.
    pub fn sync(&self) -> Result<()> {
        self.rt.block_on(self.fs().syncfs())
    }

    // Paths.

    /// Runs `work` on the node that `path` leads to; a last symbolic link is followed if `follow`.
    fn at_path<T>(&self, path: &[u8], follow: bool, work: impl AsyncFnOnce(&Fs, &Entry) -> Result<T>) -> Result<T> {
        self.rt.block_on(async {
            let held = resolve(self.fs(), path, follow).await?;
            work(self.fs(), &held.entry).await
        })
    }

    /// Runs `work` on the directory above the last name of `path`, and that name.
    fn at_parent<T>(&self, path: &[u8], work: impl AsyncFnOnce(&Fs, NodeId, Name<'_>) -> Result<T>) -> Result<T> {
        self.rt.block_on(async {
            let (dir, name) = parent(self.fs(), path).await?;
            work(self.fs(), dir.node(), name).await
        })
    }

    /// Attributes of what `path` leads to; symbolic links are followed.
    ///
    /// # Errors
    /// `NotFound`, `NotDirectory`, `Io`, `Corrupt`, as for every call with a path.
    pub fn metadata(&self, path: impl AsRef<[u8]>) -> Result<Attr> {
        self.at_path(path.as_ref(), true, async |_, entry| Ok(entry.attr))
    }

    /// The same, for a symbolic link itself.
    ///
    /// # Errors
    /// As [`Volume::metadata`].
    pub fn symlink_metadata(&self, path: impl AsRef<[u8]>) -> Result<Attr> {
        self.at_path(path.as_ref(), false, async |_, entry| Ok(entry.attr))
    }

    /// The entries of a directory, without `.` and `..`, in the order in which they are stored.
    ///
    /// # Errors
    /// As [`Volume::metadata`].
    pub fn read_dir(&self, path: impl AsRef<[u8]>) -> Result<DirEntries> {
        self.at_path(path.as_ref(), true, async |fs, entry| {
            let mut list = Vec::new();
            fs.readdir(entry.node, 0, &mut |found| {
                if found.name != b"." && found.name != b".." {
                    let kind = Kind::from_bits(u16::from(found.kind));
                    list.push(DirEntryInfo { name: found.name.to_vec(), ino: found.ino, kind });
                }
                true
            })
            .await?;
            Ok(list.into_iter())
        })
    }

    /// The target of a symbolic link.
    ///
    /// # Errors
    /// `Invalid` for anything else.
    pub fn read_link(&self, path: impl AsRef<[u8]>) -> Result<Vec<u8>> {
        self.at_path(path.as_ref(), false, async |fs, entry| Ok(fs.readlink(entry.node).await?.to_vec()))
    }

    /// The contents of a file.
    ///
    /// # Errors
    /// As [`Volume::metadata`].
    pub fn read(&self, path: impl AsRef<[u8]>) -> Result<Vec<u8>> {
        let mut contents = Vec::new();
        let mut file = self.open_file(path)?;
        loop {
            let piece = file.read_at(contents.len() as u64, 1 << 20)?;
            if piece.is_empty() {
                return Ok(contents);
            }
            contents.extend_from_slice(&piece);
            file.at = contents.len() as u64;
        }
    }

    /// Writes a file whole, made anew if it is not there.
    ///
    /// # Errors
    /// `NoSpace`; as [`Volume::metadata`] for the path above.
    pub fn write(&self, path: impl AsRef<[u8]>, contents: &[u8]) -> Result<()> {
        let mut file = self.create(path)?;
        file.write_at(0, contents)
    }

    /// Opens a file for reading and writing.
    ///
    /// # Errors
    /// As [`Volume::metadata`].
    pub fn open_file(&self, path: impl AsRef<[u8]>) -> Result<File> {
        let held = self.rt.block_on(resolve(self.fs(), path.as_ref(), true))?;
        Ok(File { rt: self.rt.clone(), held, at: 0 })
    }

    /// Makes a file, or empties the one that is there.
    ///
    /// # Errors
    /// `IsDirectory`; `NoSpace`; as [`Volume::metadata`] for the path above.
    pub fn create(&self, path: impl AsRef<[u8]>) -> Result<File> {
        let path = path.as_ref();
        match self.open_file(path) {
            Ok(file) => {
                file.set_len(0)?;
                Ok(file)
            }
            Err(Error::Refused(Refusal::NotFound)) => {
                let entry = self.at_parent(path, async |fs, dir, name| {
                    fs.mknod(&caller(), dir, name, Kind::Regular, Mode::new(0o644), 0).await
                })?;
                Ok(File { rt: self.rt.clone(), held: Held::new(self.fs(), entry), at: 0 })
            }
            Err(error) => Err(error),
        }
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// `Exists`; `NoSpace`.
    pub fn create_dir(&self, path: impl AsRef<[u8]>) -> Result<()> {
        self.make(path.as_ref(), async |fs, dir, name| fs.mkdir(&caller(), dir, name, Mode::new(0o755)).await)
    }

    /// Makes a directory, and those above it that are missing.
    ///
    /// # Errors
    /// `NotDirectory` when a file is in the way; `NoSpace`.
    pub fn create_dir_all(&self, path: impl AsRef<[u8]>) -> Result<()> {
        let path = path.as_ref();
        let mut upto = 0;
        while upto < path.len() {
            upto = path[upto + 1..].iter().position(|&b| b == b'/').map_or(path.len(), |found| upto + 1 + found);
            match self.create_dir(&path[..upto]) {
                Ok(()) | Err(Error::Refused(Refusal::Exists | Refusal::Invalid)) => {}
                Err(error) => return Err(error),
            }
        }
        match self.metadata(path)?.kind {
            Kind::Directory => Ok(()),
            _ => Err(Refusal::NotDirectory.into()),
        }
    }

    /// Makes a symbolic link at `path`, to `target`.
    ///
    /// # Errors
    /// `Exists`; `NoSpace`.
    pub fn symlink(&self, target: impl AsRef<[u8]>, path: impl AsRef<[u8]>) -> Result<()> {
        self.make(path.as_ref(), async |fs, dir, name| fs.symlink(&caller(), dir, name, target.as_ref()).await)
    }

    fn make(&self, path: &[u8], make: impl AsyncFnOnce(&Fs, NodeId, Name<'_>) -> Result<Entry>) -> Result<()> {
        self.at_parent(path, async |fs, dir, name| {
            let entry = make(fs, dir, name).await?;
            fs.forget(entry.node, 1);
            Ok(())
        })
    }

    /// Gives the file at `path` another name.
    ///
    /// # Errors
    /// `Exists`; `NotPermitted` for a directory.
    pub fn hard_link(&self, path: impl AsRef<[u8]>, new: impl AsRef<[u8]>) -> Result<()> {
        let file = self.rt.block_on(resolve(self.fs(), path.as_ref(), false))?;
        self.make(new.as_ref(), async |fs, dir, name| fs.link(file.node(), dir, name).await)
    }

    /// Removes a file.
    ///
    /// # Errors
    /// `IsDirectory`.
    pub fn remove_file(&self, path: impl AsRef<[u8]>) -> Result<()> {
        self.at_parent(path.as_ref(), async |fs, dir, name| fs.unlink(dir, name).await)
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// `NotEmpty`; `NotDirectory`.
    pub fn remove_dir(&self, path: impl AsRef<[u8]>) -> Result<()> {
        self.at_parent(path.as_ref(), async |fs, dir, name| fs.rmdir(dir, name).await)
    }

    /// Moves a file or directory; what the new name meant before is replaced.
    ///
    /// # Errors
    /// `NotEmpty`, `IsDirectory`, `NotDirectory` where the new name is in the way.
    pub fn rename(&self, from: impl AsRef<[u8]>, to: impl AsRef<[u8]>) -> Result<()> {
        let (to_dir, to_name) = self.rt.block_on(parent(self.fs(), to.as_ref()))?;
        self.at_parent(from.as_ref(), async |fs, dir, name| {
            fs.rename(dir, name, to_dir.node(), to_name, RenameMode::Replace).await
        })
    }

    /// Changes attributes.
    ///
    /// # Errors
    /// As [`Volume::metadata`]; `NotPermitted` where the file's flags forbid it.
    pub fn set_attributes(&self, path: impl AsRef<[u8]>, set: &SetAttr) -> Result<Attr> {
        self.at_path(path.as_ref(), false, async |fs, entry| fs.setattr(entry.node, set).await)
    }
}

/// Entries of a directory.
pub type DirEntries = std::vec::IntoIter<DirEntryInfo>;

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntryInfo {
    /// Its name.
    pub name: Vec<u8>,
    /// Number of the file.
    pub ino: u64,
    /// Kind of the file, where the format stores it in the entry.
    pub kind: Option<Kind>,
}

/// An open file. It stays readable when its name is removed.
pub struct File {
    rt: Rt,
    held: Held<Fs>,
    at: u64,
}

impl File {
    /// Attributes.
    ///
    /// # Errors
    /// `Io`, `Corrupt`.
    pub fn metadata(&self) -> Result<Attr> {
        self.rt.block_on(self.held.fs().getattr(self.held.node()))
    }

    /// Up to `len` bytes from `offset`.
    ///
    /// # Errors
    /// `Io`, `Corrupt`, `IsDirectory`.
    pub fn read_at(&self, offset: u64, len: u32) -> Result<Vec<u8>> {
        Ok(self.rt.block_on(self.held.fs().read(self.held.node(), offset, len))?.concat())
    }

    /// Writes all of `data` at `offset`.
    ///
    /// # Errors
    /// `NoSpace`, `TooBig`, `Io`.
    pub fn write_at(&mut self, offset: u64, data: &[u8]) -> Result<()> {
        let who = caller();
        let mut done = 0;
        while done < data.len() {
            let piece = &data[done..data.len().min(done + (1 << 20))];
            let write = self.held.fs().write(&who, self.held.node(), offset + done as u64, piece);
            done += self.rt.block_on(write)? as usize;
        }
        Ok(())
    }

    /// Cuts or grows the file.
    ///
    /// # Errors
    /// `TooBig`, `Io`.
    pub fn set_len(&self, len: u64) -> Result<()> {
        let set = SetAttr { size: Some(len), ..SetAttr::default() };
        self.rt.block_on(self.held.fs().setattr(self.held.node(), &set)).map(drop)
    }

    /// Makes everything that was written durable.
    ///
    /// # Errors
    /// `Io`.
    pub fn sync_all(&self) -> Result<()> {
        self.rt.block_on(self.held.fs().fsync(self.held.node(), false))
    }
}

impl Read for File {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let len = into.len().min(1 << 20) as u32;
        let piece = self.read_at(self.at, len).map_err(io::Error::other)?;
        into[..piece.len()].copy_from_slice(&piece);
        self.at += piece.len() as u64;
        Ok(piece.len())
    }
}

impl Write for File {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.write_at(self.at, data).map_err(io::Error::other)?;
        self.at += data.len() as u64;
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (base, by) = match to {
            SeekFrom::Start(at) => (at, 0),
            SeekFrom::Current(by) => (self.at, by),
            SeekFrom::End(by) => (self.metadata().map_err(io::Error::other)?.size, by),
        };
        self.at = base.checked_add_signed(by).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

/// Who a caller of the library is: the owner of the image.
fn caller() -> Caller {
    Caller { privileged: true, ..Caller::default() }
}
