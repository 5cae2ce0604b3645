//! `ordo trace record`, on a mount.

use crate::common::{Scratch, command, fails, ok, ordo};
use crate::mounting::{Place, can_mount};
use ordofs::rt::Rt;
use std::fs;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// A recording in the background, which has begun.
fn begin(path: &str, place: &Place) -> Child {
    let mut child = command(["trace", "record", "-o", path, &place.0]);
    let child = child.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let rt = Rt::real_time();
    let begun = || fs::read_to_string(path).is_ok_and(|text| text.contains('\n'));
    for _ in 0..1000 {
        if begun() {
            break;
        }
        rt.block_on(rt.sleep(Duration::from_millis(20)));
    }
    child
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
    let made = fs::read_dir(&place.0)
        .unwrap()
        .filter(|entry| entry.as_ref().is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with("a-name")));
    assert_eq!(made.count(), 2000, "no call was refused");
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

/// A trace that finds a file, reads it, writes another, syncs it, and removes it.
const WORK: &str = "ordofs-file-trace 1\n1000 lookup 1 d = 5 d 512\n2000 lookup 5 f = 7 f 200000\n\
    3000 read 7 0 131072\n40000 read 7 131072 68928\n50000 create 5 g = 8 f 0\n51000 write 8 0 65536\n\
    52000 fsync 8 0\n900000 unlink 5 g\n900100 forget 8 1\n900200 lookup 5 g !2\n900300 mkdir 1 e = 8 d 512\n\
    900400 rename 5 f 8 h 0\n900500 rmdir 1 d\n";

#[test]
fn a_trace_is_replayed_on_a_modelled_drive_and_gives_the_same_each_time() {
    let scratch = Scratch::new();
    let path = scratch.path("work.trace");
    fs::write(&path, WORK).unwrap();
    let schemes = "sync,softupdates,block-journal,active,lfs";
    let replay = || ok(ordo(["trace", "replay", "--scheme", schemes, "--size", "256M", &path, "--json"]));
    let text = replay();
    let rows: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 5);
    for row in rows.as_array().unwrap() {
        // The lookup of a directory is no request, nor is one that finds nothing.
        assert!(row["requests"] == 4 && row["syncs"] == 1 && row["calls"] == 13 && row["refused"] == 0, "{row}");
        assert!(row["trace"] == "work" && row["mean_sync_ms"].as_f64() > Some(1.0), "{row}");
        let mean = row["mean_response_ms"].as_f64().unwrap();
        assert!(mean > 0.0 && row["max_ms"].as_f64() >= Some(mean), "{row}");
        let count = |bins: &str| row["seeks"][bins].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
        let (time, distance): (u64, u64) = (count("time_ms"), count("distance_cylinders"));
        assert!(time == distance && time > 0, "{row}");
    }
    assert_eq!(text, replay());
    let table = ok(ordo(["trace", "replay", &path, "source-build"]));
    assert_eq!(table.lines().count(), 3, "{table}");
}

#[test]
fn a_trace_that_is_made_runs_in_the_engine_and_gives_the_same_each_time() {
    let (schemes, traces) = ("block-journal,active,lfs", "gcc,viewperf");
    let replay =
        || ok(ordo(["trace", "replay", "--scheme", schemes, "--requests", "400", "gcc", "viewperf", "--json"]));
    let text = replay();
    let rows: serde_json::Value = serde_json::from_str(&text).unwrap();
    let rows = rows.as_array().unwrap();
    let simulated = ok(ordo(["sim", "--system", "ext3", "--trace", traces, "--requests", "400", "--json"]));
    let simulated: serde_json::Value = serde_json::from_str(&simulated).unwrap();
    assert_eq!(rows.iter().map(|row| row["trace"].as_str().unwrap()).collect::<Vec<_>>()[2..4], ["gcc", "viewperf"]);
    for row in rows {
        // The simulator's requests, and no other; nothing is refused, so every file is where it must be.
        assert!(row["requests"] == 400 && row["refused"] == 0 && row["syncs"] == 0, "{row}");
        assert!(row["disk_reads"].as_u64() > Some(20) && row["mean_response_ms"].as_f64() > Some(0.0), "{row}");
    }
    assert!(simulated.as_array().unwrap().iter().all(|row| row["requests"] == 400), "{simulated}");
    assert_eq!(text, replay());
    let other = ok(ordo(["trace", "replay", "--scheme", "lfs", "--requests", "400", "--seed", "2", "gcc", "--json"]));
    assert_ne!(serde_json::from_str::<serde_json::Value>(&other).unwrap()[0], rows[2]);
}

/// A program in /src that reads a file, writes another one under a new name, and syncs it.
const STRACE: &str = r#"7 1795711854.000000 execve("/bin/sh", ["sh"], 0x7ffe /* 3 vars */) = 0 <0.0003>
7 1795711854.001000 openat(AT_FDCWD</src>, "in", O_RDONLY) = 3</src/in> <0.0001>
7 1795711854.002000 newfstatat(3</src/in>, "", {st_mode=S_IFREG|0644, st_size=200000, ...}, AT_EMPTY_PATH) = 0
7 1795711854.003000 clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>
8 1795711854.004000 read(3</src/in>, "x"..., 131072) = 131072 <0.0001>
7 1795711854.005000 <... clone resumed>) = 8
8 1795711854.040000 read(3</src/in>, "x"..., 131072) = 68928 <0.0001>
8 1795711854.050000 openat(AT_FDCWD</src>, "out", O_WRONLY|O_CREAT|O_EXCL, 0666) = 4</src/out> <0.0001>
8 1795711854.051000 write(4</src/out>, "x"..., 65536) = 65536 <0.0001>
8 1795711854.052000 fsync(4</src/out>) = 0 <0.1>
8 1795711854.900000 rename("out", "done") = 0 <0.0001>
8 1795711854.950000 +++ exited with 0 +++
7 1795711854.960000 exit_group(0) = ?
"#;

