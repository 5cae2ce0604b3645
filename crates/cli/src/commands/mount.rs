//! `ordo mount`

use crate::asked;
use crate::image::{self, Start};
use crate::messages::Messages;
use crate::mount_options::Wanted;
use crate::out::{Outcome, Status, describe, say, usage};
use crate::remount_options::remount;
use crate::text;
use anyhow::{Context, anyhow};
use ordo_fuse::{Background, Ended, Foreground, Reason, ServeOptions, Session};
use ordo_vfs::{FileSystem as _, Kind};
use ordofs::rt::Rt;
use ordofs::{ImageSpec, Mounted, OpenError, Weight, disk};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::rc::Rc;

const HELP: &str = "\
Options (-o), between commas:
  ro, rw                  read-only, or not (the default)
  scheme=NAME             how metadata is kept consistent: see ordo schemes
                          [a log-structured volume takes none]
  allocinit=none|dirs|all which new blocks are initialised on disk before a pointer to them [all]
  log=PATH                wafs, journal-file, block-journal: the disk of the log, used whole
                          [a file of the volume, made with ordo tune -o log=on]
  log=nats://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...]/STREAM[?timeout=SECONDS]
                          wafs, journal-file: a log with copies on several servers of NATS JetStream, in
                          a stream that ordo wafs mkfs made; after a wait of so many seconds the
                          volume turns read-only [60] (docs/replicated-log.md)
  logmode=sync|async|group
                          wafs: a call that changes names returns when its log record is durable,
                          with a write of its own (sync) or one for all waiting calls (group);
                          or at once, and the log is written within a second (async) [group]
  data=journal|ordered|writeback
                          file contents are logged, too (journal), are durable before the metadata
                          that points to them (ordered), or neither: after a crash a new file may
                          show old contents of another file (writeback) [ordered]
  head=yes|no             active: the disk has a head that moves, so that commits go near it, and
                          what has copies is read from the nearest [as the kernel or the disk says]
  learning=yes|no|docks|jumps
                          active, on a disk with a head: what is often read after the head was far away
                          gets a replica there. By the paper's rule (docks): after a long sequence of
                          reads; or after any far jump (jumps) [yes: jumps]
  scrub=WEEKS             active: while nothing else happens, all that can be verified is read, and
                          healed, once in so many weeks of time: 1 to 520 [not at all]
  commit=SECONDS          the age at which a change is written without fsync or sync, under every
                          scheme: 1 to 3600 [5; for the logs of wafs and journal-file, 1]
  cleaner=greedy|cost-benefit
                          which segments a log-structured volume (LFS) cleans first: those with the
                          most dead bytes, or by the age of their data, too [cost-benefit]
  cache=SIZE              memory for the cache [256M; less under ulimit -v]
  volatile_cache=yes|no   whether a power cut empties the disk's cache [as the disk says]
  direct                  bypass the system's page cache for the image
  noatime                 do not update access times
  sync, dirsync           each write, or each change of a directory, is durable when it returns
  allow_other             other users may use the mount; permissions are always checked
  uid=, gid=, umask=      show every file with this owner and group, and without these permissions
  suid, dev               honour set-user-id files, or device files (root only; default: neither). In
                          fstab and with mount(8), too
  runas=USER, runas=UID:GID
                          with allow_other: once the volume is open and mounted, the server has only
                          the rights of this user (root only)
  noexec                  programs on the volume cannot be run
  offset=BYTES            where the volume starts in the image
  snapshot=NAME           a snapshot of the volume, by path, or by name in /.snap; read-only
  transport=classic|uring how the kernel passes requests; uring needs Linux 6.14 [classic]
  follow=on|off           the server moves to the CPU of a program that uses the mount alone [on]
  xattr=on|off            off: extended attributes stay on the volume, but are neither shown nor set;
                          saves two of the nine requests of a file that root unpacks. Refused on a
                          volume with access control lists [on]
  quota, usrquota, grpquota
                          limits of quota.user and quota.group apply to all but root (ordo quota); with
                          noquota not even those of NetBSD's tables
  force                   mount read-write although the volume needs a check
  acl                     use access control lists although the volume's flag for them is off

