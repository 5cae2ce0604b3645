//! The lines of a manifest.
//!
//! Two forms of names may be mixed, as mtree(5) says. A name with a slash is a path from the root, and changes nothing
//! else. A name without one lies in the present directory; that of a directory makes it the present one, and `..` goes
//! back. `.` is the root.

use super::Said;
use super::users::Users;
use super::vis::decode;
use crate::text;
use anyhow::{Context, anyhow, bail};
use ordo_vfs::{Kind, Stamp};
use rustix::fs::makedev;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// BSD's file flags, by the names of chflags(1).
const FLAGS: [(&str, u32); 22] = [
    ("nodump", 0x1),
    ("uchg", 0x2),
    ("uchange", 0x2),
    ("uimmutable", 0x2),
    ("uappnd", 0x4),
    ("uappend", 0x4),
    ("opaque", 0x8),
    ("uunlnk", 0x10),
    ("uunlink", 0x10),
    ("uarch", 0x800),
    ("uarchive", 0x800),
    ("hidden", 0x8000),
    ("uhidden", 0x8000),
    ("arch", 0x1_0000),
    ("archived", 0x1_0000),
    ("schg", 0x2_0000),
    ("schange", 0x2_0000),
    ("simmutable", 0x2_0000),
    ("sappnd", 0x4_0000),
    ("sappend", 0x4_0000),
    ("sunlnk", 0x10_0000),
    ("sunlink", 0x10_0000),
];

const KINDS: [(&str, Kind); 7] = [
    ("file", Kind::Regular),
    ("dir", Kind::Directory),
    ("link", Kind::Symlink),
    ("char", Kind::CharDevice),
    ("block", Kind::BlockDevice),
    ("fifo", Kind::Fifo),
    ("socket", Kind::Socket),
];

/// The word of a manifest for a kind.
pub(super) fn name(kind: Kind) -> &'static str {
    KINDS.iter().find(|(_, found)| *found == kind).map_or("file", |(name, _)| name)
}

/// An entry: the number of its line, its path and what is said about it.
type Entry = (usize, Vec<Vec<u8>>, Said);

/// The entries of a manifest. Ends after the first error.
pub(super) fn lines<'a>(bytes: &'a [u8], users: &'a Users) -> impl Iterator<Item = anyhow::Result<Entry>> + 'a {
    let (mut defaults, mut cwd, mut failed) = (Said::default(), Some(Vec::new()), false);
    joined(bytes).filter_map(move |(number, line)| {
        if failed {
            return None;
        }
        let entry = one(&line, &mut defaults, &mut cwd, users).with_context(|| format!("line {number}"));
        failed = entry.is_err();
        entry.map(|entry| entry.map(|(path, said)| (number, path, said))).transpose()
    })
}

/// The lines with what continues them, and the number of the first of each. Comments and empty lines are left out.
fn joined(bytes: &[u8]) -> impl Iterator<Item = (usize, Vec<u8>)> + '_ {
    let mut lines = bytes.split(|&b| b == b'\n').enumerate();
    std::iter::from_fn(move || {
        loop {
            let (at, first) = lines.next()?;
            let mut line = first.strip_suffix(b"\r").unwrap_or(first).trim_ascii_start().to_vec();
            if line.is_empty() || line[0] == b'#' {
                continue;
            }
            while line.iter().rev().take_while(|&&b| b == b'\\').count() % 2 == 1 {
                line.pop();
                let Some((_, next)) = lines.next() else { break };
                line.push(b' ');
                line.extend_from_slice(next.strip_suffix(b"\r").unwrap_or(next));
            }
            return Some((at + 1, line));
        }
    })
}

/// One line; `None` if it names no file.
fn one(
    line: &[u8],
    defaults: &mut Said,
    cwd: &mut Option<Vec<Vec<u8>>>,
    users: &Users,
) -> anyhow::Result<Option<(Vec<Vec<u8>>, Said)>> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let first = words.next().context("an empty line")?;
    match first {
        b"/set" => {
            said(words, defaults, users)?;
            return Ok(None);
        }
        b"/unset" => {
            words.for_each(|word| unset(word, defaults));
            return Ok(None);
        }
        b".." => {
            let above = cwd.as_mut().and_then(Vec::pop);
            above.context("\"..\" leads above the root")?;
            return Ok(None);
        }
        _ if first[0] == b'/' => bail!("{} is neither /set nor /unset nor a name", text::escape(first)),
        _ => {}
    }
    let mut found = defaults.clone();
    said(words, &mut found, users).with_context(|| text::escape(first))?;
    let full = first.contains(&b'/');
    let mut path = if full { Vec::new() } else { cwd.clone().unwrap_or_default() };
    if first == b"." {
        path.clear();
    }
    for name in first.split(|&b| b == b'/').filter(|name| !name.is_empty() && *name != b".") {
        let name = decode(name).with_context(|| text::escape(first))?;
        let name_of = ordo_vfs::Name::new(&name).with_context(|| match name.contains(&b'/') {
            true => format!("{}: a name with an escaped slash, which no name can have", text::escape(first)),
            false => text::escape(first),
        })?;
        if name_of.is_dot_or_dotdot() {
            bail!("{}: a name with \"..\"", text::escape(first));
        }
        path.push(name);
    }
    // The root is a directory, whatever /set says of the others.
    if path.is_empty() {
        found.kind = Some(Kind::Directory);
    }
    if !full && found.kind == Some(Kind::Directory) {
        *cwd = Some(path.clone());
    }
    Ok(Some((path, found)))
}

