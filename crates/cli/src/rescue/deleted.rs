//! `ordo ls --deleted`: the names that were removed from a directory.

use crate::listing::json_text;
use crate::out::{Out, Outcome, Status};
use crate::place::{Inside, join};
use crate::text;
use anyhow::Context;
use ordo_rescue::{Deleted, Entered, Event, Inode};
use ordofs::ImageSpec;
use serde::Serialize;

/// A removed name as JSON.
#[derive(Debug, Serialize)]
pub(crate) struct DeletedJson {
    /// The directory and the name.
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_hex: Option<String>,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    inode: Option<u32>,
    #[serde(rename = "type")]
    kind: &'static str,
    /// Byte of the directory at which the entry lies.
    offset: u64,
    /// What has become of the inode.
    state: &'static str,
}

/// The name of a type of entry.
pub(crate) fn kind_name(kind: u8) -> &'static str {
    match kind {
        1 => "pipe",
        2 => "character device",
        4 => "directory",
        6 => "block device",
        8 => "file",
        10 => "symbolic link",
        12 => "socket",
        _ => "unknown",
    }
}

/// Lists the removed names of the directories at `places`.
pub(crate) fn list(places: &[(Inside, ImageSpec)], recursive: bool, json: bool) -> Outcome {
    let (mut out, mut all) = (Out::new(), Vec::new());
    for (place, spec) in places {
        let damaged = super::open(spec, None)?;
        let volume = &damaged.volume;
        let start = super::resolve(volume, &place.path).with_context(|| place.shown())?;
        anyhow::ensure!(start.dinode.is_dir(), "{}: not a directory", place.shown());
        let mut show = |path: &[u8], dir: &Inode| {
            volume.deleted(dir).iter().try_for_each(|entry| one(&mut out, &mut all, path, entry, json))
        };
        if !recursive {
            show(&place.path, &start)?;
            continue;
        }
        let mut entered = Entered::default();
        for event in volume.walk(Vec::new(), start.ino, &mut entered) {
            if let Event::File { path, inode } = event
                && inode.dinode.is_dir()
            {
                let path = if path.is_empty() { place.path.clone() } else { join(&place.path, &path) };
                show(&path, &inode)?;
            }
        }
    }
    if json {
        out.json(&all)?;
    }
    out.end()?;
    Ok(Status::DONE)
}

fn one(out: &mut Out, all: &mut Vec<DeletedJson>, dir: &[u8], entry: &Deleted, json: bool) -> anyhow::Result<()> {
    let whole = join(dir, &entry.name);
    let inode = entry.ino.map(|ino| ino.0);
    let (kind, state) = (kind_name(entry.kind), entry.state.word());
    if json {
        let (path, path_hex) = json_text(&whole);
        let name = json_text(&entry.name).0;
        all.push(DeletedJson { path, path_hex, name, inode, kind, offset: entry.offset, state });
        return Ok(());
    }
    let inode = inode.map_or("-".to_owned(), |ino| ino.to_string());
    out.line(format!("{inode:>10}  {state:<10}  {kind:<9}  {}", text::escape(&whole)))
}
