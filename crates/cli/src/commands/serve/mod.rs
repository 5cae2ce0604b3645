//! `ordo serve`: volumes for other programs and machines, in protocols that these know.

mod ending;
#[cfg(feature = "nfs")]
mod key;
mod mounting;
mod nbd;
#[cfg(feature = "nfs")]
mod nfs;
#[cfg(not(feature = "nfs"))]
mod no_nfs;
mod ready;

use crate::out::Outcome;
#[cfg(not(feature = "nfs"))]
use no_nfs as nfs;

/// Serves a volume, or a file of it, to other programs and machines
///
/// When it serves, it prints one line, "ready" and the address. SIGTERM and SIGINT end it after the requests in
/// progress, with everything durable; a second signal ends it at once.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_subcommand = true,
    after_help = "Examples:\n  ordo serve nbd disk.img\n  ordo serve nbd vol.img:/vm.raw --socket vm.socket\n  ordo serve nfs vol.img"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    protocol: Protocol,
}

#[derive(Debug, clap::Subcommand)]
enum Protocol {
    Nbd(nbd::Args),
    Nfs(nfs::Args),
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    match &args.protocol {
        Protocol::Nbd(args) => nbd::run(args),
        Protocol::Nfs(args) => nfs::run(args),
    }
}
