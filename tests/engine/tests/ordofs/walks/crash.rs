//! A power cut at every point of a walk under `sync`: what is left is repaired without a question, and nothing is lost.

use crate::common::{check, mount};
use crate::walks::Ready;
use crate::walks::list::{Walk, untold_walks, walks};
use ordo_fsck::Mode;
use ordo_simdisk::Event;
use ordo_workload::Session;
use ordofs::disk::{DiskOp, Image, RamDisk};
use std::rc::Rc;

/// Writes between two flushes: a power cut may keep any of them.
type Epoch = Vec<(u64, Image)>;

fn epochs(events: Vec<Event>) -> Vec<Epoch> {
    let mut epochs = vec![Epoch::new()];
    for event in events {
        let Event::Begin { op, at, parts, .. } = event else { continue };
        match op {
            DiskOp::Flush => epochs.push(Epoch::new()),
            DiskOp::Write => {
                let mut at = at.0;
                for part in parts {
                    let image = part.image.expect("the recorder keeps them");
                    // OK to unwrap: it begins with one.
                    epochs.last_mut().unwrap().push((at, image));
                    at += part.len;
                }
            }
            _ => {}
        }
    }
    epochs
}

/// Which sectors of an epoch reach the disk: none, those of one write, all but those of one, every other one.
fn fates(writes: usize) -> Vec<Box<dyn Fn(usize, usize) -> bool>> {
    let mut fates: Vec<Box<dyn Fn(usize, usize) -> bool>> = vec![Box::new(|_, _| false)];
    for n in 0..writes {
        fates.push(Box::new(move |write, _| write == n));
        fates.push(Box::new(move |write, _| write != n));
        fates.push(Box::new(move |write, sector| write == n && sector % 2 == 0));
        fates.push(Box::new(move |write, sector| write == n && sector % 2 == 1));
    }
    fates
}

/// Repairs what the crash left, as an unattended check does, and verifies the result.
fn judge(ready: &Ready, ram: &RamDisk, walk: &Walk, what: &str) {
    let report = check(&ready.rt, ram, Mode::Preen);
    assert!(report.scanned && report.refused.is_none() && !report.left, "{what}: {report:#?}");
    let again = check(&ready.rt, ram, Mode::Check);
    assert!(again.findings.is_empty(), "{what}: repaired, and then {again:#?}");
    let mounted = mount(&ready.rt, ram, "async");
    let always = ready.rt.block_on((walk.always)(&Session::new(&**mounted.fs())));
    always.unwrap_or_else(|error| panic!("{what}: {error}"));
}

#[test]
fn a_power_cut_anywhere_in_a_walk_under_sync_is_repaired_without_a_question() {
    let mut states = 0;
    for walk in walks().iter().chain(&untold_walks()) {
        let ready = Ready::new(walk, "sync");
        let base = ready.ram.snapshot();
        ready.call(walk);
        ready.sync();
        let ready = Rc::new(ready);
        for (e, epoch) in epochs(ready.recorder.take()).iter().enumerate() {
            for (f, kept) in fates(epoch.len()).iter().enumerate() {
                let ram = base.snapshot();
                for (write, (at, image)) in epoch.iter().enumerate() {
                    for (sector, bytes) in image.chunks(512).enumerate().filter(|(sector, _)| kept(write, *sector)) {
                        ram.poke(at + 512 * sector as u64, bytes);
                    }
                }
                states += 1;
                judge(&ready, &ram, walk, &format!("{}, epoch {e}, fate {f}", walk.name));
            }
            for (at, image) in epoch {
                base.poke(*at, image);
            }
        }
        ready.rt.drop_tasks();
    }
    println!("{states} states");
}
