//! What an active journal still has of what was removed, and of cylinder groups.

use crate::common::{Scratch, fails, ok, ordo};
use crate::mounting::{Place, can_mount};
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_removed_file_comes_back_while_its_pieces_are_known() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let at = |path: &str| format!("{image}:{path}");
    fs::write(scratch.path("motd"), "hello").unwrap();
    ok(ordo(["tune", "-o", "active=on", &image]));
    ok(ordo(["mkdir", &at("/d")]));
    ok(ordo(["cp", &scratch.path("motd"), &at("/d/motd")]));
    ok(ordo(["scrub", "--adopt", &image]));
    // No transaction has its contents, and nobody adopted them.
    ok(ordo(["cp", &scratch.path("motd"), &at("/d/later")]));
    ok(ordo(["rm", &at("/d/later"), &at("/d/motd")]));
    let listed = ok(ordo(["versions", &at("/d")]));
    assert!(listed.contains("\tgone: motd\tfile, 5 bytes\n"), "{listed}");
    assert!(listed.contains("\tgone: later\tfile, 5 bytes; block 0 of its contents, at byte "), "{listed}");
    ok(ordo(["cp", "--version", "1", &at("/d/motd"), &scratch.path("back")]));
    assert_eq!(fs::read(scratch.path("back")).unwrap(), b"hello");
    // Nothing is written through a link below the target, and the image is no target.
    let (other, link) = (scratch.path("other"), scratch.path("into/motd"));
    fs::write(&other, "other").unwrap();
    fs::create_dir(scratch.path("into")).unwrap();
    std::os::unix::fs::symlink(&other, &link).unwrap();
    ok(ordo(["cp", "--version", "1", &at("/d/motd"), &scratch.path("into")]));
    assert_eq!((fs::read(&other).unwrap(), fs::read(&link).unwrap()), (b"other".to_vec(), b"hello".to_vec()));
    assert_eq!(fs::read_dir(scratch.path("into")).unwrap().count(), 1, "nothing is left beside it");
    fs::set_permissions(&other, fs::Permissions::from_mode(0o600)).unwrap();
    ok(ordo(["cp", "--version", "1", &at("/d/motd"), &other]));
    assert_eq!(fs::metadata(&other).unwrap().permissions().mode() & 0o777, 0o600);
    let refused = fails(3, ordo(["cp", "--version", "1", &at("/d/motd"), &image]));
    assert!(refused.contains("the image itself"), "{refused}");
    let why = fails(3, ordo(["cat", "--version", "1", &at("/d/later")]));
    assert!(why.contains("it was removed, and block 0 of its contents"), "{why}");
    assert!(fails(3, ordo(["versions", &at("/d/never")])).contains("no older version of a directory that names it"));
    ok(ordo(["rm", "-r", &at("/d")]));
    assert_eq!(ok(ordo(["cat", "--version", "1", &at("/d/motd")])), "hello");
    assert!(fails(3, ordo(["cat", "--version", "1", &at("/d")])).contains("a directory"));
    let json: serde_json::Value = serde_json::from_str(&ok(ordo(["versions", "--json", &at("/"), &at("/d")]))).unwrap();
    assert_eq!(json[0]["versions"][0]["gone"][0]["name"], "d");
    assert!(json[1]["versions"].as_array().is_some_and(|versions| !versions.is_empty()), "{json}");
}

