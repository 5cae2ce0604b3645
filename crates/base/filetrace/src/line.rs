//! Calls as lines, and back.

use crate::call::{Call, Field, Found, Kind, Op, Outcome};
use std::fmt::{self, Display, Write};

/// The first line of a file trace. The number is the version.
pub const HEADER: &str = "ordofs-file-trace 1";
/// The first word of every version's.
const WORD: &str = "ordofs-file-trace";

/// A line that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the file trace: {what}")]
pub struct LineError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: &'static str,
}

/// Whether a text claims to be a file trace, of whichever version.
pub fn is_file_trace(text: &str) -> bool {
    text.split_ascii_whitespace().next() == Some(WORD)
}

/// Reads a file trace: its calls in the order in which they came.
///
/// # Errors
/// The first line that cannot be read.
pub fn read(text: &str) -> Result<Vec<Call>, LineError> {
    let mut lines = text.lines().enumerate();
    let error = |at: usize, what| LineError { line: at + 1, what };
    let head = lines.next().map(|(_, head)| head.trim_end()).unwrap_or_default();
    if head != HEADER {
        let what = if is_file_trace(head) { "this version of a file trace is not known" } else { "it has no header" };
        return Err(error(0, what));
    }
    let mut calls = Vec::new();
    for (at, line) in lines.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#')) {
        let mut call = call(line).map_err(|what| error(at, what))?;
        call.line = at + 1;
        calls.push(call);
    }
    // A stable sort: what came at the same time stays in the order of the file.
    calls.sort_by_key(|call| call.at_us);
    Ok(calls)
}

fn call(line: &str) -> Result<Call, &'static str> {
    let mut words = line.split_ascii_whitespace();
    let at_us = words.next().and_then(|word| word.parse().ok()).ok_or("it does not begin with a time")?;
    let word = words.next().ok_or("it has no call")?;
    let op = Op::ALL.iter().find(|op| op.word() == word).ok_or("its call is not known")?;
    let mut call = Call::new(at_us, *op, 0);
    for field in op.fields() {
        let word = words.next().ok_or("it has fewer fields than its call")?;
        let number = || word.parse::<u64>().map_err(|_| "a field is no number");
        match field {
            Field::Node => call.node = number()?,
            Field::To => call.to = number()?,
            Field::Offset => call.offset = number()?,
            Field::Len => call.len = number()?,
            Field::ToOffset => call.to_offset = number()?,
            Field::How => call.how = u32::try_from(number()?).map_err(|_| "a field is too large")?,
            Field::Name => call.name = plain(word)?,
            Field::ToName => call.to_name = plain(word)?,
        }
    }
    call.outcome = outcome(&mut words)?;
    match words.next() {
        None if op.makes() && call.outcome == Outcome::Done => Err("it does not say what it made"),
        None => Ok(call),
        Some(_) => Err("it has more fields than its call"),
    }
}

fn outcome<'a>(words: &mut impl Iterator<Item = &'a str>) -> Result<Outcome, &'static str> {
    let Some(word) = words.next() else { return Ok(Outcome::Done) };
    if let Some(errno) = word.strip_prefix('!') {
        return Ok(Outcome::Refused(errno.parse().map_err(|_| "the error is no number")?));
    }
    if word != "=" {
        return Err("it has more fields than its call");
    }
    let mut next = || words.next().ok_or("it does not say all of what it found");
    let node = next()?.parse().map_err(|_| "what it found has no number")?;
    let letter = next()?;
    let kind = Kind::ALL.into_iter().find(|kind| kind.letter() == letter).ok_or("what it found is of no kind")?;
    let size = next()?.parse().map_err(|_| "what it found has no size")?;
    Ok(Outcome::Found(Found { node, kind, size }))
}

/// The form of a call in a trace, without the end of the line.
impl Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.at_us, self.op.word())?;
        for field in self.op.fields() {
            match field {
                Field::Node => write!(f, " {}", self.node),
                Field::To => write!(f, " {}", self.to),
                Field::Offset => write!(f, " {}", self.offset),
                Field::Len => write!(f, " {}", self.len),
                Field::ToOffset => write!(f, " {}", self.to_offset),
                Field::How => write!(f, " {}", self.how),
                Field::Name => escaped(&self.name, f),
                Field::ToName => escaped(&self.to_name, f),
            }?;
        }
        match self.outcome {
            Outcome::Done => Ok(()),
            Outcome::Found(Found { node, kind, size }) => write!(f, " = {node} {} {size}", kind.letter()),
            Outcome::Refused(errno) => write!(f, " !{errno}"),
        }
    }
}

/// A blank and a name. What is no printing ASCII, and `%`, becomes `%` and two digits; no name becomes `%`.
fn escaped(name: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_char(' ')?;
    if name.is_empty() {
        return f.write_char('%');
    }
    name.iter().try_for_each(|&byte| match byte {
        b'%' => f.write_str("%25"),
        b'!'..=b'~' => f.write_char(byte.into()),
        _ => write!(f, "%{byte:02x}"),
    })
}

fn plain(word: &str) -> Result<Vec<u8>, &'static str> {
    let mut name = Vec::with_capacity(word.len());
    let mut bytes = word.bytes();
    let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16)).map(|digit| digit as u8);
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            name.push(byte);
        } else if word.len() > 1 {
            let (high, low) = (digit(bytes.next()), digit(bytes.next()));
            name.push(high.zip(low).map(|(high, low)| high << 4 | low).ok_or("a name has % without two digits")?);
        }
    }
    Ok(name)
}
