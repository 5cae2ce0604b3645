//! Errors of the library as exceptions of Python.

use pyo3::PyErr;
use pyo3::exceptions::{PyOSError, PyValueError};
use std::io;
use std::path::Path;

/// An `OSError` with number, text and path (face-python-2 of the module).
pub(crate) fn os_error(error: &io::Error, path: &Path) -> PyErr {
    PyOSError::new_err((ordo_vfs::errno_of(error), text_of(error, path), path.as_os_str().to_owned()))
}

/// The same, of a call with two paths.
pub(crate) fn os_error_between(error: &io::Error, from: &Path, to: &Path) -> PyErr {
    let paths = [from, to].map(|path| path.as_os_str().to_owned());
    let [from, to] = paths;
    // The fourth is an error number of Windows.
    PyOSError::new_err((ordo_vfs::errno_of(error), text_of(error, Path::new("")), from, None::<i32>, to))
}

/// The text of an error, without the number and the path that Python adds.
fn text_of(error: &io::Error, path: &Path) -> String {
    let text = error.to_string();
    let text = text.rsplit_once(" (os error ").map_or(text.as_str(), |(said, _)| said);
    text.strip_prefix(&format!("cannot open {}: ", path.display())).unwrap_or(text).to_owned()
}

/// A `ValueError`: something is closed, or an argument has no meaning.
pub(crate) fn value_error(text: impl Into<String>) -> PyErr {
    PyValueError::new_err(text.into())
}
