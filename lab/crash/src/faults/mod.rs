//! Fault injection, one fault per run: the same scripts on a disk that fails, loses, tears, misplaces or corrupts what
//! it stores.
//!
//! The promise is an error or the truth, never a silent lie that fsck cannot see. A script runs once without a fault,
//! and its requests are counted. Then it runs again for every request and every [`Effect`] from the same base, goes on
//! after errors as a program would, and unmounts. What is then on the disk is read with an empty cache and checked by
//! fsck. `docs/faults.md` states the model and has the figures. After Prabhakaran et al., "IRON File Systems" (SOSP
//! 2005).
//!
//! N1. A run is a function of its id: script, scheme, device, shape, seed, effect and number.
//! N2. A lie is either excused by the format (effect-1) or a violation. Both are counted and reported.
//! N3. A fault that the disk reports excuses nothing: after `eio`, `short` and `torn` all that was promised before is
//!     there after `fsck -y`.

mod effect;
mod half;
mod judge;
mod report;
mod stage;
mod view;

pub use effect::Effect;
pub use report::{Cell, Class, Lie, Report, Violation};

use crate::disks::Disks;
use crate::fate::Fates;
use crate::{Counters, Error, Id, Plan};
use effect::label;
use half::{Half, half_of};
use judge::{Verdict, guarded};
use ordo_disk::{Disk, DiskOff, DiskOp, Kind, SECTOR};
use ordo_rt::{Rng, Rt};
use ordo_simdisk::{Fault, FaultPlan, Faulty};
use stage::{Request, Stage};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Virtual time after which a run counts as one that never ends.
const HANG: Duration = Duration::from_secs(1_000_000);

/// One fault: its effect, and which request, from 1, or which sector of the disk.
type Job = (Effect, u64);

/// Tries every fault on the plan's script; if there are more than `plan.budget.states`, only that many, evenly spread.
///
/// # Errors
/// See [`Error`]; a violation is not an error.
pub fn campaign(plan: &Plan, counters: &Counters) -> Result<Report, Error> {
    let stage = Stage::new(plan)?;
    let mut report = stage.report();
    let jobs = stage.jobs();
    counters.expected.fetch_add(jobs.len() as u64, Ordering::Relaxed);
    for (effect, n) in jobs {
        let (struck, over) = stage.struck(effect, n)?;
        let verdict = stage.run(effect, n)?;
        counters.states.fetch_add(1, Ordering::Relaxed);
        let kind = label(&struck);
        report.note(effect, &kind, verdict.class);
        let id = stage.id(effect, n);
        let kind = if effect == Effect::Misdirected { format!("{kind} over {}", label(&over)) } else { kind };
        let excused = verdict.class != Class::Lie || stage.excuse(effect, &struck, &over);
        if verdict.class == Class::Lie {
            let example = format!("{id}: {}", verdict.what);
            report.lie(Lie { effect, kind: kind.clone(), count: 1, excused, example });
        }
        if let Some(what) = verdict.broken.or_else(|| (!excused).then_some(verdict.what)) {
            counters.violations.fetch_add(1, Ordering::Relaxed);
            report.violate(Violation { id, effect, kind, what });
        }
    }
    report.healed = stage.healed.get();
    Ok(report)
}

/// Repeats one run and returns its class; the text is what is wrong, if anything is.
///
/// # Errors
/// `BadId`, or see [`Error`].
pub fn replay(id: &str) -> Result<(Class, Option<String>), Error> {
    let bad = |why| Error::BadId(id.to_owned(), why);
    let parts: Vec<&str> = id.trim().split(':').collect();
    let ["fault", plan @ .., effect, n] = &parts[..] else { return Err(bad("it begins with fault:")) };
    let plan: Id = format!("{}:0:", plan.join(":")).parse()?;
    let plan = plan.plan()?;
    let effect = Effect::by_name(effect).ok_or_else(|| bad("no such effect"))?;
    let n = n.parse().map_err(|_| bad("the last part is a number"))?;
    let Verdict { class, what, broken } = Stage::new(&plan)?.run(effect, n)?;
    Ok((class, broken.or(Some(what).filter(|what| !what.is_empty()))))
}

