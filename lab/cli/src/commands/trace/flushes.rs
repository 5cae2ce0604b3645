//! `ordo trace flushes`

use crate::mount_options;
use crate::out::{Outcome, Status, print, usage};
use crate::scheme_set::SchemeSet;
use crate::text;
use ordo_crash::flushes::{CASES, Case, Requests, needed, requests};
use ordo_crash::{Device, Error, Subject};
use ordofs::LFS_SCHEME;
use serde::Serialize;

/// Counts the writes and flushes that the disk gets for each promise
///
/// For each change and the fsync, fdatasync or sync after it: what the order of each scheme needs, and what the engine
/// does, from a run in virtual time. The requests follow in their order: `|` is a flush, `!` marks a forced write
/// (FUA), which needs no flush, `+` joins blocks that left in one write. `does*` is more than needed.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ordo trace flushes\n  ordo trace flushes --scheme softupdates,suj --disk nvme\n  \
    ordo trace flushes --scheme wafs --set logmode=async --json"
)]
pub(crate) struct Args {
    /// Schemes (ordo schemes), among them lfs [default: all]
    #[arg(long, value_name = "SCHEME,…", value_delimiter = ',')]
    scheme: Vec<String>,
    /// allocinit=, logmode=, data= and commit= as mount -o has them; log=separate: the log on a second disk
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// The disk (ordo crash --list-disks)
    #[arg(long, default_value = ordo_crash::DEFAULT_DEVICE)]
    disk: String,
    /// Seed of the random numbers
    #[arg(long, value_name = "K", default_value_t = 0)]
    seed: u64,
    /// One JSON list
    #[arg(long)]
    json: bool,
}

/// Names of schemes in a line.
const IN_A_LINE: usize = 8;

/// A scheme in a case.
#[derive(Serialize)]
struct Row {
    case: &'static str,
    scheme: &'static str,
    needs: Option<Requests>,
    does: Requests,
}

impl Row {
    fn is_above(&self) -> bool {
        self.needs.as_ref().is_some_and(|needs| self.does.cost.is_above(needs.cost))
    }

    fn says_the_same(&self, other: &Row) -> bool {
        (self.case, &self.needs, &self.does) == (other.case, &other.needs, &other.does)
    }

    fn lines(&self) -> Vec<Vec<String>> {
        let line = |what: &str, of: &Requests| vec![what.to_owned(), of.cost.to_string(), of.order.clone()];
        let does = if self.is_above() { "    does*" } else { "    does" };
        let needs = self.needs.as_ref().map(|needs| line("    needs", needs));
        needs.into_iter().chain([line(does, &self.does)]).collect()
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let subjects = subjects(args)?;
    let mut rows = Vec::new();
    for case in CASES {
        for (scheme, subject) in &subjects {
            let does = requests(subject, args.seed, case).map_err(error)?;
            rows.push(Row { case: case.name, scheme, needs: needed(subject, case), does });
        }
    }
    print(|out| if args.json { out.json(&rows) } else { out.bytes(show(&rows).as_bytes()) })?;
    Ok(Status::DONE)
}

fn subjects(args: &Args) -> anyhow::Result<Vec<(&'static str, Subject)>> {
    let device = Device::by_name(&args.disk).ok_or_else(|| {
        let known: Vec<_> = ordo_crash::DEVICES.iter().map(|device| device.name).collect();
        usage(format!("no disk is called {:?}; there are: {}", args.disk, known.join(", ")))
    })?;
    let SchemeSet { settings, separate_log, .. } = SchemeSet::read(&args.set)?;
    let all = ordofs::schemes::ALL.iter().map(|known| known.name).chain([LFS_SCHEME]);
    let schemes: Vec<&'static str> = match args.scheme[..] {
        [] => all.collect(),
        _ => args.scheme.iter().map(|name| mount_options::scheme(name)).collect::<Result<_, _>>()?,
    };
    let subject = |scheme| {
        let subject = match scheme == LFS_SCHEME {
            true => Subject::on_log(device),
            false => Subject { settings: settings.clone(), ..Subject::new(scheme, device) },
        };
        (scheme, Subject { separate_log, ..subject })
    };
    Ok(schemes.into_iter().map(subject).collect())
}

fn error(error: Error) -> anyhow::Error {
    match error {
        Error::NoScheme(_) | Error::NoLog(_) | Error::Settings(_) => usage(error.to_string()),
        other => other.into(),
    }
}

/// The schemes of each case, with what they need and do.
fn show(rows: &[Row]) -> String {
    let mut text = String::new();
    for case in CASES {
        text += &format!("{}\n", title(case));
        let mut groups: Vec<(&Row, Vec<&str>)> = Vec::new();
        for row in rows.iter().filter(|row| row.case == case.name) {
            match groups.iter_mut().find(|(first, _)| first.says_the_same(row)) {
                Some((_, schemes)) => schemes.push(row.scheme),
                None => groups.push((row, vec![row.scheme])),
            }
        }
        for (row, schemes) in groups {
            schemes.chunks(IN_A_LINE).for_each(|some| text += &format!("  {}\n", some.join(" ")));
            text += &text::table(3, &row.lines());
        }
        text.push('\n');
    }
    text
}

/// The name of a case, and its calls.
fn title(case: &Case) -> String {
    let callers = case.callers.iter().map(|lines| format!("\n  $ {}", lines.join("; ")));
    format!("{}{}", case.name, callers.collect::<String>())
}
