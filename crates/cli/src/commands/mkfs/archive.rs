//! A tar archive as a tree: headers of the seventh Unix, of POSIX, GNU and PAX, hard links, sparse files.
//!
//! A1. Nothing in an archive is trusted. A name stays below the root (planned-2), a length within the archive, and each
//!     header has the right sum; else the error names the entry, and nothing is built.
//! A2. An archive that ends without the blocks of zeroes that mark its end was cut, and is refused: it may lack files.
//! A3. The contents stay where they are, and are read when the volume is filled. An archive that cannot be read again
//!     (standard input, gzip) is stored in a scratch file first.

mod pax;

use super::planned::{Content, Extent, Id, Meta, Tree, names};
use crate::{interrupt, text};
use anyhow::{Context, anyhow, bail};
use ordo_vfs::{Kind, Stamp};
use pax::Pax;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::AsFd;
use rustix::io::Errno;
use std::fs::File;
use std::io::{Cursor, ErrorKind, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use tar::{EntryType, GnuExtSparseHeader, Header};

const BLOCK: u64 = 512;

/// Most bytes of a long name or of a PAX header.
const LONGEST_HEADER: u64 = 16 << 20;

/// Compressed archives that are named in an error, by their first bytes.
const COMPRESSED: [(&[u8], &str); 3] =
    [(b"\xfd7zXZ\0", "xz -d"), (b"\x28\xb5\x2f\xfd", "zstd -d"), (b"BZh", "bzip2 -d")];

/// The tree of an archive; `-` is standard input. `now` is the time of directories that the archive does not have.
///
/// # Errors
/// When it cannot be read, is cut, or has an entry that cannot be in a volume.
pub(super) fn read(from: &Path, now: Stamp) -> anyhow::Result<Tree> {
    let file = seekable(from)?;
    let mut reader = Reader { len: file.metadata()?.len(), file, at: 0, named: 0 };
    let mut tree = Tree::new(Meta::new(Kind::Directory, 0o755, now));
    let missing = Meta::new(Kind::Directory, 0o755, now);
    while let Some(entry) = reader.next()? {
        interrupt::check()?;
        entry.put(&mut tree, &missing).with_context(|| text::escape(&entry.path))?;
    }
    tree.archive = Some(reader.file);
    Ok(tree)
}

/// The archive as a file in which any byte can be read (A3).
fn seekable(from: &Path) -> anyhow::Result<File> {
    let stdin = from == Path::new("-");
    let mut source: Box<dyn Read> = match stdin {
        true => Box::new(Patient(std::io::stdin().as_fd().try_clone_to_owned()?.into())),
        false => Box::new(File::open(from)?),
    };
    let mut head = Vec::new();
    let read = source.by_ref().take(BLOCK).read_to_end(&mut head);
    interrupt::check()?;
    read?;
    if let Some((_, program)) = COMPRESSED.iter().find(|(magic, _)| head.starts_with(magic)) {
        bail!("is compressed; pipe it: {program} < ARCHIVE | ordo mkfs -d - IMAGE");
    }
    let gzip = head.starts_with(b"\x1f\x8b");
    if !stdin && !gzip && from.is_file() {
        return Ok(File::open(from)?);
    }
    let whole = Cursor::new(head).chain(source);
    let mut scratch = tempfile::tempfile().context("no scratch file can be made; set TMPDIR")?;
    match gzip {
        true => store(flate2::read::MultiGzDecoder::new(whole), &mut scratch)?,
        false => store(whole, &mut scratch)?,
    }
    Ok(scratch)
}

/// Standard input, whose other end may never send anything: waits for it in short pieces, so that a signal is seen.
struct Patient(File);

impl Read for Patient {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let wait = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        loop {
            let mut input = [PollFd::new(&self.0, PollFlags::IN)];
            match poll(&mut input, Some(&wait)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return self.0.read(bytes),
                Err(error) => return Err(error.into()),
            }
            interrupt::check().map_err(std::io::Error::other)?;
        }
    }
}

