//! The map of GNU ddrescue: which bytes of a copy came from the disk.
//!
//! Comments begin with `#`. The first other line is the state of the program; each one after it is the start, the size
//! and the status of a range, in the numbers of C. Only `+` means that the range was read. What the map does not
//! mention was never asked for, and counts as it is in the copy.

use std::ops::Range;

/// The ranges that were not read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadMap {
    /// In the order of the map.
    pub bad: Vec<Range<u64>>,
}

/// A line that is none of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadMap {
    /// Counted from 1.
    pub line: usize,
}

impl std::fmt::Display for BadMap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {} is none of a map of ddrescue: `position size status` belongs there", self.line)
    }
}

impl std::error::Error for BadMap {}

impl std::str::FromStr for ReadMap {
    type Err = BadMap;

    fn from_str(text: &str) -> Result<ReadMap, BadMap> {
        let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        let (mut map, mut end, mut ranges) = (ReadMap::default(), 1, 0);
        for (at, (line, text)) in lines.enumerate() {
            let words: Vec<&str> = text.split_whitespace().collect();
            // Position and status of the program, and since version 1.23 the number of the pass.
            end = line;
            if at == 0 {
                if !(2..=3).contains(&words.len()) || number(words.first()).is_none() {
                    return Err(BadMap { line });
                }
                continue;
            }
            let range = match (number(words.first()), number(words.get(1)), words.get(2)) {
                (Some(start), Some(len), Some(status)) => Some((start..start.saturating_add(len), *status)),
                _ => None,
            };
            ranges += 1;
            match range {
                Some((_, "+")) => {}
                Some((range, "?" | "*" | "/" | "-")) => map.bad.push(range),
                _ => return Err(BadMap { line }),
            }
        }
        // A map without a range would call all of the copy read.
        if ranges == 0 { Err(BadMap { line: end }) } else { Ok(map) }
    }
}

/// As strtol reads it with base 0.
fn number(word: Option<&&str>) -> Option<u64> {
    let word = *word?;
    let radix = |text, radix| u64::from_str_radix(text, radix).ok();
    match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        Some(hex) => radix(hex, 16),
        None if word.len() > 1 && word.starts_with('0') => radix(word, 8),
        None => radix(word, 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_was_not_read_is_bad() {
        let text = "# Mapfile. Created by GNU ddrescue version 1.27\n# Command line: ddrescue a b m\n\
                    # current_pos  current_status  current_pass\n0x00010000     +               1\n\
                    #      pos        size  status\n0x0  0x1000  +\n0x1000 512 -\n010000 0x10 *\n\n8192 1 /\n9000 1 ?\n";
        let map: ReadMap = text.parse().unwrap();
        assert_eq!(map.bad, [4096..4608, 4096..4112, 8192..8193, 9000..9001]);
    }

    #[test]
    fn a_line_that_is_none_of_a_map_is_named() {
        for (text, line) in [
            ("garbage", 1),
            ("0 + 1\n0 1", 2),
            ("0 +\n# x\n0 5 x\n", 3),
            ("0 +\n-1 5 -\n", 2),
            ("", 1),
            ("# x\n0 +\n", 2),
        ] {
            assert_eq!(text.parse::<ReadMap>(), Err(BadMap { line }), "{text:?}");
        }
    }
}
