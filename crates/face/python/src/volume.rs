//! Volumes: opening, and the calls by path.

use crate::failure::{os_error, os_error_between, value_error};
use crate::file::{File, length as file_length};
use crate::given::Given;
use crate::stat::{NANOS, Stat, kind_bits};
use ordofs_rust::vfs::{self, Mode, Refusal, SetAttr};
use ordofs_rust::{FileTimes, NewLfs, NewVolume, OpenOptions, SharedVolume, Volume as Rust, option_list};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// The flags of os.setxattr.
const XATTR_CREATE: u32 = 1;
const XATTR_REPLACE: u32 = 2;

/// An open volume: what ordofs.Volume is made of.
#[pyclass(frozen, subclass, module = "ordofs")]
pub(crate) struct Volume {
    volume: Mutex<Option<SharedVolume>>,
    image: PathBuf,
}

/// Makes a volume of size bytes in the file image; kind is ufs2 or lfs. A file that is there and holds anything but
/// zeroes stays, and so does a device with something on it: FileExistsError, unless overwrite is true.
#[pyfunction]
#[pyo3(signature = (image, size, kind = "ufs2", *, overwrite = false))]
pub(crate) fn create(py: Python<'_>, image: Given, size: u64, kind: &str, overwrite: bool) -> PyResult<()> {
    let image = image.0;
    let made = match (kind, overwrite) {
        ("ufs2", false) => py.detach(|| NewVolume::new(size).create(&image)),
        ("ufs2", true) => py.detach(|| NewVolume::new(size).overwrite(&image)),
        ("lfs", false) => py.detach(|| NewLfs::new(size).create(&image)),
        ("lfs", true) => py.detach(|| NewLfs::new(size).overwrite(&image)),
        (other, _) => {
            return Err(value_error(format!("no kind of volume is called {other:?}; there are ufs2 and lfs")));
        }
    };
    made.map_err(|error| os_error(&error.into(), &image))
}

impl Volume {
    fn open_one(&self) -> PyResult<SharedVolume> {
        let volume = self.volume.lock().unwrap_or_else(PoisonError::into_inner).clone();
        volume.ok_or_else(|| value_error("operation on a closed volume"))
    }

    /// Runs a call on the volume's thread, without Python's lock (face-python-1 of the module).
    fn call<T: Send + 'static>(
        &self,
        py: Python<'_>,
        path: Given,
        work: impl FnOnce(&Rust, &Path) -> vfs::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let (volume, path) = (self.open_one()?, path.0);
        let named = path.clone();
        let result: io::Result<T> = py.detach(|| volume.call(move |volume| work(volume, &path)).wait());
        result.map_err(|error| os_error(&error, &named))
    }

    /// The same with two paths.
    fn between(
        &self,
        py: Python<'_>,
        from: Given,
        to: Given,
        work: impl FnOnce(&Rust, &Path, &Path) -> vfs::Result<()> + Send + 'static,
    ) -> PyResult<()> {
        let (volume, from, to) = (self.open_one()?, from.0, to.0);
        let named = (from.clone(), to.clone());
        let result = py.detach(|| volume.call(move |volume| work(volume, &from, &to)).wait());
        result.map_err(|error| os_error_between(&error, &named.0, &named.1))
    }
}

/// A moment in nanoseconds since 1970.
fn moment(nanos: i128) -> PyResult<SystemTime> {
    let too_far = || value_error(format!("{nanos} nanoseconds: a time that is too far away"));
    let seconds = u64::try_from(nanos.unsigned_abs() / NANOS.unsigned_abs()).map_err(|_| too_far())?;
    // OK to cast: the rest is less than a second.
    let apart = Duration::new(seconds, (nanos.unsigned_abs() % NANOS.unsigned_abs()) as u32);
    let epoch = SystemTime::UNIX_EPOCH;
    if nanos < 0 { epoch.checked_sub(apart) } else { epoch.checked_add(apart) }.ok_or_else(too_far)
}

#[pymethods]
impl Volume {
    /// Opens the volume in a file, a device or a partition ("disk.img@p2"). The options are those of ordo mount -o, as
    /// "ro,scheme=sync,cache=64M".
    #[new]
    #[pyo3(signature = (image, options = ""))]
    fn new(py: Python<'_>, image: Given, options: &str) -> PyResult<Volume> {
        let wanted = option_list(options).map_err(value_error)?;
        let (image, spec) = (image.0.clone(), image.0);
        let mount = move || Rust::open(&spec)?.options(|options| *options = wanted).mount();
        let volume = py.detach(|| SharedVolume::start(mount)).map_err(|error| os_error(&error, &image))?;
        Ok(Volume { volume: Mutex::new(Some(volume)), image })
    }

