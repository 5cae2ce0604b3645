//! Replay of a transaction log: the logged changes are applied again, each call as a whole.
//!
//! The logged images overwrite the home locations, whatever the crash has left there. The time depends on the length of
//! the log, and includes reading each group's counts.
//!
//! P1. A log counts only on the volume that it was begun for, while no other program has written that volume's
//!     superblock.
//! P2. Nothing is written before the log was read to its end and was found valid: a log with damage in the middle is
//!     left as it is, and so is the volume.
//! P3. An interrupted replay is started again, with the same result. What the lists free is the same each time (see
//!     [`ordo_ondisk::redo`]). What is freed with a nameless file is known only from its inode, and an older image in
//!     the log would overwrite that. So before the first one is freed, everything is written in place, and the log
//!     holds one transaction that has the lists and nothing else; the blocks are durably free before the inodes are
//!     freed.
//! P4. The log counts until the volume is marked clean; the mark is written last and separately.
//! P5. A replay needs no more of the log than that transaction takes, and the log's writer keeps that much free after
//!     each transaction that needs it (journals-8). Otherwise a log that was full at a crash could not be
//!     replayed.
//! P6. A log in a stream is taken over after it was read, and before anything is written (stream-4): its writer may
//!     live on, and what that still commits would be missing here.

mod apply;
mod follow;
mod nameless;
mod source;

pub use follow::{Followed, Follower, NotFollowed};
pub use source::{
    FileBlock, FileShape, LogPlace, active_disk, heal, names_of_directory, place_of_log, shape_of_file, verified,
};

use crate::dirty::Order;
use crate::log::{Crashed, Recover, Recovering, Seen, Waiting};
use crate::outcome::{NotReplayed, Replayed};
use crate::suj::Replay;
use ordo_active::Active;
use ordo_disk::{Disk, LogHome};
use ordo_ondisk::superblock::fields::flag;
use ordo_ondisk::superblock::{Keeper, LogAt, LogForm};
use ordo_ondisk::{Cgx, Superblock, csum};
use ordo_rt::Rt;
use source::{Held, Source};
use std::rc::Rc;

/// Whether a log must be replayed before this volume is usable, and where the log is (P1).
pub fn is_due(sb: &Superblock) -> Option<Keeper> {
    let (keeper, untouched) = sb.keeper()?;
    (untouched && !sb.is_clean() && keeper.log != LogAt::Nowhere).then_some(keeper)
}

/// A log may be due of which the superblock, whose check hash is wrong, does not say whether it counts: it is the time
/// that tells this, and that may be what is damaged (P1).
pub fn may_be_due(sb: &Superblock) -> bool {
    let log = sb.keeper().map(|(keeper, _)| keeper.log);
    !sb.is_clean() && log.is_some_and(|log| log != LogAt::Nowhere)
}

/// A log of OrdoFS.
pub(crate) struct Transactions;

impl Recover for Transactions {
    fn which(&self) -> Waiting {
        Waiting::Transactions
    }

    fn is_due(&self, sb: &Superblock) -> bool {
        is_due(sb).is_some()
    }

    fn replay(&self, of: Crashed) -> Recovering<Replayed> {
        Box::pin(replay(of))
    }

    fn see(&self, of: Crashed) -> Recovering<Seen> {
        Box::pin(of.seen(replay))
    }
}

/// Replays the log of the volume on `disk`, and marks the volume clean. `elsewhere` is where the log is, if it is not a
/// file of the volume.
///
/// # Errors
/// Why the log was not replayed; then nothing was written, unless a disk failed.
pub async fn replay_log(rt: &Rt, disk: Rc<dyn Disk>, elsewhere: Option<LogHome>) -> Result<Replayed, NotReplayed> {
    replay(Crashed::open(rt, disk, elsewhere).await?).await
}

