//! A volume whose log is on another disk: how that is shown, and that a crash of both is repaired only with both.

use crate::common::{Scratch, fails, ok, ordo};
use crate::mounting::{Place, can_mount, is_mounted};
use ordofs::schemes::LogMode;
use ordofs::{OpenOptions, Volume};
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

const TEXT: &str = "acknowledged";

/// A volume and an empty disk for its log.
fn both(scratch: &Scratch) -> (String, String) {
    let (image, log) = (scratch.volume(), scratch.path("log.img"));
    fs::write(&log, vec![0; 1 << 20]).unwrap();
    (image, log)
}

fn info(image: &str) -> serde_json::Value {
    serde_json::from_str(&ok(ordo(["info", "--json", image]))).unwrap()
}

/// Both disks as a crash leaves them after a file was made and synced: copies while the volume is mounted.
fn crashed(scratch: &Scratch) -> (String, String) {
    let (image, log) = both(scratch);
    let volume = Volume::open(&image).unwrap().scheme("wafs").log(&log).log_mode(LogMode::Sync).mount().unwrap();
    let mut file = OpenOptions::new().write(true).create_new(true).open(&volume, "/f").unwrap();
    file.write_all(TEXT.as_bytes()).unwrap();
    file.sync_all().unwrap();
    let (left, left_log) = (scratch.path("left.img"), scratch.path("left.log"));
    fs::copy(&image, &left).unwrap();
    fs::copy(&log, &left_log).unwrap();
    drop(file);
    volume.unmount().unwrap();
    let shown = info(&image);
    assert_eq!((&shown["kept_by"], &shown["log"]["waits"]), (&"wafs".into(), &false.into()), "{shown}");
    (left, left_log)
}

#[test]
fn a_crashed_volume_is_repaired_with_its_log_and_not_without() {
    let scratch = Scratch::new();
    let (image, log) = crashed(&scratch);
    let shown = info(&image);
    assert_eq!((&shown["kept_by"], &shown["clean"]), (&"wafs".into(), &false.into()), "{shown}");
    assert_eq!((&shown["log"]["at"], &shown["log"]["waits"]), (&"elsewhere".into(), &true.into()), "{shown}");
    let text = ok(ordo(["info", &image]));
    assert!(text.contains("kept by     wafs") && text.contains("on another disk, id "), "{text}");

    let (before, logged) = (fs::read(&image).unwrap(), fs::read(&log).unwrap());
    let other = scratch.path("other.img");
    fs::write(&other, vec![0; 1 << 20]).unwrap();
    assert!(fails(4, ordo(["fsck", "-p", &image])).contains("--log"), "the log's disk was not named");
    assert!(fails(4, ordo(["fsck", "-p", "--log", &other, &image])).contains("--log"), "another disk");
    assert!(fails(4, ordo(["fsck", "-p", "-f", &image])).contains("--log"), "-f gives no log up");
    assert!(fs::read(&image).unwrap() == before, "nothing was written");
    let found = String::from_utf8(ordo(["fsck", "-n", "--log", &log, &image]).stdout).unwrap();
    assert!(found.contains("its log waits") && found.contains("nothing wrong"), "{found}");
    assert!(fs::read(&log).unwrap() == logged && fs::read(&image).unwrap() == before, "nothing was written");

    let said = ok(ordo(["fsck", "-p", "-f", "--log", &log, &image]));
    assert!(said.contains("replayed") && said.contains(": clean;"), "{said}");
    assert_eq!(ok(ordo(["cat", &format!("{image}:/f")])), TEXT);
    assert!(ok(ordo(["fsck", "-n", &image])).contains(": clean;"));
    assert_eq!(info(&image)["log"]["waits"], false);
}

#[test]
fn fsck_that_discards_the_log_leaves_a_sound_volume() {
    let scratch = Scratch::new();
    let (image, _) = crashed(&scratch);
    assert!(matches!(ordo(["fsck", "-y", &image]).status.code(), Some(0 | 1)));
    assert!(ok(ordo(["fsck", "-n", &image])).contains(": clean;"));
}

#[test]
fn a_file_for_the_log_is_made_and_found_again() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let mount = || Volume::open(&image).unwrap().scheme("wafs").mount();
    assert!(mount().err().unwrap().to_string().contains("ordo tune -o log=on"));
    assert_eq!(ok(ordo(["tune", "-o", "log=512K", &image])), "log: on (was: off)\n");
    mount().unwrap().unmount().unwrap();
    let shown = info(&image);
    assert_eq!((&shown["log"]["at"], &shown["kept_by"]), (&"file".into(), &"wafs".into()), "{shown}");
    assert!(shown["log"]["inode"].as_u64().is_some_and(|ino| ino > 2), "{shown}");
    assert_eq!(ok(ordo(["tune", "-o", "log=off", &image])), "log: off (was: on)\n");
    assert!(ok(ordo(["fsck", "-n", &image])).contains(": clean;"));
    assert!(fails(2, ordo(["tune", "-o", "log=separate", &image])).contains("separate"));
}

/// End to end, through the kernel: the server dies, and the next mount replays.
#[test]
fn a_mount_names_the_disk_and_replays_after_a_crash() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let ((image, log), place) = (both(&scratch), Place::new(&scratch));
    let options = format!("scheme=wafs,log={log},logmode=sync,data=ordered,commit=5");
    let mut server = Command::new(crate::PROGRAM)
        .args(["mount", "-f", "-o", &options, &image, &place.0])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    place.wait();
    let mut file = fs::File::create(place.at("f")).unwrap();
    file.write_all(TEXT.as_bytes()).and_then(|()| file.sync_all()).unwrap();
    drop(file);
    server.kill().unwrap();
    server.wait().unwrap();
    if is_mounted(&place.0) {
        assert!(Command::new("umount").args(["-l", &place.0]).status().unwrap().success());
    }
    assert_eq!(info(&image)["log"]["at"], "elsewhere");
    // Without the log disk the volume is not written to.
    ordo(["mount", "-o", "scheme=wafs", &image, &place.0]);
    assert!(fs::write(place.at("g"), "no").is_err());
    ok(ordo(["umount", &place.0]));
    let mounted = ordo(["mount", "-o", &options, &image, &place.0]);
    assert!(mounted.status.success(), "{mounted:?}");
    assert!(String::from_utf8_lossy(&mounted.stderr).contains("was replayed"), "{mounted:?}");
    assert_eq!(fs::read_to_string(place.at("f")).unwrap(), TEXT);
    ok(ordo(["umount", &place.0]));
    assert!(ok(ordo(["fsck", "-n", &image])).contains(": clean;"));
}