    /// The names in a directory, in the order in which they are stored.
    #[pyo3(signature = (path = Given(PathBuf::from("/"))))]
    fn listdir(&self, py: Python<'_>, path: Given) -> PyResult<Vec<OsString>> {
        self.call(py, path, |volume, path| Ok(volume.read_dir(path)?.map(|entry| entry.file_name()).collect()))
    }

    /// The entries of a directory: name, inode, and the kind as st_mode has it.
    fn _scan(&self, py: Python<'_>, path: Given) -> PyResult<Vec<(OsString, u64, u32)>> {
        self.call(py, path, |volume, path| {
            volume.read_dir(path)?.map(|entry| Ok((entry.file_name(), entry.ino(), kind_bits(entry.kind()?)))).collect()
        })
    }

    /// The attributes of a file.
    #[pyo3(signature = (path, *, follow_symlinks = true))]
    fn stat(&self, py: Python<'_>, path: Given, follow_symlinks: bool) -> PyResult<Stat> {
        self.call(py, path, move |volume, path| {
            let found = if follow_symlinks { volume.metadata(path) } else { volume.symlink_metadata(path) };
            Ok(Stat::of(found?.attr()))
        })
    }

    /// Whether there is a file of this name.
    fn exists(&self, py: Python<'_>, path: Given) -> PyResult<bool> {
        self.call(py, path, |volume, path| volume.exists(path))
    }

