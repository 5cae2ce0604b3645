//! Tables 1 to 5 with ours beside them, TPC-B by model and by simulation, and which way is fastest on which disk.

use super::aging::{self, Aged};
use super::beds;
use super::experiments::{BEYOND_KIB, FULL, GROUPS, Results, VARIED_KIB, Work};
use super::model;
use super::systems::{BEYOND, Disk, LFS, M8R0, VALIDATED, VARIED};
use crate::paper::printed::{columns, lines, numbers};
use ordo_report::results::{Table, TableRow};
use ordofs::Part;
use std::collections::BTreeMap;

const TABLE2: &str = include_str!("../../../data/lvc1995_table2_scale.csv");
const TABLE3: &str = include_str!("../../../data/lvc1995_table3_tpcb_files.csv");
const TABLE4: &str = include_str!("../../../data/lvc1995_table4_frag_filesystems.csv");

/// What the paper prints of each aged volume, and what we measure besides: of the volume at the first date, but for
/// the last two, which are of the last one.
const VOLUMES: [(&str, &str); 12] = [
    ("size", "MB"),
    ("age", "months"),
    ("groups", ""),
    ("blocks a group", ""),
    ("in use", "%"),
    ("files", ""),
    ("free in fragments", "%"),
    ("layout score", "%"),
    ("files of two blocks in one piece", "%"),
    ("free behind in the group", "%"),
    ("score at the end", "%"),
    ("days without room by then", ""),
];

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

/// TPC-B without a log, as in the paper's model, and with one on a drive of its own.
fn logged(results: &Results) -> Vec<TableRow> {
    let [half, ..] = FULL;
    let of = |name: &str, system: &super::systems::System, full: Option<u32>| {
        let tps = |work: Work| Some(results.phase(work, system.key, "transactions")?.rate);
        let mut ours = vec![tps(full.map_or(Work::Fresh, Work::Full))];
        ours.extend(GROUPS.map(|group| tps(Work::Logged(full, group))));
        let theirs = vec![None; ours.len()];
        row(&[name], ours, theirs)
    };
    vec![
        of("bsd-lfs, no cleaner", &LFS, None),
        of("bsd-lfs, disk half full", &LFS, Some(half)),
        of("ffs", &M8R0, Some(half)),
    ]
}

/// MB/s of FFS by its parameters, files made and read.
fn varied(results: &Results) -> Vec<TableRow> {
    let of = |system: &super::systems::System| {
        let rate = |step: &str, kib: u32| Some(results.phase(Work::Files(kib), system.key, step)?.mb_s);
        let ours: Vec<_> = ["create", "read"].iter().flat_map(|step| VARIED_KIB.map(|kib| rate(step, kib))).collect();
        let theirs = vec![None; ours.len()];
        row(&[system.key, system.what], ours, theirs)
    };
    VARIED.iter().map(of).collect()
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

/// The six aged volumes: the paper's numbers of the servers, and what the simulated use made of ours.
fn aged_volumes(aged: &Aged) -> Vec<TableRow> {
    let of = |fields: Vec<&'static str>| {
        let (server, size, months, groups, blocks) = (fields[0], fields[2], fields[3], fields[4], fields[5]);
        let mut theirs = numbers(&[size, months, groups, blocks]);
        theirs.resize(VOLUMES.len(), None);
        let ours = our_volume(aged, server).unwrap_or_else(|| vec![None; VOLUMES.len()]);
        // The description may have commas, and is the last field.
        row(&[server, &fields[6..].join(",")], ours, theirs)
    };
    lines(TABLE4).map(of).collect()
}

/// The tests of the last date, of each volume: as the paper's system writes, and with clusters that are reallocated.
fn reallocated(aged: &Aged) -> Vec<TableRow> {
    let of = |server: &'static str, how: &str, tests: &BTreeMap<aging::Test, f64>| {
        let share = |kib: u32, step: &'static str| tests.get(&(server, aging::DATES - 1, kib, step)).copied();
        let ours: Vec<_> = aging::STEPS.iter().flat_map(|step| aging::KIB.map(|kib| share(kib, step))).collect();
        let theirs = vec![None; ours.len()];
        row(&[server, how], ours, theirs)
    };
    let servers = aging::AGES.iter();
    servers
        .flat_map(|(server, _)| [of(server, "as written", &aged.tests), of(server, "reallocated", &aged.moved)])
        .collect()
}