#[test]
fn a_cylinder_group_is_seen_as_it_was() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    ok(ordo(["tune", "-o", "active=on", &image]));
    let at = |name: &str| format!("{image}:/{name}");
    ["a", "b", "c"].into_iter().for_each(|name| drop(ok(ordo(["touch", &at(name)]))));
    ok(ordo(["rm", &at("b")]));
    let said: serde_json::Value =
        serde_json::from_str(&ok(ordo(["versions", "--json", "--group", "0", &image]))).unwrap();
    let versions = said[0]["versions"].as_array().unwrap();
    assert!(versions.len() > 1, "{said}");
    let inodes = |n: usize| versions[n]["free_inodes"].as_i64().unwrap();
    assert!(inodes(0) < inodes(versions.len() - 1), "before the removal one more is in use: {said}");
    let raw = ordo(["versions", "--group", "0", "--raw", "1", &image]);
    // cg_magic, little-endian, and the number of the group.
    assert!(raw.status.success() && raw.stdout[4..8] == 0x0009_0255u32.to_le_bytes() && raw.stdout[12..16] == [0; 4]);
    assert!(ok(ordo(["versions", "--group", "0", &image])).contains("\tgroup 0\t1\t20"));
    assert!(fails(3, ordo(["versions", "--group", "900", &image])).contains("no cylinder group 900"));
    assert!(fails(3, ordo(["versions", "--group", "0", "--raw", "99", &image])).contains("has no version 99"));
    assert!(fails(2, ordo(["versions", "--group", "0", &at("a")])).contains("without a path"));
}

#[test]
fn the_versions_of_a_directory_whose_inode_was_used_again_are_said_to_be_of_another_one() {
    let scratch = Scratch::new();
    let image = scratch.path("v.img");
    ok(ordo(["mkfs", "-q", "--type", "ufs1", "--endian", "big", "--size", "16M", &image]));
    ok(ordo(["tune", "-o", "active=on", &image]));
    let at = |path: &str| format!("{image}:{path}");
    let file = scratch.path("file");
    fs::write(&file, "hello").unwrap();
    for name in ["old", "new"] {
        ok(ordo(["mkdir", &at("/d")]));
        ok(ordo(["cp", &file, &at(&format!("/d/{name}"))]));
        ok(ordo(["rm", &at(&format!("/d/{name}"))]));
        if name == "old" {
            ok(ordo(["rm", "-r", &at("/d")]));
        }
    }
    let said = ok(ordo(["versions", &at("/d")]));
    let parts: Vec<&str> = said.split(", of another file").collect();
    assert!(parts.len() > 1 && !parts[0].contains("gone: old") && parts[1..].concat().contains("gone: old"), "{said}");
}

#[test]
fn a_mounted_volume_is_adopted_and_says_when_it_was_scrubbed() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place) = (scratch.volume(), Place::new(&scratch));
    ok(ordo(["tune", "-o", "active=on", &image]));
    for nonsense in ["scrub=0", "scrub=521", "scrub=often", "scrub=-1", "scrub="] {
        let said = fails(2, ordo(["mount", "-o", nonsense, &image, &place.0]));
        assert!(said.contains("scrub"), "{nonsense}: {said}");
    }
    let said = fails(2, ordo(["mount", "-o", "scrub=0", &image, &place.0]));
    assert!(said.contains("must be weeks, 1 to 520"), "{said}");
    ok(ordo(["mount", "-o", "scrub=1", &image, &place.0]));
    fs::write(place.at("motd"), "hello".repeat(20_000)).unwrap();
    ok(ordo(["sync", &place.0]));
    let counts: serde_json::Value = serde_json::from_str(&ok(ordo(["scrub", "--adopt", "--json", &place.0]))).unwrap();
    assert!(counts["adopted"].as_u64() > Some(20) && counts["not_adopted"] == 0, "{counts}");
    let again = ok(ordo(["scrub", "--adopt", &place.0]));
    assert!(again.contains("0 fragments adopted\n"), "{again}");
    let said = ok(ordo(["info", &image]));
    assert!(said.contains("scrubbed 20"), "{said}");
    ok(ordo(["umount", &place.0]));
    assert!(ok(ordo(["info", &image])).contains("; scrubbed: 20"));
    ok(ordo(["mount", "-o", "ro", &image, &place.0]));
    for adopt in [&["scrub", &place.0][..], &["scrub", "--adopt", &place.0]] {
        assert!(fails(3, ordo(adopt)).contains("mounted read-only"));
    }
    ok(ordo(["umount", &place.0]));
    let counts: serde_json::Value = serde_json::from_str(&ok(ordo(["scrub", "--json", &image]))).unwrap();
    assert!(counts["healed"] == 0 && counts["rotten"] == 0, "{counts}");
}
