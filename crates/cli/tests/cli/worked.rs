//! Work in images as with files: pipes, modes, owners, times, search, archives, batches, other sizes.

use crate::common::{Scratch, command, fails, ok, ordo};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

/// Runs the program with this on its standard input.
fn fed<const N: usize>(arguments: [&str; N], input: &[u8]) -> Output {
    let mut child = command(arguments);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A program that does not read its input closes it.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn stat(place: &str) -> Value {
    let all: Value = serde_json::from_str(&ok(ordo(["stat", "--json", place]))).unwrap();
    all[0].clone()
}

fn clean(image: &str) {
    ok(ordo(["fsck", "-n", image]));
}

#[test]
fn pipes_lead_into_images_and_out() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let file = format!("{image}:/in");
    let long = vec![7; 3_000_000];
    ok(fed(["cp", "-", &file], &long));
    assert_eq!(ordo(["cp", &file, "-"]).stdout, long);
    ok(fed(["cp", "/dev/stdin", &file], b"short"));
    assert_eq!(ok(ordo(["cp", &file, "-"])), "short");
    let said = fails(3, fed(["cp", "-", &format!("{image}:/")], b"x"));
    assert!(said.contains("name a file"), "{said}");
    let full = fails(3, fed(["cp", "-", &format!("{image}:/full")], &vec![1; 20 << 20]));
    assert!(full.contains("no space"), "{full}");
    fails(3, ordo(["stat", &format!("{image}:/full")]));
    clean(&image);
}

#[test]
fn modes_owners_times_and_sizes_are_set() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let at = |path: &str| format!("{image}:{path}");
    ok(ordo(["mkdir", "-p", &at("/d/e"), &at("/etc")]));
    ok(fed(["cp", "-", &at("/etc/passwd")], b"root:*:0:0::/:\nann:*:1001:20::/home:\n"));
    ok(ordo(["touch", &at("/d/f"), &at("/d/e/g")]));
    ok(ordo(["ln", "-s", "/etc", &at("/d/link")]));
    ok(ordo(["chown", "-R", "ann:7", &at("/d")]));
    ok(ordo(["chmod", "-R", "go-rwx,u+X", &at("/d")]));
    for (path, mode) in [("/d", 0o40700), ("/d/e", 0o40700), ("/d/f", 0o100_600), ("/d/e/g", 0o100_600)] {
        let is = stat(&at(path));
        assert_eq!((&is["mode"], &is["uid"], &is["gid"]), (&mode.into(), &1001.into(), &7.into()), "{path}");
    }
    assert_eq!((stat(&at("/d/link"))["uid"].clone(), stat(&at("/etc"))["uid"].clone()), (1001.into(), 0.into()));
    ok(ordo(["chmod", "4755", &at("/d/f")]));
    ok(ordo(["chown", "-h", ":9", &at("/d/f")]));
    assert_eq!((&stat(&at("/d/f"))["mode"], &stat(&at("/d/f"))["gid"]), (&0o104_755.into(), &9.into()));
    let said = fails(3, ordo(["chown", "bob", &at("/d/f")]));
    assert!(said.contains("no user \"bob\" in the image's /etc/passwd"), "{said}");
    ok(ordo(["touch", "-d", "2001-02-03T04:05:06.789012345Z", &at("/d/f")]));
    let mtime = stat(&at("/d/f"))["mtime"].clone();
    assert_eq!((&mtime["seconds"], &mtime["nanoseconds"]), (&981_173_106.into(), &789_012_345.into()));
    ok(ordo(["touch", "-r", &at("/d/f"), &at("/d/e/g")]));
    assert_eq!(stat(&at("/d/e/g"))["mtime"], mtime);
    ok(ordo(["touch", "-c", &at("/none")]));
    fails(3, ordo(["stat", &at("/none")]));
    for (size, is) in [("100", 100), ("-40", 60), ("+1k", 1084), ("0", 0)] {
        ok(ordo(["truncate", "-s", size, &at("/d/f")]));
        assert_eq!(stat(&at("/d/f"))["size"], is, "{size}");
    }
    fails(3, ordo(["truncate", "-s", "0", &at("/d")]));
    fails(2, ordo(["touch", "-d", "yesterday", &at("/d/f")]));
    clean(&image);
}

