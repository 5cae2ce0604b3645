//! The command `ordo`: parse, call, print.
//!
//! `args` defines the whole command line and the helpers of mount(8), mkfs(8) and fsck(8), `first` what a newcomer
//! reads of it first; each command has a file in `commands`. What they share:
//!
//! - images: `image` opens volumes, `place` parses `IMAGE:/path`, `expand` its patterns, `copy` copies between any two
//!   file systems, `walk` visits a tree, `names` looks up owners, `acl` access control lists, `archive` reads tar,
//!   `rescue` copies what is left of a damaged volume;
//! - arguments: `mount_options`, `asked` (what mount(8) does not pass on), `layout`, `scheme_set`, `size`, `moment`,
//!   `glob`; `complete` answers shells;
//! - the laboratory: `bench` and `demo` run real work, `made` says how a document was made, `plain` reads compressed
//!   text, `strace` takes what strace wrote for a file trace, `responses` prints response times,
//!   `sweep` divides work among machines and joins the results;
//! - what is printed: `listing`, `out`, `text`, `progress` with `weigh`, which says how much there is to do, and
//!   `messages`, the events of a mounted volume; `interrupt` handles signals.
#![forbid(unsafe_code)]

mod acl;
mod archive;
mod args;
mod asked;
mod attached;
#[cfg(feature = "laboratory")]
mod bench;
mod commands;
mod complete;
mod copy;
#[cfg(feature = "demo")]
mod demo;
#[cfg(all(test, feature = "laboratory", feature = "nfs"))]
mod documented;
mod expand;
mod first;
mod flags;
mod glob;
mod image;
mod interrupt;
#[cfg(feature = "laboratory")]
mod layout;
mod listing;
#[cfg(feature = "laboratory")]
mod made;
mod messages;
mod moment;
mod mount_options;
mod names;
mod out;
mod place;
#[cfg(feature = "laboratory")]
mod plain;
mod progress;
mod remount_options;
mod rescue;
#[cfg(feature = "laboratory")]
mod responses;
#[cfg(feature = "laboratory")]
mod scheme_set;
mod size;
mod stored;
#[cfg(feature = "laboratory")]
mod strace;
#[cfg(feature = "laboratory")]
mod sweep;
mod tentative;
mod text;
mod walk;
mod weigh;

use args::{Cli, Role};
use clap::Parser;
use interrupt::Interrupted;
use out::{ReaderGone, Usage, describe, say, say_json, speak_json};
use std::process::ExitCode;

fn main() -> ExitCode {
    complete::answer();
    let (role, arguments) = Role::of(std::env::args_os().collect());
    let json = arguments.iter().any(|argument| argument == "--json");
    if json {
        speak_json();
    }
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // If the reader of the help is gone, nothing is lost.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { role.usage() } else { 0 });
        }
    };
    let outcome = cli.run();
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