    /// The contents of a file.
    fn read<'py>(&self, py: Python<'py>, path: Given) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.call(py, path, |volume, path| volume.read(path))?))
    }

    /// Replaces the contents of a file, and makes it if it is not there.
    fn write(&self, py: Python<'_>, path: Given, data: PyBackedBytes) -> PyResult<()> {
        let data = data.to_vec();
        self.call(py, path, move |volume, path| volume.write(path, data))
    }

    /// Opens a file for bytes: mode is rb, wb, ab or xb, with + or without.
    fn _open(&self, py: Python<'_>, path: Given, mode: &str, permissions: u32) -> PyResult<File> {
        File::open(py, &self.open_one()?, path, mode, permissions)
    }

    /// Makes a directory.
    #[pyo3(signature = (path, mode = 0o755))]
    fn mkdir(&self, py: Python<'_>, path: Given, mode: u32) -> PyResult<()> {
        self.call(py, path, move |volume, path| {
            volume.create_dir(path)?;
            volume.set_permissions(path, Mode::new(mode))
        })
    }

    /// Removes a name that is not a directory.
    fn remove(&self, py: Python<'_>, path: Given) -> PyResult<()> {
        self.call(py, path, |volume, path| volume.remove_file(path))
    }

    /// Removes an empty directory.
    fn rmdir(&self, py: Python<'_>, path: Given) -> PyResult<()> {
        self.call(py, path, |volume, path| volume.remove_dir(path))
    }

    /// Renames; what the new name named before is replaced.
    fn rename(&self, py: Python<'_>, old: Given, new: Given) -> PyResult<()> {
        self.between(py, old, new, |volume, old, new| volume.rename(old, new))
    }

    /// Gives a file another name.
    fn link(&self, py: Python<'_>, old: Given, new: Given) -> PyResult<()> {
        self.between(py, old, new, |volume, old, new| volume.hard_link(old, new))
    }

    /// Makes a symbolic link at path, to target.
    fn symlink(&self, py: Python<'_>, target: Given, path: Given) -> PyResult<()> {
        self.between(py, target, path, |volume, target, path| volume.symlink(target, path))
    }

    /// The target of a symbolic link.
    fn readlink(&self, py: Python<'_>, path: Given) -> PyResult<OsString> {
        self.call(py, path, |volume, path| volume.read_link(path).map(PathBuf::into_os_string))
    }

    /// Sets the permission bits.
    fn chmod(&self, py: Python<'_>, path: Given, mode: u32) -> PyResult<()> {
        self.call(py, path, move |volume, path| volume.set_permissions(path, Mode::new(mode)))
    }

    /// Sets owner and group; -1 leaves one as it is.
    #[pyo3(signature = (path, uid, gid, *, follow_symlinks = true))]
    fn chown(&self, py: Python<'_>, path: Given, uid: i64, gid: i64, follow_symlinks: bool) -> PyResult<()> {
        let number = |id: i64| match id {
            -1 => Ok(None),
            id => u32::try_from(id).map(Some).map_err(|_| value_error(format!("{id} is no number of a user or group"))),
        };
        let (uid, gid) = (number(uid)?, number(gid)?);
        self.call(py, path, move |volume, path| match follow_symlinks {
            true => volume.chown(path, uid, gid),
            false => volume.set_attributes(path, &SetAttr { uid, gid, ..SetAttr::default() }).map(drop),
        })
    }

    /// Sets the times of the last read and change, in nanoseconds since 1970.
    fn _utime(&self, py: Python<'_>, path: Given, atime: i128, mtime: i128, follow_symlinks: bool) -> PyResult<()> {
        let times = FileTimes::new().set_accessed(moment(atime)?).set_modified(moment(mtime)?);
        self.call(py, path, move |volume, path| match follow_symlinks {
            true => volume.set_times(path, times),
            false => volume.set_attributes(path, &times.into()).map(drop),
        })
    }

    /// Truncates a file to length, or extends it with a hole.
    #[pyo3(signature = (path, length))]
    fn truncate(&self, py: Python<'_>, path: Given, length: i64) -> PyResult<()> {
        let size = file_length(length)?;
        self.call(py, path, move |volume, path| OpenOptions::new().write(true).open(volume, path)?.set_len(size))
    }

    /// The fields of os.statvfs_result.
    fn _statvfs(&self, py: Python<'_>) -> PyResult<[u64; 10]> {
        self.call(py, Given(self.image.clone()), |volume, _| {
            let (space, read_only) = (volume.space()?, u64::from(volume.is_read_only()));
            let frag = space.frag_size.into();
            let (files, free) = (space.inodes, space.free_inodes);
            let (frags, name_max) = ([space.frags, space.free_frags, space.avail_frags], space.name_max.into());
            let [all, unused, available] = frags;
            Ok([space.block_size.into(), frag, all, unused, available, files, free, free, read_only, name_max])
        })
    }

    /// The value of an extended attribute.
    fn getxattr<'py>(&self, py: Python<'py>, path: Given, attribute: Given) -> PyResult<Bound<'py, PyBytes>> {
        let name = attribute.name();
        let none = vfs::Error::from(Refusal::NoAttribute);
        let value = self.call(py, path, move |volume, path| volume.xattr(path, name)?.ok_or(none))?;
        Ok(PyBytes::new(py, &value))
    }

    /// Sets an extended attribute.
    fn _setxattr(&self, py: Python<'_>, path: Given, name: Given, value: PyBackedBytes, flags: u32) -> PyResult<()> {
        let (name, value) = (name.name(), value.to_vec());
        self.call(py, path, move |volume, path| {
            // Nothing comes between: calls run one after the other.
            match flags {
                0 => {}
                XATTR_CREATE if volume.xattr(path, &name)?.is_none() => {}
                XATTR_REPLACE if volume.xattr(path, &name)?.is_some() => {}
                XATTR_CREATE => return Err(Refusal::Exists.into()),
                XATTR_REPLACE => return Err(Refusal::NoAttribute.into()),
                _ => return Err(Refusal::Invalid.into()),
            }
            volume.set_xattr(path, name, value)
        })
    }

    /// The names of a file's extended attributes.
    #[pyo3(signature = (path = Given(PathBuf::from("/"))))]
    fn listxattr(&self, py: Python<'_>, path: Given) -> PyResult<Vec<OsString>> {
        let names = self.call(py, path, |volume, path| volume.xattrs(path))?;
        Ok(names.into_iter().map(OsString::from_vec).collect())
    }

    /// Removes an extended attribute.
    fn removexattr(&self, py: Python<'_>, path: Given, attribute: Given) -> PyResult<()> {
        let name = attribute.name();
        self.call(py, path, move |volume, path| volume.remove_xattr(path, name))
    }

    /// Makes one file durable, or a directory's names.
    fn fsync(&self, py: Python<'_>, path: Given) -> PyResult<()> {
        self.call(py, path, |volume, path| volume.open_file(path)?.sync_all())
    }

    /// Makes everything durable.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, Given(self.image.clone()), |volume, _| volume.sync())
    }

    /// Writes everything, and closes the volume; twice does no harm. Files that are open are closed.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let volume = self.volume.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(volume) = volume else { return Ok(()) };
        py.detach(|| volume.unmount()).map_err(|error| os_error(&error, &self.image))
    }

    /// Whether it is closed.
    #[getter]
    fn closed(&self) -> bool {
        self.open_one().is_err()
    }

    fn __repr__(&self) -> String {
        format!("<ordofs.Volume {:?}{}>", self.image, if self.closed() { ", closed" } else { "" })
    }
}
