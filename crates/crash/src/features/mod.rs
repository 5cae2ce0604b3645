//! Which features a scheme has, found by looking: questions put to the states that power cuts leave of small scripts, and
//! the maps of a volume on which a file was removed.
//!
//! F1. What a scheme says of itself is not asked, but for how it recovers: there is no other way to find out how to.
//! F2. A feature that it has not has a witness: the id of a state that shows so, and `ordo crash --replay` makes it again.
//! F3. A feature that no state contradicts is shown with how many states did not. That is no proof.

mod freed;
mod scripts;

pub use freed::{Freed, freed};

use crate::explore::explore_with;
use crate::{Counters, Error, Memory, Plan, Question, Violation};

/// States of each script that are asked at most. Every moment of it is cut, at least with nothing, all, each write and the
/// newest of them lost; the rest is luck.
const STATES: u64 = 200;

/// What the states said to a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The question.
    pub question: Question,
    /// States that were asked.
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

/// Asks all questions of the scheme of a plan, with its device and volume; the plan's script is not used. The answers are in
/// the order of [`Question::ALL`].
///
/// # Errors
/// See [`Error`]: the scheme cannot be made, or a script does not run on it.
pub fn ask_all(plan: &Plan) -> Result<Vec<Answer>, Error> {
    // What comes of an image depends on how it is recovered and what may be found on it. In that only one question is not
    // like the others, so that these need not look at an image twice.
    let (mut usual, mut as_it_is) = (Memory::default(), Memory::default());
    let mut one = |question| {
        let memory = if question == Question::AsItIs { &mut as_it_is } else { &mut usual };
        ask(plan, question, memory)
    };
    Question::ALL.into_iter().map(&mut one).collect()
}

fn ask(plan: &Plan, question: Question, memory: &mut Memory) -> Result<Answer, Error> {
    let mut answer = Answer { question, states: 0, against: 0, witness: None };
    for script in scripts::of(question) {
        // A no is a no; the states of the script that showed it are enough to tell how often.
        if answer.witness.is_some() {
            break;
        }
        let name = script.name.clone();
        let plan = Plan { script, question: Some(question), states: STATES, recovery_cuts: 0, ..plan.clone() };
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
