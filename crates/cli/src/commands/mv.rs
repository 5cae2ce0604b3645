//! `ordo mv`

use crate::image::{self, Start};
use crate::interrupt;
use crate::out::{Outcome, Status, usage};
use crate::place::{Inside, Location, join, last_name};
use anyhow::Context;
use ordo_vfs::{FileSystem, Refusal, RenameMode};
use ordofs::Fs;
use ordofs::path::{parent, resolve};
use std::ffi::OsString;
use std::rc::Rc;

/// Moves or renames files within an image
///
/// Ctrl-C and SIGTERM end it between two files; the volume is left clean, and a line says how many are moved.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo mv disk.img:/a disk.img:/b\n  ordo mv disk.img:/x disk.img:/y disk.img:/dir")]
pub(crate) struct Args {
    /// The files, then the new name or the directory to move them into
    #[arg(value_name = "IMAGE:/PATH", required = true, num_args = 2..)]
    pub(super) places: Vec<OsString>,
    /// Refuse to replace a file
    #[arg(short, long)]
    no_clobber: bool,
    #[command(flatten)]
    start: Start,
}

/// Moves them.
pub(crate) fn run(args: &Args) -> Outcome {
    let Some((target, sources)) = args.places.split_last() else {
        return Err(usage("mv: name a file and its target"));
    };
    let to = Inside::parse(target);
    let sources: Vec<_> = sources.iter().map(|source| Location::parse(source)).collect();
    let paths = sources.into_iter().map(|source| match source {
        Location::Inside { image, path } if image == to.image => Ok(path),
        _ => Err(usage("mv: all files must be in the same image; use ordo cp -r -p, and then ordo rm -r")),
    });
    let paths = paths.collect::<anyhow::Result<Vec<_>>>()?;
    let mut moved = 0;
    let spec = image::spec(&to.image, args.start)?;
    let outcome = image::change(&spec, async |fs| on(fs, args, &to, &paths, &mut moved).await);
    outcome.map_err(|error| interrupt::how_far(error, || format!("{moved} of {} files are moved", paths.len())))
}

/// Moves the files to a new name, or into a directory.
pub(super) async fn on(fs: &Rc<Fs>, args: &Args, to: &Inside, paths: &[Vec<u8>], moved: &mut u64) -> Outcome {
    let mode = if args.no_clobber { RenameMode::NoReplace } else { RenameMode::Replace };
    let into = match resolve(fs, &to.path, true).await {
        Ok(there) => there.is_dir(),
        Err(ordo_vfs::Error::Refused(Refusal::NotFound)) => false,
        Err(error) => return Err(error).with_context(|| to.shown()),
    };
    if paths.len() > 1 && !into {
        return Err(usage(format!("{}: not a directory, and several files cannot have one name", to.shown())));
    }
    for path in paths {
        interrupt::check()?;
        let shown = || Inside { image: to.image.clone(), path: path.clone() }.shown();
        let new = if into { join(&to.path, last_name(path)) } else { to.path.clone() };
        let (from_dir, from) = parent(fs, path).await.with_context(shown)?;
        let (to_dir, name) = parent(fs, &new).await.with_context(|| to.shown())?;
        let renamed = fs.rename(from_dir.node(), from, to_dir.node(), name, mode).await;
        renamed.with_context(|| format!("{} to {}", shown(), text(&new)))?;
        *moved += 1;
    }
    Ok(Status::DONE)
}

fn text(path: &[u8]) -> String {
    crate::text::escape(path)
}
