//! `ordo clean`

use crate::image::{ImageArg, Opened};
use crate::listing::json_text;
use crate::out::{Outcome, Status, print, usage};
use anyhow::Context;
use ordo_lab::cleaning_of;
use ordo_workload::Cleaning;
use ordofs::LogState;
use ordofs::rt::Rt;
use serde::Serialize;

/// Cleans a log-structured volume: copies what is alive out of its segments as long as that makes segments usable
///
/// A mounted volume is cleaned by its mount, in the background. This is for a volume that is not.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo clean disk.img\n  ordo clean --json disk.img@s1")]
pub(crate) struct Args {
    #[command(flatten)]
    image: ImageArg,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

/// What cleaning has done.
#[derive(Debug, Serialize)]
struct Cleaned {
    image: String,
    segments: u32,
    clean_segments_before: u32,
    clean_segments: u32,
    #[serde(flatten)]
    cleaning: Cleaning,
}

/// Cleans it.
pub(crate) fn run(args: &Args) -> Outcome {
    let spec = args.image.spec()?;
    let rt = Rt::real_time();
    let opened = Opened::to_change(&rt, &spec)?;
    let cleaned = match opened.mounted.log() {
        None => Err(usage(format!("{spec}: is UFS; only a log-structured volume (LFS) has segments to clean"))),
        Some(before) => rt.block_on(opened.mounted.clean()).with_context(|| spec.to_string()).map(|()| before),
    };
    let after = opened.mounted.log();
    let before = opened.close(cleaned)?;
    show(args, spec.to_string(), before, after.unwrap_or(before))
}

fn show(args: &Args, image: String, before: LogState, after: LogState) -> Outcome {
    let cleaned = Cleaned {
        image: json_text(image.as_bytes()).0,
        segments: after.geometry.nseg,
        clean_segments_before: before.clean_segments,
        clean_segments: after.clean_segments,
        cleaning: cleaning_of(&after),
    };
    print(|out| match args.json {
        true => out.json(&cleaned),
        false => out.line(format!(
            "{} of {} segments are clean; before {}",
            cleaned.clean_segments, cleaned.segments, cleaned.clean_segments_before
        )),
    })?;
    Ok(Status::DONE)
}
