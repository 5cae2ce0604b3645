//! The text form of a script.

use super::calls::Script;
use super::expand::expand;
use crate::random::{Op, usage};
use std::collections::BTreeSet;
use std::fmt;

/// The comment that lets the next call be refused.
const REFUSED: &str = "refused";

/// Ends the set-up.
const RULE: &str = "---";

/// A line of a script that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}, line {line}: {text:?}: {right}")]
pub struct BadScript {
    /// The script's name.
    pub name: String,
    /// The line's number, from 1.
    pub line: usize,
    /// The line's text.
    pub text: String,
    /// What would be valid.
    pub right: String,
}

impl Script {
    /// Parses the text of a script.
    ///
    /// # Errors
    /// The first line that cannot be parsed.
    pub fn parse(name: &str, text: &str) -> Result<Script, BadScript> {
        let mut reader = Reader { name, seeds: Seeds::new(text), script: Script::default(), mark: None, ruled: false };
        reader.script.name = name.to_owned();
        reader.script.says = head(text);
        for (index, line) in text.lines().enumerate() {
            reader.line(index + 1, line.trim())?;
        }
        match reader.mark {
            Some(line) => Err(reader.bad(line, "# refused", "a call stands directly below")),
            None => Ok(reader.script),
        }
    }
}

/// The comment that the text begins with, in one line.
fn head(text: &str) -> String {
    let comments = text.lines().map_while(|line| line.trim().strip_prefix('#')).map(str::trim);
    comments.take_while(|comment| *comment != REFUSED).collect::<Vec<_>>().join(" ").trim().to_owned()
}

struct Reader<'a> {
    name: &'a str,
    seeds: Seeds,
    script: Script,
    /// The line of a mark whose call has not followed yet.
    mark: Option<usize>,
    /// The line `---` was read.
    ruled: bool,
}

impl Reader<'_> {
    fn bad(&self, line: usize, text: &str, right: impl Into<String>) -> BadScript {
        BadScript { name: self.name.to_owned(), line, text: text.to_owned(), right: right.into() }
    }

    fn line(&mut self, no: usize, line: &str) -> Result<(), BadScript> {
        let comment = line.strip_prefix('#').map(str::trim);
        if let Some(mark) = self.mark
            && (comment.is_some() || line.is_empty() || line == RULE)
        {
            return Err(self.bad(mark, "# refused", "a call stands directly below"));
        }
        if comment == Some(REFUSED) {
            self.mark = Some(no);
        } else if line == RULE {
            if std::mem::replace(&mut self.ruled, true) {
                return Err(self.bad(no, line, "one such line ends the set-up, there is no other part"));
            }
            self.script.setup = std::mem::take(&mut self.script.calls);
        } else if comment.is_none() && !line.is_empty() {
            self.calls(no, line)?;
        }
        Ok(())
    }

    fn calls(&mut self, no: usize, line: &str) -> Result<(), BadScript> {
        let lines = expand(line).map_err(|right| self.bad(no, line, right))?;
        let refused = self.mark.take().is_some();
        for call in lines {
            let seed = self.seeds.spare();
            let op = Op::read(&call, Some(seed)).map_err(|_| self.bad(no, line, usage(line)))?;
            self.seeds.take(&op);
            if refused {
                self.script.refused.insert(self.script.setup.len() + self.script.calls.len());
            }
            self.script.calls.push(op);
        }
        Ok(())
    }
}

/// Seeds in use: those that the text contains, and those that were assigned.
struct Seeds {
    named: BTreeSet<u64>,
    next: u64,
}

impl Seeds {
    /// All seeds in `text`, including those further down.
    fn new(text: &str) -> Seeds {
        let lines = text.lines().filter_map(|line| expand(line.trim()).ok()).flatten();
        let named = lines.filter_map(|line| seed_of(&line.parse().ok()?)).collect();
        let mut seeds = Seeds { named, next: 1 };
        seeds.skip();
        seeds
    }

    fn spare(&self) -> u64 {
        self.next
    }

