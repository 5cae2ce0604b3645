//! Attributes of a file, by the names of `os.stat_result`.

use ordofs_rust::vfs::{Attr, Kind, Stamp};
use pyo3::prelude::*;

/// The bits of a mode that say what a file is begin here.
const KIND_SHIFT: u32 = 12;
pub(crate) const NANOS: i128 = 1_000_000_000;

/// What a file is, as st_mode has it.
pub(crate) fn kind_bits(kind: Kind) -> u32 {
    (kind as u32) << KIND_SHIFT
}

/// The attributes of a file at the time of the query, named as in os.stat_result.
#[pyclass(frozen, eq, get_all, module = "ordofs")]
#[derive(PartialEq)]
pub(crate) struct Stat {
    st_mode: u32,
    st_ino: u64,
    st_nlink: u32,
    st_uid: u32,
    st_gid: u32,
    st_rdev: u64,
    st_size: u64,
    st_blocks: u64,
    st_blksize: u32,
    st_flags: u32,
    st_atime_ns: i128,
    st_mtime_ns: i128,
    st_ctime_ns: i128,
    /// None on UFS1, which has no place for it.
    st_birthtime_ns: Option<i128>,
}

impl Stat {
    pub(crate) fn of(attr: &Attr) -> Stat {
        let nanos = |stamp: Stamp| i128::from(stamp.secs) * NANOS + i128::from(stamp.nanos);
        Stat {
            st_mode: kind_bits(attr.kind) | u32::from(attr.mode.bits()),
            st_ino: attr.ino,
            st_nlink: attr.nlink,
            st_uid: attr.uid,
            st_gid: attr.gid,
            st_rdev: attr.rdev,
            st_size: attr.size,
            st_blocks: attr.sectors,
            st_blksize: attr.block_size,
            st_flags: attr.flags,
            st_atime_ns: nanos(attr.atime),
            st_mtime_ns: nanos(attr.mtime),
            st_ctime_ns: nanos(attr.ctime),
            st_birthtime_ns: attr.birth.map(nanos),
        }
    }
}

#[pymethods]
impl Stat {
    /// Seconds since 1970, with a fraction.
    #[getter]
    fn st_atime(&self) -> f64 {
        self.st_atime_ns as f64 / NANOS as f64
    }

    /// See `st_atime`.
    #[getter]
    fn st_mtime(&self) -> f64 {
        self.st_mtime_ns as f64 / NANOS as f64
    }

    /// See `st_atime`.
    #[getter]
    fn st_ctime(&self) -> f64 {
        self.st_ctime_ns as f64 / NANOS as f64
    }

    /// See `st_atime`; None on UFS1.
    #[getter]
    fn st_birthtime(&self) -> Option<f64> {
        self.st_birthtime_ns.map(|nanos| nanos as f64 / NANOS as f64)
    }

    fn __repr__(&self) -> String {
        format!("ordofs.Stat(st_mode=0o{:o}, st_ino={}, st_size={})", self.st_mode, self.st_ino, self.st_size)
    }
}
