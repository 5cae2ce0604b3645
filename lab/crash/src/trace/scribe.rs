//! Collects the events of a trace from the teller, the disk and the ticket ledger.

use super::segment;
use super::{Event, What};
use ordo_buf::{Key, Role};
use ordo_disk::{DiskOff, DiskOp};
use ordo_ondisk::lfs::Geometry;
use ordo_ondisk::{Ino, Lbn};
use ordo_probe::{Piece, Traced};
use ordo_rt::{Rt, Time};
use ordo_schemes::InWords;
use ordo_simdisk::{RecordedPart, Recorder};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

/// The events so far.
pub(super) struct Scribe {
    rt: Rt,
    recorder: Recorder,
    began: Cell<Option<Time>>,
    events: RefCell<Vec<Event>>,
    /// The lanes in order, and the number of the image with which each began.
    lanes: RefCell<BTreeMap<(u8, Key), (String, u32)>>,
    /// Images in flight: sent and not durable yet, by buf and number.
    under_way: RefCell<BTreeSet<(Key, u32)>>,
    steps: Cell<usize>,
    /// The requests of the disk that are flushes.
    flushes: RefCell<Vec<u64>>,
    /// The requests of the disk that have not ended.
    requests: RefCell<BTreeSet<u64>>,
    /// The volume is a log, whose writes say what is in them.
    log: Cell<Option<Geometry>>,
}

/// The order of the lanes: what others wait for comes first.
fn rank(role: Role) -> u8 {
    match role {
        Role::Superblock | Role::Summary => 9,
        Role::Maps => 0,
        Role::Data | Role::Symlink | Role::ExtAttr => 1,
        Role::Indirect => 2,
        Role::Inodes => 3,
        Role::Directory => 4,
        _ => 8,
    }
}

impl Scribe {
    pub(super) fn new(rt: &Rt, recorder: &Recorder) -> Scribe {
        Scribe {
            rt: rt.clone(),
            recorder: recorder.clone(),
            began: Cell::new(None),
            events: RefCell::default(),
            lanes: RefCell::default(),
            under_way: RefCell::default(),
            steps: Cell::new(0),
            flushes: RefCell::default(),
            requests: RefCell::default(),
            log: Cell::new(None),
        }
    }

    /// Starts collecting; `log` is the geometry of a log-structured volume.
    pub(super) fn begin(&self, log: Option<Geometry>) {
        self.log.set(log);
        self.recorder.take();
        self.began.set(Some(self.rt.now()));
    }

    /// Stops collecting.
    pub(super) fn end(&self) -> (Vec<Event>, Vec<String>) {
        self.look_at_the_disk();
        self.began.set(None);
        let lanes = self.lanes.take();
        (self.events.take(), lanes.into_values().map(|(name, _)| name).collect())
    }

    /// No image is in flight, and the disk has nothing to do: a log writes its ifile and a superblock after the images.
    pub(super) fn is_idle(&self) -> bool {
        self.look_at_the_disk();
        self.under_way.borrow().is_empty() && self.requests.borrow().is_empty()
    }

    /// The time of the last line.
    pub(super) fn last(&self) -> u64 {
        self.events.borrow().last().map_or(0, |event| event.us)
    }

    /// Flushes so far.
    pub(super) fn flushes(&self) -> u64 {
        self.look_at_the_disk();
        self.flushes.borrow().len() as u64
    }

    pub(super) fn say(&self, what: What) {
        self.look_at_the_disk();
        self.put(self.rt.now(), what);
    }

    /// Says that everything is durable, where that came true: behind the last line that is not the disk's alone. What
    /// the disk does after it, such as the checkpoint of a log, is not waited for. Returns the time.
    pub(super) fn say_durable(&self) -> u64 {
        self.look_at_the_disk();
        let mut events = self.events.borrow_mut();
        let is_disk = |what: &What| matches!(what, What::Flush | What::Flushed | What::Log { .. });
        let at = events.iter().rposition(|event| !is_disk(&event.what)).map_or(0, |last| last + 1);
        let us = events[..at].last().map_or(0, |event| event.us);
        events.insert(at, Event { us, what: What::Durable });
        us
    }

    fn put(&self, at: Time, what: What) {
        let Some(began) = self.began.get() else { return };
        let us = at.since(began).as_micros() as u64;
        self.events.borrow_mut().push(Event { us, what });
    }

