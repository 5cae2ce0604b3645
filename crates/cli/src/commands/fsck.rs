//! `ordo fsck`: its exit status is that of fsck(8).

use crate::image::{self, ImageArg};
use crate::messages::Messages;
use crate::out::{Outcome, Status, print, say};
use crate::text;
use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use ordo_fsck::{Journal, Mode, Options, Phase, Report};
use ordofs::disk::fence::Claim;
use ordofs::disk::{Disk, FileOptions};
use ordofs::rt::Rt;
use ordofs::{ImageSpec, OpenError, locate_damaged, locate_to_write};
use serde::Serialize;
use std::ffi::OsString;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// fsck(8): the user cancelled it.
const CANCELLED: i32 = 32;

/// What the record of the volume's writer says of a repair.
const DOING: &str = "ordo fsck";

/// Checks a volume, and repairs it on request
///
/// Exit status, added up: 0 nothing wrong, 1 errors corrected, 4 errors left, 8 the check failed, 16 wrong usage,
/// 32 interrupted. An interruption leaves a volume that can be checked again.
///
/// Of a log-structured volume (LFS) it rolls the log forward, checks the inode map and the segment usage table, and
/// appends repairs to the log. After a crash no check is needed: a mount rolls the log forward by itself.
///
/// Without -n, -p or -y it asks before it repairs, and repairs nothing if it does not run on a terminal.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ordo fsck -n disk.img   (only look)\n  ordo fsck -p disk.img   (after a crash)\n  \
    ordo fsck -y disk.img@s1a   (repair all)\n  ordo fsck -p --log log.img disk.img   (its log is on another disk)\n  \
    ordo fsck -n --json disk.img"
)]
pub(crate) struct Args {
    #[command(flatten)]
    image: ImageArg,
    /// Change nothing, only report
    #[arg(short, conflicts_with_all = ["preen", "yes"])]
    no: bool,
    /// Repair what a crash leaves, without questions; stop at real damage. A clean volume is not checked. Also -a
    #[arg(short, short_alias = 'a', conflicts_with = "yes")]
    preen: bool,
    /// Repair everything
    #[arg(short)]
    yes: bool,
    /// Where the volume's log is, if a mount with log= put it on another disk or in a stream (see ordo info): a path,
    /// or nats://HOST:PORT/STREAM; without this option such a log is not replayed
    #[arg(long, value_name = "PATH")]
    log: Option<PathBuf>,
    /// Check a clean volume, too
    #[arg(short)]
    force: bool,
    /// Write progress as numbers to this descriptor; 0 or less: show a bar on the terminal
    #[arg(short = 'C', value_name = "FD", allow_negative_numbers = true)]
    progress: Option<i32>,
    /// One JSON document
    #[arg(long)]
    json: bool,
    /// Of fsck(8); no effect
    #[arg(short = 'v', hide = true, action = clap::ArgAction::Count)]
    talkative: u8,
    /// Of fsck(8); no effect
    #[arg(short = 'V', hide = true, action = clap::ArgAction::Count)]
    verbose: u8,
    /// Of fsck(8); no effect
    #[arg(short = 'T', hide = true, action = clap::ArgAction::Count)]
    no_title: u8,
    /// Of fsck(8); no effect
    #[arg(short = 'l', hide = true, action = clap::ArgAction::Count)]
    lock: u8,
    /// Of fsck(8); no effect
    #[arg(short = 't', hide = true)]
    kind: Option<OsString>,
}

/// Checks, prints the findings, and returns the result.
pub(crate) fn run(args: &Args) -> Outcome {
    // Repairs are written in an order in which a power cut may occur anywhere, so an interruption may, too.
    let always = Arc::new(AtomicBool::new(true));
    signal_hook::flag::register_conditional_shutdown(signal_hook::consts::SIGINT, CANCELLED, always)?;
    let spec = args.image.spec()?;
    let mode = match (args.preen, args.yes) {
        (true, _) => Mode::Preen,
        (_, true) => Mode::Repair,
        _ => Mode::Check,
    };
    let report = match mode {
        Mode::Preen if args.force => preen_all(args, &spec)?,
        mode => check(args, &spec, mode)?,
    };
    show(args, &spec, mode, &report)?;
    let asks = !args.no && mode == Mode::Check && std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if asks && report.left && confirmed()? {
        let report = check(args, &spec, Mode::Repair)?;
        show(args, &spec, Mode::Repair, &report)?;
        return Ok(Status(report.exit_code()));
    }
    Ok(Status(report.exit_code()))
}

