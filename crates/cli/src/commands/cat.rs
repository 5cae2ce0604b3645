//! `ordo cat`

use super::versions;
use crate::image::{self, Forensic, Start};
use crate::out::{Out, Outcome, Status};
use crate::place::Inside;
use anyhow::{Context, bail};
use ordo_vfs::FileSystem;
use ordofs::Fs;
use ordofs::path::resolve;
use std::ffi::OsString;
use std::rc::Rc;

/// Bytes of one read.
const PIECE: u32 = 1 << 20;

/// Writes files of an image to standard output
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo cat disk.img:/etc/rc.conf\n  ordo cat disk.img@p2:/var/log/messages | tail")]
pub(crate) struct Args {
    /// IMAGE:/path
    #[arg(value_name = "IMAGE:/PATH", required = true)]
    places: Vec<OsString>,
    /// An older version of the file, by its number in ordo versions
    #[arg(long, value_name = "N")]
    version: Option<u32>,
    #[command(flatten)]
    _forensic: Forensic,
    #[command(flatten)]
    start: Start,
}

/// Streams the files, one after the other.
pub(crate) fn run(args: &Args) -> Outcome {
    let mut out = Out::new();
    for argument in &args.places {
        let place = Inside::parse(argument);
        if let Some(number) = args.version {
            versions::older(&place, args.start, number)?.read(|bytes| out.bytes(bytes))?;
            continue;
        }
        let spec = image::spec(&place.image, args.start)?;
        image::read(&spec, async |fs| stream(fs, &place, &mut out).await)?;
    }
    out.end()?;
    Ok(Status::DONE)
}

/// Writes the contents of a file.
pub(super) async fn stream(fs: &Rc<Fs>, place: &Inside, out: &mut Out) -> anyhow::Result<()> {
    let shown = || place.shown();
    let file = resolve(fs, &place.path, true).await.with_context(shown)?;
    if file.attr().kind != ordo_vfs::Kind::Regular {
        bail!("{}: not a regular file, but a {}", shown(), crate::listing::kind_name(file.attr().kind));
    }
    let mut at = 0;
    loop {
        let pieces = fs.read(file.node(), at, PIECE).await.with_context(shown)?;
        let read: usize = pieces.iter().map(|piece| piece.len()).sum();
        if read == 0 {
            return Ok(());
        }
        for piece in &pieces {
            out.bytes(piece)?;
        }
        at += read as u64;
    }
}
