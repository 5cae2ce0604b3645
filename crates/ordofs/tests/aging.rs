//! What has come of age leaves, however busy the callers are. A volume on which names are made without a pause is cut off
//! after three minutes: what is older than the syncer lets things grow is there.

mod common;

use common::{SHAPES, fresh, mount, mount_on};
use ordofs::disk::{Disk, DiskError, DiskFuture, DiskInfo, DiskOff, RamDisk, ReadPart, WritePart};
use ordofs::rt::Rt;
use ordofs::vfs::{Caller, FileSystem, Kind, Mode, Name};
use ordofs::{JournalChange, Tuning};
use std::rc::Rc;
use std::time::Duration;

const WHO: Caller = Caller { uid: 0, gid: 0, umask: 0o022, privileged: true };
/// How long names are made.
const TIME: Duration = Duration::from_secs(180);
/// The syncer lets a change grow 30 s old, and looks for others to go first for some more.
const LATE: Duration = Duration::from_secs(90);

/// A disk that takes its time.
struct Slow {
    rt: Rt,
    ram: RamDisk,
    /// For a write; a flush takes two of these.
    takes: Duration,
}

impl Disk for Slow {
    fn info(&self) -> DiskInfo {
        DiskInfo { immediate: false, ..self.ram.info() }
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        self.ram.read(at, parts)
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        let (rt, ram, takes) = (self.rt.clone(), self.ram.clone(), self.takes);
        DiskFuture::later(async move {
            rt.sleep(takes).await;
            ram.write(at, parts, fua).await
        })
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        let (rt, ram, takes) = (self.rt.clone(), self.ram.clone(), self.takes);
        DiskFuture::later(async move {
            rt.sleep(2 * takes).await;
            ram.flush().await
        })
    }

    fn discard(&self, at: DiskOff, len: u64) -> DiskFuture<Result<(), DiskError>> {
        self.ram.discard(at, len)
    }
}

/// Makes a name, takes away the one before the last hundred, and waits for `pause`, again and again; a write of the disk
/// takes as long, so that something always waits while a name is made. One name in fifty stays. Returns how many that are
/// old enough a crash has left, and panics where one of them is missing.
fn left_after_a_cut(scheme: &str, pause: Duration) -> usize {
    let rt = Rt::virtual_time(1);
    let ram = fresh(&rt, SHAPES[0], 512 << 20);
    if scheme == "suj" {
        let journal = Tuning { journal: Some(JournalChange::On(None)), ..Tuning::default() };
        journal.apply_on(&rt, Rc::new(ram.clone())).expect("there is room for a journal");
    }
    let mounted = mount_on(&rt, &ram, Rc::new(Slow { rt: rt.clone(), ram: ram.clone(), takes: pause }), scheme);
    let fs = mounted.fs().clone();
    let end = rt.now() + TIME;
    let made = rt.block_on(async {
        let mut made = Vec::new();
        while rt.now() < end {
            let at = made.len();
            let (root, name) = (fs.root(), format!("{at:06}"));
            let name = Name::new(name.as_bytes()).expect("a name");
            let entry = fs.mknod(&WHO, root, name, Kind::Regular, Mode::new(0o644), 0).await.expect("room");
            fs.forget(entry.node, 1);
            made.push(rt.now());
            if let Some(old) = at.checked_sub(100).filter(|old| old % 50 != 0) {
                let old = format!("{old:06}");
                fs.unlink(root, Name::new(old.as_bytes()).expect("a name")).await.expect("it was made");
            }
            rt.sleep(pause).await;
        }
        made
    });
    let cut = ram.snapshot();
    let due = made.iter().take_while(|made| **made + LATE <= rt.now()).count();
    rt.block_on(mounted.unmount()).expect("the disk is well");
    rt.drop_tasks();

    let rt = Rt::virtual_time(2);
    let again = mount(&rt, &cut, scheme);
    let missing = rt.block_on(async {
        let fs = again.fs();
        for at in (0..due).step_by(50) {
            let name = format!("{at:06}");
            if fs.lookup(fs.root(), Name::new(name.as_bytes()).expect("a name")).await.is_err() {
                return Some(at);
            }
        }
        None
    });
    rt.block_on(again.unmount()).expect("the disk is well");
    assert_eq!(missing, None, "{scheme}, {pause:?}: of {due} names that are older than {LATE:?}");
    due
}

#[test]
fn names_that_are_old_enough_survive_a_cut_though_others_are_made_without_a_pause() {
    for scheme in ["async", "softupdates", "suj"] {
        for millis in [4, 40] {
            let due = left_after_a_cut(scheme, Duration::from_millis(millis));
            assert!(due > 1000, "{scheme}: {due} names are old enough");
        }
    }
}
