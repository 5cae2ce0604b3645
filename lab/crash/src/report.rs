//! The results of an exploration, for people and for programs.

use crate::oracle::Oracle;
use crate::plan::Plan;
use crate::record::Recording;
use ordofs::LayoutName;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Violations of one oracle that are shown; all are counted.
pub(crate) const SHOWN_OF_EACH: usize = 5;

/// A broken promise, with its story.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Violation {
    /// Replays exactly this state.
    pub id: String,
    /// The oracle that found it.
    pub oracle: Oracle,
    /// The scheme declares that this does not happen. Otherwise it declares nothing, and is checked against the least
    /// that a file system must keep.
    pub promised: bool,
    /// The promise, in words.
    pub promise: String,
    /// Index of the script in a sweep, from 0.
    pub script: u64,
    /// The cut: number of moments before the power went.
    pub cut: usize,
    /// Index among the states tried at this cut, from 0.
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
    /// The calls, and where the power went.
    pub calls: Vec<String>,
    /// The undurable writes in the order of issue, with what became of each.
    pub writes: Vec<String>,
    /// A smaller violation of the same oracle, with fewer calls and fewer lost writes, if shrinking was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shrunk: Option<Box<Violation>>,
}

impl Violation {
    /// Its position in the exploration, whatever the parts are.
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
    /// The random seed.
    pub seed: u64,
    /// Writes that the script caused.
    pub writes: u64,
    /// Flushes that it caused.
    pub flushes: u64,
    /// Places where the power was cut.
    pub cuts: u64,
    /// States in total: cuts times what the device may do to the undurable writes. Saturates at the largest number.
    pub exist: u64,
    /// States that were tried.
    pub states: u64,
    /// Distinct images that were recovered and checked, including those of interrupted recoveries. Such an image counts
    /// in each shard and each thread that meets it.
    pub distinct: u64,
    /// Distinct images that an interrupted recovery left and that were recovered again. Counted for each way of
    /// recovery, so an image may count twice; a crash may have left it as well.
    pub nested: u64,
    /// Features that steered scripts reached, each counted once per row of scripts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reached: u64,
    /// How often fsck reported each finding, over distinct images.
    pub findings: BTreeMap<String, u64>,
    /// Segments of a log-structured volume that became usable again, in the run of the script and in the recoveries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segments_cleaned: Option<u64>,
    /// Those of the run: every shard of one script has the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segments_cleaned_by_script: Option<u64>,
    /// How often the connections to the disks' servers were lost, with `through=nbd`: every shard of one script has the
    /// same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections_lost: Option<u64>,
    /// Of these, how often in a flush.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flushes_lost: Option<u64>,
    /// fsck found nothing worse than leaks.
    pub leaks_only: bool,
    /// All violations.
    pub violations_total: u64,
    /// The first of each oracle.
    pub violations: Vec<Violation>,
}

/// For serde's `skip_serializing_if`.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    if a.is_none() && b.is_none() { None } else { Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))) }
}

/// Saturates: a report may be read from a file.
fn add(sum: &mut u64, other: u64) {
    *sum = sum.saturating_add(other);
}

impl Report {
    /// An empty report: that of a shard to which no script falls.
    pub fn nothing(plan: &Plan) -> Report {
        Report {
            scheme: plan.subject.scheme.clone(),
            without: plan.subject.settings.without.iter().map(ToString::to_string).collect(),
            workload: plan.script.name.clone(),
            disk: plan.subject.device.name.into(),
            seed: plan.budget.seed,
            writes: 0,
            flushes: 0,
            cuts: 0,
            exist: 0,
            states: 0,
            distinct: 0,
            nested: 0,
            reached: 0,
            findings: BTreeMap::new(),
            segments_cleaned: (plan.subject.layout() == LayoutName::Lfs).then_some(0),
            segments_cleaned_by_script: (plan.subject.layout() == LayoutName::Lfs).then_some(0),
            connections_lost: plan.subject.through_nbd.then_some(0),
            flushes_lost: plan.subject.through_nbd.then_some(0),
            leaks_only: true,
            violations_total: 0,
            violations: Vec::new(),
        }
    }

    pub(crate) fn of(plan: &Plan, recording: &Recording) -> Report {
        let nothing = Report::nothing(plan);
        let cleaned = nothing.segments_cleaned.map(|_| recording.cleaned);
        let (writes, flushes) = (recording.writes.len() as u64, recording.flushes);
        Report {
            writes,
            flushes,
            segments_cleaned: cleaned,
            segments_cleaned_by_script: cleaned,
            connections_lost: recording.lost.map(|lost| lost.connections),
            flushes_lost: recording.lost.map(|lost| lost.in_flushes),
            ..nothing
        }
    }

    /// Merges the reports of two shards of the same exploration.
    pub fn merge(mut self, other: Report) -> Report {
        add(&mut self.states, other.states);
        add(&mut self.distinct, other.distinct);
        add(&mut self.nested, other.nested);
        add(&mut self.reached, other.reached);
        // The run of the script is in both.
        self.segments_cleaned = sum(self.segments_cleaned, other.segments_cleaned)
            .map(|cleaned| cleaned.saturating_sub(other.segments_cleaned_by_script.unwrap_or(0)));
        self.leaks_only &= other.leaks_only;
        add(&mut self.violations_total, other.violations_total);
        for (name, count) in other.findings {
            add(self.findings.entry(name).or_default(), count);
        }
        self.violations.extend(other.violations);
        // Each part has its own first violations; the first of these are the first of the whole, whatever the parts
        // (lab-crash-2).
        self.violations.sort_by_key(Violation::place);
        let mut shown: BTreeMap<Oracle, usize> = BTreeMap::new();
        self.violations.retain(|violation| {
            let count = shown.entry(violation.oracle).or_default();
            *count += 1;
            *count <= SHOWN_OF_EACH
        });
        self
    }

    /// Adds the report of the next exploration, as for the scripts of a sweep.
    pub fn and(mut self, next: Report) -> Report {
        self.segments_cleaned = sum(self.segments_cleaned, next.segments_cleaned_by_script);
        self.segments_cleaned_by_script = sum(self.segments_cleaned_by_script, next.segments_cleaned_by_script);
        self.connections_lost = sum(self.connections_lost, next.connections_lost);
        self.flushes_lost = sum(self.flushes_lost, next.flushes_lost);
        add(&mut self.writes, next.writes);
        add(&mut self.flushes, next.flushes);
        add(&mut self.cuts, next.cuts);
        add(&mut self.exist, next.exist);
        self.merge(next)
    }
}
