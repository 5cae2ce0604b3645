//! Tar archives: headers of the seventh Unix, of POSIX, GNU and PAX, hard links, sparse files. `ordo mkfs -d` builds a
//! volume of one, `ordo tar` unpacks and lists it.
//!
//! A1. Nothing in an archive is trusted. Each header has the right sum, and a length is bounded before memory is taken
//!     for it; what uses an entry checks its name.
//! A2. An archive that ends without the blocks of zeroes that mark its end was cut, and is an error: it may lack files.
//! A3. An entry that cannot be understood is an error of that entry; the next one is found behind it. What is wrong in
//!     one is said, and never read as something else: another reader would see another archive.
//! A4. Contents are read in the order in which they are stored, so that an archive may be a stream.

pub(crate) mod extended;
mod number;
mod pax;
mod source;

use crate::{acl, interrupt, text};
use anyhow::{Context, anyhow, bail};
use extended::{Extended, List};
use ordo_vfs::{Kind, Stamp};
use pax::Pax;
use source::BLOCK;
pub(crate) use source::{Source, Stream, cut, seekable, stream};
use std::io::ErrorKind;
use std::ops::Range;
use tar::{EntryType, GnuExtSparseHeader, Header};

/// Most bytes of a long name or of a PAX header.
const LONGEST_HEADER: u64 = 16 << 20;

/// Attributes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Meta {
    pub(crate) kind: Kind,
    pub(crate) mode: u16,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) mtime: Stamp,
    /// BSD file flags.
    pub(crate) flags: u32,
    /// Device number in Linux's encoding.
    pub(crate) rdev: u64,
    /// By the names of Linux, access control lists included.
    pub(crate) xattrs: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Meta {
    pub(crate) fn new(kind: Kind, mode: u16, mtime: Stamp) -> Meta {
        Meta { kind, mode: mode & 0o7777, uid: 0, gid: 0, mtime, flags: 0, rdev: 0, xattrs: Vec::new() }
    }
}

/// Bytes of a file that are stored; between them are holes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Where they are in the file.
    pub(crate) at: u64,
    /// Where they are in what is read.
    pub(crate) from: u64,
    pub(crate) len: u64,
}

/// Goes through the headers.
pub(crate) struct Reader<S> {
    source: S,
    at: u64,
    /// Entries so far, and the path of the last one: for messages.
    named: u64,
    last: Vec<u8>,
}

/// A file in the archive.
pub(crate) struct Entry {
    pub(crate) path: Vec<u8>,
    pub(crate) target: Vec<u8>,
    /// It is another name of the file `target`.
    pub(crate) is_link: bool,
    pub(crate) meta: Meta,
    pub(crate) atime: Option<Stamp>,
    pub(crate) size: u64,
    pub(crate) extents: Vec<Extent>,
    /// Access control lists, whose names are not looked up yet.
    pub(crate) lists: Vec<List>,
    /// What is left out of the entry, a line each.
    pub(crate) lost: Vec<String>,
}

impl Entry {
    /// Makes attributes of the lists, with the numbers of names; one that cannot be understood is left out, and said.
    pub(crate) fn take_lists(&mut self, user: impl Fn(&str) -> Option<u32>, group: impl Fn(&str) -> Option<u32>) {
        for List { default, text } in std::mem::take(&mut self.lists) {
            let (name, what) = if default {
                (acl::DEFAULT, "its default access control list")
            } else {
                (acl::ACCESS, "its access control list")
            };
            match acl::of_archive(&text, &user, &group) {
                Ok(list) => self.meta.xattrs.push((name.to_vec(), list.to_linux())),
                Err(error) => self.lost.push(format!("left out: {what}: {error:#}")),
            }
        }
    }
}

/// An entry, or why this one cannot be understood (A3), with its path.
pub(crate) type Found = Result<Entry, (Vec<u8>, anyhow::Error)>;

/// What headers before an entry say about it.
#[derive(Default)]
struct Before {
    path: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
    pax: Pax,
}

impl<S: Source> Reader<S> {
    pub(crate) fn new(source: S) -> Reader<S> {
        Reader { source, at: 0, named: 0, last: Vec::new() }
    }

