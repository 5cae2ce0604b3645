//! The lines of a manifest.
//!
//! Two forms of names may be mixed, as mtree(5) says. A name with a slash is a path from the root, and changes nothing
//! else. A name without one lies in the present directory; that of a directory makes it the present one, and `..` goes
//! back. `.` is the root.
//!
//! The value of a keyword may stand in quotes, with blanks: in `'` and a backquote as it is, in `"` with the variables
//! of the environment that it names as `${NAME}`. Quotes within a word, and those of a name, are what they are.

use super::said::Said;
use super::users::Users;
use super::vis::decode;
use crate::{flags, text};
use anyhow::{Context, bail};
use ordo_vfs::{Kind, Stamp};
use rustix::fs::makedev;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

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
    let words = words(line)?;
    let mut words = words.iter().map(Vec::as_slice);
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

/// The words of a line, without the quotes around values.
fn words(line: &[u8]) -> anyhow::Result<Vec<Vec<u8>>> {
    let (mut words, mut rest) = (Vec::new(), line.trim_ascii_start());
    while !rest.is_empty() {
        let end = rest.iter().position(|b| b.is_ascii_whitespace()).unwrap_or(rest.len());
        let (mut word, mut after) = (rest[..end].to_vec(), &rest[end..]);
        let value = word.iter().position(|&b| b == b'=').map(|at| at + 1);
        if let Some((at, quote)) = value.and_then(|at| Some((at, *word.get(at)?))).filter(|(_, b)| b"'\"`".contains(b))
            && !words.is_empty()
        {
            let inner = &rest[at + 1..];
            let shown = || text::escape(&word[..at]);
            let len = closing(inner, quote).with_context(|| format!("{} has no closing {}", shown(), quote as char))?;
            let value = match quote {
                b'"' => expanded(&inner[..len]).with_context(shown)?,
                _ => inner[..len].to_vec(),
            };
            after = &inner[len + 1..];
            if after.first().is_some_and(|b| !b.is_ascii_whitespace()) {
                bail!("{} has something behind its closing {}", shown(), quote as char);
            }
            word.truncate(at);
            word.extend_from_slice(&value);
        }
        words.push(word);
        rest = after.trim_ascii_start();
    }
    Ok(words)
}

/// Where the quote is that ends a value; one behind a backslash does not.
fn closing(text: &[u8], quote: u8) -> Option<usize> {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'\\' => at += 2,
            b if b == quote => return Some(at),
            _ => at += 1,
        }
    }
    None
}

/// A value with the variables that it names, in the form of vis(3).
fn expanded(text: &[u8]) -> anyhow::Result<Vec<u8>> {
    let (mut value, mut rest) = (Vec::new(), text);
    while let Some((&byte, after)) = rest.split_first() {
        match (byte, after.strip_prefix(b"{")) {
            (b'$', Some(named)) => {
                let end = named.iter().position(|&b| b == b'}').context("a variable without its closing brace")?;
                let name = OsString::from_vec(named[..end].to_vec());
                let found = std::env::var_os(&name);
                let found =
                    found.with_context(|| format!("the variable {} is not set", text::escape(&named[..end])))?;
                for byte in found.into_vec() {
                    value.extend(if byte == b'\\' { &b"\\\\"[..] } else { std::slice::from_ref(&byte) });
                }
                rest = &named[end + 1..];
            }
            (b'\\', _) => {
                value.extend_from_slice(&rest[..rest.len().min(2)]);
                rest = rest.get(2..).unwrap_or_default();
            }
            _ => {
                value.push(byte);
                rest = after;
            }
        }
    }
    Ok(value)
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
            b"flags" => into.flags = Some(flags::parse(value).with_context(shown)?),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> anyhow::Result<Vec<String>> {
        Ok(words(line.as_bytes())?.into_iter().map(|word| String::from_utf8(word).unwrap()).collect())
    }

    #[test]
    fn values_in_quotes_may_have_blanks_and_names_may_have_quotes() {
        assert_eq!(read("n a=1  b='x y' c=`z w`").unwrap(), ["n", "a=1", "b=x y", "c=z w"]);
        assert_eq!(read("it's contents=/a'b link=\"q q\" d").unwrap(), ["it's", "contents=/a'b", "link=q q", "d"]);
        assert_eq!(read("x='y z=1").unwrap(), ["x='y", "z=1"], "a name");
        assert_eq!(read(r"n c='a\'b' d='\\'").unwrap(), ["n", r"c=a\'b", r"d=\\"]);
        let home = std::env::var("PATH").unwrap();
        assert_eq!(read("n c=\"${PATH}/x y\"").unwrap()[1], format!("c={home}/x y"));
        assert_eq!(read("n c='${PATH}'").unwrap()[1], "c=${PATH}");
        for wrong in ["n c='x", "n c=\"x'", "n c='x'y", "n c=\"${NO_SUCH_VARIABLE}\"", "n c=\"${PATH\""] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
