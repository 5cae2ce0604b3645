//! The commands that work inside an image, on the built program, without root and without a mount.

use crate::common::{Scratch, fails, ok, ordo};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

#[test]
fn a_volume_is_made_and_shown() {
    let scratch = Scratch::new();
    let image = scratch.path("v.img");
    ok(ordo(["mkfs", "--size", "16M", "--label", "home", &image]));
    let shown = ok(ordo(["info", "--json", &image]));
    for part in ["\"type\": \"ufs2\"", "\"endian\": \"little\"", "\"block_size\": 32768", "\"frag_size\": 4096"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(shown.contains("\"label\": \"home\"") && shown.contains("\"clean\": true"), "{shown}");
    ok(ordo(["fsck", "-n", &image]));
    let said = fails(3, ordo(["mkfs", "--size", "16M", &image]));
    assert!(said.contains("is not empty") && said.contains("--force"), "{said}");
    ok(ordo([
        "mkfs",
        "-q",
        "--force",
        "--type",
        "ufs1",
        "--endian",
        "big",
        "--block-size",
        "8k",
        "--frag-size",
        "1k",
        "--size",
        "16M",
        &image,
    ]));
    let shown = ok(ordo(["info", &image]));
    assert!(shown.contains("ufs1, big-endian"), "{shown}");
}

#[test]
fn a_volume_without_a_size_is_not_overwritten() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let said = fails(3, ordo(["mkfs", &image]));
    assert!(said.contains("holds a UFS volume already") && said.contains("--force"), "{said}");
    ok(ordo(["mkfs", "-q", "--force", "--label", "new", &image]));
    assert!(ok(ordo(["info", &image])).contains("new"));
    fs::write(scratch.path("empty"), vec![0; 8 << 20]).unwrap();
    ok(ordo(["mkfs", "-q", &scratch.path("empty")]));
    fails(2, ordo(["mkfs", "--size", "16M", "--block-size", "5000", &scratch.path("x.img")]));
    assert!(!fs::exists(scratch.path("x.img")).unwrap());
}

#[test]
fn a_new_volume_has_a_log_of_the_size_that_is_asked_for() {
    let scratch = Scratch::new();
    let image = scratch.path("v.img");
    ok(ordo(["mkfs", "-q", "--size", "64M", "--log-size", "2M", &image]));
    let log = ok(ordo(["stat", "--json", &format!("{image}:/.ordofs-log")]));
    let log: serde_json::Value = serde_json::from_str(&log).unwrap();
    assert_eq!(log.get(0).unwrap_or(&log)["size"], 2 << 20, "{log}");
    ok(ordo(["fsck", "-n", &image]));
    // A log that is impossible is refused before anything is written.
    let before = fs::read(&image).unwrap();
    for size in ["1", "4k", "5G", "62M"] {
        for options in [&["--force", "--size", "64M"][..], &["--force"]] {
            let arguments = ["mkfs", "--log-size", size, &image].into_iter().chain(options.iter().copied());
            let said = fails(2, ordo(arguments));
            assert!(said.contains("--log-size: a journal of"), "{said}");
            assert!(fs::read(&image).unwrap() == before, "{size}");
        }
    }
    fails(2, ordo(["mkfs", "--size", "16M", "--log-size", "4k", &scratch.path("small.img")]));
    assert!(!fs::exists(scratch.path("small.img")).unwrap());
}

#[test]
fn a_tree_goes_in_and_comes_out_the_same() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let tree = scratch.path("tree");
    fs::create_dir_all(format!("{tree}/a/b")).unwrap();
    fs::write(format!("{tree}/a/f"), "one\n").unwrap();
    fs::set_permissions(format!("{tree}/a/f"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::hard_link(format!("{tree}/a/f"), format!("{tree}/a/hard")).unwrap();
    symlink("f", format!("{tree}/a/link")).unwrap();
    fs::write(format!("{tree}/{}", "n".repeat(255)), vec![7; 100_000]).unwrap();
    let sparse = fs::File::create(format!("{tree}/sparse")).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&sparse, b"middle", 500 << 20).unwrap();
    sparse.set_len(1 << 30).unwrap();

    ok(ordo(["cp", "-r", "-p", &tree, &format!("{image}:/")]));
    ok(ordo(["fsck", "-n", &image]));
    let out = scratch.path("out");
    ok(ordo(["cp", "-a", &format!("{image}:/tree"), &out]));
    let same = std::process::Command::new("diff").args(["-r", "--no-dereference", &tree, &out]).output().unwrap();
    assert!(same.status.success(), "{}", String::from_utf8_lossy(&same.stdout));
    let copy = fs::metadata(format!("{out}/sparse")).unwrap();
    assert!(copy.blocks() * 512 < 1 << 20, "the hole was filled: {} sectors", copy.blocks());
    let (file, original) = (fs::metadata(format!("{out}/a/f")).unwrap(), fs::metadata(format!("{tree}/a/f")).unwrap());
    assert_eq!((file.mode(), file.mtime(), file.nlink()), (original.mode(), original.mtime(), 2));
    assert_eq!(file.ino(), fs::metadata(format!("{out}/a/hard")).unwrap().ino());
    let listed = ok(ordo(["ls", "-l", &format!("{image}:/tree/a")]));
    assert!(listed.contains("link -> f") && listed.contains("-rw-r-----  2"), "{listed}");
}

