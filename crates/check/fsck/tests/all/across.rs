//! Contents across the border of two blocks: they can be read there, so they are moved and never cut.

use crate::alone::FREE;
use crate::common;
use crate::common::build::*;
use ordo_fsck::{Found, Mode};
use ordo_ondisk::dinode::mode;
use ordo_ondisk::{Cgx, Dinode, Endian, Format, FragNo};

fn volumes() -> impl Iterator<Item = Volume> {
    let all = [Format::Ufs1, Format::Ufs2].into_iter().flat_map(|f| [(f, Endian::Little), (f, Endian::Big)]);
    all.map(|(format, endian)| Volume::new(format, endian, false))
}

fn bytes(v: &Volume, at: FragNo, frags: u32) -> Vec<u8> {
    let mut bytes = vec![0; (frags * v.g.fsize) as usize];
    v.disk.peek(v.byte(at).0, &mut bytes);
    bytes
}

/// Puts contents of so many fragments across a border in group 2, and returns the place.
fn across(v: &Volume, nth: u32, contents: &[u8]) -> FragNo {
    let to = FragNo(v.g.cgdmin(Cgx(2)).0 + u64::from(16 * nth + 8 - 1));
    v.disk.poke(v.byte(to).0, contents);
    to
}

fn pattern(v: &Volume, frags: u32) -> Vec<u8> {
    (0..frags * v.g.fsize).map(|at| (at * 7 + at / 251 + frags) as u8).collect()
}

/// Nothing else is wrong that matters here.
fn nothing_else_is_wrong(v: &Volume) {
    // Beside the maps, the files that have no name here.
    let expected = |found: &Found| matches!(found.finding.rule(), 13 | 39 | 42..=46);
    let report = common::run(&v.disk, Mode::Check).expect("a volume");
    assert!(report.findings.iter().all(expected), "{}", common::told(&report));
}

fn moved(v: &Volume, at: FragNo, frags: u32) -> bool {
    v.g.is_data_range(at, frags)
}

#[test]
fn tails_directories_attributes_and_whole_blocks_are_moved_with_all_their_bytes() {
    for v in volumes() {
        let ufs2 = v.g.format == Format::Ufs2;
        let mut lengths = vec![];
        for (nth, frags) in [(0, 2), (1, 3), (2, 7)] {
            let (ino, data) = (FREE + nth, pattern(&v, frags));
            let at = across(&v, nth, &data);
            v.inode(ino, |d| {
                (d.mode, d.nlink, d.size) = (mode::REG | 0o644, 1, u64::from(frags * v.g.fsize - 5));
                (d.db[0], d.blocks) = (at, u64::from(frags) * 2);
            });
            lengths.push((ino, frags, data));
        }
        // A directory of two fragments, and, behind indirect blocks, a whole block.
        let dir = [bytes(&v, v.get(DIR).db[0], 1), bytes(&v, v.get(DIR).db[0], 1)].concat();
        let fresh = ordo_ondisk::dirent::fresh_block(v.g.dir_format());
        let dir = [&dir[..512], &fresh.repeat(3)[..]].concat();
        let at = across(&v, 3, &dir);
        v.inode(DIR, |d| (d.db[0], d.size, d.blocks) = (at, 2048, 4));
        let block = pattern(&v, 8);
        let at = across(&v, 4, &block);
        let indirect = v.get(BIG).ib[0];
        v.set_pointer(indirect, 1, at);
        let area = ufs2.then(|| {
            let area = [bytes(&v, v.get(ATTRS).extb[0], 1), vec![0; 1024]].concat();
            let at = across(&v, 5, &area);
            v.inode(ATTRS, |d| (d.extb[0], d.extsize, d.blocks) = (at, 2048, d.blocks + 2));
            area
        });
        nothing_else_is_wrong(&v);
        v.superblock(|sb| sb.fields.clean = 0);
        let before = v.disk.to_vec();
        assert_eq!(common::run(&v.disk, Mode::Preen).expect("a volume").exit_code(), 4);
        assert!(v.disk.to_vec() == before, "a preen wrote");
        let report = common::run(&v.disk, Mode::Repair).expect("a volume");
        let found = report.findings.iter().filter(|found| found.finding.name() == "AcrossBlocks").count();
        assert_eq!(found, if ufs2 { 6 } else { 5 }, "{}", common::told(&report));
        assert_eq!(common::run(&v.disk, Mode::Check).expect("a volume").exit_code(), 0);
        for (ino, frags, data) in lengths {
            let dinode = v.get(ino);
            assert!(moved(&v, dinode.db[0], frags) && bytes(&v, dinode.db[0], frags) == data, "{frags}");
            assert_eq!((dinode.size, dinode.blocks), (u64::from(frags * v.g.fsize - 5), u64::from(frags) * 2));
        }
        assert!(moved(&v, v.get(DIR).db[0], 2));
        assert_eq!(v.names(DIR)[2..], [("sub".into(), SUB), ("inner".into(), INNER)]);
        let pointers = bytes(&v, v.get(BIG).ib[0], 8);
        let at = v.g.pointer(&pointers, 1).expect("a pointer");
        assert!(moved(&v, at, 8) && bytes(&v, at, 8) == block);
        if let Some(area) = area {
            let at = v.get(ATTRS).extb[0];
            assert!(moved(&v, at, 2) && bytes(&v, at, 2) == area);
        }
    }
}

