//! A new session of the journal, on a clean volume.

use super::replay::Replay;
use crate::dirty::Order;
use crate::outcome::NotReplayed;
use ordo_disk::{Disk, DiskOff};
use ordo_ondisk::{Endian, Superblock};
use ordo_rt::Rt;
use std::rc::Rc;

/// The journal for a mount that is about to begin.
#[derive(Debug, Clone)]
pub struct Session {
    /// The extents of the journal in order: address and length in bytes.
    pub extents: Vec<(DiskOff, u64)>,
    /// Bytes of a block of the volume.
    pub block: u32,
    /// The `fs_mtime` that the mount must write.
    pub stamp: i64,
    /// The byte order of the volume.
    pub endian: Endian,
}

/// Prepares the journal of the clean volume on `disk` for a mount: on return it durably belongs to a mount with the
/// returned `fs_mtime`. `sb` is the superblock as the mount uses it, torn or not. A crash before the superblock has
/// that time leaves a clean volume.
///
/// # Errors
/// Why no journal can be used; nothing was written then, unless the disk failed.
pub async fn begin_session(rt: &Rt, disk: Rc<dyn Disk>, sb: &Superblock) -> Result<Session, NotReplayed> {
    if !sb.features().suj {
        return Err(NotReplayed::NoJournal);
    }
    if !sb.is_clean() {
        return Err(NotReplayed::NotClean);
    }
    super::gate(sb, false)?;
    Replay::new(disk, sb.clone(), rt.wall().0).begin_session().await
}

impl Replay {
    async fn begin_session(mut self) -> Result<Session, NotReplayed> {
        let ino = self.journal_inode().await?;
        let mut dinode = self.dinode(ino).await?;
        self.is_journal_file(&dinode)?;
        let found = self.extents(ino, &dinode).await?;
        let bsize = u64::from(self.geo.bsize);
        let place = |(first, blocks)| (DiskOff(self.geo.byte(first).0), blocks as u64 * bsize);
        let extents = found.into_iter().map(place).collect();
        // Later than every session before, even if the clock went back: an old segment must not pass for a new one.
        let last = i64::try_from(dinode.modrev).unwrap_or(0).max(self.sb.fields.mtime);
        let stamp = last.saturating_add(1).max(self.now);
        dinode.modrev = stamp.unsigned_abs();
        self.put_dinode(ino, &dinode).await?;
        self.image.flush_order(Order::Inodes).await?;
        Ok(Session { extents, block: self.geo.bsize, stamp, endian: self.geo.endian })
    }
}
