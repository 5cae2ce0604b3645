//! The two superblocks: both stand for what a sync made durable, and one that says something wrong overwrites nothing.

use crate::{Made, disk_of, made_in, mount, mount_on, wrong};
use ordo_buf::{Cache, Health, Policy, Syncer};
use ordo_disk::{Queue, QueueOptions, RamDisk};
use ordo_fsck::Mode as Fsck;
use ordo_lfs::{Lfs, OpenOptions};
use ordo_ondisk::lfs::{Daddr, Geometry, IFILE, Superblock, Version, cksum, inode_block};
use ordo_ondisk::{Endian, Ino};
use ordo_rt::Rt;
use ordo_ufs::Ufs;
use ordo_vfs::{Caller, FileSystem, Kind, Mode, Name, NodeId};
use std::rc::Rc;
use std::time::Duration;

const VERSIONS: [Version; 3] = [Version::V1, Version::V2, Version::Lfs64];
const OF: Made = Made { block: 4096, fragment: 512, segment: 64 << 10, endian: Endian::Little, size: 8 << 20 };

fn privileged() -> Caller {
    Caller { privileged: true, ..Caller::default() }
}

async fn put(fs: &Ufs<Lfs>, name: &str, bytes: &[u8]) -> ordo_vfs::Result<NodeId> {
    let name = Name::new(name.as_bytes()).expect("a short name");
    let made = fs.mknod(&privileged(), fs.root(), name, Kind::Regular, Mode::new(0o600), 0).await?;
    fs.write(&privileged(), made.node, 0, bytes).await?;
    Ok(made.node)
}

async fn contents(fs: &Ufs<Lfs>, name: &str) -> ordo_vfs::Result<Vec<u8>> {
    let found = fs.lookup(fs.root(), Name::new(name.as_bytes()).expect("a short name")).await?;
    Ok(fs.read(found.node, 0, u32::MAX).await?.concat())
}

fn places(bytes: &[u8]) -> (Geometry, [usize; 2]) {
    let sb = Superblock::decode(&bytes[8192..]).expect("the volume is good");
    let g = sb.geometry();
    (g, [8192, g.byte(g.sboffs[1]).0 as usize])
}

/// The head of the log that each of the two superblocks has.
fn heads(ram: &RamDisk) -> [(u64, u64); 2] {
    let bytes = ram.to_vec();
    let (_, places) = places(&bytes);
    places.map(|at| {
        let fields = Superblock::decode(&bytes[at..]).expect("it is whole").fields;
        (fields.offset.0, fields.idaddr.0)
    })
}

/// What a system sees that mounts one of the superblocks as it is.
fn names_by(ram: &RamDisk, copy: usize) -> Vec<String> {
    let mut bytes = ram.to_vec();
    let (_, places) = places(&bytes);
    let mut sb = Superblock::decode(&bytes[places[copy]..]).expect("it is whole");
    sb.set_clean(true);
    for at in places {
        bytes[at..at + 8192].copy_from_slice(&sb.encode());
    }
    let rt = Rt::virtual_time(9);
    let mounted = rt.block_on(mount(&rt, &disk_of(&bytes)));
    let mut names = Vec::new();
    rt.block_on(async {
        let root = mounted.fs.root();
        let mut take = |entry: ordo_vfs::DirEntry<'_>| {
            names.push(String::from_utf8_lossy(entry.name).into_owned());
            true
        };
        mounted.fs.readdir(root, 0, &mut take).await.expect("the root can be read");
    });
    rt.drop_tasks();
    names.retain(|name| !matches!(name.as_str(), "." | ".." | "lost+found"));
    names
}

#[test]
fn a_sync_is_in_both_superblocks_and_an_fsync_of_a_file_in_none() {
    for version in VERSIONS {
        let (rt, ram) = (Rt::virtual_time(1), made_in(version, OF));
        let mounted = rt.block_on(mount(&rt, &ram));
        rt.block_on(async {
            let fs = &mounted.fs;
            for name in ["a", "b", "c"] {
                put(fs, name, b"contents").await.expect("room");
                fs.syncfs().await.expect("the disk is well");
                let [first, second] = heads(&ram);
                assert_eq!(first, second, "{version:?}: after a sync");
                for copy in 0..2 {
                    assert!(
                        names_by(&ram, copy).contains(&name.to_owned()),
                        "{version:?}: {name} by superblock {copy}"
                    );
                }
            }
            let before = heads(&ram);
            let node = put(fs, "d", b"contents").await.expect("room");
            fs.fsync(node, false).await.expect("the disk is well");
            assert_eq!(heads(&ram), before, "{version:?}: an fsync writes no superblock");
            // A checkpoint of the log's own is in one; a sync that has nothing else to do completes it.
            rt.sleep(Duration::from_secs(70)).await;
            put(fs, "e", b"contents").await.expect("room");
            rt.sleep(Duration::from_secs(33)).await;
            let [first, second] = heads(&ram);
            assert_ne!(first, second, "{version:?}: a checkpoint of the log's own");
            fs.syncfs().await.expect("the disk is well");
            let [first, second] = heads(&ram);
            assert_eq!(first, second, "{version:?}: a sync after it");
            assert!((0..2).all(|copy| names_by(&ram, copy).contains(&"e".to_owned())), "{version:?}");
            fs.unmount().await.expect("the disk is well");
        });
        rt.drop_tasks();
        assert_eq!(rt.block_on(wrong(&rt, &ram)), [""; 0]);
    }
}

