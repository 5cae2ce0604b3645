//! The cylinder groups: their headers before phase 1; and phase 5, which compares each group's block with the one that
//! follows from the phases before.
//!
//! Phase 5 builds the complete correct block and compares, so that no field can be forgotten. Fields that are not
//! recomputed (times, hints, counts of other systems) are explicitly copied from the block on the disk.

use crate::volume::{InodeState, Volume};
use crate::{Error, Finding, Phase};
use ordo_ondisk::cg::{self, Cg, CgHeader, CgMut, map};
use ordo_ondisk::dinode::mode;
use ordo_ondisk::{ByteOff, CgLayout, Cgx, Csum, CsumTotal, Dinode, Format, FragNo, Ino, csum};
use ordo_recover::{Bytes, Order};

/// Where 4.2BSD's layout has the magic.
const OLD_MAGIC_AT: usize = 980;

impl Volume {
    fn group_at(&self, c: Cgx) -> ByteOff {
        self.byte(self.geo.cgtod(c))
    }

    async fn group_block(&mut self, c: Cgx) -> Result<Bytes, Error> {
        self.image.bytes(self.group_at(c), self.geo.cgsize as usize).await
    }

    /// Rule 9: checks whether the header is valid; returns how many inodes are initialised.
    pub(crate) async fn group_header(&mut self, c: Cgx) -> Result<u32, Error> {
        let bytes = self.group_block(c).await?;
        let is_old = self.is_old_group(&bytes);
        let head = CgHeader::load(&bytes, self.geo.endian);
        let finding = match &head {
            _ if is_old => None,
            Some(head) => self.header_damage(c, head, &bytes),
            None => None,
        };
        let ufs1 = self.geo.format == Format::Ufs1;
        if finding.is_none() {
            let stated = if ufs1 { self.geo.ipg } else { head.map_or(0, |head| head.initediblk) };
            return if self.wrong_hash(&bytes) { self.evident_inodes(c, stated).await } else { Ok(stated) };
        }
        if let Some((field, found, right)) = finding {
            self.find(Finding::GroupHeader { group: c.0, field, found, right });
        }
        if ufs1 { Ok(self.geo.ipg) } else { self.plausible_inodes(c).await }
    }

    fn is_old_group(&self, bytes: &[u8]) -> bool {
        let magic = |at| self.geo.endian.get_u32(bytes, at);
        self.geo.old_cg && magic(4) != Some(cg::MAGIC) && magic(OLD_MAGIC_AT) == Some(cg::MAGIC)
    }

    fn header_damage(&self, c: Cgx, head: &CgHeader, bytes: &[u8]) -> Option<(&'static str, i64, i64)> {
        let (geo, wrong) =
            (&self.geo, |field, found: i64, right: i64| (found != right).then_some((field, found, right)));
        let damage = wrong("cg_magic", head.magic.into(), cg::MAGIC.into())
            .or_else(|| wrong("cg_cgx", head.cgx.into(), c.0.into()))
            .or_else(|| wrong("cg_ndblk", head.ndblk.into(), geo.cg_ndblk(c).into()));
        if geo.format == Format::Ufs1 {
            let fits = geo.ipg <= 32767;
            return damage
                .or_else(|| if fits { wrong("cg_old_niblk", head.old_niblk.into(), geo.ipg.into()) } else { None });
        }
        let (inited, layout) = (head.initediblk, CgLayout::computed(geo, c));
        // Newfs initialises two blocks, and they never become uninitialised.
        let enough = (cg::first_inodes(geo)..=geo.ipg).contains(&inited);
        let whole = enough && (inited.is_multiple_of(geo.inopb) || inited == geo.ipg);
        let iused = bytes.get(layout.iusedoff as usize..).unwrap_or_default();
        let beyond = || map::first_set(iused, inited, geo.ipg);
        damage
            .or_else(|| wrong("cg_niblk", head.niblk.into(), geo.ipg.into()))
            .or_else(|| wrong("cg_iusedoff", head.iusedoff.into(), layout.iusedoff.into()))
            .or_else(|| (!whole).then_some(("cg_initediblk", inited.into(), geo.ipg.into())))
            .or_else(|| beyond().map(|i| ("cg_initediblk", inited.into(), i64::from(i) + 1)))
    }

