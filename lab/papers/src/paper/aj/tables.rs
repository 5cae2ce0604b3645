//! Tables I and II, ours beside theirs, and the traces.

use super::experiments::{POINT_MB, Results, TABLE2_MB};
use crate::paper::printed::{columns, lines, numbers};
use ordo_report::results::{Table, TableRow};
use ordo_sim::{Mode, Setting, System, synth};

const TABLE1: &str = include_str!("../../../data/aj_table1_config.csv");
const TABLE2: &str = include_str!("../../../data/aj_table2_seek.csv");

/// The bins of Table II as printed: of time and of distance, by ext3 and by aj.
pub(super) fn printed_bins() -> Vec<(String, Option<f64>, Option<f64>)> {
    let bin = |fields: Vec<&str>| {
        (format!("{} {}", fields[0], fields[2]), numbers(&fields[3..4])[0], numbers(&fields[4..5])[0])
    };
    lines(TABLE2).map(bin).collect()
}

/// Ours, in the same order. A movement of no time is in the bin below 2 ms, where the print must have it, too: it has
/// 7096 movements of no cylinder, and none of no time.
pub(super) fn bins(results: &Results, system: System) -> Option<[u64; 14]> {
    let seeks = results.of(system, "cscope", TABLE2_MB)?.seeks;
    let mut time = seeks.time_ms.bins();
    time[1] += std::mem::take(&mut time[0]);
    let mut all = [0; 14];
    all[..7].copy_from_slice(&time);
    all[7..].copy_from_slice(&seeks.distance_cylinders.bins());
    Some(all)
}

fn row(labels: &[&str], ours: Vec<Option<f64>>, theirs: Vec<Option<f64>>) -> TableRow {
    TableRow { labels: labels.iter().map(|label| (*label).to_owned()).collect(), ours, theirs }
}

/// Our value of a parameter of Table I that is a number of the setting.
fn ours_of(system: &str, parameter: &str) -> Option<f64> {
    let usual = Setting::default();
    match parameter {
        // The active one's is free space.
        "journal_size_blocks" if system == "ext3" => Some(f64::from(usual.journal)),
        "commit_timer_s" | "writeback_timer_s" => Some(usual.timer_ms / 1e3),
        "block_group_blocks" | "allocation_group_blocks" | "group_blocks" => Some(f64::from(usual.group)),
        _ => None,
    }
}

fn table2(results: &Results) -> Vec<TableRow> {
    let ours = [System::Ext3(Mode::Ordered), System::Active].map(|system| bins(results, system));
    let of = |at: usize| ours.iter().map(|bins| Some(bins.as_ref()?[at] as f64)).collect();
    let rows = printed_bins().into_iter().enumerate();
    rows.map(|(at, (name, ext3, aj))| row(&[&name], of(at), vec![ext3, aj])).collect()
}

/// What the paper says of a trace, beside what ours is.
fn traces(results: &Results) -> Vec<TableRow> {
    let printed = |trace: &str| match trace {
        "cscope" => [None, None, Some(98.9)],
        "viewperf" => [None, Some(99.0), None],
        "tpc-r" => [Some(15_982_481.0), Some(3.0), None],
        _ => [None; 3],
    };
    let of = |trace: &&str| {
        let about = results.about(trace)?;
        let ours = [about.requests as f64, about.consecutive * 100.0, about.in_two_areas * 100.0];
        Some(row(&[trace], ours.map(Some).to_vec(), printed(trace).to_vec()))
    };
    synth::NAMES.iter().filter_map(of).collect()
}

fn point(results: &Results) -> Vec<TableRow> {
    let seconds = |system| Some(results.of(system, "tpc-r", POINT_MB)?.mean_response_ms / 1e3);
    let printed = |system| match system {
        System::Ext3(Mode::Ordered) => Some(3.7882),
        System::Active => Some(2.5012),
        _ => None,
    };
    System::SIX.iter().map(|system| row(&[system.name()], vec![seconds(*system)], vec![printed(*system)])).collect()
}

pub(super) fn tables(results: &Results) -> Vec<Table> {
    let table =
        |id: &str, title: &str, columns, rows| Table { id: id.to_owned(), title: title.to_owned(), columns, rows };
    let config =
        lines(TABLE1).map(|fields| row(&fields[..2], vec![ours_of(fields[0], fields[1])], numbers(&fields[2..3])));
    let counts = columns(&[("ext3", "movements"), ("aj", "movements")]);
    vec![
        table("table1", "Configuration", columns(&[("value", "")]), config.collect()),
        table("table2", "Movements of the arm: cscope, 160 MB of memory", counts, table2(results)),
        table(
            "traces",
            "The traces",
            columns(&[("requests", ""), ("consecutive", "%"), ("in two areas", "%")]),
            traces(results),
        ),
        table("point", "tpc-r with 384 MB of memory", columns(&[("mean response", "s")]), point(results)),
    ]
}
