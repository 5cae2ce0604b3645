//! A volume that is mounted as long as it, or a file of it, is served.

use crate::image;
use crate::messages::Messages;
use crate::mount_options::Wanted;
use crate::out::{Outcome, Status, usage};
use anyhow::{Context, anyhow};
use ordofs::rt::Rt;
use ordofs::{ImageSpec, MountOptions, Mounted};
use std::ffi::OsString;

/// What `-o` asks for.
pub(super) fn wanted(spec: &ImageSpec, options: &[OsString]) -> anyhow::Result<Wanted> {
    let wanted = Wanted::parse(spec.path.as_os_str(), options.iter().map(OsString::as_os_str), false)?;
    if wanted.offset.is_some() || wanted.snapshot.is_some() {
        return Err(usage("-o offset=, snapshot=: give --offset or --snapshot"));
    }
    Ok(wanted)
}

/// Mounts, serves, and unmounts also when that failed. What the volume suffered is told before what the server did.
pub(super) fn while_mounted(
    spec: &ImageSpec,
    mut options: MountOptions,
    read_only: bool,
    serve: impl FnOnce(&Rt, &Mounted) -> anyhow::Result<()>,
) -> Outcome {
    let (rt, messages) = (Rt::real_time(), Messages::of(spec, false));
    options.read_only |= read_only || spec.snapshot.is_some();
    options.notices = messages.listener();
    let mounted = Mounted::open(&rt, spec, &options).map_err(|error| image::open_error(&spec.path, error))?;
    let served = serve(&rt, &mounted);
    let degraded = mounted.degraded();
    let closed = rt.block_on(mounted.unmount());
    // The image is closed with the last task that holds it.
    rt.drop_tasks();
    if let Some(why) = degraded {
        return Err(anyhow!("{spec}: turned read-only while it was served: {why}; run ordo fsck on it"));
    }
    closed.with_context(|| format!("{spec}: could not be written back; run ordo fsck on it"))?;
    served.map(|()| Status::DONE)
}
