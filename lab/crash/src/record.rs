//! Runs a script on the real engine, on a disk in virtual time, and keeps all that the explorer needs: every write with
//! its bytes, its kind and the call that caused it; every completion and every flush; where in that sequence each call
//! began and returned; and the tree after each call.
//!
//! R1. The same plan gives the same recording, to the byte: time is virtual, and random choices follow from the seed.
//! R2. The tree after each call equals the model's, or the recording fails: an oracle must not learn from a bug.

use crate::device::Device;
use crate::disks::{Disks, Side, Split};
use crate::fingerprint::{Fingerprint, of_image, of_sector};
use crate::guard::guarded;
use crate::mount::{cleaned_by, mount};
use crate::plan::Plan;
use crate::tree::{FileId, Tree};
use crate::{Error, steer, volume};
use ordo_disk::{DiskOp, Image, Kind, RamDisk, SECTOR};
use ordo_model::MemFs;
use ordo_rt::{Rng, Rt, Time};
use ordo_simdisk::{Event, NbdLosses, RecordedPart, Recorder};
use ordo_vfs::{Caller, FileSystem, NodeId, Refusal};
use ordo_workload::random::{Op, Outcome, Player, compare_trees};
use ordofs::{LayoutName, Mounted};
use std::rc::Rc;
use std::time::Duration;

/// Virtual seconds after the last call, so that the syncer's delayed writes (30 s) are recorded as well.
const IDLE: Duration = Duration::from_secs(40);

/// A part of a write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    pub(crate) kind: Kind,
    /// The call that caused it, as an index into the calls.
    pub(crate) call: Option<usize>,
    pub(crate) len: u64,
}

/// A write that reached the disk.
pub(crate) struct Write {
    /// Byte where it begins.
    pub(crate) at: u64,
    pub(crate) parts: Vec<Part>,
    pub(crate) images: Vec<Image>,
    /// The contribution of each of its sectors to a fingerprint.
    pub(crate) adds: Vec<(u64, u128)>,
    /// Number of moments after which it is durable; `usize::MAX` for never.
    pub(crate) durable: usize,
}

impl Write {
    /// The bytes of its sectors, first to last.
    pub(crate) fn sectors(&self) -> impl Iterator<Item = &[u8]> {
        self.images.iter().flat_map(|image| image.chunks(SECTOR))
    }
}

/// An event at the disk, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    Issued(usize),
    Completed(usize),
    FlushBegan(Side, u64),
    FlushEnded(Side, u64),
}

/// A call, and its place among the moments.
pub(crate) struct Call {
    /// As a line of a script.
    pub(crate) text: String,
    pub(crate) op: Option<Op>,
    /// It succeeded.
    pub(crate) done: bool,
    /// Moments that had happened when it began.
    pub(crate) began: usize,
    /// Moments that had happened when it returned.
    pub(crate) returned: usize,
    /// Everything is durable when it returns: it is a `sync`.
    pub(crate) syncs: bool,
}

/// Longest text of a call in a line, in characters.
const SHORT: usize = 72;

impl Call {
    /// Its text, truncated if it is very long.
    pub(crate) fn short(&self) -> String {
        match self.text.char_indices().nth(SHORT) {
            Some((end, _)) => format!("{}…", &self.text[..end]),
            None => self.text.clone(),
        }
    }
}

/// A run of a script.
pub(crate) struct Recording {
    /// How an image is divided among the disks.
    pub(crate) split: Split,
    /// The disk when the set-up was durable.
    pub(crate) base: RamDisk,
    /// The difference between `base` and the new volume.
    pub(crate) fingerprint: u128,
    pub(crate) writes: Vec<Write>,
    pub(crate) moments: Vec<Moment>,
    /// The time of each moment.
    pub(crate) times: Vec<Time>,
    pub(crate) flushes: u64,
    /// The files that the script held open after the set-up, by slot: their names may be those of others by then.
    pub(crate) held: Vec<(usize, FileId)>,
    /// The volume is log-structured: any write may have blocks of directories.
    pub(crate) log_structured: bool,
    /// Segments that became usable again there.
    pub(crate) cleaned: u64,
    /// What was lost of the connections to the servers of its disks, if it has any.
    pub(crate) lost: Option<NbdLosses>,
    pub(crate) calls: Vec<Call>,
    /// The trees before the first call and after each call.
    pub(crate) trees: Vec<Rc<Tree>>,
    /// Calls of the engine that had begun when the set-up was done, and when each call of the script had returned: they
    /// attribute each write to a call.
    engine_calls: (u64, Vec<u64>),
}

