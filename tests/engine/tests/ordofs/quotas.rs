//! Quotas: limits apply, what is used is what a count finds, and a crash leaves what fsck repairs.

use crate::common;

use ordo_ondisk::quota::{Entry, Form, Whose};
use ordo_ondisk::superblock::newfs::{NewfsParams, System};
use ordo_ondisk::{ByteOff, Dinode, Endian, Format, Ino, Superblock, dirent};
use ordofs::disk::RamDisk;
use ordofs::path::{Held, resolve};
use ordofs::rt::Rt;
use ordofs::vfs::{Caller, Error, FileSystem, Kind, Mode, Name, Refusal, Result, SetAttr, XattrMode};
use ordofs::{Fs, Limits, MountOptions, Mounted, NewVolume, QuotaLimits};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

const USER: u32 = 1001;
const WEEK: u64 = 604_800;
const ALL: QuotaLimits = QuotaLimits { users: Limits::IfThere, groups: Limits::IfThere, tables: true };

type Shape = (Format, Endian, u32, u32);

fn who(uid: u32) -> Caller {
    Caller { uid, gid: uid, ..Caller::default() }
}

fn name(name: &str) -> Name<'_> {
    Name::new(name.as_bytes()).unwrap()
}

async fn create(fs: &Rc<Fs>, who: &Caller, path: &str) -> Result<Held<Fs>> {
    let made = fs.mknod(who, fs.root(), name(path), Kind::Regular, Mode::new(0o644), 0).await?;
    Ok(Held::new(fs, made))
}

async fn size(fs: &Rc<Fs>, file: &Held<Fs>, size: u64) {
    fs.setattr(file.node(), &SetAttr { size: Some(size), ..SetAttr::default() }).await.unwrap();
}

fn is_quota<T>(outcome: Result<T>) -> bool {
    matches!(outcome, Err(Error::Refused(Refusal::Quota)))
}

fn mount(rt: &Rt, ram: &RamDisk, scheme: &str, quotas: QuotaLimits) -> Mounted {
    let options = MountOptions { scheme: Some(scheme.into()), quotas, ..MountOptions::default() };
    rt.block_on(Mounted::mount(rt, common::located(ram, Rc::new(ram.clone())), &options)).unwrap()
}

/// What each owner has, without those that have nothing.
fn used(fs: &Fs) -> Vec<BTreeMap<u32, (u64, u64)>> {
    let entries = fs.quotas().unwrap().entries();
    let some = |map: BTreeMap<u32, Entry>| {
        let used = map.into_iter().map(|(id, entry)| (id, (entry.blocks.used, entry.inodes.used)));
        used.filter(|(_, used)| *used != (0, 0)).collect()
    };
    entries.into_iter().map(|(_, _, map)| some(map)).collect()
}

/// A table as NetBSD writes it, by its offsets: four chains, user 1001 with limits, the other entries free.
fn table(e: Endian, bsize: usize, soft: u64, hard: u64) -> Vec<u8> {
    let mut b = vec![0; bsize];
    let mut put = |at: usize, number: u64| b[at..at + 8].copy_from_slice(&e.u64_bytes(number));
    for at in [8, 16, 48, 56] {
        put(at, u64::MAX);
    }
    put(40, WEEK);
    put(80, WEEK);
    // Chain 1 has the entry at 144; the free ones follow.
    put(112 + 8, 144);
    for (at, number) in [(144, hard), (152, soft), (176, 3600), (184, 4), (192, 4), (216, WEEK)] {
        put(at, number);
    }
    let free: Vec<usize> = (1..).map(|i| 144 + i * 96).take_while(|at| at + 96 <= bsize).collect();
    put(104, free[0] as u64);
    for pair in free.windows(2) {
        put(pair[0] + 80, pair[1] as u64);
    }
    b[144 + 88..144 + 92].copy_from_slice(&e.u32_bytes(USER));
    b[0..4].copy_from_slice(&e.u32_bytes(0xb746_915e));
    (b[4], b[5]) = (0, 2);
    b[6..8].copy_from_slice(&e.u16_bytes(4));
    b
}

