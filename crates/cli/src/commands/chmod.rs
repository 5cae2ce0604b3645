//! `ordo chmod`

use crate::image::{self, Start};
use crate::out::Outcome;
use crate::place::Inside;
use crate::text;
use crate::walk::Walk;
use anyhow::Context;
use ordo_vfs::{FileSystem, Kind, Mode, SetAttr};
use ordofs::Fs;
use ordofs::path::resolve;
use std::ffi::OsString;
use std::rc::Rc;

/// Changes the permissions of files of an image
///
/// MODE is octal, or symbolic as chmod(1) has it: u+x, go-w, a=rX, g=u, joined by commas. Symbolic links below a
/// directory are left alone.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo chmod 4755 disk.img:/bin/su\n  ordo chmod -R go-w,a+rX disk.img:/srv\n  \
    ordo chmod u=rw,g=u disk.img:/a disk.img:/b")]
pub(crate) struct Args {
    /// The permissions, or how they change
    #[arg(value_parser = Change::parse, allow_hyphen_values = true)]
    mode: Change,
    /// IMAGE:/path
    #[arg(value_name = "IMAGE:/PATH", required = true)]
    pub(super) places: Vec<OsString>,
    /// Directories with all their contents
    #[arg(short = 'R', long)]
    recursive: bool,
    #[command(flatten)]
    start: Start,
}

/// What becomes of the permissions.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Change {
    To(u16),
    /// Clauses, one after the other.
    By(Vec<Clause>),
}

/// `go-w`: whose permissions, what is done, and with which.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Clause {
    /// Bits of those who are named; everybody's, the umask's apart, if nobody is.
    who: Option<u16>,
    sign: char,
    what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    /// `r`, `w`, `x`, `s`, `t` for everybody, and whether `X` is among them.
    Bits(u16, bool),
    /// `u`, `g` or `o`: the permissions of these, as the shift of their bits.
    Of(u16),
}

impl Change {
    fn parse(text: &str) -> Result<Change, String> {
        let wrong = || format!("{text:?} is not a mode; write 755, or u+x,go-w,a=rX");
        if text.starts_with(|c: char| c.is_ascii_digit()) {
            let mode = u16::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o7777);
            return mode.map(Change::To).ok_or_else(wrong);
        }
        let mut clauses = Vec::new();
        for part in text.split(',') {
            let signed = part.find(['+', '-', '=']).ok_or_else(wrong)?;
            let (named, mut rest) = part.split_at(signed);
            let bits = named.chars().map(|who| match who {
                'u' => Some(0o4700),
                'g' => Some(0o2070),
                'o' => Some(0o1007),
                'a' => Some(0o7777),
                _ => None,
            });
            let who = bits.collect::<Option<Vec<u16>>>().ok_or_else(wrong)?.into_iter().reduce(|all, one| all | one);
            while let Some(sign) = rest.chars().next() {
                let end = rest[1..].find(['+', '-', '=']).map_or(rest.len(), |at| at + 1);
                let what = What::parse(&rest[1..end]).ok_or_else(wrong)?;
                clauses.push(Clause { who, sign, what });
                rest = &rest[end..];
            }
        }
        Ok(Change::By(clauses))
    }

    fn of(&self, mode: u16, dir: bool, umask: u16) -> u16 {
        match self {
            Change::To(mode) => *mode,
            Change::By(clauses) => clauses.iter().fold(mode, |mode, clause| clause.of(mode, dir, umask)),
        }
    }
}

impl What {
    fn parse(text: &str) -> Option<What> {
        match text {
            "u" => return Some(What::Of(6)),
            "g" => return Some(What::Of(3)),
            "o" => return Some(What::Of(0)),
            _ => {}
        }
        let (mut bits, mut search) = (0, false);
        for letter in text.chars() {
            match letter {
                'r' => bits |= 0o444,
                'w' => bits |= 0o222,
                'x' => bits |= 0o111,
                's' => bits |= 0o6000,
                't' => bits |= 0o1000,
                'X' => search = true,
                _ => return None,
            }
        }
        Some(What::Bits(bits, search))
    }
}

impl Clause {
    fn of(&self, mode: u16, dir: bool, umask: u16) -> u16 {
        let bits = match self.what {
            What::Bits(bits, search) => bits | if search && (dir || mode & 0o111 != 0) { 0o111 } else { 0 },
            What::Of(shift) => (mode >> shift & 7) * 0o111,
        };
        // `t` belongs to nobody: `u+t` sets nothing, `+t` and `a+t` do.
        let bits = bits & self.who.unwrap_or(0o7777 & !umask);
        let cleared = match (self.who, dir) {
            // A directory keeps its set-user-id and set-group-id bits unless they are named.
            (Some(who), true) => who & 0o1777,
            (Some(who), false) => who,
            (None, dir) => {
                if dir {
                    0o1777
                } else {
                    0o7777
                }
            }
        };
        match self.sign {
            '+' => mode | bits,
            '-' => mode & !bits,
            _ => mode & !cleared | bits,
        }
    }
}

/// Changes them.
pub(crate) fn run(args: &Args) -> Outcome {
    image::change_each(&args.places, args.start, "not all modes are changed", async |fs, place| {
        on(fs, place, args).await
    })
}

/// Changes the mode of a file, and with -R of everything below it.
pub(super) async fn on(fs: &Rc<Fs>, place: &Inside, args: &Args) -> Outcome {
    let file = resolve(fs, &place.path, true).await.with_context(|| place.shown())?;
    let umask = crate::image::umask();
    let mut walk = Walk::new(&place.path, file, args.recursive);
    while let Some((path, file)) = walk.next().await? {
        let attr = file.attr();
        if attr.kind == Kind::Symlink {
            continue;
        }
        let mode = args.mode.of(attr.mode.bits(), file.is_dir(), umask);
        let set = SetAttr { mode: Some(Mode::new(mode.into())), ..SetAttr::default() };
        let changed = fs.setattr(file.node(), &set).await;
        walk.tally.judge(&text::escape(&path), changed);
    }
    Ok(walk.tally.status())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_change_as_chmod_1_changes_them() {
        let of = |text: &str, mode, dir| Change::parse(text).map(|change| change.of(mode, dir, 0o022));
        for (text, before, dir, after) in [
            ("4750", 0o644, false, 0o4750),
            ("u+x", 0o644, false, 0o744),
            ("go-w", 0o666, false, 0o644),
            ("a=rX", 0o640, false, 0o444),
            ("a=rX", 0o740, false, 0o555),
            ("a=rX", 0o700, true, 0o555),
            ("+w", 0o444, false, 0o644),
            ("-x,u+s", 0o755, false, 0o4644),
            ("g=u", 0o640, false, 0o660),
            ("o=", 0o777, false, 0o770),
            ("u=rwx,g=rx,o=", 0o7777, false, 0o750),
            ("ug=rx", 0o6755, true, 0o6555),
            ("+t", 0o755, true, 0o1755),
            ("g+s", 0o755, true, 0o2755),
            ("u=rw-w+x", 0o000, false, 0o500),
            ("a+x", 0o600, false, 0o711),
        ] {
            assert_eq!(of(text, before, dir), Ok(after), "{text} of {before:o}");
        }
        for wrong in ["", "8", "10000", "u", "x+r", "u+z", "u+x,", "u+gx"] {
            assert!(of(wrong, 0o644, false).is_err(), "{wrong}");
        }
    }
}