/// Makes the recording of a plan on a new volume.
///
/// # Errors
/// The engine and the model disagree, a call fails unexpectedly or never ends, or the plan cannot be carried out.
pub(crate) fn record(plan: &Plan) -> Result<Recording, Error> {
    let fresh = volume::of(&plan.subject)?;
    guarded(|| Ok::<_, Error>(record_on(plan, &fresh, false, |_, disks| disks))).map_err(Error::Run)?
}

/// The same on a volume that was used before, whose contents no model knows: calls may be refused there, and R2 does
/// not hold.
///
/// # Errors
/// A call fails unexpectedly, or the plan cannot be carried out.
pub(crate) fn record_on_used(plan: &Plan, disk: &RamDisk) -> Result<Recording, Error> {
    record_on(plan, disk, true, |_, disks| disks)
}

/// The same as [`record`], with `between` inserted between the engine and its disks.
#[cfg(test)]
pub(crate) fn record_through(plan: &Plan, between: impl FnOnce(&Rt, Disks) -> Disks) -> Result<Recording, Error> {
    record_on(plan, &volume::of(&plan.subject)?, false, between)
}

fn record_on(
    plan: &Plan,
    fresh: &RamDisk,
    used: bool,
    between: impl FnOnce(&Rt, Disks) -> Disks,
) -> Result<Recording, Error> {
    let rt = Rt::virtual_time(plan.budget.seed);
    let ram = fresh.snapshot();
    let (recorder, disks) = plan.subject.disks(&rt, &ram, plan.budget.seed).recorded(&rt, plan.subject.split(), true);
    let order = plan.subject.order()?;
    let order = if plan.budget.steered { order.behind(Rc::new(steer::watched)) } else { order };
    let mut disks = between(&rt, disks);
    let mut lost = None;
    if plan.subject.through_nbd {
        let (behind, counted) = disks.behind_nbd(&rt, plan.budget.seed, None);
        (disks, lost) = (behind, Some(counted));
    }
    let mounted = mount(&rt, &ram, disks, order, false)?;
    let outcome = Run { plan, rt: &rt, mounted: &mounted, recorder: &recorder, stopped: used }.all(&ram, fresh);
    let recording = outcome.and_then(|mut recording| {
        recording.cleaned = cleaned_by(&mounted);
        let began = recorder.with_events(<[Event]>::len);
        rt.block_on(mounted.unmount()).map_err(|error| Error::Run(format!("unmount: {error}")))?;
        recording.finish(began, &recorder, &plan.subject.device)?;
        recording.lost = lost.map(|lost| lost.count());
        Ok(recording)
    });
    rt.drop_tasks();
    recording
}

/// What a request of a given number is.
enum Request {
    /// Which write, and whether it is durable when complete.
    Write(usize, bool),
    Flush(Side),
}

struct Run<'a> {
    plan: &'a Plan,
    rt: &'a Rt,
    mounted: &'a Mounted,
    recorder: &'a Recorder,
    /// The model is not used, or no longer: the volume was used before, or became full, and a model is never full.
    stopped: bool,
}

