//! Before all else: which superblock to use, and what in it must be repaired.
//!
//! There are three kinds of fields. Geometry never changes, so it must equal the copy in the last group (or, if that is
//! damaged too, any other). State (counts, flags, times, hints) is in the primary only; it is kept as far as possible.
//! Everything else is taken together with the geometry.

use crate::damage::SuperblockDamage;
use crate::error::Error;
use crate::image::{Bytes, Image};
use ordo_disk::Disk;
use ordo_ondisk::superblock::fields::{SbFields, flag};
use ordo_ondisk::superblock::search::{self, Copy, FoundUfs, NotFound};
use ordo_ondisk::superblock::{Difference, SBLOCKSIZE};
use ordo_ondisk::{ByteOff, Cgx, Dialect, Superblock};
use rustc_hash::FxHashMap;
use std::io;
use std::rc::Rc;

/// Bytes of a line before the volume's block size is known: a superblock.
const LINE: u32 = SBLOCKSIZE as u32;
/// How often a search is repeated after reading what it lacked.
const ATTEMPTS: usize = 17;

/// The superblock to use, and what was wrong with it.
#[derive(Clone)]
pub struct Opened {
    /// The superblock, with what could be repaired in it.
    pub sb: Superblock,
    /// What was wrong.
    pub damage: Vec<SuperblockDamage>,
    /// Backups that must be rewritten.
    pub backups: Vec<ByteOff>,
}

impl Opened {
    /// Finds the superblock of the volume on `disk`.
    ///
    /// # Errors
    /// The disk fails, is shorter than the volume, or nothing on it can be used as a superblock.
    pub async fn find(disk: &Rc<dyn Disk>) -> Result<Opened, Error> {
        let size = disk.info().size;
        let mut places = Places { image: Image::new(disk.clone(), size, LINE), read: FxHashMap::default(), size };
        let (mut sb, mut damage) = primary(&mut places).await?;
        let backups = compare(&mut places, &mut sb, &mut damage).await?;
        sanity(&mut sb, &mut damage);
        if sb.volume_bytes() > size {
            return Err(Error::TooShort { volume: sb.volume_bytes(), disk: size });
        }
        Ok(Opened { sb, damage, backups })
    }
}

/// The search of `ondisk` reads through a plain closure. Missing bytes are noted and read, and the search is repeated.
struct Places {
    image: Image,
    read: FxHashMap<(u64, usize), Option<Bytes>>,
    size: u64,
}

type Search = fn(&mut search::ReadAt<'_>, u64) -> Result<FoundUfs, NotFound>;

impl Places {
    async fn search(&mut self, search: Search) -> Result<FoundUfs, NotFound> {
        let mut result = Err(NotFound::Nothing { volume_bytes: self.size });
        for attempt in 0..ATTEMPTS {
            let mut lacking = vec![];
            let mut read = |at: ByteOff, into: &mut [u8]| {
                let Some(known) = self.read.get(&(at.0, into.len())) else {
                    lacking.push((at.0, into.len()));
                    return Err(io::Error::from(io::ErrorKind::WouldBlock));
                };
                let bytes = known.as_ref().ok_or(io::ErrorKind::Other)?;
                into.copy_from_slice(bytes);
                Ok(())
            };
            result = search(&mut read, self.size);
            if lacking.is_empty() {
                break;
            }
            // Most searches end at the first place; the other places are read only if this one does not.
            lacking.truncate(if attempt == 0 { 1 } else { usize::MAX });
            for (at, len) in lacking {
                let bytes = self.bytes(ByteOff(at), len).await;
                self.read.insert((at, len), bytes);
            }
        }
        result
    }

    /// Bytes of the disk, or `None` where they cannot be read.
    async fn bytes(&mut self, at: ByteOff, len: usize) -> Option<Bytes> {
        self.image.bytes(at, len).await.ok()
    }

    /// The copy at this place, and whether its check hash is right.
    async fn copy(&mut self, at: ByteOff) -> Result<(Superblock, Proof), String> {
        let len = SBLOCKSIZE.min((self.size - at.0.min(self.size)) as usize);
        let bytes = self.bytes(at, len).await.ok_or("it cannot be read")?;
        let stale = match Superblock::decode(&bytes, at) {
            Ok(sb) => return Ok((sb, Proof::Hash)),
            Err(damage) if damage.field == "fs_ckhash" => Superblock::decode_whatever_the_hash(&bytes, at),
            Err(damage) => Err(damage),
        };
        stale.map(|sb| (sb, Proof::Fields)).map_err(|damage| damage.to_string())
    }
}

/// What tells that a copy is right.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Proof {
    /// Its check hash, where it has one.
    Hash,
    /// Its fields are plausible; its check hash is wrong. A tool that knows no hashes leaves all copies so.
    Fields,
}

