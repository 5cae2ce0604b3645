//! What a volume of another size has on the disk: computed from the old one, before anything is written.
//!
//! The groups keep their size, so only the last one that stays can change, besides the groups in which the summary of
//! the groups was and will be. FreeBSD's kernel wants the summary where the data of a group begin.

use super::error::ResizeError;
use crate::sectors::get;
use ordo_disk::{Disk, Kind};
use ordo_ondisk::cg::{CgMut, map};
use ordo_ondisk::superblock::fields::SbFields;
use ordo_ondisk::{ByteOff, CgLayout, Cgx, CsumTotal, Dialect, Format, FragNo, Geometry, Superblock, cg, csum};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Offsets in the header of a group's block.
const NDBLK_AT: usize = 20;
const NCLUSTERBLKS_AT: usize = 112;
/// Bytes of one read.
const PIECE: usize = 1 << 20;

/// The new volume, as far as it differs from the old one.
pub(super) struct Plan {
    pub(super) was: Superblock,
    pub(super) is: Superblock,
    /// The blocks of old groups that change, not sealed.
    pub(super) groups: BTreeMap<u32, Vec<u8>>,
    /// The summary of all groups.
    pub(super) array: Vec<u8>,
}

/// The groups that were read.
struct Groups<'a> {
    disk: &'a Rc<dyn Disk>,
    old: Geometry,
    /// Their blocks, with the layouts of the new volume.
    read: BTreeMap<u32, (Vec<u8>, CgLayout)>,
}

impl Plan {
    /// A plan for a volume of at most so many bytes.
    pub(super) async fn new(disk: &Rc<dyn Disk>, was: Superblock, bytes: u64) -> Result<Plan, ResizeError> {
        let old = was.geometry();
        let (size, ncg) = shape(&old, bytes)?;
        let array = read(disk, old.byte(old.csaddr), old.cssize as usize).await?;
        if total(&array, &old) != was.totals() {
            return Err(ResizeError::Counts);
        }
        let mut is = was.clone();
        let mut groups = Groups { disk, old: old.clone(), read: BTreeMap::new() };
        if size < old.size {
            groups.nothing_beyond(size, ncg, bytes).await?;
        }
        set_sizes(&mut is.fields, &old, size, ncg);
        let is = made_valid(&is)?;
        groups.change_last(&is.geometry()).await?;
        let csaddr = groups.place_summary(&is.geometry()).await?;
        let mut placed = is;
        placed.fields.csaddr = i64::try_from(csaddr.0).unwrap_or(i64::MAX);
        if placed.format == Format::Ufs1 {
            placed.fields.old_csaddr = i32::try_from(csaddr.0).unwrap_or(i32::MAX);
        }
        let mut is = made_valid(&placed)?;
        let new = is.geometry();
        let array = groups.summary(array, &new)?;
        is.set_totals(total(&array, &new));
        let groups = groups.read.into_iter().map(|(c, (block, _))| (c, block)).collect();
        Ok(Plan { was, is: made_valid(&is)?, groups, array })
    }

    /// The groups that are new.
    pub(super) fn fresh(&self) -> impl Iterator<Item = Cgx> + use<> {
        (self.was.fields.ncg..self.is.fields.ncg).map(Cgx)
    }

    /// The groups that stay.
    pub(super) fn kept(&self) -> impl Iterator<Item = Cgx> + use<> {
        (0..self.was.fields.ncg.min(self.is.fields.ncg)).map(Cgx)
    }
}

/// Fragments and groups of a volume of so many bytes.
fn shape(old: &Geometry, bytes: u64) -> Result<(u64, u32), ResizeError> {
    let fpg = u64::from(old.fpg);
    let size = bytes / u64::from(old.fsize);
    let too_many = || ResizeError::TooLarge { bytes, disk: u64::from(u32::MAX) * fpg * u64::from(old.fsize) };
    let ncg = u32::try_from(size.div_ceil(fpg)).map_err(|_| too_many())?;
    let last = Cgx(ncg.saturating_sub(1));
    // A last group without room for its own metadata is left out.
    let (size, ncg) = match size < old.cgdmin(last).0 {
        true => (u64::from(last.0) * fpg, last.0),
        false => (size, ncg),
    };
    // The summary lies behind the metadata, and there must be room for a root directory.
    let first = old.cgdmin(Cgx(0)).0 + u64::from(old.csfrags()) + u64::from(old.frag);
    if ncg == 0 || size < first {
        return Err(ResizeError::TooSmall { bytes, least: first * u64::from(old.fsize) });
    }
    Ok((size, ncg))
}

