//! A run on a new volume, outside an exploration: it is mounted, something works on it, it is unmounted.

use crate::disks::Disks;
use crate::mount::mount;
use crate::order::Order;
use crate::subject::Subject;
use crate::{Error, volume};
use ordo_disk::RamDisk;
use ordo_rt::Rt;
use ordo_simdisk::Recorder;
use ordofs::Mounted;

/// The machine of a run, before the mount.
pub(crate) struct Bed {
    pub(crate) rt: Rt,
    pub(crate) recorder: Recorder,
    ram: RamDisk,
    disks: Disks,
}

impl Bed {
    /// For a subject, with its volume; the recorder sees its disks, and may keep what is written.
    ///
    /// # Errors
    /// The volume cannot be made.
    pub(crate) fn new(subject: &Subject, seed: u64, keep_images: bool) -> Result<Bed, Error> {
        let (rt, ram) = (Rt::virtual_time(seed), volume::of(subject)?);
        let (recorder, disks) = subject.disks(&rt, &ram, seed).recorded(&rt, subject.split(), keep_images);
        Ok(Bed { rt, recorder, ram, disks })
    }

    /// Mounts the volume in this order, lets `work` use it, and unmounts it.
    ///
    /// # Errors
    /// Those of the work, or else of the mount or unmount.
    pub(crate) fn run<T>(self, order: Order, work: impl FnOnce(&Mounted) -> Result<T, Error>) -> Result<T, Error> {
        let mounted = mount(&self.rt, &self.ram, self.disks, order, false)?;
        let outcome = work(&mounted);
        let unmounted = self.rt.block_on(mounted.unmount());
        self.rt.drop_tasks();
        let outcome = outcome?;
        unmounted.map_err(|error| Error::Run(format!("unmount: {error}")))?;
        Ok(outcome)
    }
}
