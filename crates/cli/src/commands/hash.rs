//! `ordo hash`

use crate::image::{self, Forensic, Start, Tally};
use crate::out::{Out, Outcome};
use crate::place::{Inside, join, last_name};
use crate::{progress, stored, text, weigh};
use anyhow::{Context, bail};
use ordo_vfs::{FileSystem, Kind};
use ordofs::Fs;
use ordofs::path::{Held, resolve};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::rc::Rc;

/// Bytes of one read.
const PIECE: u32 = 1 << 20;

static ZEROES: [u8; 1 << 16] = [0; 1 << 16];

/// Most bytes of holes in one file that are hashed unasked.
const MOST_ZEROES: u64 = 64 << 30;

/// Prints the SHA-256 of every file, as sha256sum does
///
/// The paths are relative to the directory that is named, so that sha256sum -c finds the files in a copy of it. A name
/// with a backslash or the end of a line is escaped as sha256sum escapes it. Nothing is written to the image.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo hash disk.img > sums\n  ordo cp -r disk.img:/home copy && \
                        (ordo hash disk.img:/home | (cd copy && sha256sum -c))")]
pub(crate) struct Args {
    /// IMAGE:/path, or IMAGE for its root
    #[arg(value_name = "IMAGE:/PATH")]
    place: OsString,
    /// Also hash files with more than 64 GiB of holes, each zero of which takes its time
    #[arg(long)]
    holes: bool,
    #[command(flatten)]
    _forensic: Forensic,
    #[command(flatten)]
    start: Start,
}

/// Hashes the files in the order of their names; what cannot be read is reported.
pub(crate) fn run(args: &Args) -> Outcome {
    let place = Inside::parse(&args.place);
    let spec = image::spec(&place.image, args.start)?;
    let (mut out, mut tally) = (Out::new(), Tally::new());
    image::read(&spec, async |fs| {
        let start = resolve(fs, &place.path, true).await.with_context(|| place.shown())?;
        weigh::begin(&start).await?;
        let path = if start.is_dir() { b".".to_vec() } else { last_name(&place.path).to_vec() };
        // On a damaged volume a directory may appear below itself.
        let mut seen = BTreeSet::new();
        let mut waiting = vec![(path, start)];
        while let Some((path, file)) = waiting.pop() {
            if file.attr().kind == Kind::Regular {
                if let Some(sum) = tally.judge(&text::escape(&path), sum(fs, &file, args.holes).await) {
                    // On a terminal the line of progress is in the way.
                    progress::aside(|| out.bytes(&line(&sum, &path)).and_then(|()| out.shown()))?;
                }
            } else if file.is_dir() {
                if !seen.insert(file.attr().ino) {
                    tally.complain(&text::escape(&path), &"met before: the volume is damaged");
                    continue;
                }
                let (mut names, outcome) = file.names().await;
                tally.judge(&text::escape(&path), outcome);
                names.sort_unstable();
                for name in names.into_iter().rev() {
                    let below = join(&path, &name);
                    if let Some(found) = tally.judge(&text::escape(&below), file.lookup(&name).await) {
                        waiting.push((below, found));
                    }
                }
            }
        }
        anyhow::Ok(())
    })?;
    out.end()?;
    Ok(tally.status())
}

/// The sum of a file. Holes are not read, but a sum needs each of their zeroes: without `--holes` a file with more of
/// them than a minute or so takes is left out.
async fn sum(fs: &Rc<Fs>, file: &Held<Fs>, all: bool) -> anyhow::Result<String> {
    let (mut hash, mut at, mut zeroes) = (Sha256::new(), 0, 0);
    let size = file.attr().size;
    let mut hole = |hash: &mut Sha256, mut len: u64| {
        zeroes += len;
        if zeroes > MOST_ZEROES && !all {
            bail!("{} of it are holes, whose zeroes take long to hash; give --holes", crate::size::human(zeroes));
        }
        while len > 0 {
            let piece = len.min(ZEROES.len() as u64);
            hash.update(&ZEROES[..piece as usize]);
            len -= piece;
        }
        Ok(())
    };
    while let Some(range) = stored::next(file, at).await? {
        hole(&mut hash, range.start - at)?;
        at = range.start;
        while at < range.end {
            let pieces = fs.read(file.node(), at, (range.end - at).min(PIECE.into()) as u32).await?;
            let read: usize = pieces.iter().map(|piece| piece.len()).sum();
            if read == 0 {
                return Ok(text::hex(&hash.finalize()));
            }
            pieces.iter().for_each(|piece| hash.update(piece));
            at += read as u64;
            progress::add(read as u64);
        }
    }
    hole(&mut hash, size.saturating_sub(at))?;
    Ok(text::hex(&hash.finalize()))
}

/// The line of sha256sum: a backslash before it says that the name is escaped.
fn line(sum: &str, path: &[u8]) -> Vec<u8> {
    let mut line = Vec::with_capacity(sum.len() + path.len() + 4);
    if path.iter().any(|b| b"\\\n\r".contains(b)) {
        line.push(b'\\');
    }
    line.extend_from_slice(sum.as_bytes());
    line.extend_from_slice(b"  ");
    for &byte in path {
        match byte {
            b'\\' => line.extend_from_slice(b"\\\\"),
            b'\n' => line.extend_from_slice(b"\\n"),
            b'\r' => line.extend_from_slice(b"\\r"),
            byte => line.push(byte),
        }
    }
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_as_sha256sum_does() {
        assert_eq!(line("ab", b"./plain name"), b"ab  ./plain name\n");
        assert_eq!(line("ab", b"./a\\b\nc"), b"\\ab  ./a\\\\b\\nc\n");
    }
}
