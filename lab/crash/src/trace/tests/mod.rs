//! Traces of single calls: what a scheme demands, what it holds back, and that it explains what it does.

use super::*;
use crate::disks::{Disks, Split};
use crate::mount::mount;
use crate::volume::fresh;
use crate::{Device, Shape, Subject};
use ordo_probe::{Traced, Tracer};
use ordo_rt::{Rng, Rt};
use ordo_schemes::Settings;
use ordo_vfs::Caller;
use ordo_workload::random::{Op, Player};
use ordo_workload::script::{Script, all};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

fn asked(scheme: &str, setup: &[Op], call: &Op) -> Asked {
    Asked {
        subject: Subject::new(scheme, Device::by_name("sata").unwrap()),
        setup: setup.to_vec(),
        call: call.clone(),
        at_once: false,
        seed: 0,
    }
}

fn of(scheme: &str, at_once: bool, text: &str) -> Trace {
    let script = Script::parse("s", text).unwrap();
    trace(&Asked { at_once, ..asked(scheme, &script.setup, &script.calls[0]) }).unwrap()
}

/// The events agree with the counters.
fn assert_sound(trace: &Trace) {
    let mut under_way: BTreeMap<&str, u32> = BTreeMap::new();
    let (mut writes, mut rollbacks, mut flushes) = (0, 0, 0);
    for event in &trace.events {
        match &event.what {
            What::Leaves { buf, image, rolled_back, undone } => {
                assert_eq!(*rolled_back, !undone.is_empty(), "{buf}, image {image}, of {trace:#?}");
                assert!(undone.iter().all(|held| !held.until.is_empty()));
                writes += 1;
                rollbacks += u64::from(*rolled_back);
                under_way.insert(buf, *image);
            }
            What::Landed { buf, image } if under_way.get(buf.as_str()) == Some(image) => {
                under_way.remove(buf.as_str());
            }
            What::Flush => flushes += 1,
            What::Step { bufs, made, .. } => {
                let named = made.iter().flat_map(|held| held.until.iter().map(|until| &until.buf).chain([&held.buf]));
                assert!(bufs.iter().chain(named).all(|buf| trace.lanes.contains(buf)));
            }
            _ => {}
        }
    }
    assert!(under_way.is_empty(), "{under_way:?}");
    assert_eq!((writes, rollbacks, flushes), (trace.writes, trace.rollbacks, trace.flushes));
    assert!(trace.events.is_sorted_by_key(|event| event.us));
    assert_eq!(trace.events.last().map(|event| &event.what), Some(&What::Durable));
}

#[test]
fn the_same_call_gives_the_same_trace() {
    for scheme in ["sync", "async", "softupdates"] {
        let text = "mkdir a\n---\ncreate a/f";
        let (one, two) = (of(scheme, false, text), of(scheme, false, text));
        assert_eq!(one, two);
        assert_sound(&one);
    }
}

#[test]
fn a_create_of_soft_updates_waits_for_nothing_and_orders_three_writes() {
    let trace = of("softupdates", false, "create f");
    assert_eq!((trace.waits, trace.rollbacks, trace.writes, trace.returned_us), (0, 0, 3, 0));
    let left = trace.events.iter().filter_map(|event| match &event.what {
        What::Leaves { buf, .. } => Some(buf.split(' ').next().unwrap()),
        _ => None,
    });
    assert_eq!(left.collect::<Vec<_>>(), ["cylinder", "inode", "directory"]);
    assert!(!trace.needed_sync && trace.durable_us > 30_000_000);
}

#[test]
fn what_a_step_made_is_what_is_rolled_back_when_all_leave_at_once() {
    let trace = of("softupdates", true, "create f");
    let mut made: Vec<&Held> = Vec::new();
    let mut undone: Vec<&Held> = Vec::new();
    for event in &trace.events {
        match &event.what {
            What::Step { made: new, .. } => made.extend(new),
            What::Leaves { undone: old, .. } => undone.extend(old),
            _ => {}
        }
    }
    assert_eq!(made.len(), 2);
    assert_eq!(made, undone);
    let rules: Vec<_> = made.iter().flat_map(|held| held.until.iter().map(|until| until.rule)).collect();
    assert_eq!(rules, ["inode-marked", "link-addition"]);
    assert_sound(&trace);
}