/// The fields that depend on the size, as newfs computes them; the summary stays in its place.
fn set_sizes(f: &mut SbFields, old: &Geometry, size: u64, ncg: u32) {
    let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let narrow = |n: i64| i32::try_from(n).unwrap_or(i32::MAX);
    let cssize = csum::array_bytes(ncg, old.fsize);
    let metadata =
        u64::from(ncg) * u64::from(old.dblkno - old.sblkno) + u64::from(old.sblkno) + cssize / u64::from(old.fsize);
    // Bytes of the device that FreeBSD saw; NetBSD has the place of its log there.
    if old.dialect == Dialect::FreeBsd && f.providersize != 0 {
        f.providersize = if f.providersize == f.size { signed(size) } else { f.providersize.max(signed(size)) };
    }
    (f.size, f.ncg) = (signed(size), ncg);
    f.dsize = signed(size.saturating_sub(metadata));
    f.cssize = narrow(signed(cssize));
    if old.format == Format::Ufs1 {
        (f.old_size, f.old_dsize) = (narrow(f.size), narrow(f.dsize));
        // Volumes of one cylinder a group; older ones count cylinders that no disk has.
        let per_group = i32::try_from(old.cpg.max(1)).unwrap_or(1);
        f.old_ncyl = narrow(i64::from(ncg)).saturating_mul(per_group);
    }
    if f.cgrotor >= i32::try_from(ncg).unwrap_or(i32::MAX) {
        f.cgrotor = 0;
    }
    // Counted when the groups are known; the old ones may be too many for a smaller volume.
    (f.cs_ndir, f.cs_nbfree, f.cs_nifree, f.cs_nffree) = (0, 0, 0, 0);
}

/// The superblock, after all its rules were checked.
fn made_valid(sb: &Superblock) -> Result<Superblock, ResizeError> {
    Superblock::decode(&sb.encode_copy(sb.at), sb.at).map_err(ResizeError::Impossible)
}

fn total(array: &[u8], g: &Geometry) -> CsumTotal {
    let entries = (0..g.ncg).map(|c| csum::get(array, Cgx(c), g.endian).unwrap_or_default());
    entries.fold(CsumTotal::default(), CsumTotal::plus)
}

async fn read(disk: &Rc<dyn Disk>, at: ByteOff, len: usize) -> Result<Vec<u8>, ResizeError> {
    let mut bytes = Vec::with_capacity(len);
    while bytes.len() < len {
        let piece = (len - bytes.len()).min(PIECE);
        bytes.extend(get(disk, ByteOff(at.0 + bytes.len() as u64), piece, Kind::Summary).await?);
    }
    Ok(bytes)
}

