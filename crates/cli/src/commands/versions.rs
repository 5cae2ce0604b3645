//! `ordo versions`, and older versions for `cat` and `cp`

use crate::image::{self, Start};
use crate::listing::{json_text, kind_name};
use crate::out::{Out, Outcome, Status, say, usage};
use crate::place::Inside;
use crate::text;
use anyhow::{Context, bail};
use ordofs::disk::{DiskError, FileOptions};
use ordofs::rt::Rt;
use ordofs::vfs::Kind;
use ordofs::{FileVersion, GoneName, GroupVersion, Versions, sought};
use serde::Serialize;
use std::ffi::OsString;

/// Lists the older versions of files and directories that an active journal still has
///
/// A version is what the file was directly before a change of its inode. It is listed if all of it is still in the
/// group journals or at home: contents are only known with data=journal, and copies are overwritten when the journal
/// needs their room. Version 1 is the newest of the older ones. The volume must be clean and not mounted.
///
/// Of a directory each version names what is there no more, and what of that is gone for good. A file that was removed
/// has the versions from before: its last state is version 1, and cp brings it back.
///
/// Cylinder groups have versions to look at (--group). The superblock has none: it is written past the journal.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ordo versions disk.img:/etc/rc.conf\n  ordo cat --version 2 disk.img:/etc/rc.conf\n  \
    ordo versions disk.img:/etc\n  ordo cp --version 1 disk.img:/etc/removed .\n  ordo versions --group 0 disk.img"
)]
pub(crate) struct Args {
    /// IMAGE:/path
    #[arg(value_name = "IMAGE:/PATH", required = true)]
    places: Vec<OsString>,
    /// Of this cylinder group, counted from 0, of each image
    #[arg(long, value_name = "GROUP")]
    group: Option<u32>,
    /// Writes this version of the group to standard output, as it was on the disk
    #[arg(long, value_name = "N", requires = "group", conflicts_with = "json")]
    raw: Option<u32>,
    /// One JSON list
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    start: Start,
}

#[derive(Debug, Serialize)]
struct Version {
    version: u32,
    ino: u32,
    size: u64,
    /// When its contents had changed last: seconds since 1970, and nanoseconds.
    mtime: i64,
    mtime_nanoseconds: u32,
    /// Of a directory: what it names no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    gone: Option<Vec<Gone>>,
}

#[derive(Debug, Serialize)]
struct Gone {
    name: String,
    /// Its bytes, if they are not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    name_hex: Option<String>,
    kind: Option<&'static str>,
    size: u64,
    /// Why it cannot be read as it was.
    lacks: Option<String>,
}

#[derive(Debug, Serialize)]
struct Row {
    path: String,
    versions: Vec<Version>,
    /// Of a file that was removed: why its last state is not among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    lacks: Option<String>,
}

