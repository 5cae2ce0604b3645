//! The superblocks: which of them describes the volume, and from which the check starts.
//!
//! S1. What newfs set is taken from the two superblocks; where they differ, the further copies decide.
//! S2. The check starts from the older one, as a mount does, unless only the newer leads to an ifile and to the end of
//!     a partial segment.

use super::log::{Position, position};
use crate::{Error, Finding, LfsFinding};
use ordo_disk::Disk;
use ordo_ondisk::dinode::mode;
use ordo_ondisk::lfs::superblock::{Choice, Copy, Fields, Magic, RawSb32, RawSb64, SIZE, choose};
use ordo_ondisk::lfs::{CleanerInfo, Daddr, LABEL_PAD, Superblock, cksum, inode_block, recognise};
use ordo_ondisk::{ByteOff, Corrupt};
use ordo_recover::Image;
use std::rc::Rc;

/// The volume's description.
pub(crate) struct Opened {
    /// The superblock from which the check starts.
    pub(crate) sb: Superblock,
    /// The serial number of the other one, if that is newer.
    pub(crate) newer: Option<u64>,
    /// The later of the times of both.
    pub(crate) latest: u64,
    pub(crate) findings: Vec<Finding>,
}

type Read = Result<Superblock, Corrupt>;

/// Reads and compares the superblocks.
pub(crate) async fn open(image: &mut Image, disk: &Rc<dyn Disk>) -> Result<Opened, Error> {
    let (mut first, mut second) = read_both(image, disk).await?;
    let mut findings = vec![];
    let reference = match first.as_ref().or(second.as_ref()) {
        Ok(sb) => reference(image, disk, sb).await?,
        Err(_) => search(image, disk).await?,
    };
    settle(&mut first, &mut second, reference.as_ref(), &mut findings);
    for (copy, read) in [(0, &first), (1, &second)] {
        if let Err(why) = read {
            findings.push(LfsFinding::SuperblockUnusable { copy, why: why.to_string() }.into());
        }
    }
    differ(&first, &second, &mut findings);
    let pick = pick(image, &first, &second).await?;
    let latest = [&first, &second].into_iter().flatten().map(|sb| sb.fields.tstamp).max().unwrap_or(0);
    let (sb, newer) = match (pick, first, second) {
        (Copy::First, Ok(sb), other) | (Copy::Second, other, Ok(sb)) => {
            let newer = other.ok().map(|other| other.fields.serial.0).filter(|serial| *serial > sb.fields.serial.0);
            (sb, newer)
        }
        (_, Ok(sb), _) | (_, _, Ok(sb)) => (sb, None),
        (_, Err(why), Err(_)) => match reference {
            Some(sb) => (sb, None),
            // All copies may have the same wrong list of copies.
            None => match by_rule(image, disk).await? {
                Some(sb) => (sb, None),
                None => return Err(Error::NoSuperblock { why: why.to_string() }),
            },
        },
    };
    let bytes = sb.geometry().bytes(sb.geometry().size);
    let size = disk.info().size;
    if bytes > size {
        return Err(Error::TooShort { volume: bytes, disk: size });
    }
    Ok(Opened { sb, newer, latest, findings })
}

async fn read_at(image: &mut Image, disk: &Rc<dyn Disk>, at: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![0; SIZE];
    if at.saturating_add(SIZE as u64) <= disk.info().size / 512 * 512 {
        image.read(ByteOff(at), &mut bytes).await?;
    }
    Ok(bytes)
}

/// A superblock that fits on the disk.
fn decode(bytes: &[u8], disk: &Rc<dyn Disk>) -> Read {
    let sb = Superblock::decode(bytes)?;
    let (end, g) = (disk.info().size, sb.geometry());
    if g.bytes(g.size) > end {
        let rule = ordo_ondisk::Rule::AtMost((end / u64::from(g.unit.max(1))).into());
        return Err(Corrupt::new(ordo_ondisk::Structure::Superblock, "lfs_size", g.size, rule));
    }
    Ok(sb)
}

