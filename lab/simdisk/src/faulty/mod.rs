//! A disk that fails according to a plan: the n-th request of a kind, once or forever, in every way that disks fail.
//!
//! Random choices come from the plan's seed: the same plan and the same requests give the same damage.

mod plan;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use ordo_disk::{
    Block, Cause, Disk, DiskError, DiskFuture, DiskInfo, DiskOff, DiskOp, ReadPart, Tag, WritePart, read_len, write_len,
};
use ordo_rt::Rng;
use rustix::io::Errno;

use plan::Request;
pub use plan::{Effect, Fault, FaultPlan};

/// A fault that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Injected {
    /// Its index in the plan.
    pub fault: usize,
    /// The request.
    pub op: DiskOp,
    /// The address of the request.
    pub at: DiskOff,
}

/// Wraps another disk and injects the faults of a plan; clones share them.
#[derive(Clone)]
pub struct Faulty {
    disk: Rc<dyn Disk>,
    state: Rc<RefCell<State>>,
}

struct State {
    faults: Vec<(Fault, u64)>,
    rng: Rng,
    injected: Vec<Injected>,
    power_off: bool,
    on_power_cut: Option<PowerCutHook>,
}

type PowerCutHook = Box<dyn FnOnce(&mut Rng)>;

impl Faulty {
    /// `disk` with the faults of `plan`.
    pub fn new(disk: Rc<dyn Disk>, plan: FaultPlan) -> Faulty {
        let state = State {
            faults: plan.faults.into_iter().map(|fault| (fault, 0)).collect(),
            rng: Rng::new(plan.seed),
            injected: Vec::new(),
            power_off: false,
            on_power_cut: None,
        };
        Faulty { disk, state: Rc::new(RefCell::new(state)) }
    }

    /// Calls `act` when the power goes off: `move |rng| ram.power_cut_at_random(rng)` drops what was not flushed.
    pub fn on_power_cut(self, act: impl FnOnce(&mut Rng) + 'static) -> Faulty {
        self.state.borrow_mut().on_power_cut = Some(Box::new(act));
        self
    }

    /// The faults injected so far.
    pub fn injected(&self) -> Vec<Injected> {
        self.state.borrow().injected.clone()
    }

    /// True after a power cut.
    pub fn power_is_off(&self) -> bool {
        self.state.borrow().power_off
    }

    /// Cuts the power now.
    pub fn cut_power(&self) {
        let (act, mut rng) = {
            let mut state = self.state.borrow_mut();
            state.power_off = true;
            (state.on_power_cut.take(), state.rng.fork())
        };
        if let Some(act) = act {
            act(&mut rng);
        }
    }

    /// The fault of this request, if any. Every fault that concerns the request counts it.
    fn fate(&self, request: &Request) -> Result<Option<Effect>, DiskError> {
        let mut state = self.state.borrow_mut();
        if state.power_off {
            return Err(request.error(Cause::PowerCut));
        }
        let mut fate = None;
        let State { faults, injected, .. } = &mut *state;
        for (i, (fault, count)) in faults.iter_mut().enumerate() {
            if !fault.concerns(request) {
                continue;
            }
            *count += 1;
            if fate.is_none() && *count >= fault.first && *count - fault.first < fault.times {
                fate = Some(fault.effect);
                injected.push(Injected { fault: i, op: request.op, at: request.at });
            }
        }
        Ok(fate)
    }