#[test]
fn contents_of_a_directory_fill_a_volume_and_another_one() {
    let scratch = Scratch::new();
    let (one, two) = (scratch.volume(), scratch.path("two.img"));
    ok(ordo(["mkfs", "-q", "--type", "ufs1", "--size", "16M", &two]));
    fs::create_dir_all(scratch.path("t/d")).unwrap();
    fs::write(scratch.path("t/d/x"), "x").unwrap();
    ok(ordo(["cp", "-r", &scratch.path("t/."), &format!("{one}:/")]));
    assert_eq!(ok(ordo(["cat", &format!("{one}:/d/x")])), "x");
    ok(ordo(["cp", "-r", &format!("{one}:/"), &format!("{two}:/all")]));
    assert_eq!(ok(ordo(["cat", &format!("{two}:/all/d/x")])), "x");
    ok(ordo(["cp", "-r", &format!("{one}:/d"), &format!("{one}:/e")]));
    assert_eq!(ok(ordo(["cat", &format!("{one}:/e/x")])), "x");
    for image in [&one, &two] {
        ok(ordo(["fsck", "-n", image]));
    }
}

#[test]
fn files_are_not_copied_onto_or_into_themselves() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    fs::write(scratch.path("x"), "contents").unwrap();
    ok(ordo(["cp", &scratch.path("x"), &format!("{image}:/x")]));
    let said = fails(3, ordo(["cp", &format!("{image}:/x"), &format!("{image}:/x")]));
    assert!(said.contains("the same file"), "{said}");
    assert_eq!(ok(ordo(["cat", &format!("{image}:/x")])), "contents");
    ok(ordo(["mkdir", "-p", &format!("{image}:/a/b")]));
    let said = fails(3, ordo(["cp", "-r", &format!("{image}:/a"), &format!("{image}:/a/b")]));
    assert!(said.contains("into itself"), "{said}");
    ok(ordo(["fsck", "-n", &image]));
}

#[test]
fn names_are_made_moved_and_removed() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let at = |path: &str| format!("{image}:{path}");
    ok(ordo(["mkdir", "-p", &at("/a/b/c")]));
    fails(3, ordo(["mkdir", &at("/a")]));
    fs::write(scratch.path("x"), "x").unwrap();
    ok(ordo(["cp", &scratch.path("x"), &at("/a/x")]));
    ok(ordo(["ln", &at("/a/x"), &at("/a/y")]));
    ok(ordo(["ln", "-s", "../a/x", &at("/a/z")]));
    ok(ordo(["mv", &at("/a/x"), &at("/a/y"), &at("/a/b")]));
    assert_eq!(ok(ordo(["ls", &at("/a/b")])), "c\nx\ny\n");
    fails(3, ordo(["rm", &at("/a/b")]));
    ok(ordo(["rm", "-r", &at("/a/b")]));
    assert_eq!(ok(ordo(["ls", "-R", &at("/a")])), "/a:\nz\n");
    ok(ordo(["rm", "-f", &at("/a/none")]));
    fails(3, ordo(["rm", &at("/a/none")]));
    let tree = ok(ordo(["tree", &at("/")]));
    assert!(tree.contains("└── a\n    └── z -> ../a/x"), "{tree}");
    assert!(ok(ordo(["df", &image])).contains('%'));
    let stat = ok(ordo(["stat", &at("/a/z")]));
    assert!(stat.contains("symbolic link") && stat.contains("-> ../a/x"), "{stat}");
    ok(ordo(["fsck", "-n", &image]));
}

