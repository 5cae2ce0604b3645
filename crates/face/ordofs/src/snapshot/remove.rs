//! Removing a snapshot of a volume that is not mounted.
//!
//! D1. A block of it whose contents another snapshot still reads in the volume is given to that one, at its own place:
//!     the first in the list gets it. Of those that know a freed block as another snapshot's (SNAP), it becomes NOCOPY.
//! D2. Other snapshots have durably what they get before the inode of this one is emptied, and that is durable before
//!     its other blocks are free in the maps. The list in the superblock changes last, together with the mark that the
//!     volume is clean. After a crash between, fsck finds a block with two snapshots, or a list that names none, and
//!     mends both.
//! D3. Its name is removed last, through a mount: it is a plain, empty file then.

use super::find;
use super::groups::Groups;
use super::keep::{What, over};
use super::kept::{listed, write_inode};
use super::make::emptied;
use super::map::Map;
use crate::located::{Located, locate_on, superblock_at};
use crate::path::parent;
use crate::sectors::put;
use crate::{MountOptions, Mounted, SnapshotError};
use ordo_disk::{Disk, Kind};
use ordo_ondisk::snapshot::{NOCOPY, SNAP};
use ordo_ondisk::superblock::fields::flag;
use ordo_ondisk::superblock::search::Copy;
use ordo_ondisk::{Dialect, FragNo, Ino, Superblock};
use ordo_rt::Rt;
use ordo_vfs::FileSystem;
use std::rc::Rc;

/// Whether this path names a snapshot of the volume.
///
/// # Errors
/// The volume cannot be read.
pub fn is_snapshot(rt: &Rt, located: &Located, path: &[u8]) -> Result<bool, SnapshotError> {
    let Ok(found) = located.found.ufs() else { return Ok(false) };
    let inos = listed(&found.superblock);
    if inos.is_empty() {
        return Ok(false);
    }
    match rt.block_on(find(rt, located, &inos, path)) {
        Ok(_) => Ok(true),
        Err(SnapshotError::NotFound(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes the snapshot with this path from the volume on a disk.
///
/// # Errors
/// See [`SnapshotError`].
pub fn remove_snapshot(rt: &Rt, disk: Rc<dyn Disk>, path: &[u8]) -> Result<(), SnapshotError> {
    let located = locate_on(rt, disk.clone())?;
    let found = located.found.ufs()?.clone();
    let sb = found.superblock;
    if !sb.is_clean() || sb.features().unclean || found.copy != Copy::Primary {
        return Err(SnapshotError::Dirty);
    }
    sb.write_gate_keeping_snapshots()?;
    if sb.dialect != Dialect::FreeBsd {
        return Err(SnapshotError::Dialect(sb.dialect));
    }
    rt.block_on(async {
        let ino = find(rt, &located, &listed(&sb), path).await?;
        match Map::load(&disk, &Rc::new(sb.geometry()), ino, true).await?.0.dinode.nlink {
            0 | 1 => {}
            names => return Err(SnapshotError::Names(names)),
        }
        empty(&disk, &sb, ino, rt.wall().0).await?;
        let found = superblock_at(&disk, sb.at).await?;
        let kept = over(disk, &found.superblock, What::Fill).await?;
        let found = superblock_at(&kept, sb.at).await?.into();
        let mounted =
            Mounted::mount(rt, Located { disk: kept, found, log: None, claim: None }, &MountOptions::default()).await?;
        let unlinked = async {
            let (dir, name) = parent(mounted.fs(), path).await?;
            mounted.fs().unlink(dir.node(), name).await?;
            // The snapshot was charged to nobody, and as a plain file it was discharged.
            mounted.fs().count_quotas().await
        };
        let unlinked = unlinked.await;
        mounted.unmount().await?;
        Ok(unlinked?)
    })
}

/// See D1 and D2.
async fn empty(disk: &Rc<dyn Disk>, sb: &Superblock, ino: Ino, now: i64) -> Result<(), SnapshotError> {
    let g = Rc::new(sb.geometry());
    let (mut goes, _) = Map::load(disk, &g, ino, true).await?;
    let mut others = vec![];
    for other in listed(sb).into_iter().filter(|&other| other != ino) {
        others.push((Map::load(disk, &g, other, true).await?.0, false));
    }
    let mut groups = Groups::load(disk, &g).await?;
    for block in goes.all_own().collect::<Vec<_>>() {
        let mut is_given = false;
        for (map, changed) in &mut others {
            match map.get(block) {
                FragNo::HOLE if !is_given => {
                    map.set(block, g.frag_of_block(block));
                    map.dinode.blocks += u64::from(g.bsize / 512);
                    (is_given, *changed) = (true, true);
                }
                SNAP if !is_given => {
                    map.set(block, NOCOPY);
                    *changed = true;
                }
                _ => {}
            }
        }
        if !is_given {
            groups.mark(block, true);
        }
    }
    let mut marked = sb.clone();
    (marked.fields.clean, marked.fields.flags) = (0, marked.fields.flags | flag::NEEDSFSCK);
    marked.forget_keeper();
    put(disk, sb.at, &marked.encode(now), Kind::Superblock).await?;
    disk.flush().await?;
    for (map, _) in others.iter().filter(|(_, changed)| *changed) {
        for leaf in &map.leaves {
            put(disk, g.byte(leaf.at), &leaf.bytes, Kind::Indirect).await?;
        }
        write_inode(disk, map).await?;
    }
    disk.flush().await?;
    goes.dinode = emptied(&goes.dinode);
    write_inode(disk, &goes).await?;
    disk.flush().await?;
    let total = groups.write(disk, sb, now).await?;
    disk.flush().await?;
    let mut sb = sb.clone();
    let kept: Vec<u32> = sb.fields.snapinum.into_iter().filter(|&slot| slot != 0 && slot != ino.0).collect();
    sb.fields.snapinum.fill(0);
    sb.fields.snapinum.iter_mut().zip(kept).for_each(|(slot, ino)| *slot = ino);
    sb.set_totals(total);
    put(disk, sb.at, &sb.encode(now), Kind::Superblock).await?;
    Ok(disk.flush().await?)
}
