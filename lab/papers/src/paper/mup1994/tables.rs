//! Tables 1 to 3, ours beside the printed ones.

use super::experiments::{Results, Sample};
use super::systems::key;
use crate::paper::printed::{columns, lines, numbers};
use ordo_report::results::{Table, TableRow};

const TABLE1: &str = include_str!("../../../data/mup1994_table1_copy4.csv");
const TABLE2: &str = include_str!("../../../data/mup1994_table2_remove4.csv");
const TABLE3: &str = include_str!("../../../data/mup1994_table3_andrew.csv");

const FIGURES_OF_RUN: [(&str, &str); 5] = [
    ("Elapsed", "s"),
    ("Elapsed, of No Order", "%"),
    ("CPU", "s"),
    ("Disk requests", ""),
    ("Response of a request", "ms"),
];

/// Our rows of tables 1 and 2.
fn ours(results: &Results, workload: &str, system: &str) -> Vec<Option<f64>> {
    let mean = |what: fn(&Sample) -> f64| results.mean(workload, 4, system, what);
    let base = results.mean(workload, 4, "no-order", |sample| sample.elapsed_s);
    let elapsed = mean(|sample| sample.elapsed_s);
    let percent = elapsed.zip(base).map(|(elapsed, base)| 100.0 * elapsed / base);
    vec![
        elapsed,
        percent,
        mean(|sample| sample.cpu_s),
        mean(|sample| sample.requests),
        mean(|sample| sample.response_ms),
    ]
}

pub(super) fn tables(results: &Results) -> Vec<Table> {
    let copy = lines(TABLE1).map(|fields| {
        let system = format!("{}{}", key(fields[0]), if fields[1] == "Y" { "+ai" } else { "" });
        let init = if fields[1] == "Y" { "initialised" } else { "not initialised" };
        let labels = vec![fields[0].to_owned(), init.to_owned()];
        TableRow { labels, ours: ours(results, "copy", &system), theirs: numbers(&fields[2..]) }
    });
    let remove = lines(TABLE2).map(|fields| TableRow {
        labels: vec![fields[0].to_owned()],
        ours: ours(results, "remove", key(fields[0])),
        theirs: numbers(&fields[1..]),
    });
    let andrew = lines(TABLE3).map(|fields| {
        let system = andrew_system(key(fields[0]));
        let mut times: Vec<Option<f64>> =
            PHASES.iter().map(|(phase, _)| andrew_phase(results, &system, phase)).collect();
        times.push(results.mean("andrew", 1, &system, |sample| sample.elapsed_s));
        // Each time is followed by its standard deviation.
        let theirs = numbers(&fields[1..]).into_iter().step_by(2).collect();
        TableRow { labels: vec![fields[0].to_owned()], ours: times, theirs }
    });
    let phases: Vec<(&str, &str)> = PHASES.iter().map(|(_, shown)| (*shown, "s")).chain([("Total", "s")]).collect();
    let table =
        |id: &str, title: &str, columns, rows| Table { id: id.to_owned(), title: title.to_owned(), columns, rows };
    vec![
        table("table1", "Four users copy a tree each", columns(&FIGURES_OF_RUN), copy.collect()),
        table("table2", "Four users remove a tree each", columns(&FIGURES_OF_RUN), remove.collect()),
        table("table3", "Andrew benchmark", columns(&phases), andrew.collect()),
    ]
}

/// Andrew's phases: the program's name and the displayed name of each.
pub(super) const PHASES: [(&str, &str); 5] = [
    ("create-dirs", "Create directories"),
    ("copy-files", "Copy files"),
    ("read-inodes", "Read inodes"),
    ("read-files", "Read files"),
    ("compile", "Compile"),
];

/// The system that was run, where section 5 enforces initialisation under soft updates only.
pub(super) fn andrew_system(system: &str) -> String {
    if system == "soft-updates" { format!("{system}+ai") } else { system.to_owned() }
}

pub(super) fn andrew_phase(results: &Results, system: &str, phase: &str) -> Option<f64> {
    results.mean("andrew", 1, system, |sample| sample.phases.get(phase).copied().unwrap_or(f64::NAN))
}

#[cfg(test)]
mod tests {
    use super::super::systems::{FIVE, printed};
    use super::*;

    #[test]
    fn the_printed_tables_have_the_systems_and_columns_that_are_filled() {
        let tables = tables(&Results::default());
        assert_eq!(tables.iter().map(|table| table.rows.len()).collect::<Vec<_>>(), [9, 5, 5]);
        for table in &tables {
            for row in &table.rows {
                assert_eq!(row.theirs.len(), table.columns.len(), "{} {:?}", table.id, row.labels);
                assert_eq!(row.ours.len(), table.columns.len());
                assert!(row.theirs.iter().all(Option::is_some));
            }
        }
        assert_eq!(tables[1].rows[0].theirs[0], Some(80.24));
        assert!(FIVE.iter().all(|system| printed(system) != *system));
    }
}
