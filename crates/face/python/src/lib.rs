//! The native part of the module `ordofs` for Python: volumes of UFS and LFS in image files and on disks, without a
//! mount. `python/ordofs/__init__.py` makes of it what programs use: files of `io`, and the calls of `os`.
//!
//! Y1. Each call of the library runs without Python's lock, so that other threads go on.
//! Y2. An error is an `OSError` with errno, text and path: Python makes `FileNotFoundError` and its kin of it.
//! Y3. What is closed stays closed: a call on it is a `ValueError`, as with Python's own files.

#![forbid(unsafe_code)]

mod failure;
mod file;
mod given;
mod stat;
mod volume;

use pyo3::prelude::*;

/// Volumes of UFS and LFS in image files and on disks, without a mount.
#[pymodule]
mod _ordofs {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::file::File;
    #[pymodule_export]
    use super::stat::Stat;
    #[pymodule_export]
    use super::volume::{Volume, create};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
