//! Paths and names as a program of Python gives them.

use crate::failure::value_error;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// Text, bytes, or an object that stands for either: what os.fspath takes. No zero byte is in it, as none may be in a
/// name of a volume.
pub(crate) struct Given(pub(crate) PathBuf);

impl<'py> FromPyObject<'_, 'py> for Given {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Given> {
        let path = given.py().import("os")?.call_method1("fspath", (given,))?;
        let path = match path.cast::<PyBytes>() {
            Ok(bytes) => PathBuf::from(OsStr::from_bytes(bytes.as_bytes())),
            Err(_) => path.extract()?,
        };
        match path.as_os_str().as_bytes().contains(&0) {
            true => Err(value_error("embedded null byte")),
            false => Ok(Given(path)),
        }
    }
}

impl Given {
    /// The name of an attribute.
    pub(crate) fn name(self) -> Vec<u8> {
        self.0.into_os_string().into_vec()
    }
}