Other options of fstab(5) lines (defaults, nofail, x-systemd.*, ...) are accepted and ignored.

After a crash a volume is mounted read-write if the mount can recover it: it replays a log, rolls a log-structured \
volume forward, or reclaims leaks in the background. Otherwise it is mounted read-only, with a message; ordo fsck repairs it. A volume whose first superblock is \
damaged (a copy is used) and an image or device that cannot be written are mounted read-only, too. A disk that is in use, \
under any name (a loop device, a partition, the disk of a virtual machine), is refused.

Later errors are reported on standard error with -f, otherwise in the system's log.

Changes become durable with fsync of the file, with ordo sync DIR or fsync of DIR itself (everything on the volume), and \
without either of them soon after the age of commit=. sync(1) and syncfs(2) do nothing: the kernel does not pass them on \
to a FUSE server.

Examples:
  ordo mount disk.img /mnt
  ordo mount -o ro,scheme=sync disk.img@s1a /mnt
  ordo mount -o scheme=wafs,log=/dev/vdb,logmode=group disk.img /mnt
  mount -o remount,ro /mnt
  /etc/fstab, with mount.fuse.ordo and umount.fuse.ordo linked to ordo in /sbin:
    /srv/disk.img  /mnt  fuse.ordo  scheme=sync,nofail,x-systemd.requires-mounts-for=/srv  0  0
  by hand: mount -t fuse.ordo disk.img /mnt";

/// Mounts a volume; returns when the mount is usable
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// A file, a block device, or a partition in one: disk.img@p2, disk.img@s1a, disk.img@gpt:LABEL
    pub(crate) image: PathBuf,
    /// An existing directory
    pub(crate) dir: PathBuf,
    /// Options, between commas; may be given several times
    #[arg(short, long = "options", value_name = "OPTION,...")]
    pub(crate) options: Vec<OsString>,
    /// Stay in the foreground until the volume is unmounted
    #[arg(short, long)]
    pub(crate) foreground: bool,
    /// Ignore unknown options
    #[arg(short, long)]
    pub(crate) sloppy: bool,
    /// Do everything but the mount (mount -f)
    #[arg(long, hide = true)]
    pub(crate) fake: bool,
    #[command(flatten)]
    pub(crate) start: Start,
}

/// Mounts, and serves the mount in this process or in a background process.
pub(crate) fn run(args: &Args) -> Outcome {
    if let Some(change) = remount(args.options.iter().map(OsString::as_os_str), args.sloppy)? {
        if !args.fake {
            for word in ordo_fuse::remount(&args.image, &args.dir, &change)? {
                let dir = args.dir.display();
                say(&format!("{dir}: {word} was not changed: only unmounting it and mounting it again does that"));
            }
        }
        return Ok(Status::DONE);
    }
    // As findmnt(8) shows it: a relative name says nothing to who stands elsewhere.
    let source = match args.image.exists() {
        true => std::path::absolute(&args.image).unwrap_or_else(|_| args.image.clone()),
        false => args.image.clone(),
    };
    let mut wanted = Wanted::parse(source.as_os_str(), args.options.iter().map(OsString::as_os_str), args.sloppy)?;
    let dir = args.dir.canonicalize().unwrap_or_else(|_| args.dir.clone());
    wanted.trust_as_asked(&asked::lists(&args.image, &dir));
    // Checked before the volume is marked as in use.
    wanted.transport.available()?;
    let start =
        Start { offset: wanted.offset.or(args.start.offset), snapshot: wanted.snapshot.or(args.start.snapshot) };
    let spec = image::spec(&args.image, start)?;
    if args.fake {
        return Ok(Status::DONE);
    }
    if args.foreground {
        return serve(&spec, args, wanted, &Messages::of(&spec, false), || {});
    }
    match ordo_fuse::background().context("cannot go to the background; try -f")? {
        Background::Parent(Ok(())) => Ok(Status::DONE),
        Background::Parent(Err(why)) => Err(anyhow::Error::msg(why)),
        Background::Child(parent) => serve_in_background(&spec, args, wanted, parent),
    }
}

