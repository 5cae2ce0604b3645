//! Unmounting, and waiting until the server has closed the image.

use super::error::MountError;
use super::helper;
use super::lease::{LastWrites, Waiter};
use super::place::{By, MountPoint};
use super::table::{self, our_mount};
use ordo_rt::Rt;
use rustix::io::Errno;
use rustix::mount::UnmountFlags;
use std::io::Write;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

/// How a mount ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unmounted {
    /// The server has written everything and closed the image.
    Finished,
    /// The server has closed the image, but could not write everything, for this reason.
    Failed(String),
    /// The server died before it had closed the image. What it had not written is lost.
    Died,
    /// The mount is gone here, but the file system is still mounted or in use elsewhere; its server continues.
    StillUsed,
    /// The mount is gone; its server is not visible from here, and may still write.
    Unseen,
    /// The mount is gone; its server, this process, was told to give up and goes on.
    Hangs(i32),
}

/// Unmounts `dir`, and waits until its server has closed the image. `lazily`: even if it is in use, and without the
/// wait.
///
/// # Errors
/// [`MountError`]; the mount is unchanged then.
pub fn unmount(dir: &Path, lazily: bool) -> Result<Unmounted, MountError> {
    let mounted = our_mount(dir)?;
    let dir = &mounted.dir;
    // Before the unmount: afterwards the kernel may reuse the number at once.
    let waiter = Waiter::find(&mounted);
    let dead = waiter.is_none() && is_dead(dir);
    patiently(dir, By::now(), lazily).map_err(|error| match error {
        MountError::InUse(dir) if dead => MountError::DeadInUse(dir),
        error => error,
    })?;
    let elsewhere = table::mounts().map_err(MountError::Table)?.iter().any(|other| other.id() == mounted.id());
    match waiter {
        _ if elsewhere || lazily => Ok(Unmounted::StillUsed),
        Some(waiter) => Ok(match waiter.wait() {
            Some(LastWrites::Done) => Unmounted::Finished,
            Some(LastWrites::Failed(why)) => Unmounted::Failed(why),
            Some(LastWrites::Unknown) => Unmounted::Died,
            None => Unmounted::StillUsed,
        }),
        None if dead => Ok(Unmounted::Died),
        None => Ok(Unmounted::Unseen),
    }
}

/// Ends the mount at `dir` although it is in use or its server waits for a disk that does not answer: programs that use
/// it get errors, and the server has some seconds to write everything. Then it is told to give up.
///
/// # Errors
/// [`MountError`]; the mount is unchanged then.
pub fn force(dir: &Path) -> Result<Unmounted, MountError> {
    let mounted = our_mount(dir)?;
    let waiter = Waiter::find(&mounted);
    let dead = waiter.is_none() && is_dead(&mounted.dir);
    match By::now() {
        By::Root => {
            let flags = UnmountFlags::FORCE | UnmountFlags::DETACH | UnmountFlags::NOFOLLOW;
            rustix::mount::unmount(&mounted.dir, flags).map_err(|errno| MountError::System {
                doing: "unmounting",
                path: mounted.dir.clone(),
                errno,
            })?;
        }
        By::Helper => {
            abort(&mounted.device);
            helper::unmount(&mounted.dir, true)?;
        }
    }
    Ok(match waiter.map(Waiter::insist) {
        Some(Ok(LastWrites::Done)) => Unmounted::Finished,
        Some(Ok(LastWrites::Failed(why))) => Unmounted::Failed(why),
        Some(Ok(LastWrites::Unknown)) => Unmounted::Died,
        Some(Err(process)) => Unmounted::Hangs(process),
        None if dead => Unmounted::Died,
        None => Unmounted::Unseen,
    })
}

/// Ends the kernel's connection of a mount, as its owner may; where that is impossible, the server ends it when it is
/// told to give up.
fn abort(device: &str) {
    let Some((_, minor)) = device.split_once(':') else { return };
    let file = std::fs::OpenOptions::new().write(true).open(format!("/sys/fs/fuse/connections/{minor}/abort"));
    let _ = file.and_then(|mut file| file.write_all(b"1"));
}

/// Retries for half a second while the mount is in use: a process that is being spawned holds a copy of each file of
/// its parent until it has called exec, which takes a while on a busy machine, and the parent cannot detect it.
fn patiently(dir: &Path, by: By, lazily: bool) -> Result<(), MountError> {
    let (rt, mut tries) = (Rt::real_time(), 0..25);
    loop {
        match once(dir, by, lazily) {
            Err(MountError::InUse(_)) if tries.next().is_some() => rt.block_on(rt.sleep(Duration::from_millis(20))),
            outcome => return outcome,
        }
    }
}

/// The kernel answers at once for a server that is gone. One that is not visible from here may hang, and is not waited
/// for.
fn is_dead(dir: &Path) -> bool {
    let (dir, (tell, answered)) = (dir.to_owned(), mpsc::channel());
    std::thread::spawn(move || {
        let dead = matches!(rustix::fs::statfs(&dir), Err(Errno::NOTCONN | Errno::CONNABORTED));
        // Nobody waits for an answer that comes late.
        let _ = tell.send(dead);
    });
    answered.recv_timeout(Duration::from_secs(1)).unwrap_or(false)
}

fn once(dir: &Path, by: By, lazily: bool) -> Result<(), MountError> {
    let flags = if lazily { UnmountFlags::DETACH } else { UnmountFlags::empty() };
    match by {
        By::Helper => helper::unmount(dir, lazily),
        By::Root => rustix::mount::unmount(dir, flags | UnmountFlags::NOFOLLOW).map_err(|errno| match errno {
            Errno::BUSY => MountError::InUse(dir.into()),
            Errno::INVAL => MountError::NotMounted(dir.into()),
            Errno::PERM | Errno::ACCESS => MountError::Permission(dir.into()),
            errno => MountError::System { doing: "unmounting", path: dir.into(), errno },
        }),
    }
}

/// Ends the server's own mount, if it still exists: at once if it is not in use, otherwise for every new user.
///
/// # Errors
/// [`MountError::Permission`]: this process, which has given up its rights, may not, and nothing else will end it.
/// After other errors the mount stays, too, and the second signal ends the service.
pub(crate) fn detach(place: &MountPoint) -> Result<(), MountError> {
    let here = table::mounted_at(&place.dir).ok().flatten().map(|mounted| mounted.id());
    if here.is_none() || here != place.id {
        return Ok(());
    }
    match once(&place.dir, place.by, false) {
        Err(MountError::InUse(_)) => once(&place.dir, place.by, true),
        outcome => outcome,
    }
}
