//! `ordo sim`

use crate::out::{Outcome, Status, print, usage};
use crate::responses::{Responses, table};
use crate::strace::{self, UnderArg};
use crate::{plain, size, text};
use anyhow::Context;
use clap::builder::RangedI64ValueParser;
use ordo_papers::paper::run_all;
use ordo_sim::trace::About;
use ordo_sim::{GROUP, Outcome as Played, Scheduler, Seeks, Setting, System, Trace, recorded, synth};
use serde::Serialize;
use std::ops::RangeInclusive;
use std::path::Path;

/// Plays traces on simulated file systems: the simulator of the paper on active journaling
///
/// A page cache, a scheduler, transactions and the layout of a system, over a modelled drive. An open model: a request
/// comes at its time, and what counts is how long it takes. No bytes of files exist, so no file system of OrdoFS runs:
/// for that, see ordo bench. The same numbers each time, on every machine.
///
/// A trace is one of those that ordo sim list shows, or a file: requests to a device (DiskSim ASCII, the text of
/// blkparse, SPC, or the CSV of MSR at SNIA), what ordo trace record recorded, or what strace -f -ttt -y -o FILE wrote
/// of a program, of which the files below --root are taken. Its form is seen from its contents; it may be compressed
/// with gzip.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_subcommand = true,
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  ordo sim\n  ordo sim --system ext3,active --trace tpc-r --cache 384M\n  \
    ordo sim --trace disk.trace --scheduler elevator --json\n  \
    ordo sim --system ext3,active --trace gcc --commit 0.5 --journal 1024 --full 99\n  \
    ordo sim --system dualfs,hfs,lfs --layout all --segment 2048\n  ordo sim list"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Systems: ext2, ext3, lfs, dualfs, hfs, active, which are the default; ext3-journal, ext3-writeback,
    /// active-virtual
    #[arg(long, value_name = "SYSTEM,…", value_delimiter = ',')]
    system: Vec<String>,
    /// Traces (ordo sim list), or files [default: the six that are made]
    #[arg(long, value_name = "TRACE,…", value_delimiter = ',')]
    trace: Vec<String>,
    /// Memory for pages, inodes and names
    #[arg(long, value_name = "SIZE", default_value = "160M", value_parser = size::parse)]
    cache: u64,
    /// Seed of the traces that are made
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only so many requests of each trace
    #[arg(long, value_name = "COUNT")]
    requests: Option<usize>,
    /// Which request comes next: fifo, elevator, deadline or anticipatory
    #[arg(long, default_value = "deadline", value_parser = scheduler)]
    scheduler: Scheduler,
    /// Seconds between two commits, or write-backs
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = commit)]
    commit: f64,
    /// The part of each group that files fill, in per cent; the rest is free
    #[arg(long, value_name = "PERCENT", default_value = "90", value_parser = full)]
    full: f64,
    /// Blocks of ext3's journal: 16 to 102400
    #[arg(long, value_name = "BLOCKS", default_value_t = 8192, value_parser = blocks(Setting::JOURNAL))]
    journal: u32,
    /// Blocks of an allocation group: 8192 to 32768
    #[arg(long, value_name = "BLOCKS", default_value_t = GROUP, value_parser = blocks(Setting::GROUP))]
    group: u32,
    /// Blocks of a log's segment, 16 to 32768 [default: 1024 of lfs, 512 of dualfs and hfs]
    #[arg(long, value_name = "BLOCKS", value_parser = blocks(Setting::SEGMENT))]
    segment: Option<u32>,
    /// The kernel reads ahead of who reads a file, as Linux 2.4 did; the paper leaves it off
    #[arg(long)]
    prefetch: bool,
    /// Whose files lie on the disk: those of all traces that are made, or its own, as for one from a file
    #[arg(long, value_enum, default_value = "all")]
    layout: Files,
    #[command(flatten)]
    under: UnderArg,
    /// One JSON list
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Lists the traces that are made here, or those that were recorded, and what they are like
    #[command(after_help = "Examples:\n  ordo sim list\n  ordo sim list --recorded --json")]
    List {
        /// Those that were recorded: a source build, pgbench, a git clone
        #[arg(long)]
        recorded: bool,
        /// Seed of the traces
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// One JSON list
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Files {
    All,
    Own,
}

fn blocks(of: RangeInclusive<u32>) -> RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(i64::from(*of.start())..=i64::from(*of.end()))
}

/// Seconds, as milliseconds.
fn commit(text: &str) -> Result<f64, String> {
    let ms = text.parse::<f64>().map(|seconds| seconds * 1e3).ok().filter(|ms| Setting::TIMER_MS.contains(ms));
    ms.ok_or_else(|| format!("{text:?} is no time for a timer; choose 0.001 to 3600 seconds"))
}

/// A percentage, as a part.
fn full(text: &str) -> Result<f64, String> {
    let percent = text.parse::<f64>().ok().filter(|percent| (1.0..=100.0).contains(percent));
    percent.map(|percent| percent / 100.0).ok_or_else(|| format!("{text:?} is no part of a group; choose 1 to 100"))
}