    /// The result, unless the power goes off before it comes.
    fn powered<T: Unpin + 'static>(
        &self,
        request: Request,
        answer: DiskFuture<Result<T, DiskError>>,
    ) -> DiskFuture<Result<T, DiskError>> {
        let state = self.state.clone();
        answer.map(move |answer| if state.borrow().power_off { Err(request.error(Cause::PowerCut)) } else { answer })
    }

    /// The address at which a request arrives that misses its place by `by` bytes; `None` if that is off the disk.
    fn misdirect(&self, request: &Request, by: i64) -> Option<DiskOff> {
        let place = DiskOff(request.at.0.checked_add_signed(by)?);
        self.disk.info().check(request.op, place, request.len).is_ok().then_some(place)
    }

    /// The bits that are wrong: a byte, counted from the beginning of the request, and a mask.
    fn wrong_bits(&self, request: &Request, effect: Effect) -> Option<(u64, u8)> {
        match effect {
            Effect::BitRot => {
                let mut rng = self.state.borrow_mut().rng.fork();
                Some((rng.below(request.len), 1 << rng.below(8)))
            }
            Effect::BitRotAt(at, mask) => Some((at.0.checked_sub(request.at.0)?, mask)),
            _ => None,
        }
    }

    /// Writes some of the sectors, and answers with an error.
    fn write_some(
        &self,
        request: Request,
        parts: Vec<WritePart>,
        mut reaches: impl FnMut(u64) -> bool,
        cause: Cause,
    ) -> DiskFuture<Result<(), DiskError>> {
        let tag = parts.first().map_or(Tag::default(), |part| part.tag);
        let bytes: Vec<u8> = parts.iter().flat_map(|part| part.image.iter().copied()).collect();
        let sector = self.disk.info().sector as usize;
        let mut writes = Vec::new();
        for (i, bytes) in bytes.chunks(sector).enumerate() {
            if reaches(i as u64) {
                let part = WritePart { image: Block::copy_of(bytes).image(), tag };
                writes.push(self.disk.write(request.at + (i * sector) as u64, vec![part], false));
            }
        }
        let error = request.error(cause);
        if writes.iter().all(|write| matches!(write, DiskFuture::Now(_))) {
            return DiskFuture::now(Err(error));
        }
        DiskFuture::later(async move {
            for write in writes {
                // The request fails as planned, whatever the disk below answers.
                let _ = write.await;
            }
            Err(error)
        })
    }

    fn faulty_write(
        &self,
        request: Request,
        parts: Vec<WritePart>,
        fua: bool,
        effect: Effect,
    ) -> DiskFuture<Result<(), DiskError>> {
        let io = Cause::Io(Errno::IO.raw_os_error());
        match effect {
            Effect::Error(errno) => DiskFuture::now(Err(request.error(Cause::Io(errno.raw_os_error())))),
            Effect::Short(sectors) => self.write_some(request, parts, |sector| sector < sectors, io),
            Effect::Torn => {
                let mut rng = self.state.borrow_mut().rng.fork();
                self.write_some(request, parts, |_| rng.chance(1, 2), io)
            }
            Effect::PowerCut => {
                let mut rng = self.state.borrow_mut().rng.fork();
                let answer = self.write_some(request, parts, |_| rng.chance(1, 2), Cause::PowerCut);
                self.cut_power();
                answer
            }
            Effect::Misdirected(by) => match self.misdirect(&request, by) {
                Some(place) => self.powered(request, self.disk.write(place, parts, fua)),
                None => DiskFuture::now(Ok(())),
            },
            Effect::Lost => DiskFuture::now(Ok(())),
            Effect::BitRot | Effect::BitRotAt(..) => {
                let mut parts = parts;
                if let Some((byte, mask)) = self.wrong_bits(&request, effect) {
                    flip(parts.iter_mut().map(|part| Arc::make_mut(&mut part.image)), byte, mask);
                }
                let write = self.disk.write(request.at, parts, fua);
                self.powered(request, write)
            }
        }
    }

    fn faulty_read(
        &self,
        request: Request,
        mut parts: Vec<ReadPart>,
        effect: Effect,
    ) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        match effect {
            Effect::Error(errno) => DiskFuture::now(Err(request.error(Cause::Io(errno.raw_os_error())))),
            Effect::Short(_) | Effect::Torn => DiskFuture::now(Err(request.error(Cause::Io(Errno::IO.raw_os_error())))),
            Effect::Lost => {
                parts.iter_mut().for_each(|part| part.block.fill(0));
                DiskFuture::now(Ok(parts))
            }
            Effect::Misdirected(by) => {
                let place = self.misdirect(&request, by).unwrap_or(request.at);
                self.powered(request, self.disk.read(place, parts))
            }
            Effect::BitRot | Effect::BitRotAt(..) => {
                let wrong = self.wrong_bits(&request, effect);
                let read = self.disk.read(request.at, parts).map(move |answer| {
                    answer.map(|mut parts| {
                        if let Some((byte, mask)) = wrong {
                            flip(parts.iter_mut().map(|part| &mut part.block), byte, mask);
                        }
                        parts
                    })
                });
                self.powered(request, read)
            }
            Effect::PowerCut => {
                self.cut_power();
                DiskFuture::now(Err(request.error(Cause::PowerCut)))
            }
        }
    }

    /// A flush or a discard: `go` sends it to the disk.
    fn faulty_order(
        &self,
        request: Request,
        go: impl FnOnce() -> DiskFuture<Result<(), DiskError>>,
    ) -> DiskFuture<Result<(), DiskError>> {
        match self.fate(&request) {
            Err(error) => DiskFuture::now(Err(error)),
            Ok(None | Some(Effect::BitRot | Effect::BitRotAt(..))) => self.powered(request, go()),
            Ok(Some(Effect::Lost | Effect::Misdirected(_))) => DiskFuture::now(Ok(())),
            Ok(Some(Effect::Error(errno))) => DiskFuture::now(Err(request.error(Cause::Io(errno.raw_os_error())))),
            Ok(Some(Effect::Short(_) | Effect::Torn)) => {
                DiskFuture::now(Err(request.error(Cause::Io(Errno::IO.raw_os_error()))))
            }
            Ok(Some(Effect::PowerCut)) => {
                self.cut_power();
                DiskFuture::now(Err(request.error(Cause::PowerCut)))
            }
        }
    }
}