/// A volume of NetBSD with a table of users in an inode without a name.
fn table_volume(rt: &Rt, (format, endian, bsize, fsize): Shape) -> RamDisk {
    let ram = RamDisk::new(24 << 20);
    let new = NewfsParams { endian, bsize, fsize, system: System::NetBsd, ..NewfsParams::new(format, 24 << 20) };
    NewVolume { params: new }.create_on(rt, Rc::new(ram.clone()), true).unwrap();
    let sectors = u64::from(bsize / 512);
    let mounted = mount(rt, &ram, "sync", QuotaLimits::default());
    let ino = rt.block_on(async {
        let file = create(mounted.fs(), &Caller::default(), "table").await.unwrap();
        let bytes = table(endian, bsize as usize, 4 * sectors, 8 * sectors);
        mounted.fs().write(&Caller::default(), file.node(), 0, &bytes).await.unwrap();
        file.attr().ino
    });
    rt.block_on(mounted.unmount()).unwrap();
    let at = if format == Format::Ufs1 { 8192 } else { 65536 };
    let mut bytes = vec![0; 8192];
    ram.peek(at, &mut bytes);
    let g = Superblock::decode(&bytes, ByteOff(at)).unwrap().geometry();
    // Its name goes: the entry is the last of the root directory.
    let mut inode = vec![0; g.dinode_size as usize];
    ram.peek(Dinode::place(&g, Ino(2)).0, &mut inode);
    let root = Dinode::decode(&inode, &g, Ino(2)).unwrap();
    let mut block = vec![0; 512];
    ram.peek(g.byte(root.db[0]).0, &mut block);
    let format = g.dir_format();
    let entries = dirent::entries(&block, format, Ino(2), 0).map(|entry| entry.unwrap());
    let places: Vec<(usize, bool)> = entries.map(|entry| (entry.offset, entry.name == b"table")).collect();
    let last = places.iter().position(|(_, is_table)| *is_table).unwrap();
    dirent::clear(&mut block, places[last].0, Some(places[last - 1].0), format).unwrap();
    ram.poke(g.byte(root.db[0]).0, &block);
    // The superblock names it: magic, users, inode.
    ram.poke(at + 904, &endian.u32_bytes(0xb746_915e));
    ram.poke(at + 908, &[1, 0, 0, 0]);
    ram.poke(at + 912, &endian.u64_bytes(ino));
    // As on NetBSD, a check counts what is used when a table is new: it makes the entry of root.
    let report = common::check(rt, &ram, ordo_fsck::Mode::Repair);
    assert!(!report.left && report.findings.len() == 1, "{report:#?}");
    ram
}

/// A volume of FreeBSD with files of 64-byte records, and limits for the user.
fn file_volume(rt: &Rt, shape: Shape) -> RamDisk {
    let ram = common::fresh(rt, shape, 24 << 20);
    let sectors = u64::from(shape.2 / 512);
    let mounted = mount(rt, &ram, "sync", QuotaLimits::default());
    rt.block_on(async {
        let fs = mounted.fs();
        for whose in Whose::ALL {
            let file = create(fs, &Caller::default(), whose.file()).await.unwrap();
            fs.write(&Caller::default(), file.node(), 0, &Form::wide_head()).await.unwrap();
            let limits = [8 * sectors + 1, 4 * sectors + 1, 0, 5, 5, 0, 0, 0].map(u64::to_be_bytes).concat();
            if whose == Whose::Users {
                fs.write(&Caller::default(), file.node(), 64 + 64 * u64::from(USER), &limits).await.unwrap();
            }
            let grace = [0u64, 0, 0, 0, 0, 0, 3600, 0].map(u64::to_be_bytes).concat();
            fs.write(&Caller::default(), file.node(), 64, &grace).await.unwrap();
        }
    });
    rt.block_on(mounted.unmount()).unwrap();
    ram
}

