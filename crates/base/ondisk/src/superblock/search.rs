//! Finding the superblock: the standard places in the order of all BSDs, then the backups of the groups.
//!
//! Two hazards determine the order. A UFS1 volume with blocks of 64 KiB has its first backup where UFS2 has its
//! primary; so UFS1 is never accepted there. And a copy of UFS2's superblock contains the place of its primary; so it
//! is accepted only at that place.

use super::{LogAt, Magic, SBLOCKSIZE, Superblock};
use crate::Format;
use crate::num::len64;
use crate::{ByteOff, Cgx, Corrupt, Dialect, Endian, Rule};
use std::io;

/// Where a primary superblock may be, in the order in which they are tried.
pub const PLACES: [u64; 4] = [65536, 8192, 0, 262_144];

/// Where the backup of group 0 may be: after the primary, at a whole block of 4 to 64 KiB.
const FIRST_BACKUPS: [u64; 7] = [73728, 81920, 98304, 131_072, 16384, 32768, 65536];

/// Most groups whose backups are tried: one valid backup is enough.
const MOST_BACKUPS: u32 = 4096;

/// Backups with a wrong check hash that are kept, to compare them.
const STALE_KEPT: usize = 16;

/// Fills the buffer from this byte of the volume on.
pub type ReadAt<'a> = dyn FnMut(ByteOff, &mut [u8]) -> io::Result<()> + 'a;

/// Which copy was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copy {
    /// The primary.
    Primary,
    /// The primary, with a wrong check hash and plausible fields. A copy in a group agrees with them, so the volume can
    /// be read; only a check may write to it.
    Unproven,
    /// The backup of a group. Its totals, flags and times are those of the volume's first day.
    Backup(Cgx),
}

/// A superblock and where it came from.
#[derive(Debug, Clone)]
pub struct FoundUfs {
    /// The superblock. One from a backup is marked as not clean, and is written to the primary's place.
    pub superblock: Superblock,
    /// Which copy it is.
    pub copy: Copy,
}

/// Why there is no superblock to use.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotFound {
    /// No place has a superblock.
    #[error(
        "no UFS superblock at bytes 65536, 8192, 0, 262144 of {volume_bytes} bytes; is this a whole disk, \
         with the volume in one of its partitions? ordo scan finds volumes at any byte"
    )]
    Nothing {
        /// Bytes of the volume.
        volume_bytes: u64,
    },
    /// There is one, but it is damaged.
    #[error("{0}; run fsck, which can use one of the backups")]
    Damaged(Corrupt),
    /// The creation of the volume was interrupted.
    #[error("the making of this volume did not finish (byte {}); make it again", .0.0)]
    Unfinished(ByteOff),
    /// There is no backup either.
    #[error("no backup of the superblock is good either, at {tried} places")]
    NoBackup {
        /// Places that were read.
        tried: usize,
    },
    /// The volume cannot be read.
    #[error("cannot read the superblock at byte {}", .at.0)]
    Io {
        /// First byte that could not be read.
        at: ByteOff,
        /// The cause.
        source: io::Error,
    },
}

/// Reads a possible superblock; `None` if the volume ends before it would.
fn read_place(read: &mut ReadAt<'_>, at: u64, volume_bytes: u64) -> Result<Option<Vec<u8>>, NotFound> {
    if at.saturating_add(len64(SBLOCKSIZE)) > volume_bytes {
        return Ok(None);
    }
    let mut bytes = vec![0; SBLOCKSIZE];
    let at = ByteOff(at);
    read(at, &mut bytes).map_err(|source| NotFound::Io { at, source })?;
    Ok(Some(bytes))
}

