//! `ordo demo`

use crate::demo::material::{self, Tree};
use crate::demo::mounted::Build;
use crate::demo::{Leg, VOLUME, inside, mounted};
use crate::mount_options;
use crate::out::{Outcome, Status, print};
use crate::{size, text};
use anyhow::Context;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A tour of two minutes: real work on a volume, under each scheme
///
/// For each scheme it makes a volume, mounts it if it can, copies a tree of files in, compiles SQLite there, keeps a
/// database with it, unmounts, checks the volume, compares the files with the originals, and shows what all that cost.
/// What this machine cannot do is skipped, with a message. Everything happens in a scratch directory.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo demo\n  ordo demo --scheme sync --dir /var/tmp\n  ordo demo --json")]
pub(crate) struct Args {
    /// Schemes, between commas [default: all]
    #[arg(long, value_delimiter = ',', value_name = "SCHEME,...")]
    scheme: Vec<String>,
    /// Where the scratch directory is made [default: the system's]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Work in this process, without a mount
    #[arg(long)]
    no_mount: bool,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Tour {
    mounted: bool,
    files: usize,
    bytes: u64,
    from: String,
    skipped: Vec<String>,
    legs: Vec<Leg>,
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

/// Runs the tour.
pub(crate) fn run(args: &Args) -> Outcome {
    let known = ordofs::schemes::to_use().map(|known| known.name.to_owned()).collect();
    let schemes: Vec<String> = if args.scheme.is_empty() { known } else { args.scheme.clone() };
    for scheme in &schemes {
        mount_options::scheme(scheme)?;
    }
    let tell = |line: &str| if args.json { Ok(()) } else { print(|out| out.line(line)) };
    let tree = Tree::find().context("no tree to copy: neither cargo's sources nor /usr/include has files")?;
    let mut skipped = Vec::new();
    let mounts = can_mount(args, &mut skipped);
    let build = if mounts { build(&mut skipped) } else { None };
    let (files, bytes) = (tree.files.len(), size::human(tree.bytes));
    tell(&format!("The tree: {files} files, {bytes}, from {}", tree.root.display()))?;
    for why in &skipped {
        tell(&format!("Skipped: {why}"))?;
    }
    let scratch = Scratch::new(&args.dir.clone().unwrap_or_else(std::env::temp_dir))?;
    let mut legs = Vec::new();
    for scheme in &schemes {
        let how = if mounts { "mounted" } else { "in this process" };
        tell(&format!("{scheme}: a volume of {}, {how} ...", size::human(VOLUME)))?;
        let leg = match mounts {
            true => mounted::leg(&scratch.0, scheme, &tree, build.as_ref()),
            false => inside::leg(&scratch.0, scheme, &tree),
        };
        let leg = leg.with_context(|| format!("scheme {scheme}"))?;
        tell(&leg_line(&leg))?;
        legs.push(leg);
    }
    let sound = legs.iter().all(|leg| leg.findings == 0);
    if args.json {
        let from = tree.root.display().to_string();
        let tour = Tour { mounted: mounts, files, bytes: tree.bytes, from, skipped, legs };
        print(|out| out.json(&tour))?;
    } else {
        tell(&format!("\n{}", table(&legs)))?;
        tell(
            "Seconds; \"disk\" counts the requests that reached the image, after merging; \"cpu\" is the server's own.",
        )?;
        tell("To go on: ordo schemes, ordo bench --workload postmark --runs 5, ordo mkfs --size 1G disk.img")?;
    }
    Ok(Status(u8::from(!sound)))
}

fn can_mount(args: &Args, skipped: &mut Vec<String>) -> bool {
    let why = match (args.no_mount, Path::new("/dev/fuse").exists()) {
        (true, _) => "the mount, as --no-mount says",
        (_, false) => "the mount, because there is no /dev/fuse",
        _ if !rustix::process::geteuid().is_root() && material::program("fusermount3").is_none() => {
            "the mount, because this user is not root and fusermount3 is missing"
        }
        _ => return true,
    };
    skipped.push(format!("{why}; compiling and the database are skipped, too"));
    false
}

fn build(skipped: &mut Vec<String>) -> Option<Build> {
    let compiler = material::program("cc").or_else(|| material::program("gcc")).or_else(|| material::program("clang"));
    match (compiler, material::sqlite()) {
        (Some(compiler), Some(source)) => return Some(Build { compiler, source }),
        (None, _) => skipped.push("compiling SQLite and the database, because there is no C compiler".to_owned()),
        (_, None) => skipped.push(
            "compiling SQLite and the database, because its source is not here (cargo fetches it with libsqlite3-sys)"
                .to_owned(),
        ),
    }
    None
}

fn leg_line(leg: &Leg) -> String {
    let built = match (leg.build, leg.transactions) {
        (Some(build), Some(rate)) => format!(", SQLite built in {build:.1} s, {rate:.0} transactions a second"),
        _ => String::new(),
    };
    let found = match leg.findings {
        0 => "fsck finds nothing wrong".to_owned(),
        n => format!("fsck finds {n} things wrong"),
    };
    format!("  copied in {:.2} s{built}; {found}; {} files are as on the host", leg.copy, leg.files_compared)
}

fn table(legs: &[Leg]) -> String {
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
