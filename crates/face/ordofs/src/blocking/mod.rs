//! The blocking interface: a volume with the calls of `std::fs`.
//!
//! Calls return [`ordo_vfs::Result`], whose error gives the exact reason: its variant says who has to act, its `cause`
//! which request of the disk failed or which field is damaged. In a function that returns
//! [`std::io::Error`], `?` converts it to one with the kind that `std::fs` would use.

mod attributes;
mod dir;
mod file;
mod mounting;
mod open;
mod open_files;
mod paths;
mod shared;
mod shared_file;
mod tree;

pub use attributes::{FileTimes, Metadata};
pub use dir::{DirEntry, ReadDir};
pub use file::File;
pub use mounting::OpenVolume;
pub use open::OpenOptions;
pub use shared::{Calling, SharedVolume};
pub use shared_file::SharedFile;

use crate::path::{Held, parent, resolve};
use crate::{Fs, Mounted, Notice, Notices};
use ordo_rt::Rt;
use ordo_vfs::{Caller, Entry, FileSystem, Name, NodeId, Result, StatFs};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

/// A mounted volume.
///
/// Paths start at its root, with or without a slash. Symbolic links are followed within the volume, and `..` stops at
/// its root. New files belong to user 0, who may use the reserve.
///
/// Dropping a volume unmounts it, which blocks until everything is written. Errors are then reported to
/// [`MountOptions::notices`](crate::MountOptions), or printed to standard error if there is no listener;
/// [`Volume::unmount`] returns them. Two are left as after a crash, with a notice: a volume that a panic drops, and one
/// whose file system is kept by a clone of [`Mounted::fs`], which is synced. [`Volume::abandon`] leaves any volume as
/// after a crash, for tests.
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
    notices: Notices,
    /// Nothing is left to be written, or the volume was abandoned.
    is_over: bool,
}

impl Drop for Volume {
    /// Writes what is left, and closes the image so that it can be opened again: tasks that are never polled again
    /// would keep it open.
    fn drop(&mut self) {
        let is_last = Rc::strong_count(self.fs()) == 1;
        let was_asked_not_to_write = self.is_read_only() && self.mounted.degraded().is_none();
        if !self.is_over && !was_asked_not_to_write {
            let outcome = match (std::thread::panicking(), is_last) {
                (true, _) => Err("a panic dropped it; it is left as after a crash".to_owned()),
                (false, true) => self.rt.block_on(self.mounted.end()).map_err(|why| why.to_string()),
                (false, false) => {
                    let synced = self.rt.block_on(self.fs().syncfs()).map_err(|why| why.to_string());
                    synced.and(Err("others still use it; what they change is left as after a crash".to_owned()))
                }
            };
            let failed = outcome.is_err();
            let notice = Notice::Dropped(outcome);
            self.notices.tell(&notice);
            if failed && !self.notices.is_heard() {
                eprintln!("ordofs: a volume was {notice}");
            }
        }
        if is_last {
            self.rt.drop_tasks();
        }
    }
}

impl Volume {
    /// The mounted volume behind this interface.
    pub fn mounted(&self) -> &Mounted {
        &self.mounted
    }

    /// The executor, for calls of the async interface.
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
    pub fn unmount(mut self) -> Result<()> {
        self.is_over = true;
        self.rt.block_on(self.mounted.end())
    }

    /// Closes the image without writing anything more: what was not synced may be lost, and the volume is as after a
    /// crash. For tests of what a crash leaves.
    pub fn abandon(mut self) {
        self.mounted.cache().ledger().let_go();
        self.is_over = true;
    }

    /// Makes everything durable.
    ///
    /// # Errors
    /// `Io`.
    pub fn sync(&self) -> Result<()> {
        self.rt.block_on(self.fs().syncfs())
    }

    /// The space of the volume.
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

    /// True if nothing can be changed: by request, or for the reason that [`Mounted::why_read_only`] or
    /// [`Mounted::degraded`] gives.
    pub fn is_read_only(&self) -> bool {
        self.fs().read_only()
    }

    /// Runs `work` on the node at `path`; if `follow`, a last symbolic link is followed.
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

/// The identity of a caller of the library: the owner of the image.
fn caller() -> Caller {
    Caller { privileged: true, ..Caller::default() }
}
