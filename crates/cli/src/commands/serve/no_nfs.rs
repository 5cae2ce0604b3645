//! `ordo serve nfs` of a program that was built without the feature `nfs`.

use crate::out::Outcome;
use std::ffi::OsString;

/// Serves a volume to NFS clients (left out of this build)
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Not looked at
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    rest: Vec<OsString>,
}

/// Says what is missing.
pub(crate) fn run(_: &Args) -> Outcome {
    Err(anyhow::anyhow!("this ordo was built without its NFS server; build it with the feature nfs"))
}
