//! `ordo tune`: each change is what fsck and info find afterwards, and what cannot be is refused.

use crate::common::{Scratch, fails, ok, ordo};
use ondisk::{ByteOff, Dinode, Ino, Superblock};

fn tune(options: &str, image: &str) -> std::process::Output {
    ordo(["tune", "-o", options, image])
}

fn info(image: &str) -> serde_json::Value {
    serde_json::from_str(&ok(ordo(["info", "--json", image]))).unwrap()
}

fn is_whole(image: &str) {
    let said = ok(ordo(["fsck", "-n", image]));
    assert!(said.contains(": clean;"), "{said}");
}

#[test]
fn journal_is_made_as_freebsd_makes_it_and_taken_away_again() {
    for kind in ["ufs1", "ufs2"] {
        let scratch = Scratch::new();
        let image = scratch.path("v.img");
        ok(ordo(["mkfs", "-q", "--type", kind, "--size", "64M", &image]));
        let before = info(&image);
        assert_eq!(ok(tune("journal=on", &image)), "softupdates: on (was: off)\njournal: on (was: off)\n");
        is_whole(&image);
        assert_eq!(info(&image)["flags"].as_u64().unwrap() & 0xa, 0xa);
        let stat: serde_json::Value =
            serde_json::from_str(&ok(ordo(["stat", "--json", &format!("{image}:/.sujournal")]))).unwrap();
        let stat = stat.get(0).cloned().unwrap_or(stat);
        let (size, blocks) = (stat["size"].as_u64().unwrap(), stat["blocks"].as_u64());
        assert!((4 << 20..=32 << 20).contains(&size) && size % 32768 == 0, "{stat}");
        // Data and at most one block of pointers: no holes.
        assert!(blocks.is_none_or(|blocks| (size / 512..=size / 512 + 64).contains(&blocks)), "{stat}");
        assert_eq!(ok(tune("suj=4M", &image)), "softupdates: on (was: on)\njournal: on (was: on)\n");
        is_whole(&image);
        assert!(fails(3, tune("softupdates=off", &image)).contains("journal=off"));
        ok(tune("journal=off,softupdates=off", &image));
        is_whole(&image);
        let after = info(&image);
        assert_eq!((&after["flags"], &after["free_blocks"]), (&before["flags"], &before["free_blocks"]));
        fails(3, ordo(["stat", &format!("{image}:/.sujournal")]));
    }
}

#[test]
fn journal_is_one_that_a_crashed_volume_is_repaired_from() {
    let scratch = Scratch::new();
    let image = scratch.path("v.img");
    ok(ordo(["mkfs", "-q", "--size", "64M", &image]));
    ok(tune("journal=on", &image));
    // As a mount leaves it that writes to the journal.
    let mut bytes = std::fs::read(&image).unwrap();
    let mut sb = Superblock::decode(&bytes[65536..65536 + 8192], ByteOff(65536)).unwrap();
    sb.fields.clean = 0;
    let stored = sb.encode(sb.fields.time);
    bytes[65536..][..stored.len()].copy_from_slice(&stored);
    let stat: serde_json::Value =
        serde_json::from_str(&ok(ordo(["stat", "--json", &format!("{image}:/.sujournal")]))).unwrap();
    let ino = Ino(stat.get(0).unwrap_or(&stat)["ino"].as_u64().unwrap() as u32);
    let (g, place) = (sb.geometry(), Dinode::place(&sb.geometry(), ino).0 as usize);
    let mut inode = Dinode::decode(&bytes[place..], &g, ino).unwrap();
    inode.modrev = sb.fields.mtime as u64;
    inode.encode(&mut bytes[place..], &g).unwrap();
    std::fs::write(&image, &bytes).unwrap();

    let said = String::from_utf8(ordo(["fsck", "-n", &image]).stdout).unwrap();
    assert!(said.contains("the journal waits"), "{said}");
    let said: serde_json::Value = serde_json::from_str(&ok(ordo(["fsck", "-p", "--json", &image]))).unwrap();
    assert_eq!((&said["journal"]["state"], &said["scanned"]), (&"replayed".into(), &false.into()), "{said}");
    assert_eq!(said["journal"]["records"], 0);
    is_whole(&image);
}

#[test]
fn label_and_reserve_are_changed() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let said = ok(ordo(["tune", "--json", "-o", "label=home", "-o", "minfree=3", &image]));
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["changes"][0], serde_json::json!({"name": "label", "was": "", "is": "home"}));
    assert_eq!(said["changes"][1], serde_json::json!({"name": "minfree", "was": "8", "is": "3"}));
    is_whole(&image);
    let info = info(&image);
    assert_eq!((&info["label"], &info["minfree"]), (&"home".into(), &3.into()));
}

#[test]
fn what_cannot_be_is_refused_and_nothing_is_written() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let before = std::fs::read(&image).unwrap();
    for (status, options, why) in [
        (2, "minfree=100", "99"),
        (2, "label=a-name-that-is-longer-than-its-place", "31"),
        (2, "journal=1M", "4194304"),
        (2, "journal=64M", "33554432"),
        (2, "color=red", "softupdates"),
        (3, "journal=32M", "does not fit"),
        (3, "journal=on,softupdates=off", "journal=off"),
    ] {
        let said = fails(status, tune(options, &image));
        assert!(said.contains(why), "{options}: {said}");
    }
    assert!(std::fs::read(&image).unwrap() == before, "something was written");
    std::fs::write(scratch.path("mine"), "mine").unwrap();
    ok(ordo(["cp", &scratch.path("mine"), &format!("{image}:/.sujournal")]));
    assert!(fails(3, tune("journal=on", &image)).contains("is no journal"));
    is_whole(&image);
    // Not unmounted in order: byte 209 of the superblock is 0.
    let mut dirty = before;
    dirty[65536 + 209] = 0;
    let sum = ondisk::check_hash_without(&dirty[65536..65536 + 2048], 1304);
    dirty[65536 + 1304..65536 + 1308].copy_from_slice(&sum.to_le_bytes());
    std::fs::write(&image, &dirty).unwrap();
    let said = fails(3, tune("label=x", &image));
    assert!(said.contains("fsck"), "{said}");
}
