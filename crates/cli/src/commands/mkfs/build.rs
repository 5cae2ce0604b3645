//! `ordo mkfs -d`: a volume with the contents of a directory or an archive, made without root.
//!
//! B1. The image depends on the tree, the arguments and `SOURCE_DATE_EPOCH` alone. The volume is made and filled in
//!     virtual time: no disk is fast or slow enough to change a time or an order (mkfs-clock-1). No file keeps a later
//!     time, and each of its times is that of its last change: reading a tree changes the others.
//! B2. What a failure, an interruption and a kill leave is said by [`super::site`]: never a part of the tree in a
//!     volume that looks whole. On a device what was there is wiped first, and what leads to the new volume is written
//!     last.
//! B3. The volume is filled under `async`, the scheme that waits for nothing. A crash before the unmount may leave
//!     anything: the image is then made again by another run.

use super::args::{Args, is_url};
use super::clock::Clock;
use super::fill::Filler;
use super::held::{ask, carried, refused, wipe};
use super::manifest::{self, users::Users};
use super::planned::{self, Tree};
use super::shape::New;
use super::site::{Left, Site};
use super::sizing::{self, Need, Room};
use super::walk;
use crate::image::{self, Opened};
use crate::interrupt::{self, Interrupted};
use crate::out::{Status, say, usage};
use crate::{size, text};
use anyhow::bail;
use ordo_ondisk::superblock::newfs::NewfsParams;
use ordo_vfs::{Refusal, Stamp};
use ordofs::disk::{Disk, FileOptions, Withheld};
use ordofs::rt::Rt;
use ordofs::{ImageSpec, MountOptions, Plan, schemes};
use std::path::Path;
use std::rc::Rc;

/// How often a volume that sizes itself is made larger, before something else must be wrong.
const TRIES: u32 = 12;

/// Makes the volume and fills it.
///
/// # Errors
/// When the tree cannot be read, has something that no volume can have, or does not fit; when the image cannot be
/// written.
pub(super) fn run(args: &Args, spec: &ImageSpec, from: &Path) -> anyhow::Result<Status> {
    if args.log_size.is_some() {
        return Err(usage("--log-size does not go with -d; make the log afterwards, with ordo tune -o log="));
    }
    interrupt::catch()?;
    let clock = Clock::new()?;
    let plain = spec.part.is_none() && spec.offset.is_none() && !is_url(spec);
    let plain = plain && (!spec.path.exists() || spec.path.is_file());
    let there = spec.path.exists() || is_url(spec);
    let tree = read(args, spec, from, clock).map_err(|error| left(spec, error, Left::nothing_done(there)))?;
    let lost = match plain {
        true => in_file(args, spec, &tree, clock)?,
        false => on_disk(args, spec, &tree, clock)?,
    };
    if let Some(lost) = &lost {
        say(&format!("{spec}: {lost}"));
    }
    Ok(if tree.lost.is_empty() && lost.is_none() { Status::DONE } else { Status(3) })
}

impl Left {
    /// What is there before anything was done.
    fn nothing_done(there: bool) -> Left {
        if there { Left::Old } else { Left::Nothing }
    }
}

/// The error, with what is left (B2).
fn left(spec: &ImageSpec, error: anyhow::Error, left: Left) -> anyhow::Error {
    let is = match left {
        Left::Nothing => "no image was made".to_owned(),
        Left::Old => format!("no image was made, and {spec} is as it was"),
        Left::Lost => format!("what {spec} held is gone, and there is no volume on it; run the command again"),
    };
    match error.downcast::<Interrupted>() {
        Ok(interrupted) => interrupted.instead(is).into(),
        Err(other) if left == Left::Lost => other.context(is),
        Err(other) => other,
    }
}

/// What was left out of a volume, in words.
type Lost = Option<String>;

