//! A segment that cannot be read is left alone, and the mount says so; nothing in it is lost.

use crate::{Made, SMALL, made, mount_on};
use ordo_buf::Trouble;
use ordo_disk::DiskOp;
use ordo_rt::Rt;
use ordo_simdisk::{Fault, FaultPlan, Faulty};
use ordo_ufs::Layout;
use ordo_vfs::{Caller, FileSystem, Kind, Mode, Name};
use std::cell::RefCell;
use std::rc::Rc;

/// Cleans a volume with holes in its segments while read number `at` fails; returns what the mount was told.
fn clean_with_a_bad_read(at: u64) -> Vec<String> {
    let rt = Rt::virtual_time(1);
    let ram = made(Made { size: 16 << 20, segment: 64 << 10, ..SMALL });
    let plan = FaultPlan::new(1).with(Fault::error(DiskOp::Read, at));
    let disk = Rc::new(Faulty::new(Rc::new(ram.clone()), plan));
    let (told, who) = (Rc::new(RefCell::new(Vec::new())), Caller { privileged: true, ..Caller::default() });
    let text = |i: u64| vec![i as u8; 4096];
    rt.block_on(async {
        let mounted = mount_on(&rt, disk, 8 << 20).await;
        let (fs, to) = (mounted.fs.clone(), told.clone());
        fs.layout().cache().health().watch(move |trouble| to.borrow_mut().push(format!("{trouble:?}")));
        let name = Name::new(b"f").unwrap();
        let file = fs.mknod(&who, fs.root(), name, Kind::Regular, Mode::new(0o600), 0).await.unwrap().node;
        for i in 0..400 {
            fs.write(&who, file, i * 4096, &text(i)).await.unwrap();
        }
        fs.syncfs().await.unwrap();
        for i in (0..400).step_by(2) {
            fs.write(&who, file, i * 4096, &text(i)).await.unwrap();
        }
        fs.layout().clean().await.unwrap();
        for i in 0..400 {
            assert!(fs.read(file, i * 4096, 4096).await.unwrap().concat() == text(i), "block {i}");
        }
        fs.unmount().await.unwrap();
    });
    rt.drop_tasks();
    let uncleaned = |told: &&String| told.contains(&format!("{:?}", Trouble::Uncleaned("")).replace("\"\")", ""));
    assert_eq!(told.borrow().iter().filter(uncleaned).count(), told.borrow().len(), "{told:?}");
    told.take()
}

#[test]
fn a_segment_that_cannot_be_read_is_told_of_and_loses_nothing() {
    // The mount itself reads a few times.
    let told: usize = (20..40).map(|at| clean_with_a_bad_read(at).len()).sum();
    assert!(told > 5, "the cleaner met {told} bad reads of 20");
}
