//! Extended attributes and access control lists of mounts: what is kept, and under which names.

use crate::common::{Scratch, fails, ok, ordo};
use crate::mounting::{Place, can_mount};
use rustix::fs::{XattrFlags, getxattr, listxattr, removexattr, setxattr};
use std::fs;
use std::process::Command;

fn get(path: &str, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 4096];
    let len = getxattr(path, name, &mut value[..]).ok()?;
    value.truncate(len);
    Some(value)
}

fn names(path: &str) -> Vec<String> {
    let mut bytes = vec![0u8; 4096];
    let len = listxattr(path, &mut bytes[..]).unwrap();
    let mut names: Vec<String> =
        bytes[..len].split(|b| *b == 0).filter(|n| !n.is_empty()).map(|n| String::from_utf8_lossy(n).into()).collect();
    names.sort();
    names
}

/// Entries of owner, a user, group, mask and others, in Linux's format.
fn list() -> Vec<u8> {
    let mut value = 2u32.to_le_bytes().to_vec();
    for (tag, perm, id) in [(1u16, 6u16, !0u32), (2, 6, 65534), (4, 4, !0), (16, 6, !0), (32, 0, !0)] {
        value.extend([&tag.to_le_bytes()[..], &perm.to_le_bytes(), &id.to_le_bytes()].concat());
    }
    value
}

#[test]
fn each_attribute_keeps_its_one_name_across_mounts() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place) = (scratch.volume(), Place::new(&scratch));
    let all = ["security.capability", "security.x", "trusted.freebsd.system.mine", "trusted.overlay.opaque", "user.u"];
    ok(ordo(["mount", &image, &place.0]));
    let file = place.at("f");
    fs::write(&file, "x").unwrap();
    // Version 2, cap_net_raw in the permitted set.
    let capability = [0u8, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    for name in all {
        setxattr(&file, name, &capability, XattrFlags::empty()).unwrap();
    }
    for wrong in ["trusted.freebsd.system.security.x", "system.nfs4_acl", "other.x", "security."] {
        assert!(setxattr(&file, wrong, b"1", XattrFlags::empty()).is_err(), "{wrong}");
    }
    ok(ordo(["umount", &place.0]));
    ok(ordo(["mount", &image, &place.0]));
    assert_eq!(names(&file), all);
    all.iter().for_each(|name| assert_eq!(get(&file, name).as_deref(), Some(&capability[..]), "{name}"));
    // What is written loses its capabilities, as on other systems.
    fs::write(&file, "y").unwrap();
    assert_eq!(get(&file, "security.capability"), None);
    removexattr(&file, "trusted.overlay.opaque").unwrap();
    ok(ordo(["umount", &place.0]));
    ok(ordo(["fsck", "-n", &image]));
}

#[test]
fn lists_apply_once_they_are_switched_on() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place) = (scratch.volume(), Place::new(&scratch));
    let set = |on: bool| {
        ok(ordo(["mount", &image, &place.0]));
        fs::write(place.at("f"), "x").unwrap();
        let outcome = setxattr(place.at("f"), "system.posix_acl_access", &list(), XattrFlags::empty());
        assert_eq!(outcome.is_ok(), on);
        ok(ordo(["umount", &place.0]));
    };
    set(false);
    assert_eq!(ok(ordo(["tune", "-o", "acls=posix", &image])), "acls: posix (was: off)\n");
    set(true);
    ok(ordo(["mount", &image, &place.0]));
    assert_eq!(get(&place.at("f"), "system.posix_acl_access"), Some(list()));
    ok(ordo(["umount", &place.0]));
    ok(ordo(["fsck", "-n", &image]));
    // NFSv4's are not obeyed here: such a volume is only read, and can be taken back.
    assert_eq!(ok(ordo(["tune", "-o", "acls=nfs4", &image])), "acls: nfs4 (was: posix)\n");
    fails(3, ordo(["mkdir", &format!("{image}:/d")]));
    assert_eq!(ok(ordo(["tune", "-o", "acls=off", &image])), "acls: off (was: nfs4)\n");
    ok(ordo(["mkdir", &format!("{image}:/d")]));
    let old = scratch.path("old.img");
    ok(ordo(["mkfs", "-q", "--type", "ufs1", "--size", "16M", &old]));
    assert!(fails(3, ordo(["tune", "-o", "acls=posix", &old])).contains("UFS1"));
}

#[test]
fn overlayfs_takes_a_mount_as_its_upper_layer() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place) = (scratch.volume(), Place::new(&scratch));
    ok(ordo(["mount", &image, &place.0]));
    for dir in ["lower", "lower/d", "upper", "work", "both"] {
        fs::create_dir(place.at(dir)).unwrap();
    }
    ["lower/a", "lower/b", "lower/d/f"].iter().for_each(|file| fs::write(place.at(file), "low").unwrap());
    let options = format!("lowerdir={},upperdir={},workdir={}", place.at("lower"), place.at("upper"), place.at("work"));
    let mounted = Command::new("mount").args(["-t", "overlay", "-o", &options, "overlay", &place.at("both")]).output();
    let mounted = mounted.unwrap();
    if !mounted.status.success() && !fs::read_to_string("/proc/filesystems").unwrap().contains("overlay") {
        eprintln!("skipped: the kernel has no overlayfs");
        return;
    }
    assert!(mounted.status.success(), "{mounted:?}");
    let both = Place(place.at("both"));
    fs::rename(both.at("a"), both.at("c")).unwrap();
    fs::remove_file(both.at("b")).unwrap();
    fs::remove_dir_all(both.at("d")).unwrap();
    fs::create_dir(both.at("d")).unwrap();
    let mut left: Vec<_> = fs::read_dir(&both.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!((left, fs::read_to_string(both.at("c")).unwrap()), (vec!["c".into(), "d".into()], "low".to_owned()));
    assert_eq!(fs::read_dir(both.at("d")).unwrap().count(), 0);
    drop(both);
    // Nothing is left of the names that whiteouts have first.
    let mut upper: Vec<_> = fs::read_dir(place.at("upper")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    upper.sort();
    assert_eq!(upper, ["a", "b", "c", "d"]);
    ok(ordo(["umount", &place.0]));
    ok(ordo(["fsck", "-n", &image]));
}
