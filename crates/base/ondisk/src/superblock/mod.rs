//! The superblock: the parameters of a volume, and the state in which it was left.
//!
//! S1. A [`Superblock`] exists only if its geometry is consistent: every later size, shift and division relies on it.
//! S2. A byte without a meaning here is written back as it was read, so that a volume of another system, or of another
//!     decade, does not lose what only its own system understands.
//! S3. The function that encodes a superblock also computes its hash, if the volume has hashes.

mod agree;
mod dialect;
mod features;
pub mod fields;
mod fit;
mod geometry;
mod keeper;
mod magic;
pub mod newfs;
pub mod search;
mod solaris;
mod validate;

use crate::num::{bits64, index, len64, low32, narrow};
use crate::{ByteOff, Corrupt, CsumTotal, Dialect, Endian, Format, Rule, Structure, hash};
pub use agree::Difference;
pub use dialect::{Quota2, Wapbl};
pub use features::{Features, Refused};
pub use fields::SBLOCKSIZE;
use fields::{SbFields, ck, flag};
pub use fit::Unfit;
pub use keeper::{Keeper, LogAt, LogForm};
pub use magic::{MAGIC_AT, MAGIC_MTB, MAGIC_UFS1, MAGIC_UFS2, MAGIC_UFS2EA, MAGIC_UNFINISHED, Magic};

/// Offset of the hash.
const CKHASH_AT: usize = 1304;

/// A superblock that was checked. See the module's invariants.
#[derive(Clone, PartialEq, Eq)]
pub struct Superblock {
    /// The fields in their current form: values that an old UFS1 volume stores in narrow fields are in the wide ones
    /// here.
    pub fields: SbFields,
    /// Byte order of the volume.
    pub endian: Endian,
    /// UFS1 or UFS2.
    pub format: Format,
    /// The system that most likely made it.
    pub dialect: Dialect,
    /// Where it was read, or will be written first.
    pub at: ByteOff,
    /// Oddities that do not prevent its use.
    pub warnings: Vec<Corrupt>,
    /// `false` for a superblock from before 2002: it has no 64-bit fields but old tables in their place.
    wide: bool,
    /// `maxfilesize` as stored; the one in `fields` is the format's limit.
    stored_maxfilesize: u64,
    /// The `sbsize` bytes that it was decoded from.
    image: Vec<u8>,
}

/// Without the byte arrays, which would fill pages.
impl std::fmt::Debug for Superblock {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let f = &self.fields;
        to.debug_struct("Superblock")
            .field("format", &self.format)
            .field("endian", &self.endian)
            .field("dialect", &self.dialect)
            .field("at", &self.at)
            .field("bsize", &f.bsize)
            .field("fsize", &f.fsize)
            .field("size", &f.size)
            .field("ncg", &f.ncg)
            .field("totals", &self.totals())
            .field("clean", &f.clean)
            .field("flags", &f.flags)
            .field("time", &f.time)
            .finish_non_exhaustive()
    }
}

impl Superblock {
    /// Decodes and checks the superblock in `bytes`, read at `at`. At least 1376 bytes, usually 8192.
    ///
    /// # Errors
    /// The first rule that it breaks, which may be a wrong check hash.
    pub fn decode(bytes: &[u8], at: ByteOff) -> Result<Superblock, Corrupt> {
        let sb = Superblock::decode_whatever_the_hash(bytes, at)?;
        sb.check_hash()?;
        Ok(sb)
    }

