//! Log-structured volumes: made, recognised, described; and options and commands that are for UFS say so in one line.

use crate::common::{Scratch, fails, ok, ordo};
use crate::mounting::{Place, can_mount};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::FileExt;

/// Makes a volume in `path` with more arguments.
fn mkfs(path: &str, more: &[&str]) {
    ok(ordo([&["mkfs", "-q", "--type", "lfs"], more, &[path]].concat()));
}

fn info(path: &str) -> Value {
    serde_json::from_str(&ok(ordo(["info", "--json", path]))).unwrap()
}

/// The 32-bit word at a byte, little-endian.
fn word(path: &str, at: u64) -> u32 {
    let mut bytes = [0; 4];
    fs::File::open(path).unwrap().read_exact_at(&mut bytes, at).unwrap();
    u32::from_le_bytes(bytes)
}

fn put(path: &str, at: u64, bytes: &[u8]) {
    fs::OpenOptions::new().write(true).open(path).unwrap().write_all_at(bytes, at).unwrap();
}

#[test]
fn mkfs_makes_each_geometry_and_info_describes_it() {
    let scratch = Scratch::new();
    let path = &scratch.path("v.img");
    for (endian, block, frag) in
        [("little", "8k", "1k"), ("little", "4k", "4k"), ("little", "4k", "512"), ("big", "16k", "8k")]
    {
        mkfs(path, &["--force", "--endian", endian, "--block-size", block, "--frag-size", frag, "--size", "96M"]);
        let is = info(path);
        let said = |name: &str| is[name].as_u64().unwrap();
        assert_eq!((is["type"].as_str(), is["endian"].as_str(), said("version")), (Some("lfs"), Some(endian), 2));
        let bytes = |size: &str| size.strip_suffix('k').map_or(512, |k| k.parse::<u64>().unwrap() << 10);
        assert_eq!((said("block_size"), said("frag_size"), said("size")), (bytes(block), bytes(frag), 96 << 20));
        assert!(said("segments") * said("segment_size") <= 96 << 20 && said("clean_segments") < said("segments"));
        assert!(is["clean"] == true && is["scheme"] == "lfs" && is.get("damage").is_none(), "{is}");
    }
}

#[test]
fn what_is_not_said_is_as_documented_and_what_is_said_arrives() {
    let scratch = Scratch::new();
    let path = &scratch.path("v.img");
    mkfs(path, &["--size", "16M"]);
    let is = info(path);
    assert_eq!((&is["block_size"], &is["frag_size"], &is["minfree"]), (&8192.into(), &1024.into(), &10.into()));
    let segments = ["--segment-size", "256k", "--min-free-segments", "9", "--reserve-segments", "7", "--minfree", "3"];
    mkfs(path, &[&["--force", "--size", "16M"], &segments[..]].concat());
    let is = info(path);
    assert_eq!((&is["segment_size"], &is["segments"]), (&(256 << 10).into(), &63.into()));
    let kept = (&is["min_free_segments"], &is["reserve_segments"], &is["minfree"]);
    assert_eq!(kept, (&9.into(), &7.into(), &3.into()));
    let text = ok(ordo(["info", path]));
    for line in ["lfs, version 2, little-endian", "63 of 262144 bytes", "9 segments are not counted"] {
        assert!(text.contains(line), "{line} in {text}");
    }
}

#[test]
fn an_option_of_the_other_type_is_refused_in_a_line() {
    let scratch = Scratch::new();
    let path = &scratch.path("v.img");
    for (kind, option, value) in [
        ("lfs", "--inode-density", "8192"),
        ("lfs", "--label", "home"),
        ("lfs", "--rotdelay", "4"),
        ("lfs", "--log-size", "1M"),
        ("lfs", "--for", "freebsd"),
        ("ufs2", "--segment-size", "1M"),
        ("ufs1", "--min-free-segments", "9"),
        ("ufs2", "--reserve-segments", "9"),
        ("ufs2", "--lfs-version", "1"),
    ] {
        let said = fails(2, ordo(["mkfs", "--type", kind, option, value, "--size", "64M", path]));
        assert!(said.contains(option) && said.contains(kind) && said.lines().count() == 1, "{said}");
    }
    for (option, value) in [("--block-size", "3000"), ("--frag-size", "16k"), ("--segment-size", "8k")] {
        let said = fails(2, ordo(["mkfs", "--type", "lfs", option, value, "--size", "64M", path]));
        assert!(said.lines().count() == 1, "{said}");
    }
    assert!(!fs::exists(path).unwrap());
}

