//! The groups that the journal names: their bitmaps, changed bit by bit, and their counts, recomputed at the end.
//!
//! A group is read once and cached, so its bits are those that the crash left until they are set here. A group with a
//! wrong check hash was torn by the crash: each of its bits is old or new, and the records determine which is right.
//! But its counts may match neither: these are rebuilt from the bits, and the number of directories, which no bit
//! tells, is
//! counted. A replay that is begun again finds such groups as well: a log of the bytes that changed writes over the
//! lower byte of a count whose upper byte is of the replay before.

use super::group::{Group, Groups, InodeKind};
use super::replay::Replay;
use crate::dirty::Order;
use crate::outcome::NotReplayed;
use ordo_ondisk::cg::{self, Cg, CgMut, map};
use ordo_ondisk::{Cgx, Corrupt, CsumTotal, Dinode, Format, FragNo, Ino, csum};

impl Replay {
    pub(crate) async fn group(&mut self, c: Cgx) -> Result<&mut Group, NotReplayed> {
        if !self.groups.0.contains_key(&c.0) {
            let group = self.read_group(c).await?;
            self.groups.0.insert(c.0, group);
        }
        let missing = NotReplayed::Inode { ino: 0, what: "its group is not there" };
        self.groups.0.get_mut(&c.0).ok_or(missing)
    }

    async fn read_group(&mut self, c: Cgx) -> Result<Group, NotReplayed> {
        let mut bytes = vec![0; self.geo.cgsize as usize];
        self.image.read(self.geo.byte(self.geo.cgtod(c)), &mut bytes).await?;
        let checked = cg::check(&bytes, &self.geo, c);
        let torn = matches!(&checked, Err(damage) if damage.field == "cg_ckhash");
        let uncertain = torn || !self.geo.cg_hash;
        let layout = if uncertain { cg::check_maps(&bytes, &self.geo, c)? } else { checked? };
        let short =
            || Corrupt::new(ordo_ondisk::Structure::CylinderGroup(c), "length", 0, ordo_ondisk::Rule::AtLeast(168));
        let view = Cg::new(&bytes, layout, self.geo.endian).ok_or_else(short)?;
        let inited = if self.geo.format == Format::Ufs1 { self.geo.ipg } else { view.initediblk() };
        let ndir = view.ndir();
        let count_dirs = uncertain && !(0..=i64::from(self.geo.ipg)).contains(&ndir.into());
        Ok(Group { bytes, layout, inited, ndir, uncertain, count_dirs, torn })
    }

    /// Whether a group was read, and will be written with rebuilt counts.
    pub(crate) fn has_group(&self, c: Cgx) -> bool {
        self.groups.0.contains_key(&c.0)
    }

    /// Drops the cached groups, so that they are read again.
    pub(crate) fn forget_groups(&mut self) {
        self.groups = Groups::default();
    }

    /// Whether an inode was ever written.
    pub(super) async fn is_initialised(&mut self, ino: u32) -> Result<bool, NotReplayed> {
        let (c, index) = (self.geo.ino_to_cg(Ino(ino)), self.geo.ino_in_cg(Ino(ino)));
        Ok(self.geo.format == Format::Ufs1 || index < self.group(c).await?.inited)
    }

    /// Whether all of `count` fragments are in use.
    pub(super) async fn in_use(&mut self, frag: FragNo, count: u32) -> Result<bool, NotReplayed> {
        let (c, first, endian) = (self.geo.dtog(frag), self.geo.dtogd(frag).0, self.geo.endian);
        let group = self.group(c).await?;
        Ok(Cg::new(&group.bytes, group.layout, endian).is_some_and(|cg| map::all(cg.free(), first, count, false)))
    }

    /// Marks fragments of the block at `base` as free and as in use, a bit for each; returns how many in-use ones
    /// became free.
    pub(crate) async fn mark(&mut self, base: FragNo, free: u8, used: u8) -> Result<u32, NotReplayed> {
        let (c, first, endian) = (self.geo.dtog(base), self.geo.dtogd(base).0, self.geo.endian);
        let group = self.group(c).await?;
        let Some(mut cg) = CgMut::new(&mut group.bytes, group.layout, endian) else { return Ok(0) };
        let mut freed = 0;
        for n in 0..8 {
            let (bit, map) = (first + n, cg.free_mut());
            if free >> n & 1 == 1 && !map::get(map, bit) {
                map::set(map, bit);
                freed += 1;
            } else if used >> n & 1 == 1 {
                map::clear(map, bit);
            }
        }
        Ok(freed)
    }