fn unset(word: &[u8], from: &mut Said) {
    match word {
        b"type" => from.kind = None,
        b"mode" => from.mode = None,
        b"uid" | b"uname" => from.uid = None,
        b"gid" | b"gname" => from.gid = None,
        b"time" => from.time = None,
        b"flags" => from.flags = None,
        b"device" => from.rdev = None,
        b"link" => from.link = None,
        b"optional" => from.optional = false,
        b"all" => *from = Said::default(),
        _ => {}
    }
}

/// The keywords of a line. A later one replaces an earlier one; a name that is not known leaves the number of its line.
fn said<'a>(words: impl Iterator<Item = &'a [u8]>, into: &mut Said, users: &Users) -> anyhow::Result<()> {
    let (mut user, mut group, mut numbers) = (None, None, (false, false));
    for word in words {
        let (key, value) = match word.iter().position(|&b| b == b'=') {
            Some(at) => (&word[..at], &word[at + 1..]),
            None => (word, &b""[..]),
        };
        let shown = || format!("{} is wrong", text::escape(word));
        let number = |radix| u32::from_str_radix(std::str::from_utf8(value).ok()?, radix).ok();
        match key {
            b"type" => into.kind = Some(kind(value).with_context(shown)?),
            b"mode" => into.mode = Some((number(8).with_context(shown)? & 0o7777) as u16),
            b"uid" => (into.uid, numbers.0) = (Some(number(10).with_context(shown)?), true),
            b"gid" => (into.gid, numbers.1) = (Some(number(10).with_context(shown)?), true),
            b"uname" => user = Some(decode(value)?),
            b"gname" => group = Some(decode(value)?),
            b"time" => into.time = Some(time(value).with_context(shown)?),
            b"flags" => into.flags = Some(flags(value).with_context(shown)?),
            b"device" => into.rdev = Some(device(value).with_context(shown)?),
            b"link" => into.link = Some(decode(value)?),
            b"contents" => into.contents = Some(OsString::from_vec(decode(value)?).into()),
            b"optional" => into.optional = true,
            _ => {}
        }
    }
    match user.map(|name| users.uid(&name)) {
        Some(Err(error)) if !numbers.0 => return Err(error),
        Some(Ok(uid)) => into.uid = Some(uid),
        _ => {}
    }
    match group.map(|name| users.gid(&name)) {
        Some(Err(error)) if !numbers.1 => return Err(error),
        Some(Ok(gid)) => into.gid = Some(gid),
        _ => {}
    }
    Ok(())
}

fn kind(value: &[u8]) -> Option<Kind> {
    KINDS.iter().find(|(name, _)| name.as_bytes() == value).map(|(_, kind)| *kind)
}

/// Seconds, and behind the point nanoseconds: a whole number, and not a decimal fraction.
fn time(value: &[u8]) -> Option<Stamp> {
    let text = std::str::from_utf8(value).ok()?;
    let (secs, nanos) = text.split_once('.').unwrap_or((text, "0"));
    let nanos: u32 = if nanos.is_empty() { 0 } else { nanos.parse().ok()? };
    Some(Stamp { secs: secs.parse().ok()?, nanos }).filter(|time| time.nanos < 1_000_000_000)
}

fn flags(value: &[u8]) -> anyhow::Result<u32> {
    let mut flags = 0;
    for name in value.split(|&b| b == b',').filter(|name| !name.is_empty() && *name != b"none") {
        let of = |name: &[u8]| FLAGS.iter().find(|(known, _)| known.as_bytes() == name).map(|(_, flag)| *flag);
        match (of(name), name.strip_prefix(b"no").and_then(of)) {
            (Some(flag), _) => flags |= flag,
            (None, Some(flag)) => flags &= !flag,
            // Of `nodump` the opposite is `dump`.
            (None, None) if name == b"dump" => flags &= !1,
            (None, None) => return Err(anyhow!("the flag {} is not known", text::escape(name))),
        }
    }
    Ok(flags)
}

/// `FORMAT,MAJOR,MINOR`, or the number itself.
fn device(value: &[u8]) -> Option<u64> {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    };
    let text = std::str::from_utf8(value).ok()?;
    let mut parts = text.split(',');
    match (parts.next()?, parts.next(), parts.next()) {
        (whole, None, None) => number(whole),
        (_, Some(major), Some(minor)) => {
            let part = |text| u32::try_from(number(text)?).ok();
            Some(makedev(part(major)?, part(minor)?))
        }
        _ => None,
    }
}