#[test]
fn files_are_found_by_name_kind_size_and_age() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let at = |path: &str| format!("{image}:{path}");
    ok(ordo(["mkdir", "-p", &at("/a/in")]));
    ok(ordo(["truncate", "-s", "5000", &at("/a/in/inner")]));
    ok(ordo(["touch", "-d", "@5", &at("/a/old")]));
    ok(ordo(["touch", "-d", "@9", &at("/new")]));
    ok(ordo(["ln", "-s", "x", &at("/a/inlink")]));
    let find = |more: &[&str]| {
        let root = at("/");
        ok(ordo([&["find", root.as_str()], more].concat()))
    };
    assert_eq!(find(&["-name", "in*"]), "/a/in\n/a/in/inner\n/a/inlink\n");
    assert_eq!(find(&["-name", "in*", "-type", "f"]), "/a/in/inner\n");
    assert_eq!(find(&["-type", "l", "-print0"]), "/a/inlink\0");
    assert_eq!(find(&["-size", "+4k", "--type", "f"]), "/a/in/inner\n");
    assert_eq!(find(&["-newer", &at("/a/old"), "-type", "f", "-size", "-1"]), "/new\n");
    let all: Value = serde_json::from_str(&find(&["-name", "old", "--json"])).unwrap();
    assert_eq!((all[0]["path"].as_str(), &all[0]["mtime"]["seconds"]), (Some("/a/old"), &5.into()));
    assert_eq!(ok(ordo(["find", &at("/a/in")])), "/a/in\n/a/in/inner\n");
}

#[test]
fn an_archive_of_an_image_makes_the_same_image_again() {
    let scratch = Scratch::new();
    let (image, other, archive) = (scratch.volume(), scratch.path("w.img"), scratch.path("a.tar"));
    let at = |path: &str| format!("{image}:{path}");
    let long = format!("/d/{}", "long".repeat(50));
    ok(ordo(["mkdir", "-m", "1770", &at("/d")]));
    ok(fed(["cp", "-", &at(&long)], b"contents"));
    ok(ordo(["ln", &at(&long), &at("/hard")]));
    ok(ordo(["ln", "-s", &"t".repeat(150), &at("/soft")]));
    ok(ordo(["truncate", "-s", "3M", &at("/hole")]));
    ok(ordo(["chmod", "4711", &at("/hole")]));
    ok(ordo(["chown", "4000000000:5", &at("/soft")]));
    ok(ordo(["touch", "-d", "1950-01-01T00:00:00.25Z", &at("/hole")]));
    ok(ordo(["touch", "-d", "@77.000000001", &at("/d")]));
    ok(ordo(["tar", "c", &at("/"), &archive]));
    ok(ordo(["mkfs", "-q", "--size", "16M", &other]));
    let bytes = fs::read(&archive).unwrap();
    ok(fed(["tar", "x", &other, "-"], &bytes));
    clean(&other);
    ok(ordo(["tar", "c", &other, &scratch.path("b.tar")]));
    assert!(bytes == fs::read(scratch.path("b.tar")).unwrap());
    let listed = ok(ordo(["tar", "t", &archive]));
    assert!(listed.contains("./hard\n") && listed.contains(&format!(".{long}\n")), "{listed}");
    let hole = stat(&format!("{other}:/hole"));
    assert_eq!((&hole["mode"], &hole["mtime"]["seconds"]), (&0o104_711.into(), &(-631_152_000).into()));
    assert!(hole["allocated"].as_u64().unwrap() < 100_000, "{hole}");
    assert_eq!(stat(&format!("{other}:/hard"))["nlink"], 2);
}

/// An archive with these names, each a file or a link.
fn archive(entries: &[(&str, Option<&str>)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, link) in entries {
        let mut header = tar::Header::new_ustar();
        header.as_old_mut().name.iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from);
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_entry_type(if link.is_some() { tar::EntryType::Symlink } else { tar::EntryType::Regular });
        if let Some(target) = link {
            header.set_link_name_literal(target).unwrap();
        }
        header.set_size(0);
        header.set_cksum();
        builder.append(&header, std::io::empty()).unwrap();
    }
    builder.into_inner().unwrap()
}

