//! `ordo demo`

use crate::demo::amount::Amount;
use crate::demo::killed::{self, Killed};
use crate::demo::leg::Leg;
use crate::demo::material::{self, Tree};
use crate::demo::{VOLUME, inside, mounted};
use crate::out::{Outcome, Status, print, usage};
use crate::{lab, mount_options, size, text};
use anyhow::Context;
use ordofs::CrashLeaves;
use ordofs::schemes::{self, Settings};
use serde::Serialize;
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A tour: real work under each scheme, a killed server, and, with the laboratory, a cut power
///
/// For each scheme it makes a volume, mounts it if it can, copies a tree in, builds a program there, runs its tests,
/// keeps a ledger, unmounts, checks, and compares with the originals. Then it kills the server of a mount in the middle
/// of the ledger's work, and mounts again. Where the laboratory (ordo-lab) is beside this program or in PATH, it goes
/// on: the power of a modelled disk is cut at every moment of a script, the schemes run on a modelled drive of 1994,
/// and the results become one HTML page.
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
    /// Where the laboratory's page goes, as index.html
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
    /// The command line, which the laboratory's page names.
    command: Vec<String>,
    /// What the laboratory has found.
    #[serde(flatten)]
    laboratory: Option<Value>,
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
        if mount_options::scheme(scheme)? == ordofs::LFS_SCHEME {
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
    let sound = legs.iter().all(|leg| leg.findings == 0) && killed.iter().all(|one| !one.promises || one.kept());
    let (files, bytes) = (stage.tree.files.len(), stage.tree.bytes);
    let command = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let mut tour = Tour { mounted: stage.mounts, files, bytes, skipped, legs, killed, command, laboratory: None };
    let kept = match lab::program() {
        Some(laboratory) => go_on(&laboratory, args, &mut tour)?,
        None => {
            tour.skipped.push("the cut power, the comparison and the page: ordo-lab is not here".to_owned());
            stage.tell(
                "\nLeft out: the cut power, the comparison and the page, since ordo-lab is neither beside this",
            )?;
            stage.tell("program nor in PATH; cargo build --release in a checkout builds both.")?;
            true
        }
    };
    if args.json {
        print(|out| out.json(&tour))?;
    } else {
        stage.tell("To go on: ordo schemes, docs/course, ordo mkfs --size 1G disk.img")?;
    }
    Ok(Status(u8::from(!(sound && kept))))
}

/// The laboratory's part of the tour. Returns whether the schemes kept what they promise.
fn go_on(laboratory: &Path, args: &Args, tour: &mut Tour) -> anyhow::Result<bool> {
    let mut command = Command::new(laboratory);
    command.arg("tour").arg("--output").arg(&args.output);
    command.args(args.short.then_some("--short")).args(args.json.then_some("--json"));
    command.stdin(Stdio::piped()).stdout(if args.json { Stdio::piped() } else { Stdio::inherit() });
    let shown = || format!("{}: the laboratory's part of the tour", laboratory.display());
    let mut child = command.spawn().with_context(shown)?;
    let mut told = child.stdin.take().context("its input is a pipe")?;
    told.write_all(&serde_json::to_vec(tour)?).with_context(shown)?;
    drop(told);
    let ended = child.wait_with_output().with_context(shown)?;
    match ended.status.code() {
        Some(0 | 1) => (),
        // It has said why.
        _ => anyhow::bail!("{} ended: {}", shown(), ended.status),
    }
    if args.json {
        tour.laboratory = Some(serde_json::from_slice(&ended.stdout).with_context(shown)?);
    }
    Ok(ended.status.success())
}

/// Whether the scheme promises that what was synced survives.
fn promises(scheme: &str) -> bool {
    let made = schemes::by_name(scheme).and_then(|known| known.make(Settings::default()).ok());
    made.is_some_and(|scheme| scheme.declares().crash_leaves != CrashLeaves::Anything)
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
    let lost = "building a program on it, the ledger, the killed server";
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
    let rate = leg.entries.map(|rate| format!(", a ledger kept: {rate:.0} entries a second"));
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
        "\n2. A killed server. A ledger is kept on a mount; kill -9 ends the mount's server. The volume is repaired",
    )?;
    stage.tell("   (a log is replayed) and mounted again: is each entry there that had returned?\n")?;
    for scheme in &stage.schemes {
        let one = killed::run(&stage.scratch.0, scheme, promises(scheme), &stage.amount);
        let one = one.with_context(|| format!("scheme {scheme}, its server killed"))?;
        let there = one.there.map_or_else(|| "no ledger".to_owned(), |there| format!("{there} are there"));
        let wrong = one.wrong.iter().map(|wrong| format!("; the ledger: {wrong}")).collect::<String>();
        let verdict = match (one.kept(), one.promises) {
            (true, _) => "",
            (false, true) => ": NOT as promised",
            (false, false) => ": this scheme promises nothing",
        };
        stage.tell(format!(
            "{scheme}: {} entries had returned, {there}{wrong}; {} took {:.2} s{verdict}",
            one.acknowledged, one.repair, one.seconds
        ))?;
        all.push(one);
    }
    Ok(all)
}

fn leg_table(legs: &[Leg]) -> String {
    let heading = [
        "scheme",
        "copy",
        "remove",
        "build",
        "entries/s",
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
            leg.entries.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}")),
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
