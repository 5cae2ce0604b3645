//! How a volume is mounted.

use ordo_buf::Scheme;
use std::rc::Rc;

/// Puts a scheme around the log's own, which sees what that sees: for the laboratory.
pub type Around = Rc<dyn Fn(Rc<dyn Scheme>) -> Rc<dyn Scheme>>;

/// Rules that are switched off, to test the tests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Names of [`crate::RULES`].
    pub without: Vec<&'static str>,
}

/// How to mount.
#[derive(Clone, Default)]
pub struct OpenOptions {
    /// Nothing is written; the roll-forward happens in memory.
    pub read_only: bool,
    /// Where it is mounted, for the superblock.
    pub mount_point: String,
    /// How the cleaner chooses segments.
    pub cleaner: Policy,
    /// For the explorer.
    pub settings: Settings,
    /// Around the scheme, before it is attached.
    pub around: Option<Around>,
}

/// How the next segment to clean is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// The one with the most dead bytes.
    Greedy,
    /// By what is gained and for how long, over what it costs: a segment of old data is worth more (Rosenblum and
    /// Ousterhout 1992, section 3.6), with the age of its last write, as in NetBSD.
    #[default]
    CostBenefit,
}

impl Policy {
    /// By the name of the mount option `cleaner=`.
    pub fn by_name(name: &str) -> Option<Policy> {
        Some(match name {
            "greedy" => Policy::Greedy,
            "cost-benefit" => Policy::CostBenefit,
            _ => return None,
        })
    }
}
