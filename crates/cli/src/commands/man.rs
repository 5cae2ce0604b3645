//! `ordo man`: the manual pages, from the definition of the command line.
//!
//! Section 8 has a page for each command, and one for each name by which mount(8), mkfs(8) and fsck(8) call the
//! program. Section 7 has the schemes, section 5 what IMAGE may name.

use super::schemes;
use crate::first::AFTER;
use crate::lab;
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

/// The helpers that other programs call, and the command that each of them is.
const HELPERS: [(&str, &str); 4] =
    [("mount.ordo", "mount"), ("umount.ordo", "umount"), ("mkfs.ordo", "mkfs"), ("fsck.ordo", "fsck")];

/// Writes `ordo.8`, `ordo-COMMAND.8`, and so on down, the helpers' pages, `ordo-schemes.7` and `ordo-images.5`.
pub(crate) fn run(args: &Args, whole: &clap::Command) -> Outcome {
    std::fs::create_dir_all(&args.dir).with_context(|| args.dir.display().to_string())?;
    write(&args.dir, &lab::beside(whole.clone()), "ordo")?;
    pages(&args.dir, whole)?;
    for (helper, command) in HELPERS {
        put(&args.dir, &format!("{helper}.8"), format!(".so man8/ordo-{command}.8\n").as_bytes())?;
    }
    let rows: String = schemes::rows().lines().map(|row| format!("  {row}\n")).collect();
    let text = format!("A mount keeps its metadata in order by one of these, chosen with -o scheme=NAME.\n\n{rows}");
    put(
        &args.dir,
        "ordo-schemes.7",
        of_text("ordo-schemes", "7", "how metadata is kept consistent", &text).as_bytes(),
    )?;
    put(&args.dir, "ordo-images.5", of_text("ordo-images", "5", "what IMAGE may name", AFTER).as_bytes())?;
    Ok(Status::DONE)
}

/// A page of plain text.
fn of_text(name: &str, section: &str, about: &str, text: &str) -> String {
    let escaped = text.replace('\\', "\\e").replace('-', "\\-");
    let page = format!(
        ".TH {name} {section} \"{DATE}\" OrdoFS OrdoFS\n.SH NAME\n{name} \\- {about}\n.SH DESCRIPTION\n{escaped}\n{SEE_ALSO}"
    );
    with_tables(&page)
}

/// When the pages were last gone through. Not the time of the build: the same source gives the same pages.
const DATE: &str = "2026-11-27";

const SEE_ALSO: &str = ".SH SEE ALSO\n.BR ordo (8),\n.BR ordo\\-images (5),\n.BR ordo\\-schemes (7)\n";

/// Lines that begin with two spaces are tables and examples: they keep their line ends. Headings say what they head.
fn with_tables(page: &str) -> String {
    let (mut out, mut table) = (String::with_capacity(page.len()), false);
    for line in page.lines() {
        // An empty line within a table is a part of it only if the table goes on; troff takes either.
        let is_row = line.starts_with("  ");
        if is_row != table {
            out.push_str(if is_row { ".nf\n" } else { ".fi\n" });
            table = is_row;
        }
        out.push_str(if line == ".SH EXTRA" { ".SH NOTES" } else { line });
        out.push('\n');
    }
    if table {
        out.push_str(".fi\n");
    }
    out
}

/// Writes a page for each command of `whole`, and each command of a command.
///
/// # Errors
/// When a page cannot be written.
pub fn pages(dir: &Path, whole: &clap::Command) -> anyhow::Result<()> {
    below(dir, whole, "ordo")
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
    Man::new(command.clone())
        .title(name)
        .section("8")
        .date(DATE)
        .source("OrdoFS")
        .manual("OrdoFS")
        .render(&mut page)?;
    let page = with_tables(&String::from_utf8_lossy(&page)) + SEE_ALSO;
    put(dir, &format!("{name}.8"), page.as_bytes())
}

fn put(dir: &Path, name: &str, page: &[u8]) -> anyhow::Result<()> {
    let path = dir.join(name);
    std::fs::write(&path, page).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_their_line_ends_and_prose_is_filled() {
        let page = with_tables(".SH EXTRA\nprose\n  a  1\n  b  2\nmore\n  c\n");
        assert_eq!(page, ".SH NOTES\nprose\n.nf\n  a  1\n  b  2\n.fi\nmore\n.nf\n  c\n.fi\n");
    }
}
