//! `ordo disks`

use super::spindle;
use crate::out::{Outcome, Status, print, usage};
use crate::{plain, size, text};
use anyhow::Context;
use ordo_drive::validate::{Demerit, parse_trace, validate};
use ordo_drive::{Drive, Kind, Profile, ProfileError};
use serde::Serialize;
use std::path::PathBuf;

/// Lists the drives that can be modelled, and compares a model with its drive
///
/// Each is named as `sim:NAME` where a disk in virtual time can be chosen.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_subcommand = true,
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  ordo disks\n  ordo disks --json\n  ordo disks validate hp_c2247a --trace hp_c2247a.trace.gz"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// One JSON list
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Lists the drives; the same as no command
    #[command(after_help = "Examples:\n  ordo disks list\n  ordo disks list --json")]
    List {
        /// One JSON list
        #[arg(long)]
        json: bool,
    },
    Serve(spindle::Args),
    Validate(Validate),
}

/// Replays a trace of the real drive on its model, and says how far apart they are
///
/// A line of a trace is a request: R or W, what the buffer did (not used), first block of 512 bytes, blocks, service
/// time and idle time after it in microseconds. Plain text or gzip. The demerit is the root mean square of the distance
/// between the two distributions of service time (Ruemmler and Wilkes, 1994), computed as DiskSim computes it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo disks validate hp_c2247a --trace hp_c2247a.trace.gz\n  \
    ordo disks validate ibm_18es --trace ibm_18es.trace --json")]
struct Validate {
    /// The drive (ordo disks)
    name: String,
    /// Trace of the real drive
    #[arg(long, value_name = "FILE")]
    trace: PathBuf,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    match &args.command {
        None => list(args.json),
        Some(Command::List { json }) => list(*json),
        Some(Command::Serve(args)) => spindle::run(args),
        Some(Command::Validate(args)) => judge(args),
    }
}

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    model: String,
    kind: &'static str,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    rpm: Option<f64>,
    volatile: bool,
}

impl Listed {
    fn read(name: &'static str) -> anyhow::Result<Listed> {
        let profile = Profile::named(name).with_context(|| format!("drive {name}"))?;
        let (kind, rpm) = match &profile.kind {
            Kind::Disk(disk) => ("disk", Some(disk.rpm)),
            Kind::Ssd(_) => ("flash", None),
        };
        let (model, bytes) = (profile.name.clone(), profile.blocks() * 512);
        Ok(Listed { name, model, kind, bytes, rpm, volatile: Drive::new(profile).is_volatile() })
    }

    fn cells(&self) -> Vec<String> {
        let rpm = self.rpm.map_or_else(|| "-".to_owned(), |rpm| format!("{rpm:.0}"));
        let writes = if self.volatile { "volatile" } else { "durable" };
        [self.name, &self.model, self.kind, writes, &size::human(self.bytes), &rpm].map(str::to_owned).to_vec()
    }
}

fn list(json: bool) -> Outcome {
    let drives = ordo_drive::names().map(Listed::read).collect::<anyhow::Result<Vec<_>>>()?;
    print(|out| {
        if json {
            return out.json(&drives);
        }
        let heading = ["name", "model", "kind", "answered writes", "size", "rpm"].map(str::to_owned).to_vec();
        let rows: Vec<_> = std::iter::once(heading).chain(drives.iter().map(Listed::cells)).collect();
        out.bytes(text::table(4, &rows).as_bytes())
    })?;
    Ok(Status::DONE)
}

#[derive(Serialize)]
struct Judged<'a> {
    drive: &'a str,
    requests: usize,
    mean_ms: f64,
    real_mean_ms: f64,
    demerit_ms: f64,
    demerit_percent: f64,
}

fn judge(args: &Validate) -> Outcome {
    let profile = Profile::named(&args.name).map_err(|error| match error {
        ProfileError::Unknown { name } => usage(format!("no drive is called {name:?}; ordo disks lists them")),
        error => error.into(),
    })?;
    let path = args.trace.display();
    let text = plain::read(&args.trace).with_context(|| format!("{path}: cannot read the trace"))?;
    let trace = parse_trace(&text).with_context(|| path.to_string())?;
    let found = validate(profile, &trace).with_context(|| format!("{path}: is it a trace of {}?", args.name))?;
    let Demerit { requests, measured_mean, simulated_mean, ms, percent, .. } = found;
    print(|out| {
        if args.json {
            return out.json(&Judged {
                drive: &args.name,
                requests,
                mean_ms: simulated_mean.0,
                real_mean_ms: measured_mean.0,
                demerit_ms: ms.0,
                demerit_percent: percent,
            });
        }
        let rows = [
            ["drive", "requests", "mean", "real mean", "demerit", ""].map(str::to_owned).to_vec(),
            vec![
                args.name.clone(),
                requests.to_string(),
                format!("{:.3} ms", simulated_mean.0),
                format!("{:.3} ms", measured_mean.0),
                format!("{:.3} ms", ms.0),
                format!("{percent:.2} %"),
            ],
        ];
        out.bytes(text::table(1, &rows).as_bytes())
    })?;
    Ok(Status::DONE)
}
