//! Volumes: opening, and the calls by path.

use crate::failure::{os_error, value_error};
use crate::file::File;
use crate::stat::Stat;
use ordofs_rust::vfs::{self, Mode};
use ordofs_rust::{NewLog, NewVolume, SharedVolume, Volume as Rust, option_list};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// An open volume. Use it in a `with` statement: at its end everything is written, and the volume is clean.
#[pyclass(frozen, module = "ordofs")]
pub(crate) struct Volume {
    volume: Mutex<Option<SharedVolume>>,
    image: PathBuf,
}

/// Makes a volume of size bytes in the file image; kind is ufs2 or lfs. A file that is there and holds anything but
/// zeroes stays, and so does a device with something on it: FileExistsError, unless overwrite is true.
#[pyfunction]
#[pyo3(signature = (image, size, kind = "ufs2", *, overwrite = false))]
pub(crate) fn create(py: Python<'_>, image: PathBuf, size: u64, kind: &str, overwrite: bool) -> PyResult<()> {
    let made = match (kind, overwrite) {
        ("ufs2", false) => py.detach(|| NewVolume::new(size).create(&image)),
        ("ufs2", true) => py.detach(|| NewVolume::new(size).overwrite(&image)),
        ("lfs", false) => py.detach(|| NewLog::new(size).create(&image)),
        ("lfs", true) => py.detach(|| NewLog::new(size).overwrite(&image)),
        (other, _) => return Err(value_error(format!("no kind of volume is called {other:?}; there are ufs2 and lfs"))),
    };
    made.map_err(|error| os_error(&error.into(), &image))
}

/// Opens the volume in a file, a device or a partition ("disk.img@p2"). The options are those of ordo mount -o, as
/// "ro,scheme=sync,cache=64M".
#[pyfunction]
#[pyo3(signature = (image, options = ""))]
pub(crate) fn open(py: Python<'_>, image: PathBuf, options: &str) -> PyResult<Volume> {
    let wanted = option_list(options).map_err(value_error)?;
    let spec = image.clone();
    let start = move || SharedVolume::start(move || Rust::open(&spec)?.options(|options| *options = wanted).mount());
    let volume = py.detach(start).map_err(|error| os_error(&error, &image))?;
    Ok(Volume { volume: Mutex::new(Some(volume)), image })
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
        path: PathBuf,
        work: impl FnOnce(&Rust, &Path) -> vfs::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let (volume, named) = (self.open_one()?, path.clone());
        let result: io::Result<T> = py.detach(|| volume.call(move |volume| work(volume, &path)).wait());
        result.map_err(|error| os_error(&error, &named))
    }
}

#[pymethods]
impl Volume {
    /// The names in a directory, in the order in which they are stored.
    #[pyo3(signature = (path = PathBuf::from("/")))]
    fn listdir(&self, py: Python<'_>, path: PathBuf) -> PyResult<Vec<OsString>> {
        self.call(py, path, |volume, path| Ok(volume.read_dir(path)?.map(|entry| entry.file_name()).collect()))
    }

    /// The attributes of a file.
    #[pyo3(signature = (path, *, follow_symlinks = true))]
    fn stat(&self, py: Python<'_>, path: PathBuf, follow_symlinks: bool) -> PyResult<Stat> {
        self.call(py, path, move |volume, path| {
            let found = if follow_symlinks { volume.metadata(path) } else { volume.symlink_metadata(path) };
            Ok(Stat::of(found?.attr()))
        })
    }

    /// Whether there is a file of this name.
    fn exists(&self, py: Python<'_>, path: PathBuf) -> PyResult<bool> {
        self.call(py, path, |volume, path| volume.exists(path))
    }

    /// The contents of a file.
    fn read<'py>(&self, py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.call(py, path, |volume, path| volume.read(path))?))
    }

    /// Replaces the contents of a file, and makes it if it is not there.
    fn write(&self, py: Python<'_>, path: PathBuf, data: PyBackedBytes) -> PyResult<()> {
        let data = data.to_vec();
        self.call(py, path, move |volume, path| volume.write(path, data))
    }

    /// Opens a file for bytes: mode is rb, wb, ab or xb, with + or without.
    #[pyo3(signature = (path, mode = "rb", permissions = 0o644))]
    fn open(&self, py: Python<'_>, path: PathBuf, mode: &str, permissions: u32) -> PyResult<File> {
        File::open(py, &self.open_one()?, path, mode, permissions)
    }

    /// Makes a directory.
    #[pyo3(signature = (path, mode = 0o755))]
    fn mkdir(&self, py: Python<'_>, path: PathBuf, mode: u32) -> PyResult<()> {
        self.call(py, path, move |volume, path| {
            volume.create_dir(path)?;
            volume.set_permissions(path, Mode::new(mode))
        })
    }

    /// Removes a name that is not a directory.
    fn remove(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.call(py, path, |volume, path| volume.remove_file(path))
    }

    /// Removes an empty directory.
    fn rmdir(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.call(py, path, |volume, path| volume.remove_dir(path))
    }

    /// Renames; what the new name named before is replaced.
    fn rename(&self, py: Python<'_>, old: PathBuf, new: PathBuf) -> PyResult<()> {
        self.call(py, old, move |volume, old| volume.rename(old, new))
    }

    /// Gives a file another name.
    fn link(&self, py: Python<'_>, old: PathBuf, new: PathBuf) -> PyResult<()> {
        self.call(py, old, move |volume, old| volume.hard_link(old, new))
    }

    /// Makes a symbolic link at path, to target.
    fn symlink(&self, py: Python<'_>, target: PathBuf, path: PathBuf) -> PyResult<()> {
        self.call(py, path, move |volume, path| volume.symlink(target, path))
    }

    /// The target of a symbolic link.
    fn readlink(&self, py: Python<'_>, path: PathBuf) -> PyResult<PathBuf> {
        self.call(py, path, |volume, path| volume.read_link(path))
    }

    /// Sets the permission bits.
    fn chmod(&self, py: Python<'_>, path: PathBuf, mode: u32) -> PyResult<()> {
        self.call(py, path, move |volume, path| volume.set_permissions(path, Mode::new(mode)))
    }

    /// Makes one file durable, or a directory's names.
    fn fsync(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.call(py, path, |volume, path| volume.open_file(path)?.sync_all())
    }

    /// Makes everything durable.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, self.image.clone(), |volume, _| volume.sync())
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

    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        slf.get().open_one()?;
        Ok(slf)
    }

    #[pyo3(signature = (*_why))]
    fn __exit__(&self, py: Python<'_>, _why: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self) -> String {
        format!("<ordofs.Volume {:?}{}>", self.image, if self.closed() { ", closed" } else { "" })
    }
}
