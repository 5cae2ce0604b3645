//! `ordo man`: the manual pages, from the definition of the command line.

use crate::args::command;
use crate::out::{Outcome, Status};
use anyhow::Context;
use clap_mangen::Man;
use std::path::{Path, PathBuf};

/// Writes the manual pages, one for each command and each command of a command
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory to write to
    dir: PathBuf,
}

/// Writes `ordo.8`, `ordo-COMMAND.8`, and so on down.
pub(crate) fn run(args: &Args) -> Outcome {
    std::fs::create_dir_all(&args.dir).with_context(|| args.dir.display().to_string())?;
    let whole = command();
    write(&args.dir, &whole, "ordo")?;
    below(&args.dir, &whole, "ordo")?;
    Ok(Status::DONE)
}

fn below(dir: &Path, command: &clap::Command, called: &str) -> anyhow::Result<()> {
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let called = format!("{called} {}", sub.get_name());
        let name = called.replace(' ', "-");
        let page = sub.clone().display_name(name.clone()).bin_name(&called);
        write(dir, &page.disable_help_flag(true), &name)?;
        below(dir, sub, &called)?;
    }
    Ok(())
}

fn write(dir: &Path, command: &clap::Command, name: &str) -> anyhow::Result<()> {
    let mut page = Vec::new();
    Man::new(command.clone()).title(name).section("8").source("OrdoFS").manual("OrdoFS").render(&mut page)?;
    let path = dir.join(format!("{name}.8"));
    std::fs::write(&path, page).with_context(|| path.display().to_string())
}