/// The older versions of a file of an image.
pub(crate) fn find(place: &Inside, start: Start) -> anyhow::Result<(Rt, Versions)> {
    let spec = image::spec(&place.image, start)?;
    let sought = image::read(&spec, async |fs| sought(fs, &place.path).await.with_context(|| place.shown()))?;
    let (rt, options) = (Rt::real_time(), FileOptions { read_only: true, ..FileOptions::default() });
    let located = ordofs::locate(&rt, &spec, options).map_err(|error| image::open_error(&spec.path, error))?;
    let versions = ordofs::versions_of(&rt, &located, &sought).map_err(|error| image::open_error(&spec.path, error))?;
    match (versions.kind, versions.lacks) {
        (None, None) => bail!("{}: no such file, and no older version of a directory that names it", place.shown()),
        (Some(kind), _) if !matches!(kind, Kind::Regular | Kind::Directory) => {
            bail!("{}: no file or directory, but a {}", place.shown(), kind_name(kind))
        }
        _ => Ok((rt, versions)),
    }
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
    let shown = place.shown();
    if versions.kind == Some(Kind::Directory) {
        bail!("{shown}: a directory; of its versions `ordo versions {shown}` names the files that are gone");
    }
    if !versions.list().any(|version| version.number == number) {
        let count = versions.list().count();
        match versions.lacks {
            Some(piece) => bail!("{shown}: no version {number} of {count}; it was removed, and {piece}"),
            None => bail!("{shown}: no version {number}; `ordo versions {shown}` lists {count}"),
        }
    }
    if let Some(piece) = &versions.lacks {
        say(&format!("{shown}: its last state cannot be read: {piece}; version 1 is the one before"));
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

fn version(one: &FileVersion, kind: Option<Kind>) -> Version {
    let gone = |gone: &GoneName| {
        let (name, name_hex) = json_text(&gone.name);
        let lacks = gone.lacks.map(|piece| piece.to_string());
        Gone { name, name_hex, kind: gone.kind.map(kind_name), size: gone.size, lacks }
    };
    Version {
        version: one.number,
        ino: one.ino.0,
        size: one.size,
        mtime: one.mtime.0,
        mtime_nanoseconds: one.mtime.1,
        gone: (kind == Some(Kind::Directory)).then(|| one.gone.iter().map(gone).collect()),
    }
}

/// The lines of a file: a version each, and below one of a directory what is gone.
fn lines(path: &str, versions: &Versions) -> Vec<String> {
    let mut lines = Vec::new();
    let first = versions.list().next().map(|version| (version.ino, version.generation));
    for FileVersion { number, ino, generation, size, mtime, gone } in versions.list() {
        let is_first = Some((*ino, *generation)) == first;
        let (time, other) = (text::time(mtime.0), if is_first { "" } else { ", of another file" });
        lines.push(format!("{path}\t{number}\t{time}.{:09}\t{size} bytes{other}", mtime.1));
        for GoneName { name, kind, size, lacks } in gone {
            let (name, kind) = (text::escape(name), kind.map_or("unknown", kind_name));
            let lacks = lacks.map(|piece| format!("; {piece}")).unwrap_or_default();
            lines.push(format!("\tgone: {name}\t{kind}, {size} bytes{lacks}"));
        }
    }
    match versions.lacks {
        Some(piece) => lines.push(format!("{path}\tits last state is no version: {piece}")),
        None if lines.is_empty() => lines.push(format!("{path}\tno older version")),
        None => {}
    }
    lines
}

/// Lists them.
pub(crate) fn run(args: &Args) -> Outcome {
    if let Some(group) = args.group {
        return groups(args, group);
    }
    let mut out = Out::new();
    let mut rows = Vec::new();
    for argument in &args.places {
        let place = Inside::parse(argument);
        let (path, (_, found)) = (place.shown(), find(&place, args.start)?);
        if !args.json {
            lines(&path, &found).iter().try_for_each(|line| out.line(line))?;
        }
        let versions = found.list().map(|one| version(one, found.kind)).collect();
        rows.push(Row { path, versions, lacks: found.lacks.map(|piece| piece.to_string()) });
    }
    if args.json {
        out.json(&rows)?;
    }
    out.end()?;
    Ok(Status::DONE)
}

#[derive(Debug, Serialize)]
struct Group {
    version: u32,
    /// When it was written: seconds since 1970.
    time: i64,
    directories: i32,
    free_blocks: i32,
    free_frags: i32,
    free_inodes: i32,
}

#[derive(Debug, Serialize)]
struct GroupRow {
    image: String,
    group: u32,
    versions: Vec<Group>,
}

/// Lists those of a cylinder group, or writes one.
fn groups(args: &Args, group: u32) -> Outcome {
    let (mut out, mut rows) = (Out::new(), Vec::new());
    for argument in &args.places {
        let place = Inside::parse(argument);
        if place.path != b"/" {
            return Err(usage("versions: --group is of an image, without a path"));
        }
        let spec = image::spec(&place.image, args.start)?;
        let (rt, options) = (Rt::real_time(), FileOptions { read_only: true, ..FileOptions::default() });
        let found = ordofs::locate(&rt, &spec, options)
            .and_then(|located| ordofs::versions_of_group(&rt, &located, ordo_ondisk::Cgx(group)))
            .map_err(|error| image::open_error(&spec.path, error))?;
        let image = spec.to_string();
        if let Some(number) = args.raw {
            let Some(version) = found.iter().find(|version| version.number == number) else {
                bail!("{image}: cylinder group {group} has no version {number}, but {}", found.len());
            };
            out.bytes(&version.bytes)?;
            continue;
        }
        let versions: Vec<Group> = found.iter().map(group_version).collect();
        if !args.json {
            for one in &versions {
                let Group { version, time, directories, free_blocks, free_frags, free_inodes } = one;
                let time = text::time(*time);
                out.line(format!(
                    "{image}\tgroup {group}\t{version}\t{time}\tfree: {free_blocks} blocks, {free_frags} frags, \
                     {free_inodes} inodes; {directories} directories"
                ))?;
            }
            if versions.is_empty() {
                out.line(format!("{image}\tgroup {group}\tno older version"))?;
            }
        }
        rows.push(GroupRow { image, group, versions });
    }
    if args.json {
        out.json(&rows)?;
    }
    out.end()?;
    Ok(Status::DONE)
}

fn group_version(one: &GroupVersion) -> Group {
    let counts = &one.counts;
    Group {
        version: one.number,
        time: one.time,
        directories: counts.ndir,
        free_blocks: counts.nbfree,
        free_frags: counts.nffree,
        free_inodes: counts.nifree,
    }
}
