//! The laboratory's command, `ordo-lab`: what `ordo bench`, `ordo crash` and their like run. Whatever is no command of
//! its own it does as `ordo` does: it is the same code.
//!
//! `args` defines the command line; each command has a file in `commands`. What they share: `bench` runs real work,
//! `tour` is a part of `ordo demo`, `made` says how a document was made, `plain` reads compressed text, `strace` takes
//! what strace wrote for a file trace, `responses` prints response times, `layout` and `scheme_set` read options,
//! `sweep` divides work among machines and joins the results. Images, options and output are those of `ordo`.
#![forbid(unsafe_code)]

mod args;
mod bench;
mod commands;
mod layout;
mod made;
mod plain;
mod responses;
mod scheme_set;
mod strace;
mod sweep;
#[cfg(test)]
mod tests;
mod tour;

use ordo_cli::{image, interrupt, listing, mount_options, out, size, text};
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let own = arguments.get(1).is_some_and(|word| word == "man" || word == "tour");
    if !own && !ordo_cli::lab::is_asked(&arguments) {
        return ordo_cli::main();
    }
    ordo_cli::complete::answer(|| ordo_cli::complete::with_words(args::command(), args::words));
    ordo_cli::run_lab(arguments, args::Cli::parsed, args::Cli::run)
}
