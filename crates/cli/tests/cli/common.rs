//! Running the built program on images in a scratch directory.

use std::ffi::OsStr;
use std::process::{Command, Output};

/// A scratch directory.
pub(crate) struct Scratch(tempfile::TempDir);

impl Scratch {
    pub(crate) fn new() -> Scratch {
        Scratch(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    /// A volume of 16 MiB in `v.img`.
    pub(crate) fn volume(&self) -> String {
        let image = self.path("v.img");
        ok(ordo(["mkfs", "-q", "--size", "16M", &image]));
        image
    }
}

/// The built program with arguments.
pub(crate) fn command<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(crate::PROGRAM);
    command.args(arguments);
    command
}

/// Runs it to its end.
pub(crate) fn ordo<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Output {
    command(arguments).output().unwrap()
}

/// Its standard output; it must have succeeded, without messages.
pub(crate) fn ok(output: Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Its messages; it must have ended with `status`.
pub(crate) fn fails(status: i32, output: Output) -> String {
    assert_eq!(output.status.code(), Some(status), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}
