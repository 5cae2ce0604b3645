//! The laboratory's program, end to end. It does as `ordo` does, too, so that one program makes what another measures.

mod aged;
#[path = "../../../../crates/cli/tests/cli/common.rs"]
mod common;
mod crash;
mod disks;
mod explained;
mod flushes;
mod log_structured;
mod measured;
#[path = "../../../../crates/cli/tests/cli/mounting.rs"]
mod mounting;
mod needs;
mod paper;
mod readme;
mod recorded;
mod report;
mod sim;
mod sweeps;
mod toured;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_ordo-lab");

/// A search path in whose first directory the program is called `ordo`.
fn path_with_ordo(scratch: &common::Scratch) -> String {
    let bin = scratch.path("bin");
    if !std::path::Path::new(&bin).exists() {
        std::fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(PROGRAM, format!("{bin}/ordo")).unwrap();
    }
    format!("{bin}:{}", std::env::var("PATH").unwrap())
}
