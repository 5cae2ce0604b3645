//! What the disk, the image and the engine know of a failure reaches the caller by its type: the request and its place,
//! the structure and its field, or that it is a defect.

use crate::common;

use common::{fresh, located, mount, mount_on};
use ordo_buf::{BufRef, Capabilities, TracksBufs, Wrapper};
use ordo_ondisk::{Corrupt, Endian, Format, Rule, Structure};
use ordo_simdisk::{Fault, FaultPlan, Faulty};
use ordo_workload::Session;
use ordofs::disk::{Cause, DiskError, DiskOff, DiskOp, Kind, RamDisk};
use ordofs::rt::Rt;
use ordofs::schemes::Settings;
use ordofs::vfs::{Caller, FileSystem, Refusal};
use ordofs::{
    Error, JournalChange, MountOptions, Mounted, NewLfs, NewVolume, OpenError, Origin, Tuning, Volume, schemes,
};
use std::io::Read;
use std::path::Path;
use std::rc::Rc;

/// EIO of the system.
const EIO: Cause = Cause::Io(5);
const SIZE: u64 = 16 << 20;
/// The contents of a file, found again on the disk.
const PATTERN: [u8; 5000] = [0xa7; 5000];

/// The place of `bytes` on the disk.
fn place_of(ram: &RamDisk, bytes: &[u8]) -> u64 {
    let mut all = vec![0; SIZE as usize];
    ram.peek(0, &mut all);
    all.windows(bytes.len()).position(|window| window == bytes).expect("it is on the disk") as u64
}

/// A volume with a file of the pattern, mounted through a disk with these faults.
fn with_file(rt: &Rt, scheme: &str, faults: impl FnOnce(u64) -> FaultPlan) -> (RamDisk, Mounted, u64) {
    let ram = fresh(rt, common::SHAPES[0], SIZE).volatile(true);
    let mounted = mount(rt, &ram, scheme);
    rt.block_on(Session::new(&**mounted.fs()).write_file("file", &PATTERN)).expect("the disk is well");
    rt.block_on(mounted.unmount()).expect("the disk is well");
    rt.drop_tasks();
    let at = place_of(&ram, &PATTERN);
    let faulty = Faulty::new(Rc::new(ram.clone()), faults(at));
    let mounted = mount_on(rt, &ram, Rc::new(faulty), scheme);
    (ram, mounted, at)
}

fn failed(error: &Error) -> &DiskError {
    assert_eq!(error.origin(), Origin::Disk, "{error}");
    error.cause().unwrap_or_else(|| panic!("no request in {error:?}"))
}

fn covers(failed: &DiskError, at: u64) -> bool {
    (failed.at.0..failed.at.0 + failed.len).contains(&at)
}

#[test]
fn a_damaged_field_is_told_with_structure_place_and_value() {
    for (format, endian) in [(Format::Ufs2, Endian::Little), (Format::Ufs1, Endian::Big)] {
        let dir = tempfile::tempdir().expect("a directory");
        let image = dir.path().join("disk.img");
        let made = NewVolume::new(SIZE).with(|shape| (shape.format, shape.endian) = (format, endian)).create(&image);
        made.expect("the shape is possible");
        let volume = Volume::open(&image).expect("a plain path").mount().expect("there is a volume");
        volume.create_dir("/etc").expect("there is room");
        volume.write("/etc/motd", b"hello").expect("there is room");
        let dir_ino = volume.metadata("/etc").expect("it is there").attr().ino;
        volume.unmount().expect("the disk is well");

        // The entry of `motd` begins after those of `.` and `..`, and its length is three bytes: it ends within its
        // head.
        let mut bytes = std::fs::read(&image).expect("it is there");
        let name = bytes.windows(5).position(|five| five == b"motd\0").expect("the entry is there");
        let short = if endian == Endian::Little { 3_u16.to_le_bytes() } else { 3_u16.to_be_bytes() };
        bytes[name - 4..name - 2].copy_from_slice(&short);
        std::fs::write(&image, bytes).expect("there is room");

        let volume = Volume::open(&image).expect("a plain path").read_only().mount().expect("there is a volume");
        let error = volume.read("/etc/motd").expect_err("the entry is damaged");
        assert!(matches!(error, Error::Corrupt(_)) && error.origin() == Origin::Image, "{error:?}");
        let damage: &Corrupt = error.cause().expect("the damage has a type");
        assert_eq!(damage.structure, Structure::Directory(ordo_ondisk::Ino(dir_ino as u32)), "{error}");
        assert_eq!((damage.field, damage.found, damage.at.map(|at| at.0)), ("d_reclen", 3, Some(24)), "{error}");
        assert_eq!(damage.rule, Rule::MultipleOf(4));
        assert_eq!(error.to_string(), damage.to_string());
        assert!(error.cause::<DiskError>().is_none());
    }
}

