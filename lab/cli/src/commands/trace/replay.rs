//! `ordo trace replay`

use crate::bench::bed::Bed;
use crate::out::{Outcome, Status, print, usage};
use crate::responses::{Responses, Syncs, table};
use crate::scheme_set::SchemeSet;
use crate::strace::{self, UnderArg};
use crate::{mount_options, plain, size};
use anyhow::Context;
use ordo_filetrace::Cast;
use ordo_papers::paper::run_all;
use ordo_papers::{Machine, Replay, Replayed};
use ordo_sim::{Seeks, recorded, synth};
use serde::Serialize;
use std::path::Path;

/// Does again what ordo trace record recorded, on a modelled drive in virtual time
///
/// Or what a trace asks for that ordo sim makes: the engine then reads, writes and looks at the same files at the same
/// times as the simulator, on the same drive. Or what a program did while strace -f -ttt -y -o FILE watched it, below
/// --root.
///
/// The engine itself runs, under the schemes that are named, on a new volume which has what the trace found there. An
/// open model: a call comes at the time at which it was recorded, and waits for calls before it on the same name or
/// file. The response time counts from when it came. Requests are what ordo sim takes for requests (reads, writes, and
/// questions for an inode), so the two can be compared; syncs have their own column. The CPU takes no time, and the
/// same arguments give the same numbers.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo trace replay --scheme block-journal,active pgbench\n  \
    ordo trace replay --scheme block-journal,active --requests 20000 cscope gcc\n  \
    ordo trace replay --scheme lfs --disk sim:seagate_cheetah_15k5 --cache 32M build.trace.gz --json\n  \
    ordo trace replay --root /src/project make.strace")]
pub(crate) struct Args {
    /// Schemes (ordo schemes), among them lfs
    #[arg(long, value_name = "SCHEME,…", value_delimiter = ',', default_value = "softupdates")]
    scheme: Vec<String>,
    /// The modelled drive (ordo disks) [default: that of a trace that is made; otherwise sim:quantum_atlas_10k]
    #[arg(long)]
    disk: Option<Bed>,
    /// Options of the schemes, as for mount -o: allocinit=, logmode=, data=, commit=
    #[arg(long, value_name = "KEY=VALUE,…")]
    set: Vec<String>,
    /// Memory for the cache
    #[arg(long, value_name = "SIZE", default_value = "160M", value_parser = size::parse)]
    cache: u64,
    /// Bytes of the volume [default: the whole drive for a trace that is made, otherwise 2G]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    size: Option<u64>,
    /// Seed of the traces that are made
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Under active: the checksums of what is there before are known (ordo scrub --adopt)
    #[arg(long)]
    adopted: bool,
    /// Only so many requests of each trace
    #[arg(long, value_name = "COUNT")]
    requests: Option<usize>,
    #[command(flatten)]
    under: UnderArg,
    /// One JSON list
    #[arg(long)]
    json: bool,
    /// Traces that ordo sim list names, with --recorded or without, or files
    #[arg(required = true, value_name = "TRACE")]
    trace: Vec<String>,
}

/// The drive of a trace that does not say one, and the bytes of its volume.
const DRIVE: &str = "quantum_atlas_10k";
const SIZE: u64 = 2 << 30;

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let asked = match &args.disk {
        None => None,
        Some(Bed::Sim(drive)) => Some(drive.as_str()),
        Some(_) => return Err(usage("--disk: name a modelled drive, sim:NAME")),
    };
    let SchemeSet { settings, separate_log, .. } = SchemeSet::read(&args.set)?;
    if separate_log {
        return Err(usage("--set log=separate: a replay has one drive"));
    }
    let schemes: Vec<&'static str> =
        args.scheme.iter().map(|name| mount_options::scheme(name)).collect::<anyhow::Result<_>>()?;
    let memory = usize::try_from(args.cache).map_err(|_| usage("--cache: more than this machine has"))?;
    let mut rows = Vec::new();
    for name in &args.trace {
        let Script { trace, mut cast, drive, size } = script(name, args.seed, &args.under)?;
        if let Some(count) = args.requests {
            ordo_sim::trace::keep_first(&mut cast, count);
        }
        let machine = Machine { memory, ..Machine::today(asked.unwrap_or(drive)) };
        let size = args.size.or(size);
        let one = |scheme: &&'static str| {
            let replay = Replay {
                machine: &machine,
                scheme,
                settings: settings.clone(),
                size,
                adopted: args.adopted,
                cast: &cast,
            };
            replay.run().map_err(anyhow::Error::from)
        };
        let replayed = run_all(&schemes, &|_, _| (), one).with_context(|| name.clone())?;
        rows.extend(schemes.iter().zip(&replayed).map(|(scheme, replayed)| Row::of(scheme, &trace, replayed)));
    }
    print(|out| match args.json {
        true => out.json(&rows),
        false => out.bytes(table("scheme", &rows.iter().map(Row::responses).collect::<Vec<_>>()).as_bytes()),
    })?;
    Ok(Status::DONE)
}

