//! `ordo quota`, and limits on a mount.

use crate::common::{Scratch, fails, ok, ordo};
use crate::killed::repair;
use crate::mounting::{Place, can_mount};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

fn rows(image: &str) -> serde_json::Value {
    serde_json::from_str(&ok(ordo(["quota", "--json", image]))).unwrap()
}

/// What a user has, in bytes and inodes.
fn used(image: &str, id: u64) -> (u64, u64) {
    let all = rows(image);
    let row = all["rows"].as_array().unwrap().iter().find(|row| row["whose"] == "user" && row["id"] == id).cloned();
    let number = |what: &str| row.as_ref().map_or(0, |row| row[what]["used"].as_u64().unwrap());
    (number("blocks"), number("inodes"))
}

#[test]
fn quotas_are_made_set_kept_counted_and_removed() {
    for kind in ["ufs2", "ufs1"] {
        let scratch = Scratch::new();
        let image = scratch.path("v.img");
        ok(ordo(["mkfs", "-q", "--type", kind, "--size", "64M", &image]));
        let at = |path: &str| format!("{image}:{path}");
        assert!(fails(3, ordo(["quota", &image])).contains("--on"));
        fails(2, ordo(["quota", "--check", &image]));
        std::fs::write(scratch.path("file"), vec![1; 100_000]).unwrap();
        ok(ordo(["cp", &scratch.path("file"), &at("/before")]));
        ok(ordo(["chown", "7:8", &at("/before")]));
        ok(ordo(["quota", "--on", &image]));
        let size = used(&image, 7);
        assert!(size.0 >= 100_000 && size.1 == 1, "{size:?}");
        let set = "user:7:blocks=50k/1M,inodes=-/9";
        let said = ok(ordo(["quota", "--set", set, "--set", "group:8:inodes=3/4", &image]));
        assert!(said.contains("1 MiB") || said.contains("1M") || said.contains("1.0"), "{said}");
        let all = rows(&image);
        let row = all["rows"].as_array().unwrap().iter().find(|row| row["id"] == 7).unwrap();
        assert_eq!((&row["blocks"]["soft"], &row["inodes"]["hard"]), (&51_200.into(), &9.into()));
        // The soft limit is exceeded already: its time runs.
        assert!(row["blocks"]["grace_until"].is_i64() && row["inodes"]["soft"].is_null(), "{row}");
        // Commands keep what is used.
        ok(ordo(["cp", &scratch.path("file"), &at("/after")]));
        ok(ordo(["chown", "7", &at("/after")]));
        assert_eq!(used(&image, 7), (size.0 * 2, 2));
        ok(ordo(["truncate", "-s", "10", &at("/after")]));
        ok(ordo(["rm", &at("/before")]));
        assert_eq!(used(&image, 7).1, 1);
        assert!(used(&image, 7).0 < size.0);
        assert!(ok(ordo(["fsck", "-n", &image])).contains(": clean;"));
        fails(2, ordo(["quota", "--set", "user:7:blocks=1", &image]));
        fails(3, ordo(["quota", "--set", "user:nobody-here:blocks=1/2", &image]));
        ok(ordo(["quota", "--off", &image]));
        fails(3, ordo(["quota", &image]));
        fails(3, ordo(["stat", &at("/quota.user")]));
        ok(ordo(["fsck", "-n", &image]));
    }
}

/// Under soft updates its blocks are freed after the call, and some after the quotas were written.
#[test]
fn a_full_volume_gets_no_empty_quota_file() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    for size in [1 << 20, 64 << 10, 4096] {
        std::fs::write(scratch.path("piece"), vec![1; size]).unwrap();
        let fits = |n: &u32| ordo(["cp", &scratch.path("piece"), &format!("{image}:/{size}.{n}")]).status.success();
        assert!((0..100).take_while(fits).count() < 100, "never full");
    }
    assert!(fails(3, ordo(["quota", "--on", &image])).contains("space"));
    fails(3, ordo(["stat", &format!("{image}:/quota.user")]));
    assert!(ok(ordo(["fsck", "-n", &image])).contains(": clean;"));
}

