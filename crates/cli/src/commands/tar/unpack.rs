//! Making the files of an archive.
//!
//! U1. Nothing is made outside the directory: an archive is not trusted. Each name of a path is looked up without
//!     following symbolic links, and absolute paths and `..` are refused, for links to files too.
//! U2. An entry that cannot be made is reported and counted, and the rest is made; a full volume ends it.
//! U3. The times of directories are set at the end, because every name that is made in one changes them.

use super::XATTR;
use crate::image::{self, Opened, Tally};
use crate::out::Status;
use crate::place::Inside;
use crate::{interrupt, moment, text};
use anyhow::{Context, anyhow, bail};
use ordo_vfs::{FileSystem, Kind, Mode, Name, Refusal, SetAttr, SetTime, Stamp, XattrMode};
use ordofs::Fs;
use ordofs::path::{Held, resolve};
use ordofs::rt::Rt;
use std::io::Read;
use std::rc::Rc;
use tar::{Archive, Entry, EntryType};

/// Bytes of one write. Those that are all zero become holes.
const PIECE: usize = 256 << 10;

/// Makes the files of `from` below `place`.
pub(super) fn unpack(opened: &Opened, place: &Inside, from: Box<dyn Read>, made: &mut u64) -> anyhow::Result<Status> {
    let top = opened.rt.block_on(resolve(opened.fs(), &place.path, true)).with_context(|| place.shown())?;
    if !top.is_dir() {
        bail!("{}: not a directory", place.shown());
    }
    let mut unpacker = Unpacker { rt: &opened.rt, fs: opened.fs(), top, directories: Vec::new() };
    let (mut tally, mut archive) = (Tally::new(), Archive::new(from));
    let mut go_on = || {
        for entry in archive.entries().context("the archive")? {
            interrupt::check()?;
            let mut entry = entry.context("the archive")?;
            let path = entry.path_bytes().into_owned();
            match unpacker.entry(&path, &mut entry) {
                Ok(()) => *made += 1,
                Err(error) if ends_it(&error) => return Err(error.context(text::escape(&path))),
                Err(error) => tally.complain(&text::escape(&path), &crate::out::describe(&error)),
            }
        }
        Ok(())
    };
    let outcome = go_on();
    for (path, set) in std::mem::take(&mut unpacker.directories).into_iter().rev() {
        let parts: Vec<&[u8]> = path.iter().map(Vec::as_slice).collect();
        let done = opened.rt.block_on(async {
            let dir = unpacker.enter(&parts).await?;
            unpacker.fs.setattr(dir.node(), &set).await?;
            anyhow::Ok(())
        });
        tally.judge(&text::escape(&path.join(&b'/')), done);
    }
    outcome?;
    Ok(tally.status())
}

/// Nothing more can be made, or may be.
fn ends_it(error: &anyhow::Error) -> bool {
    let refused = error.downcast_ref::<ordo_vfs::Error>();
    error.is::<interrupt::Interrupted>()
        || error.is::<std::io::Error>()
        || matches!(
            refused,
            Some(ordo_vfs::Error::Refused(
                Refusal::NoSpace | Refusal::NoInodes | Refusal::ReadOnly | Refusal::NoMemory
            ))
        )
}

struct Unpacker<'a> {
    rt: &'a Rt,
    fs: &'a Rc<Fs>,
    top: Held<Fs>,
    /// Directories, and the times that they get at the end (U3).
    directories: Vec<(Vec<Vec<u8>>, SetAttr)>,
}

/// What the records before a header say.
#[derive(Default)]
struct Records {
    attributes: Vec<(Vec<u8>, Vec<u8>)>,
    atime: Option<Stamp>,
    mtime: Option<Stamp>,
    uid: Option<u32>,
    gid: Option<u32>,
}

/// The names of a path below the directory (U1).
fn parts(path: &[u8]) -> anyhow::Result<Vec<&[u8]>> {
    let parts: Vec<_> = path.split(|&b| b == b'/').filter(|name| !name.is_empty() && *name != b".").collect();
    if path.starts_with(b"/") || parts.contains(&&b".."[..]) {
        bail!("a path that leads out of the directory; left out");
    }
    Ok(parts)
}