/// The same of one that follows the checkpoints.
async fn decode_at(image: &mut Image, disk: &Rc<dyn Disk>, at: u64) -> Result<Read, Error> {
    let bytes = read_at(image, disk, at).await?;
    Ok(decode(&bytes, disk).and_then(|_| Superblock::decode_at(&bytes, ByteOff(at))))
}

async fn read_both(image: &mut Image, disk: &Rc<dyn Disk>) -> Result<(Read, Read), Error> {
    let bytes = read_at(image, disk, LABEL_PAD.into()).await?;
    let first = decode(&bytes, disk);
    let place = match &first {
        Ok(sb) => sb.fields.sboffs.get(1).map_or(0, |at| sb.geometry().byte(*at).0),
        Err(_) => Superblock::second_of_damaged(&bytes).map_or(0, |at| at.0),
    };
    let mut second = decode_at(image, disk, place).await?;
    if second.is_err()
        && let Some(copy) = match &first {
            Ok(sb) => reference(image, disk, sb).await?,
            Err(_) => search(image, disk).await?,
        }
    {
        // The place itself may be damaged.
        let at = copy.fields.sboffs.get(1).map_or(0, |at| copy.geometry().byte(*at).0);
        if at != place {
            second = decode_at(image, disk, at).await?;
        }
    }
    Ok((first, second))
}

/// A further copy, which keeps what newfs set.
async fn reference(image: &mut Image, disk: &Rc<dyn Disk>, sb: &Superblock) -> Result<Option<Superblock>, Error> {
    let g = sb.geometry();
    for at in g.sboffs.iter().skip(2).filter(|at| !at.is_hole()) {
        let copy = decode(&read_at(image, disk, g.byte(*at).0).await?, disk);
        if let Ok(copy) = copy
            && copy.fields.sboffs.contains(at)
        {
            return Ok(Some(copy));
        }
    }
    search(image, disk).await
}

/// Any copy: the disk is searched for one that says itself that it is there.
pub(super) async fn search(image: &mut Image, disk: &Rc<dyn Disk>) -> Result<Option<Superblock>, Error> {
    let (size, mut places) = (disk.info().size / 512 * 512, vec![]);
    image
        .stream(ByteOff(0), size, |from, bytes| {
            for (sector, n) in bytes.chunks_exact(512).zip(0u64..) {
                if places.len() < 64 && recognise(sector).is_some() {
                    places.push(from + n * 512);
                }
            }
        })
        .await?;
    for at in places.into_iter().filter(|at| *at > u64::from(LABEL_PAD)) {
        let copy = decode(&read_at(image, disk, at).await?, disk);
        if let Ok(copy) = copy
            && copy.fields.sboffs.iter().skip(2).any(|place| copy.geometry().byte(*place).0 == at)
        {
            return Ok(Some(copy));
        }
    }
    Ok(None)
}

/// The first superblock, or what is where the second should be, with the places of the copies that follow from the
/// other fields: for a volume on which nothing but these is wrong, everywhere.
async fn by_rule(image: &mut Image, disk: &Rc<dyn Disk>) -> Result<Option<Superblock>, Error> {
    let first = read_at(image, disk, LABEL_PAD.into()).await?;
    let second = match Superblock::second_of_damaged(&first) {
        Some(at) => read_at(image, disk, at.0).await?,
        None => vec![],
    };
    let read = [&second, &first].map(|bytes| with_copies_by_rule(bytes).and_then(|bytes| decode(&bytes, disk).ok()));
    Ok(read.into_iter().flatten().max_by_key(|sb| sb.fields.serial))
}

