//! The study of aging (section 5): files are created and read on volumes of six servers at four dates, and on an empty
//! volume of the same shape.
//!
//! G1. Use is simulated ([`crate::AgedFfs`]): the snapshots of the study are not public.
//! G2. A volume too large for the study's drive has fewer groups: an equally busy, smaller server.
//! G3. As many files as the paper made (32 MB of each size) may not fit. Then half as many are made, twice at most; the
//!     empty volume always holds all. A test that does not fit even so has no number.

use crate::aged_ffs::{AgedFfs, AgedVolume};
use crate::error::{LabError, Result};
use crate::paper::parallel;
use crate::prepared::Prepared;
use crate::{LogPlace, Machine, Run, Start};
use ordo_drive::Profile as Drive;
use ordo_vfs::Refusal;
use ordo_workload::age::{Aged as History, PROFILES, Profile, Volume};
use ordo_workload::{Params, WorkloadError};
use ordofs::AllocInit;
use ordofs::Placement;
use ordofs::disk::Frozen;
use std::collections::BTreeMap;

/// Sizes of files, in KB.
pub(super) const KIB: [u32; 3] = [8, 64, 1024];
pub(super) const STEPS: [&str; 2] = ["create", "read"];
/// Dates: October, January, April, July.
pub(super) const DATES: usize = 4;
/// The paper's servers.
const SERVERS: usize = 6;
pub(super) const DRIVE: &str = "fujitsu_m2694exa";
/// How much slower the study's CPU was: 20 MHz instead of 40.
const SPARC_1: f64 = 2.0;

/// One test: server, date, KB, step.
pub(super) type Test = (&'static str, usize, u32, &'static str);

/// All tests, as share of the empty volume's throughput, and what the volumes were like.
#[derive(Debug, Default)]
pub(super) struct Aged {
    pub(super) tests: BTreeMap<Test, f64>,
    pub(super) volumes: BTreeMap<(&'static str, usize), Placement>,
    /// Those of the last date again, on a system that reallocates clusters (`doreallocblks`), as share of the same.
    pub(super) moved: BTreeMap<Test, f64>,
    /// What each server's volume was made as, and what had happened to it in the end.
    pub(super) made: BTreeMap<&'static str, Made>,
}

/// A volume of the study, as ours was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Made {
    /// Its shape: fewer groups than the server had where the drive is too small for all (G2).
    pub(super) volume: Volume,
    /// Months of use before the first date.
    pub(super) months: u32,
    /// All that had happened by the last date.
    pub(super) by_then: History,
}

impl Aged {
    /// The tests that a rule selects.
    pub(super) fn of(&self, rule: impl Fn(&Test) -> bool) -> Vec<f64> {
        self.tests.iter().filter(|(test, _)| rule(test)).map(|(_, share)| *share).collect()
    }

    /// Part of the volume that can hold data and does.
    pub(super) fn in_use(&self, server: &str, date: usize) -> Option<f64> {
        let placement = self.volumes.iter().find(|((name, at), _)| *name == server && *at == date)?.1;
        let per_block = u64::from(placement.sizes.0 / placement.sizes.1);
        let free = placement.free_blocks * per_block + placement.free_frags;
        Some(1.0 - free as f64 / placement.data_frags as f64)
    }
}

/// The servers with their months of use when the study began (Table 4).
pub(super) const AGES: [(&str, f64); SERVERS] =
    [("cnews", 31.0), ("glan5", 24.0), ("staff", 30.0), ("usr4", 17.0), ("usr6", 14.0), ("white", 14.0)];

/// Runs the study.
///
/// # Errors
/// A volume cannot be made or aged.
pub(super) fn run(seed: u64, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Aged> {
    let servers: Vec<&'static Profile> = PROFILES.iter().filter(|profile| profile.name != "neutral").collect();
    let found = parallel::run_all(&servers, progress, |profile| of_server(profile, seed))?;
    let mut all = Aged::default();
    for aged in found {
        all.tests.extend(aged.tests);
        all.moved.extend(aged.moved);
        all.volumes.extend(aged.volumes);
        all.made.extend(aged.made);
    }
    Ok(all)
}

fn of_server(profile: &'static Profile, seed: u64) -> Result<Aged> {
    let drive = ordo_drive::Drive::new(Drive::named(DRIVE)?).blocks() * 512;
    let group = u64::from(profile.volume.blocks) * 8192;
    let groups = u64::from(profile.volume.groups).min(drive / group) as u32;
    let server = AgedFfs { profile, seed, groups: Some(groups), disk: Some(drive) };
    let empty = server.empty()?;
    let mut all = Aged::default();
    let mut base = BTreeMap::new();
    for kib in KIB {
        for (step, rate) in test(&empty, kib, 1, seed, false)? {
            base.insert((kib, step), rate);
        }
    }
    for (date, AgedVolume { contents, placement, aged, .. }) in server.at_all_dates()?.into_iter().enumerate() {
        let shares = |reallocates: bool| {
            let mut shares = BTreeMap::new();
            for kib in KIB {
                for (step, rate) in fitting(&contents, kib, seed, reallocates)? {
                    if let Some(base) = base.get(&(kib, step)) {
                        shares.insert((profile.name, date, kib, step), rate / base);
                    }
                }
            }
            Ok::<_, LabError>(shares)
        };
        all.tests.extend(shares(false)?);
        if date + 1 == DATES {
            all.moved.extend(shares(true)?);
        }
        all.volumes.insert((profile.name, date), placement);
        let volume = Volume { groups, ..profile.volume };
        all.made.insert(profile.name, Made { volume, months: profile.months, by_then: aged });
    }
    Ok(all)
}

/// The test with as many files as fit; no rates if not even a quarter does (G3).
///
/// # Errors
/// All that is not lack of space.
fn fitting(volume: &Frozen, kib: u32, seed: u64, reallocates: bool) -> Result<Vec<(&'static str, f64)>> {
    for part in [1, 2, 4] {
        match test(volume, kib, part, seed, reallocates) {
            Err(LabError::Workload(WorkloadError::Call(failed))) if is_full(&failed.source) => {}
            other => return other,
        }
    }
    Ok(Vec::new())
}

fn is_full(error: &ordo_vfs::Error) -> bool {
    matches!(error, ordo_vfs::Error::Refused(Refusal::NoSpace))
}

/// Creates and reads a `part`th of 32 MB in files of `kib` KB; the rates in bytes a second.
fn test(volume: &Frozen, kib: u32, part: u32, seed: u64, reallocates: bool) -> Result<Vec<(&'static str, f64)>> {
    let mut machine = Machine { drive: DRIVE.to_owned(), ..Machine::of_1995() };
    machine.costs = machine.costs.slower(SPARC_1);
    machine.policy.reallocates = reallocates;
    let files = u64::from((32_768 / kib / part).max(10));
    let params = Params::default().with("size", u64::from(kib) << 10).with("files", files).with("per_dir", 25);
    let run = Run {
        machine: &machine,
        scheme: "sync",
        settings: super::systems::M8R0.settings(),
        log: LogPlace::Volume,
        alloc_init: Some(AllocInit::Directories),
        workload: "small-files",
        params: params.with("last", 1),
        users: 1,
        start: Start::Cold,
        size: None,
        seed,
        services: false,
        sync: false,
    };
    let outcome = run.run_on(Some(&Prepared::without_work(volume.clone())))?;
    let phases = outcome.users.iter().flatten();
    Ok(phases.map(|phase| (phase.phase, phase.a_second(phase.bytes))).collect())
}
