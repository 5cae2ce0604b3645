//! Another size for an unmounted UFS volume, in its place, as FreeBSD's growfs(8) does it; also a smaller one.
//!
//! Z1. Only a clean volume is changed, and it is clean again afterwards. All is read and computed before anything is
//!     written (`plan`): a refusal changes nothing.
//! Z2. The first write says that the volume must be checked, and the last one that it is clean. A group and the
//!     superblock both hold the size of the last group, and no disk writes two places at once: after a crash between
//!     them fsck finds which is right.
//! Z3. New groups, and a summary that moves, are durable before the superblock leads to them. They lie where nothing
//!     was in use before, so that until then the volume is the old one.
//! Z4. Nothing in use is moved. A smaller volume is one whose last groups hold nothing.

mod error;
mod plan;

pub use error::ResizeError;

use crate::sectors::{get, put};
use crate::{ImageSpec, Located, Notices, begins_at, given_back, locate_on, locate_to_write};
use ordo_disk::{Disk, FileOptions, Kind};
use ordo_ondisk::superblock::fields::flag;
use ordo_ondisk::superblock::search::{Copy, Recovery};
use ordo_ondisk::{ByteOff, Cgx, Dialect, Dinode, Format, Superblock, cg};
use ordo_rt::{OwnRt, Rng, Rt};
use plan::Plan;
use std::rc::Rc;

/// Bytes of one write.
const PIECE: usize = 1 << 20;

/// The size of a volume before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resized {
    /// Bytes before.
    pub was: u64,
    /// Bytes now: the requested ones, without what is too little for a fragment, or for one more group.
    pub is: u64,
    /// Cylinder groups before.
    pub groups_were: u32,
    /// Cylinder groups now.
    pub groups_are: u32,
}

/// Gives the volume in an image another size. The file of an image is lengthened first, and cut last; a partition or a
/// device must be large enough.
///
/// # Errors
/// See [`ResizeError`].
pub fn resize(spec: &ImageSpec, bytes: u64) -> Result<Resized, ResizeError> {
    let rt = OwnRt::real_time();
    let start = begins_at(&rt, spec)?;
    let open = || locate_to_write(&rt, spec, &FileOptions::default(), "ordo resize", &Notices::default(), false);
    let mut located = open()?;
    let mut claim = located.claim.take();
    let is_file = spec.path.is_file() && spec.part.is_none() && (spec.offset.is_some() || start == 0);
    let planned = match planned(&rt, &located, bytes) {
        Ok(planned) => planned,
        Err(error) => {
            rt.block_on(given_back(claim.as_ref()));
            return Err(error);
        }
    };
    let (was, is) = (planned.was.volume_bytes(), planned.is.volume_bytes());
    let fsize = u64::from(planned.was.geometry().fsize);
    // Whole fragments, also if they are too few for one more group.
    let end = start + bytes / fsize * fsize;
    let failed = |error| ResizeError::File(spec.path.clone(), error);
    let set_len = |longer: bool| {
        let file = std::fs::OpenOptions::new().write(true).open(&spec.path).map_err(failed)?;
        let len = file.metadata().map_err(failed)?.len();
        if (longer && len < end) || (!longer && len > end) { file.set_len(end).map_err(failed) } else { Ok(()) }
    };
    let located = match is_file && is > was {
        true => {
            rt.block_on(given_back(claim.as_ref()));
            drop(located);
            drop(claim);
            set_len(true)?;
            let mut located = open()?;
            claim = located.claim.take();
            located
        }
        false => located,
    };
    let resized = resize_located(&rt, located, bytes);
    rt.block_on(given_back(claim.as_ref()));
    let resized = resized?;
    if is_file && is < was {
        set_len(false)?;
    }
    Ok(resized)
}

/// The same for the volume on a disk, which must be large enough.
///
/// # Errors
/// See [`ResizeError`].
pub fn resize_on(rt: &Rt, disk: Rc<dyn Disk>, bytes: u64) -> Result<Resized, ResizeError> {
    resize_located(rt, locate_on(rt, disk)?, bytes)
}

fn resize_located(rt: &Rt, located: Located, bytes: u64) -> Result<Resized, ResizeError> {
    let mut plan = planned(rt, &located, bytes)?;
    let disk = located.disk;
    let (was, is) = (plan.was.volume_bytes(), plan.is.volume_bytes());
    if is > disk.info().size {
        return Err(ResizeError::TooLarge { bytes: is, disk: disk.info().size });
    }
    let resized = Resized { was, is, groups_were: plan.was.fields.ncg, groups_are: plan.is.fields.ncg };
    if is != was {
        let (now, rng) = (rt.wall().0, rt.rng());
        rt.block_on(async { Writer { disk: &disk, now, rng }.write(&mut plan).await })?;
    }
    Ok(resized)
}