/// The bytes of a superblock whose checksum is right, with the list of copies that newfs would make.
fn with_copies_by_rule(bytes: &[u8]) -> Option<Vec<u8>> {
    let Magic { wide, endian } = recognise(bytes)?;
    let mut bytes = bytes.get(..SIZE)?.to_vec();
    if endian.get_u32(&bytes, SIZE - 4)? != cksum(bytes.get(..SIZE - 4)?, endian) {
        return None;
    }
    macro_rules! renew {
        ($raw:ident, $unit:expr, $s0addr:expr) => {{
            let mut raw = $raw::load(&bytes, endian)?;
            let (unit, s0addr) = ($unit(&raw), $s0addr(&raw));
            let interval = u64::from((raw.nseg / 10).max(5));
            for (i, copy) in (0u64..).zip(&mut raw.sboffs) {
                let at = match i {
                    0 => u64::from(LABEL_PAD.checked_div(unit)?),
                    _ => s0addr.checked_add(i.checked_mul(interval)?.checked_mul(raw.fsbpseg.into())?)?,
                };
                let there = i == 0 || i * interval < raw.nseg.into();
                *copy = if there { at.try_into().ok()? } else { 0 };
            }
            raw.store(&mut bytes, endian)?;
        }};
    }
    if wide {
        renew!(RawSb64, |raw: &RawSb64| raw.fsize, |raw: &RawSb64| raw.s0addr.max(0) as u64);
    } else {
        let v1 = endian.get_u32(&bytes, 4)? == 1;
        let s0addr = |raw: &RawSb32| if v1 { u64::from(LABEL_PAD / 512) } else { raw.s0addr.max(0) as u64 };
        renew!(RawSb32, |raw: &RawSb32| if v1 { 512 } else { raw.fsize }, s0addr);
    }
    let sum = cksum(bytes.get(..SIZE - 4)?, endian);
    endian.put_u32(&mut bytes, SIZE - 4, sum)?;
    Some(bytes)
}

macro_rules! fixed {
    ($($field:ident)*) => {
        /// Takes every field from `from` that the other two do not agree on.
        fn vote(right: &mut Fields, other: Option<&Fields>, from: Option<&Fields>) {
            let agrees = |same: fn(&Fields, &Fields) -> bool, right: &Fields| other.is_some_and(|o| same(o, right));
            let Some(from) = from else { return };
            $( if !agrees(|a, b| a.$field == b.$field, right) { right.$field = from.$field; } )*
            if !agrees(|a, b| a.sboffs == b.sboffs && a.s0addr == b.s0addr, right) {
                (right.sboffs, right.s0addr) = (from.sboffs, from.s0addr);
            }
        }

        /// Makes the fields of a superblock those of `right`; returns what differed.
        fn conform(sb: &mut Fields, right: &Fields) -> Vec<(&'static str, i128, i128)> {
            let mut wrong = vec![];
            $( if sb.$field != right.$field {
                wrong.push((concat!("lfs_", stringify!($field)), sb.$field.into(), right.$field.into()));
                sb.$field = right.$field;
            } )*
            if (sb.sboffs, sb.s0addr) != (right.sboffs, right.s0addr) {
                let differs = sb.sboffs.iter().zip(&right.sboffs).find(|(a, b)| a != b);
                let (found, expected) = differs.map_or((sb.s0addr.0, right.s0addr.0), |(a, b)| (a.0, b.0));
                wrong.push(("lfs_sboffs", found.into(), expected.into()));
                (sb.sboffs, sb.s0addr) = (right.sboffs, right.s0addr);
            }
            wrong
        }
    };
}

fixed!(ident size ssize dsize bsize fsize frag nseg fsbpseg sumsize ibsize inopb ifpb sepb nindir cleansz segtabsz
    maxsymlinklen maxfilesize minfreeseg resvseg interleave minfree inodefmt);

/// Makes what newfs set the same in both (S1).
fn settle(first: &mut Read, second: &mut Read, reference: Option<&Superblock>, findings: &mut Vec<Finding>) {
    let fields = |read: &Read| read.as_ref().ok().map(|sb| sb.fields.clone());
    let (one, two) = (fields(first), fields(second));
    let Some(mut right) = one.clone().or_else(|| two.clone()) else { return };
    let reference = reference.map(|sb| &sb.fields).or(one.as_ref());
    vote(&mut right, two.as_ref().filter(|_| one.is_some()), reference);
    // No kernel computes it otherwise.
    right.maxfilesize = largest(&right);
    for (copy, read) in [(0, first), (1, second)] {
        let Ok(sb) = read else { continue };
        for (field, found, right) in conform(&mut sb.fields, &right) {
            findings.push(LfsFinding::SuperblockField { copy, field, found, right }.into());
        }
        if let Err(why) = Superblock::decode(&sb.encode()) {
            *read = Err(why);
        }
    }
}

