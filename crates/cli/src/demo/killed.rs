//! The server of a mount is killed while a ledger is kept: what was acknowledged must be there afterwards.
//!
//! K1. A killed process is not a power cut: the kernel keeps what was written to the image. What the server held back
//!     in memory is lost, and the volume is as in the middle of its work. The laboratory cuts the power.

use super::amount::Amount;
use super::ledger::{Ledger, books};
use super::{VOLUME, findings, timed};
use crate::fresh::{Fresh, NewSize};
use anyhow::{Context, bail};
use ordofs::MountOptions;
use ordofs::rt::Rt;
use serde::Serialize;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// How long to wait for a server or for the lock of one that is gone, in steps of [`STEP`].
const STEPS: u32 = 6000;
const STEP: Duration = Duration::from_millis(10);

/// What became of one volume.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Killed {
    pub(crate) scheme: String,
    /// The scheme promises that what was synced survives.
    pub(crate) promises: bool,
    /// Entries that had returned when the server died.
    pub(crate) acknowledged: u32,
    /// Entries in the ledger afterwards; `None` if it cannot be read.
    pub(crate) there: Option<u32>,
    /// How the volume was repaired, which replays a log.
    pub(crate) repair: &'static str,
    /// Seconds of the repair.
    pub(crate) seconds: f64,
    /// What is wrong with the ledger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) wrong: Option<String>,
    /// Number of fsck's findings at the end.
    pub(crate) findings: u64,
}

impl Killed {
    /// Nothing that was acknowledged is lost, and ledger and volume are sound.
    pub(crate) fn kept(&self) -> bool {
        self.wrong.is_none() && self.findings == 0 && self.there.is_some_and(|there| there >= self.acknowledged)
    }
}

/// Keeps a ledger on a volume of this scheme, kills the server, repairs, and looks.
pub(crate) fn run(scratch: &Path, scheme: &str, promises: bool, amount: &Amount) -> anyhow::Result<Killed> {
    let rt = Rt::real_time();
    let (image, dir) = (scratch.join(format!("{scheme}-killed.img")), scratch.join("mnt"));
    make(&rt, &image, scheme)?;
    let server = Server::start(&rt, &image, &dir, scheme)?;
    let acknowledged = work_until_killed(&rt, server, amount)?;
    let mut repair = "fsck -p";
    let seconds = timed(&rt, || {
        let preened = fsck(&rt, "-p", &image)?;
        if !preened.status.success() && preened.status.code() != Some(1) {
            repair = "fsck -y";
            fsck(&rt, "-y", &image)?;
        }
        Ok(())
    })?;
    let server = Server::start(&rt, &image, &dir, scheme)?;
    let books = books(&dir.join("ledger"));
    server.stop()?;
    let (there, wrong) = match books {
        Ok(books) => (Some(books.entries), books.wrong),
        Err(error) => (None, Some(format!("{error:#}"))),
    };
    let findings = findings(&image)?;
    std::fs::remove_file(&image)?;
    let scheme = scheme.to_owned();
    Ok(Killed { scheme, promises, acknowledged, there, repair, seconds, wrong, findings })
}

/// A volume that has what its scheme needs.
fn make(rt: &Rt, image: &Path, scheme: &str) -> anyhow::Result<()> {
    let options = MountOptions { scheme: Some(scheme.to_owned()), ..MountOptions::default() };
    let fresh = Fresh::in_file(rt, image, NewSize::of(VOLUME / 4), &options)?;
    rt.block_on(fresh.mounted.unmount())?;
    rt.drop_tasks();
    Ok(())
}

/// Entries that were acknowledged before the ledger's keeper noticed that the server is gone.
fn work_until_killed(rt: &Rt, mut server: Server, amount: &Amount) -> anyhow::Result<u32> {
    let mut ledger = Ledger::found(&server.dir.join("ledger"))?;
    let (begins, begun) = channel();
    std::thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let mut acknowledged = 0;
            while ledger.enter(acknowledged + 1).is_ok() {
                acknowledged += 1;
                // The receiver takes the first and is gone.
                let _ = begins.send(());
            }
            acknowledged
        });
        begun.recv().context("the ledger could not be kept at all")?;
        rt.block_on(rt.sleep(amount.until_kill));
        server.kill()?;
        worker.join().map_err(|_| anyhow::anyhow!("the ledger's thread panicked"))
    })
}

/// Runs fsck on an image that its killed server may still lock: the kernel releases it when the last request is done.
fn fsck(rt: &Rt, how: &str, image: &Path) -> anyhow::Result<Output> {
    for _ in 0..STEPS {
        let output = program()?.args(["fsck", how]).arg(image).output()?;
        if !String::from_utf8_lossy(&output.stderr).contains("in use") {
            return Ok(output);
        }
        rt.block_on(rt.sleep(STEP));
    }
    bail!("{}: its killed server still locks it", image.display())
}

/// This program, again.
fn program() -> anyhow::Result<Command> {
    Ok(Command::new(std::env::current_exe().context("cannot find this program's own file")?))
}

/// A server in a process of its own. Dropping it kills it, and unmounts.
struct Server {
    dir: PathBuf,
    child: Option<Child>,
}

impl Server {
    fn start(rt: &Rt, image: &Path, dir: &Path, scheme: &str) -> anyhow::Result<Server> {
        let mut command = program()?;
        command.args(["mount", "-f", "-o", &format!("scheme={scheme}")]).arg(image).arg(dir);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let device = |path: &Path| std::fs::metadata(path).map(|found| found.dev());
        let below = device(dir.parent().context("the mount lies in a directory")?)?;
        let mut server = Server { dir: dir.to_owned(), child: Some(command.spawn().context("cannot start a server")?) };
        for _ in 0..STEPS {
            if device(dir).is_ok_and(|device| device != below) {
                return Ok(server);
            }
            if let Some(status) = server.child.as_mut().map(Child::try_wait).transpose()?.flatten() {
                bail!("the server of {} ended: {status}", image.display());
            }
            rt.block_on(rt.sleep(STEP));
        }
        bail!("the mount of {} did not come up", image.display())
    }

    /// `kill -9`; then the mount without a server is removed.
    fn kill(&mut self) -> anyhow::Result<()> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        child.kill()?;
        child.wait()?;
        ordo_fuse::unmount(&self.dir, true)?;
        Ok(())
    }

    fn stop(mut self) -> anyhow::Result<()> {
        ordo_fuse::unmount(&self.dir, false)?;
        if let Some(mut child) = self.child.take() {
            child.wait()?;
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // After an error, which says more than one of this.
        let _ = self.kill();
    }
}
