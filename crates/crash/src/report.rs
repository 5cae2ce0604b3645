//! What an exploration found, as a person and as a program reads it.

use crate::oracle::Oracle;
use crate::plan::Plan;
use crate::record::Recording;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Violations of one oracle that are told; all are counted.
pub(crate) const SHOWN_OF_EACH: usize = 5;

/// A broken promise, and how it came about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Violation {
    /// Replays exactly this state.
    pub id: String,
    /// Which oracle says so.
    pub oracle: Oracle,
    /// The scheme declares that this does not happen. Else it declares nothing, and is held to the least that a file
    /// system must keep.
    pub promised: bool,
    /// The promise, in words.
    pub promise: String,
    /// Which of the scripts of a sweep, from 0.
    pub script: u64,
    /// Moments of the recording that had happened when the power went.
    pub cut: usize,
    /// Which of the states that were tried at this cut, from 0.
    pub state: u64,
    /// The last call that had begun.
    pub call: String,
    /// The undurable writes that were lost or torn.
    pub lost: Vec<String>,
    /// What is wrong.
    pub detail: String,
    /// What should have been.
    pub should: String,
    /// What is.
    pub is: String,
    /// The calls, with where the power went.
    pub calls: Vec<String>,
    /// The undurable writes in the order of issue, with what became of each.
    pub writes: Vec<String>,
    /// A violation of the same oracle by fewer calls and fewer lost writes, if one was looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shrunk: Option<Box<Violation>>,
}

impl Violation {
    /// Its place in the exploration, the same in whatever parts that was done.
    fn place(&self) -> (u64, usize, u64) {
        (self.script, self.cut, self.state)
    }
}

/// The result of an exploration, or of some of its shards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Name of the scheme.
    pub scheme: String,
    /// Rules that were switched off.
    pub without: Vec<String>,
    /// Name of the script.
    pub workload: String,
    /// Name of the device.
    pub disk: String,
    /// Where luck began.
    pub seed: u64,
    /// Writes that the script caused.
    pub writes: u64,
    /// Flushes that it caused.
    pub flushes: u64,
    /// Places where the power was cut.
    pub cuts: u64,
    /// States that there are: cuts times what the device may do to the undurable writes. The largest number stands for more.
    pub exist: u64,
    /// States that were tried.
    pub states: u64,
    /// Distinct images that were recovered and checked, those of cut recoveries included.
    pub distinct: u64,
    /// Distinct images that a cut recovery left, which was begun again; of each way of recovery by itself, so that an image
    /// may count twice here, and may also be one that a crash left.
    pub nested: u64,
    /// Features that steered scripts reached, each counted once in a row of them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reached: u64,
    /// How often fsck found what in distinct images.
    pub findings: BTreeMap<String, u64>,
    /// fsck found nothing worse than leaks.
    pub leaks_only: bool,
    /// All violations.
    pub violations_total: u64,
    /// The first of each oracle.
    pub violations: Vec<Violation>,
}

/// What serde asks.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Report {
    /// Of a plan of which nothing was explored: the report of a shard that no script falls to.
    pub fn nothing(plan: &Plan) -> Report {
        Report {
            scheme: plan.scheme.clone(),
            without: plan.settings.without.iter().map(ToString::to_string).collect(),
            workload: plan.script.name.clone(),
            disk: plan.device.name.into(),
            seed: plan.seed,
            writes: 0,
            flushes: 0,
            cuts: 0,
            exist: 0,
            states: 0,
            distinct: 0,
            nested: 0,
            reached: 0,
            findings: BTreeMap::new(),
            leaks_only: true,
            violations_total: 0,
            violations: Vec::new(),
        }
    }

    pub(crate) fn of(plan: &Plan, recording: &Recording) -> Report {
        Report { writes: recording.writes.len() as u64, flushes: recording.flushes, ..Report::nothing(plan) }
    }

    /// This shard and another one of the same exploration together.
    pub fn merge(mut self, other: Report) -> Report {
        self.states += other.states;
        self.distinct += other.distinct;
        self.nested += other.nested;
        self.reached += other.reached;
        self.leaks_only &= other.leaks_only;
        self.violations_total += other.violations_total;
        for (name, count) in other.findings {
            *self.findings.entry(name).or_default() += count;
        }
        self.violations.extend(other.violations);
        // Each part has the first ones of its own; of these the first are those of the whole, whatever the parts (X2).
        self.violations.sort_by_key(Violation::place);
        let mut shown: BTreeMap<Oracle, usize> = BTreeMap::new();
        self.violations.retain(|violation| {
            let count = shown.entry(violation.oracle).or_default();
            *count += 1;
            *count <= SHOWN_OF_EACH
        });
        self
    }

    /// Two explorations one after the other, as of the scripts of a sweep.
    pub fn and(mut self, next: Report) -> Report {
        self.writes += next.writes;
        self.flushes += next.flushes;
        self.cuts += next.cuts;
        self.exist = self.exist.saturating_add(next.exist);
        self.merge(next)
    }
}
