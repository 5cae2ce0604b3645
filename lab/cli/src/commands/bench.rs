//! `ordo bench`

use crate::bench::bed::Bed;
use crate::bench::fresh::NotHere;
use crate::bench::job::Job;
use crate::bench::machine::MachineOf;
use crate::bench::medians::{Median, medians};
use crate::layout::{self, LayoutArg};
use crate::made::{self, Told};
use crate::mount_options;
use crate::out::{Out, Outcome, Status, print, say, usage};
use crate::scheme_set::SchemeSet;
use crate::sweep::{self, Done, Kind, UnitThere, Whole, parameters};
use crate::{size, text};
use indicatif::ProgressBar;
use ordo_cli::fresh::NewSize;
use ordo_papers::promised;
use ordo_report::results::LeftOut;
use ordo_workload::{Params, Row};
use ordofs::MountOptions;
use serde_json::Value;
use std::io::IsTerminal;
use std::time::Duration;

/// Runs workloads under schemes and shows the cost of each
///
/// Each run begins with an empty volume, and ends with a sync, whose time and writes are a row of their own and part of
/// the total: a scheme that delays its writes has to make them. A phase that ended before anything was written says so.
/// The table shows medians; with --json every run has rows of its own, with the scheme's counters since the mount; the
/// first row also says how all were made, and the first of each scheme what it promises. The work of several users is
/// one row, because the phases of different users overlap. When several schemes are compared in memory, each workload
/// first runs once unmeasured, so that the first scheme does not pay for allocating the memory.
///
/// A scheme for which there can be no volume on that disk is left out, with the reason; the exit status is then 3 if
/// --scheme had named it.
///
/// In a sweep (--jsonl) a unit is one run of a workload under a scheme, and --seed is added to the number of the run,
/// which seeds a run on a modelled drive. What was measured on a real disk is kept with the times.
///
/// --layout lfs, or lfs among the schemes, runs on a log-structured volume. Its rows also say how many segments were
/// cleaned, and the write cost: bytes written and bytes that the cleaner read, over bytes of new file data.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo bench --scheme sync,async --workload postmark --runs 5\n  \
    ordo bench --scheme sync --workload create-delete --disk file:/tmp/bench.img\n  \
    ordo bench --scheme sync,softupdates --workload copy-tree --users 4 --disk sim:hp_c2447\n  \
    ordo bench --scheme wafs --set logmode=sync,log=separate --workload create-files --disk sim:hp_c2447\n  \
    ordo bench --layout lfs --workload small-files,postmark --disk sim:hp_c2447\n  \
    ordo bench --workload postmark --disk erase:nbd+unix:///?socket=/run/vol.socket\n  \
    ordo bench --workload small-files --param size=1k --disk dir:/mnt")]
pub(crate) struct Args {
    /// Schemes, between commas (ordo schemes), among them lfs, the order of a log-structured volume; without effect on
    /// dir:PATH [default: all but lfs]
    #[arg(long, value_delimiter = ',', value_name = "SCHEME,...")]
    scheme: Vec<String>,
    /// The layout of the volume, where no scheme says it [default: ffs]
    #[arg(long, value_enum)]
    layout: Option<LayoutArg>,
    /// Workloads, between commas (ordo workloads)
    #[arg(long, value_delimiter = ',', value_name = "WORKLOAD,...", required = true)]
    workload: Vec<String>,
    /// Where to run: ram, file:PATH (created and removed), erase:PLACE (a device, file or network block device, all of
    /// which is overwritten), sim:NAME (a modelled drive in virtual time; ordo disks), or dir:PATH (a directory on any
    /// mounted file system, for comparison)
    #[arg(long, default_value = "ram")]
    disk: Bed,
    /// Number of programs that run at the same time
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    users: u32,
    /// Runs of each; the table shows medians
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// The machine around a modelled drive; with lfs that of 1995 writes its log as 4.4BSD did [default: 1994 for
    /// hp_c2447, 1995 for dec_dsp3105 and 2000 for seagate_cheetah_9gb_2000, the drives of those machines; otherwise
    /// today]
    #[arg(long, value_enum)]
    machine: Option<MachineOf>,
    /// Options of the schemes, as for mount -o: allocinit=, logmode=, data=, commit=; log=separate: the transaction log
    /// is on a second disk of the same kind: in memory, a modelled drive, or for file:PATH the file PATH.log, which is
    /// created and removed; beside a modelled drive also the log that tpcb keeps with log=
    #[arg(long, value_name = "KEY=VALUE,...")]
    set: Vec<String>,
    /// Parameters of the workload (ordo workloads -p)
    #[arg(long, value_name = "KEY=NUMBER,...")]
    param: Vec<String>,
    /// Bytes of the volume
    #[arg(long, default_value = "2G", value_parser = size::parse)]
    size: u64,
    /// Bytes of a block of the volume; a fragment is an eighth [default: as mkfs has it, or as the machine around a
    /// modelled drive]
    #[arg(long, value_parser = size::parse)]
    bsize: Option<u64>,
    #[command(flatten)]
    sweep: sweep::Args,
    /// One JSON list
    #[arg(long)]
    json: bool,
}

