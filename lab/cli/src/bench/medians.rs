//! Several runs as one row: medians, and the spread of the runs.

use ordo_workload::Row;

/// The runs of one phase.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Median {
    /// Each number is the median of its own column.
    pub(crate) row: Row,
    /// Number of runs.
    pub(crate) runs: usize,
    /// Largest minus smallest rate, in percent of the median.
    pub(crate) spread: f64,
}

/// Groups rows of the same scheme, workload, disk and phase, in the order of their first occurrence.
pub(crate) fn medians(rows: &[Row]) -> Vec<Median> {
    let mut groups: Vec<Vec<&Row>> = Vec::new();
    for row in rows {
        match groups.iter_mut().find(|group| is_same(group[0], row)) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups.iter().map(|group| median_of(group)).collect()
}

fn is_same(a: &Row, b: &Row) -> bool {
    a.scheme == b.scheme && a.workload == b.workload && a.disk == b.disk && a.phase == b.phase
}

fn median_of(group: &[&Row]) -> Median {
    let real = |value: fn(&Row) -> f64| median(group.iter().map(|row| value(row)).collect());
    let whole = |value: fn(&Row) -> u64| median(group.iter().map(|row| value(row) as f64).collect()) as u64;
    let value = |row: &Row, name: &str| row.scheme_counters.get(name).copied().unwrap_or_default() as f64;
    let counter = |name: &String| median(group.iter().map(|row| value(row, name)).collect()) as u64;
    let rates: Vec<f64> = group.iter().map(|row| row.rate).collect();
    let (least, most) = rates.iter().fold((f64::INFINITY, 0.0f64), |(a, b), &rate| (a.min(rate), b.max(rate)));
    let rate = real(|row| row.rate);
    let row = Row {
        ops: whole(|row| row.ops),
        seconds: real(|row| row.seconds),
        rate,
        cpu_seconds: real(|row| row.cpu_seconds),
        disk_reads: whole(|row| row.disk_reads),
        disk_writes: whole(|row| row.disk_writes),
        bytes_written: whole(|row| row.bytes_written),
        rollbacks: whole(|row| row.rollbacks),
        waits: whole(|row| row.waits),
        flushes_per_second: real(|row| row.flushes_per_second),
        scheme_counters: group[0].scheme_counters.keys().map(|name| (name.clone(), counter(name))).collect(),
        ..group[0].clone()
    };
    Median { row, runs: group.len(), spread: if rate > 0.0 { (most - least) * 100.0 / rate } else { 0.0 } }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.get(middle) {
        None => 0.0,
        Some(&value) if values.len() % 2 == 1 => value,
        Some(&value) => (values[middle - 1] + value) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(scheme: &str, rate: f64) -> Row {
        Row {
            scheme: scheme.into(),
            workload: "w".into(),
            disk: "ram".into(),
            phase: "p".into(),
            ops: 10,
            seconds: 10.0 / rate,
            rate,
            cpu_seconds: 0.0,
            disk_reads: 0,
            disk_writes: rate as u64,
            bytes_written: 0,
            rollbacks: 0,
            waits: 0,
            flushes_per_second: rate / 10.0,
            scheme_counters: [("deferred".to_owned(), rate as u64)].into(),
            cleaning: None,
        }
    }

    #[test]
    fn runs_of_one_phase_become_their_median() {
        let rows = [row("a", 10.0), row("b", 5.0), row("a", 30.0), row("a", 20.0), row("b", 15.0)];
        let medians = medians(&rows);
        assert_eq!(medians.len(), 2);
        assert_eq!((medians[0].row.rate, medians[0].runs, medians[0].spread), (20.0, 3, 100.0));
        assert_eq!((medians[1].row.rate, medians[1].row.disk_writes, medians[1].runs), (10.0, 10, 2));
        assert_eq!((medians[0].row.flushes_per_second, medians[0].row.scheme_counters["deferred"]), (2.0, 20));
        assert_eq!(median(Vec::new()), 0.0);
    }
}