#[test]
fn an_archive_makes_nothing_outside_its_directory() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    ok(ordo(["mkdir", "-p", &format!("{image}:/in"), &format!("{image}:/out")]));
    let evil = archive(&[
        ("/absolute", None),
        ("../up", None),
        ("a/../../up", None),
        ("link", Some("/out")),
        ("link/through", None),
        ("good", None),
    ]);
    let said = fails(3, fed(["tar", "x", &format!("{image}:/in"), "-"], &evil));
    assert_eq!(said.lines().count(), 4, "{said}");
    assert_eq!(ok(ordo(["find", &image, "-type", "f"])), "/in/good\n");
    clean(&image);
}

#[test]
fn archives_with_holes_are_unpacked_in_every_form_and_cut_ones_are_refused() {
    let scratch = Scratch::new();
    let tree = scratch.path("tree");
    fs::create_dir(&tree).unwrap();
    let sparse = fs::File::create(format!("{tree}/sparse")).unwrap();
    sparse.set_len(3 << 20).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&sparse, b"in the middle", 1 << 20).unwrap();
    fs::write(format!("{tree}/after"), "behind the holes").unwrap();
    let whole = fs::read(format!("{tree}/sparse")).unwrap();
    let forms: [&[&str]; 4] = [
        &["--format=gnu"],
        &["--format=posix", "--sparse-version=0.0"],
        &["--format=posix", "--sparse-version=0.1"],
        &["--format=posix", "--sparse-version=1.0"],
    ];
    for form in forms {
        let (image, archive) = (scratch.path("v.img"), scratch.path("a.tar"));
        ok(ordo(["mkfs", "-q", "--force", "--size", "16M", &image]));
        let paths = ["-C", &tree, "-cf", &archive, "sparse", "after"];
        assert!(Command::new("tar").arg("-S").args(form).args(paths).status().unwrap().success());
        assert_eq!(ok(ordo(["tar", "t", &archive])), "sparse\nafter\n", "{form:?}");
        let bytes = fs::read(&archive).unwrap();
        for (dir, given) in [("file", None), ("stream", Some(&bytes))] {
            let place = format!("{image}:/{dir}");
            ok(ordo(["mkdir", &place]));
            ok(match given {
                None => ordo(["tar", "x", &place, &archive]),
                Some(bytes) => fed(["tar", "x", &place, "-"], bytes),
            });
            assert!(ordo(["cat", &format!("{place}/sparse")]).stdout == whole, "{form:?} {dir}");
            assert_eq!(ok(ordo(["cat", &format!("{place}/after")])), "behind the holes");
            assert!(stat(&format!("{place}/sparse"))["allocated"].as_u64().unwrap() < 200_000, "{form:?}: no holes");
        }
        // Behind the last file, in the middle of one, of a header, and nothing at all.
        let end = bytes.len() - bytes.iter().rev().take_while(|&&b| b == 0).count();
        for len in [end.next_multiple_of(512), end - 3, 700, 0] {
            for what in ["t", "x"] {
                let said = fails(3, fed(["tar", what, &format!("{image}:/"), "-"], &bytes[..len]));
                assert!(said.contains("cut") || said.contains("archive"), "{form:?} {what} {len}: {said}");
            }
        }
        clean(&image);
    }
}

#[test]
fn archives_keep_holes_and_others_read_them() {
    let scratch = Scratch::new();
    let (image, archive) = (scratch.volume(), scratch.path("a.tar"));
    // Bytes at both ends, at none, in the middle; and a name that no header holds.
    let long = "n".repeat(120);
    let files =
        [("ends", vec![0, (3 << 20) - 5]), ("empty", vec![]), ("middle", vec![1 << 20]), (&*long, vec![2 << 20])];
    let tree = scratch.path("tree");
    fs::create_dir(&tree).unwrap();
    for (name, places) in &files {
        let file = fs::File::create(format!("{tree}/{name}")).unwrap();
        file.set_len(3 << 20).unwrap();
        for &at in places {
            std::os::unix::fs::FileExt::write_all_at(&file, b"bytes", at).unwrap();
        }
    }
    fs::write(format!("{tree}/whole"), [7; 5000]).unwrap();
    ok(ordo(["cp", "-r", &tree, &format!("{image}:/")]));
    ok(ordo(["tar", "c", &format!("{image}:/tree"), &archive]));
    assert!(fs::metadata(&archive).unwrap().len() < 400_000, "holes are not in the archive");
    ok(ordo(["mkdir", &format!("{image}:/again")]));
    ok(ordo(["tar", "x", &format!("{image}:/again"), &archive]));
    let gnu = scratch.path("gnu");
    fs::create_dir(&gnu).unwrap();
    assert!(Command::new("tar").args(["-C", &gnu, "-xf", &archive]).status().unwrap().success());
    for name in files.iter().map(|(name, _)| *name).chain(["whole"]) {
        let bytes = fs::read(format!("{tree}/{name}")).unwrap();
        assert!(fs::read(format!("{gnu}/{name}")).unwrap() == bytes, "{name}, unpacked by tar");
        assert!(ordo(["cat", &format!("{image}:/again/{name}")]).stdout == bytes, "{name}, unpacked by ordo");
    }
    let allocated = stat(&format!("{image}:/again/ends"))["allocated"].as_u64().unwrap();
    assert!(allocated < 200_000, "{allocated} bytes of a file of holes");
    clean(&image);
}

