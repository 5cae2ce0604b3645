//! The endurance test: one volume works, loses its power, is recovered as its scheme declares, works on, and so on, for
//! hours of virtual time and hundreds of cuts. The work between two cuts is a *leg*.
//!
//! E1. Every cut is checked like any other: several futures of the undurable writes are tried, and each is recovered
//!     and checked against what the scheme promises. The volume goes on with one of them.
//! E2. A scheme that may be mounted at once is mounted with all that the cut has left, so that its background work runs
//!     beside the calls. Others are repaired first.
//! E3. Nothing is reset between cuts, and nothing is repaired that the scheme itself would not repair: damage that one
//!     crash leaves undetected meets the next leg.

use crate::cut::Cuts;
use crate::disks::{Disks, Split};
use crate::explore::{Counters, Exploration, counted};
use crate::fate::{Fate, Fates, Futures};
use crate::mount::mount;
use crate::order::honest;
use crate::plan::{Budget, Plan};
use crate::promise::Promised;
use crate::record::{Recording, record_on_used};
use crate::recover::check;
use crate::recovery::Recovery;
use crate::report::Report;
use crate::verdict::Memory;
use crate::{Error, volume};
use ordo_disk::RamDisk;
use ordo_fsck::Mode;
use ordo_rt::{Rng, Rt};
use ordo_schemes::Settings;
use ordo_workload::Session;
use ordo_workload::script::random;
use serde::{Deserialize, Serialize};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The parameters of an endurance test.
#[derive(Clone)]
pub struct Endurance {
    /// Scheme, device, volume, seed, and the most states to try at each cut. Its script is not used.
    pub plan: Plan,
    /// Number of power cuts.
    pub cuts: u32,
    /// Virtual time of work in total.
    pub time: Duration,
}

/// The result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Endured {
    /// The reports of all cuts together.
    #[serde(flatten)]
    pub report: Report,
    /// Virtual seconds of work.
    pub seconds: f64,
    /// Calls that began.
    pub calls: u64,
    /// Calls that did what they were asked for.
    pub done: u64,
}

/// Mean time between two calls.
const PACE: Duration = Duration::from_millis(500);

/// Runs the test up to the first violation. If a volume that was found sound cannot be mounted, or a call fails on it,
/// that is an error, which names the cut. A state with an unreadable sector is checked, but the volume does not go on
/// with it.
///
/// # Errors
/// See [`Error`]; a violation is not an error.
pub fn endure(what: &Endurance, counters: &Counters) -> Result<Endured, Error> {
    let plan = Plan { pace: Some(PACE), ..what.plan.clone() };
    let promises = plan.subject.promises()?;
    let mut life = Life {
        disk: volume::of(&plan.subject)?,
        rng: Rng::new(plan.budget.seed ^ 0x656e_6475_7265),
        written: 0,
        counters,
        recovery: Recovery::of(&promises),
    };
    let mut endured = Endured { report: Report::nothing(&plan), seconds: 0.0, calls: 0, done: 0 };
    counters.scripts_expected.fetch_add(what.cuts.into(), Ordering::Relaxed);
    // The power goes in the second half of a leg, on average after three quarters of it: so a leg is 4/3 of its share
    // of the time.
    let leg = what.time.mul_f64(4.0 / 3.0 / f64::from(what.cuts.max(1)));
    for number in 0.. {
        if number >= what.cuts && endured.seconds >= what.time.as_secs_f64() {
            break;
        }
        life.leg(&plan, leg, number, &mut endured)?;
        counters.scripts.fetch_add(1, Ordering::Relaxed);
        if endured.report.violations_total > 0 {
            break;
        }
    }
    endured.report.workload = "endurance".into();
    Ok(endured)
}

struct Life<'a> {
    disk: RamDisk,
    rng: Rng,
    /// Number of contents written so far.
    written: u64,
    counters: &'a Counters,
    recovery: Recovery,
}

