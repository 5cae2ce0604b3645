//! The rules of a journal, with the crash that each prevents.

use crate::AllocInit;
use crate::rules::RuleNames;

/// A rule of the journals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Rule {
    /// The transaction is durable before a buf that it changed is written in place (the write-ahead rule). Otherwise
    /// the volume has half of a call, and no log that completes it.
    LogBeforeBuf,
    /// What was freed is reused only after the transaction that freed it is durable. Otherwise another file overwrites
    /// its block, and a crash brings back the old pointer to it.
    LogBeforeReuse,
    /// The log keeps a transaction until all its changes are in place. Otherwise a crash loses calls that were
    /// acknowledged long ago.
    HomeBeforeReclaim,
    /// Contents that have moved are durable before the transaction with the pointer to their new place; with
    /// `data=ordered` all new contents are. Otherwise a file shows what lay there before.
    DataBeforeLog,
    /// With an active journal, what the map says of a transaction is durable before the log drops it. Otherwise a crash
    /// leaves an entry for older bytes, and a read takes the newer ones for rot.
    MapBeforeReclaim,
}

impl Rule {
    /// Its name and what it says, for a journal that is active, or for one that is not; `None` if it is no rule of such
    /// a journal.
    pub(crate) fn text_of(self, active: bool) -> Option<(&'static str, &'static str)> {
        let (name, says) = self.text();
        let says = match self {
            Rule::MapBeforeReclaim => return active.then_some((name, says)),
            // It needs its map to be durable, and no home: a group journal still has the bytes.
            Rule::HomeBeforeReclaim if active => return None,
            _ if !active => says,
            Rule::LogBeforeBuf => "a transaction is durable in a group journal before a buf with it goes home",
            Rule::LogBeforeReuse => "what was freed is free when that is durable in a group journal",
            Rule::HomeBeforeReclaim => says,
            Rule::DataBeforeLog => "contents are durable before a group journal has a pointer to their new place",
        };
        Some((name, says))
    }
}

impl RuleNames for Rule {
    const ALL: &'static [Rule] = &[
        Rule::LogBeforeBuf,
        Rule::LogBeforeReuse,
        Rule::HomeBeforeReclaim,
        Rule::DataBeforeLog,
        Rule::MapBeforeReclaim,
    ];

    fn number(self) -> u32 {
        self as u32
    }

    fn text(self) -> (&'static str, &'static str) {
        match self {
            Rule::LogBeforeBuf => {
                ("log-before-buf", "a transaction is durable in the log before a buf with it goes home")
            }
            Rule::LogBeforeReuse => ("log-before-reuse", "what was freed is free when that is durable in the log"),
            Rule::HomeBeforeReclaim => {
                ("home-before-reclaim", "the log keeps a transaction until all that it changed is at home")
            }
            Rule::MapBeforeReclaim => {
                ("map-before-reclaim", "the map of copies is durable before the log drops what it describes")
            }
            Rule::DataBeforeLog => ("data-before-log", "contents are durable before a pointer to their new place is"),
        }
    }

    fn holds_with(self, _: AllocInit) -> bool {
        true
    }
}
