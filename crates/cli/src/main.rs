//! The command `ordo`: parse, call, print.
//!
//! `args` has the whole command line and knows the helpers of mount(8), mkfs(8) and fsck(8); each command has a file in
//! `commands`. What they share: `image` opens volumes, `place` takes `IMAGE:/path` apart, `copy` copies between any two
//! file systems, `messages` says what happens to a mounted volume, `interrupt` ends work at a signal, `bench` and `demo`
//! run real work, `listing`, `out` and `text` show and print.
#![forbid(unsafe_code)]

mod args;
mod bench;
mod commands;
mod copy;
mod demo;
mod image;
mod interrupt;
mod listing;
mod messages;
mod mount_options;
mod out;
mod place;
mod scheme_set;
mod size;
mod text;

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
            // Help for a reader that is gone is no loss.
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
