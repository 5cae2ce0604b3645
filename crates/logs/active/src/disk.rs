//! The active disk as a disk.

use crate::layer::{Active, Layer};
use crate::map::{Frag, Gets};
use ordo_disk::{
    Block, Disk, DiskError, DiskFuture, DiskInfo, DiskOff, DiskOp, Kind, ReadPart, WritePart, read_len, write_len,
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
        layer.head.set(at.0 + len);
        if layer.map.borrow().has_none(layer.frags(at, len)) {
            return layer.disk.read(at, parts);
        }
        let frag = layer.area.frag;
        if !at.0.is_multiple_of(frag) || !len.is_multiple_of(frag) {
            return self.read_around(at, parts);
        }
        let verified = move |layer: &Rc<Layer>, parts: Vec<ReadPart>| {
            let wrong = layer.wrong(at, &parts);
            if wrong.is_empty() { Ok(parts) } else { Err((parts, wrong)) }
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

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        let (layer, len) = (&self.0, write_len(&parts));
        if let Err(error) = self.info().check(DiskOp::Write, at, len) {
            return DiskFuture::now(Err(error));
        }
        if at.0 >= layer.base {
            return layer.write_journal(at, parts, fua);
        }
        layer.head.set(at.0 + len);
        let range = layer.frags(at, len);
        if layer.map.borrow().has_none(range.clone()) {
            return layer.disk.write(at, parts, fua);
        }
        let (lands, others) = layer.sorted(at, &parts);
        let data = parts.iter().all(|part| part.tag.kind == Kind::Data);
        if others.is_empty() && layer.healing.borrow().range(range.clone()).next().is_none() {
            layer.take(&range);
            let layer = layer.clone();
            let write = layer.disk.write(at, parts, fua);
            return write.map(move |done| layer.landed(range, &lands, data, done));
        }
        let layer = layer.clone();
        DiskFuture::later(async move {
            layer.none_is_healed(&range).await;
            // Before anything that may wait: a heal must not begin now.
            layer.take(&range);
            let done = match layer.void(&others, data).await {
                Ok(()) => layer.disk.write(at, parts, fua).await,
                Err(error) => Err(error),
            };
            layer.landed(range, &lands, data, done)
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
        self.0.disk.flush().map(move |done| {
            if done.is_ok() {
                layer.groups.borrow_mut().became_durable(&headers);
            }
            done
        })
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
        if layer.map.borrow().has_none(range.clone()) {
            return layer.disk.discard(at, len);
        }
        DiskFuture::later(async move {
            layer.forget(range);
            layer.settle(None).await?;
            layer.disk.discard(at, len).await
        })
    }
}

impl Active {
    /// Reads whole fragments, of which the caller wants a part.
    fn read_around(&self, at: DiskOff, mut parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        let (frag, len) = (self.0.area.frag, read_len(&parts));
        let from = at.0 / frag * frag;
        let to = (at.0 + len).next_multiple_of(frag).min(self.0.disk.info().size / frag * frag);
        if to < at.0 + len {
            return self.0.disk.read(at, parts);
        }
        let (disk, tag) = (self.clone(), parts.first().map(|part| part.tag).unwrap_or_default());
        DiskFuture::later(async move {
            let whole = ReadPart { block: Block::unspecified((to - from) as usize), tag };
            let read = disk.read(DiskOff(from), vec![whole]).await?;
            let bytes = read.first().map(|part| &part.block[..]).unwrap_or_default();
            let mut skip = (at.0 - from) as usize;
            for part in &mut parts {
                let end = skip + part.block.len();
                part.block.copy_from_slice(&bytes[skip..end]);
                skip = end;
            }
            Ok(parts)
        })
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

    /// The fragments whose bytes are not those of their entries.
    pub(crate) fn wrong(&self, at: DiskOff, parts: &[ReadPart]) -> Vec<Frag> {
        let map = self.map.borrow();
        let mut wrong = Vec::new();
        self.each_sum(
            at,
            parts,
            |frag| map.get(frag).is_some(),
            |frag, sum| {
                if map.get(frag).is_some_and(|entry| Some(entry.sum) != sum) {
                    wrong.push(frag);
                }
            },
        );
        wrong
    }

    /// What of a write at home are committed bytes, with their sums; and the fragments whose entries must go first.
    fn sorted(&self, at: DiskOff, parts: &[WritePart]) -> (Vec<(Frag, u32)>, Vec<Frag>) {
        let map = self.map.borrow();
        let (mut lands, mut others) = (Vec::new(), Vec::new());
        self.each_sum(
            at,
            parts,
            |frag| map.get(frag).is_some(),
            |frag, sum| match sum.map(|sum| (sum, map.gets(frag, sum))) {
                Some((sum, Gets::Newest)) => lands.push((frag, sum)),
                Some((_, Gets::Unknown | Gets::Older)) => {}
                Some((_, Gets::Others)) | None => others.push(frag),
            },
        );
        (lands, others)
    }

    /// Rule logs-active-1: what is to be overwritten with bytes of no transaction is not in the map, durably.
    async fn void(&self, others: &[Frag], data: bool) -> Result<(), DiskError> {
        let Some(last) = others.last() else { return Ok(()) };
        for frag in others {
            self.forget(*frag..*frag + 1);
        }
        if data {
            let map = self.map.borrow();
            let known = map.entries(*last..*last + AHEAD).filter(|(_, entry)| entry.data && entry.home);
            let ahead: Vec<Frag> = known.map(|(frag, _)| frag).collect();
            drop(map);
            for frag in ahead {
                self.forget(frag..frag + 1);
            }
        }
        self.settle(None).await
    }

    /// Fragments are being written.
    fn take(&self, range: &Range<Frag>) {
        let mut busy = self.busy.borrow_mut();
        range.clone().for_each(|frag| *busy.entry(frag).or_default() += 1);
    }

    fn landed(
        &self,
        range: Range<Frag>,
        lands: &[(Frag, u32)],
        data: bool,
        done: Result<(), DiskError>,
    ) -> Result<(), DiskError> {
        let mut busy = self.busy.borrow_mut();
        for frag in range {
            if let Some(count) = busy.get_mut(&frag) {
                *count -= 1;
                if *count == 0 {
                    busy.remove(&frag);
                }
            }
        }
        if done.is_ok() {
            let mut map = self.map.borrow_mut();
            lands.iter().for_each(|(frag, sum)| map.came_home(*frag, *sum, data));
        }
        done
    }
}