fn volumes(rt: &Rt) -> Vec<(RamDisk, u64, String)> {
    let mut all = Vec::new();
    for &shape in &common::SHAPES[..4] {
        all.push((table_volume(rt, shape), u64::from(shape.2), format!("table {shape:?}")));
        all.push((file_volume(rt, shape), u64::from(shape.2), format!("files {shape:?}")));
    }
    all
}

#[test]
fn hard_limits_soft_limits_and_their_time() {
    let rt = Rt::virtual_time(1);
    for (ram, bsize, what) in volumes(&rt) {
        let mounted = mount(&rt, &ram, "softupdates", ALL);
        rt.block_on(async {
            let (fs, user) = (mounted.fs(), who(USER));
            let block = vec![7; bsize as usize];
            let file = create(fs, &user, "f").await.unwrap();
            let write = async |lbn: u64| fs.write(&user, file.node(), lbn * bsize, &block).await;
            for lbn in 0..8 {
                write(lbn).await.unwrap_or_else(|error| panic!("{what}: block {lbn}: {error}"));
            }
            assert!(is_quota(write(8).await), "{what}");
            // Nothing changed, and root may.
            assert_eq!(fs.getattr(file.node()).await.unwrap().size, 8 * bsize, "{what}");
            // Below the hard limit, in the time of grace, and after it.
            size(fs, &file, 6 * bsize).await;
            write(6).await.unwrap();
            rt.sleep(Duration::from_secs(3601)).await;
            assert!(is_quota(write(7).await), "{what}: after the time");
            size(fs, &file, 3 * bsize).await;
            write(3).await.unwrap();
            write(4).await.unwrap_or_else(|error| panic!("{what}: a new time: {error}"));
            // Over a hole, behind the direct blocks: one block and an indirect one.
            size(fs, &file, 6 * bsize).await;
            size(fs, &file, 2 * bsize).await;
            write(20).await.unwrap();
            assert_eq!(used(fs)[0][&USER], (4 * bsize / 512, 1), "{what}");
            fs.write(&Caller::default(), file.node(), 30 * bsize, &vec![1; 6 * bsize as usize]).await.unwrap();
            assert!(is_quota(write(25).await), "{what}: root has used it up");
            size(fs, &file, 0).await;
            // Four inodes.
            for extra in ["g", "h", "i"] {
                create(fs, &user, extra).await.unwrap_or_else(|error| panic!("{what}: {extra}: {error}"));
            }
            assert!(is_quota(create(fs, &user, "j").await), "{what}");
            create(fs, &who(7), "of another").await.unwrap();
            fs.unlink(fs.root(), name("h")).await.unwrap();
            // What waits to be freed counts as free: the call syncs.
            create(fs, &user, "j").await.unwrap_or_else(|error| panic!("{what}: after a remove: {error}"));
        });
        let before = used(mounted.fs());
        rt.block_on(mounted.unmount()).unwrap();
        common::assert_clean(&rt, &ram, &what);
        let again = mount(&rt, &ram, "sync", QuotaLimits::default());
        assert_eq!(used(again.fs()), before, "{what}");
        rt.block_on(again.unmount()).unwrap();
    }
}

#[test]
fn owners_change_and_open_files_keep_what_they_use() {
    let rt = Rt::virtual_time(2);
    for (ram, bsize, what) in volumes(&rt) {
        let mounted = mount(&rt, &ram, "softupdates", ALL);
        rt.block_on(async {
            let fs = mounted.fs();
            let file = create(fs, &who(5), "f").await.unwrap();
            fs.write(&who(5), file.node(), 0, &vec![1; 2 * bsize as usize]).await.unwrap();
            let of = |id| used(fs)[0].get(&id).copied().unwrap_or_default();
            let two = (2 * bsize / 512, 1);
            assert_eq!((of(5), of(6)), (two, (0, 0)), "{what}");
            fs.setattr(file.node(), &SetAttr { uid: Some(6), gid: Some(6), ..SetAttr::default() }).await.unwrap();
            assert_eq!((of(5), of(6)), ((0, 0), two), "{what}");
            fs.unlink(fs.root(), name("f")).await.unwrap();
            fs.syncfs().await.unwrap();
            assert_eq!(of(6), two, "{what}: open, without a name");
            drop(file);
            fs.syncfs().await.unwrap();
            fs.syncfs().await.unwrap();
            assert_eq!(of(6), (0, 0), "{what}");
        });
        rt.block_on(mounted.unmount()).unwrap();
        common::assert_clean(&rt, &ram, &what);
    }
}

