//! A mounted volume: layout, scheme, cache and disk, put together. The async interface.

mod engine;
mod lfs;

pub use lfs::{LFS_SCHEME, LfsSegments, LfsState, without_rules};

use crate::active;
use crate::claim;
use crate::found::Found;
use crate::image::{ImageSpec, Located};
use crate::journal;
use crate::log_home::open_log;
use crate::options::default_scheme;
use crate::snapshot;
use crate::{Fs, MountOptions, Notice, Notices, OpenError, QuotaLimits, UnreadLog};
use ordo_active::Active;
use ordo_buf::{Cache, Health, Scheme};
use ordo_disk::fence::Claim;
use ordo_disk::{FileOptions, LogHome, Queue};
use ordo_ffs::Ffs;
use ordo_ondisk::superblock::search::Copy;
use ordo_reclaim::Reclaimer;
pub use ordo_reclaim::{Phase as LeaksPhase, Progress as LeaksProgress};
use ordo_rt::Rt;
use ordo_ufs::Ufs;
use ordo_vfs::Result;
use std::rc::{Rc, Weak};
use std::sync::Arc;

/// A mounted volume, for programs that have more than one call in progress.
///
/// Calls identify a file by a node, which must be looked up, and forgotten when it is no longer needed;
/// [`crate::path::Held`] does both, and [`crate::path::resolve`] walks a path. In virtual time, on a disk in memory,
/// the same calls give the same run each time, which is useful for tests.
///
/// ```
/// use ordofs::disk::RamDisk;
/// use ordofs::path::{Held, resolve};
/// use ordofs::rt::Rt;
/// use ordofs::vfs::{Caller, FileSystem, Kind, Mode, Name};
/// use ordofs::{MountOptions, Mounted, NewVolume, locate_on};
/// use std::rc::Rc;
///
/// let rt = Rt::virtual_time(1);
/// let disk = Rc::new(RamDisk::new(16 << 20));
/// NewVolume::new(16 << 20).create_on(&rt, disk.clone(), true)?;
/// let located = locate_on(&rt, disk)?;
/// let mounted = rt.block_on(Mounted::mount(&rt, located, &MountOptions::default()))?;
/// rt.block_on(async {
///     let (fs, who) = (mounted.fs(), Caller::default());
///     let made = fs.mknod(&who, fs.root(), Name::new(b"motd")?, Kind::Regular, Mode::new(0o644), 0).await?;
///     let file = Held::new(fs, made);
///     fs.write(&who, file.node(), 0, b"hello").await?;
///     fs.fsync(file.node(), false).await?;
///     drop(file);
///     let again = resolve(fs, b"/motd", true).await?;
///     assert_eq!(fs.read(again.node(), 0, 100).await?.concat(), b"hello");
///     drop(again);
///     mounted.unmount().await
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "dropped without an unmount it is left as after a crash; see Mounted::unmount"]
pub struct Mounted {
    fs: Rc<Fs>,
    cache: Rc<Cache>,
    scheme: Rc<dyn Scheme>,
    why_read_only: Option<String>,
    unread_log: Option<UnreadLog>,
    acls: bool,
    id: u64,
    /// The disk below, if it is an active one.
    pub(crate) active_disk: Option<Active>,
    /// If a crash of soft updates had left the volume when it was mounted.
    reclaimer: Option<Rc<Reclaimer>>,
    /// The claim of the volume, if this mount has to give it back.
    claim: Option<Claim>,
}

impl Mounted {
    /// Opens an image and mounts the volume in it. If the first superblock is damaged, the volume is mounted read-only,
    /// from a copy.
    ///
    /// # Errors
    /// See [`OpenError`]. It is not an error if a volume needs repair: it is mounted read-only, and
    /// [`Mounted::why_read_only`] says why.
    pub fn open(rt: &Rt, spec: &ImageSpec, options: &MountOptions) -> std::result::Result<Mounted, OpenError> {
        let file = FileOptions {
            read_only: options.read_only,
            direct: options.direct,
            volatile_cache: options.volatile_cache,
            listener: options.notices.of_disks(),
            ..FileOptions::default()
        };
        let mut located = claim::located_direct(rt, spec, &file, true)?;
        // A log-structured volume refuses the option, whatever the path is.
        if let (Some(path), Found::Ufs(_)) = (&options.log, &located.found) {
            located.log = Some(open_log(rt, path, &file, &options.notices)?);
        }
        rt.block_on(Mounted::mount(rt, located, options))
    }

