//! fsync and sync: keeping the promises of the scheme.

use crate::{Inode, Layout, Ufs};
use bytes::Bytes;
use ordo_vfs::{Kind, Refusal, Result};
use std::rc::Rc;

/// Consecutive rounds of an unmount in which nothing becomes free: what a scheme still waits for then is stuck.
const FRUITLESS: u32 = 64;

/// The end of a sync.
#[derive(Clone, Copy)]
enum Until {
    /// What was changed before is durable, and [`ROUNDS`] have passed or nothing is ripe.
    RoundsAreOver,
    /// No scheme waits for anything. Ends only if no other call changes anything.
    NothingWaits,
}

/// Rounds in which a sync also frees what has become free, and makes that durable. While other calls keep removing
/// files there would be no end; and a sync does not promise what is freed later.
const ROUNDS: u32 = 8;

impl<L: Layout> Ufs<L> {
    /// Makes the contents of a file durable; with `data_only` the times of its inode may stay behind, and its block
    /// need not be written if nothing else in it is new.
    ///
    /// # Errors
    /// `Io` when a write failed, now or in the background since the last fsync. It is reported once; what could not be
    /// written stays in memory and dirty. After a failed flush, always.
    pub(crate) async fn fsync(&self, inode: &Rc<Inode>, data_only: bool) -> Result<()> {
        let cache = self.cache();
        cache.health().sound()?;
        if cache.health().is_read_only() {
            return Ok(());
        }
        let earlier = cache.take_write_error(inode.ino());
        let block = self.layout.block_of(inode).await?;
        let news = if data_only { inode.news(&block) } else { inode.all_news(&block) };
        let must = cache.scheme().clone().fsync(cache, inode.ino(), &block, &news.landing);
        if let Err(error) = cache.obey(must).await {
            // The failure of this fsync is reported here, and not again.
            cache.take_write_error(inode.ino());
            return Err(error);
        }
        inode.made_durable(&news);
        earlier.map_or(Ok(()), Err)
    }

    /// Makes everything durable that was changed before.
    pub(crate) async fn syncfs(&self) -> Result<()> {
        self.sync_until(Until::RoundsAreOver).await
    }

    async fn sync_until(&self, until: Until) -> Result<()> {
        let cache = self.cache();
        cache.health().sound()?;
        if cache.health().is_read_only() {
            return Ok(());
        }
        let mut in_vain = 0;
        for round in 1.. {
            self.reclaim_all().await?;
            self.write_quotas().await?;
            self.layout.gather().await?;
            let must = cache.scheme().clone().sync(cache);
            cache.obey(must).await?;
            // A landing may have ripened tickets, and redeeming them changes more.
            in_vain = if cache.has_ripe() { 0 } else { in_vain + 1 };
            // All is written that could hold up what the upkeep frees at this moment.
            let freed = matches!(until, Until::NothingWaits) && self.freeing.waited().await;
            let goes_on = match until {
                Until::NothingWaits if freed => true,
                Until::RoundsAreOver => cache.has_ripe() && round < ROUNDS,
                Until::NothingWaits if in_vain > FRUITLESS => {
                    let scheme = cache.scheme().name();
                    return Err(ordo_vfs::Error::bug(format!(
                        "all is written, and {scheme} waits for something that never comes"
                    )));
                }
                // What the upkeep freed after the quotas were written is not in their files.
                Until::NothingWaits => {
                    let quotas = self.layout.quotas().is_some_and(crate::Quotas::is_changed);
                    cache.has_ripe() || cache.capabilities().wants_flush() || quotas
                }
            };
            if !goes_on {
                break;
            }
        }
        cache.health().sound()
    }

    /// Frees files without names, writes everything, and marks the volume clean.
    ///
    /// # Errors
    /// `Io` when something could not be written: the volume then keeps the mark that it needs a check.
    pub async fn unmount(&self) -> Result<()> {
        if self.cache().health().is_read_only() && self.cache().health().sound().is_ok() {
            return Ok(());
        }
        self.stop_worker().await;
        let orphans = self.table.close();
        self.orphans.borrow_mut().extend(orphans);
        let synced = self.sync_until(Until::NothingWaits).await;
        synced.and(self.layout.unmount().await)
    }

    /// The target of a symbolic link: in the inode when it is short, else in the first block.
    pub(crate) async fn readlink(&self, inode: &Rc<Inode>) -> Result<Bytes> {
        if inode.kind() != Some(Kind::Symlink) {
            return Err(Refusal::Invalid.into());
        }
        if let Some(link) = inode.dinode().short_link(self.layout.shape().encoding) {
            return Ok(Bytes::copy_from_slice(link.bytes()));
        }
        let _shared = inode.lock.read().await;
        let len = inode.size().min(u64::from(self.layout.shape().bsize())) as u32;
        let segments = self.read_locked(inode, 0, len).await?;
        Ok(segments.concat().into())
    }
}