impl Run<'_> {
    fn all(&mut self, ram: &RamDisk, fresh: &RamDisk) -> Result<Recording, Error> {
        let used = self.stopped;
        let (fs, memory) = (&**self.mounted.fs(), MemFs::timeless());
        let who = Caller { privileged: true, ..Caller::default() };
        let (mut real, mut model) = (Player::new(fs, who), Player::new(&memory, who));
        for op in &self.plan.script.setup {
            self.play(op, &mut real, &mut model)?;
        }
        for _ in 0..2 {
            self.rt.block_on(fs.syncfs()).map_err(|error| Error::Run(format!("sync: {error}")))?;
            self.rt.block_on(self.rt.sleep(Duration::from_secs(2)));
        }
        let before = self.recorder.take();
        let base = ram.snapshot();
        let mut recording = Recording {
            split: self.plan.subject.split(),
            fingerprint: changed(fresh, &base, &before),
            base,
            writes: Vec::new(),
            moments: Vec::new(),
            times: Vec::new(),
            flushes: 0,
            held: self.held(&real)?,
            log_structured: self.plan.subject.layout() == LayoutName::Lfs,
            cleaned: 0,
            lost: None,
            calls: Vec::new(),
            trees: vec![Rc::new(self.tree(nodes(&real))?)],
            engine_calls: (self.mounted.cache().calls_begun(), Vec::new()),
        };
        let mut rng = Rng::new(self.plan.budget.seed ^ 0x0070_6175_7365);
        for op in &self.plan.script.calls {
            let began = self.recorder.with_events(<[Event]>::len);
            let outcome = self.play(op, &mut real, &mut model)?;
            let returned = self.recorder.with_events(<[Event]>::len);
            recording.engine_calls.1.push(self.mounted.cache().calls_begun());
            let done = matches!(outcome, Outcome::Done | Outcome::Attr(_) | Outcome::Time(_));
            let (text, syncs) = (op.to_string(), done && *op == Op::Sync);
            recording.calls.push(Call { text, op: Some(op.clone()), done, began, returned, syncs });
            // On a volume that was used before no model says what should be there, and most calls are refused.
            if done || !used {
                self.keep_tree(&mut recording, nodes(&real), &memory)?;
            } else {
                recording.trees.extend(recording.trees.last().cloned());
            }
            if let Some(pace) = self.plan.pace {
                self.rt.block_on(self.rt.sleep(Duration::from_micros(rng.below(2 * pace.as_micros() as u64 + 1))));
            }
            if self.plan.pauses && rng.chance(1, 4) {
                self.rt.block_on(self.rt.sleep(Duration::from_millis(rng.range(1, 35_000))));
            }
        }
        drop((real, model));
        let began = self.recorder.with_events(<[Event]>::len);
        self.rt.block_on(self.rt.sleep(IDLE));
        let returned = self.recorder.with_events(<[Event]>::len);
        let text = format!("(nothing for {} s)", IDLE.as_secs());
        recording.calls.push(Call { text, op: None, done: true, began, returned, syncs: false });
        recording.engine_calls.1.push(u64::MAX);
        self.keep_tree(&mut recording, Vec::new(), &memory)?;
        Ok(recording)
    }

    fn play<F: FileSystem>(
        &mut self,
        op: &Op,
        real: &mut Player<'_, ordofs::Fs>,
        model: &mut Player<'_, F>,
    ) -> Result<Outcome, Error> {
        if let Op::Pause { millis } = op {
            self.rt.block_on(self.rt.sleep(Duration::from_millis(*millis)));
        }
        let outcome = self.rt.block_on(real.apply(op));
        match &outcome {
            Outcome::Failed(why) => return Err(Error::Run(format!("{op}: {why}"))),
            Outcome::Refused(Refusal::NoSpace | Refusal::NoInodes) => self.stopped = true,
            // The format does not have it: the script goes on without.
            Outcome::Refused(Refusal::NotSupported) if self.lacks(op) => return Ok(outcome),
            _ => {}
        }
        if !self.stopped {
            let expected = ordo_model::ready(model.apply(op));
            let alike = std::mem::discriminant(&outcome) == std::mem::discriminant(&expected);
            let same = if let Outcome::Refused(_) = &outcome { outcome == expected } else { alike };
            if !same {
                return Err(Error::Model {
                    call: op.to_string(),
                    what: format!("{outcome:?}, the model {expected:?}"),
                });
            }
        }
        Ok(outcome)
    }

    fn held<F: FileSystem>(&self, player: &Player<'_, F>) -> Result<Vec<(usize, FileId)>, Error> {
        let id = |(slot, node)| {
            let attr = self.rt.block_on(self.mounted.fs().getattr(node));
            attr.map(|attr| (slot, FileId::from(&attr))).map_err(|error| Error::Run(format!("an open file: {error}")))
        };
        player.held().map(id).collect()
    }

    /// Whether the format of a log-structured volume does not have this call.
    fn lacks(&self, op: &Op) -> bool {
        let attributes = matches!(
            op,
            Op::SetXattr { .. }
                | Op::GetXattr { .. }
                | Op::ListXattr { .. }
                | Op::RemoveXattr { .. }
                | Op::SetAcl { .. }
        );
        attributes && self.plan.subject.layout() == LayoutName::Lfs
    }

    /// The tree, with those of the held files that have no name.
    fn tree(&self, held: Vec<NodeId>) -> Result<Tree, Error> {
        let fs = &**self.mounted.fs();
        let tree = self.rt.block_on(async {
            let mut tree = Tree::read(fs).await?;
            tree.add_nameless(fs, held).await.map(|()| tree)
        });
        tree.map_err(|error| Error::Run(format!("reading the tree: {error}")))
    }

    fn keep_tree(&self, recording: &mut Recording, held: Vec<NodeId>, memory: &MemFs) -> Result<(), Error> {
        let tree = self.tree(held)?;
        let last = recording.trees.last().filter(|last| ***last == tree);
        let same = last.cloned();
        if same.is_none() && !self.stopped {
            let compared = self.rt.block_on(compare_trees(&**self.mounted.fs(), memory));
            let call = recording.calls.last().map_or_else(String::new, |call| call.text.clone());
            compared.map_err(|difference| Error::Model { call, what: difference.to_string() })?;
        }
        recording.trees.push(same.unwrap_or_else(|| Rc::new(tree)));
        Ok(())
    }
}

