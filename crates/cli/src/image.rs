//! Opening an image for one command.

use crate::expand;
use crate::interrupt;
use crate::messages::Messages;
use crate::out::{Outcome, Status, describe, say};
use crate::place::Inside;
use crate::size;
use crate::tentative::Tentative;
use anyhow::{Context, anyhow};
use ordofs::disk::{Disk, FileOptions, NbdDisk};
use ordofs::rt::Rt;
use ordofs::{Fs, ImageSpec, Located, MountOptions, Mounted, OpenError, Writer};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

/// The cache of a command that runs once.
const CACHE: usize = 64 << 20;
/// How often a command that waits for the reclaim of crash leaks checks for a signal.
const LOOK: Duration = Duration::from_millis(20);

/// The volume that a command works on.
#[derive(Debug, Clone, clap::Args)]
pub struct ImageArg {
    /// A file, a block device, or a partition in one: disk.img@p2, disk.img@s1a, disk.img@gpt:LABEL
    pub image: PathBuf,
    #[command(flatten)]
    /// Where the volume begins in it, and which snapshot of it is meant.
    pub start: Start,
}

/// Where in the image the volume starts.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct Start {
    /// The volume starts at this byte of the image
    #[arg(long, value_name = "BYTES", value_parser = size::parse)]
    pub offset: Option<u64>,
    /// Instead of the volume: this snapshot of it, by path, or by name in /.snap; can only be read
    #[arg(long, value_name = "NAME", value_parser = |word: &str| Ok::<_, std::convert::Infallible>(kept(word)))]
    pub snapshot: Option<&'static str>,
}

/// A word of the command line for as long as the process runs: there are a few.
pub fn kept(word: &str) -> &'static str {
    Box::leak(word.into())
}

/// A promise that is asked for. Commands that only read keep it anyway: the image is opened for reading only, a log
/// that waits is replayed in memory and never in the image, and what is shown is the state after it.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct Forensic {
    /// Never write to the image, and replay no log into it: for evidence
    #[arg(long)]
    pub(crate) forensic: bool,
}

impl ImageArg {
    /// The image and its part.
    ///
    /// # Errors
    /// When no image can be called so.
    pub fn spec(&self) -> anyhow::Result<ImageSpec> {
        spec(&self.image, self.start)
    }
}

/// The place that `image` and `--offset` name.
pub fn spec(image: &Path, start: Start) -> anyhow::Result<ImageSpec> {
    let spec = ImageSpec::parse(image).map_err(|error| open_error(image, error))?;
    Ok(ImageSpec { offset: start.offset, snapshot: start.snapshot.map(str::to_owned), ..spec })
}

/// An error of opening, with the image's name added if it is missing.
pub fn open_error(image: &Path, error: OpenError) -> anyhow::Error {
    match error {
        OpenError::Disk(error) => match advice(&error) {
            Some(advice) => anyhow!("{error}; {advice}"),
            None => error.into(),
        },
        OpenError::NoScheme(_) => crate::out::usage(error.to_string()),
        // An error of the host's names the file itself.
        error if error.to_string().starts_with(&image.display().to_string()) => error.into(),
        error => anyhow::Error::new(error).context(image.display().to_string()),
    }
}

/// What to do about a disk that cannot be opened, where the command knows more than the disk.
fn advice(error: &ordofs::disk::OpenError) -> Option<String> {
    use ordofs::disk::OpenError;
    let shown = |path: &Path| crate::text::one_line(&path.display().to_string());
    match error {
        // The image was taken for a directory.
        OpenError::Io { path, source } if source.kind() == std::io::ErrorKind::NotADirectory => {
            let image = path.ancestors().skip(1).find(|above| above.is_file())?;
            let inside = path.strip_prefix(image).ok()?;
            Some(format!("if {} is an image, write {0}:/{}", shown(image), shown(inside)))
        }
        OpenError::Locked { path, .. } => {
            let (dir, _) = ordo_fuse::status(path.as_os_str()).ok()??;
            Some(format!("it is mounted on {}: look there, with ls(1), df(1) and their kin", shown(&dir)))
        }
        OpenError::NotADisk { path } => {
            let mounted = ordo_fuse::status(path.as_os_str()).ok()?.is_some();
            mounted.then(|| "a volume is mounted there: look at it with ls(1), df(1) and their kin".to_owned())
        }
        OpenError::WriteProtected { path } => {
            let path = shown(path);
            Some(format!("unlock it, or only read it: ordo mount -o ro {path} DIR, ordo fsck -n {path}"))
        }
        _ => None,
    }
}