/// Plays a script, and writes all bufs at once now and then. Counts the images, and those with rollbacks.
fn compare(script: &Script, seed: u64) -> (u64, u64) {
    let device = Device::by_name("sata").unwrap();
    let rt = Rt::virtual_time(seed);
    let seen = Rc::new(Cell::new((0, 0)));
    let (count, name) = (seen.clone(), script.name.clone());
    let scheme = ordo_schemes::by_name("softupdates").unwrap().make(Settings::default()).unwrap();
    let shape = Shape::small(device);
    let ram = fresh(&shape, Split::none(shape.size), &scheme).unwrap().snapshot();
    let tracer = Tracer::of_everything(scheme, move |heard| {
        if let Traced::Leaves { buf, image, rolled_back, undone } = heard {
            assert_eq!(rolled_back, !undone.is_empty(), "{name}, {seed}: {} {image}: {undone:#?}", buf.name);
            assert!(undone.iter().all(|held| !held.until.is_empty()));
            let (images, rollbacks) = count.get();
            count.set((images + 1, rollbacks + u64::from(rolled_back)));
        }
    });
    let watched: Rc<dyn ordo_buf::Scheme> = Rc::new(tracer);
    let mounted = mount(&rt, &ram, Disks::one(device.on(&rt, &ram, seed)), watched, false).unwrap();
    let mut player = Player::new(&**mounted.fs(), Caller { privileged: true, ..Caller::default() });
    let mut rng = Rng::new(seed);
    for (op, _) in script.steps() {
        let _ = rt.block_on(player.apply(op));
        if rng.chance(1, 3) {
            rt.block_on(mounted.cache().write_everything()).unwrap();
        }
        if rng.chance(1, 4) {
            rt.block_on(rt.sleep(Duration::from_millis(rng.range(1, 35_000))));
        }
    }
    drop(player);
    rt.block_on(mounted.unmount()).unwrap();
    rt.drop_tasks();
    seen.get()
}

/// The explanation and the write path are separate code; this checks that they agree image by image.
#[test]
fn what_is_explained_is_what_is_done_in_every_script() {
    let (mut images, mut rollbacks) = (0, 0);
    for script in all() {
        let (more, rolled_back) = compare(&script, 1);
        (images, rollbacks) = (images + more, rollbacks + rolled_back);
    }
    assert!(images > 500 && rollbacks > 60, "{images} {rollbacks}");
}

#[test]
fn sync_waits_and_somebody_must_say_sync_for_the_rest() {
    let trace = of("sync", false, "create f");
    assert_eq!((trace.waits, trace.rollbacks, trace.needed_sync), (2, 0, true));
    let waited = trace
        .events
        .iter()
        .filter(|event| matches!(&event.what, What::Step { waits_for, .. } if !waits_for.is_empty()));
    assert_eq!(waited.count(), 2);
}

#[test]
fn a_ticket_is_kept_and_then_told_as_it_ripens() {
    let trace = of("softupdates", false, "create f\nwrite f 0 5000\n---\nunlink f");
    let freed: Vec<&str> = trace
        .events
        .iter()
        .filter_map(|event| match &event.what {
            What::Freed { what } => Some(what.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(freed.len(), 3, "{freed:?}");
    assert!(freed[0].starts_with("a link of inode") && freed[1].starts_with('@') && freed[2].starts_with("the number"));
    let kept = trace
        .events
        .iter()
        .any(|event| matches!(&event.what, What::Step { made, .. } if made.iter().any(|held| held.how == Kind::Kept)));
    assert!(kept);
    assert_sound(&trace);
}

#[test]
fn a_call_that_is_refused_says_so_and_writes_nothing() {
    let trace = of("softupdates", false, "rmdir none");
    assert_eq!((trace.refused.is_some(), trace.writes), (true, 0));
}

#[test]
fn a_file_has_its_size_after_the_set_up() {
    let script = Script::parse("s", "create f\nwrite f 10 90").unwrap();
    assert_eq!((size_of(&script.calls, "f"), size_of(&script.calls, "g")), (100, 0));
}
