//! A segment of the journal: records that are written to the disk together.

use super::{RECORD, RawSegment, Record};
use crate::num::len64;
use crate::{Corrupt, Endian, Rule, Structure};

/// The head of a segment, without the fields that follow from its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Segment {
    /// Its number: one more than that of the segment before.
    pub seq: u64,
    /// The oldest segment that was still needed.
    pub oldest: u64,
    /// `fs_mtime` of the session.
    pub time: i64,
}

/// Records that fit in a sector of `sector` bytes beside the head.
pub fn records_per_sector(sector: usize) -> usize {
    (sector / RECORD).saturating_sub(1)
}

/// Sectors of a segment of `records` records; 0 where a sector holds none.
pub fn sectors_for(records: usize, sector: usize) -> usize {
    let per = records_per_sector(sector);
    if per == 0 { 0 } else { records.div_ceil(per) }
}

/// The bytes of a segment: whole sectors of `sector` bytes, each with the segment's head.
///
/// # Errors
/// No record, a sector too small for one, or more records than the head can count.
pub fn lay_out(segment: Segment, records: &[Record], sector: usize, endian: Endian) -> Result<Vec<u8>, Corrupt> {
    let broken = |field, found: usize, rule| Corrupt::new(Structure::Journal, field, len64(found), rule);
    let per = records_per_sector(sector);
    if per == 0 {
        return Err(broken("sector", sector, Rule::AtLeast(len64(RECORD).saturating_mul(2).into())));
    }
    let too_many = |_| broken("jsr_cnt", records.len(), Rule::AtMost(u16::MAX.into()));
    let cnt = u16::try_from(records.len()).map_err(too_many)?;
    if cnt == 0 {
        return Err(broken("jsr_cnt", 0, Rule::AtLeast(1)));
    }
    let sectors = records.len().div_ceil(per);
    let blocks = u16::try_from(sectors).map_err(too_many)?;
    let head = RawSegment { seq: segment.seq, oldest: segment.oldest, cnt, blocks, crc: 0, time: segment.time };
    let mut bytes = vec![0; sectors.saturating_mul(sector)];
    for (into, records) in bytes.chunks_exact_mut(sector).zip(records.chunks(per)) {
        // Neither can fail: a place is as long as a record.
        let mut places = into.chunks_exact_mut(RECORD);
        let _ = places.next().and_then(|place| head.store(place, endian));
        for (place, record) in places.zip(records) {
            let _ = record.encode(place, endian);
        }
    }
    Ok(bytes)
}

/// A complete segment in the bytes of an extent.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    /// Its head.
    pub segment: Segment,
    /// Byte of the extent at which it starts.
    pub at: usize,
    count: u16,
    bytes: &'a [u8],
    sector: usize,
    endian: Endian,
}

impl<'a> Found<'a> {
    /// Number of records according to its head.
    pub fn count(&self) -> usize {
        self.count.into()
    }

    /// Bytes of its sectors.
    pub fn len_on_disk(&self) -> usize {
        self.bytes.len()
    }

    /// Its records, in order. What they name is not checked: [`Record::check`].
    ///
    /// # Errors
    /// Each record that cannot be decoded; and, once, a number of records that does not fit in its sectors.
    pub fn records(&self) -> impl Iterator<Item = Result<Record, Corrupt>> + 'a {
        let (endian, count) = (self.endian, usize::from(self.count));
        let sectors = self.bytes.chunks_exact(self.sector.max(1)).len();
        let room = records_per_sector(self.sector).saturating_mul(sectors);
        let lacking = (count > room)
            .then(|| Err(Corrupt::new(Structure::Journal, "jsr_cnt", self.count, Rule::AtMost(len64(room).into()))));
        let places = self.bytes.chunks_exact(self.sector.max(1)).flat_map(|s| s.chunks_exact(RECORD).skip(1));
        places.take(count).map(move |place| Record::decode(place, endian)).chain(lacking)
    }
}

