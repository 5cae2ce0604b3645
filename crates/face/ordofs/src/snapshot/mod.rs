//! FreeBSD's snapshots: a file that is the volume as it was.
//!
//! `map` has the pointers of one, `image` reads it as a disk.
//!
//! A pointer of a snapshot says of each block of the volume where its contents of then are: still in the volume, in a
//! block of the snapshot, or nowhere because it was free ([`ordo_ondisk::snapshot`]).

mod error;
mod groups;
mod image;
mod keep;
mod make;
mod map;
mod remove;
mod reserve;

pub use error::SnapshotError;
pub use make::make_snapshot;
pub use remove::{is_snapshot, remove_snapshot};

use crate::found::Found;
use crate::image::Located;
use crate::path::resolve;
use crate::{MountOptions, Mounted, OpenError, locate_on};
use image::SnapshotDisk;
use keep::{Keeping, What};
use map::Map;
use ordo_buf::{LogKind, Scheme};
use ordo_disk::Disk;
use ordo_ondisk::superblock::search::Copy;
use ordo_ondisk::{Dialect, Dinode, Ino, Superblock};
use ordo_rt::Rt;
use ordo_vfs::{Error, Refusal};
use std::rc::Rc;

/// The directory in which FreeBSD keeps snapshots.
const DIRECTORY: &[u8] = b"/.snap";
/// Names that are read in a directory, to find those of snapshots.
const MOST_NAMES: usize = 10_000;

/// Logs with which a volume with snapshots is not written to. The journal of soft updates may free blocks that FreeBSD
/// had given to a snapshot; the active journal is in each group, and writes beside the queue.
const NOT_WITH: [LogKind; 2] = [LogKind::Intents, LogKind::Active];

/// A snapshot of a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Its inode.
    pub ino: u32,
    /// Its path, if it is in `/.snap` or in the root.
    pub path: Option<Vec<u8>>,
    /// When it was taken, in seconds since 1970.
    pub taken: i64,
    /// Blocks of the volume that are its own: copies, and the indirect blocks.
    pub blocks: u64,
    /// Blocks that it still shares with the volume.
    pub shared: u64,
    /// Why it cannot be read.
    pub damage: Option<String>,
}

/// A volume whose snapshots are kept while it is mounted for writing. A volume of which that is not possible stays as
/// it is, and refuses to be written to.
pub(crate) async fn kept(
    located: Located,
    read_only: bool,
    scheme: &Rc<dyn Scheme>,
) -> Result<(Located, Option<Keeping>), OpenError> {
    let found = located.found.ufs()?;
    let sb = &found.superblock;
    let is_known = sb.dialect == Dialect::FreeBsd && found.copy == Copy::Primary;
    if read_only || listed(sb).is_empty() || !is_known || sb.write_gate_keeping_snapshots().is_err() {
        return Ok((located, None));
    }
    let failed = |error| OpenError::Snapshot(Box::new(error));
    if scheme.clone().capabilities().log_kind().is_some_and(|kind| NOT_WITH.contains(&kind)) {
        return Err(failed(SnapshotError::Scheme(scheme.name())));
    }
    // A crash may have torn the superblock, and a torn one may say that the volume is clean. It is used as it was
    // found; nothing is set aside then, and so it is not read again.
    let mut sb = sb.clone();
    if crate::image::superblock_at(&located.disk, sb.at).await.is_err() {
        sb.fields.clean = 0;
    }
    let Some(keeping) = Keeping::new(located.disk.clone(), &sb, What::Fill).await.map_err(failed)? else {
        return Ok((located, None));
    };
    let was_clean = sb.is_clean();
    let located = Located { disk: Rc::new(keeping.clone()), ..located };
    let located = if was_clean { crate::image::located_again(located).await? } else { located };
    Ok((located, Some(keeping)))
}

/// The disk of a volume that is to be repaired: what a repair writes over is copied for the snapshots that are whole.
///
/// # Errors
/// The disk fails.
pub fn kept_in_repair(rt: &Rt, located: &Located) -> Result<Rc<dyn Disk>, SnapshotError> {
    match &located.found {
        Found::Ufs(found) => rt.block_on(keep::over(located.disk.clone(), &found.superblock, What::Whole)),
        Found::Lfs(_) => Ok(located.disk.clone()),
    }
}

/// The inodes in the superblock's list.
pub(crate) fn listed(sb: &Superblock) -> Vec<Ino> {
    sb.fields.snapinum.iter().copied().take_while(|&ino| ino != 0).map(Ino).collect()
}

