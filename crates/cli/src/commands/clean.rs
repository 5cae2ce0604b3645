//! `ordo clean`

use crate::image::{self, Start};
use crate::out::{Outcome, Status, usage};
use anyhow::Context;
use ordo_vfs::FileSystem;
use ordofs::Fs;
use std::path::PathBuf;

/// Cleans a log-structured volume: copies what is alive out of its segments as long as that makes segments usable
///
/// A mounted volume is cleaned by its mount, in the background. This is for a volume that is not.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo clean disk.img")]
pub(crate) struct Args {
    /// The volume
    image: PathBuf,
    #[command(flatten)]
    start: Start,
}

/// Cleans it.
pub(crate) fn run(args: &Args) -> Outcome {
    let spec = image::spec(&args.image, args.start)?;
    image::change(&spec, async |fs| {
        let Fs::Lfs(log) = &**fs else { return Err(usage("only a log-structured volume has segments to clean")) };
        let shown = || args.image.display().to_string();
        log.layout().clean().await.with_context(shown)?;
        log.syncfs().await.with_context(shown)?;
        Ok(Status::DONE)
    })
}
