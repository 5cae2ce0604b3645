//! `ordo stat`

use crate::image::{self, Forensic, Start};
use crate::listing::{self, Clock, FileJson};
use crate::out::{Out, Outcome, Status};
use crate::place::Inside;
use crate::{flags, text};
use anyhow::Context;
use jiff::tz::TimeZone;
use ordo_vfs::{Attr, Stamp};
use ordofs::ImageSpec;
use ordofs::disk::FileOptions;
use ordofs::path::resolve;
use ordofs::rt::Rt;
use serde::Serialize;
use std::ffi::OsString;

/// Shows the attributes of files of an image
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo stat disk.img:/bin/sh\n  ordo stat -L --json disk.img:/etc/localtime")]
pub(crate) struct Args {
    /// IMAGE:/path
    #[arg(value_name = "IMAGE:/PATH", required = true)]
    places: Vec<OsString>,
    /// Show the target of a symbolic link, not the link
    #[arg(short = 'L', long)]
    dereference: bool,
    /// Where each block of the files lies: at home, and where an active journal has a copy of it
    #[arg(long)]
    copies: bool,
    /// One JSON list
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    clock: Clock,
    #[command(flatten)]
    _forensic: Forensic,
    #[command(flatten)]
    start: Start,
}

/// A block of a file, or a part of it whose copies lie together.
#[derive(Debug, Serialize)]
struct Copies {
    lbn: u64,
    size: u64,
    /// Byte offsets in the image: at home, then the copies.
    at: Vec<u64>,
}

#[derive(Debug, Serialize)]
struct FileAndCopies {
    #[serde(flatten)]
    file: FileJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    copies: Option<Vec<Copies>>,
}

fn copies_of(spec: &ImageSpec, attr: &Attr) -> anyhow::Result<Vec<Copies>> {
    let (rt, options) = (Rt::real_time(), FileOptions { read_only: true, ..FileOptions::default() });
    let (located, before) = (ordofs::locate(&rt, spec, options)?, ordofs::begins_at(&rt, spec)?);
    let ino = u32::try_from(attr.ino).map(ordo_ondisk::Ino).context("the number of the inode")?;
    let rows = ordofs::copies_of(&rt, &located, ino)?;
    let row = |row: ordofs::BlockCopies| Copies {
        lbn: row.lbn,
        size: row.len,
        at: row.at.iter().map(|at| at + before).collect(),
    };
    Ok(rows.into_iter().map(row).collect())
}

/// Shows the files, one after the other.
pub(crate) fn run(args: &Args) -> Outcome {
    let mut out = Out::new();
    let mut files = Vec::new();
    for argument in &args.places {
        let place = Inside::parse(argument);
        let spec = image::spec(&place.image, args.start)?;
        let (attr, target) = image::read(&spec, async |fs| {
            let file = resolve(fs, &place.path, args.dereference).await.with_context(|| place.shown())?;
            let target = listing::target(&file).await.with_context(|| place.shown())?;
            Ok((*file.attr(), target))
        })?;
        let copies = if args.copies { Some(copies_of(&spec, &attr).with_context(|| place.shown())?) } else { None };
        if args.json {
            let file = FileJson::new(&place.path, &attr, target.as_deref()).with_st_mode(&attr);
            files.push(FileAndCopies { file, copies });
            continue;
        }
        out.bytes(describe(&place.path, &attr, target.as_deref(), &args.clock.zone()).as_bytes())?;
        for Copies { lbn, size, at } in copies.iter().flatten() {
            let places: Vec<_> = at.iter().map(u64::to_string).collect();
            out.bytes(format!(" Block: {lbn}\t{size} bytes at byte {}\n", places.join(", ")).as_bytes())?;
        }
    }
    if args.json {
        out.json(&files)?;
    }
    out.end()?;
    Ok(Status::DONE)
}

fn describe(path: &[u8], attr: &Attr, target: Option<&[u8]>, zone: &TimeZone) -> String {
    let target = target.map(|target| format!(" -> {}", text::escape(target))).unwrap_or_default();
    let device = match attr.kind.is_device() {
        true => {
            let (major, minor) = listing::device(attr.rdev);
            format!("  Device type: {major},{minor}")
        }
        false => String::new(),
    };
    let stamp = |stamp: Stamp| {
        let (time, offset) = (text::time_in(stamp.secs, zone), text::offset_in(stamp.secs, zone));
        format!("{time}.{:09} {offset}", stamp.nanos)
    };
    let flags = flags::names(attr.flags);
    let lines = [
        format!("  File: {}{target}", text::escape(path)),
        format!(
            "  Size: {}\tSectors: {}\tIO Block: {}  {}",
            attr.size,
            attr.sectors,
            attr.block_size,
            listing::kind_name(attr.kind)
        ),
        format!(" Inode: {}\tGeneration: {}\tLinks: {}{device}", attr.ino, attr.generation, attr.nlink),
        format!(
            "Access: ({:04o}/{})\tUid: {}\tGid: {}\tFlags: {}",
            attr.mode.bits(),
            listing::permissions(attr.kind, attr.mode.bits()),
            attr.uid,
            attr.gid,
            if flags.is_empty() { "-".to_owned() } else { flags.join(",") }
        ),
        format!("Access: {}", stamp(attr.atime)),
        format!("Modify: {}", stamp(attr.mtime)),
        format!("Change: {}", stamp(attr.ctime)),
        format!(" Birth: {}", attr.birth.map_or_else(|| "-".to_owned(), stamp)),
    ];
    lines.iter().map(|line| format!("{line}\n")).collect()
}