async fn replay(of: Crashed) -> Result<Replayed, NotReplayed> {
    let Crashed { rt, disk, log: elsewhere, opened } = of;
    let Some(keeper) = is_due(&opened.sb) else {
        return Err(if opened.sb.is_clean() { NotReplayed::Clean } else { NotReplayed::NoLog });
    };
    crate::suj::gate(&opened.sb, disk.keeps_snapshots())?;
    let mut volume = Replay::new(disk.clone(), opened.sb, rt.wall().0);
    let mut active = None;
    let place = match keeper.log {
        LogAt::File(ino) if keeper.form() == LogForm::Active => {
            // All that recovery writes goes through the active disk: its map stays right (logs-active-1).
            let extents = volume.log_extents(ino).await?;
            let over = source::active_over(&rt, disk, &volume.sb, &extents, ordo_active::Options::default()).await?;
            volume = Replay::new(Rc::new(over.clone()), volume.sb, rt.wall().0);
            source::Where::Active(active.insert(over).clone())
        }
        LogAt::File(ino) => source::Where::Within(disk, volume.log_extents(ino).await?),
        LogAt::Elsewhere | LogAt::Nowhere => match elsewhere.ok_or(NotReplayed::LogElsewhere)? {
            LogHome::Disk(disk) => source::Where::Elsewhere(disk),
            LogHome::Stream(_) => return Err(NotReplayed::OtherKind { wanted: "on another disk" }),
        },
        LogAt::Stream => match elsewhere.ok_or(NotReplayed::LogInStream)? {
            LogHome::Stream(stream) => source::Where::Stream(stream),
            LogHome::Disk(_) => return Err(NotReplayed::OtherKind { wanted: "in a stream of messages" }),
        },
        LogAt::Followed(next) => return Err(NotReplayed::Follows { next }),
    };
    let (source, Held { transactions, blocks }) = Source::taken_over(&rt, place, &keeper).await?;
    if let Some(active) = &active {
        // Reads already see what the group journals have: what is written as it was read is not written.
        active.bring_home().await.map_err(ordo_active::OpenError::from)?;
    }
    volume.done.segments = transactions.len() as u64;
    volume.redo(&transactions, blocks).await?;
    volume.free_what_waits(&transactions).await?;
    volume.free_the_nameless(&transactions, source).await?;
    volume.finish_redo(&keeper, active.as_ref()).await?;
    Ok(volume.done)
}

impl Replay {
    /// Rule P4.
    async fn finish_redo(&mut self, keeper: &Keeper, active: Option<&Active>) -> Result<(), NotReplayed> {
        self.sum_all_groups().await?;
        self.write_groups().await?;
        self.flush_home().await?;
        let f = &mut self.sb.fields;
        (f.pendingblocks, f.pendinginodes) = (0, 0);
        self.put_kept(keeper).await?;
        if let Some(active) = active {
            // The next mount begins another journal: what this one says is then known from the map alone. And another
            // system knows only the homes.
            active.bring_home().await.map_err(ordo_active::OpenError::from)?;
            active.settled().await.map_err(ordo_active::OpenError::from)?;
        }
        let f = &mut self.sb.fields;
        f.clean = 1;
        f.flags &= !(flag::UNCLEAN | flag::NEEDSFSCK);
        self.put_kept(keeper).await
    }

    /// Makes durable what was written so far: groups before inodes (P3).
    async fn flush_home(&mut self) -> Result<(), NotReplayed> {
        for order in [Order::Groups, Order::Fresh, Order::Contents, Order::Inodes] {
            self.image.flush_order(order).await?;
        }
        Ok(())
    }

    /// Writes the superblock, still with the log's keeper: even if the write is torn, the log counts until the mark.
    async fn put_kept(&mut self, keeper: &Keeper) -> Result<(), NotReplayed> {
        let (at, now) = (self.sb.at, self.now);
        let bytes = self.sb.encode_kept(now, keeper);
        self.image.write(at, &bytes, Order::Superblock).await?;
        Ok(self.image.flush_superblock().await?)
    }

    /// The summary array is written only now and then: it is rebuilt from the groups.
    async fn sum_all_groups(&mut self) -> Result<(), NotReplayed> {
        let geo = self.geo.clone();
        let mut array = vec![0; geo.cssize as usize];
        self.image.read(geo.byte(geo.csaddr), &mut array).await?;
        for c in (0..geo.ncg).map(Cgx) {
            let cs = self.stored_sum(c).await?;
            let done = csum::put(&mut array, c, cs, geo.endian);
            debug_assert!(done.is_some(), "the array has an element for each group");
        }
        Ok(self.image.write(geo.byte(geo.csaddr), &array, Order::Groups).await?)
    }
}