/// Makes the volume on a device, in a partition, or in a part of a file.
fn on_disk(args: &Args, spec: &ImageSpec, tree: &Tree, clock: Clock) -> anyhow::Result<Lost> {
    // The old volume may have another writer, for whom it is waited.
    let rt = Rt::real_time();
    let options = FileOptions { even_if_used: args.force, ..FileOptions::default() };
    let open = |rt: &Rt| ordofs::open(rt, spec, &options).map_err(|error| image::open_error(&spec.path, error));
    let disk = open(&rt)?;
    let found = carried(&rt, spec, &disk)?;
    if !args.force {
        ask(&rt, spec, &disk, &found)?;
    }
    let info = disk.info();
    if args.size.is_some_and(|size| size > info.size) {
        bail!("{spec}: has only {} bytes; give a smaller --size", info.size);
    }
    let plan = shaped(args, tree, Some(args.size.unwrap_or(info.size)), info.sector, clock, 0)?;
    plan.fits(&info).map_err(|error| image::open_error(&spec.path, error))?;
    interrupt::check().map_err(|error| left(spec, error.into(), Left::Old))?;
    let all = || {
        wipe(&rt, spec, &disk, &found)?;
        drop((disk, rt));
        let rt = clock.rt();
        made(args, spec, tree, &rt, open(&rt)?, false, &plan)
    };
    all().map_err(|error| left(spec, error, Left::Lost))
}

/// The tree with the owners, attributes and times that it has in the image.
fn read(args: &Args, spec: &ImageSpec, from: &Path, clock: Clock) -> anyhow::Result<Tree> {
    let shown = || text::one_line(&from.display().to_string());
    let now = Stamp { secs: clock.now, nanos: 0 };
    let users = Users::read(args.source.user_db.as_deref())?;
    let read = match from.is_dir() {
        true => walk::walk(from, walk::key_of(&spec.path)),
        false => planned::of_archive(from, now, &users),
    };
    let mut tree = read.map_err(|error| if error.is::<Interrupted>() { error } else { error.context(shown()) })?;
    if let Some((uid, gid)) = args.source.owner {
        tree.metas_mut().for_each(|meta| (meta.uid, meta.gid) = (uid, gid));
    }
    if let Some(file) = &args.source.manifest {
        let outside = manifest::apply(file, &users, &mut tree, now, from)?;
        if let Some(said) = outside.filter(|_| !args.quiet) {
            say(&said);
        }
    }
    if let Some(secs) = clock.latest {
        let latest = Stamp { secs, nanos: 0 };
        tree.metas_mut().for_each(|meta| meta.mtime = meta.mtime.min(latest));
    }
    tree.lost.iter().for_each(|what| say(what));
    Ok(tree)
}

/// Makes the volume in a file of its own. It is emptied first, so that what is not written is a hole.
fn in_file(args: &Args, spec: &ImageSpec, tree: &Tree, clock: Clock) -> anyhow::Result<Lost> {
    let there = spec.path.metadata().ok().map(|found| found.len());
    if !args.force {
        let instead = "give --force to make it anew";
        ordofs::refuse_existing(&spec.path).map_err(|error| refused(spec, error, instead))?;
    }
    let wanted = args.size.or(there.filter(|&len| len > 0));
    let need = sizing::need(tree, &NewfsParams::new(ordo_ondisk::Format::Ufs2, 0)).bytes;
    for tries in 0.. {
        let plan = shaped(args, tree, wanted, 512, clock, tries)?;
        let site = Site::choose(&spec.path, need).map_err(|error| match error.downcast() {
            Ok(error) => image::open_error(&spec.path, ordofs::OpenError::Disk(error)),
            Err(error) => error.context(spec.to_string()),
        })?;
        let rt = clock.rt();
        let disk = ordofs::disk::new_file(&rt, site.path(), plan.bytes(), site.existing(args.force));
        let (disk, zeroed) = disk.map_err(|error| image::open_error(&spec.path, error.into()))?;
        let done = made(args, spec, tree, &rt, Rc::new(disk), zeroed, &plan);
        drop(rt);
        match done {
            Ok(lost) => return site.keep().map(|()| lost),
            Err(error) => {
                let again = wanted.is_none() && tries < TRIES && is_full(&error);
                let is = site.give_up();
                if !again {
                    return Err(left(spec, error, is));
                }
            }
        }
    }
    Ok(None)
}

