//! Results as rows: the JSON that `ordo bench` prints.

use crate::meter::{Cleaning, Counts, PhaseResult};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One phase of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The scheme; for a foreign file system its type.
    pub scheme: String,
    /// Name of the program.
    pub workload: String,
    /// The volume's disk, as given to `--disk`.
    pub disk: String,
    /// Name of the phase; `total` for their sum.
    pub phase: String,
    /// Operations in the program's unit.
    pub ops: u64,
    /// Elapsed seconds.
    pub seconds: f64,
    /// Operations per second.
    pub rate: f64,
    /// CPU seconds.
    pub cpu_seconds: f64,
    /// Read requests.
    pub disk_reads: u64,
    /// Write requests.
    pub disk_writes: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Writes with a rollback.
    pub rollbacks: u64,
    /// Waits because of ordering.
    pub waits: u64,
    /// Flushes of the disk, per second.
    #[serde(default)]
    pub flushes_per_second: f64,
    /// The scheme's own counters since the mount, at the end of the phase.
    #[serde(default)]
    pub scheme_counters: BTreeMap<String, u64>,
    /// On a log-structured volume, what cleaning has cost since the mount, at the end of the phase.
    #[serde(flatten)]
    pub cleaning: Option<Cleaning>,
}

/// The rows of one run: one for each phase, and `total` where there is more than one.
pub fn rows(scheme: &str, workload: &str, disk: &str, phases: &[PhaseResult]) -> Vec<Row> {
    let row = |result: &PhaseResult| Row {
        scheme: scheme.to_owned(),
        workload: workload.to_owned(),
        disk: disk.to_owned(),
        phase: result.phase.to_owned(),
        ops: result.ops,
        seconds: result.seconds,
        rate: result.rate(),
        cpu_seconds: result.cpu_seconds,
        disk_reads: result.counts.disk_reads,
        disk_writes: result.counts.disk_writes,
        bytes_written: result.counts.bytes_written,
        rollbacks: result.counts.rollbacks,
        waits: result.counts.waits,
        flushes_per_second: result.a_second(result.counts.flushes),
        scheme_counters: result.counts.scheme.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
        cleaning: result.counts.cleaning,
    };
    let mut rows: Vec<Row> = phases.iter().map(row).collect();
    if phases.len() > 1 {
        rows.push(row(&total(phases)));
    }
    rows
}

fn total(phases: &[PhaseResult]) -> PhaseResult {
    let sum = |count: fn(&PhaseResult) -> u64| phases.iter().map(count).sum();
    PhaseResult {
        phase: "total",
        ops: sum(|phase| phase.ops),
        bytes: sum(|phase| phase.bytes),
        seconds: phases.iter().map(|phase| phase.seconds).sum(),
        cpu_seconds: phases.iter().map(|phase| phase.cpu_seconds).sum(),
        own_cpu_seconds: phases.iter().map(|phase| phase.own_cpu_seconds).sum(),
        counts: Counts {
            disk_reads: sum(|phase| phase.counts.disk_reads),
            disk_writes: sum(|phase| phase.counts.disk_writes),
            bytes_written: sum(|phase| phase.counts.bytes_written),
            rollbacks: sum(|phase| phase.counts.rollbacks),
            waits: sum(|phase| phase.counts.waits),
            flushes: sum(|phase| phase.counts.flushes),
            scheme: phases.last().map(|phase| phase.counts.scheme.clone()).unwrap_or_default(),
            cleaning: phases.last().and_then(|phase| phase.counts.cleaning),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(phase: &'static str, ops: u64, seconds: f64) -> PhaseResult {
        let scheme = BTreeMap::from([("deferred", ops)]);
        let counts = Counts { disk_writes: ops, flushes: 6, scheme, ..Counts::default() };
        PhaseResult { phase, ops, bytes: 0, seconds, cpu_seconds: 0.25, own_cpu_seconds: 0.0, counts }
    }

    #[test]
    fn phases_become_rows_and_a_total_with_the_promised_keys() {
        let rows = rows("sync", "postmark", "ram", &[phase("create", 10, 2.0), phase("delete", 30, 2.0)]);
        let json = serde_json::to_value(&rows[2]).unwrap();
        let wanted = serde_json::json!({
            "scheme": "sync", "workload": "postmark", "disk": "ram", "phase": "total", "ops": 40, "seconds": 4.0,
            "rate": 10.0, "cpu_seconds": 0.5, "disk_reads": 0, "disk_writes": 40, "bytes_written": 0, "rollbacks": 0,
            "waits": 0, "flushes_per_second": 3.0, "scheme_counters": {"deferred": 30}
        });
        assert_eq!(json, wanted);
    }

    #[test]
    fn rows_of_a_log_have_what_cleaning_has_cost_and_read_back() {
        let cleaning = Some(Cleaning { segments_cleaned: 7, segments_read: 5, segments_written: 6, write_cost: None });
        let counts = Counts { cleaning, ..Counts::default() };
        let row = &rows("lfs", "postmark", "ram", &[PhaseResult { counts, ..phase("total", 1, 1.0) }])[0];
        let json = serde_json::to_value(row).unwrap();
        assert_eq!((&json["segments_cleaned"], &json["segments_read"]), (&7.into(), &5.into()));
        assert_eq!(json["segments_written"], 6);
        assert_eq!(json.get("write_cost"), Some(&serde_json::Value::Null));
        assert_eq!(&serde_json::from_value::<Row>(json).unwrap(), row);
    }

    #[test]
    fn a_single_phase_needs_no_total_and_no_time_gives_no_rate() {
        let rows = rows("sync", "create-delete", "ram", &[phase("create-delete", 10, 0.0)]);
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].rate, 0.0);
    }
}
