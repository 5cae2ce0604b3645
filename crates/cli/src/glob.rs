//! Patterns for names, as fnmatch(3) has them: `*`, `?`, `[a-z]`, `[!a-z]`, and `\` before a character meant itself.

/// Whether the whole name matches.
pub(crate) fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut in_name) = (0, 0);
    // After the last `*`: where the pattern goes on, and the first byte of the name that it has not swallowed.
    let mut star: Option<(usize, usize)> = None;
    while in_name < name.len() {
        if pattern.get(at) == Some(&b'*') {
            at += 1;
            star = Some((at, in_name));
            continue;
        }
        if let Some(next) = one(pattern, at, name[in_name]) {
            (at, in_name) = (next, in_name + 1);
            continue;
        }
        let Some((after, swallowed)) = star else { return false };
        (at, in_name) = (after, swallowed + 1);
        star = Some((after, swallowed + 1));
    }
    pattern[at..].iter().all(|&b| b == b'*')
}

/// Where the pattern goes on if its element at `at` matches `byte`.
fn one(pattern: &[u8], at: usize, byte: u8) -> Option<usize> {
    match *pattern.get(at)? {
        b'?' => Some(at + 1),
        b'[' => match set(&pattern[at + 1..], byte) {
            Some((holds, len)) => holds.then_some(at + 1 + len),
            None => (byte == b'[').then_some(at + 1),
        },
        b'\\' if at + 1 < pattern.len() => (pattern[at + 1] == byte).then_some(at + 2),
        literal => (literal == byte).then_some(at + 1),
    }
}

/// Whether the set that begins here holds `byte`, and its length; `None` if it has no end.
fn set(pattern: &[u8], byte: u8) -> Option<(bool, usize)> {
    let negated = matches!(pattern.first(), Some(b'!' | b'^'));
    let (start, mut holds) = (usize::from(negated), false);
    let mut at = start;
    loop {
        match *pattern.get(at)? {
            b']' if at > start => return Some((holds != negated, at + 1)),
            low => match pattern.get(at + 1..at + 3) {
                Some(&[b'-', high]) if high != b']' => {
                    holds |= (low..=high).contains(&byte);
                    at += 3;
                }
                _ => {
                    holds |= low == byte;
                    at += 1;
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_the_shell() {
        let all = |pattern: &str, yes: &[&str], no: &[&str]| {
            for (names, right) in [(yes, true), (no, false)] {
                for name in names {
                    assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), right, "{pattern} {name}");
                }
            }
        };
        all("in*", &["in", "inner"], &["pin", ""]);
        all("*.c", &[".c", "a.c", "a.c.c"], &["a.h", "c"]);
        all("a*b*c", &["abc", "axxbyyc", "abbcbc"], &["ab", "acb"]);
        all("?", &["a"], &["", "ab"]);
        all("[a-c]x", &["ax", "cx"], &["dx", "-x"]);
        all("[!a-c]", &["d", "]"], &["a"]);
        all("[]a]", &["]", "a"], &["b"]);
        all("[ab", &["[ab"], &["a"]);
        all("\\*", &["*"], &["a"]);
        all("*", &["", "x"], &[]);
        all("**a", &["a", "xa"], &["b"]);
    }
}
