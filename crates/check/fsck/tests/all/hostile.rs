//! Volumes made to cost time or memory, or to lead a walk in circles.

use crate::alone::FREE;
use crate::common;
use crate::common::build::*;
use ordo_fsck::Mode;
use ordo_ondisk::dinode::mode;
use ordo_ondisk::{Cgx, Dinode, Endian, Format, FragNo, Ino};

fn volumes() -> Vec<Volume> {
    let formats = [(Format::Ufs1, Endian::Big), (Format::Ufs2, Endian::Little)];
    formats.map(|(format, endian)| Volume::new(format, endian, true)).into()
}

fn ends_silent(volume: &Volume) {
    common::run(&volume.disk, Mode::Check).expect("-n");
    let report = common::run(&volume.disk, Mode::Repair).expect("-y");
    let first: String = common::told(&report).lines().take(20).collect::<Vec<_>>().join("\n");
    assert!(report.exit_code() <= 1, "{} rounds, {} findings\n{first}", report.rounds, report.count());
    let again = common::run(&volume.disk, Mode::Check).expect("-n");
    assert_eq!(again.exit_code(), 0, "after {} rounds:\n{}", report.rounds, common::told(&again));
}

/// Every inode of the volume except the first ones.
fn each_inode(v: &Volume, mut change: impl FnMut(u32, &mut Dinode)) {
    for ino in FREE..v.g.ncg * v.g.ipg {
        v.inode(ino, |d| change(ino, d));
    }
    if v.g.format == Format::Ufs2 {
        (0..v.g.ncg).for_each(|c| v.maps(c, |cg| cg.set_initediblk(v.g.ipg)));
    }
}

fn fill_with_pointers(v: &Volume, block: FragNo, to: impl Fn(u32) -> FragNo) {
    (0..v.g.nindir).for_each(|i| v.set_pointer(block, i, to(i)));
}

#[test]
fn indirect_block_that_leads_to_itself_in_every_inode() {
    for v in volumes() {
        let block = FragNo(v.g.cgdmin(Cgx(2)).0.next_multiple_of(8));
        fill_with_pointers(&v, block, |_| block);
        let most = v.g.maxfilesize;
        each_inode(&v, |_, d| {
            (d.mode, d.nlink, d.size, d.ib) = (mode::REG | 0o644, 1, most, [block; 3]);
        });
        ends_silent(&v);
    }
}

#[test]
fn indirect_blocks_that_lead_to_each_other_and_to_everything() {
    for v in volumes() {
        let first = v.g.cgdmin(Cgx(2)).0.next_multiple_of(8);
        let blocks: Vec<FragNo> = (0..20).map(|i| FragNo(first + 8 * i)).collect();
        for (i, &block) in (0u64..).zip(&blocks) {
            fill_with_pointers(&v, block, |n| FragNo((u64::from(n) * 8 + i) % v.g.size));
        }
        let most = v.g.maxfilesize;
        each_inode(&v, |ino, d| {
            let root = blocks[ino as usize % blocks.len()];
            (d.mode, d.nlink, d.size, d.ib) = (mode::DIR | 0o755, 2, most, [root; 3]);
        });
        ends_silent(&v);
    }
}

#[test]
fn sparse_directories_of_the_largest_size() {
    for v in volumes() {
        let first = v.g.cgdmin(Cgx(1)).0 + 220;
        let block = ordo_ondisk::dirent::new_directory(v.g.dir_format(), Ino(2), Ino(2));
        (0..200).for_each(|i| v.disk.poke(v.byte(FragNo(first + i)).0, &block));
        each_inode(&v, |ino, d| {
            let frag = FragNo(first + u64::from(ino) % 200);
            (d.mode, d.nlink, d.size, d.db[0], d.db[11]) = (mode::DIR | 0o755, 2, 0x7fff_fe00, frag, frag);
        });
        ends_silent(&v);
    }
}

#[test]
fn directory_full_of_names_of_one_file_and_of_itself() {
    for v in volumes() {
        let format = v.g.dir_format();
        let first = v.g.cgdmin(Cgx(2)).0.next_multiple_of(8);
        let mut block = vec![0; 512];
        for at in (0..512).step_by(16) {
            let (ino, kind) = if at % 32 == 0 { (FILE, 8) } else { (OTHER, 4) };
            ordo_ondisk::dirent::write(&mut block, at, format, 16, Ino(ino), kind, b"name").expect("room");
        }
        for i in 0..12 * 16 {
            v.disk.poke(v.byte(FragNo(first)).0 + i * 512, &block);
        }
        v.inode(OTHER, |d| {
            (d.size, d.blocks) = (12 * 8192, 12 * 16);
            for (pointer, frag) in d.db.iter_mut().zip((first..).step_by(8)) {
                *pointer = FragNo(frag);
            }
        });
        ends_silent(&v);
    }
}

#[test]
fn chain_of_directories_a_thousand_deep_that_nobody_names() {
    for v in volumes() {
        let format = v.g.dir_format();
        let last = v.g.ipg - 1;
        let first = v.g.cgdmin(Cgx(1)).0 + 220;
        for ino in FREE..last {
            let frag = FragNo(first + u64::from(ino - FREE));
            let mut block = ordo_ondisk::dirent::new_directory(format, Ino(ino), Ino(ino - 1));
            ordo_ondisk::dirent::set_reclen(&mut block, 12, format, 12).expect("room");
            let next = if ino + 1 == last { FREE } else { ino + 1 };
            ordo_ondisk::dirent::write(&mut block, 24, format, 488, Ino(next), 4, b"down").expect("room");
            v.disk.poke(v.byte(frag).0, &block);
            v.inode(ino, |d| (d.mode, d.nlink, d.size, d.blocks, d.db[0]) = (mode::DIR | 0o755, 3, 512, 2, frag));
        }
        v.maps(0, |cg| cg.set_initediblk(v.g.ipg));
        ends_silent(&v);
    }
}

#[test]
fn everything_behind_the_superblock_is_noise() {
    for v in volumes() {
        for fill in [0x00u8, 0xff, 0x55] {
            let w = v.copy();
            noise(&w, &mut |bytes| bytes.fill(fill));
            ends_silent(&w);
        }
        let w = v.copy();
        let mut rng = ordo_rt::Rng::new(7);
        noise(&w, &mut |bytes| rng.fill(bytes));
        ends_silent(&w);
    }
}

/// Overwrites everything except the superblock's block.
fn noise(v: &Volume, fill: &mut dyn FnMut(&mut [u8])) {
    let mut bytes = vec![0; 8192];
    for at in (0..4 << 20).step_by(8192).filter(|&at| at != v.sb.at.0) {
        fill(&mut bytes);
        v.disk.poke(at, &bytes);
    }
}

#[test]
fn full_volume_has_no_room_for_lost_found() {
    for v in volumes() {
        let last = v.g.ncg * v.g.ipg;
        let mut next = v.g.cgdmin(Cgx(1)).0 + 220;
        each_inode(&v, |ino, d| {
            let mut blocks = vec![];
            while blocks.len() < 12 && next + 8 < v.g.size {
                next = next.next_multiple_of(8);
                if v.g.is_data_range(FragNo(next), 8) {
                    blocks.push(FragNo(next));
                }
                next += 8;
            }
            if ino < last && !blocks.is_empty() {
                (d.mode, d.nlink, d.size, d.blocks) =
                    (mode::REG, 1, blocks.len() as u64 * 8192, blocks.len() as u64 * 16);
                d.db.iter_mut().zip(blocks).for_each(|(pointer, frag)| *pointer = frag);
            }
        });
        ends_silent(&v);
    }
}
