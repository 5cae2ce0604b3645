//! The file system of a mounted volume: one of the layouts, chosen when the volume is mounted.
//!
//! A layout is a type below this file, and a value above it. A new one is a variant here, and a line in `each`.

use crate::QuotaLimits;
use ordo_buf::{Promises, Scheme};
use ordo_ffs::Ffs;
use ordo_lfs::Lfs;
use ordo_ufs::{Layout, Quotas, Ufs};
use ordo_vfs::{FileSystem, Result, StatFs};
use std::rc::Rc;

/// The file system of a mounted volume.
pub enum Fs {
    /// The fast file system: UFS1 and UFS2.
    Ffs(Rc<Ufs<Ffs>>),
    /// NetBSD's log-structured file system.
    Lfs(Rc<Ufs<Lfs>>),
}

/// A layout by name, for what is asked before a volume is mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum LayoutName {
    /// The fast file system.
    #[default]
    Ffs,
    /// The log-structured file system.
    Lfs,
}

impl LayoutName {
    /// As the command line has it.
    pub fn name(self) -> &'static str {
        match self {
            LayoutName::Ffs => "ffs",
            LayoutName::Lfs => "lfs",
        }
    }

    /// What holds on a volume of this layout under `scheme`. A layout that leaves all order to the scheme promises what
    /// that declares.
    pub fn promises(self, scheme: &dyn Scheme) -> Promises {
        match self {
            LayoutName::Ffs => <Ffs as Layout>::promises(scheme),
            LayoutName::Lfs => <Lfs as Layout>::promises(scheme),
        }
    }
}

/// `$run` with the file system of whatever layout.
macro_rules! each {
    ($of:expr, $fs:ident => $run:expr) => {
        match $of {
            Fs::Ffs($fs) => $run,
            Fs::Lfs($fs) => $run,
        }
    };
}

impl Fs {
    /// The quotas of the volume; `None` on a log-structured one, which has none.
    pub fn quotas(&self) -> Option<&Quotas> {
        match self {
            Fs::Ffs(fs) => fs.quotas(),
            Fs::Lfs(_) => None,
        }
    }

    /// Begins to keep quotas on a volume that was opened without, for example after their files were made.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub async fn begin_quotas(&self, limits: QuotaLimits) -> Result<()> {
        match self {
            Fs::Ffs(fs) => fs.begin_quotas(limits, false).await,
            Fs::Lfs(_) => Ok(()),
        }
    }

    /// Counts what users and groups use.
    ///
    /// # Errors
    /// `Io`.
    pub async fn count_quotas(&self) -> Result<()> {
        match self {
            Fs::Ffs(fs) => fs.count_quotas().await,
            Fs::Lfs(_) => Ok(()),
        }
    }

    /// The layout.
    pub fn layout_name(&self) -> LayoutName {
        match self {
            Fs::Ffs(_) => LayoutName::Ffs,
            Fs::Lfs(_) => LayoutName::Lfs,
        }
    }

    /// The current space of the volume, which the layout alone knows. Space that is waiting to be freed counts as free.
    pub(crate) fn space(&self) -> StatFs {
        each!(self, fs => fs.layout().statfs())
    }

    pub(crate) fn max_file_size(&self) -> u64 {
        each!(self, fs => fs.layout().shape().maxfilesize)
    }

    /// Whether the format supports extended attributes.
    pub(crate) fn has_attributes(&self) -> bool {
        each!(self, fs => fs.layout().shape().has_attributes())
    }

    /// Frees files without names, writes everything, and marks the volume clean.
    ///
    /// # Errors
    /// `Io` when something could not be written: the volume then keeps the mark that it needs a check.
    pub(crate) async fn unmount(&self) -> Result<()> {
        each!(self, fs => fs.unmount().await)
    }
}

macro_rules! layout {
    ($fs:ident, $call:ident($($arg:ident),*) $($wait:tt)*) => {
        each!($fs, fs => FileSystem::$call(&**fs $(, $arg)*) $($wait)*)
    };
}

impl FileSystem for Fs {
    ordo_vfs::forward! { layout: all }
}
