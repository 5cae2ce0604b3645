//! The laboratory's commands. They are those of another program, `ordo-lab`, which is looked for beside this one and
//! then in PATH, as git looks for its own: who mounts a disk needs none of them, and who measures sees no difference.

use anyhow::{Context, anyhow};
use clap::Command;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

/// The commands and what they are for. A test of `ordo-lab` holds this list.
pub const COMMANDS: [(&str, &str); 11] = [
    ("age", "Lets users work on a volume for months, so that it looks like one of a server"),
    ("bench", "Runs workloads under schemes and shows the cost of each"),
    ("crash", "Cuts the power at every moment, recovers, and checks the result against the scheme's promises"),
    ("disks", "Lists the drives that can be modelled, and compares a model with its drive"),
    ("fuzz", "Damages volumes, and checks that nothing panics, hangs or loses what was not hit"),
    ("merge", "Joins the results of a sweep's shards, and says what is missing"),
    ("paper", "Runs the experiments of a paper again and shows our results beside the paper's"),
    ("report", "Makes one HTML page with pictures from results"),
    ("sim", "Plays traces on simulated file systems: the simulator of the paper on active journaling"),
    ("trace", "Shows what one call writes, when, and why; records what is done to a mount, and replays it"),
    ("workloads", "Lists the workloads of ordo bench"),
];

const PROGRAM: &str = "ordo-lab";

fn is_command(word: &OsString) -> bool {
    COMMANDS.iter().any(|(name, _)| word == name)
}

/// Whether these arguments are a command of the laboratory, its help, or a shell's question about one.
pub fn is_asked(arguments: &[OsString]) -> bool {
    let words = match arguments.iter().position(|word| word == "--") {
        Some(at) if std::env::var_os(crate::complete::ASKED).is_some() => &arguments[at + 1..],
        _ => arguments,
    };
    match words.get(1..).unwrap_or_default() {
        [help, command, ..] if help == "help" => is_command(command),
        [command, ..] => is_command(command),
        [] => false,
    }
}

/// `ordo`'s commands, and the laboratory's by their names: for its help and for what a shell completes.
pub(crate) fn beside(command: Command) -> Command {
    command.subcommands(COMMANDS.map(|(name, about)| Command::new(name).about(about)))
}

/// The program, if it is here.
pub(crate) fn program() -> Option<PathBuf> {
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(Path::to_owned);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = beside.into_iter().chain(std::env::split_paths(&path).collect::<Vec<_>>());
    places.map(|place| place.join(PROGRAM)).find(|file| file.is_file())
}

/// Becomes `ordo-lab` with the same arguments. Returns only if it cannot.
pub(crate) fn run(arguments: &[OsString]) -> anyhow::Error {
    let Some(program) = program() else {
        let name = arguments.get(1).map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
        return anyhow!(
            "{name} is a command of the laboratory, {PROGRAM}, which is neither beside this program nor in PATH; it is \
             built from a checkout, by cargo build --release, and installed by cargo install --path lab/cli"
        );
    };
    let error = std::process::Command::new(&program).args(arguments.iter().skip(1)).exec();
    Err::<(), _>(error).with_context(|| format!("cannot run {}", program.display())).unwrap_err()
}
