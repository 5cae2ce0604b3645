//! Archives in all their forms: numbers that others wrote, entries that cannot be understood, and what hangs on a file
//! beside its inode, to and from GNU tar and bsdtar.

use crate::common::{Scratch, fails, ok, ordo};
use std::fs;
use std::process::Command;

/// A header of POSIX, with these fields replaced.
fn header(name: &[u8], kind: u8, size: usize, fields: &[(usize, &[u8])]) -> Vec<u8> {
    let mut h = vec![0; 512];
    h[..name.len()].copy_from_slice(name);
    for (at, text) in [(100, "0000644"), (108, "0000000"), (116, "0000000"), (136, "14000000000"), (257, "ustar\x0000")]
    {
        h[at..at + text.len()].copy_from_slice(text.as_bytes());
    }
    h[124..135].copy_from_slice(format!("{size:011o}").as_bytes());
    (h[156], h[329], h[337]) = (kind, b'1', b'1');
    for (at, bytes) in fields {
        h[*at..at + bytes.len()].copy_from_slice(bytes);
    }
    h[148..156].copy_from_slice(b"        ");
    let sum: u32 = h.iter().map(|&b| u32::from(b)).sum();
    h[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    h
}

/// A PAX header with these records.
fn pax(records: &[(&str, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (key, value) in records {
        let rest = [b" ", key.as_bytes(), b"=", *value, b"\n"].concat();
        let len = (rest.len()..).find(|len| len.to_string().len() + rest.len() == *len).unwrap();
        body.extend_from_slice(len.to_string().as_bytes());
        body.extend_from_slice(&rest);
    }
    let mut all = header(b"PaxHeaders/x", b'x', body.len(), &[]);
    body.resize(body.len().next_multiple_of(512), 0);
    all.append(&mut body);
    all
}

/// Unpacks an archive of `one`, the bytes of `bad`, and `rest` into a new volume; its files, and what was said.
fn unpacked(scratch: &Scratch, bad: &[u8]) -> (Vec<String>, String, i32) {
    let (archive, image) = (scratch.path("x.tar"), scratch.path("x.img"));
    let whole = [&header(b"one", b'0', 0, &[])[..], bad, &header(b"rest", b'0', 0, &[]), &[0; 1024]].concat();
    fs::write(&archive, whole).unwrap();
    ok(ordo(["mkfs", "-q", "--force", "--size", "16M", &image]));
    let ran = ordo(["tar", "x", &format!("{image}:/"), &archive]);
    let names = ok(ordo(["ls", &format!("{image}:/")])).lines().map(str::to_owned).collect();
    ok(ordo(["fsck", "-n", "-f", &image]));
    (names, String::from_utf8(ran.stderr).unwrap(), ran.status.code().unwrap())
}

#[test]
fn an_entry_that_is_left_out_is_said_and_ends_nothing() {
    let scratch = Scratch::new();
    let bad = |fields: &[(usize, &[u8])]| header(b"bad", b'0', 0, fields);
    let said_by = |records: &[(&str, &[u8])]| [pax(records), header(b"bad", b'0', 0, &[])].concat();
    let minus = [255, 255, 255, 255, 255, 255, 255, 254];
    let cases: [(&str, Vec<u8>); 14] = [
        ("uid", bad(&[(108, b"1234567x")])),
        ("uid below zero", bad(&[(108, &minus)])),
        ("mtime", bad(&[(136, b"9999")])),
        ("mode", bad(&[(100, b"rw-r--r-")])),
        ("device", header(b"bad", b'3', 0, &[(329, b"xyz")])),
        ("type", header(b"bad", b'Q', 0, &[])),
        ("pax size", said_by(&[("size", b"18446744073709551616")])),
        ("pax size below zero", said_by(&[("size", b"-1")])),
        ("pax uid", said_by(&[("uid", b"-5")])),
        ("pax gid", said_by(&[("gid", b"x")])),
        ("pax mtime", said_by(&[("mtime", b"now")])),
        ("map", said_by(&[("GNU.sparse.major", b"1"), ("GNU.sparse.minor", b"0"), ("GNU.sparse.realsize", b"-1")])),
        ("the directory itself", header(b".", b'0', 0, &[])),
        ("no name", header(b"", b'0', 0, &[])),
    ];
    for (what, bytes) in cases {
        let (names, said, status) = unpacked(&scratch, &bytes);
        assert_eq!(names, [".snap", "one", "rest"], "{what}: {said}");
        assert!(status == 3 && said.lines().count() == 1, "{what}: {status} {said}");
        let root = ok(ordo(["stat", &format!("{}:/", scratch.path("x.img"))]));
        assert!(root.contains("0755"), "{what}: {root}");
    }
}

#[test]
fn fields_of_nothing_are_zero_and_times_before_1970_are_times() {
    let scratch = Scratch::new();
    for at in [(100, 8), (108, 8), (116, 8), (136, 12)] {
        for with in [b'\0', b' '] {
            let bytes = header(b"bad", b'0', 0, &[(at.0, &vec![with; at.1])]);
            let (names, said, status) = unpacked(&scratch, &bytes);
            assert!(names.contains(&"bad".to_owned()) && status == 0, "{at:?}: {said}");
        }
    }
    let old = [255, 255, 255, 255, 255, 255, 255, 255, 0xed, 0xfc, 0xc6, 0x80];
    unpacked(&scratch, &header(b"bad", b'0', 0, &[(136, &old)]));
    assert!(ok(ordo(["stat", "--json", &format!("{}:/bad", scratch.path("x.img"))])).contains("-302201216"));
}

/// Whether a program is there; if not, the test is not passed but said to be left out.
fn has(program: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok_and(|ran| ran.status.success());
    if !there {
        eprintln!("not tested: no {program}");
    }
    there
}

const LIST: &str = "u:1234:rw,g::r,g:77:x,m::rx";

/// A volume with lists, attributes and flags; its places that are compared.
fn with_all(scratch: &Scratch, image: &str) {
    let tree = scratch.path("tree");
    fs::create_dir_all(format!("{tree}/d/sub")).unwrap();
    fs::write(format!("{tree}/f"), "x").unwrap();
    fs::write(format!("{tree}/d/g"), "y").unwrap();
    ok(ordo(["mkfs", "-q", "--force", "-o", "acls=posix", "-d", &tree, "--size", "16M", image]));
    let at = |path: &str| format!("{image}:/{path}");
    ok(ordo(["chmod", "640", &at("f")]));
    ok(ordo(["setfacl", "-m", LIST, &at("f")]));
    ok(ordo(["setfacl", "-m", "d:u:5:rwx,d:g::r,d:m::rx", &at("d")]));
    for (name, value) in [("user.k", "v"), ("trusted.t", "w"), ("security.foo", "z"), ("user.odd=50%", "=")] {
        ok(ordo(["setfattr", "-n", name, "-v", value, &at("f")]));
    }
    ok(ordo(["setfattr", "-n", "trusted.d", "-v", "w", &at("d")]));
}

/// What is kept of a volume, as text.
fn state(image: &str) -> String {
    let run = |arguments: &[&str]| ok(ordo(arguments));
    let mut all = String::new();
    for path in ["f", "d", "d/sub", "d/g"] {
        let at = format!("{image}:/{path}");
        all += &run(&["getfacl", "-n", &at]).replace(image, "IMAGE");
        all += &run(&["getfattr", "-d", "-m", "-", &at]).replace(image, "IMAGE");
        let stat = run(&["stat", "--json", &at]);
        let stat: serde_json::Value = serde_json::from_str(&stat).unwrap();
        all += &format!("{} {}\n", stat["mode"], stat["flags"]);
    }
    all
}

#[test]
fn lists_attributes_and_flags_go_through_archives_and_are_counted_where_they_cannot() {
    let scratch = Scratch::new();
    let (from, to, archive) = (scratch.path("from.img"), scratch.path("to.img"), scratch.path("a.tar"));
    with_all(&scratch, &from);
    let before = state(&from);
    assert!(before.contains("user:1234:rw-") && before.contains("trusted.t"), "{before}");
    ok(ordo(["tar", "c", &format!("{from}:/"), &archive]));
    ok(ordo(["mkfs", "-q", "--size", "16M", "-o", "acls=posix", &to]));
    ok(ordo(["tar", "x", &format!("{to}:/"), &archive]));
    assert_eq!(state(&to), before);
    ok(ordo(["mkfs", "-q", "--force", "--size", "16M", "-o", "acls=posix", "-d", &archive, &to]));
    assert_eq!(state(&to), before);
    // Where they cannot be kept it is said, and the group does not get the mask (r-x), but what it had: r--.
    for (arguments, lists, attributes) in
        [(&["--type", "ufs2"][..], true, false), (&["--type", "ufs1"], true, true), (&["--type", "lfs"], true, true)]
    {
        ok(ordo([&["mkfs", "-q", "--force", "--size", "16M"], arguments, &[&to]].concat()));
        let first = fails(3, ordo(["tar", "x", &format!("{to}:/"), &archive]));
        let mode = |to: &str| ok(ordo(["stat", &format!("{to}:/f")])).contains("0640");
        assert!(mode(&to), "{}", ok(ordo(["stat", &format!("{to}:/f")])));
        let all = [&["mkfs", "-q", "--force", "--size", "16M"], arguments, &["-d", &archive, &to]].concat();
        let second = fails(3, ordo(all));
        assert!(mode(&to));
        for said in [first, second] {
            assert_eq!(said.lines().count(), 1, "{said}");
            assert_eq!(said.contains("2 access control lists"), lists, "{said}");
            assert_eq!(said.contains("5 extended attributes"), attributes, "{said}");
        }
    }
}

#[test]
fn file_flags_go_through_archives_and_forbid_nothing_before_the_end() {
    let scratch = Scratch::new();
    let (image, out) = (scratch.path("x.img"), scratch.path("out.tar"));
    let dir = [pax(&[("SCHILY.fflags", b"schg,nodump")]), header(b"dir/", b'5', 0, &[])].concat();
    let file = [pax(&[("SCHILY.fflags", b"uchg,odd")]), header(b"dir/f", b'0', 0, &[])].concat();
    let link = header(b"dir/hard", b'1', 0, &[(157, b"dir/f")]);
    let (_, said, status) = unpacked(&scratch, &[dir, file, link].concat());
    assert!(status == 3 && said.lines().count() == 1 && said.contains("odd"), "{said}");
    let flags = |path: &str| ok(ordo(["stat", &format!("{image}:/{path}")]));
    assert!(flags("dir").contains("Flags: nodump,schg") || flags("dir").contains("schg"), "{}", flags("dir"));
    assert!(flags("dir/hard").contains("uchg"), "{}", flags("dir/hard"));
    ok(ordo(["tar", "c", &format!("{image}:/"), &out]));
    let again = scratch.path("again.img");
    ok(ordo(["mkfs", "-q", "-d", &out, &again]));
    assert!(ok(ordo(["stat", &format!("{again}:/dir")])).contains("schg"));
}

#[test]
fn gnu_tar_and_bsdtar_give_and_take_the_same() {
    let scratch = Scratch::new();
    let (from, archive) = (scratch.path("from.img"), scratch.path("a.tar"));
    if !rustix::process::geteuid().is_root() || !has("tar") || !has("getfacl") || !has("getfattr") {
        eprintln!("not tested: needs root, tar, acl and attr");
        return;
    }
    with_all(&scratch, &from);
    ok(ordo(["tar", "c", &format!("{from}:/"), &archive]));
    let run = |program: &str, arguments: &[&str]| {
        let ran = Command::new(program).args(arguments).output().unwrap();
        assert!(ran.status.success(), "{program} {arguments:?}: {ran:?}");
        String::from_utf8(ran.stdout).unwrap()
    };
    let readers: [(&str, &[&str]); 2] =
        [("tar", &["--acls", "--xattrs", "--xattrs-include=*", "-xpf"]), ("bsdtar", &["--acls", "--xattrs", "-xpf"])];
    for (program, arguments) in readers.into_iter().filter(|(program, _)| has(program)) {
        let out = scratch.path(program);
        fs::create_dir(&out).unwrap();
        run(program, &[arguments, &[&archive, "-C", &out]].concat());
        let list = run("getfacl", &["-np", "--absolute-names", &format!("{out}/f")]);
        for line in ["user::rw-", "user:1234:rw-", "group::r--", "group:77:--x", "mask::r-x", "other::---"] {
            assert!(list.lines().any(|said| said.starts_with(line)), "{program}: {line}: {list}");
        }
        let list = run("getfacl", &["-np", "--absolute-names", &format!("{out}/d")]);
        assert!(list.contains("default:user:5:rwx") && list.contains("default:mask::r-x"), "{program}: {list}");
        let attributes = run("getfattr", &["-d", "-m", "-", "--absolute-names", &format!("{out}/f")]);
        for line in ["trusted.t=\"w\"", "user.k=\"v\"", "user.odd=50%"] {
            assert!(attributes.contains(line), "{program}: {line}: {attributes}");
        }
        // And back: packed by them, and from the directory itself.
        let (back, volume) = (scratch.path("back.tar"), scratch.path("back.img"));
        let pack: &[&str] = match program {
            "tar" => &["--format=pax", "--acls", "--xattrs", "--xattrs-include=*", "-cf"],
            _ => &["--format", "pax", "--acls", "--xattrs", "-cf"],
        };
        run(program, &[pack, &[&back, "-C", &out, "."]].concat());
        for source in [&back, &out] {
            let mkfs = ["mkfs", "-q", "--force", "--size", "16M", "-o", "acls=posix", "-d", source, &volume];
            ok(ordo(mkfs));
            assert_eq!(state(&volume), state(&from), "{program}, from {source}");
        }
    }
}
