//! Benchmarks: for each workload the phases as bars, and all numbers as a table. Several runs are shown by their
//! medians.

use crate::bars::{self, Bar, Group};
use crate::colour;
use crate::document::Row;
use crate::number::{bytes, fixed, seconds, short};
use crate::words::word;
use maud::{Markup, html};
use std::collections::BTreeSet;

/// The distinct values of `of`, in the order of the rows.
pub(crate) fn distinct<'a, T: PartialEq>(rows: &'a [Row], of: impl Fn(&'a Row) -> T) -> Vec<T> {
    let mut found = Vec::new();
    for row in rows {
        let value = of(row);
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// All runs of one configuration.
pub(crate) struct Runs<'a>(Vec<&'a Row>);

impl Runs<'_> {
    /// The median; of an even number, the mean of the middle two.
    pub(crate) fn median(&self, of: impl Fn(&Row) -> f64) -> f64 {
        let mut values: Vec<f64> = self.0.iter().map(|row| of(row)).collect();
        values.sort_by(f64::total_cmp);
        match values.len() {
            0 => 0.0,
            count if count % 2 == 1 => values[count / 2],
            count => (values[count / 2 - 1] + values[count / 2]) / 2.0,
        }
    }

    /// From the slowest to the fastest.
    fn spread(&self) -> String {
        let rates = || self.0.iter().map(|row| row.rate);
        match self.0.len() {
            0 | 1 => String::new(),
            _ => format!("{}\u{2013}{}", short(rates().fold(f64::MAX, f64::min)), short(rates().fold(0.0, f64::max))),
        }
    }
}

/// What was run.
pub(crate) fn title(rows: &[Row]) -> String {
    distinct(rows, |row| row.workload.as_str()).join(", ")
}

/// A disk in words: those of the document, or what its name says.
pub(crate) fn disk_in_words(rows: &[Row], disk: &str) -> String {
    let says =
        rows.iter().filter(|row| row.disk == disk).map(|row| row.disk_says.as_str()).find(|says| !says.is_empty());
    match (says, disk.split_once(':')) {
        (Some(says), _) => says.to_owned(),
        (None, Some(("sim", drive))) => format!("a modelled drive: {drive}"),
        (None, Some(("file", path))) => format!("the file {path}"),
        (None, Some(("dir", path))) => format!("the directory {path}"),
        (None, _) if disk == "ram" => "memory as a disk".to_owned(),
        (None, _) => disk.to_owned(),
    }
}

/// In one line: the schemes, and the disk.
pub(crate) fn digest(rows: &[Row]) -> String {
    let (schemes, disks) = (distinct(rows, |row| row.scheme.as_str()), distinct(rows, |row| row.disk.as_str()));
    let disks: Vec<String> =
        disks.into_iter().filter(|disk| !disk.is_empty()).map(|disk| disk_in_words(rows, disk)).collect();
    let on = if disks.is_empty() { String::new() } else { format!(", on {}", disks.join("; ")) };
    format!("{} {}{on}", schemes.len(), if schemes.len() == 1 { "scheme" } else { "schemes" })
}

/// A section for the rows of a document.
pub(crate) fn of(rows: &[Row]) -> Markup {
    let schemes = distinct(rows, |row| row.scheme.as_str());
    let beds = distinct(rows, |row| (row.workload.as_str(), row.disk.as_str()));
    html! {
        p.lead {
            "Operations a second; a longer bar is better. " @if repeated(rows) { "Of several runs the median. " }
            "A scheme has the same colour in all charts of this page."
        }
        @let disks = distinct(rows, |row| row.disk.as_str());
        @for (workload, disk) in beds {
            @let phases = phases(rows, workload, disk);
            section.part {
                h3 { (workload) @if !disk.is_empty() { " " small { "on " (disk_in_words(rows, disk)) } } }
                div.many {
                    // What has no operations of its own, as the sync at the end, has no rate.
                    @for phase in phases.iter().filter(|phase| rows.iter().any(|row| row.phase == **phase && row.ops > 0.0)) { figure { (chart(rows, (workload, disk), phase, &schemes)) } }
                }
                details open[phases.len() == 1] {
                    summary { "All numbers" }
                    (table(rows, (workload, disk), &phases, &schemes))
                    (legend(repeated(rows)))
                }
            }
        }
        @let left_out: Vec<_> = rows.iter().flat_map(|row| &row.left_out).collect();
        @if !left_out.is_empty() {
            ul.notes { @for left in left_out { li { (left.scheme) " is left out: " (left.why) } } }
        }
        @if disks.iter().any(|disk| !disk.is_empty()) {
            p { small { "The disk on the command line: " (disks.join(", ")) } }
        }
    }
}

