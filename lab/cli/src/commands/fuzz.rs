//! `ordo fuzz`

use crate::out::{Out, Outcome, Status, print};
use crate::sweep::{self, Done, Kind, UnitThere, Whole, parameters};
use crate::text;
use ordo_crash::damage::believed::ImageId;
use ordo_crash::damage::{self, Tally};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// Damages volumes, and checks that nothing panics, hangs or loses what was not hit
///
/// Small volumes of UFS1 and UFS2 in both byte orders are damaged at random: bits flip, words and sectors are
/// overwritten. Each image is read as a whole, changed by force, checked, repaired and checked again. It may be
/// refused; a panic, an endless wait, a repair that leaves something, or with --words a lost file that was not hit, is
/// a failure. The same seed gives the same images.
///
/// With --sums, every structure of every layout and log is damaged, UFS1, UFS2 and LFS, journals of each kind after a
/// crash, and all its sums are made right again, so that the damage is believed. A repair that does not converge, a
/// write that changes another file, and memory without bound are failures, too. Of each the id is printed, after it was
/// shrunk; --image runs one again, and --write keeps it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo fuzz --images 500\n  ordo fuzz --words --shard 3/40 --jsonl 3.jsonl\n  \
    ordo fuzz --images 100000 --seed 7 --shard 1/200 --jsonl out/1.jsonl; ordo merge out\n  \
    ordo fuzz --sums --images 1000\n  ordo fuzz --image lfs2be:0:17 --write damaged.img\n\n\
    Exit status: 0 no failure, 1 a failure.")]
pub(crate) struct Args {
    /// Instead of random damage, replace each word of the metadata at the head of each volume by values that break
    /// arithmetic, and by one of the seed
    #[arg(long)]
    words: bool,
    /// Instead of that, damage structures of all layouts and logs, and make their sums right
    #[arg(long, conflicts_with = "words")]
    sums: bool,
    /// Only this image of --sums: VOLUME:SEED:NUMBER, as a failure names it
    #[arg(long, value_name = "ID", conflicts_with_all = ["words", "images", "jsonl", "shard", "seed"])]
    image: Option<ImageId>,
    /// Write that image into a new file, and say what was damaged
    #[arg(long, value_name = "FILE", requires = "image")]
    write: Option<PathBuf>,
    /// Images of each kind of volume: four kinds, with --sums 22
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
    if let Some(image) = &args.image {
        return one_image(args, image);
    }
    args.sweep.needs_file()?;
    let jobs = args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get() as u32));
    let (kind, name) = match (args.words, args.sums) {
        (true, _) => (damage::Kind::Words, Kind::Words),
        (_, true) => (damage::Kind::Believed(args.images), Kind::Sums),
        _ => (damage::Kind::Random(args.images), Kind::Fuzz),
    };
    let (units, seed, watch) = (damage::units(kind)?, args.sweep.seed, Watch::start());
    let one = |unit: u64| {
        let (tally, hashes) = damage::run(&units[unit as usize], seed, &|image| watch.begins(image))?;
        watch.ends();
        let (failures, hashes) =
            (tally.failures.len() as u64, hashes.iter().map(|hash| format!("{hash:032x}")).collect());
        Done::new(&Part { tally, hashes }, failures)
    };
    let told = |unit: u64| units[unit as usize].name.clone();
    let work = sweep::Work {
        kind: name,
        parameters: parameters([("images", if args.words { Value::Null } else { args.images.into() })]),
        units: units.len() as u64,
        name: &told,
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

/// Runs one image again, and keeps it if that is wanted.
fn one_image(args: &Args, image: &ImageId) -> Outcome {
    if let Some(path) = &args.write {
        let said = keep(image, path)?;
        print(|out| out.line(format!("{}: {said}", path.display())))?;
    }
    let watch = Watch::start();
    watch.begins(&image.to_string());
    let mut whole = Tallies { tally: image.run()?, ..Tallies::default() };
    watch.ends();
    print(|out| if args.json { out.json(&whole.json(false)?) } else { whole.show(out) })?;
    Ok(Status(u8::from(!whole.tally.failures.is_empty())))
}

/// Writes an image into a new file. Returns what was damaged.
fn keep(image: &ImageId, path: &Path) -> anyhow::Result<String> {
    let (bytes, said) = image.bytes()?;
    let failed = |error: std::io::Error| anyhow::anyhow!("{}: {error}", path.display());
    let mut file = std::fs::File::create_new(path).map_err(failed)?;
    file.write_all(&bytes).map_err(failed)?;
    Ok(said)
}

/// Ends the program when an image takes so long that something goes round in circles without a request to its disk.
/// The disk and the virtual clock end everything else.
struct Watch(Arc<Mutex<HashMap<ThreadId, (String, Instant)>>>);

/// Longest time of an image, on a slow and busy machine.
const LONGEST: Duration = Duration::from_secs(300);

#[allow(clippy::disallowed_methods, reason = "an endless loop is seen on the real clock only")]
impl Watch {
    fn start() -> Watch {
        let watch = Watch(Arc::default());
        let running = Arc::downgrade(&watch.0);
        std::thread::spawn(move || {
            while let Some(running) = running.upgrade() {
                let running = running.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if let Some((image, _)) = running.values().find(|(_, since)| since.elapsed() > LONGEST) {
                    eprintln!("ordo fuzz: {image}: never ends: it has run for {} s", LONGEST.as_secs());
                    std::process::exit(1);
                }
                std::thread::park_timeout(Duration::from_secs(1));
            }
        });
        watch
    }

    fn begins(&self, image: &str) {
        let begun = (image.to_owned(), Instant::now());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(std::thread::current().id(), begun);
    }

    fn ends(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&std::thread::current().id());
    }
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
