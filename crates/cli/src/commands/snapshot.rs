//! `ordo snapshot`

use crate::image::{self, Start};
use crate::messages::Messages;
use crate::out::{Out, Outcome, Status, print, usage};
use crate::place::{Inside, last_name};
use crate::{interrupt, text};
use anyhow::{Context, anyhow};
use ordofs::disk::FileOptions;
use ordofs::path::parent;
use ordofs::rt::Rt;
use ordofs::{ImageSpec, Snapshot, SnapshotError, locate};
use serde::Serialize;
use std::ffi::OsString;

/// Takes a snapshot of a volume that is not mounted, or lists the snapshots
///
/// A snapshot is a file that is the volume as it was, in the form of FreeBSD's: read it with --snapshot NAME, which
/// every command that reads takes, or mount it with -o ro,snapshot=NAME. It shares with the volume what was not written
/// since, so at first it needs little space. A volume has at most 20.
///
/// Only volumes of FreeBSD have snapshots here. Remove one with ordo rm.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ordo snapshot disk.img:/.snap/daily\n  ordo snapshot --list disk.img\n  ordo ls --snapshot daily disk.img:/etc"
)]
pub(crate) struct Args {
    /// IMAGE:/path of the new snapshot; with --list, IMAGE
    #[arg(value_name = "IMAGE:/PATH")]
    place: OsString,
    /// Show the snapshots instead: inode, time, space, path
    #[arg(short, long)]
    list: bool,
    /// One JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    start: Start,
}

/// A snapshot; also in `ordo info`. Sizes are in bytes.
#[derive(Debug, Serialize)]
pub(crate) struct SnapshotJson {
    ino: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// Seconds since 1970.
    taken: i64,
    own: u64,
    shared: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    damage: Option<String>,
}

impl SnapshotJson {
    pub(crate) fn of(found: &Snapshot, bsize: u32) -> SnapshotJson {
        SnapshotJson {
            ino: found.ino,
            path: found.path.as_ref().map(|path| text::escape(path)),
            taken: found.taken,
            own: found.blocks * u64::from(bsize),
            shared: found.shared * u64::from(bsize),
            damage: found.damage.clone(),
        }
    }

    pub(crate) fn line(&self) -> String {
        let name = self.path.as_ref().map_or_else(String::new, |path| format!(", {path}"));
        match &self.damage {
            Some(why) => format!("inode {}{name}: damaged: {why}", self.ino),
            None => format!(
                "inode {}{name}: of {} UTC, {} of its own, {} shared with the volume",
                self.ino,
                text::time(self.taken),
                crate::size::human(self.own),
                crate::size::human(self.shared)
            ),
        }
    }
}

/// Removes the snapshot that this place names; `false` if it names none.
pub(crate) fn removed(spec: &ImageSpec, place: &Inside) -> anyhow::Result<bool> {
    let rt = Rt::real_time();
    let options = |read_only| FileOptions { read_only, ..FileOptions::default() };
    // What else is wrong with the place is told by who works on it.
    let Ok(located) = locate(&rt, spec, options(true)) else { return Ok(false) };
    if spec.snapshot.is_some() || !ordofs::is_snapshot(&rt, &located, &place.path).unwrap_or(false) {
        return Ok(false);
    }
    drop(located);
    interrupt::catch()?;
    let notices = Messages::of(spec, false).listener_once();
    let located = ordofs::locate_to_write(&rt, spec, &options(false), "ordo rm", &notices, false);
    let located = located.map_err(|error| image::open_error(&spec.path, error))?;
    let failed = |error| anyhow::Error::new(error).context(place.shown());
    let removed = ordofs::remove_snapshot(&rt, located.disk, &place.path).map_err(failed);
    rt.block_on(ordofs::given_back(located.claim.as_ref()));
    removed?;
    Ok(true)
}

/// Takes or lists.
pub(crate) fn run(args: &Args) -> Outcome {
    let place = Inside::parse(&args.place);
    let spec = image::spec(&place.image, args.start)?;
    // Before the volume is opened: who forgets the name shall find it as it was.
    if !args.list && last_name(&place.path).is_empty() {
        let image = &text::one_line(&spec.to_string());
        let what = format!("snapshot: name the new snapshot: ordo snapshot {image}:/.snap/NAME, or give --list");
        return Err(usage(what));
    }
    if !args.list {
        image::read(&spec, async |fs| {
            let (dir, name) = parent(fs, &place.path).await.with_context(|| place.shown())?;
            match dir.find(name.bytes()).await.with_context(|| place.shown())? {
                Some(_) => Err(anyhow!("{}: the name exists already", place.shown())),
                None => Ok(()),
            }
        })?;
    }
    let rt = Rt::real_time();
    let failed = |error: SnapshotError| match error {
        SnapshotError::Open(error) => image::open_error(&spec.path, *error),
        error => anyhow::Error::new(error).context(place.shown()),
    };
    let options = FileOptions { read_only: args.list, ..FileOptions::default() };
    let notices = Messages::of(&spec, false).listener_once();
    let located = match args.list {
        true => locate(&rt, &spec, options),
        false => ordofs::locate_to_write(&rt, &spec, &options, "ordo snapshot", &notices, false),
    };
    let located = located.map_err(|error| failed(error.into()))?;
    let claim = located.claim.clone();
    let bsize = located.found.ufs().map(|found| found.superblock.geometry().bsize);
    if bsize.is_err() {
        rt.block_on(ordofs::given_back(claim.as_ref()));
    }
    let bsize = bsize.map_err(|error| failed(error.into()))?;
    let found = match args.list {
        true => ordofs::snapshots(&rt, &located).map_err(failed)?,
        false => {
            interrupt::catch()?;
            let made = ordofs::make_snapshot(&rt, located.disk, &place.path);
            rt.block_on(ordofs::given_back(claim.as_ref()));
            vec![made.map_err(failed)?]
        }
    };
    let found: Vec<SnapshotJson> = found.iter().map(|found| SnapshotJson::of(found, bsize)).collect();
    print(|out: &mut Out| {
        if args.json {
            return out.json(&found);
        }
        found.iter().try_for_each(|found| out.line(text::one_line(&found.line())))
    })?;
    Ok(Status::DONE)
}
