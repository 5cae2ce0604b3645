//! What a crash under soft updates leaks is reclaimed on the live volume: every kind of leak, planted on every shape of
//! volume, with and without concurrent calls. Afterwards fsck finds nothing, and the tree is unchanged.

use crate::common;
mod hostile;
mod live;
mod plant;
mod scheme;

use common::{SHAPES, assert_clean, fresh, judge, located, mount};
use ordo_ondisk::{Cgx, FragNo, Ino};
use ordofs::disk::RamDisk;
use ordofs::path::resolve;
use ordofs::rt::Rt;
use ordofs::vfs::{Caller, FileSystem, Kind, Mode, Name};
use ordofs::{LeaksPhase, LeaksProgress, MountOptions, Mounted};
use plant::Raw;
use scheme::{AtOnce, Late};
use std::rc::Rc;

const WHO: Caller = Caller { uid: 0, gid: 0, umask: 0o022, privileged: true };
const BYTES: u64 = 24 << 20;

/// Mounted by a scheme that promises that a crashed volume may be used at once.
fn mount_at_once(rt: &Rt, ram: &RamDisk, scheme: Rc<dyn ordo_buf::Scheme>) -> Mounted {
    // Waiting for the disk lets other tasks run: the scan is interleaved with calls.
    let disk = Rc::new(ram.clone().with(|info| info.immediate = false));
    let options = MountOptions::default();
    let mounted = Mounted::mount_with(rt, located(ram, disk), scheme, &options);
    let mounted = rt.block_on(mounted).expect("the volume can be mounted");
    assert_eq!(mounted.why_read_only(), None);
    mounted
}

/// Reclaims, unmounts, and runs fsck.
fn reclaim(rt: &Rt, ram: &RamDisk, scheme: &str) -> LeaksProgress {
    let mounted = mount_at_once(rt, ram, AtOnce::over(scheme));
    let ended = rt.block_on(mounted.leaks_ended());
    rt.block_on(mounted.unmount()).expect("the disk is well");
    ended
}

/// Waits until every ticket was returned.
async fn settle(mounted: &Mounted) {
    for _ in 0..10 {
        mounted.fs().syncfs().await.expect("the disk is well");
    }
    assert_eq!(mounted.cache().ledger().outstanding(), 0);
}

async fn ino(mounted: &Mounted, path: &str) -> Ino {
    Ino(resolve(mounted.fs(), path.as_bytes(), false).await.expect("it is there").node().0 as u32)
}

async fn file(mounted: &Mounted, dir: &str, name: &str, bytes: u64) {
    let fs = mounted.fs();
    let dir = resolve(fs, dir.as_bytes(), true).await.expect("the directory is there");
    let name = Name::new(name.as_bytes()).expect("a name");
    let made = fs.mknod(&WHO, dir.node(), name, Kind::Regular, Mode::new(0o644), 0).await.expect("room");
    let data = vec![name.bytes()[0]; 10_000];
    for at in (0..bytes).step_by(data.len()) {
        let len = (bytes - at).min(data.len() as u64) as usize;
        fs.write(&WHO, made.node, at, &data[..len]).await.expect("room");
    }
    if mounted.has_xattrs() {
        let set = fs.setxattr(&WHO, made.node, b"user.note", b"a note", ordo_vfs::XattrMode::Set).await;
        set.expect("room for an attribute");
    }
    fs.forget(made.node, 1);
}

async fn dir(mounted: &Mounted, above: &str, name: &str) {
    let fs = mounted.fs();
    let above = resolve(fs, above.as_bytes(), true).await.expect("the directory is there");
    let name = Name::new(name.as_bytes()).expect("a name");
    let made = fs.mkdir(&WHO, above.node(), name, Mode::new(0o755)).await.expect("room");
    fs.forget(made.node, 1);
}

