//! `ordo tree`

use crate::image::{self, Forensic, Start, Tally};
use crate::listing::{self, FileJson};
use crate::out::{Out, Outcome};
use crate::place::{Inside, join};
use crate::text;
use anyhow::Context;
use ordofs::Fs;
use ordofs::path::{Held, resolve};
use std::collections::BTreeSet;
use std::ffi::OsString;

/// Draws the tree below a directory of an image
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo tree disk.img:/etc\n  ordo tree -L 2 disk.img\n  ordo tree --json disk.img")]
pub(crate) struct Args {
    /// IMAGE:/path, or IMAGE for its root
    #[arg(value_name = "IMAGE:/PATH")]
    place: OsString,
    /// No deeper than this many directories
    #[arg(short = 'L', long, value_name = "LEVELS", value_parser = clap::value_parser!(u32).range(1..))]
    level: Option<u32>,
    /// One JSON list, each directory before what it holds
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    _forensic: Forensic,
    #[command(flatten)]
    start: Start,
}

/// A directory whose names are being shown.
struct Frame {
    dir: Held<Fs>,
    path: Vec<u8>,
    names: std::iter::Peekable<std::vec::IntoIter<Vec<u8>>>,
}

/// Draws the tree; what cannot be read is reported.
pub(crate) fn run(args: &Args) -> Outcome {
    let place = Inside::parse(&args.place);
    let spec = image::spec(&place.image, args.start)?;
    let mut drawer = Drawer { args, out: Out::new(), tally: Tally::new(), files: Vec::new(), seen: BTreeSet::new() };
    image::read(&spec, async |fs| {
        let root = resolve(fs, &place.path, true).await.with_context(|| place.shown())?;
        drawer.draw(root, &place.path).await
    })?;
    let Drawer { mut out, tally, files, .. } = drawer;
    if args.json {
        out.json(&files)?;
    }
    out.end()?;
    Ok(tally.status())
}

struct Drawer<'a> {
    args: &'a Args,
    out: Out,
    tally: Tally,
    files: Vec<FileJson>,
    /// Directories that were printed: on a damaged volume one may appear twice.
    seen: BTreeSet<u64>,
}

impl Drawer<'_> {
    async fn draw(&mut self, root: Held<Fs>, path: &[u8]) -> anyhow::Result<()> {
        self.show("", path, path, &root).await?;
        let mut stack: Vec<Frame> = Vec::new();
        self.enter(&mut stack, root, path.to_vec()).await;
        while let Some(frame) = stack.last_mut() {
            let Some(name) = frame.names.next() else {
                stack.pop();
                continue;
            };
            let below = join(&frame.path, &name);
            let found = frame.dir.lookup(&name).await;
            let Some(file) = self.tally.judge(&text::escape(&below), found) else { continue };
            let prefix = prefix(&mut stack);
            self.show(&prefix, &name, &below, &file).await?;
            if file.is_dir() {
                self.enter(&mut stack, file, below).await;
            }
        }
        Ok(())
    }

    async fn enter(&mut self, stack: &mut Vec<Frame>, dir: Held<Fs>, path: Vec<u8>) {
        if self.args.level.is_some_and(|level| stack.len() as u64 >= u64::from(level)) || !dir.is_dir() {
            return;
        }
        if !self.seen.insert(dir.attr().ino) {
            return self.tally.complain(&text::escape(&path), &"met before: the volume is damaged");
        }
        let (names, outcome) = dir.names().await;
        self.tally.judge(&text::escape(&path), outcome);
        stack.push(Frame { dir, path, names: names.into_iter().peekable() });
    }

    async fn show(&mut self, prefix: &str, name: &[u8], path: &[u8], file: &Held<Fs>) -> anyhow::Result<()> {
        let target = listing::target(file).await;
        let target = self.tally.judge(&text::escape(path), target).flatten();
        if self.args.json {
            self.files.push(FileJson::new(path, file.attr(), target.as_deref()));
            return Ok(());
        }
        self.out.bytes(prefix.as_bytes())?;
        self.out.name(name)?;
        if let Some(target) = target {
            self.out.bytes(b" -> ")?;
            self.out.name(&target)?;
        }
        self.out.line("")
    }
}

/// The lines before the name that was just taken from the last frame.
fn prefix(stack: &mut [Frame]) -> String {
    let last = stack.len().saturating_sub(1);
    let mark = |(index, frame): (usize, &mut Frame)| match (index == last, frame.names.peek().is_some()) {
        (true, true) => "├── ",
        (true, false) => "└── ",
        (false, true) => "│   ",
        (false, false) => "    ",
    };
    stack.iter_mut().enumerate().map(mark).collect()
}
