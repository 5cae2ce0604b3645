//! `ordo ls`

use crate::expand;
use crate::image::{self, Forensic, Start, Tally};
use crate::listing::{self, FileJson, Manner};
use crate::names::Owners;
use crate::out::{Out, Outcome};
use crate::place::{Inside, join};
use crate::rescue::deleted;
use crate::text;
use ordofs::Fs;
use ordofs::path::{Held, resolve};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::rc::Rc;

/// Lists a directory of an image
///
/// A path may be a pattern, which the image's names are compared with: 'disk.img:/etc/*.conf'.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ordo ls disk.img:/etc\n  ordo ls -lR disk.img@s1a:/ | less\n  ordo ls -R --json disk.img\n  ordo ls --deleted disk.img:/home"
)]
pub(crate) struct Args {
    /// IMAGE:/path, or IMAGE for its root
    #[arg(value_name = "IMAGE:/PATH", required = true)]
    places: Vec<OsString>,
    /// Mode, links, owner, group, size and time
    #[arg(short, long)]
    long: bool,
    /// Directories below, too
    #[arg(short = 'R', long)]
    recursive: bool,
    /// One JSON list of all files
    #[arg(long)]
    json: bool,
    /// Instead of the files: names that were removed and are still to be read, with the inodes that they had
    ///
    /// Every one is a guess: the bytes behind a name have the form of an entry. The inode may have been used again
    /// (free: no; in use: by a file of the same kind, perhaps the same one; reused: by another kind). On UFS.
    #[arg(long)]
    deleted: bool,
    #[command(flatten)]
    manner: Manner,
    #[command(flatten)]
    _forensic: Forensic,
    #[command(flatten)]
    start: Start,
}

/// Lists; what cannot be read is reported, and the rest is still listed.
pub(crate) fn run(args: &Args) -> Outcome {
    if args.deleted {
        let places = args.places.iter().map(|argument| {
            let place = Inside::parse(argument);
            let spec = image::spec(&place.image, args.start)?;
            Ok((place, spec))
        });
        return deleted::list(&places.collect::<anyhow::Result<Vec<_>>>()?, args.recursive, args.json);
    }
    let mut lister = Lister { args, out: Out::new(), tally: Tally::new(), files: Vec::new(), first: true, many: false };
    for argument in &args.places {
        let place = Inside::parse(argument);
        let spec = image::spec(&place.image, args.start)?;
        image::read(&spec, async |fs| {
            let places = expand::places(fs, &place).await?;
            lister.many = args.places.len() > 1 || places.len() > 1;
            let owners = if args.long { Owners::of(fs, args.manner.numeric).await? } else { Owners::default() };
            for place in &places {
                lister.place(fs, place, &owners).await?;
            }
            Ok(())
        })?;
    }
    if args.json {
        lister.out.json(&lister.files)?;
    }
    lister.out.end()?;
    Ok(lister.tally.status())
}

struct Lister<'a> {
    args: &'a Args,
    out: Out,
    tally: Tally,
    files: Vec<FileJson>,
    first: bool,
    /// Several places: each directory has a heading.
    many: bool,
}

type Child = (Vec<u8>, Held<Fs>);

impl Lister<'_> {
    async fn place(&mut self, fs: &Rc<Fs>, place: &Inside, owners: &Owners) -> anyhow::Result<()> {
        let Some(file) = self.tally.judge(&place.shown(), resolve(fs, &place.path, true).await) else { return Ok(()) };
        if !file.is_dir() {
            return self.show(&[(place.path.clone(), file)], b"", owners).await;
        }
        let headed = self.args.recursive || self.many;
        // On a damaged volume a directory may appear below itself, or in many places.
        let mut seen = BTreeSet::from([file.attr().ino]);
        let mut waiting = vec![(place.path.clone(), file)];
        while let Some((path, dir)) = waiting.pop() {
            let children = self.children(&path, &dir).await;
            if headed && !self.args.json {
                self.heading(&path)?;
            }
            self.show(&children, &path, owners).await?;
            if !self.args.recursive {
                break;
            }
            for (name, file) in children.into_iter().rev().filter(|(_, file)| file.is_dir()) {
                let path = join(&path, &name);
                match seen.insert(file.attr().ino) {
                    true => waiting.push((path, file)),
                    false => self.tally.complain(&text::escape(&path), &"met before: the volume is damaged"),
                }
            }
        }
        Ok(())
    }

    async fn children(&mut self, path: &[u8], dir: &Held<Fs>) -> Vec<Child> {
        let (names, outcome) = dir.names().await;
        self.tally.judge(&text::escape(path), outcome);
        let mut children = Vec::with_capacity(names.len());
        for name in names {
            let found = dir.lookup(&name).await;
            if let Some(file) = self.tally.judge(&text::escape(&join(path, &name)), found) {
                children.push((name, file));
            }
        }
        children
    }

    fn heading(&mut self, path: &[u8]) -> anyhow::Result<()> {
        if !std::mem::take(&mut self.first) {
            self.out.line("")?;
        }
        self.out.name(path)?;
        self.out.line(":")
    }

    async fn show(&mut self, children: &[Child], dir: &[u8], owners: &Owners) -> anyhow::Result<()> {
        let mut targets = Vec::with_capacity(children.len());
        for (name, file) in children {
            let wanted = self.args.long || self.args.json;
            let target = if wanted { listing::target(file).await } else { Ok(None) };
            targets.push(self.tally.judge(&text::escape(&join(dir, name)), target).flatten());
        }
        if self.args.json {
            let files = children.iter().zip(&targets).map(|((name, file), target)| {
                let path = if dir.is_empty() { name.clone() } else { join(dir, name) };
                FileJson::new(&path, file.attr(), target.as_deref())
            });
            self.files.extend(files);
            return Ok(());
        }
        let zone = self.args.manner.clock.zone();
        let long = children.iter().filter(|_| self.args.long);
        let rows: Vec<_> = long.map(|(_, file)| listing::long(file.attr(), owners, &zone)).collect();
        let columns = text::table(0, &rows);
        let mut columns = columns.lines();
        for ((name, _), target) in children.iter().zip(&targets) {
            if let Some(columns) = columns.next() {
                self.out.bytes(columns.as_bytes())?;
                self.out.bytes(b"  ")?;
            }
            self.out.name(name)?;
            if let Some(target) = target {
                self.out.bytes(b" -> ")?;
                self.out.name(target)?;
            }
            self.out.line("")?;
        }
        Ok(())
    }
}