/// Rules 1 and 2: returns the primary, or a copy in its place.
async fn primary(places: &mut Places) -> Result<(Superblock, Vec<SuperblockDamage>), Error> {
    let failure = match places.search(search::find).await {
        Ok(found) if found.superblock.volume_bytes() <= places.size => return Ok((found.superblock, vec![])),
        Ok(found) => {
            let (volume, disk) = (found.superblock.volume_bytes(), places.size);
            return match places.search(search::find_backup).await {
                Ok(backup) => Ok(restored(backup, format!("it says that the volume has {volume} bytes"))),
                Err(_) => Err(Error::TooShort { volume, disk }),
            };
        }
        Err(NotFound::Damaged(damage)) if damage.field == "fs_ckhash" => {
            let at = damage.at.unwrap_or_default();
            let bytes = places.bytes(at, SBLOCKSIZE).await;
            match Superblock::decode_whatever_the_hash(bytes.as_deref().unwrap_or_default(), at) {
                Ok(sb) if sb.volume_bytes() <= places.size => {
                    return Ok((sb, vec![SuperblockDamage::SuperblockHash { at: at.0 }]));
                }
                _ => damage.to_string(),
            }
        }
        Err(failure) => failure.to_string(),
    };
    match places.search(search::find_backup).await {
        Ok(backup) => Ok(restored(backup, failure)),
        Err(_) => Err(Error::NoSuperblock { why: failure }),
    }
}

fn restored(found: FoundUfs, why: String) -> (Superblock, Vec<SuperblockDamage>) {
    let mut sb = found.superblock;
    let from = match found.copy {
        Copy::Primary | Copy::Unproven => sb.at,
        Copy::Backup(c) => sb.geometry().byte(sb.geometry().cgsblock(c)),
    };
    if !search::PLACES.contains(&sb.at.0) {
        // The copy itself is damaged. The place that it gives for the primary would never be searched.
        sb.at = ByteOff(if sb.format == ordo_ondisk::Format::Ufs1 { 8192 } else { 65536 });
        sb.fields.sblockloc = if sb.format == ordo_ondisk::Format::Ufs1 { 8192 } else { 65536 };
    }
    (sb, vec![SuperblockDamage::SuperblockRestored { from: from.0, why }])
}

/// Rule 3: geometry equals that of the copies. Returns the copies that must be rewritten.
async fn compare(
    places: &mut Places,
    sb: &mut Superblock,
    findings: &mut Vec<SuperblockDamage>,
) -> Result<Vec<ByteOff>, Error> {
    let last = |sb: &Superblock| sb.geometry().byte(sb.geometry().cgsblock(Cgx(sb.geometry().ncg - 1)));
    let copy = places.copy(last(sb)).await;
    let same = matches!(&copy, Ok((copy, Proof::Hash)) if difference(sb, copy).is_none());
    if same && findings.is_empty() {
        return Ok(vec![]);
    }
    let best = majority(places, sb, findings.is_empty()).await;
    match best.as_ref().and_then(|best| Some((best, difference(sb, best)?))) {
        Some((best, ("dialect", ..))) => {
            findings.push(SuperblockDamage::SuperblockForm { found: sb.dialect, backup: best.dialect });
        }
        Some((_, (field, found, backup))) => {
            findings.push(SuperblockDamage::SuperblockDiffers { field, found, backup })
        }
        None => {}
    }
    if let Some(best) = best {
        *sb = if sb.has_wide_fields() && !best.has_wide_fields() { sb.with_geometry_of(&best) } else { None }
            .unwrap_or_else(|| graft(best, sb));
    }
    let why = match places.copy(last(sb)).await {
        Ok((copy, proof)) if difference(sb, &copy).is_none() => match proof {
            Proof::Hash => return Ok(vec![]),
            Proof::Fields => return Ok(stale(places, sb, findings).await),
        },
        Ok(_) => "it is not the copy of the others".into(),
        Err(why) => why,
    };
    findings.push(SuperblockDamage::BackupUnusable { group: sb.geometry().ncg - 1, why });
    Ok(vec![last(sb)])
}

