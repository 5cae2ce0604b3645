//! `ordo demo`

use crate::demo::amount::Amount;
use crate::demo::killed::{self, Killed};
use crate::demo::leg::Leg;
use crate::demo::material::{self, Tree};
use crate::demo::page::{self, Results};
use crate::demo::{VOLUME, compared, cut, inside, mounted};
use crate::made::LeftOut;
use crate::mount_options;
use crate::out::{Outcome, Status, print, usage};
use crate::{size, text};
use anyhow::Context;
use ordo_crash::Report;
use ordo_workload::Row;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A tour of two minutes: real work, a killed server, a cut power, and what each scheme costs
///
/// For each scheme it makes a volume, mounts it if it can, copies a tree in, builds a program there, runs its tests,
/// keeps a database, unmounts, checks, and compares with the originals. Then it kills the server of a mount in the
/// middle of the database's work, cuts the power of a modelled disk at every moment of a script, and runs the schemes
/// on a modelled drive of 1994. The results become one HTML page.
///
/// It brings all that it builds and runs; of the machine it asks only for a C compiler and a mount. What is missing is
/// left out, with a message. All but the page is made in a scratch directory, which is removed.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ordo demo\n  ordo demo --short --no-mount\n  ordo demo --scheme sync --dir /var/tmp\n  \
    ordo demo --json\n\nExit status: 1 if a scheme did not keep what it promises."
)]
pub(crate) struct Args {
    /// Schemes, between commas [default: all]
    #[arg(long, value_delimiter = ',', value_name = "SCHEME,...")]
    scheme: Vec<String>,
    /// Where the scratch directory is made [default: the system's]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Where the page goes, as index.html
    #[arg(short, long, value_name = "DIR", default_value = "demo-report")]
    output: PathBuf,
    /// Work in this process, without a mount
    #[arg(long)]
    no_mount: bool,
    /// Seconds in place of two minutes: less of everything
    #[arg(long)]
    short: bool,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Tour {
    mounted: bool,
    files: usize,
    bytes: u64,
    skipped: Vec<String>,
    legs: Vec<Leg>,
    killed: Vec<Killed>,
    cut: Vec<Report>,
    compared: Vec<Row>,
    page: PathBuf,
}

/// A directory that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(above: &Path) -> anyhow::Result<Scratch> {
        let path = above.join(format!("ordo-demo-{}", std::process::id()));
        std::fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        std::fs::create_dir(path.join("mnt"))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Never through a mount that could not be removed.
        let gone = std::fs::remove_dir(self.0.join("mnt")).and_then(|()| std::fs::remove_dir_all(&self.0));
        if let Err(error) = gone {
            crate::out::say(&format!("{}: cannot be removed: {error}; remove it", self.0.display()));
        }
    }
}

/// What all phases use.
struct Stage<'a> {
    args: &'a Args,
    amount: Amount,
    schemes: Vec<String>,
    tree: Tree,
    scratch: Scratch,
    mounts: bool,
    compiler: Option<PathBuf>,
}

impl Stage<'_> {
    fn tell(&self, line: impl AsRef<str>) -> anyhow::Result<()> {
        if self.args.json { Ok(()) } else { print(|out| out.line(line)) }
    }
}

/// Runs the tour.
pub(crate) fn run(args: &Args) -> Outcome {
    let known = ordofs::schemes::to_use().map(|known| known.name.to_owned()).collect();
    let schemes: Vec<String> = if args.scheme.is_empty() { known } else { args.scheme.clone() };
    for scheme in &schemes {
        if mount_options::scheme(scheme)? == ordofs::LOG_SCHEME {
            return Err(usage("lfs is no scheme of the tour; ordo report --aged-log shows such a volume"));
        }
    }
    let mut skipped = Vec::new();
    let mounts = can_mount(args, &mut skipped);
    let compiler = material::compiler().filter(|_| mounts);
    if mounts && compiler.is_none() {
        skipped.push("building a program: no C compiler (cc, gcc, clang) is in the path".to_owned());
    }
    let amount = if args.short { Amount::SHORT } else { Amount::USUAL };
    let scratch = Scratch::new(&args.dir.clone().unwrap_or_else(std::env::temp_dir))?;
    let tree = Tree::make(&scratch.0.join("tree"), amount.files)?;
    let stage = Stage { args, amount, schemes, tree, scratch, mounts, compiler };
    skipped.iter().try_for_each(|why| stage.tell(format!("Left out: {why}")))?;
    let legs = work(&stage)?;
    let killed = kill(&stage)?;
    let cut = cut_power(&stage)?;
    let (compared, left_out) = compare(&stage)?;
    let mounted = stage.mounts;
    let results = Results { legs: &legs, cut: &cut, compared: &compared, left_out: &left_out, mounted };
    let page = write_page(&stage, &results)?;
    let sound = legs.iter().all(|leg| leg.findings == 0) && killed.iter().all(|one| !one.promises || one.kept());
    let kept = cut.iter().all(is_as_promised);
    let (files, bytes) = (stage.tree.files.len(), stage.tree.bytes);
    if args.json {
        let tour = Tour { mounted: mounts, files, bytes, skipped, legs, killed, cut, compared, page };
        print(|out| out.json(&tour))?;
    } else {
        stage.tell(
            "To go on: ordo schemes, ordo trace --explain create /f, docs/course, ordo mkfs --size 1G disk.img",
        )?;
    }
    Ok(Status(u8::from(!(sound && kept))))
}

