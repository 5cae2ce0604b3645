//! Taking a snapshot of a volume that is not mounted.
//!
//! K1. First a plain file is made through a mount: as long as the snapshot, with a block at each place that must be a
//!     copy from the beginning. Space is needed for nothing else. If it is missing, the file is removed again; a crash
//!     leaves a plain file of zeros.
//! K2. Then the volume is at rest, and the file becomes the snapshot of that state: the superblock says that the volume
//!     must be checked, then the inode gets the flag, then come pointers and contents, all durable. The list in the
//!     superblock, with the mark that the volume is clean, is last. After a crash before it, the inode has the flag and
//!     is in no list: fsck makes it a plain, empty file.
//! K3. In the copies, the files of this and of older snapshots are empty, and their blocks are free: the snapshot is
//!     the volume without snapshots. Blocks of older ones become SNAP in the map, those of the new one NOCOPY like all
//!     that is free.

use super::groups::{Groups, summary};
use super::keep::What;
use super::kept::listed;
use super::map::Map;
use super::{Snapshot, keep, taken};
use crate::located::{Located, locate_on, superblock_at};
use crate::path::{Held, parent};
use crate::sectors::{get, put};
use crate::{MountOptions, Mounted, SnapshotError};
use ordo_disk::{Disk, Kind};
use ordo_ondisk::dinode::flags;
use ordo_ondisk::snapshot::{Held as Pointer, NOCOPY, SNAP, encode_list};
use ordo_ondisk::superblock::fields::flag;
use ordo_ondisk::{ByteOff, Cgx, Dialect, Dinode, FragNo, Geometry, Ino, NDADDR, Superblock};
use ordo_rt::Rt;
use ordo_vfs::{Caller, Error, FileSystem, Mode, Refusal};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The cache of the mount that makes the file.
const CACHE: usize = 32 << 20;

/// Takes a snapshot of the volume on a disk, which gets this path in it.
///
/// # Errors
/// See [`SnapshotError`]; the volume has no new file then.
pub fn make_snapshot(rt: &Rt, disk: Rc<dyn Disk>, path: &[u8]) -> Result<Snapshot, SnapshotError> {
    let located = locate_on(rt, disk.clone())?;
    let sb = located.found.ufs()?.superblock.clone();
    check(rt, &located, &sb)?;
    let kept = rt.block_on(keep::over(located.disk, &sb, What::Fill))?;
    rt.block_on(async {
        let located = Located { disk: kept.clone(), found: located.found, log: None, claim: None };
        let (ino, quotas) = file(rt, located, &sb, path).await?;
        let superblock = sb;
        let sb = superblock_at(&kept, superblock.at).await?.superblock;
        let map = Taking::new(rt, &kept, sb, ino).await?.take().await?;
        let (blocks, g) = (map.all_own().count() as u64, map.geometry());
        let shared = (0..g.snapshot_blocks()).filter(|&lbn| map.get(lbn).is_hole()).count() as u64;
        let taken = taken(&map.dinode);
        if quotas {
            count_quotas(rt, disk, &superblock).await?;
        }
        Ok(Snapshot { ino: ino.0, path: Some(path.to_vec()), taken, blocks, shared, damage: None })
    })
}

/// Refuses volumes of which no snapshot can be taken.
fn check(rt: &Rt, located: &Located, sb: &Superblock) -> Result<(), SnapshotError> {
    if !sb.is_clean()
        || sb.features().unclean
        || located.found.ufs()?.copy != ordo_ondisk::superblock::search::Copy::Primary
    {
        return Err(SnapshotError::Dirty);
    }
    sb.write_gate_keeping_snapshots()?;
    if sb.dialect != Dialect::FreeBsd {
        return Err(SnapshotError::Dialect(sb.dialect));
    }
    if crate::tune::is_active(rt, &located.disk, sb).unwrap_or(true) {
        return Err(SnapshotError::Active);
    }
    match listed(sb).len() {
        all if all >= sb.fields.snapinum.len() => Err(SnapshotError::TooMany(all)),
        _ => Ok(()),
    }
}

/// The blocks of the volume that these bytes are in.
fn blocks(g: &Geometry, at: ByteOff, len: u64) -> impl Iterator<Item = u64> + use<> {
    let bsize = u64::from(g.bsize);
    at.0 / bsize..(at.0 + len).div_ceil(bsize)
}

/// The blocks of which a snapshot has copies from the beginning, those behind the volume included.
fn copied(g: &Geometry, sb: &Superblock, inodes: impl Iterator<Item = Ino>) -> BTreeSet<u64> {
    let volume = g.snapshot_blocks();
    let mut all: BTreeSet<u64> = (0..volume.min(NDADDR as u64)).collect();
    all.extend(blocks(g, sb.at, sb.len_on_disk()));
    all.extend(blocks(g, g.byte(g.csaddr), g.cssize.into()));
    all.extend((0..g.ncg).flat_map(|c| blocks(g, g.byte(g.cgtod(Cgx(c))), g.cgsize.into())));
    all.extend(inodes.flat_map(|ino| blocks(g, Dinode::place(g, ino), g.dinode_size.into())));
    // Every indirect block exists because something is in it.
    for first in (NDADDR as u64..volume).step_by(g.nindir.max(1) as usize) {
        if all.range(first..first + u64::from(g.nindir)).next().is_none() {
            all.insert(first);
        }
    }
    let mut lists = 1;
    while g.snapshot_bytes((all.len() as u64) + lists + 1).div_ceil(g.bsize.into()) > volume + lists {
        lists += 1;
    }
    all.extend(volume..volume + lists);
    all
}