fn our_volume(aged: &Aged, server: &str) -> Option<Vec<Option<f64>>> {
    let (_, made) = aged.made.iter().find(|(name, _)| **name == server)?;
    let mut dates = aged.volumes.iter().filter(|((name, _), _)| *name == server).map(|(_, placement)| placement);
    let (first, last) = (dates.next()?, dates.next_back());
    let per_cent = |part: Part| part.share().map(|share| 100.0 * share);
    let (groups, blocks) = (f64::from(made.volume.groups), f64::from(made.volume.blocks));
    Some(vec![
        Some(groups * blocks * 8192.0 / f64::from(1 << 20)),
        Some(made.months.into()),
        Some(groups),
        Some(blocks),
        per_cent(first.in_use()),
        Some(first.files as f64),
        per_cent(first.free_in_fragments()),
        per_cent(first.score),
        per_cent(first.two_blocks),
        per_cent(first.free_in_second_half()),
        last.and_then(|last| per_cent(last.score)),
        Some(made.by_then.full.len() as f64),
    ])
}

pub(super) fn tables(results: &Results, aged: &Aged) -> Vec<Table> {
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
    let by_size: Vec<(String, &str)> =
        ["create", "read"].iter().flat_map(|step| VARIED_KIB.map(|kib| (format!("{step} {kib} KB"), "MB/s"))).collect();
    let by_test: Vec<(String, &str)> =
        aging::STEPS.iter().flat_map(|step| aging::KIB.map(|kib| (format!("{step} {kib} KB"), ""))).collect();
    let by_test: Vec<(&str, &str)> = by_test.iter().map(|(name, unit)| (name.as_str(), *unit)).collect();
    let by_size: Vec<(&str, &str)> = by_size.iter().map(|(name, unit)| (name.as_str(), *unit)).collect();
    vec![
        table("systems", "The systems of section 2, and ours for each", Vec::new(), systems.collect()),
        table("table1", "The two testbeds", columns(&[("BSD", ""), ("Sprite", "")]), beds::table1()),
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
        table("table4", "The aged volumes, in October, and in July at the end", columns(&VOLUMES), aged_volumes(aged)),
        table("table5", "The test bed of the aging study", columns(&[("value", "")]), beds::table5()),
        table(
            "tpcb",
            "TPC-B: the closed model, and measured",
            columns(&[("model", "tps"), ("measured", "tps")]),
            tpcb(results),
        ),
        table(
            "tpcbLog",
            "TPC-B with the log of the data base on a drive of its own",
            columns(&[("no log", "tps"), ("a write for each transaction", "tps"), ("a write for 16", "tps")]),
            logged(results),
        ),
        table(
            "aged",
            "Aged volumes in July, as share of an empty one, with clusters reallocated and without",
            columns(&by_test),
            reallocated(aged),
        ),
        table("varied", "FFS by its parameters", columns(&by_size), varied(results)),
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
    use super::super::aging::Made;
    use super::*;
    use ordo_workload::age::{Aged as History, Full, Volume};
    use ordofs::Placement;

    /// Columns that the paper has, too.
    const PRINTED: usize = 4;

    #[test]
    fn every_row_has_a_number_or_none_for_each_column() {
        let tables = tables(&Results::default(), &Aged::default());
        assert_eq!(
            tables.iter().map(|table| table.rows.len()).collect::<Vec<_>>(),
            [5, 12, 3, 4, 6, 11, 3, 3, 12, 8, 7, 7]
        );
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
        assert_eq!(tables[6].rows[0].theirs, [Some(42.6), Some(41.0)]);
    }

    #[test]
    fn an_aged_volume_stands_beside_the_server_that_it_is_a_model_of() {
        let placement = |free, contiguous| Placement {
            sizes: (8192, 1024),
            files: 7,
            data_frags: 1000,
            free_blocks: 20,
            free_frags: free,
            score: Part { part: contiguous, of: 100 },
            ..Placement::default()
        };
        let mut aged = Aged::default();
        aged.volumes.extend([(("white", 0), placement(40, 90)), (("white", 3), placement(50, 60))]);
        let full = vec![Full { day: 3, refused: 1, free: 0 }];
        let volume = Volume { groups: 20, blocks: 1520 };
        let by_then = History { full, ..History::default() };
        aged.made.insert("white", Made { volume, months: 14, by_then });
        let rows = aged_volumes(&aged);
        assert_eq!(rows.iter().filter(|row| row.ours.iter().any(Option::is_some)).count(), 1);
        let white = rows.iter().find(|row| row.labels[0] == "white").expect("one of the six");
        assert_eq!(white.theirs[..PRINTED], [450.0, 14.0, 40.0, 1520.0].map(Some));
        assert!(white.theirs[PRINTED..].iter().all(Option::is_none));
        assert_eq!(white.ours[..PRINTED], [237.5, 14.0, 20.0, 1520.0].map(Some));
        let [used, files, frags, score] = [80.0, 7.0, 4.0, 90.0].map(Some);
        assert_eq!(white.ours[PRINTED..], [used, files, frags, score, None, None, Some(60.0), Some(1.0)]);
    }
}