/// A volume with a tree, and the inode numbers that will lose their names.
struct Stage {
    rt: Rt,
    ram: RamDisk,
    raw: Raw,
    names: Vec<(&'static str, Ino)>,
}

impl Stage {
    fn new(shape: usize) -> Stage {
        let rt = Rt::virtual_time(shape as u64);
        let ram = fresh(&rt, SHAPES[shape], BYTES);
        let mounted = mount(&rt, &ram, "async");
        let names = rt.block_on(async {
            for (above, name) in [("/", "a"), ("/", "b"), ("/b", "c"), ("/b/c", "d"), ("/", "e"), ("/e", "f")] {
                dir(&mounted, above, name).await;
            }
            file(&mounted, "/a", "one", 100).await;
            file(&mounted, "/a", "big", 900_000).await;
            file(&mounted, "/a", "gone", 700_000).await;
            file(&mounted, "/a", "zero", 5000).await;
            for i in 0..60 {
                file(&mounted, "/b/c", &format!("file {i}"), 300 * i).await;
            }
            file(&mounted, "/b/c/d", "deep", 40_000).await;
            file(&mounted, "/e", "other", 10).await;
            let mut names = Vec::new();
            for path in ["/a", "/a/one", "/a/big", "/a/gone", "/a/zero", "/b", "/b/c", "/e", "/e/f", "/e/other"] {
                names.push((path, ino(&mounted, path).await));
            }
            names
        });
        rt.block_on(mounted.unmount()).expect("the disk is well");
        assert_clean(&rt, &ram, "before the crash");
        let mut raw = Raw::of(&ram);
        raw.crash();
        Stage { rt, ram, raw, names }
    }

    fn ino(&self, path: &str) -> Ino {
        self.names.iter().find(|(name, _)| *name == path).expect("it was noted").1
    }

    /// Reclaims; then the volume is clean, and all its files are there.
    fn clean_after(&self, what: &str) -> LeaksProgress {
        let broken = judge(&self.rt, &self.ram);
        assert!(!broken.findings.is_empty(), "{what}: nothing was planted");
        let before = self.readable();
        let ended = reclaim(&self.rt, &self.ram, "async");
        assert_eq!((ended.phase, &ended.failure), (LeaksPhase::Done, &None), "{what}");
        assert_eq!(ended.inodes, ended.of, "{what}");
        assert_clean(&self.rt, &self.ram, what);
        assert_eq!(self.readable(), before, "{what}");
        ended
    }

