//! Which volume a disk holds: UFS or LFS.
//!
//! D1. A good superblock of UFS decides. One of LFS may lie before it, left by an older volume: newfs of the BSDs does
//!     not wipe it. The other way round, the log soon overwrites what UFS had left.
//! D2. Of an LFS with damage, whatever is whole describes it; what a mount starts from is the layout's decision.

use crate::OpenError;
use ordo_ondisk::lfs::superblock::{Choice, Copy, choose};
use ordo_ondisk::lfs::{self, LABEL_PAD, SB_PAD};
use ordo_ondisk::superblock::search::{self, NotFound, ReadAt};
use ordo_ondisk::{ByteOff, Corrupt, Rule, Structure};

/// A volume that was found on a disk.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "there is one of it for a volume")]
pub enum Found {
    /// UFS1 or UFS2.
    Ufs(search::FoundUfs),
    /// A log-structured volume.
    Lfs(FoundLfs),
}

/// The superblock of a log-structured volume.
#[derive(Debug, Clone)]
pub struct FoundLfs {
    /// The newer of the two that follow the checkpoints, or the one that is whole.
    pub superblock: lfs::Superblock,
    /// What is wrong with the other one.
    pub damage: Option<Corrupt>,
}

impl From<search::FoundUfs> for Found {
    fn from(found: search::FoundUfs) -> Found {
        Found::Ufs(found)
    }
}

impl Found {
    /// The superblock of a UFS volume.
    ///
    /// # Errors
    /// `OnlyUfs` for another volume.
    pub fn ufs(&self) -> Result<&search::FoundUfs, OpenError> {
        match self {
            Found::Ufs(found) => Ok(found),
            Found::Lfs(_) => Err(OpenError::OnlyUfs),
        }
    }

    /// Its bytes, as its superblock says.
    pub fn volume_bytes(&self) -> u64 {
        match self {
            Found::Ufs(found) => found.superblock.volume_bytes(),
            Found::Lfs(found) => found.superblock.geometry().bytes(found.superblock.fields.size),
        }
    }

    /// What the volume was given when it was made, to tell it from others.
    pub(crate) fn id(&self) -> u64 {
        match self {
            Found::Ufs(found) => {
                let [first, second] = found.superblock.fields.id;
                u64::from(first) << 32 | u64::from(second)
            }
            Found::Lfs(found) => u64::from(found.superblock.fields.ident),
        }
    }

    /// The same by value.
    ///
    /// # Errors
    /// `OnlyUfs` for another volume.
    pub fn into_ufs(self) -> Result<search::FoundUfs, OpenError> {
        match self {
            Found::Ufs(found) => Ok(found),
            Found::Lfs(_) => Err(OpenError::OnlyUfs),
        }
    }
}

/// Finds the volume that begins with byte 0 of what `read` reads, `size` bytes.
///
/// # Errors
/// `NotFound`: the finding at the first place that had something.
pub fn find(read: &mut ReadAt<'_>, size: u64) -> Result<Found, NotFound> {
    let why = match search::find_to_mount(read, size) {
        Ok(found) => return Ok(found.into()),
        Err(why) => why,
    };
    match find_log(read, size)? {
        Some(Ok(found)) => Ok(Found::Lfs(found)),
        // Something of UFS is there, and the rest of an LFS before it.
        Some(Err(damage)) if matches!(why, NotFound::Nothing { .. }) => Err(NotFound::Damaged(damage)),
        _ => Err(why),
    }
}

/// Finds a UFS volume by a backup of its superblock.
///
/// # Errors
/// `NotFound`.
pub(crate) fn find_backup(read: &mut ReadAt<'_>, size: u64) -> Result<Found, NotFound> {
    search::find_backup(read, size).map(Found::from)
}

/// The superblock of an LFS; `None` without its magic, the inner error if none is whole.
fn find_log(read: &mut ReadAt<'_>, size: u64) -> Result<Option<Result<FoundLfs, Corrupt>>, NotFound> {
    let Some(bytes) = block_at(read, ByteOff(LABEL_PAD.into()), size)? else { return Ok(None) };
    if lfs::recognise(&bytes).is_none() {
        return Ok(None);
    }
    let first = lfs::Superblock::decode(&bytes);
    // A wrong checksum leaves the places of the copies, which are checked like everything else; other damage leaves,
    // with some luck, the sizes.
    let at = match first.clone().or_else(|_| lfs::Superblock::decode_whatever_the_sum(&bytes)) {
        Ok(places) => {
            let [_, second, ..] = places.fields.sboffs;
            Some(places.geometry().byte(second))
        }
        Err(_) => lfs::Superblock::second_of_damaged(&bytes),
    };
    let second = match at {
        Some(at) => decoded(read, at, size)?,
        None => Err(cut_off()),
    };
    Ok(Some(newest(first, second)))
}

fn newest(
    first: Result<lfs::Superblock, Corrupt>,
    second: Result<lfs::Superblock, Corrupt>,
) -> Result<FoundLfs, Corrupt> {
    let choice = choose(&first, &second);
    let superblock = match choice.newer().or_else(|| choice.mount()) {
        Some(Copy::Second) => second,
        _ => first,
    }?;
    let damage = if let Choice::Only(_, damage) = choice { Some(damage) } else { None };
    Ok(FoundLfs { superblock, damage })
}

fn decoded(read: &mut ReadAt<'_>, at: ByteOff, size: u64) -> Result<Result<lfs::Superblock, Corrupt>, NotFound> {
    Ok(block_at(read, at, size)?.ok_or_else(cut_off).and_then(|bytes| lfs::Superblock::decode_at(&bytes, at)))
}

/// The disk ends before the superblock.
fn cut_off() -> Corrupt {
    Corrupt::new(Structure::Superblock, "lfs_sboffs", 0, Rule::Words("which leads to no copy on this disk"))
}

/// The block of a superblock; `None` beyond the end.
fn block_at(read: &mut ReadAt<'_>, at: ByteOff, size: u64) -> Result<Option<Vec<u8>>, NotFound> {
    let len = u64::from(SB_PAD);
    if at.0.checked_add(len).is_none_or(|end| end > size) {
        return Ok(None);
    }
    let mut bytes = vec![0; SB_PAD as usize];
    read(at, &mut bytes).map_err(|source| NotFound::Io { at, source })?;
    Ok(Some(bytes))
}
