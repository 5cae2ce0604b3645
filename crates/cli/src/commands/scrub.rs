//! `ordo scrub`

use crate::image::{self, ImageArg};
use crate::listing::json_text;
use crate::out::{Outcome, Status, print};
use ordofs::Scrubbed;
use ordofs::disk::FileOptions;
use ordofs::rt::Rt;
use serde::Serialize;

/// Reads all that an active journal knows, verifies it, and heals what is wrong from its copies
///
/// The volume must be clean and not mounted. Of what is on the volume, the map of an active journal (ordo tune -o
/// active=on) knows the checksum of each fragment that a transaction has written. Exit code 4 if a fragment has no good
/// copy.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo scrub disk.img\n  ordo scrub --json disk.img@s1a")]
pub(crate) struct Args {
    #[command(flatten)]
    image: ImageArg,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

/// What was found.
#[derive(Debug, Serialize)]
struct Found {
    image: String,
    /// Fragments whose checksum is known.
    fragments: u64,
    /// Of these, healed at home.
    healed: u64,
    /// Copies that were wrong, and count no more.
    bad_copies: u64,
    /// Fragments without a good copy.
    rotten: u64,
}

/// Scrubs it.
pub(crate) fn run(args: &Args) -> Outcome {
    let (spec, rt) = (args.image.spec()?, Rt::real_time());
    let located = ordofs::locate(&rt, &spec, FileOptions::default());
    let scrubbed = located.and_then(|located| ordofs::scrub(&rt, &located));
    let Scrubbed { blocks, healed, bad_copies, rotten } =
        scrubbed.map_err(|error| image::open_error(&spec.path, error))?;
    let image = json_text(spec.to_string().as_bytes()).0;
    print(|out| match args.json {
        true => out.json(&Found { image, fragments: blocks, healed, bad_copies, rotten }),
        false => out.line(format!(
            "{image}: {blocks} fragments read, {healed} healed, {bad_copies} bad copies dropped, {rotten} rotten"
        )),
    })?;
    Ok(if rotten > 0 { Status(4) } else { Status::DONE })
}
