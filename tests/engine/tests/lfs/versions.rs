//! Versions 1 and LFS64, of both byte orders: the calls answer as the model does, and what an unmount, a crash and the
//! cleaner leave is the same tree.

use crate::{Made, SIZE, SMALL, disk_of, features, made_in, mount, overwrite_on, play_on, wrong};
use ordo_disk::RamDisk;
use ordo_lfs::Lfs;
use ordo_ondisk::Endian;
use ordo_ondisk::lfs::{Serial, Superblock, Version};
use ordo_rt::Rt;
use ordo_ufs::Ufs;
use ordo_vfs::{Caller, Error, FileSystem, Kind, Mode, Name, NodeId, Refusal, SetAttr, SetTime, Stamp};
use ordo_workload::random::{Generator, Op, Shape, shrink};

/// Segments of version 1 are a power of two; the others are what newfs makes.
const PLAIN: Made = Made { block: 4096, fragment: 1024, segment: 256 << 10, endian: Endian::Little, size: SIZE };
const WHOLE: Made = Made { block: 8192, fragment: 8192, segment: 512 << 10, endian: Endian::Big, size: SIZE };

fn name(text: &str) -> Name<'_> {
    Name::new(text.as_bytes()).expect("OK to expect: a constant name")
}

/// A volume with an empty root: newfs puts `lost+found` into that of version 1.
fn empty(version: Version, of: Made) -> RamDisk {
    let ram = made_in(version, of);
    if version == Version::V1 {
        let rt = Rt::virtual_time(1);
        rt.block_on(async {
            let mounted = mount(&rt, &ram).await;
            mounted.fs.rmdir(mounted.fs.root(), name("lost+found")).await.expect("it is empty");
            mounted.fs.unmount().await.expect("the disk is well");
        });
        rt.drop_tasks();
    }
    ram
}

fn sweep(version: Version, of: Made, seeds: std::ops::Range<u64>, steps: usize) {
    let (features, kinds) = (features(), Shape { block: of.block.into(), ..Shape::default() });
    let (mut rolled, wanted) = (0, seeds.end - seeds.start);
    for seed in seeds {
        let ops: Vec<Op> = Generator::new(seed, kinds.clone(), features).take(steps).collect();
        match play_on(&empty(version, of), seed, &ops) {
            Ok(psegs) => rolled += psegs,
            Err(first) => {
                let short = shrink(&ops[..first.steps()], |ops| play_on(&empty(version, of), seed, ops).is_err());
                let lines: Vec<String> = short.iter().map(Op::to_string).collect();
                panic!("{version:?}, {of:?}, seed {seed}: {first}\nshrunk:\n{}", lines.join("\n"));
            }
        }
    }
    assert!(rolled >= wanted, "{rolled} partial segments were rolled forward: it was no test");
}

#[test]
fn random_calls_on_version_1_answer_as_the_model_does() {
    sweep(Version::V1, PLAIN, 40..42, 600);
    sweep(Version::V1, WHOLE, 50..52, 600);
}

#[test]
fn random_calls_on_lfs64_answer_as_the_model_does() {
    sweep(Version::Lfs64, Made { endian: Endian::Big, ..PLAIN }, 60..62, 600);
    sweep(Version::Lfs64, Made { endian: Endian::Little, ..WHOLE }, 70..72, 600);
}

#[test]
fn version_1_and_lfs64_are_cleaned() {
    let of = Made { segment: 128 << 10, size: 24 << 20, ..SMALL };
    for version in [Version::V1, Version::Lfs64] {
        let counters = overwrite_on(empty(version, of), of, 70, 12_000, 7);
        assert!(counters.segments_cleaned > 150 && counters.segments_read > 50, "{version:?}: {counters:?}");
    }
}

#[test]
fn what_fsync_has_returned_for_survives_a_power_cut_in_every_version() {
    let of = Made { size: 16 << 20, segment: 64 << 10, ..SMALL };
    for version in [Version::V1, Version::Lfs64] {
        let checks: u64 = (0..5).map(|seed| crate::crash::play_on(empty(version, of), seed, 40)).sum();
        assert!(checks > 0, "{version:?}: nothing was checked");
    }
}

async fn make(fs: &Ufs<Lfs>, called: &str) -> NodeId {
    let who = Caller { privileged: true, ..Caller::default() };
    let made =
        fs.mknod(&who, fs.root(), name(called), Kind::Regular, Mode::new(0o600), 0).await.expect("there is room");
    fs.write(&who, made.node, 0, called.repeat(1000).as_bytes()).await.expect("there is room");
    made.node
}

