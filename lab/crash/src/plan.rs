//! A plan: a script on a subject, and how much of what it leaves is tried.

use crate::device::Device;
use crate::oracle::Oracle;
use crate::shape::Shape;
use crate::subject::Subject;
use ordo_workload::script::Script;
use std::time::Duration;

/// A part of an exploration that several machines or threads share: it takes the images whose fingerprint falls to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Index of the part, from 0.
    pub index: u32,
    /// Number of parts.
    pub of: u32,
}

impl Shard {
    /// The whole exploration.
    pub const WHOLE: Shard = Shard { index: 0, of: 1 };

    /// Part `part` of `parts` of this shard.
    pub fn split(self, part: u32, parts: u32) -> Shard {
        Shard { index: self.index + self.of * part, of: self.of * parts }
    }

    pub(crate) fn takes(self, number: u128) -> bool {
        number % u128::from(self.of) == u128::from(self.index)
    }
}

/// How much is tried, and which part of it.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// States that are tried at most, not counting those of interrupted recoveries.
    pub states: u64,
    /// Undurable writes up to which every subset is tried.
    pub exhaustive: usize,
    /// One image in so many has its recovery cut at every write; 0 for none.
    pub recovery_cuts: u32,
    /// The random seed.
    pub seed: u64,
    /// Every other random script is a variation of one that reached something new.
    pub steered: bool,
    /// Which part of the exploration to run.
    pub shard: Shard,
    /// Stop after this many violations.
    pub enough: usize,
    /// Stop at the first violation that this oracle finds.
    pub looks_for: Option<Oracle>,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget {
            states: 5000,
            exhaustive: 10,
            recovery_cuts: 4,
            seed: 0,
            steered: false,
            shard: Shard::WHOLE,
            enough: usize::MAX,
            looks_for: None,
        }
    }
}

impl Budget {
    pub(crate) fn cuts_recovery_of(&self, fingerprint: u128) -> bool {
        self.recovery_cuts > 0 && (fingerprint >> 64).is_multiple_of(self.recovery_cuts.into())
    }
}

/// An exploration.
#[derive(Clone)]
pub struct Plan {
    /// What is explored.
    pub subject: Subject,
    /// The script that runs.
    pub script: Script,
    /// Between calls, time sometimes passes, so that the syncer writes in the middle.
    pub pauses: bool,
    /// Mean time between calls, for a workload that goes on for hours. Without it, calls follow at once.
    pub pace: Option<Duration>,
    /// How much of it is tried.
    pub budget: Budget,
}

impl Plan {
    /// The usual exploration of a script under a scheme.
    pub fn new(scheme: &str, script: Script, device: &Device) -> Plan {
        Plan::of(Subject::new(scheme, device), script)
    }

    /// The usual exploration of a script on a log-structured volume.
    pub fn on_log(script: Script, device: &Device) -> Plan {
        Plan::of(Subject::on_log(device), script)
    }

    /// The usual exploration of a script on this.
    pub fn of(subject: Subject, script: Script) -> Plan {
        Plan { subject, script, pauses: false, pace: None, budget: Budget::default() }
    }
}

/// A script of a sweep.
#[derive(Debug, Clone)]
pub struct Case {
    /// The script.
    pub script: Script,
    /// The volume it was generated for, if any; otherwise the plan's.
    pub shape: Option<Shape>,
}

impl From<Script> for Case {
    fn from(script: Script) -> Case {
        Case { script, shape: None }
    }
}