/// Makes the volume on a disk and fills it; it is one when this returns, and not before.
fn made(
    args: &Args,
    spec: &ImageSpec,
    tree: &Tree,
    rt: &Rt,
    disk: Rc<dyn Disk>,
    zeroed: bool,
    plan: &Plan,
) -> anyhow::Result<Lost> {
    let open_error = |error| image::open_error(&spec.path, error);
    let late = Rc::new(Withheld::new(disk, &plan.superblocks()));
    plan.write(rt, late.clone(), zeroed).map_err(open_error)?;
    let lost = filled(args, spec, tree, rt, late.clone())?;
    interrupt::check()?;
    rt.block_on(late.release())?;
    Ok(lost)
}

/// The volume was too small.
fn is_full(error: &anyhow::Error) -> bool {
    let full =
        |error: &ordo_vfs::Error| matches!(error, ordo_vfs::Error::Refused(Refusal::NoSpace | Refusal::NoInodes));
    error.chain().any(|cause| cause.is::<TooFull>() || cause.downcast_ref().is_some_and(full))
}

/// A volume that will be made for the tree: `bytes` long, or as long as needed.
fn shaped(args: &Args, tree: &Tree, bytes: Option<u64>, sector: u32, clock: Clock, tries: u32) -> anyhow::Result<Plan> {
    let room = Room { bytes: args.source.free.unwrap_or(0), inodes: args.source.free_inodes.unwrap_or(0), tries };
    let mut new = args.new_volume(bytes.unwrap_or(0), sector, clock);
    match &mut new {
        New::Ufs(new) => {
            let need = sizing::need(tree, &new.params);
            sizing::fit(&mut new.params, need, room, bytes.is_some())?;
            // A second earlier than the mount: FreeBSD's journal tells mounts apart by their time.
            new.params.now = clock.now.saturating_sub(1).max(0);
        }
        New::Lfs(new) => {
            let shape = sizing::of_log(new.params.block, new.params.fragment);
            let Need { bytes: data, inodes } = sizing::need(tree, &shape);
            if bytes.is_none() {
                new.params.device_bytes = sizing::log(data, inodes, room);
            }
        }
    }
    new.plan().map_err(usage)
}

/// The tree fits, but not with the room that shall stay free.
#[derive(Debug)]
struct TooFull(String);

impl std::fmt::Display for TooFull {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TooFull {}

/// Fills a new volume, and leaves it clean.
fn filled(args: &Args, spec: &ImageSpec, tree: &Tree, rt: &Rt, disk: Rc<dyn Disk>) -> anyhow::Result<Lost> {
    let mut options = MountOptions { noatime: true, ..MountOptions::default() };
    if !args.is_lfs() {
        options.scheme = Some(schemes::IN_NO_ORDER.into());
    }
    // A cluster moves if it was not written before, and when that is depends on the disk (B1). On a new volume there is
    // nothing to win: files lie one behind the other.
    options.policy.reallocates = false;
    let opened = Opened::on_disk(rt, spec, disk, options)?;
    let mut filler = Filler::new(tree, &opened.mounted);
    let outcome = rt.block_on(async {
        filler.fill().await?;
        filler.finish().await
    });
    let lost = filler.lost();
    drop(filler);
    let outcome = outcome.and_then(|()| has_room(args, &opened));
    let outcome = match outcome {
        Err(error) if is_full(&error) => Err(error.context(format!("{spec}: the tree does not fit"))),
        other => other,
    };
    opened.close(outcome)?;
    Ok(lost)
}

/// Whether what was asked for is free.
fn has_room(args: &Args, opened: &Opened) -> anyhow::Result<()> {
    let space = opened.mounted.space();
    let avail = space.avail_frags * u64::from(space.frag_size);
    let (bytes, inodes) = (args.source.free.unwrap_or(0), args.source.free_inodes.unwrap_or(0));
    if avail < bytes {
        let (avail, bytes) = (size::human(avail), size::human(bytes));
        return Err(TooFull(format!("{avail} bytes are free, and not {bytes}")).into());
    }
    if space.free_inodes < inodes {
        return Err(TooFull(format!("{} inodes are free, and not {inodes}", space.free_inodes)).into());
    }
    Ok(())
}