#[test]
fn nothing_is_written_outside_the_target_on_the_host() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let outside = scratch.path("outside");
    fs::create_dir(&outside).unwrap();
    fs::create_dir_all(scratch.path("src/trap")).unwrap();
    fs::write(scratch.path("src/trap/planted"), "bad").unwrap();
    fs::write(scratch.path("src/file"), "new").unwrap();
    fs::set_permissions(scratch.path("src/file"), fs::Permissions::from_mode(0o6755)).unwrap();
    ok(ordo(["cp", "-a", &scratch.path("src/."), &format!("{image}:/")]));
    assert!(ok(ordo(["ls", "-l", &format!("{image}:/")])).contains("-rwsr-sr-x"));

    let target = scratch.path("target");
    fs::create_dir(&target).unwrap();
    symlink(&outside, format!("{target}/trap")).unwrap();
    fs::write(scratch.path("victim"), "old").unwrap();
    symlink(scratch.path("victim"), format!("{target}/file")).unwrap();
    let said = fails(3, ordo(["cp", "-a", &format!("{image}:/"), &target]));
    assert!(said.contains("/trap: ") && said.lines().count() == 1, "{said}");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    assert_eq!(fs::read_to_string(scratch.path("victim")).unwrap(), "old");
    let file = fs::symlink_metadata(format!("{target}/file")).unwrap();
    assert!(file.is_file() && file.mode() & 0o7777 == 0o755, "{:o}", file.mode());
    ok(ordo(["cp", "-a", "--setuid", &format!("{image}:/file"), &scratch.path("kept")]));
    assert_eq!(fs::metadata(scratch.path("kept")).unwrap().mode() & 0o7777, 0o6755);
}

#[test]
fn control_bytes_of_names_do_not_reach_error_messages() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let said = fails(3, ordo(["cat", &format!("{image}:/a\x1b[31m\nb")]));
    assert!(!said.contains('\x1b') && said.lines().count() == 1 && said.contains("\\x1b[31m\\x0ab"), "{said:?}");
    let named = scratch.path("odd");
    fs::create_dir(&named).unwrap();
    fs::write(format!("{named}/new\nline"), "").unwrap();
    ok(ordo(["cp", "-r", &named, &format!("{image}:/")]));
    // Another program gets the name unmodified.
    assert_eq!(ok(ordo(["ls", &format!("{image}:/odd")])), "new\nline\n");
    assert!(ok(ordo(["ls", "--json", &format!("{image}:/odd")])).contains("new\\nline"));
}

#[test]
fn errors_have_one_line_and_the_right_status() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    fs::write(scratch.path("text"), "no volume").unwrap();
    for arguments in [
        vec!["info".to_owned(), scratch.path("text")],
        vec!["info".to_owned(), scratch.path("missing")],
        vec!["ls".to_owned(), format!("{}:/x", scratch.path("missing"))],
        vec!["cat".to_owned(), format!("{image}:/missing")],
        vec!["cat".to_owned(), format!("{image}:/")],
        vec!["mount".to_owned(), image.clone(), scratch.path("nodir")],
        vec!["umount".to_owned(), scratch.path("text")],
        vec!["info".to_owned(), format!("{image}@p7")],
    ] {
        let said = fails(3, ordo(&arguments));
        assert!(said.starts_with("ordo: ") && said.lines().count() == 1, "{arguments:?}: {said}");
    }
    for arguments in [
        vec!["ls"],
        vec!["nonsense"],
        vec!["mount", "-o", "fast", "x", "/"],
        vec!["cp", "/etc/hostname", "/tmp/x"],
        vec!["mkfs", "--size", "lots", "x"],
    ] {
        fails(2, ordo(&arguments));
    }
    fails(16, ordo(["fsck", "-n", "-y", &image]));
    fails(8, ordo(["fsck", "-n", &scratch.path("text")]));
}

#[test]
fn fsck_finds_and_repairs_with_the_bits_of_fsck() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let mut bytes = fs::read(&image).unwrap();
    // The check hash of the superblock no longer matches.
    bytes[65536 + 1304] ^= 1;
    fs::write(&image, &bytes).unwrap();
    let before = fs::read(&image).unwrap();
    let found = fails_silently(4, ordo(["fsck", "-n", "--json", &image]));
    assert!(found.contains("\"exit\": 4") && found.contains("SuperblockHash"), "{found}");
    // No terminal can answer questions here, so nothing is repaired.
    fails_silently(4, ordo(["fsck", &image]));
    assert_eq!(fs::read(&image).unwrap(), before);
    fails_silently(1, ordo(["fsck", "-p", &image]));
    ok(ordo(["fsck", "-n", &image]));
    ok(ordo(["fsck", "-a", "-f", "-C0", "-T", "-V", &image]));
}