/// Whether something was run more than once.
fn repeated(rows: &[Row]) -> bool {
    let mut seen = BTreeSet::new();
    !rows.iter().all(|row| seen.insert((&row.workload, &row.disk, &row.phase, &row.scheme)))
}

/// The phases, `total` first.
pub(crate) fn phases<'a>(rows: &'a [Row], workload: &str, disk: &str) -> Vec<&'a str> {
    let mut phases = distinct(rows, |row| (row.workload.as_str(), row.disk.as_str(), row.phase.as_str()));
    phases.retain(|(of, on, _)| *of == workload && *on == disk);
    phases.sort_by_key(|(.., phase)| *phase != "total");
    phases.into_iter().map(|(.., phase)| phase).collect()
}

pub(crate) fn runs<'a>(rows: &'a [Row], (workload, disk): (&str, &str), phase: &str, scheme: &str) -> Runs<'a> {
    let is = |row: &&Row| row.workload == workload && row.disk == disk && row.phase == phase && row.scheme == scheme;
    Runs(rows.iter().filter(is).collect())
}

fn chart(rows: &[Row], bed: (&str, &str), phase: &str, schemes: &[&str]) -> Markup {
    let bars = schemes.iter().zip(colour::of(schemes.iter().copied())).filter_map(|(scheme, colour)| {
        let runs = runs(rows, bed, phase, scheme);
        let value = (!runs.0.is_empty()).then(|| runs.median(|row| row.rate));
        value.map(|_| Bar { label: (*scheme).to_owned(), value, says: None, colour })
    });
    bars::of(html! { (phase) }, &[Group { name: String::new(), bars: bars.collect() }])
}

/// What each number is.
fn legend(repeated: bool) -> Markup {
    let says = [
        ("ops", "operations in the program\u{2019}s unit: files, transactions, pairs of a create and a delete"),
        ("seconds", "elapsed time; on a modelled disk virtual time"),
        ("ops/s", "operations a second"),
        ("CPU s", "seconds of the processor; on a modelled machine those of its processor"),
        ("reads, writes", "requests to the disk"),
        (
            "written",
            "bytes that they wrote; \u{201c}nothing\u{201d}: what the phase changed was still in memory when it ended",
        ),
        ("sync", "after the work: what was still in memory is written, and the total has what that costs"),
        ("waits", "how often a call waited because of the order of writes"),
    ];
    html! {
        dl.keys {
            @if repeated {
                div { dt { "runs" } dd { "how often it was run; all numbers are medians of the runs" } }
                div { dt { "of all runs" } dd { "operations a second, from the slowest to the fastest" } }
            }
            @for (name, says) in says { div { dt { (name) } dd { (says) } } }
            div { dt { (word("rollback", "rollbacks")) } dd { "writes in which an unsafe change was replaced by its old value" } }
        }
    }
}

