//! What `statfs` says adds up at every moment, whatever was done: free space is part of the whole, and what may be
//! taken is part of the free space. And the counts of segments are those of the partial segments that are there.

use crate::{Made, SMALL, WHOLE, made_in, mount, wrong};
use ordo_disk::RamDisk;
use ordo_lfs::Lfs;
use ordo_ondisk::Endian;
use ordo_ondisk::lfs::ifile::SegFlags;
use ordo_ondisk::lfs::{Geometry, Item, SegNo, Serial, Summary, Superblock, Version};
use ordo_rt::{Rng, Rt};
use ordo_ufs::Ufs;
use ordo_vfs::{Caller, FileSystem, Kind, Mode, Name, NodeId, SetAttr, StatFs};

const SHAPES: [Made; 5] = [
    Made { size: 24 << 20, ..SMALL },
    Made { size: 24 << 20, ..WHOLE },
    Made { block: 8192, fragment: 1024, segment: 32 << 10, endian: Endian::Little, size: 16 << 20 },
    Made { block: 512, fragment: 512, segment: 64 << 10, endian: Endian::Big, size: 24 << 20 },
    Made { block: 16384, fragment: 2048, segment: 128 << 10, endian: Endian::Big, size: 40 << 20 },
];

fn adds_up(stat: &StatFs) -> bool {
    stat.avail_frags <= stat.free_frags && stat.free_frags <= stat.frags && stat.free_inodes <= stat.inodes
}

async fn statfs(fs: &Ufs<Lfs>, after: &str) -> StatFs {
    let stat = fs.statfs().await.expect("a call that reads nothing");
    assert!(adds_up(&stat), "{after}: {stat:?}");
    stat
}

fn privileged() -> Caller {
    Caller { privileged: true, ..Caller::default() }
}

/// Random calls, each followed by `statfs`.
async fn calls(fs: &Ufs<Lfs>, rng: &mut Rng, steps: u64) {
    let mut files: Vec<(String, NodeId)> = Vec::new();
    for step in 0..steps {
        let said = match rng.below(10) {
            0..=3 => {
                let text = format!("f{step}");
                let name = Name::new(text.as_bytes()).expect("a short name");
                if let Ok(new) = fs.mknod(&privileged(), fs.root(), name, Kind::Regular, Mode::new(0o600), 0).await {
                    files.push((text, new.node));
                }
                "a create"
            }
            4 | 5 if !files.is_empty() => {
                let at = rng.below(1 << 20);
                let bytes = vec![7; rng.range(1, 90_000) as usize];
                // A full volume refuses it.
                let _ = fs.write(&privileged(), rng.pick(&files).1, at, &bytes).await;
                "a write"
            }
            6 if !files.is_empty() => {
                let size = Some(rng.below(200_000));
                let _ = fs.setattr(rng.pick(&files).1, &SetAttr { size, ..SetAttr::default() }).await;
                "a truncation"
            }
            7 | 8 if !files.is_empty() => {
                let (text, node) = files.swap_remove(rng.below(files.len() as u64) as usize);
                fs.unlink(fs.root(), Name::new(text.as_bytes()).expect("a short name")).await.expect("it is there");
                fs.forget(node, 1);
                "a removal"
            }
            _ => {
                fs.syncfs().await.expect("the disk is well");
                "a sync"
            }
        };
        statfs(fs, said).await;
    }
}

#[test]
fn free_space_is_part_of_the_whole_after_every_call() {
    for (seed, of) in (0..).zip(SHAPES) {
        for version in [Version::V1, Version::V2, Version::Lfs64] {
            let rt = Rt::virtual_time(seed);
            let ram = made_in(version, of);
            for round in 0..2 {
                let mounted = rt.block_on(mount(&rt, &ram));
                rt.block_on(calls(&mounted.fs, &mut Rng::new(seed + 10 * round), 150));
                rt.block_on(mounted.fs.unmount()).expect("the disk is well");
            }
            rt.drop_tasks();
        }
    }
}

