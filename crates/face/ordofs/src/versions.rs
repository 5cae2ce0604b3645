//! Older versions of a file, as far as the group journals of an active journal still have them.
//!
//! A version is what the file was directly before its inode changed. It counts only if all of it is known: the inode,
//! the indirect blocks and the contents, each fragment with its checksum. Contents are known only if the journal had
//! them: with `data=journal`.

use crate::active::active_at_rest;
use crate::located::Located;
use crate::{ActiveState, OpenError};
use ordo_active::{Active, Past};
use ordo_disk::{Block, Disk, DiskError, ReadPart, Tag};
use ordo_ondisk::superblock::Keeper;
use ordo_ondisk::{Ino, Superblock};
use ordo_recover::FileShape;
use ordo_rt::Rt;
use std::rc::Rc;

/// An older version of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileVersion {
    /// Its number, from 1: the newest of the older ones. Older ones have greater numbers.
    pub number: u32,
    /// Bytes.
    pub size: u64,
    /// When its contents had changed last: seconds and nanoseconds.
    pub mtime: (i64, u32),
}

/// The older versions of a file.
pub struct Versions {
    found: Vec<(FileVersion, Past, FileShape)>,
    block: u64,
}

/// The older versions of a file of a volume that is not mounted, the newest first.
///
/// # Errors
/// The volume has no active journal, or is damaged, or was not unmounted; or the disk fails.
pub fn versions_of(rt: &Rt, located: &Located, ino: Ino) -> Result<Versions, OpenError> {
    let sb = &located.found.ufs()?.superblock;
    if !sb.is_clean() {
        return Err(ordo_ffs::MountError::Dirty.into());
    }
    let found: Option<(ActiveState, Active)> = active_at_rest(rt, located)?;
    let (_, active) = found.ok_or(OpenError::NoActive(Keeper::ACTIVE))?;
    rt.block_on(async {
        let shape = async |disk: Rc<dyn Disk>| ordo_recover::shape_of_file(rt, disk, sb, ino).await;
        let now = shape(Rc::new(active.clone())).await.map_err(OpenError::active)?;
        let (mut found, mut newer) = (Vec::new(), now.clone());
        for moment in active.moments(now.inode.0, now.inode.1).into_iter().rev() {
            let past = active.past(moment);
            // What cannot be read as it was is no version.
            let Ok(was) = shape(Rc::new(past.clone())).await else { continue };
            let is_it = was.is_regular && was.generation == now.generation && was != newer;
            if !is_it || !is_whole(&past, &was) {
                continue;
            }
            let number = found.len() as u32 + 1;
            found.push((FileVersion { number, size: was.size, mtime: was.mtime }, past, was.clone()));
            newer = was;
        }
        Ok(Versions { found, block: block_size(sb) })
    })
}

fn block_size(sb: &Superblock) -> u64 {
    sb.geometry().bsize.into()
}

/// Everything of the file is known as it was.
fn is_whole(past: &Past, was: &FileShape) -> bool {
    let blocks = was.blocks.iter().map(|block| (block.at, block.len));
    std::iter::once(was.inode).chain(was.indirect.iter().copied()).chain(blocks).all(|(at, len)| past.knows(at, len))
}

impl Versions {
    /// The versions, the newest first.
    pub fn list(&self) -> impl Iterator<Item = FileVersion> + '_ {
        self.found.iter().map(|(version, ..)| *version)
    }

    /// Calls `each` with the contents of a version, in order. Returns false if there is no such version.
    ///
    /// # Errors
    /// The disk fails, or a copy is rotten; or what `each` returns.
    pub fn read<E: From<DiskError>>(
        &self,
        rt: &Rt,
        number: u32,
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<bool, E> {
        let Some((_, past, was)) = self.found.iter().find(|(version, ..)| version.number == number) else {
            return Ok(false);
        };
        let zeros = vec![0; self.block as usize];
        let mut at = 0;
        let hole = |from: u64, to: u64, each: &mut dyn FnMut(&[u8]) -> Result<(), E>| -> Result<(), E> {
            let mut left = to.saturating_sub(from);
            while left > 0 {
                let now = left.min(self.block);
                each(&zeros[..now as usize])?;
                left -= now;
            }
            Ok(())
        };
        for block in &was.blocks {
            let from = block.lbn.saturating_mul(self.block);
            if from >= was.size {
                break;
            }
            hole(at, from, &mut each)?;
            let part = ReadPart { block: Block::unspecified(block.len as usize), tag: Tag::default() };
            let parts = rt.block_on(async { past.read(block.at, vec![part]).await })?;
            let wanted = (was.size - from).min(block.len);
            parts.iter().try_for_each(|part| each(&part.block[..wanted as usize]))?;
            at = from + wanted;
        }
        hole(at, was.size, &mut each)?;
        Ok(true)
    }
}