/// The files that a player holds.
fn nodes<F: FileSystem>(player: &Player<'_, F>) -> Vec<NodeId> {
    player.held().map(|(_, node)| node).collect()
}

/// The fingerprint of `base`, which differs from `fresh` only where `events` write.
fn changed(fresh: &RamDisk, base: &RamDisk, events: &[Event]) -> u128 {
    let mut fingerprint = Fingerprint::default();
    for event in events {
        let Event::Begin { op: DiskOp::Write, at, parts, .. } = event else { continue };
        let len: u64 = parts.iter().map(|part| part.len).sum();
        for sector in at.0 / SECTOR as u64..(at.0 + len) / SECTOR as u64 {
            let mut bytes = [0; SECTOR];
            base.peek(sector * SECTOR as u64, &mut bytes);
            fingerprint.set(fresh, sector, of_sector(sector, &bytes));
        }
    }
    fingerprint.value
}

impl Recording {
    /// A recording of a disk without a file system. `marks` are numbers of events, in order, and are turned into
    /// moments.
    #[cfg(test)]
    pub(crate) fn of_disk(
        base: RamDisk,
        recorder: &Recorder,
        device: &Device,
        marks: &mut [usize],
    ) -> Result<Recording, Error> {
        let call =
            |at: &usize| Call { text: String::new(), op: None, done: true, began: *at, returned: *at, syncs: false };
        let mut recording = Recording {
            split: Split::none(ordo_disk::Disk::info(&base).size),
            base,
            fingerprint: 0,
            writes: Vec::new(),
            moments: Vec::new(),
            times: Vec::new(),
            flushes: 0,
            held: Vec::new(),
            log_structured: false,
            cleaned: 0,
            lost: None,
            calls: marks.iter().map(call).collect(),
            trees: Vec::new(),
            engine_calls: (u64::MAX, Vec::new()),
        };
        recording.finish(0, recorder, device)?;
        marks.iter_mut().zip(&recording.calls).for_each(|(mark, call)| *mark = call.returned);
        Ok(recording)
    }