#[test]
fn each_version_is_made_written_checked_and_described() {
    let scratch = Scratch::new();
    let (path, file) = (&scratch.path("v.img"), scratch.path("file"));
    fs::write(&file, "of a log\n".repeat(10_000)).unwrap();
    for (version, endian, said) in [
        ("1", "little", "lfs, version 1, little-endian"),
        ("1", "big", "lfs, version 1, big-endian"),
        ("2", "big", "lfs, version 2, big-endian"),
        ("64", "big", "lfs, version 2 with 64-bit addresses, big-endian"),
        ("64", "little", "lfs, version 2 with 64-bit addresses, little-endian"),
    ] {
        mkfs(path, &["--force", "--lfs-version", version, "--endian", endian, "--size", "64M"]);
        let text = ok(ordo(["info", path]));
        assert!(text.contains(said), "{said} in {text}");
        assert_eq!(info(path)["wide_addresses"], version == "64");
        ok(ordo(["cp", &file, &format!("{path}:/file")]));
        assert_eq!(ok(ordo(["cat", &format!("{path}:/file")])), fs::read_to_string(&file).unwrap(), "{version}");
        ok(ordo(["fsck", "-n", path]));
        assert_eq!(info(path)["clean"], true);
    }
}

#[test]
fn mkfs_asks_about_a_log_and_a_log_about_ufs() {
    let scratch = Scratch::new();
    let path = &scratch.path("v.img");
    mkfs(path, &["--size", "64M"]);
    let said = fails(3, ordo(["mkfs", path]));
    assert!(said.contains("holds an LFS already") && said.lines().count() == 1, "{said}");
    ok(ordo(["mkfs", "-q", "--force", path]));
    assert_eq!(info(path)["type"], "ufs2");
    let said = fails(3, ordo(["mkfs", "--type", "lfs", path]));
    assert!(said.contains("holds a UFS volume already"), "{said}");
    // On a disk that is used again, nothing of the UFS volume may be found.
    mkfs(path, &["--force"]);
    assert_eq!(info(path)["type"], "lfs");
}

#[test]
fn one_whole_superblock_is_enough_and_none_is_damage() {
    let scratch = Scratch::new();
    let path = &scratch.path("v.img");
    mkfs(path, &["--size", "64M"]);
    let second = u64::from(word(path, 8192 + 188 + 4)) * 1024;
    assert_eq!(word(path, second), word(path, 8192));
    put(path, 8192 + 300, b"damage");
    let is = info(path);
    assert!(is["type"] == "lfs" && is["damage"].as_str().unwrap().contains("lfs_cksum"), "{is}");
    put(path, second + 300, b"damage");
    let said = fails(3, ordo(["info", path]));
    assert!(said.contains("lfs_cksum") && said.lines().count() == 1, "{said}");
}

#[test]
fn a_log_in_a_partition_is_found() {
    let scratch = Scratch::new();
    let path = &scratch.path("disk");
    let mut mbr = vec![0; 512];
    mbr[446 + 4] = 0xa9;
    mbr[446 + 8..446 + 12].copy_from_slice(&2048u32.to_le_bytes());
    mbr[446 + 12..446 + 16].copy_from_slice(&(64u32 << 11).to_le_bytes());
    mbr[510..].copy_from_slice(&[0x55, 0xaa]);
    fs::File::create(path).unwrap().set_len(80 << 20).unwrap();
    put(path, 0, &mbr);
    mkfs(&format!("{path}@s1"), &[]);
    let is = info(path);
    assert_eq!(
        (&is["type"], &is["size"], &is["partitions"][0]["name"]),
        (&"lfs".into(), &(64 << 20).into(), &"s1".into())
    );
}

