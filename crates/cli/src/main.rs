//! The command `ordo`: parse, call, print.
//!
//! `args` defines the whole command line and the helpers of mount(8), mkfs(8) and fsck(8); each command has a file in
//! `commands`. Shared code: `image` opens volumes, `place` parses `IMAGE:/path`, `copy` copies between any two file
//! systems, `walk` visits a tree of an image, `names` looks up its owners, `moment` parses times and `glob` patterns,
//! `layout` and `scheme_set` parse what several commands take, `plain` reads compressed text, `strace` takes what
//! strace wrote for a file trace, `made` says how a document was made, `messages` reports events of a mounted volume,
//! `interrupt` handles signals, `bench` and `demo` run real work, `rescue` copies what is left of a damaged volume,
//! `listing`, `out` and `text` format and print.
#![forbid(unsafe_code)]

mod args;
#[cfg(feature = "laboratory")]
mod bench;
mod commands;
mod copy;
#[cfg(feature = "laboratory")]
mod demo;
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
use out::{ReaderGone, Usage, describe, say};
use std::process::ExitCode;

fn main() -> ExitCode {
    let (role, arguments) = Role::of(std::env::args_os().collect());
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // If the reader of the help is gone, nothing is lost.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { role.usage() } else { 0 });
        }
    };
    ExitCode::from(match cli.run() {
        Ok(status) => status.0,
        Err(error) if error.is::<ReaderGone>() => 0,
        Err(error) => {
            say(&describe(&error));
            if let Some(interrupted) = error.downcast_ref::<Interrupted>() {
                interrupted.end_by_signal();
            }
            if error.is::<Usage>() { role.usage() } else { role.error() }
        }
    })
}