impl Unpacker<'_> {
    fn entry(&mut self, path: &[u8], entry: &mut Entry<'_, Box<dyn Read>>) -> anyhow::Result<()> {
        let records = records(entry)?;
        let parts = parts(path)?;
        let kind = match entry.header().entry_type() {
            EntryType::XGlobalHeader => return Ok(()),
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse if path.ends_with(b"/") => {
                Kind::Directory
            }
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => Kind::Regular,
            EntryType::Directory => Kind::Directory,
            EntryType::Symlink => Kind::Symlink,
            EntryType::Char => Kind::CharDevice,
            EntryType::Block => Kind::BlockDevice,
            EntryType::Fifo => Kind::Fifo,
            EntryType::Link => return self.link(&parts, entry),
            other => bail!("an entry of type {:?}, which is unknown; left out", char::from(other.as_byte())),
        };
        let Some((name, above)) = parts.split_last() else {
            let top = self.rt.block_on(self.enter(&[]))?;
            return self.attributes(&top, &parts, entry, &records);
        };
        let mode = Mode::new(entry.header().mode()?);
        let file = self.rt.block_on(async {
            let dir = self.enter(above).await?;
            self.make(&dir, Name::new(name)?, kind, mode, entry).await
        })?;
        if kind == Kind::Regular {
            self.contents(&file, entry)?;
        }
        self.attributes(&file, &parts, entry, &records)
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
    async fn make(
        &self,
        dir: &Held<Fs>,
        name: Name<'_>,
        kind: Kind,
        mode: Mode,
        entry: &Entry<'_, Box<dyn Read>>,
    ) -> anyhow::Result<Held<Fs>> {
        let (fs, who) = (self.fs, image::owner());
        if let Some(there) = dir.find(name.bytes()).await? {
            match (there.is_dir(), kind == Kind::Directory) {
                (true, true) => return Ok(there),
                (true, false) => bail!("a directory has this name; left out"),
                (false, _) => fs.unlink(dir.node(), name).await?,
            }
        }
        let made = match kind {
            Kind::Directory => fs.mkdir(&who, dir.node(), name, mode).await?,
            Kind::Symlink => {
                let target = entry.link_name_bytes().context("a symbolic link without a target")?;
                fs.symlink(&who, dir.node(), name, &target).await?
            }
            kind => {
                let number = |part: std::io::Result<Option<u32>>| part.ok().flatten().unwrap_or(0);
                let header = entry.header();
                let rdev = rustix::fs::makedev(number(header.device_major()), number(header.device_minor()));
                fs.mknod(&who, dir.node(), name, kind, mode, if kind.is_device() { rdev } else { 0 }).await?
            }
        };
        Ok(Held::new(fs, made))
    }

    fn link(&self, parts: &[&[u8]], entry: &Entry<'_, Box<dyn Read>>) -> anyhow::Result<()> {
        let target = entry.link_name_bytes().context("a link without a target")?;
        let target = self::parts(&target).context("its target")?;
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

    fn contents(&self, file: &Held<Fs>, entry: &mut Entry<'_, Box<dyn Read>>) -> anyhow::Result<()> {
        let (mut piece, mut at, mut end) = (vec![0; PIECE], 0, 0);
        loop {
            interrupt::check()?;
            let mut read = 0;
            while read < PIECE {
                match entry.read(&mut piece[read..])? {
                    0 => break,
                    n => read += n,
                }
            }
            let mut rest = &piece[..read];
            if rest.is_empty() {
                break;
            }
            if rest.iter().all(|&b| b == 0) {
                at += read as u64;
                continue;
            }
            while !rest.is_empty() {
                let written = self.rt.block_on(self.fs.write(&image::owner(), file.node(), at, rest))?;
                crate::progress::add(written.into());
                at += u64::from(written);
                rest = rest.get(written as usize..).unwrap_or_default();
            }
            end = at;
        }
        if end < at {
            let set = SetAttr { size: Some(at), ..SetAttr::default() };
            self.rt.block_on(self.fs.setattr(file.node(), &set))?;
        }
        Ok(())
    }

    /// Owner first, because a change of owner clears set-user-id bits; times last, because everything changes them.
    fn attributes(
        &mut self,
        file: &Held<Fs>,
        parts: &[&[u8]],
        entry: &Entry<'_, Box<dyn Read>>,
        records: &Records,
    ) -> anyhow::Result<()> {
        let (fs, header) = (self.fs, entry.header());
        let id = |given: Option<u32>, field: std::io::Result<u64>| match given {
            Some(id) => anyhow::Ok(id),
            None => Ok(u32::try_from(field?).context("an owner beyond 32 bits")?),
        };
        let owner = SetAttr {
            uid: Some(id(records.uid, header.uid())?),
            gid: Some(id(records.gid, header.gid())?),
            ..SetAttr::default()
        };
        let link = file.attr().kind == Kind::Symlink;
        let mode = (!link).then_some(Mode::new(header.mode()?));
        let mtime = match records.mtime {
            Some(mtime) => mtime,
            None => Stamp { secs: i64::try_from(header.mtime()?).unwrap_or(i64::MAX), nanos: 0 },
        };
        let atime = records.atime.unwrap_or(mtime);
        let times = SetAttr { atime: Some(SetTime::At(atime)), mtime: Some(SetTime::At(mtime)), ..SetAttr::default() };
        self.rt.block_on(async {
            for (name, value) in &records.attributes {
                match fs.setxattr(&image::owner(), file.node(), name, value, XattrMode::Set).await {
                    Err(ordo_vfs::Error::Refused(Refusal::NotSupported)) => {}
                    other => other?,
                }
            }
            fs.setattr(file.node(), &owner).await?;
            fs.setattr(file.node(), &SetAttr { mode, ..SetAttr::default() }).await?;
            if !file.is_dir() {
                fs.setattr(file.node(), &times).await?;
            }
            anyhow::Ok(())
        })?;
        if file.is_dir() {
            self.directories.push((parts.iter().map(|name| name.to_vec()).collect(), times));
        }
        Ok(())
    }
}

fn records(entry: &mut Entry<'_, Box<dyn Read>>) -> anyhow::Result<Records> {
    let mut records = Records::default();
    let Some(extensions) = entry.pax_extensions()? else { return Ok(records) };
    for extension in extensions {
        let extension = extension?;
        let (key, value) = (extension.key_bytes(), extension.value_bytes());
        let text = std::str::from_utf8(value).unwrap_or_default();
        match key {
            b"mtime" => records.mtime = moment::seconds(text),
            b"atime" => records.atime = moment::seconds(text),
            b"uid" => records.uid = text.parse().ok(),
            b"gid" => records.gid = text.parse().ok(),
            _ => {
                let name = key.strip_prefix(XATTR.as_bytes()).filter(|name| name.starts_with(b"user."));
                records.attributes.extend(name.map(|name| (name.to_vec(), value.to_vec())));
            }
        }
    }
    Ok(records)
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
