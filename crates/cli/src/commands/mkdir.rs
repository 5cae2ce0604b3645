//! `ordo mkdir`

use crate::image::{self, Start};
use crate::interrupt;
use crate::out::{Outcome, Status, usage};
use crate::place::Inside;
use anyhow::Context;
use ordo_vfs::{FileSystem, Mode, Name, Refusal};
use ordofs::Fs;
use ordofs::path::{Held, parent};
use std::ffi::OsString;
use std::rc::Rc;

/// Makes directories in an image
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo mkdir disk.img:/data\n  ordo mkdir -p disk.img:/a/b/c")]
pub(crate) struct Args {
    /// IMAGE:/path
    #[arg(value_name = "IMAGE:/PATH", required = true)]
    pub(super) places: Vec<OsString>,
    /// Make parent directories too; no error if the directory exists
    #[arg(short, long)]
    parents: bool,
    /// Permissions, in octal
    #[arg(short, long, default_value = "755", value_parser = octal)]
    mode: u32,
    #[command(flatten)]
    start: Start,
}

fn octal(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o7777);
    mode.ok_or_else(|| format!("{text:?} is not a mode in octal, 0 to 7777"))
}

/// Makes them.
pub(crate) fn run(args: &Args) -> Outcome {
    let mut made = 0;
    make_each(args, &mut made)
        .map_err(|error| interrupt::how_far(error, || format!("{made} of {} directories are made", args.places.len())))
}

fn make_each(args: &Args, count: &mut usize) -> Outcome {
    for argument in &args.places {
        let place = Inside::parse(argument);
        if place.path.iter().all(|&b| b == b'/') && !args.parents {
            return Err(usage(format!("{}: name a directory inside the image: IMAGE:/path", place.shown())));
        }
        let spec = image::spec(&place.image, args.start)?;
        image::change(&spec, async |fs| {
            interrupt::check()?;
            let made = on(fs, &place, args).await?;
            *count += 1;
            Ok(made)
        })?;
    }
    Ok(Status::DONE)
}

/// Makes a directory, with -p also those above it.
pub(super) async fn on(fs: &Rc<Fs>, place: &Inside, args: &Args) -> Outcome {
    let made = match args.parents {
        true => make_all(fs, &place.path, args.mode).await,
        false => make(fs, &place.path, args.mode).await,
    };
    made.with_context(|| place.shown())?;
    Ok(Status::DONE)
}

async fn make(fs: &Rc<Fs>, path: &[u8], mode: u32) -> ordo_vfs::Result<()> {
    let (dir, name) = parent(fs, path).await?;
    let made = fs.mkdir(&image::owner(), dir.node(), name, Mode::new(mode)).await?;
    drop(Held::new(fs, made));
    Ok(())
}

/// Makes the missing directories of a path; symbolic links on the way are resolved name by name.
async fn make_all(fs: &Rc<Fs>, path: &[u8], mode: u32) -> ordo_vfs::Result<()> {
    let mut upto = 0;
    while let Some(end) = next_part(path, upto) {
        upto = end;
        match ordofs::path::resolve(fs, &path[..upto], true).await {
            Ok(there) if there.is_dir() => continue,
            Ok(_) => return Err(Refusal::NotDirectory.into()),
            Err(ordo_vfs::Error::Refused(Refusal::NotFound)) => {}
            Err(error) => return Err(error),
        }
        let (dir, name) = parent(fs, &path[..upto]).await?;
        let made = fs.mkdir(&image::owner(), dir.node(), Name::new(name.bytes())?, Mode::new(mode)).await?;
        drop(Held::new(fs, made));
    }
    Ok(())
}

/// The end of the first name at or after `at`.
fn next_part(path: &[u8], at: usize) -> Option<usize> {
    let start = at + path[at..].iter().position(|&b| b != b'/')?;
    Some(path[start..].iter().position(|&b| b == b'/').map_or(path.len(), |len| start + len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_cut_behind_each_name() {
        let path = b"//a/bc//d/";
        let mut cuts = Vec::new();
        let mut at = 0;
        while let Some(end) = next_part(path, at) {
            cuts.push(&path[..end]);
            at = end;
        }
        assert_eq!(cuts, [&b"//a"[..], b"//a/bc", b"//a/bc//d"]);
    }

    #[test]
    fn modes_are_octal_and_bounded() {
        assert_eq!(octal("1777"), Ok(0o1777));
        assert!(octal("8").is_err() && octal("10000").is_err() && octal("").is_err());
    }
}