/// The segments of session `time` in an extent of the journal, in order of place. `sector` is the disk's sector size.
/// Incomplete segments are skipped (ondisk-suj-2).
pub fn segments(extent: &[u8], sector: usize, time: i64, endian: Endian) -> Segments<'_> {
    Segments { extent, sector: sector.max(RECORD), time, endian, next: 0 }
}

/// Whether these whole sectors may contain a part of a segment of session `time`, whatever the disk's sector size: each
/// sector of a segment identifies its session (ondisk-suj-2).
pub fn may_hold_segments(bytes: &[u8], time: i64, endian: Endian) -> bool {
    bytes.chunks(SECTOR_MIN).any(|sector| RawSegment::load(sector, endian).is_some_and(|head| head.time == time))
}

/// The smallest sector size of disks, in bytes.
const SECTOR_MIN: usize = 512;

/// See [`segments`].
#[derive(Debug, Clone)]
pub struct Segments<'a> {
    extent: &'a [u8],
    sector: usize,
    time: i64,
    endian: Endian,
    next: usize,
}

impl<'a> Segments<'a> {
    fn head(&self, at: usize) -> Option<RawSegment> {
        let sector = self.extent.get(at..at.checked_add(self.sector)?)?;
        RawSegment::load(sector, self.endian)
    }

    /// The segment that starts at byte `at`, or how many of its sectors are there.
    fn whole(&self, at: usize, head: &RawSegment) -> Result<Found<'a>, usize> {
        let blocks = usize::from(head.blocks);
        let end = at.saturating_add(blocks.saturating_mul(self.sector));
        if head.time != self.time || head.cnt == 0 || blocks == 0 {
            return Err(1);
        }
        let bytes = self.extent.get(at..end).ok_or(1usize)?;
        for n in 1..blocks {
            let same = self.head(at.saturating_add(n.saturating_mul(self.sector)));
            if same.is_none_or(|same| (same.seq, same.time) != (head.seq, head.time)) {
                return Err(n);
            }
        }
        let segment = Segment { seq: head.seq, oldest: head.oldest, time: head.time };
        Ok(Found { segment, at, count: head.cnt, bytes, sector: self.sector, endian: self.endian })
    }
}

impl<'a> Iterator for Segments<'a> {
    type Item = Found<'a>;

    fn next(&mut self) -> Option<Found<'a>> {
        loop {
            let at = self.next;
            let head = self.head(at)?;
            let found = self.whole(at, &head);
            let past = match &found {
                Ok(found) => found.bytes.len(),
                Err(sectors) => sectors.saturating_mul(self.sector),
            };
            self.next = at.saturating_add(past.max(self.sector));
            if let Ok(found) = found {
                return Some(found);
            }
        }
    }
}

