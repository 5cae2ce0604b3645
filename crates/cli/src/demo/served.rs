//! A mount served by a thread of this process, so that its disk's requests can be counted.

use super::VOLUME;
use super::leg::Cost;
use crate::fresh::{Fresh, NewSize};
use anyhow::{Context, anyhow};
use ordo_fuse::{ServeOptions, Status};
use ordofs::MountOptions;
use ordofs::rt::Rt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread::{JoinHandle, spawn};

/// A mounted volume. Dropping it unmounts.
pub(crate) struct Served {
    image: PathBuf,
    dir: PathBuf,
    thread: Option<JoinHandle<anyhow::Result<Cost>>>,
}

impl Served {
    /// Makes a volume in the new file `image` and mounts it on `dir`.
    pub(crate) fn start(image: &Path, dir: &Path, scheme: &str) -> anyhow::Result<Served> {
        let options = MountOptions { scheme: Some(scheme.to_owned()), ..MountOptions::default() };
        let (usable, wait) = channel();
        let (of, mount_point) = (image.to_owned(), dir.to_owned());
        let thread = spawn(move || serve(&of, &mount_point, &options, usable));
        let served = Served { image: image.to_owned(), dir: dir.to_owned(), thread: Some(thread) };
        match wait.recv() {
            Ok(()) => Ok(served),
            // The sender is gone: the thread has ended and returns the reason.
            Err(_) => Err(served.end().err().unwrap_or_else(|| anyhow!("the mount ended at once"))),
        }
    }

    /// What the service has cost so far, by the server's own report.
    pub(crate) fn cost(&self) -> anyhow::Result<Cost> {
        let (_, said) = ordo_fuse::status(self.image.as_os_str())?.context("the mount is gone")?;
        serde_json::from_str(&said.context("the server does not say what it has done")?).map_err(Into::into)
    }

    /// Unmounts; returns the cost of the whole service.
    pub(crate) fn stop(self) -> anyhow::Result<Cost> {
        ordo_fuse::unmount(&self.dir, false)?;
        self.end()
    }

    fn end(mut self) -> anyhow::Result<Cost> {
        let thread = self.thread.take().context("the server has ended")?;
        thread.join().map_err(|_| anyhow!("the server panicked"))?
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if self.thread.is_some() {
            // After an error: the scratch directory cannot be removed while something is mounted in it.
            let _ = ordo_fuse::unmount(&self.dir, true);
        }
    }
}

fn serve(image: &Path, dir: &Path, options: &MountOptions, usable: Sender<()>) -> anyhow::Result<Cost> {
    let rt = Rt::real_time();
    let Fresh { mounted, requests } = Fresh::in_file(&rt, image, NewSize::of(VOLUME), options)?;
    let session = ordo_fuse::mount(dir, &ordo_fuse::MountOptions::new(image))?;
    let options = ServeOptions {
        ready: Some(Box::new(move || {
            // The receiver may be gone.
            let _ = usable.send(());
        })),
        status: Some(Box::new({
            let requests = requests.clone();
            move || Status { text: serde_json::to_string(&Cost::now(requests.get())).unwrap_or_default(), busy: true }
        })),
        complain: Box::new(|error| crate::out::say(&error.to_string())),
        ..ServeOptions::default()
    };
    let ended = rt.block_on(ordo_fuse::serve(&rt, mounted.fs().clone(), session, options))?;
    rt.block_on(mounted.unmount()).context("the volume could not be written back")?;
    rt.drop_tasks();
    if let Some(lease) = ended.lease {
        lease.end(Ok(()));
    }
    Ok(Cost::now(requests.get()))
}