/// The parent waits for one message: that the mount is usable, or why not.
fn serve_in_background(spec: &ImageSpec, args: &Args, wanted: Wanted, parent: Foreground) -> Outcome {
    let parent = Rc::new(Cell::new(Some(parent)));
    let waiting = parent.clone();
    let messages = Messages::of(spec, true);
    let defects = messages.clone();
    std::panic::set_hook(Box::new(move |defect| defects.tell(Weight::Error, &format!("a defect: {defect}"))));
    let outcome = serve(spec, args, wanted, &messages, move || {
        // If the parent was killed, the mount continues.
        if let Some(parent) = waiting.take() {
            let _ = parent.usable();
        }
    });
    match (outcome, parent.take()) {
        (Err(error), Some(parent)) => {
            parent.failed(&text::one_line(&describe(&error)));
            Ok(Status(3))
        }
        // The mount was usable, and the user's command has already returned.
        (Err(error), None) => {
            messages.tell(Weight::Error, &describe(&error));
            Ok(Status(3))
        }
        (outcome, _) => outcome,
    }
}

fn serve(
    spec: &ImageSpec,
    args: &Args,
    mut wanted: Wanted,
    messages: &Messages,
    usable: impl FnOnce() + 'static,
) -> Outcome {
    let rt = Rt::real_time();
    let dir = args.dir.canonicalize().unwrap_or_else(|_| args.dir.clone());
    wanted.volume.mount_point = dir.to_string_lossy().into_owned();
    wanted.volume.notices = messages.listener();
    let mounted = open(&rt, spec, &mut wanted, messages).map_err(|error| image::open_error(&spec.path, error))?;
    wanted.kernel.read_only |= mounted.fs().read_only();
    if !wanted.kernel.read_only && mounted.claim().is_none() && disk::NbdDisk::is_url(&spec.path) {
        messages.tell(Weight::Note, UNPROTECTED);
    }
    let served = servable(&rt, spec, &mounted, &wanted).and_then(|()| {
        let session = attach(args, &wanted)?;
        let options = serve_options(&mounted, &wanted, messages, usable);
        Ok(rt.block_on(ordo_fuse::serve(&rt, mounted.fs().clone(), session, options))?)
    });
    match served {
        Ok(ended) => close(&rt, mounted, ended, &dir, messages),
        Err(why) => {
            // Opening marked the volume as in use; it must not look as after a crash.
            rt.block_on(mounted.unmount()).with_context(|| format!("{spec}: could not be written back"))?;
            Err(why)
        }
    }
}

/// Whether the volume can be shown as it is wanted.
fn servable(rt: &Rt, spec: &ImageSpec, mounted: &Mounted, wanted: &Wanted) -> anyhow::Result<()> {
    let root = rt.block_on(mounted.fs().getattr(mounted.fs().root()));
    if !matches!(&root, Ok(attr) if attr.kind == Kind::Directory) {
        let why = root.map_or_else(anyhow::Error::new, |_| anyhow!("its inode is no directory's"));
        let advice = format!("{spec}: the root directory is damaged; ordo recover saves the files that can be read");
        return Err(why.context(advice));
    }
    if mounted.has_acls() && !wanted.xattr {
        return Err(usage("mount option xattr=off: this volume has access control lists, which apply"));
    }
    Ok(())
}

