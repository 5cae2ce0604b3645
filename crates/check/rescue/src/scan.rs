//! Finds volumes at any byte of a stream, by their superblocks.
//!
//! Every place that has a magic of UFS1, UFS2 or LFS, in either byte order, is a candidate, and one that decodes
//! without damage is a superblock, by the rules by which a volume is opened. A superblock is a copy of many: where the
//! volume begins follows from which copy it is, and the copies of one volume agree.
//!
//! N1. A UFS copy has its cylinder group at a fixed distance behind it, which says its number. The primary has none
//!     there; its place is in it, or one of the standard ones.
//! N2. A volume begins within the stream, or it is none.
//! N3. A superblock of which only the check hash is wrong counts where a cylinder group is at its place, and only as
//!     long as none of the same volume is found whose hash is right.
//! N4. Zeros that the stream tells of are not read. No magic is all zeros, so one that begins among them ends behind
//!     them: the search goes on so many bytes before their end.

use crate::source::Stretch;
use crate::{Source, Why};
use memchr::memmem::Finder;
use ordo_ondisk::lfs::superblock::{MAGIC as MAGIC_LFS, MAGIC64 as MAGIC_LFS64};
use ordo_ondisk::lfs::{self, SB_PAD};
use ordo_ondisk::superblock::search::PLACES;
use ordo_ondisk::superblock::{MAGIC_UFS1, MAGIC_UFS2, MAGIC_UFS2EA, SBLOCKSIZE};
use ordo_ondisk::{ByteOff, Cgx, Endian, Superblock, cg};
use std::collections::BTreeMap;

/// Bytes that are searched at a time.
const CHUNK: usize = 4 << 20;
/// What is skipped where the stream cannot be read.
const SKIPPED: u64 = 4096;
/// Bytes that are read at least: a read has a price of its own.
const LEAST: u64 = 64 << 10;
/// Bytes of a magic, less one: a magic may lie across two chunks.
const OVERLAP: usize = 3;
/// Byte of the magic in a UFS superblock.
const UFS_MAGIC_AT: u64 = 1372;
/// Copies of which the place is kept.
const COPIES_KEPT: usize = 64;
/// Groups of which a copy without its own is tried as the backup.
const COPIES_TRIED: u32 = 512;
/// Groups whose place is tried for a copy without its own.
const GROUPS_TRIED: u32 = 8;

/// The format of a volume that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// UFS1.
    Ufs1,
    /// UFS2.
    Ufs2,
    /// Log-structured.
    Lfs,
}

impl Format {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Format::Ufs1 => "ufs1",
            Format::Ufs2 => "ufs2",
            Format::Lfs => "lfs",
        }
    }
}

/// A volume that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Its first byte in the stream.
    pub offset: u64,
    /// Its format.
    pub format: Format,
    /// Its byte order.
    pub endian: Endian,
    /// Its bytes.
    pub size: u64,
    /// Its label; empty without one.
    pub label: String,
    /// The superblock with which a mount begins is whole.
    pub primary: bool,
    /// The check hashes of all its superblocks are wrong (N3).
    pub stale: bool,
    /// The whole copies of its superblock, as bytes of the stream: the first ones.
    pub copies: Vec<u64>,
    /// How many there are.
    pub count: u64,
    /// The superblock of UFS, of the best copy.
    pub superblock: Option<Box<Superblock>>,
}

/// One superblock.
struct Found {
    hit: Hit,
    /// A damaged volume has copies that a mount does not use: the primary, then a group's.
    rank: u8,
}

/// All volumes of `source`, by their first byte. `progress` is told how far the search is; it returns `false` to stop.
pub fn scan(source: &dyn Source, progress: &mut dyn FnMut(u64) -> bool) -> Vec<Hit> {
    let mut volumes: BTreeMap<(u64, Format), Found> = BTreeMap::new();
    let size = source.size();
    let finders = finders();
    let (mut at, mut chunk) = (0u64, Vec::new());
    while at < size && progress(at) {
        let len = match source.stretch(at) {
            Stretch::Zeros(len) if len >= size - at => break,
            Stretch::Zeros(len) if len > OVERLAP as u64 => {
                at += len - OVERLAP as u64;
                continue;
            }
            Stretch::Zeros(_) => LEAST,
            Stretch::Unknown(len) => len.saturating_add(OVERLAP as u64).max(LEAST),
        };
        let len = usize::try_from(len.min(size - at)).unwrap_or(CHUNK).min(CHUNK);
        chunk.resize(len, 0);
        if source.read(at, &mut chunk).is_err() {
            fill_what_can_be_read(source, at, &mut chunk);
        }
        for (finder, kind) in &finders {
            for place in finder.find_iter(&chunk) {
                // A chunk is less than a volume: no overflow.
                let place = at + place as u64;
                let found = match kind {
                    Kind::Ufs if !may_be_ufs(&chunk, at, place) => None,
                    Kind::Ufs => place.checked_sub(UFS_MAGIC_AT).and_then(|at| ufs(source, at)),
                    Kind::Lfs => log(source, place),
                };
                found.into_iter().for_each(|found| merge(&mut volumes, found));
            }
        }
        match chunk.len() as u64 >= size - at {
            true => break,
            false => at += (chunk.len() - OVERLAP) as u64,
        }
    }
    volumes.into_values().map(|found| found.hit).collect()
}

