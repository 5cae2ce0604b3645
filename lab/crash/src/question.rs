//! Questions about a scheme, checked instead of what it promises: which features of a file system does it have?
//!
//! Q1. A question is a promise that the scheme need not have made. Whatever it declares, it is checked against this;
//!     the way of recovery stays as it is declared, unless the question is about that.
//! Q2. Only the oracles that the question is about count. Otherwise a scheme that breaks something else would seem to
//!     answer.
//! Q3. One state that breaks the promise is an answer, and it has an id. The absence of one proves nothing: other
//!     states may break it.

use crate::oracle::Oracle;
use ordo_buf::{CrashLeaves, Durable, Promises};

/// A question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Question {
    /// Is a change of names durable when its call returns?
    OnReturn,
    /// Has a call that changes names happened wholly after recovery, or not at all?
    Atomic,
    /// Is a file with a durable name never without one?
    Named,
    /// Are contents on the disk before any pointer to them, so that no file shows the block's former contents?
    DataFirst,
    /// May the volume be written to as the cut left it, before any recovery?
    AsItIs,
    /// Does recovery end without questions, on a volume that works?
    Recovers,
    /// Is what was durable still there, whatever was done since?
    Stays,
}

impl Question {
    /// All of them.
    pub const ALL: [Question; 7] = [
        Question::OnReturn,
        Question::Atomic,
        Question::Named,
        Question::DataFirst,
        Question::AsItIs,
        Question::Recovers,
        Question::Stays,
    ];

    /// Its name in an id.
    pub fn name(self) -> &'static str {
        match self {
            Question::OnReturn => "on-return",
            Question::Atomic => "atomic",
            Question::Named => "named",
            Question::DataFirst => "data-first",
            Question::AsItIs => "as-it-is",
            Question::Recovers => "recovers",
            Question::Stays => "stays",
        }
    }

    /// The question of that name.
    pub fn by_name(name: &str) -> Option<Question> {
        Question::ALL.into_iter().find(|question| question.name() == name)
    }

    /// The promise that is checked, in words.
    pub fn says(self) -> &'static str {
        match self {
            Question::OnReturn => "a change of names is durable when its call returns",
            Question::Atomic => "after recovery a call has happened wholly, or not at all",
            Question::Named => "a file with a durable name is never without one",
            Question::DataFirst => "no file shows what lay in its blocks before its own contents",
            Question::AsItIs => {
                "the volume may be written as the cut left it: at the worst something free is marked used"
            }
            Question::Recovers => "recovery ends without a question, leaves nothing wrong, and the volume works",
            Question::Stays => "names and contents that were durable are there, whatever was done since",
        }
    }

    /// The promises to check instead of `declared`.
    pub(crate) fn promises(self, declared: &Promises) -> Promises {
        // Only the way of recovery is kept; what may be found before it has run does not matter.
        let least = Promises {
            name_added: Durable::AfterSync,
            name_removed: Durable::AfterSync,
            data: Durable::AfterSync,
            attributes: Durable::AfterSync,
            fsync_covers_name: false,
            rename_never_loses: false,
            names_of_a_moment: false,
            durable_stays: false,
            crash_leaves: CrashLeaves::Log,
            no_stale_data: false,
            mount_at_once: declared.mount_at_once,
            rules: Vec::new(),
        };
        match self {
            Question::OnReturn => Promises { name_added: Durable::OnReturn, name_removed: Durable::OnReturn, ..least },
            Question::Atomic => Promises { names_of_a_moment: true, ..least },
            Question::Named => Promises { rename_never_loses: true, ..least },
            // Files that change are checked only with `durable_stays`.
            Question::DataFirst => Promises { no_stale_data: true, durable_stays: true, ..least },
            Question::AsItIs => Promises { crash_leaves: CrashLeaves::Leaks, mount_at_once: true, ..least },
            Question::Recovers => least,
            Question::Stays => Promises { durable_stays: true, ..least },
        }
    }

    /// Whether a breach found by this oracle answers the question.
    pub(crate) fn is_about(self, oracle: Oracle) -> bool {
        match self {
            Question::OnReturn => oracle == Oracle::Durable,
            Question::Atomic => matches!(oracle, Oracle::Durable | Oracle::Order),
            Question::Named => oracle == Oracle::Rename,
            Question::DataFirst => matches!(oracle, Oracle::Contents | Oracle::Foreign),
            Question::AsItIs => oracle == Oracle::Structure,
            Question::Recovers => {
                matches!(oracle, Oracle::Recovers | Oracle::Structure | Oracle::Works | Oracle::Idempotent)
            }
            Question::Stays => matches!(oracle, Oracle::Durable | Oracle::Contents | Oracle::Foreign),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_question_has_a_name_of_its_own_by_which_it_is_found() {
        for question in Question::ALL {
            assert_eq!(Question::by_name(question.name()), Some(question));
        }
        assert_eq!(Question::by_name("nobody"), None);
    }
}