/// Mounts on the directory, and gives up the rights that only that needs.
fn attach(args: &Args, wanted: &Wanted) -> anyhow::Result<Session> {
    let session = ordo_fuse::mount(&args.dir, &wanted.kernel)?;
    if let Some((user, group)) = wanted.run_as {
        give_up_rights(user, group).map_err(|why| anyhow!("runas={user}:{group}: {why}"))?;
    }
    Ok(session)
}

fn serve_options(
    mounted: &Mounted,
    wanted: &Wanted,
    messages: &Messages,
    usable: impl FnOnce() + 'static,
) -> ServeOptions {
    let (complain, patience) = (messages.clone(), messages.clone());
    ServeOptions {
        transport: wanted.transport,
        follow: wanted.follow,
        uid: wanted.uid,
        gid: wanted.gid,
        umask: wanted.umask,
        xattrs: mounted.has_xattrs() && wanted.xattr,
        acls: mounted.has_acls() || (wanted.acl && mounted.has_xattrs()),
        signals: true,
        ready: Some(Box::new(usable)),
        status: Some(Box::new(status_of(mounted))),
        scrub: Some(super::scrub::of_mounted(mounted, messages.clone())),
        adopt: Some(super::scrub::adoption_of_mounted(mounted, messages.clone())),
        ends_slowly: Rc::new(move || patience.tell(Weight::Warning, ENDS_SLOWLY)),
        complain: Box::new(move |error| complain.tell(Weight::Error, &error.to_string())),
        ..ServeOptions::default()
    }
}

/// Closes the volume after its service, and tells `umount` how that went.
fn close(rt: &Rt, mounted: Mounted, ended: Ended, dir: &Path, messages: &Messages) -> Outcome {
    if let Reason::Failed(gone) = ended.reason {
        messages.tell(Weight::Error, &format!("the kernel's FUSE device failed: {gone:?}"));
    }
    if ended.reason == Reason::MayNotUnmount {
        let note = format!("ends, and may not unmount, since it runs as another user: ordo umount {}", dir.display());
        messages.tell(Weight::Warning, &note);
    }
    let degraded = mounted.degraded();
    let closed = match ended.reason {
        Reason::GivenUp => None,
        _ => rt.block_on(ended.unless_given_up(mounted.unmount())),
    };
    let Some(closed) = closed else { give_up(ended, messages) };
    // The image is closed with the last task that holds it, and `umount` may return only then.
    rt.drop_tasks();
    let written: Result<(), String> = match (degraded, closed) {
        (Some(why), _) => Err(format!("turned read-only while it was mounted: {why}; run ordo fsck on it")),
        (None, Err(why)) => Err(format!("could not be written back: {why}; run ordo fsck on it")),
        (None, Ok(())) => Ok(()),
    };
    if let Err(why) = &written {
        messages.tell(Weight::Error, why);
    }
    if let Some(lease) = ended.lease {
        lease.end(written.as_ref().err().map_or(Ok(()), |why| Err(why.as_str())));
    }
    Ok(if written.is_ok() { Status::DONE } else { Status(3) })
}

/// From now on this process, all of its threads, has the rights of a user without any. Disk and device are open, and
/// whoever sends the server astray by what is on the disk gets no further than that.
fn give_up_rights(user: u32, group: u32) -> nix::Result<()> {
    let (user, group) = (nix::unistd::Uid::from_raw(user), nix::unistd::Gid::from_raw(group));
    nix::unistd::setgroups(&[])?;
    nix::unistd::setresgid(group, group, group)?;
    nix::unistd::setresuid(user, user, user)
}

/// What is said when a volume that was unmounted cannot be closed for a while.
const ENDS_SLOWLY: &str = "ends, and the disk has not taken the last changes yet; another SIGTERM or SIGINT gives them \
     up";

/// Ends the program: nothing of the volume can be closed in order, for its disk does not answer.
fn give_up(ended: Ended, messages: &Messages) -> ! {
    let why = "given up, since its disk does not answer: what was not written is lost; run ordo fsck on it";
    messages.tell(Weight::Error, why);
    if let Some(lease) = ended.lease {
        lease.end(Err(why));
    }
    std::process::exit(Status(3).0.into())
}