fn store(mut from: impl Read, to: &mut File) -> anyhow::Result<()> {
    let mut piece = vec![0; 1 << 20];
    loop {
        let read = from.read(&mut piece);
        interrupt::check()?;
        match read {
            Ok(0) => return Ok(()),
            Ok(len) => to.write_all(&piece[..len]).context("the scratch file (set TMPDIR to another directory)")?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Err(cut()),
            Err(error) => return Err(error.into()),
        }
    }
}

fn cut() -> anyhow::Error {
    anyhow!("the archive was cut: it ends without a mark of its end")
}

/// Goes through the headers.
struct Reader {
    file: File,
    len: u64,
    at: u64,
    /// Entries so far, for messages.
    named: u64,
}

/// A file in the archive.
struct Entry {
    path: Vec<u8>,
    target: Vec<u8>,
    what: EntryType,
    meta: Meta,
    size: u64,
    extents: Vec<Extent>,
}

/// What headers before an entry say about it.
#[derive(Default)]
struct Before {
    path: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
    pax: Pax,
}

impl Reader {
    /// The next file; `None` at the end.
    fn next(&mut self) -> anyhow::Result<Option<Entry>> {
        let mut before = Before::default();
        loop {
            let block = self.block()?;
            if block.iter().all(|&byte| byte == 0) {
                return Ok(None);
            }
            let header = Header::from_byte_slice(&block);
            self.named += 1;
            let number = self.named;
            let which = || format!("entry {number} of the archive");
            check_sum(header).with_context(which)?;
            let what = header.entry_type();
            let size = match before.pax.number("size") {
                Some(size) if !is_header(what) => size,
                _ => header.entry_size().with_context(which)?,
            };
            match what {
                EntryType::GNULongName => before.path = Some(until_nul(self.small(size)?)),
                EntryType::GNULongLink => before.target = Some(until_nul(self.small(size)?)),
                EntryType::XHeader => before.pax = Pax::parse(&self.small(size)?).with_context(which)?,
                // A comment for all entries, or the name of the archive.
                EntryType::XGlobalHeader => drop(self.small(size)?),
                _ if what.as_byte() == b'V' => {}
                _ => return self.entry(header, &before, size).map(Some),
            }
        }
    }

