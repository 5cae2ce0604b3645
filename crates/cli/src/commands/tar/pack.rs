//! Writing an archive of a tree.
//!
//! K1. A file with several names is written once; its later names are links to the first.
//! K2. The bytes depend on the tree alone: names are in order, and no time of day, name of a user or number of an inode
//!     is written. Two archives of one tree are equal.
//! K3. What an archive has no form for is counted, and said in a line at the end.

use super::holes::{self, Records, Sparse};
use crate::acl;
use crate::archive::extended::{SELINUX, encoded, is_kept};
use crate::image::Opened;
use crate::out::Status;
use crate::place::{Inside, last_name};
use crate::progress;
use crate::text;
use crate::walk::Walk;
use crate::{flags, interrupt, listing, weigh};
use anyhow::Context;
use ordo_ondisk::acl::Acl;
use ordo_vfs::{Attr, FileSystem, Kind, Refusal, Stamp};
use ordofs::Fs;
use ordofs::path::{Held, resolve};
use ordofs::rt::Rt;
use std::collections::{HashMap, VecDeque};
use std::io::{self, Read, Write};
use std::iter::once;
use std::ops::Range;
use tar::{Builder, EntryType, Header};

/// Bytes of one read.
const PIECE: u64 = 1 << 20;
/// Bytes of a name in a header.
const NAME: usize = 100;

/// Writes the tree at `place`.
pub(super) fn pack(opened: &Opened, place: &Inside, to: &mut dyn Write) -> anyhow::Result<Status> {
    let rt = &opened.rt;
    let top = rt.block_on(resolve(opened.fs(), &place.path, true)).with_context(|| place.shown())?;
    // A directory is the archive's root; a file keeps its name.
    let base = if top.is_dir() { place.path.len() } else { place.path.len() - last_name(&place.path).len() };
    rt.block_on(weigh::begin(&top))?;
    let mut walk = Walk::new(&place.path, top, true);
    let has_acls = opened.mounted.has_acls();
    let mut packer = Packer { rt, builder: Builder::new(to), names: HashMap::new(), has_acls, lost: 0 };
    while let Some((path, file)) = rt.block_on(walk.next())? {
        let below = path.get(base..).unwrap_or_default();
        let below = below.strip_prefix(b"/").unwrap_or(below);
        let mut name = [b"./", below].concat();
        if file.is_dir() && !name.ends_with(b"/") {
            name.push(b'/');
        }
        if file.attr().kind == Kind::Socket {
            walk.tally.complain(&text::escape(&path), &"a socket; left out, since archives have none");
            continue;
        }
        // A part of a file cannot be taken back.
        packer.file(&name, &file).with_context(|| text::escape(&path))?;
    }
    packer.builder.finish().context("the archive")?;
    if packer.lost > 0 {
        let said = format!("{} extended attributes are left out: an archive has no form for them", packer.lost);
        walk.tally.complain(&place.shown(), &said);
    }
    Ok(walk.tally.status())
}

struct Packer<'a> {
    rt: &'a Rt,
    builder: Builder<&'a mut dyn Write>,
    /// The first names of files that have several (K1).
    names: HashMap<u64, Vec<u8>>,
    has_acls: bool,
    /// Attributes that are left out (K3).
    lost: u64,
}

impl Packer<'_> {
    fn file(&mut self, name: &[u8], file: &Held<Fs>) -> anyhow::Result<()> {
        let attr = file.attr();
        let mut records = Records::new();
        let mut header = header(attr, &mut records);
        put(&mut header, name, &mut records, false);
        if attr.nlink > 1 && !file.is_dir() {
            if let Some(first) = self.names.get(&attr.ino) {
                header.set_entry_type(EntryType::Link);
                header.set_size(0);
                put(&mut header, first, &mut records, true);
                return self.append(header, &records, &mut io::empty());
            }
            self.names.insert(attr.ino, name.to_vec());
        }
        if let Some(target) = self.rt.block_on(listing::target(file))? {
            put(&mut header, &target, &mut records, true);
        }
        let mode = self.attributes(file, &mut records)?;
        header.set_mode(mode.into());
        if attr.kind != Kind::Regular {
            return self.append(header, &records, &mut io::empty());
        }
        let rt = self.rt;
        match rt.block_on(Sparse::of(file))? {
            None => self.append(header, &records, &mut Contents { rt, file, ranges: once(0..attr.size).collect() }),
            Some(sparse) => {
                put(&mut header, &holes::other_name(name), &mut records, false);
                sparse.describe(name, &mut records);
                header.set_size(sparse.stored());
                let mut contents = sparse.map.chain(Contents { rt, file, ranges: sparse.ranges });
                self.append(header, &records, &mut contents)
            }
        }
    }

    /// Records for what is not in the header; returns the permissions. A reader that knows no lists shall not give the
    /// group what is the mask's.
    fn attributes(&mut self, file: &Held<Fs>, records: &mut Records) -> anyhow::Result<u16> {
        let (rt, fs) = (self.rt, file.fs());
        let mut mode = file.attr().mode.bits();
        let flags = flags::for_archive(file.attr().flags);
        if !flags.is_empty() {
            records.push(("SCHILY.fflags".to_owned(), flags.into_bytes()));
        }
        let mut names = match rt.block_on(fs.listxattr(file.node())) {
            Err(ordo_vfs::Error::Refused(Refusal::NotSupported)) => return Ok(mode),
            names => names?,
        };
        names.sort_unstable();
        for name in names.iter().filter(|name| *name != SELINUX) {
            let record = match &name[..] {
                acl::ACCESS if self.has_acls => Some("SCHILY.acl.access".to_owned()),
                acl::DEFAULT if self.has_acls => Some("SCHILY.acl.default".to_owned()),
                // A record's name is text.
                name if is_kept(name) => {
                    std::str::from_utf8(name).ok().map(|name| format!("SCHILY.xattr.{}", encoded(name)))
                }
                _ => None,
            };
            let Some(record) = record else {
                self.lost += 1;
                continue;
            };
            let value = rt.block_on(fs.getxattr(file.node(), name))?;
            let list = Acl::from_linux(&value).filter(|_| !is_kept(name));
            if let Some(list) = list.as_ref().filter(|_| name == acl::ACCESS) {
                mode = acl::mode_beside(mode, list, false);
            }
            let value = list.map_or_else(|| value.to_vec(), |list| acl::for_archive(&list).into_bytes());
            records.push((record, value));
        }
        Ok(mode)
    }

    fn append(&mut self, mut header: Header, records: &Records, contents: &mut dyn Read) -> anyhow::Result<()> {
        if !records.is_empty() {
            let records = records.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
            self.builder.append_pax_extensions(records)?;
        }
        header.set_cksum();
        self.builder.append(&header, contents)?;
        Ok(())
    }
}

