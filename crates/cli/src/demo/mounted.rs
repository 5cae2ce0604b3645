//! A leg of the tour on a mounted volume, with ordinary programs.

use super::material::Tree;
use super::served::Served;
use super::{Leg, TRANSACTIONS, timed};
use anyhow::{Context, bail};
use ordofs::rt::Rt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const BANK: &str = include_str!("bank.c");

/// The requirements for compiling SQLite.
pub(crate) struct Build {
    pub(crate) compiler: PathBuf,
    /// Where `sqlite3.c` is.
    pub(crate) source: PathBuf,
}

/// Copies the tree in, copies and removes it again, builds SQLite, and runs bank transactions with it.
pub(crate) fn leg(scratch: &Path, scheme: &str, tree: &Tree, build: Option<&Build>) -> anyhow::Result<Leg> {
    let rt = Rt::real_time();
    let (image, dir) = (scratch.join(format!("{scheme}.img")), scratch.join("mnt"));
    let served = Served::start(&image, &dir, scheme)?;
    let mut leg = Leg { scheme: scheme.to_owned(), ..Leg::default() };
    leg.copy = timed(&rt, || tree.copy(&dir.join("tree")).context("copying the tree in"))?;
    tree.copy(&dir.join("again")).context("copying the tree again")?;
    leg.remove = timed(&rt, || std::fs::remove_dir_all(dir.join("again")).context("removing the second copy"))?;
    if let Some(build) = build {
        leg.build = Some(timed(&rt, || build.run(&dir))?);
        leg.transactions = Some(f64::from(TRANSACTIONS) / bank(&dir)?);
    }
    let mut cost = None;
    leg.unmount = timed(&rt, || {
        cost = Some(served.stop()?);
        Ok(())
    })?;
    if let Some((requests, cpu)) = cost {
        leg.set_cost(requests, cpu);
    }
    leg.verify(&image, tree)?;
    std::fs::remove_file(&image)?;
    Ok(leg)
}

impl Build {
    /// Copies the source in and compiles it there.
    fn run(&self, dir: &Path) -> anyhow::Result<()> {
        let place = dir.join("sqlite");
        std::fs::create_dir(&place)?;
        for name in ["sqlite3.c", "sqlite3.h"] {
            std::fs::copy(self.source.join(name), place.join(name)).context("copying SQLite's source in")?;
        }
        std::fs::write(place.join("bank.c"), BANK)?;
        let mut compile = Command::new(&self.compiler);
        compile.args(["-O0", "-w", "-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION", "-o", "bank"]);
        compile.args(["bank.c", "sqlite3.c", "-lm"]).current_dir(&place).env("TMPDIR", &place);
        finished(&mut compile).map(drop)
    }
}

/// Seconds of all transactions.
fn bank(dir: &Path) -> anyhow::Result<f64> {
    let mut run = Command::new(dir.join("sqlite/bank"));
    run.arg(dir.join("bank.db")).arg(TRANSACTIONS.to_string()).current_dir("/");
    let said = String::from_utf8_lossy(&finished(&mut run)?.stdout).into_owned();
    said.trim().parse().with_context(|| format!("the database said {said:?}"))
}

fn finished(command: &mut Command) -> anyhow::Result<Output> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot run {name}"))?;
    if !output.status.success() {
        bail!("{name}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(output)
}