    fn entry(&mut self, header: &Header, before: &Before, stored: u64) -> anyhow::Result<Entry> {
        let pax = &before.pax;
        let path = pax.bytes("GNU.sparse.name").or(pax.bytes("path")).map(<[u8]>::to_vec);
        let path = path.or(before.path.clone()).unwrap_or_else(|| header.path_bytes().into_owned());
        let target = pax.bytes("linkpath").map(<[u8]>::to_vec).or(before.target.clone());
        let target = target.or_else(|| header.link_name_bytes().map(|name| name.into_owned())).unwrap_or_default();
        let mut entry = self.described(header, before, stored, path.clone(), target);
        if let Ok(entry) = &mut entry {
            entry.path = path.clone();
        }
        entry.with_context(|| text::escape(&path))
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
            None => Stamp { secs: i64::try_from(header.mtime()?).unwrap_or(i64::MAX), nanos: 0 },
        };
        let id = |found: u64| u32::try_from(found).map_err(|_| anyhow!("an owner of {found}: more than 32 bits"));
        let mut meta = Meta::new(kind, (header.mode()? & 0o7777) as u16, mtime);
        meta.uid = id(pax.number("uid").map_or_else(|| header.uid(), Ok)?)?;
        meta.gid = id(pax.number("gid").map_or_else(|| header.gid(), Ok)?)?;
        meta.xattrs = pax.xattrs();
        if kind.is_device() {
            let (major, minor) = (header.device_major()?, header.device_minor()?);
            meta.rdev = rustix::fs::makedev(major.unwrap_or(0), minor.unwrap_or(0));
        }
        let mut entry = Entry { path, target, what, meta, size: 0, extents: Vec::new() };
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
                    map.push((one.offset()?, one.length()?));
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
            (map, gnu.real_size()?)
        } else if pax.bytes("GNU.sparse.major").is_some() {
            let size = pax.number("GNU.sparse.realsize").context("a sparse file without its size")?;
            (self.map(stored, entry)?, size)
        } else if let Some(map) = pax.sparse()? {
            (map, pax.number("GNU.sparse.size").context("a sparse file without its size")?)
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
        let mut number = |reader: &mut Reader| -> anyhow::Result<u64> {
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
        if self.len.saturating_sub(self.at) < BLOCK {
            return Err(self.no_end());
        }
        self.file.read_exact_at(&mut block, self.at)?;
        self.at += BLOCK;
        Ok(block)
    }

    /// The contents of a header that is a file of its own.
    fn small(&mut self, size: u64) -> anyhow::Result<Vec<u8>> {
        if size > LONGEST_HEADER {
            bail!("entry {} of the archive: a name or header of {size} bytes", self.named);
        }
        let mut bytes = vec![0; size as usize];
        let at = self.at;
        self.skip(size)?;
        self.file.read_exact_at(&mut bytes, at)?;
        Ok(bytes)
    }

    fn skip(&mut self, size: u64) -> anyhow::Result<()> {
        let end = size.checked_next_multiple_of(BLOCK).and_then(|len| self.at.checked_add(len));
        self.at = end.filter(|&end| end <= self.len).ok_or_else(|| self.no_end())?;
        Ok(())
    }

    fn no_end(&self) -> anyhow::Error {
        if self.named == 0 { anyhow!("is neither a directory nor a tar archive") } else { cut() }
    }
}

/// Whether it describes the entry after it.
fn is_header(what: EntryType) -> bool {
    matches!(what, EntryType::GNULongName | EntryType::GNULongLink | EntryType::XHeader | EntryType::XGlobalHeader)
}

/// The sum of a header's bytes, with spaces for those of the sum.
fn check_sum(header: &Header) -> anyhow::Result<()> {
    let bytes = header.as_bytes();
    let sum: u32 = bytes[..148].iter().chain(&bytes[156..]).map(|&b| u32::from(b)).sum::<u32>() + 8 * 32;
    match header.cksum() {
        Ok(found) if found == sum => Ok(()),
        _ => bail!("the sum of its header is wrong; it is no tar archive, or damaged"),
    }
}

fn until_nul(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    bytes.truncate(end);
    bytes
}

impl Entry {
    fn put(&self, tree: &mut Tree, missing: &Meta) -> anyhow::Result<()> {
        let path = names(&self.path)?;
        let Some(name) = path.last() else {
            if self.meta.kind != Kind::Directory {
                bail!("the root is a directory");
            }
            tree.node_mut(Id::ROOT).meta = self.meta.clone();
            return Ok(());
        };
        let dir = tree.above(&path, missing)?;
        if self.what == EntryType::Link {
            let shown = || text::escape(&self.target);
            let to = names(&self.target).with_context(|| format!("a link to {}", shown()))?;
            let first =
                tree.find(&to).with_context(|| format!("a link to {}, which is not in the archive", shown()))?;
            if tree.node(first).meta.kind == Kind::Directory {
                bail!("a link to {}, which is a directory", shown());
            }
            if path != to {
                tree.link(dir, name, first)?;
            }
            return Ok(());
        }
        let content = match self.meta.kind {
            Kind::Symlink => Content::Target(self.target.clone()),
            Kind::Regular if self.size > 0 => Content::Archive { size: self.size, extents: self.extents.clone() },
            _ => Content::Nothing,
        };
        tree.put(dir, name, self.meta.clone(), content)?;
        Ok(())
    }
}