    /// Like [`Superblock::decode`], without checking the hash: to repair a volume.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn decode_whatever_the_hash(bytes: &[u8], at: ByteOff) -> Result<Superblock, Corrupt> {
        let damaged = |field, found: i128, rule| Corrupt::new(Structure::Superblock, field, found, rule).at(at);
        let (format, endian) = match Magic::of(bytes) {
            Some(Magic::Volume(format, endian)) => (format, endian),
            Some(Magic::Unfinished) => {
                let why = Rule::Words("which newfs leaves when it does not finish: make the volume again");
                return Err(damaged("fs_magic", i128::from(MAGIC_UNFINISHED), why));
            }
            None => {
                let found = Endian::Little.get_u32(bytes, MAGIC_AT).unwrap_or(0);
                return Err(damaged("fs_magic", i128::from(found), Rule::IsHex(MAGIC_UFS2)));
            }
        };
        let mut fields = SbFields::load(bytes, endian)
            .ok_or_else(|| Corrupt::cut_short(Structure::Superblock, bytes.len()).at(at))?;
        let solaris = solaris::is_solaris(bytes, &fields, format, endian);
        let wide = normalise(&mut fields, format, at);
        if solaris {
            solaris::settle(bytes, &mut fields, endian);
        }
        let warnings = validate::check(&fields, format, at)?;
        // Checked: sbsize is 1376..=8192.
        let sbsize = usize::try_from(fields.sbsize).unwrap_or(SbFields::SIZE);
        let image = bytes.get(..sbsize).ok_or_else(|| Corrupt::cut_short(Structure::Superblock, bytes.len()).at(at))?;
        let image = image.to_vec();
        let dialect = match solaris {
            true => Dialect::Solaris,
            false => dialect::guess(&mut fields, format, endian, wide),
        };
        let stored_maxfilesize = fields.maxfilesize;
        fields.maxfilesize = validate::largest_file(&fields, format);
        Ok(Superblock { fields, endian, format, dialect, at, warnings, wide, stored_maxfilesize, image })
    }

    /// Compares the hash with the bytes, if the volume has superblock hashes. FreeBSD hashes the superblock without
    /// flags unknown to it: with such flags set that differs from the raw bytes, so both are accepted.
    fn check_hash(&self) -> Result<(), Corrupt> {
        if self.hashes() & ck::SUPERBLOCK == 0 {
            return Ok(());
        }
        let stored = self.fields.ckhash;
        let raw = hash::check_hash_without(&self.image, CKHASH_AT);
        let mut masked = self.image.clone();
        let kept = [(1308, self.fields.metackhash & ck::SUPPORTED), (1312, self.fields.flags & flag::SUPPORTED)];
        for (at, value) in kept {
            // Cannot fail: the image is at least 1376 bytes.
            let _ = self.endian.put_u32(&mut masked, at, value);
        }
        if stored == raw || stored == hash::check_hash_without(&masked, CKHASH_AT) {
            return Ok(());
        }
        Err(Corrupt::new(Structure::Superblock, "fs_ckhash", stored, Rule::IsHex(raw)).at(self.at))
    }

    /// Which structures have check hashes (bits of [`ck`]); 0 on everything except FreeBSD's UFS2.
    pub fn hashes(&self) -> u32 {
        let in_force = self.format == Format::Ufs2
            && self.dialect == Dialect::FreeBsd
            && self.fields.flags & flag::METACKHASH != 0;
        if in_force { self.fields.metackhash & ck::SUPPORTED } else { 0 }
    }

    /// The bytes to write at `fs_sblockloc`, as of `now` (seconds). The summary array must be written first. The record
    /// of the keeper goes: who writes the volume without being it would else be taken for it within the same second.
    pub fn encode(&mut self, now: i64) -> Vec<u8> {
        self.forget_keeper();
        self.encode_as_kept(now)
    }

    fn encode_as_kept(&mut self, now: i64) -> Vec<u8> {
        self.fields.fmod = 0;
        self.fields.time = now;
        let bytes = self.encode_copy(self.at);
        self.fields.ckhash = self.endian.get_u32(&bytes, CKHASH_AT).unwrap_or(0);
        bytes
    }

    /// The bytes of a copy to be written at `at`: the primary, or a backup of a group.
    pub fn encode_copy(&self, at: ByteOff) -> Vec<u8> {
        let mut bytes = self.image.clone();
        if self.wide {
            self.put_wide(&mut bytes, at);
        } else {
            self.put_old(&mut bytes);
        }
        if self.hashes() & ck::SUPERBLOCK != 0 {
            // Cannot fail: the image is at least 1376 bytes.
            let _ = hash::store_hash(&mut bytes, CKHASH_AT, self.endian);
        }
        bytes
    }

    fn put_wide(&self, bytes: &mut [u8], at: ByteOff) {
        let mut f = self.fields.clone();
        f.ocsp = [0; 128];
        f.maxfilesize = self.stored_maxfilesize;
        if f.sblockactualloc != 0 {
            f.sblockactualloc = i64::try_from(at.0).unwrap_or(0);
        }
        if self.format == Format::Ufs1 {
            f.old_time = narrow(f.time);
            f.old_cstotal = [f.cs_ndir, f.cs_nbfree, f.cs_nifree, f.cs_nffree].map(narrow);
        }
        if self.dialect == Dialect::OpenBsd {
            // It stores its flags where FreeBSD has the mask of hashes, and the time of its last check where FreeBSD
            // has the flags.
            f.metackhash = self.fields.flags;
            f.flags = self.endian.get_u32(&self.image, 1312).unwrap_or(0);
        }
        // Cannot fail: the image is at least 1376 bytes.
        let _ = f.store(bytes, self.endian);
    }

    /// A superblock from before 2002 has its rotational tables where the wide fields are now. Only fields that existed
    /// then are written, or the old system would compute with our numbers.
    fn put_old(&self, bytes: &mut [u8]) {
        let Some(mut f) = SbFields::load(bytes, self.endian) else { return };
        f.old_time = narrow(self.fields.time);
        f.old_cstotal =
            [self.fields.cs_ndir, self.fields.cs_nbfree, self.fields.cs_nifree, self.fields.cs_nffree].map(narrow);
        (f.fmod, f.clean, f.fsmnt, f.cgrotor) = (0, self.fields.clean, self.fields.fsmnt, self.fields.cgrotor);
        let _ = f.store(bytes, self.endian);
    }

    /// `true` after a clean unmount. NetBSD also stores 2 and 4, which do not describe the current state.
    pub fn is_clean(&self) -> bool {
        self.fields.clean == 1
    }

    /// Whether Solaris has left changes in its log, which this program does not read.
    pub fn solaris_log_waits(&self) -> bool {
        self.dialect == Dialect::Solaris && solaris::has_waiting_log(&self.image, self.endian)
    }

    /// `false` for a superblock from before 2002, whose wide fields were filled from the narrow ones.
    pub fn has_wide_fields(&self) -> bool {
        self.wide
    }

    /// The fields of a new volume as a superblock to be written at `at`. Checked like one that was read.
    fn fresh(fields: &SbFields, endian: Endian, at: ByteOff) -> Result<Superblock, Corrupt> {
        let mut bytes = vec![0; index(low32(bits64(i64::from(fields.sbsize)))).clamp(SbFields::SIZE, SBLOCKSIZE)];
        fields.store(&mut bytes, endian).ok_or_else(|| Corrupt::cut_short(Structure::Superblock, bytes.len()))?;
        let sb = Superblock::decode_whatever_the_hash(&bytes, at)?;
        Superblock::decode(&sb.encode_copy(at), at)
    }

    /// The counts of the whole volume.
    pub fn totals(&self) -> CsumTotal {
        let f = &self.fields;
        CsumTotal { ndir: f.cs_ndir, nbfree: f.cs_nbfree, nifree: f.cs_nifree, nffree: f.cs_nffree }
    }

    /// Sets the counts of the whole volume.
    pub fn set_totals(&mut self, total: CsumTotal) {
        let f = &mut self.fields;
        (f.cs_ndir, f.cs_nbfree, f.cs_nifree, f.cs_nffree) = (total.ndir, total.nbfree, total.nifree, total.nffree);
    }

    /// The label, with invalid UTF-8 replaced.
    pub fn label(&self) -> String {
        text(&self.fields.volname)
    }

    /// The volume's id in the form in which FreeBSD names it in `/dev/ufsid`.
    pub fn ufsid(&self) -> String {
        let [first, second] = self.fields.id;
        format!("{first:08x}{second:08x}")
    }

    /// The last mount point.
    pub fn last_mount_point(&self) -> String {
        text(&self.fields.fsmnt)
    }

    /// Bytes from the start of the volume to the end of its last fragment.
    pub fn volume_bytes(&self) -> u64 {
        bits64(self.fields.size).saturating_mul(bits64(i64::from(self.fields.fsize)))
    }

    /// Bytes of a copy of this superblock.
    pub fn len_on_disk(&self) -> u64 {
        len64(self.image.len())
    }
}

