//! The results of a campaign, for people and for programs.

use super::effect::Effect;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The class of a run, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Every answer was right, the tree is right, and fsck finds nothing.
    Truth,
    /// A call, the mount or the unmount failed, or the volume turned read-only; what was promised before is there, or
    /// fsck finds something; and `fsck -y` makes it clean.
    Error,
    /// Detected: nothing failed, but reading back gives an error, or fsck finds something.
    Seen,
    /// Nothing failed, fsck finds nothing, and an answer or the tree is wrong.
    Lie,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Class::Truth => "truth",
            Class::Error => "error",
            Class::Seen => "seen",
            Class::Lie => "lie",
        })
    }
}

/// Runs of one fault on one kind of structure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// The fault.
    pub effect: Effect,
    /// The structures that the request held, or that lay in the sector.
    pub kind: String,
    /// Runs of each class, best first.
    pub truth: u64,
    #[allow(missing_docs)]
    pub error: u64,
    #[allow(missing_docs)]
    pub seen: u64,
    #[allow(missing_docs)]
    pub lie: u64,
}

impl Cell {
    fn count(&mut self, class: Class) -> &mut u64 {
        match class {
            Class::Truth => &mut self.truth,
            Class::Error => &mut self.error,
            Class::Seen => &mut self.seen,
            Class::Lie => &mut self.lie,
        }
    }
}

/// Lies of one fault about one kind of structure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lie {
    /// The fault.
    pub effect: Effect,
    /// The structures; for a misdirected write also those that it overwrote.
    pub kind: String,
    /// Number of lies.
    pub count: u64,
    /// No reader of the format could have detected it.
    pub excused: bool,
    /// The id of the first, and what was wrong.
    pub example: String,
}

/// What no fault excuses: a lie without an excuse, a panic, a call that never ends, promised data lost after an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// Replays this run.
    pub id: String,
    /// The fault.
    pub effect: Effect,
    /// The structures.
    pub kind: String,
    /// What is wrong.
    pub what: String,
}

/// Violations that a report lists; all are counted.
const SHOWN: usize = 50;

/// The result of a campaign, or of some of its shards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Name of the scheme.
    pub scheme: String,
    /// Name of the script; of several, joined by commas.
    pub workload: String,
    /// Name of the device.
    pub disk: String,
    /// The random seed.
    pub seed: u64,
    /// Runs, each with one fault.
    pub runs: u64,
    /// Number of runs of each class.
    pub truth: u64,
    #[allow(missing_docs)]
    pub error: u64,
    #[allow(missing_docs)]
    pub seen: u64,
    /// Reads that were right because of another copy (the scheme `active`).
    #[serde(default, skip_serializing_if = "is_none")]
    pub healed: u64,
    /// All lies, excused or not.
    pub lies: Vec<Lie>,
    /// The whole table.
    pub cells: Vec<Cell>,
    /// Number of violations.
    pub violations_total: u64,
    /// The first of them.
    pub violations: Vec<Violation>,
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

impl Report {
    pub(super) fn note(&mut self, effect: Effect, kind: &str, class: Class) {
        self.runs += 1;
        match class {
            Class::Truth => self.truth += 1,
            Class::Error => self.error += 1,
            Class::Seen => self.seen += 1,
            Class::Lie => {}
        }
        *self.cell(effect, kind).count(class) += 1;
    }

    fn cell(&mut self, effect: Effect, kind: &str) -> &mut Cell {
        let place = self.cells.binary_search_by(|cell| (cell.effect, cell.kind.as_str()).cmp(&(effect, kind)));
        let place = place.unwrap_or_else(|place| {
            let cell = Cell { effect, kind: kind.into(), truth: 0, error: 0, seen: 0, lie: 0 };
            self.cells.insert(place, cell);
            place
        });
        &mut self.cells[place]
    }

    pub(super) fn lie(&mut self, lie: Lie) {
        let key = |lie: &Lie| (lie.effect, lie.kind.clone(), lie.excused);
        match self.lies.binary_search_by_key(&key(&lie), key) {
            Ok(place) => self.lies[place].count += lie.count,
            Err(place) => self.lies.insert(place, lie),
        }
    }

    pub(super) fn violate(&mut self, violation: Violation) {
        self.violations_total += 1;
        if self.violations.len() < SHOWN {
            self.violations.push(violation);
        }
    }

    /// Merges two reports, of other shards or of other scripts.
    pub fn and(mut self, other: Report) -> Report {
        if self.workload != other.workload {
            self.workload = format!("{},{}", self.workload, other.workload);
        }
        self.runs += other.runs;
        self.truth += other.truth;
        self.error += other.error;
        self.seen += other.seen;
        self.healed += other.healed;
        for cell in other.cells {
            let own = self.cell(cell.effect, &cell.kind);
            own.truth += cell.truth;
            own.error += cell.error;
            own.seen += cell.seen;
            own.lie += cell.lie;
        }
        other.lies.into_iter().for_each(|lie| self.lie(lie));
        self.violations_total += other.violations_total;
        self.violations.extend(other.violations);
        self.violations.truncate(SHOWN);
        self
    }
}

/// A table, one line per fault and kind of structure.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| fault | structure | runs | truth | error | seen | lie |")?;
        writeln!(f, "| --- | --- | ---: | ---: | ---: | ---: | ---: |")?;
        for Cell { effect, kind, truth, error, seen, lie } in &self.cells {
            let runs = truth + error + seen + lie;
            writeln!(f, "| {effect} | {kind} | {runs} | {truth} | {error} | {seen} | {lie} |")?;
        }
        let Report { runs, truth, error, seen, violations_total, .. } = self;
        let lies: u64 = self.lies.iter().map(|lie| lie.count).sum();
        writeln!(f, "| all | | {runs} | {truth} | {error} | {seen} | {lies} |")?;
        writeln!(f, "\n{violations_total} violations")?;
        self.violations.iter().try_for_each(|violation| writeln!(f, "{}: {}", violation.id, violation.what))
    }
}