impl Life<'_> {
    /// Works for one leg, and cuts the power.
    fn leg(&mut self, plan: &Plan, time: Duration, number: u32, endured: &mut Endured) -> Result<(), Error> {
        let seed = self.rng.next_u64();
        let count = (time.as_secs_f64() / PACE.as_secs_f64()).ceil() as usize;
        let attributes = plan.subject.shape.format == ordo_ondisk::Format::Ufs2;
        let script = random::calls(seed, count, attributes, &mut self.written);
        let plan = Plan { script, budget: Budget { seed, ..plan.budget }, ..plan.clone() };
        let promises = plan.subject.promises()?;
        let name = format!("after cut {number}");
        let recording = record_on_used(&plan, &self.disk).map_err(|error| Error::Script(name, error.into()))?;
        let (mut cuts, mut promised) =
            (Cuts::new(&recording, &plan.subject.device), Promised::new(&recording, &promises));
        let moments = self.moments(&recording);
        while cuts.at < moments {
            cuts.step();
        }
        promised.go_on(moments);
        endured.seconds +=
            recording.times.get(moments).or(recording.times.last()).map_or(0.0, |time| time.as_secs_f64());
        let begun = recording.calls.iter().take_while(|call| call.op.is_some() && call.began <= moments);
        let (calls, done) = begun.fold((0, 0), |(calls, done), call| (calls + 1, done + u64::from(call.done)));
        (endured.calls, endured.done) = (endured.calls + calls, endured.done + done);

        let (units, sides) = (cuts.units(), cuts.sides());
        let (device, most, exhaustive) = (&plan.subject.device, plan.budget.states as usize, plan.budget.exhaustive);
        let futures = Futures { device, units: &units, sides: &sides, most, exhaustive };
        let list = futures.list(&mut self.rng);
        let mut report = counted(&mut Memory::default(), |memory| {
            let mut exploration = Exploration::new(&plan, &recording, &promises, memory, self.counters);
            for (state, fates) in (0..).zip(&list) {
                if let Some(breach) = exploration.try_state(&mut cuts, &promised, fates) {
                    exploration.convict(&cuts, (moments, state), fates.clone(), &breach);
                }
            }
            exploration.report
        });
        report.cuts = 1;
        // This disk can only be reached by repeating the whole test.
        for violation in &mut report.violations {
            violation.id = format!("cut {number} of the life by this seed, state {}", violation.state);
        }
        endured.report = std::mem::replace(&mut endured.report, Report::nothing(&plan)).and(report);
        if endured.report.violations_total == 0 {
            self.live_on(plan.subject.split(), &mut cuts, &list)?;
        }
        Ok(())
    }

    /// The moment of the cut, drawn evenly over disk events, so that busy periods are cut more often; in the second
    /// half of the leg.
    fn moments(&mut self, recording: &Recording) -> usize {
        let idle = recording.calls.iter().find(|call| call.op.is_none());
        let end = idle.map_or(recording.moments.len(), |call| call.began);
        self.rng.range(end as u64 / 2, end as u64) as usize
    }

    /// E2. Goes on with one of the states of the cut.
    fn live_on(&mut self, split: Split, cuts: &mut Cuts<'_>, list: &[Fates]) -> Result<(), Error> {
        let readable: Vec<&Fates> = list.iter().filter(|fates| !fates.0.contains(&Fate::Unreadable)).collect();
        let chosen = readable.get(self.rng.below(readable.len().max(1) as u64) as usize);
        // OK to expect: the futures of every disk include "all kept" and "all lost".
        let (disk, _) = cuts.image(chosen.expect("one future at least can be read"));
        if self.recovery == Recovery::Fsck {
            let disks = split.disks(Rc::new(disk.clone()));
            check(&Rt::virtual_time(0), disks.clone(), Mode::Preen)?;
            empty_lost_and_found(&disk, disks)?;
        }
        self.disk = disk;
        Ok(())
    }
}

/// Removes what the repair put into `lost+found`, as an administrator would: no scheme promises anything about it.
fn empty_lost_and_found(disk: &RamDisk, disks: Disks) -> Result<(), Error> {
    let rt = Rt::virtual_time(0);
    let scheme = honest("async", &Settings::default())?;
    let mounted = mount(&rt, disk, disks, scheme, false)?;
    let fs = mounted.fs().clone();
    let emptied = rt.block_on(async {
        let session = Session::new(&*fs);
        match session.remove_tree("lost+found").await {
            Ok(_) | Err(ordo_vfs::Error::Refused(ordo_vfs::Refusal::NotFound)) => Ok(()),
            Err(error) => Err(error),
        }
    });
    drop(fs);
    let done = emptied.and(rt.block_on(mounted.unmount()));
    rt.drop_tasks();
    done.map_err(|error| Error::Run(format!("emptying lost+found: {error}")))
}
