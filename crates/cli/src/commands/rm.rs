//! `ordo rm`

use crate::commands::snapshot;
use crate::expand::{self, NoMatch};
use crate::image::{self, Start};
use crate::interrupt;
use crate::out::{Outcome, Status};
use crate::place::{Inside, join, last_name};
use crate::progress::{self, Unit};
use crate::text;
use anyhow::Context;
use ordo_vfs::{FileSystem, Name, Refusal};
use ordofs::Fs;
use ordofs::path::{Held, parent, resolve};
use std::ffi::OsString;
use std::rc::Rc;

/// Removes files of an image
///
/// A snapshot of the volume is removed, too, if the volume is not mounted: what it alone has becomes free.
///
/// A path may be a pattern ('disk.img:/var/log/*.gz'). Ctrl-C and SIGTERM end it between two files; the volume is left
/// clean, and a line says how many are removed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo rm disk.img:/tmp/core\n  ordo rm -r disk.img:/var/cache")]
pub(crate) struct Args {
    /// IMAGE:/path
    #[arg(value_name = "IMAGE:/PATH", required = true)]
    pub(super) places: Vec<OsString>,
    /// Remove directories and all their contents
    #[arg(short, long, short_alias = 'R')]
    recursive: bool,
    /// No error if the file does not exist
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    start: Start,
}

/// Removes them.
pub(crate) fn run(args: &Args) -> Outcome {
    let mut removed = 0;
    remove_all(args, &mut removed)
        .map_err(|error| interrupt::how_far(error, || format!("{removed} files are removed, the rest is not")))
}

fn remove_all(args: &Args, count: &mut u64) -> Outcome {
    for argument in &args.places {
        let place = Inside::parse(argument);
        let spec = image::spec(&place.image, args.start)?;
        if snapshot::removed(&spec, &place)? {
            *count += 1;
            continue;
        }
        image::change(&spec, async |fs| {
            interrupt::check()?;
            let places = match expand::places(fs, &place).await {
                Err(error) if args.force && error.is::<NoMatch>() => Vec::new(),
                places => places?,
            };
            progress::begin(Unit::Files, 0);
            for place in &places {
                on(fs, place, args, count).await?;
            }
            Ok(Status::DONE)
        })?;
    }
    Ok(Status::DONE)
}

/// Removes a file, with -r also a directory and its contents.
pub(super) async fn on(fs: &Rc<Fs>, place: &Inside, args: &Args, count: &mut u64) -> Outcome {
    let removed = match remove(fs, &place.path, args.recursive, count).await {
        Err(error) if error.downcast_ref::<ordo_vfs::Error>().is_some_and(is_full) => {
            Err(full_of_snapshots(fs, place, error).await)
        }
        removed => removed,
    };
    match removed.as_ref().map_err(|error| error.downcast_ref::<ordo_vfs::Error>()) {
        Err(Some(ordo_vfs::Error::Refused(Refusal::NotFound))) if args.force => {}
        _ => removed.with_context(|| place.shown())?,
    }
    Ok(Status::DONE)
}

fn is_full(error: &ordo_vfs::Error) -> bool {
    matches!(error, ordo_vfs::Error::Refused(Refusal::NoSpace))
}

/// Snapshots keep what is removed, and need space for it: who frees space here by removing files must know.
async fn full_of_snapshots(fs: &Rc<Fs>, place: &Inside, error: anyhow::Error) -> anyhow::Error {
    let names = async {
        let dir = resolve(fs, b"/.snap", false).await.ok()?;
        let mut names = dir.names().await.0;
        names.retain(|name| !name.starts_with(b"."));
        names.sort_unstable();
        names.first().map(|first| (names.len(), text::escape(first)))
    };
    match names.await {
        Some((count, first)) => error.context(format!(
            "{}: there is no room to keep it for the {count} snapshots in /.snap; remove one: ordo rm '{}:/.snap/{first}'",
            text::escape(&place.path),
            text::one_line(&place.image.display().to_string()),
        )),
        None => error,
    }
}

/// A directory that is being emptied.
struct Frame {
    dir: Held<Fs>,
    name: Vec<u8>,
    path: Vec<u8>,
    names: std::vec::IntoIter<Vec<u8>>,
}

impl Frame {
    async fn new(dir: Held<Fs>, name: &[u8], path: Vec<u8>) -> anyhow::Result<Frame> {
        let (names, outcome) = dir.names().await;
        outcome.with_context(|| text::escape(&path))?;
        Ok(Frame { dir, name: name.to_vec(), path, names: names.into_iter() })
    }
}

/// Removes a file, or a tree from its leaves up.
async fn remove(fs: &Rc<Fs>, path: &[u8], recursive: bool, count: &mut u64) -> anyhow::Result<()> {
    anyhow::ensure!(!last_name(path).is_empty(), "the root directory cannot be removed; name what is in it ('/*')");
    let (above, name) = parent(fs, path).await?;
    let file = above.lookup(name.bytes()).await?;
    if !file.is_dir() {
        drop(file);
        fs.unlink(above.node(), name).await?;
        *count += 1;
        progress::add(1);
        return Ok(());
    }
    anyhow::ensure!(recursive, "is a directory; give -r to remove it with its contents");
    let mut stack = vec![Frame::new(file, name.bytes(), path.to_vec()).await?];
    while let Some(frame) = stack.last_mut() {
        interrupt::check()?;
        let Some(name) = frame.names.next() else {
            let Some(done) = stack.pop() else { break };
            let dir = stack.last().map_or(above.node(), |frame| frame.dir.node());
            drop(done.dir);
            fs.rmdir(dir, Name::new(&done.name)?).await.with_context(|| text::escape(&done.path))?;
            *count += 1;
            progress::add(1);
            continue;
        };
        let below = join(&frame.path, &name);
        let child = frame.dir.lookup(&name).await.with_context(|| text::escape(&below))?;
        if !child.is_dir() {
            drop(child);
            fs.unlink(frame.dir.node(), Name::new(&name)?).await.with_context(|| text::escape(&below))?;
            *count += 1;
            progress::add(1);
            continue;
        }
        // Damage: the directory could never become empty.
        let ino = child.attr().ino;
        if stack.iter().any(|frame| frame.dir.attr().ino == ino) {
            anyhow::bail!("{}: a directory that contains itself; run ordo fsck", text::escape(&below));
        }
        stack.push(Frame::new(child, &name, below).await?);
    }
    Ok(())
}
