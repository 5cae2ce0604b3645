//! `ordo schemes`

use crate::out::{Outcome, Status, print};
use crate::text;
use serde::Serialize;

/// Lists the schemes, which keep metadata consistent across crashes
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo schemes\n  ordo schemes --json\n  ordo mount -o scheme=sync disk.img /mnt")]
pub(crate) struct Args {
    /// One JSON list
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Scheme {
    name: &'static str,
    about: &'static str,
    default: bool,
}

const LOG: &str = "the order of a log-structured volume (ordo mkfs --type lfs), which takes no other";

fn schemes() -> Vec<Scheme> {
    let known = ordofs::schemes::ALL.iter();
    let default = |name| name == ordofs::DEFAULT_SCHEME;
    let known = known.map(|known| Scheme { name: known.name, about: known.about, default: default(known.name) });
    known.chain([Scheme { name: ordofs::LFS_SCHEME, about: LOG, default: false }]).collect()
}

/// A line for each.
pub(crate) fn rows() -> String {
    let about = |scheme: &Scheme| match scheme.default {
        true => format!("{} (the default)", scheme.about),
        false => scheme.about.to_owned(),
    };
    let rows: Vec<_> = schemes().iter().map(|scheme| vec![scheme.name.to_owned(), about(scheme)]).collect();
    text::table(2, &rows)
}

/// Lists them.
pub(crate) fn run(args: &Args) -> Outcome {
    print(|out| match args.json {
        true => out.json(&schemes()),
        false => out.bytes(rows().as_bytes()),
    })?;
    Ok(Status::DONE)
}
