//! Decodes a summary and encodes one.

use super::raw::{RawFinfo32, RawFinfo64, RawSummary1, RawSummary2, RawSummary64};
use super::{Finfo, MAGIC, SumFlags, Summary, seal};
use crate::lfs::{Daddr, Geometry, Serial, Version, cksum};
use crate::num::{index, low32};
use crate::{Corrupt, Ino, Lbn, Rule, Structure};

/// The header of any version.
struct Header {
    sumsum: u32,
    magic: u32,
    nfinfo: u16,
    next: i64,
    summary: Summary,
}

fn damage(field: &'static str, found: impl Into<i128>, rule: Rule) -> Corrupt {
    Corrupt::new(Structure::PartialSegment, field, found, rule)
}

macro_rules! common {
    ($raw:ident, $ident:expr, $reclino:expr, $serial:expr) => {{
        let summary = Summary {
            next: Daddr(0),
            ident: $ident,
            flags: SumFlags($raw.flags),
            reclino: $reclino,
            serial: Serial($serial),
            create: $raw.create.into(),
            datasum: $raw.datasum,
            ninos: $raw.ninos,
            finfos: Vec::new(),
            inode_blocks: Vec::new(),
        };
        let next = $raw.next.into();
        Header { sumsum: $raw.sumsum, magic: $raw.magic, nfinfo: $raw.nfinfo, next, summary }
    }};
}

fn header(bytes: &[u8], g: &Geometry) -> Option<Header> {
    Some(match g.version {
        Version::V1 => {
            let raw = RawSummary1::load(bytes, g.endian)?;
            common!(raw, 0, 0, 0)
        }
        Version::V2 => {
            let raw = RawSummary2::load(bytes, g.endian)?;
            common!(raw, raw.ident, raw.reclino.into(), raw.serial)
        }
        Version::Lfs64 => {
            let raw = RawSummary64::load(bytes, g.endian)?;
            common!(raw, raw.ident, raw.reclino, raw.serial)
        }
    })
}

impl Summary {
    /// Decodes and checks the summary at the start of `bytes`. The caller gives the place in a damage's report.
    ///
    /// # Errors
    /// The first rule that it breaks, which may be a wrong checksum.
    pub fn decode(bytes: &[u8], g: &Geometry) -> Result<Summary, Corrupt> {
        let short = || Corrupt::cut_short(Structure::PartialSegment, bytes.len());
        let bytes = bytes.get(..index(g.sumsize)).ok_or_else(short)?;
        let Header { sumsum, magic, nfinfo, next, mut summary } = header(bytes, g).ok_or_else(short)?;
        if magic != MAGIC {
            return Err(damage("ss_magic", magic, Rule::IsHex(MAGIC)));
        }
        let right = cksum(bytes.get(4..).unwrap_or_default(), g.endian);
        if sumsum != right {
            return Err(damage("ss_sumsum", sumsum, Rule::IsHex(right)));
        }
        summary.next = address("ss_next", next)?;
        let blocks = u32::from(summary.ninos).div_ceil(g.inopb.max(1));
        let list = blocks.saturating_mul(g.version.pointer_size());
        let room = g.sumsize.saturating_sub(g.version.summary_header()).checked_sub(list);
        let room = room.ok_or_else(|| damage("ss_ninos", summary.ninos, too_many()))?;
        let end = g.version.summary_header().saturating_add(room);
        summary.finfos = finfos(bytes.get(..index(end)).unwrap_or_default(), nfinfo, g)?;
        summary.inode_blocks = inode_blocks(bytes, blocks, g)?;
        if g.version == Version::V1 {
            summary.serial = seal::serial_of_version_1(bytes, g, &summary);
        }
        Ok(summary)
    }

