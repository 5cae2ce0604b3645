//! What is run again: a paper, and a system that it compares.

use ordofs::schemes::Settings;

/// A paper that can be run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paper {
    /// Its key.
    pub key: &'static str,
    /// Its title and authors.
    pub what: &'static str,
}

/// What `ordo paper` runs without a workload: the features of the systems of jsu2000, and of others.
pub const FEATURES: Paper =
    Paper { key: "features", what: "The features of Seltzer and others (2000, Table 2), found by power cuts" };

/// A system that a paper compares, as one of our schemes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetUp {
    /// Its name in the claims.
    pub name: &'static str,
    /// The scheme.
    pub scheme: &'static str,
    /// Its settings, and the rules that the paper's system does not keep.
    pub settings: Settings,
    /// Its log lies on a disk of its own.
    pub separate_log: bool,
}
