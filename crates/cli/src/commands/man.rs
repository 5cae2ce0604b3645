//! `ordo man`: the manual pages, from the definition of the command line.

use crate::args::command;
use crate::out::{Outcome, Status};
use anyhow::Context;
use clap_mangen::Man;
use std::path::{Path, PathBuf};

/// Writes the manual pages, one for each command
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory to write to
    dir: PathBuf,
}

/// Writes `ordo.8` and `ordo-COMMAND.8`.
pub(crate) fn run(args: &Args) -> Outcome {
    std::fs::create_dir_all(&args.dir).with_context(|| args.dir.display().to_string())?;
    let whole = command();
    write(&args.dir, &whole, "ordo")?;
    for sub in whole.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let name = format!("ordo-{}", sub.get_name());
        let page = sub.clone().display_name(name.clone()).bin_name(format!("ordo {}", sub.get_name()));
        write(&args.dir, &page.disable_help_flag(true), &name)?;
    }
    Ok(Status::DONE)
}

fn write(dir: &Path, command: &clap::Command, name: &str) -> anyhow::Result<()> {
    let mut page = Vec::new();
    Man::new(command.clone()).title(name).section("8").source("OrdoFS").manual("OrdoFS").render(&mut page)?;
    let path = dir.join(format!("{name}.8"));
    std::fs::write(&path, page).with_context(|| path.display().to_string())
}