    /// Initialised inodes of a group whose header looks valid. If its hash is wrong, the count may nevertheless be too
    /// small: an inode with a right hash proves that its block was written.
    async fn evident_inodes(&mut self, c: Cgx, stated: u32) -> Result<u32, Error> {
        let (geo, mut inited) = (self.geo.clone(), stated);
        if !geo.inode_hash {
            return Ok(stated);
        }
        for first in (stated..geo.ipg).step_by(geo.inopb as usize) {
            let at = geo.byte(FragNo(geo.cgimin(c).0 + u64::from(first / geo.inopb * geo.frag)));
            let (line, within) = self.image.line(at).await?;
            let mut inodes = line.get(within..).unwrap_or_default().chunks_exact(geo.dinode_size as usize);
            let sound = |bytes: &[u8]| {
                // Most blocks that were never written fail here, without computing a hash.
                if !is_known(geo.endian.get_u16(bytes, 0).unwrap_or(0)) {
                    return false;
                }
                Dinode::decode(bytes, &geo, Ino::ROOT).is_ok_and(|d| d.mode != 0 && d.check(&geo, Ino::ROOT).is_ok())
            };
            if inodes.by_ref().take(geo.inopb as usize).any(sound) {
                inited = first + geo.inopb;
            }
        }
        Ok(inited)
    }

    /// Inodes of a group whose header is lost: up to the first block that does not look like inodes.
    async fn plausible_inodes(&mut self, c: Cgx) -> Result<u32, Error> {
        let (geo, lax) = (self.geo.clone(), self.lax.clone());
        for block in 0..geo.ipg / geo.inopb {
            let first = block * geo.inopb;
            let at = geo.byte(FragNo(geo.cgimin(c).0 + u64::from(block * geo.frag)));
            let (line, within) = self.image.line(at).await?;
            let inodes = line.get(within..).unwrap_or_default().chunks_exact(geo.dinode_size as usize);
            for (bytes, i) in inodes.zip(first..first + geo.inopb) {
                let ino = Ino(c.0 * geo.ipg + i);
                let dinode = Dinode::decode(bytes, &lax, ino).unwrap_or_default();
                let hashed = !geo.inode_hash || Dinode::decode(bytes, &geo, ino).is_ok();
                let empty = dinode.size == 0 && dinode.db.iter().chain(&dinode.ib).all(|pointer| pointer.is_hole());
                let sound = if dinode.mode == 0 { empty } else { hashed && dinode.check(&geo, ino).is_ok() };
                // One damaged inode in the first blocks must not hide the others; those blocks are always initialised.
                if !sound && first >= cg::first_inodes(&geo) {
                    return Ok(first);
                }
            }
        }
        Ok(geo.ipg)
    }

    /// Phase 5.
    pub(crate) async fn check_groups(&mut self) -> Result<(), Error> {
        let (geo, mut total) = (self.geo.clone(), CsumTotal::default());
        let mut array = vec![0; geo.cssize as usize];
        self.image.read(self.byte(geo.csaddr), &mut array).await?;
        let mut right_array = array.clone();
        for c in (0..geo.ncg).map(Cgx) {
            self.step(Phase::Groups, c.0.into(), geo.ncg.into());
            if c.0 % crate::inodes::GROUPS_AHEAD == 0 {
                self.groups_ahead(c.0, 0).await?;
            }
            let right = self.check_group(c).await?;
            total = total.plus(right);
            let stored = csum::get(&array, c, geo.endian).unwrap_or_default();
            for (field, found, right) in differences(stored, right) {
                self.find(Finding::Summary { group: c.0, field, found, right });
            }
            let done = csum::put(&mut right_array, c, right, geo.endian);
            debug_assert!(done.is_some(), "the array has an entry for each group");
        }
        if array != right_array {
            self.image.write(self.byte(geo.csaddr), &right_array, Order::Groups).await?;
        }
        self.check_totals(total);
        self.count_usage(total);
        Ok(())
    }

