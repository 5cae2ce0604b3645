//! What was found of the features of systems: yes or no for each, how many states were asked, and a witness of each no.
//!
//! E1. What is here was found by looking at states after power cuts (`crash::features`), which is no business of the
//!     laboratory: it is handed what was found, sets it beside the print and judges claims.

use serde::{Deserialize, Serialize};

/// The features of several systems.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Features {
    /// What it shows.
    pub title: String,
    /// What must be known before it is believed.
    pub doubt: String,
    /// What was asked, in the order of each system's answers.
    pub asked: Vec<Asked>,
    /// The systems.
    pub systems: Vec<System>,
}

/// A question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Its name.
    pub name: String,
    /// The promise that it asks for.
    pub says: String,
}

/// What was found of a system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct System {
    /// As the paper calls it; its scheme's name where no paper does.
    pub name: String,
    /// Its scheme here, and what is set.
    pub scheme: String,
    /// What it takes to use it again after a power cut.
    pub recovery: Recovery,
    /// An answer to each question.
    pub answers: Vec<Answer>,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// No state said otherwise.
    pub yes: bool,
    /// States that were asked; 0 where one run is enough.
    pub states: u64,
    /// States that said no.
    pub against: u64,
    /// The first of them: what `ordo crash --replay` takes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub witness: String,
    /// What is to be seen there.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub shows: String,
}

/// What it takes to use a volume again after a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// Nothing: it may be written as it is.
    Nothing,
    /// The replay of a log.
    Replay,
    /// A scan of the whole volume, which mends all.
    Scan,
    /// A scan, and that need not be enough.
    MaybeImpossible,
}

impl Recovery {
    /// From what was found: may the volume be written as it is; does recovery always succeed; and is that recovery the
    /// scheme's own mount, or a scan.
    pub fn of(as_it_is: bool, recovers: bool, by_mount: bool) -> Recovery {
        match (as_it_is, recovers, by_mount) {
            (_, false, _) => Recovery::MaybeImpossible,
            (true, true, _) => Recovery::Nothing,
            (false, true, true) => Recovery::Replay,
            (false, true, false) => Recovery::Scan,
        }
    }

    /// In a word or two.
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
    /// The answer of a system to a question; `None` if it was not asked.
    pub(crate) fn answer(&self, system: &str, question: &str) -> Option<&Answer> {
        let at = self.asked.iter().position(|asked| asked.name == question)?;
        self.system(system)?.answers.get(at)
    }

    /// A system by its name.
    pub(crate) fn system(&self, name: &str) -> Option<&System> {
        self.systems.iter().find(|system| system.name == name)
    }
}
