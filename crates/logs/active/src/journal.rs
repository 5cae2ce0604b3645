//! The journal's range of addresses: its line, spread over the group journals (logs-active-4).

use crate::disk::fill;
use crate::entry::CopyNo;
use crate::layer::{Layer, all};
use crate::map::Has;
use ordo_disk::{
    Block, Cause, DiskError, DiskFuture, DiskOff, DiskOp, Kind, ReadPart, Tag, WritePart, read_len, write_len,
};
use std::ops::Range;
use std::rc::Rc;

/// A part of the journal's range that lies together on the disk; `None`: nowhere yet, and reads as zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    at: Option<DiskOff>,
    len: u64,
}

impl Layer {
    /// Bytes of the journal's range.
    pub(crate) fn journal_len(&self) -> u64 {
        self.area.head() + u64::from(self.area.pieces()) * self.area.place_len()
    }

    /// Where the bytes of the range lie, from `from` on.
    fn runs(&self, from: u64, len: u64) -> Vec<Run> {
        let (head, place_len, groups) = (self.area.head(), self.area.place_len(), self.groups.borrow());
        let (mut at, end, mut runs) = (from, from + len, Vec::<Run>::new());
        while at < end {
            let next = if at < head {
                let (place, there) = self.area.run(at);
                Run { at: Some(place), len: there.min(head - at).min(end - at) }
            } else {
                let (piece, skip) = ((at - head) / place_len, (at - head) % place_len);
                let place = u32::try_from(piece).ok().and_then(|piece| groups.place_of(piece));
                Run { at: place.map(|place| self.area.place(place) + skip), len: (place_len - skip).min(end - at) }
            };
            at += next.len.max(1);
            match runs.last_mut() {
                Some(last) if last.at.is_some_and(|at| Some(at + last.len) == next.at) => last.len += next.len,
                Some(last) if last.at.is_none() && next.at.is_none() => last.len += next.len,
                _ => runs.push(next),
            }
        }
        runs
    }

    /// The pieces whose first byte is in this part of the range, or that have no place yet: the journal enters them.
    fn entered(&self, from: u64, len: u64) -> Vec<u32> {
        let head = self.area.head();
        let bytes = from.max(head) - head..(from + len).max(head) - head;
        let (first, end) = (bytes.start / self.area.place_len(), bytes.end.div_ceil(self.area.place_len()));
        let is_entered = |piece: &u64| piece * self.area.place_len() >= bytes.start;
        let groups = self.groups.borrow();
        let pieces = (first..end).filter(|piece| is_entered(piece) || groups.place_of(*piece as u32).is_none());
        pieces.map(|piece| piece as u32).collect()
    }

    /// Chooses the places of what the journal writes now. Returns the groups whose headers must say so.
    fn enter(&self, from: u64, len: u64) -> Vec<usize> {
        let mut changed = Vec::new();
        let pieces = self.entered(from, len);
        let head = self.near_head.then(|| DiskOff(self.head.get()));
        let Some((first, last)) = pieces.first().zip(pieces.last()) else { return changed };
        // Where a move costs something, its header costs something, too. A disk that does not know the time has the
        // distance.
        let cost = |at: DiskOff| self.disk.positioning(at, true);
        let away = |at: DiskOff| at.0.abs_diff(self.head.get());
        let is_better = |place: u32, own: u32| {
            let (there, here) = (self.area.place(place), self.area.place(own));
            let Some(header) = self.area.group_of(place).map(|(_, group)| group.header) else { return false };
            match (cost(there), cost(header), cost(here)) {
                (Some(there), Some(header), Some(here)) => there + header < here,
                _ => away(header) + header.0.abs_diff(there.0) < away(here),
            }
        };
        let map = self.map.borrow();
        let is_kept = |place: u32| {
            let blocks = place * self.area.blocks + 1..(place + 1) * self.area.blocks + 1;
            blocks.filter_map(CopyNo::new).any(|copy| map.has(copy) == Has::Copy)
        };
        let entered = self.groups.borrow_mut().enter(&self.area, *first..last + 1, head, &is_better, &is_kept);
        for (place, group) in entered {
            self.replicas.borrow_mut().place_is_taken(place, self.area.blocks);
            self.head.set(self.area.place(place).0 + self.area.place_len());
            changed.extend(group.filter(|group| !changed.contains(group)));
        }
        changed
    }

    /// The line goes on behind these bytes of the range: it enters the piece after them next.
    fn goes_on(&self, bytes: &Range<u64>) {
        if let Some(end) = bytes.end.checked_sub(self.area.head()).filter(|end| *end > 0) {
            self.line.set(end.div_ceil(self.area.place_len()) as u32 % self.area.pieces());
        }
    }