/// Many inodes that are made, written and removed leave inode blocks that are not alive.
#[test]
fn files_that_are_gone_take_no_space() {
    for version in [Version::V1, Version::V2, Version::Lfs64] {
        let (rt, ram) = (Rt::virtual_time(3), made_in(version, SHAPES[0]));
        let mounted = rt.block_on(mount(&rt, &ram));
        let fs = mounted.fs.clone();
        rt.block_on(async {
            let before = statfs(&fs, "a mount").await;
            let names: Vec<String> = (0..1500).map(|i| format!("f{i}")).collect();
            for name in &names {
                let name = Name::new(name.as_bytes()).expect("a short name");
                let made = fs.mknod(&privileged(), fs.root(), name, Kind::Regular, Mode::new(0o600), 0).await;
                fs.forget(made.expect("room").node, 1);
            }
            fs.syncfs().await.expect("the disk is well");
            let full = statfs(&fs, "creates").await;
            assert!(full.frags - full.free_frags >= before.frags - before.free_frags + 1500 * 128 / 1024);
            for name in &names {
                fs.unlink(fs.root(), Name::new(name.as_bytes()).expect("a short name")).await.expect("it is there");
            }
            fs.syncfs().await.expect("the disk is well");
            let after = statfs(&fs, "removals").await;
            // The root has grown.
            let used = |stat: &StatFs| stat.frags - stat.free_frags;
            assert!(used(&after) <= used(&before) + 64, "{version:?}: {before:?} {after:?}");
            fs.unmount().await.expect("the disk is well");
        });
        let again = rt.block_on(mount(&rt, &ram));
        rt.block_on(statfs(&again.fs, "another mount"));
        rt.block_on(again.fs.unmount()).expect("the disk is well");
        rt.drop_tasks();
    }
}

/// Partial segments of a segment and the inode blocks in them, up to one that is older than the one before it.
fn counted(bytes: &[u8], g: &Geometry, n: SegNo, superblock: bool, end: u64) -> (u16, u16) {
    let (mut at, mut last, mut counts) = (Some(g.first_pseg(n, superblock)), Serial(0), (0, 0));
    while let Some(here) = at.filter(|at| at.0 < end) {
        let Ok(summary) = Summary::decode(&bytes[g.byte(here).0 as usize..], g) else { break };
        let Ok(pseg) = summary.walk(g, here) else { break };
        if summary.is_stale(g, last) {
            break;
        }
        let inode_blocks = pseg.items.iter().filter(|item| matches!(item, Item::Inodes { .. })).count();
        counts = (counts.0 + 1, counts.1 + inode_blocks as u16);
        (last, at) = (summary.serial, pseg.next_here(g));
    }
    counts
}

/// The segments whose counts in the usage table of a mounted volume are not those of what is in them.
pub(crate) fn miscounted(fs: &Ufs<Lfs>, ram: &RamDisk) -> Vec<String> {
    let bytes = ram.to_vec();
    let g = *fs.layout().geometry();
    let (usage, current) = fs.layout().segments();
    let places = [8192, g.byte(g.sboffs[1]).0 as usize];
    let head = places.iter().filter_map(|at| Superblock::decode(&bytes[*at..]).ok()).max_by_key(|sb| sb.fields.serial);
    let head = head.expect("a superblock").fields.offset;
    let mut wrong = Vec::new();
    for (n, usage) in (0..).map(SegNo).zip(&usage).filter(|(_, usage)| usage.flags.has(SegFlags::DIRTY)) {
        let end = if Some(n) == current { head.0 } else { u64::MAX };
        let there = counted(&bytes, &g, n, usage.flags.has(SegFlags::SUPERBLOCK), end);
        if there != (usage.nsums, usage.ninos) {
            wrong.push(format!("segment {}: {:?} counted, {there:?} there", n.0, (usage.nsums, usage.ninos)));
        }
    }
    wrong
}

/// The log goes round, with syncs and without, and the power fails at many moments: segments that became clean after
/// the checkpoint from which the log is rolled forward were used again.
#[test]
fn a_segment_that_is_used_again_is_counted_anew_after_a_crash() {
    let of = Made { block: 8192, fragment: 8192, segment: 64 << 10, endian: Endian::Little, size: 16 << 20 };
    for version in [Version::V1, Version::V2, Version::Lfs64] {
        let (rt, ram) = (Rt::virtual_time(5), made_in(version, of));
        let mounted = rt.block_on(mount(&rt, &ram));
        let mut images = Vec::new();
        rt.block_on(async {
            let fs = &mounted.fs;
            let name = Name::new(b"f").expect("a short name");
            let made =
                fs.mknod(&privileged(), fs.root(), name, Kind::Regular, Mode::new(0o600), 0).await.expect("room");
            for turn in 0..900u64 {
                fs.write(&privileged(), made.node, turn % 5 * 8192, &[turn as u8; 8192]).await.expect("room");
                fs.fsync(made.node, false).await.expect("the disk is well");
                if turn % 90 == 0 {
                    rt.sleep(std::time::Duration::from_secs(31)).await;
                }
                if turn % 41 == 0 {
                    images.push(ram.snapshot());
                }
            }
            fs.unmount().await.expect("the disk is well");
        });
        rt.drop_tasks();
        for image in images {
            let rt = Rt::virtual_time(6);
            let again = rt.block_on(mount(&rt, &image));
            assert_eq!(miscounted(&again.fs, &image), [""; 0], "{version:?}");
            rt.block_on(again.fs.unmount()).expect("the disk is well");
            assert_eq!(rt.block_on(wrong(&rt, &image)), [""; 0], "{version:?}");
            rt.drop_tasks();
        }
    }
}
