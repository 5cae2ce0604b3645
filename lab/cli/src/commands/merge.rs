//! `ordo merge`

use super::crash::units::{Campaigns, Crashes};
use super::{bench, fuzz, paper};
use crate::out::{Out, Outcome, Status, print};
use crate::sweep::{Account, Joined, Kind, Whole};
use crate::text;
use std::path::PathBuf;

/// Joins the results of a sweep's shards, and says what is missing
///
/// The files are those of --jsonl, or directories of them (*.jsonl). Shards may be lost, cut off or done twice: what is
/// there is joined, what is missing is named, and a unit that came twice with different results is a contradiction.
/// Files of another sweep, seed or program are refused. Distinct images are counted by the hashes of their contents,
/// so exactly, whichever shards met them. The output is the same bytes for the same units, however they were divided,
/// unless --times adds what differs from run to run.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Examples:\n  \
    for i in 1 2 3 4; do ordo crash --workload seq1 --states 20 --shard $i/4 --jsonl out/$i.jsonl; done; ordo merge out\n  \
    ordo merge --json out > whole.json\n  ordo merge -o whole.jsonl 1.jsonl 2.jsonl\n\n\
    Exit status: 0 complete, 1 a violation or a contradiction, 2 wrong usage, 3 an error, 4 incomplete.")]
pub(crate) struct Args {
    /// Files of shards, or directories of them
    #[arg(value_name = "FILE|DIR", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Write the units that are there to one file, in the form of --jsonl; it must not exist
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Keep the times, and the speed that follows from them, in the output of --json and -o
    #[arg(long)]
    pub(crate) times: bool,
    /// One JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Units are missing.
const INCOMPLETE: Status = Status(4);

/// Joins, and prints.
pub(crate) fn run(args: &Args) -> Outcome {
    let joined = Joined::read(&args.files)?;
    let account = joined.account();
    let mut whole: Box<dyn Whole> = match joined.sweep.sweep {
        Kind::Crash => Box::new(Crashes::of(&joined.sweep)),
        Kind::Faults => Box::new(Campaigns::of(&joined.sweep)),
        Kind::Words | Kind::Fuzz | Kind::Sums => Box::<fuzz::Tallies>::default(),
        Kind::Paper => Box::<paper::Papers>::default(),
        Kind::Bench => Box::<bench::Benches>::default(),
    };
    for unit in joined.units() {
        whole.add(&unit?)?;
    }
    if let Some(path) = &args.output {
        joined.write(path, args.times)?;
    }
    if args.json {
        let mut document = whole.json(args.times)?;
        document["merged"] = serde_json::to_value(&account)?;
        if !args.times {
            // These differ with the files, not with the units.
            for key in ["shards_there", "twice", "torn"] {
                document["merged"].as_object_mut().map(|merged| merged.remove(key));
            }
        }
        print(|out| out.json(&document))?;
    } else {
        print(|out| {
            whole.show(out)?;
            show(out, &account)
        })?;
    }
    Ok(match account.violations > 0 || !account.contradictions.is_empty() {
        true => Status::NO,
        false if account.complete => Status::DONE,
        false => INCOMPLETE,
    })
}

/// Units that are named of each shard.
const NAMED: usize = 12;

fn show(out: &mut Out, account: &Account) -> anyhow::Result<()> {
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let mut rows = vec![
        row("sweep", format!("{}, seed {}", account.sweep.sweep, account.sweep.seed)),
        row("units", format!("{} of {}", account.there, account.sweep.units)),
        row("shards with a file", account.shards_there.to_string()),
        row("violations", account.violations.to_string()),
    ];
    for (name, count) in [("units that came twice", account.twice), ("torn lines", account.torn)] {
        rows.extend((count > 0).then(|| row(name, count.to_string())));
    }
    out.line("")?;
    out.bytes(text::table(1, &rows).as_bytes())?;
    for found in &account.contradictions {
        let files = found.files.join(", ");
        out.line(format!("contradiction: unit {} ({}) has different results in {files}", found.unit, found.name))?;
    }
    for (shard, units) in &account.units_missing {
        let mut named: Vec<String> = units.iter().take(NAMED).map(u64::to_string).collect();
        named.extend((units.len() > NAMED).then(|| format!("and {} more", units.len() - NAMED)));
        let gone = if account.shards_missing.contains(shard) { "all of it" } else { "some of it" };
        out.line(format!("missing of shard {shard}, {gone}: units {}", named.join(", ")))?;
    }
    out.line(match account.complete {
        true => "complete".to_owned(),
        false => format!("incomplete: {} units are missing", account.sweep.units - account.there),
    })
}