    /// Mounts a volume on a disk that is already open.
    ///
    /// # Errors
    /// See [`Mounted::open`].
    pub async fn mount(rt: &Rt, located: Located, options: &MountOptions) -> std::result::Result<Mounted, OpenError> {
        if options.read_only || located.disk.info().read_only {
            claim::warned(&located, &options.notices).await;
            return Mounted::mount_claimed(rt, located, options).await;
        }
        let mut located = claim::claimed(rt, located, "ordo mount", &options.notices).await?;
        let claim = located.claim.take();
        match Mounted::mount_claimed(rt, located, options).await {
            Ok(mounted) => Ok(mounted.keeping(claim).await),
            Err(error) => {
                claim::given_back(claim.as_ref()).await;
                Err(error)
            }
        }
    }

    /// The mount that has claimed its volume.
    async fn keeping(self, claim: Option<Claim>) -> Mounted {
        let health = self.cache.health().clone();
        if health.is_read_only() {
            // It will not write, and keeps nobody from repairing the volume.
            claim::given_back(claim.as_ref()).await;
            return self;
        }
        if let Some(claim) = &claim {
            claim.on_lost(move |error| health.degrade(ordo_vfs::Error::io(error)));
        }
        Mounted { claim, ..self }
    }

    async fn mount_claimed(
        rt: &Rt,
        located: Located,
        options: &MountOptions,
    ) -> std::result::Result<Mounted, OpenError> {
        let scheme = match &located.found {
            Found::Ufs(_) if options.cleaner.is_some() => return Err(OpenError::NoCleaner),
            Found::Ufs(found) => make_scheme(options, default_scheme(&found.superblock))?,
            Found::Lfs(_) if options.quotas.of_files() => {
                return Err(ordo_vfs::Error::io("a log-structured volume has no quotas").into());
            }
            Found::Lfs(_) => return Mounted::mount_lfs(rt, located, options, None).await,
        };
        Mounted::assemble(rt, located, scheme, options, Some(options.quotas)).await
    }

    /// Mounts a UFS volume with a scheme that the caller made, without its quotas: for the laboratory.
    ///
    /// # Errors
    /// See [`Mounted::open`].
    pub async fn mount_with(
        rt: &Rt,
        located: Located,
        scheme: Rc<dyn Scheme>,
        options: &MountOptions,
    ) -> std::result::Result<Mounted, OpenError> {
        Mounted::assemble(rt, located, scheme, options, None).await
    }

    async fn assemble(
        rt: &Rt,
        located: Located,
        scheme: Rc<dyn Scheme>,
        options: &MountOptions,
        quotas: Option<QuotaLimits>,
    ) -> std::result::Result<Mounted, OpenError> {
        let read_only = options.read_only || located.disk.info().read_only;
        let mut opening = ordo_ffs::Opening {
            read_only,
            force: options.force,
            mount_point: options.mount_point.clone(),
            ..ordo_ffs::Opening::default()
        };
        let was_clean = located.found.ufs()?.superblock.is_clean();
        let notices = &options.notices;
        let (located, keeping) = snapshot::kept(located, read_only, &scheme).await?;
        opening.snapshots = keeping.map(|keeping| ordo_ffs::Copies::new(move || keeping.headroom()));
        let (located, not_replayed) = match read_only {
            true => journal::as_if_replayed(rt, located, notices).await?,
            false => journal::replayed(rt, located, notices).await?,
        };
        let (found, id) = (located.found.ufs()?.clone(), located.found.id());
        let gate = ordo_ffs::may_write(&found, &opening)
            .and_then(|()| ordo_ffs::is_whole(&found.superblock, located.disk.info().size));
        let lost = not_replayed.as_ref().filter(|_| read_only).map(ToString::to_string);
        let why_read_only = gate.as_ref().err().map(|why| journal::why(why, not_replayed)).filter(|_| !read_only);
        let unread_log = UnreadLog::of(&found.superblock);
        match (&why_read_only, found.copy) {
            (Some(why), _) => notices.tell(&Notice::ReadOnly(why.clone())),
            (None, Copy::Unproven) => notices.tell(&Notice::HashWrong),
            (None, Copy::Backup(group)) => notices.tell(&Notice::FromCopy { group: group.0 }),
            (None, Copy::Primary) if read_only && !options.read_only => {
                notices.tell(&Notice::ReadOnly("the disk is write-protected".into()));
            }
            (None, Copy::Primary) => {}
        }
        match (lost, unread_log.filter(|_| why_read_only.is_none())) {
            (Some(why), _) => notices.tell(&Notice::LogUnreadable(why)),
            (None, Some(log)) => notices.tell(&Notice::LogUnread(log)),
            (None, None) => {}
        }
        let active = active::under(rt, &located, &scheme, options, read_only || gate.is_err()).await?;
        let place = match gate {
            Ok(()) if !read_only => journal::place_for_log(rt, &located, &scheme, active.as_ref()).await?,
            _ => None,
        };
        let active_disk = active.map(|(_, active)| active);
        let disk = active_disk.clone().map_or(located.disk, |active| Rc::new(active));
        let queue = Queue::new(rt, disk, engine::queue(options));
        opening.keeper.scheme = scheme.name().into();
        if let Some(place) = place {
            let elsewhere = located.log.and_then(LogHome::disk);
            let elsewhere = elsewhere.map(|disk| Queue::new(rt, disk, engine::queue(options)));
            journal::begin_log(place, elsewhere.unwrap_or_else(|| queue.clone()), &mut opening).await?;
        }
        let health = if read_only || gate.is_err() { Health::read_only() } else { Health::default() };
        let cache = engine::cache(rt, queue, health, options);
        let acls = found.superblock.features().acls;
        let layout = Ffs::open(&cache, scheme.clone(), found, &opening).await?;
        let fs = engine::start(&cache, layout, options);
        // Before anything runs beside it, so that a count misses nothing.
        if let Some(quotas) = quotas.filter(|_| !cache.health().is_read_only())
            && let Err(error) = fs.begin_quotas(quotas, !was_clean).await
        {
            // As it was found, clean or not.
            fs.unmount().await?;
            return Err(error.into());
        }
        let reclaimer = Reclaimer::attach(&fs);
        if let Some(reclaimer) = &reclaimer {
            rt.spawn(reclaim(Rc::downgrade(&fs), Rc::downgrade(reclaimer), notices.clone()));
        }
        let fs = Rc::new(Fs::Ffs(fs));
        Ok(Mounted { fs, cache, scheme, why_read_only, unread_log, acls, id, active_disk, reclaimer, claim: None })
    }