/// Gives every whole free block to one file.
fn fill(v: &Volume, used: &[FragNo]) {
    let g = &v.g;
    let mut free: Vec<FragNo> = vec![];
    for c in (0..g.ncg).map(Cgx) {
        let cg = v.map_of(c.0);
        let blocks = (0..g.cg_ndblk(c) / 8).filter(|block| cg[*block as usize] == 0xff);
        free.extend(blocks.map(|block| FragNo(g.cgbase(c).0 + u64::from(block * 8))));
    }
    free.retain(|at| g.is_data_range(*at, 8) && !used.contains(at));
    let indirect = free.pop().expect("a free block");
    assert!(free.len() > 12 && free.len() < 12 + g.nindir as usize);
    v.disk.poke(v.byte(indirect).0, &vec![0; 8192]);
    for (index, at) in (0..).zip(&free[12..]) {
        v.set_pointer(indirect, index, *at);
    }
    v.inode(FREE, |d| {
        (d.mode, d.nlink) = (mode::REG | 0o600, 1);
        (d.size, d.blocks) = (free.len() as u64 * 8192, (free.len() as u64 + 1) * 16);
        d.db.copy_from_slice(&free[..12]);
        d.ib[0] = indirect;
    });
}

/// Gives seven fragments from `at` on to a file of their own.
fn take_seven(v: &Volume, ino: u32, at: FragNo) {
    v.inode(ino, |d| (d.mode, d.nlink, d.size, d.blocks, d.db[0]) = (mode::REG | 0o600, 1, 7 * 1024, 14, at));
}

#[test]
fn without_room_no_tail_is_cut_and_nothing_is_written() {
    for v in volumes() {
        let data = pattern(&v, 7);
        let at = across(&v, 0, &data);
        let (first, tail) = (v.g.blknum(at), FREE + 1);
        let partly: Vec<FragNo> = (0..v.g.ncg)
            .flat_map(|c| (0..).zip(v.map_of(c)).map(move |(block, map)| (c, block, map)).collect::<Vec<_>>())
            .filter(|(.., map)| *map == 0xfe)
            .map(|(c, block, _): (u32, u64, u8)| FragNo(v.g.cgbase(Cgx(c)).0 + block * 8 + 1))
            .collect();
        take_seven(&v, tail, at);
        fill(&v, &[first, first.plus(8)]);
        for (ino, at) in (tail + 1..).zip(partly.into_iter().chain([first])) {
            take_seven(&v, ino, at);
        }
        let before = v.disk.to_vec();
        let report = common::run(&v.disk, Mode::Repair).expect("a volume");
        assert!(report.refused.as_ref().is_some_and(|why| why.contains("no room")), "{}", common::told(&report));
        assert_eq!(report.exit_code() & 4, 4);
        assert!(v.disk.to_vec() == before, "something was written");
        // With room it goes.
        v.inode(FREE, |d| *d = Dinode::default());
        assert_eq!(common::run(&v.disk, Mode::Repair).expect("a volume").exit_code(), 1);
        assert!(bytes(&v, v.get(tail).db[0], 7) == data);
    }
}
