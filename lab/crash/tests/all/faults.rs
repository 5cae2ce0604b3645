//! Fault injection, a sample of each fault: an error or the truth, and a lie only where the format cannot detect it.

use ordo_crash::faults::{Class, Effect, Report, campaign, replay};
use ordo_crash::{Counters, Device, Plan};
use std::sync::atomic::Ordering;

fn sample(scheme: &str, script: &str, device: &str, runs: u64) -> Report {
    let script = ordo_workload::script::find(script).expect("it comes with the crate");
    let mut plan = Plan::new(scheme, script, Device::by_name(device).expect("a device"));
    plan.budget.states = runs;
    let counters = Counters::default();
    let report = campaign(&plan, &counters).expect("it can be carried out");
    assert_eq!(counters.states.load(Ordering::Relaxed), report.runs);
    assert!(report.runs.abs_diff(runs) <= runs / 2, "{} of {runs} runs", report.runs);
    report
}

#[test]
fn a_fault_is_told_or_harmless_or_seen_and_else_the_format_cannot_show_it() {
    let mut whole: Option<Report> = None;
    for (scheme, script, device) in [
        ("sync", "create", "sata"),
        ("sync", "overwrite", "plp"),
        ("sync", "remove", "nvme"),
        ("async", "rename", "sata"),
        ("async", "append", "scsi94"),
        ("async", "mixed", "sata"),
    ] {
        let report = sample(scheme, script, device, 200);
        assert_eq!(report.violations, [], "{scheme} {script} {device}");
        whole = Some(match whole {
            Some(whole) => whole.and(report),
            None => report,
        });
    }
    let whole = whole.expect("six reports");
    for cell in &whole.cells {
        // A failure that the disk reports never leads to a lie.
        assert!(cell.lie == 0 || !cell.effect.is_told(), "{cell:?}");
        let hashed = ["superblock", "group", "summary", "inodes"].contains(&cell.kind.as_str());
        let damaged = matches!(cell.effect, Effect::Rot | Effect::ReadRot | Effect::RestBit | Effect::RestSector);
        assert!(cell.lie == 0 || !(hashed && damaged), "{cell:?}");
    }
    assert!(whole.lies.iter().all(|lie| lie.excused));
    // The oracle does see wrong data: a lost write of data is always noticed.
    assert!(whole.lies.iter().any(|lie| lie.effect == Effect::Lost && lie.kind == "data"), "{:?}", whole.lies);
    assert!(whole.error > 100 && whole.seen > 100 && whole.truth > 100, "{whole}");
}

#[test]
fn a_run_is_a_function_of_its_id() {
    let (one, again) = (sample("sync", "create", "sata", 120), sample("sync", "create", "sata", 120));
    assert_eq!(one, again);
    let lie = one.lies.first().expect("lost data is a lie");
    let (id, what) = lie.example.split_once(": ").expect("an id and what is wrong");
    let (class, told) = replay(id).expect("the id of a run");
    assert_eq!((class, told.as_deref()), (Class::Lie, Some(what)));
    let json = serde_json::to_string(&one).expect("it is plain data");
    assert_eq!(serde_json::from_str::<Report>(&json).expect("its own words"), one);
    for bad in ["", "fault:sync", "fault:sync:create:sata:ufs2,8388608,4096,512:0:lost:9999", &id.replace("sync", "x")]
    {
        assert!(replay(bad).is_err(), "{bad}");
    }
}