/// Whether the root has the file, with its contents.
async fn has(fs: &Ufs<Lfs>, called: &str) -> bool {
    match fs.lookup(fs.root(), name(called)).await {
        Ok(found) => {
            let bytes = fs.read(found.node, 0, u32::MAX).await.expect("it can be read").concat();
            assert!(bytes == called.repeat(1000).as_bytes(), "{called}");
            true
        }
        Err(Error::Refused(Refusal::NotFound)) => false,
        Err(error) => panic!("{called}: {error}"),
    }
}

/// The two superblocks that checkpoints write.
fn superblocks(ram: &RamDisk) -> [Superblock; 2] {
    let bytes = ram.to_vec();
    let first = Superblock::decode(&bytes[8192..]).expect("it is whole");
    let second = first.geometry().byte(first.fields.sboffs[1]).0 as usize;
    [first, Superblock::decode(&bytes[second..]).expect("it is whole")]
}

/// A volume with a file of which a checkpoint knows, and one that only the log has; then the power fails. Whether
/// another system wrote the checkpoint, in version 1.
fn crashed(rt: &Rt, ram: &RamDisk, foreign: bool) -> RamDisk {
    let image = rt.block_on(async {
        let mounted = mount(rt, ram).await;
        make(&mounted.fs, "old").await;
        mounted.fs.syncfs().await.expect("the disk is well");
        mounted.fs.syncfs().await.expect("the disk is well");
        let before = ram.to_vec();
        make(&mounted.fs, "older").await;
        mounted.fs.syncfs().await.expect("the disk is well");
        let new = make(&mounted.fs, "new").await;
        mounted.fs.fsync(new, false).await.expect("the disk is well");
        // As a system leaves it whose syncs write the superblocks by turns.
        let [_, second] = superblocks(&disk_of(&before));
        let at = second.geometry().byte(second.fields.sboffs[1]).0 as usize;
        let mut image = ram.to_vec();
        image[at..at + 8192].copy_from_slice(&before[at..at + 8192]);
        image
    });
    rt.drop_tasks();
    let ram = disk_of(&image);
    let [first, second] = superblocks(&ram);
    if first.version == Version::V1 {
        assert_ne!(first.fields.tstamp, second.fields.tstamp, "their times tell which is older");
    }
    if !foreign {
        return ram;
    }
    let mut bytes = image;
    for mut sb in [first, second] {
        let at = sb.geometry().byte(sb.fields.sboffs[usize::from(bytes[8192..8704] != sb.encode()[..512])]).0 as usize;
        // Such a system keeps the bytes that it does not know.
        (sb.fields.serial, sb.fields.tstamp) = (Serial(0), sb.fields.tstamp + 5);
        bytes[at..at + 8192].copy_from_slice(&sb.encode());
    }
    disk_of(&bytes)
}

#[test]
fn log_behind_a_checkpoint_is_followed_by_the_mount_and_by_fsck() {
    for (version, endian) in [(Version::V1, Endian::Little), (Version::V1, Endian::Big), (Version::Lfs64, Endian::Big)]
    {
        let rt = Rt::virtual_time(3);
        let image = crashed(&rt, &empty(version, Made { endian, ..PLAIN }), false);
        let repaired = disk_of(&image.to_vec());
        rt.block_on(async {
            let preen = ordo_fsck::Options::new(ordo_fsck::Mode::Preen);
            let report =
                ordo_fsck::check(&rt, std::rc::Rc::new(repaired.clone()), preen).await.expect("it can be checked");
            assert!(report.refused.is_none() && report.clean, "{report:?}");
            for (disk, rolls) in [(image, true), (repaired, false)] {
                let mounted = mount(&rt, &disk).await;
                assert_eq!(mounted.rolled.is_some(), rolls, "{version:?}");
                for file in ["old", "older", "new"] {
                    assert!(has(&mounted.fs, file).await, "{version:?}: {file}");
                }
                mounted.fs.unmount().await.expect("the disk is well");
                assert_eq!(wrong(&rt, &disk).await, [""; 0], "{version:?}");
            }
        });
        rt.drop_tasks();
    }
}

#[test]
fn log_that_another_system_left_in_version_1_ends_at_its_checkpoint() {
    let rt = Rt::virtual_time(3);
    let disk = crashed(&rt, &empty(Version::V1, PLAIN), true);
    assert!(superblocks(&disk).iter().all(|sb| !sb.has_serial()));
    rt.block_on(async {
        assert_eq!(wrong(&rt, &disk).await, [""; 0]);
        let mounted = mount(&rt, &disk).await;
        assert_eq!(mounted.rolled, None);
        assert!(has(&mounted.fs, "old").await && !has(&mounted.fs, "new").await);
        make(&mounted.fs, "next").await;
        mounted.fs.unmount().await.expect("the disk is well");
        assert_eq!(wrong(&rt, &disk).await, [""; 0]);
        assert!(superblocks(&disk).iter().all(Superblock::has_serial), "it is ours now");
        let again = mount(&rt, &disk).await;
        assert!(has(&again.fs, "next").await);
        again.fs.unmount().await.expect("the disk is well");
    });
    rt.drop_tasks();
}