/// The answer to `ordo info`. The closure must not keep the file system or the cache alive.
fn status_of(mounted: &Mounted) -> impl Fn() -> ordo_fuse::Status + use<> {
    let (leaks, cache, log) = (mounted.leaks_watch(), Rc::downgrade(mounted.cache()), mounted.lfs_watch());
    let active = mounted.active_watch();
    let (began, claim) = (mounted.cache().rt().now(), mounted.claim().cloned());
    move || {
        let leaks = leaks();
        let mut status = serde_json::json!({ "reclaim": {
            "phase": leaks.phase.name(),
            "inodes": leaks.inodes,
            "of": leaks.of,
            "directories": leaks.directories,
            "inodes_freed": leaks.inodes_freed,
            "inodes_mended": leaks.inodes_mended,
            "links_lowered": leaks.links_lowered,
            "names_removed": leaks.names_removed,
            "fragments_freed": leaks.frags_freed,
            "failure": leaks.failure,
        }});
        if let Some(cache) = cache.upgrade() {
            let (stats, flushes) = (cache.stats(), cache.queue().stats().flushes);
            let seconds = cache.rt().now().since(began).as_secs_f64();
            let counters: BTreeMap<_, _> = cache.capabilities().counters().into_iter().collect();
            status["scheme"] = cache.scheme().name().into();
            status["scheme_counters"] = serde_json::json!(counters);
            status["since_mount"] = serde_json::json!({
                "seconds": seconds,
                "writes": stats.writes,
                "rollbacks": stats.rollbacks,
                "waits": stats.waits,
                "flushes": flushes,
                "flushes_per_second": if seconds > 0.0 { flushes as f64 / seconds } else { 0.0 },
            });
        }
        if let Some(claim) = &claim {
            let lost = claim.why_lost().map(|taken| taken.to_string());
            status["mmp"] = serde_json::json!({ "claims": claim.owner().claims, "beats": claim.beats(), "lost": lost });
        }
        let active = active();
        if let Some(active) = &active {
            status["active"] = serde_json::json!(super::info::ActiveInfo::of(active));
        }
        let log = log();
        if let (Some(log), Some(status)) = (&log, status.as_object_mut()) {
            status.remove("reclaim");
            status.extend(super::info::of_mounted_log(log));
        }
        // The counts of a log go on as long as it is mounted.
        ordo_fuse::Status {
            text: status.to_string(),
            busy: log.is_some() || active.is_some() || !leaks.phase.is_over(),
        }
    }
}

/// What is said of a network block device that is mounted for writing without the record of its writer.
const UNPROTECTED: &str = "nothing keeps a second machine from mounting this export for writing, too; ordo tune -o mmp=on, \
     while it is not mounted, does";

/// Opens the volume; a read-only image is mounted read-only, as mount(8) does with a write-protected disk.
fn open(rt: &Rt, spec: &ImageSpec, wanted: &mut Wanted, messages: &Messages) -> Result<Mounted, OpenError> {
    let refused = match Mounted::open(rt, spec, &wanted.volume) {
        Err(OpenError::Disk(error)) if !wanted.volume.read_only => error,
        opened => return opened,
    };
    let why = match &refused {
        disk::OpenError::WriteProtected { .. } => "the device is write-protected".to_owned(),
        disk::OpenError::Io { source, .. } if is_read_only(source.kind()) => {
            format!("the image may not be written: {source}")
        }
        _ => return Err(refused.into()),
    };
    wanted.volume.read_only = true;
    wanted.kernel.read_only = true;
    let mounted = Mounted::open(rt, spec, &wanted.volume)?;
    messages.tell(Weight::Warning, &format!("mounted read-only: {why}"));
    Ok(mounted)
}

fn is_read_only(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}
