//! The schemes that the documents know: what each promises, how fast it was on each disk, and what power cuts found.
//!
//! J1. Two sets of promises are two subjects, also under one name: settings change what a scheme promises.
//! J2. Speeds of different disks are never mixed. On one disk a speed is beside the fastest scheme of the same document
//!     and workload; of several workloads it is the geometric mean, so that none counts more for its unit.
//! J3. What had written nothing when it ended has not cost nothing: its changes were in memory. Such a run says nothing
//!     of what is written for an operation.

use crate::bench::{self, Runs};
use crate::document::{Document, Given, Row};
use crate::results::Promises;
use std::collections::BTreeMap;

/// A scheme with its promises.
#[derive(Debug)]
pub(crate) struct Subject {
    /// Its name, and where two have the same, what tells them apart.
    pub(crate) name: String,
    pub(crate) promises: Option<Promises>,
    /// States after power cuts that were examined, and violations that were found in them.
    pub(crate) tried: f64,
    pub(crate) broken: f64,
    scheme: String,
}

/// What was measured on one disk; the numbers of a subject are found by its place among the subjects.
#[derive(Debug, Default)]
pub(crate) struct OnDisk {
    /// The disk, in words if the documents have some.
    pub(crate) disk: String,
    pub(crate) workloads: Vec<String>,
    /// Beside the fastest, which has 1.
    pub(crate) speeds: BTreeMap<usize, f64>,
    /// Bytes written for each operation; without those of which a run ended before anything was written (J3).
    pub(crate) wear: BTreeMap<usize, f64>,
}

/// All subjects, in the order in which the documents name them.
pub(crate) fn subjects(given: &[Given]) -> Vec<Subject> {
    let mut found: Vec<Subject> = Vec::new();
    for (scheme, promises) in given.iter().flat_map(|one| named(&one.document)) {
        let promises = promises.or_else(|| elsewhere(given, &scheme));
        if !found.iter().any(|known| known.scheme == scheme && known.promises == promises) {
            found.push(Subject { name: scheme.clone(), promises, tried: 0.0, broken: 0.0, scheme });
        }
    }
    for one in given {
        let Document::Crash(crash) = &one.document else { continue };
        // Without a rule it is another scheme, which should fail.
        if let (true, Some(at)) = (crash.without.is_empty(), place(&found, given, &crash.scheme, &crash.promises)) {
            found[at].tried += crash.states;
            found[at].broken += crash.violations_total.unwrap_or(crash.violations.len() as f64);
        }
    }
    tell_apart(&mut found);
    found
}

/// The schemes of a document, with the promises that it states.
fn named(document: &Document) -> Vec<(String, Option<Promises>)> {
    match document {
        Document::Crash(crash) if crash.without.is_empty() => vec![(crash.scheme.clone(), crash.promises.clone())],
        Document::Bench(rows) => bench::distinct(rows, |row| row.scheme.as_str())
            .into_iter()
            .map(|scheme| (scheme.to_owned(), promised(rows, scheme).cloned()))
            .collect(),
        _ => Vec::new(),
    }
}

fn promised<'a>(rows: &'a [Row], scheme: &str) -> Option<&'a Promises> {
    rows.iter().filter(|row| row.scheme == scheme).find_map(|row| row.promises.as_ref())
}

/// What another document says that a scheme promises, if this one does not.
fn elsewhere(given: &[Given], scheme: &str) -> Option<Promises> {
    given.iter().flat_map(|one| named(&one.document)).filter(|(name, _)| name == scheme).find_map(|(_, says)| says)
}

fn place(subjects: &[Subject], given: &[Given], scheme: &str, promises: &Option<Promises>) -> Option<usize> {
    let promises = promises.clone().or_else(|| elsewhere(given, scheme));
    subjects.iter().position(|known| known.scheme == scheme && known.promises == promises)
}

fn tell_apart(subjects: &mut [Subject]) {
    for at in 0..subjects.len() {
        let same = |other: &Subject| other.scheme == subjects[at].scheme;
        let (before, all) = (
            subjects[..at].iter().filter(|other| same(other)).count(),
            subjects.iter().filter(|other| same(other)).count(),
        );
        if all > 1 {
            subjects[at].name = format!("{} ({})", subjects[at].scheme, before + 1);
        }
    }
}

