//! What mount(8) was asked, and does not pass on to its helper: `suid` and `dev` are its defaults, and it leaves
//! defaults out. So the helper cannot tell a line of fstab that says `suid` from one that says nothing, and an image is
//! trusted only by who says so. The words are in the command line of mount(8), and in the line of fstab that it used.
//!
//! A1. Only root's words count: for any other user the helper runs as that user, who may mount without them only.
//! A2. What cannot be found was not said.
//! A3. A process chooses its own name and its arguments: mount(8) is known by its file, and it and all processes between
//!     it and this one are root's in every way. Else a user whom a rule of sudo lets mount one image could call himself
//!     mount, and ask for `suid`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Options of mount(8) that have a value behind them.
const SHORT_WITH_VALUE: &[u8] = b"otTOLUN";
const LONG_WITH_VALUE: [&str; 12] = [
    "options",
    "types",
    "fstab",
    "test-opts",
    "label",
    "uuid",
    "namespace",
    "source",
    "target",
    "target-prefix",
    "options-mode",
    "options-source",
];

/// The lists of options that mount(8) was given for a mount on `dir`, if it has called this program: those of fstab
/// first.
pub(crate) fn lists(dir: &Path) -> Vec<OsString> {
    if !rustix::process::geteuid().is_root() || !rustix::process::getuid().is_root() {
        return Vec::new();
    }
    let Some(command) = caller() else { return Vec::new() };
    let asked = Asked::parse(&command);
    let mut lists = match asked.names_both {
        true => Vec::new(),
        false => of_fstab(&table(&asked.fstab), dir),
    };
    lists.extend(asked.options);
    lists
}

/// How far above this process mount(8) may be: a server in the background is this program's child, and mount.fuse3, which
/// mount(8) becomes, calls a shell.
const GENERATIONS: u32 = 4;

/// Where mount(8) is.
const PROGRAMS: [&str; 2] = ["/usr/bin/mount", "/bin/mount"];

/// The command line of the program mount(8) that has called this one (A3).
fn caller() -> Option<Vec<OsString>> {
    let programs: Vec<_> = PROGRAMS.iter().filter_map(identity).collect();
    let mut process = rustix::process::getppid()?.as_raw_nonzero().get();
    for _ in 0..GENERATIONS {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        if field("Uid:")?.split_whitespace().any(|uid| uid != "0") {
            return None;
        }
        if identity(format!("/proc/{process}/exe")).is_some_and(|program| programs.contains(&program)) {
            let line = std::fs::read(format!("/proc/{process}/cmdline")).ok()?;
            return Some(line.split(|&b| b == 0).map(|word| OsStr::from_bytes(word).to_owned()).collect());
        }
        process = field("PPid:")?.trim().parse().ok()?;
    }
    None
}

/// Device and inode.
fn identity(path: impl AsRef<Path>) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// A table of mounts. What is no file is not waited for.
fn table(path: &OsStr) -> Vec<u8> {
    match std::fs::metadata(path) {
        Ok(file) if file.is_file() => std::fs::read(path).unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// A command line of mount(8), as far as it matters here.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    options: Vec<OsString>,
    fstab: OsString,
    /// Source and directory were given: no line of fstab is used.
    names_both: bool,
}

impl Asked {
    fn parse(command: &[OsString]) -> Asked {
        let mut asked = Asked { options: Vec::new(), fstab: "/etc/fstab".into(), names_both: false };
        let (mut names, mut words) = (0, command.iter().skip(1).filter(|word| !word.is_empty()));
        while let Some(word) = words.next() {
            let bytes = word.as_bytes();
            let (option, value) = match bytes {
                [b'-', b'-', long @ ..] => {
                    let (name, value) = split_at_equals(long);
                    let takes = LONG_WITH_VALUE.iter().any(|long| long.as_bytes() == name);
                    (name, value.map(<[u8]>::to_vec).or_else(|| takes.then(|| next(&mut words)).flatten()))
                }
                [b'-', short @ ..] if !short.is_empty() => {
                    let Some(at) = short.iter().position(|flag| SHORT_WITH_VALUE.contains(flag)) else { continue };
                    let rest = &short[at + 1..];
                    let value = if rest.is_empty() { next(&mut words) } else { Some(rest.to_vec()) };
                    (&short[at..=at], value)
                }
                _ => {
                    names += 1;
                    continue;
                }
            };
            match (option, value.map(OsString::from_vec)) {
                (b"o" | b"options", Some(list)) => asked.options.push(list),
                (b"T" | b"fstab", Some(path)) => asked.fstab = path,
                (b"source" | b"target" | b"L" | b"label" | b"U" | b"uuid", Some(_)) => names += 1,
                _ => {}
            }
        }
        asked.names_both = names > 1;
        asked
    }
}

fn next<'a>(words: &mut impl Iterator<Item = &'a OsString>) -> Option<Vec<u8>> {
    words.next().map(|word| word.as_bytes().to_vec())
}

fn split_at_equals(word: &[u8]) -> (&[u8], Option<&[u8]>) {
    match word.iter().position(|&b| b == b'=') {
        Some(at) => (&word[..at], Some(&word[at + 1..])),
        None => (word, None),
    }
}

/// The options of the line for `dir`.
fn of_fstab(table: &[u8], dir: &Path) -> Vec<OsString> {
    let same = |field: &[u8]| {
        let named = ordo_fuse::mount::table::unescape(field);
        let named = Path::new(&named);
        named == dir || named.canonicalize().is_ok_and(|named| named == dir)
    };
    let lines = table.split(|&b| b == b'\n').filter_map(|line| {
        let mut fields = line.split(|b| b" \t".contains(b)).filter(|field| !field.is_empty());
        fields.next().filter(|source| !source.starts_with(b"#"))?;
        let (target, _, options) = (fields.next()?, fields.next()?, fields.next()?);
        same(target).then(|| OsStr::from_bytes(options).to_owned())
    });
    lines.take(1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> (Vec<OsString>, OsString, bool) {
        let asked = Asked::parse(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        (asked.options, asked.fstab, asked.names_both)
    }

    #[test]
    fn the_words_of_a_command_line_of_mount_are_found() {
        let fstab = || OsString::from("/etc/fstab");
        assert_eq!(parse("mount -t ordo -o suid,dev a.img /m"), (vec!["suid,dev".into()], fstab(), true));
        assert_eq!(parse("mount /m"), (vec![], fstab(), false));
        assert_eq!(parse("/bin/mount -a -vo suid --fstab /f"), (vec!["suid".into()], "/f".into(), false));
        assert_eq!(parse("mount -T/f --options=ro,dev --target /m"), (vec!["ro,dev".into()], "/f".into(), false));
        assert_eq!(parse("mount -v -L suid -o"), (vec![], fstab(), false));
    }

    #[test]
    fn the_line_of_the_directory_is_used() {
        let table =
            b"# /img /m ordo suid\n/other\t/n  ordo dev 0 0\n/img /m\\040x fuse.ordo suid,dev,noauto 0 0\n/img\n";
        assert_eq!(of_fstab(table, Path::new("/m x")), [OsString::from("suid,dev,noauto")]);
        assert!(of_fstab(table, Path::new("/m")).is_empty());
    }
}
