//! From the journal file to its records: steps 1 to 3 of the recovery.
//!
//! The segment headers alone decide which segments count. Those before the oldest one that the newest header still
//! needs are obsolete; those after a gap were never acknowledged, because each waits for the ones before it.

use super::replay::Replay;
use crate::outcome::NotReplayed;
use crate::walk::{Pointer, Slot, Walk};
use ordo_ondisk::suj::{self, Record};
use ordo_ondisk::{Dinode, FragNo, Ino, dirent};

/// The most bytes of journal that are read. FreeBSD makes none above 32 MiB.
const BYTES_MAX: u64 = 256 << 20;
/// Sector sizes of disks.
const SECTORS: [usize; 4] = [512, 1024, 2048, 4096];

/// The contents of the journal that count.
pub(super) struct Journal {
    pub(super) records: Vec<Record>,
    pub(super) segments: u64,
}

impl Replay {
    /// Finds the journal, and extracts what counts.
    pub(super) async fn read_journal(&mut self) -> Result<Journal, NotReplayed> {
        let ino = self.journal_inode().await?;
        let dinode = self.dinode(ino).await?;
        self.is_journal(&dinode)?;
        let extents = self.extents(ino, &dinode).await?;
        let (time, endian) = (self.sb.fields.mtime, self.geo.endian);
        // Usually little of a journal is in use when the power fails: only those stretches are kept.
        let mut bytes: Vec<Vec<u8>> = vec![];
        for (first, blocks) in extents {
            let (len, mut next) = (blocks as u64 * u64::from(self.geo.bsize), None);
            let keep = |from: u64, piece: &[u8]| {
                if !suj::may_hold_segments(piece, time, endian) {
                    return;
                }
                match bytes.last_mut().filter(|_| next == Some(from)) {
                    Some(stretch) => stretch.extend_from_slice(piece),
                    None => bytes.push(piece.to_vec()),
                }
                next = Some(from + piece.len() as u64);
            };
            self.image.stream(self.geo.byte(first), len, keep).await?;
        }
        let found = kept(&bytes, self.sector, time, endian)?;
        let next = found.last().map_or(0, |last| last.segment.seq.saturating_add(1));
        for other in SECTORS.into_iter().filter(|other| *other != self.sector) {
            // A header that is valid only with another sector size: the journal came from another disk.
            let mut all = bytes.iter().flat_map(|extent| suj::segments(extent, other, time, endian));
            if all.any(|f| if found.is_empty() { true } else { f.segment.seq == next }) {
                return Err(NotReplayed::Sectors { found: other, disk: self.sector });
            }
        }
        let mut records = Vec::with_capacity(found.iter().map(suj::Found::count).sum());
        for record in found.iter().flat_map(suj::Found::records) {
            let record = record?;
            record.check(&self.geo)?;
            records.push(record);
        }
        Ok(Journal { records, segments: found.len() as u64 })
    }

    pub(super) async fn journal_inode(&mut self) -> Result<u32, NotReplayed> {
        self.file_in_root(suj::NAME).await?.ok_or(NotReplayed::Missing)
    }

    /// The inode of a name in the root directory.
    pub(crate) async fn file_in_root(&mut self, name: &str) -> Result<Option<u32>, NotReplayed> {
        let root = self.dinode(Ino::ROOT.0).await?;
        if !root.is_dir() {
            return Err(NotReplayed::Inode { ino: Ino::ROOT.0, what: "the root is no directory" });
        }
        let named = |_, entry: &dirent::Dirent<'_>| (entry.name == name.as_bytes()).then_some(entry.ino);
        let found = self.look_at_names(Ino::ROOT.0, &root, named).await?;
        Ok(found.filter(|ino| self.geo.is_valid_ino(*ino)).map(|ino| ino.0))
    }

    fn is_journal(&self, dinode: &Dinode) -> Result<(), NotReplayed> {
        self.is_journal_file(dinode)?;
        let volume = self.sb.fields.mtime;
        if dinode.modrev != u64::from_ne_bytes(volume.to_ne_bytes()) {
            return Err(NotReplayed::Stale { journal: dinode.modrev, volume });
        }
        Ok(())
    }

    /// Valid for any session.
    pub(super) fn is_journal_file(&self, dinode: &Dinode) -> Result<(), NotReplayed> {
        let is = |field, found: u64, right: u64| match found == right {
            true => Ok(()),
            false => Err(NotReplayed::NotAJournal { field, found, right }),
        };
        is("di_mode", dinode.mode.into(), suj::MODE.into())?;
        is("di_nlink", dinode.nlink.into(), 1)?;
        is("di_flags", (dinode.flags & suj::FLAGS).into(), suj::FLAGS.into())?;
        is("di_size", dinode.size, self.geo.blkroundup(dinode.size.clamp(suj::SUJ_MIN, BYTES_MAX)))
    }