/// The document of a command that has something to say, and what it says.
fn json_and_words(output: &Output) -> (serde_json::Value, String) {
    assert!(output.status.success(), "{output:?}");
    (serde_json::from_slice(&output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn what_strace_wrote_is_played_and_replayed_and_what_is_not_in_it_is_said() {
    let scratch = Scratch::new();
    let path = scratch.path("make.strace");
    fs::write(&path, STRACE).unwrap();
    let run = |arguments: &[&str]| {
        let output = ordo(arguments.iter().copied().chain(["--root", "/src", "--json"]));
        json_and_words(&output)
    };
    let (rows, said) = run(&["trace", "replay", "--scheme", "softupdates,lfs", "--size", "256M", &path]);
    assert!(said.contains("10 calls were followed, 8 lines of a trace; left out: 1 outside of the root"), "{said}");
    for row in rows.as_array().unwrap() {
        // A lookup, a question for the inode, two reads and a write; nothing is refused.
        assert!(row["requests"] == 5 && row["syncs"] == 1 && row["calls"] == 8 && row["refused"] == 0, "{row}");
        assert!(row["trace"] == "make" && row["mean_sync_ms"].as_f64() > Some(1.0), "{row}");
    }
    let (rows, said) = run(&["sim", "--system", "ext3", "--trace", &path]);
    assert!(rows[0]["requests"] == 5 && said.contains("1 outside of the root"), "{rows} {said}");
    let said = fails(2, ordo(["trace", "replay", "--root", "src", &path]));
    assert!(said.contains("--root") && said.contains("must begin with /"), "{said}");
    let said = fails(3, ordo(["trace", "replay", "--root", "/elsewhere", &path]));
    assert!(said.contains("nothing in it is done under the root"), "{said}");
    fs::write(&path, "7 1795711854.000000 sync() = 0\n7 1795711854.000001 oops\n").unwrap();
    let said = fails(3, ordo(["sim", "--trace", &path]));
    assert!(said.contains("line 2") && said.contains("-o FILE"), "{said}");
    fs::write(&path, "sync() = 0\n").unwrap();
    let said = fails(3, ordo(["trace", "replay", &path]));
    assert!(said.contains("line 1") && said.contains("-ttt"), "{said}");
}

#[test]
fn a_real_strace_is_replayed() {
    let scratch = Scratch::new();
    let (path, work) = (scratch.path("work.strace"), fs::canonicalize(scratch.path("")).unwrap());
    let program = "mkdir d; echo hello > d/a; cp d/a 'd/b c'; cat d/a 'd/b c' > d/e; mv d/e d/f; rm d/a; ls d";
    let mut strace = Command::new("strace");
    strace.args(["-f", "-ttt", "-T", "-y", "-o", &path, "sh", "-c", program]).current_dir(&work);
    // Where strace is not installed, or may not trace.
    if !strace.output().is_ok_and(|output| output.status.success()) {
        return;
    }
    let work = work.to_str().unwrap();
    let output = ordo(["trace", "replay", "--root", work, "--size", "256M", &path, "--json"]);
    let (rows, said) = json_and_words(&output);
    // Three files are written and two are read again.
    assert!(rows[0]["requests"].as_u64() >= Some(5) && rows[0]["refused"] == 0, "{rows} {said}");
    assert!(said.contains("outside of the root") && said.contains("not followed (") && said.contains("brk"), "{said}");
}

#[test]
fn what_cannot_be_replayed_is_one_line() {
    let scratch = Scratch::new();
    let path = scratch.path("bad.trace");
    fs::write(&path, "ordofs-file-trace 1\n\n5 read 7\n").unwrap();
    let said = fails(3, ordo(["trace", "replay", &path]));
    assert!(said.contains("line 3") && said.contains("bad.trace"), "{said}");
    fs::write(&path, "0.0 0 100 8 1\n").unwrap();
    assert!(fails(3, ordo(["trace", "replay", &path])).contains("no header"));
    fs::write(&path, "ordofs-file-trace 1\n0 lookup 1 f = 7 f 18446744073709551615\n").unwrap();
    assert!(fails(3, ordo(["trace", "replay", &path])).contains("no room"));
    assert!(fails(2, ordo(["trace", "replay", "nothing"])).contains("those that were recorded"));
    let said = fails(3, ordo(["trace", "replay", "--size", "100M", "viewperf"]));
    assert!(said.contains("viewperf") && said.contains("no room"), "{said}");
    assert!(fails(2, ordo(["trace", "replay", "--disk", "ram", "pgbench"])).contains("sim:NAME"));
    assert!(fails(2, ordo(["trace", "replay", "--scheme", "best", "pgbench"])).contains("best"));
}
