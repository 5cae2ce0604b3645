//! The seal of a partial segment: a checksum over all of its bytes, which OrdoFS adds to those of the format.
//!
//! E1. The format's checksum of the blocks covers 4 bytes of each. A block of which only the first bytes reached the
//!     disk before a crash passes it, and a roll-forward would take the torn block for the file's. The seal's does not
//!     let it pass.
//! E2. The seal is 16 bytes in the gap of the summary that no list uses, directly below the addresses of the inode
//!     blocks: `OrdoSeal`, a CRC-32C over all bytes behind the summary in the volume's byte order, and 32 bits of 0.
//!     Other programs ignore these bytes, but sum them with the summary.
//! E3. Without the name there is no seal: other programs write none.
//! E4. Version 1 has no serial numbers, so nothing of the format tells a summary that continues the log from an older
//!     one in the same place. There the seal is 8 bytes longer and ends with a serial number, 64 bits in the volume's
//!     byte order; [`Summary::serial`] is that one. A summary of version 1 without a seal continues no log.

use super::Summary;
use crate::lfs::{Geometry, Serial, Version};
use crate::num::index;

/// The name that begins a seal.
const NAME: [u8; 8] = *b"OrdoSeal";
const CRC_AT: usize = 8;
const ZERO_AT: usize = 12;
/// Version 1 only (E4).
const SERIAL_AT: usize = 16;

/// What the seal says of a partial segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seal {
    /// It has none.
    Absent,
    /// All bytes are those that were written.
    Good,
    /// Some bytes are not those that were written, or are missing: the log ends before it.
    Torn,
}

/// Index in the summary of the seal's first byte, with this many inode blocks. Less than the end of the records if the
/// summary has no room for it.
pub fn seal_at(g: &Geometry, inode_blocks: usize) -> usize {
    let list = inode_blocks.saturating_mul(index(g.version.pointer_size()));
    index(g.sumsize).saturating_sub(list).saturating_sub(index(size(g.version)))
}

/// The checksum that a seal has, over the bytes behind the summary. Of bytes in pieces, `crc` is that of those before.
pub fn crc(crc: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc, bytes)
}

/// Writes a seal with this checksum into a summary; `serial` is part of it in version 1 (E4). `None`, and nothing
/// written, if the summary is too short.
pub fn put(summary: &mut [u8], g: &Geometry, inode_blocks: usize, crc: u32, serial: Serial) -> Option<()> {
    let seal = summary.get_mut(seal_at(g, inode_blocks)..)?.get_mut(..index(size(g.version)))?;
    seal.get_mut(..CRC_AT)?.copy_from_slice(&NAME);
    g.endian.put_u32(seal, CRC_AT, crc)?;
    g.endian.put_u32(seal, ZERO_AT, 0)?;
    if g.version == Version::V1 { g.endian.put_u64(seal, SERIAL_AT, serial.0) } else { Some(()) }
}

/// The bytes of the seal in a summary's bytes, if there is one.
fn find<'a>(bytes: &'a [u8], g: &Geometry, summary: &Summary) -> Option<&'a [u8]> {
    let at = seal_at(g, summary.inode_blocks.len());
    let seal = bytes.get(at..)?.get(..index(size(g.version)))?;
    (at >= summary.records_end(g) && seal.starts_with(&NAME)).then_some(seal)
}

/// The serial number of a summary of version 1, whose bytes these are: that of its seal, or 0 (E4).
pub(super) fn serial_of_version_1(bytes: &[u8], g: &Geometry, summary: &Summary) -> Serial {
    let serial = find(bytes, g, summary).and_then(|seal| g.endian.get_u64(seal, SERIAL_AT));
    Serial(serial.unwrap_or(0))
}

/// Checks the seal of a partial segment: `summary` was decoded from the start of `pseg`, which has all its bytes and
/// no others.
pub fn verify(pseg: &[u8], g: &Geometry, summary: &Summary) -> Seal {
    let Some(seal) = find(pseg, g, summary) else { return Seal::Absent };
    let right = pseg.get(index(g.sumsize)..).map(|body| crc(0, body));
    let zero = g.endian.get_u32(seal, ZERO_AT) == Some(0);
    if zero && right.is_some() && g.endian.get_u32(seal, CRC_AT) == right { Seal::Good } else { Seal::Torn }
}

