//! Every run of the simulator: each system on each trace with four sizes of memory, and the few others that a claim
//! asks for.

use super::super::parallel::run_sharing;
use crate::error::{LabError, Result};
use ordo_sim::trace::About;
use ordo_sim::{Mode, Outcome, Setting, System, Trace, synth};

/// Memory in MB. The paper prints two points, 160 MB of cscope and 384 MB of tpc-r; the others are ours.
pub(super) const USUAL_MB: [u32; 4] = [80, 160, 240, 320];
pub(super) const TPC_R_MB: [u32; 4] = [256, 320, 384, 448];
/// The memory of Table II.
pub(super) const TABLE2_MB: u32 = 160;
/// The memory of the point of Figure 9(a).
pub(super) const POINT_MB: u32 = 384;
/// Shorter commit timers, in milliseconds.
pub(super) const TIMERS_MS: [u32; 3] = [100, 500, 1000];

/// So many of a thousand blocks are in use when free space is short: what is left is less than what cscope's commits
/// write in all, which 1.5 per cent is not.
pub(super) const SHORT: u32 = 995;

/// What is unlike the paper's Table I.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Variant {
    Usual,
    /// Milliseconds of the commit timer.
    Timer(u32),
    /// Of thousand blocks of a group, so many may be in use.
    Full(u32),
}

/// One run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub(super) system: System,
    pub(super) trace: &'static str,
    pub(super) mb: u32,
    pub(super) variant: Variant,
}

impl Point {
    fn setting(&self) -> Setting {
        let usual = Setting { cache: u64::from(self.mb) << 20, ..Setting::default() };
        match self.variant {
            Variant::Usual => usual,
            Variant::Timer(ms) => Setting { timer_ms: f64::from(ms), ..usual },
            Variant::Full(thousandths) => Setting { full: f64::from(thousandths) / 1000.0, ..usual },
        }
    }
}

/// The sizes of memory of a trace.
pub(super) fn sizes(trace: &str) -> [u32; 4] {
    if trace == "tpc-r" { TPC_R_MB } else { USUAL_MB }
}

fn points() -> Vec<Point> {
    let usual = |system, trace, mb| Point { system, trace, mb, variant: Variant::Usual };
    let varied = |system, trace, variant| Point { system, trace, mb: TABLE2_MB, variant };
    let mut points = Vec::new();
    for trace in synth::NAMES {
        for mb in sizes(trace) {
            points.extend(System::SIX.map(|system| usual(system, trace, mb)));
        }
        match trace {
            "gcc" => {
                let others = [System::Ext3(Mode::Journal), System::Ext3(Mode::Writeback), System::ActiveVirtual];
                points.extend(others.map(|system| usual(system, trace, TABLE2_MB)));
                let ext3 = System::Ext3(Mode::Ordered);
                points.extend(TIMERS_MS.map(|ms| varied(ext3, trace, Variant::Timer(ms))));
            }
            "cscope" => {
                let full = [System::Active, System::Ext3(Mode::Ordered)];
                points.extend(full.map(|system| varied(system, trace, Variant::Full(1000))));
                points.push(usual(System::ActiveVirtual, trace, TABLE2_MB));
                points.extend([985, SHORT].map(|full| varied(System::ActiveVirtual, trace, Variant::Full(full))));
            }
            _ => (),
        }
    }
    points
}

/// The results.
#[derive(Debug, Default)]
pub(super) struct Results {
    runs: Vec<(Point, Outcome)>,
    abouts: Vec<About>,
}

impl Results {
    pub(super) fn varied(&self, system: System, trace: &str, mb: u32, variant: Variant) -> Option<&Outcome> {
        let is_it = |point: &Point| {
            point.system == system && point.trace == trace && point.mb == mb && point.variant == variant
        };
        self.runs.iter().find(|(point, _)| is_it(point)).map(|(_, outcome)| outcome)
    }

    pub(super) fn of(&self, system: System, trace: &str, mb: u32) -> Option<&Outcome> {
        self.varied(system, trace, mb, Variant::Usual)
    }

    /// The geometric mean of the mean responses over the sizes of memory.
    pub(super) fn response(&self, system: System, trace: &str) -> Option<f64> {
        let logs = sizes(trace).map(|mb| Some(self.of(system, trace, mb)?.mean_response_ms.ln()));
        Some((logs.into_iter().sum::<Option<f64>>()? / 4.0).exp())
    }

    pub(super) fn about(&self, trace: &str) -> Option<&About> {
        self.abouts.iter().find(|about| about.trace == trace)
    }
}

/// A trace, on a disk laid out from all of them (section IV-A).
pub(super) fn made(name: &str, seed: u64) -> Result<Trace> {
    synth::among_all(name, seed).ok_or_else(|| LabError::Program(format!("no trace called {name:?}")))
}

/// Runs them all.
pub(super) fn run_all(seed: u64, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Results> {
    let points = points();
    let outcomes = run_sharing(
        &points,
        |point| Some(point.trace),
        progress,
        |name| made(name, seed),
        |point, trace: Option<&Trace>| {
            // OK to fail: every point names its trace, so there is one.
            let trace = trace.ok_or_else(|| LabError::Program(format!("no trace for {point:?}")))?;
            Ok(ordo_sim::run(point.system, trace, &point.setting())?)
        },
    )?;
    let abouts = synth::NAMES.iter().map(|name| Ok(made(name, seed)?.about())).collect::<Result<_>>()?;
    Ok(Results { runs: points.into_iter().zip(outcomes).collect(), abouts })
}