/// Runs everything, one run of each before the second of any: a disturbance of the machine then affects all alike.
pub(crate) fn run(args: &Args) -> Outcome {
    args.sweep.needs_file()?;
    let jobs = jobs(args)?;
    if args.sweep.jsonl.is_some() {
        return swept(args, &jobs);
    }
    let bar = match std::io::stderr().is_terminal() {
        true => ProgressBar::new_spinner(),
        false => ProgressBar::hidden(),
    };
    bar.enable_steady_tick(Duration::from_millis(200));
    let (mut rows, mut left_out) = (Vec::new(), Vec::<LeftOut>::new());
    for run in 1..=args.runs {
        for (at, job) in jobs.iter().enumerate() {
            let scheme = job.options.scheme.as_deref().unwrap_or_default();
            if left_out.iter().any(|left| left.scheme == scheme) {
                continue;
            }
            let one = || {
                if run == 1 && is_first_of_several(&jobs, at) && matches!(args.disk, Bed::Ram) {
                    bar.set_message(format!("warming up: {}", job.workload));
                    job.run(&args.disk, args.seed(run))?;
                }
                bar.set_message(format!("run {run} of {}: {} {scheme}", args.runs, job.workload));
                job.run(&args.disk, args.seed(run))
            };
            match one() {
                Ok(more) => rows.extend(more),
                Err(why) if why.is::<NotHere>() => {
                    let left = LeftOut { scheme: scheme.to_owned(), why: why.to_string() };
                    bar.suspend(|| say(&left.to_string()));
                    left_out.push(left);
                }
                Err(other) => return Err(other),
            }
        }
    }
    bar.finish_and_clear();
    anyhow::ensure!(!rows.is_empty(), "nothing could be run on {}", args.disk);
    let missed = !args.scheme.is_empty() && !left_out.is_empty();
    print(|out| {
        if args.json {
            out.json(&told(args, &jobs, &rows, &left_out))
        } else {
            out.bytes(table(&rows, args.runs > 1).as_bytes())
        }
    })?;
    Ok(if missed { Status(3) } else { Status::DONE })
}

impl Args {
    /// The seed of a run.
    fn seed(&self, run: u32) -> u64 {
        self.sweep.seed.wrapping_add(run.into())
    }
}

