//! Volumes that wait for a replay, with damage in what the replay trusts: the replay ends, and so does `fsck -p`
//! (recover-suj-7).
//!
//! The cost of a replay is counted in disk reads, none of which is needed twice.

use super::build::*;
use super::scenes::scenes;
use crate::common;
use crate::common::build::*;
use ordo_disk::{Counted, Disk, RamDisk};
use ordo_fsck::Mode;
use ordo_ondisk::dinode::mode;
use ordo_ondisk::{Dinode, Endian, Format, FragNo, Ino};
use ordo_recover::{NotReplayed, Replayed};
use std::rc::Rc;

/// More reads than the whole volume needs, block by block.
const READS: u64 = (12 << 20) / 1024;

fn replay_counted(disk: &RamDisk) -> Result<Replayed, NotReplayed> {
    let rt = ordo_rt::Rt::virtual_time(1);
    let (counted, requests) = Counted::count(Rc::new(disk.clone()) as Rc<dyn Disk>);
    let inner = rt.clone();
    let done = rt.block_on(async move { ordo_recover::replay_suj(&inner, counted).await });
    assert!(requests.get().reads < READS, "{} reads", requests.get().reads);
    done
}

fn comes_to_an_end(v: &Journaled, what: &str) -> bool {
    let done = replay_counted(&v.copy().disk);
    // Whether it can be repaired without a question does not matter here.
    common::run(&v.copy().disk, Mode::Preen).unwrap_or_else(|error| panic!("{what}: {error}"));
    done.is_ok()
}

/// Writes bytes into an inode, and updates its check hash.
fn damage(v: &Journaled, ino: u32, at: usize, bytes: &[u8]) {
    let place = Dinode::place(&v.g, Ino(ino)).0;
    let mut inode = vec![0; v.g.dinode_size as usize];
    v.disk.peek(place, &mut inode);
    inode[at..at + bytes.len()].copy_from_slice(bytes);
    let mut lax = v.g.clone();
    lax.inode_hash = false;
    let dinode = Dinode::decode(&inode, &lax, Ino(ino)).expect("a hash is not looked at");
    dinode.encode(&mut inode, &v.g).expect("an inode fits");
    v.disk.poke(place, &inode);
}

/// A crash while a tree is being made: directories die, with their contents, and a file with complete records survives.
fn crashed(format: Format) -> Journaled {
    let v = Journaled::new(format, Endian::Little);
    let tree = scenes().find(|scene| scene.what == "mkdir of a tree without its first name").expect("it is there");
    let records = (tree.crash)(&v);
    v.segment(0, 0, &records);
    v
}

#[test]
fn each_word_of_each_inode_may_hold_anything() {
    let (mut replayed, mut runs) = (0, 0);
    for format in [Format::Ufs1, Format::Ufs2] {
        let whole = crashed(format);
        for ino in [2, FILE, JOURNAL, NEW, NEWER, 17] {
            for at in (0..whole.g.dinode_size as usize).step_by(4) {
                // The last one is the size in the image that was found.
                for value in [u64::MAX, 0x7fff_ffff, 1 << 62, 15_726_026_711_716_078_567] {
                    let bytes = value.to_le_bytes();
                    for bytes in [&bytes[..4], &bytes[..]] {
                        if at + bytes.len() > whole.g.dinode_size as usize {
                            continue;
                        }
                        let v = whole.copy();
                        damage(&v, ino, at, bytes);
                        runs += 1;
                        replayed += u32::from(comes_to_an_end(&v, &format!("{format:?} {ino} {at} {value:#x}")));
                    }
                }
            }
        }
    }
    assert!(replayed > runs / 10, "{replayed} of {runs} were replayed: the others tell little");
}

#[test]
fn pointers_that_lead_in_circles_come_to_an_end() {
    for (format, kind) in [(Format::Ufs1, mode::REG), (Format::Ufs2, mode::REG), (Format::Ufs2, mode::DIR)] {
        let v = crashed(format);
        let block = v.block(20);
        (0..v.g.nindir).for_each(|i| v.set_pointer(block, i, block));
        for ino in [NEW, NEWER, 17, FILE] {
            let v = v.copy();
            let most = if kind == mode::DIR { 0x7fff_fe00 } else { v.g.maxfilesize };
            v.inode(ino, |d| (d.mode, d.size, d.ib) = (kind | 0o755, most, [block; 3]));
            comes_to_an_end(&v, &format!("{format:?} {ino}"));
        }
    }
}

#[test]
fn freed_blocks_of_pointers_that_lead_to_each_other_come_to_an_end() {
    for format in [Format::Ufs1, Format::Ufs2] {
        let v = Journaled::new(format, Endian::Little);
        let (top, below) = (v.block(20), v.block(30));
        [top, below].into_iter().for_each(|block| v.use_frags(block, 8, true));
        (0..v.g.nindir).for_each(|i| v.set_pointer(top, i, below));
        (0..v.g.nindir).for_each(|i| v.set_pointer(below, i, if i % 2 == 0 { below } else { FragNo(0) }));
        // The double indirect block of a file that is being removed.
        let lbn = -(12 + i64::from(v.g.nindir) + 1);
        v.segment(0, 0, &[free(FILE, lbn, top, 8)]);
        comes_to_an_end(&v, "a tree");
        assert!(matches!(replay_counted(&v.copy().disk), Err(NotReplayed::Endless)));
    }
}
