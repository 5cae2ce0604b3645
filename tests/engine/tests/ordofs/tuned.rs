//! The power fails while a volume is tuned.

use ordo_simdisk::{Effect, Fault, FaultPlan, Faulty};
use ordofs::Tuning;
use ordofs::disk::{Disk, DiskOp, RamDisk};
use ordofs::rt::Rt;
use std::rc::Rc;

#[test]
fn a_power_cut_while_hashes_are_switched_leaves_a_whole_volume() {
    let rt = Rt::virtual_time(1);
    let new = || {
        let ram = RamDisk::new(8 << 20);
        ordofs::NewVolume::new(8 << 20).create_on(&rt, Rc::new(ram.clone()), true).unwrap();
        ram
    };
    let switch = |on| Tuning { check_hashes: Some(on), ..Tuning::default() };
    let with = new();
    let without = with.snapshot();
    switch(false).apply_on(&rt, Rc::new(without.clone())).unwrap();
    for (on, from) in [(false, &with), (true, &without)] {
        let mut cuts = 0;
        for nth in 1.. {
            let mut power_failed = false;
            for seed in 0..4 {
                let ram = from.snapshot().volatile(true);
                let (plan, cut) = (FaultPlan::new(seed), ram.clone());
                let disk =
                    Faulty::new(Rc::new(ram.clone()), plan.with(Fault::new(DiskOp::Write, nth, Effect::PowerCut)))
                        .on_power_cut(move |rng| cut.power_cut_at_random(rng));
                let done = switch(on).apply_on(&rt, Rc::new(disk.clone()));
                power_failed |= disk.power_is_off();
                assert_eq!(done.is_err(), disk.power_is_off());
                let left: Rc<dyn Disk> = Rc::new(RamDisk::from_bytes(&ram.to_vec()));
                let judge = rt.clone();
                let report = rt.block_on(async move {
                    ordo_fsck::check(&judge, left, ordo_fsck::Options::new(ordo_fsck::Mode::Check)).await
                });
                let report = report.unwrap();
                assert!(report.findings.is_empty(), "{on}, write {nth}, seed {seed}: {:?}", report.findings);
                // An interrupted change can be repeated.
                let again = RamDisk::from_bytes(&ram.to_vec());
                let tuned = switch(on).apply_on(&rt, Rc::new(again)).unwrap();
                assert_eq!(tuned[0].is, if on { "on" } else { "off" });
            }
            if !power_failed {
                break;
            }
            cuts += 1;
        }
        assert!(cuts > 8, "{cuts} writes");
    }
}
