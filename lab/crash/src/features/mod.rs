//! Determines which features a scheme has by testing it: questions are checked on the states that power cuts leave of
//! small scripts, and on the maps of a volume from which a file was removed.
//!
//! F1. What a scheme declares is not used, except how it recovers: that cannot be found out otherwise.
//! F2. A feature that is missing has a witness: the id of a state that shows it, which `ordo crash --replay`
//!     reproduces.
//! F3. A feature that no state contradicts is reported with the number of states that agree. That is not a proof.

mod freed;
mod scripts;

pub use freed::{Freed, freed};

use crate::explore::explore_with;
use crate::{Budget, Counters, Error, Memory, Plan, Question, Subject, Violation};

/// Most states of each script that are checked. The power is cut at every moment of it, at least with nothing, all,
/// each write and the newest of them lost; the rest is random.
const STATES: u64 = 200;

/// The answer that the states give to a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The question.
    pub question: Question,
    /// States that were checked.
    pub states: u64,
    /// Those that break the promise.
    pub against: u64,
    /// The first of these.
    pub witness: Option<Violation>,
}

impl Answer {
    /// No state broke the promise, which proves nothing (F3).
    pub fn holds(&self) -> bool {
        self.against == 0
    }
}

/// Checks all questions on a subject, whatever else is asked of it. The answers are in the order of
/// [`Question::ALL`].
///
/// # Errors
/// See [`Error`]: the scheme cannot be made, or a script does not run on it.
pub fn ask_all(subject: &Subject) -> Result<Vec<Answer>, Error> {
    // The verdict on an image depends on how it is recovered and what may be found on it. Only one question differs
    // from the others in that, so all others share one memory.
    let (mut usual, mut as_it_is) = (Memory::default(), Memory::default());
    let mut one = |question| {
        let memory = if question == Question::AsItIs { &mut as_it_is } else { &mut usual };
        ask(subject, question, memory)
    };
    Question::ALL.into_iter().map(&mut one).collect()
}

fn ask(subject: &Subject, question: Question, memory: &mut Memory) -> Result<Answer, Error> {
    let mut answer = Answer { question, states: 0, against: 0, witness: None };
    for script in scripts::of(question) {
        // The feature is missing; the states of the script that showed it are enough to tell how often.
        if answer.witness.is_some() {
            break;
        }
        let name = script.name.clone();
        let subject = Subject { question: Some(question), ..subject.clone() };
        let budget = Budget { states: STATES, recovery_cuts: 0, ..Budget::default() };
        let plan = Plan { budget, ..Plan::of(subject, script) };
        let report = explore_with(&plan, memory, &Counters::default());
        let report = report.map_err(|error| Error::Script(name, error.into()))?;
        answer.states += report.states;
        answer.against += report.violations_total;
        answer.witness = report.violations.into_iter().next();
    }
    Ok(answer)
}

#[cfg(test)]
mod tests;