/// A mounted volume and its executor.
pub struct Opened {
    /// The runtime that it lives on.
    pub rt: Rt,
    /// The volume.
    pub mounted: Mounted,
    /// What keeps a failed command from changing the image.
    tentative: Option<Tentative>,
}

impl Opened {
    /// Its file system.
    pub fn fs(&self) -> &Rc<Fs> {
        self.mounted.fs()
    }

    /// Opens a volume to read it.
    pub fn to_read(rt: &Rt, spec: &ImageSpec) -> anyhow::Result<Opened> {
        let notices = Messages::of(spec, false).listener_once();
        let options = MountOptions { read_only: true, cache: CACHE, notices, ..MountOptions::default() };
        let mounted = Mounted::open(rt, spec, &options).map_err(|error| open_error(&spec.path, error))?;
        Ok(Opened { rt: rt.clone(), mounted, tentative: None })
    }

    /// Opens a volume to change it, under the scheme that a mount would choose, and after the repairs that a mount
    /// would make. That scheme can then recover from a kill or a power cut; under another one the volume would refuse
    /// every change until fsck was run. Signals are caught from here on; [`Opened::close`] must follow.
    /// A command that changes nothing, as most that fail, leaves the image's bytes as they were (`tentative`).
    pub fn to_change(rt: &Rt, spec: &ImageSpec) -> anyhow::Result<Opened> {
        let mut tentative = None;
        let mut opened = Opened::mounted(rt, spec, MountOptions::default(), |options| {
            if NbdDisk::is_url(&spec.path) {
                return Mounted::open(rt, spec, options);
            }
            let located = ordofs::locate_damaged(rt, spec, FileOptions::default())?;
            // The record of the one writer is written before all, and for others to see.
            if located.disk.info().read_only || ordofs::writer(rt, &located)? != Writer::Off {
                drop(located);
                return Mounted::open(rt, spec, options);
            }
            let disk = Tentative::new(located.disk.clone());
            tentative = Some(disk.clone());
            rt.block_on(Mounted::mount(rt, Located { disk: Rc::new(disk), ..located }, options))
        })?;
        opened.tentative = tentative;
        Ok(opened)
    }

    /// The same with these options, and nothing is kept back.
    pub fn to_change_with(rt: &Rt, spec: &ImageSpec, options: MountOptions) -> anyhow::Result<Opened> {
        Opened::mounted(rt, spec, options, |options| Mounted::open(rt, spec, options))
    }

    /// The same of a volume on a disk that is open already; `spec` is its name in messages.
    pub fn on_disk(rt: &Rt, spec: &ImageSpec, disk: Rc<dyn Disk>, options: MountOptions) -> anyhow::Result<Opened> {
        Opened::mounted(rt, spec, options, |options| {
            rt.block_on(Mounted::mount(rt, ordofs::locate_on(rt, disk)?, options))
        })
    }

    fn mounted(
        rt: &Rt,
        spec: &ImageSpec,
        options: MountOptions,
        open: impl FnOnce(&MountOptions) -> Result<Mounted, OpenError>,
    ) -> anyhow::Result<Opened> {
        let notices = Messages::of(spec, false).listener_of_waits();
        let options = MountOptions { cache: CACHE, notices, ..options };
        // Before the volume is marked as in use: otherwise a signal in between would leave it so.
        interrupt::catch()?;
        let mounted = open(&options).map_err(|error| open_error(&spec.path, error))?;
        if let Some(why) = mounted.why_read_only() {
            return Err(anyhow!("{why}").context(spec.to_string()));
        }
        Ok(Opened { rt: rt.clone(), mounted, tentative: None })
    }

