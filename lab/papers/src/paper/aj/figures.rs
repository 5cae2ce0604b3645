//! Figures 8 and 9: mean response by the size of memory. Their plots survive as words only, so these have only our
//! numbers.

use super::experiments::{Results, sizes};
use ordo_report::results::{Axis, Chart, Figure, Series};
use ordo_sim::System;

const FIGURES: [(&str, &str); 6] = [
    ("figure8a", "cscope"),
    ("figure8b", "gcc"),
    ("figure8c", "viewperf"),
    ("figure9a", "tpc-r"),
    ("figure9b", "multi1"),
    ("figure9c", "multi2"),
];

pub(super) fn figures(results: &Results) -> Vec<Figure> {
    FIGURES.map(|(id, trace)| figure(results, id, trace)).to_vec()
}

fn figure(results: &Results, id: &str, trace: &str) -> Figure {
    let line = |system: System| {
        let point = |mb: u32| Some((f64::from(mb), results.of(system, trace, mb)?.mean_response_ms));
        let points = sizes(trace).into_iter().filter_map(point).collect();
        Series { name: system.name().to_owned(), values: Vec::new(), points }
    };
    Figure {
        id: id.to_owned(),
        title: format!("Mean response of {trace}"),
        kind: Chart::Line,
        x: Axis::new("Memory", "MB"),
        y: Axis::new("Response", "ms"),
        categories: Vec::new(),
        series: System::SIX.map(line).to_vec(),
    }
}