#[test]
fn what_is_for_ufs_says_so_in_a_line() {
    let scratch = Scratch::new();
    let path = &scratch.path("v.img");
    mkfs(path, &["--size", "64M"]);
    let before = fs::read(path).unwrap();
    let said = fails(3, ordo(["tune", "-o", "label=x", path]));
    assert!(said.contains("for UFS volumes only") && said.lines().count() == 1, "{said}");
    assert!(fs::read(path).unwrap() == before);
}

#[test]
fn files_go_in_and_out_and_the_cleaner_runs() {
    let scratch = Scratch::new();
    let path = &scratch.path("v.img");
    mkfs(path, &["--size", "16M"]);
    let (file, again) = (&scratch.path("file"), &scratch.path("again"));
    fs::write(file, vec![7; 300_000]).unwrap();
    ok(ordo(["mkdir", &format!("{path}:/d")]));
    for name in ["a", "b", "c"] {
        ok(ordo(["cp", file, &format!("{path}:/d/{name}")]));
    }
    ok(ordo(["rm", &format!("{path}:/d/b")]));
    ok(ordo(["fsck", "-n", path]));
    let is: Value = serde_json::from_str(&ok(ordo(["clean", "--json", path]))).unwrap();
    assert!(is["clean_segments"].as_u64() >= is["clean_segments_before"].as_u64(), "{is}");
    assert!(is["segments_cleaned"].is_u64() && is.get("write_cost").is_some(), "{is}");
    assert!(is["segments_written"].is_u64() && is.get("files_rewritten").is_none(), "{is}");
    ok(ordo(["fsck", "-n", path]));
    let is = ok(ordo(["clean", "--coalesce", "--cleaner", "greedy", "--json", path]));
    let is: Value = serde_json::from_str(&is).unwrap();
    assert_eq!((&is["files_rewritten"], &is["bytes_rewritten"]), (&0.into(), &0.into()), "each is in one piece");
    assert!(ok(ordo(["clean", "--coalesce", path])).starts_with("0 of 2 files"));
    assert!(fails(2, ordo(["clean", "--cleaner", "lazy", path])).contains("greedy or cost-benefit"));
    ok(ordo(["fsck", "-n", path]));
    ok(ordo(["cp", &format!("{path}:/d/c"), again]));
    assert!(fs::read(again).unwrap() == fs::read(file).unwrap());
    assert!(info(path)["clean"] == true);
    assert_eq!(ok(ordo(["ls", &format!("{path}:/d")])).split_whitespace().collect::<Vec<_>>(), ["a", "c"]);
}

