//! FreeBSD's snapshots: a file that is the volume as it was.
//!
//! `map` has the pointers of one, `image` reads it as a disk.
//!
//! A pointer of a snapshot says of each block of the volume where its contents of then are: still in the volume, in a
//! block of the snapshot, or nowhere because it was free ([`ordo_ondisk::snapshot`]).

mod groups;
mod image;
mod keep;
mod kept;
mod make;
mod map;
pub(crate) mod mounting;
mod remove;
mod reserve;

pub use make::make_snapshot;
pub use mounting::kept_in_repair;
pub use remove::{is_snapshot, remove_snapshot};

use crate::located::{Located, locate_on};
use crate::path::resolve;
use crate::{MountOptions, Mounted, OpenError, SnapshotError};
use image::SnapshotDisk;
use kept::listed;
use map::Map;
use ordo_ondisk::{Dinode, Ino};
use ordo_rt::Rt;
use ordo_vfs::{Error, Refusal};
use std::rc::Rc;

/// The directory in which FreeBSD keeps snapshots.
const DIRECTORY: &[u8] = b"/.snap";
/// Names that are read in a directory, to find those of snapshots.
const MOST_NAMES: usize = 10_000;

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
