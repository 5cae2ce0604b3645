//! Counted requests: the line and its numbers, what belongs to a case, and that each need is worked out.

use super::*;
use crate::Device;

fn subject(scheme: &str) -> Subject {
    let device = Device::by_name("sata").expect("it is built in");
    match scheme {
        "lfs" => Subject::on_log(device),
        _ => Subject::new(scheme, device),
    }
}

fn case(name: &str) -> &'static Case {
    CASES.iter().find(|case| case.name == name).expect("it is in the table")
}

fn done(scheme: &str, name: &str) -> Requests {
    requests(&subject(scheme), 0, case(name)).expect("no call fails")
}

#[test]
fn requests_are_counted_by_their_line() {
    let cost = |line: &str| Requests::named(line).cost;
    assert_eq!(cost(""), Cost::default());
    assert_eq!(cost("data, group+inodes | log!, data"), Cost { writes: 4, forced: 1, flushes: 1 });
    assert_eq!(cost("data | log!").to_string(), "2 writes (1 forced), 1 flush");
    assert!(!cost("data | log!").is_above(cost("data | log |")), "a forced write does the work of a flush");
    assert!(cost("data | log |").is_above(cost("data, log |")));
    assert!(cost("data, log |").is_above(cost("log |")));
}

/// crash-flushes-1 to crash-flushes-3: what others left to do is not in the line, and the same case gives the same one.
#[test]
fn a_case_has_the_requests_of_its_own_calls_only() {
    for scheme in ["sync", "softupdates", "suj", "block-journal", "lfs"] {
        for name in ["nothing, fsync", "nothing, sync"] {
            assert_eq!(done(scheme, name).order, "", "{scheme}, {name}");
        }
        assert_eq!(done(scheme, "new file, fsync"), done(scheme, "new file, fsync"), "{scheme}");
    }
    assert_eq!(done("softupdates", "new file, fsync").order, "data, group | inodes | directory |");
}

/// A scheme whose calls are durable on return pays when they return.
#[test]
fn a_call_that_waits_is_charged() {
    let waits = done("wafs", "new empty file, fsync");
    assert_eq!(waits.order, "log!");
    assert_eq!(done("wafs", "new file, fsync").cost.forced, 2);
}

/// Without the disk below that keeps copies, which has writes of its own.
#[test]
fn an_overwrite_needs_one_write_and_one_flush_under_every_scheme() {
    for known in ordo_schemes::ALL.iter().filter(|known| known.name != "active") {
        let done = done(known.name, "overwrite, fdatasync");
        assert_eq!(done.order, "data |", "{}", known.name);
    }
}

#[test]
fn every_need_is_worked_out() {
    let names = ordo_schemes::ALL.iter().map(|known| known.name).chain(["lfs"]);
    for scheme in names {
        for case in CASES {
            assert!(needed(&subject(scheme), case).is_some(), "{scheme}, {}", case.name);
        }
    }
}