    /// Checks rule 46.
    fn check_totals(&mut self, right: CsumTotal) {
        let found = self.sb.totals();
        let pairs = [
            ("ndir", found.ndir, right.ndir),
            ("nbfree", found.nbfree, right.nbfree),
            ("nifree", found.nifree, right.nifree),
            ("nffree", found.nffree, right.nffree),
        ];
        for (field, found, right) in pairs.into_iter().filter(|(_, found, right)| found != right) {
            self.find(Finding::Totals { field, found, right });
        }
        self.sb.set_totals(right);
    }

    fn count_usage(&mut self, total: CsumTotal) {
        let (geo, number) = (&self.geo, |n: i64| u64::try_from(n).unwrap_or(0));
        let free = number(total.nbfree) * u64::from(geo.frag) + number(total.nffree);
        let reserved: u64 = (0..geo.ncg).map(Cgx).fold(geo.csfrags().into(), |sum, c| {
            let first = if c.0 == 0 { FragNo(0) } else { geo.cgsblock(c) };
            sum + (geo.cgdmin(c).0 - first.0)
        });
        self.report.usage = crate::Usage {
            files: geo.inodes().saturating_sub(number(total.nifree)).saturating_sub(2),
            directories: number(total.ndir),
            used_frags: geo.size.saturating_sub(free).saturating_sub(reserved),
            free_blocks: number(total.nbfree),
            free_frags: number(total.nffree),
            free_inodes: number(total.nifree),
            data_frags: geo.size.saturating_sub(reserved),
            frag_bytes: geo.fsize,
        };
    }

    async fn check_group(&mut self, c: Cgx) -> Result<Csum, Error> {
        let found = self.group_block(c).await?;
        let stored = CgHeader::load(&found, self.geo.endian);
        let (layout, mut right) = match stored {
            Some(_) if self.is_old_group(&found) => (self.old_layout(c, &found), found.to_vec()),
            Some(head) => self.right_header(c, &head, &found),
            None => (CgLayout::computed(&self.geo, c), found.to_vec()),
        };
        let ndir = self.fill_maps(c, &mut right, layout);
        let same = *found == *right;
        if !same {
            self.compare(c, &found, &right, layout, ndir);
        }
        let cs = Cg::new(&right, layout, self.geo.endian).map(|cg| cg.cs()).unwrap_or_default();
        let hash = self.wrong_hash(&found);
        if hash {
            self.find(Finding::GroupHash { group: c.0 });
        }
        if !same || hash {
            drop(found);
            cg::seal(&mut right, &self.geo, self.now);
            self.image.write(self.group_at(c), &right, Order::Groups).await?;
        }
        Ok(cs)
    }

    fn wrong_hash(&self, bytes: &[u8]) -> bool {
        self.geo.cg_hash && self.geo.endian.get_u32(bytes, 132) != Some(ordo_ondisk::check_hash_without(bytes, 132))
    }

    /// 4.2BSD's layout, or, if even that does not fit, today's.
    fn old_layout(&self, c: Cgx, bytes: &[u8]) -> CgLayout {
        cg::check(bytes, &self.geo, c).unwrap_or_else(|_| CgLayout::computed(&self.geo, c))
    }

    /// The block with the right header, and with unchanged values for everything that no phase recomputes.
    fn right_header(&self, c: Cgx, head: &CgHeader, found: &[u8]) -> (CgLayout, Vec<u8>) {
        let geo = &self.geo;
        let inited = self.groups.get(c.0 as usize).map_or(0, |group| group.inited);
        let layout = CgLayout::computed(geo, c);
        let template = cg::header(geo, c, inited);
        let same_maps = (head.iusedoff, head.freeoff, head.clusteroff)
            == (template.iusedoff, template.freeoff, template.clusteroff)
            && head.clustersumoff == template.clustersumoff;
        let hint = |value: u32, limit: u32| if value < limit { value } else { 0 };
        let right = CgHeader {
            firstfield: head.firstfield,
            old_time: head.old_time,
            time: head.time,
            rotor: hint(head.rotor, layout.ndblk),
            frotor: hint(head.frotor, layout.ndblk),
            irotor: hint(head.irotor, geo.ipg),
            unrefs: head.unrefs,
            sparecon32: head.sparecon32,
            sparecon64: head.sparecon64,
            ckhash: head.ckhash,
            // The last group may have fewer cylinders, and NetBSD's newfs stores 0 there if none are left over.
            old_ncyl: if (0..=template.old_ncyl).contains(&head.old_ncyl) { head.old_ncyl } else { template.old_ncyl },
            // A group with more inodes than fit in 16 bits keeps the value of its own system.
            old_niblk: if geo.ipg > 32767 { head.old_niblk } else { template.old_niblk },
            ..template
        };
        // If the maps are at their places, what is beside them stays; otherwise the block is built from zeroes.
        let mut bytes = if same_maps { found.to_vec() } else { cg::init(geo, c, inited) };
        let done = right.store(&mut bytes, geo.endian);
        debug_assert!(done.is_some(), "a group's block holds its header");
        (layout, bytes)
    }

