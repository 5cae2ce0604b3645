//! The server is killed under load: what it had acknowledged is there, and `fsck -p` needs no answers.
//!
//! 20 kills; set `ORDO_KILLS=1000` for more. A killed process is not a power cut (the kernel keeps the image's pages):
//! power cuts are tested by `ordo crash`. Here the real server dies in the middle of a real mount.

use crate::common::{Scratch, ok, ordo};
use crate::mounting::{Place, can_mount, is_mounted};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// What was acknowledged; `None` for an acknowledged removal.
type Acknowledged = BTreeMap<String, Option<String>>;

fn kills() -> u32 {
    std::env::var("ORDO_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(20)
}

/// Works until the server is gone.
fn work(place: &Place, round: u32, said: &mut Acknowledged) {
    for i in 0.. {
        let (name, text) = (format!("f{round}-{i}"), format!("{round} {i} ").repeat(1 + (i * 37 % 900)));
        let made = fs::File::create(place.at(&name))
            .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()));
        if made.is_err() {
            return;
        }
        said.insert(name.clone(), Some(text));
        if i % 3 == 1 {
            let old = format!("f{round}-{}", i - 1);
            if fs::remove_file(place.at(&old)).is_err() {
                // It may have been removed or not: nothing was acknowledged.
                said.remove(&old);
                return;
            }
            said.insert(old, None);
        }
        if i % 5 == 4 {
            let new = format!("g{round}-{i}");
            let text = said.remove(&name).flatten();
            if fs::rename(place.at(&name), place.at(&new)).is_err() {
                return;
            }
            said.insert(name, None);
            said.insert(new, text);
        }
    }
}

/// The kernel releases the lock of a killed process a moment after its end, when its last request is done.
pub(crate) fn repair(image: &str) -> Output {
    let rt = ordofs::rt::Rt::real_time();
    for _ in 0..100 {
        let repaired = ordo(["fsck", "-p", image]);
        if !String::from_utf8_lossy(&repaired.stderr).contains("in use") {
            return repaired;
        }
        rt.block_on(rt.sleep(Duration::from_millis(20)));
    }
    panic!("the image stays locked after its server's end");
}

#[test]
fn acknowledged_writes_survive_a_kill_of_the_server() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place) = (scratch.volume(), Place::new(&scratch));
    let mut said = Acknowledged::new();
    for round in 0..kills() {
        let mut server = Command::new(crate::PROGRAM)
            .args(["mount", "-f", "-o", "scheme=sync", &image, &place.0])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        place.wait();
        for (name, text) in &said {
            assert_eq!(fs::read_to_string(place.at(name)).ok(), *text, "round {round}: {name}");
        }
        if round % 8 == 7 {
            // Room for the next rounds.
            for name in std::mem::take(&mut said).into_keys() {
                let _ = fs::remove_file(place.at(&name));
            }
        }
        let after = Duration::from_millis(20 + u64::from(round * 29 % 140));
        std::thread::scope(|scope| {
            scope.spawn(|| work(&place, round, &mut said));
            let rt = ordofs::rt::Rt::real_time();
            rt.block_on(rt.sleep(after));
            server.kill().unwrap();
            server.wait().unwrap();
        });
        if is_mounted(&place.0) {
            assert!(Command::new("umount").args(["-l", &place.0]).status().unwrap().success());
        }
        let repaired = repair(&image);
        assert!(matches!(repaired.status.code(), Some(0 | 1)), "round {round}: {repaired:?}");
        ok(ordo(["fsck", "-n", &image]));
    }
}