enum Kind {
    Ufs,
    Lfs,
}

fn finders() -> Vec<(Finder<'static>, Kind)> {
    let both = |magic: u32, kind: fn() -> Kind| {
        [Endian::Little, Endian::Big].map(|e| (Finder::new(&e.u32_bytes(magic)).into_owned(), kind()))
    };
    let all = [
        both(MAGIC_UFS1, || Kind::Ufs),
        both(MAGIC_UFS2, || Kind::Ufs),
        both(MAGIC_UFS2EA, || Kind::Ufs),
        both(MAGIC_LFS, || Kind::Lfs),
        both(MAGIC_LFS64, || Kind::Lfs),
    ];
    all.into_iter().flatten().collect()
}

/// Reads a chunk in pieces, with zeroes for those that cannot be read.
fn fill_what_can_be_read(source: &dyn Source, at: u64, chunk: &mut [u8]) {
    for (n, piece) in (0u64..).zip(chunk.chunks_mut(SKIPPED as usize)) {
        if source.read(at + n * SKIPPED, piece).is_err() {
            piece.fill(0);
        }
    }
}

fn merge(volumes: &mut BTreeMap<(u64, Format), Found>, found: Found) {
    let at = found.hit.copies.first().copied();
    let known = match volumes.entry((found.hit.offset, found.hit.format)) {
        std::collections::btree_map::Entry::Vacant(free) => {
            free.insert(found);
            return;
        }
        std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
    };
    if found.hit.stale != known.hit.stale {
        // N3.
        if known.hit.stale {
            *known = found;
        }
        return;
    }
    // Two magics of one superblock are one copy.
    if at.is_some_and(|at| known.hit.copies.contains(&at)) {
        return;
    }
    known.hit.count += 1;
    if known.hit.copies.len() < COPIES_KEPT {
        known.hit.copies.extend(at);
    }
    known.hit.primary |= found.hit.primary;
    if found.rank < known.rank {
        let (copies, count, primary) = (std::mem::take(&mut known.hit.copies), known.hit.count, known.hit.primary);
        *known = Found { hit: Hit { copies, count, primary, ..found.hit }, rank: found.rank };
    }
}

/// The bytes from `at` on, fewer where the stream ends.
fn bytes_at(source: &dyn Source, at: u64, len: usize) -> Result<Vec<u8>, Why> {
    let rest = usize::try_from(source.size().saturating_sub(at)).unwrap_or(len);
    let mut bytes = vec![0; len.min(rest)];
    source.read(at, &mut bytes)?;
    Ok(bytes)
}

/// Whether the magic at `place` belongs to a superblock, as far as the bytes at hand say: one that is full of magics
/// must not cost a read for each.
fn may_be_ufs(chunk: &[u8], from: u64, place: u64) -> bool {
    let first = place.checked_sub(UFS_MAGIC_AT).and_then(|at| usize::try_from(at.checked_sub(from)?).ok());
    // A superblock that began in the chunk before is read again.
    let Some(head) = first.and_then(|first| chunk.get(first..first + SBLOCKSIZE)) else { return true };
    Superblock::decode_whatever_the_hash(head, ByteOff(8192)).is_ok()
}

