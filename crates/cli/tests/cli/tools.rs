//! The tools for files inside an image that have names of their own on Linux: attributes, lists, patterns, owners.

use crate::common::{Scratch, fails, ok, ordo};

fn at(image: &str, path: &str) -> String {
    format!("{image}:{path}")
}

#[test]
fn attributes_are_set_shown_and_removed() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let (file, link) = (at(&image, "/f"), at(&image, "/l"));
    ok(ordo(["touch", &file]));
    ok(ordo(["ln", "-s", "f", &link]));
    ok(ordo(["setfattr", "-n", "user.from", "-v", "the \"old\" disk", &link]));
    ok(ordo(["setfattr", "-n", "security.raw", "-v", "0x0001ff", &file]));
    assert_eq!(ok(ordo(["getfattr", &file])), "# file: /f\nuser.from\n\n");
    let all = "# file: /f\nsecurity.raw=0x0001ff\nuser.from=\"the \\\"old\\\" disk\"\n\n";
    assert_eq!(ok(ordo(["getfattr", "-d", "-m", "-", &file])), all);
    assert_eq!(ok(ordo(["getfattr", "-n", "user.from", "--only-values", &file])), "the \"old\" disk");
    ok(ordo(["setfattr", "-x", "user.from", &file]));
    fails(1, ordo(["getfattr", "-n", "user.from", &file]));
    fails(3, ordo(["setfattr", "-x", "user.from", &file]));
    fails(2, ordo(["setfattr", "-n", "user.a", "-v", "0x123", &file]));
    ok(ordo(["fsck", "-n", &image]));
}

#[test]
fn lists_are_set_shown_and_restored() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let passwd = scratch.path("passwd");
    std::fs::write(&passwd, "root:*:0:0::/:\nann:*:1001:1001::/:\n").unwrap();
    ok(ordo(["mkdir", &at(&image, "/etc")]));
    ok(ordo(["cp", &passwd, &at(&image, "/etc/passwd")]));
    ok(ordo(["mkdir", &at(&image, "/d")]));
    let dir = at(&image, "/d");
    ok(ordo(["chmod", "2750", &dir]));
    ok(ordo(["setfacl", "-m", "u:ann:rwx,g:7:r,d:u:ann:rw", &dir]));
    let shown = ok(ordo(["getfacl", &dir]));
    let right = "# file: /d\n# owner: root\n# group: wheel\n# flags: -s-\nuser::rwx\nuser:ann:rwx\ngroup::r-x\n\
        group:7:r--\nmask::rwx\nother::---\ndefault:user::rwx\ndefault:user:ann:rw-\ndefault:group::r-x\n\
        default:mask::rwx\ndefault:other::---\n\n";
    // The image has no /etc/group: the name of 0 is the host's.
    assert_eq!(shown.replace("# group: root", "# group: wheel").replace("group:lp:", "group:7:"), right);
    let lists = scratch.path("lists");
    std::fs::write(&lists, ok(ordo(["getfacl", "-n", &dir]))).unwrap();
    ok(ordo(["setfacl", "-b", &dir]));
    let bare = ok(ordo(["getfacl", "-n", &dir]));
    assert!(!bare.contains("default") && !bare.contains("mask") && bare.contains("group::r-x"), "{bare}");
    ok(ordo(["setfacl", "--restore", &lists, &image]));
    assert_eq!(ok(ordo(["getfacl", &dir])), shown);
    // What getfacl has not printed changes nothing, wherever it is.
    let right = std::fs::read_to_string(&lists).unwrap();
    ok(ordo(["setfacl", "-b", &dir]));
    let bare = ok(ordo(["getfacl", "-n", &dir]));
    let next = right.lines().count() + 1;
    for (nonsense, line) in [
        ("nonsense\n".to_owned(), 1),
        (format!("{right}user::rwx\n"), next),
        (format!("{right}# file: /d\nuser::rwz\n"), next + 1),
    ] {
        std::fs::write(&lists, nonsense).unwrap();
        let said = fails(2, ordo(["setfacl", "--restore", &lists, &image]));
        assert!(said.contains(&format!("lists:{line}: ")), "{said}");
        assert_eq!(ok(ordo(["getfacl", "-n", &dir])), bare);
    }
    std::fs::write(&lists, &right).unwrap();
    ok(ordo(["setfacl", "--restore", &lists, &image]));
    assert_eq!(ok(ordo(["getfacl", &dir])), shown);
    // Of any name.
    let odd = at(&image, "/odd\n\\name");
    ok(ordo(["mkdir", &odd]));
    ok(ordo(["setfacl", "-m", "u:7:rwx", &odd]));
    let lines = ok(ordo(["getfacl", "-n", &odd]));
    std::fs::write(&lists, &lines).unwrap();
    ok(ordo(["setfacl", "-b", &odd]));
    ok(ordo(["setfacl", "--restore", &lists, &image]));
    assert_eq!(ok(ordo(["getfacl", "-n", &odd])), lines);
    ok(ordo(["setfacl", "-x", "u:ann,d:u:ann", &dir]));
    assert!(!ok(ordo(["getfacl", &dir])).contains("ann"));
    fails(2, ordo(["setfacl", "-m", "u:ann:q", &dir]));
    fails(3, ordo(["setfacl", "-m", "d:u:ann:r", &at(&image, "/etc/passwd")]));
    ok(ordo(["fsck", "-n", &image]));
}