    /// Writes everything and marks the volume clean, after the leaks of a crash were reclaimed. `outcome` is that of
    /// the work.
    ///
    /// # Errors
    /// Those of the work, or of writing back; both are reported.
    pub fn close<T>(self, outcome: anyhow::Result<T>) -> anyhow::Result<T> {
        let Opened { rt, mounted, tentative } = self;
        rt.block_on(async {
            while !mounted.leaks().phase.is_over() && interrupt::caught().is_none() {
                rt.sleep(LOOK).await;
            }
        });
        let damaged = mounted.leaks().failure;
        let closed = rt.block_on(async {
            mounted.unmount().await?;
            match &tentative {
                Some(disk) => Ok(disk.end().await?),
                None => anyhow::Ok(()),
            }
        });
        let closed = closed.context("the volume could not be written back; run ordo fsck on it");
        let closed = match damaged {
            Some(why) => closed.and(Err(anyhow!("{why}").context("the leaks of a crash could not be reclaimed"))),
            None => closed,
        };
        if let (Err(first), Err(_)) = (&outcome, &closed) {
            say(&describe(first));
        }
        closed.and(outcome)
    }
}

/// Runs `work` on a volume without changing it.
pub(crate) fn read<T>(spec: &ImageSpec, work: impl AsyncFnOnce(&Rc<Fs>) -> anyhow::Result<T>) -> anyhow::Result<T> {
    let rt = Rt::real_time();
    let opened = Opened::to_read(&rt, spec)?;
    rt.block_on(work(opened.fs()))
}

/// Runs `work`, which changes a volume. The volume is closed clean whether or not the work succeeds.
pub(crate) fn change(spec: &ImageSpec, work: impl AsyncFnOnce(&Rc<Fs>) -> Outcome) -> Outcome {
    let rt = Rt::real_time();
    let opened = Opened::to_change(&rt, spec)?;
    let outcome = rt.block_on(work(opened.fs()));
    opened.close(outcome)
}

/// Reads one place in an image after the other, patterns expanded, with `on`, and returns the worst status.
pub(crate) fn read_each(
    places: &[OsString],
    start: Start,
    mut on: impl AsyncFnMut(&Rc<Fs>, &Inside) -> Outcome,
) -> Outcome {
    places.iter().try_fold(Status::DONE, |worst, argument| {
        let place = Inside::parse(argument);
        let status = read(&spec(&place.image, start)?, async |fs| {
            let mut worst = Status::DONE;
            for place in expand::places(fs, &place).await? {
                worst = worst.worse(on(fs, &place).await?);
            }
            Ok(worst)
        })?;
        Ok(worst.worse(status))
    })
}

/// Changes one place in an image after the other, patterns expanded, with `on`, and returns the worst status.
/// `unfinished` is added to the message of an interruption.
pub(crate) fn change_each(
    places: &[OsString],
    start: Start,
    unfinished: &str,
    on: impl AsyncFn(&Rc<Fs>, &Inside) -> Outcome,
) -> Outcome {
    places.iter().try_fold(Status::DONE, |worst, argument| {
        let place = Inside::parse(argument);
        let changed = change(&spec(&place.image, start)?, async |fs| {
            let mut worst = Status::DONE;
            for place in expand::places(fs, &place).await? {
                interrupt::check()?;
                worst = worst.worse(on(fs, &place).await?);
            }
            Ok(worst)
        });
        Ok(worst.worse(changed.map_err(|error| interrupt::how_far(error, || unfinished.into()))?))
    })
}

/// Counts failures over several places, and reports them.
pub(crate) struct Tally(u64);

impl Tally {
    pub(crate) fn new() -> Tally {
        Tally(0)
    }

    /// Reports a failure at a place.
    pub(crate) fn complain(&mut self, place: &str, why: &dyn std::fmt::Display) {
        self.0 += 1;
        crate::out::complain(&format!("{place}: {why}"));
    }

    /// Returns the result, or reports the failure.
    pub(crate) fn judge<T, E: std::fmt::Display>(&mut self, place: &str, found: Result<T, E>) -> Option<T> {
        found.map_err(|error| self.complain(place, &error)).ok()
    }

    /// The exit status: an error if a failure was reported.
    pub(crate) fn status(&self) -> Status {
        if self.0 == 0 { Status::DONE } else { Status(3) }
    }
}

/// The owner of new files in an unmounted image: root, as on the system that will use it.
pub(crate) fn owner() -> ordo_vfs::Caller {
    ordo_vfs::Caller { privileged: true, ..ordo_vfs::Caller::default() }
}

/// The permissions that this user withholds from new files.
pub(crate) fn umask() -> u16 {
    let old = rustix::process::umask(rustix::fs::Mode::empty());
    rustix::process::umask(old);
    old.bits() as u16 & 0o777
}
