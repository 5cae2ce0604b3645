//! Open files: `read`, `write`, `seek` and their kin, of which `ordofs.File` is made.

use crate::failure::{os_error, value_error};
use crate::given::Given;
use crate::stat::Stat;
use ordofs_rust::vfs::Mode;
use ordofs_rust::{OpenOptions, SharedFile, SharedVolume};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::io::{self, SeekFrom};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes that one call of the library reads.
const PIECE: u64 = 1 << 20;

/// An open file of a volume: what ordofs.File is made of.
#[pyclass(frozen, module = "ordofs")]
pub(crate) struct File {
    file: Mutex<Option<Arc<SharedFile>>>,
    path: PathBuf,
}

/// The options of a mode of `open`, for binary files: `rb`, `r+b`, `wb`, `w+b`, `ab`, `a+b`, `xb`, `x+b`.
fn options(mode: &str, bits: u32) -> PyResult<OpenOptions> {
    let plus = mode.contains('+');
    let kind: String = mode.chars().filter(|c| !"b+".contains(*c)).collect();
    let repeats = mode.len() > 3 || mode.matches('b').count() > 1 || mode.matches('+').count() > 1;
    let mut options = OpenOptions::new();
    options.mode(Mode::new(bits));
    match kind.as_str() {
        _ if repeats => return Err(value_error(format!("mode {mode:?} has a letter twice"))),
        "r" => options.read(true).write(plus),
        "w" => options.read(plus).write(true).create(true).truncate(true),
        "a" => options.read(plus).append(true).create(true),
        "x" => options.read(plus).write(true).create_new(true),
        _ => return Err(value_error(format!("mode {mode:?}: must be rb, wb, ab or xb, with + or without"))),
    };
    Ok(options)
}

impl File {
    pub(crate) fn open(py: Python<'_>, volume: &SharedVolume, path: Given, mode: &str, bits: u32) -> PyResult<File> {
        let (options, path) = (options(mode, bits)?, path.0);
        let opened = py.detach(|| volume.open_file(&path, &options));
        let file = opened.map_err(|error| os_error(&error, &path))?;
        Ok(File { file: Mutex::new(Some(Arc::new(file))), path })
    }

    fn open_one(&self) -> PyResult<Arc<SharedFile>> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner).clone();
        file.ok_or_else(|| value_error("I/O operation on closed file"))
    }

    /// Runs a call without Python's lock (face-python-1 of the module).
    fn call<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&SharedFile) -> io::Result<T> + Send) -> PyResult<T> {
        let file = self.open_one()?;
        py.detach(|| work(&file)).map_err(|error| os_error(&error, &self.path))
    }
}

/// Reads up to `size` bytes in pieces; all that is left if it is negative.
fn pieces(size: i64, mut read: impl FnMut(u64, u32) -> io::Result<Vec<u8>>) -> io::Result<Vec<u8>> {
    let wanted = u64::try_from(size).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < wanted {
        let part = (wanted - bytes.len() as u64).min(PIECE) as u32;
        let piece = read(bytes.len() as u64, part)?;
        bytes.extend_from_slice(&piece);
        if piece.len() < part as usize {
            break;
        }
    }
    Ok(bytes)
}

/// A length that a program gives.
pub(crate) fn length(size: i64) -> PyResult<u64> {
    u64::try_from(size).map_err(|_| value_error(format!("a negative size: {size}")))
}

#[pymethods]
impl File {
    /// Reads up to size bytes from the position; without size all that is left.
    #[pyo3(signature = (size = -1))]
    fn read<'py>(&self, py: Python<'py>, size: i64) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.call(py, |file| pieces(size, |_, part| file.read(part)))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes all of data at the position; returns its length.
    fn write(&self, py: Python<'_>, data: PyBackedBytes) -> PyResult<usize> {
        self.call(py, |file| file.write(&data))?;
        Ok(data.len())
    }

    /// Reads up to size bytes from offset; the position does not change.
    fn pread<'py>(&self, py: Python<'py>, size: u32, offset: u64) -> PyResult<Bound<'py, PyBytes>> {
        let read =
            |file: &SharedFile| pieces(size.into(), |done, part| file.read_at(offset.saturating_add(done), part));
        Ok(PyBytes::new(py, &self.call(py, read)?))
    }

    /// Writes all of data at offset; the position does not change.
    fn pwrite(&self, py: Python<'_>, data: PyBackedBytes, offset: u64) -> PyResult<usize> {
        self.call(py, |file| file.write_at(offset, &data))?;
        Ok(data.len())
    }

    /// Moves the position; whence is 0 (from the beginning), 1 (from the position) or 2 (from the end).
    #[pyo3(signature = (offset, whence = 0))]
    fn seek(&self, py: Python<'_>, offset: i64, whence: u8) -> PyResult<u64> {
        let to = match whence {
            0 => SeekFrom::Start(u64::try_from(offset).map_err(|_| value_error(format!("negative seek {offset}")))?),
            1 => SeekFrom::Current(offset),
            2 => SeekFrom::End(offset),
            other => return Err(value_error(format!("whence {other}: must be 0, 1 or 2"))),
        };
        self.call(py, |file| file.seek(to))
    }

    /// The position.
    fn tell(&self, py: Python<'_>) -> PyResult<u64> {
        self.call(py, |file| file.seek(SeekFrom::Current(0)))
    }

    /// Truncates the file to size, or extends it with a hole; without size to the position.
    #[pyo3(signature = (size = None))]
    fn truncate(&self, py: Python<'_>, size: Option<i64>) -> PyResult<u64> {
        let size = size.map(length).transpose()?;
        self.call(py, |file| {
            let size = size.map_or_else(|| file.seek(SeekFrom::Current(0)), Ok)?;
            file.set_len(size)?;
            Ok(size)
        })
    }

    /// Makes everything that was written durable.
    fn fsync(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, SharedFile::sync_all)
    }

    /// The same, without times.
    fn fdatasync(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, SharedFile::sync_data)
    }

    /// The attributes of the file.
    fn stat(&self, py: Python<'_>) -> PyResult<Stat> {
        self.call(py, |file| Ok(Stat::of(file.metadata()?.attr())))
    }

    /// Closes it; twice does no harm.
    fn close(&self, py: Python<'_>) {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| drop(file));
    }
}