    /// Writes the maps and all counts; returns the number of directories.
    fn fill_maps(&self, c: Cgx, bytes: &mut [u8], layout: CgLayout) -> i32 {
        let Some(mut block) = CgMut::new(bytes, layout, self.geo.endian) else { return 0 };
        let base = self.geo.cgbase(c).0;
        // Bits beyond the end of the group are 0, and those of `used` beyond the volume read as free.
        let word = |first: u32| {
            let within = match layout.ndblk.saturating_sub(first) {
                count @ 0..64 => (1 << count) - 1,
                _ => u64::MAX,
            };
            (!self.used.run(base + u64::from(first), 64) & within).to_le_bytes()
        };
        let (whole, rest) = block.free_mut().as_chunks_mut::<8>();
        let last = word(whole.len() as u32 * 64);
        whole.iter_mut().zip((0..).step_by(64)).for_each(|(to, first)| *to = word(first));
        rest.iter_mut().zip(last).for_each(|(to, from)| *to = from);
        let ndir = self.fill_inodes(c, block.iused_mut(), layout.ipg);
        block.rebuild_counts(ndir);
        if !layout.old {
            block.clear_gaps();
        }
        ndir
    }

    /// Writes the map of inodes in use; returns the number of directories.
    fn fill_inodes(&self, c: Cgx, iused: &mut [u8], ipg: u32) -> i32 {
        let group = self.groups.get(c.0 as usize).map(|group| group.inodes.as_slice()).unwrap_or_default();
        map::fill(iused, 0, ipg, false);
        let mut ndir = 0;
        for (known, index) in group.iter().zip(0..ipg).filter(|(known, _)| known.state != InodeState::Free) {
            map::set(iused, index);
            ndir += i32::from(known.state == InodeState::Dir);
        }
        ndir
    }

    /// Reports the differences.
    fn compare(&mut self, c: Cgx, found: &[u8], right: &[u8], layout: CgLayout, ndir: i32) {
        let (endian, group) = (self.geo.endian, c.0);
        let (Some(was), Some(is)) = (CgHeader::load(found, endian), CgHeader::load(right, endian)) else { return };
        if !layout.old {
            for (field, found, right) in header_fields(&was).into_iter().zip(header_fields(&is)).filter_map(differ) {
                self.find(Finding::GroupField { group, field, found, right });
            }
        }
        if !layout.old {
            let differs = |at: &usize| found.get(*at) != right.get(*at);
            let mut wrong = layout.gaps().into_iter().flatten().filter(differs);
            if let Some(first) = wrong.next() {
                self.find(Finding::GroupGap { group, wrong: wrong.count() as u32 + 1, first: first as u32 });
            }
        }
        let (Some(was), Some(is)) = (Cg::new(found, layout, endian), Cg::new(right, layout, endian)) else { return };
        let softdep = self.sb.features().softdep;
        if ndir > was.ndir() && softdep {
            let finding = Finding::LostDirectories { group, found: ndir.unsigned_abs(), recorded: was.ndir() };
            self.find(finding);
        }
        for (field, found, right) in differences(was.cs(), is.cs()) {
            self.find(Finding::GroupCounts { group, field, found, right });
        }
        for run in (1..self.geo.frag).filter(|&run| was.frsum(run) != is.frsum(run)) {
            self.find(Finding::FragmentSums { group, run, found: was.frsum(run), right: is.frsum(run) });
        }
        for run in (1..=layout.contigsumsize).filter(|&run| was.clustersum(run) != is.clustersum(run)) {
            self.find(Finding::ClusterSums { group, run, found: was.clustersum(run), right: is.clustersum(run) });
        }
        self.compare_maps(c, was, is);
    }