/// As [`Superblock::difference`]. A newer kernel upgrades the first superblock, never the copies alone: one that looks
/// older than its copies is damaged.
fn difference(sb: &Superblock, copy: &Superblock) -> Option<Difference> {
    let looks_older = !sb.has_wide_fields() && copy.has_wide_fields();
    sb.difference(copy).or(looks_older.then_some(("dialect", 1, 0)))
}

/// The groups whose copies are looked at: the first ones, where every search begins, one in the middle, and the last.
fn groups_asked(ncg: u32) -> Vec<Cgx> {
    let mut groups = vec![0, 1, 2, ncg / 2, ncg - 1];
    groups.retain(|c| *c < ncg);
    groups.sort_unstable();
    groups.dedup();
    groups.into_iter().map(Cgx).collect()
}

/// Rule 2 of the copies: those with nothing wrong but their check hash.
async fn stale(places: &mut Places, sb: &Superblock, findings: &mut Vec<SuperblockDamage>) -> Vec<ByteOff> {
    let mut found = vec![];
    for c in groups_asked(sb.geometry().ncg) {
        let at = sb.geometry().byte(sb.geometry().cgsblock(c));
        if let Ok((copy, Proof::Fields)) = places.copy(at).await
            && difference(sb, &copy).is_none()
        {
            findings.push(SuperblockDamage::BackupHash { group: c.0 });
            found.push(at);
        }
    }
    found
}

/// The copy with which most copies agree, if it is not `sb` itself. Without check hashes a damaged copy can look valid,
/// and so can a damaged primary; `trusted` says that nothing is known against the primary yet.
async fn majority(places: &mut Places, sb: &Superblock, trusted: bool) -> Option<Superblock> {
    let (mut copies, mut asked): (Vec<(Superblock, Proof)>, Vec<ByteOff>) = (vec![], vec![]);
    // A copy that differs may give other places, where there are more like it.
    for turn in 0..3 {
        let differs = copies.iter().map(|(copy, _)| copy).find(|copy| difference(sb, copy).is_some());
        let Some(geo) = (if turn == 0 { Some(sb) } else { differs }).map(Superblock::geometry) else { break };
        for c in groups_asked(geo.ncg) {
            let at = geo.byte(geo.cgsblock(c));
            if !asked.contains(&at) {
                asked.push(at);
                copies.extend(places.copy(at).await.ok());
            }
        }
    }
    if copies.iter().any(|(_, proof)| *proof == Proof::Hash) {
        copies.retain(|(_, proof)| *proof == Proof::Hash);
    }
    let mut copies: Vec<Superblock> = copies.into_iter().map(|(copy, _)| copy).collect();
    if copies.is_empty() {
        // The geometry that gives the places of the copies may itself be damaged; the search has other ways to find
        // them.
        copies.extend(places.search(search::find_backup).await.ok().map(|found| found.superblock));
    }
    let votes = |one: &Superblock| copies.iter().filter(|other| difference(one, other).is_none()).count();
    let own = votes(sb) + usize::from(trusted);
    // Of two that agree, prefer the one that its hash confirms.
    let best = copies.iter().rev().max_by_key(|copy| (votes(copy), copy.hashes() != 0))?;
    (votes(best) > own || !trusted && votes(best) >= own).then(|| best.clone())
}

