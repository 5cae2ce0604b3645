//! `ordo completions`: the scripts by which shells ask for completions.

use crate::complete;
use crate::out::{Outcome, Status, print};
use clap_complete::Shell;

/// Prints the completions for a shell
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints them.
pub(crate) fn run(args: &Args) -> Outcome {
    let script = complete::script(args.shell)?;
    print(|out| out.bytes(&script))?;
    Ok(Status::DONE)
}
