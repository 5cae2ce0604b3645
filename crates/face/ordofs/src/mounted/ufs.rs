//! Mounting a UFS volume: layout, scheme, cache and disk, put together.
//!
//! The order is what a crash, or a second writer, may meet. What writes comes after what must have been kept or judged
//! before: snapshots keep what a replay writes over; the replay decides what the superblock says; that decides whether
//! the volume may be written; only then a log begins, and the layout marks the volume as in use.

use super::parts::{ActiveDisk, Parts};
use super::patrol;
use super::{LeaksPhase, Mounted, engine};
use crate::located::Located;
use crate::{Fs, MountOptions, Notice, Notices, OpenError, QuotaLimits, UnreadLog};
use crate::{active, journal, snapshot};
use ordo_active::Active;
use ordo_buf::{Cache, Health, Scheme};
use ordo_disk::{Disk, LogHome, Queue};
use ordo_ffs::{Copies, Ffs, Opening};
use ordo_ondisk::Ino;
use ordo_ondisk::superblock::search::{Copy, FoundUfs};
use ordo_reclaim::Reclaimer;
use ordo_recover::NotReplayed;
use ordo_rt::Rt;
use ordo_ufs::Ufs;
use std::rc::{Rc, Weak};

impl Mounted {
    /// Mounts a UFS volume with a scheme that the caller made, without its quotas: for the laboratory.
    ///
    /// # Errors
    /// See [`Mounted::open`].
    pub async fn mount_with(
        rt: &Rt,
        located: Located,
        scheme: Rc<dyn Scheme>,
        options: &MountOptions,
    ) -> Result<Mounted, OpenError> {
        Mounted::mount_ufs(rt, located, Schemes { wanted: scheme, instead: None }, options, None).await
    }

    pub(super) async fn mount_ufs(
        rt: &Rt,
        located: Located,
        schemes: Schemes,
        options: &MountOptions,
        quotas: Option<QuotaLimits>,
    ) -> Result<Mounted, OpenError> {
        let was_clean = located.found.ufs()?.superblock.is_clean();
        let mut mount = Mount::new(rt, &located, schemes, options);
        let located = mount.keep_snapshots(located).await?;
        let (located, not_replayed) = mount.recover(located).await?;
        let (found, id) = (located.found.ufs()?.clone(), located.found.id());
        let access = mount.judge(&located, &found, not_replayed);
        let active = mount.open_active(&located, &access).await?;
        let active_disk = active.as_ref().map(|(_, active)| ActiveDisk {
            active: active.clone(),
            sb: Rc::new(found.superblock.clone()),
            parts: Rc::new(Parts::new()),
        });
        let queue = mount.begin_log(located, active, &access).await?;
        let cache = mount.cache(queue, &access);
        let acls = found.superblock.features().acls;
        let fs = mount.open_layout(&cache, found).await?;
        begin_quotas(&fs, quotas.filter(|_| !cache.health().is_read_only()), was_clean).await?;
        let reclaimer = mount.reclaim(&fs);
        match (options.settings.scrub, &active_disk) {
            (None, _) => {}
            (Some(weeks), Some(disk)) if access.writes => patrol::begin(&cache, disk, weeks, options.notices.clone()),
            (Some(_), Some(_)) => mount.tell(&Notice::NotScrubbed("it is mounted read-only".into())),
            (Some(_), None) => mount.tell(&Notice::NotScrubbed("it is mounted without an active journal".into())),
        }
        let Access { why_read_only, unread_log, .. } = access;
        let mounted = Mounted::of(Fs::Ffs(fs), cache, id);
        Ok(Mounted { why_read_only, unread_log, acls, active_disk, reclaimer, ..mounted })
    }
}

/// The scheme of a mount.
pub(super) struct Schemes {
    pub(super) wanted: Rc<dyn Scheme>,
    /// If nobody named that one, and its active journal is damaged: the volume has all its bytes at home.
    pub(super) instead: Option<Rc<dyn Scheme>>,
}

/// A mount that has begun: what its stages need of each other.
struct Mount<'a> {
    rt: &'a Rt,
    scheme: Rc<dyn Scheme>,
    instead: Option<Rc<dyn Scheme>>,
    options: &'a MountOptions,
    /// Nothing is to be written, or can be.
    read_only: bool,
    opening: Opening,
}

/// What the volume allows.
struct Access {
    writes: bool,
    why_read_only: Option<String>,
    unread_log: Option<UnreadLog>,
}

