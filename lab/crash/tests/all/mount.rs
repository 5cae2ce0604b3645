//! A scheme after whose crash the volume may be mounted and written to at once: what the explorer requires of it.
//!
//! No ready-made scheme promises that. `Claims` stands for one: it has the conventional order and declares more. One
//! variant keeps that promise: each map is durable before anything that points to what was allocated from it, and a
//! cleared inode before its number is free. (Without fsck the maps alone say what is used.)

use ordo_buf::{Answer, Cache, CrashLeaves, Must, Op, Promises, Scheme, Step};
use ordo_crash::{Budget, Device, Oracle, Plan, Report, Subject, explore};
use ordo_workload::script::Script;
use std::rc::Rc;
use std::sync::Arc;

/// `sync`, declaring that what it leaves may be written to at once. Methods that are not forwarded are the trait's
/// defaults, as in `sync`.
struct Claims {
    inner: Rc<dyn Scheme>,
    leaves: CrashLeaves,
    maps_first: bool,
}

impl Scheme for Claims {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn declares(&self) -> Promises {
        Promises { crash_leaves: self.leaves, mount_at_once: true, ..self.inner.declares() }
    }

    fn end(&self, cache: &Rc<Cache>, op: Op) -> Must {
        self.inner.end(cache, op)
    }

    fn step(&self, cache: &Rc<Cache>, op: Op, step: Step<'_>) -> Answer {
        let first = match &step {
            Step::InodeAllocated { map, .. } | Step::BlockAllocated { map, .. } if self.maps_first => map.cloned(),
            Step::InodeReleased { inode, .. } if self.maps_first => Some((*inode).clone()),
            _ => None,
        };
        let Answer { must, ripe } = self.inner.step(cache, op, step);
        let must = match (first, must) {
            (None, must) => must,
            (Some(first), Must::Nothing) => Must::Durable(first),
            (Some(first), Must::Durable(buf)) => Must::InOrder(vec![first, buf]),
            _ => unreachable!("sync demands one buf of an allocation"),
        };
        Answer { must, ripe }
    }
}

const SCRIPT: &str = "\
    create a\n write a 0 6000\n mkdir d\n create d/b\n\
    ---\n\
    create c\n write c 0 9000\n fsync c\n write c 9000 60000\n link a d/a\n unlink a\n rename c d/b\n mkdir d/e\n\
    fsync d/a\n rmdir d/e\n unlink d/a\n sync";

fn explored(leaves: CrashLeaves, maps_first: bool) -> Report {
    let script = Script::parse("claims", SCRIPT).unwrap();
    let plan = Plan {
        budget: Budget { states: 2000, recovery_cuts: 2, ..Budget::default() },
        ..Plan::new("sync", script, Device::by_name("nvme").unwrap())
    };
    let mutilate = move |inner| -> Rc<dyn Scheme> { Rc::new(Claims { inner, leaves, maps_first }) };
    let subject = Subject { mutilate: Some(Arc::new(mutilate)), ..plan.subject };
    explore(&Plan { subject, ..plan }).unwrap()
}

/// `sync` leaves stale maps: a mount would allocate what is in use to a second file. The declaration alone does not
/// help.
#[test]
fn maps_that_are_behind_are_no_leaks() {
    for leaves in [CrashLeaves::Leaks, CrashLeaves::Counts] {
        let report = explored(leaves, false);
        let first = &report.violations[0];
        assert_eq!(first.oracle, Oracle::Structure);
        // The inode is there and its mark is not. A mount that looks for leaks reads the marks, so the leak stays.
        assert_eq!(first.should, "what fsck finds after the mount: no worse than: nothing");
        assert_eq!(first.is, "inode 4: 0 bytes without a name");
        assert!(!report.leaks_only);
    }
}

/// Only leaks are left then. The volume is mounted with them, and repaired with them, and both are cut: both end alike.
#[test]
fn leaks_are_mounted_and_repaired_alike() {
    let report = explored(CrashLeaves::Leaks, true);
    assert_eq!(report.violations, []);
    assert!(report.leaks_only && report.nested > report.distinct / 2, "{} of {}", report.nested, report.distinct);
    for leak in ["FragmentsLeaked", "InodeMap", "LinkCount", "Unreferenced", "DirectoryUnconnected"] {
        assert!(report.findings.contains_key(leak), "{leak}: {:?}", report.findings);
    }
}

/// The declaration decides only how an image is recovered: the same scheme passes with the declaration that is true.
#[test]
fn the_same_order_is_cleared_where_fsck_comes_first() {
    let script = Script::parse("claims", SCRIPT).unwrap();
    let report = explore(&Plan {
        budget: Budget { states: 2000, ..Budget::default() },
        ..Plan::new("sync", script, Device::by_name("nvme").unwrap())
    })
    .unwrap();
    assert_eq!(report.violations, []);
}
