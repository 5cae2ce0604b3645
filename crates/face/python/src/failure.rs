//! Errors of the library as exceptions of Python.

use pyo3::PyErr;
use pyo3::exceptions::{PyOSError, PyValueError};
use std::io;
use std::path::Path;

/// An `OSError` with number, text and path (face-python-2 of the module).
pub(crate) fn os_error(error: &io::Error, path: &Path) -> PyErr {
    PyOSError::new_err((ordo_vfs::errno_of(error), error.to_string(), path.as_os_str().to_owned()))
}

/// A `ValueError`: something is closed, or an argument has no meaning.
pub(crate) fn value_error(text: impl Into<String>) -> PyErr {
    PyValueError::new_err(text.into())
}
