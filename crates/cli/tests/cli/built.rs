//! Volumes that are filled when they are made: from a directory, a tar archive, with a manifest.

use crate::common::{Scratch, command, fails, ok, ordo};
use ordofs::rt::Rt;
use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const EPOCH: &str = "1700000000";

/// Names of all kinds, links, holes, and many files in one directory.
fn tree(scratch: &Scratch) -> String {
    let tree = scratch.path("tree");
    fs::create_dir_all(format!("{tree}/etc/empty")).unwrap();
    fs::create_dir(format!("{tree}/many")).unwrap();
    for i in 0..400 {
        fs::write(format!("{tree}/many/{i}"), vec![i as u8; i * 97 % 5000]).unwrap();
    }
    for name in ["two\nlines", "back\\slash", "üñ", "suid"] {
        fs::write(format!("{tree}/etc/{name}"), name).unwrap();
    }
    fs::set_permissions(format!("{tree}/etc/suid"), fs::Permissions::from_mode(0o4755)).unwrap();
    fs::hard_link(format!("{tree}/etc/suid"), format!("{tree}/many/hard")).unwrap();
    symlink("../etc/suid", format!("{tree}/many/link")).unwrap();
    symlink("x".repeat(200), format!("{tree}/many/long")).unwrap();
    let sparse = fs::File::create(format!("{tree}/etc/sparse")).unwrap();
    sparse.set_len(3 << 30).unwrap();
    sparse.write_all_at(b"end", (3 << 30) - 3).unwrap();
    tree
}

fn sleep(millis: u64) {
    let rt = Rt::real_time();
    rt.block_on(rt.sleep(Duration::from_millis(millis)));
}

/// `mkfs -q` with the clock of reproducible builds; the last two arguments are the tree and the image.
fn mkfs(arguments: &[&str]) -> std::process::Output {
    let (options, places) = arguments.split_at(arguments.len() - 2);
    let all = [&["mkfs", "-q"], options, &["-d"], places].concat();
    command(all).env("SOURCE_DATE_EPOCH", EPOCH).output().unwrap()
}

