//! A leg of the tour in this process, for systems where nothing can be mounted.

use super::VOLUME;
use super::amount::Amount;
use super::leg::{Cost, Leg, UNMOUNT};
use super::material::{PAK, Tree};
use crate::fresh::{Fresh, NewSize};
use anyhow::Context;
use ordofs::rt::Rt;
use ordofs::{MountOptions, Volume};
use std::path::Path;

/// Copies the tree in, copies and removes it again, and replaces files as an editor saves them.
pub(crate) fn leg(scratch: &Path, scheme: &str, tree: &Tree, amount: &Amount) -> anyhow::Result<Leg> {
    let rt = Rt::real_time();
    let image = scratch.join(format!("{scheme}.img"));
    let options = MountOptions { scheme: Some(scheme.to_owned()), ..MountOptions::default() };
    let Fresh { mounted, requests } = Fresh::in_file(&rt, &image, NewSize::of(VOLUME), &options)?;
    let volume = Volume::of(rt.clone(), mounted);
    let (files, so_far) = (tree.files.len() as u64, || Ok(Cost::now(requests.get())));
    let mut leg = Leg { scheme: scheme.to_owned(), ..Leg::default() };
    leg.copy = leg.phase(&rt, ("copy", files), &so_far, || copy(&volume, tree, "tree"))?;
    leg.phase(&rt, ("copy again", files), &so_far, || copy(&volume, tree, "again"))?;
    leg.remove = leg.phase(&rt, ("remove a copy", files), &so_far, || {
        volume.remove_dir_all("again").context("removing the second copy")
    })?;
    let seconds =
        leg.phase(&rt, ("files replaced", amount.entries.into()), &so_far, || replace(&volume, amount.entries))?;
    leg.replaced = Some(f64::from(amount.entries) / seconds.max(1e-9));
    leg.unmount = leg.phase(&rt, (UNMOUNT, 0), &so_far, || Ok(volume.unmount()?))?;
    rt.drop_tasks();
    leg.verify(&image, tree)?;
    std::fs::remove_file(&image)?;
    Ok(leg)
}

fn copy(volume: &Volume, tree: &Tree, to: &str) -> anyhow::Result<()> {
    for file in &tree.files {
        let path = Path::new(to).join(file);
        let shown = || path.display().to_string();
        volume.create_dir_all(path.parent().context("a file of the tree lies in a directory")?).with_context(shown)?;
        volume.write(&path, std::fs::read(tree.root.join(file))?).with_context(shown)?;
    }
    Ok(())
}

/// Writes a file beside the old one, makes it durable, and gives it the old one's name.
fn replace(volume: &Volume, times: u32) -> anyhow::Result<()> {
    for n in 0..times as usize {
        let mut file = volume.create("new")?;
        std::io::Write::write_all(&mut file, PAK[n % PAK.len()].1.as_bytes())?;
        file.sync_all()?;
        drop(file);
        volume.rename("new", "saved")?;
    }
    Ok(())
}
