//! Mount options of the blocking interface.

use super::Volume;
use crate::{AllocInit, ImageSpec, MountOptions, Mounted, Notice, Notices, OpenError};
use ordo_rt::Rt;
use ordo_schemes::{DataMode, LogMode};
use std::path::Path;
use std::result::Result;
use std::time::Duration;

/// A volume that is about to be mounted: set options, then call [`OpenVolume::mount`].
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
    /// `BadSpec` for a suffix that names no partition. The image itself is opened by [`OpenVolume::mount`], which
    /// returns `NotFound` or `NoVolume` where it contains no volume.
    pub fn open(image: impl AsRef<Path>) -> Result<OpenVolume, OpenError> {
        Ok(Volume::at(ImageSpec::parse(image.as_ref())?))
    }

    /// A volume that is mounted already, on any disk: its runtime and itself.
    pub fn of(rt: Rt, mounted: Mounted) -> Volume {
        Volume { rt, mounted, notices: Notices::default(), is_over: false }
    }

    /// The same for a place that is already parsed.
    pub fn at(spec: ImageSpec) -> OpenVolume {
        OpenVolume { spec, options: MountOptions::default() }
    }
}

impl OpenVolume {
    /// The scheme that orders metadata writes, by name (see [`ordo_schemes::ALL`]).
    pub fn scheme(mut self, name: &str) -> Self {
        self.options.scheme = Some(name.into());
        self
    }

    /// Mounts read-only.
    pub fn read_only(mut self) -> Self {
        self.options.read_only = true;
        self
    }

    /// Mounts a volume read-write even if it needs repair.
    pub fn force(mut self) -> Self {
        self.options.force = true;
        self
    }

    /// Memory for the cache, in bytes.
    pub fn cache(mut self, bytes: usize) -> Self {
        self.options.cache = bytes;
        self
    }

    /// Which new blocks are initialised on the disk before a pointer to them is written.
    pub fn alloc_init(mut self, init: AllocInit) -> Self {
        self.options.settings.alloc_init = Some(init);
        self
    }

    /// The scheme's log, if it is not in a file of the volume: a file or a device, which it uses as a whole.
    pub fn log(mut self, path: impl AsRef<Path>) -> Self {
        self.options.log = Some(path.as_ref().to_owned());
        self
    }

    /// When a call that changed names returns, under a scheme with a log (`logmode=`).
    pub fn log_mode(mut self, mode: LogMode) -> Self {
        self.options.settings.log_mode = Some(mode);
        self
    }

    /// How a journal handles the contents of files (`data=`).
    pub fn data(mut self, mode: DataMode) -> Self {
        self.options.settings.data = Some(mode);
        self
    }

    /// How long a change may stay only in memory if no caller syncs it (`commit=`).
    pub fn commit(mut self, most: Duration) -> Self {
        self.options.settings.commit = Some(most);
        self
    }

    /// A listener for events that no call reports: see [`Notice`].
    pub fn on_notice(mut self, listener: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        self.options.notices = Notices::to(listener);
        self
    }

    /// Changes any other option.
    pub fn options(mut self, change: impl FnOnce(&mut MountOptions)) -> Self {
        change(&mut self.options);
        self
    }

    /// Mounts the volume. If it needs repair, it is mounted read-only; [`Mounted::why_read_only`] says why.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn mount(self) -> Result<Volume, OpenError> {
        let rt = Rt::real_time();
        // What is not mounted has no owner who ends its tasks.
        let mounted = Mounted::open(&rt, &self.spec, &self.options).inspect_err(|_| rt.drop_tasks())?;
        Ok(Volume { rt, mounted, notices: self.options.notices, is_over: false })
    }
}
