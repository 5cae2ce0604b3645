//! A leg of the tour in this process, for systems where nothing can be mounted.

use super::VOLUME;
use super::amount::Amount;
use super::leg::{Cost, Leg, UNMOUNT};
use super::material::{PAK, Tree};
use crate::bench::bed::{Fresh, NewSize};
use anyhow::Context;
use ordo_vfs::{FileSystem, Name, RenameMode};
use ordo_workload::Session;
use ordofs::rt::Rt;
use ordofs::{Fs, MountOptions};
use std::path::Path;

/// Copies the tree in, copies and removes it again, and replaces files as an editor saves them.
pub(crate) fn leg(scratch: &Path, scheme: &str, tree: &Tree, amount: &Amount) -> anyhow::Result<Leg> {
    let rt = Rt::real_time();
    let image = scratch.join(format!("{scheme}.img"));
    let options = MountOptions { scheme: Some(scheme.to_owned()), ..MountOptions::default() };
    let Fresh { mounted, requests } = Fresh::in_file(&rt, &image, NewSize::of(VOLUME), &options)?;
    let (files, so_far) = (tree.files.len() as u64, || Ok(Cost::now(requests.get())));
    let mut leg = Leg { scheme: scheme.to_owned(), ..Leg::default() };
    let session = Session::new(&**mounted.fs());
    leg.copy = leg.phase(&rt, ("copy", files), &so_far, || rt.block_on(copy(&session, tree, "tree")))?;
    leg.phase(&rt, ("copy again", files), &so_far, || rt.block_on(copy(&session, tree, "again")))?;
    leg.remove = leg.phase(&rt, ("remove a copy", files), &so_far, || {
        rt.block_on(session.remove_tree("again")).map(drop).context("removing the second copy")
    })?;
    let seconds = leg.phase(&rt, ("files replaced", amount.transactions.into()), &so_far, || {
        rt.block_on(replace(mounted.fs(), &session, amount.transactions))
    })?;
    leg.replaced = Some(f64::from(amount.transactions) / seconds.max(1e-9));
    leg.unmount = leg.phase(&rt, (UNMOUNT, 0), &so_far, || Ok(rt.block_on(mounted.unmount())?))?;
    rt.drop_tasks();
    leg.verify(&image, tree)?;
    std::fs::remove_file(&image)?;
    Ok(leg)
}

async fn copy(session: &Session<'_, Fs>, tree: &Tree, to: &str) -> anyhow::Result<()> {
    session.mkdir_all(to).await?;
    for file in &tree.files {
        let path = format!("{to}/{}", file.to_str().context("a name that is no text")?);
        if let Some((above, _)) = path.rsplit_once('/') {
            session.mkdir_all(above).await.with_context(|| above.to_owned())?;
        }
        session.write_file(&path, &std::fs::read(tree.root.join(file))?).await.with_context(|| path.clone())?;
    }
    Ok(())
}

/// Writes a file beside the old one, makes it durable, and gives it the old one's name.
async fn replace(fs: &Fs, session: &Session<'_, Fs>, times: u32) -> anyhow::Result<()> {
    let (new, saved) = (Name::new(b"new")?, Name::new(b"saved")?);
    for n in 0..times as usize {
        session.write_file("new", PAK[n % PAK.len()].1.as_bytes()).await?;
        let file = session.resolve("new").await?;
        fs.fsync(file.node(), false).await?;
        let root = session.root().await?;
        fs.rename(root.node(), new, root.node(), saved, RenameMode::Replace).await?;
    }
    Ok(())
}
