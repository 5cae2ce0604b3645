//! Figures 1 to 5. The paper's plots survive as words only, so these have only our numbers.

use super::experiments::{CREATE_KIB, DELETE_KIB, Results, SDET_USERS, Sample, Step, Work};
use super::systems::eight;
use super::tables::seconds;
use ordo_report::results::{Axis, Chart, Figure, Series};

/// A line for each system that was run.
fn lines(
    results: &Results,
    (id, title): (&str, &str),
    (x, y): (Axis, Axis),
    points: &[(u32, Work)],
    what: fn(&Sample) -> Option<f64>,
) -> Figure {
    let line = |system: &super::systems::System| {
        let point = |(x, work): &(u32, Work)| Some((f64::from(*x), results.mean(*work, system.key, what)?));
        let points: Vec<_> = points.iter().filter_map(point).collect();
        (!points.is_empty()).then(|| Series { name: system.printed.to_owned(), values: Vec::new(), points })
    };
    Figure {
        id: id.to_owned(),
        title: title.to_owned(),
        kind: Chart::Line,
        x,
        y,
        categories: Vec::new(),
        series: eight().filter_map(line).collect(),
    }
}

/// A number for a system, by its key.
type OfSystem<'a> = &'a dyn Fn(&str) -> Option<f64>;

/// A bar for each system, in one series per quantity.
fn bars(id: &str, title: &str, y: Axis, series: &[(&str, OfSystem<'_>)]) -> Figure {
    let of = |(name, what): &(&str, OfSystem<'_>)| Series {
        name: (*name).to_owned(),
        values: eight().map(|system| what(system.key)).collect(),
        points: Vec::new(),
    };
    Figure {
        id: id.to_owned(),
        title: title.to_owned(),
        kind: Chart::Bar,
        x: Axis::default(),
        y,
        categories: eight().map(|system| system.printed.to_owned()).collect(),
        series: series.iter().map(of).collect(),
    }
}

pub(super) fn figures(results: &Results) -> Vec<Figure> {
    let sizes = |step, sizes: &[u32]| sizes.iter().map(|kib| (*kib, Work::Micro(step, *kib))).collect::<Vec<_>>();
    let mb_s: fn(&Sample) -> Option<f64> = |sample| Some(sample.phases.get("create")?.mb_s);
    let size = || Axis::new("Size of a file", "KB");
    let rate: fn(&Sample) -> Option<f64> = |sample| Some(sample.rate);
    let users: Vec<_> = SDET_USERS.iter().map(|users| (*users, Work::Sdet(*users))).collect();
    let zero = |system: &str| results.mean(Work::Zero(1), system, rate);
    let against = |work, system: &str| {
        Some(seconds(results, work, "transactions", "ffs-async")? / seconds(results, work, "transactions", system)?)
    };
    vec![
        lines(
            results,
            ("figure1", "Files created"),
            (size(), Axis::new("Throughput", "MB/s")),
            &sizes(Step::Create, &CREATE_KIB),
            mb_s,
        ),
        lines(
            results,
            ("figure2", "Files deleted"),
            (size(), Axis::new("Throughput", "files/s")),
            &sizes(Step::Delete, &DELETE_KIB),
            rate,
        ),
        bars("figure3", "Empty files created and deleted", Axis::new("Throughput", "files/s"), &[("One user", &zero)]),
        lines(
            results,
            ("figure4", "Sdet"),
            (Axis::new("Scripts at a time", ""), Axis::new("Throughput", "scripts/hour")),
            &users,
            |sample| Some(sample.rate * 3600.0),
        ),
        bars(
            "figure5",
            "PostMark",
            Axis::new("Speed, of FFS-async", ""),
            &[
                ("Small", &|system| against(Work::PostmarkSmall, system)),
                ("Large", &|system| against(Work::PostmarkLarge, system)),
            ],
        ),
    ]
}
