//! `ordo ln`

use crate::image::{self, Start};
use crate::interrupt;
use crate::out::{Outcome, Status, usage};
use crate::place::{Inside, Location};
use anyhow::Context;
use ordo_vfs::FileSystem;
use ordofs::Fs;
use ordofs::path::{Held, parent, resolve};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::rc::Rc;

/// Makes a hard link or a symbolic link in an image
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ordo ln disk.img:/a disk.img:/b\n  ordo ln -s ../lib/libc.so.7 disk.img:/usr/libc.so"
)]
pub(crate) struct Args {
    /// Make a symbolic link to TARGET, taken literally
    #[arg(short, long)]
    pub(super) symbolic: bool,
    /// The file, as IMAGE:/path; with -s any text
    pub(super) target: OsString,
    /// The new name
    #[arg(value_name = "IMAGE:/PATH")]
    pub(super) name: OsString,
    #[command(flatten)]
    start: Start,
}

/// Makes the link.
pub(crate) fn run(args: &Args) -> Outcome {
    let new = Inside::parse(&args.name);
    let spec = image::spec(&new.image, args.start)?;
    let old = match (args.symbolic, Location::parse(&args.target)) {
        (true, _) => None,
        (false, Location::Inside { image, path }) if image == new.image => Some(path),
        _ => return Err(usage("ln: both names must be in the same image; give -s for a symbolic link")),
    };
    image::change(&spec, async |fs| {
        interrupt::check().map_err(|interrupted| interrupted.after("the link is not made"))?;
        on(fs, args, &new, old.as_deref()).await
    })
}

/// Makes a link to the file `old`, or without one a symbolic link.
pub(super) async fn on(fs: &Rc<Fs>, args: &Args, new: &Inside, old: Option<&[u8]>) -> Outcome {
    let (dir, name) = parent(fs, &new.path).await.with_context(|| new.shown())?;
    let made = match old {
        None => fs.symlink(&image::owner(), dir.node(), name, args.target.as_bytes()).await,
        Some(path) => {
            let shown = || Inside { image: new.image.clone(), path: path.to_vec() }.shown();
            let file = resolve(fs, path, false).await.with_context(shown)?;
            fs.link(file.node(), dir.node(), name).await
        }
    };
    drop(Held::new(fs, made.with_context(|| new.shown())?));
    Ok(Status::DONE)
}
