//! `ordo truncate`

use super::touch;
use crate::image::{self, Start};
use crate::out::{Outcome, Status};
use crate::place::Inside;
use crate::size;
use anyhow::{Context, bail};
use ordo_vfs::{FileSystem, Kind, SetAttr};
use ordofs::Fs;
use std::ffi::OsString;
use std::rc::Rc;

/// Cuts or lengthens files of an image
///
/// What is added is a hole, which reads as zeroes. A file that does not exist is made.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo truncate -s 0 disk.img:/var/log/messages\n  \
    ordo truncate -s 10G disk.img:/swap\n  ordo truncate -s +1M disk.img:/a disk.img:/b")]
pub(crate) struct Args {
    /// The new size, or with + or - in front how much longer or shorter
    #[arg(short, long, value_name = "[+-]SIZE", value_parser = Change::parse, allow_hyphen_values = true)]
    size: Change,
    /// Make no file
    #[arg(short = 'c', long)]
    no_create: bool,
    /// IMAGE:/path
    #[arg(value_name = "IMAGE:/PATH", required = true)]
    pub(super) places: Vec<OsString>,
    #[command(flatten)]
    start: Start,
}

/// How a size changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    To(u64),
    More(u64),
    Less(u64),
}

impl Change {
    fn parse(text: &str) -> Result<Change, String> {
        match text.split_at_checked(1) {
            Some(("+", more)) => size::parse(more).map(Change::More),
            Some(("-", less)) => size::parse(less).map(Change::Less),
            _ => size::parse(text).map(Change::To),
        }
    }

    /// A file is never shorter than nothing.
    fn of(self, size: u64) -> u64 {
        match self {
            Change::To(size) => size,
            Change::More(more) => size.saturating_add(more),
            Change::Less(less) => size.saturating_sub(less),
        }
    }
}

/// Cuts or lengthens them.
pub(crate) fn run(args: &Args) -> Outcome {
    image::change_each(&args.places, args.start, "not all sizes are changed", async |fs, place| {
        on(fs, place, args).await
    })
}

/// Sets the size of a file.
pub(super) async fn on(fs: &Rc<Fs>, place: &Inside, args: &Args) -> Outcome {
    let Some(file) = touch::found_or_made(fs, place, args.no_create).await? else { return Ok(Status::DONE) };
    if file.attr().kind != Kind::Regular {
        bail!("{}: not a regular file, but a {}", place.shown(), crate::listing::kind_name(file.attr().kind));
    }
    let set = SetAttr { size: Some(args.size.of(file.attr().size)), ..SetAttr::default() };
    fs.setattr(file.node(), &set).await.with_context(|| place.shown())?;
    Ok(Status::DONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_absolute_or_relative() {
        let of = |text| Change::parse(text).map(|change| change.of(1000));
        assert_eq!((of("5"), of("1k"), of("+24"), of("-1")), (Ok(5), Ok(1024), Ok(1024), Ok(999)));
        assert_eq!(of("-2k"), Ok(0));
        for wrong in ["", "+", "--5", "x"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