    /// The blocks of the journal in the order of the file, merged where they are contiguous.
    pub(crate) async fn extents(&mut self, ino: u32, dinode: &Dinode) -> Result<Vec<(FragNo, usize)>, NotReplayed> {
        let mut extents: Vec<(FragNo, usize)> = vec![];
        let (mut walk, mut lbn, end) = (Walk::new(&self.geo, dinode), 0, dinode.size / u64::from(self.geo.bsize));
        while lbn < end {
            // The first pointer that leads elsewhere than to the next block skips it.
            let leads_on = |pointer: &Pointer| pointer.lbn == lbn && !matches!(pointer.slot, Slot::Ext(_));
            let Some(pointer) = self.step(ino, &mut walk).await?.filter(leads_on) else {
                return Err(NotReplayed::Hole { lbn });
            };
            if pointer.level > 0 {
                continue;
            }
            let run = (1 + walk.ahead(&self.geo, &pointer)).min(u32::try_from(end - lbn).unwrap_or(u32::MAX));
            let blocks = if self.geo.is_data_run(pointer.frag, run * self.geo.frag) { run } else { 1 };
            self.spend(u64::from((blocks - 1) * self.geo.frag))?;
            walk.pass(blocks - 1);
            lbn += u64::from(blocks);
            match extents.last_mut() {
                Some((first, before)) if first.0 + *before as u64 * u64::from(self.geo.frag) == pointer.frag.0 => {
                    *before += blocks as usize;
                }
                _ => extents.push((pointer.frag, blocks as usize)),
            }
        }
        Ok(extents)
    }
}

/// The segments that count, in order.
fn kept<'a>(
    extents: &'a [Vec<u8>],
    sector: usize,
    time: i64,
    endian: ordo_ondisk::Endian,
) -> Result<Vec<suj::Found<'a>>, NotReplayed> {
    let mut all: Vec<_> = extents.iter().flat_map(|extent| suj::segments(extent, sector, time, endian)).collect();
    let seq = |found: &suj::Found<'_>| found.segment.seq;
    let Some(oldest) = all.iter().map(|found| found.segment.oldest).max() else { return Ok(vec![]) };
    all.retain(|found| seq(found) >= oldest);
    all.sort_by_key(seq);
    if let Some(pair) = all.windows(2).find(|pair| matches!(pair, [a, b] if seq(a) == seq(b))) {
        return Err(NotReplayed::TwoSegments { seq: pair.first().map_or(0, seq) });
    }
    if all.first().map(seq) != Some(oldest) {
        return Err(NotReplayed::OldestMissing { oldest });
    }
    let whole = (oldest..).zip(&all).take_while(|(want, found)| *want == seq(found)).count();
    all.truncate(whole);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_ondisk::Endian;
    use ordo_ondisk::suj::{Segment, TruncRecord, lay_out};

    fn extent(segments: &[(u64, u64)]) -> Vec<u8> {
        let record = Record::Sync(TruncRecord { ino: Ino(3), size: 0, extsize: 0 });
        let one = |&(seq, oldest)| lay_out(Segment { seq, oldest, time: 5 }, &[record], 512, Endian::Little).unwrap();
        segments.iter().flat_map(one).collect()
    }

    fn numbers(segments: &[(u64, u64)]) -> Result<Vec<u64>, String> {
        let extents = [extent(segments)];
        let found = kept(&extents, 512, 5, Endian::Little).map_err(|why| why.to_string())?;
        Ok(found.iter().map(|found| found.segment.seq).collect())
    }

    #[test]
    fn segments_from_the_oldest_needed_to_the_first_gap_count() {
        assert_eq!(numbers(&[]), Ok(vec![]));
        assert_eq!(numbers(&[(0, 0), (1, 0), (2, 0)]), Ok(vec![0, 1, 2]));
        assert_eq!(numbers(&[(8, 6), (4, 2), (5, 3), (6, 4), (7, 6)]), Ok(vec![6, 7, 8]), "it went round");
        assert_eq!(numbers(&[(0, 0), (1, 0), (3, 0), (4, 0)]), Ok(vec![0, 1]), "2 never came");
        assert_eq!(numbers(&[(4, 4), (3, 3)]), Ok(vec![4]));
    }

    #[test]
    fn a_journal_that_lacks_its_begin_is_refused() {
        assert_eq!(numbers(&[(5, 3), (4, 3)]).unwrap_err(), "the journal lacks segment 3, the oldest that is needed");
        assert_eq!(numbers(&[(5, 9)]).unwrap_err(), "the journal lacks segment 9, the oldest that is needed");
        assert_eq!(numbers(&[(5, 5), (6, 5), (6, 5)]).unwrap_err(), "the journal has two segments 6");
    }
}
