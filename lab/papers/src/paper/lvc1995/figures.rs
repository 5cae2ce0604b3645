//! Figures 1 to 7, and what the paper could not draw. Its plots survive as words only, so these have only our numbers.

use super::aging::{self, AGES, Aged, DATES};
use super::experiments::{BEYOND_KIB, FULL, KIB, Phase, Results, Work};
use super::systems::{BEYOND, Disk, LFS, M8R0, System, THREE, VALIDATED};
use ordo_report::results::{Axis, Chart, Figure, Series};

type Number = fn(&Phase) -> f64;

/// Bars of several phases of one work, a group for each phase.
fn bars(results: &Results, (id, title): (&str, &str), y: Axis, work: Work, phases: &[&str], what: Number) -> Figure {
    let values = |system: &System| {
        phases.iter().map(|phase| results.phase(work, system.key, phase).map(what)).collect::<Vec<_>>()
    };
    let series = VALIDATED.iter().map(|system| Series {
        name: system.key.to_owned(),
        values: values(system),
        points: Vec::new(),
    });
    Figure {
        id: id.to_owned(),
        title: title.to_owned(),
        kind: Chart::Bar,
        x: Axis::default(),
        y,
        categories: phases.iter().map(|phase| (*phase).to_owned()).collect(),
        series: series.collect(),
    }
}

/// A line for each system, over the sizes of files.
fn by_size(results: &Results, (id, title): (&str, &str), step: &str, y: Axis, what: Number) -> Figure {
    let line = |system: &System| {
        let point = |kib: u32| Some((f64::from(kib), what(results.phase(Work::files(step, kib), system.key, step)?)));
        Series { name: system.key.to_owned(), values: Vec::new(), points: KIB.into_iter().filter_map(point).collect() }
    };
    Figure {
        id: id.to_owned(),
        title: title.to_owned(),
        kind: Chart::Line,
        x: Axis::new("Size of a file", "KB"),
        y,
        categories: Vec::new(),
        series: THREE.iter().map(line).collect(),
    }
}

/// Transactions a second, by how full the disk is.
fn transactions(results: &Results) -> Figure {
    let tps = |work: Work, system: &System| Some(results.phase(work, system.key, "transactions")?.rate);
    let line = |name: &str, of: &dyn Fn(u32) -> Option<f64>| Series {
        name: name.to_owned(),
        values: Vec::new(),
        points: FULL.into_iter().filter_map(|full| Some((f64::from(full), of(full)?))).collect(),
    };
    Figure {
        id: "figure7".to_owned(),
        title: "TPC-B".to_owned(),
        kind: Chart::Line,
        x: Axis::new("Disk in use", "%"),
        y: Axis::new("Throughput", "transactions/s"),
        categories: Vec::new(),
        series: vec![
            line("bsd-lfs, no cleaner", &|_| tps(Work::Fresh, &LFS)),
            line("bsd-lfs", &|full| tps(Work::Full(full), &LFS)),
            line("ffs", &|full| tps(Work::Full(full), &M8R0)),
        ],
    }
}

/// All ways to keep metadata in order, on one disk.
fn beyond(results: &Results, (id, title): (&str, &str), disk: Disk, step: &str) -> Figure {
    let values = |system: &System| {
        let of = |kib: u32| Some(results.on(Work::files(step, kib), system.key, disk, step)?.rate);
        BEYOND_KIB.map(of).to_vec()
    };
    Figure {
        id: id.to_owned(),
        title: title.to_owned(),
        kind: Chart::Bar,
        x: Axis::default(),
        y: Axis::new("Throughput", "files/s"),
        categories: BEYOND_KIB.iter().map(|kib| format!("{kib} KB")).collect(),
        series: BEYOND
            .iter()
            .map(|system| Series { name: system.key.to_owned(), values: values(system), points: Vec::new() })
            .collect(),
    }
}

/// Every test on aged volumes, by server.
fn age(aged: &Aged) -> Figure {
    let categories: Vec<_> = (0..DATES)
        .flat_map(|date| aging::KIB.map(|kib| (date, kib)))
        .flat_map(|(date, kib)| aging::STEPS.map(|step| (date, kib, step)))
        .collect();
    let series = AGES.iter().map(|(server, _)| Series {
        name: (*server).to_owned(),
        values: categories
            .iter()
            .map(|(date, kib, step)| aged.of(|test| *test == (*server, *date, *kib, *step)).first().copied())
            .collect(),
        points: Vec::new(),
    });
    let month = |date: usize| ["October", "January", "April", "July"].get(date).copied().unwrap_or_default();
    Figure {
        id: "figure8".to_owned(),
        title: "Throughput on aged volumes".to_owned(),
        kind: Chart::Bar,
        x: Axis::default(),
        y: Axis::new("Share of an empty volume's", ""),
        categories: categories.iter().map(|(date, kib, step)| format!("{} {step} {kib} KB", month(*date))).collect(),
        series: series.collect(),
    }
}

pub(super) fn figures(results: &Results, aged: &Aged) -> Vec<Figure> {
    let files: Number = |phase| phase.rate;
    let mb_s: Number = |phase| phase.mb_s;
    let rate = || Axis::new("Throughput", "MB/s");
    let passes = ["write", "read", "random-write", "random-read", "re-read"];
    let small = ["create", "read", "delete"];
    vec![
        bars(results, ("figure1", "10,000 small files"), Axis::new("Rate", "files/s"), Work::Small, &small, files),
        bars(results, ("figure2", "A file of 100 MB"), rate(), Work::Large, &passes, mb_s),
        by_size(results, ("figure3", "Files created"), "create", rate(), mb_s),
        by_size(results, ("figure4", "Files read"), "read", rate(), mb_s),
        by_size(results, ("figure5", "Files overwritten"), "write", rate(), mb_s),
        by_size(results, ("figure6", "Files deleted"), "delete", Axis::new("Rate", "files/s"), files),
        transactions(results),
        age(aged),
        beyond(results, ("beyond1", "Files created, by every way, on the disk of 1995"), Disk::Theirs, "create"),
        beyond(results, ("beyond2", "Files deleted, by every way, on the disk of 1995"), Disk::Theirs, "delete"),
        beyond(results, ("beyond3", "Files created, by every way, on a flash drive"), Disk::Today, "create"),
        beyond(results, ("beyond4", "Files deleted, by every way, on a flash drive"), Disk::Today, "delete"),
    ]
}