/// A clean volume with a few files.
fn volume(version: Version) -> Vec<u8> {
    let (rt, ram) = (Rt::virtual_time(2), made_in(version, OF));
    rt.block_on(async {
        let mounted = mount(&rt, &ram).await;
        for (i, name) in FILES.into_iter().enumerate() {
            put(&mounted.fs, name, &known(i)).await.expect("room");
            mounted.fs.syncfs().await.expect("the disk is well");
        }
        mounted.fs.unmount().await.expect("the disk is well");
    });
    rt.drop_tasks();
    ram.to_vec()
}

const FILES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

fn known(i: usize) -> Vec<u8> {
    vec![i as u8 + 1; 150_000 + 7000 * i]
}

/// Makes the checksum of a superblock right.
fn make_right(superblock: &mut [u8], endian: Endian) {
    let sum = cksum(&superblock[..508], endian);
    endian.put_u32(superblock, 508, sum).expect("it is long enough");
}

/// Words that are likely to mean something there.
fn words(bytes: &[u8], at: usize, g: &Geometry) -> Vec<u32> {
    let old = g.endian.get_u32(bytes, at).expect("it is there");
    let segment = g.fsbpseg;
    let mut words = vec![0, 1, 2, old ^ 1, old.wrapping_add(1), old.wrapping_sub(segment), old.wrapping_add(segment)];
    words.extend([7 * segment, 7 * segment + 110, u32::MAX, i32::MAX as u32]);
    words.retain(|word| *word != old);
    words.dedup();
    words
}

/// Mounts for writing, writes, unmounts. `false` if the mount, or a call, is refused.
fn written(ram: &RamDisk) -> bool {
    let rt = Rt::virtual_time(4);
    let done = rt.block_on(async {
        let queue = Queue::new(&rt, Rc::new(ram.clone()), QueueOptions::default());
        let policy = Policy { syncer: Syncer::Age(Duration::from_secs(2)), ..Policy::default() };
        let cache = Cache::new(rt.clone(), queue, Health::default(), 1 << 20, policy);
        let opened = ordo_lfs::open(&cache, OpenOptions::default()).await?;
        let fs = Ufs::new(opened.layout, ordo_ufs::Atime::default());
        put(&fs, "new", &[0xee; 200_000]).await?;
        fs.syncfs().await?;
        fs.unmount().await
    });
    rt.drop_tasks();
    done.is_ok()
}

/// Which files a read-only mount shows otherwise than they were written.
fn changed(ram: &RamDisk) -> Vec<String> {
    let rt = Rt::virtual_time(5);
    let found = rt.block_on(async {
        let mounted = mount_on(&rt, Rc::new(ram.clone()), 1 << 20).await;
        let mut changed = Vec::new();
        for (i, name) in FILES.into_iter().enumerate() {
            match contents(&mounted.fs, name).await {
                Ok(bytes) if bytes == known(i) => {}
                Ok(_) => changed.push(format!("{name} has other contents")),
                Err(error) => changed.push(format!("{name}: {error}")),
            }
        }
        changed
    });
    rt.drop_tasks();
    found
}

#[test]
fn one_wrong_superblock_overwrites_nothing() {
    for version in VERSIONS {
        let good = volume(version);
        let (g, places) = places(&good);
        let (mut refused, mut mounted) = (0, 0);
        for (copy, place) in places.into_iter().enumerate() {
            // Behind these is padding.
            for at in (0..if version.is_wide() { 464 } else { 380 }).step_by(4) {
                for word in words(&good, place + at, &g) {
                    let mut bytes = good.clone();
                    g.endian.put_u32(&mut bytes, place + at, word).expect("it is there");
                    make_right(&mut bytes[place..place + 512], g.endian);
                    let ram = disk_of(&bytes);
                    if written(&ram) {
                        mounted += 1;
                        let changed = changed(&ram);
                        assert_eq!(changed, [""; 0], "{version:?}: superblock {copy}, byte {at} is {word}");
                    } else {
                        refused += 1;
                    }
                }
            }
        }
        assert!(refused > 50 && mounted > 100, "{version:?}: {refused} were refused, {mounted} were not");
    }
}

