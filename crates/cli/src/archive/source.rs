//! Where the bytes of an archive come from: a file of the host, or a stream, which may be compressed.

use crate::interrupt;
use anyhow::{Context, anyhow, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::AsFd;
use rustix::io::Errno;
use std::fs::File;
use std::io::{BufReader, Cursor, ErrorKind, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The unit of an archive.
pub(super) const BLOCK: u64 = 512;

/// Compressed archives that are named in an error, by their first bytes.
const COMPRESSED: [(&[u8], &str); 3] =
    [(b"\xfd7zXZ\0", "xz -d"), (b"\x28\xb5\x2f\xfd", "zstd -d"), (b"BZh", "bzip2 -d")];

/// The bytes of an archive.
pub(crate) trait Source {
    /// Reads all of `bytes`. `at` never goes back (cli-archive-4), except in a file.
    fn fetch(&mut self, at: u64, bytes: &mut [u8]) -> std::io::Result<()>;
}

impl Source for File {
    fn fetch(&mut self, at: u64, bytes: &mut [u8]) -> std::io::Result<()> {
        self.read_exact_at(bytes, at)
    }
}

/// An archive that comes piece by piece.
pub(crate) struct Stream {
    from: Box<dyn Read>,
    at: u64,
}

impl Source for Stream {
    fn fetch(&mut self, at: u64, bytes: &mut [u8]) -> std::io::Result<()> {
        let mut between = at.saturating_sub(self.at);
        let mut nowhere = [0; 1 << 13];
        while between > 0 {
            let len = between.min(nowhere.len() as u64);
            self.from.read_exact(&mut nowhere[..len as usize])?;
            between -= len;
        }
        self.from.read_exact(bytes)?;
        self.at = at.max(self.at) + bytes.len() as u64;
        Ok(())
    }
}

/// An archive as it comes; `-` is standard input.
///
/// # Errors
/// When it cannot be opened, or is compressed by something else than gzip.
pub(crate) fn stream(from: &Path) -> anyhow::Result<Stream> {
    let (gzip, whole) = opened(from)?;
    let from: Box<dyn Read> = match gzip {
        true => Box::new(BufReader::with_capacity(1 << 16, flate2::read::MultiGzDecoder::new(whole))),
        false => Box::new(BufReader::with_capacity(1 << 16, whole)),
    };
    Ok(Stream { from, at: 0 })
}

/// An archive as a file in which any byte can be read; one that cannot be read again (standard input, gzip) is stored
/// in a scratch file.
///
/// # Errors
/// As [`stream`]; when there is no room for it.
pub(crate) fn seekable(from: &Path) -> anyhow::Result<File> {
    let (gzip, whole) = opened(from)?;
    if from != Path::new("-") && !gzip && from.is_file() {
        return Ok(File::open(from)?);
    }
    let mut scratch = tempfile::tempfile().context("no scratch file can be made; set TMPDIR")?;
    match gzip {
        true => store(flate2::read::MultiGzDecoder::new(whole), &mut scratch)?,
        false => store(whole, &mut scratch)?,
    }
    Ok(scratch)
}

/// Whether it is compressed with gzip, and all of its bytes.
fn opened(from: &Path) -> anyhow::Result<(bool, impl Read + use<>)> {
    let mut source: Box<dyn Read> = match from == Path::new("-") {
        true => Box::new(Patient(std::io::stdin().as_fd().try_clone_to_owned()?.into())),
        false => Box::new(File::open(from)?),
    };
    let mut head = Vec::new();
    let read = source.by_ref().take(BLOCK).read_to_end(&mut head);
    interrupt::check()?;
    read?;
    if let Some((_, program)) = COMPRESSED.iter().find(|(magic, _)| head.starts_with(magic)) {
        bail!("is compressed; pipe it: {program} < ARCHIVE | ordo ... with - for ARCHIVE");
    }
    Ok((head.starts_with(b"\x1f\x8b"), Cursor::new(head).chain(source)))
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

/// The error of an archive that ends too early (cli-archive-2).
pub(crate) fn cut() -> anyhow::Error {
    anyhow!("the archive was cut: it ends without a mark of its end")
}
