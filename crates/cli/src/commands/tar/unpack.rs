//! Making the files of an archive.
//!
//! U1. Nothing is made outside the directory: an archive is not trusted. Each name of a path is looked up without
//!     following symbolic links, and absolute paths and `..` are refused, for links to files too.
//! U2. An entry that cannot be made or understood is reported and counted, and the rest is made; only a full volume and
//!     an archive that cannot be read on end it.
//! U3. The times of directories are set at the end, because every name that is made in one changes them; so are their
//!     default lists, which what is made in one would get. File flags come last of all: they forbid what comes before.

use crate::acl;
use crate::archive::{self, Entry, Meta, Reader, Source};
use crate::attached::Attacher;
use crate::image::{self, Opened, Tally};
use crate::names::Owners;
use crate::out::Status;
use crate::place::Inside;
use crate::{interrupt, text};
use anyhow::{Context, anyhow, bail};
use ordo_vfs::{FileSystem, Kind, Mode, Name, Refusal, SetAttr, SetTime};
use ordofs::Fs;
use ordofs::path::{Held, resolve};
use ordofs::rt::Rt;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::rc::Rc;

/// Bytes of one write. Those that are all zero become holes.
const PIECE: u64 = 256 << 10;

/// Makes the files of `from` below `place`.
pub(super) fn unpack<S: Source>(
    opened: &Opened,
    place: &Inside,
    mut from: Reader<S>,
    made: &mut u64,
) -> anyhow::Result<Status> {
    let top = opened.rt.block_on(resolve(opened.fs(), &place.path, true)).with_context(|| place.shown())?;
    if !top.is_dir() {
        bail!("{}: not a directory", place.shown());
    }
    let attacher = Attacher::new(&opened.mounted);
    let mut unpacker = Unpacker {
        rt: &opened.rt,
        fs: opened.fs(),
        top,
        attacher,
        owners: None,
        directories: Vec::new(),
        flags: BTreeMap::new(),
    };
    let mut tally = Tally::new();
    let mut go_on = || {
        while let Some(found) = from.next().context("the archive")? {
            interrupt::check()?;
            let (path, outcome) = match found {
                Ok(mut entry) => {
                    unpacker.lists(&mut entry)?;
                    for what in &entry.lost {
                        tally.complain(&text::escape(&entry.path), what);
                    }
                    let outcome = unpacker.entry(&entry, from.source());
                    (entry.path, outcome)
                }
                Err((path, error)) if error.is::<interrupt::Interrupted>() => {
                    return Err(error.context(text::escape(&path)));
                }
                Err((path, error)) => {
                    tally.complain(&text::escape(&path), &crate::out::describe(&error.context("left out")));
                    continue;
                }
            };
            match outcome {
                Ok(()) => *made += 1,
                Err(error) if ends_it(&error) => return Err(error.context(text::escape(&path))),
                Err(error) => tally.complain(&text::escape(&path), &crate::out::describe(&error)),
            }
        }
        Ok(())
    };
    let outcome = go_on();
    unpacker.finish(&mut tally);
    outcome?;
    if let Some(lost) = unpacker.attacher.lost() {
        tally.complain(&place.shown(), &lost);
    }
    Ok(tally.status())
}

/// Nothing more can be made, or may be.
fn ends_it(error: &anyhow::Error) -> bool {
    let refused = error.downcast_ref::<ordo_vfs::Error>();
    error.is::<interrupt::Interrupted>()
        || error.is::<Ended>()
        || matches!(
            refused,
            Some(ordo_vfs::Error::Refused(
                Refusal::NoSpace | Refusal::NoInodes | Refusal::ReadOnly | Refusal::NoMemory
            ))
        )
}

/// The archive has ended in the middle of a file, or cannot be read any more.
#[derive(Debug)]
struct Ended(anyhow::Error);

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Ended {}

struct Unpacker<'a> {
    rt: &'a Rt,
    fs: &'a Rc<Fs>,
    top: Held<Fs>,
    attacher: Attacher,
    /// Names of users and groups, once a list has one.
    owners: Option<Owners>,
    /// Directories, and what they get at the end (U3).
    directories: Vec<(Names, SetAttr, Meta)>,
    /// What the last entry of a path says of flags.
    flags: BTreeMap<Names, u32>,
}

/// A path, name by name.
type Names = Vec<Vec<u8>>;

/// The names of a path below the directory (U1).
fn parts(path: &[u8]) -> anyhow::Result<Vec<&[u8]>> {
    let parts: Vec<_> = path.split(|&b| b == b'/').filter(|name| !name.is_empty() && *name != b".").collect();
    if path.starts_with(b"/") || parts.contains(&&b".."[..]) {
        bail!("a path that leads out of the directory; left out");
    }
    Ok(parts)
}