/// Runs the units of the shard: every run of every job.
fn swept(args: &Args, jobs: &[Job]) -> Outcome {
    let of = |unit: u64| (1 + (unit / jobs.len() as u64) as u32, &jobs[(unit % jobs.len() as u64) as usize]);
    let name = |unit: u64| {
        let (run, job) = of(unit);
        format!("{} {}, run {run}", job.workload, job.options.scheme.as_deref().unwrap_or("here"))
    };
    let one = |unit: u64| {
        let (run, job) = of(unit);
        let rows = match job.run(&args.disk, args.seed(run)) {
            // The other units of the sweep are worth having.
            Err(why) if why.is::<NotHere>() => {
                say(&format!("{}: left out: {why}", name(unit)));
                Vec::new()
            }
            rows => rows?,
        };
        match args.disk {
            Bed::Sim(_) => Done::new(&rows, 0),
            _ => {
                // Only the amount of work is the same each time.
                let did = rows.iter().map(|row| serde_json::json!({ "phase": row.phase, "ops": row.ops }));
                Ok(Done::new(&did.collect::<Vec<_>>(), 0)?.with_time("rows", serde_json::to_value(&rows)?))
            }
        }
    };
    let work = sweep::Work {
        kind: Kind::Bench,
        parameters: parameters([
            ("scheme", args.scheme.clone().into()),
            ("layout", args.layout.map(|layout| format!("{layout:?}")).into()),
            ("workload", args.workload.clone().into()),
            ("disk", args.disk.to_string().into()),
            ("users", args.users.into()),
            ("runs", args.runs.into()),
            ("machine", args.machine.map(|machine| format!("{machine:?}")).into()),
            ("set", args.set.clone().into()),
            ("param", args.param.clone().into()),
            ("size", args.size.into()),
            ("bsize", args.bsize.into()),
        ]),
        units: jobs.len() as u64 * u64::from(args.runs),
        name: &name,
        one: &one,
    };
    // One at a time: runs beside each other would measure each other.
    args.sweep.run(&work, 1)
}

/// Runs, joined.
#[derive(Default)]
pub(crate) struct Benches {
    rows: Vec<Row>,
    /// The rows are the same each time.
    of_model: bool,
}

impl Whole for Benches {
    fn add(&mut self, unit: &UnitThere) -> anyhow::Result<()> {
        match unit.times.get("rows") {
            Some(rows) => self.rows.extend(serde_json::from_value::<Vec<Row>>(rows.clone())?),
            // Of a measurement whose times were left out there is nothing to show.
            None => {
                if let Ok(rows) = unit.parsed::<Vec<Row>>() {
                    self.of_model = true;
                    self.rows.extend(rows);
                }
            }
        }
        Ok(())
    }

    fn json(&mut self, times: bool) -> anyhow::Result<Value> {
        let rows: &[Row] = if times || self.of_model { &self.rows } else { &[] };
        Ok(serde_json::json!({ "rows": rows }))
    }

    fn show(&mut self, out: &mut Out) -> anyhow::Result<()> {
        out.bytes(table(&self.rows, true).as_bytes())
    }
}

/// The rows as a document.
fn told<'a>(args: &Args, jobs: &[Job], rows: &'a [Row], left_out: &[LeftOut]) -> Vec<Told<'a, Row>> {
    let made = match args.disk {
        Bed::Sim(_) => made::in_virtual_time(),
        _ => made::here_and_now(),
    };
    let by_row = |row: &Row| {
        let job = jobs.iter().find(|job| job.options.scheme.as_deref() == Some(&row.scheme))?;
        promised::of_scheme(&row.scheme, &job.options.settings)
    };
    Told::of_rows(rows, made, args.disk.says(), left_out, by_row)
}

/// The first of several jobs that differ only in their schemes.
fn is_first_of_several(jobs: &[Job], at: usize) -> bool {
    let same = |other: Option<&Job>| other.is_some_and(|other| other.workload == jobs[at].workload);
    same(jobs.get(at + 1)) && !same(at.checked_sub(1).and_then(|before| jobs.get(before)))
}

