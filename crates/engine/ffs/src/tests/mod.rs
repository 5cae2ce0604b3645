//! Files against a simple model in memory: what is written is read back, what is truncated is gone, and at the end the
//! maps are as they were.

pub(crate) mod testing;

use ordo_buf::Key;
use ordo_ondisk::superblock::newfs::NewfsParams;
use ordo_ondisk::{FragNo, Ino, Lbn};
use ordo_ufs::{Inode, Layout, Mapped};
use ordo_vfs::{Error, Kind, Refusal};
use testing::{Bench, NOBODY, SOMEBODY, shapes};

/// A file, and its expected contents: the stored blocks by number.
struct Expected {
    size: u64,
    blocks: std::collections::BTreeMap<u64, Vec<u8>>,
}

struct File<'a> {
    bench: &'a Bench,
    inode: Inode,
    expected: Expected,
}

impl<'a> File<'a> {
    fn new(bench: &'a Bench) -> File<'a> {
        let inode = bench.create(Kind::Regular);
        File { bench, inode, expected: Expected { size: 0, blocks: Default::default() } }
    }

    fn bsize(&self) -> u64 {
        self.bench.ffs.g.bsize.into()
    }

    fn write(&mut self, at: u64, len: usize, seed: u8) -> ordo_vfs::Result<()> {
        let (bench, bsize) = (self.bench, self.bsize());
        let data: Vec<u8> = (0..len).map(|i| (i as u8).wrapping_mul(31) ^ seed).collect();
        let mut done = 0;
        while done < len {
            let (lbn, from) = ((at + done as u64) / bsize, ((at + done as u64) % bsize) as usize);
            let n = (len - done).min(bsize as usize - from);
            let piece = &data[done..done + n];
            let mut fill = |block: &mut [u8]| block[from..from + n].copy_from_slice(piece);
            let write =
                bench.ffs.write_block(bench.op, &SOMEBODY, &self.inode, Lbn(lbn as i64), from, from + n, &mut fill);
            bench.rt.block_on(write)?;
            let block = self.expected.blocks.entry(lbn).or_insert_with(|| vec![0; bsize as usize]);
            block[from..from + n].copy_from_slice(piece);
            done += n;
            self.expected.size = self.expected.size.max(at + done as u64);
        }
        Ok(())
    }

    fn truncate(&mut self, size: u64) {
        let bench = self.bench;
        bench.rt.block_on(bench.ffs.truncate(bench.op, &SOMEBODY, &self.inode, size)).unwrap();
        let bsize = self.bsize();
        self.expected.size = size;
        self.expected.blocks.retain(|lbn, _| lbn * bsize < size);
        if size > 0 {
            let last = self.expected.blocks.entry((size - 1) / bsize).or_insert_with(|| vec![0; bsize as usize]);
            last[((size - 1) % bsize + 1) as usize..].fill(0);
        }
    }

    fn punch(&mut self, from: u64, to: u64) {
        let bench = self.bench;
        bench.rt.block_on(bench.ffs.punch(bench.op, &self.inode, Lbn(from as i64), Lbn(to as i64))).unwrap();
        let last = self.expected.size.div_ceil(self.bsize()) - 1;
        if (from..to).contains(&last) {
            self.expected.blocks.entry(last).and_modify(|block| block.fill(0));
        }
        self.expected.blocks.retain(|lbn, _| !(from..to).contains(lbn) || *lbn == last);
    }

    /// What is stored, where, and how much of it: as expected, and the same on another mount of the volume.
    fn check(&self) {
        self.check_in(self.bench, &self.inode);
        self.bench.check_counts();
    }

    fn check_in(&self, bench: &Bench, inode: &Inode) {
        let (ffs, g) = (&bench.ffs, &bench.ffs.g);
        assert_eq!(inode.size(), self.expected.size);
        let bsize = u64::from(g.bsize);
        let mut frags = 0;
        for (&lbn, block) in &self.expected.blocks {
            let stored = bench.rt.block_on(ffs.block(inode, Lbn(lbn as i64))).unwrap();
            let stored = stored.unwrap_or_else(|| panic!("block {lbn} is not stored"));
            assert_eq!(stored.len() as u32, g.blksize(self.expected.size, lbn), "block {lbn}");
            assert_eq!(stored.bytes()[..], block[..stored.len()], "block {lbn}");
            frags += stored.len() as u64 / u64::from(g.fsize);
        }
        let mut mapped = std::collections::BTreeSet::new();
        let (mut lbn, end) = (0, self.expected.size.div_ceil(bsize));
        while lbn < end {
            match bench.rt.block_on(ffs.map(inode, Lbn(lbn as i64), end - lbn)).unwrap() {
                Mapped::Hole { blocks } => lbn += blocks,
                Mapped::Unplaced { .. } => panic!("FFS places each block at once"),
                Mapped::Stored { blocks, .. } => {
                    mapped.extend(lbn..lbn + blocks);
                    lbn += blocks;
                }
            }
        }
        assert!(mapped.iter().eq(self.expected.blocks.keys()), "mapped {mapped:?}");
        let indirect = self.indirect_blocks();
        let sectors = (frags + indirect * u64::from(g.frag)) * u64::from(g.fsize / 512);
        assert_eq!(inode.dinode().blocks, sectors);
    }

    /// How many indirect blocks the stored blocks need.
    fn indirect_blocks(&self) -> u64 {
        let paths = self.expected.blocks.keys().filter_map(|&lbn| self.bench.ffs.g.path(Lbn(lbn as i64)));
        let names: std::collections::BTreeSet<i64> =
            paths.flat_map(|path| path.indirects().map(|(name, _)| name.0).collect::<Vec<_>>()).collect();
        names.len() as u64
    }

    fn release(self) {
        self.bench.rt.block_on(self.bench.ffs.release(self.bench.op, &self.inode)).unwrap();
        let mut left = self.bench.ffs.cache.unsettled_of(self.inode.ino());
        left.retain(|buf| buf.is_dirty());
        assert!(left.is_empty(), "would be written over the next owner: {left:?}");
    }
}

/// Writes everything out and mounts the volume again.
fn remount(bench: &Bench) -> Bench {
    bench.rt.block_on(bench.ffs.unmount()).unwrap();
    let scheme = std::rc::Rc::new(crate::tests::testing::Plain::default());
    Bench::mount(ordo_rt::Rt::virtual_time(2), bench.disk.snapshot(), scheme, &crate::Opening::default())
}

fn on_every_volume(f: impl Fn(&Bench)) {
    for shape in shapes() {
        let bench = Bench::new(&shape);
        let before = bench.maps();
        f(&bench);
        bench.check_counts();
        assert_eq!(bench.maps(), before, "everything was given back");
        assert_eq!(bench.ffs.cache.ledger().outstanding(), 0);
    }
}

#[test]
fn a_file_grows_through_fragments_blocks_and_indirect_levels() {
    on_every_volume(|bench| {
        let mut file = File::new(bench);
        let (bsize, fsize) = (file.bsize(), u64::from(bench.ffs.g.fsize));
        let mut at = 0;
        for (i, step) in
            [1, fsize - 1, fsize, fsize * 2 + 7, bsize, 3 * bsize - 5, 6 * bsize, 4 * bsize].iter().enumerate()
        {
            file.write(at, *step as usize, i as u8).unwrap();
            at += step;
            file.check();
        }
        // Into the double and the triple indirect levels, with holes before them.
        let n = u64::from(bench.ffs.g.nindir);
        for lbn in [12 + n, 12 + n + 5 * n + 3, 12 + n + n * n] {
            if lbn * bsize + 100 <= bench.ffs.g.maxfilesize {
                file.write(lbn * bsize + 17, 50, lbn as u8).unwrap();
                file.check();
            }
        }
        let again = remount(bench);
        file.check_in(&again, &again.load(file.inode.ino()));
        file.release();
    });
}

#[test]
fn seeded_writes_cuts_and_holes_leave_what_is_expected() {
    on_every_volume(|bench| {
        let mut rng = ordo_rt::Rng::new(11);
        let mut file = File::new(bench);
        let bsize = file.bsize();
        let n = u64::from(bench.ffs.g.nindir);
        for round in 0..150u64 {
            let far = *[14, 40, 12 + n + 3, 12 + n + 2 * n].get(rng.below(4) as usize).unwrap();
            let at = rng.below(far * bsize);
            match rng.below(8) {
                0..4 => file.write(at, 1 + rng.below(2 * bsize) as usize, round as u8).unwrap(),
                4 => file.truncate(at),
                5 => file.truncate(file.expected.size / 2),
                6 if file.expected.size > 0 => {
                    let from = rng.below(file.expected.size / bsize + 1);
                    file.punch(from, from + rng.below(20));
                }
                _ => {}
            }
            if round % 10 == 0 {
                file.check();
            }
        }
        file.check();
        let again = remount(bench);
        file.check_in(&again, &again.load(file.inode.ino()));
        file.release();
    });
}

#[test]
fn two_files_that_grow_in_turns_get_their_own_fragments() {
    on_every_volume(|bench| {
        let (mut one, mut two) = (File::new(bench), File::new(bench));
        let fsize = u64::from(bench.ffs.g.fsize);
        for i in 0..40 {
            one.write(i * fsize, fsize as usize, 1).unwrap();
            two.write(i * (fsize - 3), fsize as usize - 3, 2).unwrap();
        }
        one.check();
        two.check();
        one.truncate(3 * fsize + 1);
        two.truncate(0);
        one.check();
        two.check();
        one.release();
        two.release();
    });
}

#[test]
fn growing_by_truncation_stores_the_last_block_only() {
    on_every_volume(|bench| {
        let mut file = File::new(bench);
        let bsize = file.bsize();
        file.write(0, 100, 9).unwrap();
        file.truncate(30 * bsize + 5);
        assert_eq!(file.expected.blocks.len(), 2);
        file.check();
        // Truncated to the middle of a hole: the file must not end in it.
        file.truncate(5 * bsize + 1);
        file.check();
        file.release();
    });
}

#[test]
fn a_volume_without_room_refuses_and_is_as_before() {
    for shape in shapes() {
        let bench = Bench::new(&shape);
        let mut file = File::new(&bench);
        let (bsize, n) = (file.bsize(), u64::from(bench.ffs.g.nindir));
        file.write(0, 100, 1).unwrap();
        // Fill the volume, so that the m-th fragment from now on cannot be allocated, for every small m.
        let mut hog = File::new(&bench);
        let mut at = 0;
        while hog.write(at, bsize as usize, 3).is_ok() {
            at += bsize;
        }
        let frag = u64::from(bench.ffs.g.frag);
        for spare in 0..4 * frag {
            let before = (bench.maps(), file.inode.dinode().clone(), bench.ffs.summary.total());
            let far = 12 + n + 1;
            let outcome = file.write(far * bsize, bsize as usize, 7);
            if outcome.is_ok() {
                assert!(spare >= 3 * frag);
                break;
            }
            assert!(matches!(outcome, Err(Error::Refused(Refusal::NoSpace))), "{outcome:?}");
            assert_eq!((bench.maps(), file.inode.dinode().clone(), bench.ffs.summary.total()), before);
            file.check();
            let size = hog.expected.size - u64::from(bench.ffs.g.fsize);
            hog.truncate(size);
        }
        file.check();
    }
}

#[test]
fn a_block_that_cannot_be_written_is_given_back() {
    on_every_volume(|bench| {
        let (bsize, n) = (u64::from(bench.ffs.g.bsize), u64::from(bench.ffs.g.nindir));
        let fsize = u64::from(bench.ffs.g.fsize);
        // A fragment that grows, once in place and once by moving (the one behind it is another file's); new blocks,
        // direct and behind one, two and three new indirect ones.
        let (mut file, mut other) = (File::new(bench), File::new(bench));
        file.write(0, fsize as usize, 1).unwrap();
        for (at, len) in
            [(0, 2 * fsize), (0, 3 * fsize), (3 * bsize, bsize), (13 * bsize, 7), ((12 + n) * bsize, bsize)]
        {
            for left in 0..4 {
                let before = (bench.maps(), file.inode.dinode().clone());
                bench.scheme.ready_left.set(Some(left));
                let outcome = file.write(at, len.min(bsize) as usize, 1);
                bench.scheme.ready_left.set(None);
                if outcome.is_ok() {
                    break;
                }
                // A fragment that became whole meanwhile stays whole.
                if file.inode.dinode().size == before.1.size {
                    assert_eq!((bench.maps(), file.inode.dinode().clone()), before);
                }
                file.expected.size = file.inode.size();
                file.check();
            }
            if at == 0 {
                other.write(0, fsize as usize, 2).unwrap();
            }
        }
        file.release();
        other.release();
    });
}

#[test]
fn a_large_file_shrinks_piece_by_piece() {
    on_every_volume(|bench| {
        let mut file = File::new(bench);
        let (bsize, n) = (file.bsize(), u64::from(bench.ffs.g.nindir));
        for lbn in [3, 14, 12 + n + 1, 12 + n + 2 * n] {
            file.write(lbn * bsize, 10, 1).unwrap();
        }
        bench.scheme.sizes.borrow_mut().clear();
        file.truncate(2 * bsize + 1);
        // Of the direct blocks only 3 and, since the file must not end in a hole, 2 are stored.
        let steps = [12 + 3 * n, 12 + n, 4].map(|lbn| lbn * bsize);
        let sizes = bench.scheme.sizes.borrow().clone();
        assert_eq!(sizes[sizes.len() - 4..], [steps[0], steps[1], steps[2], 2 * bsize + 1]);
        file.check();
        file.release();
    });
}

#[test]
fn the_reserve_is_for_the_privileged_only() {
    let bench = Bench::ufs2();
    let mut hog = File::new(&bench);
    let (bsize, ffs) = (hog.bsize(), &bench.ffs);
    let mut at = 0;
    while ffs.free_space(false) > 2 * i64::from(ffs.g.frag) {
        hog.write(at, bsize as usize, 3).unwrap();
        at += bsize;
    }
    let small = bench.create(Kind::Regular);
    let write = |who, lbn| {
        bench
            .rt
            .block_on(ffs.write_block(bench.op, who, &small, Lbn(lbn), 0, bsize as usize, &mut |block| block.fill(1)))
    };
    let refused = (0..4).map(|lbn| write(&NOBODY, lbn)).find_map(Result::err);
    assert!(matches!(refused, Some(Error::Refused(Refusal::NoSpace))));
    assert!(write(&SOMEBODY, 5).is_ok());
    let space = ffs.statfs();
    assert_eq!(space.avail_frags, 0);
    assert!(space.free_frags > 0);
}

#[test]
fn inodes_run_out_and_come_back_with_another_generation() {
    let shape = NewfsParams { density: Some(65536), ..shapes()[1].clone() };
    let bench = Bench::new(&shape);
    let root = bench.load(Ino::ROOT);
    let before = bench.maps();
    let free = bench.ffs.summary.total().nifree;
    let all: Vec<Inode> = (0..free).map(|_| bench.create(Kind::Regular)).collect();
    let more = bench.rt.block_on(bench.ffs.alloc_inode(bench.op, &root, Kind::Regular));
    assert!(matches!(more.map(|new| new.ino), Err(Error::Refused(Refusal::NoInodes))));
    bench.check_counts();
    let (ino, generation) = (all[9].ino(), all[9].dinode().gen_);
    for inode in &all {
        bench.rt.block_on(bench.ffs.release(bench.op, inode)).unwrap();
    }
    assert_eq!(bench.maps(), before);
    assert!(matches!(bench.rt.block_on(bench.ffs.load(ino)).err(), Some(Error::Refused(Refusal::Stale))));
    let again: Vec<Inode> = (0..free).map(|_| bench.create(Kind::Regular)).collect();
    let reused = again.iter().find(|inode| inode.ino() == ino).unwrap();
    assert_eq!(reused.dinode().gen_, generation.wrapping_add(1).max(1));
}

#[test]
fn a_new_block_of_inodes_is_told_before_its_group_counts_it() {
    let bench = Bench::new(&shapes()[5]);
    let g = bench.ffs.g.clone();
    let root = bench.load(Ino::ROOT);
    let ready = |bench: &Bench, c| {
        let group = bench.rt.block_on(bench.ffs.group(c)).unwrap();
        group.look(&bench.ffs, |cg| cg.initediblk())
    };
    let c = g.ino_to_cg(Ino::ROOT);
    let first = ready(&bench, c);
    assert!(first < g.ipg);
    while ready(&bench, c) == first {
        bench.rt.block_on(bench.ffs.alloc_inode(bench.op, &root, Kind::Regular)).unwrap();
    }
    assert_eq!(ready(&bench, c), first + g.inopb);
    let block = Key::Device(g.cgimin(c).plus(first / g.inopb * g.frag));
    assert_eq!(*bench.scheme.inodes_told.borrow(), [block, Key::Device(g.cgtod(c))]);
    let told = bench.ffs.cache.find(block).expect("it is new");
    assert_ne!(told.bytes()[80..84], [0; 4], "a generation");
}

#[test]
fn attributes_grow_in_place_then_move_and_go() {
    for shape in shapes().into_iter().filter(|shape| shape.format == ordo_ondisk::Format::Ufs2) {
        let bench = Bench::new(&shape);
        let before = bench.maps();
        let file = File::new(&bench);
        let (ffs, g) = (&bench.ffs, &bench.ffs.g);
        let area = |value: usize| {
            let user = ordo_ondisk::extattr::Namespace(1);
            let value = vec![5; value];
            ordo_ondisk::extattr::with(&[], &**g, file.inode.ino(), user, b"name", Some(&value)).unwrap().unwrap()
        };
        let set = |area: &[u8]| bench.rt.block_on(ffs.set_attributes(bench.op, &SOMEBODY, &file.inode, area, None));
        let get = || bench.rt.block_on(ffs.attributes(&file.inode)).unwrap();
        let bsize = g.bsize as usize;
        for value in [3, 100, g.fsize as usize + 9, 40, bsize - 64, bsize + 300, 2 * bsize - 200, 60] {
            let area = area(value);
            set(&area).unwrap();
            assert_eq!(get(), area);
            bench.check_counts();
        }
        assert!(matches!(set(&vec![0; 2 * bsize + 8]), Err(Error::Refused(Refusal::AttributeTooBig))));
        // The same records with another byte: in place, but not where the mode belongs to them.
        let (at, mut other) = (file.inode.dinode().extb, area(60));
        *other.last_mut().unwrap() ^= 1;
        set(&other).unwrap();
        assert_eq!(file.inode.dinode().extb, at);
        let same = area(60);
        let rights = ffs.set_attributes(bench.op, &SOMEBODY, &file.inode, &same, Some(0o640));
        bench.rt.block_on(rights).unwrap();
        assert_ne!(file.inode.dinode().extb, at);
        assert_eq!(file.inode.dinode().mode & 0o777, 0o640);
        bench.check_counts();
        let again = remount(&bench);
        let inode = again.load(file.inode.ino());
        assert_eq!(again.rt.block_on(again.ffs.attributes(&inode)).unwrap(), area(60));
        set(&[]).unwrap();
        assert_eq!((get().len(), file.inode.dinode().blocks, file.inode.dinode().extb), (0, 0, [FragNo::HOLE; 2]));
        file.release();
        assert_eq!(bench.maps(), before);
    }
    let bench = Bench::ufs1();
    let file = File::new(&bench);
    let refused = bench.rt.block_on(bench.ffs.set_attributes(bench.op, &SOMEBODY, &file.inode, &[0; 8], None));
    assert!(matches!(refused, Err(Error::Refused(Refusal::NotSupported))));
}

#[test]
fn scattered_dirty_blocks_are_brought_together() {
    for shape in shapes().into_iter().filter(|shape| shape.maxcontig != Some(1)) {
        let bench = Bench::new(&shape);
        if bench.ffs.g.contigsumsize < 4 {
            continue;
        }
        let (mut one, mut two) = (File::new(&bench), File::new(&bench));
        let bsize = one.bsize();
        // Two files alternately: neither is contiguous.
        for i in 0..20 {
            one.write(i * bsize, bsize as usize, 1).unwrap();
            two.write(i * bsize, bsize as usize, 2).unwrap();
        }
        bench.rt.block_on(bench.ffs.gather_cluster(bench.op, &one.inode, Lbn(0), Lbn(20))).expect("there is room");
        for from in [0, 12, 16] {
            let mapped = bench.rt.block_on(bench.ffs.map(&one.inode, Lbn(from), 4)).unwrap();
            assert!(matches!(mapped, Mapped::Stored { blocks: 4, .. }), "{mapped:?}");
        }
        one.check();
        two.check();
        let again = remount(&bench);
        one.check_in(&again, &again.load(one.inode.ino()));
    }
}

#[test]
fn what_another_system_left_behind_the_end_never_shows() {
    on_every_volume(|bench| {
        let mut file = File::new(bench);
        let (bsize, fsize) = (file.bsize() as usize, bench.ffs.g.fsize as usize);
        for (end, next) in [(10, 20), (fsize - 1, 2 * bsize), (5 * bsize - 3, 5 * bsize + 1)] {
            file.truncate(0);
            file.write(0, end, 1).unwrap();
            let last = Lbn(((end - 1) / bsize) as i64);
            let block = bench.rt.block_on(bench.ffs.block(&file.inode, last)).unwrap().unwrap();
            bench.ffs.cache.modify(&block, |bytes| bytes[end - last.0 as usize * bsize..].fill(0xee));
            if block.len() == bsize && next > (last.0 as usize + 1) * bsize {
                // A last block that was whole is not read when the file grows past it.
                continue;
            }
            file.write(next as u64, 5, 2).unwrap();
            let block = bench.rt.block_on(bench.ffs.block(&file.inode, last)).unwrap().unwrap();
            let seen = (next + 5 - last.0 as usize * bsize).min(bsize);
            assert_eq!(block.bytes()[..seen], file.expected.blocks[&(last.0 as u64)][..seen]);
        }
        file.release();
    });
}

#[test]
fn a_wild_pointer_is_named_and_not_followed() {
    on_every_volume(|bench| {
        let mut file = File::new(bench);
        let bsize = file.bsize();
        file.write(0, bsize as usize * 14, 1).unwrap();
        let (good, superblock) = (file.inode.dinode().db[3], bench.ffs.g.cgsblock(ordo_ondisk::Cgx(0)));
        for bad in [FragNo(u64::MAX), FragNo(bench.ffs.g.size), FragNo(1), superblock] {
            bench.ffs.cache.discard_key(ordo_buf::Key::File(file.inode.ino(), Lbn(3)));
            file.inode.dinode_mut().db[3] = bad;
            let read = bench.rt.block_on(bench.ffs.block(&file.inode, Lbn(3))).map(drop);
            let said = read.unwrap_err().to_string();
            assert!(said.contains(&format!("inode {}", file.inode.ino().0)) && said.contains("block 3"), "{said}");
            let cut = bench.rt.block_on(bench.ffs.truncate(bench.op, &SOMEBODY, &file.inode, 0));
            assert!(matches!(cut, Err(Error::Corrupt(_))));
            file.inode.dinode_mut().size = 12 * bsize;
        }
        file.inode.dinode_mut().db[3] = good;
        file.release();
    });
}

#[test]
fn data_across_a_border_is_read_and_never_grown_cut_or_freed() {
    on_every_volume(|bench| {
        let g = bench.ffs.g.clone();
        if g.frag == 1 {
            return;
        }
        let mut file = File::new(bench);
        let tail = u64::from(g.fsize) * 2 - 5;
        let tail = if g.frag == 2 { u64::from(g.fsize) } else { tail };
        file.write(0, file.bsize() as usize + tail as usize, 1).unwrap();
        // The bytes stay where they are: what is looked at is where the pointer leads.
        let good = file.inode.dinode().db[1];
        let across = FragNo(g.blknum(good).0 + u64::from(g.frag) - 1);
        let is_tail = g.blkfrags(file.inode.size(), 1) > 1;
        let lbn = Lbn(1);
        bench.ffs.cache.discard_key(ordo_buf::Key::File(file.inode.ino(), lbn));
        file.inode.dinode_mut().db[1] = across;
        let read = bench.rt.block_on(bench.ffs.block(&file.inode, lbn));
        assert!(read.is_ok(), "{:?}", read.err().map(|error| error.to_string()));
        if is_tail {
            let size = file.inode.size();
            let refused = |outcome: ordo_vfs::Result<()>| {
                let said = outcome.unwrap_err().to_string();
                assert!(said.contains("border of two blocks") && said.contains("fsck -y"), "{said}");
            };
            let before = read.unwrap().unwrap().bytes().to_vec();
            for to in [0, 1, file.bsize() + 1] {
                refused(bench.rt.block_on(bench.ffs.truncate(bench.op, &SOMEBODY, &file.inode, to)));
            }
            refused(bench.rt.block_on(bench.ffs.truncate(bench.op, &SOMEBODY, &file.inode, size + file.bsize())));
            refused(bench.rt.block_on(bench.ffs.punch(bench.op, &file.inode, Lbn(0), Lbn(2))));
            refused(bench.rt.block_on(bench.ffs.release(bench.op, &file.inode)));
            assert_eq!((file.inode.size(), file.inode.dinode().db[1]), (size, across));
            let now = bench.rt.block_on(bench.ffs.block(&file.inode, lbn)).unwrap().unwrap();
            assert!(now.bytes()[..] == before[..], "a refused call changed bytes");
        }
        bench.ffs.cache.discard_key(ordo_buf::Key::File(file.inode.ino(), lbn));
        file.inode.dinode_mut().db[1] = good;
        file.release();
    });
}

#[test]
fn what_is_free_cannot_be_freed_again() {
    let bench = Bench::ufs2();
    let free = bench.ffs.g.cgdata(ordo_ondisk::Cgx(1));
    let blocks = ordo_buf::Freed::Blocks { ino: Ino(9), runs: vec![(free, 1)] };
    assert!(matches!(bench.rt.block_on(bench.ffs.free(blocks)), Err(Error::Corrupt(_))));
    let inode = ordo_buf::Freed::Inode { ino: Ino(99), directory: false };
    assert!(matches!(bench.rt.block_on(bench.ffs.free(inode)), Err(Error::Corrupt(_))));
    bench.check_counts();
    // The volume needs a check now, and its superblock says so.
    let again = remount_found(&bench);
    assert!(!again.superblock.is_clean());
}

#[test]
fn a_group_whose_map_contradicts_its_counts_is_left_alone() {
    let bench = Bench::ufs2();
    let mut file = File::new(&bench);
    let home = bench.ffs.g.ino_to_cg(file.inode.ino());
    let group = bench.rt.block_on(bench.ffs.group(home)).unwrap();
    group.change(&bench.ffs, |cg| cg.free_mut().fill(0));
    file.write(0, 5000, 1).unwrap();
    assert!(bench.ffs.summary.is_bad(home));
    assert_ne!(bench.ffs.g.dtog(file.inode.dinode().db[0]), home);
    file.check_in(&bench, &file.inode);
}

fn remount_found(bench: &Bench) -> ordo_ondisk::superblock::search::FoundUfs {
    bench.rt.block_on(bench.ffs.unmount()).unwrap();
    let disk = bench.disk.clone();
    let size = ordo_disk::Disk::info(&disk).size;
    let mut read = move |at: ordo_ondisk::ByteOff, into: &mut [u8]| {
        disk.peek(at.0, into);
        Ok(())
    };
    ordo_ondisk::superblock::search::find(&mut read, size).unwrap()
}

#[test]
fn a_volume_in_use_is_dirty_and_clean_after_its_unmount() {
    for shape in shapes() {
        let bench = Bench::new(&shape);
        let mut read = |at: ordo_ondisk::ByteOff, into: &mut [u8]| {
            bench.disk.peek(at.0, into);
            Ok(())
        };
        let found = ordo_ondisk::superblock::search::find(&mut read, shape.volume_bytes).unwrap();
        assert!(!found.superblock.is_clean());
        let opening = crate::Opening::default();
        assert!(matches!(crate::may_write(&found, &opening), Err(crate::MountError::Dirty)));
        assert!(crate::may_write(&found, &crate::Opening { force: true, ..opening.clone() }).is_ok());
        let mut file = File::new(&bench);
        file.write(0, 30_000, 4).unwrap();
        let total = bench.ffs.summary.total();
        let found = remount_found(&bench);
        assert!(found.superblock.is_clean() && crate::may_write(&found, &opening).is_ok());
        assert_eq!(found.superblock.totals(), total);
    }
}

#[test]
fn counts_of_a_dirty_volume_come_from_its_groups() {
    let bench = Bench::ufs2();
    let mut file = File::new(&bench);
    file.write(0, 30_000, 4).unwrap();
    // The groups reach the disk, the summary does not: a crash.
    bench.rt.block_on(bench.ffs.cache.write_everything()).unwrap();
    let opening = crate::Opening { force: true, ..Default::default() };
    let scheme = std::rc::Rc::new(crate::tests::testing::Plain::default());
    let again = Bench::mount(ordo_rt::Rt::virtual_time(2), bench.disk.snapshot(), scheme, &opening);
    assert_eq!(again.ffs.summary.total(), bench.ffs.summary.total());
    again.check_counts();
    // Opened by force, it still must be checked.
    assert!(!remount_found(&again).superblock.is_clean());
}