/// The map has the counts of `info`, and the live bytes that fsck finds right.
#[test]
fn the_map_of_segments_agrees_with_info_and_fsck_before_and_after_cleaning() {
    let scratch = Scratch::new();
    let (path, file) = (&scratch.path("log.img"), &scratch.path("file"));
    mkfs(path, &["--size", "32M", "--segment-size", "256k"]);
    fs::write(file, vec![7; 150_000]).unwrap();
    for name in 0..24 {
        ok(ordo(["cp", file, &format!("{path}:/f{name}")]));
    }
    for name in (0..24).filter(|name| name % 3 != 0) {
        ok(ordo(["rm", &format!("{path}:/f{name}")]));
    }
    let map = || -> Value { serde_json::from_str(&ok(ordo(["info", "--segments", "--json", path]))).unwrap() };
    let check = |map: &Value| {
        ok(ordo(["fsck", "-n", path]));
        let segments = map["segments"].as_array().unwrap();
        let is = info(path);
        assert_eq!(
            (segments.len() as u64, &map["segment_size"]),
            (is["segments"].as_u64().unwrap(), &is["segment_size"])
        );
        assert_eq!(map["clean_segments"], is["clean_segments"]);
        let in_state = |state: &str| segments.iter().filter(|segment| segment["state"] == state).count();
        assert_eq!(in_state("active"), 1);
        let sum: u64 = segments.iter().map(|segment| segment["live_bytes"].as_u64().unwrap()).sum();
        assert!(map["live_bytes"] == sum && sum > 8 * 150_000, "{sum}");
        assert!(segments.iter().all(|segment| segment["state"] != "clean" || segment["live_bytes"] == 0));
    };
    let before = map();
    check(&before);
    ok(ordo(["clean", path]));
    let after = map();
    check(&after);
    assert!(after["clean_segments"].as_u64() > before["clean_segments"].as_u64());
    let text = ok(ordo(["info", "--segments", path]));
    assert!(text.contains("segments of 256") && text.contains('*') && text.contains(" 0 to  10%"), "{text}");
    let ufs = &scratch.volume();
    let said = fails(2, ordo(["info", "--segments", ufs]));
    assert!(said.contains("is UFS") && said.lines().count() == 1, "{said}");
}

#[test]
fn a_scheme_and_its_options_are_refused_before_anything_is_mounted() {
    let scratch = Scratch::new();
    let (log, ufs, dir) = (&scratch.path("log.img"), &scratch.volume(), &scratch.path("mnt"));
    mkfs(log, &["--size", "16M"]);
    fs::create_dir(dir).unwrap();
    let before = (fs::read(log).unwrap(), fs::read(ufs).unwrap());
    for (image, option, named) in [
        (log, "scheme=sync", "the log is the order"),
        (log, "scheme=softupdates,ro", "the log is the order"),
        (log, "logmode=sync", "logmode="),
        (log, "log=/dev/null", "log="),
        (ufs, "scheme=lfs", "this is UFS"),
        (ufs, "cleaner=greedy", "has no cleaner"),
    ] {
        let said = fails(3, ordo(["mount", "-f", "-o", option, image, dir]));
        assert!(said.contains(named) && said.lines().count() == 1, "{option}: {said}");
    }
    assert!(before == (fs::read(log).unwrap(), fs::read(ufs).unwrap()));
    let said = fails(2, ordo(["clean", ufs]));
    assert!(said.contains("is UFS") && said.lines().count() == 1, "{said}");
}

#[test]
fn a_mounted_log_says_what_cleaning_has_cost() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (path, place) = (&scratch.path("v.img"), Place::new(&scratch));
    mkfs(path, &["--size", "32M", "--segment-size", "256k"]);
    ok(ordo(["mount", path, &place.0]));
    for n in 0..12 {
        fs::write(place.at("again"), vec![n; 2 << 20]).unwrap();
        ok(ordo(["sync", &place.0]));
    }
    let is = info(path);
    assert_eq!((&is["type"], &is["segment_size"], &is["clean"]), (&"lfs".into(), &(256 << 10).into(), &false.into()));
    assert!(is["segments_cleaned"].as_u64().unwrap() > 12, "{is}");
    assert!(is["segments_written"].as_u64().unwrap() > 12, "{is}");
    assert!(is["segments_read"].is_u64() && is["write_cost"].as_f64().is_some_and(|cost| cost > 0.5), "{is}");
    assert!(is["clean_segments"].as_u64() < is["segments"].as_u64() && is["scheme"] == "lfs", "{is}");
    let said = fails(3, ordo(["info", "--segments", path]));
    assert!(said.lines().count() == 1, "{said}");
    let text = ok(ordo(["info", path]));
    assert!(text.contains("segments cleaned") && !text.contains("null"), "{text}");
    ok(ordo(["umount", &place.0]));
    ok(ordo(["fsck", "-n", path]));
    let is = info(path);
    assert!(is["clean"] == true && is["last_mount_point"] == place.0.as_str(), "{is}");
}
