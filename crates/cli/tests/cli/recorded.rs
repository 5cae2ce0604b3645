//! `ordo trace record`, on a mount.

use crate::common::{Scratch, command, fails, ok, ordo};
use crate::mounted::{Place, can_mount};
use ordofs::rt::Rt;
use std::fs;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// A recording in the background, which has begun.
fn begin(path: &str, place: &Place) -> Child {
    let mut child = command(["trace", "record", "-o", path, &place.0]);
    let child = child.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let rt = Rt::real_time();
    for _ in 0..1000 {
        if fs::read_to_string(path).is_ok_and(|text| text.contains('\n')) {
            return child;
        }
        rt.block_on(rt.sleep(Duration::from_millis(20)));
    }
    panic!("the recording did not begin");
}

fn end(child: Child) -> Output {
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn what_is_done_to_a_mount_is_recorded_until_the_signal() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place, path) = (scratch.volume(), Place::new(&scratch), scratch.path("work.trace"));
    ok(ordo(["mount", &image, &place.0]));
    let child = begin(&path, &place);
    let said = fails(3, ordo(["trace", "record", "-o", &scratch.path("second"), &place.0]));
    assert!(said.contains("another program") && fs::metadata(scratch.path("second")).is_err(), "{said}");
    fs::create_dir(place.at("d e")).unwrap();
    fs::write(place.at("d e/f"), [1; 10_000]).unwrap();
    fs::rename(place.at("d e/f"), place.at("g")).unwrap();
    let ended = end(child);
    assert!(ended.status.success(), "{ended:?}");
    assert!(String::from_utf8_lossy(&ended.stderr).contains("calls were recorded"), "{ended:?}");
    fs::write(place.at("after"), "x").unwrap();
    let calls = ordo_filetrace::read(&fs::read_to_string(&path).unwrap()).unwrap();
    let made: Vec<_> = calls.iter().filter(|call| call.op.makes()).map(|call| &*call.name).collect();
    assert_eq!(made, [&b"d e"[..], b"f"]);
    let written: u64 = calls.iter().filter(|call| call.op == ordo_filetrace::Op::Write).map(|call| call.len).sum();
    assert_eq!(written, 10_000);
    let moved = calls.iter().find(|call| call.op == ordo_filetrace::Op::Rename).unwrap();
    assert_eq!((&*moved.to_name, moved.to), (&b"g"[..], 1));
    ok(ordo(["umount", &place.0]));
}

#[test]
fn a_full_disk_under_the_trace_ends_the_recording_and_says_so() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place) = (scratch.volume(), Place::new(&scratch));
    ok(ordo(["mount", &image, &place.0]));
    let said = fails(3, ordo(["trace", "record", "-o", "/dev/full", &place.0]));
    assert!(said.contains("/dev/full") && said.contains("No space") && said.contains("after 0 calls"), "{said}");
    fs::write(place.at("f"), "the mount goes on").unwrap();
    // The recording is over at once, and another can begin.
    let (path, small) = (scratch.path("t"), Place::new_at(&scratch, "small"));
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "tmpfs", &small.0]).status().unwrap();
    assert!(mounted.success());
    let child = begin(&small.at("trace"), &place);
    for at in 0..2000 {
        fs::write(place.at(&format!("a-name-that-is-not-short-{at}")), "x").unwrap();
    }
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.code() == Some(3) && said.contains("No space"), "{ended:?}");
    let whole = fs::read_to_string(small.at("trace")).unwrap();
    let calls = ordo_filetrace::read(&whole).unwrap().len();
    assert!(whole.ends_with('\n') && calls > 0 && said.contains(&format!("after {calls} calls")), "{said}");
    assert_eq!(fs::read_dir(&place.0).unwrap().count(), 2001, "no call was refused");
    end(begin(&path, &place));
    ok(ordo(["umount", &place.0]));
}

#[test]
fn a_trace_on_the_mount_itself_and_what_is_no_mount_are_refused() {
    let scratch = Scratch::new();
    let said = fails(3, ordo(["trace", "record", "-o", "/dev/null", &scratch.path("")]));
    assert!(said.contains("not mounted"), "{said}");
    if !can_mount() {
        return;
    }
    let (image, place) = (scratch.volume(), Place::new(&scratch));
    ok(ordo(["mount", &image, &place.0]));
    let said = fails(2, ordo(["trace", "record", "-o", &place.at("t"), &place.0]));
    assert!(said.contains("on the mount") && fs::metadata(place.at("t")).is_err(), "{said}");
    let path = scratch.path("gone.trace");
    let child = begin(&path, &place);
    ok(ordo(["umount", &place.0]));
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success() && String::from_utf8_lossy(&ended.stderr).contains("is gone"), "{ended:?}");
}
