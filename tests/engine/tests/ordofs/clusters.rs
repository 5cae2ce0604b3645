//! Clusters as `Policy::clusters_of_files` makes them, seen at the disk: which writes of contents reach it.

use crate::common;

use common::located;
use ordo_vfs::FileSystem;
use ordo_workload::Session;
use ordofs::disk::{
    Disk, DiskError, DiskFuture, DiskInfo, DiskOff, Kind, RamDisk, ReadPart, WritePart, read_len, write_len,
};
use ordofs::ondisk::Format;
use ordofs::rt::Rt;
use ordofs::{MountOptions, Mounted, NewVolume, Policy};
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

const BLOCK: u64 = 8192;
const CLUSTER: u64 = 64 << 10;

/// Notes where contents are written and read.
struct Noted {
    ram: RamDisk,
    writes: RefCell<Vec<Range<u64>>>,
    reads: RefCell<Vec<Range<u64>>>,
}

impl Disk for Noted {
    fn info(&self) -> DiskInfo {
        // As a drive with one request at a time, for which the queue merges.
        DiskInfo { immediate: false, depth: 1, ..self.ram.info() }
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        if parts.iter().any(|part| part.tag.kind == Kind::Data) {
            self.reads.borrow_mut().push(at.0..at.0 + read_len(&parts));
        }
        self.ram.read(at, parts)
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        if parts.iter().any(|part| part.tag.kind == Kind::Data) {
            self.writes.borrow_mut().push(at.0..at.0 + write_len(&parts));
        }
        self.ram.write(at, parts, fua)
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.ram.flush()
    }
}

/// A disk with a new volume, whose clusters have eight blocks.
fn empty(rt: &Rt) -> Noted {
    let ram = RamDisk::new(64 << 20);
    let shape = NewVolume::new(64 << 20).with(|of| {
        (of.format, of.bsize, of.fsize) = (Format::Ufs1, BLOCK as u32, BLOCK as u32 / 8);
        of.maxcontig = Some((CLUSTER / BLOCK) as u32);
        (of.now, of.id) = (783_993_600, 1);
    });
    shape.create_on(rt, Rc::new(ram.clone()), true).expect("the shape is possible");
    Noted { ram, writes: RefCell::default(), reads: RefCell::default() }
}

fn mounted(rt: &Rt, disk: &Rc<Noted>, reallocates: bool) -> Mounted {
    let policy = Policy {
        clusters_of_files: true,
        reallocates,
        cluster: CLUSTER as u32,
        read_ahead: CLUSTER,
        ..Policy::default()
    };
    let options = MountOptions { scheme: Some("async".into()), policy, ..MountOptions::default() };
    rt.block_on(Mounted::mount(rt, located(&disk.ram, disk.clone()), &options)).expect("the volume can be mounted")
}

/// The writes of a file of 24 blocks: on a new volume, or on one with holes of one block each.
fn written(holes: bool, reallocates: bool) -> Vec<Range<u64>> {
    let rt = Rt::virtual_time(1);
    let disk = Rc::new(empty(&rt));
    let mount = mounted(&rt, &disk, reallocates);
    let writes = rt.block_on(async {
        let session = Session::new(&**mount.fs());
        if holes {
            for i in 0..80 {
                session.write_file(&format!("f{i}"), &[7; BLOCK as usize]).await.expect("there is room");
            }
            for i in (0..78).step_by(2) {
                session.remove_tree(&format!("f{i}")).await.expect("it was made");
            }
        }
        mount.fs().syncfs().await.expect("the disk is well");
        disk.writes.borrow_mut().clear();
        session.write_file("big", b"").await.expect("there is room");
        let file = session.resolve("big").await.expect("it was made");
        for lbn in 0..24 {
            session.write_at(&file, lbn * BLOCK, &[7; BLOCK as usize]).await.expect("there is room");
        }
        mount.fs().syncfs().await.expect("the disk is well");
        disk.writes.take()
    });
    rt.block_on(mount.unmount()).expect("the disk is well");
    rt.drop_tasks();
    writes
}

fn lengths(writes: &[Range<u64>]) -> Vec<u64> {
    writes.iter().map(|range| (range.end - range.start) / BLOCK).collect()
}

#[test]
fn a_cluster_is_one_write_and_no_two_are_merged() {
    let writes = written(false, false);
    // Behind the twelfth block lies one of pointers, and a cluster ends there.
    let lengths = lengths(&writes);
    assert_eq!(lengths.iter().sum::<u64>(), 24, "{writes:?}");
    assert_eq!(lengths[0], 8, "{writes:?}");
    assert!(lengths.iter().all(|blocks| *blocks <= 8), "{writes:?}");
    // The first two lie in one piece, and are two writes all the same.
    assert_eq!(writes[0].end, writes[1].start, "{writes:?}");
}

#[test]
fn a_cluster_ends_where_the_disk_does_not_go_on_unless_blocks_are_brought_together() {
    let scattered = written(true, false);
    let gathered = written(true, true);
    assert_eq!(lengths(&scattered).iter().sum::<u64>(), 24);
    // Every second block was in use: the first ones lie alone, and each is a write of its own.
    assert_eq!(lengths(&scattered)[..8], [1; 8], "{scattered:?}");
    assert_eq!(lengths(&gathered)[0], 8, "{gathered:?}");
    assert!(gathered.len() < scattered.len() / 2, "{gathered:?} {scattered:?}");
}

#[test]
fn the_first_block_of_a_file_is_read_alone_and_then_clusters() {
    let rt = Rt::virtual_time(1);
    let disk = Rc::new(empty(&rt));
    let mount = mounted(&rt, &disk, false);
    rt.block_on(Session::new(&**mount.fs()).write_file("f", &vec![7; 12 * BLOCK as usize])).expect("there is room");
    rt.block_on(mount.unmount()).expect("the disk is well");
    let mount = mounted(&rt, &disk, false);
    rt.block_on(async {
        let session = Session::new(&**mount.fs());
        let file = session.resolve("f").await.expect("it is there");
        disk.reads.borrow_mut().clear();
        session.fs.read(file.node(), 0, 12 * BLOCK as u32).await.expect("the disk is well");
    });
    let lengths = lengths(&disk.reads.take());
    assert_eq!((lengths[0], lengths.iter().sum::<u64>()), (1, 12), "{lengths:?}");
    rt.block_on(mount.unmount()).expect("the disk is well");
    rt.drop_tasks();
}