/// Finds the primary superblock.
///
/// # Errors
/// See [`NotFound`]: the finding at the first place that had something.
pub fn find(read: &mut ReadAt<'_>, volume_bytes: u64) -> Result<FoundUfs, NotFound> {
    let mut first_failure = None;
    for at in PLACES {
        let bytes = match read_place(read, at, volume_bytes) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => continue,
            Err(failure) => {
                first_failure.get_or_insert(failure);
                continue;
            }
        };
        match Magic::of(&bytes) {
            None => continue,
            Some(Magic::Unfinished) => return Err(NotFound::Unfinished(ByteOff(at))),
            Some(Magic::Volume(Format::Ufs1, _)) if at == 65536 => continue,
            Some(Magic::Volume(..)) => {}
        }
        match Superblock::decode(&bytes, ByteOff(at)) {
            Ok(sb) if is_home(&sb, at) => {
                return Ok(FoundUfs { superblock: with_label(sb, read, volume_bytes), copy: Copy::Primary });
            }
            Ok(_) => {}
            Err(damage) => {
                first_failure.get_or_insert(NotFound::Damaged(damage));
            }
        }
    }
    Err(first_failure.unwrap_or(NotFound::Nothing { volume_bytes }))
}

/// Finds the primary superblock of a volume that is to be mounted, even if the power was cut while it was written.
///
/// A torn write of several sectors leaves some old and some new ones, and a hash that fits neither. Every mixture is as
/// valid as one of the two, if it says that the volume is clean, or that a crash of soft updates left it
/// (`FS_DOSOFTDEP`): before the mark is cleared nothing has changed, before it is set everything is durable, and
/// between them only totals and times change, which a mount recomputes. The flag itself changes only while the volume
/// is marked clean. The mixture does not matter either if a log restores the volume. A backup must confirm that only
/// such fields are wrong. Any other superblock with a wrong hash describes the volume to readers only
/// ([`Copy::Unproven`]).
///
/// # Errors
/// Like [`find`].
pub fn find_to_mount(read: &mut ReadAt<'_>, volume_bytes: u64) -> Result<FoundUfs, NotFound> {
    match find(read, volume_bytes) {
        Err(NotFound::Damaged(damage)) if damage.field == "fs_ckhash" => {
            let found = torn(read, volume_bytes, &damage).or_else(|| unproven(read, volume_bytes, &damage));
            found.ok_or(NotFound::Damaged(damage))
        }
        found => found,
    }
}

/// The superblock with its hash corrected, if only a torn write is wrong with it.
fn torn(read: &mut ReadAt<'_>, volume_bytes: u64, damage: &Corrupt) -> Option<FoundUfs> {
    let at = damage.at?;
    let mut bytes = read_place(read, at.0, volume_bytes).ok()??;
    let (Magic::Volume(_, endian), Rule::IsHex(right)) = (Magic::of(&bytes)?, &damage.rule) else { return None };
    endian.put_u32(&mut bytes, super::CKHASH_AT, *right)?;
    let sb = Superblock::decode(&bytes, at).ok().filter(|sb| is_home(sb, at.0))?;
    let logged = sb.keeper().is_some_and(|(keeper, untouched)| untouched && keeper.log != LogAt::Nowhere);
    let harmless = sb.is_clean() || sb.features().softdep || logged;
    let backup = backup(read, volume_bytes, Stale::Refused).ok()?;
    let same = backup.superblock.geometry() == sb.geometry();
    (harmless && same).then(|| FoundUfs { superblock: with_label(sb, read, volume_bytes), copy: Copy::Primary })
}

/// The primary with the wrong hash that `damage` tells of, if a copy confirms it.
///
/// A tool that knows no check hashes changes a field in all copies and leaves the hashes, as an older growfs does.
/// Fields that are plausible, and that a copy in a group has, too, were not hit by chance. Reading needs no more; what
/// writes needs a hash, or a check that has made it right.
fn unproven(read: &mut ReadAt<'_>, volume_bytes: u64, damage: &Corrupt) -> Option<FoundUfs> {
    let at = damage.at?;
    let bytes = read_place(read, at.0, volume_bytes).ok()??;
    let sb = Superblock::decode_whatever_the_hash(&bytes, at).ok().filter(|sb| is_home(sb, at.0))?;
    let g = sb.geometry();
    let last = g.ncg.saturating_sub(1);
    let confirmed = [0, 1.min(last), last].into_iter().any(|c| {
        let at = g.byte(g.cgsblock(Cgx(c)));
        let bytes = read_place(read, at.0, volume_bytes).ok().flatten().unwrap_or_default();
        Superblock::decode_whatever_the_hash(&bytes, at).is_ok_and(|copy| sb.difference(&copy).is_none())
    });
    confirmed.then(|| FoundUfs { superblock: with_label(sb, read, volume_bytes), copy: Copy::Unproven })
}

