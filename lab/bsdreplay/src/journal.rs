//! The journal: its file, the segments that count, and their records.
//!
//! E1. The first `.sujournal` of the root directory is the journal, if its links, mode, flags, size and time are right.
//! S1. A sector begins a segment if it has the volume's time and counts a record. The rest of the segment must repeat
//!     number and time; if a sector does not, the scan goes on there. No checksum is looked at.
//! S2. A segment lies in one read, of at most 1 MiB of one extent; one block behind the begin of a read is read again.
//! S3. Segments before the largest `jsr_oldest` of all segments do not count.
//! S4. The others must be a rotation of an ascending row that begins with the oldest. Behind a gap nothing counts.

use crate::names::Directory;
use crate::outcome::{Done, Why, give_up};
use crate::replay::Replay;
use ordo_ondisk::suj::{self, RawSegment, Record};
use ordo_ondisk::{Dinode, FragNo, Ino, Lbn};

/// The longest read, in bytes.
const READ: usize = 1 << 20;

struct Segment {
    seq: u64,
    oldest: u64,
    count: usize,
    bytes: Vec<u8>,
}

impl Replay {
    /// The records that count, in order.
    pub(crate) fn records(&self, sector: usize) -> Done<Vec<Record>> {
        let mut all = vec![];
        for (first, blocks) in self.journal()? {
            let len = blocks as usize * self.volume.geo.bsize as usize;
            let extent = self.volume.read(self.volume.geo.byte(first).0, len)?;
            self.scan(&extent, sector, &mut all)?;
        }
        let mut records = vec![];
        for segment in pruned(all)? {
            let places = segment.bytes.chunks(sector).flat_map(|sector| sector.chunks(suj::RECORD).skip(1));
            for place in places.take(segment.count) {
                let record = Record::decode(place, self.volume.geo.endian);
                let record = record.map_err(|damage| Why::Other(damage.to_string()))?;
                record.check(&self.volume.geo).map_err(|damage| Why::Other(damage.to_string()))?;
                records.push(record);
            }
        }
        Ok(records)
    }

    /// The extents of the journal, in blocks (E1).
    fn journal(&self) -> Done<Vec<(FragNo, u64)>> {
        let (volume, geo) = (&self.volume, &self.volume.geo);
        let root = volume.dinode(Ino::ROOT.0)?;
        let named = Directory::read(volume, &root)?.into_iter().find(|entry| entry.name == suj::NAME.as_bytes());
        let Some(named) = named else { return give_up("there is no journal") };
        let dinode: Dinode = volume.dinode(named.ino)?;
        let modrev = i64::from_ne_bytes(dinode.modrev.to_ne_bytes());
        let right = dinode.nlink == 1 && dinode.mode == suj::MODE && dinode.flags & suj::FLAGS == suj::FLAGS;
        if !right || dinode.size < suj::SUJ_MIN || modrev != volume.sb.fields.mtime {
            return give_up("the journal's inode is not that of this mount");
        }
        let mut extents: Vec<(FragNo, u64)> = vec![];
        for lbn in 0..dinode.size / u64::from(geo.bsize) {
            let (frag, frags) = volume.pointer(&dinode, Lbn(lbn as i64))?;
            if frag.is_hole() || frags != geo.frag {
                return give_up("the journal has a hole");
            }
            match extents.last_mut() {
                Some((first, blocks)) if first.0 + *blocks * u64::from(geo.frag) == frag.0 => *blocks += 1,
                _ => extents.push((frag, 1)),
            }
        }
        Ok(extents)
    }

    /// S1, S2.
    fn scan(&self, extent: &[u8], sector: usize, all: &mut Vec<Segment>) -> Done<()> {
        let (block, mut start) = (self.volume.geo.bsize as usize, 0);
        let sector = sector.max(suj::RECORD);
        while start < extent.len() {
            let end = (start + READ).min(extent.len());
            let mut at = start;
            let mut again = None;
            while at < end {
                let head = self.head(extent, at);
                let Some(head) = head.filter(|head| head.time == self.volume.sb.fields.mtime && head.cnt != 0) else {
                    at += sector;
                    continue;
                };
                let len = usize::from(head.blocks) * sector;
                if len == 0 {
                    return give_up("a segment without sectors, on which the scan does not end");
                }
                if at + len > end {
                    if end - at < block && at > start && len <= block {
                        again = Some(at);
                        break;
                    }
                    at += sector;
                    continue;
                }
                let same = |at: &usize| {
                    let other = self.head(extent, *at);
                    other.is_some_and(|other| (other.seq, other.time) == (head.seq, head.time))
                };
                match (at..at + len).step_by(sector).find(|at| !same(at)) {
                    Some(other) => at = other,
                    None => {
                        let bytes = extent.get(at..at + len).unwrap_or_default().to_vec();
                        let (seq, oldest, count) = (head.seq, head.oldest, head.cnt.into());
                        all.push(Segment { seq, oldest, count, bytes });
                        at += len;
                    }
                }
            }
            // At the end of the extent there is nothing more to read.
            start = again.filter(|_| end < extent.len()).unwrap_or(end);
        }
        Ok(())
    }

    fn head(&self, extent: &[u8], at: usize) -> Option<RawSegment> {
        RawSegment::load(extent.get(at..)?, self.volume.geo.endian)
    }
}

/// S3, S4.
fn pruned(mut all: Vec<Segment>) -> Done<Vec<Segment>> {
    let oldest = all.iter().map(|segment| segment.oldest).max().unwrap_or(0);
    all.retain(|segment| segment.seq >= oldest);
    if all.is_empty() {
        return Ok(all);
    }
    while matches!((all.first(), all.last()), (Some(head), Some(tail)) if tail.seq < head.seq) {
        all.rotate_right(1);
    }
    if all.first().map(|segment| segment.seq) != Some(oldest) {
        return Err(Why::Void(oldest));
    }
    let row = all.iter().zip(oldest..).take_while(|(segment, want)| segment.seq == *want).count();
    all.truncate(row);
    Ok(all)
}