    /// Marks an inode as free or in use; returns whether that changed the bit.
    pub(crate) async fn mark_inode(&mut self, ino: u32, used: bool, kind: InodeKind) -> Result<bool, NotReplayed> {
        let (c, bit, endian) = (self.geo.ino_to_cg(Ino(ino)), self.geo.ino_in_cg(Ino(ino)), self.geo.endian);
        let group = self.group(c).await?;
        // In an uncertain group the count may be from before or after the change of this bit.
        group.count_dirs |= kind == InodeKind::Unknown || kind != InodeKind::Other && group.uncertain;
        let Some(mut cg) = CgMut::new(&mut group.bytes, group.layout, endian) else { return Ok(false) };
        if map::get(cg.view().iused(), bit) == used {
            return Ok(false);
        }
        let change = if used { map::set } else { map::clear };
        change(cg.iused_mut(), bit);
        match kind {
            InodeKind::Directory => group.ndir += if used { 1 } else { -1 },
            InodeKind::Other | InodeKind::Unknown => {}
        }
        Ok(true)
    }

    /// Step 10: counts and summaries of all groups that the journal named, and of the volume.
    pub(crate) async fn write_groups(&mut self) -> Result<(), NotReplayed> {
        let (geo, now) = (self.geo.clone(), self.now);
        let mut array = vec![0; geo.cssize as usize];
        self.image.read(geo.byte(geo.csaddr), &mut array).await?;
        let numbers: Vec<u32> = self.groups.0.keys().copied().collect();
        for c in numbers.into_iter().map(Cgx) {
            let count = self.groups.0.get(&c.0).is_some_and(|group| group.count_dirs);
            let counted = if count { Some(self.count_directories(c).await?) } else { None };
            let Some(group) = self.groups.0.get_mut(&c.0) else { continue };
            group.ndir = counted.unwrap_or(group.ndir).max(0);
            (group.count_dirs, group.uncertain) = (false, false);
            let Some(mut cg) = CgMut::new(&mut group.bytes, group.layout, geo.endian) else { continue };
            if map::first_set(cg.view().iused(), group.inited, geo.ipg).is_some() {
                let ino = c.0 * geo.ipg + group.inited;
                return Err(NotReplayed::Inode { ino, what: "it or one behind it is in use and was never written" });
            }
            let cs = cg.rebuild_counts(group.ndir);
            let mut stored = vec![0; group.bytes.len()];
            self.image.read(geo.byte(geo.cgtod(c)), &mut stored).await?;
            if group.torn || group.bytes != stored {
                group.torn = false;
                cg::seal(&mut group.bytes, &geo, now);
                self.image.write(geo.byte(geo.cgtod(c)), &group.bytes, Order::Groups).await?;
            }
            let done = csum::put(&mut array, c, cs, geo.endian);
            debug_assert!(done.is_some(), "the array has an element for each group");
        }
        let sums = (0..geo.ncg).filter_map(|c| csum::get(&array, Cgx(c), geo.endian));
        let total = sums.fold(CsumTotal::default(), CsumTotal::plus);
        self.sb.set_totals(total);
        Ok(self.image.write(geo.byte(geo.csaddr), &array, Order::Groups).await?)
    }

    /// Directories of a group, by its inodes.
    async fn count_directories(&mut self, c: Cgx) -> Result<i32, NotReplayed> {
        let Some(group) = self.groups.0.get(&c.0) else { return Ok(0) };
        let Some(view) = Cg::new(&group.bytes, group.layout, self.geo.endian) else { return Ok(0) };
        let (iused, limit) = (view.iused().to_vec(), group.inited);
        let (mut count, mut next) = (0, if c.0 == 0 { Ino::ROOT.0 } else { 0 });
        while let Some(index) = map::first_set(&iused, next, limit) {
            let ino = Ino(c.0 * self.geo.ipg + index);
            let (line, within) = self.image.line(Dinode::place(&self.geo, ino)).await?;
            let dinode = Dinode::decode(line.get(within..).unwrap_or_default(), &self.geo, ino)?;
            count += i32::from(dinode.is_dir());
            next = index + 1;
        }
        Ok(count)
    }
}