    /// What can be read, by path.
    fn readable(&self) -> Vec<(Vec<u8>, u64, (u64, u64))> {
        let copy = self.ram.snapshot();
        let options = MountOptions { read_only: true, ..MountOptions::default() };
        let mounted = Mounted::mount(&self.rt, located(&copy, Rc::new(copy.clone())), &options);
        let mounted = self.rt.block_on(mounted).expect("the volume can be mounted");
        let tree = self.rt.block_on(common::tree::look(&**mounted.fs())).expect("the volume can be read");
        // The only file whose size is changed: its old end is no longer known.
        let same = tree.readable().filter(|(path, ..)| path != b"/a/big");
        same.map(|(path, ino, hashes)| (path.to_vec(), ino, hashes)).collect()
    }
}

/// Plants each kind of leak on each shape.
fn on_every_shape(what: &str, plant: impl Fn(&Stage), check: impl Fn(&Stage, &LeaksProgress)) {
    for shape in 0..SHAPES.len() {
        let stage = Stage::new(shape);
        plant(&stage);
        let ended = stage.clean_after(&format!("{what}, shape {shape}"));
        check(&stage, &ended);
    }
}

#[test]
fn volume_that_lost_nothing_is_clean_after_the_scan() {
    on_every_shape(
        "nothing",
        |_| (),
        |_, ended| {
            assert_eq!((ended.inodes_freed, ended.frags_freed, ended.links_lowered), (0, 0, 0));
            assert!(ended.directories >= 7);
        },
    );
}

#[test]
fn fragments_that_nothing_points_to_are_freed() {
    for shape in 0..SHAPES.len() {
        let stage = Stage::new(shape);
        let last = Cgx(stage.raw.g.ncg - 1);
        let mut leaked = stage.raw.leak_frags(Cgx(0), 3, 200, false);
        if last.0 > 0 {
            leaked += stage.raw.leak_frags(last, 1, 1000, false);
        }
        let ended = stage.clean_after(&format!("fragments, shape {shape}"));
        assert_eq!(ended.frags_freed, leaked);
    }
}

#[test]
fn numbers_of_inodes_that_hold_nothing_are_freed() {
    for shape in 0..SHAPES.len() {
        let stage = Stage::new(shape);
        let leaked = stage.raw.leak_numbers(Cgx(0), 40);
        let ended = stage.clean_after(&format!("numbers, shape {shape}"));
        assert_eq!(ended.inodes_freed, leaked);
    }
}

#[test]
fn files_without_names_are_freed_with_their_blocks() {
    on_every_shape(
        "files",
        |stage| {
            stage.raw.unname(stage.ino("/a"), b"gone");
            stage.raw.unname(stage.ino("/a"), b"zero");
            stage.raw.set_inode(stage.ino("/a/zero"), |dinode| dinode.nlink = 0);
        },
        |_, ended| assert_eq!((ended.inodes_freed, ended.frags_freed), (2, 0)),
    );
}

#[test]
fn directories_without_names_are_freed_with_everything_below_them() {
    on_every_shape(
        "directories",
        |stage| stage.raw.unname(Ino::ROOT, b"b"),
        // b, c, d, sixty files and one; the root had a link for the `..` of b.
        |_, ended| assert_eq!((ended.inodes_freed, ended.links_lowered), (64, 1)),
    );
}

#[test]
fn link_counts_that_are_too_high_are_lowered() {
    on_every_shape(
        "links",
        |stage| {
            for (path, more) in [("/a/one", 2), ("/a", 1), ("/e", 5)] {
                stage.raw.set_inode(stage.ino(path), |dinode| dinode.nlink += more);
            }
            stage.raw.set_inode(Ino::ROOT, |dinode| dinode.nlink += 1);
        },
        |_, ended| assert_eq!((ended.inodes_freed, ended.links_lowered), (0, 4)),
    );
}

#[test]
fn counts_of_blocks_and_sizes_beyond_the_last_block_are_mended() {
    on_every_shape(
        "inodes",
        |stage| {
            stage.raw.set_inode(stage.ino("/a/one"), |dinode| dinode.blocks += 16);
            let bsize = u64::from(stage.raw.g.bsize);
            let big = stage.ino("/a/big");
            let more = if stage.raw.inode(big).size > 12 * bsize { 3 * bsize } else { 0 };
            stage.raw.set_inode(big, |dinode| {
                dinode.blocks -= 16;
                dinode.size += more;
            });
        },
        |_, ended| assert_eq!(ended.inodes_mended, 2),
    );
}

#[test]
fn directory_with_two_names_keeps_the_one_that_its_dotdot_agrees_with() {
    for moved in [false, true] {
        for shape in 0..SHAPES.len() {
            let stage = Stage::new(shape);
            let (raw, f) = (&stage.raw, stage.ino("/e/f"));
            // The new name in /a; the file that had it before has no name now.
            raw.rename_to(stage.ino("/a"), b"one", f, Kind::Directory as u8);
            raw.set_inode(f, |dinode| dinode.nlink += 1);
            raw.set_inode(stage.ino("/a"), |dinode| dinode.nlink += 1);
            if moved {
                raw.rename_to(f, b"..", stage.ino("/a"), Kind::Directory as u8);
            }
            let ended = reclaim(&stage.rt, &stage.ram, "async");
            assert_eq!((ended.phase, ended.names_removed), (LeaksPhase::Done, 1), "shape {shape} {ended:?}");
            assert_clean(&stage.rt, &stage.ram, &format!("two names, shape {shape}"));
            let mounted = mount(&stage.rt, &stage.ram, "async");
            stage.rt.block_on(async {
                let there =
                    [resolve(mounted.fs(), b"/e/f", false).await, resolve(mounted.fs(), b"/a/one", false).await];
                assert_eq!(there.map(|found| found.is_ok()), [!moved, moved]);
            });
            stage.rt.block_on(mounted.unmount()).expect("the disk is well");
        }
    }
}

#[test]
fn torn_groups_are_put_in_order() {
    for shape in 0..SHAPES.len() {
        let stage = Stage::new(shape);
        let leaked = stage.raw.leak_frags(Cgx(0), 5, 100, true);
        let ended = stage.clean_after(&format!("a torn group, shape {shape}"));
        assert_eq!(ended.frags_freed, leaked);
    }
}

#[test]
fn damage_stops_the_scan_and_nothing_is_freed() {
    type Plant = fn(&Stage);
    let damages: [(&str, Plant); 3] = [
        ("a count too low", |stage| stage.raw.set_inode(stage.ino("/e"), |dinode| dinode.nlink -= 1)),
        ("a name that leads nowhere", |stage| {
            let free = stage.raw.look(Cgx(0), |cg| (0..).find(|&i| !ordo_ondisk::cg::map::get(cg.iused(), i)));
            stage.raw.rename_to(stage.ino("/a"), b"one", Ino(free.expect("some inode is free")), Kind::Regular as u8);
        }),
        ("a wild pointer", |stage| {
            stage.raw.set_inode(stage.ino("/a/one"), |dinode| dinode.db[0] = FragNo(1));
        }),
    ];
    for shape in 0..SHAPES.len() {
        for (what, plant) in &damages {
            let stage = Stage::new(shape);
            stage.raw.leak_frags(Cgx(0), 3, 200, false);
            plant(&stage);
            let ended = reclaim(&stage.rt, &stage.ram, "async");
            assert_eq!((ended.phase, ended.inodes_freed, ended.frags_freed), (LeaksPhase::Failed, 0, 0), "{what}");
            assert!(ended.failure.is_some(), "{what}");
            let sb = Raw::of(&stage.ram).sb;
            assert!(!sb.is_clean() && sb.features().needs_fsck, "{what}, shape {shape}");
        }
    }
}

#[test]
fn volume_that_is_unmounted_before_the_end_is_scanned_again() {
    for shape in 0..SHAPES.len() {
        let stage = Stage::new(shape);
        stage.raw.unname(Ino::ROOT, b"b");
        stage.raw.leak_frags(Cgx(0), 3, 200, false);
        for steps in [0, 1, 2, 3] {
            let mounted = mount_at_once(&stage.rt, &stage.ram, AtOnce::over("sync"));
            stage.rt.block_on(async {
                for _ in 0..steps {
                    stage.rt.yield_now().await;
                }
                assert!(!mounted.leaks().phase.is_over(), "after {steps} steps");
                mounted.unmount().await.expect("the disk is well");
            });
            let sb = Raw::of(&stage.ram).sb;
            assert!(!sb.is_clean() && sb.features().softdep);
        }
        stage.clean_after(&format!("stopped four times, shape {shape}"));
    }
}

#[test]
fn blocks_that_change_hands_before_the_scan_sees_their_inodes_stay_with_their_owners() {
    for shape in 0..SHAPES.len() {
        let stage = Stage::new(shape);
        stage.raw.leak_frags(Cgx(0), 3, 50, false);
        let (rt, disk) = (&stage.rt, Rc::new(stage.ram.clone()));
        let queue = ordo_disk::Queue::new(rt, disk.clone(), ordo_disk::QueueOptions::default());
        let policy = ordo_buf::Policy::default();
        let cache = ordo_buf::Cache::new(rt.clone(), queue, ordo_buf::Health::default(), 64 << 20, policy);
        let found = located(&stage.ram, disk).found.into_ufs().expect("it is UFS");
        rt.block_on(async {
            let layout = ordo_ffs::Ffs::open(&cache, AtOnce::over("async"), found, &ordo_ffs::Opening::default()).await;
            let fs =
                Rc::new(ordo_ufs::Ufs::new(layout.expect("the volume can be mounted"), ordo_ufs::Atime::default()));
            let reclaimer = ordo_reclaim::Reclaimer::attach(&fs).expect("a crash has left the volume");
            // The scan knows what there was, and has made no step.
            let dir = resolve(&fs, b"/a", false).await.expect("it is there");
            fs.unlink(dir.node(), Name::new(b"gone").expect("a name")).await.expect("it is there");
            fs.unlink(dir.node(), Name::new(b"one").expect("a name")).await.expect("it is there");
            let big = resolve(&fs, b"/a/big", false).await.expect("it is there");
            let cut = ordo_vfs::SetAttr { size: Some(100_000), ..ordo_vfs::SetAttr::default() };
            fs.setattr(big.node(), &cut).await.expect("it can be cut");
            for name in [&b"heir"[..], b"second heir", b"third heir"] {
                let name = Name::new(name).expect("a name");
                let made = fs.mknod(&WHO, dir.node(), name, Kind::Regular, Mode::new(0o644), 0).await.expect("room");
                for at in 0..60 {
                    fs.write(&WHO, made.node, at * 10_000, &[7; 10_000]).await.expect("room");
                }
                fs.forget(made.node, 1);
            }
            drop((dir, big));
            rt.spawn(ordo_ufs::Ufs::run_worker(Rc::downgrade(&fs)));
            assert_eq!(reclaimer.ended().await.phase, LeaksPhase::Done);
            fs.unmount().await.expect("the disk is well");
        });
        assert_clean(&stage.rt, &stage.ram, &format!("heirs, shape {shape}"));
    }
}

#[test]
fn directory_whose_links_wait_to_be_dropped_is_freed_once() {
    for shape in 0..SHAPES.len() {
        let stage = Stage::new(shape);
        let mounted = mount_at_once(&stage.rt, &stage.ram, Late::over("async"));
        stage.rt.block_on(async {
            let fs = mounted.fs();
            let dir = resolve(fs, b"/e", false).await.expect("it is there");
            fs.rmdir(dir.node(), Name::new(b"f").expect("a name")).await.expect("it is empty");
            drop(dir);
            let ended = mounted.leaks_ended().await;
            assert_eq!((ended.phase, ended.inodes_freed, ended.links_lowered), (LeaksPhase::Done, 0, 0));
            settle(&mounted).await;
            mounted.unmount().await.expect("the disk is well");
        });
        assert_clean(&stage.rt, &stage.ram, &format!("a directory that goes, shape {shape}"));
    }
}

#[test]
fn file_that_is_open_when_its_last_name_goes_is_freed_once() {
    for shape in 0..SHAPES.len() {
        let stage = Stage::new(shape);
        stage.raw.set_inode(stage.ino("/a/gone"), |dinode| dinode.nlink += 1);
        let mounted = mount_at_once(&stage.rt, &stage.ram, Late::over("async"));
        stage.rt.block_on(async {
            let fs = mounted.fs();
            let dir = resolve(fs, b"/a", false).await.expect("it is there");
            let held = resolve(fs, b"/a/gone", false).await.expect("it is there");
            fs.unlink(dir.node(), Name::new(b"gone").expect("a name")).await.expect("it is there");
            assert_eq!(mounted.leaks_ended().await.phase, LeaksPhase::Done);
            assert_eq!(fs.read(held.node(), 600_000, 8).await.expect("it is open").concat(), b"gggggggg");
            drop((dir, held));
            settle(&mounted).await;
            mounted.unmount().await.expect("the disk is well");
        });
        assert_clean(&stage.rt, &stage.ram, &format!("open, shape {shape}"));
    }
}