const _: () = assert!(RawSegment::SIZE == RECORD);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ino;
    use crate::suj::TruncRecord;

    fn record(size: u64) -> Record {
        Record::Trunc(TruncRecord { ino: Ino(3), size, extsize: 0 })
    }

    fn segment(seq: u64, records: usize) -> Vec<u8> {
        let all: Vec<_> = (0..records).map(|n| record(seq * 1000 + len64(n))).collect();
        lay_out(Segment { seq, oldest: 1, time: 77 }, &all, 512, Endian::Big).unwrap()
    }

    fn found(extent: &[u8]) -> Vec<(u64, usize, usize)> {
        segments(extent, 512, 77, Endian::Big).map(|f| (f.segment.seq, f.at, f.count())).collect()
    }

    #[test]
    fn every_sector_has_the_head_and_fifteen_records() {
        let bytes = segment(2, 16);
        assert_eq!(
            (bytes.len(), records_per_sector(512), sectors_for(16, 512), sectors_for(15, 512)),
            (1024, 15, 2, 1)
        );
        let head = "000000000000000200000000000000010010000200000000000000000000004d";
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        assert_eq!((hex(&bytes[..32]), hex(&bytes[512..544])), (head.into(), head.into()));
        assert_eq!(Record::decode(&bytes[512 + 32..], Endian::Big), Ok(record(2015)));
        assert!(bytes[512 + 64..].iter().all(|&b| b == 0));
        let little = Segment { seq: 2, oldest: 1, time: 77 };
        let bytes = lay_out(little, &[record(5); 40], 4096, Endian::Little).unwrap();
        assert_eq!(
            (bytes.len(), hex(&bytes[..32])),
            (4096, format!("{}{}", "02000000000000000100000000000000", "28000100000000004d00000000000000"))
        );
    }

    #[test]
    fn what_was_laid_out_is_found_with_all_its_records() {
        let extent = [vec![0; 512], segment(7, 31), segment(8, 1), vec![0xff; 1024], segment(9, 15)].concat();
        assert_eq!(found(&extent), [(7, 512, 31), (8, 2048, 1), (9, 3584, 15)]);
        let first = segments(&extent, 512, 77, Endian::Big).next().unwrap();
        let right: Vec<_> = (0..31).map(|n| Ok(record(7000 + n))).collect();
        assert_eq!(first.records().collect::<Vec<_>>(), right);
        assert_eq!((first.segment, first.len_on_disk()), (Segment { seq: 7, oldest: 1, time: 77 }, 1536));
        assert_eq!(segments(&extent, 512, 78, Endian::Big).count(), 0);
        assert_eq!(segments(&extent, 512, 77, Endian::Little).count(), 0);
        assert_eq!(segments(&extent[..100], 512, 77, Endian::Big).count(), 0);
    }

    #[test]
    fn sectors_without_a_head_of_the_session_hold_nothing() {
        let large = lay_out(Segment { seq: 2, oldest: 1, time: 77 }, &[record(5); 40], 4096, Endian::Big).unwrap();
        for bytes in [[vec![0; 512], segment(7, 16)].concat(), large] {
            assert!(may_hold_segments(&bytes, 77, Endian::Big));
            assert!(!may_hold_segments(&bytes, 78, Endian::Big) && !may_hold_segments(&bytes, 77, Endian::Little));
        }
        assert!(!may_hold_segments(&[0; 1024], 77, Endian::Big));
    }

    #[test]
    fn torn_segment_is_none_and_what_follows_it_is_found() {
        let torn = [&segment(7, 40)[..1024], &segment(8, 1)[..]].concat();
        assert_eq!(found(&torn), [(8, 1024, 1)]);
        assert_eq!(found(&segment(7, 40)[..1024]), []);
        let mut older = segment(7, 40);
        older[512..1024].copy_from_slice(&segment(3, 40)[512..1024]);
        assert_eq!(found(&older), []);
        let mut of_another_time = segment(7, 40);
        of_another_time[512 + 24] ^= 1;
        assert_eq!(found(&of_another_time), []);
        for (at, byte) in [(17, 0), (19, 0), (31, 0)] {
            let mut bytes = segment(7, 1);
            bytes[at] = byte;
            assert_eq!(found(&bytes), [], "{at}");
        }
    }

    #[test]
    fn more_records_than_sectors_hold_are_told() {
        let mut bytes = segment(7, 15);
        bytes[17] = 200;
        let only = segments(&bytes, 512, 77, Endian::Big).next().unwrap();
        let said: Vec<_> = only.records().collect();
        assert_eq!((said.len(), said[15].as_ref().unwrap_err().field), (16, "jsr_cnt"));
        bytes[32..36].fill(0xff);
        let only = segments(&bytes, 512, 77, Endian::Big).next().unwrap();
        assert_eq!(only.records().next().unwrap().unwrap_err().field, "j_op");
    }

    #[test]
    fn records_that_make_no_segment_are_refused() {
        let head = Segment { seq: 1, oldest: 1, time: 1 };
        let field = |n: usize, sector| lay_out(head, &vec![record(1); n], sector, Endian::Big).unwrap_err().field;
        assert_eq!((field(0, 512), field(65536, 512), field(1, 32)), ("jsr_cnt", "jsr_cnt", "sector"));
    }
}
