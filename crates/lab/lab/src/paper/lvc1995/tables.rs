//! Tables 1 to 3 as printed, TPC-B by model and by simulation, and which way is fastest on which disk.

use super::experiments::{BEYOND_KIB, FULL, Results, Work};
use super::model;
use super::systems::{BEYOND, Disk, M8R0, VALIDATED};
use crate::paper::document::{Table, TableRow};
use crate::paper::printed::{columns, lines, numbers};

const TABLE1: &str = include_str!("../../../data/lvc1995_table1_testbed.csv");
const TABLE2: &str = include_str!("../../../data/lvc1995_table2_scale.csv");
const TABLE3: &str = include_str!("../../../data/lvc1995_table3_tpcb_files.csv");

fn row(labels: &[&str], ours: Vec<Option<f64>>, theirs: Vec<Option<f64>>) -> TableRow {
    TableRow { labels: labels.iter().map(|label| (*label).to_owned()).collect(), ours, theirs }
}

/// The closed model beside the simulation, and both beside the print.
fn tpcb(results: &Results) -> Vec<TableRow> {
    let tps = |work: Work, system: &str| Some(results.phase(work, system, "transactions")?.rate);
    let [half, ..] = FULL;
    let of = |name: &str, model: f64, ours: Option<f64>, printed: f64, measured: f64| {
        row(&[name], vec![Some(model), ours], vec![Some(printed), Some(measured)])
    };
    vec![
        of("bsd-lfs, no cleaner", model::without_cleaner(), tps(Work::Fresh, "bsd-lfs"), 42.6, 41.0),
        of("bsd-lfs, disk half full", model::steady(), tps(Work::Full(half), "bsd-lfs"), 30.0, 27.1),
        of("ffs", model::ffs(), tps(Work::Full(half), M8R0.key), 28.6, 27.0),
    ]
}

/// Files a second and transactions a second on a disk, for each way to keep metadata in order.
fn ways(results: &Results, disk: Disk) -> Vec<TableRow> {
    let of = |system: &super::systems::System| {
        let rate = |step: &str, kib: u32| Some(results.on(Work::files(step, kib), system.key, disk, step)?.rate);
        let steps = ["create", "read", "write", "delete"];
        let mut ours: Vec<_> =
            steps.iter().flat_map(|step| [BEYOND_KIB[0], BEYOND_KIB[3]].map(|k| rate(step, k))).collect();
        ours.push(results.on(Work::Full(FULL[0]), system.key, disk, "transactions").map(|phase| phase.rate));
        let theirs = vec![None; ours.len()];
        row(&[system.key, system.what], ours, theirs)
    };
    BEYOND.iter().map(of).collect()
}

pub(super) fn tables(results: &Results) -> Vec<Table> {
    let printed = |text: &'static str, first: usize| {
        let of = move |fields: Vec<&'static str>| {
            let labels: Vec<&str> = fields[..first].to_vec();
            row(&labels, vec![None; fields.len() - first], numbers(&fields[first..]))
        };
        lines(text).map(of).collect::<Vec<_>>()
    };
    let table =
        |id: &str, title: &str, columns, rows| Table { id: id.to_owned(), title: title.to_owned(), columns, rows };
    let systems = VALIDATED.iter().map(|system| row(&[system.key, system.what, system.scheme], Vec::new(), Vec::new()));
    let rates: Vec<(String, &str)> = ["create", "read", "overwrite", "delete"]
        .iter()
        .flat_map(|step| [BEYOND_KIB[0], BEYOND_KIB[3]].map(|kib| (format!("{step} {kib} KB"), "files/s")))
        .chain([("TPC-B".to_owned(), "transactions/s")])
        .collect();
    let rates: Vec<(&str, &str)> = rates.iter().map(|(name, unit)| (name.as_str(), *unit)).collect();
    vec![
        table("systems", "The systems of section 2, and ours for each", Vec::new(), systems.collect()),
        table("table1", "The two testbeds", columns(&[("BSD", ""), ("Sprite", "")]), printed(TABLE1, 2)),
        table(
            "table2",
            "Scale factors",
            columns(&[("Sprite", ""), ("BSD", ""), ("printed", ""), ("recomputed", "")]),
            printed(TABLE2, 2).into_iter().map(first_four).collect(),
        ),
        table(
            "table3",
            "Files of TPC-B",
            columns(&[("size", "")]),
            printed(TABLE3, 1).into_iter().map(first_one).collect(),
        ),
        table(
            "tpcb",
            "TPC-B: the closed model, and measured",
            columns(&[("model", "tps"), ("measured", "tps")]),
            tpcb(results),
        ),
        table("ways1995", "Which way, on the disk of 1995", columns(&rates), ways(results, Disk::Theirs)),
        table(
            "waysToday",
            "Which way, on a flash drive with power-loss protection",
            columns(&rates),
            ways(results, Disk::Today),
        ),
    ]
}

fn first_four(row: TableRow) -> TableRow {
    cut(row, 4)
}

fn first_one(row: TableRow) -> TableRow {
    cut(row, 1)
}

/// What follows the numbers of a printed line is text.
fn cut(mut row: TableRow, columns: usize) -> TableRow {
    row.ours.truncate(columns);
    row.theirs.truncate(columns);
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_number_or_none_for_each_column() {
        let tables = tables(&Results::default());
        assert_eq!(tables.iter().map(|table| table.rows.len()).collect::<Vec<_>>(), [5, 12, 3, 4, 3, 7, 7]);
        for table in &tables {
            for row in &table.rows {
                assert_eq!(
                    (row.theirs.len(), row.ours.len()),
                    (table.columns.len(), table.columns.len()),
                    "{}",
                    table.id
                );
            }
        }
        assert_eq!(tables[4].rows[0].theirs, [Some(42.6), Some(41.0)]);
    }
}