    /// What was a copy in these bytes of the range is none from now on.
    fn forget_copies(&self, bytes: Range<u64>) {
        let head = self.area.head();
        let (from, end) = (bytes.start.max(head) - head, bytes.end.max(head) - head);
        let (groups, blocks) = (self.groups.borrow(), u64::from(self.area.blocks));
        let (mut map, mut tree) = (self.map.borrow_mut(), self.tree.borrow_mut());
        for block in from / self.area.frag..end.div_ceil(self.area.frag) {
            let Some(place) = groups.place_of((block / blocks) as u32) else { continue };
            let copy = CopyNo::new(place * self.area.blocks + (block % blocks) as u32 + 1);
            let frag = copy.and_then(|copy| map.forget_copy(copy));
            frag.into_iter().for_each(|frag| tree.touch(frag));
        }
    }

    pub(crate) fn write_journal(
        self: &Rc<Self>,
        at: DiskOff,
        parts: Vec<WritePart>,
        fua: bool,
    ) -> DiskFuture<Result<(), DiskError>> {
        let (from, len) = (at.0 - self.base, write_len(&parts));
        let changed = self.enter(from, len);
        let bytes = from..from + len;
        let runs = self.runs(from, len);
        let is_vacant = self.is_vacant(&bytes);
        self.goes_on(&bytes);
        if is_vacant {
            self.forget_copies(bytes.clone());
        }
        if let ([Run { at: Some(at), .. }], true, true) = (runs.as_slice(), changed.is_empty(), is_vacant) {
            return self.disk.write(*at, parts, fua);
        }
        let layer = self.clone();
        DiskFuture::later(async move {
            if !is_vacant {
                layer.forced.set(layer.forced.get() + 1);
                layer.vacate(&bytes).await?;
                layer.forget_copies(bytes);
            }
            let bytes = joined(&parts);
            let mut from = 0;
            let mut writes: Vec<DiskFuture<Result<(), DiskError>>> = Vec::new();
            for group in changed {
                let layer = layer.clone();
                writes.push(DiskFuture::later(async move { layer.write_header(group, fua).await }));
            }
            for run in runs {
                let to = from + run.len as usize;
                // What is written was entered, and has a place. If it had none, its bytes must not be lost in silence.
                let nowhere = || DiskError::new(DiskOp::Write, at, len, Cause::Io(28));
                let place = run.at.ok_or_else(nowhere)?;
                let image = Block::copy_of(&bytes[from..to]).image();
                writes.push(layer.disk.write(place, vec![WritePart { image, tag: Tag::of(Kind::Log) }], fua));
                from = to;
            }
            // All at once: on a busy disk each write waits for those before it.
            all(writes).await
        })
    }

    /// One header is in flight at a time, and has all moves so far.
    async fn write_header(&self, group: usize, fua: bool) -> Result<(), DiskError> {
        let _one = self.heading.lock().await;
        let header = self.groups.borrow_mut().header(&self.area, group);
        let Some((at, block)) = header else { return Ok(()) };
        let part = WritePart { image: block.image(), tag: Tag::of(Kind::Log) };
        self.disk.write(at, vec![part], fua).await?;
        self.groups.borrow_mut().wrote(group, fua || !self.volatile);
        Ok(())
    }

    pub(crate) fn read_journal(
        self: &Rc<Self>,
        at: DiskOff,
        mut parts: Vec<ReadPart>,
    ) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        let (from, len) = (at.0 - self.base, read_len(&parts));
        let runs = self.runs(from, len);
        if let [Run { at: Some(at), .. }] = runs.as_slice() {
            return self.disk.read(*at, parts);
        }
        let layer = self.clone();
        DiskFuture::later(async move {
            let mut bytes = Vec::with_capacity(len as usize);
            for run in runs {
                match run.at {
                    Some(at) => bytes.extend_from_slice(&layer.read_raw(at, run.len).await?),
                    None => bytes.resize(bytes.len() + run.len as usize, 0),
                }
            }
            fill(&mut parts, &bytes);
            Ok(parts)
        })
    }

    /// The address on the disk of a byte of the range.
    pub(crate) fn journal_place(&self, at: DiskOff) -> Option<DiskOff> {
        self.runs(at.0 - self.base, 1).first().and_then(|run| run.at)
    }
}

fn joined(parts: &[WritePart]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(write_len(parts) as usize);
    parts.iter().for_each(|part| bytes.extend_from_slice(&part.image));
    bytes
}