/// Makes the plain file (K1), which no quota is charged with: a snapshot is the system's. Says whether there are
/// quotas.
async fn file(rt: &Rt, located: Located, sb: &Superblock, path: &[u8]) -> Result<(Ino, bool), SnapshotError> {
    let options = MountOptions { cache: CACHE, ..MountOptions::default() };
    let mounted = Mounted::mount(rt, located, &options).await?;
    if mounted.why_read_only().is_some() {
        return Err(SnapshotError::Dirty);
    }
    let quotas = mounted.fs().quotas().is_some_and(|quotas| quotas.is_on());
    if let Some(quotas) = mounted.fs().quotas() {
        quotas.end();
    }
    let made = fill(&mounted, sb, path).await;
    let closed = mounted.unmount().await;
    let made = made?;
    closed?;
    Ok((made, quotas))
}

/// Counts what is used: a directory may have become longer.
async fn count_quotas(rt: &Rt, disk: Rc<dyn Disk>, sb: &Superblock) -> Result<(), SnapshotError> {
    let found = superblock_at(&disk, sb.at).await?.into();
    let mounted = Mounted::mount(rt, Located { disk, found, log: None, claim: None }, &MountOptions::default()).await?;
    let counted = mounted.fs().count_quotas().await;
    mounted.unmount().await?;
    Ok(counted?)
}

async fn fill(mounted: &Mounted, sb: &Superblock, path: &[u8]) -> Result<Ino, SnapshotError> {
    let (fs, g) = (mounted.fs(), sb.geometry());
    let who = Caller { privileged: true, ..Caller::default() };
    let (dir, name) = parent(fs, path).await?;
    let entry = fs.mknod(&who, dir.node(), name, ordo_vfs::Kind::Regular, Mode::new(0o400), 0).await?;
    let file = Held::new(fs, entry);
    let ino = Ino(u32::try_from(file.attr().ino).map_err(|_| Error::from(Refusal::Stale))?);
    let all = copied(&g, sb, listed(sb).into_iter().chain([ino]));
    let zeros = vec![0; g.bsize as usize];
    let mut outcome = enough(sb, &g, all.len() as u64);
    // The last one first: it gives the file its size, and all blocks before it are whole.
    for lbn in all.iter().rev() {
        if outcome.is_err() {
            break;
        }
        outcome = match fs.write(&who, file.node(), lbn * u64::from(g.bsize), &zeros).await {
            Ok(n) if n == g.bsize => Ok(()),
            Ok(_) => Err(Error::from(Refusal::NoSpace).into()),
            Err(error) => Err(error.into()),
        };
    }
    if outcome.is_err() {
        drop(file);
        fs.unlink(dir.node(), name).await?;
    }
    outcome.map(|()| ino)
}

/// A first look whether there is space at all, with what it needs in words.
fn enough(sb: &Superblock, g: &Geometry, copies: u64) -> Result<(), SnapshotError> {
    let leaves = g.snapshot_blocks().div_ceil(g.nindir.max(1).into());
    let (needs, has) = (copies + leaves + 1, u64::try_from(sb.fields.cs_nbfree).unwrap_or(0));
    if needs > has { Err(SnapshotError::NoSpace { needs, has }) } else { Ok(()) }
}

/// A plain file that becomes a snapshot.
struct Taking<'a> {
    disk: &'a Rc<dyn Disk>,
    sb: Superblock,
    g: Rc<Geometry>,
    map: Map,
    older: Vec<Map>,
    groups: Groups,
    now: i64,
}