/// The largest file.
fn largest(f: &Fields) -> u64 {
    let n = u128::from(f.nindir);
    let bytes = (12 + n + n * n + n * n * n) * u128::from(f.bsize);
    bytes.min(u128::from(u64::MAX >> 1)) as u64
}

/// How far a superblock can be believed: it leads to an ifile, its place of the log's end is one, the last partial
/// segment has its serial number, and the ifile has its counts, as that of another checkpoint hardly has.
async fn belief(image: &mut Image, read: &Read) -> Result<(bool, bool, bool, bool), Error> {
    let Ok(sb) = read else { return Ok((false, false, false, false)) };
    let g = sb.geometry();
    let at = sb.fields.idaddr;
    let (mut ifile, mut own) = (false, false);
    if g.is_data_range(at, g.inode_block_units()) {
        let block = image.bytes(g.byte(at), g.ibsize as usize).await?;
        let dinode = inode_block::get_ino(&block, &g, ordo_ondisk::lfs::IFILE).ok();
        let dinode = dinode.filter(|of| of.kind() == mode::REG && of.size % u64::from(g.bsize) == 0);
        ifile = dinode.is_some();
        drop(block);
        let first = dinode.and_then(|of| of.db.first().copied()).map_or(Daddr::HOLE, Daddr::from);
        if g.is_data_range(first, g.block_units.into()) {
            let block = image.bytes(g.byte(first), g.bsize as usize).await?;
            let info = CleanerInfo::decode(&block, g.version, g.endian).ok();
            own = info
                .is_some_and(|info| (info.clean, info.dirty) == (sb.fields.nclean, g.nseg.saturating_sub(info.clean)));
        }
    }
    let place = position(image, &g, sb).await?;
    let exact = matches!(place, Position::Reached(Some(serial)) if serial == sb.fields.serial);
    Ok((ifile, matches!(place, Position::Reached(_)), exact && sb.is_clean(), own))
}

/// S2.
async fn pick(image: &mut Image, first: &Read, second: &Read) -> Result<Copy, Error> {
    let (one, two) = (belief(image, first).await?, belief(image, second).await?);
    let older = choose(first, second).mount().unwrap_or(Copy::First);
    // Where the first three say the same, the counts decide only between superblocks of the same age.
    let same_age = !matches!(choose(first, second), Choice::Older(_));
    let (one, two) = if same_age { (one, two) } else { ((one.0, one.1, one.2, true), (two.0, two.1, two.2, true)) };
    Ok(match (first, second) {
        (Ok(_), Err(_)) => Copy::First,
        (Err(_), Ok(_)) => Copy::Second,
        _ if one > two => Copy::First,
        _ if two > one => Copy::Second,
        _ => older,
    })
}

/// After an orderly unmount, the superblocks say the same.
fn differ(first: &Read, second: &Read, findings: &mut Vec<Finding>) {
    let (Ok(first), Ok(second)) = (first, second) else { return };
    if !first.is_clean() || !second.is_clean() {
        return;
    }
    let (a, b) = (&first.fields, &second.fields);
    let fields = [
        ("lfs_serial", i128::from(a.serial.0), i128::from(b.serial.0)),
        ("lfs_offset", a.offset.0.into(), b.offset.0.into()),
        ("lfs_curseg", a.curseg.0.into(), b.curseg.0.into()),
        ("lfs_nextseg", a.nextseg.0.into(), b.nextseg.0.into()),
        ("lfs_idaddr", a.idaddr.0.into(), b.idaddr.0.into()),
        ("lfs_freehd", a.freehd.0.into(), b.freehd.0.into()),
        ("lfs_bfree", a.bfree.into(), b.bfree.into()),
        ("lfs_avail", a.avail.into(), b.avail.into()),
        ("lfs_nclean", a.nclean.into(), b.nclean.into()),
        ("lfs_dmeta", a.dmeta.into(), b.dmeta.into()),
    ];
    for (field, first, second) in fields.into_iter().filter(|(_, a, b)| a != b) {
        findings.push(LfsFinding::SuperblocksDiffer { field, first, second }.into());
    }
}
