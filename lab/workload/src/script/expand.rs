//! Expands a line that stands for many, and names that are too long to write.

/// Most calls made by one line, so that a typing error does not exhaust memory.
const CALLS: u64 = 100_000;

/// Longest run of one letter. A name has at most 255 bytes, a target of a symbolic link 1023.
const RUN: usize = 4096;

/// The lines that `line` stands for, or what is wrong with its braces.
pub(super) fn expand(line: &str) -> Result<Vec<String>, &'static str> {
    let pieces = pieces(line)?;
    let mut ranges = pieces.iter().filter_map(|piece| match piece {
        Piece::Range(first, last) => Some((*first, *last)),
        _ => None,
    });
    let range = ranges.next();
    if ranges.next().is_some() {
        return Err("a line has one range; {} stands for its number in the rest of the line");
    }
    if range.is_none() && pieces.iter().any(|piece| matches!(piece, Piece::Again)) {
        return Err("{} stands for the number of a range in the same line, as in: link a{0..9} b{}");
    }
    let (first, last) = range.unwrap_or((0, 0));
    if last < first || last - first >= CALLS {
        return Err("a range goes up, over at most 100000 numbers");
    }
    Ok((first..=last).map(|number| pieces.iter().map(|piece| piece.text(number)).collect()).collect())
}

enum Piece<'a> {
    Plain(&'a str),
    Range(u64, u64),
    Again,
    Run(&'a str, usize),
}

impl Piece<'_> {
    fn text(&self, number: u64) -> String {
        match self {
            Piece::Plain(text) => (*text).to_owned(),
            Piece::Range(..) | Piece::Again => number.to_string(),
            Piece::Run(text, times) => text.repeat(*times),
        }
    }
}

fn pieces(line: &str) -> Result<Vec<Piece<'_>>, &'static str> {
    let mut pieces = Vec::new();
    let mut rest = line;
    while let Some((before, braced)) = rest.split_once('{') {
        let (inside, after) = braced.split_once('}').ok_or("a brace is closed: {0..9}, {} or {x*200}")?;
        pieces.push(Piece::Plain(before));
        pieces.push(braces(inside).ok_or("braces hold a range {0..9}, nothing {}, or a run {x*200}")?);
        rest = after;
    }
    pieces.push(Piece::Plain(rest));
    Ok(pieces)
}

fn braces(inside: &str) -> Option<Piece<'_>> {
    if inside.is_empty() {
        return Some(Piece::Again);
    }
    if let Some((first, last)) = inside.split_once("..") {
        return Some(Piece::Range(first.parse().ok()?, last.parse().ok()?));
    }
    let (text, times) = inside.rsplit_once('*')?;
    let times = times.parse().ok().filter(|times| times * text.len() <= RUN)?;
    Some(Piece::Run(text, times))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_runs_are_written_out() {
        assert_eq!(expand("sync"), Ok(vec!["sync".to_owned()]));
        assert_eq!(expand("link a{8..10}x b{}"), Ok(["8", "9", "10"].map(|n| format!("link a{n}x b{n}")).to_vec()));
        assert_eq!(expand("create {xy*3}{1..1}"), Ok(vec!["create xyxyxy1".to_owned()]));
    }

    #[test]
    fn wrong_braces_are_refused() {
        for line in
            ["a{", "a{}", "a{0..1} b{0..1}", "a{3..2}", "a{0..100000}", "a{x}", "a{x*5000}", "a{x*99999999999999}"]
        {
            assert!(expand(line).is_err(), "{line}");
        }
        assert_eq!(expand("a{0..99999}").map(|lines| lines.len()), Ok(100_000));
    }
}
