//! The active disk as a disk.

use crate::entry::{Entry, Frag, SPAN};
use crate::layer::{Active, Layer, span_key};
use crate::map::Gets;
use crate::replicas::Source;
use ordo_disk::{
    Block, Disk, DiskError, DiskFuture, DiskInfo, DiskOff, DiskOp, Kind, Reach, ReadPart, WritePart, read_len,
    write_len,
};
use std::ops::Range;
use std::rc::Rc;

/// Fragments behind one whose entry must go that go with it if they hold contents of files, too: a program that
/// overwrites a file goes on.
const AHEAD: Frag = 4096;

impl Disk for Active {
    fn info(&self) -> DiskInfo {
        DiskInfo { size: self.0.base + self.0.journal_len(), ..self.0.disk.info() }
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        let (layer, len) = (&self.0, read_len(&parts));
        if let Err(error) = self.info().check(DiskOp::Read, at, len) {
            return DiskFuture::now(Err(error));
        }
        if at.0 >= layer.base {
            return layer.read_journal(at, parts);
        }
        if layer.map.borrow().has_none(layer.frags(at, len)) {
            layer.head.set(at.0 + len);
            layer.learn(at, len, None);
            return layer.disk.read(at, parts);
        }
        let whole = layer.verifiable(at, len);
        if whole != (at.0..at.0 + len) {
            return self.read_around(at, whole, parts);
        }
        let better = layer.better_source(at, len);
        layer.learn(at, len, better);
        self.read_from(better, at, parts)
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        let (layer, len) = (&self.0, write_len(&parts));
        if let Err(error) = self.info().check(DiskOp::Write, at, len) {
            return DiskFuture::now(Err(error));
        }
        if at.0 >= layer.base {
            return layer.write_journal(at, parts, fua);
        }
        if let Some(error) = layer.failure() {
            return DiskFuture::now(Err(error));
        }
        let range = layer.frags(at, len);
        let is_quiet = layer.healing.borrow().range(range.clone()).next().is_none() && !layer.is_voiding(&range);
        if is_quiet && layer.map.borrow().has_none(range.clone()) && !layer.may_learn(&parts) {
            layer.head.set(at.0 + len);
            layer.take(&range);
            let layer = layer.clone();
            return layer.disk.write(at, parts, fua).map(move |done| {
                layer.give(&range);
                done
            });
        }
        let sorted = layer.sorted(at, &parts);
        let data = parts.iter().all(|part| part.tag.kind == Kind::Data);
        if is_quiet && layer.stays_away(&range, &parts, &sorted, data) {
            return DiskFuture::now(Ok(()));
        }
        layer.head.set(at.0 + len);
        if sorted.others.is_empty() && sorted.other_spans.is_empty() && is_quiet {
            layer.take(&range);
            let layer = layer.clone();
            let write = layer.disk.write(at, parts, fua);
            return write.map(move |done| layer.landed(range, &sorted, data, done));
        }
        let layer = layer.clone();
        DiskFuture::later(async move {
            layer.none_is_healed(&range).await;
            // Before anything that may wait: a heal must not begin now.
            layer.take(&range);
            // The map may have changed meanwhile.
            let sorted = layer.sorted(at, &parts);
            let done = async {
                layer.void(&sorted.others, &sorted.other_spans, data).await?;
                if layer.is_voiding(&range) {
                    // Another write has taken entries out of the map that are still on the disk.
                    layer.settle(None).await?;
                }
                layer.disk.write(at, parts, fua).await
            };
            let done = done.await;
            layer.landed(range, &sorted, data, done)
        })
    }

    fn announce(&self, ranges: &[(DiskOff, u64)]) -> DiskFuture<Result<(), DiskError>> {
        for (at, len) in ranges {
            self.0.forget(self.0.frags(*at, *len));
        }
        let layer = self.0.clone();
        DiskFuture::later(async move { layer.settle(None).await })
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        let layer = self.0.clone();
        let headers = layer.groups.borrow().not_durable();
        let carried = layer.carried.borrow().count();
        self.0.disk.flush().map(move |done| {
            if done.is_ok() {
                layer.carried.borrow_mut().are_durable(carried);
                layer.groups.borrow_mut().became_durable(&headers);
            }
            done
        })
    }