/// Whether a superblock is at the place of the primary that it names. UFS1's tools set that field less carefully.
fn is_home(sb: &Superblock, at: u64) -> bool {
    let names = u64::try_from(sb.fields.sblockloc).ok();
    match sb.format {
        Format::Ufs2 => names == Some(at),
        Format::Ufs1 => names == Some(at) || at <= 8192 && names.is_some_and(|n| n <= 8192),
    }
}

/// Apple's UFS has a label before the superblock.
fn with_label(mut sb: Superblock, read: &mut ReadAt<'_>, volume_bytes: u64) -> Superblock {
    let mut label = [0; 512];
    let may_be = sb.format == Format::Ufs1 && sb.endian == Endian::Big && volume_bytes >= 8192;
    if may_be && read(ByteOff(7168), &mut label).is_ok() && label.starts_with(b"LABL") {
        sb.dialect = Dialect::Apple;
    }
    sb
}

/// Finds a backup superblock of a volume whose primary is damaged: first that of group 0, which has only few possible
/// places; then those of the other groups, if the rest of the primary, or the recovery record before UFS2's, tells
/// their places. Where no copy has a right check hash, one with which another agrees will do: a tool that knows no
/// hashes has written them.
///
/// # Errors
/// No valid backup, or no readable one.
pub fn find_backup(read: &mut ReadAt<'_>, volume_bytes: u64) -> Result<FoundUfs, NotFound> {
    backup(read, volume_bytes, Stale::Taken)
}

/// What becomes of backups with a wrong check hash.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stale {
    Refused,
    /// One with which another agrees is taken, if none is better.
    Taken,
}

fn backup(read: &mut ReadAt<'_>, volume_bytes: u64, which: Stale) -> Result<FoundUfs, NotFound> {
    let (mut tried, mut stale) = (0usize, Vec::new());
    let mut attempt = |read: &mut ReadAt<'_>, at: u64| -> Option<FoundUfs> {
        let bytes = read_place(read, at, volume_bytes).ok()??;
        tried = tried.saturating_add(1);
        match Superblock::decode(&bytes, ByteOff(at)) {
            Ok(sb) => backup_at(sb, at, read, volume_bytes),
            Err(damage) if damage.field == "fs_ckhash" && which == Stale::Taken && stale.len() < STALE_KEPT => {
                let sb = Superblock::decode_whatever_the_hash(&bytes, ByteOff(at)).ok()?;
                stale.extend(backup_at(sb, at, read, volume_bytes));
                None
            }
            Err(_) => None,
        }
    };
    for at in FIRST_BACKUPS {
        if let Some(found) = attempt(read, at) {
            return Ok(found);
        }
    }
    for spread in spreads(read, volume_bytes) {
        for c in 0..spread.ncg.min(MOST_BACKUPS) {
            let Some(at) = spread.backup(c).filter(|&at| at < volume_bytes) else { break };
            if let Some(found) = attempt(read, at) {
                return Ok(found);
            }
        }
    }
    let agrees = |one: &&FoundUfs| {
        let same = |other: &&FoundUfs| one.copy != other.copy && one.superblock.difference(&other.superblock).is_none();
        stale.iter().any(|other| same(&other))
    };
    stale.iter().find(agrees).cloned().ok_or(NotFound::NoBackup { tried })
}