    fn compare_maps(&mut self, c: Cgx, was: Cg<'_>, is: Cg<'_>) {
        let (group, base) = (c.0, self.geo.cgbase(c).0);
        if let Some((wrong, first)) = different_bits(was.iused(), is.iused(), |was, is| was ^ is) {
            let in_use = different_bits(was.iused(), is.iused(), |was, is| is & !was).map_or(0, |(in_use, _)| in_use);
            self.find(Finding::InodeMap { group, wrong, first, in_use });
        }
        if let Some((wrong, first)) = different_bits(was.free(), is.free(), |was, is| was & !is) {
            self.find(Finding::FragmentsInUse { group, wrong, first: base + u64::from(first) });
        }
        if let Some((wrong, first)) = different_bits(was.free(), is.free(), |was, is| is & !was) {
            self.find(Finding::FragmentsLeaked { group, wrong, first: base + u64::from(first) });
        }
        if let Some((wrong, first)) = different_bits(was.clusters(), is.clusters(), |was, is| was ^ is) {
            self.find(Finding::ClusterMap { group, wrong, first });
        }
    }
}

/// True if the mode has one of the seven types.
fn is_known(mode: u16) -> bool {
    matches!(mode & 0o170_000, mode::FIFO | mode::CHR | mode::DIR | mode::BLK | mode::REG | mode::LNK | mode::SOCK)
}

type Field = (&'static str, i64);

fn differ((found, right): (Field, Field)) -> Option<(&'static str, i64, i64)> {
    (found.1 != right.1).then_some((found.0, found.1, right.1))
}

fn header_fields(head: &CgHeader) -> [Field; 17] {
    [
        ("cg_magic", head.magic.into()),
        ("cg_cgx", head.cgx.into()),
        ("cg_old_ncyl", head.old_ncyl.into()),
        ("cg_old_niblk", head.old_niblk.into()),
        ("cg_ndblk", head.ndblk.into()),
        ("cg_rotor", head.rotor.into()),
        ("cg_frotor", head.frotor.into()),
        ("cg_irotor", head.irotor.into()),
        ("cg_old_btotoff", head.old_btotoff.into()),
        ("cg_old_boff", head.old_boff.into()),
        ("cg_iusedoff", head.iusedoff.into()),
        ("cg_freeoff", head.freeoff.into()),
        ("cg_nextfreeoff", head.nextfreeoff.into()),
        ("cg_clustersumoff", head.clustersumoff.into()),
        ("cg_clusteroff", head.clusteroff.into()),
        ("cg_nclusterblks", head.nclusterblks.into()),
        ("cg_niblk and cg_initediblk", i64::from(head.niblk) << 32 | i64::from(head.initediblk)),
    ]
}

fn differences(found: Csum, right: Csum) -> Vec<(&'static str, i64, i64)> {
    let fields = |cs: Csum| {
        [
            ("ndir", cs.ndir.into()),
            ("nbfree", cs.nbfree.into()),
            ("nifree", cs.nifree.into()),
            ("nffree", cs.nffree.into()),
        ]
    };
    fields(found).into_iter().zip(fields(right)).filter_map(differ).collect()
}

/// How many bits `of` selects from two maps of one length, word by word, and the first of them.
fn different_bits(was: &[u8], is: &[u8], of: impl Fn(u64, u64) -> u64) -> Option<(u32, u32)> {
    let (mut wrong, mut first) = (0, None);
    for ((was, is), start) in map::words(was).zip(map::words(is)).zip((0..).step_by(64)) {
        let bits = of(was, is);
        if bits != 0 {
            wrong += bits.count_ones();
            first.get_or_insert(start + bits.trailing_zeros());
        }
    }
    first.map(|first| (wrong, first))
}