fn header(attr: &Attr, records: &mut Records) -> Header {
    let mut header = Header::new_ustar();
    header.set_entry_type(match attr.kind {
        Kind::Regular => EntryType::Regular,
        Kind::Directory => EntryType::Directory,
        Kind::Symlink => EntryType::Symlink,
        Kind::CharDevice => EntryType::Char,
        Kind::BlockDevice => EntryType::Block,
        Kind::Fifo | Kind::Socket => EntryType::Fifo,
    });
    header.set_mode(attr.mode.bits().into());
    header.set_uid(attr.uid.into());
    header.set_gid(attr.gid.into());
    header.set_size(if attr.kind == Kind::Regular { attr.size } else { 0 });
    header.set_mtime(u64::try_from(attr.mtime.secs).unwrap_or(0));
    if attr.kind.is_device() {
        let (major, minor) = listing::device(attr.rdev);
        // OK to ignore: a header of this form has both fields.
        let _ = header.set_device_major(major).and_then(|()| header.set_device_minor(minor));
    }
    let mut time = |name: &str, stamp: Stamp| records.push((name.to_owned(), decimal(stamp).into_bytes()));
    if attr.mtime.nanos != 0 || attr.mtime.secs < 0 {
        time("mtime", attr.mtime);
    }
    for (name, id) in [("uid", attr.uid), ("gid", attr.gid)] {
        // Seven octal digits; what `set_uid` puts there beyond is an extension of GNU.
        if id > 0o7_777_777 {
            records.push((name.to_owned(), id.to_string().into_bytes()));
        }
    }
    header
}

/// Puts a name into a header, or what is longer into a record.
fn put(header: &mut Header, name: &[u8], records: &mut Records, link: bool) {
    if name.len() > NAME {
        records.push((if link { "linkpath" } else { "path" }.to_owned(), name.to_vec()));
    }
    let old = header.as_old_mut();
    let field = if link { &mut old.linkname } else { &mut old.name };
    field.iter_mut().zip(name).for_each(|(to, from)| *to = *from);
}

/// Seconds since 1970 with a fraction, also before it.
fn decimal(stamp: Stamp) -> String {
    let (sign, secs, nanos) = match (stamp.secs, stamp.nanos) {
        (0.., nanos) => ("", stamp.secs.unsigned_abs(), nanos),
        (_, 0) => ("-", stamp.secs.unsigned_abs(), 0),
        (_, nanos) => ("-", stamp.secs.unsigned_abs() - 1, 1_000_000_000 - nanos),
    };
    format!("{sign}{secs}.{nanos:09}")
}

/// Ranges of a file, for the archive's writer.
struct Contents<'a> {
    rt: &'a Rt,
    file: &'a Held<Fs>,
    ranges: VecDeque<Range<u64>>,
}

impl Read for Contents<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Some(range) = self.ranges.front_mut() else { return Ok(0) };
        let most = (range.end - range.start).min(PIECE).min(into.len() as u64);
        interrupt::check().map_err(io::Error::other)?;
        // OK to cast: at most PIECE.
        let pieces = self.rt.block_on(self.file.fs().read(self.file.node(), range.start, most as u32))?;
        let mut rest = into;
        let mut read = 0;
        for piece in &pieces {
            let n = piece.len().min(rest.len());
            rest[..n].copy_from_slice(&piece[..n]);
            rest = &mut rest[n..];
            read += n;
        }
        if read == 0 && most > 0 {
            // The header tells a length already: without these bytes the archive would be wrong from here on.
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        range.start += read as u64;
        if range.is_empty() {
            self.ranges.pop_front();
        }
        progress::add(read as u64);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_so_that_they_are_read_again() {
        for (secs, nanos, text) in [(5, 1, "5.000000001"), (-1, 999_999_999, "-0.000000001"), (-2, 0, "-2.000000000")] {
            let stamp = Stamp { secs, nanos };
            assert_eq!(decimal(stamp), text);
            assert_eq!(crate::moment::seconds(text), Some(stamp));
        }
    }
}
