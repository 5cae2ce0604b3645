//! `ordo report`

use crate::made::{self, Told, date, no_later};
use crate::out::{Outcome, Status, print, usage};
use anyhow::Context;
use ordo_cli::SegmentMap;
use ordo_report::{Context as Said, Source};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Makes one HTML page with pictures from results
///
/// The files are what ordo bench, ordo paper, ordo crash, ordo trace --explain and ordo info --segments print with
/// --json; the kind of each is recognised. The page begins with which scheme is for whom: speed, as ordo bench
/// measured it, against what a crash costs; the rest is folded. At its top are date, machine, version and commands,
/// as the files have them; for a file without a date the time of its last change, or SOURCE_DATE_EPOCH if that is
/// earlier. The page needs no network and no other file, and the same files give the same page. --aged-log makes a
/// log-structured volume in memory, uses it for a while in virtual time, and shows its segments before and after
/// cleaning.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ordo bench --workload create-delete,postmark --json > bench.json; ordo report bench.json\n  \
    for s in sync softupdates; do ordo crash --scheme $s --workload mixed --json > crash-$s.json; done\n  \
    ordo report -o pages bench.json crash-*.json\n  \
    for s in sync softupdates; do ordo trace --explain --scheme $s --json mkdir /d > $s.json; done; ordo report *.json\n  \
    ordo info --segments --json lfs.img > segments.json; ordo report segments.json\n  \
    ordo report --aged-log"
)]
pub(crate) struct Args {
    /// Where the page goes, as index.html
    #[arg(short, long, value_name = "DIR", default_value = "report")]
    output: PathBuf,
    /// Also shows the segments of a log-structured volume that was in use, before and after cleaning
    #[arg(long)]
    aged_log: bool,
    /// Results
    #[arg(required_unless_present = "aged_log", value_name = "FILE.json")]
    files: Vec<PathBuf>,
}

fn source(path: &Path) -> anyhow::Result<Source> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| format!("{name}: cannot read the results"))?;
    Ok(Source { name, text })
}

/// When the files were written, for documents that do not say when they were made.
fn written(files: &[PathBuf]) -> Said {
    let one = |path: &PathBuf| {
        let secs = std::fs::metadata(path).ok()?.mtime();
        Some((path.display().to_string(), date(no_later(secs))))
    };
    Said { written: files.iter().filter_map(one).collect() }
}

/// The seed of the volume that is aged.
const SEED: u64 = 1;

/// The segments of the aged volume, as `ordo info --segments --json` prints them.
fn aged_log() -> anyhow::Result<Source> {
    let [aged, cleaned] = ordo_papers::aged_log(SEED)?;
    let maps = [("in use for a while", aged), ("the same volume after ordo clean", cleaned)];
    let maps = maps.map(|(name, segments)| SegmentMap::new(name.to_owned(), &segments));
    let told = maps.each_ref().map(|document| Told {
        document,
        made: Some(made::in_virtual_time()),
        disk_says: None,
        promises: None,
        left_out: Vec::new(),
    });
    Ok(Source { name: "the aged log".to_owned(), text: serde_json::to_string(&told)? })
}

/// Writes the page and prints its path. If the page cannot be completed, nothing is written.
pub(crate) fn run(args: &Args) -> Outcome {
    let mut sources = args.files.iter().map(|path| source(path)).collect::<anyhow::Result<Vec<_>>>()?;
    if args.aged_log {
        sources.push(aged_log()?);
    }
    let page = ordo_report::page_in(&sources, &written(&args.files)).map_err(|refused| usage(refused.to_string()))?;
    let path = args.output.join("index.html");
    let written = std::fs::create_dir_all(&args.output).and_then(|()| std::fs::write(&path, page));
    written.with_context(|| format!("{}: cannot write the page; choose another directory with -o", path.display()))?;
    print(|out| out.line(path.display().to_string()))?;
    Ok(Status::DONE)
}