/// The measurements, a disk each: real disks first, then modelled ones, then memory.
pub(crate) fn on_disks(given: &[Given], subjects: &[Subject]) -> Vec<OnDisk> {
    let mut disks: Vec<(String, OnDisk)> = Vec::new();
    let mut beds: BTreeMap<(String, usize), Vec<(f64, f64)>> = BTreeMap::new();
    for one in given {
        let Document::Bench(rows) = &one.document else { continue };
        for (workload, disk) in bench::distinct(rows, |row| (row.workload.as_str(), row.disk.as_str())) {
            if !disks.iter().any(|(name, _)| name == disk) {
                disks.push((disk.to_owned(), OnDisk { disk: bench::disk_in_words(rows, disk), ..OnDisk::default() }));
            }
            let (_, on) = disks.iter_mut().find(|(name, _)| name == disk).expect("it was pushed");
            if !on.workloads.iter().any(|known| known == workload) {
                on.workloads.push(workload.to_owned());
            }
            for (subject, numbers) in bed(rows, (workload, disk), subjects, given) {
                beds.entry((disk.to_owned(), subject)).or_default().push(numbers);
            }
        }
    }
    for ((disk, subject), numbers) in beds {
        let Some((_, on)) = disks.iter_mut().find(|(name, _)| *name == disk) else { continue };
        let count = numbers.len() as f64;
        on.speeds.insert(subject, (numbers.iter().map(|(speed, _)| speed.ln()).sum::<f64>() / count).exp());
        if numbers.iter().all(|(_, wear)| *wear > 0.0) {
            on.wear.insert(subject, numbers.iter().map(|(_, wear)| wear).sum::<f64>() / count);
        }
    }
    for (_, on) in &mut disks {
        // Of several workloads none may have been the fastest in all.
        let fastest = on.speeds.values().copied().fold(0.0, f64::max);
        on.speeds.values_mut().for_each(|speed| *speed /= fastest);
    }
    disks.sort_by_key(|(name, _)| (name == "ram", name.starts_with("sim:")));
    disks.into_iter().map(|(_, on)| on).collect()
}

/// The speed of each subject beside the fastest, and its bytes for each operation.
fn bed(rows: &[Row], bed: (&str, &str), subjects: &[Subject], given: &[Given]) -> Vec<(usize, (f64, f64))> {
    let phases = bench::phases(rows, bed.0, bed.1);
    let Some(phase) = phases.first() else { return Vec::new() };
    let one = |scheme: &str| {
        let runs: Runs<'_> = bench::runs(rows, bed, phase, scheme);
        let rate = runs.median(|row| row.rate);
        let wear = runs.median(|row| row.bytes_written) / runs.median(|row| row.ops).max(1.0);
        let subject = place(subjects, given, scheme, &promised(rows, scheme).cloned())?;
        (rate > 0.0 && rate.is_finite()).then_some((subject, (rate, wear)))
    };
    let found: Vec<_> = bench::distinct(rows, |row| row.scheme.as_str()).into_iter().filter_map(one).collect();
    let fastest = found.iter().map(|(_, (rate, _))| *rate).fold(0.0, f64::max);
    found.into_iter().map(|(subject, (rate, wear))| (subject, (rate / fastest, wear))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Source, read};

    fn given(text: &str) -> Vec<Given> {
        read(&Source { name: "x.json".into(), text: text.into() }).unwrap()
    }

    fn row(scheme: &str, workload: &str, disk: &str, rate: f64, more: &str) -> String {
        format!(
            r#"{{"scheme":"{scheme}","workload":"{workload}","disk":"{disk}","phase":"total","ops":10,"seconds":1,"bytes_written":100,"rate":{rate}{more}}}"#
        )
    }

    #[test]
    fn a_speed_is_a_geometric_mean_on_one_disk_beside_the_fastest_of_each_workload() {
        let rows = [
            row("a", "w", "ram", 100.0, ""),
            row("b", "w", "ram", 25.0, ""),
            row("a", "v", "ram", 1.0, ""),
            row("b", "v", "ram", 1.0, ""),
            row("a", "w", "sim:x", 7.0, ""),
            row("b", "w", "sim:x", 0.0, ""),
        ];
        let given = given(&format!("[{}]", rows.join(",")));
        let subjects = subjects(&given);
        let [sim, ram] = &on_disks(&given, &subjects)[..] else { panic!("two disks, memory last") };
        assert_eq!((sim.speeds.len(), sim.speeds[&0], ram.wear[&0]), (1, 1.0, 10.0));
        assert!((ram.speeds[&0] - 1.0).abs() < 1e-9 && (ram.speeds[&1] - 0.5).abs() < 1e-9, "{ram:?}");
    }

    #[test]
    fn other_promises_are_another_subject_and_a_document_without_any_asks_the_others() {
        let promises = |event: &str| format!(r#","promises":{{"name_added":"{event}"}}"#);
        let crash = |more: &str| format!(r#"{{"scheme":"wafs","workload":"w","states":7,"violations":[{{}}]{more}}}"#);
        let bench = |event: &str| format!("[{}]", row("wafs", "w", "ram", 3.0, &promises(event)));
        let all = [
            given(&bench("on-return")),
            given(&bench("after-fsync")),
            given(&crash("")),
            given(&crash(r#","without":["a-rule"]"#)),
        ];
        let all: Vec<Given> = all.into_iter().flatten().collect();
        let found = subjects(&all);
        let names: Vec<_> = found.iter().map(|one| (&*one.name, one.tried, one.broken)).collect();
        assert_eq!(names, [("wafs (1)", 7.0, 1.0), ("wafs (2)", 0.0, 0.0)]);
    }
}
