//! `ordo fuzz`

use super::merge::Whole;
use crate::out::{Out, Outcome, Status, print};
use crate::sweep::{self, Done, Kind, UnitThere, parameters};
use crate::text;
use ordo_crash::damage::{self, Tally};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;

/// Damages volumes, and checks that nothing panics, hangs or loses what was not hit
///
/// Small volumes of UFS1 and UFS2 in both byte orders are damaged at random: bits flip, words and sectors are
/// overwritten. Each image is read as a whole, changed by force, checked, repaired and checked again. It may be
/// refused; a panic, an endless wait, a repair that leaves something, or with --words a lost file that was not hit, is
/// a failure. The same seed gives the same images.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo fuzz --images 500\n  ordo fuzz --words --shard 3/40 --jsonl 3.jsonl\n  \
    ordo fuzz --images 100000 --seed 7 --shard 1/200 --jsonl out/1.jsonl; ordo merge out\n\n\
    Exit status: 0 no failure, 1 a failure.")]
pub(crate) struct Args {
    /// Instead of random damage, replace each word of the metadata at the head of each volume by values that break
    /// arithmetic, and by one of the seed
    #[arg(long)]
    words: bool,
    /// Images of each of four kinds of volume
    #[arg(long, value_name = "N", default_value_t = 1000, conflicts_with = "words",
        value_parser = clap::value_parser!(u64).range(..=1 << 30))]
    images: u64,
    /// Threads [default: as many as there are processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    jobs: Option<u32>,
    #[command(flatten)]
    sweep: sweep::Args,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

/// Result of a unit.
#[derive(Serialize, Deserialize)]
struct Part {
    #[serde(flatten)]
    tally: Tally,
    /// The hashes of the images, 32 digits each.
    hashes: String,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> Outcome {
    args.sweep.needs_file()?;
    let jobs = args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get() as u32));
    let kind = if args.words { damage::Kind::Words } else { damage::Kind::Random(args.images) };
    let (units, seed) = (damage::units(kind)?, args.sweep.seed);
    let one = |unit: u64| {
        let (tally, hashes) = damage::run(&units[unit as usize], seed)?;
        let (failures, hashes) =
            (tally.failures.len() as u64, hashes.iter().map(|hash| format!("{hash:032x}")).collect());
        Done::new(&Part { tally, hashes }, failures)
    };
    let name = |unit: u64| units[unit as usize].name.clone();
    let work = sweep::Work {
        kind: if args.words { Kind::Words } else { Kind::Fuzz },
        parameters: parameters([("images", if args.words { Value::Null } else { args.images.into() })]),
        units: units.len() as u64,
        name: &name,
        one: &one,
    };
    if args.sweep.jsonl.is_some() {
        return args.sweep.run(&work, jobs);
    }
    let mut whole = Tallies::default();
    work.each(jobs, &mut |unit| whole.add(&unit))?;
    print(|out| if args.json { out.json(&whole.json(false)?) } else { whole.show(out) })?;
    Ok(Status(u8::from(!whole.tally.failures.is_empty())))
}

/// Tallies, joined.
#[derive(Default)]
pub(crate) struct Tallies {
    tally: Tally,
    distinct: BTreeSet<u128>,
}

impl Whole for Tallies {
    fn add(&mut self, unit: &UnitThere) -> anyhow::Result<()> {
        let part: Part = unit.parsed()?;
        self.tally = std::mem::take(&mut self.tally).and(part.tally);
        self.distinct.extend(crate::sweep::hashes(&part.hashes));
        Ok(())
    }

    fn json(&mut self, _: bool) -> anyhow::Result<Value> {
        let mut document = serde_json::to_value(&self.tally)?;
        document["distinct"] = self.distinct.len().into();
        Ok(document)
    }

    fn show(&mut self, out: &mut Out) -> anyhow::Result<()> {
        let Tally { images, read, changed, found, repaired, failures } = &self.tally;
        let row = |name: &str, count: u64| vec![name.to_owned(), count.to_string()];
        let rows = [
            row("images", *images),
            row("distinct", self.distinct.len() as u64),
            row("read as a whole", *read),
            row("changed by force", *changed),
            row("fsck found something", *found),
            row("repaired", *repaired),
            row("failures", failures.len() as u64),
        ];
        out.bytes(text::table(1, &rows).as_bytes())?;
        failures.iter().try_for_each(|found| out.line(format!("{}: {}", found.image, text::one_line(&found.what))))
    }
}