    fn reach(&self, at: DiskOff, len: u64) -> Option<Reach> {
        let layer = &self.0;
        if !layer.near_head {
            return None;
        }
        if at.0 >= layer.base {
            return Some(Reach { away: layer.distance(layer.journal_place(at)?), is_copy: false });
        }
        let whole = layer.verifiable(at, len);
        let better = layer.better_source(DiskOff(whole.start), whole.end - whole.start);
        Some(Reach { away: layer.distance(better.map_or(at, |source| source.at)), is_copy: better.is_some() })
    }

    fn positioning(&self, at: DiskOff, is_write: bool) -> Option<u64> {
        match at.0 < self.0.base {
            true => self.0.disk.positioning(at, is_write),
            false => self.0.disk.positioning(self.0.journal_place(at)?, is_write),
        }
    }

    fn discard(&self, at: DiskOff, len: u64) -> DiskFuture<Result<(), DiskError>> {
        let layer = self.0.clone();
        let range = layer.frags(at, len);
        // As a write: an adoption that reads there would learn what goes away meanwhile.
        let is_quiet = layer.healing.borrow().range(range.clone()).next().is_none() && !layer.is_voiding(&range);
        if is_quiet && layer.map.borrow().has_none(range.clone()) {
            layer.take(&range);
            return self.0.disk.discard(at, len).map(move |done| {
                layer.give(&range);
                done
            });
        }
        DiskFuture::later(async move {
            layer.none_is_healed(&range).await;
            layer.take(&range);
            let done = async {
                let frags: Vec<Frag> = layer.map.borrow().entries(range.clone()).map(|(frag, _)| frag).collect();
                let spans: Vec<Frag> = layer.map.borrow().spans(range.clone()).map(|(first, _)| first).collect();
                layer.void(&frags, &spans, false).await?;
                layer.settle(None).await?;
                layer.disk.discard(at, len).await
            };
            let done = done.await;
            layer.give(&range);
            done
        })
    }
}

