//! A new volume, cut while it is made over an old one: whatever the disk has written, there is no volume, or there is
//! the new one and it is whole. Also when it is filled first and its superblocks come last, as `mkfs -d` does.

use crate::common::check;
use ordo_fsck::Mode;
use ordo_ondisk::lfs::Version;
use ordo_ondisk::{Endian, Format};
use ordo_simdisk::{Event, Recorder};
use ordofs::disk::{Disk, DiskOp, RamDisk, Withheld};
use ordofs::rt::Rt;
use ordofs::vfs::{Caller, FileSystem, Kind, Mode as Permissions, Name};
use ordofs::{MountOptions, Mounted, NewLfs, NewVolume, Plan, locate_on};
use std::rc::Rc;

/// Bytes of the disk, and of the volume on it.
const DISK: u64 = 24 << 20;
/// Writes between two flushes of which each is looked at alone; of more, some.
const ALONE: usize = 24;

/// The shapes that are made, each over an old volume of the next one's kind.
fn plans() -> Vec<(&'static str, Plan)> {
    let ufs = |format, endian, bsize, fsize| {
        let new = NewVolume::new(DISK);
        new.with(|of| (of.format, of.endian, of.bsize, of.fsize) = (format, endian, bsize, fsize)).plan().unwrap()
    };
    let lfs = |version| NewLfs::new(DISK).with(|of| of.version = version).plan().unwrap();
    vec![
        ("UFS2", ufs(Format::Ufs2, Endian::Little, 8192, 1024)),
        ("LFS of version 2", lfs(Version::V2)),
        ("UFS1", ufs(Format::Ufs1, Endian::Big, 4096, 512)),
        ("LFS of version 1", lfs(Version::V1)),
    ]
}

/// What was written between two flushes.
type Epoch = Vec<(u64, Vec<u8>)>;

fn epochs(recorder: &Recorder) -> Vec<Epoch> {
    let mut epochs = vec![Epoch::new()];
    for event in recorder.take() {
        match event {
            Event::Begin { op: DiskOp::Write, at, parts, .. } => {
                let bytes = parts.iter().flat_map(|part| part.image.as_ref().expect("images are kept").iter().copied());
                epochs.last_mut().expect("the first").push((at.0, bytes.collect()));
            }
            Event::Begin { op: DiskOp::Flush, .. } => epochs.push(Epoch::new()),
            _ => {}
        }
    }
    epochs
}

/// Whether there is a volume; panics if it is not whole.
fn is_there(rt: &Rt, ram: &RamDisk, file: bool, what: &str) -> bool {
    let Ok(located) = locate_on(rt, Rc::new(ram.clone())) else { return false };
    let Ok(mounted) = rt.block_on(Mounted::mount(rt, located, &MountOptions::default())) else { return false };
    let found = rt.block_on(async {
        let fs = mounted.fs();
        let found = fs.lookup(fs.root(), Name::new(b"file").unwrap()).await;
        found.map(|found| drop(ordofs::path::Held::new(fs, found)))
    });
    assert_eq!(found.is_ok(), file, "{what}: the file is there");
    rt.block_on(mounted.unmount()).unwrap_or_else(|error| panic!("{what}: {error}"));
    true
}

/// Looks at the states that a cut can leave: all that came before a flush, and then the first writes after it, or one
/// of them alone. Before the first flush an old volume may be wiped, which loses its copies in any order, and nothing
/// else.
fn looked_at(before: &RamDisk, epochs: &[Epoch], file: bool, what: &str) {
    let rt = Rt::virtual_time(2);
    let look = |state: &RamDisk, wiped: bool, what: &str| {
        let report =
            rt.block_on(ordo_fsck::check(&rt, Rc::new(state.snapshot()), ordo_fsck::Options::new(Mode::Check)));
        let whole = report.is_ok_and(|report| report.findings.is_empty() && report.clean);
        let there = is_there(&rt, &state.snapshot(), file, what);
        assert!(
            !there || whole || !wiped,
            "{what}: a volume that is not whole: {:?}",
            check(&rt, state, Mode::Check).findings
        );
        there
    };
    let state = before.snapshot();
    let mut seen = Vec::new();
    for (number, epoch) in epochs.iter().enumerate() {
        let stride = epoch.len().div_ceil(ALONE).max(1);
        let first = state.snapshot();
        for (done, (at, bytes)) in epoch.iter().enumerate() {
            if done.is_multiple_of(stride) || done + 1 == epoch.len() {
                let what = format!("{what}, {number} flushes, write {done} of {}", epoch.len());
                let alone = first.snapshot();
                alone.poke(*at, bytes);
                seen.push(look(&alone, number > 0, &format!("{what} alone")));
                seen.push(look(&state, number > 0, &what));
            }
            state.poke(*at, bytes);
        }
    }
    assert!(look(&state, true, what), "{what}: complete");
    assert!(seen.contains(&false), "{what}: some cut leaves none");
}

#[test]
fn no_cut_of_a_new_volume_leaves_a_part_of_one() {
    let rt = Rt::virtual_time(1);
    let plans = plans();
    for (number, (what, plan)) in plans.iter().enumerate() {
        let ram = RamDisk::new(DISK);
        let (old, of_old) = &plans[(number + 1) % plans.len()];
        of_old.write(&rt, Rc::new(ram.clone()), true).unwrap();
        let (before, recorder) = (ram.snapshot(), Rc::new(Recorder::new(&rt, Rc::new(ram.clone()), true)));
        plan.write(&rt, recorder.clone(), false).unwrap();
        let epochs = epochs(&recorder);
        looked_at(&before, &epochs, false, &format!("{what} over {old}"));
    }
}

#[test]
fn no_cut_of_a_new_volume_that_is_filled_first_leaves_a_part_of_one() {
    for (what, plan) in plans() {
        let rt = Rt::virtual_time(1);
        let ram = RamDisk::new(DISK);
        let recorder = Rc::new(Recorder::new(&rt, Rc::new(ram.clone()), true));
        let late = Rc::new(Withheld::new(recorder.clone(), &plan.superblocks()));
        plan.write(&rt, late.clone(), true).unwrap();
        let located = locate_on(&rt, late.clone() as Rc<dyn Disk>).unwrap();
        rt.block_on(async {
            let mounted = Mounted::mount(&rt, located, &MountOptions::default()).await.unwrap();
            let (fs, who) = (mounted.fs(), Caller::default());
            let name = Name::new(b"file").unwrap();
            let made = fs.mknod(&who, fs.root(), name, Kind::Regular, Permissions::new(0o644), 0).await.unwrap();
            drop(ordofs::path::Held::new(fs, made));
            mounted.unmount().await.unwrap();
            late.release().await.unwrap();
        });
        looked_at(&RamDisk::new(DISK), &epochs(&recorder), true, what);
    }
}