    /// The bytes of a summary, with its checksum, and with a seal if `crc` gives the checksum for one; `None` if it
    /// does not fit into one.
    pub(super) fn encode(&self, g: &Geometry, crc: Option<u32>) -> Option<Vec<u8>> {
        let mut bytes = vec![0; index(g.sumsize)];
        self.put_header(&mut bytes, g)?;
        let mut at = index(g.version.summary_header());
        for finfo in &self.finfos {
            at = put_finfo(&mut bytes, at, finfo, g)?;
        }
        let mut end = bytes.len();
        for block in &self.inode_blocks {
            end = end.checked_sub(index(g.version.pointer_size())).filter(|end| *end >= at)?;
            put_number(&mut bytes, end, i64::try_from(block.0).ok()?, g)?;
        }
        if let Some(crc) = crc {
            // The checksum of the summary covers the seal: it comes after.
            let blocks = self.inode_blocks.len();
            if seal::seal_at(g, blocks) < at {
                return None;
            }
            seal::put(&mut bytes, g, blocks, crc, self.serial)?;
        }
        let sum = cksum(bytes.get(4..)?, g.endian);
        g.endian.put_u32(&mut bytes, 0, sum)?;
        Some(bytes)
    }

    fn put_header(&self, bytes: &mut [u8], g: &Geometry) -> Option<()> {
        let nfinfo = u16::try_from(self.finfos.len()).ok()?;
        let &Summary { datasum, ninos, ident, create, .. } = self;
        let (sumsum, magic, pad, serial, flags) = (0, MAGIC, 0, self.serial.0, self.flags.0);
        match g.version {
            Version::V1 => {
                let (next, create) = (i32::try_from(self.next.0).ok()?, low32(create));
                RawSummary1 { sumsum, datasum, magic, next, create, nfinfo, ninos, flags, pad }.store(bytes, g.endian)
            }
            Version::V2 => {
                let (next, reclino) = (i32::try_from(self.next.0).ok()?, low32(self.reclino));
                let raw = RawSummary2 {
                    sumsum,
                    datasum,
                    magic,
                    next,
                    ident,
                    nfinfo,
                    ninos,
                    flags,
                    pad,
                    reclino,
                    serial,
                    create,
                };
                raw.store(bytes, g.endian)
            }
            Version::Lfs64 => {
                let (next, reclino) = (i64::try_from(self.next.0).ok()?, self.reclino);
                let raw = RawSummary64 {
                    sumsum,
                    datasum,
                    magic,
                    ident,
                    next,
                    nfinfo,
                    ninos,
                    flags,
                    pad,
                    reclino,
                    serial,
                    create,
                };
                raw.store(bytes, g.endian)
            }
        }
    }
}

fn too_many() -> Rule {
    Rule::Words("more than the summary has room for")
}

fn address(field: &'static str, n: i64) -> Result<Daddr, Corrupt> {
    u64::try_from(n).map(Daddr).map_err(|_| damage(field, n, Rule::AtLeast(0)))
}

/// A block number or an address at byte `at`.
fn number(bytes: &[u8], at: usize, g: &Geometry) -> Option<i64> {
    if g.version.is_wide() { g.endian.get_i64(bytes, at) } else { g.endian.get_i32(bytes, at).map(i64::from) }
}

fn put_number(bytes: &mut [u8], at: usize, n: i64, g: &Geometry) -> Option<()> {
    if g.version.is_wide() {
        return g.endian.put_i64(bytes, at, n);
    }
    g.endian.put_i32(bytes, at, i32::try_from(n).ok()?)
}

/// The records in `bytes`, which end where the inode blocks' addresses begin.
fn finfos(bytes: &[u8], nfinfo: u16, g: &Geometry) -> Result<Vec<Finfo>, Corrupt> {
    let mut at = index(g.version.summary_header());
    let mut finfos = Vec::new();
    for _ in 0..nfinfo {
        let (finfo, end) =
            finfo(bytes, at, g).map_err(|e| e.unwrap_or_else(|| damage("ss_nfinfo", nfinfo, too_many())))?;
        finfos.push(finfo);
        at = end;
    }
    Ok(finfos)
}

