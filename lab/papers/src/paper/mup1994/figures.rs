//! Figures 1 to 6. The paper's plots survive as words only, so these have only our numbers.

use super::experiments::{Results, SDET_USERS, Sample, THROUGHPUT_USERS};
use super::systems::{FIVE, printed};
use super::tables::andrew_system;
use ordo_report::results::{Axis, Chart, Figure, Series};

/// A bar for each system, in one series.
fn bars(
    results: &Results,
    id: &str,
    title: &str,
    (workload, users): (&str, u32),
    systems: &[&str],
    y: Axis,
    what: fn(&Sample) -> f64,
) -> Figure {
    Figure {
        id: id.to_owned(),
        title: title.to_owned(),
        kind: Chart::Bar,
        x: Axis::new("", ""),
        series: vec![Series {
            name: y.label.clone(),
            values: systems.iter().map(|system| results.mean(workload, users, system, what)).collect(),
            points: Vec::new(),
        }],
        y,
        categories: systems.iter().map(|system| (*system).to_owned()).collect(),
    }
}

/// A line for each of the five systems over the number of users.
fn lines(results: &Results, id: &str, title: &str, workload: &str, users: &[u32], y: Axis, scale: f64) -> Figure {
    let line = |system: &&str| {
        let key = andrew_system(system);
        let point = |users: &u32| Some((f64::from(*users), results.mean(workload, *users, &key, |s| s.rate)? * scale));
        Series {
            name: printed(system).to_owned(),
            values: Vec::new(),
            points: users.iter().filter_map(point).collect(),
        }
    };
    Figure {
        id: id.to_owned(),
        title: title.to_owned(),
        kind: Chart::Line,
        x: Axis::new("Users", ""),
        y,
        categories: Vec::new(),
        series: FIVE.iter().map(line).collect(),
    }
}

const FLAGS: [&str; 7] = [
    "flag-full-cb",
    "flag-full-nr-cb",
    "flag-back-cb",
    "flag-back-nr-cb",
    "flag-part-cb",
    "flag-part-nr-cb",
    "flag-ignore-cb",
];
const PARTS: [&str; 5] = ["flag-part", "flag-part-nr", "flag-part-cb", "flag-part-nr-cb", "chains-nocb"];

pub(super) fn figures(results: &Results) -> Vec<Figure> {
    let elapsed: fn(&Sample) -> f64 = |sample| sample.elapsed_s;
    let response: fn(&Sample) -> f64 = |sample| sample.response_ms / 1e3;
    let access: fn(&Sample) -> f64 = |sample| sample.service_ms;
    let seconds = || Axis::new("Elapsed", "s");
    let waiting = || Axis::new("Response of a request", "s");
    let rate = || Axis::new("Throughput", "files/s");
    let bar = |id, title, of, systems: &[&str], y, what| bars(results, id, title, of, systems, y, what);
    let line = |id, title, workload| lines(results, id, title, workload, &THROUGHPUT_USERS, rate(), 1.0);
    vec![
        bar("figure1a", "Meanings of the flag: four users copy", ("copy", 4), &FLAGS, seconds(), elapsed),
        bar("figure1b", "The same: mean access of the disk", ("copy", 4), &FLAGS, Axis::new("Access", "ms"), access),
        bar("figure2a", "Meanings of the flag: one user removes", ("remove", 1), &FLAGS, seconds(), elapsed),
        bar("figure2b", "The same: response of the driver", ("remove", 1), &FLAGS, waiting(), response),
        bar("figure3a", "What -NR and -CB gain: four users copy", ("copy", 4), &PARTS, seconds(), elapsed),
        bar("figure3b", "The same: response of the driver", ("copy", 4), &PARTS, waiting(), response),
        bar("figure4a", "What -NR and -CB gain: four users remove", ("remove", 4), &PARTS, seconds(), elapsed),
        bar("figure4b", "The same: response of the driver", ("remove", 4), &PARTS, waiting(), response),
        line("figure5a", "Files of 1 KB created", "create"),
        line("figure5b", "Files of 1 KB removed", "delete"),
        line("figure5c", "Files of 1 KB created and removed at once", "create-delete"),
        lines(results, "figure6", "Sdet", "sdet", &SDET_USERS, Axis::new("Throughput", "scripts/hour"), 3600.0),
    ]
}