#[test]
fn file_that_lost_its_name_while_it_was_used_is_free_after_a_crash() {
    for version in [Version::V1, Version::Lfs64] {
        let (rt, ram) = (Rt::virtual_time(3), empty(version, PLAIN));
        let image = rt.block_on(async {
            let mounted = mount(&rt, &ram).await;
            make(&mounted.fs, "used").await;
            mounted.fs.syncfs().await.expect("the disk is well");
            mounted.fs.unlink(mounted.fs.root(), name("used")).await.expect("it is there");
            mounted.fs.syncfs().await.expect("the disk is well");
            ram.to_vec()
        });
        rt.drop_tasks();
        let disk = disk_of(&image);
        rt.block_on(async {
            let mounted = mount(&rt, &disk).await;
            mounted.fs.unmount().await.expect("the disk is well");
            assert_eq!(wrong(&rt, &disk).await, [""; 0], "{version:?}");
        });
        rt.drop_tasks();
    }
}

#[test]
fn name_of_the_ifile_in_version_1_is_not_shown() {
    let rt = Rt::virtual_time(3);
    rt.block_on(async {
        let mounted = mount(&rt, &made_in(Version::V1, PLAIN)).await;
        assert!(!has(&mounted.fs, "ifile").await);
        let lost = mounted.fs.lookup(mounted.fs.root(), name("lost+found")).await;
        assert!(lost.is_ok(), "newfs makes it");
        mounted.fs.unmount().await.expect("the disk is well");
    });
    rt.drop_tasks();
}

/// Three files, each durable before the next is made; of the last two only the log knows. Then the power fails.
fn three(rt: &Rt, ram: &RamDisk, files: &[&str]) {
    rt.block_on(async {
        let mounted = mount(rt, ram).await;
        for called in files {
            let node = make(&mounted.fs, called).await;
            mounted.fs.fsync(node, false).await.expect("the disk is well");
        }
    });
    rt.drop_tasks();
}

#[test]
fn log_of_an_earlier_volume_in_the_same_place_is_not_followed() {
    let (rt, ram) = (Rt::virtual_time(3), made_in(Version::V1, PLAIN));
    three(&rt, &ram, &["a", "b", "c"]);
    // newfs does not wipe what it does not write: here, the log.
    let mut bytes = ram.to_vec();
    let fresh = made_in(Version::V1, PLAIN);
    let [first, second] = superblocks(&fresh);
    let (g, fresh) = (first.geometry(), fresh.to_vec());
    let (end, copy) = (g.byte(first.fields.offset).0 as usize, g.byte(second.fields.sboffs[1]).0 as usize);
    for part in [0..end, copy..copy + 8192] {
        bytes[part.clone()].copy_from_slice(&fresh[part]);
    }
    let again = disk_of(&bytes);
    rt.block_on(rt.sleep(std::time::Duration::from_secs(5)));
    three(&rt, &again, &["a"]);
    rt.block_on(async {
        let mounted = mount(&rt, &again).await;
        assert_eq!(mounted.rolled, Some(1), "the log of one life");
        assert!(has(&mounted.fs, "a").await && !has(&mounted.fs, "b").await);
        mounted.fs.unmount().await.expect("the disk is well");
    });
    rt.drop_tasks();
}

#[test]
fn time_of_reading_is_kept_in_every_version() {
    for version in [Version::V1, Version::V2, Version::Lfs64] {
        let (rt, ram, then) = (Rt::virtual_time(3), made_in(version, PLAIN), Stamp { secs: 12_345, nanos: 0 });
        rt.block_on(async {
            let mounted = mount(&rt, &ram).await;
            let node = make(&mounted.fs, "read").await;
            let set = SetAttr { atime: Some(SetTime::At(then)), ..SetAttr::default() };
            mounted.fs.setattr(node, &set).await.expect("it is there");
            mounted.fs.unmount().await.expect("the disk is well");
            let mounted = mount(&rt, &ram).await;
            let found = mounted.fs.lookup(mounted.fs.root(), name("read")).await.expect("it is there");
            assert_eq!(found.attr.atime, then, "{version:?}");
            mounted.fs.unmount().await.expect("the disk is well");
        });
        rt.drop_tasks();
    }
}
