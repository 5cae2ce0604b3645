//! A separate log disk has its own cache and flushes, and that matters: a log that is flushed on the wrong disk is
//! detected, and would not be on disks that share one flush.

use crate::device::Device;
use crate::disks::{Disks, Side};
use crate::explore::{Counters, Exploration};
use crate::oracle::Oracle;
use crate::plan::{Budget, Plan};
use crate::record::record_through;
use crate::report::Report;
use crate::verdict::Memory;
use ordo_disk::{Disk, DiskError, DiskFuture, DiskInfo, DiskOff, ReadPart, WritePart};
use ordo_workload::script;
use std::rc::Rc;

/// A disk whose flushes go to other disks, including the one after a write that must be durable when it completes.
#[derive(Clone)]
struct Flushes {
    disk: Rc<dyn Disk>,
    others: Vec<Rc<dyn Disk>>,
}

impl Disk for Flushes {
    fn info(&self) -> DiskInfo {
        self.disk.info()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        self.disk.read(at, parts)
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        let (disk, after) = (self.disk.clone(), fua.then(|| self.clone()));
        DiskFuture::later(async move {
            disk.write(at, parts, false).await?;
            match after {
                Some(this) => this.flush().await,
                None => Ok(()),
            }
        })
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        let flushes: Vec<_> = self.others.iter().map(|disk| disk.flush()).collect();
        DiskFuture::later(async move {
            for flush in flushes {
                flush.await?;
            }
            Ok(())
        })
    }

    fn discard(&self, at: DiskOff, len: u64) -> DiskFuture<Result<(), DiskError>> {
        self.disk.discard(at, len)
    }
}

fn flushing(disk: Rc<dyn Disk>, others: &[&Rc<dyn Disk>]) -> Rc<dyn Disk> {
    Rc::new(Flushes { disk, others: others.iter().map(|disk| (*disk).clone()).collect() })
}

/// A wrong engine: it flushes the volume's disk instead of the log's.
fn the_wrong_disk(disks: Disks) -> Disks {
    let volume = disks.volume.clone();
    disks.with(Side::Log, |log| flushing(log, &[&volume]))
}

/// Wrong disks: a flush of one serves both.
fn one_flush_for_both(disks: Disks) -> Disks {
    let (volume, log) = (disks.volume.clone(), disks.log.clone().unwrap());
    let both = [&volume, &log];
    disks.replaced(flushing(volume.clone(), &both), Some(flushing(log.clone(), &both)))
}

fn explored(device: &str, between: fn(Disks) -> Disks) -> Report {
    let device = Device::by_name(device).unwrap();
    let mut plan = Plan {
        budget: Budget { states: 400, recovery_cuts: 0, ..Budget::default() },
        ..Plan::new("wafs", script::find("create").unwrap(), device)
    };
    plan.subject.separate_log = true;
    plan.subject.settings.set("logmode", "sync").unwrap().unwrap();
    let recording = record_through(&plan, |_, disks| between(disks)).unwrap();
    let (promises, mut memory, counters) = (plan.subject.promises().unwrap(), Memory::default(), Counters::default());
    let mut exploration = Exploration::new(&plan, &recording, &promises, &mut memory, &counters);
    exploration.run();
    exploration.report
}

#[test]
fn a_log_that_is_flushed_on_the_wrong_disk_is_convicted() {
    assert_eq!(explored("sata", |disks| disks).violations, []);
    let convicted = explored("sata", the_wrong_disk);
    assert!(convicted.violations.iter().any(|found| found.oracle == Oracle::Durable), "{:?}", convicted.violations);
    assert!(convicted.violations.iter().any(|found| found.lost.iter().any(|lost| lost.contains("of the log's disk"))));
    let missed = explored("sata", |disks| the_wrong_disk(one_flush_for_both(disks)));
    assert_eq!(missed.violations, [], "such disks hide it");
    // On a device that loses nothing that is complete, no flush matters.
    assert_eq!(explored("plp", the_wrong_disk).violations, []);
}
