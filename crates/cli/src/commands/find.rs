//! `ordo find`

use crate::image::{self, Start};
use crate::listing::{self, FileJson};
use crate::out::{Out, Outcome};
use crate::place::{Inside, last_name};
use crate::walk::Walk;
use crate::{glob, text};
use anyhow::Context;
use ordo_vfs::{Attr, Kind, Stamp};
use ordofs::Fs;
use ordofs::path::resolve;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::rc::Rc;

/// Finds files in an image
///
/// Shows the paths of all files below a directory that satisfy all conditions. The conditions may be written with one
/// dash, as find(1) has them. Symbolic links are not followed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo find disk.img:/etc -name 'rc*' -type f\n  \
    ordo find disk.img:/ -size +10M --json\n  \
    ordo find disk.img -newer disk.img:/etc/motd -print0 | xargs -0 ls")]
pub(crate) struct Args {
    /// IMAGE:/path, or IMAGE for its root
    #[arg(value_name = "IMAGE:/PATH", required = true)]
    places: Vec<OsString>,
    /// The name matches this pattern: *, ?, [a-z]
    #[arg(long, value_name = "PATTERN", allow_hyphen_values = true)]
    name: Option<OsString>,
    /// A file, directory, symbolic link, pipe, socket, block or character device
    #[arg(long = "type", value_enum, value_name = "f|d|l|p|s|b|c", hide_possible_values = true)]
    kind: Option<Letter>,
    /// The size, rounded up to units: N, more (+N) or less (-N); of 512 bytes, or c (bytes), k, M, G
    #[arg(long, value_name = "[+-]N[ckMG]", value_parser = Size::parse, allow_hyphen_values = true)]
    size: Option<Size>,
    /// The contents changed after those of this file, IMAGE:/path or a path of the host
    #[arg(long, value_name = "PATH")]
    newer: Option<OsString>,
    /// End each path with a NUL instead of a newline
    #[arg(long)]
    print0: bool,
    /// One JSON list
    #[arg(long, conflicts_with = "print0")]
    json: bool,
    #[command(flatten)]
    start: Start,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Letter {
    F,
    D,
    L,
    P,
    S,
    B,
    C,
}

impl Letter {
    fn kind(self) -> Kind {
        match self {
            Letter::F => Kind::Regular,
            Letter::D => Kind::Directory,
            Letter::L => Kind::Symlink,
            Letter::P => Kind::Fifo,
            Letter::S => Kind::Socket,
            Letter::B => Kind::BlockDevice,
            Letter::C => Kind::CharDevice,
        }
    }
}

/// A condition on the size, in units.
#[derive(Debug, Clone, Copy)]
struct Size {
    order: std::cmp::Ordering,
    units: u64,
    unit: u64,
}

impl Size {
    fn parse(text: &str) -> Result<Size, String> {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let (order, rest) = match text.split_at_checked(1) {
            Some(("+", rest)) => (Greater, rest),
            Some(("-", rest)) => (Less, rest),
            _ => (Equal, text),
        };
        let (digits, suffix) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
        let unit = match suffix {
            "" | "b" => 512,
            "c" => 1,
            "k" => 1 << 10,
            "M" => 1 << 20,
            "G" => 1 << 30,
            _ => return Err(format!("{text:?} is not a size; write 8, +10k or -1M")),
        };
        let units = digits.parse().map_err(|_| format!("{text:?} is not a size; write 8, +10k or -1M"))?;
        Ok(Size { order, units, unit })
    }