/// The snapshots of the volume on a disk, oldest first.
///
/// # Errors
/// The volume cannot be read. A damaged snapshot is no error.
pub fn snapshots(rt: &Rt, located: &Located) -> Result<Vec<Snapshot>, SnapshotError> {
    let (sb, disk) = (&located.found.ufs()?.superblock, &located.disk);
    let (g, inos) = (Rc::new(sb.geometry()), listed(sb));
    if inos.is_empty() {
        return Ok(vec![]);
    }
    // Without names they are snapshots still.
    let named = rt.block_on(names(rt, located, &inos)).unwrap_or_default();
    let mut found = vec![];
    for ino in inos {
        let path = named.iter().find(|(named, _)| *named == ino).map(|(_, path)| path.clone());
        let none = Snapshot { ino: ino.0, path, taken: 0, blocks: 0, shared: 0, damage: None };
        found.push(match rt.block_on(Map::load(disk, &g, ino, true)) {
            Ok((map, _)) => Snapshot {
                taken: taken(&map.dinode),
                blocks: map.all_own().count() as u64,
                shared: (0..g.snapshot_blocks()).filter(|&lbn| map.get(lbn).is_hole()).count() as u64,
                ..none
            },
            Err(SnapshotError::Damaged { why, .. }) => Snapshot { damage: Some(why), ..none },
            Err(error) => return Err(error),
        });
    }
    Ok(found)
}

/// Nothing is written into a snapshot by name: its contents changed last when it was taken.
fn taken(dinode: &Dinode) -> i64 {
    dinode.mtime.sec
}

/// The volume, mounted to read names.
async fn mounted(rt: &Rt, located: &Located) -> Result<Mounted, OpenError> {
    let located =
        Located { disk: located.disk.clone(), found: located.found.clone(), log: located.log.clone(), claim: None };
    Mounted::mount(rt, located, &MountOptions { read_only: true, cache: 8 << 20, ..MountOptions::default() }).await
}

/// The names of these inodes in the usual places.
async fn names(rt: &Rt, located: &Located, inos: &[Ino]) -> Result<Vec<(Ino, Vec<u8>)>, OpenError> {
    let mounted = mounted(rt, located).await?;
    let mut found = vec![];
    for dir in [DIRECTORY, b"/"] {
        let Ok(held) = resolve(mounted.fs(), dir, true).await else { continue };
        for name in held.names().await.0.into_iter().take(MOST_NAMES) {
            let Ok(file) = held.lookup(&name).await else { continue };
            let ino = inos.iter().copied().find(|ino| u64::from(ino.0) == file.attr().ino);
            let path = [dir.strip_suffix(b"/").unwrap_or(dir), b"/", &name].concat();
            found.extend(ino.map(|ino| (ino, path)));
        }
    }
    Ok(found)
}

/// The inode of the snapshot with this path, or with this name in `/.snap`.
async fn find(rt: &Rt, located: &Located, inos: &[Ino], name: &[u8]) -> Result<Ino, SnapshotError> {
    let mounted = mounted(rt, located).await?;
    let in_directory = (!name.contains(&b'/')).then(|| [DIRECTORY, b"/", name].concat());
    for path in in_directory.into_iter().chain([name.to_vec()]) {
        match resolve(mounted.fs(), &path, true).await {
            Ok(file) => {
                let ino = inos.iter().copied().find(|ino| u64::from(ino.0) == file.attr().ino);
                if let Some(ino) = ino {
                    return Ok(ino);
                }
            }
            Err(Error::Refused(Refusal::NotFound | Refusal::NotDirectory)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(SnapshotError::NotFound(String::from_utf8_lossy(name).into_owned()))
}

/// The volume of a snapshot, which can only be read.
///
/// # Errors
/// There is none of this name, or it is damaged.
pub fn locate_snapshot(rt: &Rt, located: &Located, name: &[u8]) -> Result<Located, OpenError> {
    let failed = |error| OpenError::Snapshot(Box::new(error));
    let sb = &located.found.ufs()?.superblock;
    let (g, inos) = (Rc::new(sb.geometry()), listed(sb));
    let disk = rt.block_on(async {
        let ino = find(rt, located, &inos, name).await?;
        let (map, _) = Map::load(&located.disk, &g, ino, true).await?;
        Ok(SnapshotDisk::new(located.disk.clone(), map, g.clone()))
    });
    locate_on(rt, Rc::new(disk.map_err(failed)?))
}