fn scheduler(name: &str) -> Result<Scheduler, String> {
    let found = Scheduler::ALL.into_iter().find(|scheduler| scheduler.name() == name);
    found.ok_or_else(|| format!("{name:?} is none; choose {}", Scheduler::ALL.map(Scheduler::name).join(", ")))
}

impl Args {
    fn setting(&self) -> Setting {
        let Args { cache, scheduler, commit: timer_ms, full, journal, group, segment, prefetch, .. } = *self;
        Setting { cache, scheduler, timer_ms, full, journal, group, segment, prefetch, ..Setting::default() }
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    if let Some(Command::List { recorded, seed, json }) = &args.command {
        return list(*recorded, *seed, *json);
    }
    let systems = match &args.system[..] {
        [] => System::SIX.to_vec(),
        names => names.iter().map(|name| system(name)).collect::<anyhow::Result<_>>()?,
    };
    let names: Vec<String> = match &args.trace[..] {
        [] => synth::NAMES.map(str::to_owned).to_vec(),
        names => names.to_vec(),
    };
    let setting = args.setting();
    let mut played = Vec::new();
    for name in &names {
        // One trace at a time: what all are like together would take more memory.
        let mut trace = match args.layout {
            Files::All => synth::among_all(name, args.seed),
            Files::Own => None,
        }
        .map_or_else(|| trace(name, args.seed, &args.under), Ok)?;
        trace.requests.truncate(args.requests.unwrap_or(usize::MAX));
        played.extend(run_all(&systems, &|_, _| (), |system| ordo_sim::run(*system, &trace, &setting))?);
    }
    print(|out| match args.json {
        true => out.json(&played.iter().map(Row::of).collect::<Vec<_>>()),
        false => out.bytes(table("system", &played.iter().map(responses).collect::<Vec<_>>()).as_bytes()),
    })?;
    Ok(Status::DONE)
}

fn system(name: &str) -> anyhow::Result<System> {
    let names = || System::ALL.map(System::name).join(", ");
    System::named(name).ok_or_else(|| usage(format!("no system called {name:?}; choose {}", names())))
}

/// A trace that is made, or that of a file.
fn trace(name: &str, seed: u64, under: &UnderArg) -> anyhow::Result<Trace> {
    if let Some(trace) = synth::named(name, seed) {
        return Ok(trace);
    }
    if let Some(trace) = recorded::named(name) {
        return trace.with_context(|| name.to_owned());
    }
    let path = Path::new(name);
    if !path.exists() {
        return Err(usage(format!("{name}: no such trace and no such file; ordo sim list names the traces")));
    }
    let text = plain::read(path).with_context(|| format!("{name}: cannot read the trace"))?;
    let stem = plain::stem(path);
    let trace = match strace::calls(name, &text, under)? {
        Some(calls) => ordo_sim::trace::of_calls(&stem, calls),
        None => ordo_sim::trace::read(&stem, &text),
    };
    trace.with_context(|| name.to_owned())
}

#[derive(Serialize)]
struct Row<'a> {
    system: &'a str,
    trace: &'a str,
    mean_response_ms: f64,
    p95_ms: f64,
    max_ms: f64,
    requests: usize,
    seeks: Seeks,
}

impl Row<'_> {
    fn of(played: &Played) -> Row<'_> {
        let Played { system, trace, requests, mean_response_ms, p95_ms, max_ms, seeks, .. } = played;
        Row {
            system,
            trace,
            mean_response_ms: *mean_response_ms,
            p95_ms: *p95_ms,
            max_ms: *max_ms,
            requests: *requests,
            seeks: *seeks,
        }
    }
}

/// A line of the table.
fn responses(played: &Played) -> Responses<'_> {
    let Played { system, trace, requests, mean_response_ms, p95_ms, max_ms, seeks, work, .. } = played;
    Responses {
        trace,
        on: system,
        requests: *requests,
        mean_ms: *mean_response_ms,
        p95_ms: *p95_ms,
        max_ms: *max_ms,
        syncs: None,
        reads: work.reads,
        writes: work.writes,
        seeks: *seeks,
    }
}

fn list(recorded: bool, seed: u64, json: bool) -> Outcome {
    let mut all: Vec<About> = Vec::new();
    for name in if recorded { recorded::NAMES.as_slice() } else { synth::NAMES.as_slice() } {
        all.push(trace(name, seed, &UnderArg::default())?.about());
    }
    print(|out| {
        if json {
            return out.json(&all);
        }
        let heading =
            ["trace", "drive", "requests", "consecutive", "in two areas", "writes", "other file", "data MB", "seconds"];
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let cells = |about: &About| {
            vec![
                about.trace.clone(),
                about.drive.to_owned(),
                about.requests.to_string(),
                percent(about.consecutive),
                percent(about.in_two_areas),
                percent(about.writes),
                percent(about.other_file),
                format!("{:.0}", about.data_mb),
                format!("{:.0}", about.seconds),
            ]
        };
        let rows: Vec<Vec<String>> =
            std::iter::once(heading.map(str::to_owned).to_vec()).chain(all.iter().map(cells)).collect();
        out.bytes(text::table(2, &rows).as_bytes())
    })?;
    Ok(Status::DONE)
}
