//! The faults that are tried, and what the format can show of each.
//!
//! E1. An excuse is a property of the format, never of this engine: a lie is excused only where no reader of the same
//!     bytes could tell them from right ones.

use disk::{DiskOp, Kind};
use ondisk::Geometry;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// What goes wrong with one request, or with one sector at rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// A read fails, once.
    ReadEio,
    /// From this one on all reads fail.
    ReadEioEver,
    /// One bit of what is read is wrong; the disk is right.
    ReadRot,
    /// A write fails, and stores nothing.
    WriteEio,
    /// From this one on all writes fail.
    WriteEioEver,
    /// A flush fails, once.
    FlushEio,
    /// From this one on all flushes fail.
    FlushEioEver,
    /// A write stores its first half, and fails.
    Short,
    /// A write stores some of its sectors, and fails.
    Torn,
    /// A write stores its first half, and is reported as done.
    Half,
    /// A write is reported as done, and stores nothing.
    Lost,
    /// A write is stored elsewhere, and reported as done.
    Misdirected,
    /// One bit of what is written is wrong on the disk.
    Rot,
    /// One bit of a stored sector turns while the volume is not mounted.
    RestBit,
    /// A stored sector becomes garbage while the volume is not mounted.
    RestSector,
}

/// Each with its name in an id.
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

    /// By its name.
    pub fn by_name(name: &str) -> Option<Effect> {
        NAMES.iter().find(|(_, known)| *known == name).map(|(effect, _)| *effect)
    }

    /// The requests that it strikes; `None` for damage at rest.
    pub(super) fn op(self) -> Option<DiskOp> {
        Some(match self {
            Effect::ReadEio | Effect::ReadEioEver | Effect::ReadRot => DiskOp::Read,
            Effect::FlushEio | Effect::FlushEioEver => DiskOp::Flush,
            Effect::RestBit | Effect::RestSector => return None,
            _ => DiskOp::Write,
        })
    }

    /// The disk says that the request failed.
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

    /// No reader of the format can tell this damage to these structures from right bytes (E1).
    pub(super) fn is_excused(self, struck: &BTreeSet<Kind>, geometry: &Geometry) -> bool {
        let whole_old = matches!(self, Effect::Half | Effect::Lost | Effect::Misdirected);
        !self.is_told()
            && struck.iter().any(|kind| match kind {
                // A hash, or every count of it counted again by fsck.
                Kind::Superblock | Kind::CylinderGroup | Kind::Summary => false,
                // An older inode, or one from elsewhere, has a right hash.
                Kind::InodeBlock => whole_old || !geometry.inode_hash,
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

/// Structures in words.
pub(super) fn label(kinds: &BTreeSet<Kind>) -> String {
    let words: Vec<&str> = kinds.iter().map(|kind| word(*kind)).collect();
    if words.is_empty() { "nothing".into() } else { words.join("+") }
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Superblock => "superblock",
        Kind::CylinderGroup => "group",
        Kind::InodeBlock => "inodes",
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
