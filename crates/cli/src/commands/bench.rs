//! `ordo bench`
use crate::out::{Outcome, Status};
/// x
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:")]
pub(crate) struct Args { #[arg(long)] scheme: Option<String>, #[arg(long)] workload: Option<String> }
pub(crate) fn run(_: &Args) -> Outcome { Ok(Status::DONE) }
