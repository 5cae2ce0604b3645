//! `ordo-lab man`: the manual pages of the laboratory's commands, in the manner of `ordo man`.

use crate::out::{Outcome, Status};
use anyhow::Context;
use std::path::PathBuf;

/// Writes the manual pages, one for each command and each command of a command
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory to write to
    dir: PathBuf,
}

/// Writes `ordo-COMMAND.8` of each command of the definition, and so on down.
pub(crate) fn run(args: &Args, of: &clap::Command) -> Outcome {
    std::fs::create_dir_all(&args.dir).with_context(|| args.dir.display().to_string())?;
    ordo_cli::pages(&args.dir, of)?;
    Ok(Status::DONE)
}
