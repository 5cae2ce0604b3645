//! The terms of learning: which rule, and what it counts with.

use std::time::Duration;

/// How a dock is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The paper's: a long sequence of reads near each other is a dock for the short ones after it.
    Docks,
    /// Where the head was before it went far is the dock of the run that it went to.
    Jumps,
}

impl Rule {
    /// What is used unless a rule is named.
    pub const BEST: Rule = Rule::Jumps;
}

/// Whether something is learned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Learns {
    /// By [`Rule::BEST`].
    #[default]
    Yes,
    /// Nothing is learned.
    No,
    /// By this rule.
    By(Rule),
}

impl Learns {
    /// The names of the choices.
    pub const NAMES: [(&'static str, Learns); 4] = [
        ("yes", Learns::Yes),
        ("no", Learns::No),
        ("docks", Learns::By(Rule::Docks)),
        ("jumps", Learns::By(Rule::Jumps)),
    ];

    /// The rule that it asks for.
    pub fn rule(self) -> Option<Rule> {
        match self {
            Learns::Yes => Some(Rule::BEST),
            Learns::No => None,
            Learns::By(rule) => Some(rule),
        }
    }
}

/// What the rules count with. Lengths and distances are in the unit of the addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// The rule.
    pub rule: Rule,
    /// Reads closer than this are near each other (the paper: a group of 32,768 blocks).
    pub near: u64,
    /// A longer time without a read ends what belongs together (the paper: 0.1 s).
    pub window: Duration,
    /// A sequence longer than this is a dock (the paper: 15 blocks).
    pub dock: u64,
    /// The longest run that may have a replica. What follows without a gap is one run up to this.
    pub longest: u64,
    /// So often a preference must be seen (logs-learning-1).
    pub times: u32,
    /// The most pairs that are remembered (logs-learning-2).
    pub pairs: usize,
    /// The most wishes that wait (logs-learning-2).
    pub wishes: usize,
}

impl Terms {
    /// The paper's window.
    pub const WINDOW: Duration = Duration::from_millis(100);
    /// The paper's longest sequence that is no dock, in blocks.
    pub const DOCK_BLOCKS: u64 = 15;
}
