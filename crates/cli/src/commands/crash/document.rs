//! The result of an exploration as JSON.

use crate::made::Made;
use ordo_crash::Report;
use ordo_lab::Promised;
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
    /// Depends on the machine and on `--jobs`, and of the fields only this one; `made` has the command line.
    pub(super) states_per_second: f64,
    /// The disk in words, if there is one only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) disk_says: Option<String>,
    /// What the scheme promises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) promises: Option<Promised>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) made: Option<Made>,
}
