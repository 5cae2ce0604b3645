//! What a volume keeps of how it is to be mounted; and that no door gives rot where the map of an active journal tells
//! it.

use crate::common::{Scratch, fails, ok, ordo};
use crate::mounting::{Place, can_mount};
use crate::served_nbd::Server;
use std::fs;
use std::os::unix::fs::FileExt;

fn info(image: &str) -> serde_json::Value {
    serde_json::from_str(&ok(ordo(["info", "--json", image]))).unwrap()
}

fn scheme(image: &str) -> (String, bool) {
    let info = info(image);
    (info["scheme"].as_str().unwrap().to_owned(), info["scheme_chosen"].as_bool().unwrap())
}

#[test]
fn a_chosen_scheme_is_that_of_every_opening_that_names_none() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let chosen = |name: &str| (name.to_owned(), true);
    let of_flags = ("softupdates".to_owned(), false);
    assert_eq!(scheme(&image), of_flags);
    assert!(fails(2, ordo(["tune", "-o", "scheme=best", &image])).contains("no scheme is called"));
    assert!(
        fails(3, ordo(["tune", "-o", "scheme=wafs", &image])).contains("wafs keeps a log, and the volume has none")
    );
    assert_eq!(scheme(&image), of_flags);
    let told = ok(ordo(["tune", "-o", "log=on,scheme=wafs", &image]));
    assert!(told.contains("scheme: wafs (was: softupdates)"), "{told}");
    assert_eq!(scheme(&image), chosen("wafs"));
    fs::write(scratch.path("motd"), "hello").unwrap();
    ok(ordo(["cp", &scratch.path("motd"), &format!("{image}:/motd")]));
    assert_eq!(info(&image)["kept_by"], "wafs");
    ok(ordo(["tune", "-o", "label=home", &image]));
    assert_eq!(scheme(&image), chosen("wafs"));
    let told = ok(ordo(["tune", "-o", "log=off", &image]));
    assert!(told.contains("scheme: softupdates (was: wafs)"), "{told}");
    // A command that asks for both changes nothing.
    ok(ordo(["tune", "-o", "log=on", &image]));
    assert!(fails(3, ordo(["tune", "-o", "scheme=wafs,log=off", &image])).contains("wafs keeps a log"));
    assert!(ok(ordo(["ls", &format!("{image}:/")])).contains(".ordofs-log"));
    ok(ordo(["tune", "-o", "log=off", &image]));
    ok(ordo(["tune", "-o", "journal=on,scheme=suj", &image]));
    assert_eq!(scheme(&image), chosen("suj"));
    ok(ordo(["tune", "-o", "journal=off", &image]));
    assert_eq!(scheme(&image), of_flags);
    ok(ordo(["touch", &format!("{image}:/after")]));
    ok(ordo(["tune", "-o", "scheme=sync", &image]));
    assert_eq!(scheme(&image), chosen("sync"));
    ok(ordo(["tune", "-o", "scheme=default", &image]));
    assert_eq!(scheme(&image), of_flags);
    ok(ordo(["tune", "-o", "active=on", &image]));
    assert_eq!(scheme(&image), chosen("active"));
    assert!(ok(ordo(["info", &image])).contains("active, chosen for this volume, unless a mount names another"));
    ok(ordo(["tune", "-o", "active=off", &image]));
    assert_eq!(scheme(&image), of_flags);
    ok(ordo(["fsck", "-n", "-f", &image]));
}

/// Where the blocks of a file lie: home, then the copies.
fn places(image: &str, path: &str) -> Vec<Vec<u64>> {
    let place = format!("{image}:{path}");
    let said: serde_json::Value = serde_json::from_str(&ok(ordo(["stat", "--copies", "--json", &place]))).unwrap();
    let rows = said[0]["copies"].as_array().unwrap().clone();
    rows.iter().map(|row| row["at"].as_array().unwrap().iter().map(|at| at.as_u64().unwrap()).collect()).collect()
}

/// Changes some bits, and changes them back.
fn rot(image: &str, at: u64) {
    let file = fs::OpenOptions::new().read(true).write(true).open(image).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x55], at).unwrap();
}

