//! `ordo mkfs -d`: a volume with the contents of a directory or an archive, made without root.
//!
//! B1. The image depends on the tree, the arguments and `SOURCE_DATE_EPOCH` alone. The volume is made and filled in
//!     virtual time, on a clock that begins there: no disk is fast or slow enough to change a time or an order, and
//!     random numbers come from a seed. No file keeps a later time, and each of its times is that of its last change:
//!     reading a tree changes the others.
//! B2. A file that was made for the image is removed if the work fails or is interrupted. One that was there stays.
//! B3. The volume is filled under `async`, the scheme that waits for nothing: until it is unmounted it is worth
//!     nothing, and a crash leaves what the next run makes anew.

use super::fill::Filler;
use super::held::{ask, ask_of_file, carried, wipe};
use super::manifest::{self, users::Users};
use super::planned::{self, Tree};
use super::shape::New;
use super::sizing::{self, Need, Room};
use super::{Args, is_url, walk};
use crate::image::{self, Opened};
use crate::interrupt::{self, Interrupted};
use crate::out::{say, usage};
use crate::{size, text};
use anyhow::{Context, bail};
use ordo_vfs::{Refusal, Stamp};
use ordofs::disk::{FileDisk, FileOptions};
use ordofs::rt::Rt;
use ordofs::{ImageSpec, MountOptions};
use std::hash::{BuildHasher, Hasher};
use std::path::{Path, PathBuf};

/// How often a volume that sizes itself is made larger, before something else must be wrong.
const TRIES: u32 = 12;

/// What a volume is filled with.
#[derive(Debug, clap::Args)]
pub(super) struct Source {
    /// Fill the volume with the contents of a directory or a tar archive (- for standard input; .gz too)
    #[arg(short = 'd', long, value_name = "DIR|TAR|-")]
    pub(super) tree: Option<PathBuf>,
    /// An mtree manifest: owners, modes, times, flags, and files that the tree lacks (with -d)
    #[arg(short = 'F', long, value_name = "FILE", requires = "tree")]
    manifest: Option<PathBuf>,
    /// Find the manifest's user and group names in DIR/passwd and DIR/group [default: /etc]
    #[arg(long, value_name = "DIR", requires = "manifest")]
    user_db: Option<PathBuf>,
    /// Give all files of the tree to this owner and group, as numbers (with -d)
    #[arg(long, value_name = "UID:GID", value_parser = owner, requires = "tree")]
    owner: Option<(u32, u32)>,
    /// Space that stays free for users in the new volume (with -d)
    #[arg(long, value_name = "SPACE", value_parser = size::parse, requires = "tree")]
    free: Option<u64>,
    /// Inodes that stay free in the new volume (with -d)
    #[arg(long, value_name = "N", requires = "tree")]
    free_inodes: Option<u64>,
}

fn owner(text: &str) -> Result<(u32, u32), String> {
    let numbers = text.split_once(':').and_then(|(uid, gid)| Some((uid.parse().ok()?, gid.parse().ok()?)));
    numbers.ok_or_else(|| format!("{text:?} is no owner; write 0:0, the numbers of a user and a group"))
}

/// The time of day in the image, and the seed of its random numbers (B1).
#[derive(Debug, Clone, Copy)]
struct Clock {
    now: i64,
    seed: u64,
    /// No file is younger.
    latest: Option<i64>,
}

impl Clock {
    fn new() -> anyhow::Result<Clock> {
        let Some(text) = std::env::var_os("SOURCE_DATE_EPOCH").filter(|text| !text.is_empty()) else {
            let seed = std::collections::hash_map::RandomState::new().build_hasher().finish();
            return Ok(Clock { now: Rt::real_time().wall().0, seed, latest: None });
        };
        let secs = text.to_str().and_then(|text| text.parse().ok()).filter(|&secs: &i64| secs >= 0);
        let secs = secs.ok_or_else(|| usage("SOURCE_DATE_EPOCH is not a number of seconds since 1970"))?;
        Ok(Clock { now: secs, seed: secs.unsigned_abs(), latest: Some(secs) })
    }