impl Unpacker<'_> {
    fn entry(&mut self, entry: &Entry, source: &mut impl Source) -> anyhow::Result<()> {
        let parts = parts(&entry.path)?;
        if entry.is_link {
            return self.link(&parts, &entry.target);
        }
        let Some((name, above)) = parts.split_last() else {
            if entry.meta.kind != Kind::Directory {
                bail!("the name of the directory itself, and no directory; left out");
            }
            let top = self.rt.block_on(self.enter(&[]))?;
            return self.attributes(&top, &parts, entry);
        };
        let file = self.rt.block_on(async {
            let dir = self.enter(above).await?;
            self.make(&dir, Name::new(name)?, entry).await
        })?;
        self.contents(&file, entry, source)?;
        self.attributes(&file, &parts, entry)
    }

    /// The directory at these names; the missing ones are made.
    async fn enter(&self, parts: &[&[u8]]) -> anyhow::Result<Held<Fs>> {
        let mut dir = self.top.lookup(b".").await?;
        for name in parts {
            dir = match dir.find(name).await? {
                Some(next) if next.is_dir() => next,
                Some(_) => bail!("{} is not a directory, and no link is followed", text::escape(name)),
                None => {
                    let made = self.fs.mkdir(&image::owner(), dir.node(), Name::new(name)?, Mode::new(0o755)).await?;
                    Held::new(self.fs, made)
                }
            };
        }
        Ok(dir)
    }

    /// Makes a file that is not a directory in place of what has its name, or a directory unless there is one.
    async fn make(&self, dir: &Held<Fs>, name: Name<'_>, entry: &Entry) -> anyhow::Result<Held<Fs>> {
        let (fs, who, kind) = (self.fs, image::owner(), entry.meta.kind);
        let mode = Mode::new(entry.meta.mode.into());
        if let Some(there) = dir.find(name.bytes()).await? {
            match (there.is_dir(), kind == Kind::Directory) {
                (true, true) => return Ok(there),
                (true, false) => bail!("a directory has this name; left out"),
                (false, _) => fs.unlink(dir.node(), name).await?,
            }
        }
        let made = match kind {
            Kind::Directory => fs.mkdir(&who, dir.node(), name, mode).await?,
            Kind::Symlink if entry.target.is_empty() => bail!("a symbolic link without a target; left out"),
            Kind::Symlink => fs.symlink(&who, dir.node(), name, &entry.target).await?,
            kind => fs.mknod(&who, dir.node(), name, kind, mode, entry.meta.rdev).await?,
        };
        Ok(Held::new(fs, made))
    }

    fn link(&self, parts: &[&[u8]], target: &[u8]) -> anyhow::Result<()> {
        let target = self::parts(target).context("its target")?;
        let (Some((name, above)), Some((old, old_above))) = (parts.split_last(), target.split_last()) else {
            bail!("a link of a directory; left out");
        };
        self.rt.block_on(async {
            let file = self.enter_existing(old_above).await?.lookup(old).await.context("the file it is a link of")?;
            let dir = self.enter(above).await?;
            let name = Name::new(name)?;
            match dir.find(name.bytes()).await? {
                Some(there) if there.node() == file.node() => return Ok(()),
                Some(there) if there.is_dir() => bail!("a directory has this name; left out"),
                Some(_) => self.fs.unlink(dir.node(), name).await?,
                None => {}
            }
            drop(Held::new(self.fs, self.fs.link(file.node(), dir.node(), name).await?));
            Ok(())
        })
    }

    /// As `enter`, and nothing is made.
    async fn enter_existing(&self, parts: &[&[u8]]) -> anyhow::Result<Held<Fs>> {
        let mut dir = self.top.lookup(b".").await?;
        for name in parts {
            dir = dir.lookup(name).await.context("the file it is a link of")?;
            if !dir.is_dir() {
                return Err(anyhow!("{} is not a directory, and no link is followed", text::escape(name)));
            }
        }
        Ok(dir)
    }

    fn contents(&self, file: &Held<Fs>, entry: &Entry, source: &mut impl Source) -> anyhow::Result<()> {
        let largest = entry.extents.iter().map(|extent| extent.len.min(PIECE)).max().unwrap_or(0);
        let (mut bytes, mut end) = (vec![0; largest as usize], 0);
        for extent in &entry.extents {
            let mut done = 0;
            while done < extent.len {
                interrupt::check()?;
                let piece = &mut bytes[..(extent.len - done).min(PIECE) as usize];
                source.fetch(extent.from + done, piece).map_err(|error| match error.kind() {
                    ErrorKind::UnexpectedEof => anyhow::Error::from(Ended(archive::cut())),
                    _ => anyhow::Error::from(Ended(error.into())),
                })?;
                if piece.iter().any(|&b| b != 0) {
                    self.write(file, extent.at + done, piece)?;
                    end = extent.at + done + piece.len() as u64;
                }
                done += piece.len() as u64;
            }
        }
        if end < entry.size {
            let set = SetAttr { size: Some(entry.size), ..SetAttr::default() };
            self.rt.block_on(self.fs.setattr(file.node(), &set))?;
        }
        Ok(())
    }

    fn write(&self, file: &Held<Fs>, mut at: u64, mut rest: &[u8]) -> anyhow::Result<()> {
        while !rest.is_empty() {
            let written = self.rt.block_on(self.fs.write(&image::owner(), file.node(), at, rest))?;
            crate::progress::add(written.into());
            at += u64::from(written);
            rest = rest.get(written as usize..).unwrap_or_default();
        }
        Ok(())
    }

    /// The access control lists of an entry, with the numbers that the names have in the image.
    fn lists(&mut self, entry: &mut Entry) -> anyhow::Result<()> {
        if entry.lists.is_empty() {
            return Ok(());
        }
        let owners = match self.owners.take() {
            Some(owners) => owners,
            None => self.rt.block_on(Owners::of(self.fs, false))?,
        };
        entry.take_lists(|name| owners.user_id(name), |name| owners.group_id(name));
        self.owners = Some(owners);
        Ok(())
    }

    /// Owner first, because a change of owner clears set-user-id bits; times last, because everything changes them.
    fn attributes(&mut self, file: &Held<Fs>, parts: &[&[u8]], entry: &Entry) -> anyhow::Result<()> {
        let (fs, meta) = (self.fs, &entry.meta);
        let owner = SetAttr { uid: Some(meta.uid), gid: Some(meta.gid), ..SetAttr::default() };
        let (atime, mtime) = (entry.atime.unwrap_or(meta.mtime), meta.mtime);
        let times = SetAttr { atime: Some(SetTime::At(atime)), mtime: Some(SetTime::At(mtime)), ..SetAttr::default() };
        self.rt.block_on(async {
            fs.setattr(file.node(), &owner).await?;
            let mode = self.attacher.put(file, meta).await?;
            let mode = (file.attr().kind != Kind::Symlink).then_some(Mode::new(mode.into()));
            fs.setattr(file.node(), &SetAttr { mode, ..SetAttr::default() }).await?;
            if !file.is_dir() {
                fs.setattr(file.node(), &times).await?;
            }
            anyhow::Ok(())
        })?;
        let names: Names = parts.iter().map(|name| name.to_vec()).collect();
        if file.is_dir() {
            let default = meta.xattrs.iter().filter(|(name, _)| name == acl::DEFAULT).cloned().collect();
            let meta = Meta { xattrs: default, ..meta.clone() };
            self.directories.push((names.clone(), times, meta));
        }
        self.flags.remove(&names);
        if meta.flags != 0 {
            self.flags.insert(names, meta.flags);
        }
        Ok(())
    }

    /// What comes at the end (U3).
    fn finish(&mut self, tally: &mut Tally) {
        let shown = |path: &Names| text::escape(&path.join(&b'/'));
        for (path, times, meta) in std::mem::take(&mut self.directories).into_iter().rev() {
            let done = self.rt.block_on(async {
                let parts: Vec<&[u8]> = path.iter().map(Vec::as_slice).collect();
                let dir = self.enter(&parts).await?;
                self.attacher.put_default(&dir, &meta).await?;
                self.fs.setattr(dir.node(), &times).await?;
                anyhow::Ok(())
            });
            tally.judge(&shown(&path), done);
        }
        for (path, flags) in std::mem::take(&mut self.flags) {
            let done = self.rt.block_on(async {
                let parts: Vec<&[u8]> = path.iter().map(Vec::as_slice).collect();
                let file = match parts.split_last() {
                    Some((name, above)) => self.enter_existing(above).await?.lookup(name).await?,
                    None => self.enter(&[]).await?,
                };
                self.fs.setattr(file.node(), &SetAttr { flags: Some(flags), ..SetAttr::default() }).await?;
                anyhow::Ok(())
            });
            tally.judge(&shown(&path), done);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leads_out() {
        assert_eq!(parts(b"./a//b/.").unwrap(), [b"a", b"b"]);
        assert_eq!(parts(b"./").unwrap(), [b""; 0]);
        for path in [&b"/a"[..], b"..", b"a/../../b", b"/"] {
            assert!(parts(path).is_err(), "{path:?}");
        }
        assert!(parts(b"..a/b..").is_ok());
    }
}