/// The lines of `ls -l`, by name, without what the columns are padded with.
fn listed(place: &str) -> Vec<String> {
    let text = ok(ordo(["ls", "-l", "--numeric", "--utc", place]));
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

fn has(lines: &[String], start: &str, end: &str) {
    assert!(lines.iter().any(|line| line.starts_with(start) && line.ends_with(end)), "{start} {end}: {lines:#?}");
}

fn same_files(a: &str, b: &str) {
    let differ = Command::new("diff").args(["-r", "--no-dereference", "-x", "sparse", a, b]).output().unwrap();
    assert!(differ.status.success(), "{}", String::from_utf8_lossy(&differ.stdout));
}

#[test]
fn a_directory_becomes_the_same_bytes_twice_in_every_format() {
    let (scratch, shapes) = (
        Scratch::new(),
        [
            &["--type", "ufs2"][..],
            &["--type", "ufs1", "--endian", "big"],
            &["--for", "netbsd"],
            &["--block-size", "4k", "--frag-size", "512"],
            &["--type", "lfs"],
        ],
    );
    let tree = tree(&scratch);
    let names: Vec<_> = (0..2).map(|of| scratch.path(&format!("{of}.img"))).collect();
    for (i, shape) in shapes.into_iter().enumerate() {
        for image in &names {
            let _ = fs::remove_file(image);
            ok(mkfs(&[shape, &[&tree, image]].concat()));
            // Another second, in which the clock of the machine would show.
            sleep(if i == 0 { 1100 } else { 0 });
        }
        assert!(fs::read(&names[0]).unwrap() == fs::read(&names[1]).unwrap(), "{shape:?}: the bytes differ");
        ok(ordo(["fsck", "-n", "-f", &names[0]]));
        let found = fs::metadata(&names[0]).unwrap();
        assert!(found.len() < 80 << 20 && found.blocks() * 512 <= found.len(), "{shape:?}: {} bytes", found.len());
    }
    ok(mkfs(&["--size", "40M", "--force", &tree, &names[0]]));
    assert_eq!(fs::metadata(&names[0]).unwrap().len(), 40 << 20);
    let out = scratch.path("out");
    ok(ordo(["cp", "-a", "--setuid", &format!("{}:/etc", names[0]), &out]));
    same_files(&format!("{tree}/etc"), &out);
    let (sparse, mut end) = (fs::File::open(format!("{out}/sparse")).unwrap(), [0; 4]);
    sparse.read_exact_at(&mut end, (3 << 30) - 4).unwrap();
    let blocks = sparse.metadata().unwrap().blocks();
    assert!(&end == b"\0end" && blocks < 1000, "{end:?}, and the hole has {blocks} blocks");
    assert_eq!(fs::metadata(format!("{out}/suid")).unwrap().mode() & 0o7777, 0o4755);
    let lines = listed(&format!("{}:/many", names[0]));
    has(&lines, "-rwsr-xr-x 2 ", "2023-11-14 22:13:20 hard");
    assert!(lines.iter().all(|line| line.contains(" 2023-11-14 22:13:20 ")), "a later time: {lines:#?}");
}

#[test]
fn a_manifest_gives_owners_modes_times_flags_and_what_the_tree_lacks() {
    let scratch = Scratch::new();
    let (tree, image, file, db) = (tree(&scratch), scratch.path("v.img"), scratch.path("m"), scratch.path("db"));
    fs::create_dir(&db).unwrap();
    fs::write(format!("{db}/passwd"), "root:*:0:0::/:\ncat:*:4321:1::/:\n").unwrap();
    fs::write(format!("{db}/group"), "wheel:*:0:\npets:*:77:cat\n").unwrap();
    let said = "#mtree\n/set type=file uid=0 gid=0 mode=0600 time=1600000000.5\n.\ttype=dir mode=0755\n\
        etc type=dir \\\n  mode=0711\n  # a comment\n\
        two\\012lines uname=cat gname=pets mode=640 sha256=abc size=9\n  back\\134slash flags=schg,nodump\n\
        empty type=dir\nnone uid=5\n..\n..\n\
        /unset mode\n./etc/\\303\\274\\303\\261 uid=9\n./etc/gone optional\n\
        ./dev type=dir mode=0755\n./dev/null type=char device=native,1,3 mode=0666\n\
        ./dev/fd type=link link=a\\040b mode=0755\n";
    fs::write(&file, said).unwrap();
    ok(mkfs(&["-F", &file, "--user-db", &db, "--owner", "8:8", &tree, &image]));
    ok(ordo(["fsck", "-n", "-f", &image]));
    let etc = listed(&format!("{image}:/etc"));
    has(&etc, "-rw-r----- 1 4321 77 9 2020-09-13 12:26:40 ", "two");
    has(&etc, "-rw------- 1 0 0 10 2020-", "slash");
    has(&etc, "-rw-r--r-- 1 9 0 4 2020-", "üñ");
    has(&etc, "-rwsr-xr-x 2 8 8 4 2023-", "suid");
    has(&listed(&format!("{image}:/etc/empty")), "-rw------- 1 5 0 0 2020-", "none");
    has(&listed(&format!("{image}:/dev")), "crw-rw-rw- 1 0 0 1, 3 2020-", "null");
    has(&listed(&format!("{image}:/dev")), "lrwxr-xr-x 1 0 0 3 2020-", "fd -> a b");
    let stat = ok(ordo(["stat", "--json", &format!("{image}:/etc/back\\slash")]));
    assert!(stat.contains("schg") && stat.contains("nodump"), "{stat}");
    assert!(!etc.iter().any(|line| line.ends_with("gone")), "{etc:?}");

    for (wrong, says) in [
        ("./etc type=file\n", "line 1: etc: is a file here and a dir in the tree"),
        ("# x\n./new uid=0 gid=0 type=file\n", "line 2: new: is not in the tree, and has no mode here"),
        ("./etc uname=nobody-has-this\n", "nobody-has-this is not in"),
        ("./../x type=file uid=0 gid=0 mode=0\n", "\"..\""),
        ("..\n", "above the root"),
        ("./a\\ type=file\n", "line 1"),
    ] {
        fs::write(&file, wrong).unwrap();
        let said = fails(3, mkfs(&["-F", &file, "--user-db", &db, &tree, &scratch.path("no.img")]));
        assert!(said.contains(says), "{wrong}: {said}");
        assert!(!Path::new(&scratch.path("no.img")).exists(), "{wrong}");
    }
}

/// An archive of the headers that `put` writes; the marks of its end follow.
fn archive(put: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    put(&mut bytes);
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

fn entry(name: &str, kind: tar::EntryType, target: &str, contents: &[u8]) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
    header.set_entry_type(kind);
    header.set_mode(0o4755);
    header.set_uid(12);
    header.set_gid(34);
    header.set_mtime(1_600_000_000);
    header.set_device_major(1).unwrap();
    header.set_device_minor(3).unwrap();
    header.set_size(contents.len() as u64);
    header.set_cksum();
    let mut bytes = [header.as_bytes(), contents].concat();
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

#[test]
fn an_archive_becomes_a_volume_also_compressed_and_from_standard_input() {
    use tar::EntryType;
    let scratch = Scratch::new();
    let (image, file) = (scratch.path("v.img"), scratch.path("a.tar"));
    let long = "n".repeat(200);
    let pax = "24 path=etc/two\nlines/x\n27 SCHILY.xattr.user.k=v\nw\n";
    let bytes = archive(|to| {
        to.extend(entry("./etc/motd", EntryType::Regular, "", b"hello"));
        to.extend(entry("././@LongLink", EntryType::GNULongName, "", format!("etc/{long}\0").as_bytes()));
        to.extend(entry("cut", EntryType::Link, "etc/motd", b""));
        to.extend(entry("dev/null", EntryType::Char, "", b""));
        to.extend(entry("dev/pipe", EntryType::Fifo, "", b""));
        to.extend(entry("x", EntryType::XHeader, "", pax.as_bytes()));
        to.extend(entry("short", EntryType::Regular, "", &[7; 2000]));
        to.extend(entry("etc/motd2", EntryType::Symlink, "motd", b""));
    });
    fs::write(&file, &bytes).unwrap();
    ok(mkfs(&[&file, &image]));
    ok(ordo(["fsck", "-n", "-f", &image]));
    assert_eq!(ok(ordo(["cat", &format!("{image}:/etc/{long}")])), "hello");
    assert_eq!(ok(ordo(["cat", &format!("{image}:/etc/two\nlines/x")])), "\u{7}".repeat(2000));
    has(&listed(&format!("{image}:/etc")), "-rwsr-xr-x 2 12 34 5 2020-09-13 12:26:40", "motd");
    has(&listed(&format!("{image}:/dev")), "crwsr-xr-x 1 12 34 1, 3 ", "null");
    has(&listed(&format!("{image}:/dev")), "prwsr-xr-x 1 12 34 0 ", "pipe");

    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, &bytes).unwrap();
    let gzip = gzip.finish().unwrap();
    fs::write(scratch.path("a.tgz"), &gzip).unwrap();
    ok(mkfs(&[&scratch.path("a.tgz"), &scratch.path("gz.img")]));
    let piped = command(["mkfs", "-q", "-d", "-", &scratch.path("in.img")])
        .env("SOURCE_DATE_EPOCH", EPOCH)
        .stdin(fs::File::open(&file).unwrap())
        .output();
    ok(piped.unwrap());
    for same in ["gz.img", "in.img"] {
        assert!(fs::read(scratch.path(same)).unwrap() == fs::read(&image).unwrap(), "{same}");
    }
    fs::write(scratch.path("cut.tgz"), &gzip[..gzip.len() / 2]).unwrap();
    let said = fails(3, mkfs(&[&scratch.path("cut.tgz"), &scratch.path("no.img")]));
    assert!(said.contains("was cut"), "{said}");
    fs::write(scratch.path("a.txz"), b"\xfd7zXZ\0rest").unwrap();
    let said = fails(3, mkfs(&[&scratch.path("a.txz"), &scratch.path("no.img")]));
    assert!(said.contains("xz -d <"), "{said}");
}

#[test]
fn an_archive_that_leads_out_or_was_cut_makes_no_image() {
    use tar::EntryType;
    let scratch = Scratch::new();
    let (image, file) = (scratch.path("v.img"), scratch.path("a.tar"));
    let one = |name: &str, kind, target: &str| archive(|to| to.extend(entry(name, kind, target, b"")));
    let whole = archive(|to| to.extend(entry("file", EntryType::Regular, "", &[1; 3000])));
    let mut damaged = whole.clone();
    damaged[0] ^= 1;
    let through = archive(|to| {
        to.extend(entry("out", EntryType::Symlink, "/tmp", b""));
        to.extend(entry("out/x", EntryType::Regular, "", b"x"));
    });
    for (bytes, says) in [
        (one("/etc/passwd", EntryType::Regular, ""), "/etc/passwd: an absolute name"),
        (one("a/../../x", EntryType::Regular, ""), "a/../../x: a name with \"..\""),
        (one("hard", EntryType::Link, "../../x"), "hard: a link to ../../x"),
        (one("hard", EntryType::Link, "none"), "not in the archive"),
        (through, "out/x: it is below out, which is not a directory"),
        (whole[..2048].to_vec(), "file: the archive was cut"),
        (whole[..whole.len() - 1024].to_vec(), "the archive was cut"),
        (damaged, "the sum of its header is wrong"),
        (b"text".to_vec(), "neither a directory nor a tar archive"),
    ] {
        fs::write(&file, &bytes).unwrap();
        let said = fails(3, mkfs(&[&file, &image]));
        assert!(said.contains(says) && said.contains("a.tar") && said.lines().count() == 1, "{says}: {said}");
        assert!(!Path::new(&image).exists(), "{says}: an image was left");
    }
}

#[test]
fn room_is_kept_free_and_what_does_not_fit_is_no_image() {
    let scratch = Scratch::new();
    let (tree, image) = (tree(&scratch), scratch.path("v.img"));
    let made = ok(command(["mkfs", "--json", "--free", "20M", "--free-inodes", "30000", "-d", &tree, &image])
        .output()
        .unwrap());
    assert!(made.starts_with('{'), "{made}");
    let free: serde_json::Value = serde_json::from_str(&ok(ordo(["df", "--json", &image]))).unwrap();
    let free = free.as_array().map_or(&free, |all| &all[0]);
    assert!(free.to_string().contains("inodes"), "{free}");
    let number = |key: &str| free[key].as_u64().unwrap_or_else(|| panic!("{key}: {free}"));
    assert!(number("available") >= 20 << 20 && number("free_inodes") >= 30000, "{free}");
    // What is there is not overwritten, and what was there before stays.
    let said = fails(3, mkfs(&[&tree, &image]));
    assert!(said.contains("--force"), "{said}");
    let small = scratch.path("small.img");
    let said = fails(3, mkfs(&["--size", "2M", &tree, &small]));
    assert!(said.contains("does not fit") && !Path::new(&small).exists(), "{said}");
    fs::File::create(&small).unwrap().set_len(2 << 20).unwrap();
    fails(3, mkfs(&[&tree, &small]));
    assert_eq!(fs::metadata(&small).unwrap().len(), 2 << 20);
    fails(2, ordo(["mkfs", "--owner", "0:0", &scratch.path("no.img")]));
    let bad = command(["mkfs", "-d", &tree, &scratch.path("no.img")]).env("SOURCE_DATE_EPOCH", "soon").output();
    assert!(fails(2, bad.unwrap()).contains("SOURCE_DATE_EPOCH"));
}

#[test]
fn a_signal_ends_the_wait_for_an_archive_and_leaves_no_image() {
    let scratch = Scratch::new();
    let image = scratch.path("v.img");
    let mut child = command(["mkfs", "-q", "-d", "-", &image]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.as_mut().unwrap();
    sleep(500);
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let mut waits = 0;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        waits += 1;
        assert!(waits < 1000, "still waits");
        sleep(20);
    };
    assert!(kill.success() && status.signal() == Some(2) && !Path::new(&image).exists(), "{status:?}");
}

/// Ends the swapping, also when the test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The owner of a part of the tree exchanges names while it is packed: a directory with a link to one outside, a file
/// with a pipe.
#[test]
fn a_tree_whose_names_are_swapped_while_it_is_packed_gives_nothing_from_outside_and_nothing_waits() {
    const SECRET: &[u8] = b"what only root may read";
    let scratch = Scratch::new();
    let (tree, image) = (scratch.path("tree"), scratch.path("v.img"));
    let at = |name: &str| format!("{tree}/{name}");
    for dir in [at("dir"), scratch.path("outside")] {
        fs::create_dir_all(dir).unwrap();
    }
    fs::write(at("dir/f"), vec![b'x'; SECRET.len()]).unwrap();
    fs::write(scratch.path("outside/f"), SECRET).unwrap();
    symlink(scratch.path("outside"), at("link")).unwrap();
    fs::write(at("file"), "contents").unwrap();
    let pipe = (rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600));
    rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), pipe.0, pipe.1, 0).unwrap();
    // Something to do between the walk and the reading.
    fs::write(at("a"), vec![1; 4 << 20]).unwrap();
    let (over, swaps) = (AtomicBool::new(false), AtomicU64::new(0));
    let (mut made, mut refused) = (0, 0);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                for (one, other) in [("dir", "link"), ("file", "pipe")] {
                    let flags = rustix::fs::RenameFlags::EXCHANGE;
                    let here = rustix::fs::CWD;
                    rustix::fs::renameat_with(here, at(one), here, at(other), flags).unwrap();
                }
                // Sometimes it is the walk that meets the change, and sometimes what comes after.
                sleep(swaps.fetch_add(1, Ordering::Relaxed) % 7);
            }
        });
        let _over = Over(&over);
        for _ in 0..30 {
            let mut child = command(["mkfs", "-q", "-d", &tree, &image]).stderr(Stdio::null()).spawn().unwrap();
            let mut tries = 0;
            let status = loop {
                match child.try_wait().unwrap() {
                    Some(status) => break status.code(),
                    None if tries == 3000 => {
                        let _ = child.kill();
                        break None;
                    }
                    None => sleep(20),
                }
                tries += 1;
            };
            match status {
                Some(0) => {
                    made += 1;
                    let bytes = fs::read(&image).unwrap();
                    assert!(!bytes.windows(SECRET.len()).any(|window| window == SECRET));
                    fs::remove_file(&image).unwrap();
                }
                Some(3) => refused += 1,
                other => panic!("mkfs -d hangs, or ends by {other:?}"),
            }
        }
    });
    eprintln!("{made} made, {refused} refused");
}