/// The backup that was read at byte `at`, if a group has its copy there.
fn backup_at(mut sb: Superblock, at: u64, read: &mut ReadAt<'_>, volume_bytes: u64) -> Option<FoundUfs> {
    let g = sb.geometry();
    let c = g.dtog(crate::FragNo(at.checked_div(g.fsize.into())?));
    if g.byte(g.cgsblock(c)) != ByteOff(at) || sb.volume_bytes() > volume_bytes {
        return None;
    }
    // Without the flags' move of 2002 the field holds the place where the copy was read.
    let primary = if sb.format == Format::Ufs1 && !PLACES.contains(&sb.fields.sblockloc.unsigned_abs()) {
        8192
    } else {
        sb.fields.sblockloc.unsigned_abs()
    };
    sb.at = ByteOff(primary);
    sb.fields.sblockloc = i64::try_from(primary).ok()?;
    sb.fields.clean = 0;
    Some(FoundUfs { superblock: with_label(sb, read, volume_bytes), copy: Copy::Backup(c) })
}

/// The parameters that determine the places of the backups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Spread {
    sblkno: u32,
    fpg: u32,
    ncg: u32,
    fsize: u32,
    cgoffset: u32,
    cgmask: u32,
}

impl Spread {
    /// Byte of the backup in group `c`.
    fn backup(&self, c: u32) -> Option<u64> {
        let turn = u64::from(self.cgoffset).checked_mul((c & !self.cgmask).into())?;
        let start = u64::from(self.fpg).checked_mul(c.into())?.checked_add(turn)?;
        start.checked_add(self.sblkno.into())?.checked_mul(self.fsize.into())
    }

    fn plausible(self) -> Option<Spread> {
        let sizes = (512..=65536).contains(&self.fsize) && self.fsize.is_power_of_two();
        (sizes && self.fpg >= 3 && self.ncg >= 1 && self.sblkno < self.fpg).then_some(self)
    }

    /// From a primary with the right magic, even if other fields are wrong.
    fn of_primary(bytes: &[u8]) -> Option<Spread> {
        let Some(Magic::Volume(format, e)) = Magic::of(bytes) else { return None };
        let moves = format == Format::Ufs1;
        Spread {
            sblkno: e.get_u32(bytes, 8)?,
            fpg: e.get_u32(bytes, 188)?,
            ncg: e.get_u32(bytes, 44)?,
            fsize: e.get_u32(bytes, 52)?,
            cgoffset: if moves { e.get_u32(bytes, 24)? } else { 0 },
            cgmask: e.get_u32(bytes, 28)?,
        }
        .plausible()
    }
}

/// The parameters from the rest of the primaries and from the recovery record.
fn spreads(read: &mut ReadAt<'_>, volume_bytes: u64) -> Vec<Spread> {
    let mut found: Vec<Spread> = Vec::new();
    for at in PLACES {
        let bytes = read_place(read, at, volume_bytes).ok().flatten();
        found.extend(bytes.as_deref().and_then(Spread::of_primary));
    }
    let mut tail = [0; 4096];
    if volume_bytes >= 65536 && read(ByteOff(61440), &mut tail).is_ok() {
        let record = tail.last_chunk::<20>().and_then(Recovery::decode);
        found.extend(record.and_then(|r| r.spread().plausible()));
    }
    found
}

/// The recovery record in the last 20 bytes before byte 65536 of FreeBSD's UFS2: enough to find the backups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recovery {
    /// Byte order of the volume.
    pub endian: Endian,
    /// log2 of the sectors of a fragment.
    pub fsbtodb: u32,
    /// Fragment of the backup within a group.
    pub sblkno: u32,
    /// Fragments of a group.
    pub fpg: u32,
    /// Groups.
    pub ncg: u32,
}

impl Recovery {
    /// First byte of the record.
    pub const AT: ByteOff = ByteOff(65516);
    /// Bytes of the record.
    pub const SIZE: usize = 20;

    /// The record of a volume.
    pub fn of(sb: &Superblock) -> Recovery {
        let n = |field: i32| u32::try_from(field).unwrap_or(0);
        let f = &sb.fields;
        Recovery { endian: sb.endian, fsbtodb: n(f.fsbtodb), sblkno: n(f.sblkno), fpg: n(f.fpg), ncg: f.ncg }
    }

