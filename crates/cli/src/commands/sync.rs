//! `ordo sync`

use crate::out::{Outcome, Status};
use std::path::PathBuf;

const HELP: &str = "\
sync(1) and syncfs(2) do nothing on a FUSE mount: the kernel does not pass them on to the server. A program can call \
fsync(2) on the mount's root directory instead of this command.

Examples:
  ordo sync /mnt
  cp -r photos /mnt && ordo sync /mnt && echo the power may go";

/// Makes all changes to a mounted volume durable
///
/// When it returns, no earlier change can be lost in a power cut.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The directory on which the volume is mounted
    dir: PathBuf,
}

/// Sends the request to the server, and waits for it.
pub(crate) fn run(args: &Args) -> Outcome {
    ordo_fuse::sync(&args.dir)?;
    Ok(Status::DONE)
}
