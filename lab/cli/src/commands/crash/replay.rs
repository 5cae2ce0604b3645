//! `--replay`: reproduces one state.

use super::args::{explorer_error, status};
use super::show;
use crate::out::{Outcome, print};
use ordo_crash::{Id, Violation, faults, replay};
use serde::Serialize;

#[derive(Serialize)]
struct Replayed<'a> {
    id: &'a str,
    violations: Vec<Violation>,
}

/// Prints what is wrong with the state of this id, if anything.
pub(super) fn run(id: &str, json: bool) -> Outcome {
    if id.starts_with("fault:") {
        return fault(id, json);
    }
    let parsed: Id = id.parse().map_err(explorer_error)?;
    let violations: Vec<Violation> = replay(&parsed).map_err(explorer_error)?.into_iter().collect();
    let count = violations.len() as u64;
    print(|out| match &violations[..] {
        _ if json => out.json(&Replayed { id, violations: violations.clone() }),
        [] => out.line("This state keeps every promise."),
        [violation, ..] => show::violation(out, violation),
    })?;
    Ok(status(count))
}

#[derive(Serialize)]
struct Fault<'a> {
    id: &'a str,
    class: faults::Class,
    what: Option<String>,
}

/// The same for a run with a fault.
fn fault(id: &str, json: bool) -> Outcome {
    let (class, what) = faults::replay(id).map_err(explorer_error)?;
    let lie = u64::from(class == faults::Class::Lie);
    let fault = Fault { id, class, what };
    print(|out| match &fault.what {
        _ if json => out.json(&fault),
        Some(what) => out.line(format!("{}: {what}", fault.class)),
        None => out.line(fault.class.to_string()),
    })?;
    Ok(status(lie))
}
