//! A log in a stream keeps what its scheme declares, wherever the power is cut; and a stream that acknowledges what a
//! power cut takes away is convicted.

use crate::device::Device;
use crate::disks::{Disks, Side};
use crate::explore::{Counters, Exploration, explore_with};
use crate::oracle::Oracle;
use crate::plan::{Budget, Plan};
use crate::record::record_through;
use crate::report::Report;
use crate::verdict::Memory;
use ordo_disk::{Disk, DiskError, DiskFuture, DiskInfo, DiskOff, ReadPart, WritePart};
use ordo_workload::script;
use std::rc::Rc;

/// A disk that leaves in its cache what should go through it.
struct Forgetful(Rc<dyn Disk>);

impl Disk for Forgetful {
    fn info(&self) -> DiskInfo {
        self.0.info()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        self.0.read(at, parts)
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, _fua: bool) -> DiskFuture<Result<(), DiskError>> {
        self.0.write(at, parts, false)
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.0.flush()
    }

    fn discard(&self, at: DiskOff, len: u64) -> DiskFuture<Result<(), DiskError>> {
        self.0.discard(at, len)
    }
}

fn plan(scheme: &str, sets: &[(&str, &str)], script: &str, device: &str) -> Plan {
    let device = Device::by_name(device).unwrap();
    let script = script::find(script).unwrap();
    let mut plan = Plan {
        budget: Budget { states: 60, recovery_cuts: 8, ..Budget::default() },
        ..Plan::new(scheme, script, device)
    };
    (plan.subject.separate_log, plan.subject.stream) = (true, true);
    sets.iter().for_each(|(key, value)| plan.subject.settings.set(key, value).unwrap().unwrap());
    plan
}

fn explored(device: &str, between: fn(Disks) -> Disks) -> Report {
    let plan = plan("wafs", &[("logmode", "sync")], "create", device);
    let recording = record_through(&plan, |_, disks| between(disks)).unwrap();
    let (promises, mut memory, counters) = (plan.subject.promises().unwrap(), Memory::default(), Counters::default());
    let mut exploration = Exploration::new(&plan, &recording, &promises, &mut memory, &counters);
    exploration.run();
    exploration.report
}

#[test]
fn a_log_in_a_stream_loses_nothing_that_was_promised() {
    let (mut distinct, mut nested) = (0, 0);
    for (scheme, sets) in [
        ("wafs", &[("logmode", "sync")][..]),
        ("wafs", &[("logmode", "group"), ("data", "journal")]),
        ("wafs", &[("logmode", "async")]),
        ("journal-file", &[]),
    ] {
        for (n, script) in ["create", "remove", "rename", "mixed"].into_iter().enumerate() {
            // All pairs where `ORDO_WHOLE` is set; otherwise each script is on one of the devices.
            let whole = std::env::var_os("ORDO_WHOLE").is_some();
            for (_, device) in ["sata", "plp"].into_iter().enumerate().filter(|(m, _)| whole || (n + m) % 2 == 0) {
                let plan = plan(scheme, sets, script, device);
                let report = explore_with(&plan, &mut Memory::default(), &Counters::default()).unwrap();
                assert_eq!(report.violations, [], "{scheme} {sets:?}, {script} on {device}");
                (distinct, nested) = (distinct + report.distinct, nested + report.nested);
            }
        }
    }
    assert!(distinct > 500 && nested > 50, "{distinct} images, {nested} recoveries cut");
}

#[test]
fn a_stream_that_acknowledges_what_a_power_cut_takes_is_convicted() {
    let forgets = |disks: Disks| disks.with(Side::Log, |log| Rc::new(Forgetful(log)));
    let convicted = explored("sata", forgets);
    assert!(convicted.violations.iter().any(|found| found.oracle == Oracle::Durable), "{:?}", convicted.violations);
    // Where nothing that is complete is lost, an acknowledgement says the same without it.
    assert_eq!(explored("plp", forgets).violations, []);
}