    /// What the contents of the last entry are read from.
    pub(crate) fn source(&mut self) -> &mut S {
        &mut self.source
    }

    /// The same, when all entries are known.
    pub(crate) fn into_source(self) -> S {
        self.source
    }

    /// The next file; `None` at the end.
    ///
    /// # Errors
    /// When nothing behind this place can be understood.
    pub(crate) fn next(&mut self) -> anyhow::Result<Option<Found>> {
        let mut before = Before::default();
        loop {
            let block = self.block()?;
            if block.iter().all(|&byte| byte == 0) {
                return if self.named == 0 { self.empty() } else { Ok(None) };
            }
            let header = Header::from_byte_slice(&block);
            self.named += 1;
            let number = self.named;
            let which = || format!("entry {number} of the archive");
            check_sum(header).with_context(which)?;
            let what = header.entry_type();
            let size = match before.pax.number("size") {
                Ok(Some(size)) if !is_header(what) => size,
                // A wrong one is an error of the entry, which is found as far away as its header says.
                _ => number::count(field(header, SIZE)).context("the field of its size").with_context(which)?,
            };
            match what {
                EntryType::GNULongName => before.path = Some(until_nul(self.small(size)?)),
                EntryType::GNULongLink => before.target = Some(until_nul(self.small(size)?)),
                EntryType::XHeader => before.pax = Pax::parse(&self.small(size)?).with_context(which)?,
                // A comment for all entries, or the name of the archive.
                EntryType::XGlobalHeader => drop(self.small(size)?),
                _ if what.as_byte() == b'V' => {}
                _ => return Ok(Some(self.entry(header, &before, size))),
            }
        }
    }