fn fails_silently(status: i32, output: std::process::Output) -> String {
    assert_eq!(output.status.code(), Some(status), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_damaged_superblock_is_shown_from_its_backup() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let mut bytes = fs::read(&image).unwrap();
    bytes[65536..65536 + 8192].fill(0);
    fs::write(&image, &bytes).unwrap();
    let shown = ok(ordo(["info", "--json", &image]));
    assert!(shown.contains("\"from_backup_of_group\": 0") && shown.contains("\"clean\": false"), "{shown}");
    let said = fails(3, ordo(["mkdir", &format!("{image}:/x")]));
    assert!(said.contains("ordo: "), "{said}");
    fails_silently(1, ordo(["fsck", "-y", &image]));
    ok(ordo(["mkdir", &format!("{image}:/x")]));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    use std::process::Stdio;
    let scratch = Scratch::new();
    let image = scratch.volume();
    fs::write(scratch.path("big"), vec![b'x'; 4 << 20]).unwrap();
    ok(ordo(["cp", &scratch.path("big"), &format!("{image}:/big")]));
    let mut child = crate::common::command(["cat", &format!("{image}:/big")]);
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), ended.stderr.len()), (Some(0), 0), "{ended:?}");
}

#[test]
fn a_file_somebody_uses_is_refused_with_the_process() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let file = fs::File::open(&image).unwrap();
    file.lock().unwrap();
    let said = fails(3, ordo(["mkdir", &format!("{image}:/x")]));
    assert!(said.contains("in use") && said.contains(&std::process::id().to_string()), "{said}");
}

#[test]
fn what_can_be_named_is_listed() {
    assert!(ok(ordo(["schemes"])).contains("sync "));
    assert!(ok(ordo(["schemes", "--json"])).starts_with('['));
    assert!(ok(ordo(["--help"])).contains("mkfs"));
    assert!(ok(ordo(["mount", "--help"])).contains("fstab"));
}

#[test]
fn without_its_first_superblock_a_volume_is_read_from_a_copy_and_not_changed() {
    use std::os::unix::fs::FileExt;
    let scratch = Scratch::new();
    let image = scratch.volume();
    let host = scratch.path("host");
    std::fs::write(&host, "to be rescued").unwrap();
    ok(ordo(["cp", &host, &format!("{image}:/f")]));
    std::fs::File::options().write(true).open(&image).unwrap().write_all_at(&[0; 8192], 65536).unwrap();
    let before = std::fs::read(&image).unwrap();
    let (file, root, out) = (format!("{image}:/f"), format!("{image}:/"), scratch.path("out"));
    let reading =
        [vec!["ls", &root], vec!["cat", &file], vec!["cp", &file, &out], vec!["tree", &root], vec!["stat", &file]];
    for arguments in &reading {
        let output = ordo(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{arguments:?}: {said}");
        assert!(said.contains("copy in group 0") && said.lines().count() == 1, "{arguments:?}: {said}");
    }
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "to be rescued");
    for arguments in [vec!["cp", &host, &root], vec!["mkdir", &file], vec!["rm", &file]] {
        let said = fails(3, ordo(&arguments));
        assert!(said.contains("copy") && said.contains("fsck"), "{arguments:?}: {said}");
    }
    assert!(std::fs::read(&image).unwrap() == before);
}

#[test]
fn a_version_that_is_not_there_costs_no_file_of_the_host() {
    let scratch = Scratch::new();
    let (image, there) = (scratch.volume(), scratch.path("there"));
    ordo(["tune", "-o", "active=on", &image]);
    fs::write(&there, "one").unwrap();
    ok(ordo(["cp", &there, &format!("{image}:/f")]));
    let file = format!("{image}:/f");
    assert!(ok(ordo(["versions", &file])).contains("no older version"));
    let said = fails(3, ordo(["cp", "--version", "9", &file, &there]));
    assert!(said.contains("no version 9") && fs::read_to_string(&there).unwrap() == "one", "{said}");
    let said = fails(2, ordo(["cp", "--version", "1", &there, &file]));
    assert!(said.contains("to the host"), "{said}");
    assert!(fails(3, ordo(["cat", "--version", "1", &file])).contains("no version 1"));
}
