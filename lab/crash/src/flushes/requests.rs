//! The requests that reached a disk, in their order, as a line of text.
//!
//! A write is the kinds of blocks in it, `!` behind it says that it was forced (FUA), `|` is a flush:
//! `data, group | inodes | directory |`. Blocks that left in one write are joined by `+`.

use ordo_disk::{DiskOp, Kind};
use ordo_simdisk::Event;
use serde::Serialize;
use std::fmt;

/// Numbers of requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// Writes, the forced ones among them.
    pub writes: u64,
    /// Writes that are durable when they complete.
    pub forced: u64,
    /// Flushes of the cache.
    pub flushes: u64,
}

impl Cost {
    /// More of anything than in `other`. A forced write counts as a write and a flush, which a disk without it needs.
    pub fn is_above(self, other: Cost) -> bool {
        self.writes > other.writes || self.flushes + self.forced > other.flushes + other.forced
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (writes, flushes) = (if self.writes == 1 { "" } else { "s" }, if self.flushes == 1 { "" } else { "es" });
        write!(f, "{} write{writes}", self.writes)?;
        if self.forced > 0 {
            write!(f, " ({} forced)", self.forced)?;
        }
        write!(f, ", {} flush{flushes}", self.flushes)
    }
}

/// The requests of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Requests {
    /// Their numbers.
    pub cost: Cost,
    /// The requests themselves.
    pub order: String,
}

impl Requests {
    /// Those that the line names.
    pub(super) fn named(order: &str) -> Requests {
        let count = |wanted: char| order.chars().filter(|c| *c == wanted).count() as u64;
        let writes = order.split([',', '|']).filter(|write| !write.trim().is_empty()).count() as u64;
        Requests { cost: Cost { writes, forced: count('!'), flushes: count('|') }, order: order.to_owned() }
    }

    /// Those that a recorder saw.
    pub(super) fn of(events: &[Event]) -> Requests {
        let mut order = String::new();
        for event in events {
            match event {
                Event::Begin { op: DiskOp::Write, fua, parts, .. } => {
                    let mut kinds: Vec<&str> = parts.iter().map(|part| word(part.tag.kind)).collect();
                    kinds.dedup();
                    let separator = if order.is_empty() || order.ends_with('|') { "" } else { "," };
                    let space = if order.is_empty() { "" } else { " " };
                    order += &format!("{separator}{space}{}{}", kinds.join("+"), if *fua { "!" } else { "" });
                }
                Event::Begin { op: DiskOp::Flush, .. } => order += if order.is_empty() { "|" } else { " |" },
                _ => {}
            }
        }
        Requests::named(&order)
    }
}

/// What a block is, in one word.
fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Data => "data",
        Kind::Maps => "group",
        Kind::Inodes => "inodes",
        Kind::Directory => "directory",
        Kind::Indirect => "indirect",
        Kind::Summary => "summary",
        Kind::Superblock => "superblock",
        Kind::Log => "log",
        _ => "other",
    }
}
