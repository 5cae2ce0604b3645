//! What an exploration comes to, as JSON.

use ::crash::Report;
use serde::{Deserialize, Serialize};

/// How shards share an exploration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Split {
    /// By image: each has run every script.
    Images,
    /// Each has run some of the scripts.
    Scripts,
}

/// A report, of how much, and how fast.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Document {
    #[serde(flatten)]
    pub(super) report: Report,
    /// Scripts that were run.
    pub(super) scripts: u64,
    /// Of which shards.
    pub(super) shards: Vec<String>,
    pub(super) split: Split,
    /// The only field that depends on the machine and on `--jobs`.
    pub(super) states_per_second: f64,
}