/// Flips the bits of `mask` in the byte that is `byte` bytes into `blocks`.
fn flip<'a>(blocks: impl Iterator<Item = &'a mut Block>, mut byte: u64, mask: u8) {
    for block in blocks {
        match block.get_mut(byte as usize) {
            Some(wrong) => {
                *wrong ^= mask;
                return;
            }
            None => byte -= block.len() as u64,
        }
    }
}

impl Disk for Faulty {
    fn info(&self) -> DiskInfo {
        self.disk.info()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        let kinds = parts.iter().map(|part| part.tag.kind).collect();
        let request = Request { op: DiskOp::Read, at, len: read_len(&parts), kinds };
        match self.fate(&request) {
            Err(error) => DiskFuture::now(Err(error)),
            Ok(None) => self.powered(request, self.disk.read(at, parts)),
            Ok(Some(effect)) => self.faulty_read(request, parts, effect),
        }
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        let kinds = parts.iter().map(|part| part.tag.kind).collect();
        let request = Request { op: DiskOp::Write, at, len: write_len(&parts), kinds };
        match self.fate(&request) {
            Err(error) => DiskFuture::now(Err(error)),
            Ok(None) => self.powered(request, self.disk.write(at, parts, fua)),
            Ok(Some(effect)) => self.faulty_write(request, parts, fua, effect),
        }
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        let request = Request { op: DiskOp::Flush, at: DiskOff(0), len: 0, kinds: Vec::new() };
        self.faulty_order(request, || self.disk.flush())
    }

    fn discard(&self, at: DiskOff, len: u64) -> DiskFuture<Result<(), DiskError>> {
        let request = Request { op: DiskOp::Discard, at, len, kinds: Vec::new() };
        self.faulty_order(request, || self.disk.discard(at, len))
    }
}

#[cfg(test)]
mod tests;
