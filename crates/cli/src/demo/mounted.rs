//! A leg of the tour on a mounted volume, with ordinary programs.

use super::amount::Amount;
use super::ledger::{Ledger, books};
use super::leg::{Leg, UNMOUNT};
use super::material::{PAK, Tree};
use super::served::Served;
use super::timed;
use anyhow::{Context, bail};
use ordofs::rt::Rt;
use std::path::Path;
use std::process::{Command, Output};

/// Copies the tree in, copies and removes it again, builds and runs the archiver, and keeps a ledger.
pub(crate) fn leg(
    scratch: &Path,
    scheme: &str,
    tree: &Tree,
    compiler: Option<&Path>,
    amount: &Amount,
) -> anyhow::Result<Leg> {
    let rt = Rt::real_time();
    let (image, dir) = (scratch.join(format!("{scheme}.img")), scratch.join("mnt"));
    let served = Served::start(&image, &dir, scheme)?;
    let mut leg = Leg { scheme: scheme.to_owned(), ..Leg::default() };
    let (files, so_far) = (tree.files.len() as u64, || served.cost());
    leg.copy =
        leg.phase(&rt, ("copy", files), &so_far, || tree.copy(&dir.join("tree")).context("copying the tree in"))?;
    leg.phase(&rt, ("copy again", files), &so_far, || tree.copy(&dir.join("again")).context("copying it again"))?;
    leg.remove = leg.phase(&rt, ("remove a copy", files), &so_far, || {
        std::fs::remove_dir_all(dir.join("again")).context("removing the second copy")
    })?;
    if let Some(compiler) = compiler {
        let mut checks = None;
        leg.build = Some(leg.phase(&rt, ("build and test", 1), &so_far, || {
            build(compiler, &dir)?;
            checks = Some(test(&dir)?);
            pack(&dir, tree)
        })?);
        leg.checks = checks;
    }
    let place = dir.join("ledger");
    let mut ledger = Ledger::found(&place)?;
    let seconds = leg.phase(&rt, ("ledger entries", amount.entries.into()), &so_far, || {
        Ok((1..=amount.entries).try_for_each(|n| ledger.enter(n))?)
    })?;
    leg.entries = Some(f64::from(amount.entries) / seconds.max(1e-9));
    drop(ledger);
    let books = books(&place)?;
    anyhow::ensure!(books.wrong.is_none() && books.entries == amount.entries, "the ledger is damaged: {books:?}");
    let (before, mut after) = (served.cost()?, None);
    leg.unmount = timed(&rt, || {
        after = Some(served.stop()?);
        Ok(())
    })?;
    leg.add(UNMOUNT, 0, leg.unmount, [before, after.unwrap_or(before)]);
    leg.verify(&image, tree)?;
    std::fs::remove_file(&image)?;
    Ok(leg)
}

/// Writes the archiver's source and compiles it there, file by file, as a Makefile would.
fn build(compiler: &Path, dir: &Path) -> anyhow::Result<()> {
    let place = dir.join("pak");
    std::fs::create_dir(&place)?;
    for (name, text) in PAK {
        std::fs::write(place.join(name), text).with_context(|| format!("writing {name}"))?;
    }
    let compile = |arguments: &[&str]| {
        let mut command = Command::new(compiler);
        finished(command.args(arguments).current_dir(&place).env("TMPDIR", &place)).map(drop)
    };
    let sources = PAK.iter().filter_map(|(name, _)| name.strip_suffix(".c"));
    let mut parts = Vec::new();
    for name in sources {
        compile(&["-O1", "-c", "-o", &format!("{name}.o"), &format!("{name}.c")])?;
        parts.push(format!("{name}.o"));
    }
    for (program, other) in [("pak", "tests.o"), ("tests", "main.o")] {
        let parts = parts.iter().map(String::as_str).filter(|part| *part != other);
        compile(&["-o", program].into_iter().chain(parts).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// Runs the archiver's own tests on the volume; returns the number of their checks.
fn test(dir: &Path) -> anyhow::Result<u32> {
    let place = dir.join("tested");
    std::fs::create_dir(&place)?;
    let said = finished(Command::new(dir.join("pak/tests")).arg(&place).current_dir("/"))?.stdout;
    let said = String::from_utf8_lossy(&said).into_owned();
    let checks = said.split(' ').next().and_then(|count| count.parse().ok());
    checks.with_context(|| format!("the tests of pak said {said:?}"))
}

/// Packs the tree, takes it out again, and tests the archive.
fn pack(dir: &Path, tree: &Tree) -> anyhow::Result<()> {
    let run = |arguments: &[&str]| {
        finished(Command::new(dir.join("pak/pak")).args(arguments).current_dir(dir)).map(|output| output.stdout)
    };
    run(&["c", "tree.pak", "tree"])?;
    run(&["t", "tree.pak"])?;
    let said = run(&["x", "tree.pak", "out"])?;
    let wanted = format!("{} files\n", tree.files.len());
    anyhow::ensure!(said == wanted.as_bytes(), "pak took out {:?}", String::from_utf8_lossy(&said));
    Ok(())
}

pub(super) fn finished(command: &mut Command) -> anyhow::Result<Output> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot run {name}"))?;
    if !output.status.success() {
        bail!("{name}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(output)
}