#[test]
fn a_pattern_names_what_matches_and_a_literal_name_wins() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let names = ["a.conf", "b.conf", ".c.conf", "x"].map(|name| at(&image, &format!("/{name}")));
    ok(ordo(["touch"].into_iter().chain(names.iter().map(String::as_str))));
    let literal = scratch.path("literal");
    std::fs::write(&literal, "").unwrap();
    // A target is never a pattern.
    ok(ordo(["cp", &literal, &at(&image, "/[ab].conf")]));
    assert_eq!(ok(ordo(["ls", &at(&image, "/*.conf")])), "/[ab].conf\n/a.conf\n/b.conf\n");
    assert_eq!(ok(ordo(["ls", &at(&image, "/[ab].conf")])), "/[ab].conf\n");
    ok(ordo(["chmod", "600", &at(&image, "/?.conf")]));
    ok(ordo(["mkdir", &at(&image, "/d")]));
    let out = scratch.path("out");
    std::fs::create_dir(&out).unwrap();
    ok(ordo(["cp", &at(&image, "/?.conf"), &out]));
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), 2);
    ok(ordo(["rm", &at(&image, "/?.conf")]));
    assert_eq!(ok(ordo(["find", &at(&image, "/[x[]*")])), "/[ab].conf\n/x\n");
    assert!(fails(3, ordo(["rm", &at(&image, "/*.none")])).contains("no file has a name of this pattern"));
    ok(ordo(["rm", "-f", &at(&image, "/*.none")]));
    fails(3, ordo(["ls", &at(&image, "/*.none")]));
    assert!(fails(3, ordo(["rm", "-r", &at(&image, "/")])).contains("root directory cannot be removed"));
}

#[test]
fn a_long_listing_has_the_names_of_the_image_and_the_time_of_the_host() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    for (name, text) in [("passwd", "ann:*:1001:1001::/:\n"), ("group", "staff:*:20:\n")] {
        let file = scratch.path(name);
        std::fs::write(&file, text).unwrap();
        ok(ordo(["mkdir", "-p", &at(&image, "/etc")]));
        ok(ordo(["cp", &file, &at(&image, "/etc/")]));
    }
    ok(ordo(["touch", "-d", "2001-02-03T04:05:06Z", &at(&image, "/f")]));
    ok(ordo(["chown", "1001:20", &at(&image, "/f")]));
    assert!(ok(ordo(["ls", "-l", "--utc", &at(&image, "/f")])).contains("ann  staff  0  2001-02-03 04:05:06  /f"));
    assert!(ok(ordo(["ls", "-l", "--numeric", &at(&image, "/f")])).contains("1001  20  0"));
    let run = |zone: &str, verb: &[&str]| {
        let mut command = std::process::Command::new(crate::PROGRAM);
        let output = command.args(verb).arg(at(&image, "/f")).env("TZ", zone).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(run("XYZ-5:30", &["ls", "-l"]).contains("2001-02-03 09:35:06"));
    assert!(run("XYZ-5:30", &["stat"]).contains("2001-02-03 09:35:06.000000000 +0530"));
}

#[test]
fn a_volume_gets_another_id() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let id = || {
        let info: serde_json::Value = serde_json::from_str(&ok(ordo(["info", "--json", &image]))).unwrap();
        info["ufsid"].as_str().unwrap().to_owned()
    };
    let before = id();
    ok(ordo(["tune", "-o", "id=random", &image]));
    assert_ne!(id(), before);
    ok(ordo(["tune", "-o", "id=65a1b2c3DEADBEEF", &image]));
    assert_eq!(id(), "65a1b2c3deadbeef");
    ok(ordo(["fsck", "-n", &image]));
}

#[test]
fn messages_say_what_to_do_and_json_is_asked_for_everywhere() {
    let scratch = Scratch::new();
    let none = scratch.path("none.img");
    assert!(fails(2, ordo(["mkfs", &none])).contains("give --size"));
    let said = fails(3, ordo(["mkfs", "--size", "10M", &scratch.path("no/such/x.img")]));
    assert_eq!(said.matches("x.img").count(), 1, "{said}");
    let said = fails(3, ordo(["info", "--json", &none]));
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert!(said["error"].as_str().unwrap().contains("none.img"));
}
