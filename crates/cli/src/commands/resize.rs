//! `ordo resize`

use crate::image::{self, ImageArg};
use crate::out::{Outcome, Status, print, usage};
use crate::size;
use ordofs::ResizeError;
use serde::Serialize;

/// Gives a volume another size, in its place
///
/// The volume must be clean and not mounted. A UFS volume grows as by FreeBSD's growfs: its last cylinder group is
/// completed, and new ones are made behind it. The file of an image becomes longer; a partition or a device must be
/// large enough already.
///
/// It becomes smaller only if the part that is cut off holds nothing: no file is moved. Otherwise nothing is changed,
/// and a line says how much lies there. An active journal (ordo tune -o active=on) must be taken away first.
///
/// After a crash or a kill while it is resized the volume is marked as one to check: ordo fsck -y.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo resize --size 2G disk.img\n  ordo resize --size 40G --json /dev/sdb2")]
pub(crate) struct Args {
    #[command(flatten)]
    image: ImageArg,
    /// Bytes that the volume will have
    #[arg(long, short, value_parser = size::parse)]
    size: u64,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct ResizedJson {
    image: String,
    was: u64,
    is: u64,
    groups_were: u32,
    groups_are: u32,
}

/// Resizes it, and prints the old and the new size.
pub(crate) fn run(args: &Args) -> Outcome {
    let spec = args.image.spec()?;
    let resized = ordofs::resize(&spec, args.size).map_err(|error| match error {
        ResizeError::Open(error) => image::open_error(&spec.path, error),
        wrong @ (ResizeError::TooSmall { .. } | ResizeError::Impossible(_)) => usage(format!("{spec}: {wrong}")),
        error => anyhow::Error::new(error).context(spec.to_string()),
    })?;
    print(|out| {
        let ordofs::Resized { was, is, groups_were, groups_are } = resized;
        match args.json {
            true => out.json(&ResizedJson { image: spec.to_string(), was, is, groups_were, groups_are }),
            false => {
                out.line(format!("size: {is} bytes in {groups_are} groups (was: {was} bytes in {groups_were} groups)"))
            }
        }
    })?;
    Ok(Status::DONE)
}
