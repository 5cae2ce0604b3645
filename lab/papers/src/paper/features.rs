//! The features that systems were found to have: yes or no for each, how many states were checked, and a witness for
//! each no.
//!
//! E1. The findings come from states after power cuts (`crash::features`), which the laboratory does not explore
//!     itself: it receives the findings, sets them beside the printed table and judges claims.

use serde::{Deserialize, Serialize};

/// The features of several systems.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Features {
    /// Its title.
    pub title: String,
    /// What must be considered before it is believed.
    pub doubt: String,
    /// The questions, in the order of each system's answers.
    pub asked: Vec<Asked>,
    /// The systems.
    pub systems: Vec<System>,
}

/// A question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Its name.
    pub name: String,
    /// The promise that it checks.
    pub says: String,
}

/// The findings on a system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct System {
    /// The paper's name for it; its scheme's name if no paper names it.
    pub name: String,
    /// Its scheme here, with settings.
    pub scheme: String,
    /// What is needed to use it again after a power cut.
    pub recovery: Recovery,
    /// An answer to each question.
    pub answers: Vec<Answer>,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// No state contradicts it.
    pub yes: bool,
    /// States that were checked; 0 where one run is enough.
    pub states: u64,
    /// States that contradict it.
    pub against: u64,
    /// The id of the first of them, for `ordo crash --replay`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub witness: String,
    /// What is wrong in that state.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub shows: String,
}

/// What is needed to use a volume again after a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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

    /// A short description.
    pub fn says(self) -> &'static str {
        match self {
            Recovery::Nothing => "none",
            Recovery::Replay => "log replay",
            Recovery::Scan => "full scan",
            Recovery::MaybeImpossible => "may fail",
        }
    }
}

impl Features {
    /// The answer of a system to a question; `None` if it was not checked.
    pub(crate) fn answer(&self, system: &str, question: &str) -> Option<&Answer> {
        let at = self.asked.iter().position(|asked| asked.name == question)?;
        self.system(system)?.answers.get(at)
    }

    /// A system by its name.
    pub(crate) fn system(&self, name: &str) -> Option<&System> {
        self.systems.iter().find(|system| system.name == name)
    }
}
