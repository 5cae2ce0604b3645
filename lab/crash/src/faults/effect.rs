//! The faults that are tried, and which of them the format can detect.
//!
//! E1. An excuse is a property of the format, never of this engine: a lie (wrong data without an error) is excused only
//!     where no reader of the same bytes could tell them from right ones.

use ordo_disk::{DiskOp, Kind};
use ordo_ondisk::Geometry;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// What goes wrong with one request, or with one sector at rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// A read fails, once.
    ReadEio,
    /// This read and all later ones fail.
    ReadEioEver,
    /// One bit of what is read is wrong; the bytes on the disk are right.
    ReadRot,
    /// A write fails, and stores nothing.
    WriteEio,
    /// This write and all later ones fail.
    WriteEioEver,
    /// A flush fails, once.
    FlushEio,
    /// This flush and all later ones fail.
    FlushEioEver,
    /// A write stores its first half, and fails.
    Short,
    /// A write stores some of its sectors, and fails.
    Torn,
    /// A write stores its first half, and is reported as done.
    Half,
    /// A write is reported as done, and stores nothing.
    Lost,
    /// A write is stored at another place, and reported as done.
    Misdirected,
    /// One bit of what is written is wrong on the disk.
    Rot,
    /// One bit of a stored sector flips while the volume is not mounted.
    RestBit,
    /// A stored sector becomes garbage while the volume is not mounted.
    RestSector,
}

/// Every effect and its name in an id.
const NAMES: [(Effect, &str); 15] = [
    (Effect::ReadEio, "read-eio"),
    (Effect::ReadEioEver, "read-eio-ever"),
    (Effect::ReadRot, "read-rot"),
    (Effect::WriteEio, "write-eio"),
    (Effect::WriteEioEver, "write-eio-ever"),
    (Effect::FlushEio, "flush-eio"),
    (Effect::FlushEioEver, "flush-eio-ever"),
    (Effect::Short, "short"),
    (Effect::Torn, "torn"),
    (Effect::Half, "half"),
    (Effect::Lost, "lost"),
    (Effect::Misdirected, "misdirected"),
    (Effect::Rot, "rot"),
    (Effect::RestBit, "rest-bit"),
    (Effect::RestSector, "rest-sector"),
];

impl Effect {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Effect> {
        NAMES.iter().map(|(effect, _)| *effect)
    }

    /// Finds an effect by its name.
    pub fn by_name(name: &str) -> Option<Effect> {
        NAMES.iter().find(|(_, known)| *known == name).map(|(effect, _)| *effect)
    }

    /// The kind of request that it affects; `None` for damage at rest.
    pub(super) fn op(self) -> Option<DiskOp> {
        Some(match self {
            Effect::ReadEio | Effect::ReadEioEver | Effect::ReadRot => DiskOp::Read,
            Effect::FlushEio | Effect::FlushEioEver => DiskOp::Flush,
            Effect::RestBit | Effect::RestSector => return None,
            _ => DiskOp::Write,
        })
    }

    /// The disk reports that the request failed.
    pub fn is_told(self) -> bool {
        matches!(
            self,
            Effect::ReadEio
                | Effect::ReadEioEver
                | Effect::WriteEio
                | Effect::WriteEioEver
                | Effect::FlushEio
                | Effect::FlushEioEver
                | Effect::Short
                | Effect::Torn
        )
    }

    /// Whether no reader of the format can tell this damage to these structures from right bytes (E1).
    pub(super) fn is_excused(self, struck: &BTreeSet<Kind>, geometry: &Geometry) -> bool {
        let whole_old = matches!(self, Effect::Half | Effect::Lost | Effect::Misdirected);
        !self.is_told()
            && struck.iter().any(|kind| match kind {
                // These have a hash, or fsck recomputes every count in them.
                Kind::Superblock | Kind::Maps | Kind::Summary => false,
                // An older version of the inode, or an inode of another place, has a valid hash.
                Kind::Inodes => whole_old || !geometry.inode_hash,
                _ => true,
            })
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(effect, _)| effect == self).map_or("?", |(_, name)| name);
        f.write_str(name)
    }
}

/// The names of structures.
pub(super) fn label(kinds: &BTreeSet<Kind>) -> String {
    let words: Vec<&str> = kinds.iter().map(|kind| word(*kind)).collect();
    if words.is_empty() { "nothing".into() } else { words.join("+") }
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Superblock => "superblock",
        Kind::Maps => "group",
        Kind::Inodes => "inodes",
        Kind::Directory => "directory",
        Kind::Indirect => "indirect",
        Kind::Data => "data",
        Kind::Symlink => "symlink",
        Kind::ExtAttr => "attributes",
        Kind::Summary => "summary",
        Kind::Log => "log",
        _ => "other",
    }
}
