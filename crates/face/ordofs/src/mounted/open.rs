//! Mounting what a user names.

use super::Mounted;
use crate::found::Found;
use crate::image::ImageSpec;
use crate::locate::located_direct;
use crate::log_home::open_log;
use crate::{MountOptions, OpenError};
use ordo_disk::FileOptions;
use ordo_rt::Rt;

impl Mounted {
    /// Opens an image and mounts the volume in it. If the first superblock is damaged, the volume is mounted read-only,
    /// from a copy.
    ///
    /// # Errors
    /// See [`OpenError`]. It is not an error if a volume needs repair: it is mounted read-only, and
    /// [`Mounted::why_read_only`] says why.
    pub fn open(rt: &Rt, spec: &ImageSpec, options: &MountOptions) -> Result<Mounted, OpenError> {
        let file = FileOptions {
            read_only: options.read_only,
            direct: options.direct,
            volatile_cache: options.volatile_cache,
            listener: options.notices.of_disks(),
            ..FileOptions::default()
        };
        let mut located = located_direct(rt, spec, &file, true)?;
        // A log-structured volume refuses the option, whatever the path is.
        if let (Some(path), Found::Ufs(_)) = (&options.log, &located.found) {
            located.log = Some(open_log(rt, path, &file, &options.notices)?);
        }
        rt.block_on(Mounted::mount(rt, located, options))
    }
}
