//! `ordo clean`

use crate::image::{ImageArg, Opened};
use crate::listing::json_text;
use crate::out::{Outcome, Status, print, usage};
use anyhow::Context;
use ordofs::lfs::{Coalesced, Counters, Policy};
use ordofs::rt::Rt;
use ordofs::{ImageSpec, LfsState, MountOptions, Mounted, OpenError};
use serde::Serialize;

/// Cleans a log-structured volume: copies what is alive out of its segments as long as that makes segments usable
///
/// A mounted volume is cleaned by its mount, in the background. This is for a volume that is not. With --coalesce,
/// files whose blocks are far apart are written again first, each in one piece.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo clean disk.img\n  ordo clean --json disk.img@s1\n  \
    ordo clean --coalesce --cleaner greedy disk.img")]
pub(crate) struct Args {
    #[command(flatten)]
    image: ImageArg,
    /// Which segments are cleaned first, as mount -o cleaner= has it: greedy or cost-benefit
    #[arg(long, value_name = "HOW", default_value = "cost-benefit", value_parser = how)]
    cleaner: Policy,
    /// Write files whose blocks are far apart again
    #[arg(long)]
    coalesce: bool,
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
    /// Files that were written again, with --coalesce, and their bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    files_rewritten: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_rewritten: Option<u64>,
    segments_cleaned: u64,
    segments_read: u64,
    segments_written: u64,
    /// Bytes written and bytes read by the cleaner, over bytes of new data; `None` before there is any.
    write_cost: Option<f64>,
}

/// Cleans it.
pub(crate) fn run(args: &Args) -> Outcome {
    let spec = args.image.spec()?;
    let rt = Rt::real_time();
    let options = MountOptions { cleaner: Some(args.cleaner), ..MountOptions::default() };
    let opened = Opened::to_change_with(&rt, &spec, options).map_err(|error| match no_log(&error) {
        true => not_a_log(&spec),
        false => error,
    })?;
    let cleaned = match opened.mounted.lfs() {
        None => Err(not_a_log(&spec)),
        Some(before) => {
            let work = rt.block_on(work(&opened.mounted, args.coalesce));
            work.with_context(|| spec.to_string()).map(|coalesced| (before, coalesced))
        }
    };
    let after = opened.mounted.lfs();
    let (before, coalesced) = opened.close(cleaned)?;
    show(args, spec.to_string(), before, after.unwrap_or(before), coalesced)
}

fn how(name: &str) -> Result<Policy, String> {
    Policy::by_name(name).ok_or_else(|| "must be greedy or cost-benefit".to_owned())
}

fn no_log(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| matches!(cause.downcast_ref(), Some(OpenError::NoCleaner)))
}

fn not_a_log(spec: &ImageSpec) -> anyhow::Error {
    usage(format!("{spec}: is UFS; only a log-structured volume (LFS) has segments to clean"))
}

async fn work(mounted: &Mounted, coalesce: bool) -> ordofs::vfs::Result<Option<Coalesced>> {
    let coalesced = if coalesce { Some(mounted.coalesce().await?) } else { None };
    mounted.clean().await.map(|()| coalesced)
}

fn show(args: &Args, image: String, before: LfsState, after: LfsState, coalesced: Option<Coalesced>) -> Outcome {
    let Counters { segments_cleaned, segments_read, segments_written, write_cost, .. } = after.counters;
    let cleaned = Cleaned {
        image: json_text(image.as_bytes()).0,
        segments: after.geometry.nseg,
        clean_segments_before: before.clean_segments,
        clean_segments: after.clean_segments,
        files_rewritten: coalesced.map(|done| done.rewritten),
        bytes_rewritten: coalesced.map(|done| done.bytes),
        segments_cleaned,
        segments_read,
        segments_written,
        write_cost,
    };
    print(|out| match args.json {
        true => out.json(&cleaned),
        false => {
            if let Some(done) = coalesced {
                out.line(format!("{} of {} files were far apart and written again", done.rewritten, done.files))?;
            }
            out.line(format!(
                "{} of {} segments are clean; before {}",
                cleaned.clean_segments, cleaned.segments, cleaned.clean_segments_before
            ))
        }
    })?;
    Ok(Status::DONE)
}