    fn take(&mut self, op: &Op) {
        if seed_of(op) == Some(self.next) {
            self.next += 1;
            self.skip();
        }
    }

    fn skip(&mut self) {
        while self.named.contains(&self.next) {
            self.next += 1;
        }
    }
}

fn seed_of(op: &Op) -> Option<u64> {
    match op {
        Op::Write { seed, .. } | Op::SetXattr { seed, .. } => Some(*seed),
        _ => None,
    }
}

/// The exact text: every value is written out, every line makes one call.
impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.says.is_empty() {
            writeln!(f, "# {}\n", self.says.split_whitespace().collect::<Vec<_>>().join(" "))?;
        }
        for (index, (op, refused)) in self.steps().enumerate() {
            if index == self.setup.len() && index > 0 {
                writeln!(f, "{RULE}")?;
            }
            if refused {
                writeln!(f, "# {REFUSED}")?;
            }
            writeln!(f, "{op}")?;
        }
        if self.calls.is_empty() && !self.setup.is_empty() {
            writeln!(f, "{RULE}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# A file takes the place\n#   of another one.\n\n create a\nwrite a 0 10\n\n# both\ncreate b{0..2}\n---\n\
        write a 5 10 1\n# refused\nrename a b{0..1}\nsetxattr a user.x 10\nfsync b1";

    fn lines(ops: &[Op]) -> Vec<String> {
        ops.iter().map(Op::to_string).collect()
    }

    #[test]
    fn a_text_gives_its_head_its_setup_its_calls_and_its_marks() {
        let script = Script::parse("s", TEXT).unwrap();
        assert_eq!((script.name.as_str(), script.says.as_str()), ("s", "A file takes the place of another one."));
        assert_eq!(
            lines(&script.setup),
            ["create a 644", "write a 0 10 2", "create b0 644", "create b1 644", "create b2 644"]
        );
        assert_eq!(
            lines(&script.calls),
            [
                "write a 5 10 1",
                "rename a b0 replace",
                "rename a b1 replace",
                "setxattr a user.x 10 3 set",
                "fsync b1 all"
            ]
        );
        assert_eq!(script.refused, BTreeSet::from([6, 7]));
    }

    #[test]
    fn what_is_written_reads_back_as_the_same() {
        for text in
            [TEXT, "", "create a", "create a\n---", "---\ncreate a", "# refused\ncreate a\n---\n# refused\nsync"]
        {
            let script = Script::parse("s", text).unwrap();
            let written = script.to_string();
            assert_eq!(Script::parse("s", &written), Ok(script), "{written}");
        }
    }

    #[test]
    fn a_bad_line_is_named_with_what_would_be_right() {
        for (text, line, right) in [
            ("create a\n\n  move a b", 3, "a call is one of"),
            ("rename a", 1, "write: rename FROM TO"),
            ("create a # the victim", 1, "write: create FILE [MODE]"),
            ("create a{0..x}", 1, "braces"),
            ("---\nsync\n---", 3, "one such line"),
            ("sync\n# refused", 2, "directly below"),
            ("# refused\n\nsync", 1, "directly below"),
            ("write a 0 99999999999", 1, "write: write FILE OFFSET LENGTH"),
        ] {
            let bad = Script::parse("s", text).unwrap_err();
            assert!(bad.line == line && bad.right.contains(right), "{text:?}: {bad}");
        }
        let bad = Script::parse("s", "rmdir").unwrap_err().to_string();
        assert_eq!(bad, "s, line 1: \"rmdir\": write: rmdir DIR");
    }

    #[test]
    fn seeds_are_given_around_those_that_stand_further_down() {
        let script = Script::parse("s", "write a 0 1\nwrite a 0 1\nwrite a 0 1 2\nwrite a 0 1 1\nwrite a 0 1").unwrap();
        let seeds: Vec<Option<u64>> = script.calls.iter().map(seed_of).collect();
        assert_eq!(seeds, [3, 4, 2, 1, 5].map(Some));
    }
}
