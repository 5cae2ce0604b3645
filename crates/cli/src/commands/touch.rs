//! `ordo touch`

use crate::image::{self, Start};
use crate::moment;
use crate::out::{Outcome, Status};
use crate::place::{Inside, Location};
use anyhow::Context;
use ordo_vfs::{FileSystem, Kind, Mode, Refusal, SetAttr, SetTime, Stamp};
use ordofs::Fs;
use ordofs::path::{Held, parent, resolve};
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::rc::Rc;

/// Makes empty files in an image, or sets the times of files
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo touch disk.img:/etc/fastboot\n  \
    ordo touch -d 2001-02-03T04:05:06.789012345Z disk.img:/a\n  ordo touch -c -r disk.img:/a disk.img:/b")]
pub(crate) struct Args {
    /// This time instead of now: RFC 3339, with up to nine digits of a second, or @SECONDS since 1970
    #[arg(short, long, value_name = "TIME", value_parser = moment::parse)]
    date: Option<Stamp>,
    /// The times of this file, IMAGE:/path or a path of the host
    #[arg(short, long, value_name = "PATH", conflicts_with = "date")]
    pub(super) reference: Option<OsString>,
    /// Make no file
    #[arg(short = 'c', long)]
    no_create: bool,
    /// IMAGE:/path
    #[arg(value_name = "IMAGE:/PATH", required = true)]
    pub(super) places: Vec<OsString>,
    #[command(flatten)]
    start: Start,
}

/// Last read and last change of contents.
type Times = (SetTime, SetTime);

/// Touches them.
pub(crate) fn run(args: &Args) -> Outcome {
    let times = args.times()?;
    let on = async |fs: &Rc<Fs>, place: &Inside| on(fs, place, args, times).await;
    image::change_each(&args.places, args.start, "not all files are touched", on)
}

impl Args {
    /// The times to set.
    pub(super) fn times(&self) -> anyhow::Result<Times> {
        let at = |stamp| (SetTime::At(stamp), SetTime::At(stamp));
        let Some(reference) = &self.reference else { return Ok(self.date.map_or((SetTime::Now, SetTime::Now), at)) };
        match Location::parse(reference) {
            Location::Host(path) => {
                let meta = path.metadata().with_context(|| path.display().to_string())?;
                let stamp = |secs, nanos: i64| SetTime::At(Stamp { secs, nanos: u32::try_from(nanos).unwrap_or(0) });
                Ok((stamp(meta.atime(), meta.atime_nsec()), stamp(meta.mtime(), meta.mtime_nsec())))
            }
            Location::Inside { image, path } => {
                let place = Inside { image, path };
                image::read(&image::spec(&place.image, self.start)?, async |fs| times_of(fs, &place).await)
            }
        }
    }
}

/// The times of a file of the image.
pub(super) async fn times_of(fs: &Rc<Fs>, place: &Inside) -> anyhow::Result<Times> {
    let file = resolve(fs, &place.path, true).await.with_context(|| place.shown())?;
    Ok((SetTime::At(file.attr().atime), SetTime::At(file.attr().mtime)))
}

/// Sets the times of a file, which is made if it does not exist.
pub(super) async fn on(fs: &Rc<Fs>, place: &Inside, args: &Args, (atime, mtime): Times) -> Outcome {
    let Some(file) = found_or_made(fs, place, args.no_create).await? else { return Ok(Status::DONE) };
    let set = SetAttr { atime: Some(atime), mtime: Some(mtime), ..SetAttr::default() };
    fs.setattr(file.node(), &set).await.with_context(|| place.shown())?;
    Ok(Status::DONE)
}

/// The file, which is made if it does not exist; `None` if it must not be made.
pub(super) async fn found_or_made(fs: &Rc<Fs>, place: &Inside, no_create: bool) -> anyhow::Result<Option<Held<Fs>>> {
    match resolve(fs, &place.path, true).await {
        Ok(file) => return Ok(Some(file)),
        Err(ordo_vfs::Error::Refused(Refusal::NotFound)) => {}
        Err(error) => return Err(error).with_context(|| place.shown()),
    }
    if no_create {
        return Ok(None);
    }
    let made = async {
        let (dir, name) = parent(fs, &place.path).await?;
        let mode = Mode::new(u32::from(0o666 & !image::umask()));
        fs.mknod(&image::owner(), dir.node(), name, Kind::Regular, mode, 0).await
    };
    Ok(Some(Held::new(fs, made.await.with_context(|| place.shown())?)))
}
