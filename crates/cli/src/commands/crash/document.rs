//! The result of an exploration as JSON.

use ordo_crash::Report;
use serde::{Deserialize, Serialize};

/// How an exploration is divided into shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Split {
    /// By image: each has run every script.
    Images,
    /// Each has run some of the scripts.
    Scripts,
}

/// A report, with the amount of work and the speed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Document {
    #[serde(flatten)]
    pub(super) report: Report,
    /// Number of scripts that were run.
    pub(super) scripts: u64,
    /// The shards that it covers.
    pub(super) shards: Vec<String>,
    pub(super) split: Split,
    /// The only field that depends on the machine and on `--jobs`.
    pub(super) states_per_second: f64,
}