impl Stage<'_> {
    fn report(&self) -> Report {
        let plan = self.plan;
        Report {
            scheme: plan.subject.scheme.clone(),
            workload: plan.script.name.clone(),
            disk: plan.subject.device.name.into(),
            seed: plan.budget.seed,
            runs: 0,
            truth: 0,
            error: 0,
            seen: 0,
            healed: 0,
            lies: Vec::new(),
            cells: Vec::new(),
            violations_total: 0,
            violations: Vec::new(),
        }
    }

    fn id(&self, effect: Effect, n: u64) -> String {
        let plan = Id::new(self.plan, 0, Fates(Vec::new())).to_string();
        format!("fault:{}:{effect}:{n}", plan.trim_end_matches(":0:"))
    }

    fn jobs(&self) -> Vec<Job> {
        let sectors: BTreeMap<u64, Kind> = self.metadata();
        let mut jobs: Vec<Job> = Vec::new();
        for effect in Effect::all() {
            match effect.op() {
                None => jobs.extend(sectors.keys().map(|sector| (effect, *sector))),
                Some(op) => {
                    let fits = |request: &Request| effect != Effect::Half || self.has_halves(request);
                    let all = self.requests.iter().filter(|request| request.op == op);
                    jobs.extend((1..).zip(all).filter(|(_, request)| fits(request)).map(|(n, _)| (effect, n)));
                }
            }
        }
        let (all, most) = (jobs.len() as u64, self.plan.budget.states.max(1));
        let mut place = 0;
        jobs.retain(|_| {
            place += 1;
            all <= most || place * most / all > (place - 1) * most / all
        });
        let mut place = 0;
        jobs.retain(|_| {
            place += 1;
            self.plan.budget.shard.takes(place - 1)
        });
        jobs
    }

    /// A request of one sector has no half: the write would be lost.
    fn has_halves(&self, request: &Request) -> bool {
        half_of(request.len(), self.plan.subject.device.sector) > 0
    }

    /// The sectors that hold metadata at the end of the run.
    fn metadata(&self) -> BTreeMap<u64, Kind> {
        let mut sectors = BTreeMap::new();
        for (at, len, kind) in self.stored.iter().filter(|(_, _, kind)| !matches!(kind, Kind::Data | Kind::Symlink)) {
            let end = (at + len).div_ceil(SECTOR as u64);
            sectors.extend((at / SECTOR as u64..end).map(|sector| (sector, *kind)));
        }
        sectors
    }

    fn request(&self, effect: Effect, n: u64) -> Result<&Request, Error> {
        let mut all = self.requests.iter().filter(|request| Some(request.op) == effect.op());
        let found = all.nth(n.saturating_sub(1) as usize);
        found.ok_or_else(|| Error::BadId(format!("{effect}:{n}"), "the script makes no such request"))
    }

    /// The random numbers for one run, the same each time.
    fn luck(&self, effect: Effect, n: u64) -> Rng {
        Rng::new(self.plan.budget.seed ^ n << 8 ^ effect as u64)
    }

    /// The kinds of structure that the fault hits, and for a misdirected write those that it overwrites.
    fn struck(&self, effect: Effect, n: u64) -> Result<(BTreeSet<Kind>, BTreeSet<Kind>), Error> {
        if effect.op().is_none() {
            let at = n * SECTOR as u64;
            let stored = self.stored.iter().filter(|(from, len, _)| *from < at + SECTOR as u64 && at < from + len);
            return Ok((stored.map(|(_, _, kind)| *kind).collect(), BTreeSet::new()));
        }
        let request = self.request(effect, n)?;
        let mut over = BTreeSet::new();
        match effect {
            Effect::Rot | Effect::ReadRot => {
                let (byte, _) = self.bit(effect, n, request);
                let mut end = request.at;
                let part = request.parts.iter().find(|(len, _)| {
                    end += len;
                    byte < end
                });
                return Ok((part.iter().map(|(_, kind)| *kind).collect(), over));
            }
            Effect::Misdirected => {
                let place = request.at.saturating_add_signed(self.detour(n));
                over = self.kinds_at(place, request.len());
            }
            _ => {}
        }
        Ok((request.kinds(), over))
    }

    /// The place of the wrong bit: the byte of the disk, and the bit in it.
    fn bit(&self, effect: Effect, n: u64, request: &Request) -> (u64, u8) {
        let mut rng = self.luck(effect, n);
        (request.at + rng.below(request.len()), 1 << rng.below(8))
    }

    /// How far a misdirected write misses its place: a fragment, a block or eight blocks, either way.
    fn detour(&self, n: u64) -> i64 {
        let mut rng = self.luck(Effect::Misdirected, n);
        let shape = &self.plan.subject.shape;
        let far = [shape.fsize, shape.bsize, shape.bsize * 8][rng.below(3) as usize];
        if rng.chance(1, 2) { i64::from(far) } else { -i64::from(far) }
    }

    fn run(&self, effect: Effect, n: u64) -> Result<Verdict, Error> {
        if effect.op().is_none() {
            return Ok(self.run_rest(effect, n));
        }
        let request = self.request(effect, n)?;
        let (rt, ram) = (Rt::virtual_time(self.plan.budget.seed), self.base.snapshot());
        let watch = rt.clone();
        rt.spawn(async move {
            watch.sleep(HANG).await;
            panic!("a call never ended");
        });
        let disks = self.failing(effect, n, request, self.devices(&rt, &ram));
        let played = guarded(|| self.play(&rt, &ram, disks));
        if let Ok(played) = &played {
            rt.drop_tasks();
            self.healed.set(self.healed.get() + played.healed);
        }
        Ok(self.judge(effect, played, &ram))
    }

    fn run_rest(&self, effect: Effect, sector: u64) -> Verdict {
        let (ram, at, mut rng) = (self.end.snapshot(), sector * SECTOR as u64, self.luck(effect, sector));
        let mut bytes = [0; SECTOR];
        ram.peek(at, &mut bytes);
        match effect {
            Effect::RestBit => bytes[rng.below(SECTOR as u64) as usize] ^= 1 << rng.below(8),
            _ => rng.fill(&mut bytes),
        }
        ram.poke(at, &bytes);
        self.judge_rest(&ram)
    }

    /// The disks, where the one that gets the request fails.
    fn failing(&self, effect: Effect, n: u64, request: &Request, disks: Disks) -> Disks {
        let side = self.plan.subject.split().side(request.at);
        disks.with(side, |disk| self.failing_disk(effect, n, request, disk))
    }

    fn failing_disk(&self, effect: Effect, nth: u64, request: &Request, disk: Rc<dyn Disk>) -> Rc<dyn Disk> {
        let split = self.plan.subject.split();
        let side = split.side(request.at);
        let upto = || self.requests.iter().take_while(|other| !std::ptr::eq(*other, request));
        // Each disk counts its own requests.
        let n = 1 + upto().filter(|other| other.op == request.op && split.side(other.at) == side).count() as u64;
        let half = half_of(request.len(), self.plan.subject.device.sector) / u64::from(self.plan.subject.device.sector);
        let fault = match effect {
            Effect::ReadEio => Fault::error(DiskOp::Read, n),
            Effect::ReadEioEver => Fault::error(DiskOp::Read, n).for_ever(),
            Effect::WriteEio => Fault::error(DiskOp::Write, n),
            Effect::WriteEioEver => Fault::error(DiskOp::Write, n).for_ever(),
            Effect::FlushEio => Fault::error(DiskOp::Flush, n),
            Effect::FlushEioEver => Fault::error(DiskOp::Flush, n).for_ever(),
            Effect::Short => Fault::new(DiskOp::Write, n, ordo_simdisk::Effect::Short(half)),
            Effect::Torn => Fault::new(DiskOp::Write, n, ordo_simdisk::Effect::Torn),
            Effect::Lost => Fault::new(DiskOp::Write, n, ordo_simdisk::Effect::Lost),
            Effect::Misdirected => Fault::new(DiskOp::Write, n, ordo_simdisk::Effect::Misdirected(self.detour(nth))),
            Effect::Rot | Effect::ReadRot => {
                let (byte, mask) = self.bit(effect, nth, request);
                let touches =
                    |other: &&Request| other.op == request.op && (other.at..other.at + other.len()).contains(&byte);
                let nth = 1 + upto().filter(touches).count() as u64;
                Fault::new(request.op, nth, ordo_simdisk::Effect::BitRotAt(DiskOff(byte - split.base(side)), mask))
            }
            Effect::Half | Effect::RestBit | Effect::RestSector => {
                return Rc::new(Half { disk, nth: n, seen: Default::default() });
            }
        };
        Rc::new(Faulty::new(disk, FaultPlan::new(self.plan.budget.seed ^ nth).with(fault)))
    }
}
