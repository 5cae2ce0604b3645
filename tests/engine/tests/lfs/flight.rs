//! What is in flight: a buf counts as durable only when all that was sent before it is, the ifile's segments included.

use crate::{SMALL, made, mount_on};
use ordo_disk::{Disk, DiskError, DiskFuture, DiskInfo, DiskOff, RamDisk, ReadPart, WritePart};
use ordo_rt::Rt;
use ordo_vfs::{Caller, FileSystem, Kind, Mode, Name};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// A disk some of whose writes take a second.
#[derive(Clone)]
struct Slow {
    ram: RamDisk,
    rt: Rt,
    /// Those that come now do.
    now: Rc<Cell<bool>>,
    /// Those in flight.
    slow: Rc<Cell<usize>>,
}

impl Disk for Slow {
    fn info(&self) -> DiskInfo {
        DiskInfo { immediate: false, depth: 8, ..self.ram.info() }
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        self.ram.read(at, parts)
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        let (disk, is_slow) = (self.clone(), self.now.get());
        DiskFuture::later(async move {
            if is_slow {
                disk.slow.set(disk.slow.get() + 1);
                disk.rt.sleep(Duration::from_secs(1)).await;
                disk.slow.set(disk.slow.get() - 1);
            }
            disk.ram.write(at, parts, fua).await
        })
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.ram.flush()
    }
}

#[test]
fn a_buf_is_not_durable_before_the_segments_of_the_ifile_that_were_sent_before_it() {
    let rt = Rt::virtual_time(1);
    let disk = Slow { ram: made(SMALL), rt: rt.clone(), now: Rc::default(), slow: Rc::default() };
    rt.block_on(async {
        let mounted = mount_on(&rt, Rc::new(disk.clone()), 1 << 20).await;
        let (fs, who) = (mounted.fs.clone(), Caller { privileged: true, ..Caller::default() });
        let make = async |text: &str| {
            let name = Name::new(text.as_bytes()).expect("OK to expect: a constant name");
            fs.mknod(&who, fs.root(), name, Kind::Regular, Mode::new(0o644), 0).await.expect("there is room");
        };
        make("before").await;
        mounted.cache.write_all(mounted.cache.unsettled()).await.expect("the disk is well");
        // Nothing is dirty: of the checkpoint only the ifile is left.
        disk.now.set(true);
        let syncs = fs.clone();
        rt.spawn(async move { syncs.syncfs().await.expect("the disk is well") });
        rt.sleep(Duration::from_millis(1)).await;
        disk.now.set(false);
        assert!(disk.slow.get() > 0, "the ifile is in flight");
        make("after").await;
        let buf = mounted.cache.unsettled().pop().expect("a name was made");
        assert!(buf.is_dirty());
        mounted.cache.write(&buf).await.expect("the disk is well");
        assert_eq!(disk.slow.get(), 0, "a roll-forward would stop in front of it");
        rt.sleep(Duration::from_secs(3)).await;
        fs.unmount().await.expect("the disk is well");
    });
    rt.drop_tasks();
}