#[test]
fn what_std_io_carries_can_be_asked_too() {
    let dir = tempfile::tempdir().expect("a directory");
    let image = dir.path().join("disk.img");
    NewVolume::new(SIZE).create(&image).expect("the shape is possible");
    let volume = Volume::open(&image).expect("a plain path").mount().expect("there is a volume");
    let mut root = volume.open_file("/").expect("it is there");
    let refused = root.read(&mut [0; 8]).expect_err("a directory is not read so");
    let error: &Error = refused.get_ref().and_then(|inner| inner.downcast_ref()).expect("ours");
    assert_eq!((error.origin(), error.cause()), (Origin::Caller, Some(&Refusal::IsDirectory)));
}

#[test]
fn a_failed_request_is_told_with_operation_and_place() {
    let rt = Rt::virtual_time(5);
    let spot = |at| DiskOff(at)..DiskOff(at + 1);
    let fault = |op, at| Fault::error(op, 1).of(&[Kind::Data]).within(spot(at));
    // For ever: a failed read-ahead is not reported, and the call reads again.
    let unreadable = |at| FaultPlan::new(0).with(fault(DiskOp::Read, at).for_ever());

    // A read fails: in `read`, and in a `write` that changes a part of a block.
    let (_, mounted, at) = with_file(&rt, "softupdates", unreadable);
    rt.block_on(async {
        let fs = &**mounted.fs();
        let node = Session::new(fs).resolve("file").await.expect("it is there").node();
        let error = fs.read(node, 0, 10).await.expect_err("the spot is bad");
        let read = failed(&error);
        assert!(read.op == DiskOp::Read && read.cause == EIO && covers(read, at), "{read:?}, {at}");
    });
    rt.drop_tasks();
    let (_, mounted, at) = with_file(&rt, "softupdates", unreadable);
    rt.block_on(async {
        let fs = &**mounted.fs();
        let node = Session::new(fs).resolve("file").await.expect("it is there").node();
        let who = Caller { privileged: true, ..Caller::default() };
        let error = fs.write(&who, node, 100, b"x").await.expect_err("the rest of the block is needed");
        let read = failed(&error);
        assert!(read.op == DiskOp::Read && read.cause == EIO && covers(read, at), "{read:?}, {at}");
    });
    rt.drop_tasks();

    // A write fails, which fsync sends.
    let (_, mounted, at) = with_file(&rt, "softupdates", |at| FaultPlan::new(0).with(fault(DiskOp::Write, at)));
    rt.block_on(async {
        let fs = &**mounted.fs();
        let node = Session::new(fs).resolve("file").await.expect("it is there").node();
        let who = Caller { privileged: true, ..Caller::default() };
        fs.write(&who, node, 100, b"x").await.expect("it goes to memory");
        let error = fs.fsync(node, false).await.expect_err("the spot is bad");
        let write = failed(&error);
        assert!(write.op == DiskOp::Write && write.cause == EIO && covers(write, at), "{write:?}, {at}");
        fs.fsync(node, false).await.expect("the second write reaches the disk");
    });
    rt.drop_tasks();
}

