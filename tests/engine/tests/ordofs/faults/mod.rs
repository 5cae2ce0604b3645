//! A disk that fails: the n-th read, write or flush, once or for ever, for every n until none is left that could fail.
//!
//! One script is run on a volume that is not empty. Up to the fault every call answers as the model does. The call that
//! meets the fault returns an error, and nothing panics or hangs. What was durable before is still there after a
//! repair; and if only a read failed, the disk finally has the same contents as memory.

use crate::common;
mod stage;

use ordo_ondisk::{Endian, Format};
use ordo_simdisk::{Effect, Fault, FaultPlan, Faulty};
use ordo_workload::Session;
use ordofs::Mounted;
use ordofs::disk::{DiskOp, Kind};
use ordofs::rt::Rt;
use ordofs::vfs::{Error, FileSystem, Refusal};
use stage::{Run, Stage};
use std::rc::Rc;
use std::time::Duration;

const METADATA: &[Kind] =
    &[Kind::Superblock, Kind::Maps, Kind::Inodes, Kind::Directory, Kind::Indirect, Kind::ExtAttr, Kind::Summary];

/// Runs n over all faults that `make` makes, and checks each run before it ends, and the findings of fsck after it.
fn sweep(
    stage: &Stage,
    what: &str,
    make: impl Fn(u64) -> Fault,
    look_at: impl Fn(&Run, &str),
    judge: impl Fn(&ordo_fsck::Report, &str),
) {
    let mut kept = 0;
    for n in 1.. {
        let what = format!("{}, {what} {n}", stage.scheme);
        let Some(run) = stage.play(make(n), &what) else {
            println!("{what}: the last one; {kept} files were durable");
            assert!(n > 10 && kept > 0, "{what}: too few faults to mean anything");
            return;
        };
        kept += run.kept.len();
        look_at(&run, &what);
        judge(&run.end(stage, &what), &what);
    }
}

fn stages() -> [Stage; 4] {
    [
        Stage::new((Format::Ufs2, Endian::Little, 4096, 512), "sync", 41, 200),
        Stage::new((Format::Ufs1, Endian::Big, 8192, 1024), "async", 41, 200),
        Stage::new((Format::Ufs1, Endian::Little, 4096, 1024), "sync", 42, 150),
        Stage::new((Format::Ufs2, Endian::Big, 32768, 4096), "async", 43, 300),
    ]
}

/// A failed read is harmless: fsck finds at most what a crash may leave.
fn as_after_a_crash(found: &ordo_fsck::Report, what: &str) {
    let bad = found.findings.iter().find(|found| found.severity != ordo_fsck::Severity::Preen);
    assert!(bad.is_none(), "{what}: {bad:?}");
}

/// The volume has turned read-only, says why, and stays so.
fn is_degraded(run: &Run, what: &str) {
    let Some(mounted) = &run.mounted else { return };
    let why = mounted.degraded().unwrap_or_else(|| panic!("{what}: the volume takes changes"));
    assert!(why.contains("Input/output error"), "{what}: {why}");
    let fs = &**mounted.fs();
    run.rt.block_on(async {
        let made = Session::new(fs).write_file("late", b"").await;
        assert!(matches!(made, Err(Error::Refused(Refusal::ReadOnly))), "{what}: {made:?}");
        for _ in 0..2 {
            let synced = (fs.fsync(fs.root(), false).await, fs.syncfs().await);
            assert!(matches!(synced, (Err(Error::Io(_)), Err(Error::Io(_)))), "{what}: {synced:?}");
        }
    });
}

fn is_writable(run: &Run, what: &str) {
    let degraded = run.mounted.as_ref().and_then(Mounted::degraded);
    assert!(degraded.is_none(), "{what}: {degraded:?}");
}

#[test]
fn a_read_that_fails_harms_nothing() {
    for stage in &stages() {
        sweep(stage, "read", |n| Fault::error(DiskOp::Read, n), is_writable, as_after_a_crash);
        sweep(stage, "reads from", |n| Fault::error(DiskOp::Read, n).for_ever(), is_writable, |_, _| ());
    }
}

#[test]
fn a_metadata_write_that_fails_makes_the_volume_read_only() {
    for stage in &stages() {
        let fault = |n| Fault::error(DiskOp::Write, n).of(METADATA);
        sweep(stage, "metadata write", fault, is_degraded, |_, _| ());
        let short = |n| Fault::new(DiskOp::Write, n, Effect::Short(1)).of(METADATA);
        sweep(stage, "short metadata write", short, is_degraded, |_, _| ());
        sweep(stage, "writes from", |n| Fault::error(DiskOp::Write, n).for_ever(), |_, _| (), |_, _| ());
    }
}

#[test]
fn a_data_write_that_fails_is_told_and_done_again() {
    for stage in &stages() {
        let clean = |found: &ordo_fsck::Report, what: &str| {
            assert!(found.findings.is_empty() && found.clean, "{what}: {found:#?}");
        };
        let fault = |n| Fault::error(DiskOp::Write, n).of(&[Kind::Data]);
        sweep(stage, "data write", fault, is_writable, clean);
        let short = |n| Fault::new(DiskOp::Write, n, Effect::Short(3)).of(&[Kind::Data]);
        sweep(stage, "short data write", short, is_writable, clean);
    }
}

#[test]
fn a_flush_that_fails_makes_every_later_fsync_fail() {
    for stage in &stages() {
        sweep(stage, "flush", |n| Fault::error(DiskOp::Flush, n), is_degraded, |_, _| ());
        sweep(stage, "flushes from", |n| Fault::error(DiskOp::Flush, n).for_ever(), is_degraded, |_, _| ());
    }
}

#[test]
fn a_failed_data_write_is_told_by_fsync_once_and_is_not_forgotten() {
    // In the background, by the syncer; and in the call itself.
    for background in [true, false] {
        let rt = Rt::virtual_time(3);
        let ram = common::fresh(&rt, common::SHAPES[0], 8 << 20).volatile(true);
        let plan = FaultPlan::new(0).with(Fault::error(DiskOp::Write, 1).of(&[Kind::Data]));
        let mounted = common::mount_on(&rt, &ram, Rc::new(Faulty::new(Rc::new(ram.clone()), plan)), "softupdates");
        rt.block_on(async {
            let fs = &**mounted.fs();
            let session = Session::new(fs);
            session.write_file("file", &[9; 5000]).await.expect("it goes to memory");
            let node = session.resolve("file").await.expect("it is there").node();
            if background {
                rt.sleep(Duration::from_secs(60)).await;
            }
            let told = fs.fsync(node, false).await;
            assert!(matches!(told, Err(Error::Io(_))), "{told:?}");
            assert_eq!(session.read_file("file").await.expect("it is in memory"), [9; 5000]);
            fs.fsync(node, false).await.expect("the second write reaches the disk");
            assert_eq!(mounted.degraded(), None);
        });
        ram.power_cut();
        rt.drop_tasks();
        common::check(&rt, &ram, ordo_fsck::Mode::Repair);
        let again = common::mount(&rt, &ram, "softupdates");
        let read = rt.block_on(Session::new(&**again.fs()).read_file("file"));
        assert_eq!(read.expect("it was durable"), [9; 5000]);
        rt.drop_tasks();
    }
}
