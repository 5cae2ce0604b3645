//! `--replay`: makes one state again.

use super::{show, status, told};
use crate::out::{Outcome, print};
use ::crash::{Id, Violation};
use serde::Serialize;

#[derive(Serialize)]
struct Replayed<'a> {
    id: &'a str,
    violations: Vec<Violation>,
}

/// Says what is wrong with the state of this id, if anything is.
pub(super) fn run(id: &str, json: bool) -> Outcome {
    let parsed: Id = id.parse().map_err(told)?;
    let violations: Vec<Violation> = parsed.replay().map_err(told)?.into_iter().collect();
    let count = violations.len() as u64;
    print(|out| match &violations[..] {
        _ if json => out.json(&Replayed { id, violations: violations.clone() }),
        [] => out.line("This state keeps every promise."),
        [violation, ..] => show::violation(out, violation),
    })?;
    Ok(status(count))
}