impl<'a> Taking<'a> {
    async fn new(rt: &Rt, disk: &'a Rc<dyn Disk>, sb: Superblock, ino: Ino) -> Result<Taking<'a>, SnapshotError> {
        let (g, now) = (Rc::new(sb.geometry()), rt.wall().0);
        let (map, _) = Map::load(disk, &g, ino, false).await?;
        let mut older = vec![];
        for ino in listed(&sb) {
            older.push(Map::load(disk, &g, ino, true).await?.0);
        }
        let groups = Groups::load(disk, &g).await?;
        Ok(Taking { disk, sb, g, map, older, groups, now })
    }

    /// See K2.
    async fn take(mut self) -> Result<Map, SnapshotError> {
        let copies: Vec<(u64, FragNo)> = self.map.own().collect();
        self.set_pointers();
        let patches = self.patches(&copies).await?;
        let (at, mut marked) = (self.sb.at, self.sb.clone());
        (marked.fields.clean, marked.fields.flags) = (0, marked.fields.flags | flag::NEEDSFSCK);
        marked.forget_keeper();
        self.durably(at, &marked.encode(self.now), Kind::Superblock).await?;
        self.map.dinode.flags |= flags::SF_SNAPSHOT;
        let mut bytes = vec![0; self.g.dinode_size as usize];
        // OK to ignore: the bytes are as many as an inode has.
        let _ = self.map.dinode.encode(&mut bytes, &self.g);
        self.durably(self.map.inode_at(), &bytes, Kind::Inodes).await?;
        for leaf in &self.map.leaves {
            put(self.disk, self.g.byte(leaf.at), &leaf.bytes, Kind::Indirect).await?;
        }
        for (lbn, at) in copies {
            let block = self.contents(lbn, &patches).await?;
            put(self.disk, self.g.byte(at), &block, Kind::Data).await?;
        }
        self.disk.flush().await?;
        let mut sb = self.sb.clone();
        if let Some(slot) = sb.fields.snapinum.iter_mut().find(|slot| **slot == 0) {
            *slot = self.map.ino.0;
        }
        self.durably(at, &sb.encode(self.now), Kind::Superblock).await?;
        Ok(self.map)
    }

    async fn durably(&self, at: ByteOff, bytes: &[u8], kind: Kind) -> Result<(), SnapshotError> {
        put(self.disk, at, bytes, kind).await?;
        Ok(self.disk.flush().await?)
    }

    /// What the snapshot need not keep (K3).
    fn set_pointers(&mut self) {
        let own: BTreeSet<u64> = self.map.all_own().collect();
        let older: BTreeSet<u64> = self.older.iter().flat_map(Map::all_own).collect();
        for lbn in 0..self.g.snapshot_blocks() {
            if !matches!(Pointer::of(self.map.get(lbn)), Pointer::Current) {
                continue;
            }
            if older.contains(&lbn) {
                self.map.set(lbn, SNAP);
            } else if own.contains(&lbn) || self.groups.is_free(lbn) {
                self.map.set(lbn, NOCOPY);
            }
        }
    }

    /// What the copies have that the volume has otherwise: by the first byte in the volume.
    async fn patches(&self, copies: &[(u64, FragNo)]) -> Result<BTreeMap<u64, Vec<u8>>, SnapshotError> {
        let (g, mut patches) = (&self.g, BTreeMap::new());
        let mut groups = self.groups.clone();
        for block in self.map.all_own().chain(self.older.iter().flat_map(Map::all_own)) {
            groups.mark(block, true);
        }
        groups.seal(self.now);
        for c in (0..g.ncg).map(Cgx) {
            patches.insert(g.byte(g.cgtod(c)).0, groups.bytes(c).to_vec());
        }
        let mut array = summary(self.disk, &self.sb).await?;
        let total = groups.summary(&mut array);
        patches.insert(g.byte(g.csaddr).0, array);
        let mut sb = self.sb.clone();
        sb.set_totals(total);
        sb.fields.snapinum = [0; 20];
        sb.fields.clean = 1;
        patches.insert(sb.at.0, sb.encode(self.now));
        for map in self.older.iter().chain([&self.map]) {
            let mut bytes = vec![0; g.dinode_size as usize];
            let empty = emptied(&map.dinode);
            // OK to ignore: the bytes are as many as an inode has.
            let _ = empty.encode(&mut bytes, g);
            patches.insert(map.inode_at().0, bytes);
        }
        let listed: Vec<u64> = copies.iter().map(|(lbn, _)| *lbn).filter(|&lbn| lbn >= NDADDR as u64).collect();
        patches.insert(g.snapshot_blocks() * u64::from(g.bsize), encode_list(&listed, g.endian));
        Ok(patches)
    }

    /// The contents of a copy.
    async fn contents(&self, lbn: u64, patches: &BTreeMap<u64, Vec<u8>>) -> Result<Vec<u8>, SnapshotError> {
        let bsize = u64::from(self.g.bsize);
        let (start, end) = (lbn * bsize, (lbn + 1) * bsize);
        let volume = self.g.byte(FragNo(self.g.size)).0;
        let mut block = vec![0; bsize as usize];
        if start < volume {
            let there = get(self.disk, ByteOff(start), (end.min(volume) - start) as usize, Kind::Other).await?;
            block[..there.len()].copy_from_slice(&there);
        }
        // A patch may begin in a block before: the summary and the list can be longer than one.
        for (&at, bytes) in patches.range(..end).filter(|(at, bytes)| *at + bytes.len() as u64 > start) {
            let (from, to) = (at.max(start), (at + bytes.len() as u64).min(end));
            let patch = &bytes[(from - at) as usize..(to - at) as usize];
            block[(from - start) as usize..(to - start) as usize].copy_from_slice(patch);
        }
        Ok(block)
    }
}

/// The inode of a snapshot as a plain, empty file.
pub(super) fn emptied(dinode: &Dinode) -> Dinode {
    let mut empty = Dinode { size: 0, blocks: 0, flags: dinode.flags & !flags::SF_SNAPSHOT, ..dinode.clone() };
    empty.db.fill(FragNo::HOLE);
    empty.ib.fill(FragNo::HOLE);
    empty
}
