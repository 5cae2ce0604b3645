//! The command `ordo`: parse, call, print. A library too, so that the laboratory's `ordo-lab` opens images, reads
//! options and speaks as `ordo` does.
//!
//! `args` defines the whole command line and the helpers of mount(8), mkfs(8) and fsck(8), `first` what a newcomer
//! reads of it first; each command has a file in `commands`. What they share:
//!
//! - images: `image` opens volumes, `place` parses `IMAGE:/path`, `expand` its patterns, `copy` copies between any two
//!   file systems, `walk` visits a tree, `names` looks up owners, `acl` access control lists, `archive` reads tar,
//!   `rescue` copies what is left of a damaged volume;
//! - arguments: `mount_options`, `asked` (what mount(8) does not pass on), `layout`, `scheme_set`, `size`, `moment`,
//!   `glob`; `complete` answers shells;
//! - the laboratory: `lab` runs its commands, which are another program's;
//! - what is printed: `listing`, `out`, `text`, `progress` with `weigh`, which says how much there is to do, and
//!   `messages`, the events of a mounted volume; `interrupt` handles signals;
//! - `fuzzed` has the doors of `fuzz/`, a workspace of its own.
#![forbid(unsafe_code)]

mod acl;
mod archive;
mod args;
mod asked;
mod attached;
mod commands;
pub mod complete;
mod copy;
mod demo;
mod expand;
mod first;
mod flags;
pub mod fresh;
#[doc(hidden)]
pub mod fuzzed;
mod glob;
pub mod image;
pub mod interrupt;
pub mod lab;
pub mod listing;
mod messages;
mod moment;
pub mod mount_options;
mod names;
pub mod out;
mod place;
pub mod progress;
mod remount_options;
mod rescue;
pub mod size;
mod stored;
mod tentative;
pub mod text;
mod walk;
mod weigh;

pub use commands::info::SegmentMap;
pub use commands::man::pages;

use args::{Cli, Role};
use interrupt::Interrupted;
use out::{Outcome, ReaderGone, Usage, describe, say, say_json, speak_json};
use std::ffi::OsString;
use std::process::ExitCode;

/// Whether `ordo` reads these arguments, which begin with its name.
///
/// # Errors
/// What is wrong in them.
pub fn parses(arguments: Vec<OsString>) -> Result<(), clap::Error> {
    Cli::parsed(Role::of(arguments).1).map(drop)
}

/// What `ordo` does: with the arguments of this process, to its exit status.
pub fn main() -> ExitCode {
    // The role first: `fsck.ordo bench` checks an image of this name.
    let (role, arguments) = Role::of(std::env::args_os().collect());
    if role == Role::Ordo && lab::is_asked(&arguments) {
        return run(role, arguments, Ok, |arguments| Err(lab::run(arguments)));
    }
    complete::answer(|| complete::with_words(lab::beside(args::command()), |_, _, _| None));
    run(role, arguments, Cli::parsed, Cli::run)
}

/// Parses and runs a command of the laboratory, as [`main`] does those of `ordo`.
pub fn run_lab<P>(
    arguments: Vec<OsString>,
    parse: impl FnOnce(Vec<OsString>) -> Result<P, clap::Error>,
    work: impl FnOnce(&P) -> Outcome,
) -> ExitCode {
    run(Role::Ordo, arguments, parse, work)
}

fn run<P>(
    role: Role,
    arguments: Vec<OsString>,
    parse: impl FnOnce(Vec<OsString>) -> Result<P, clap::Error>,
    work: impl FnOnce(&P) -> Outcome,
) -> ExitCode {
    let json = arguments.iter().any(|argument| argument == "--json");
    if json {
        speak_json();
    }
    let parsed = match parse(arguments) {
        Ok(parsed) => parsed,
        Err(error) => {
            // If the reader of the help is gone, nothing is lost.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { role.usage() } else { 0 });
        }
    };
    let outcome = work(&parsed);
    progress::end();
    ExitCode::from(match outcome {
        Ok(status) => status.0,
        Err(error) if error.is::<ReaderGone>() => 0,
        Err(error) => {
            if json {
                say_json(&describe(&error))
            } else {
                say(&describe(&error))
            }
            if let Some(interrupted) = error.downcast_ref::<Interrupted>() {
                interrupted.end_by_signal();
            }
            if error.is::<Usage>() { role.usage() } else { role.error() }
        }
    })
}