/// The other superblock tells that the ifile is not that of the checkpoint; an older one would lead writes to where
/// something is alive.
#[test]
fn an_older_ifile_is_not_believed() {
    for version in VERSIONS {
        let good = volume(version);
        let (g, places) = places(&good);
        let mut tried = 0;
        for place in places {
            let sb = Superblock::decode(&good[place..]).expect("the volume is good");
            for at in (g.s0addr.0..g.size - g.inode_block_units()).map(Daddr).filter(|at| *at != sb.fields.idaddr) {
                let from = g.byte(at).0 as usize;
                if inode_block::find(&good[from..from + g.ibsize as usize], &g, IFILE).is_none() {
                    continue;
                }
                let (mut bytes, mut wrong) = (good.clone(), sb.clone());
                wrong.fields.idaddr = at;
                bytes[place..place + 512].copy_from_slice(&wrong.encode()[..512]);
                let ram = disk_of(&bytes);
                assert!(!written(&ram) || changed(&ram).is_empty(), "{version:?}: {at:?}");
                let (repaired, report) = fsck(&bytes, Fsck::Repair);
                assert!(report.is_some_and(|report| report.clean), "{version:?}: {at:?}");
                assert_eq!(changed(&repaired), [""; 0], "{version:?}: {at:?}, after fsck");
                tried += 1;
            }
        }
        assert!(tried > 4, "{version:?}: {tried}");
    }
}

/// Checks, and repairs; `None` if the check cannot begin.
fn fsck(bytes: &[u8], mode: Fsck) -> (RamDisk, Option<ordo_fsck::Report>) {
    let (rt, ram) = (Rt::virtual_time(6), disk_of(bytes));
    let report = rt.block_on(ordo_fsck::check(&rt, Rc::new(ram.clone()), ordo_fsck::Options::new(mode)));
    rt.drop_tasks();
    (ram, report.ok())
}

/// The first bytes of what fsck checks word by word: both superblocks, all kinds of blocks of the ifile, its inode.
fn checked(bytes: &[u8]) -> Vec<(usize, usize, &'static str)> {
    let (g, superblocks) = places(bytes);
    let sb = Superblock::decode(&bytes[8192..]).expect("the volume is good");
    let block = g.byte(sb.fields.idaddr).0 as usize;
    let slot = inode_block::find(&bytes[block..block + g.ibsize as usize], &g, IFILE).expect("the ifile's inode");
    let inode = inode_block::get(&bytes[block..], slot, &g).expect("an inode");
    let of = |lbn: usize| g.byte(inode.db[lbn].into()).0 as usize;
    let map = g.entry_place(Ino(0)).lbn.0 as usize;
    vec![
        (superblocks[0], 508, "superblock 0"),
        (superblocks[1], 508, "superblock 1"),
        (of(0), 48, "cleaner information"),
        (of(1), 96, "usage table"),
        (of(map), 12 * g.version.ifile_entry_size() as usize, "inode map"),
        (block + inode_block::slot_at(&g, slot), g.version.dinode_size() as usize, "inode of the ifile"),
    ]
}

#[test]
fn what_fsck_repairs_is_written_whatever_word_was_wrong() {
    for version in VERSIONS {
        let good = volume(version);
        let (g, superblocks) = places(&good);
        let mut repaired = 0;
        for (from, len, what) in checked(&good) {
            for at in (0..len).step_by(4) {
                let own = words(&good, from + at, &g);
                for word in own.into_iter().filter(|word| [0, 2, 7 * g.fsbpseg, u32::MAX].contains(word)) {
                    let mut bytes = good.clone();
                    g.endian.put_u32(&mut bytes, from + at, word).expect("it is there");
                    for place in superblocks {
                        make_right(&mut bytes[place..place + 512], g.endian);
                    }
                    let (ram, report) = fsck(&bytes, Fsck::Repair);
                    let Some(report) = report.filter(|report| report.clean) else { continue };
                    repaired += u64::from(report.count() > 0);
                    let left = fsck(&ram.to_vec(), Fsck::Check).1.expect("it can be checked");
                    let left: Vec<String> = left.findings.iter().map(|found| found.finding.to_string()).collect();
                    assert_eq!(left, [""; 0], "{version:?}: {what}, byte {at} was {word}");
                }
            }
        }
        assert!(repaired > 100, "{version:?}: {repaired} were repaired");
    }
}

#[test]
fn a_mount_does_not_go_on_where_superblocks_differ() {
    let good = volume(Version::V2);
    let (_, places) = places(&good);
    let mut bytes = good.clone();
    let mut second = Superblock::decode(&bytes[places[1]..]).expect("the volume is good");
    second.fields.ident ^= 1;
    bytes[places[1]..places[1] + 512].copy_from_slice(&second.encode()[..512]);
    assert!(!written(&disk_of(&bytes)), "the superblocks are of different volumes");
    let (ram, report) = fsck(&bytes, Fsck::Repair);
    assert!(report.is_some_and(|report| report.clean), "fsck finds out which is right");
    assert!(written(&ram) && changed(&ram).is_empty());
}
