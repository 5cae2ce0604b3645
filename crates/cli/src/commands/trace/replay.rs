//! `ordo trace replay`

use crate::bench::bed::Bed;
use crate::out::{Outcome, Status, print, usage};
use crate::scheme_set::SchemeSet;
use crate::{mount_options, plain, size, text};
use anyhow::Context;
use ordo_filetrace::Cast;
use ordo_lab::paper::run_all;
use ordo_lab::{Machine, Replay, Replayed};
use ordo_sim::{Seeks, recorded};
use serde::Serialize;
use std::path::Path;

/// Does again what ordo trace record recorded, on a modelled drive in virtual time
///
/// The engine itself runs, under the schemes that are named, on a new volume which has what the trace found there. An
/// open model: a call comes at the time at which it was recorded, and waits for calls before it on the same name or
/// file. The response time counts from when it came. Requests are what ordo sim takes for requests (reads, writes, and
/// questions for an inode), so the two can be compared; syncs have their own column. The CPU takes no time, and the
/// same arguments give the same numbers.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo trace replay --scheme block-journal,active pgbench\n  \
    ordo trace replay --scheme lfs --disk sim:seagate_cheetah_15k5 --cache 32M build.trace.gz --json")]
pub(crate) struct Args {
    /// Schemes (ordo schemes), among them lfs
    #[arg(long, value_name = "SCHEME,…", value_delimiter = ',', default_value = "softupdates")]
    scheme: Vec<String>,
    /// The modelled drive (ordo disks)
    #[arg(long, default_value = "sim:quantum_atlas_10k")]
    disk: Bed,
    /// Options of the schemes, as for mount -o: allocinit=, logmode=, data=, commit=
    #[arg(long, value_name = "KEY=VALUE,…")]
    set: Vec<String>,
    /// Memory for the cache
    #[arg(long, value_name = "SIZE", default_value = "160M", value_parser = size::parse)]
    cache: u64,
    /// Bytes of the volume
    #[arg(long, value_name = "SIZE", default_value = "2G", value_parser = size::parse)]
    size: u64,
    /// One JSON list
    #[arg(long)]
    json: bool,
    /// Recorded traces that ordo sim list --recorded names, or files
    #[arg(required = true, value_name = "TRACE")]
    trace: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let Bed::Sim(drive) = &args.disk else { return Err(usage("--disk: name a modelled drive, sim:NAME")) };
    let SchemeSet { settings, separate_log } = SchemeSet::read(&args.set)?;
    if separate_log {
        return Err(usage("--set log=separate: a replay has one drive"));
    }
    let schemes: Vec<&'static str> =
        args.scheme.iter().map(|name| mount_options::scheme(name)).collect::<anyhow::Result<_>>()?;
    let memory = usize::try_from(args.cache).map_err(|_| usage("--cache: more than this machine has"))?;
    let machine = Machine { memory, ..Machine::today(drive) };
    let mut rows = Vec::new();
    for name in &args.trace {
        let (trace, cast) = trace(name)?;
        let one = |scheme: &&'static str| {
            let replay =
                Replay { machine: &machine, scheme, settings: settings.clone(), size: Some(args.size), cast: &cast };
            replay.run().map_err(anyhow::Error::from)
        };
        let replayed = run_all(&schemes, &|_, _| (), one).with_context(|| name.clone())?;
        rows.extend(schemes.iter().zip(&replayed).map(|(scheme, replayed)| Row::of(scheme, &trace, replayed)));
    }
    print(|out| if args.json { out.json(&rows) } else { out.bytes(shown(&rows).as_bytes()) })?;
    Ok(Status::DONE)
}

/// A recorded trace, or that of a file: its name, and its calls.
fn trace(name: &str) -> anyhow::Result<(String, Cast)> {
    let (stem, text) = match recorded::text(name) {
        Some(text) => (name.to_owned(), text),
        None => {
            let path = Path::new(name);
            if !path.exists() {
                return Err(usage(format!(
                    "{name}: no such trace and no such file; ordo sim list --recorded names the traces"
                )));
            }
            let text = plain::read(path).with_context(|| format!("{name}: cannot read the trace"))?;
            (plain::stem(path), text)
        }
    };
    let calls = ordo_filetrace::read(&text).with_context(|| name.to_owned())?;
    Ok((stem, Cast::of(calls)))
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
}

impl Row {
    fn of(scheme: &'static str, trace: &str, replayed: &Replayed) -> Row {
        let Replayed { calls, requests, mean_response_ms, p95_ms, max_ms, .. } = *replayed;
        let Replayed { syncs, mean_sync_ms, refused, reads, writes, seeks, .. } = *replayed;
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
        }
    }
}

/// A table of response times, and how far the arm moved.
fn shown(rows: &[Row]) -> String {
    let heading = [
        "trace",
        "scheme",
        "requests",
        "mean ms",
        "95 % ms",
        "max ms",
        "syncs",
        "mean ms",
        "refused",
        "reads",
        "writes",
        "seeks: 0",
        "<21",
        "<81",
        "<321",
        "<641",
        "<1281",
        ">1281 cylinders",
    ];
    let cells = |row: &Row| {
        let times = [row.mean_response_ms, row.p95_ms, row.max_ms].map(|ms| format!("{ms:.2}"));
        let counts = [row.disk_reads, row.disk_writes].into_iter().chain(row.seeks.distance_cylinders.bins());
        [row.trace.clone(), row.scheme.to_owned(), row.requests.to_string()]
            .into_iter()
            .chain(times)
            .chain([row.syncs.to_string(), format!("{:.2}", row.mean_sync_ms), row.refused.to_string()])
            .chain(counts.map(|count| count.to_string()))
            .collect()
    };
    let rows: Vec<Vec<String>> =
        std::iter::once(heading.map(str::to_owned).to_vec()).chain(rows.iter().map(cells)).collect();
    text::table(2, &rows)
}
