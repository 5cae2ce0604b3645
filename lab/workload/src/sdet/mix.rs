//! The commands of the users of `sdet`: subtasks of a few commands, and how often each occurs in a script.
//!
//! M1. A subtask needs only what was prepared, and removes what it makes. So subtasks can run in any order.
//! M2. A script has `COMMANDS` commands, the same ones for every user.

/// A command of a user. A path is a name in the user's home, or a directory there and a name in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    /// date, who, ps, echo, and compiled programs: a process that touches no file here.
    Plain,
    /// ls -l of a directory.
    Ls(&'static str),
    /// find of the whole home.
    Find,
    /// cat, grep, wc, pr, diff: read every byte of these files.
    Scan(&'static [&'static str]),
    Cp(&'static str, &'static str),
    Mv(&'static str, &'static str),
    Touch(&'static str),
    Rm(&'static [&'static str]),
    Mkdir(&'static str),
    /// rm -r.
    RmTree(&'static str),
    /// ed, with its commands in a here-document.
    Ed(&'static str),
    /// nroff of the first into the second.
    Nroff(&'static str, &'static str),
    Spell(&'static str),
    /// cc of one source into one program.
    Cc(&'static str, &'static str),
    /// make of a program from two sources.
    Make(&'static str),
    /// cpio -o of a directory into a file.
    Cpio(&'static str, &'static str),
}

/// Commands that a user runs one after another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subtask {
    /// How often it occurs in a script.
    pub(super) times: usize,
    pub(super) commands: &'static [Command],
}

/// Commands in a script.
#[cfg(test)]
const COMMANDS: usize = 150;

use Command::{Cc, Cp, Cpio, Ed, Find, Ls, Make, Mkdir, Mv, Nroff, Plain, Rm, RmTree, Scan, Spell, Touch};

/// A script, before it is shuffled.
pub(super) const MIX: &[Subtask] = &[
    // Changes a document.
    Subtask { times: 8, commands: &[Cp("doc/d0", "draft"), Ed("draft"), Scan(&["doc/d0", "draft"]), Rm(&["draft"])] },
    // Compiles a small program and runs it.
    Subtask { times: 6, commands: &[Cc("src/s0.c", "a.out"), Plain, Rm(&["a.out"])] },
    // Builds a larger one.
    Subtask { times: 2, commands: &[Touch("src/s1.c"), Make("program"), Rm(&["program", "src/s1.o", "src/s2.o"])] },
    // Formats a document and pages through it.
    Subtask { times: 4, commands: &[Nroff("doc/d1", "out"), Scan(&["out"]), Rm(&["out"])] },
    // Checks a document's spelling.
    Subtask { times: 3, commands: &[Spell("doc/d2"), Scan(&["doc/d2"])] },
    // Moves files.
    Subtask {
        times: 5,
        commands: &[
            Mkdir("new"),
            Cp("src/s1.c", "new/a"),
            Cp("src/s2.c", "new/b"),
            Ls("new"),
            Mv("new/a", "new/c"),
            Touch("new/t"),
            RmTree("new"),
        ],
    },
    // Searches the sources.
    Subtask {
        times: 7,
        commands: &[
            Ls("src"),
            Scan(&["src/s0.c", "src/s1.c", "src/s2.c", "src/s3.c"]),
            Scan(&["doc/d0", "doc/d1"]),
            Plain,
        ],
    },
    Subtask { times: 2, commands: &[Find, Plain] },
    // Archives the sources.
    Subtask { times: 2, commands: &[Cpio("src", "archive"), Ls("doc"), Rm(&["archive"])] },
    // Shows who is logged in.
    Subtask { times: 1, commands: &[Plain, Plain, Plain] },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_has_its_commands() {
        let commands: usize = MIX.iter().map(|subtask| subtask.times * subtask.commands.len()).sum();
        assert_eq!((commands, MIX.iter().map(|subtask| subtask.times).sum::<usize>()), (COMMANDS, 40));
    }
}
