//! The command `ordo`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ordo_cli::main()
}