impl Active {
    /// Reads whole fragments there, or at home.
    pub(crate) fn read_from(
        &self,
        source: Option<Source>,
        at: DiskOff,
        parts: Vec<ReadPart>,
    ) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        let from = source.map_or(at, |source| source.at);
        self.0.head.set(from.0 + read_len(&parts));
        match source {
            Some(source) => self.read_copy(at, source, parts),
            None => self.read_home(at, parts),
        }
    }

    /// Reads whole fragments at home, and verifies them.
    fn read_home(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        let layer = &self.0;
        let verified = move |layer: &Rc<Layer>, parts: Vec<ReadPart>| {
            let wrong = layer.wrong(at, &parts);
            if wrong.is_none() { Ok(parts) } else { Err((parts, wrong)) }
        };
        match layer.disk.read(at, parts) {
            DiskFuture::Now(Some(Ok(parts))) => match verified(layer, parts) {
                Ok(parts) => DiskFuture::now(Ok(parts)),
                Err((parts, wrong)) => {
                    let layer = layer.clone();
                    DiskFuture::later(async move { layer.mended(at, parts, wrong).await })
                }
            },
            DiskFuture::Later(read) => {
                let layer = layer.clone();
                DiskFuture::later(async move {
                    match verified(&layer, read.await?) {
                        Ok(parts) => Ok(parts),
                        Err((parts, wrong)) => layer.mended(at, parts, wrong).await,
                    }
                })
            }
            failed => failed,
        }
    }

    /// Reads whole fragments where a group journal has them, in copies or in a replica. If they are wrong there, or not
    /// known any more (logs-active-5), the home, and what else there is, is asked.
    fn read_copy(
        &self,
        at: DiskOff,
        source: Source,
        parts: Vec<ReadPart>,
    ) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        let active = self.clone();
        let lens: Vec<(usize, _)> = parts.iter().map(|part| (part.block.len(), part.tag)).collect();
        let read = active.0.disk.read(source.at, parts);
        DiskFuture::later(async move {
            let read = read.await.ok().filter(|parts| active.0.is_right(at, parts));
            active.0.was_read(source, read.is_some());
            if let Some(parts) = read {
                return Ok(parts);
            }
            let again = lens.into_iter().map(|(len, tag)| ReadPart { block: Block::unspecified(len), tag });
            active.read_home(at, again.collect()).await
        })
    }

    /// Reads what can be verified, of which the caller wants a part.
    fn read_around(
        &self,
        at: DiskOff,
        whole: Range<u64>,
        mut parts: Vec<ReadPart>,
    ) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        let (from, to) = (whole.start, whole.end);
        if to > self.0.disk.info().size {
            return self.0.disk.read(at, parts);
        }
        let (disk, tag) = (self.clone(), parts.first().map(|part| part.tag).unwrap_or_default());
        // No request is longer than the disk takes, and none divides a span.
        let span = SPAN * self.0.area.frag;
        let most = self.0.most_at_once(span) as u64 * span;
        DiskFuture::later(async move {
            let (mut bytes, mut next) = (Vec::with_capacity((to - from) as usize), from);
            while next < to {
                let end = ((next + most) / span * span).min(to);
                let piece = ReadPart { block: Block::unspecified((end - next) as usize), tag };
                let read = disk.read(DiskOff(next), vec![piece]).await?;
                read.iter().for_each(|part| bytes.extend_from_slice(&part.block));
                next = end;
            }
            fill(&mut parts, &bytes[(at.0 - from) as usize..]);
            Ok(parts)
        })
    }
}

/// The spans that lie in one part, which is a block of a file. Of several files' fragments none is made: who reads one
/// of them would read all (logs-active-11).
fn spans_of(at: DiskOff, parts: &[WritePart], frag: u64) -> impl Iterator<Item = Frag> {
    let (mut from, span) = (at.0, SPAN * frag);
    parts.iter().flat_map(move |part| {
        let to = from + part.image.len() as u64;
        let spans = from.div_ceil(span)..to / span;
        from = to;
        spans.map(|n| n * SPAN)
    })
}

/// What a write at home means for the map.
#[derive(Debug, Default)]
struct Sorted {
    /// The newest committed bytes, with their sums.
    lands: Vec<(Frag, u32)>,
    /// Whole fragments with bytes of no transaction, with their sums.
    new: Vec<(Frag, u32)>,
    /// Fragments, and spans, of which the map must know nothing first.
    others: Vec<Frag>,
    other_spans: Vec<Frag>,
    /// As `new`, of whole spans.
    new_spans: Vec<(Frag, u32)>,
}

/// What was read and is not what the map has: fragments, and spans with their right checksums.
#[derive(Debug, Default)]
pub(crate) struct Wrong {
    pub(crate) frags: Vec<Frag>,
    pub(crate) spans: Vec<(Frag, u32)>,
}

impl Wrong {
    pub(crate) fn is_none(&self) -> bool {
        self.frags.is_empty() && self.spans.is_empty()
    }
}

/// Fills the parts with these bytes, one after the other.
pub(crate) fn fill(parts: &mut [ReadPart], mut bytes: &[u8]) {
    for part in parts {
        let (now, later) = bytes.split_at(part.block.len().min(bytes.len()));
        part.block[..now.len()].copy_from_slice(now);
        bytes = later;
    }
}

/// The bytes of parts that follow each other.
pub(crate) trait Bytes {
    fn bytes(&self) -> &[u8];
}

impl Bytes for ReadPart {
    fn bytes(&self) -> &[u8] {
        &self.block
    }
}

