//! The features that systems were found to have: yes or no for each, how many states were checked, and a witness for
//! each no.
//!
//! E1. The findings come from states after power cuts (`crash::features`), which the laboratory does not explore
//!     itself: it receives the findings, sets them beside the printed table and judges claims.

pub use ordo_report::results::{Answer, Asked, Features, System};

/// What is needed to use a volume again after a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// Nothing: it may be written to as it is.
    Nothing,
    /// The replay of a log.
    Replay,
    /// A scan of the whole volume, which repairs everything.
    Scan,
    /// A scan, which may not be enough.
    MaybeImpossible,
}

impl Recovery {
    /// From the findings: may the volume be written to as it is; does recovery always succeed; and is recovery the
    /// scheme's own mount, or a scan.
    pub fn of(as_it_is: bool, recovers: bool, by_mount: bool) -> Recovery {
        match (as_it_is, recovers, by_mount) {
            (_, false, _) => Recovery::MaybeImpossible,
            (true, true, _) => Recovery::Nothing,
            (false, true, true) => Recovery::Replay,
            (false, true, false) => Recovery::Scan,
        }
    }

    /// As a document has it.
    pub fn name(self) -> &'static str {
        match self {
            Recovery::Nothing => "nothing",
            Recovery::Replay => "replay",
            Recovery::Scan => "scan",
            Recovery::MaybeImpossible => "maybe-impossible",
        }
    }
}

/// A way to recover, as a document has it, in a table's words.
pub fn in_words(recovery: &str) -> &str {
    match recovery {
        "nothing" => "none",
        "replay" => "log replay",
        "scan" => "full scan",
        "maybe-impossible" => "may fail",
        other => other,
    }
}