/// The volume of the UFS superblock at byte `at`.
fn ufs(source: &dyn Source, at: u64) -> Option<Found> {
    let bytes = bytes_at(source, at, SBLOCKSIZE).ok()?;
    // Without the flags' move of 2002 the field holds the place where the copy was read: the standard one of UFS1.
    let (mut sb, stale) = match Superblock::decode(&bytes, ByteOff(8192)) {
        Ok(sb) => (sb, false),
        Err(_) => (Superblock::decode_whatever_the_hash(&bytes, ByteOff(8192)).ok()?, true),
    };
    let (offset, primary) = begin(source, &sb, at, stale)?;
    let place = match u64::try_from(sb.fields.sblockloc) {
        Ok(place) if PLACES.contains(&place) => place,
        _ => 8192,
    };
    sb.at = ByteOff(if primary { at - offset } else { place });
    if !primary {
        sb.fields.clean = 0;
    }
    let format = match sb.format {
        ordo_ondisk::Format::Ufs1 => Format::Ufs1,
        ordo_ondisk::Format::Ufs2 => Format::Ufs2,
    };
    let (endian, size, label) = (sb.endian, sb.volume_bytes(), sb.label());
    let superblock = Some(Box::new(sb));
    let hit = Hit { offset, format, endian, size, label, primary, stale, copies: vec![at], count: 1, superblock };
    Some(Found { hit, rank: u8::from(!primary) })
}

/// The first byte of the volume whose superblock is at `at`, and whether that is the primary (N1). With `confirm` a
/// group must be where it says (N3).
fn begin(source: &dyn Source, sb: &Superblock, at: u64, confirm: bool) -> Option<(u64, bool)> {
    let g = sb.geometry();
    let distance = u64::from(g.cblkno.saturating_sub(g.sblkno)) * u64::from(g.fsize);
    let start_of = |c: Cgx| at.checked_sub(g.byte(g.cgsblock(c)).0);
    if let Some(c) = group_at(source, sb, at.saturating_add(distance))
        && let Some(start) = start_of(c)
    {
        // With blocks of 64 KiB the backup of group 0 is where another format has its primary.
        return Some((start, false));
    }
    let named = u64::try_from(sb.fields.sblockloc).ok().filter(|place| PLACES.contains(place));
    let places = match sb.format {
        ordo_ondisk::Format::Ufs2 => vec![named?],
        ordo_ondisk::Format::Ufs1 => named.into_iter().chain([8192, 0]).collect(),
    };
    let starts: Vec<u64> = places.iter().filter_map(|place| at.checked_sub(*place)).collect();
    let confirmed = |start: u64| {
        let mut groups = (0..g.ncg.min(GROUPS_TRIED)).map(Cgx);
        groups.any(|c| group_at(source, sb, start.saturating_add(g.byte(g.cgtod(c)).0)) == Some(c))
    };
    if let Some(start) = starts.iter().copied().find(|start| confirmed(*start)) {
        return Some((start, true));
    }
    // A copy whose own group is damaged: another group says where it belongs.
    let copy = (0..g.ncg.min(COPIES_TRIED)).map(Cgx).filter_map(start_of).find(|start| confirmed(*start));
    copy.map(|start| (start, false)).or_else(|| starts.first().filter(|_| !confirm).map(|start| (*start, true)))
}

/// The number of the cylinder group whose block is at `at`.
fn group_at(source: &dyn Source, sb: &Superblock, at: u64) -> Option<Cgx> {
    let bytes = bytes_at(source, at, 16).ok()?;
    let word = |at| sb.endian.get_u32(&bytes, at);
    let c = word(12)?;
    (word(4)? == cg::MAGIC && i64::from(c) < i64::from(sb.fields.ncg)).then_some(Cgx(c))
}

/// The volume of the LFS superblock at byte `at`.
fn log(source: &dyn Source, at: u64) -> Option<Found> {
    let sb = lfs::Superblock::decode(&bytes_at(source, at, SB_PAD as usize).ok()?).ok()?;
    let geo = sb.geometry();
    let places: Vec<u64> =
        sb.fields.sboffs.iter().filter(|place| !place.is_hole()).map(|place| geo.byte(*place).0).collect();
    let is_there = |start: u64, place: u64| {
        let bytes = bytes_at(source, start.saturating_add(place), SB_PAD as usize);
        bytes.is_ok_and(|bytes| lfs::recognise(&bytes).is_some_and(|magic| magic.endian == sb.endian))
    };
    // Which copy it is, is the guess by which most other copies are where they belong.
    let guesses = places.iter().enumerate().filter_map(|(n, place)| {
        let start = at.checked_sub(*place)?;
        Some((places.iter().filter(|place| is_there(start, **place)).count(), std::cmp::Reverse(n), start))
    });
    let (_, std::cmp::Reverse(n), offset) = guesses.max()?;
    let size = geo.bytes(sb.fields.size);
    let hit = Hit {
        offset,
        format: Format::Lfs,
        endian: sb.endian,
        size,
        label: String::new(),
        primary: n < 2,
        stale: false,
        copies: vec![at],
        count: 1,
        superblock: None,
    };
    Some(Found { hit, rank: n.min(255) as u8 })
}