impl Bytes for WritePart {
    fn bytes(&self) -> &[u8] {
        &self.image
    }
}

impl Layer {
    /// Calls `each` for the fragments of the parts, which begin with a fragment: the number, and the checksum of those
    /// that are wanted and whole.
    fn each_sum(
        &self,
        at: DiskOff,
        parts: &[impl Bytes],
        wanted: impl Fn(Frag) -> bool,
        mut each: impl FnMut(Frag, Option<u32>),
    ) {
        let size = self.area.frag as usize;
        let (mut frag, mut sum, mut have) = (at.0 / self.area.frag, 0, (at.0 % self.area.frag) as usize);
        let mut whole = have == 0;
        for part in parts {
            let mut rest = part.bytes();
            while !rest.is_empty() {
                let (now, later) = rest.split_at(rest.len().min(size - have));
                if wanted(frag) {
                    sum = crc32c::crc32c_append(sum, now);
                }
                have += now.len();
                rest = later;
                if have == size {
                    if wanted(frag) {
                        each(frag, whole.then_some(sum));
                    }
                    (frag, sum, have, whole) = (frag + 1, 0, 0, true);
                }
            }
        }
        if have > 0 && wanted(frag) {
            each(frag, None);
        }
    }

    /// The bytes around these that must be read so that they can be verified: whole fragments, and whole spans.
    pub(crate) fn verifiable(&self, at: DiskOff, len: u64) -> Range<u64> {
        let frags = self.frags(at, len);
        let map = self.map.borrow();
        let all =
            map.spans(frags.clone()).fold(frags, |all, (first, _)| all.start.min(first)..all.end.max(first + SPAN));
        all.start * self.area.frag..all.end * self.area.frag
    }

    /// What is in the parts and is not what the map has.
    pub(crate) fn wrong(&self, at: DiskOff, parts: &[ReadPart]) -> Wrong {
        let map = self.map.borrow();
        let mut wrong = Wrong::default();
        self.each_sum(
            at,
            parts,
            |frag| map.get(frag).is_some(),
            |frag, sum| {
                if map.get(frag).is_some_and(|entry| Some(entry.sum) != sum) {
                    wrong.frags.push(frag);
                }
            },
        );
        for (first, sum) in map.spans(self.frags(at, read_len(parts))) {
            if self.span_sum(at, parts, first) != Some(sum) {
                wrong.spans.push((first, sum));
            }
        }
        wrong
    }

    /// The map knows all that is in the parts, and has the same.
    pub(crate) fn is_right(&self, at: DiskOff, parts: &[ReadPart]) -> bool {
        self.knows(self.frags(at, read_len(parts))) && self.wrong(at, parts).is_none()
    }

    /// The checksum of a span in these parts; `None` if they have only a part of it.
    fn span_sum(&self, at: DiskOff, parts: &[impl Bytes], first: Frag) -> Option<u32> {
        let from = (first * self.area.frag).checked_sub(at.0)? as usize;
        let (mut skip, mut rest, mut sum) = (from, (SPAN * self.area.frag) as usize, 0);
        for part in parts {
            let bytes = part.bytes();
            let bytes = &bytes[skip.min(bytes.len())..];
            skip = skip.saturating_sub(part.bytes().len());
            let now = &bytes[..bytes.len().min(rest)];
            sum = crc32c::crc32c_append(sum, now);
            rest -= now.len();
        }
        (rest == 0).then_some(sum)
    }

