//! Durable temporal locality: which blocks are read when the head was just somewhere else, again and again.
//!
//! After "Not Just a Log", the section on learning. A *dock* is where the head was. Blocks that are often read after
//! the same dock, and lie far from it, prefer a replica there. Two rules find them ([`Rule`]): the paper's, `docks`,
//! and one of ours, `jumps`. Addresses are of homes, in any unit (blocks in the simulator, bytes in the engine), so
//! that a replica that is read does not change what is learned of its block.
//!
//! L1. A preference is believed when it was seen several times ([`Terms::times`]). After one time, programs that read
//!     at the same time teach each other's places.
//! L2. What is remembered is bounded. A pair of a dock and a block that was not seen for [`Terms::pairs`] others is
//!     counted anew; wishes behind the first [`Terms::wishes`] are dropped, and come again with the next read.
#![forbid(unsafe_code)]

mod docks;
mod jumps;
mod preferences;
mod run;
mod tally;
mod terms;

use docks::Docks;
use jumps::Jumps;
use preferences::Preferences;
pub use run::{Read, Wish};
use std::time::Duration;
pub use terms::{Learns, Rule, Terms};

/// What was learned so far.
#[derive(Debug)]
pub struct Learning {
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
        let preferences = Preferences::new(&terms);
        Learning { window: terms.window, finder, last: None, preferences }
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
        self.preferences.take()
    }
}

#[cfg(test)]
mod tests;