    fn look_at_the_disk(&self) {
        if self.began.get().is_none() {
            return;
        }
        for event in self.recorder.take() {
            match &event {
                ordo_simdisk::Event::Begin { request, .. } => drop(self.requests.borrow_mut().insert(*request)),
                ordo_simdisk::Event::End { request, .. } => drop(self.requests.borrow_mut().remove(request)),
            }
            match event {
                ordo_simdisk::Event::Begin { request, op: DiskOp::Flush, time, .. } => {
                    self.flushes.borrow_mut().push(request);
                    self.put(time, What::Flush);
                }
                ordo_simdisk::Event::End { request, time, .. } if self.flushes.borrow().contains(&request) => {
                    self.put(time, What::Flushed);
                }
                ordo_simdisk::Event::Begin { op: DiskOp::Write, at, parts, time, .. } => self.written(time, at, &parts),
                _ => {}
            }
        }
    }

    /// A write to a log: what is in it.
    fn written(&self, time: Time, at: DiskOff, parts: &[RecordedPart]) {
        let Some(g) = self.log.get() else { return };
        let mut at = at.0;
        for part in parts {
            if let Some((says, holds)) =
                part.image.as_ref().and_then(|image| segment::in_words(&g, at, image, &|ino, lbn| self.name(ino, lbn)))
            {
                self.put(time, What::Log { says, holds });
            }
            at += part.len;
        }
    }

    /// The name of a block of a file that has a lane.
    fn name(&self, ino: Ino, lbn: Lbn) -> Option<String> {
        let lanes = self.lanes.borrow();
        lanes.iter().find(|((_, key), _)| *key == Key::File(ino, lbn)).map(|(_, (name, _))| name.clone())
    }

    /// The name of a buf, for which a lane is made; and the number of its image in the trace, the first being `image`.
    fn lane(&self, piece: &Piece, image: Option<u32>) -> (String, u32) {
        let mut lanes = self.lanes.borrow_mut();
        let (name, first) = lanes.entry((rank(piece.role), piece.key)).or_insert_with(|| (piece.name.clone(), 0));
        if let (0, Some(image)) = (*first, image) {
            *first = image;
        }
        (name.clone(), image.map_or(0, |image| (image + 1).saturating_sub(*first)))
    }

    fn names(&self, pieces: &[Piece]) -> Vec<String> {
        pieces.iter().map(|piece| self.lane(piece, None).0).collect()
    }

    /// A ticket was settled.
    pub(super) fn freed(&self, freed: &ordo_buf::Freed) {
        self.say(What::Freed { what: InWords(freed).to_string() });
    }

    pub(super) fn hear(&self, traced: Traced) {
        if self.began.get().is_none() {
            return;
        }
        let what = match traced {
            Traced::Step { line, .. } if line.step.starts_with("begin ") || line.step.starts_with("end ") => {
                What::Call { says: line.step, answer: line.answer }
            }
            Traced::Step { line, changed, made, waits_for, .. } => {
                self.steps.set(self.steps.get() + 1);
                let made: Vec<_> = made.into_iter().inspect(|held| self.note(held)).map(super::Held::from).collect();
                What::Step {
                    number: self.steps.get(),
                    says: line.step,
                    bufs: self.names(&changed),
                    made,
                    answer: line.answer,
                    waits_for: self.names(&waits_for),
                }
            }
            Traced::Leaves { buf, image, rolled_back, undone } => {
                // A log's scheme is asked of an image twice: when the buf is chosen, and when its batch is sent.
                if !self.under_way.borrow_mut().insert((buf.key, image)) {
                    return;
                }
                let (buf, image) = self.lane(&buf, Some(image));
                let undone = undone.into_iter().map(super::Held::from).collect();
                What::Leaves { buf, image, rolled_back, undone }
            }
            Traced::Waits { buf, until } => What::Waits { buf: self.lane(&buf, None).0, until: self.names(&until) },
            Traced::Landed { buf, image } => {
                self.under_way.borrow_mut().remove(&(buf.key, image));
                let (buf, image) = self.lane(&buf, Some(image));
                What::Landed { buf, image }
            }
        };
        self.say(what);
    }

    /// Makes a lane for each buf that is waited for.
    fn note(&self, held: &ordo_probe::Dependency) {
        self.lane(&held.of, None);
        held.until.iter().for_each(|(piece, _)| drop(self.lane(piece, None)));
    }
}