#[test]
fn a_crash_leaves_counts_that_fsck_and_the_next_mount_put_right() {
    let rt = Rt::virtual_time(3);
    for (ram, bsize, what) in volumes(&rt) {
        let mounted = mount(&rt, &ram, "sync", ALL);
        rt.block_on(async {
            let fs = mounted.fs();
            let file = create(fs, &who(USER), "f").await.unwrap();
            fs.write(&who(USER), file.node(), 0, &vec![1; 3 * bsize as usize]).await.unwrap();
            fs.fsync(file.node(), false).await.unwrap();
        });
        let cut = ram.snapshot();
        let report = common::check(&rt, &cut, ordo_fsck::Mode::Check);
        let wrong = |report: &ordo_fsck::Report| {
            report.findings.iter().filter(|found| found.finding.name().starts_with("Quota")).count()
        };
        assert!(wrong(&report) > 0, "{what}: {report:#?}");
        let mended = cut.snapshot();
        let report = common::check(&rt, &mended, ordo_fsck::Mode::Repair);
        assert!(!report.left, "{what}: {report:#?}");
        common::assert_clean(&rt, &mended, &what);
        for left in [mended, cut] {
            let options = MountOptions { quotas: ALL, force: true, ..MountOptions::default() };
            let located = common::located(&left, Rc::new(left.clone()));
            let again = rt.block_on(Mounted::mount(&rt, located, &options)).unwrap();
            assert_eq!(used(again.fs())[0][&USER], (3 * bsize / 512, 1), "{what}");
            rt.block_on(again.unmount()).unwrap();
            assert_eq!(wrong(&common::judge(&rt, &left)), 0, "{what}");
        }
        rt.block_on(mounted.unmount()).unwrap();
        common::assert_clean(&rt, &ram, &what);
    }
}

/// A log brings back what was not counted.
#[test]
fn a_replay_by_fsck_is_followed_by_a_count() {
    let rt = Rt::virtual_time(4);
    for &shape in &common::SHAPES[..4] {
        let ram = file_volume(&rt, shape);
        ordofs::Tuning::for_log(ordo_buf::LogKind::Redo).apply_on(&rt, Rc::new(ram.clone())).unwrap();
        let mounted = mount(&rt, &ram, "wafs", ALL);
        rt.block_on(async {
            let file = create(mounted.fs(), &who(USER), "f").await.unwrap();
            mounted.fs().write(&who(USER), file.node(), 0, &[1; 5000]).await.unwrap();
            mounted.fs().fsync(file.node(), false).await.unwrap();
        });
        let cut = ram.snapshot();
        let report = common::check(&rt, &cut, ordo_fsck::Mode::Preen);
        let replayed = matches!(report.journal, Some(ordo_fsck::Journal::Replayed(_)));
        assert!(replayed && report.scanned && !report.left, "{shape:?}: {report:#?}");
        common::assert_clean(&rt, &cut, &format!("{shape:?}"));
        rt.block_on(mounted.unmount()).unwrap();
    }
}