/// Bytes of a seal.
pub(super) fn size(version: Version) -> u32 {
    if version == Version::V1 { 24 } else { 16 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ino;
    use crate::lfs::summary::{PsegBuilder, Stamp, SumFlags};
    use crate::lfs::{Daddr, NewfsOptions, Serial};
    use crate::{Endian, Lbn};

    fn geometry(version: Version, endian: Endian) -> Geometry {
        let of = NewfsOptions { endian, ident: 7, ..NewfsOptions::new(version, 16 << 20) };
        of.superblock().expect("OK to expect: the defaults are valid").geometry()
    }

    /// A partial segment with as many blocks as its summary takes, and its bytes, sealed.
    fn full(g: &Geometry) -> (PsegBuilder, Vec<u8>) {
        let mut pseg = PsegBuilder::new(g, g.segment_start(crate::lfs::SegNo(3))).expect("OK to expect: a segment");
        pseg.inode().expect("OK to expect: the first inode fits");
        let mut ino = 10;
        while pseg.block(Ino(ino), 1, Lbn(0), 512).is_ok() {
            ino += 1;
        }
        let mut bytes: Vec<u8> = (0..pseg.bytes()).map(|i| u8::try_from(i % 251).unwrap_or(0)).collect();
        let stamp = Stamp { flags: SumFlags::RFW, serial: Serial(5), create: 9, next: Daddr(0), reclino: 0 };
        let stamp = Stamp { next: g.segment_start(crate::lfs::SegNo(4)), ..stamp };
        pseg.seal_with_crc(&stamp, &mut bytes).expect("OK to expect: all bytes are there");
        (pseg, bytes)
    }

    #[test]
    fn full_summary_keeps_room_for_its_seal() {
        let forms = [Version::V1, Version::V2, Version::Lfs64];
        for (version, endian) in forms.into_iter().flat_map(|v| [(v, Endian::Little), (v, Endian::Big)]) {
            let g = geometry(version, endian);
            let (pseg, bytes) = full(&g);
            let summary = Summary::decode(&bytes, &g).expect("OK to expect: it was encoded");
            assert_eq!(summary.finfos.len(), pseg.summary(&Stamp::default(), 0).finfos.len());
            assert_eq!(verify(&bytes, &g, &summary), Seal::Good);
            assert_eq!(summary.serial, Serial(5), "{version:?}");
        }
    }

    #[test]
    fn seal_sees_a_byte_that_the_checksum_of_the_blocks_does_not_cover() {
        let g = geometry(Version::V2, Endian::Little);
        let (pseg, mut bytes) = full(&g);
        let summary = Summary::decode(&bytes, &g).expect("OK to expect: it was encoded");
        if let Some(last) = bytes.last_mut() {
            *last ^= 1;
        }
        assert_eq!(pseg.pseg().check_data(&summary, &bytes, &g), Ok(()));
        assert_eq!(verify(&bytes, &g, &summary), Seal::Torn);
        assert_eq!(verify(bytes.get(..bytes.len() - 1).unwrap_or_default(), &g, &summary), Seal::Torn);
    }

    #[test]
    fn partial_segment_without_the_name_has_no_seal() {
        for version in [Version::V1, Version::V2] {
            let g = geometry(version, Endian::Little);
            let (pseg, mut bytes) = full(&g);
            let (next, serial) = (g.segment_start(crate::lfs::SegNo(4)), Serial(5));
            assert_eq!(pseg.seal(&Stamp { next, serial, ..Stamp::default() }, &mut bytes), Some(()));
            let summary = Summary::decode(&bytes, &g).expect("OK to expect: it was encoded");
            assert_eq!(verify(&bytes, &g, &summary), Seal::Absent);
            let right = if version == Version::V1 { Serial(0) } else { serial };
            assert_eq!(summary.serial, right, "without a seal, version 1 has no number");
        }
    }
}