fn can_mount(args: &Args, skipped: &mut Vec<String>) -> bool {
    let why = match (args.no_mount, Path::new("/dev/fuse").exists()) {
        (true, _) => "as --no-mount says",
        (_, false) => "because there is no /dev/fuse",
        _ if !rustix::process::geteuid().is_root() && material::program("fusermount3").is_none() => {
            "because this user is not root and fusermount3 is missing"
        }
        _ => return true,
    };
    let lost = "building a program on it, the database, the killed server";
    skipped.push(format!("the mount, {why}, and with it {lost}; the work is done in this process instead"));
    false
}

fn work(stage: &Stage) -> anyhow::Result<Vec<Leg>> {
    let (files, bytes) = (stage.tree.files.len(), size::human(stage.tree.bytes));
    let how = if stage.mounts { "mounted" } else { "in this process" };
    stage.tell(format!(
        "1. Work. Under each scheme {files} files ({bytes}) are copied into a new volume of {}, {how}; programs work",
        size::human(VOLUME)
    ))?;
    stage.tell("   there; then an independent check, and each file is compared with its original.\n")?;
    let mut legs = Vec::new();
    for scheme in &stage.schemes {
        let leg = match stage.mounts {
            true => mounted::leg(&stage.scratch.0, scheme, &stage.tree, stage.compiler.as_deref(), &stage.amount),
            false => inside::leg(&stage.scratch.0, scheme, &stage.tree, &stage.amount),
        };
        let leg = leg.with_context(|| format!("scheme {scheme}"))?;
        stage.tell(leg_line(&leg))?;
        legs.push(leg);
    }
    stage.tell(format!("\n{}", leg_table(&legs)))?;
    stage.tell(
        "Seconds; \"disk\" counts the requests that reached the image, after merging; \"cpu\" is the server's.",
    )?;
    Ok(legs)
}

fn leg_line(leg: &Leg) -> String {
    let built = leg.build.zip(leg.checks);
    let built =
        built.map(|(seconds, checks)| format!(", an archiver built and its {checks} checks run in {seconds:.1} s"));
    let rate = leg.transactions.map(|rate| format!(", SQLite: {rate:.0} transactions a second"));
    let replaced = leg.replaced.map(|rate| format!(", {rate:.0} files a second saved (written, fsync, renamed)"));
    let more: String = [built, rate, replaced].into_iter().flatten().collect();
    let found = match leg.findings {
        0 => "fsck finds nothing wrong".to_owned(),
        n => format!("fsck finds {n} things wrong"),
    };
    format!("{}: copied in {:.2} s{more}; {found}; {} files are as they were", leg.scheme, leg.copy, leg.files_compared)
}

fn kill(stage: &Stage) -> anyhow::Result<Vec<Killed>> {
    let mut all = Vec::new();
    if !stage.mounts {
        return Ok(all);
    }
    stage.tell(
        "\n2. A killed server. SQLite works on a mount; kill -9 ends the mount's server. The volume is repaired",
    )?;
    stage.tell("   (a log is replayed) and mounted again: is each transaction there that had returned?\n")?;
    for scheme in &stage.schemes {
        let one = killed::run(&stage.scratch.0, scheme, cut::promises(scheme)?, &stage.amount);
        let one = one.with_context(|| format!("scheme {scheme}, its server killed"))?;
        let there = one.there.map_or_else(|| "no database".to_owned(), |there| format!("{there} are there"));
        let wrong = one.wrong.iter().map(|wrong| format!("; the database: {wrong}")).collect::<String>();
        let verdict = match (one.kept(), one.promises) {
            (true, _) => "",
            (false, true) => ": NOT as promised",
            (false, false) => ": this scheme promises nothing",
        };
        stage.tell(format!(
            "{scheme}: {} transactions had returned, {there}{wrong}; {} took {:.2} s{verdict}",
            one.acknowledged, one.repair, one.seconds
        ))?;
        all.push(one);
    }
    Ok(all)
}