#[test]
fn a_damaged_table_is_built_anew() {
    let rt = Rt::virtual_time(4);
    for &shape in &common::SHAPES[..4] {
        let ram = table_volume(&rt, shape);
        let mut bytes = ram.to_vec();
        let magic = shape.1.u32_bytes(0xb746_915e);
        let head = (0..bytes.len()).step_by(512).find(|&at| at > 100_000 && bytes[at..at + 4] == magic).unwrap();
        // The free list leads into the chain of the user.
        bytes[head + 104..head + 112].copy_from_slice(&shape.1.u64_bytes(144));
        let ram = RamDisk::from_bytes(&bytes);
        let located = common::located(&ram, Rc::new(ram.clone()));
        let refused = rt.block_on(Mounted::mount(&rt, located, &MountOptions::default()));
        assert!(refused.is_err_and(|why| why.to_string().contains("quota")), "{shape:?}");
        let report = common::check(&rt, &ram, ordo_fsck::Mode::Repair);
        assert!(report.findings.iter().any(|found| found.finding.name() == "QuotaTable"), "{report:#?}");
        common::assert_clean(&rt, &ram, "after the repair");
        let mounted = mount(&rt, &ram, "sync", ALL);
        let entries = mounted.fs().quotas().unwrap().entries();
        assert_eq!(entries[0].2[&USER].inodes.hard, 4, "{shape:?}");
        rt.block_on(mounted.unmount()).unwrap();
    }
}

/// Random calls of several users; after each, what is used is what a count finds.
#[test]
fn what_is_used_is_what_a_count_finds() {
    for seed in 0..4u64 {
        let rt = Rt::virtual_time(10 + seed);
        let scheme = ["softupdates", "sync", "wafs", "softupdates"][seed as usize];
        let shape = common::SHAPES[seed as usize];
        let scheme = if scheme == "wafs" { "sync" } else { scheme };
        let ram = if seed % 2 == 0 { file_volume(&rt, shape) } else { table_volume(&rt, shape) };
        let mounted = mount(&rt, &ram, scheme, ALL);
        let mut rng = rt.rng();
        let bsize = u64::from(shape.2);
        let mut refused = 0;
        rt.block_on(async {
            let fs = mounted.fs();
            for _ in 0..400 {
                let mut any = |n: u64| rng.next_u64() % n;
                let (caller, path) = (who([0, USER, 5][any(3) as usize]), format!("f{}", any(6)));
                let found = resolve(fs, path.as_bytes(), true).await.ok();
                let outcome = match (any(7), found) {
                    (0 | 1, None) => create(fs, &caller, &path).await.map(drop),
                    (0..3, Some(file)) => {
                        let data = vec![3; (1 + any(2 * bsize)) as usize];
                        let at = [any(3 * bsize), any(40) * bsize, any(bsize * bsize)][any(3) as usize];
                        fs.write(&caller, file.node(), at, &data).await.map(drop)
                    }
                    (3, Some(file)) => {
                        let to = any(14 * bsize);
                        let set = SetAttr { size: Some(to), ..SetAttr::default() };
                        fs.setattr(file.node(), &set).await.map(drop)
                    }
                    (4, Some(file)) => {
                        let (uid, gid) = (Some(caller.uid).filter(|_| any(2) == 0), Some(caller.gid));
                        fs.setattr(file.node(), &SetAttr { uid, gid, ..SetAttr::default() }).await.map(drop)
                    }
                    (5, Some(file)) if shape.0 == Format::Ufs2 => {
                        let value = vec![1; any(bsize) as usize];
                        let set = fs.setxattr(&caller, file.node(), b"user.x", &value, XattrMode::Set).await;
                        // NetBSD's volume without attributes refuses it.
                        if matches!(set, Err(Error::Refused(Refusal::NotSupported))) { Ok(()) } else { set }
                    }
                    (6, Some(file)) => {
                        drop(file);
                        fs.unlink(fs.root(), name(&path)).await
                    }
                    _ => Ok(()),
                };
                refused += u64::from(is_quota(outcome.clone()));
                assert!(outcome.is_ok() || is_quota(outcome.clone()), "{seed}: {outcome:?}");
                let now = used(fs);
                fs.count_quotas().await.unwrap();
                assert_eq!(now, used(fs), "{seed}");
            }
        });
        assert!(refused > 0, "{seed}: no limit was met");
        rt.block_on(mounted.unmount()).unwrap();
        common::assert_clean(&rt, &ram, &format!("{seed}"));
    }
}
