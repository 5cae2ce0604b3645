//! Tables 1, 2, 4 and 5. The first two have words instead of numbers: what a scheme is.

use super::experiments::{Results, Work};
use super::systems::SYSTEMS;
use crate::LogPlace;
use crate::paper::printed::{columns, lines, numbers};
use ordo_report::results::{Table, TableRow};

const TABLE1: &str = include_str!("../../../data/jsu2000_table1_configs.csv");
const TABLE2: &str = include_str!("../../../data/jsu2000_table2_features.csv");
const TABLE4: &str = include_str!("../../../data/jsu2000_table4_ssh.csv");
const TABLE5: &str = include_str!("../../../data/jsu2000_table5_netnews.csv");

/// The key of the system with this name in the tables.
fn key(printed: &str) -> &'static str {
    SYSTEMS.iter().find(|system| system.printed == printed).map_or("", |system| system.key)
}

/// Seconds of a phase; of the whole run for `total`.
pub(super) fn seconds(results: &Results, work: Work, phase: &str, system: &str) -> Option<f64> {
    results.mean(work, system, |sample| match phase {
        "total" => Some(sample.elapsed_s),
        phase => Some(sample.phases.get(phase)?.seconds),
    })
}

/// Seconds for FFS-async, and for the others their speed relative to it.
fn timed(results: &Results, text: &str, work: Work, phases: &[&str]) -> Vec<TableRow> {
    let row = |fields: Vec<&str>| {
        let system = key(fields[0]);
        let ours = phases.iter().map(|phase| {
            let (base, own) = (seconds(results, work, phase, "ffs-async")?, seconds(results, work, phase, system)?);
            Some(if fields[1] == "seconds" { own } else { base / own })
        });
        let unit = if fields[1] == "seconds" { "seconds" } else { "of FFS-async" };
        TableRow {
            labels: vec![fields[0].to_owned(), unit.to_owned()],
            ours: ours.collect(),
            theirs: numbers(&fields[2..]),
        }
    };
    lines(text).map(row).collect()
}

/// The systems, and which of them are run here.
fn configurations() -> Vec<TableRow> {
    let row = |fields: Vec<&str>| {
        let system = SYSTEMS.iter().find(|system| system.printed == fields[0]);
        let ours = system.map_or_else(String::new, |system| {
            let settings = system.settings.iter().map(|(key, value)| format!(" {key}={value}"));
            let without = system.without.iter().map(|rule| format!(" without {rule}"));
            let log = match system.log {
                LogPlace::Volume => None,
                LogPlace::Behind => Some(" log behind the volume".to_owned()),
                LogPlace::Drive => Some(" log on a second drive".to_owned()),
                LogPlace::Nvram => Some(" log in NVRAM".to_owned()),
            };
            let settings: String = settings.chain(log).chain(without).collect();
            let there = if system.is_there() { "" } else { " (not there yet)" };
            format!("{}{settings}{there}", system.scheme)
        });
        TableRow {
            labels: vec![fields[0].to_owned(), fields[3..].join(","), ours],
            ours: Vec::new(),
            theirs: Vec::new(),
        }
    };
    lines(TABLE1).map(row).collect()
}

/// What the paper says that each system guarantees. For ours the crash explorer decides, not runs.
fn features() -> Vec<TableRow> {
    let row = |fields: Vec<&str>| {
        let labels = vec![fields[0].to_owned(), fields[1].replace(';', ", ")];
        TableRow { labels, ours: Vec::new(), theirs: Vec::new() }
    };
    lines(TABLE2).map(row).collect()
}

pub(super) fn tables(results: &Results) -> Vec<Table> {
    let table =
        |id: &str, title: &str, columns, rows| Table { id: id.to_owned(), title: title.to_owned(), columns, rows };
    let ssh = ["unpack", "config", "build", "total"];
    let news = ["unbatch", "expire", "total"];
    let phases = |names: &[&str]| columns(&names.iter().map(|name| (*name, "")).collect::<Vec<_>>());
    vec![
        table("table1", "The systems", Vec::new(), configurations()),
        table("table2", "What the paper says of each", Vec::new(), features()),
        table("table4", "Ssh benchmark", phases(&ssh), timed(results, TABLE4, Work::Ssh, &ssh)),
        table("table5", "Netnews benchmark", phases(&news), timed(results, TABLE5, Work::Netnews, &news)),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::systems::eight;
    use super::*;

    #[test]
    fn the_printed_tables_have_the_systems_and_columns_that_are_filled() {
        let tables = tables(&Results::default());
        assert_eq!(tables.iter().map(|table| table.rows.len()).collect::<Vec<_>>(), [8, 8, 8, 8]);
        for table in &tables {
            for row in &table.rows {
                assert_eq!((row.theirs.len(), row.ours.len()), (table.columns.len(), table.columns.len()));
                assert!(row.theirs.iter().all(Option::is_some), "{} {:?}", table.id, row.labels);
            }
        }
        assert_eq!(tables[3].rows[0].theirs[0], Some(1282.0));
        assert!(eight().all(|system| tables[2].rows.iter().any(|row| key(&row.labels[0]) == system.key)));
    }
}