fn check(args: &Args, spec: &ImageSpec, mode: Mode) -> anyhow::Result<Report> {
    let rt = Rt::real_time();
    let (disk, claim) = disk(&rt, spec, mode)?;
    let notices = crate::messages::on_stderr();
    let log = args.log.as_ref().map(|path| ordofs::open_log(&rt, path, &options(mode), &notices)).transpose()?;
    // A repair writes the log, too.
    let log = match (&claim, log) {
        (Some(claim), Some(log)) => Some(log.fenced(claim)),
        (_, log) => log,
    };
    let options = Options { progress: progress(args, spec), log, ..Options::new(mode) };
    let report = rt.block_on(ordo_fsck::check(&rt, disk, options)).with_context(|| spec.to_string());
    rt.block_on(ordofs::given_back(claim.as_ref()));
    report
}

/// Preens a volume even if it is marked clean, in which case [`Mode::Preen`] stops without a check. A log that waits is
/// replayed first, and one that cannot be is not given up: a repair would lose what only the log has.
fn preen_all(args: &Args, spec: &ImageSpec) -> anyhow::Result<Report> {
    let preened = check(args, spec, Mode::Preen)?;
    if preened.left || preened.scanned {
        return Ok(preened);
    }
    let report = check(args, spec, Mode::Check)?;
    let harmless =
        report.unlisted == 0 && report.findings.iter().all(|found| found.severity == ordo_fsck::Severity::Preen);
    let report = match report.left && harmless {
        true => check(args, spec, Mode::Repair)?,
        false => report,
    };
    let modified = report.modified || preened.modified;
    Ok(Report { journal: preened.journal.or(report.journal), modified, ..report })
}

fn options(mode: Mode) -> FileOptions {
    FileOptions { read_only: mode == Mode::Check, ..FileOptions::default() }
}

/// The disk of the volume, which may be so damaged that only a backup of its superblock gives its place; claimed for a
/// repair, if the record of the volume's writer is on.
fn disk(rt: &Rt, spec: &ImageSpec, mode: Mode) -> anyhow::Result<(Rc<dyn Disk>, Option<Claim>)> {
    let disk = ordofs::open(rt, spec, &options(mode)).map_err(|error| image::open_error(&spec.path, error))?;
    let notices = Messages::of(spec, false).listener_once();
    let whole = |disk: Rc<dyn Disk>| {
        let claim = ordofs::claim_disk(rt, &disk, DOING, &notices);
        let claim = claim.map_err(|error| image::open_error(&spec.path, error))?;
        let fenced = claim.as_ref().map(|claim| Rc::new(claim.fence(disk.clone())) as Rc<dyn Disk>);
        Ok((fenced.unwrap_or(disk), claim))
    };
    if rt.block_on(ordo_fsck::is_log_structured(&disk)).with_context(|| spec.to_string())? {
        return whole(disk);
    }
    drop(disk);
    if mode == Mode::Check {
        return match locate_damaged(rt, spec, options(mode)) {
            Ok(located) => {
                ordofs::warn_reader(rt, &located, &notices);
                Ok((located.disk, None))
            }
            Err(OpenError::NotFound(_)) => {
                let disk = ordofs::open(rt, spec, &options(mode));
                Ok((disk.map_err(|error| image::open_error(&spec.path, error))?, None))
            }
            Err(error) => Err(image::open_error(&spec.path, error)),
        };
    }
    match locate_to_write(rt, spec, &options(mode), DOING, &notices, true) {
        // A repair, too, copies for the snapshots what it writes over.
        Ok(mut located) => {
            let claim = located.claim.take();
            Ok((ordofs::kept_in_repair(rt, &located).with_context(|| spec.to_string())?, claim))
        }
        Err(OpenError::NotFound(_)) => {
            whole(ordofs::open(rt, spec, &options(mode)).map_err(|error| image::open_error(&spec.path, error))?)
        }
        Err(error) => Err(image::open_error(&spec.path, error)),
    }
}

