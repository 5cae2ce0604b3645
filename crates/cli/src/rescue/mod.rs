//! What the commands for damaged volumes share: `host` writes the copies, `recovery` makes them, `report` says how it
//! went, `deleted` lists removed names.

pub(crate) mod deleted;
mod host;
pub(crate) mod recovery;
pub(crate) mod report;

use crate::image::open_error;
use crate::messages::Messages;
use anyhow::Context;
use ordo_ondisk::Ino;
use ordo_rescue::{ReadMap, Volume};
use ordofs::rt::Rt;
use ordofs::{Damaged, Described, ImageSpec};
use std::path::Path;

/// Opens a volume, however damaged, without writing to its image.
pub(crate) fn open(spec: &ImageSpec, map: Option<&Path>) -> anyhow::Result<Damaged> {
    let bad = match map {
        Some(path) => {
            let shown = || path.display().to_string();
            let text = std::fs::read_to_string(path).with_context(shown)?;
            text.parse::<ReadMap>().with_context(shown)?.bad
        }
        None => Vec::new(),
    };
    let notices = Messages::of(spec, false).listener_once();
    ordofs::open_damaged(&Rt::real_time(), spec, &bad, &notices).map_err(|error| open_error(&spec.path, error))
}

/// Which superblock describes the volume, in words.
pub(crate) fn described(by: Described) -> String {
    match by {
        Described::Primary => "the primary".to_owned(),
        Described::Unproven => "the primary, whose check hash is wrong, as a copy confirms it".to_owned(),
        Described::Backup(group) => format!("the backup of group {}", group.0),
        Described::Searched(at) => format!("a copy that a search of the whole image found at byte {at}"),
    }
}

/// The inode at a path of names. Symbolic links are not followed.
pub(crate) fn resolve(volume: &Volume, path: &[u8]) -> anyhow::Result<ordo_rescue::Inode> {
    let mut at = volume.inode(Ino::ROOT).context("the root directory")?;
    for name in path.split(|&b| b == b'/').filter(|name| !name.is_empty() && *name != b".") {
        anyhow::ensure!(at.dinode.is_dir(), "{}: what is before it is no directory", crate::text::escape(name));
        let found = volume.names(&at).names.into_iter().find(|entry| entry.name == name);
        let found = found.with_context(|| format!("{}: no such file", crate::text::escape(name)))?;
        at = volume.inode(found.ino).with_context(|| crate::text::escape(name))?;
    }
    Ok(at)
}
