//! Finds out whether mount(8) was given `suid` or `dev`. It does not pass them on to its helper: they are its defaults,
//! and it leaves defaults out. So the helper cannot tell a line of fstab that says `suid` from one that says nothing,
//! and an image is trusted only if somebody has said so. The words are in the command line of mount(8), and in the line
//! of fstab that it used.
//!
//! A1. Only root's words count: for any other user the helper runs as that user, who may mount without them only.
//! A2. What cannot be found was not said.
//!     So a line of fstab counts if it has this source and this directory and is the only such one, and not where
//!     mount(8) was told to look elsewhere, or to mix the words in another way.
//! A3. A process chooses its own name and its arguments: mount(8) is known by its file, and it and all processes
//!     between it and this one are root's in every way. Else a user whom a rule of sudo lets mount one image could call
//!     himself mount, and ask for `suid`.

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

/// The lists of options that mount(8) was given for a mount of `source` on `dir`, if it has called this program: those
/// of fstab first.
pub(crate) fn lists(source: &Path, dir: &Path) -> Vec<OsString> {
    if !rustix::process::geteuid().is_root() || !rustix::process::getuid().is_root() {
        return Vec::new();
    }
    let Some(caller) = caller() else { return Vec::new() };
    let asked = Asked::parse(&caller.command, &caller.environment);
    let mut lists = match asked.fstab.filter(|_| !asked.names_both) {
        None => Vec::new(),
        Some(fstab) => of_fstab(&table(&fstab), source, dir),
    };
    lists.extend(asked.options);
    lists
}

/// How far above this process mount(8) may be: a server in the background is this program's child, and mount.fuse3,
/// which mount(8) becomes, calls a shell.
const GENERATIONS: u32 = 4;

/// Where mount(8) is.
const PROGRAMS: [&str; 2] = ["/usr/bin/mount", "/bin/mount"];

/// What a program was started with.
struct Caller {
    command: Vec<OsString>,
    environment: Vec<OsString>,
}

/// The program mount(8) that has called this one (A3).
fn caller() -> Option<Caller> {
    let programs: Vec<_> = PROGRAMS.iter().filter_map(identity).collect();
    let mut process = rustix::process::getppid()?.as_raw_nonzero().get();
    for _ in 0..GENERATIONS {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        if field("Uid:")?.split_whitespace().any(|uid| uid != "0") {
            return None;
        }
        if identity(format!("/proc/{process}/exe")).is_some_and(|program| programs.contains(&program)) {
            let words = |file: &str| {
                let all = std::fs::read(format!("/proc/{process}/{file}")).ok()?;
                Some(all.split(|&b| b == 0).map(|word| OsStr::from_bytes(word).to_owned()).collect())
            };
            return Some(Caller { command: words("cmdline")?, environment: words("environ")? });
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
    /// `None`: what it took from a table is not known.
    fstab: Option<OsString>,
    /// Source and directory were given: no line of fstab is used.
    names_both: bool,
}

impl Asked {
    fn parse(command: &[OsString], environment: &[OsString]) -> Asked {
        let elsewhere = environment.iter().any(|variable| variable.as_bytes().starts_with(b"LIBMOUNT_FSTAB="));
        let mut asked = Asked { options: Vec::new(), fstab: Some("/etc/fstab".into()), names_both: false };
        let mut mixed = elsewhere;
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
                (b"T" | b"fstab", Some(path)) => asked.fstab = Some(path),
                // Also where they are shortened.
                _ if option.starts_with(b"options-") => mixed = true,
                (b"source" | b"target" | b"L" | b"label" | b"U" | b"uuid", Some(_)) => names += 1,
                _ => {}
            }
        }
        asked.names_both = names > 1;
        asked.fstab = asked.fstab.filter(|_| !mixed);
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

/// The options of the line for this source and directory, if there is one and no other.
fn of_fstab(table: &[u8], source: &Path, dir: &Path) -> Vec<OsString> {
    let same = |field: &[u8], wanted: &Path| {
        let named = ordo_fuse::mount::table::unescape(field);
        let named = Path::new(&named);
        let real = |path: &Path| path.canonicalize().ok();
        named == wanted || real(named).is_some_and(|named| real(wanted) == Some(named))
    };
    let lines = table.split(|&b| b == b'\n').filter_map(|line| {
        let mut fields = line.split(|b| b" \t".contains(b)).filter(|field| !field.is_empty());
        let from = fields.next().filter(|source| !source.starts_with(b"#"))?;
        let (target, _, options) = (fields.next()?, fields.next()?, fields.next()?);
        (same(target, dir) && same(from, source)).then(|| OsStr::from_bytes(options).to_owned())
    });
    let lines: Vec<_> = lines.collect();
    if lines.len() == 1 { lines } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> (Vec<OsString>, Option<OsString>, bool) {
        parse_in(line, &[])
    }

    fn parse_in(line: &str, environment: &[OsString]) -> (Vec<OsString>, Option<OsString>, bool) {
        let asked = Asked::parse(&line.split(' ').map(OsString::from).collect::<Vec<_>>(), environment);
        (asked.options, asked.fstab, asked.names_both)
    }

    #[test]
    fn the_words_of_a_command_line_of_mount_are_found() {
        let fstab = || Some(OsString::from("/etc/fstab"));
        assert_eq!(parse("mount -t ordo -o suid,dev a.img /m"), (vec!["suid,dev".into()], fstab(), true));
        assert_eq!(parse("mount /m"), (vec![], fstab(), false));
        assert_eq!(parse("/bin/mount -a -vo suid --fstab /f"), (vec!["suid".into()], Some("/f".into()), false));
        assert_eq!(parse("mount -T/f --options=ro,dev --target /m"), (vec!["ro,dev".into()], Some("/f".into()), false));
        assert_eq!(parse("mount -v -L suid -o"), (vec![], fstab(), false));
    }

    #[test]
    fn no_table_counts_where_mount_was_told_to_use_it_in_another_way() {
        for line in [
            "mount --options-source disable /m",
            "mount --options-source=mtab /m",
            "mount --options-mode ignore /m",
            "mount --options-mo=ignore /m",
            "mount --options-source-force /m",
            "mount --options-mode=replace -T /f /m",
        ] {
            assert_eq!(parse(line).1, None, "{line}");
        }
        assert_eq!(parse_in("mount /m", &["HOME=/".into(), "LIBMOUNT_FSTAB=/f".into()]).1, None);
        assert_eq!(parse("mount --options-mode ignore -o suid /m").0, [OsString::from("suid")]);
    }

    #[test]
    fn the_line_of_source_and_directory_is_used_if_it_is_the_only_one() {
        let table = b"# /img /m ordo suid\n/other\t/n  ordo dev 0 0\n/img /m\\040x fuse.ordo suid,dev,noauto 0 0\n\
            /img\n/other /m\\040x fuse.ordo noauto 0 0\nLABEL=a /l fuse.ordo suid 0 0\n/two /two ordo suid\n\
            /two /two ordo ro\n";
        let of = |source: &str, dir: &str| of_fstab(table, Path::new(source), Path::new(dir));
        assert_eq!(of("/img", "/m x"), [OsString::from("suid,dev,noauto")]);
        assert_eq!(of("/other", "/m x"), [OsString::from("noauto")], "another image on the same directory");
        for (source, dir) in [("/img", "/m"), ("/third", "/m x"), ("/dev/sda1", "/l"), ("/two", "/two")] {
            assert!(of(source, dir).is_empty(), "{source} {dir}");
        }
    }
}