    /// What a write at home means for the map.
    fn sorted(&self, at: DiskOff, parts: &[WritePart]) -> Sorted {
        let map = self.map.borrow();
        let learns = self.may_learn(parts);
        let mut sorted = Sorted::default();
        self.each_sum(
            at,
            parts,
            |frag| learns || map.get(frag).is_some(),
            |frag, sum| match sum.map(|sum| (sum, map.gets(frag, sum))) {
                Some((sum, Gets::Newest)) => sorted.lands.push((frag, sum)),
                Some((sum, Gets::Unknown)) => sorted.new.push((frag, sum)),
                Some((_, Gets::Older)) => {}
                Some((sum, Gets::Others)) => {
                    sorted.others.push(frag);
                    sorted.new.extend(learns.then_some((frag, sum)));
                }
                None if map.get(frag).is_none() => {}
                None => sorted.others.push(frag),
            },
        );
        let range = self.frags(at, write_len(parts));
        let changes = |&(first, sum): &(Frag, u32)| self.span_sum(at, parts, first) != Some(sum);
        sorted.other_spans = map.spans(range.clone()).filter(changes).map(|(first, _)| first).collect();
        for first in spans_of(at, parts, self.area.frag) {
            let within = |frag: Frag| (first..first + SPAN).contains(&frag);
            if sorted.new.iter().filter(|(frag, _)| within(*frag)).count() as u64 == SPAN
                && let Some(sum) = self.span_sum(at, parts, first)
            {
                sorted.new.retain(|(frag, _)| !within(*frag));
                sorted.new_spans.push((first, sum));
            }
        }
        sorted
    }

    /// Contents past the journal become known with their write.
    fn may_learn(&self, parts: &[WritePart]) -> bool {
        let known = |kind| matches!(kind, Kind::Data | Kind::ExtAttr | Kind::Directory | Kind::Symlink);
        self.learns.get() && parts.iter().all(|part| known(part.tag.kind)) && self.map.borrow().has_room()
    }

    /// Rule logs-active-9: whether this write of homes can be left to the copies, which have these bytes. Never the
    /// superblock: it tells all others what the volume is.
    fn stays_away(&self, range: &Range<Frag>, parts: &[WritePart], sorted: &Sorted, data: bool) -> bool {
        let mut map = self.map.borrow_mut();
        let all = sorted.lands.len() as u64 == range.end - range.start && sorted.other_spans.is_empty();
        let is_kept = |entry: Entry| entry.again && entry.copy.is_some_and(|copy| self.lasts(copy));
        let has_copy = |frag| map.get(frag).is_some_and(|entry| !entry.home && is_kept(entry));
        if !all
            || !map.may_stay_away()
            || parts.iter().any(|part| part.tag.kind == Kind::Superblock)
            || !range.clone().all(has_copy)
        {
            return false;
        }
        range.clone().for_each(|frag| map.stays_away(frag, data));
        self.left_away.set(self.left_away.get() + 1);
        true
    }

    /// Where these fragments lie together in a group journal, as copies or in a replica, if they are better read there:
    /// if a home lacks them, or if the head is nearer.
    pub(crate) fn better_source(&self, at: DiskOff, len: u64) -> Option<Source> {
        let copy = self.copies_together(at, len);
        let away = copy.is_some_and(|(_, away)| away);
        let copy = copy.map(|(at, _)| Source { at, replica: None });
        if !self.near_head {
            return copy.filter(|_| away);
        }
        let cost = |at: DiskOff| self.distance(at);
        let sources = copy.into_iter().chain(self.replicas_of(at, len));
        let nearest = sources.map(|source| (cost(source.at), source)).min_by_key(|(cost, _)| *cost);
        let better = nearest.filter(|(there, _)| away || *there < cost(at));
        better.map(|(_, source)| source).or(copy.filter(|_| away))
    }

    /// How far this place is from the head: in time where the disk knows it, else in bytes. A disk knows it of every
    /// place or of none.
    fn distance(&self, at: DiskOff) -> u64 {
        self.disk.positioning(at, false).unwrap_or_else(|| at.0.abs_diff(self.head.get()))
    }