fn cut_power(stage: &Stage) -> anyhow::Result<Vec<Report>> {
    stage.tell(
        "\n3. A power cut. What kill -9 cannot show: a disk loses what it had not made durable. On a modelled disk",
    )?;
    stage.tell("   the power is cut at every moment of a script, and its writes lost, kept and torn; each state is")?;
    stage.tell("   recovered and held to the scheme's promises (ordo crash).\n")?;
    let mut reports = Vec::new();
    for scheme in &stage.schemes {
        let report = cut::explore(scheme, None, cut::SCRIPT, stage.amount.states)?;
        let said = match (report.violations_total, cut::promises(scheme)?) {
            (0, _) => "no violation".to_owned(),
            (n, true) => format!("{n} violations"),
            (n, false) => format!("{n} are damaged: this scheme promises nothing"),
        };
        stage.tell(format!("{scheme}: {} states, {said}", report.states))?;
        reports.push(report);
    }
    let (scheme, rule, script) = cut::BROKEN;
    let report = cut::explore(scheme, Some(rule), script, stage.amount.states)?;
    stage.tell(format!(
        "{scheme} without its rule {rule}, to see that the judge can convict: {} of {} states are violations",
        report.violations_total, report.states
    ))?;
    reports.push(report);
    Ok(reports)
}

/// A scheme that promises something keeps it, and one without a rule is convicted.
fn is_as_promised(report: &Report) -> bool {
    match report.without.is_empty() {
        true => report.violations_total == 0 || !cut::promises(&report.scheme).unwrap_or(true),
        false => report.violations_total > 0,
    }
}

fn compare(stage: &Stage) -> anyhow::Result<(Vec<Row>, Vec<LeftOut>)> {
    stage.tell(
        "\n4. What it costs. The same work on a modelled drive of 1994, and a sync, in virtual time: these numbers are",
    )?;
    stage.tell(format!("   the same on every machine ({}, {}).\n", stage.amount.workload, compared::DRIVE))?;
    let (rows, left_out) = compared::run(&stage.schemes, &stage.amount)?;
    left_out.iter().try_for_each(|left| stage.tell(left.to_string()))?;
    let heading = ["scheme", "files/s", "writes", "flushes/s"].map(str::to_owned).to_vec();
    let shown = rows.iter().filter(|row| row.phase == "total");
    let cells = |row: &Row| {
        let numbers = [row.rate, row.disk_writes as f64, row.flushes_per_second].map(|number| format!("{number:.1}"));
        std::iter::once(row.scheme.clone()).chain(numbers).collect::<Vec<_>>()
    };
    let table: Vec<_> = std::iter::once(heading).chain(shown.map(cells)).collect();
    stage.tell(text::table(1, &table))?;
    Ok((rows, left_out))
}

/// Writes the page of all results; returns its path.
fn write_page(stage: &Stage, results: &Results<'_>) -> anyhow::Result<PathBuf> {
    let page = page::of(results, &stage.amount)?;
    let path = stage.args.output.join("index.html");
    let written = std::fs::create_dir_all(&stage.args.output).and_then(|()| std::fs::write(&path, page));
    written.with_context(|| format!("{}: cannot write the page; choose another directory with -o", path.display()))?;
    stage.tell(format!("5. The report, with pictures: {}\n", path.display()))?;
    Ok(path)
}

fn leg_table(legs: &[Leg]) -> String {
    let heading = [
        "scheme",
        "copy",
        "remove",
        "build",
        "tx/s",
        "unmount",
        "cpu",
        "disk reads",
        "writes",
        "written",
        "flushes",
        "fsck",
    ];
    let seconds = |seconds: f64| format!("{seconds:.2}");
    let row = |leg: &Leg| {
        vec![
            leg.scheme.clone(),
            seconds(leg.copy),
            seconds(leg.remove),
            leg.build.map_or_else(|| "-".to_owned(), seconds),
            leg.transactions.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}")),
            seconds(leg.unmount),
            seconds(leg.cpu),
            leg.disk_reads.to_string(),
            leg.disk_writes.to_string(),
            size::human(leg.bytes_written),
            leg.flushes.to_string(),
            if leg.findings == 0 { "clean".to_owned() } else { leg.findings.to_string() },
        ]
    };
    let rows: Vec<_> = std::iter::once(heading.map(str::to_owned).to_vec()).chain(legs.iter().map(row)).collect();
    text::table(1, &rows)
}
