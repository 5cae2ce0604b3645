//! The result of an exploration as JSON.

use ordo_crash::Report;
use ordo_report::results::{Made, Promises};
use serde::{Deserialize, Serialize};

/// A report, with the amount of work and the speed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Document {
    #[serde(flatten)]
    pub(super) report: Report,
    /// Number of scripts that were run.
    pub(super) scripts: u64,
    /// The shard that it is; empty if several were joined.
    pub(super) shards: Vec<String>,
    /// Depends on the machine and on `--jobs`, and of the fields only this one; `made` has the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) states_per_second: Option<f64>,
    /// The disk in words, if there is one only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) disk_says: Option<String>,
    /// What the scheme promises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) promises: Option<Promises>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) made: Option<Made>,
}