#[test]
fn a_batch_does_its_lines_with_one_open_and_names_the_one_that_fails() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    fs::write(scratch.path("host file"), "host").unwrap();
    let lines = format!(
        "# a comment\nmkdir -p /x/y   # more\ncp '{}' /x/\"a b\"\nmv \"/x/a b\" /x/c\nln -s c /x/l\nln /x/c /x/h\n\
         chmod 600 /x/c\nchown 5:6 /x/c\ntouch -d @9 /x/c\ntruncate -s 2 /x/new\nrm -r /x/y\n",
        scratch.path("host file")
    );
    let batch = scratch.path("batch");
    fs::write(&batch, lines).unwrap();
    ok(ordo(["--batch", &batch, &image]));
    assert_eq!(ok(ordo(["find", &image, "-name", "[!.]*"])), "/\n/x\n/x/c\n/x/h\n/x/l\n/x/new\n");
    let c = stat(&format!("{image}:/x/c"));
    assert_eq!((&c["mode"], &c["uid"], &c["mtime"]["seconds"]), (&0o100_600.into(), &5.into(), &9.into()));
    let wrong = b"mkdir /1\nrm /none\nmkdir /2\nfly /\nmkdir 'open\n";
    let said = fails(3, fed(["batch", "-", &image], wrong));
    assert_eq!(said.lines().count(), 1);
    assert!(said.contains("-:2: ") && said.contains("/none"), "{said}");
    fails(3, ordo(["stat", &format!("{image}:/2")]));
    let said = fails(3, fed(["batch", "--keep-going", "-", &image], wrong));
    let places: Vec<_> = said.lines().map(|line| line.split(": ").nth(1).unwrap()).collect();
    assert_eq!(places, ["-:1", "-:2", "-:4", "-:5"]);
    stat(&format!("{image}:/2"));
    clean(&image);
}

#[test]
fn a_volume_grows_with_its_file_and_shrinks_where_it_is_free() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    ok(fed(["cp", "-", &format!("{image}:/f")], &vec![5; 1 << 20]));
    let said = ok(ordo(["resize", "--size", "50M", &image]));
    assert!(said.contains("size: 52428800 bytes"), "{said}");
    clean(&image);
    assert_eq!(fs::metadata(&image).unwrap().len(), 50 << 20);
    ok(fed(["cp", "-", &format!("{image}:/g")], &vec![5; 30 << 20]));
    let said = fails(3, ordo(["resize", "--size", "10M", &image]));
    assert!(said.contains("bytes in use lie beyond"), "{said}");
    ok(ordo(["rm", &format!("{image}:/g")]));
    let json: Value = serde_json::from_str(&ok(ordo(["resize", "--json", "--size", "20M", &image]))).unwrap();
    assert_eq!((&json["was"], &json["is"]), (&(50 << 20).into(), &(20 << 20).into()));
    assert_eq!(fs::metadata(&image).unwrap().len(), 20 << 20);
    clean(&image);
    assert_eq!(ordo(["cat", &format!("{image}:/f")]).stdout, vec![5; 1 << 20]);
    fails(2, ordo(["resize", "--size", "1k", &image]));
    let log = scratch.path("log.img");
    ok(ordo(["mkfs", "-q", "--type", "lfs", "--size", "16M", &log]));
    let said = fails(3, ordo(["resize", "--size", "32M", &log]));
    assert!(said.contains("LFS"), "{said}");
}