    /// Adds the unmount, and turns the recorder's events, except reads, into moments.
    fn finish(&mut self, unmount_began: usize, recorder: &Recorder, device: &Device) -> Result<(), Error> {
        let events = recorder.take();
        let text = "(unmount)".to_owned();
        let (began, returned) = (unmount_began, events.len());
        self.calls.push(Call { text, op: None, done: true, began, returned, syncs: true });
        let last = self.trees.last().cloned();
        self.trees.extend(last);
        let mut index = vec![0; events.len() + 1];
        let mut of_request = rustc_hash::FxHashMap::default();
        let count = events.len();
        for (i, event) in events.into_iter().enumerate() {
            index[i] = self.moments.len();
            match event {
                Event::Begin { request, time, op: DiskOp::Write, at, fua, parts } => {
                    self.times.push(time);
                    of_request.insert(request, Request::Write(self.writes.len(), fua));
                    self.moments.push(Moment::Issued(self.writes.len()));
                    self.add_write(at.0, parts);
                }
                Event::Begin { request, time, op: DiskOp::Flush, at, .. } => {
                    self.times.push(time);
                    let side = self.split.side(at.0);
                    of_request.insert(request, Request::Flush(side));
                    self.moments.push(Moment::FlushBegan(side, request));
                    self.flushes += 1;
                }
                Event::Begin { .. } => {}
                Event::End { request, time, outcome } => {
                    outcome.map_err(|error| Error::Run(error.to_string()))?;
                    self.times.extend(of_request.contains_key(&request).then_some(time));
                    match of_request.get(&request) {
                        Some(Request::Flush(side)) => self.moments.push(Moment::FlushEnded(*side, request)),
                        Some(Request::Write(write, fua)) => {
                            self.moments.push(Moment::Completed(*write));
                            if device.honest && (!device.volatile || *fua) {
                                self.writes[*write].durable = self.moments.len();
                            }
                        }
                        None => {}
                    }
                }
            }
        }
        index[count] = self.moments.len();
        for call in &mut self.calls {
            (call.began, call.returned) = (index[call.began], index[call.returned]);
        }
        if device.honest && device.volatile {
            self.flush(Side::Volume);
            self.flush(Side::Log);
        }
        Ok(())
    }

    /// A flush makes durable what had completed on the same disk before it began, and no write that completed while it
    /// ran. Flushes may overlap: an active disk has its own beside those of the queue.
    fn flush(&mut self, side: Side) {
        let (mut completed, mut covered) = (Vec::new(), rustc_hash::FxHashMap::<u64, Vec<usize>>::default());
        for (i, moment) in self.moments.iter().enumerate() {
            match moment {
                Moment::Completed(write) if self.side(*write) == side => completed.push(*write),
                Moment::FlushBegan(of, flush) if *of == side => {
                    // What an earlier one covers that has not ended, this one covers, too.
                    let mut all: Vec<usize> = covered.values().flatten().copied().collect();
                    all.append(&mut completed);
                    covered.insert(*flush, all);
                }
                Moment::FlushEnded(of, flush) if *of == side => {
                    for write in covered.remove(flush).unwrap_or_default() {
                        let durable = &mut self.writes[write].durable;
                        *durable = (*durable).min(i + 1);
                    }
                }
                _ => {}
            }
        }
    }

    /// The disk that a write went to.
    pub(crate) fn side(&self, write: usize) -> Side {
        self.split.side(self.writes[write].at)
    }

    fn add_write(&mut self, at: u64, parts: Vec<RecordedPart>) {
        let (mut place, mut adds, mut kept, mut images) = (at, Vec::new(), Vec::new(), Vec::new());
        for part in parts {
            kept.push(Part { kind: part.tag.kind, call: self.call_of(part.tag.cause), len: part.len });
            if let Some(image) = part.image {
                adds.extend(of_image(place, &image));
                images.push(image);
            }
            place += part.len;
        }
        self.writes.push(Write { at, parts: kept, images, adds, durable: usize::MAX });
    }

    fn call_of(&self, op: u64) -> Option<usize> {
        let (before, after) = &self.engine_calls;
        (op > *before).then(|| after.partition_point(|last| *last < op))
    }
}