#[test]
fn each_sync_after_a_failed_write_of_metadata_returns_that_failure() {
    let rt = Rt::virtual_time(6);
    let (_, mounted, _) = with_file(&rt, "softupdates", |_| {
        FaultPlan::new(0).with(Fault::error(DiskOp::Write, 1).of(&[Kind::Inodes]).for_ever())
    });
    rt.block_on(async {
        let fs = &**mounted.fs();
        let session = Session::new(fs);
        session.write_file("more", &PATTERN).await.expect("it goes to memory");
        let node = session.resolve("more").await.expect("it is there").node();
        fs.fsync(node, false).await.expect_err("the inode cannot be written");
        for error in [fs.fsync(node, false).await, fs.syncfs().await].map(|later| later.expect_err("it has failed")) {
            assert_eq!((failed(&error).op, &failed(&error).cause), (DiskOp::Write, &EIO));
            assert_eq!(Some(&*error.to_string()), mounted.degraded().as_deref());
        }
    });
    rt.drop_tasks();
}

#[test]
fn a_failed_write_of_a_log_is_told_with_its_place() {
    for scheme in ["wafs", "block-journal", "journal-file"] {
        let rt = Rt::virtual_time(7);
        let ram = fresh(&rt, common::SHAPES[0], SIZE).volatile(true);
        let log = Tuning { log: Some(JournalChange::On(None)), ..Tuning::default() };
        log.apply_on(&rt, Rc::new(ram.clone())).expect("there is room for a log");
        let plan = FaultPlan::new(0).with(Fault::error(DiskOp::Write, 20).of(&[Kind::Log]).for_ever());
        let mounted = mount_on(&rt, &ram, Rc::new(Faulty::new(Rc::new(ram.clone()), plan)), scheme);
        rt.block_on(async {
            let session = Session::new(&**mounted.fs());
            let mut synced = Ok(());
            for i in 0..40 {
                let made = session.write_file(&format!("file{i}"), b"").await;
                synced = made.and(session.fs.syncfs().await);
                if synced.is_err() {
                    break;
                }
            }
            let error = synced.expect_err("the log cannot be written");
            let write = failed(&error);
            assert!(write.op == DiskOp::Write && write.cause == EIO && write.len > 0, "{scheme}: {write:?}");
        });
        rt.drop_tasks();
    }
}

/// Waits for a flush that changes nothing, for ever: a scheme with a defect.
struct NeverContent(Rc<dyn ordo_buf::Scheme>);

impl Wrapper for NeverContent {
    type Inner = dyn ordo_buf::Scheme;

    fn inner(&self) -> &Rc<Self::Inner> {
        &self.0
    }

    fn capabilities(self: Rc<Self>) -> Capabilities {
        let behind = self.0.clone().capabilities();
        Capabilities { bufs: Some(self), ..behind }
    }
}

impl TracksBufs for NeverContent {
    fn wants_flush(&self) -> bool {
        true
    }

    fn discarded(&self, _: &BufRef) {}
}

#[test]
fn a_scheme_that_never_ends_is_told_as_a_defect() {
    let rt = Rt::virtual_time(8);
    let ram = fresh(&rt, common::SHAPES[0], SIZE);
    let sync = schemes::by_name("sync").expect("it is known").make(Settings::default()).expect("it breaks no rule");
    let (scheme, options) = (Rc::new(NeverContent(sync)), MountOptions::default());
    let mounted = Mounted::mount_with(&rt, located(&ram, Rc::new(ram.clone())), scheme, &options);
    let mounted = rt.block_on(mounted).expect("it can be mounted");
    let error = rt.block_on(mounted.unmount()).expect_err("it never ends");
    assert!(matches!(error, Error::Bug(_)) && error.origin() == Origin::Defect, "{error:?}");
    let text = error.to_string();
    assert!(text.starts_with("a defect of OrdoFS: ") && text.contains("please report it"), "{text}");
    assert!(error.cause::<DiskError>().is_none());
    rt.drop_tasks();
}

