//! Random damage to a volume of NetBSD's: no check panics or hangs, and a repair leaves nothing to find.
//!
//! The damage is words of superblocks, summaries, inode blocks and the ifile; in half of the images the checksums are
//! made right again, and in a third the checkpoint is an older one, so that the log is rolled forward through the
//! damage.

use super::run;
use crate::common;
use ordo_disk::RamDisk;
use ordo_fsck::Mode;

const FRAG: usize = 512;
const SUPERBLOCKS: [usize; 2] = [8192, 6528 * FRAG];
const WORDS: [u32; 9] = [0, 1, 2, 0x7f, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0xffff_fffe];

/// The volume, and where in it what is.
struct Places {
    good: Vec<u8>,
    summaries: Vec<usize>,
    inode_blocks: Vec<usize>,
    ifile: Vec<usize>,
    ifile_inode: usize,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn half(bytes: &[u8], at: usize) -> usize {
    u16::from_le_bytes([bytes[at], bytes[at + 1]]).into()
}

fn put(bytes: &mut [u8], at: usize, word: u32) {
    bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
}

fn sum(bytes: &[u8]) -> u32 {
    bytes.chunks_exact(2).fold(0, |sum, pair| sum ^ u32::from(u16::from_le_bytes([pair[0], pair[1]])))
}

impl Places {
    fn new(good: Vec<u8>) -> Places {
        let whole = |at: &usize| word(&good, at + 8) == 0x61561 && sum(&good[at + 4..at + FRAG]) == word(&good, *at);
        let mut summaries: Vec<usize> = (16384..good.len()).step_by(FRAG).filter(whole).collect();
        let blocks = |at: &usize| half(&good, at + 22).div_ceil(4);
        let inode_block = |at: usize, k: usize| word(&good, at + FRAG - 4 - 4 * k) as usize * FRAG;
        let inode_blocks = summaries.iter().flat_map(|at| (0..blocks(at)).map(|k| inode_block(*at, k))).collect();
        let block = word(&good, 8192 + 52) as usize * FRAG;
        let ifile_inode = (block..block + FRAG).step_by(128).find(|at| word(&good, at + 4) == 1).expect("the ifile");
        let pointers = (0..12).map(|i| word(&good, ifile_inode + 40 + 4 * i) as usize * FRAG);
        let ifile = pointers.filter(|at| *at > 0).collect();
        summaries.sort_by_key(|at| word(&good, at + 32));
        Places { good, summaries, inode_blocks, ifile, ifile_inode }
    }

    fn damaged(&self, n: usize, luck: &mut Luck) -> Vec<u8> {
        let mut bad = self.good.clone();
        let back = if n.is_multiple_of(3) { Some(20 + luck.below(170)) } else { None };
        if let Some(back) = back {
            for at in SUPERBLOCKS {
                bad[at + 322] = 0;
                put(&mut bad, at + 72, (self.summaries[back] / FRAG) as u32);
                put(&mut bad, at + 68, (self.summaries[back] / 32768 * 64) as u32);
                put(&mut bad, at + 336, back as u32);
            }
        }
        for _ in 0..luck.of(&[1, 1, 2, 8, 40]) {
            let from = back.unwrap_or(0);
            let (base, size) = match luck.below(5) {
                0 => (luck.of(&SUPERBLOCKS), 380),
                1 => (luck.of(&self.summaries[from..]), 96),
                2 => (luck.of(&self.inode_blocks), 512),
                3 => (luck.of(&self.ifile), 1024),
                _ => (self.ifile_inode, 128),
            };
            let at = base + luck.below(size / 4) * 4;
            let to = match luck.below(12) {
                i if i < 9 => WORDS[i],
                9 => word(&self.good, luck.below(self.good.len() / 4) * 4),
                10 => word(&bad, at).wrapping_add(1),
                _ => word(&bad, at) ^ 1 << luck.below(32),
            };
            put(&mut bad, at, to);
        }
        if back.is_some() || n % 2 == 1 {
            for at in SUPERBLOCKS {
                let right = sum(&bad[at..at + 508]);
                put(&mut bad, at + 508, right);
            }
        }
        if n % 2 == 1 {
            for at in &self.summaries {
                let right = sum(&bad[at + 4..at + FRAG]);
                put(&mut bad, *at, right);
            }
        }
        bad
    }
}

/// A generator that repeats itself.
struct Luck(u64);

impl Luck {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

#[test]
fn random_damage_is_repaired() {
    let places = Places::new(ordo_volumes::volume("netbsd-lfs2"));
    let count = std::env::var("LFS_DAMAGE").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let only = std::env::var("LFS_ONLY").ok().and_then(|n| n.parse::<usize>().ok());
    let (mut luck, mut repaired) = (Luck(8), 0);
    for n in 0..count {
        let bad = places.damaged(n, &mut luck);
        if only.is_some_and(|only| only != n) {
            continue;
        }
        let disk = RamDisk::from_bytes(&bad);
        let Ok(check) = common::run(&disk, Mode::Check) else {
            eprintln!("image {n}: {:?}", common::run(&disk, Mode::Check).err());
            continue;
        };
        assert!(disk.to_vec() == bad, "image {n}: -n wrote");
        let repair = run(&disk, Mode::Repair);
        let after = run(&disk, Mode::Check);
        if after.exit_code() == 0 {
            repaired += 1;
        } else {
            eprintln!(
                "image {n}: check\n{}repair ({} rounds, {:?})\n{}after\n{}",
                common::told(&check),
                repair.rounds,
                repair.refused,
                common::told(&repair).lines().rev().take(30).map(|line| format!("{line}\n")).collect::<String>(),
                common::told(&after).lines().take(30).map(|line| format!("{line}\n")).collect::<String>()
            );
        }
        assert!(repair.left || after.exit_code() == 0, "image {n}: repaired, and there is more to find");
    }
    eprintln!("{repaired} of {count} repaired");
    assert!(only.is_some() || repaired * 10 >= count * 9, "{repaired} of {count} repaired");
}