/// What is done, and where if the user does not say it.
struct Script {
    trace: String,
    cast: Cast,
    drive: &'static str,
    /// Bytes of the volume; `None` for the whole drive.
    size: Option<u64>,
}

/// A trace that is made, one that was recorded, or that of a file.
fn script(name: &str, seed: u64, under: &UnderArg) -> anyhow::Result<Script> {
    if let Some(made) = synth::named(name, seed)
        && let Some(cast) = made.cast()
    {
        return Ok(Script { trace: made.name, cast, drive: made.drive, size: None });
    }
    let (trace, text) = match recorded::text(name) {
        Some(text) => (name.to_owned(), text),
        None => {
            let path = Path::new(name);
            if !path.exists() {
                return Err(usage(format!(
                    "{name}: no such trace and no such file; ordo sim list names the traces, and ordo sim list \
                     --recorded those that were recorded"
                )));
            }
            let text = plain::read(path).with_context(|| format!("{name}: cannot read the trace"))?;
            (plain::stem(path), text)
        }
    };
    let calls = match strace::calls(name, &text, under)? {
        Some(calls) => calls,
        None => ordo_filetrace::read(&text).with_context(|| name.to_owned())?,
    };
    Ok(Script { trace, cast: Cast::of(calls), drive: DRIVE, size: Some(SIZE) })
}

#[derive(Serialize)]
struct Row {
    scheme: &'static str,
    trace: String,
    mean_response_ms: f64,
    p95_ms: f64,
    max_ms: f64,
    requests: usize,
    mean_sync_ms: f64,
    syncs: usize,
    calls: usize,
    refused: usize,
    disk_reads: u64,
    disk_writes: u64,
    seeks: Seeks,
    /// Fragments in replicas at the end, and reads that they served.
    #[serde(skip_serializing_if = "Option::is_none")]
    replicas: Option<(u64, u64)>,
}

impl Row {
    fn of(scheme: &'static str, trace: &str, replayed: &Replayed) -> Row {
        let Replayed { calls, requests, mean_response_ms, p95_ms, max_ms, .. } = *replayed;
        let Replayed { syncs, mean_sync_ms, refused, reads, writes, seeks, replicas, .. } = *replayed;
        Row {
            scheme,
            trace: trace.to_owned(),
            mean_response_ms,
            p95_ms,
            max_ms,
            requests,
            mean_sync_ms,
            syncs,
            calls,
            refused,
            disk_reads: reads,
            disk_writes: writes,
            seeks,
            replicas,
        }
    }
    /// A line of the table.
    fn responses(&self) -> Responses<'_> {
        let Row { scheme, trace, mean_response_ms, p95_ms, max_ms, requests, .. } = self;
        let Row { mean_sync_ms, syncs, refused, disk_reads, disk_writes, seeks, .. } = self;
        Responses {
            trace,
            on: scheme,
            requests: *requests,
            mean_ms: *mean_response_ms,
            p95_ms: *p95_ms,
            max_ms: *max_ms,
            syncs: Some(Syncs { count: *syncs, mean_ms: *mean_sync_ms, refused: *refused }),
            reads: *disk_reads,
            writes: *disk_writes,
            seeks: *seeks,
        }
    }
}