    fn rt(self) -> Rt {
        let rt = Rt::virtual_time(self.seed);
        rt.jump_wall(self.now - rt.wall().0);
        rt
    }
}

/// Makes the volume and fills it.
///
/// # Errors
/// When the tree cannot be read, has something that no volume can have, or does not fit; when the image cannot be
/// written.
pub(super) fn run(args: &Args, spec: &ImageSpec, from: &Path) -> anyhow::Result<()> {
    if args.log_size.is_some() {
        return Err(usage("--log-size does not go with -d; make the log afterwards, with ordo tune -o log="));
    }
    interrupt::catch()?;
    let outcome = Clock::new().and_then(|clock| built(args, spec, from, clock));
    outcome.map_err(|error| match error.downcast::<Interrupted>() {
        Ok(interrupted) => interrupted.instead("no image was made").into(),
        Err(other) => other,
    })
}

fn built(args: &Args, spec: &ImageSpec, from: &Path, clock: Clock) -> anyhow::Result<()> {
    let tree = read(args, spec, from, clock)?;
    let plain = spec.part.is_none() && spec.offset.is_none() && !is_url(spec);
    if plain && (!spec.path.exists() || spec.path.is_file()) {
        return in_file(args, spec, &tree, clock);
    }
    let rt = clock.rt();
    let options = FileOptions { even_if_used: args.force, ..FileOptions::default() };
    let open_error = |error| image::open_error(&spec.path, error);
    let disk = ordofs::open(&rt, spec, &options).map_err(open_error)?;
    let found = carried(&rt, spec, &disk)?;
    if !args.force {
        ask(&rt, spec, &disk, &found)?;
    }
    let info = disk.info();
    if args.size.is_some_and(|size| size > info.size) {
        bail!("{spec}: has only {} bytes; give a smaller --size", info.size);
    }
    let new = shaped(args, &tree, Some(args.size.unwrap_or(info.size)), info.sector, clock, 0)?;
    wipe(&rt, spec, &disk, &found)?;
    new.create_on(&rt, disk, false).map_err(open_error)?;
    drop(rt);
    filled(args, spec, &tree, clock)
}

/// The tree with the owners, attributes and times that it has in the image.
fn read(args: &Args, spec: &ImageSpec, from: &Path, clock: Clock) -> anyhow::Result<Tree> {
    let shown = || text::one_line(&from.display().to_string());
    let now = Stamp { secs: clock.now, nanos: 0 };
    let read = match from.is_dir() {
        true => walk::walk(from, walk::key_of(&spec.path)),
        false => planned::of_archive(from, now),
    };
    let mut tree = read.map_err(|error| if error.is::<Interrupted>() { error } else { error.context(shown()) })?;
    if let Some((uid, gid)) = args.source.owner {
        tree.metas_mut().for_each(|meta| (meta.uid, meta.gid) = (uid, gid));
    }
    if let Some(file) = &args.source.manifest {
        let users = Users::read(args.source.user_db.as_deref())?;
        manifest::apply(file, &users, &mut tree, now)?;
    }
    if let Some(secs) = clock.latest {
        let latest = Stamp { secs, nanos: 0 };
        tree.metas_mut().for_each(|meta| meta.mtime = meta.mtime.min(latest));
    }
    Ok(tree)
}

/// Removes the image, if it was made here and the work failed (B2).
struct Unfinished<'a> {
    path: &'a Path,
    ours: bool,
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if self.ours {
            // OK to ignore: the failure that led here is reported.
            let _ = std::fs::remove_file(self.path);
        }
    }
}

