//! Durable temporal locality: which blocks are read when the head was just somewhere else, again and again.
//!
//! After "Not Just a Log", the section on learning. A *dock* is where the head was. Blocks that are often read after the
//! same dock, and lie far from it, prefer a replica there. Two rules find them ([`Rule`]): the paper's, [`docks`], and
//! one of ours, [`jumps`]. Addresses are of homes, in any unit (blocks in the simulator, bytes in the engine), so that a
//! replica that is read does not change what is learned of its block.
//!
//! L1. A preference is believed when it was seen several times ([`Terms::times`]). After one time, programs that read at
//!     the same time teach each other's places.
//! L2. What is remembered is bounded. A pair of a dock and a block that was not seen for [`Terms::pairs`] others is
//!     counted anew; wishes behind the first [`Terms::wishes`] are dropped, and come again with the next read.
#![forbid(unsafe_code)]

mod docks;
mod jumps;
mod tally;

use docks::Docks;
use jumps::Jumps;
use rustc_hash::FxHashSet;
use std::collections::VecDeque;
use std::time::Duration;
use tally::Tally;

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
    /// So often a preference must be seen (L1).
    pub times: u32,
    /// The most pairs that are remembered (L2).
    pub pairs: usize,
    /// The most wishes that wait (L2).
    pub wishes: usize,
}

impl Terms {
    /// The paper's window.
    pub const WINDOW: Duration = Duration::from_millis(100);
    /// The paper's longest sequence that is no dock, in blocks.
    pub const DOCK_BLOCKS: u64 = 15;
}

/// A read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Read {
    /// When, by a clock that does not go back.
    pub now: Duration,
    /// Its home.
    pub at: u64,
    /// Its length; at least one.
    pub len: u64,
    /// Where it was served, if not at home.
    pub served: Option<u64>,
}

impl Read {
    fn end(&self) -> u64 {
        self.at + self.len
    }
}

/// A run of which a replica should lie near the dock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish {
    /// Where the head was.
    pub dock: u64,
    /// The run's home.
    pub at: u64,
    /// Its length.
    pub len: u64,
}

/// What was learned so far.
#[derive(Debug)]
pub struct Learning {
    near: u64,
    window: Duration,
    finder: Finder,
    last: Option<Duration>,
    preferences: Preferences,
}

#[derive(Debug)]
enum Finder {
    Docks(Docks),
    Jumps(Jumps),
}

impl Learning {
    /// Nothing is known yet.
    pub fn new(terms: Terms) -> Learning {
        let near = terms.near.max(1);
        let finder = match terms.rule {
            Rule::Docks => Finder::Docks(Docks::new(near, terms.dock, terms.longest)),
            Rule::Jumps => Finder::Jumps(Jumps::new(near, terms.longest)),
        };
        let preferences = Preferences {
            near,
            times: terms.times,
            most: terms.wishes,
            tally: Tally::new(terms.pairs),
            wishes: VecDeque::new(),
            waiting: FxHashSet::default(),
        };
        Learning { near, window: terms.window, finder, last: None, preferences }
    }

    /// Something is read.
    pub fn read(&mut self, read: Read) {
        if self.last.is_some_and(|last| read.now.saturating_sub(last) > self.window) {
            self.pause();
        }
        self.last = Some(read.now);
        match &mut self.finder {
            Finder::Docks(docks) => docks.read(read, &mut self.preferences),
            Finder::Jumps(jumps) => jumps.read(read, &mut self.preferences),
        }
    }

    /// Nothing is read for a while.
    pub fn pause(&mut self) {
        match &mut self.finder {
            Finder::Docks(docks) => docks.pause(&mut self.preferences),
            Finder::Jumps(jumps) => jumps.pause(&mut self.preferences),
        }
    }

    /// The oldest wish.
    pub fn take(&mut self) -> Option<Wish> {
        let wish = self.preferences.wishes.pop_front()?;
        self.preferences.waiting.remove(&key(&wish, self.near));
        Some(wish)
    }
}

/// A run by its beginning, and its dock by its number in units of `near`.
fn key(wish: &Wish, near: u64) -> (u64, u64) {
    (wish.at, wish.dock / near)
}

/// Which run prefers which dock.
#[derive(Debug)]
struct Preferences {
    near: u64,
    times: u32,
    most: usize,
    tally: Tally,
    wishes: VecDeque<Wish>,
    waiting: FxHashSet<(u64, u64)>,
}

impl Preferences {
    /// A run was read after the head was at the dock. `granted`: it was served near there.
    fn seen(&mut self, wish: Wish, granted: bool) {
        let key = key(&wish, self.near);
        let is_believed = self.tally.count(key) >= self.times;
        if is_believed && !granted && self.wishes.len() < self.most && self.waiting.insert(key) {
            self.wishes.push_back(wish);
        }
    }
}

#[cfg(test)]
mod tests;