impl Groups<'_> {
    /// The block of an old group.
    async fn group(&mut self, c: Cgx) -> Result<&mut (Vec<u8>, CgLayout), ResizeError> {
        if !self.read.contains_key(&c.0) {
            let (block, layout) = self.look(c).await?;
            self.read.insert(c.0, (block, layout));
        }
        // OK to expect: it was just inserted.
        Ok(self.read.get_mut(&c.0).expect("a group that was read"))
    }

    /// The same, of a group that does not change.
    async fn look(&self, c: Cgx) -> Result<(Vec<u8>, CgLayout), ResizeError> {
        let g = &self.old;
        let block = get(self.disk, g.byte(g.cgtod(c)), g.cgsize as usize, Kind::Maps).await?;
        let layout = cg::check(&block, g, c).map_err(ResizeError::Damaged)?;
        if layout.old {
            return Err(ResizeError::Unsupported("groups in the form of 4.2BSD, which are not changed here"));
        }
        Ok((block, layout))
    }

    /// Refuses to cut off what is in use (resize-4).
    async fn nothing_beyond(&mut self, size: u64, ncg: u32, bytes: u64) -> Result<(), ResizeError> {
        let g = self.old.clone();
        let (mut files, mut frags) = (0, 0);
        for c in (ncg.saturating_sub(1)..g.ncg).map(Cgx) {
            let (mut block, layout) = self.look(c).await?;
            let cg = CgMut::new(&mut block, layout, g.endian).ok_or(ResizeError::Counts)?;
            let base = g.cgbase(c).0;
            let from = size.saturating_sub(base);
            let reserved = cg::reserved(&g, c);
            let goes = c.0 >= ncg;
            files += if goes { (0..g.ipg).filter(|&i| map::get(cg.view().iused(), i)).count() as u64 } else { 0 };
            for i in (0..layout.ndblk).filter(|&i| u64::from(i) >= from) {
                // Its own metadata go with the group; the summary does not.
                let own = goes && reserved[0].contains(&i);
                frags += u64::from(!own && !map::get(cg.view().free(), i));
            }
        }
        match files + frags {
            0 => Ok(()),
            _ => Err(ResizeError::InUse { bytes, files, blocks: frags * u64::from(g.fsize) }),
        }
    }

    /// The last group that stays may become longer or shorter.
    async fn change_last(&mut self, new: &Geometry) -> Result<(), ResizeError> {
        let last = Cgx(self.old.ncg.min(new.ncg).saturating_sub(1));
        let (before, after) = (self.old.cg_ndblk(last), new.cg_ndblk(last));
        if before == after {
            return Ok(());
        }
        let (block, layout) = self.group(last).await?;
        layout.ndblk = after;
        if layout.contigsumsize > 0 {
            layout.nclusterblks = after / new.frag;
            // OK to ignore, as below: the block was checked, and is longer than its header.
            let _ = new.endian.put_u32(block, NCLUSTERBLKS_AT, layout.nclusterblks);
        }
        let _ = new.endian.put_u32(block, NDBLK_AT, after);
        let layout = *layout;
        let mut cg = CgMut::new(block, layout, new.endian).ok_or(ResizeError::Counts)?;
        match before < after {
            true => map::fill(cg.free_mut(), before, after - before, true),
            false => map::fill(cg.free_mut(), after, before - after, false),
        }
        // Where the next search begins: fsck finds a place behind the end wrong.
        if cg.view().rotor() >= after {
            cg.set_rotor(0);
        }
        if cg.view().frotor() >= after {
            cg.set_frotor(0);
        }
        let ndir = cg.view().ndir();
        cg.rebuild_counts(ndir);
        // A shorter cluster map ends earlier: nothing of the old one may stay behind it.
        cg.clear_gaps();
        Ok(())
    }

    /// Finds the place of the summary, and marks what it leaves and takes in old groups.
    async fn place_summary(&mut self, new: &Geometry) -> Result<FragNo, ResizeError> {
        let (at, had, needs) = (self.old.csaddr, self.old.csfrags(), new.csfrags());
        if needs <= had {
            self.mark(new, at.plus(needs), had - needs, true).await?;
            return Ok(at);
        }
        if self.is_free(new, at.plus(had), needs - had).await? {
            self.mark(new, at.plus(had), needs - had, false).await?;
            return Ok(at);
        }
        let fits = |c: &Cgx| new.cgdmin(*c).0 + u64::from(needs) <= new.cgbase(*c).0 + u64::from(new.cg_ndblk(*c));
        let mut place = (self.old.ncg..new.ncg).map(Cgx).find(fits).map(|c| new.cgdmin(c));
        if place.is_none() {
            for c in (0..self.old.ncg).map(Cgx) {
                if self.is_free(new, new.cgdmin(c), needs).await? {
                    self.mark(new, new.cgdmin(c), needs, false).await?;
                    place = Some(new.cgdmin(c));
                    break;
                }
            }
        }
        let place = place.ok_or(ResizeError::NoRoom { frags: needs })?;
        self.mark(new, at, had, true).await?;
        Ok(place)
    }

    /// Whether all of a run of fragments in an old group is free.
    async fn is_free(&mut self, new: &Geometry, at: FragNo, n: u32) -> Result<bool, ResizeError> {
        let (c, first) = (new.dtog(at), new.dtogd(at).0);
        if c.0 >= self.old.ncg || u64::from(first) + u64::from(n) > new.cg_ndblk(c).into() {
            return Ok(false);
        }
        let endian = new.endian;
        let view = |block: &mut [u8], layout| {
            CgMut::new(block, layout, endian).map(|cg| map::all(cg.view().free(), first, n, true))
        };
        let free = match self.read.get_mut(&c.0) {
            Some((block, layout)) => view(block, *layout),
            None => {
                let (mut block, layout) = self.look(c).await?;
                view(&mut block, layout)
            }
        };
        Ok(free.unwrap_or(false))
    }

    async fn mark(&mut self, new: &Geometry, at: FragNo, n: u32, free: bool) -> Result<(), ResizeError> {
        if n == 0 {
            return Ok(());
        }
        let endian = new.endian;
        let (block, layout) = self.group(new.dtog(at)).await?;
        let mut cg = CgMut::new(block, *layout, endian).ok_or(ResizeError::Counts)?;
        map::fill(cg.free_mut(), new.dtogd(at).0, n, free);
        let ndir = cg.view().ndir();
        cg.rebuild_counts(ndir);
        Ok(())
    }

    /// The summary of the new volume.
    fn summary(&mut self, mut array: Vec<u8>, new: &Geometry) -> Result<Vec<u8>, ResizeError> {
        array.truncate(new.ncg as usize * ordo_ondisk::Csum::SIZE);
        array.resize(new.cssize as usize, 0);
        let mut put = |c: u32, block: &mut [u8], layout| {
            let cs = CgMut::new(block, layout, new.endian).map(|cg| cg.view().cs()).ok_or(ResizeError::Counts)?;
            csum::put(&mut array, Cgx(c), cs, new.endian).ok_or(ResizeError::Counts)
        };
        for (c, (block, layout)) in &mut self.read {
            put(*c, block, *layout)?;
        }
        for c in self.old.ncg..new.ncg {
            let mut block = cg::init(new, Cgx(c), cg::first_inodes(new));
            put(c, &mut block, CgLayout::computed(new, Cgx(c)))?;
        }
        for (c, (block, _)) in &mut self.read {
            // The maps must still have room in the block.
            let mut unhashed = new.clone();
            unhashed.cg_hash = false;
            cg::check(block, &unhashed, Cgx(*c)).map_err(ResizeError::Impossible)?;
        }
        Ok(array)
    }
}
