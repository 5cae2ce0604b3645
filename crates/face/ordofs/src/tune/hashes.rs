//! The check hashes of a volume, computed or cleared.
//!
//! H1. On: every hash is durable before the superblock says that there are any; off: the superblock says that there are
//!     none before the first is cleared. After a power cut in between, the hashes are ignored; the same change can be
//!     requested again.
//! H2. What is hashed was read from a group that fits the superblock: otherwise a hash would make damage look right.
//! H3. The backups of the superblock follow, with their counts unchanged. A backup that is not a superblock is not
//!     changed.

use super::error::TuneError;
use super::superblock::{Map, change_superblock};
use crate::located::locate_on;
use crate::sectors::{get, put};
use ordo_disk::{Disk, Kind};
use ordo_ondisk::superblock::fields::{SbFields, ck, flag};
use ordo_ondisk::{Cgx, Dinode, Format, Geometry, Superblock, cg};
use ordo_rt::Rt;
use std::rc::Rc;

/// Bytes of inodes that are read and written at a time.
const PIECE: usize = 1 << 20;

/// Switches them. If the volume already has them they stay unchanged: reporting a wrong one is up to fsck.
pub(super) fn switch(rt: &Rt, disk: &Rc<dyn Disk>, on: bool) -> Result<(), TuneError> {
    let sb = locate_on(rt, disk.clone())?.found.into_ufs()?.superblock;
    if sb.format == Format::Ufs1 || on && sb.hashes() == ck::SUPPORTED {
        return Ok(());
    }
    let mut is = sb.clone();
    set(&mut is.fields, on);
    let g = is.geometry();
    if !on {
        change_superblock(rt, disk, Map::IsVoid, |sb| set(&mut sb.fields, false))?;
    }
    rt.block_on(async {
        for c in (0..g.ncg).map(Cgx) {
            group(disk, &g, c).await?;
        }
        disk.flush().await?;
        Ok::<_, TuneError>(())
    })?;
    if on {
        change_superblock(rt, disk, Map::IsVoid, |sb| set(&mut sb.fields, true))?;
    }
    rt.block_on(async {
        for c in (0..g.ncg).map(Cgx) {
            backup(disk, &is, c, on).await?;
        }
        Ok(disk.flush().await?)
    })
}

/// NetBSD's quotas use the same flag: it is cleared only on FreeBSD's volumes.
fn set(f: &mut SbFields, on: bool) {
    match on {
        true => (f.flags, f.metackhash) = (f.flags | flag::METACKHASH, ck::SUPPORTED),
        false if f.metackhash != 0 => {
            (f.flags, f.metackhash, f.ckhash) = (f.flags & !flag::METACKHASH, 0, 0);
        }
        false => {}
    }
}

/// Rehashes the block of a group, and its inodes as far as they are initialised.
async fn group(disk: &Rc<dyn Disk>, g: &Geometry, c: Cgx) -> Result<(), TuneError> {
    let at = g.byte(g.cgtod(c));
    let mut block = get(disk, at, g.cgsize as usize, Kind::Maps).await?;
    // The existing hash may be out of date.
    let mut whatever_the_hash = g.clone();
    whatever_the_hash.cg_hash = false;
    cg::check(&block, &whatever_the_hash, c)?;
    let head = cg::CgHeader::load(&block, g.endian);
    let inodes = head.map_or(g.ipg, |head| head.initediblk) as usize * g.dinode_size as usize;
    // OK to ignore: the block has the length of a group's.
    let _ = cg::rehash(&mut block, g);
    put(disk, at, &block, Kind::Maps).await?;
    let (mut at, end) = (g.byte(g.cgimin(c)), g.byte(g.cgimin(c)).0 + inodes as u64);
    while at.0 < end {
        let len = ((end - at.0) as usize).min(PIECE).next_multiple_of(g.fsize as usize);
        let mut piece = get(disk, at, len, Kind::Inodes).await?;
        for inode in piece.chunks_mut(g.dinode_size as usize) {
            // OK to ignore: each piece is as long as an inode.
            let _ = Dinode::rehash(inode, g);
        }
        put(disk, at, &piece, Kind::Inodes).await?;
        at.0 += len as u64;
    }
    Ok(())
}

async fn backup(disk: &Rc<dyn Disk>, like: &Superblock, c: Cgx, on: bool) -> Result<(), TuneError> {
    let (g, len) = (like.geometry(), like.len_on_disk() as usize);
    let at = g.byte(g.cgsblock(c));
    let bytes = get(disk, at, len.next_multiple_of(g.fsize as usize), Kind::Superblock).await?;
    let Ok(mut copy) = Superblock::decode_whatever_the_hash(&bytes, at) else { return Ok(()) };
    set(&mut copy.fields, on);
    Ok(put(disk, at, &copy.encode_copy(at), Kind::Superblock).await?)
}