/// Bytes up to the first NUL.
fn text(padded: &[u8]) -> String {
    let end = padded.iter().position(|&b| b == 0).unwrap_or(padded.len());
    String::from_utf8_lossy(padded.get(..end).unwrap_or_default()).into_owned()
}

/// Fills the current fields from those that an older system left. Returns whether the wide fields existed.
fn normalise(f: &mut SbFields, format: Format, at: ByteOff) -> bool {
    let wide = format == Format::Ufs2 || f.maxbsize == f.bsize;
    let updated = u32::from(f.old_flags) & flag::FLAGS_UPDATED != 0;
    if !updated {
        f.flags = u32::from(f.old_flags);
        f.old_flags = f.old_flags.wrapping_add(0x80);
        f.sblockloc = i64::try_from(at.0).unwrap_or(0);
    }
    if !wide {
        f.maxbsize = f.bsize;
        f.time = f.old_time.into();
        f.size = f.old_size.into();
        f.dsize = f.old_dsize.into();
        f.csaddr = f.old_csaddr.into();
        [f.cs_ndir, f.cs_nbfree, f.cs_nifree, f.cs_nffree] = f.old_cstotal.map(i64::from);
        // The rest of the area holds tables of an old disk's rotation, not the fields that are there now.
        (f.unrefs, f.providersize, f.metaspace, f.sblockactualloc, f.mtime) = (0, 0, 0, 0, 0);
        (f.sparecon64, f.cs_numclusters, f.cs_spare) = ([0; 13], 0, [0; 3]);
        (f.pendingblocks, f.pendinginodes, f.snapinum, f.sujfree) = (0, 0, [0; 20], 0);
        (f.avgfilesize, f.avgfpdir, f.ckhash, f.metackhash) = (0, 0, 0, 0);
        f.volname = [0; 32];
        if f.old_postblformat == -1 {
            // 4.2BSD's static tables extend to the magic.
            (f.contigsumsize, f.maxsymlinklen, f.old_inodefmt, f.old_nrpos) = (0, 0, -1, 8);
        }
    }
    if f.maxbsize == 0 {
        f.maxbsize = f.bsize;
    }
    if format == Format::Ufs1 && f.old_inodefmt < 2 {
        f.qbmask = i64::from(!f.bmask);
        f.qfmask = i64::from(!f.fmask);
    }
    if f.avgfilesize == 0 {
        f.avgfilesize = 16384;
    }
    if f.avgfpdir == 0 {
        f.avgfpdir = 64;
    }
    wide
}
