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

/// In what two whole superblocks differ that must say the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unlike {
    /// The field: of the geometry, or the place of the ifile.
    pub field: &'static str,
    /// What the first has there.
    pub first: u64,
    /// What the second has.
    pub second: u64,
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
    /// Both are whole, but of different volumes: one of them is damaged, or an old one was not overwritten. The first
    /// is taken for that of the volume, and only to read: a wrong one leads a write to where something else is.
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
            Some(unlike) => Choice::Unlike(unlike),
            None => match age(a).cmp(&age(b)) {
                std::cmp::Ordering::Less => Choice::Older(Copy::First),
                std::cmp::Ordering::Greater => Choice::Older(Copy::Second),
                std::cmp::Ordering::Equal => same_checkpoint(a, b),
            },
        },
    }
}

/// Superblocks of the same age stand for the same checkpoint, which has one ifile. Of those of version 1 that other
/// systems write, two of a second are as old as each other.
fn same_checkpoint(a: &Superblock, b: &Superblock) -> Choice {
    let (first, second) = (a.fields.idaddr.0, b.fields.idaddr.0);
    if first != second && a.has_serial() && b.has_serial() {
        return Choice::Unlike(Unlike { field: "lfs_idaddr", first, second });
    }
    Choice::Equal
}

/// What grows from checkpoint to checkpoint (H2).
fn age(sb: &Superblock) -> u64 {
    if sb.version == super::Version::V1 { sb.fields.tstamp } else { sb.fields.serial.0 }
}

/// The first field of the geometry in which they differ.
fn unlike(a: &Superblock, b: &Superblock) -> Option<Unlike> {
    if (a.version, a.endian) != (b.version, b.endian) {
        let (first, second) = (a.version.number().into(), b.version.number().into());
        return Some(Unlike { field: "lfs_version", first, second });
    }
    let (a, b) = (&a.fields, &b.fields);
    let fields = [
        ("lfs_ident", a.ident.into(), b.ident.into()),
        ("lfs_size", a.size, b.size),
        ("lfs_ssize", a.ssize.into(), b.ssize.into()),
        ("lfs_bsize", a.bsize.into(), b.bsize.into()),
        ("lfs_fsize", a.fsize.into(), b.fsize.into()),
        ("lfs_nseg", a.nseg.into(), b.nseg.into()),
        ("lfs_s0addr", a.s0addr.0, b.s0addr.0),
        ("lfs_sumsize", a.sumsize.into(), b.sumsize.into()),
        ("lfs_ibsize", a.ibsize.into(), b.ibsize.into()),
    ];
    let copies = a.sboffs.iter().zip(&b.sboffs).map(|(a, b)| ("lfs_sboffs", a.0, b.0));
    let mut all = fields.into_iter().chain(copies);
    all.find(|(_, a, b)| a != b).map(|(field, first, second)| Unlike { field, first, second })
}
