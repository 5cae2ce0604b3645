//! Which of the two superblocks a mount starts from.
//!
//! H1. A mount starts from the older one: the newer may have been written before all of what it refers to was durable.
//!     Rolling forward from the older verifies that, and reaches the newer.
//! H2. Version 1 has no serial numbers that all systems write; its times decide. One second has many checkpoints of
//!     other systems; OrdoFS gives each a second of its own.

use super::Superblock;
use crate::Corrupt;

/// One of the two superblocks that follow the checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copy {
    /// `sboffs[0]`.
    First,
    /// `sboffs[1]`.
    Second,
}

/// Why two whole superblocks do not belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unlike {
    /// The field of the geometry in which they differ.
    pub field: &'static str,
}

/// What the two superblocks say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// Both stand for the same checkpoint.
    Equal,
    /// Both are whole, and this one is older: mount it, and verify up to the other.
    Older(Copy),
    /// Only this one is whole. Nothing verifies that what it refers to was durable: check that the ifile's inode is
    /// where it says before it is believed.
    Only(Copy, Corrupt),
    /// Both are whole, but of different volumes: an old one was not overwritten. The first is that of the volume.
    Unlike(Unlike),
    /// Neither is whole.
    Neither(Corrupt, Corrupt),
}

impl Choice {
    /// The superblock to mount; `None` if neither is whole.
    pub fn mount(&self) -> Option<Copy> {
        match self {
            Choice::Equal | Choice::Unlike(_) => Some(Copy::First),
            Choice::Older(copy) | Choice::Only(copy, _) => Some(*copy),
            Choice::Neither(..) => None,
        }
    }

    /// The newer superblock, whose checkpoint rolling forward from the other must reach.
    pub fn newer(&self) -> Option<Copy> {
        match self {
            Choice::Older(Copy::First) => Some(Copy::Second),
            Choice::Older(Copy::Second) => Some(Copy::First),
            _ => None,
        }
    }
}

/// Compares the superblocks at `sboffs[0]` and `sboffs[1]`.
pub fn choose(first: &Result<Superblock, Corrupt>, second: &Result<Superblock, Corrupt>) -> Choice {
    match (first, second) {
        (Err(a), Err(b)) => Choice::Neither(a.clone(), b.clone()),
        (Ok(_), Err(damage)) => Choice::Only(Copy::First, damage.clone()),
        (Err(damage), Ok(_)) => Choice::Only(Copy::Second, damage.clone()),
        (Ok(a), Ok(b)) => match unlike(a, b) {
            Some(field) => Choice::Unlike(Unlike { field }),
            None => match age(a).cmp(&age(b)) {
                std::cmp::Ordering::Less => Choice::Older(Copy::First),
                std::cmp::Ordering::Greater => Choice::Older(Copy::Second),
                std::cmp::Ordering::Equal => Choice::Equal,
            },
        },
    }
}

/// What grows from checkpoint to checkpoint (H2).
fn age(sb: &Superblock) -> u64 {
    if sb.version == super::Version::V1 { sb.fields.tstamp } else { sb.fields.serial.0 }
}

/// The first field of the geometry in which they differ.
fn unlike(a: &Superblock, b: &Superblock) -> Option<&'static str> {
    if (a.version, a.endian) != (b.version, b.endian) {
        return Some("lfs_version");
    }
    let (a, b) = (&a.fields, &b.fields);
    let fields = [
        ("lfs_ident", a.ident == b.ident),
        ("lfs_size", a.size == b.size),
        ("lfs_ssize", a.ssize == b.ssize),
        ("lfs_bsize", a.bsize == b.bsize),
        ("lfs_fsize", a.fsize == b.fsize),
        ("lfs_nseg", a.nseg == b.nseg),
        ("lfs_s0addr", a.s0addr == b.s0addr),
        ("lfs_sumsize", a.sumsize == b.sumsize),
        ("lfs_ibsize", a.ibsize == b.ibsize),
        ("lfs_sboffs", a.sboffs == b.sboffs),
    ];
    fields.into_iter().find(|(_, same)| !same).map(|(field, _)| field)
}
