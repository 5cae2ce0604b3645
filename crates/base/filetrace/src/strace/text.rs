//! The pieces of strace's output: arguments, strings, descriptors, numbers.

/// What `-y` says of a descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Said {
    /// The path of a file that has a name.
    Path(Vec<u8>),
    /// A file whose name is gone.
    Deleted,
    /// A socket, a pipe, or something else that is no file.
    Other,
}

/// A descriptor in an argument or a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Descriptor {
    /// Its number; `None` is `AT_FDCWD`.
    pub(super) number: Option<u32>,
    /// What `-y` says of it.
    pub(super) said: Option<Said>,
}

/// The arguments of a call, from behind its `(`, and what follows its `)`; `None` if there is no such `)`.
pub(super) fn arguments(text: &str) -> Option<(Vec<&str>, &str)> {
    let bytes = text.as_bytes();
    let (mut found, mut begin, mut depth, mut at) = (Vec::new(), 0, 0_u32, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'(' | b'[' | b'{' => depth += 1,
            b')' if depth == 0 => {
                let last = text[begin..at].trim();
                if !(found.is_empty() && last.is_empty()) {
                    found.push(last);
                }
                return Some((found, &text[at + 1..]));
            }
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                found.push(text[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
        at = behind(bytes, at)?;
    }
    None
}

/// The place behind what begins here: a string, a remark, what `-y` says, or one byte.
fn behind(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes[at] {
        b'"' => behind_string(bytes, at),
        b'/' if bytes[at..].starts_with(b"/*") => Some(at + 2 + find(&bytes[at + 2..], b"*/")? + 2),
        b'<' if is_said(bytes, at) => behind_said(bytes, at),
        _ => Some(at + 1),
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|part| part == what)
}

fn behind_string(bytes: &[u8], at: usize) -> Option<usize> {
    let mut next = at + 1;
    while *bytes.get(next)? != b'"' {
        next += if bytes[next] == b'\\' { 2 } else { 1 };
    }
    Some(next + 1)
}

/// A `<` that follows a descriptor, and does not shift a number.
fn is_said(bytes: &[u8], at: usize) -> bool {
    let before = &bytes[..at];
    let follows = before.last().is_some_and(u8::is_ascii_digit) || before.ends_with(b"AT_FDCWD");
    follows && bytes.get(at + 1).is_some_and(|next| *next != b'<')
}

/// Within brackets a `>` is an arrow of a connection, and in a path one is written as a number.
fn behind_said(bytes: &[u8], at: usize) -> Option<usize> {
    let (mut angles, mut brackets, mut next) = (1_u32, 0_u32, at + 1);
    let is_path = bytes.get(next) == Some(&b'/');
    loop {
        match *bytes.get(next)? {
            b'[' if !is_path => brackets += 1,
            b']' if !is_path => brackets = brackets.saturating_sub(1),
            b'"' if brackets > 0 => {
                next = behind_string(bytes, next)?;
                continue;
            }
            b'<' if brackets == 0 => angles += 1,
            b'>' if brackets == 0 => angles -= 1,
            _ => {}
        }
        next += 1;
        if angles == 0 {
            return Some(next);
        }
    }
}

/// A string, if the argument is one that is whole.
pub(super) fn string(argument: &str) -> Option<Vec<u8>> {
    let end = behind_string(argument.as_bytes(), argument.starts_with('"').then_some(0)?)?;
    let is_whole = end == argument.len();
    is_whole.then(|| plain(&argument[1..end - 1]))
}

/// The bytes of an escaped text.
fn plain(text: &str) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let (byte, taken) = match (*first, behind.first()) {
            (b'\\', Some(b'x')) => digits(&behind[1..], 16, 2).map_or((b'x', 2), |(byte, count)| (byte, 2 + count)),
            (b'\\', Some(next)) => digits(behind, 8, 3).map_or((single(*next), 2), |(byte, count)| (byte, 1 + count)),
            (byte, _) => (byte, 1),
        };
        plain.push(byte);
        rest = &rest[taken..];
    }
    plain
}

/// The byte that digits stand for, and how many they are; the last bits of a number that is too large.
fn digits(text: &[u8], base: u32, most: usize) -> Option<(u8, usize)> {
    let digit = |byte: &u8| char::from(*byte).to_digit(base);
    let found: Vec<u32> = text.iter().take(most).map_while(digit).collect();
    let value = found.iter().fold(0, |value, digit| value * base + digit);
    (!found.is_empty()).then_some((value as u8, found.len()))
}

/// The byte that a letter stands for.
fn single(letter: u8) -> u8 {
    match letter {
        b'n' => b'\n',
        b't' => b'\t',
        b'v' => 0x0b,
        b'f' => 0x0c,
        b'r' => b'\r',
        other => other,
    }
}

/// A descriptor, if the argument is one.
pub(super) fn descriptor(argument: &str) -> Option<Descriptor> {
    let (number, rest) = match argument.strip_prefix("AT_FDCWD") {
        Some(rest) => (None, rest),
        None => {
            let end = argument.bytes().take_while(u8::is_ascii_digit).count();
            (Some(argument[..end].parse().ok()?), &argument[end..])
        }
    };
    let Some(inside) = rest.strip_prefix('<') else { return Some(Descriptor { number, said: None }) };
    let end = behind_said(rest.as_bytes(), 0)?;
    let (path, behind) = (&inside[..end - 2], &rest[end..]);
    // With -yy a device follows its path.
    let path = path.split_once('<').map_or(path, |(path, _)| path);
    let said = match path.strip_suffix(" (deleted)") {
        _ if !path.starts_with('/') => Said::Other,
        Some(_) => Said::Deleted,
        None if behind.starts_with("(deleted)") => Said::Deleted,
        None => Said::Path(plain(path)),
    };
    Some(Descriptor { number, said: Some(said) })
}

/// A number that is not negative: decimal, octal or hexadecimal; also the only one of a list, as `[7]`.
pub(super) fn number(argument: &str) -> Option<u64> {
    let text = argument.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(argument);
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None if text.len() > 1 && text.starts_with('0') => u64::from_str_radix(text, 8).ok(),
        None => text.parse().ok(),
    }
}

/// Whether flags have one of this name.
pub(super) fn has(flags: &str, flag: &str) -> bool {
    flags.split(|at: char| !at.is_ascii_alphanumeric() && at != '_').any(|word| word == flag)
}

/// A field of a structure without names in it, as stat's.
pub(super) fn field<'a>(structure: &'a str, name: &str) -> Option<&'a str> {
    structure
        .trim_start_matches('{')
        .split([',', '}'])
        .find_map(|part| part.trim().strip_prefix(name)?.strip_prefix('='))
}
