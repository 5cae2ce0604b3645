//! A mount whose disk does not answer any more, and waits for it without an end: it can be ended, and so can the
//! program that waits in a write.

use crate::common::{Scratch, command, ok, ordo};
use crate::killed::repair;
use crate::mounting::{Place, can_mount, is_mounted};
use crate::serving::serving;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Longer than any of it may take.
const BOUND: Duration = Duration::from_secs(60);

/// Killed when dropped, also if it is stopped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The end of the mount, which `end` brings about while a program waits in fsync: what it said, and the status.
fn ended_by(end: impl FnOnce(&Place, Pid)) -> (String, Option<i32>) {
    let scratch = Scratch::new();
    let (image, place) = (scratch.volume(), Place::new(&scratch));
    let (server, url) = serving(["serve", "nbd", "--listen", "127.0.0.1:0", "--name", "v", &image]);
    let server = Killed(server);
    let url = format!("{url}?timeout=0");
    let mut mount = command(["mount", "-f", &url, &place.0]);
    let mut mount = Killed(mount.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    place.wait();
    let mut file = File::create(place.at("file")).unwrap();
    file.sync_all().unwrap();
    kill_process(Pid::from_child(&server.0), Signal::STOP).unwrap();
    let (done, ends) = mpsc::channel();
    std::thread::spawn(move || done.send(file.write_all(b"text").and_then(|()| file.sync_all())));
    assert!(ends.recv_timeout(Duration::from_millis(300)).is_err(), "an fsync of a disk that hangs has returned");
    end(&place, Pid::from_child(&mount.0));
    assert!(ends.recv_timeout(BOUND).unwrap().is_err());
    assert!(!is_mounted(&place.0));
    let mut said = String::new();
    let mut stderr = mount.0.stderr.take().unwrap();
    let (done, ends) = mpsc::channel();
    std::thread::spawn(move || done.send(stderr.read_to_string(&mut said).map(|_| said)));
    let said = ends.recv_timeout(BOUND).expect("the mount's process goes on").unwrap();
    let status = mount.0.wait().unwrap();
    drop(server);
    // The disk is as after a crash.
    assert!(matches!(repair(&image).status.code(), Some(0 | 1)));
    ok(ordo(["fsck", "-n", "-f", &image]));
    (said, status.code())
}

#[test]
fn umount_f_ends_a_mount_whose_disk_hangs() {
    if !can_mount() {
        return;
    }
    let (said, status) = ended_by(|place, _| {
        let forced = ordo(["umount", "-f", &place.0]);
        assert_eq!(forced.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&forced.stderr).contains("given up, since its disk does not answer"));
    });
    assert!(said.contains("another SIGTERM or SIGINT gives them up") && said.contains("given up"), "{said}");
    assert_eq!(status, Some(3));
}

#[test]
fn signals_end_a_mount_whose_disk_hangs_and_those_that_come_early_do_not() {
    if !can_mount() {
        return;
    }
    let (said, status) = ended_by(|_, mount| {
        let rt = ordofs::rt::Rt::real_time();
        // The third and the fourth come before it has waited for long.
        for wait in [300, 300, 300, 7000, 0] {
            kill_process(mount, Signal::TERM).unwrap();
            rt.block_on(rt.sleep(Duration::from_millis(wait)));
        }
    });
    assert!(said.contains("another SIGTERM") && said.contains("given up"), "{said}");
    assert_eq!(status, Some(3));
}
