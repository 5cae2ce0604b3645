//! The command `ordo`: parse, call, print.
//!
//! `args` defines the whole command line and the helpers of mount(8), mkfs(8) and fsck(8); each command has a file in
//! `commands`. Shared code: `image` opens volumes, `place` parses `IMAGE:/path`, `copy` copies between any two file
//! systems, `walk` visits a tree of an image, `names` looks up its owners, `moment` parses times and `glob` patterns, which
//! `expand` compares with the names of an image, `progress` says how far a copy is, `acl` access control lists,
//! `layout` and `scheme_set` parse what several commands take, `plain` reads compressed text, `archive` tar, `strace` takes what
//! strace wrote for a file trace, `messages` reports events of a mounted volume, `complete` answers shells, `interrupt`
//! handles signals, `bench` and `demo` run real work, `rescue` copies what is left of a damaged volume, `listing`,
//! `out` and `text` format and print.
#![forbid(unsafe_code)]

mod acl;
mod archive;
mod args;
#[cfg(feature = "laboratory")]
mod bench;
mod commands;
mod complete;
mod copy;
#[cfg(feature = "demo")]
mod demo;
mod expand;
mod glob;
mod image;
mod interrupt;
#[cfg(feature = "laboratory")]
mod layout;
mod listing;
mod messages;
mod moment;
mod mount_options;
mod names;
mod out;
mod place;
#[cfg(feature = "laboratory")]
mod plain;
mod progress;
mod rescue;
#[cfg(feature = "laboratory")]
mod responses;
#[cfg(feature = "laboratory")]
mod scheme_set;
mod size;
#[cfg(feature = "laboratory")]
mod strace;
mod text;
mod walk;

use args::{Cli, Role};
use clap::Parser;
use interrupt::Interrupted;
use out::{ReaderGone, Usage, describe, say, say_json};
use std::process::ExitCode;

fn main() -> ExitCode {
    complete::answer();
    let (role, arguments) = Role::of(std::env::args_os().collect());
    let json = arguments.iter().any(|argument| argument == "--json");
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