    /// An archive that begins with its end has nothing else: a disk's image, which begins with zeroes, too, is none.
    fn empty(&mut self) -> anyhow::Result<Option<Found>> {
        let mut block = [0; BLOCK as usize];
        while self.at < LONGEST_HEADER {
            let read = self.source.fetch(self.at, &mut block);
            interrupt::check()?;
            match read {
                Ok(()) if block.iter().any(|&byte| byte != 0) => {
                    bail!("is no tar archive: it begins with zeroes, and has other bytes at {}", self.at)
                }
                Ok(()) => self.at += BLOCK,
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }

    fn entry(&mut self, header: &Header, before: &Before, stored: u64) -> Found {
        let pax = &before.pax;
        let path = pax.bytes("GNU.sparse.name").or(pax.bytes("path")).map(<[u8]>::to_vec);
        let path = path.or(before.path.clone()).unwrap_or_else(|| header.path_bytes().into_owned());
        let target = pax.bytes("linkpath").map(<[u8]>::to_vec).or(before.target.clone());
        let target = target.or_else(|| header.link_name_bytes().map(|name| name.into_owned())).unwrap_or_default();
        let start = self.at;
        self.last.clone_from(&path);
        self.described(header, before, stored, path.clone(), target).map_err(|error| {
            // Where the next header is, if the length is right.
            self.at = start.saturating_add(stored.checked_next_multiple_of(BLOCK).unwrap_or(u64::MAX));
            (path, error)
        })
    }

    fn described(
        &mut self,
        header: &Header,
        before: &Before,
        stored: u64,
        path: Vec<u8>,
        target: Vec<u8>,
    ) -> anyhow::Result<Entry> {
        let pax = &before.pax;
        pax.number("size")?;
        let mut what = header.entry_type();
        if what == EntryType::Regular && path.ends_with(b"/") {
            what = EntryType::Directory;
        }
        let kind = match what {
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse | EntryType::Link => Kind::Regular,
            EntryType::Directory => Kind::Directory,
            EntryType::Symlink => Kind::Symlink,
            EntryType::Char => Kind::CharDevice,
            EntryType::Block => Kind::BlockDevice,
            EntryType::Fifo => Kind::Fifo,
            other => bail!("an entry of type {:?}, which is not known", char::from(other.as_byte())),
        };
        let mtime = match pax.time("mtime")? {
            Some(time) => time,
            None => Stamp { secs: number::field(field(header, MTIME)).context("the field of its time")?, nanos: 0 },
        };
        let id = |key: &str, place, what: &'static str| -> anyhow::Result<u32> {
            let found = match pax.number(key)? {
                Some(found) => i128::from(found),
                None => number::field(field(header, place)).context(what)?.into(),
            };
            u32::try_from(found).map_err(|_| anyhow!("an owner of {found}: numbers are 0 to {}", u32::MAX))
        };
        let mode = number::field(field(header, MODE)).context("the field of its permissions")?;
        let mut meta = Meta::new(kind, (mode & 0o7777) as u16, mtime);
        meta.uid = id("uid", UID, "the field of its owner")?;
        meta.gid = id("gid", GID, "the field of its group")?;
        let Extended { xattrs, lists, flags, lost } = Extended::of(pax);
        (meta.xattrs, meta.flags) = (xattrs, flags);
        if kind.is_device() {
            // The oldest headers have no such fields.
            let has = header.as_ustar().is_some() || header.as_gnu().is_some();
            let part = |place| match has {
                true => u32::try_from(number::field(field(header, place)).context("the number of a device")?)
                    .context("the number of a device"),
                false => Ok(0),
            };
            meta.rdev = rustix::fs::makedev(part(MAJOR)?, part(MINOR)?);
        }
        let (is_link, atime) = (what == EntryType::Link, pax.time("atime")?);
        let mut entry = Entry { path, target, is_link, meta, atime, size: 0, extents: Vec::new(), lists, lost };
        match (kind, what) {
            // Its contents are those of the other name; only PAX stores them again.
            (_, EntryType::Link) => self.skip(if pax.is_empty() { 0 } else { stored })?,
            (Kind::Regular, _) => self.contents(header, pax, stored, &mut entry)?,
            _ => {}
        }
        Ok(entry)
    }

    /// Where the contents of a file are, sparse ones in the three forms of PAX and that of old GNU.
    fn contents(&mut self, header: &Header, pax: &Pax, stored: u64, entry: &mut Entry) -> anyhow::Result<()> {
        let gnu = header.as_gnu().filter(|_| header.entry_type() == EntryType::GNUSparse);
        let (map, size) = if let Some(gnu) = gnu {
            let mut map = Vec::new();
            let mut add = |sparse: &[tar::GnuSparseHeader]| {
                for one in sparse.iter().filter(|one| !one.is_empty()) {
                    let number = |bytes: &[u8]| number::count(bytes).context("the map of its holes");
                    map.push((number(&one.offset)?, number(&one.numbytes)?));
                }
                anyhow::Ok(())
            };
            add(&gnu.sparse)?;
            let mut more = gnu.is_extended();
            while more {
                let mut next = GnuExtSparseHeader::new();
                next.as_mut_bytes().copy_from_slice(&self.block()?);
                add(next.sparse())?;
                more = next.is_extended();
            }
            (map, number::count(&gnu.realsize).context("the size of a sparse file")?)
        } else if pax.bytes("GNU.sparse.major").is_some() {
            let size = pax.number("GNU.sparse.realsize")?.context("a sparse file without its size")?;
            (self.map(stored, entry)?, size)
        } else if let Some(map) = pax.sparse()? {
            (map, pax.number("GNU.sparse.size")?.context("a sparse file without its size")?)
        } else {
            (Vec::from([(0, stored)]), stored)
        };
        // Of the last form the map is a part of what is stored, and comes first.
        let ahead = entry.extents.pop().map_or(0, |map| map.len);
        let (mut from, mut end) = (self.at, 0);
        for (at, len) in map {
            if at < end || at.checked_add(len).is_none_or(|end| end > size) {
                bail!("the map of its holes is wrong: {len} bytes at {at} of {size}");
            }
            end = at + len;
            if len > 0 {
                entry.extents.push(Extent { at, from, len });
            }
            from = from.checked_add(len).context("more bytes than 64 bits count")?;
        }
        let stored = stored.checked_sub(ahead).context("the map of its holes is longer than the file")?;
        if from - self.at > stored {
            bail!("the map of its holes has more bytes than are stored");
        }
        entry.size = size;
        self.skip(stored)
    }

    /// The map at the start of a sparse file's contents: decimal numbers, one a line, in whole blocks.
    fn map(&mut self, stored: u64, entry: &mut Entry) -> anyhow::Result<Vec<(u64, u64)>> {
        let start = self.at;
        let (mut text, mut used) = (Vec::new(), 0);
        let mut number = |reader: &mut Self| -> anyhow::Result<u64> {
            loop {
                if let Some(len) = text[used..].iter().position(|&b: &u8| b == b'\n') {
                    let digits = std::str::from_utf8(&text[used..used + len])?;
                    used += len + 1;
                    return digits.parse().context("the map of its holes is wrong");
                }
                if reader.at - start >= stored.min(LONGEST_HEADER) {
                    bail!("the map of its holes has no end");
                }
                text.extend_from_slice(&reader.block()?);
            }
        };
        let count = number(self)?;
        let mut map = Vec::new();
        for _ in 0..count {
            map.push((number(self)?, number(self)?));
        }
        entry.extents.push(Extent { at: 0, from: start, len: self.at - start });
        Ok(map)
    }

    fn block(&mut self) -> anyhow::Result<[u8; BLOCK as usize]> {
        let mut block = [0; BLOCK as usize];
        self.read(&mut block)?;
        self.at += BLOCK;
        Ok(block)
    }

    /// The contents of a header that is a file of its own.
    fn small(&mut self, size: u64) -> anyhow::Result<Vec<u8>> {
        if size > LONGEST_HEADER {
            bail!("entry {} of the archive: a name or header of {size} bytes", self.named);
        }
        let mut bytes = vec![0; size as usize];
        self.read(&mut bytes)?;
        self.skip(size)?;
        Ok(bytes)
    }

    fn read(&mut self, bytes: &mut [u8]) -> anyhow::Result<()> {
        let read = self.source.fetch(self.at, bytes);
        interrupt::check()?;
        read.map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => self.no_end(),
            _ => error.into(),
        })
    }

    fn skip(&mut self, size: u64) -> anyhow::Result<()> {
        let end = size.checked_next_multiple_of(BLOCK).and_then(|len| self.at.checked_add(len));
        // What is behind the end is missed when the next header is read (A2).
        self.at = end.ok_or_else(|| self.no_end())?;
        Ok(())
    }

    fn no_end(&self) -> anyhow::Error {
        match &self.last[..] {
            _ if self.named == 0 => anyhow!("is neither a directory nor a tar archive"),
            [] => cut(),
            last => cut().context(text::escape(last)),
        }
    }
}

