//! The changes for which requests are counted.

/// A change, and the call that makes it durable. The lines are those of scripts.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// Made durable first.
    pub before: &'static [&'static str],
    /// The same kind of change once, made durable after that.
    pub once: &'static [&'static str],
    /// What is counted: the lines of each caller. All callers work at the same time.
    pub callers: &'static [&'static [&'static str]],
}

/// `/f` has only whole blocks, on every device, and no indirect one even after an append.
const FILE: &[&str] = &["create /f", "write /f 0 24576 1"];
const TWO_FILES: &[&str] = &["create /f", "write /f 0 24576 1", "create /g", "write /g 0 24576 2"];
const TWO_DIRECTORIES: &[&str] = &["mkdir /a", "mkdir /b"];
const ONCE: &[&str] = &["write /f 0 8192 3", "fsync /f all"];
/// What is known of an inode begins with the first fdatasync.
const ONCE_DATA: &[&str] = &["write /f 0 8192 3", "fsync /f data"];
const ONE_NEW: &[&str] = &["create /w", "write /w 0 8192 3", "fsync /w all"];

/// All cases, in the order of the table.
pub const CASES: &[Case] = &[
    Case {
        name: "overwrite, fdatasync",
        before: FILE,
        once: ONCE_DATA,
        callers: &[&["write /f 0 8192 7", "fsync /f data"]],
    },
    Case { name: "overwrite, fsync", before: FILE, once: ONCE, callers: &[&["write /f 0 8192 7", "fsync /f all"]] },
    Case {
        name: "append, fdatasync",
        before: FILE,
        once: ONCE_DATA,
        callers: &[&["write /f 24576 8192 7", "fsync /f data"]],
    },
    Case { name: "append, fsync", before: FILE, once: ONCE, callers: &[&["write /f 24576 8192 7", "fsync /f all"]] },
    Case {
        name: "new empty file, fsync",
        before: FILE,
        once: &["create /w", "fsync /w all"],
        callers: &[&["create /n", "fsync /n all"]],
    },
    Case {
        name: "new file, fdatasync",
        before: FILE,
        once: ONE_NEW,
        callers: &[&["create /n", "write /n 0 8192 7", "fsync /n data"]],
    },
    Case {
        name: "new file, fsync",
        before: FILE,
        once: ONE_NEW,
        callers: &[&["create /n", "write /n 0 8192 7", "fsync /n all"]],
    },
    Case {
        name: "rename over a file, fdatasync",
        before: TWO_FILES,
        once: ONCE,
        callers: &[&["rename /g /f replace", "fsync /f data"]],
    },
    Case {
        name: "rename over a file, fsync",
        before: TWO_FILES,
        once: ONCE,
        callers: &[&["rename /g /f replace", "fsync /f all"]],
    },
    Case {
        name: "new file, sync",
        before: FILE,
        once: ONE_NEW,
        callers: &[&["create /n", "write /n 0 8192 7", "sync"]],
    },
    Case { name: "nothing, fsync", before: FILE, once: ONCE, callers: &[&["fsync /f all"]] },
    Case { name: "nothing, sync", before: FILE, once: ONCE, callers: &[&["sync"]] },
    Case {
        name: "two overwrites at once, fdatasync",
        before: TWO_FILES,
        once: &["write /f 0 8192 3", "write /g 0 8192 3", "fsync /f data", "fsync /g data"],
        callers: &[&["write /f 0 8192 7", "fsync /f data"], &["write /g 0 8192 9", "fsync /g data"]],
    },
    Case {
        name: "two new files at once in two directories, fsync",
        before: TWO_DIRECTORIES,
        once: &["create /a/w", "create /b/w", "fsync /a/w all", "fsync /b/w all"],
        callers: &[
            &["create /a/n", "write /a/n 0 8192 7", "fsync /a/n all"],
            &["create /b/n", "write /b/n 0 8192 9", "fsync /b/n all"],
        ],
    },
];
