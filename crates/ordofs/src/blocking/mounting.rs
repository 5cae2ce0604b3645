//! Choosing how a volume is mounted.

use super::Volume;
use crate::{AllocInit, ImageSpec, MountOptions, Mounted, Notice, Notices, OpenError};
use rt::Rt;
use schemes::{DataMode, LogMode};
use std::path::Path;
use std::result::Result;
use std::time::Duration;

/// A volume that is about to be mounted: choose, then [`OpenVolume::mount`].
///
/// ```no_run
/// use ordofs::{AllocInit, Volume};
/// let volume = Volume::open("disk.img@p2")?
///     .scheme("sync")
///     .alloc_init(AllocInit::All)
///     .cache(64 << 20)
///     .options(|options| options.noatime = true)
///     .mount()?;
/// # Ok::<(), ordofs::OpenError>(())
/// ```
pub struct OpenVolume {
    spec: ImageSpec,
    options: MountOptions,
}

impl Volume {
    /// The volume in a file, a device, or a partition (`disk.img@p2`).
    ///
    /// # Errors
    /// `BadSpec` for a suffix that names no partition. The image itself is opened by [`OpenVolume::mount`], which says
    /// `NotFound` or `NoVolume` where none is in it.
    pub fn open(image: impl AsRef<Path>) -> Result<OpenVolume, OpenError> {
        Ok(Volume::at(ImageSpec::parse(image.as_ref())?))
    }

    /// The same for a place that was parsed before.
    pub fn at(spec: ImageSpec) -> OpenVolume {
        OpenVolume { spec, options: MountOptions::default() }
    }
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
        self.options.settings.alloc_init = Some(init);
        self
    }

    /// Where the scheme's log is, if not in a file of the volume: a file or a device, of which it takes all.
    pub fn log(mut self, path: impl AsRef<Path>) -> Self {
        self.options.log = Some(path.as_ref().to_owned());
        self
    }

    /// When a call returns that changed names, under a scheme with a log (`logmode=`).
    pub fn log_mode(mut self, mode: LogMode) -> Self {
        self.options.settings.log_mode = Some(mode);
        self
    }

    /// What a journal does about the contents of files (`data=`).
    pub fn data(mut self, mode: DataMode) -> Self {
        self.options.settings.data = Some(mode);
        self
    }

    /// How long a change may be in memory only, where nobody asks for it (`commit=`).
    pub fn commit(mut self, most: Duration) -> Self {
        self.options.settings.commit = Some(most);
        self
    }

    /// Who is told of what no call tells: see [`Notice`].
    pub fn on_notice(mut self, listener: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        self.options.notices = Notices::to(listener);
        self
    }

    /// Any other option.
    pub fn options(mut self, change: impl FnOnce(&mut MountOptions)) -> Self {
        change(&mut self.options);
        self
    }

    /// Mounts it. A volume that needs repair is mounted read-only; [`Mounted::why_read_only`] says why.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn mount(self) -> Result<Volume, OpenError> {
        let rt = Rt::real_time();
        let mounted = Mounted::open(&rt, &self.spec, &self.options)?;
        Ok(Volume { rt, mounted, notices: self.options.notices, is_over: false })
    }
}