#[test]
fn every_door_heals_rot_or_refuses_it() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let text = "what was there before the journal\n".repeat(4000);
    fs::write(scratch.path("text"), &text).unwrap();
    ok(ordo(["mkdir", &format!("{image}:/d")]));
    ok(ordo(["cp", &scratch.path("text"), &format!("{image}:/d/old")]));
    ok(ordo(["tune", "-o", "active=on", &image]));
    let adopted = ok(ordo(["scrub", "--adopt", &image]));
    assert!(adopted.contains("fragments adopted\n"), "{adopted}");
    ok(ordo(["touch", &format!("{image}:/d/new")]));
    // A name in a directory, which a transaction has written: home and copy.
    let directory = places(&image, "/d")[0].clone();
    assert_eq!(directory.len(), 2, "{directory:?}");
    // The name of the third entry, which each door finds wrong at home.
    let at = directory[0] + 24 + 8;
    // A transaction writes the directory again: it has a copy then.
    let spoil = || {
        ok(ordo(["touch", &format!("{image}:/d/new")]));
        fs::OpenOptions::new().write(true).open(&image).unwrap().write_all_at(b"X", at).unwrap();
    };
    let home = scratch.path("d.tar");
    spoil();
    let listed = ok(ordo(["ls", &format!("{image}:/d")]));
    let found = ok(ordo(["find", &format!("{image}:/d")]));
    ok(ordo(["tar", "c", &format!("{image}:/d"), &home]));
    let packed = String::from_utf8_lossy(&fs::read(&home).unwrap()).into_owned();
    for door in [listed, found, packed] {
        assert!(door.contains("new") && door.contains("old"), "{door}");
    }
    assert_eq!(ok(ordo(["cat", &format!("{image}:/d/old")])), text);
    ok(ordo(["fsck", "-n", "-f", &image]));
    // Who serves the whole disk, until somebody writes there.
    let server = Server::start(&scratch, &[&image]);
    assert_eq!(server.client().read(directory[0], 512).unwrap()[32..35], *b"old");
    server.stop();
    // The libraries of Rust, C and Python, a server of NFS, and a mount: what they read is healed if they may write.
    let volume = ordofs::Volume::open(&image).unwrap().mount().unwrap();
    assert!(volume.metadata("/d/old").is_ok());
    volume.unmount().unwrap();
    if can_mount() {
        let place = Place::new(&scratch);
        for options in ["ro", "rw"] {
            spoil();
            ok(ordo(["mount", "-o", options, &image, &place.0]));
            assert!(fs::read(place.at("d/old")).unwrap() == text.as_bytes());
            ok(ordo(["umount", &place.0]));
        }
        // Another scheme must be named; one that only reads leaves the map, and gives what is there.
        spoil();
        ok(ordo(["mount", "-o", "ro,scheme=softupdates", &image, &place.0]));
        assert!(!fs::exists(place.at("d/old")).unwrap());
        ok(ordo(["umount", &place.0]));
        ok(ordo(["ls", &format!("{image}:/d")]));
    }
    // A scrub mends the home.
    spoil();
    let scrubbed = ok(ordo(["scrub", &image]));
    assert!(scrubbed.contains(" 1 healed"), "{scrubbed}");
    // Contents that were adopted have no copy: an error, at every door.
    let contents = places(&image, "/d/old")[0].clone();
    assert_eq!(contents.len(), 1);
    rot(&image, contents[0] + 1000);
    let old = format!("{image}:/d/old");
    assert!(fails(3, ordo(["cat", &old])).contains("not those that were written"));
    fails(3, ordo(["cp", &old, &scratch.path("copy")]));
    fails(3, ordo(["tar", "c", &format!("{image}:/d"), &home]));
    let server = Server::start(&scratch, &["--read-only", &image]);
    assert!(server.client().read(contents[0], 4096).is_err());
    server.stop();
    assert!(ordo(["scrub", &image]).status.code() == Some(4));
    rot(&image, contents[0] + 1000);
    assert_eq!(ok(ordo(["cat", &old])), text);
    ok(ordo(["touch", &format!("{image}:/d/new")]));
    let directory = places(&image, "/d")[0].clone();
    // Home and copy of a directory: what nobody can read, fsck finds; it gives up the map.
    directory.iter().for_each(|place| rot(&image, place + 24 + 8));
    let said = ordo(["fsck", "-n", "-f", &image]);
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.contains("the map of the active journal"), "{said}");
    assert_eq!(ordo(["fsck", "-y", &image]).status.code(), Some(1));
    ok(ordo(["fsck", "-n", "-f", &image]));
    ok(ordo(["ls", &format!("{image}:/d")]));
}