    /// The file system.
    pub fn fs(&self) -> &Rc<Fs> {
        &self.fs
    }

    /// The cache, for its counters.
    pub fn cache(&self) -> &Rc<Cache> {
        &self.cache
    }

    /// The current space of the volume. Space that is waiting to be freed counts as free.
    pub fn space(&self) -> ordo_vfs::StatFs {
        self.fs.space()
    }

    /// Whether the format supports extended attributes.
    pub fn has_xattrs(&self) -> bool {
        self.fs.has_attributes()
    }

    /// Whether the volume's files may have access control lists (a flag of its superblock).
    pub fn has_acls(&self) -> bool {
        self.acls
    }

    /// A number that the volume has kept since it was made, and that others hardly have.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The longest file that the format has pointers for, in bytes.
    pub fn max_file_size(&self) -> u64 {
        self.fs.max_file_size()
    }

    /// The scheme.
    pub fn scheme(&self) -> &Rc<dyn Scheme> {
        &self.scheme
    }

    /// Why the volume was mounted read-only although that was not requested, and which command repairs it.
    pub fn why_read_only(&self) -> Option<&str> {
        self.why_read_only.as_deref()
    }

    /// A log that was not replayed when the volume was opened. Its text says what that means for a reader, and what to
    /// do.
    pub fn unread_log(&self) -> Option<UnreadLog> {
        self.unread_log
    }

    /// Why the volume turned read-only while it was mounted.
    pub fn degraded(&self) -> Option<Arc<str>> {
        self.cache.health().reason()
    }

    /// The progress of reclaiming what a crash has leaked.
    pub fn leaks(&self) -> LeaksProgress {
        self.leaks_watch()()
    }

    /// The same at any later moment, without keeping the file system in memory; the default once it is gone.
    pub fn leaks_watch(&self) -> impl Fn() -> LeaksProgress + use<> {
        let reclaimer = self.reclaimer.as_ref().map(Rc::downgrade).unwrap_or_default();
        move || reclaimer.upgrade().map(|reclaimer| reclaimer.progress()).unwrap_or_default()
    }

    /// Waits until that reclaim has ended. It runs in the background, beside other calls.
    pub async fn leaks_ended(&self) -> LeaksProgress {
        match &self.reclaimer {
            Some(reclaimer) => reclaimer.ended().await,
            None => LeaksProgress::default(),
        }
    }

    /// The claim of the volume, if its record is on and this mount has made it.
    pub fn claim(&self) -> Option<&Claim> {
        self.claim.as_ref()
    }

    /// Writes everything, marks the volume clean, and closes the disk.
    ///
    /// # Errors
    /// `Io` when something could not be written: the volume is then marked as one that needs a check.
    pub async fn unmount(self) -> Result<()> {
        let unmounted = self.fs.unmount().await;
        // Clean or not: this writer is gone.
        claim::given_back(self.claim.as_ref()).await;
        unmounted
    }
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

fn make_scheme(options: &MountOptions, default: &str) -> std::result::Result<Rc<dyn Scheme>, OpenError> {
    let name = options.scheme.as_deref().unwrap_or(default);
    if name == LFS_SCHEME {
        return Err(OpenError::OnlyLfs);
    }
    let known = ordo_schemes::by_name(name).ok_or_else(|| OpenError::NoScheme(name.into()))?;
    Ok(known.make(options.settings.clone())?)
}
