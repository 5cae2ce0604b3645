//! Log-structured volumes: made, recognised, described; and options and commands that are for UFS say so in one line.

use crate::common::{Scratch, fails, ok, ordo};
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