impl<'a> Mount<'a> {
    fn new(rt: &'a Rt, located: &Located, schemes: Schemes, options: &'a MountOptions) -> Mount<'a> {
        let Schemes { wanted: scheme, instead } = schemes;
        let read_only = options.read_only || located.disk.info().read_only;
        let (force, mount_point) = (options.force, options.mount_point.clone());
        let opening = Opening { read_only, force, mount_point, ..Opening::default() };
        Mount { rt, scheme, instead, options, read_only, opening }
    }

    fn tell(&self, notice: &Notice) {
        self.options.notices.tell(notice);
    }

    /// Before anything is written: a replay writes, too.
    async fn keep_snapshots(&mut self, located: Located) -> Result<Located, OpenError> {
        let (located, keeping) = snapshot::mounting::kept(located, self.read_only, &self.scheme).await?;
        self.opening.snapshots = keeping.map(|keeping| Copies::new(move || keeping.headroom()));
        Ok(located)
    }

    /// Replays the log that a crash has left, and says so; the second value is why it was not replayed.
    async fn recover(&self, located: Located) -> Result<(Located, Option<NotReplayed>), OpenError> {
        match self.read_only {
            true => journal::as_if_replayed(self.rt, located, &self.options.notices).await,
            false => journal::replayed(self.rt, located, &self.options.notices).await,
        }
    }

    /// Decides whether the volume is written to, and says what its user would not expect.
    fn judge(&self, located: &Located, found: &FoundUfs, not_replayed: Option<NotReplayed>) -> Access {
        let gate = ordo_ffs::may_write(found, &self.opening)
            .and_then(|()| ordo_ffs::is_whole(&found.superblock, located.disk.info().size));
        let writes = !self.read_only && gate.is_ok();
        let lost = not_replayed.as_ref().filter(|_| self.read_only).map(ToString::to_string);
        let why_read_only = gate.err().map(|why| journal::why(&why, not_replayed)).filter(|_| !self.read_only);
        let unread_log = UnreadLog::of(&found.superblock);
        match (&why_read_only, found.copy) {
            (Some(why), _) => self.tell(&Notice::ReadOnly(why.clone())),
            (None, Copy::Unproven) => self.tell(&Notice::HashWrong),
            (None, Copy::Backup(group)) => self.tell(&Notice::FromCopy { group: group.0 }),
            (None, Copy::Primary) if self.read_only && !self.options.read_only => {
                self.tell(&Notice::ReadOnly("the disk is write-protected".into()));
            }
            (None, Copy::Primary) => {}
        }
        match (lost, unread_log.filter(|_| why_read_only.is_none())) {
            (Some(why), _) => self.tell(&Notice::LogUnreadable(why)),
            (None, Some(log)) => self.tell(&Notice::LogUnread(log)),
            (None, None) => {}
        }
        Access { writes, why_read_only, unread_log }
    }

    /// The active disk over that of the volume, if the scheme wants one; says what is wrong with its map.
    async fn open_active(&mut self, located: &Located, access: &Access) -> Result<Option<(Ino, Active)>, OpenError> {
        match (active::under(self.rt, located, &self.scheme, self.options, !access.writes).await, self.instead.take()) {
            (Err(why), Some(instead)) if why.is_about_active() => {
                self.tell(&Notice::ActiveUnusable { why: why.to_string(), scheme: instead.name().into() });
                self.scheme = instead;
                Ok(None)
            }
            (done, _) => done,
        }
    }

    /// The queue of the disk, with the scheme's log begun on it or elsewhere; the superblock will name both.
    async fn begin_log(
        &mut self,
        located: Located,
        active: Option<(Ino, Active)>,
        access: &Access,
    ) -> Result<Queue, OpenError> {
        let place = match access.writes {
            true => journal::place_for_log(self.rt, &located, &self.scheme, active.as_ref()).await?,
            false => None,
        };
        let queue = self.queue(active.map_or(located.disk, |(_, active)| Rc::new(active)));
        self.opening.keeper.scheme = self.scheme.name().into();
        if let Some(place) = place {
            let elsewhere = located.log.and_then(LogHome::disk).map(|disk| self.queue(disk));
            journal::begin_log(place, elsewhere.unwrap_or_else(|| queue.clone()), &mut self.opening).await?;
        }
        Ok(queue)
    }

    fn queue(&self, disk: Rc<dyn Disk>) -> Queue {
        Queue::new(self.rt, disk, engine::queue(self.options))
    }

    fn cache(&self, queue: Queue, access: &Access) -> Rc<Cache> {
        let health = if access.writes { Health::default() } else { Health::read_only() };
        engine::cache(self.rt, queue, health, self.options)
    }

    /// The layout, which marks the volume as in use, and the calls over it.
    async fn open_layout(&self, cache: &Rc<Cache>, found: FoundUfs) -> Result<Rc<Ufs<Ffs>>, OpenError> {
        let layout = Ffs::open(cache, self.scheme.clone(), found, &self.opening).await?;
        Ok(engine::start(cache, layout, self.options))
    }

    /// Begins to reclaim in the background what a crash has leaked, and says what became of it.
    fn reclaim(&self, fs: &Rc<Ufs<Ffs>>) -> Option<Rc<Reclaimer>> {
        let reclaimer = Reclaimer::attach(fs)?;
        self.rt.spawn(reclaim(Rc::downgrade(fs), Rc::downgrade(&reclaimer), self.options.notices.clone()));
        Some(reclaimer)
    }
}

/// Before anything runs beside it, so that a count misses nothing.
async fn begin_quotas(fs: &Ufs<Ffs>, quotas: Option<QuotaLimits>, was_clean: bool) -> Result<(), OpenError> {
    if let Some(quotas) = quotas
        && let Err(error) = fs.begin_quotas(quotas, !was_clean).await
    {
        // As it was found, clean or not.
        fs.unmount().await?;
        return Err(error.into());
    }
    Ok(())
}

/// Reclaims what a crash has leaked, and sends a notice of the result; an unmount before the end sends none.
async fn reclaim(fs: Weak<Ufs<Ffs>>, reclaimer: Weak<Reclaimer>, notices: Notices) {
    Ufs::run_worker(fs).await;
    let Some(done) = reclaimer.upgrade().map(|reclaimer| reclaimer.progress()) else { return };
    match (done.phase, done.failure.clone()) {
        (LeaksPhase::Done, _) => notices.tell(&Notice::Reclaimed(done)),
        (LeaksPhase::Failed, Some(why)) => notices.tell(&Notice::NotReclaimed(why)),
        _ => {}
    }
}
