//! `ordo completions`: completion scripts for shells, generated from the definition of the command line.

use crate::args::command;
use crate::out::{Outcome, Status, print};
use clap_complete::{Shell, generate};

/// Prints the completions for a shell
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints them.
pub(crate) fn run(args: &Args) -> Outcome {
    let mut script = Vec::new();
    generate(args.shell, &mut command(), "ordo", &mut script);
    print(|out| out.bytes(&script))?;
    Ok(Status::DONE)
}