    /// Decodes a record; `None` if there is none.
    pub fn decode(bytes: &[u8; 20]) -> Option<Recovery> {
        let has = |e: &Endian| e.get_u32(bytes, 0) == Some(super::MAGIC_UFS2);
        let endian = [Endian::Little, Endian::Big].into_iter().find(has)?;
        let at = |i| endian.get_u32(bytes, i);
        Some(Recovery { endian, fsbtodb: at(4)?, sblkno: at(8)?, fpg: at(12)?, ncg: at(16)? })
    }

    /// The bytes of the record.
    pub fn encode(&self) -> [u8; 20] {
        let mut bytes = [0; 20];
        let words = [super::MAGIC_UFS2, self.fsbtodb, self.sblkno, self.fpg, self.ncg];
        for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&self.endian.u32_bytes(word));
        }
        bytes
    }

    fn spread(&self) -> Spread {
        let fsize = 512u32.checked_shl(self.fsbtodb.min(31)).unwrap_or(0);
        Spread { sblkno: self.sblkno, fpg: self.fpg, ncg: self.ncg, fsize, cgoffset: 0, cgmask: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::superblock::newfs::NewfsParams;

    const BYTES: u64 = 4 << 20;

    /// A volume with only its superblocks and its recovery record.
    struct Volume {
        bytes: Vec<u8>,
        sb: Superblock,
    }

    impl Volume {
        fn new(p: NewfsParams) -> Volume {
            let sb = p.superblock().unwrap();
            let mut v = Volume { bytes: vec![0; usize::try_from(p.volume_bytes).unwrap()], sb };
            let g = v.sb.geometry();
            for at in std::iter::once(v.sb.at).chain((0..g.ncg).map(|c| g.byte(g.cgsblock(Cgx(c))))) {
                v.put(at.0, &v.sb.encode_copy(at));
            }
            if v.sb.format == Format::Ufs2 {
                v.put(Recovery::AT.0, &Recovery::of(&v.sb).encode());
            }
            v
        }

        fn put(&mut self, at: u64, what: &[u8]) {
            let at = usize::try_from(at).unwrap();
            self.bytes[at..at + what.len()].copy_from_slice(what);
        }

        fn search(&self, how: fn(&mut ReadAt<'_>, u64) -> Result<FoundUfs, NotFound>) -> Result<FoundUfs, NotFound> {
            let mut read = |at: ByteOff, buf: &mut [u8]| {
                let at = usize::try_from(at.0).unwrap();
                buf.copy_from_slice(self.bytes.get(at..at + buf.len()).ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            };
            how(&mut read, len64(self.bytes.len()))
        }
    }

    fn ufs2() -> Volume {
        Volume::new(NewfsParams::new(Format::Ufs2, BYTES))
    }

    #[test]
    fn primary_is_found_in_each_format_and_order() {
        for format in [Format::Ufs1, Format::Ufs2] {
            for endian in [Endian::Little, Endian::Big] {
                let v = Volume::new(NewfsParams { endian, ..NewfsParams::new(format, BYTES) });
                let found = v.search(find).unwrap();
                assert_eq!(
                    (found.copy, found.superblock.endian, found.superblock.format),
                    (Copy::Primary, endian, format)
                );
                assert_eq!(found.superblock, v.sb);
            }
        }
    }

    #[test]
    fn ufs1_with_large_blocks_is_not_mistaken_for_its_backup() {
        let mut v = Volume::new(NewfsParams { bsize: 65536, fsize: 8192, ..NewfsParams::new(Format::Ufs1, 8 << 20) });
        let g = v.sb.geometry();
        assert_eq!(g.byte(g.cgsblock(Cgx(0))), ByteOff(65536));
        assert_eq!(v.search(find).unwrap().superblock.at, ByteOff(8192));
        // Before the flags moved, in 2002, no copy contained the place of the primary.
        (v.bytes[8192 + 211], v.bytes[65536 + 211]) = (0, 0);
        assert_eq!(v.search(find).unwrap().superblock.at, ByteOff(8192));
    }

    #[test]
    fn damaged_primary_is_reported_and_the_backup_of_group_0_takes_its_place() {
        let mut v = ufs2();
        v.bytes[65536 + 700] ^= 1;
        let NotFound::Damaged(damage) = v.search(find).unwrap_err() else { panic!() };
        assert_eq!((damage.field, damage.at), ("fs_ckhash", Some(ByteOff(65536))));
        let found = v.search(find_backup).unwrap();
        assert_eq!(found.copy, Copy::Backup(Cgx(0)));
        assert!(!found.superblock.is_clean());
        assert_eq!(found.superblock.at, ByteOff(65536));
        assert_eq!(found.superblock.geometry(), v.sb.geometry());
    }

    #[test]
    fn other_backups_are_found_by_the_recovery_record() {
        let mut v = ufs2();
        v.bytes[65536..65536 + 8192].fill(0);
        v.bytes[98304..98304 + 8192].fill(0);
        assert!(matches!(v.search(find), Err(NotFound::Nothing { .. })));
        assert_eq!(v.search(find_backup).unwrap().copy, Copy::Backup(Cgx(1)));
        v.bytes[65516..65536].fill(0);
        assert!(matches!(v.search(find_backup), Err(NotFound::NoBackup { .. })));
    }

    #[test]
    fn other_backups_are_found_by_the_remains_of_the_primary() {
        let mut v = Volume::new(NewfsParams::new(Format::Ufs1, BYTES));
        v.bytes[8192 + 52 + 64] ^= 0xff;
        let g = v.sb.geometry();
        let first = usize::try_from(g.byte(g.cgsblock(Cgx(0))).0).unwrap();
        v.bytes[first..first + 8192].fill(0xee);
        assert!(matches!(v.search(find), Err(NotFound::Damaged(_))));
        assert_eq!(v.search(find_backup).unwrap().copy, Copy::Backup(Cgx(1)));
    }

    #[test]
    fn unfinished_and_empty_and_short_volumes_are_told_apart() {
        let mut v = ufs2();
        v.put(65536, &v.sb.encode_unfinished());
        assert!(matches!(v.search(find), Err(NotFound::Unfinished(ByteOff(65536)))));
        v.bytes.fill(0);
        let said = v.search(find).unwrap_err().to_string();
        assert!(said.starts_with("no UFS superblock at bytes 65536, 8192, 0, 262144"), "{said}");
        v.bytes.truncate(1000);
        assert!(matches!(v.search(find), Err(NotFound::Nothing { volume_bytes: 1000 })));
    }

    #[test]
    fn label_makes_a_big_endian_ufs1_volume_apples() {
        let p = NewfsParams { endian: Endian::Big, ..NewfsParams::new(Format::Ufs1, BYTES) };
        let mut v = Volume::new(p);
        v.put(7168, b"LABL");
        let sb = v.search(find).unwrap().superblock;
        let g = sb.geometry();
        assert_eq!((sb.dialect, g.dirblksiz, g.maxsymlinklen), (Dialect::Apple, 1024, 60));
        assert_eq!(sb.write_gate(), Err(crate::Refused::Dialect(Dialect::Apple)));
    }

    #[test]
    fn recovery_record_has_the_bytes_that_freebsd_wrote() {
        let r = Recovery { endian: Endian::Little, fsbtodb: 3, sblkno: 24, fpg: 264, ncg: 4 };
        assert_eq!(Recovery::of(&ufs2().sb), r);
        let bytes = [0x19, 1, 0x54, 0x19, 3, 0, 0, 0, 24, 0, 0, 0, 8, 1, 0, 0, 4, 0, 0, 0];
        assert_eq!(r.encode(), bytes);
        assert_eq!(Recovery::decode(&bytes), Some(r));
        assert_eq!(Recovery::decode(&[0; 20]), None);
    }
}
