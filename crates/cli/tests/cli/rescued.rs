//! Damaged volumes, removed names, volumes at odd places: what can be read is read, and nothing is written.

use crate::common::{Scratch, command, fails, ok, ordo};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::process::Output;
use std::time::{Duration, Instant};

/// Every format and byte order.
const SHAPES: [[&str; 4]; 4] = [
    ["--type", "ufs2", "--endian", "little"],
    ["--type", "ufs2", "--endian", "big"],
    ["--type", "ufs1", "--endian", "little"],
    ["--type", "ufs1", "--endian", "big"],
];

/// Contents of a file: so long that it needs an indirect block of small blocks.
fn contents(of: usize) -> Vec<u8> {
    let byte = |at: usize| {
        let mixed = (at as u64 + ((of as u64) << 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40
    };
    (0..200_000 + of * 1000).map(|at| byte(at) as u8).collect()
}

/// A volume with a small tree, and the tree on the host.
fn filled(scratch: &Scratch, shape: [&str; 4]) -> (String, String) {
    let (image, tree) = (scratch.path("v.img"), scratch.path("tree"));
    let sizes = ["--block-size", "8k", "--frag-size", "1k", "--size", "16M"];
    ok(ordo([&["mkfs", "-q", "--force"], &shape[..], &sizes, &[&image]].concat()));
    fs::create_dir_all(format!("{tree}/d/e")).unwrap();
    for n in 0..6 {
        let dir = ["", "d/", "d/e/"][n % 3];
        fs::write(format!("{tree}/{dir}f{n}"), contents(n)).unwrap();
    }
    fs::write(format!("{tree}/small"), "to be removed").unwrap();
    fs::hard_link(format!("{tree}/f0"), format!("{tree}/d/hard")).unwrap();
    std::os::unix::fs::symlink("d/f1", format!("{tree}/link")).unwrap();
    ok(ordo(["cp", "-a", &tree, &format!("{image}:/tree")]));
    (image, tree)
}

fn json(output: Output) -> Value {
    assert!(output.status.code().is_some_and(|code| code < 2), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Overwrites a part of an image.
fn put(image: &str, at: u64, bytes: &[u8]) {
    fs::File::options().write(true).open(image).unwrap().write_all_at(bytes, at).unwrap();
}

fn is_tree(copy: &str, tree: &str) {
    let diff = std::process::Command::new("diff").args(["-r", "--no-dereference", tree, copy]).output().unwrap();
    assert!(diff.status.success(), "{}", String::from_utf8_lossy(&diff.stdout));
}

#[test]
fn a_volume_behind_a_dead_superblock_is_copied_whole() {
    for shape in SHAPES {
        let scratch = Scratch::new();
        let (image, tree) = filled(&scratch, shape);
        let primary = if shape[1] == "ufs2" { 65536 } else { 8192 };
        put(&image, primary, &[0; 8192]);
        let before = fs::read(&image).unwrap();
        let out = scratch.path("out");
        let report = json(ordo(["recover", "--json", &image, &out]));
        assert_eq!(report["complete"], true, "{report}");
        assert!(report["superblock"].as_str().unwrap().contains("backup"), "{report}");
        is_tree(&format!("{out}/tree"), &tree);
        let ino = |name: &str| fs::metadata(format!("{out}/tree/{name}")).unwrap().ino();
        assert_eq!(ino("f0"), ino("d/hard"));
        assert!(fs::read_to_string(format!("{out}/REPORT")).unwrap().contains("files whole"));
        assert!(fs::read(&image).unwrap() == before, "the image was written");
        let said = fails(3, ordo(["recover", &image, &out]));
        assert!(said.contains("not empty"), "{said}");
    }
}

#[test]
fn attributes_of_users_are_copied_and_damaged_ones_are_in_the_report() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    let scratch = Scratch::new();
    let (image, tree) = (scratch.volume(), scratch.path("tree"));
    fs::create_dir(&tree).unwrap();
    let file = format!("{tree}/f");
    fs::write(&file, "1").unwrap();
    let long = vec![7; 1500];
    for (of, name, value) in [(&file, "user.a", &b"one"[..]), (&file, "user.b", &long), (&tree, "user.dir", b"two")] {
        setxattr(of.as_str(), name, value, XattrFlags::empty()).unwrap();
    }
    ok(ordo(["cp", "-a", &tree, &format!("{image}:/tree")]));
    put(&image, 65536, &[0; 8192]);
    let copied = |out: &str| {
        let report = json(ordo(["recover", "--json", &image, &scratch.path(out)]));
        let value = |of: &str, name: &str| {
            let mut bytes = vec![0; 1 << 16];
            let len = getxattr(scratch.path(&format!("{out}/{of}")).as_str(), name, &mut bytes[..]);
            len.map(|len| bytes[..len].to_vec()).ok()
        };
        (report, value("tree/f", "user.a"), value("tree/f", "user.b"), value("tree", "user.dir"))
    };
    let (report, a, b, dir) = copied("whole");
    assert_eq!((a.as_deref(), b.as_deref(), dir.as_deref()), (Some(&b"one"[..]), Some(&long[..]), Some(&b"two"[..])));
    assert_eq!(report["complete"], true, "{report}");
    // The length of the first record, in front of its namespace, its padding, and its name with the name's length.
    let bytes = fs::read(&image).unwrap();
    let is_record = |at: usize| bytes[at + 4] == 1 && bytes[at + 6..at + 11] == *b"\x01aone";
    let record = (0..bytes.len() - 11).find(|&at| is_record(at)).unwrap();
    put(&image, record as u64, &[0xff; 4]);
    let (report, a, _, dir) = copied("damaged");
    assert_eq!((a, dir.as_deref()), (None, Some(&b"two"[..])));
    assert!(report.to_string().contains("extended attributes"), "{report}");
}

#[test]
fn a_volume_of_which_only_a_late_copy_is_left_is_found_by_a_search() {
    let scratch = Scratch::new();
    let (image, tree) = filled(&scratch, SHAPES[0]);
    let found = json(ordo(["scan", "--json", &image]));
    let copies: Vec<u64> = found[0]["at"].as_array().unwrap().iter().map(|at| at.as_u64().unwrap()).collect();
    assert!(copies.len() > 2, "{found}");
    // All but the last, and the record that says where they are.
    copies.split_last().unwrap().1.iter().for_each(|at| put(&image, *at, &[0; 8192]));
    put(&image, 61440, &[0; 4096]);
    let found = json(ordo(["scan", "--json", &image]));
    assert_eq!((&found[0]["offset"], &found[0]["primary"]), (&0.into(), &false.into()), "{found}");
    let out = scratch.path("out");
    let report = json(ordo(["recover", "--json", &image, &out]));
    assert!(report["superblock"].as_str().unwrap().contains("search"), "{report}");
    is_tree(&format!("{out}/tree"), &tree);
}

#[test]
fn what_a_damaged_directory_hides_is_in_lost_and_found() {
    for shape in SHAPES {
        let scratch = Scratch::new();
        let (image, tree) = filled(&scratch, shape);
        let bytes = fs::read(&image).unwrap();
        // The block of the directory `d/e`, by a whole name in it: an inode's time may look like the letters alone.
        let at = bytes.windows(6).position(|six| six == b"\x08\x02f2\0\0").unwrap();
        put(&image, at as u64 / 512 * 512, &[0xff; 512]);
        let out = scratch.path("out");
        let report = json(ordo(["recover", "--json", &image, &out]));
        assert_eq!((&report["complete"], &report["without_a_name"]), (&false.into(), &2.into()), "{report}");
        assert!(report["missing"]["first"][0]["why"].as_str().unwrap().contains("names in bytes"), "{report}");
        let mut found: Vec<Vec<u8>> = fs::read_dir(format!("{out}/lost+found"))
            .unwrap()
            .map(|file| fs::read(file.unwrap().path()).unwrap())
            .collect();
        found.sort();
        let mut lost = vec![contents(2), contents(5)];
        lost.sort();
        assert!(found == lost);
        assert!(fs::read(format!("{out}/tree/f3")).unwrap() == fs::read(format!("{tree}/f3")).unwrap());
    }
}

#[test]
fn a_map_of_ddrescue_makes_gaps_and_nothing_else() {
    let scratch = Scratch::new();
    let (image, _) = filled(&scratch, SHAPES[0]);
    let bytes = fs::read(&image).unwrap();
    let part = &contents(3)[100 * 1024..101 * 1024];
    let at = bytes.windows(1024).position(|kib| kib == part).unwrap();
    let map = scratch.path("map");
    fs::write(&map, format!("# a comment\n0x0 + 1\n0x0 {at:#x} +\n{at:#x} 0x200 -\n")).unwrap();
    let out = scratch.path("out");
    let report = json(ordo(["recover", "--json", "--map", &map, &image, &out]));
    let gaps = &report["with_gaps"];
    assert_eq!(
        (&gaps["count"], &gaps["first"][0]["ranges"][0]["offset"]),
        (&1.into(), &(100 * 1024).into()),
        "{report}"
    );
    assert_eq!(gaps["first"][0]["ranges"][0]["len"], 512, "{report}");
    let mut right = contents(3);
    right[100 * 1024..100 * 1024 + 512].fill(0);
    assert!(fs::read(format!("{out}/tree/f3")).unwrap() == right);
    fs::write(&map, "no map\n").unwrap();
    assert!(fails(3, ordo(["recover", "--map", &map, &image, &scratch.path("o2")])).contains("line 1"));
}

#[test]
fn names_that_lead_away_and_links_in_the_way_change_nothing_outside() {
    let scratch = Scratch::new();
    let (image, _) = filled(&scratch, SHAPES[0]);
    let outside = scratch.path("outside");
    fs::create_dir(&outside).unwrap();
    let mut bytes = fs::read(&image).unwrap();
    // `d` becomes a link to the outside with the name of a directory, and `f3` leads upwards.
    let name = bytes.windows(4).position(|four| four == b"f3\0\0").unwrap();
    bytes[name..name + 2].copy_from_slice(b"..");
    fs::write(&image, &bytes).unwrap();
    let out = scratch.path("out");
    let report = json(ordo(["recover", "--json", &image, &out]));
    assert_eq!(report["without_a_name"], 1, "{report}");
    // Two names of one directory, the first of which is a link.
    std::os::unix::fs::symlink(&outside, scratch.path("away")).unwrap();
    ok(ordo(["cp", "-a", &scratch.path("away"), &format!("{image}:/away")]));
    ok(ordo(["mkdir", &format!("{image}:/awaz")]));
    ok(ordo(["cp", &format!("{image}:/tree/f0"), &format!("{image}:/awaz/x")]));
    let mut bytes = fs::read(&image).unwrap();
    let name = bytes.windows(5).position(|five| five == b"awaz\0").unwrap();
    bytes[name + 3] = b'y';
    fs::write(&image, &bytes).unwrap();
    let report = json(ordo(["recover", "--json", &image, &scratch.path("out2")]));
    assert!(report["missing"]["count"].as_u64().unwrap() >= 2, "{report}");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn removed_names_are_listed_with_what_became_of_their_inodes() {
    for shape in SHAPES {
        let scratch = Scratch::new();
        let (image, _) = filled(&scratch, shape);
        ok(ordo(["rm", &format!("{image}:/tree/small")]));
        ok(ordo(["rm", &format!("{image}:/tree/d/hard")]));
        let before = fs::read(&image).unwrap();
        let list = json(ordo(["ls", "--deleted", "--forensic", "--json", "-R", &format!("{image}:/")]));
        let of = |name: &str| list.as_array().unwrap().iter().find(|one| one["name"] == name).unwrap();
        assert_eq!((&of("small")["state"], &of("small")["type"]), (&"free".into(), &"file".into()), "{list}");
        assert_eq!((&of("hard")["state"], &of("hard")["path"]), (&"in use".into(), &"/tree/d/hard".into()), "{list}");
        let shown = ok(ordo(["ls", "--deleted", &format!("{image}:/tree")]));
        assert!(shown.contains("free") && shown.contains("/tree/small") && !shown.contains("hard"), "{shown}");
        let body = ok(ordo(["timeline", "--forensic", &image]));
        assert!(body.lines().all(|line| line.split('|').count() == 11), "{body}");
        assert!(body.contains("|/tree/small (deleted)|") && body.contains("|/tree/link -> d/f1|"), "{body}");
        let rows = ok(ordo(["timeline", "--json", &image]));
        let rows: Vec<Value> = rows.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
        assert!(rows.iter().any(|row| row["name"] == "/tree/d/e/f5" && row["size"] == contents(5).len()));
        for arguments in [
            ["ls", "--forensic", &format!("{image}:/tree")],
            ["cat", "--forensic", &format!("{image}:/tree/f0")],
            ["stat", "--forensic", &format!("{image}:/tree/f0")],
            ["tree", "--forensic", &image],
            ["info", "--forensic", &image],
        ] {
            assert!(ordo(arguments).status.success(), "{arguments:?}");
        }
        fails(2, ordo(["cp", "--forensic", "/dev/null", &format!("{image}:/x")]));
        assert!(fs::read(&image).unwrap() == before, "the image was written");
    }
}

#[test]
fn hashes_are_those_of_sha256sum() {
    let scratch = Scratch::new();
    let (image, tree) = filled(&scratch, SHAPES[0]);
    fs::write(format!("{tree}/odd\\na\nme"), "x").unwrap();
    ok(ordo(["cp", &format!("{tree}/odd\\na\nme"), &format!("{image}:/tree/")]));
    let sums = scratch.path("sums");
    fs::write(&sums, ok(ordo(["hash", "--forensic", &format!("{image}:/tree")]))).unwrap();
    let check = std::process::Command::new("sha256sum").args(["-c", "--quiet", &sums]).current_dir(&tree).output();
    let check = check.unwrap();
    assert!(check.status.success(), "{check:?}");
    assert_eq!(fs::read_to_string(&sums).unwrap().lines().count(), 9);
}

#[test]
fn a_volume_at_an_odd_byte_is_found_and_read() {
    for shape in SHAPES {
        let scratch = Scratch::new();
        let (image, tree) = filled(&scratch, shape);
        let shifted = scratch.path("shifted");
        let mut bytes = vec![0x55; 1_000_003];
        bytes.extend(fs::read(&image).unwrap());
        bytes.extend([1, 2, 3]);
        fs::write(&shifted, &bytes).unwrap();
        let found = json(ordo(["scan", "--json", &shifted]));
        assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
        assert_eq!((&found[0]["offset"], &found[0]["format"]), (&1_000_003.into(), &shape[1].into()), "{found}");
        let at = ["--offset", "1000003"];
        assert!(ok(ordo([&["ls"], &at[..], &[&format!("{shifted}:/tree")]].concat())).contains("link"));
        let out = scratch.path("out");
        assert_eq!(json(ordo([&["recover", "--json"], &at[..], &[&shifted, &out]].concat()))["complete"], true);
        is_tree(&format!("{out}/tree"), &tree);
        let said = fails(3, ordo([&["mkdir"], &at[..], &[&format!("{shifted}:/no")]].concat()));
        assert!(said.contains("sector"), "{said}");
        assert!(fs::read(&shifted).unwrap() == bytes, "the image was written");
    }
    let scratch = Scratch::new();
    let log = scratch.path("log");
    ok(ordo(["mkfs", "-q", "--type", "lfs", "--size", "16M", &log]));
    let found = json(ordo(["scan", "--json", &log]));
    assert_eq!(
        (&found[0]["offset"], &found[0]["format"], found.as_array().unwrap().len()),
        (&0.into(), &"lfs".into(), 1)
    );
    assert_eq!(found[0]["whole"], true, "{found}");
    fs::write(&log, [7; 100_000]).unwrap();
    assert_eq!(ordo(["scan", &log]).status.code(), Some(1));
}

#[test]
fn packed_images_and_those_of_machines_are_named_with_a_command_that_helps() {
    let scratch = Scratch::new();
    let path = scratch.path("it is packed");
    let marks: [(u64, &[u8], &str, &str); 6] = [
        (0, b"\xfd7zXZ\0", "xz", "xz -dc '"),
        (0, b"\x28\xb5\x2f\xfd", "zstd", "zstd -dc '"),
        (0, b"QFI\xfb\0\0\0\x03", "qcow2", "qemu-nbd -r -t -f qcow2"),
        (0, b"KDMV", "VMDK", "-f vmdk"),
        (0, b"vhdxfile", "VHDX", "-f vhdx"),
        (64, &[0x7f, 0x10, 0xda, 0xbe], "VDI", "-f vdi"),
    ];
    for (at, mark, name, advice) in marks {
        fs::write(&path, vec![0; 1 << 20]).unwrap();
        put(&path, at, mark);
        for verb in ["ls", "timeline"] {
            let said = fails(3, ordo([verb, &path]));
            assert!(said.contains(name) && said.contains(advice), "{said}");
        }
    }
}

/// Numbers that look random and are the same every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// Words flipped, blocks wiped, the end cut off: mostly where the metadata is.
fn damaged(whole: &[u8], chance: &mut Chance) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    let used: Vec<usize> = (0..whole.len() / 512).filter(|n| whole[n * 512..][..512].iter().any(|&b| b != 0)).collect();
    for _ in 0..1 + chance.below(40) {
        let at = used[chance.below(used.len() as u64) as usize] * 512;
        match chance.below(4) {
            0 => bytes[at..at + 512].fill(chance.below(2) as u8 * 0xff),
            1 => bytes[at..at + 512].iter_mut().for_each(|byte| *byte = chance.below(256) as u8),
            _ => (0..8).for_each(|_| {
                let word = at + chance.below(128) as usize * 4;
                bytes[word..word + 4].copy_from_slice(&(chance.below(1 << 32) as u32).to_le_bytes());
            }),
        }
    }
    if chance.below(4) == 0 {
        bytes.truncate(chance.below(whole.len() as u64) as usize);
    }
    bytes
}

#[test]
#[allow(clippy::disallowed_methods, reason = "the time that a program of its own takes")]
fn no_damage_stops_hangs_or_writes() {
    for (n, shape) in (0u64..).zip(SHAPES) {
        let scratch = Scratch::new();
        let (image, _) = filled(&scratch, shape);
        ok(ordo(["rm", &format!("{image}:/tree/small")]));
        let whole = fs::read(&image).unwrap();
        let mut chance = Chance(0x5eed + n);
        for round in 0..12 {
            let bytes = damaged(&whole, &mut chance);
            fs::write(&image, &bytes).unwrap();
            let out = scratch.path(&format!("out{round}"));
            let root = format!("{image}:/");
            let calls: [&[&str]; 4] = [
                &["recover", &image, &out],
                &["ls", "--deleted", "-R", &root],
                &["timeline", &image],
                &["scan", &image],
            ];
            for call in calls {
                let began = Instant::now();
                let output = command(call).output().unwrap();
                let code = output.status.code();
                assert!(code.is_some_and(|code| [0, 1, 3].contains(&code)), "{n} {round} {call:?}: {output:?}");
                assert!(began.elapsed() < Duration::from_secs(60), "{n} {round} {call:?}");
            }
            assert!(fs::read(&image).unwrap() == bytes, "{n} {round}: the image was written");
            let _ = fs::remove_dir_all(&out);
        }
    }
}

#[test]
fn an_image_that_ends_early_says_what_is_missing() {
    for shape in SHAPES {
        let scratch = Scratch::new();
        let (image, _) = filled(&scratch, shape);
        fs::File::options().write(true).open(&image).unwrap().set_len(10 << 20).unwrap();
        let info = ok(ordo(["info", &image]));
        assert!(info.contains("missing") && info.contains("ordo recover") && !info.contains("possible\n"), "{info}");
        let info = json(ordo(["info", "--json", &image]));
        assert_eq!(info["missing"].as_u64(), Some(6 << 20), "{info}");
        let said = fails(3, ordo(["mkdir", &format!("{image}:/x")]));
        assert!(said.contains("cut short") && said.contains("ordo recover"), "{said}");
        let report = json(ordo(["recover", "--json", &image, &scratch.path("out")]));
        assert!(report["unread_inodes"]["count"].as_u64().is_some_and(|count| count > 0), "{report}");
        let missing = report["missing"]["first"].as_array().unwrap();
        assert!(missing.iter().all(|entry| entry["path"] != ""), "{report}");
        assert_eq!(report["complete"], false);
    }
}

#[test]
fn volumes_that_a_tool_without_hashes_or_netbsd_10_has_left_are_read_scanned_and_recovered() {
    for (what, endian) in [("stale", "little"), ("stale", "big"), ("ufs2ea", "little"), ("ufs2ea", "big")] {
        let scratch = Scratch::new();
        let (stale, big_endian) = (what == "stale", endian == "big");
        let system = if stale { "freebsd" } else { "netbsd" };
        let (image, tree) = filled(&scratch, ["--for", system, "--endian", endian]);
        let bytes = fs::read(&image).unwrap();
        let word = |word: u32| if big_endian { word.to_be_bytes() } else { word.to_le_bytes() };
        let magic = word(0x1954_0119);
        let ends = (65536 + 1372..bytes.len() - 4).filter(|at| bytes[*at..*at + 4] == magic);
        let places: Vec<u64> = ends.map(|at| at as u64 - 1372).collect();
        assert!(places.len() > 2, "{places:?}");
        for at in places {
            match stale {
                // The time of the last write.
                true => put(&image, at + 1072 + if big_endian { 7 } else { 0 }, &[0x5a]),
                false => put(&image, at + 1372, &word(0x1901_2038)),
            }
        }
        let before = fs::read(&image).unwrap();
        let output = ordo(["ls", &format!("{image}:/tree")]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("f0"), "{output:?}");
        assert_eq!(said.contains("check hash") && said.contains("fsck -p"), stale, "{said}");
        let large = scratch.path("large");
        fs::write(&large, [&vec![0; 1_000_003][..], &before].concat()).unwrap();
        let found = json(ordo(["scan", "--json", &large]));
        let stated = (found[0]["offset"].as_u64(), found[0]["stale"].as_bool().unwrap_or(false));
        assert_eq!((stated, found.as_array().map(Vec::len)), ((Some(1_000_003), stale), Some(1)), "{found}");
        let out = scratch.path("out");
        let report = json(ordo(["recover", "--json", &image, &out]));
        assert_eq!(report["complete"], true, "{report}");
        is_tree(&format!("{out}/tree"), &tree);
        assert!(fs::read(&image).unwrap() == before, "{what}: a reader wrote");
        if stale {
            let said = fails(3, ordo(["mkdir", &format!("{image}:/x")]));
            assert!(said.contains("fsck -p"), "{said}");
            assert!(ordo(["fsck", "-p", &image]).status.code().is_some_and(|code| code <= 1));
            ok(ordo(["mkdir", &format!("{image}:/x")]));
        }
    }
    let scratch = Scratch::new();
    let empty = scratch.path("empty");
    fs::write(&empty, [0; 100_000]).unwrap();
    assert!(fails(1, ordo(["scan", &empty])).contains("no superblock"));
}