/// Makes the volume in a file of its own. It is emptied first, so that what is not written is a hole.
fn in_file(args: &Args, spec: &ImageSpec, tree: &Tree, clock: Clock) -> anyhow::Result<()> {
    let shown = || spec.to_string();
    let there = spec.path.metadata().ok().map(|found| found.len());
    if !args.force {
        ask_of_file(spec, "give --force to make it anew")?;
    }
    let wanted = args.size.or(there.filter(|&len| len > 0));
    for tries in 0.. {
        let new = shaped(args, tree, wanted, 512, clock, tries)?;
        let mut unfinished = Unfinished { path: &spec.path, ours: there.is_none() };
        let mut options = std::fs::OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).open(&spec.path).with_context(shown)?;
        let rt = clock.rt();
        let open = || FileDisk::open(&rt, &spec.path, &FileOptions::default());
        let locked = |error: ordofs::disk::OpenError| image::open_error(&spec.path, error.into());
        if there.is_some_and(|len| len > 0) {
            // Refuses a file that is in use, before it is emptied.
            drop(open().map_err(locked)?);
        }
        file.set_len(0).and_then(|()| file.set_len(new.bytes())).with_context(shown)?;
        let disk = std::rc::Rc::new(open().map_err(locked)?);
        new.create_on(&rt, disk, true).map_err(|error| image::open_error(&spec.path, error))?;
        drop(rt);
        match filled(args, spec, tree, clock) {
            Err(error) if wanted.is_none() && tries < TRIES && is_full(&error) => {}
            Err(error) => return Err(error),
            Ok(()) => {
                unfinished.ours = false;
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The volume was too small.
fn is_full(error: &anyhow::Error) -> bool {
    let full =
        |error: &ordo_vfs::Error| matches!(error, ordo_vfs::Error::Refused(Refusal::NoSpace | Refusal::NoInodes));
    error.chain().any(|cause| cause.is::<TooFull>() || cause.downcast_ref().is_some_and(full))
}

/// A volume that will be made for the tree: `bytes` long, or as long as needed.
fn shaped(args: &Args, tree: &Tree, bytes: Option<u64>, sector: u32, clock: Clock, tries: u32) -> anyhow::Result<New> {
    let room = Room { bytes: args.source.free.unwrap_or(0), inodes: args.source.free_inodes.unwrap_or(0), tries };
    let mut new = args.new_volume(bytes.unwrap_or(0), sector);
    match &mut new {
        New::Ufs(new) => {
            let need = sizing::need(tree, &new.params);
            sizing::fit(&mut new.params, need, room, bytes.is_some())?;
            // A second earlier than the mount: FreeBSD's journal tells mounts apart by their time.
            new.params.now = clock.now.saturating_sub(1).max(0);
            new.params.id = low(clock.seed);
        }
        New::Log(new) => {
            let shape = sizing::of_log(new.options.block, new.options.fragment);
            let Need { bytes: data, inodes } = sizing::need(tree, &shape);
            if bytes.is_none() {
                new.options.device_bytes = sizing::log(data, inodes, room);
            }
            (new.options.now, new.options.ident) = (clock.now.unsigned_abs(), low(clock.seed));
        }
    }
    new.check().map_err(usage)?;
    Ok(new)
}

fn low(seed: u64) -> u32 {
    (seed ^ seed >> 32) as u32
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
fn filled(args: &Args, spec: &ImageSpec, tree: &Tree, clock: Clock) -> anyhow::Result<()> {
    let rt = clock.rt();
    let mut options = MountOptions { noatime: true, ..MountOptions::default() };
    if !args.is_log() {
        options.scheme = Some("async".into());
    }
    // A cluster moves if it was not written before, and when that is depends on the disk (B1). On a new volume there is
    // nothing to win: files lie one behind the other.
    options.engine.reallocates = false;
    let opened = Opened::to_change_with(&rt, spec, options)?;
    let mut filler = Filler::new(tree, &opened.mounted);
    let outcome = rt.block_on(async {
        filler.fill().await?;
        filler.finish().await
    });
    let left_out = filler.left_out;
    drop(filler);
    let outcome = outcome.and_then(|()| has_room(args, &opened));
    let outcome = match outcome {
        Err(error) if is_full(&error) => Err(error.context(format!("{spec}: the tree does not fit"))),
        other => other,
    };
    opened.close(outcome)?;
    if left_out > 0 {
        say(&format!("{spec}: {left_out} extended attributes are left out: this format has none"));
    }
    Ok(())
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
