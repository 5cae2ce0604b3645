//! The blocking face: a volume with the calls of `std::fs`.
//!
//! Calls return [`vfs::Result`], whose error says exactly why; `?` turns it into a [`std::io::Error`] with the kind that
//! `std::fs` would have, in a function that returns one.

mod attributes;
mod dir;
mod file;
mod mounting;
mod open;
mod paths;
mod tree;

pub use attributes::{FileTimes, Metadata};
pub use dir::{DirEntry, ReadDir};
pub use file::File;
pub use mounting::OpenVolume;
pub use open::OpenOptions;

use crate::path::{Held, parent, resolve};
use crate::{Fs, Mounted};
use rt::Rt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;
use vfs::{Caller, Entry, FileSystem, Name, NodeId, Result, StatFs};

/// A mounted volume.
///
/// Paths start at its root, with or without a slash. Symbolic links are followed within the volume, and `..` stops at
/// its root. What is made belongs to user 0, who may use the reserve.
///
/// A volume that is dropped without [`Volume::unmount`] is left as after a crash: what was not synced may be lost, and
/// the next mount is read-only until the volume was checked.
///
/// ```
/// use ordofs::{NewVolume, Volume};
/// # let dir = tempfile::tempdir()?;
/// # let image = dir.path().join("disk.img");
/// NewVolume::new(16 << 20).create(&image)?;
/// let volume = Volume::open(&image)?.mount()?;
/// volume.create_dir_all("/usr/share/doc")?;
/// volume.write("/usr/share/doc/readme", "short")?;
/// volume.rename("/usr/share/doc", "/doc")?;
/// assert_eq!(volume.read_to_string("/doc/readme")?, "short");
/// volume.remove_dir_all("/usr")?;
/// assert!(!volume.exists("/usr")?);
/// volume.unmount()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Volume {
    rt: Rt,
    mounted: Mounted,
}

impl Drop for Volume {
    /// Lets go of the image, so that the next one may have it: tasks that nobody will poll again would keep it open.
    fn drop(&mut self) {
        if Rc::strong_count(self.fs()) == 1 {
            self.rt.drop_tasks();
        }
    }
}

impl Volume {
    /// The mounted volume behind this face.
    pub fn mounted(&self) -> &Mounted {
        &self.mounted
    }

    /// The executor, for calls of the async face.
    pub fn rt(&self) -> &Rt {
        &self.rt
    }

    fn fs(&self) -> &Rc<Fs> {
        self.mounted.fs()
    }

    /// Writes everything, and marks the volume clean. Open files must be closed before.
    ///
    /// # Errors
    /// `Io` when something could not be written.
    pub fn unmount(self) -> Result<()> {
        self.rt.block_on(self.fs().unmount())
    }

    /// Makes everything durable.
    ///
    /// # Errors
    /// `Io`.
    pub fn sync(&self) -> Result<()> {
        self.rt.block_on(self.fs().syncfs())
    }

    /// How much room there is.
    ///
    /// ```
    /// # use ordofs::{NewVolume, Volume};
    /// # let dir = tempfile::tempdir()?;
    /// # let image = dir.path().join("disk.img");
    /// # NewVolume::new(16 << 20).create(&image)?;
    /// # let volume = Volume::open(&image)?.mount()?;
    /// let space = volume.space()?;
    /// let free_bytes = space.avail_frags * u64::from(space.frag_size);
    /// assert!(free_bytes > 12 << 20);
    /// # volume.unmount()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `Io`.
    pub fn space(&self) -> Result<StatFs> {
        self.rt.block_on(self.fs().statfs())
    }

    /// Nothing can be changed: as was asked, or as [`Mounted::why_read_only`] and [`Mounted::degraded`] say.
    pub fn is_read_only(&self) -> bool {
        self.fs().read_only()
    }

    /// Runs `work` on the node that `path` leads to; a last symbolic link is followed if `follow`.
    fn at_path<T>(
        &self,
        path: impl AsRef<Path>,
        follow: bool,
        work: impl AsyncFnOnce(&Fs, &Entry) -> Result<T>,
    ) -> Result<T> {
        self.rt.block_on(async {
            let held = resolve(self.fs(), bytes(path.as_ref()), follow).await?;
            work(self.fs(), &held.entry).await
        })
    }

    /// Runs `work` on the directory above the last name of `path`, and that name.
    fn at_parent<T>(
        &self,
        path: impl AsRef<Path>,
        work: impl AsyncFnOnce(&Fs, NodeId, Name<'_>) -> Result<T>,
    ) -> Result<T> {
        self.rt.block_on(async {
            let (dir, name) = parent(self.fs(), bytes(path.as_ref())).await?;
            work(self.fs(), dir.node(), name).await
        })
    }

    fn hold(&self, path: impl AsRef<Path>, follow: bool) -> Result<Held<Fs>> {
        self.rt.block_on(resolve(self.fs(), bytes(path.as_ref()), follow))
    }
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// Who a caller of the library is: the owner of the image.
fn caller() -> Caller {
    Caller { privileged: true, ..Caller::default() }
}