fn jobs(args: &Args) -> anyhow::Result<Vec<Job>> {
    let SchemeSet { settings, separate_log, .. } = SchemeSet::read(&args.set)?;
    let params = Params::parse(&args.param.join(",")).map_err(|error| usage(error.to_string()))?;
    let named: Vec<&str> = args.scheme.iter().map(String::as_str).collect();
    let log = layout::is_lfs(args.layout, &named)?;
    let schemes = match (&args.disk, args.scheme.is_empty()) {
        // The kernel's file system has no schemes.
        (Bed::Dir(_), _) => vec![None],
        (_, true) if log => vec![Some(ordofs::LFS_SCHEME.to_owned())],
        (_, true) => ordofs::schemes::to_use().map(|known| Some(known.name.to_owned())).collect(),
        (_, false) => args
            .scheme
            .iter()
            .map(|name| mount_options::scheme(name).map(|known| Some(known.to_owned())))
            .collect::<anyhow::Result<Vec<_>>>()?,
    };
    let machine = args.machine.unwrap_or(match &args.disk {
        Bed::Sim(name) => MachineOf::with_drive(name),
        _ => MachineOf::Today,
    });
    let block = args.bsize.map(|bytes| u32::try_from(bytes).map_err(|_| usage(format!("--bsize {bytes}: too large"))));
    let volume = NewSize { bytes: args.size, block: block.transpose()? };
    let mut jobs = Vec::new();
    for name in &args.workload {
        let workload =
            ordo_workload::find(name).map_err(|error| usage(format!("{error}; ordo workloads lists them")))?;
        for scheme in &schemes {
            let options =
                MountOptions { scheme: scheme.clone(), settings: settings.clone(), ..MountOptions::default() };
            let (workload, params) = (workload.name.to_owned(), params.clone());
            jobs.push(Job { workload, params, users: args.users, size: volume, options, separate_log, machine });
        }
    }
    Ok(jobs)
}

fn table(rows: &[Row], spread: bool) -> String {
    let mut heading: Vec<&str> = vec!["workload", "phase", "scheme", "ops", "seconds", "ops/s"];
    heading.extend(spread.then_some("spread"));
    heading.extend(["cpu s", "reads", "writes", "written", "rollbacks", "waits", "flushes/s"]);
    let cells = |median: &Median| {
        let row = &median.row;
        let mut cells = vec![row.workload.clone(), row.phase.clone(), row.scheme.clone(), row.ops.to_string()];
        // A sync is no operation of the work.
        let rate = if row.ops == 0 { "-".to_owned() } else { format!("{:.0}", row.rate) };
        cells.extend([format!("{:.3}", row.seconds), rate]);
        cells.extend(spread.then(|| format!("{:.0}%", median.spread)));
        cells.push(format!("{:.3}", row.cpu_seconds));
        cells.extend([row.disk_reads, row.disk_writes].map(|count| count.to_string()));
        cells.push(if wrote_nothing(row) { "nothing".to_owned() } else { size::human(row.bytes_written) });
        cells.extend([row.rollbacks, row.waits].map(|count| count.to_string()));
        cells.push(format!("{:.1}", row.flushes_per_second));
        cells
    };
    let medians = medians(rows);
    let delayed = medians.iter().any(|median| median.row.ops > 0 && wrote_nothing(&median.row));
    let rows: Vec<_> =
        std::iter::once(heading.into_iter().map(str::to_owned).collect()).chain(medians.iter().map(cells)).collect();
    let note =
        "nothing: no write reached the disk in that phase; what it changed was in memory, and the sync wrote it\n";
    text::table(3, &rows) + if delayed { note } else { "" }
}

/// Nothing had reached the disk when the phase ended. In a directory of the host nobody has counted.
fn wrote_nothing(row: &Row) -> bool {
    row.bytes_written == 0 && !row.disk.starts_with("dir:")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn warm_ups(line: &str) -> Vec<bool> {
        let args = Line::parse_from(std::iter::once("bench").chain(line.split(' '))).args;
        let jobs = jobs(&args).unwrap();
        (0..jobs.len()).map(|at| is_first_of_several(&jobs, at)).collect()
    }

    #[test]
    fn a_workload_runs_once_unmeasured_where_schemes_are_compared_and_nowhere_else() {
        assert_eq!(warm_ups("--workload postmark --scheme async"), [false]);
        assert_eq!(warm_ups("--workload postmark --scheme async,sync,suj"), [true, false, false]);
        let two = warm_ups("--workload postmark,small-files --scheme async,sync");
        assert_eq!(two, [true, false, true, false]);
    }
}
