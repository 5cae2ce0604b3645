//! `ordo sync`

use crate::out::{Outcome, Status};
use std::path::PathBuf;

const HELP: &str = "\
The kernel passes neither sync(1) nor syncfs(2) to the server behind a FUSE mount, so they do nothing here. A program that
cannot call this command does the same with fsync(2) of the mount's root directory.

Examples:
  ordo sync /mnt
  cp -r photos /mnt && ordo sync /mnt && echo the power may go";

/// Makes all that was changed on a mounted volume durable
///
/// Returns when a power cut would lose nothing of it.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// Where it is mounted
    dir: PathBuf,
}

/// Sends the request to the server, and waits for it.
pub(crate) fn run(args: &Args) -> Outcome {
    ordo_fuse::sync(&args.dir)?;
    Ok(Status::DONE)
}
