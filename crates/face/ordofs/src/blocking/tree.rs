//! Calls that work on whole trees.

use super::{Volume, bytes};
use crate::Fs;
use crate::path::{Held, parent};
use ordo_vfs::{Error, FileSystem, Name, Refusal, Result};
use std::collections::BTreeSet;
use std::path::Path;

/// A directory that is being emptied.
struct Level {
    dir: Held<Fs>,
    name: Vec<u8>,
    left: Vec<Vec<u8>>,
}

impl Volume {
    /// Creates a directory, and all missing directories above it.
    ///
    /// # Errors
    /// `NotDirectory` if a file is in the way; `NoSpace`.
    pub fn create_dir_all(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let missing = path.ancestors().filter(|above| !above.as_os_str().is_empty());
        let mut missing: Vec<&Path> = missing.collect();
        while let Some(next) = missing.pop() {
            match self.create_dir(next) {
                // The root, and `.` and `..`, have no name of their own.
                Ok(()) | Err(Error::Refused(Refusal::Exists | Refusal::Invalid)) => {}
                Err(error) => return Err(error),
            }
        }
        if self.metadata(path)?.is_dir() { Ok(()) } else { Err(Refusal::NotDirectory.into()) }
    }

    /// Removes a directory and everything below it. Symbolic links are removed, never followed; if `path` itself is
    /// one, only the link is removed.
    ///
    /// # Errors
    /// `NotDirectory` for a file; as [`Volume::remove_file`] for what is below. A part may be removed then.
    pub fn remove_dir_all(&self, path: impl AsRef<Path>) -> Result<()> {
        self.rt.block_on(async {
            let fs = self.fs();
            let (above, name) = parent(fs, bytes(path.as_ref())).await?;
            let dir = above.lookup(name.bytes()).await?;
            match dir.attr().kind {
                ordo_vfs::Kind::Directory => remove_tree(fs, &above, dir, name).await,
                ordo_vfs::Kind::Symlink => fs.unlink(above.node(), name).await,
                _ => Err(Refusal::NotDirectory.into()),
            }
        })
    }
}

/// Removes `name`, which is the directory `dir`, from `above`, deepest names first.
async fn remove_tree(fs: &Fs, above: &Held<Fs>, dir: Held<Fs>, name: Name<'_>) -> Result<()> {
    let mut entered = BTreeSet::new();
    let mut levels = vec![enter(dir, name.bytes().to_vec(), &mut entered).await?];
    while let Some(level) = levels.last_mut() {
        let Some(name) = level.left.pop() else {
            let dir = levels.len().checked_sub(2).map_or(above.node(), |i| levels[i].dir.node());
            let emptied = levels.pop();
            let name = emptied.map(|level| level.name).unwrap_or_default();
            fs.rmdir(dir, Name::new(&name)?).await?;
            continue;
        };
        let found = level.dir.lookup(&name).await?;
        if found.is_dir() {
            levels.push(enter(found, name, &mut entered).await?);
        } else {
            fs.unlink(level.dir.node(), Name::new(&name)?).await?;
        }
    }
    Ok(())
}

async fn enter(dir: Held<Fs>, name: Vec<u8>, entered: &mut BTreeSet<u64>) -> Result<Level> {
    // On a damaged volume a directory may lie below itself.
    if !entered.insert(dir.attr().ino) {
        return Err(Error::corrupt(format!("directory inode {} has two names", dir.attr().ino)));
    }
    let (left, outcome) = dir.names().await;
    outcome?;
    Ok(Level { dir, name, left })
}
