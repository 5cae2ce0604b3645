//! The table of response times and movements of the arm: of the simulator, and of the engine.

use crate::text;
use ordo_sim::Seeks;

/// Syncs, which the simulator does not have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Syncs {
    /// How many.
    pub(crate) count: usize,
    /// Their mean response time.
    pub(crate) mean_ms: f64,
    /// Calls that were done in the trace, and refused here.
    pub(crate) refused: usize,
}

/// What a trace took on a system or under a scheme.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Responses<'a> {
    pub(crate) trace: &'a str,
    /// The system or scheme.
    pub(crate) on: &'a str,
    pub(crate) requests: usize,
    pub(crate) mean_ms: f64,
    pub(crate) p95_ms: f64,
    pub(crate) max_ms: f64,
    pub(crate) syncs: Option<Syncs>,
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) seeks: Seeks,
}

/// The table. `on` says what the rows are about; there are columns of syncs if the first row has them.
pub(crate) fn table(on: &str, rows: &[Responses<'_>]) -> String {
    let has_syncs = rows.first().is_some_and(|row| row.syncs.is_some());
    let mut heading = vec!["trace", on, "requests", "mean ms", "95 % ms", "max ms"];
    heading.extend(has_syncs.then_some(["syncs", "mean ms", "refused"]).into_iter().flatten());
    heading.extend(["reads", "writes", "seeks: 0", "<21", "<81", "<321", "<641", "<1281", ">1281 cylinders"]);
    let heading: Vec<String> = heading.into_iter().map(str::to_owned).collect();
    text::table(2, &std::iter::once(heading).chain(rows.iter().map(cells)).collect::<Vec<_>>())
}

fn cells(row: &Responses<'_>) -> Vec<String> {
    let ms = |ms: f64| format!("{ms:.2}");
    let syncs = row.syncs.map(|syncs| [syncs.count.to_string(), ms(syncs.mean_ms), syncs.refused.to_string()]);
    let counts = [row.reads, row.writes].into_iter().chain(row.seeks.distance_cylinders.bins());
    [row.trace.to_owned(), row.on.to_owned(), row.requests.to_string()]
        .into_iter()
        .chain([row.mean_ms, row.p95_ms, row.max_ms].map(ms))
        .chain(syncs.into_iter().flatten())
        .chain(counts.map(|count| count.to_string()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_column_has_a_heading_with_syncs_and_without() {
        let (trace, on) = ("gcc", "lfs");
        let seeks = Seeks::default();
        let row = Responses {
            trace,
            on,
            requests: 7,
            mean_ms: 1.0,
            p95_ms: 2.0,
            max_ms: 3.0,
            syncs: None,
            reads: 4,
            writes: 5,
            seeks,
        };
        assert_eq!(cells(&row)[..8], ["gcc", "lfs", "7", "1.00", "2.00", "3.00", "4", "5"]);
        assert!(
            table("system", &[row]).lines().next().unwrap().contains("max ms  reads"),
            "{}",
            table("system", &[row])
        );
        let synced = Responses { syncs: Some(Syncs { count: 8, mean_ms: 9.0, refused: 0 }), ..row };
        assert_eq!(cells(&synced)[5..10], ["3.00", "8", "9.00", "0", "4"]);
        let shown = table("scheme", &[synced]);
        assert!(shown.lines().next().unwrap().contains("max ms  syncs  mean ms  refused  reads"), "{shown}");
    }
}
