//! `ordo tar`
//!
//! `pack` writes archives in POSIX's pax form: what the header of a file has no room for is in records before it.
//! `unpack` makes files of one that `crate::archive` reads, in any form.

mod holes;
mod pack;
mod unpack;

use crate::archive::{self, Reader, Stream};
use crate::image::{self, Opened, Start, Tally};
use crate::interrupt::{self, Interrupted};
use crate::out::{Out, Outcome, usage};
use crate::place::Inside;
use crate::text;
use anyhow::Context;
use ordofs::rt::Rt;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Packs a tree of an image into an archive, or unpacks one into an image
///
/// c writes the tree below IMAGE:/PATH to ARCHIVE, x makes the files of ARCHIVE below IMAGE:/PATH, t lists ARCHIVE.
/// Owners (as numbers), modes, times, hard links, symbolic links, devices and pipes, file flags, access control lists
/// of POSIX.1e and extended attributes (user, trusted, security) are kept, in the records of GNU tar and bsdtar; a
/// label of SELinux belongs to its system, and is not. ARCHIVE is a file of the host, or - for standard input or
/// output; x and t also read one that is compressed with gzip.
///
/// Nothing is made outside IMAGE:/PATH: names with a slash in front or with .. are left out, and no symbolic link is
/// followed. What is left out is reported, and the exit status is 3.
///
/// Holes are kept: c writes a file that has some as GNU tar does with --sparse, which libarchive and Python read, too.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo tar c disk.img:/ backup.tar\n  \
    ordo tar c disk.img:/home - | zstd > home.tar.zst\n  \
    ordo tar x disk.img:/ base.tar.gz\n  ordo tar t backup.tar")]
pub(crate) struct Args {
    /// c: pack, x: unpack, t: list
    #[arg(value_enum, value_name = "c|x|t", hide_possible_values = true)]
    what: What,
    /// IMAGE:/path, or IMAGE for its root; may be left out with t
    #[arg(value_name = "IMAGE:/PATH", required = true)]
    place: OsString,
    /// The archive; - for standard input or output
    archive: Option<PathBuf>,
    #[command(flatten)]
    start: Start,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum What {
    C,
    X,
    T,
}

/// Packs, unpacks or lists.
pub(crate) fn run(args: &Args) -> Outcome {
    let (place, rt) = (Inside::parse(&args.place), Rt::real_time());
    let archive = match (&args.archive, args.what) {
        (Some(archive), _) => archive.as_path(),
        (None, What::T) => Path::new(&args.place),
        (None, _) => return Err(usage("tar: name an archive, or - for standard input or output")),
    };
    match args.what {
        What::T => list(archive),
        What::C => {
            let opened = Opened::to_read(&rt, &image::spec(&place.image, args.start)?)?;
            interrupt::catch()?;
            let (mut to, shown) = (writer(archive)?, || text::one_line(&archive.display().to_string()));
            let packed = pack::pack(&opened, &place, &mut to);
            if let (Err(_), Some(signal)) = (&packed, interrupt::caught()) {
                let left = if is_stream(archive) { "the output".to_owned() } else { format!("{}, remove it", shown()) };
                return Err(Interrupted::by(signal).instead(format!("the archive is not complete: {left}")).into());
            }
            to.flush().with_context(shown)?;
            packed
        }
        What::X => {
            let from = reader(archive)?;
            let opened = Opened::to_change(&rt, &image::spec(&place.image, args.start)?)?;
            let mut made = 0;
            let outcome = unpack::unpack(&opened, &place, from, &mut made);
            let outcome = opened.close(outcome);
            outcome.map_err(|error| interrupt::how_far(error, || format!("{made} files are unpacked, the rest is not")))
        }
    }
}

/// Lists all paths; an entry that cannot be understood is reported, too.
fn list(archive: &Path) -> Outcome {
    let (mut from, mut out, mut tally) = (reader(archive)?, Out::new(), Tally::new());
    while let Some(found) = from.next().with_context(|| text::escape(archive.as_os_str().as_bytes()))? {
        interrupt::check()?;
        let path = match &found {
            Ok(entry) => &entry.path,
            Err((path, _)) => path,
        };
        out.name(path)?;
        out.line("")?;
        if let Err((path, error)) = &found {
            tally.complain(&text::escape(path), &crate::out::describe(error));
        }
    }
    out.end()?;
    Ok(tally.status())
}

fn is_stream(archive: &Path) -> bool {
    archive.as_os_str() == "-"
}

fn writer(archive: &Path) -> anyhow::Result<Box<dyn Write>> {
    if is_stream(archive) {
        return Ok(Box::new(BufWriter::with_capacity(1 << 16, io::stdout())));
    }
    let file = File::create(archive).with_context(|| text::escape(archive.as_os_str().as_bytes()))?;
    Ok(Box::new(BufWriter::with_capacity(1 << 20, file)))
}

fn reader(archive: &Path) -> anyhow::Result<Reader<Stream>> {
    Ok(Reader::new(archive::stream(archive).with_context(|| text::escape(archive.as_os_str().as_bytes()))?))
}