/// Checks that the volume may be changed, and computes everything (Z1).
fn planned(rt: &Rt, located: &Located, bytes: u64) -> Result<Plan, ResizeError> {
    let found = located.found.ufs()?;
    if found.copy != Copy::Primary {
        return Err(ResizeError::Backup);
    }
    let was = found.superblock.clone();
    if !was.is_clean() || was.features().unclean || was.features().needs_fsck {
        return Err(ResizeError::Dirty);
    }
    was.write_gate()?;
    if !matches!(was.dialect, Dialect::FreeBsd | Dialect::NetBsd) || !was.has_wide_fields() {
        return Err(ResizeError::Unsupported(
            "the form of another or an older system, whose sizes are not changed here",
        ));
    }
    if was.features().snapshots > 0 {
        return Err(ResizeError::Unsupported("snapshots, which know its size; remove them first"));
    }
    if was.features().wapbl_at.is_some() {
        // It lies behind the volume, or in a file whose blocks the superblock names.
        let why = "NetBSD's log, which must stay where it is; remove it there first (tunefs -l 0, and a mount)";
        return Err(ResizeError::Unsupported(why));
    }
    if crate::tune::is_active(rt, &located.disk, &was).unwrap_or(true) {
        let why = "an active journal, which knows its size; take it away first (ordo tune -o active=off)";
        return Err(ResizeError::Unsupported(why));
    }
    rt.block_on(Plan::new(&located.disk, was, bytes))
}

/// Writes a plan to the disk.
struct Writer<'a> {
    disk: &'a Rc<dyn Disk>,
    now: i64,
    rng: Rng,
}

impl Writer<'_> {
    /// In the order of Z2 and Z3.
    async fn write(&mut self, plan: &mut Plan) -> Result<(), ResizeError> {
        let (at, g) = (plan.is.at, plan.is.geometry());
        let unclean = |sb: &Superblock| {
            let mut sb = sb.clone();
            sb.fields.clean = 0;
            sb.fields.flags |= if sb.dialect == Dialect::FreeBsd { flag::NEEDSFSCK } else { 0 };
            sb
        };
        let marked = unclean(&plan.was).encode(self.now);
        self.durably(at, &marked).await?;
        for c in plan.fresh() {
            self.group(&plan.is, c).await?;
        }
        let summary = g.byte(g.csaddr);
        if plan.is.fields.csaddr != plan.was.fields.csaddr {
            self.put(summary, &plan.array, Kind::Summary).await?;
        }
        self.disk.flush().await?;
        for (c, block) in &mut plan.groups {
            // OK to ignore: the block is as long as a group's.
            let _ = cg::seal(block, &g, self.now);
            self.put(g.byte(g.cgtod(Cgx(*c))), block, Kind::Maps).await?;
        }
        self.put(summary, &plan.array, Kind::Summary).await?;
        self.disk.flush().await?;
        let marked = unclean(&plan.is).encode(self.now);
        self.durably(at, &marked).await?;
        for c in plan.kept() {
            let at = g.byte(g.cgsblock(c));
            self.put(at, &plan.is.encode_copy(at), Kind::Superblock).await?;
        }
        self.recovery_record(&plan.is).await?;
        self.disk.flush().await?;
        let finished = plan.is.encode(self.now);
        self.durably(at, &finished).await
    }

    /// A new group: the copy of the superblock, its own block, and the inodes that newfs writes.
    async fn group(&mut self, is: &Superblock, c: Cgx) -> Result<(), ResizeError> {
        let g = is.geometry();
        let backup = g.byte(g.cgsblock(c));
        self.put(backup, &is.encode_copy(backup), Kind::Superblock).await?;
        let mut block = cg::init(&g, c, cg::first_inodes(&g));
        // OK to ignore: the block has just been made, and is as long as a group's.
        let _ = cg::seal(&mut block, &g, self.now);
        self.put(g.byte(g.cgtod(c)), &block, Kind::Maps).await?;
        let size = g.dinode_size as usize;
        let mut inodes = vec![0; cg::first_inodes(&g) as usize * size];
        for inode in inodes.chunks_mut(size) {
            let generation = (self.rng.next_u64() as u32).max(1);
            // OK to ignore: each piece is as long as an inode.
            let _ = Dinode::free(generation).encode(inode, &g);
        }
        self.put(g.byte(g.cgimin(c)), &inodes, Kind::Inodes).await
    }

    /// The record of where the copies are, if there is one.
    async fn recovery_record(&self, is: &Superblock) -> Result<(), ResizeError> {
        if is.format != Format::Ufs2 {
            return Ok(());
        }
        let sector = u64::from(self.disk.info().sector.max(512));
        let start = Recovery::AT.0 / sector * sector;
        let bytes = get(self.disk, ByteOff(start), sector as usize, Kind::Superblock).await?;
        let old = bytes.get((Recovery::AT.0 - start) as usize..).and_then(|rest| rest.first_chunk());
        match old.and_then(Recovery::decode) {
            Some(_) => self.put(Recovery::AT, &Recovery::of(is).encode(), Kind::Superblock).await,
            None => Ok(()),
        }
    }

    async fn put(&self, at: ByteOff, bytes: &[u8], kind: Kind) -> Result<(), ResizeError> {
        for (n, piece) in bytes.chunks(PIECE).enumerate() {
            put(self.disk, ByteOff(at.0 + (n * PIECE) as u64), piece, kind).await?;
        }
        Ok(())
    }

    async fn durably(&self, at: ByteOff, superblock: &[u8]) -> Result<(), ResizeError> {
        self.put(at, superblock, Kind::Superblock).await?;
        Ok(self.disk.flush().await?)
    }
}