    /// Where the copies of these fragments lie together, and whether a home lacks the bytes.
    fn copies_together(&self, at: DiskOff, len: u64) -> Option<(DiskOff, bool)> {
        let map = self.map.borrow();
        let (mut first, mut away) = (None, false);
        for (frag, n) in self.frags(at, len).zip(0..) {
            let entry = map.get(frag)?;
            let copy = self.at_copy(entry.copy?);
            let first = *first.get_or_insert(copy);
            if first + n * self.area.frag != copy {
                return None;
            }
            away |= !entry.home;
        }
        Some((first?, away))
    }

    /// Rule logs-active-1: what is to be overwritten with bytes of no transaction is not in the map, durably.
    pub(crate) async fn void(&self, others: &[Frag], spans: &[Frag], data: bool) -> Result<(), DiskError> {
        let Some(last) = others.last().max(spans.last()).copied() else { return Ok(()) };
        for frag in others {
            // Without its entry the copy is lost: after a power cut before the write the home must have its bytes.
            self.complete(*frag).await?;
        }
        let first = others.first().into_iter().chain(spans.first()).min().copied().unwrap_or(last);
        // Where most contents go into the journal, what lies ahead is worth more than a write of the map.
        let ahead = if data && !self.learns.get() { last..last + AHEAD } else { last..last };
        // From the moment at which the map in memory has them no more.
        let voided = first..ahead.end.max(last + SPAN);
        self.voiding.borrow_mut().push(voided.clone());
        others.iter().for_each(|frag| self.forget(*frag..*frag + 1));
        spans.iter().for_each(|first| self.forget_spans(*first..*first + 1));
        if !ahead.is_empty() {
            let map = self.map.borrow();
            let known = map.entries(ahead).filter(|(_, entry)| entry.data && entry.home);
            let known: Vec<Frag> = known.map(|(frag, _)| frag).collect();
            drop(map);
            known.into_iter().for_each(|frag| self.forget(frag..frag + 1));
        }
        self.settle(None).await?;
        let mut voiding = self.voiding.borrow_mut();
        let index = voiding.iter().position(|one| *one == voided);
        index.map(|index| voiding.swap_remove(index));
        Ok(())
    }

    /// Some of these fragments were taken out of the map, and may still be in it on the disk.
    fn is_voiding(&self, range: &Range<Frag>) -> bool {
        let is_voided = |one: &Range<Frag>| one.start < range.end && range.start < one.end;
        self.voiding.borrow().iter().any(is_voided) || self.map.borrow().gave_up(range)
    }

    /// Fragments are being written.
    fn take(&self, range: &Range<Frag>) {
        self.busy.borrow_mut().push(range.clone());
    }

    /// They are not any more.
    fn give(&self, range: &Range<Frag>) {
        let mut busy = self.busy.borrow_mut();
        let index = busy.iter().position(|one| one == range);
        index.map(|index| busy.swap_remove(index));
        self.changed.notify_all();
    }

    fn landed(
        &self,
        range: Range<Frag>,
        sorted: &Sorted,
        data: bool,
        done: Result<(), DiskError>,
    ) -> Result<(), DiskError> {
        self.give(&range);
        if done.is_ok() {
            let (mut map, mut tree) = (self.map.borrow_mut(), self.tree.borrow_mut());
            let lacked = |(frag, sum): &(Frag, u32)| {
                let entry = map.get(*frag)?;
                map.came_home(*frag, *sum, data).then_some(entry)
            };
            let came: Vec<Entry> = sorted.lands.iter().filter_map(lacked).collect();
            // The journal may have dropped what the copies have: they stay until this is durable (logs-active-9).
            if !came.is_empty() {
                self.was_carried(came);
            }
            for (frag, sum) in &sorted.new {
                map.learn(*frag, *sum, true);
                tree.touch(*frag);
            }
            for (first, sum) in &sorted.new_spans {
                // Nothing of it may have become known meanwhile.
                if map.has_none(*first..*first + SPAN) {
                    map.learn_span(*first, *sum);
                    tree.touch(span_key(*first));
                }
            }
            map.take_made_room().into_iter().for_each(|frag| tree.touch(frag));
        }
        done
    }
}
