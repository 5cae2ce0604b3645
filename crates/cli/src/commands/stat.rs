//! `ordo stat`

use crate::image::{self, Start};
use crate::listing::{self, FileJson};
use crate::out::{Out, Outcome, Status};
use crate::place::Inside;
use crate::text;
use anyhow::Context;
use ordo_vfs::{Attr, Stamp};
use ordofs::path::resolve;
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
    /// One JSON list
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    start: Start,
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
        match args.json {
            true => files.push(FileJson::new(&place.path, &attr, target.as_deref())),
            false => out.bytes(describe(&place.path, &attr, target.as_deref()).as_bytes())?,
        }
    }
    if args.json {
        out.json(&files)?;
    }
    out.end()?;
    Ok(Status::DONE)
}

fn describe(path: &[u8], attr: &Attr, target: Option<&[u8]>) -> String {
    let target = target.map(|target| format!(" -> {}", text::escape(target))).unwrap_or_default();
    let device = match attr.kind.is_device() {
        true => {
            let (major, minor) = listing::device(attr.rdev);
            format!("  Device type: {major},{minor}")
        }
        false => String::new(),
    };
    let stamp = |stamp: Stamp| format!("{}.{:09} +0000", text::time(stamp.secs), stamp.nanos);
    let flags = listing::flags(attr.flags);
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
