//! `ordo report`

use crate::out::{Outcome, Status, print, usage};
use anyhow::Context;
use ordo_report::Source;
use std::path::{Path, PathBuf};

/// Makes one HTML page with pictures from results
///
/// The files are what ordo bench, ordo paper, ordo crash and ordo trace --explain print with --json; the kind of
/// each is recognised. The page needs no network and no other file, and the same files give the same page.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo bench --workload postmark --json > bench.json; ordo report bench.json\n  \
    ordo report -o pages bench.json crash.json\n  \
    for s in sync softupdates; do ordo trace --explain --scheme $s --json mkdir /d > $s.json; done; ordo report *.json")]
pub(crate) struct Args {
    /// Where the page goes, as index.html
    #[arg(short, long, value_name = "DIR", default_value = "report")]
    output: PathBuf,
    /// Results
    #[arg(required = true, value_name = "FILE.json")]
    files: Vec<PathBuf>,
}

fn source(path: &Path) -> anyhow::Result<Source> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| format!("{name}: cannot read the results"))?;
    Ok(Source { name, text })
}

/// Writes the page and prints its path. If the page cannot be completed, nothing is written.
pub(crate) fn run(args: &Args) -> Outcome {
    let sources = args.files.iter().map(|path| source(path)).collect::<anyhow::Result<Vec<_>>>()?;
    let page = ordo_report::page(&sources).map_err(|refused| usage(refused.to_string()))?;
    let path = args.output.join("index.html");
    let written = std::fs::create_dir_all(&args.output).and_then(|()| std::fs::write(&path, page));
    written.with_context(|| format!("{}: cannot write the page; choose another directory with -o", path.display()))?;
    print(|out| out.line(path.display().to_string()))?;
    Ok(Status::DONE)
}