#[test]
fn what_is_freed_while_a_volume_is_closed_is_not_charged_any_more() {
    for files in 1..4 {
        let scratch = Scratch::new();
        let image = scratch.path("v.img");
        ok(ordo(["mkfs", "-q", "--size", "12M", "--block-size", "32k", "--frag-size", "4k", &image]));
        ok(ordo(["mkdir", &format!("{image}:/w")]));
        // With an indirect block.
        std::fs::write(scratch.path("file"), vec![1; 425_984]).unwrap();
        for n in 0..files {
            ok(ordo(["cp", &scratch.path("file"), &format!("{image}:/w/f{n}")]));
        }
        ok(ordo(["quota", "--on", &image]));
        ok(ordo(["rm", "-r", &format!("{image}:/w")]));
        assert!(ok(ordo(["fsck", "-n", &image])).contains(": clean;"), "{files}");
    }
}

#[test]
fn a_snapshot_is_charged_to_nobody() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    std::fs::write(scratch.path("file"), vec![1; 100_000]).unwrap();
    ok(ordo(["cp", &scratch.path("file"), &format!("{image}:/f")]));
    ok(ordo(["quota", "--on", &image]));
    let before = used(&image, 0);
    ok(ordo(["snapshot", &format!("{image}:/.snap/s")]));
    assert!(ok(ordo(["fsck", "-n", &image])).contains(": clean;"));
    assert_eq!(used(&image, 0), before);
    ok(ordo(["rm", &format!("{image}:/.snap/s")]));
    assert!(ok(ordo(["fsck", "-n", &image])).contains(": clean;"));
    assert_eq!(used(&image, 0), before);
}

#[test]
fn limits_apply_on_a_mount_and_a_killed_server_leaves_what_fsck_counts() {
    if !can_mount() || !rustix::process::geteuid().is_root() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place) = (scratch.path("v.img"), Place::new(&scratch));
    ok(ordo(["mkfs", "-q", "--size", "64M", &image]));
    ok(ordo(["chmod", "1777", &format!("{image}:/")]));
    fails(3, ordo(["mount", "-o", "quota,allow_other", &image, &place.0]));
    assert!(ok(ordo(["fsck", "-n", &image])).contains(": clean;"), "a refused mount leaves the volume as it was");
    ok(ordo(["quota", "--on", "--set", "user:1001:blocks=-/1M,inodes=-/5", &image]));
    // Two blocks a call: the last one finds room for the first block only. Of a short answer to a direct write the
    // kernel would make an EIO.
    let write = |name: &str, blocks: &str| {
        let mut dd = Command::new("dd");
        dd.args([
            "if=/dev/zero",
            "bs=64k",
            "oflag=direct",
            &format!("count={blocks}"),
            &format!("of={}", place.at(name)),
        ]);
        dd.uid(1001).gid(1001).stderr(Stdio::piped()).output().unwrap()
    };
    // Without the option there are no limits, and what is used is kept all the same.
    ok(ordo(["mount", "-o", "allow_other", &image, &place.0]));
    assert!(write("free", "20").status.success());
    std::fs::remove_file(place.at("free")).unwrap();
    ok(ordo(["umount", &place.0]));
    assert_eq!(used(&image, 1001), (0, 0));
    let mut server = Command::new(crate::PROGRAM);
    let mut server = server.args(["mount", "-f", "-o", "usrquota,allow_other", &image, &place.0]).spawn().unwrap();
    place.wait();
    assert!(write("a", "8").status.success());
    let refused = write("b", "20");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("Disk quota exceeded"), "{refused:?}");
    for name in ["c", "d"] {
        let _ = write(name, "0");
    }
    assert!(!write("e", "0").status.success());
    // Root is not limited, and a remove makes room.
    std::fs::write(place.at("of-root"), vec![1; 4 << 20]).unwrap();
    std::fs::remove_file(place.at("b")).unwrap();
    assert!(write("b", "4").status.success());
    ok(ordo(["sync", &place.0]));
    assert!(write("a", "2").status.success());
    server.kill().unwrap();
    server.wait().unwrap();
    let _ = Command::new("umount").arg("-l").arg(&place.0).output();
    let repaired = repair(&image);
    assert!(matches!(repaired.status.code(), Some(0 | 1)), "{repaired:?}");
    assert!(ok(ordo(["fsck", "-n", &image])).contains(": clean;"));
    let before = used(&image, 1001);
    ok(ordo(["quota", "--check", &image]));
    assert_eq!(used(&image, 1001), before);
}