fn number(phase: Phase) -> u8 {
    match phase {
        Phase::Inodes => 1,
        Phase::Names => 2,
        Phase::Connectivity => 3,
        Phase::Links => 4,
        Phase::Groups => 5,
    }
}

fn progress(args: &Args, spec: &ImageSpec) -> ordo_fsck::Progress {
    match args.progress {
        Some(fd) if fd > 0 => {
            // The form of e2fsck for systemd-fsck: pass, done, total, name.
            let mut to = File::options().write(true).open(format!("/proc/self/fd/{fd}")).ok()?;
            let name = text::one_line(&spec.to_string());
            Some(Box::new(move |phase, done, of| {
                // If the reader is gone, the check continues.
                let _ = writeln!(to, "{} {done} {of} {name}", number(phase));
            }))
        }
        _ if !std::io::stderr().is_terminal() => None,
        _ => {
            let style = ProgressStyle::with_template("phase {msg} {wide_bar} {percent}%").ok()?;
            let bar = ProgressBar::new(0).with_style(style);
            Some(Box::new(move |phase, done, of| {
                bar.set_message(number(phase).to_string());
                bar.set_length(of);
                bar.set_position(done);
                if phase == Phase::Groups && done >= of {
                    bar.finish_and_clear();
                }
            }))
        }
    }
}

fn confirmed() -> anyhow::Result<bool> {
    print!("Repair all of this? [y/N] ");
    std::io::stdout().flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

#[derive(Serialize)]
struct FindingJson<'a> {
    rule: u8,
    name: &'a str,
    severity: &'static str,
    repaired: bool,
    text: String,
}

#[derive(Serialize)]
struct ReportJson<'a> {
    image: String,
    mode: &'static str,
    exit: u8,
    clean: bool,
    scanned: bool,
    modified: bool,
    left: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    journal: Option<JournalJson<'a>>,
    rounds: u32,
    count: u64,
    findings: Vec<FindingJson<'a>>,
    unlisted: u64,
    files: u64,
    directories: u64,
    used_frags: u64,
    free_blocks: u64,
    free_frags: u64,
    free_inodes: u64,
    frag_size: u32,
    fragmentation_percent: f64,
}

/// What happened to the journal: `waits`, `replayed`, `not_replayed` or `passed_over`; or to the log: `log_waits` or
/// `rolled_forward`.
#[derive(Serialize)]
struct JournalJson<'a> {
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    #[serde(flatten)]
    done: Option<ReplayedJson>,
    /// Partial segments of the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    psegs: Option<u64>,
}

#[derive(Serialize)]
struct ReplayedJson {
    segments: u64,
    records: u64,
    freed_frags: u64,
    freed_inodes: u64,
    links_adjusted: u64,
}

fn journal(journal: &Journal) -> JournalJson<'_> {
    let none = JournalJson { state: "waits", why: None, done: None, psegs: None };
    match journal {
        Journal::Waits => none,
        Journal::SeenReplayed => JournalJson { state: "seen_replayed", ..none },
        Journal::PassedOver => JournalJson { state: "passed_over", ..none },
        Journal::LogWaits { psegs } => JournalJson { state: "log_waits", psegs: Some(*psegs), ..none },
        Journal::RolledForward { psegs } => JournalJson { state: "rolled_forward", psegs: Some(*psegs), ..none },
        Journal::NotReplayed(why) => JournalJson { state: "not_replayed", why: Some(why), ..none },
        Journal::Replayed(done) => {
            let ordo_recover::Replayed { segments, records, freed_frags, freed_inodes, links_adjusted } = *done;
            let done = ReplayedJson { segments, records, freed_frags, freed_inodes, links_adjusted };
            JournalJson { state: "replayed", done: Some(done), ..none }
        }
    }
}