/// Whether it describes the entry after it.
fn is_header(what: EntryType) -> bool {
    matches!(what, EntryType::GNULongName | EntryType::GNULongLink | EntryType::XHeader | EntryType::XGlobalHeader)
}

/// The fields of a header that are numbers.
const MODE: Range<usize> = 100..108;
const UID: Range<usize> = 108..116;
const GID: Range<usize> = 116..124;
const SIZE: Range<usize> = 124..136;
const MTIME: Range<usize> = 136..148;
const SUM: Range<usize> = 148..156;
const MAJOR: Range<usize> = 329..337;
const MINOR: Range<usize> = 337..345;

fn field(header: &Header, place: Range<usize>) -> &[u8] {
    &header.as_bytes()[place]
}

/// The sum of a header's bytes, with spaces for those of the sum. Old systems added up signed characters.
fn check_sum(header: &Header) -> anyhow::Result<()> {
    let bytes = header.as_bytes();
    let rest = || bytes[..SUM.start].iter().chain(&bytes[SUM.end..]);
    let plain = rest().map(|&b| i64::from(b)).sum::<i64>() + 8 * 32;
    let signed = rest().map(|&b| i64::from(b as i8)).sum::<i64>() + 8 * 32;
    match number::field(field(header, SUM)) {
        Ok(found) if found == plain || found == signed => Ok(()),
        _ => bail!("the sum of its header is wrong; it is no tar archive, or damaged"),
    }
}

fn until_nul(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    bytes.truncate(end);
    bytes
}