/// A copy with the state of the damaged primary, as far as possible.
fn graft(mut copy: Superblock, primary: &Superblock) -> Superblock {
    let (to, from) = (&mut copy.fields, &primary.fields);
    copy.at = primary.at;
    to.sblockloc = i64::try_from(primary.at.0).unwrap_or(to.sblockloc);
    if to.sblockactualloc != 0 {
        to.sblockactualloc = to.sblockloc;
    }
    (to.clean, to.fsmnt, to.volname) = (0, from.fsmnt, from.volname);
    (to.time, to.snapinum) = (from.time, from.snapinum);
    if (0..=1).contains(&from.optim) {
        to.optim = from.optim;
    }
    if (0..=99).contains(&from.minfree) {
        to.minfree = from.minfree;
    }
    if primary.dialect == copy.dialect {
        if from.flags & !known_flags(copy.dialect) == 0 {
            to.flags = from.flags;
        }
        to.mtime = from.mtime;
        to.sparecon32 = from.sparecon32;
        if copy.dialect == Dialect::NetBsd {
            (to.unrefs, to.providersize, to.metaspace, to.sparecon64) =
                (from.unrefs, from.providersize, from.metaspace, from.sparecon64);
        }
    }
    (to.cs_ndir, to.cs_nbfree, to.cs_nifree, to.cs_nffree) =
        (from.cs_ndir, from.cs_nbfree, from.cs_nifree, from.cs_nffree);
    copy
}

fn known_flags(dialect: Dialect) -> u32 {
    match dialect {
        Dialect::FreeBsd => 0x7ff,
        Dialect::NetBsd => 0xf97,
        _ => 0x83,
    }
}

/// Rules 4, 5 and 48, and hints that no kernel would accept.
fn sanity(sb: &mut Superblock, findings: &mut Vec<SuperblockDamage>) {
    let without_log = sb.features().wapbl_at.is_none();
    let (dialect, f) = (sb.dialect, &mut sb.fields);
    if !(0..=1).contains(&f.optim) {
        findings.push(SuperblockDamage::Optim { found: f.optim });
        f.optim = 0;
    }
    if !(0..=99).contains(&f.minfree) {
        findings.push(SuperblockDamage::Minfree { found: f.minfree });
        f.minfree = 10;
    }
    let mut within = |field, value: &mut i32, low: i32, high: i32, right: i32| {
        if !(low..=high).contains(value) {
            findings.push(SuperblockDamage::SuperblockField { field, found: (*value).into(), right: right.into() });
            *value = right;
        }
    };
    // A cluster summary requires this value; otherwise FreeBSD refuses the volume.
    let contig = if f.contigsumsize > 0 { f.contigsumsize } else { 1 };
    within("fs_maxcontig", &mut f.maxcontig, 0, 65536, contig);
    within("fs_maxbpg", &mut f.maxbpg, 1, i32::MAX, f.bsize / 8);
    let last = i32::try_from(f.ncg - 1).unwrap_or(i32::MAX);
    within("fs_cgrotor", &mut f.cgrotor, 0, last, 0);
    if dialect == Dialect::FreeBsd {
        sane_freebsd(f, findings);
    }
    if dialect == Dialect::NetBsd && without_log && f.flags & flag::NETBSD_WAPBL != 0 {
        let right = f.flags & !flag::NETBSD_WAPBL;
        findings.push(SuperblockDamage::SuperblockField {
            field: "fs_flags",
            found: f.flags.into(),
            right: right.into(),
        });
        f.flags = right;
    }
    if f.clean == 1 && (f.pendingblocks != 0 || f.pendinginodes != 0) {
        findings.push(SuperblockDamage::PendingFrees { blocks: f.pendingblocks, inodes: f.pendinginodes });
        (f.pendingblocks, f.pendinginodes) = (0, 0);
    }
}

fn sane_freebsd(f: &mut SbFields, findings: &mut Vec<SuperblockDamage>) {
    if f.clean == 1 && f.sujfree != 0 {
        findings.push(SuperblockDamage::UnlinkedList { head: f.sujfree });
        f.sujfree = 0;
    }
    let half = i64::from(f.fpg / 2);
    if !(0..=half).contains(&f.metaspace) {
        findings.push(SuperblockDamage::SuperblockField { field: "fs_metaspace", found: f.metaspace, right: 0 });
        f.metaspace = 0;
    }
    let unknown = f.flags & flag::SUPPORTED & !known_flags(Dialect::FreeBsd) | f.flags & !flag::SUPPORTED;
    if unknown != 0 {
        let right = f.flags & known_flags(Dialect::FreeBsd);
        findings.push(SuperblockDamage::SuperblockField {
            field: "fs_flags",
            found: f.flags.into(),
            right: right.into(),
        });
        f.flags = right;
    }
}