fn json<'a>(spec: &ImageSpec, mode: Mode, report: &'a Report) -> ReportJson<'a> {
    let finding = |found: &'a ordo_fsck::Found| FindingJson {
        rule: found.finding.rule(),
        name: found.finding.name(),
        severity: match found.severity {
            ordo_fsck::Severity::Preen => "crash",
            ordo_fsck::Severity::Manual => "damage",
        },
        repaired: found.repaired,
        text: found.finding.to_string(),
    };
    let usage = &report.usage;
    ReportJson {
        image: spec.to_string(),
        mode: match mode {
            Mode::Check => "check",
            Mode::Preen => "preen",
            Mode::Repair => "repair",
        },
        exit: report.exit_code(),
        clean: report.clean,
        scanned: report.scanned,
        modified: report.modified,
        left: report.left,
        refused: report.refused.as_deref(),
        journal: report.journal.as_ref().map(journal),
        rounds: report.rounds,
        count: report.count(),
        findings: report.findings.iter().map(finding).collect(),
        unlisted: report.unlisted,
        files: usage.files,
        directories: usage.directories,
        used_frags: usage.used_frags,
        free_blocks: usage.free_blocks,
        free_frags: usage.free_frags,
        free_inodes: usage.free_inodes,
        frag_size: usage.frag_bytes,
        fragmentation_percent: usage.fragmentation(),
    }
}

fn show(args: &Args, spec: &ImageSpec, mode: Mode, report: &Report) -> anyhow::Result<()> {
    if let Some(why) = &report.refused {
        say(&format!("{spec}: nothing is repaired: {why}"));
    }
    print(|out| {
        if args.json {
            return out.json(&json(spec, mode, report));
        }
        if let Some(text) = journal_text(report) {
            out.line(text::one_line(&format!("{spec}: {text}")))?;
        }
        for found in &report.findings {
            let repaired = if found.repaired { " (repaired)" } else { "" };
            out.line(text::one_line(&format!("{spec}: {}{repaired}", found.finding)))?;
        }
        if report.unlisted > 0 {
            out.line(format!("{spec}: and {} more", report.unlisted))?;
        }
        out.line(text::one_line(&format!("{spec}: {}", summary(report))))
    })
}

/// The line about the journal before the findings; a replay without a check after it is reported in the summary itself.
fn journal_text(report: &Report) -> Option<String> {
    match report.journal.as_ref()? {
        Journal::Waits => Some("the journal was not replayed (fsck -p does that); a full check finds".into()),
        Journal::SeenReplayed => {
            Some("its log waits (fsck -p replays it); checked is the volume as it is after that".into())
        }
        Journal::NotReplayed(why) => Some(format!("the journal was not replayed: {why}; a full check")),
        Journal::PassedOver => Some("the journal is not used; a full check".into()),
        Journal::LogWaits { psegs } => {
            Some(format!("{psegs} partial segments follow the checkpoint (fsck -p makes a new one)"))
        }
        Journal::RolledForward { psegs } => Some(format!("{psegs} partial segments were rolled forward")),
        Journal::Replayed(done) => report.scanned.then(|| format!("{}; a full check", replayed(done))),
    }
}

fn replayed(done: &ordo_recover::Replayed) -> String {
    format!(
        "the journal was replayed, clean; {} records in {} segments, {} fragments and {} inodes freed, {} link counts \
         adjusted",
        done.records, done.segments, done.freed_frags, done.freed_inodes, done.links_adjusted
    )
}

fn summary(report: &Report) -> String {
    match &report.journal {
        Some(Journal::Replayed(done)) if !report.scanned => return replayed(done),
        _ if !report.scanned => return "clean; not checked".to_owned(),
        _ => {}
    }
    let usage = &report.usage;
    let state = match (report.count(), report.left, report.modified) {
        (0, ..) if report.clean => "clean".to_owned(),
        (0, ..) => "nothing wrong, but not marked clean".to_owned(),
        (n, true, false) => format!("{n} things wrong; nothing was repaired"),
        (n, true, true) => format!("{n} things wrong; some were repaired"),
        (n, false, _) => format!("{n} things were wrong and are repaired"),
    };
    format!(
        "{state}; {} files ({} directories), {} fragments used, {} free blocks and {} fragments ({:.1}% fragmentation)",
        usage.files,
        usage.directories,
        usage.used_frags,
        usage.free_blocks,
        usage.free_frags,
        usage.fragmentation()
    )
}
