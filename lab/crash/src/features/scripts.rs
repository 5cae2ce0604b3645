//! The scripts for each question: calls on which a scheme could break that promise.

use crate::Question;
use ordo_workload::script::{self, Script};

/// Names are added, changed and removed.
const NAMES: &str = "mkdir d\ncreate d/x\ncreate a\nwrite a 0 3000\ncreate b\ncreate c\n---\n\
    create n\nmkdir e\nsymlink s target\nlink b l\nrename a d/a\nunlink c\nrename b d/x\nrmdir e";

/// The set-up for each single call of [`SINGLE`].
const BEFORE: &str = "mkdir d\nmkdir d/s\ncreate d/s/f\nmkdir e\nmkdir p\nmkdir p/q\ncreate a\nwrite a 0 3000\ncreate d/x\n\
    write d/x 0 600\ncreate c";

/// Calls that change more than one block. A script of one call has two moments, and there is no third.
const SINGLE: &[&str] = &[
    "create n",
    "mkdir n",
    "symlink n target",
    "link a d/n",
    "unlink c",
    "rmdir e",
    "rename a n",
    "rename a d/n",
    "rename a d/x",
    "rename a d/x exchange",
    "rename d/s p/s",
    "rename d/s p/q",
];

/// A new file; one that grows within a fragment; one that takes the blocks of a removed file, and of a truncated one;
/// one whose pointers are written with a neighbour's, which is synced while the file's own contents are still in
/// memory.
const CONTENTS: &[&str] = &[
    "create a\n---\nwrite a 0 3000\ncreate b\nwrite b 0 20000",
    "create a\nwrite a 0 4096\ncreate b\nwrite b 0 700\n---\nwrite a 4096 16000\nwrite b 700 2500",
    "create a\nwrite a 0 20000\n---\nunlink a\ncreate b\nwrite b 0 20000",
    "create a\ncreate b\n---\nwrite a 0 3000\nwrite b 0 600\nfsync b\nwrite b 600 600\nfsync b",
    "create a\nwrite a 0 70000\n---\ntruncate a 1000\ncreate b\nwrite b 0 60000",
];

/// Ready-made scripts in which structures of every kind change.
const STRUCTURE: &[&str] = &["create", "remove", "append", "rename", "truncate"];

/// The scripts of a question.
pub(super) fn of(question: Question) -> Vec<Script> {
    // OK to expect: the texts are part of the program, and a test reads them.
    let read = |name: String, text: &str| Script::parse(&name, text).expect("the script can be read");
    let single = || SINGLE.iter().map(|call| read((*call).to_owned(), &format!("{BEFORE}\n---\n{call}")));
    let contents = || CONTENTS.iter().zip(1..).map(|(text, number)| read(format!("contents {number}"), text));
    let ready = || STRUCTURE.iter().filter_map(|name| script::find(name));
    match question {
        Question::OnReturn => vec![read("names".to_owned(), NAMES)],
        Question::Atomic | Question::Named => single().collect(),
        Question::DataFirst => contents().collect(),
        Question::AsItIs | Question::Recovers | Question::Stays => ready().chain(contents()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_scripts_can_be_read_and_those_that_come_ready_are_there() {
        for question in Question::ALL {
            let scripts = of(question);
            assert!(scripts.iter().all(|script| !script.calls.is_empty()), "{}", question.name());
        }
        assert_eq!(of(Question::AsItIs).len(), STRUCTURE.len() + CONTENTS.len());
        assert!(of(Question::Atomic).iter().all(|script| script.calls.len() == 1));
    }
}