/// The record at byte `at`, and its end; an error without damage says that the bytes end before.
fn finfo(bytes: &[u8], at: usize, g: &Geometry) -> Result<(Finfo, usize), Option<Corrupt>> {
    let rest = bytes.get(at..).ok_or(None)?;
    let raw = if g.version.is_wide() {
        RawFinfo64::load(rest, g.endian).ok_or(None)?
    } else {
        let RawFinfo32 { nblocks, version, ino, lastlength } = RawFinfo32::load(rest, g.endian).ok_or(None)?;
        RawFinfo64 { nblocks, version, ino: ino.into(), lastlength, pad: 0 }
    };
    check_finfo(&raw, g).map_err(Some)?;
    let mut place = at.checked_add(index(g.version.finfo_header())).ok_or(None)?;
    // The bytes that are there bound the list before any of it is allocated.
    let end = index(raw.nblocks).checked_mul(index(g.version.pointer_size())).and_then(|len| place.checked_add(len));
    let end = end.filter(|end| *end <= bytes.len());
    let end = end.ok_or_else(|| Some(damage("fi_nblocks", raw.nblocks, too_many())))?;
    let mut lbns = Vec::with_capacity(index(raw.nblocks));
    while place < end {
        lbns.push(Lbn(number(bytes, place, g).ok_or(None)?));
        place = place.saturating_add(index(g.version.pointer_size()));
    }
    check_blocks(&lbns, raw.lastlength, g).map_err(Some)?;
    let ino = Ino(low32(raw.ino));
    Ok((Finfo { version: raw.version, ino, lastlength: raw.lastlength, lbns }, end))
}

fn check_finfo(raw: &RawFinfo64, g: &Geometry) -> Result<(), Corrupt> {
    if raw.nblocks == 0 {
        return Err(damage("fi_nblocks", raw.nblocks, Rule::AtLeast(1)));
    }
    if raw.version == 0 {
        return Err(damage("fi_version", raw.version, Rule::AtLeast(1)));
    }
    if raw.ino == 0 {
        return Err(damage("fi_ino", raw.ino, Rule::AtLeast(1)));
    }
    if raw.ino > u32::MAX.into() {
        return Err(damage("fi_ino", raw.ino, Rule::AtMost(u32::MAX.into())));
    }
    if raw.lastlength == 0 {
        return Err(damage("fi_lastlength", raw.lastlength, Rule::AtLeast(1)));
    }
    if raw.lastlength > g.bsize {
        return Err(damage("fi_lastlength", raw.lastlength, Rule::AtMost(g.bsize.into())));
    }
    Ok(())
}

/// Every number must be one that a pointer leads to, and only a direct block can be short.
fn check_blocks(lbns: &[Lbn], lastlength: u32, g: &Geometry) -> Result<(), Corrupt> {
    let tree = g.tree();
    let is_block = |lbn: &Lbn| if lbn.0 < 0 { tree.level(*lbn).is_some() } else { tree.path(*lbn).is_some() };
    if let Some(wrong) = lbns.iter().find(|lbn| !is_block(lbn)) {
        return Err(damage("fi_blocks", wrong.0, Rule::Words("which is no block of a file")));
    }
    let last = lbns.last().is_some_and(|lbn| (0..12).contains(&lbn.0));
    if lastlength != g.bsize && !last {
        return Err(damage("fi_lastlength", lastlength, Rule::Is(g.bsize.into())));
    }
    Ok(())
}

fn put_finfo(bytes: &mut [u8], at: usize, finfo: &Finfo, g: &Geometry) -> Option<usize> {
    let &Finfo { version, lastlength, ino: Ino(ino), .. } = finfo;
    let nblocks = u32::try_from(finfo.lbns.len()).ok()?;
    let place = bytes.get_mut(at..)?;
    if g.version.is_wide() {
        RawFinfo64 { nblocks, version, ino: ino.into(), lastlength, pad: 0 }.store(place, g.endian)?;
    } else {
        RawFinfo32 { nblocks, version, ino, lastlength }.store(place, g.endian)?;
    }
    let mut at = at.checked_add(index(g.version.finfo_header()))?;
    for lbn in &finfo.lbns {
        put_number(bytes, at, lbn.0, g)?;
        at = at.checked_add(index(g.version.pointer_size()))?;
    }
    Some(at)
}

/// The addresses of `n` inode blocks: they are stored from the end of the summary downwards.
fn inode_blocks(bytes: &[u8], n: u32, g: &Geometry) -> Result<Vec<Daddr>, Corrupt> {
    let mut end = bytes.len();
    let mut blocks = Vec::new();
    for _ in 0..n {
        end = end.saturating_sub(index(g.version.pointer_size()));
        let at = number(bytes, end, g).ok_or_else(|| Corrupt::cut_short(Structure::PartialSegment, bytes.len()))?;
        blocks.push(address("ss_inode_blocks", at)?);
    }
    Ok(blocks)
}
