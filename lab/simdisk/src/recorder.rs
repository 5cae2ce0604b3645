//! A disk that records its requests, in order: what their bytes are, and when and how each ended. From this the crash
//! explorer rebuilds what a power cut could have left.

use std::cell::RefCell;
use std::rc::Rc;

use ordo_disk::{Disk, DiskError, DiskFuture, DiskInfo, DiskOff, DiskOp, Image, ReadPart, Tag, WritePart};
use ordo_rt::{Rt, Time};

/// Records the requests to another disk; clones share the record.
///
/// A request begins in the record when it is made and ends when its result comes. So a flush covers the writes whose
/// end is recorded before its beginning.
#[derive(Clone)]
pub struct Recorder {
    rt: Rt,
    disk: Rc<dyn Disk>,
    /// The address of the disk's first byte in the record.
    base: u64,
    keep_images: bool,
    record: Rc<RefCell<Record>>,
}

#[derive(Default)]
struct Record {
    events: Vec<Event>,
    requests: u64,
}

/// A line of the record.
#[derive(Clone, Debug)]
pub enum Event {
    /// A request was made.
    Begin {
        /// Counts the requests, from 0.
        request: u64,
        /// When.
        time: Time,
        /// What.
        op: DiskOp,
        /// Where it begins; for a flush, the address of the disk's first byte.
        at: DiskOff,
        /// The write is to be durable when it completes.
        fua: bool,
        /// Its parts, side by side from `at` on. A discard has one, a flush none.
        parts: Vec<RecordedPart>,
    },
    /// A request has ended.
    End {
        /// Its number.
        request: u64,
        /// When.
        time: Time,
        /// How.
        outcome: Result<(), DiskError>,
    },
}

/// A part of a recorded request.
#[derive(Clone, Debug)]
pub struct RecordedPart {
    /// Bytes.
    pub len: u64,
    /// What they are.
    pub tag: Tag,
    /// The bytes of a write, if the recorder keeps them.
    pub image: Option<Image>,
}

impl Recorder {
    /// Records the requests to `disk`; with `keep_images` also the bytes that are written.
    pub fn new(rt: &Rt, disk: Rc<dyn Disk>, keep_images: bool) -> Recorder {
        Recorder { rt: rt.clone(), disk, base: 0, keep_images, record: Rc::default() }
    }

    /// Records the requests to another disk in the same record, where it lies behind this one: its byte 0 is `base`.
    pub fn beside(&self, disk: Rc<dyn Disk>, base: u64) -> Recorder {
        Recorder { disk, base, ..self.clone() }
    }

    /// Takes what was recorded since the last call.
    pub fn take(&self) -> Vec<Event> {
        std::mem::take(&mut self.record.borrow_mut().events)
    }

    /// Shows what was recorded since the last [`Recorder::take`].
    pub fn with_events<T>(&self, look: impl FnOnce(&[Event]) -> T) -> T {
        look(&self.record.borrow().events)
    }

    fn begin(&self, op: DiskOp, at: DiskOff, fua: bool, parts: Vec<RecordedPart>) -> u64 {
        let mut record = self.record.borrow_mut();
        let request = record.requests;
        record.requests += 1;
        record.events.push(Event::Begin { request, time: self.rt.now(), op, at: at + self.base, fua, parts });
        request
    }

    fn end<T: Unpin + 'static>(
        &self,
        request: u64,
        answer: DiskFuture<Result<T, DiskError>>,
    ) -> DiskFuture<Result<T, DiskError>> {
        let (rt, record) = (self.rt.clone(), self.record.clone());
        answer.map(move |answer| {
            let outcome = answer.as_ref().map(|_| ()).map_err(Clone::clone);
            record.borrow_mut().events.push(Event::End { request, time: rt.now(), outcome });
            answer
        })
    }
}

