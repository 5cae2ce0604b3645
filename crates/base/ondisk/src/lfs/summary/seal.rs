//! The seal of a partial segment: a checksum over all of its bytes, which OrdoFS adds to those of the format.
//!
//! E1. The format's checksum of the blocks covers 4 bytes of each. A block of which only the first bytes reached the
//!     disk before a crash passes it, and a roll-forward would take the torn block for the file's. The seal's does not
//!     let it pass.
//! E2. The seal is 16 bytes in the gap of the summary that no list uses, directly below the addresses of the inode
//!     blocks: `OrdoSeal`, a CRC-32C over all bytes behind the summary in the volume's byte order, and 32 bits of 0.
//!     Other programs ignore these bytes, but sum them with the summary.
//! E3. Without the name there is no seal: other programs write none. Version 1 has none, since its log is not rolled
//!     forward.

use super::Summary;
use crate::lfs::{Geometry, Version};
use crate::num::index;

/// The name that begins a seal.
const NAME: [u8; 8] = *b"OrdoSeal";
/// Bytes of a seal.
pub const SEAL: usize = 16;
const CRC_AT: usize = 8;
const ZERO_AT: usize = 12;

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
    index(g.sumsize).saturating_sub(list).saturating_sub(SEAL)
}

/// The checksum that a seal has, over the bytes behind the summary. Of bytes in pieces, `crc` is that of those before.
pub fn crc(crc: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc, bytes)
}

/// Writes a seal with this checksum into a summary. `None`, and nothing written, if the summary is too short.
pub fn put(summary: &mut [u8], g: &Geometry, inode_blocks: usize, crc: u32) -> Option<()> {
    let seal = summary.get_mut(seal_at(g, inode_blocks)..)?.get_mut(..SEAL)?;
    seal.get_mut(..CRC_AT)?.copy_from_slice(&NAME);
    g.endian.put_u32(seal, CRC_AT, crc)?;
    g.endian.put_u32(seal, ZERO_AT, 0)
}

/// Checks the seal of a partial segment: `summary` was decoded from the start of `pseg`, which has all its bytes and
/// no others.
pub fn verify(pseg: &[u8], g: &Geometry, summary: &Summary) -> Seal {
    let at = seal_at(g, summary.inode_blocks.len());
    let seal = pseg.get(at..).and_then(|rest| rest.get(..SEAL)).unwrap_or_default();
    if g.version == Version::V1 || at < summary.records_end(g) || !seal.starts_with(&NAME) {
        return Seal::Absent;
    }
    let right = pseg.get(index(g.sumsize)..).map(|body| crc(0, body));
    let zero = g.endian.get_u32(seal, ZERO_AT) == Some(0);
    if zero && right.is_some() && g.endian.get_u32(seal, CRC_AT) == right { Seal::Good } else { Seal::Torn }
}

/// Bytes of the summary that must stay free for the seal.
pub(super) fn reserved(version: Version) -> u32 {
    if version == Version::V1 { 0 } else { 16 }
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
        for (version, endian) in
            [(Version::V2, Endian::Little), (Version::V2, Endian::Big), (Version::Lfs64, Endian::Big)]
        {
            let g = geometry(version, endian);
            let (pseg, bytes) = full(&g);
            let summary = Summary::decode(&bytes, &g).expect("OK to expect: it was encoded");
            assert_eq!(summary.finfos.len(), pseg.summary(&Stamp::default(), 0).finfos.len());
            assert_eq!(verify(&bytes, &g, &summary), Seal::Good);
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
        let g = geometry(Version::V2, Endian::Little);
        let (pseg, mut bytes) = full(&g);
        let stamp = Stamp { next: g.segment_start(crate::lfs::SegNo(4)), ..Stamp::default() };
        assert_eq!(pseg.seal(&stamp, &mut bytes), Some(()));
        let summary = Summary::decode(&bytes, &g).expect("OK to expect: it was encoded");
        assert_eq!(verify(&bytes, &g, &summary), Seal::Absent);
    }
}