#[test]
fn a_volume_that_cannot_be_opened_says_who_has_to_act() {
    let dir = tempfile::tempdir().expect("a directory");
    let open = |image: &Path| Volume::open(image).and_then(|volume| volume.mount()).map(drop);
    let image = dir.path().join("disk.img");

    let none = open(&image).expect_err("it is not there");
    assert_eq!(none.origin(), Origin::Disk, "{none}");
    assert!(none.cause::<std::io::Error>().is_some(), "{none:?}");

    std::fs::write(&image, vec![0; 1 << 20]).expect("there is room");
    let empty = open(&image).expect_err("it holds nothing");
    assert_eq!(empty.origin(), Origin::Image, "{empty}");

    NewVolume::new(SIZE).create(&image).expect("the shape is possible");
    let volume = Volume::open(&image).expect("a plain path").scheme("nonsense").mount();
    assert_eq!(volume.map(drop).expect_err("there is none").origin(), Origin::Caller);

    // The disk fails while the volume is mounted: with the record of its writer, or with what follows.
    let rt = Rt::virtual_time(9);
    let ram = fresh(&rt, common::SHAPES[0], SIZE);
    let failing = |from| {
        let plan = FaultPlan::new(0).with(Fault::error(DiskOp::Read, from).for_ever());
        let faulty = Faulty::new(Rc::new(ram.clone()), plan);
        let mounted = rt.block_on(Mounted::mount(&rt, located(&ram, Rc::new(faulty)), &MountOptions::default()));
        mounted.map(drop).expect_err("nothing can be read")
    };
    for from in [1, 3] {
        let error: OpenError = failing(from);
        assert_eq!((error.origin(), error.cause().map(|read: &DiskError| read.op)), (Origin::Disk, Some(DiskOp::Read)));
    }
}

/// The log orders itself: a scheme that relies on places which blocks keep would lose them to the first segment.
#[test]
fn a_log_refuses_every_scheme_but_its_own_by_name() {
    let dir = tempfile::tempdir().expect("a directory");
    let image = dir.path().join("log.img");
    NewLfs::new(SIZE).create(&image).expect("the shape is possible");
    let mounted = |scheme: &str| Volume::open(&image).and_then(|volume| volume.scheme(scheme).mount());
    for known in schemes::ALL {
        let error = mounted(known.name).map(drop).expect_err("it is for UFS");
        assert!(matches!(&error, OpenError::OnlyOrder(name) if name == known.name), "{error}");
    }
    mounted(ordofs::LFS_SCHEME).expect("it is its own").unmount().expect("the disk is well");
}

/// A server that is gone: from some write on, every write and flush fails, while files are made and removed.
#[test]
fn what_waits_to_be_freed_is_let_go_with_a_disk_that_is_gone() {
    for scheme in ["sync", "async", "softupdates", "chains", "flag-part-nr"] {
        for gone in 4..40 {
            let rt = Rt::virtual_time(gone);
            let (_, mounted, _) = with_file(&rt, scheme, |_| {
                let from = |op| Fault::error(op, gone).for_ever();
                FaultPlan::new(0).with(from(DiskOp::Write)).with(from(DiskOp::Flush))
            });
            rt.block_on(async {
                let session = Session::new(&**mounted.fs());
                for i in 0..12 {
                    let name = format!("file{i}");
                    // Whatever fails is told to the caller; what is tested is the end.
                    let _ = session.write_file(&name, &[7; 60_000]).await;
                    if i % 3 == 0 {
                        let _ = session.fs.syncfs().await;
                    }
                    if i % 2 == 0 {
                        let _ = session.remove_tree(&name).await;
                    }
                }
                let _ = session.fs.syncfs().await;
            });
            drop(rt.block_on(mounted.unmount()));
            rt.drop_tasks();
        }
    }
}