    fn holds(self, bytes: u64) -> bool {
        bytes.div_ceil(self.unit).cmp(&self.units) == self.order
    }
}

/// The arguments of `find` with two dashes where find(1) has one: clap's long names have two.
pub(crate) fn long_options(arguments: Vec<OsString>) -> Vec<OsString> {
    let mut value = false;
    let long = |argument: OsString| {
        let bytes = argument.as_bytes();
        if std::mem::take(&mut value) {
            return argument;
        }
        let takes_value = [&b"-name"[..], b"-type", b"-size", b"-newer"];
        let (two, one) = (bytes.starts_with(b"--"), takes_value.contains(&bytes));
        value = one || two && takes_value.contains(&&bytes[1..]);
        if one || bytes == b"-print0" || bytes == b"-json" {
            let mut long = OsString::from("-");
            long.push(&argument);
            return long;
        }
        argument
    };
    arguments.into_iter().map(long).collect()
}

impl Args {
    fn holds(&self, path: &[u8], attr: &Attr, newer: Option<Stamp>) -> bool {
        let name = match last_name(path) {
            b"" => b"/",
            name => name,
        };
        self.name.as_ref().is_none_or(|pattern| glob::matches(pattern.as_bytes(), name))
            && self.kind.is_none_or(|letter| letter.kind() == attr.kind)
            && self.size.is_none_or(|size| size.holds(attr.size))
            && newer.is_none_or(|newer| attr.mtime > newer)
    }

    fn newer(&self) -> anyhow::Result<Option<Stamp>> {
        let Some(newer) = &self.newer else { return Ok(None) };
        let place = match crate::place::Location::parse(newer) {
            crate::place::Location::Inside { image, path } => Inside { image, path },
            crate::place::Location::Host(path) => {
                let meta = path.metadata().with_context(|| path.display().to_string())?;
                let nanos = u32::try_from(meta.mtime_nsec()).unwrap_or(0);
                return Ok(Some(Stamp { secs: meta.mtime(), nanos }));
            }
        };
        image::read(&image::spec(&place.image, self.start)?, async |fs| {
            let file = resolve(fs, &place.path, true).await.with_context(|| place.shown())?;
            Ok(Some(file.attr().mtime))
        })
    }
}

/// Finds them; what cannot be read is reported.
pub(crate) fn run(args: &Args) -> Outcome {
    let newer = args.newer()?;
    let (mut out, mut files) = (Out::new(), Vec::new());
    let mut finder = Finder { args, newer, out: &mut out, files: &mut files };
    let worst = image::read_each(&args.places, args.start, async |fs, place| finder.below(fs, place).await)?;
    if args.json {
        out.json(&files)?;
    }
    out.end()?;
    Ok(worst)
}

struct Finder<'a> {
    args: &'a Args,
    newer: Option<Stamp>,
    out: &'a mut Out,
    files: &'a mut Vec<FileJson>,
}

impl Finder<'_> {
    async fn below(&mut self, fs: &Rc<Fs>, place: &Inside) -> Outcome {
        // As find(1) with -H: a link that the user names is the directory that is meant.
        let file = resolve(fs, &place.path, true).await.with_context(|| place.shown())?;
        let mut walk = Walk::new(&place.path, file, true);
        while let Some((path, file)) = walk.next().await? {
            if !self.args.holds(&path, file.attr(), self.newer) {
                continue;
            }
            if self.args.json {
                let target = walk.tally.judge(&text::escape(&path), listing::target(&file).await).flatten();
                self.files.push(FileJson::new(&path, file.attr(), target.as_deref()));
            } else if self.args.print0 {
                self.out.bytes(&path)?;
                self.out.bytes(b"\0")?;
            } else {
                self.out.name(&path)?;
                self.out.line("")?;
            }
        }
        Ok(walk.tally.status())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_up_to_units() {
        let holds = |text: &str, bytes| Size::parse(text).unwrap().holds(bytes);
        assert!(holds("1", 1) && holds("1", 512) && !holds("1", 513) && holds("0", 0));
        assert!(holds("5c", 5) && holds("+4c", 5) && !holds("+5c", 5) && holds("-6c", 5));
        assert!(holds("-1M", 0) && !holds("-1M", 1) && holds("+1k", 1025));
        for wrong in ["", "+", "k", "5x", "5kk"] {
            assert!(Size::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn options_with_one_dash_become_long_ones_and_values_stay() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let long = long_options(words("ordo find v.img:/ -name -size -type f --size -5c -print0 -newer x"));
        assert_eq!(long, words("ordo find v.img:/ --name -size --type f --size -5c --print0 --newer x"));
    }
}
