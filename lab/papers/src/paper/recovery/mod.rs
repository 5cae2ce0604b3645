//! Recovery time: how long it takes until a volume can be used again after a power cut, against its size, the size of
//! its log, and the time since nothing was left to be written. No paper printed this; Seltzer and others (2000, section
//! 5.3) say that the replay of a log takes time in proportion to what lies between checkpoints, and a scan in
//! proportion to the volume.
//!
//! The machine is that of 2000 ([`Machine::of_2000`]), and its CPU is not modelled (case-1).

mod case;
#[cfg(test)]
mod tests;

use std::time::Duration;

use self::case::{Case, SEED, Took};
use super::parallel::run_all;
use super::set_up::Paper;
use crate::Machine;
use crate::error::Result;
use ordo_report::results::{Axis, Chart, Document, Figure, Series};

/// As `ordo paper` lists it.
pub(super) const RECOVERY: Paper = Paper {
    key: "recovery",
    what: "Time to recover by volume size, log size and time since the checkpoint, for every scheme (no paper)",
};

const SCHEMES: [&str; 7] = ["async", "sync", "softupdates", "suj", "journal-file", "wafs", "block-journal"];
/// The schemes with a log of transactions.
const JOURNALS: [&str; 3] = ["journal-file", "wafs", "block-journal"];

/// Volumes, in MiB. The drive of 2000 has 8749.
const SIZES: [u64; 4] = [256, 1024, 4096, 8192];
/// Seconds from the mount to the cut.
const SINCE: [u64; 6] = [1, 5, 15, 30, 60, 120];
/// Logs, in MiB.
const LOGS: [u64; 4] = [1, 4, 16, 64];

/// The values that are fixed in the other figures.
const USUAL_SIZE: u64 = 1024;
const USUAL_SINCE: u64 = 30;
/// Long enough for a small log to wrap.
const LOG_SINCE: u64 = 60;

fn case(scheme: &'static str, mib: u64, log_mib: Option<u64>, seconds: u64) -> Case {
    Case { scheme, size: mib << 20, log: log_mib.map(|mib| mib << 20), since: Duration::from_secs(seconds) }
}

/// All cuts, each once.
fn cases() -> Vec<Case> {
    let by_size = SCHEMES.iter().flat_map(|scheme| SIZES.map(|mib| case(scheme, mib, None, USUAL_SINCE)));
    let by_since = SCHEMES.iter().flat_map(|scheme| SINCE.map(|seconds| case(scheme, USUAL_SIZE, None, seconds)));
    let by_log = JOURNALS.iter().flat_map(|scheme| LOGS.map(|mib| case(scheme, USUAL_SIZE, Some(mib), LOG_SINCE)));
    let mut all: Vec<Case> = Vec::new();
    for case in by_size.chain(by_since).chain(by_log) {
        if !all.contains(&case) {
            all.push(case);
        }
    }
    all
}

/// Cuts the power in all cases. `progress` receives the number of finished cases and the total.
///
/// # Errors
/// The first failure.
pub(super) fn run(progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Document> {
    let machine = Machine::of_2000();
    let cases = cases();
    let took = run_all(&cases, progress, |case| case.run(&machine))?;
    let found = |case: Case| cases.iter().position(|known| *known == case).map(|at| took[at]);
    Ok(Document {
        paper: RECOVERY.key.to_owned(),
        title: "Recovery after a power cut".to_owned(),
        reference: "no paper; the machine is that of Seltzer and others (USENIX 2000)".to_owned(),
        disk: machine.drive.clone(),
        seed: Some(SEED),
        notes: vec![
            "Virtual seconds of the drive; computing takes none. A volume holds two files of 8 KiB for each MiB."
                .to_owned(),
            format!(
                "The power goes {USUAL_SINCE} s after the mount where nothing else is said; until then a file of 1 KiB comes \
                 each 5 ms, and of three one goes. Usable: mounted for writing, after fsck -p under async and sync, after a \
                 replay under the journals and suj, at once under softupdates."
            ),
        ],
        figures: figures(&found),
        ..Document::default()
    })
}

fn figures(found: &dyn Fn(Case) -> Option<Took>) -> Vec<Figure> {
    let gib = Axis::new("volume", "GiB");
    let by_size = |id, title, of: fn(Took) -> f64, schemes: &[&'static str]| {
        let points = SIZES.map(|mib| mib as f64 / 1024.0);
        let took = |scheme, at: usize| found(case(scheme, SIZES[at], None, USUAL_SINCE)).map(of);
        lines(id, title, gib.clone(), &points, schemes, &took)
    };
    let since = SINCE.map(|seconds| seconds as f64);
    let logs = LOGS.map(|mib| mib as f64);
    vec![
        by_size("usable-by-size", "Until the volume is usable, by its size", |took| took.usable, &SCHEMES),
        by_size("scan-by-size", "fsck -y of the whole volume, by its size", |took| took.scan, &SCHEMES),
        by_size(
            "background-by-size",
            "Reclaim in the background after that, by the volume's size",
            |took| took.background,
            &["softupdates", "suj"],
        ),
        lines(
            "usable-by-time",
            "Until a volume of 1 GiB is usable, by the time since its mount",
            Axis::new("from mount to cut", "s"),
            &since,
            &SCHEMES,
            &|scheme, at| found(case(scheme, USUAL_SIZE, None, SINCE[at])).map(|took| took.usable),
        ),
        lines(
            "usable-by-log",
            "Until a volume of 1 GiB is usable, by the size of its log, 60 s after its mount",
            Axis::new("log", "MiB"),
            &logs,
            &JOURNALS,
            &|scheme, at| found(case(scheme, USUAL_SIZE, Some(LOGS[at]), LOG_SINCE)).map(|took| took.usable),
        ),
    ]
}

/// A line for each scheme.
fn lines(
    id: &str,
    title: &str,
    x: Axis,
    points: &[f64],
    schemes: &[&'static str],
    took: &dyn Fn(&'static str, usize) -> Option<f64>,
) -> Figure {
    let series = schemes.iter().map(|scheme| Series {
        name: (*scheme).to_owned(),
        points: points.iter().enumerate().filter_map(|(at, x)| Some((*x, took(scheme, at)?))).collect(),
        ..Series::default()
    });
    Figure {
        id: id.to_owned(),
        title: title.to_owned(),
        kind: Chart::Line,
        x,
        y: Axis::new("time", "s"),
        categories: Vec::new(),
        series: series.collect(),
    }
}
