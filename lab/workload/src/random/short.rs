//! Short forms of operations, for people: omitted values get their defaults.
//!
//! An operation is always written in its exact form; a short form is read as the exact form it stands for. A seed has
//! no default: the reader of several lines gives each its own.

/// The verb, its arguments, and the defaults of those that may be omitted at the end.
const FORMS: [(&str, &str, &[&str]); 32] = [
    ("create", "FILE [MODE]", &["644"]),
    ("mknod", "FILE file|fifo|socket|char|block [MODE [DEVICE]]", &["644", "0"]),
    ("mkdir", "DIR [MODE]", &["755"]),
    ("symlink", "LINK TARGET", &[]),
    ("link", "FILE NAME", &[]),
    ("unlink", "NAME", &[]),
    ("rmdir", "DIR", &[]),
    ("rename", "FROM TO [replace|noreplace|exchange]", &["replace"]),
    ("tmpfile", "@SLOT DIR [MODE]", &["600"]),
    ("open", "@SLOT PATH", &[]),
    ("close", "@SLOT", &[]),
    ("write", "FILE OFFSET LENGTH [SEED]", &[SEED]),
    ("read", "FILE OFFSET LENGTH", &[]),
    ("truncate", "FILE SIZE", &[]),
    ("fallocate", "FILE OFFSET LENGTH [allocate|allocate-keep|punch|zero|zero-keep]", &["allocate"]),
    ("seek", "FILE OFFSET data|hole", &[]),
    ("readdir", "DIR [BATCH]", &["64"]),
    ("readlink", "LINK", &[]),
    ("stat", "PATH", &[]),
    ("chmod", "PATH MODE", &[]),
    ("chown", "PATH UID GID", &[]),
    ("settime", "PATH SECONDS NANOSECONDS", &[]),
    ("setflags", "PATH HEXADECIMAL", &[]),
    ("setxattr", "PATH NAME LENGTH [SEED [set|create|replace]]", &[SEED, "set"]),
    ("setacl", "PATH access|default MODE USER", &[]),
    ("getxattr", "PATH NAME", &[]),
    ("listxattr", "PATH", &[]),
    ("removexattr", "PATH NAME", &[]),
    ("fsync", "PATH [all|data]", &["all"]),
    ("fdatasync", "PATH", &[]),
    ("sync", "", &[]),
    ("pause", "MILLISECONDS", &[]),
];

/// Placeholder for a seed, which the reader provides.
const SEED: &str = "SEED";

/// The arguments of the verb in `line`, or a list of the verbs.
pub(crate) fn usage(line: &str) -> String {
    let verb = line.split_ascii_whitespace().next().unwrap_or_default();
    match FORMS.iter().find(|(known, ..)| *known == verb) {
        Some((verb, rest, _)) => format!("write: {verb} {rest}").trim_end().to_owned(),
        None => format!("a call is one of: {}", FORMS.map(|(verb, ..)| verb).join(", ")),
    }
}

/// The exact form of a line as words; unchanged if nothing is omitted. An omitted seed becomes `seed`, or stays omitted
/// if that is `None`.
pub(super) fn exact(line: &str, seed: Option<u64>) -> Vec<String> {
    let mut words: Vec<String> = line.split_ascii_whitespace().map(str::to_owned).collect();
    if let [verb, path] = &words[..]
        && verb == "fdatasync"
    {
        return vec!["fsync".to_owned(), path.clone(), "data".to_owned()];
    }
    let form = words.first().and_then(|verb| FORMS.iter().find(|(known, ..)| known == verb));
    let Some((_, rest, usual)) = form else { return words };
    // Arguments in brackets may be omitted, the last first.
    let all = 1 + rest.split(' ').filter(|part| !part.is_empty()).count();
    let left_out = all.saturating_sub(words.len());
    if left_out <= usual.len() {
        for value in &usual[usual.len() - left_out..] {
            match (*value, seed) {
                (SEED, None) => break,
                (SEED, Some(seed)) => words.push(seed.to_string()),
                (value, _) => words.push(value.to_owned()),
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Op;

    #[test]
    fn short_forms_are_read_as_the_exact_forms_they_stand_for() {
        for (short, exact) in [
            ("create a", "create a 644"),
            ("mkdir d", "mkdir d 755"),
            ("mknod p fifo", "mknod p fifo 644 0"),
            ("mknod p char 600", "mknod p char 600 0"),
            ("rename a b", "rename a b replace"),
            ("tmpfile @1 d", "tmpfile @1 d 600"),
            ("fallocate a 0 10", "fallocate a 0 10 allocate"),
            ("readdir d", "readdir d 64"),
            ("fsync a", "fsync a all"),
            ("fdatasync a", "fsync a data"),
            ("setxattr a user.x 10 7", "setxattr a user.x 10 7 set"),
        ] {
            let op: Op = short.parse().unwrap();
            assert_eq!(op.to_string(), exact);
            assert_eq!(exact.parse(), Ok(op));
        }
    }

    #[test]
    fn a_seed_that_is_left_out_is_the_one_given() {
        assert_eq!("write a 0 1".parse::<Op>().ok(), None);
        assert_eq!(exact("write a 0 1", Some(9)), ["write", "a", "0", "1", "9"]);
        assert_eq!(exact("write a 0 1 3", Some(9)), ["write", "a", "0", "1", "3"]);
        assert_eq!(exact("setxattr a user.x 10", Some(9)), ["setxattr", "a", "user.x", "10", "9", "set"]);
        assert_eq!(exact("write a", Some(9)), ["write", "a"]);
    }

    #[test]
    fn the_usage_names_the_verb_or_all_of_them() {
        assert_eq!(usage("rename a"), "write: rename FROM TO [replace|noreplace|exchange]");
        assert_eq!(usage("sync now"), "write: sync");
        assert!(usage("move a b").contains("rename, tmpfile"));
    }
}