impl Disk for Recorder {
    fn info(&self) -> DiskInfo {
        self.disk.info()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        let recorded =
            parts.iter().map(|part| RecordedPart { len: part.block.len() as u64, tag: part.tag, image: None });
        let request = self.begin(DiskOp::Read, at, false, recorded.collect());
        self.end(request, self.disk.read(at, parts))
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        let recorded = parts.iter().map(|part| RecordedPart {
            len: part.image.len() as u64,
            tag: part.tag,
            image: self.keep_images.then(|| part.image.clone()),
        });
        let request = self.begin(DiskOp::Write, at, fua, recorded.collect());
        self.end(request, self.disk.write(at, parts, fua))
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        let request = self.begin(DiskOp::Flush, DiskOff(0), false, Vec::new());
        self.end(request, self.disk.flush())
    }

    fn discard(&self, at: DiskOff, len: u64) -> DiskFuture<Result<(), DiskError>> {
        let part = RecordedPart { len, tag: Tag::default(), image: None };
        let request = self.begin(DiskOp::Discard, at, false, vec![part]);
        self.end(request, self.disk.discard(at, len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fault, FaultPlan, Faulty};
    use ordo_disk::{Block, Cause, Kind, Queue, QueueOptions, RamDisk};

    fn line(event: &Event) -> String {
        match event {
            Event::Begin { request, op, at, fua, parts, .. } => {
                let kinds: Vec<Kind> = parts.iter().map(|part| part.tag.kind).collect();
                format!("{request}: {op} {} fua {fua} {kinds:?}", at.0)
            }
            Event::End { request, outcome, .. } => format!("{request}: {outcome:?}"),
        }
    }

    #[test]
    fn requests_are_recorded_with_kind_and_end() {
        let rt = Rt::virtual_time(0);
        let ram = RamDisk::new(1 << 16).volatile(true).with(|info| info.immediate = false);
        let faulty = Faulty::new(Rc::new(ram), FaultPlan::new(0).with(Fault::error(DiskOp::Read, 1)));
        let recorder = Recorder::new(&rt, Rc::new(faulty), true);
        let queue = Queue::new(&rt, Rc::new(recorder.clone()), QueueOptions::default());
        let image = |byte| Block::copy_of(&[byte; 512]).image();
        let first = queue.write(DiskOff(0), image(1), Kind::Inodes.into());
        let second = queue.write(DiskOff(512), image(2), Kind::Directory.into());
        let read = queue.read(DiskOff(4096), 512, Tag { kind: Kind::Log, cause: 7 });
        rt.block_on(async {
            first.durable().await.unwrap();
            second.durable().await.unwrap();
            assert_eq!(read.await.unwrap_err().cause, Cause::Io(5));
        });
        let events = recorder.take();
        let Event::Begin { parts, .. } = &events[0] else { panic!("{:?}", events[0]) };
        assert_eq!(parts[1].image.as_ref().unwrap()[0], 2);
        let error = DiskError::new(DiskOp::Read, DiskOff(4096), 512, Cause::Io(5));
        assert_eq!(
            events.iter().map(line).collect::<Vec<_>>(),
            [
                "0: write 0 fua false [Inodes, Directory]".to_string(),
                "0: Ok(())".into(),
                "1: read 4096 fua false [Log]".into(),
                format!("1: {:?}", Err::<(), _>(error)),
                "2: flush 0 fua false []".into(),
                "2: Ok(())".into(),
            ]
        );
        assert!(recorder.take().is_empty());
    }

    #[test]
    fn two_disks_in_one_record_are_told_apart_by_the_place() {
        let rt = Rt::virtual_time(0);
        let (first, second) = (RamDisk::new(8192), RamDisk::new(8192));
        let recorder = Recorder::new(&rt, Rc::new(first.clone()), false);
        let beside = recorder.beside(Rc::new(second.clone()), 65536);
        let part = |byte| vec![WritePart { image: Block::copy_of(&[byte; 512]).image(), tag: Kind::Log.into() }];
        rt.block_on(recorder.write(DiskOff(512), part(1), false)).unwrap();
        rt.block_on(beside.write(DiskOff(512), part(2), false)).unwrap();
        rt.block_on(beside.flush()).unwrap();
        assert_eq!((first.to_vec()[512], second.to_vec()[512]), (1, 2));
        let lines: Vec<String> = recorder.take().iter().step_by(2).map(line).collect();
        assert_eq!(
            lines,
            ["0: write 512 fua false [Log]", "1: write 66048 fua false [Log]", "2: flush 65536 fua false []"]
        );
    }
}
