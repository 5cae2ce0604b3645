//! `ordo versions`, and older versions for `cat` and `cp`

use crate::image::{self, Start};
use crate::out::{Out, Outcome, Status};
use crate::place::Inside;
use crate::text;
use anyhow::{Context, bail};
use ordofs::Versions;
use ordofs::disk::{DiskError, FileOptions};
use ordofs::path::resolve;
use ordofs::rt::Rt;
use serde::Serialize;
use std::ffi::OsString;

/// Lists the older versions of files that an active journal still has
///
/// A version is what the file was directly before a change of its inode. It is listed if all of it is still in the
/// group journals or at home: contents are only known with data=journal, and copies are overwritten when the journal
/// needs their room. Version 1 is the newest of the older ones. The volume must be clean and not mounted.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ordo versions disk.img:/etc/rc.conf\n  ordo cat --version 2 disk.img:/etc/rc.conf"
)]
pub(crate) struct Args {
    /// IMAGE:/path
    #[arg(value_name = "IMAGE:/PATH", required = true)]
    places: Vec<OsString>,
    /// One JSON list
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    start: Start,
}

#[derive(Debug, Serialize)]
struct Version {
    version: u32,
    size: u64,
    /// When its contents had changed last: seconds since 1970, and nanoseconds.
    mtime: i64,
    mtime_nanoseconds: u32,
}

#[derive(Debug, Serialize)]
struct Row {
    path: String,
    versions: Vec<Version>,
}

/// The older versions of a file of an image.
pub(crate) fn find(place: &Inside, start: Start) -> anyhow::Result<(Rt, Versions)> {
    let spec = image::spec(&place.image, start)?;
    let attr = image::read(&spec, async |fs| {
        let file = resolve(fs, &place.path, true).await.with_context(|| place.shown())?;
        Ok(*file.attr())
    })?;
    if attr.kind != ordo_vfs::Kind::Regular {
        bail!("{}: not a regular file, but a {}", place.shown(), crate::listing::kind_name(attr.kind));
    }
    let (rt, options) = (Rt::real_time(), FileOptions { read_only: true, ..FileOptions::default() });
    let located = ordofs::locate(&rt, &spec, options).map_err(|error| image::open_error(&spec.path, error))?;
    let ino = u32::try_from(attr.ino).map(ordo_ondisk::Ino).context("the number of the inode")?;
    let versions = ordofs::versions_of(&rt, &located, ino).map_err(|error| image::open_error(&spec.path, error))?;
    Ok((rt, versions))
}

/// A version of a file of an image, which is there.
pub(crate) struct Older {
    rt: Rt,
    versions: Versions,
    number: u32,
}

/// Finds a version. Nothing was written anywhere when there is none.
pub(crate) fn older(place: &Inside, start: Start, number: u32) -> anyhow::Result<Older> {
    let (rt, versions) = find(place, start)?;
    if !versions.list().any(|version| version.number == number) {
        let (shown, count) = (place.shown(), versions.list().count());
        bail!("{shown}: no version {number}; `ordo versions {shown}` lists {count}");
    }
    Ok(Older { rt, versions, number })
}

impl Older {
    /// Gives its contents to `each`, in order.
    pub(crate) fn read(&self, mut each: impl FnMut(&[u8]) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let done = self.versions.read::<Stopped>(&self.rt, self.number, |bytes| Ok(each(bytes)?));
        done.map(drop).map_err(|stopped| stopped.0)
    }
}

/// Why reading a version stopped.
struct Stopped(anyhow::Error);

impl From<DiskError> for Stopped {
    fn from(error: DiskError) -> Stopped {
        Stopped(error.into())
    }
}

impl From<anyhow::Error> for Stopped {
    fn from(error: anyhow::Error) -> Stopped {
        Stopped(error)
    }
}

/// Lists them.
pub(crate) fn run(args: &Args) -> Outcome {
    let mut out = Out::new();
    let mut rows = Vec::new();
    for argument in &args.places {
        let place = Inside::parse(argument);
        let (_, found) = find(&place, args.start)?;
        let version = |one: ordofs::FileVersion| Version {
            version: one.number,
            size: one.size,
            mtime: one.mtime.0,
            mtime_nanoseconds: one.mtime.1,
        };
        rows.push(Row { path: place.shown().to_string(), versions: found.list().map(version).collect() });
    }
    if args.json {
        out.json(&rows)?;
    } else {
        for Row { path, versions } in &rows {
            for Version { version, size, mtime, mtime_nanoseconds } in versions {
                let time = text::time(*mtime);
                out.bytes(format!("{path}\t{version}\t{time}.{mtime_nanoseconds:09}\t{size} bytes\n").as_bytes())?;
            }
            if versions.is_empty() {
                out.bytes(format!("{path}\tno older version\n").as_bytes())?;
            }
        }
    }
    out.end()?;
    Ok(Status::DONE)
}