fn table(rows: &[Row], bed: (&str, &str), phases: &[&str], schemes: &[&str]) -> Markup {
    let repeated = repeated(rows);
    let names = ["ops", "seconds", "ops/s"].into_iter().map(|name| (name, false));
    let names = [("runs", true)].into_iter().chain(names).chain([("of all runs", true)]);
    // Where nobody has counted them, or there were none, a column of zeroes says nothing.
    let (rolled, waited) = (rows.iter().any(|row| row.rollbacks > 0.0), rows.iter().any(|row| row.waits > 0.0));
    let more = ["CPU s", "reads", "writes", "written"].into_iter().chain(rolled.then_some("rollbacks"));
    let more = more.chain(waited.then_some("waits")).map(|name| (name, false));
    let names: Vec<&str> =
        names.chain(more).filter(|(_, of_several)| repeated || !of_several).map(|(name, _)| name).collect();
    html! {
        div.scroll tabindex="0" role="region" aria-label=(format!("{}: all numbers", bed.0)) {
            table.numbers {
                caption.hidden { (bed.0) }
                thead { tr { td {} @for name in &names { th scope="col" { (name) } } } }
                @for phase in phases {
                    tbody {
                        tr { th.group scope="rowgroup" colspan=(names.len() + 1) { (phase) } }
                        @for scheme in schemes {
                            @let runs = runs(rows, bed, phase, scheme);
                            @if !runs.0.is_empty() {
                                tr {
                                    th scope="row" { (scheme) }
                                    @let ops = runs.median(|row| row.ops);
                                    @if repeated { td { (runs.0.len()) } }
                                    td { @if ops > 0.0 { (fixed(ops, 0)) } @else { "\u{2013}" } }
                                    td { (seconds(runs.median(|row| row.seconds))) }
                                    td { @if ops > 0.0 { (short(runs.median(|row| row.rate))) } @else { "\u{2013}" } }
                                    @if repeated { td { (runs.spread()) } }
                                    td { (seconds(runs.median(|row| row.cpu_seconds))) }
                                    td { (fixed(runs.median(|row| row.disk_reads), 0)) }
                                    td { (fixed(runs.median(|row| row.disk_writes), 0)) }
                                    td { (written(&runs, bed.1)) }
                                    @if rolled { td { (fixed(runs.median(|row| row.rollbacks), 0)) } }
                                    @if waited { td { (fixed(runs.median(|row| row.waits), 0)) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The bytes written, or that nothing was. In a directory of another file system nobody has counted.
fn written(runs: &Runs<'_>, disk: &str) -> String {
    match runs.median(|row| row.bytes_written) {
        _ if disk.starts_with("dir:") => "\u{2013}".into(),
        none if none <= 0.0 => "nothing".into(),
        some => bytes(some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(scheme: &str, phase: &str, rate: f64) -> Row {
        let text = format!(
            r#"{{"scheme":"{scheme}","workload":"w","disk":"ram","phase":"{phase}","ops":10,"seconds":1,"rate":{rate}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn each_phase_has_a_chart_of_medians_and_total_is_the_first() {
        let rows: Vec<Row> = [("sync", "create", 5.0), ("sync", "total", 7.0), ("suj", "create", 9.0)]
            .into_iter()
            .chain([("sync", "create", 1.0), ("sync", "create", 30.0)])
            .map(|(scheme, phase, rate)| row(scheme, phase, rate))
            .collect();
        let drawn = of(&rows).into_string();
        assert_eq!(drawn.matches("<table class=\"bars\"").count(), 2);
        assert!(drawn.find(">total<").unwrap() < drawn.find(">create<").unwrap(), "{drawn}");
        assert!(drawn.contains(">1\u{2013}30<"), "{drawn}");
        assert_eq!(runs(&rows, ("w", "ram"), "create", "sync").median(|row| row.rate), 5.0);
    }

    #[test]
    fn one_run_has_no_columns_of_several_and_a_sync_has_numbers_but_no_bar() {
        let rows: Vec<Row> = ["create", "sync", "total"].map(|phase| row("suj", phase, 5.0)).into_iter().collect();
        let rows = rows.into_iter().map(|row| Row { ops: if row.phase == "sync" { 0.0 } else { row.ops }, ..row });
        let drawn = of(&rows.collect::<Vec<_>>()).into_string();
        assert!(!drawn.contains("of all runs") && !drawn.contains("median"), "{drawn}");
        assert_eq!(drawn.matches("<table class=\"bars\"").count(), 2, "{drawn}");
        assert!(drawn.contains("colspan=\"8\">sync<"), "{drawn}");
        // All wrote nothing, and say so.
        assert_eq!(drawn.matches("<td>nothing</td>").count(), 3, "{drawn}");
    }
}
