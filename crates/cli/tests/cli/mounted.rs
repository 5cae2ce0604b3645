//! Mount, umount and their helpers, on the built program. Skipped, with a reason, on systems where nothing can be
//! mounted.

use crate::common::{Scratch, command, fails, ok, ordo};
use crate::mounting::{Place, can_mount, is_mounted};
use ordofs::rt::Rt;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

impl Place {
    /// Returns when something is mounted here.
    pub(crate) fn wait(&self) {
        let rt = Rt::real_time();
        for _ in 0..1000 {
            if is_mounted(&self.0) {
                return;
            }
            rt.block_on(rt.sleep(Duration::from_millis(20)));
        }
        panic!("the mount did not come up");
    }
}

/// Without our pipes: a server in the background must not keep them open.
fn run(mut command: Command) -> Output {
    command.stdin(Stdio::null()).output().unwrap()
}

#[test]
fn a_mount_is_usable_when_it_returns_and_the_image_clean_after_umount() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place) = (scratch.volume(), Place::new(&scratch));
    for scheme in ["sync", "async"] {
        ok(ordo(["mount", "-o", &format!("scheme={scheme},nofail,x-systemd.automount"), &image, &place.0]));
        assert!(is_mounted(&place.0));
        fs::write(place.at(scheme), "hello").unwrap();
        let said = fails(3, ordo(["mount", &image, &place.0]));
        assert!(said.contains("in use") && said.lines().count() == 1, "{said}");
        ok(ordo(["umount", &place.0]));
        assert!(!is_mounted(&place.0));
        ok(ordo(["fsck", "-n", &image]));
        assert_eq!(ok(ordo(["cat", &format!("{image}:/{scheme}")])), "hello");
    }
    let info = ok(ordo(["info", &image]));
    assert!(info.contains(&place.0), "{info}");
}

#[test]
fn sync_makes_all_that_was_done_durable_and_wants_a_mount_of_ours() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place) = (scratch.volume(), Place::new(&scratch));
    for way in ["ordo sync", "fsync of the root"] {
        let mut server = Command::new(crate::PROGRAM)
            .args(["mount", "-f", "-o", "commit=3600", &image, &place.0])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        place.wait();
        fs::create_dir(place.at(way)).unwrap();
        fs::write(place.at(way) + "/in it", way).unwrap();
        match way {
            "ordo sync" => drop(ok(ordo(["sync", &place.0]))),
            _ => fs::File::open(&place.0).unwrap().sync_all().unwrap(),
        }
        // What was only in its memory is lost.
        server.kill().unwrap();
        server.wait().unwrap();
        let said = fails(3, ordo(["sync", &place.0]));
        assert!(said.contains("server is gone") && said.lines().count() == 1, "{said}");
        assert!(Command::new("umount").args(["-l", &place.0]).status().unwrap().success());
        assert_eq!(ok(ordo(["cat", &format!("{image}:/{way}/in it")])), way);
        ok(ordo(["mount", &image, &place.0]));
        ok(ordo(["umount", &place.0]));
    }
    let said = fails(3, ordo(["sync", &place.0]));
    assert!(said.contains("not mounted"), "{said}");
    let said = fails(3, ordo(["sync", "/proc"]));
    assert!(said.contains("not an OrdoFS volume"), "{said}");
}

#[test]
fn info_on_a_mounted_image_shows_what_was_written_and_what_the_scheme_has_counted() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place) = (scratch.volume(), Place::new(&scratch));
    ok(ordo(["mount", "-o", "scheme=softupdates", &image, &place.0]));
    fs::write(place.at("f"), "hello").unwrap();
    fs::File::open(place.at("f")).unwrap().sync_all().unwrap();
    let json: serde_json::Value = serde_json::from_str(&ok(ordo(["info", "--json", &image]))).unwrap();
    let text = ok(ordo(["info", &image]));
    ok(ordo(["umount", &place.0]));
    assert_eq!(json["scheme"], "softupdates");
    assert!(json["since_mount"]["writes"].as_u64().unwrap() >= 3, "{json}");
    assert!(json["since_mount"]["flushes"].as_u64().unwrap() > 0, "{json}");
    assert!(json["since_mount"]["flushes_per_second"].as_f64().unwrap() > 0.0, "{json}");
    assert!(
        json["since_mount"]["rollbacks"].is_u64() && json["scheme_counters"]["dependencies_most"].is_u64(),
        "{json}"
    );
    assert!(json["reclaim"]["phase"].is_string(), "{json}");
    for part in ["scheme          softupdates", "flushes per second ", "dependencies most ", "reclaim"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn a_volume_is_mounted_with_soft_updates_and_with_its_journal_where_it_has_one() {
    let scratch = Scratch::new();
    let (image, place) = (scratch.volume(), Place::new(&scratch));
    let scheme = |image: &str| -> serde_json::Value {
        serde_json::from_str::<serde_json::Value>(&ok(ordo(["info", "--json", image]))).unwrap()["scheme"].take()
    };
    for (options, expected) in
        [(None, "softupdates"), (Some("journal=on"), "suj"), (Some("journal=off"), "softupdates")]
    {
        if let Some(options) = options {
            ok(ordo(["tune", "-o", options, &image]));
        }
        assert_eq!(scheme(&image), expected, "{options:?}");
        if !can_mount() {
            continue;
        }
        ok(ordo(["mount", &image, &place.0]));
        assert_eq!(scheme(&image), expected, "mounted, {options:?}");
        fs::write(place.at(expected), "hello").unwrap();
        ok(ordo(["umount", &place.0]));
        ok(ordo(["fsck", "-n", &image]));
    }
    if can_mount() {
        let said = fails(3, ordo(["mount", "-o", "scheme=suj", &image, &place.0]));
        assert!(said.contains("ordo tune -o journal=on"), "{said}");
    }
}

#[test]
fn attributes_that_a_mount_hides_stay_and_access_control_lists_are_not_hidden() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    use rustix::io::Errno;
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place) = (scratch.volume(), Place::new(&scratch));
    let (file, mut value) = (place.at("file"), [0; 8]);
    ok(ordo(["mount", &image, &place.0]));
    fs::write(&file, "x").unwrap();
    setxattr(&file, "user.a", b"kept", XattrFlags::empty()).unwrap();
    ok(ordo(["umount", &place.0]));
    ok(ordo(["mount", "-o", "xattr=off", &image, &place.0]));
    fs::write(&file, "y").unwrap();
    fs::write(place.at("new"), "z").unwrap();
    assert_eq!(getxattr(&file, "user.a", &mut value), Err(Errno::OPNOTSUPP));
    assert_eq!(setxattr(&file, "user.a", b"lost", XattrFlags::empty()), Err(Errno::OPNOTSUPP));
    ok(ordo(["umount", &place.0]));
    ok(ordo(["fsck", "-n", &image]));
    ok(ordo(["mount", &image, &place.0]));
    assert_eq!(getxattr(&file, "user.a", &mut value).map(|len| value[..len].to_vec()), Ok(b"kept".to_vec()));
    assert_eq!(fs::read(&file).unwrap(), b"y");
    ok(ordo(["umount", &place.0]));
    // The flag of access control lists in the superblock, which has no check-hash then.
    ok(ordo(["tune", "-o", "check-hashes=off", &image]));
    const FLAGS: usize = 65536 + 1312;
    let mut bytes = fs::read(&image).unwrap();
    bytes[FLAGS] |= 0x10;
    fs::write(&image, bytes).unwrap();
    let said = fails(3, ordo(["mount", "-o", "xattr=off", &image, &place.0]));
    assert!(said.contains("access control lists"), "{said}");
    assert!(!is_mounted(&place.0));
    ok(ordo(["mount", &image, &place.0]));
    ok(ordo(["umount", &place.0]));
}

#[test]
fn a_mount_that_fails_leaves_a_clean_volume_and_says_why() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let image = scratch.volume();
    let said = fails(3, ordo(["mount", &image, &scratch.path("none")]));
    assert!(said.contains("no such directory") && said.lines().count() == 1, "{said}");
    ok(ordo(["fsck", "-n", &image]));
    assert!(ok(ordo(["info", "--json", &image])).contains("\"clean\": true"));
}

#[test]
fn a_volume_whose_root_is_damaged_is_not_mounted() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place) = (scratch.path("v.img"), Place::new(&scratch));
    ok(ordo(["mkfs", "-q", "--type", "ufs1", "--size", "16M", &image]));
    let mut bytes = fs::read(&image).unwrap();
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    // fs_iblkno and fs_fsize; the root is inode 2 of the first group.
    let root = number(8192 + 16) * number(8192 + 52) + 2 * 128;
    bytes[root..root + 2].copy_from_slice(&0o100_755u16.to_le_bytes());
    fs::write(&image, &bytes).unwrap();
    for options in ["ro", "rw"] {
        let said = fails(3, ordo(["mount", "-o", options, &image, &place.0]));
        assert!(said.contains("root directory") && said.contains("recover"), "{options}: {said}");
        assert!(!is_mounted(&place.0));
    }
}

#[test]
fn a_killed_server_leaves_a_volume_that_is_mounted_read_only_until_it_is_checked() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place) = (scratch.volume(), Place::new(&scratch));
    let mut server = command(["mount", "-f", "-o", "scheme=sync", &image, &place.0]);
    let mut server = server.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    place.wait();
    fs::write(place.at("kept"), "durable").unwrap();
    fs::File::open(place.at("kept")).unwrap().sync_all().unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(Command::new("umount").args(["-l", &place.0]).status().unwrap().success());

    let output = ordo(["mount", &image, &place.0]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("read-only") && said.contains("fsck"), "{said}");
    assert_eq!(fs::read_to_string(place.at("kept")).unwrap(), "durable");
    assert!(fs::write(place.at("new"), "x").is_err());
    ok(ordo(["umount", &place.0]));

    let repaired = ordo(["fsck", "-p", &image]).status.code();
    assert!(matches!(repaired, Some(0 | 1)), "{repaired:?}");
    ok(ordo(["fsck", "-n", &image]));
    ok(ordo(["mount", &image, &place.0]));
    fs::write(place.at("new"), "x").unwrap();
    ok(ordo(["umount", &place.0]));
}

#[test]
fn sigterm_unmounts_and_leaves_a_clean_volume() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place) = (scratch.volume(), Place::new(&scratch));
    let mut server = command(["mount", "-f", &image, &place.0]).spawn().unwrap();
    place.wait();
    fs::write(place.at("x"), "x").unwrap();
    assert!(Command::new("kill").args(["-TERM", &server.id().to_string()]).status().unwrap().success());
    assert!(server.wait().unwrap().success());
    assert!(!is_mounted(&place.0));
    ok(ordo(["fsck", "-n", &image]));
}

#[test]
fn the_helper_of_mount_takes_its_arguments_and_has_its_exit_codes() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place) = (scratch.volume(), Place::new(&scratch));
    let helper = |arguments: &[&str]| {
        let mut helper = Command::new(crate::PROGRAM);
        helper.arg0("/sbin/mount.ordo").args(arguments);
        run(helper)
    };
    ok(helper(&[&image, &place.0, "-f", "-o", "rw"]));
    assert!(!is_mounted(&place.0));
    ok(helper(&[&image, &place.0, "-n", "-s", "-o", "ro,unknown,scheme=async", "-t", "ordo"]));
    assert!(is_mounted(&place.0));
    ok(ordo(["umount", &place.0]));
    let said = fails(1, helper(&[&image, &place.0, "-o", "unknown"]));
    assert!(said.contains("unknown"), "{said}");
    let said = fails(32, helper(&[&scratch.path("none"), &place.0]));
    assert!(said.contains("cannot open"), "{said}");
    fails(32, helper(&[&image, &scratch.path("nodir")]));
}

/// A loop device of a file; detached when dropped. `None` if there are none, with a message.
struct Loop(String);

impl Loop {
    fn of(image: &str, more: &[&str]) -> Option<Loop> {
        let output = Command::new("losetup").args(["--find", "--show"]).args(more).arg(image).output().ok()?;
        let device = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        if device.is_empty() {
            eprintln!("skipped: no loop devices: {}", String::from_utf8_lossy(&output.stderr));
        }
        (!device.is_empty()).then_some(Loop(device))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

fn status(output: &Output) -> Option<i32> {
    output.status.code()
}

#[test]
fn umount_says_what_was_lost_with_the_disk_and_with_the_server() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place) = (scratch.volume(), Place::new(&scratch));
    run(command(["mount", &image, &place.0]));
    fs::write(place.at("f"), vec![7; 1 << 20]).unwrap();
    fs::File::options().write(true).open(&image).unwrap().set_len(1 << 17).unwrap();
    let said = fails(1, ordo(["umount", &place.0]));
    assert!(said.contains("not everything could be written") && said.lines().count() == 1, "{said}");
    assert!(!is_mounted(&place.0));

    fs::remove_file(&image).unwrap();
    let image = scratch.volume();
    let mut server = command(["mount", "-f", &image, &place.0]).stderr(Stdio::null()).spawn().unwrap();
    place.wait();
    server.kill().unwrap();
    server.wait().unwrap();
    let said = fails(1, ordo(["umount", &place.0]));
    assert!(said.contains("had died") && said.contains("fsck"), "{said}");
}

#[test]
fn mount_fuse3_cannot_enable_suid_and_dev() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place) = (scratch.volume(), Place::new(&scratch));
    let flags = || {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let line = mounts.lines().find(|line| line.split(' ').nth(1) == Some(&place.0)).unwrap().to_owned();
        ["nosuid", "nodev"].map(|flag| line.split(' ').nth(3).unwrap().split(',').any(|option| option == flag))
    };
    for (options, safe) in [("rw,dev,suid", [true, true]), ("suid,rw,dev,suid", [false, true])] {
        run(command([&image, &place.0, "-o", options]));
        assert_eq!(flags(), safe, "{options}");
        ok(ordo(["umount", &place.0]));
    }
}

#[test]
fn a_write_protected_device_is_mounted_read_only_and_says_so() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place) = (scratch.volume(), Place::new(&scratch));
    let Some(device) = Loop::of(&image, &["--read-only"]) else { return };
    let said = run(command(["mount", &device.0, &place.0]));
    let said = String::from_utf8(said.stderr).unwrap();
    assert!(said.contains("read-only: the device is write-protected") && said.lines().count() == 1, "{said}");
    assert_eq!(fs::write(place.at("f"), "x").unwrap_err().raw_os_error(), Some(30));
    ok(ordo(["umount", &place.0]));
    let said = fails(3, ordo(["mkdir", &format!("{}:/d", device.0)]));
    assert!(said.contains("write-protected"), "{said}");
}

#[test]
fn a_volume_that_does_not_fit_on_a_device_leaves_what_is_there() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let image = scratch.volume();
    let Some(device) = Loop::of(&image, &[]) else { return };
    let before = fs::read(&device.0).unwrap();
    let ufs = ordofs::NewVolume::new(1 << 30).overwrite(&device.0).unwrap_err().to_string();
    let lfs = ordofs::NewLfs::new(1 << 30).overwrite(&device.0).unwrap_err().to_string();
    assert!(ufs.contains("does not fit") && lfs.contains("does not fit"), "{ufs}; {lfs}");
    for kind in ["ufs2", "lfs"] {
        let said = fails(3, ordo(["mkfs", "--force", "-t", kind, "--size", "1G", &device.0]));
        assert!(said.contains("has only"), "{said}");
    }
    assert!(fs::read(&device.0).unwrap() == before);
}

#[test]
fn a_mounted_image_is_refused_through_a_loop_device_and_its_partitions() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place) = (scratch.path("disk.img"), Place::new(&scratch));
    fs::create_dir(scratch.path("other")).unwrap();
    let other = Place(scratch.path("other"));
    // Two partitions of FreeBSD's kind, 16 MiB each.
    let mut sector = vec![0; 512];
    for (i, start) in [2048u32, 34816].into_iter().enumerate() {
        let entry = &mut sector[446 + 16 * i..][..16];
        entry[4] = 0xa5;
        entry[8..12].copy_from_slice(&start.to_le_bytes());
        entry[12..].copy_from_slice(&32768u32.to_le_bytes());
    }
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    fs::write(&image, sector).unwrap();
    fs::File::options().write(true).open(&image).unwrap().set_len(40 << 20).unwrap();
    let parts = [1, 2].map(|n| format!("{image}@p{n}"));
    for part in &parts {
        ok(ordo(["mkfs", "-q", part]));
    }
    let Some(device) = Loop::of(&image, &["--partscan"]) else { return };
    let devices = [1, 2].map(|n| format!("{}p{n}", device.0));
    for (n, start) in [("1", "2048"), ("2", "34816")] {
        // Tells a kernel that does not read such a table; another kernel returns an error.
        let _ = Command::new("addpart").args([&device.0, n, start, "32768"]).stderr(Stdio::null()).status();
    }
    if !Path::new(&devices[0]).exists() {
        eprintln!("skipped: no partitions of loop devices");
        return;
    }
    let second = Loop::of(&image, &["--offset", "1048576", "--sizelimit", "16777216"]).unwrap();
    // Each name of the first partition locks out all other names of it; the second partition of the same device is
    // another volume.
    let names = [&parts[0], &devices[0], &second.0];
    for first in names {
        run(command(["mount", first, &place.0]));
        for name in names {
            let said = fails(3, ordo(["mount", name, &other.0]));
            assert!(said.contains("is in use: process") && said.lines().count() == 1, "{name} on {first}: {said}");
            fails(3, ordo(["mkdir", &format!("{name}:/d")]));
            fails(8, ordo(["fsck", "-y", name]));
            fails(3, ordo(["mkfs", "--force", name]));
        }
        if first == &devices[0] {
            ok(ordo(["mkdir", "-p", &format!("{}:/d", devices[1])]));
        }
        ok(ordo(["umount", &place.0]));
    }
}

/// The process that binds the socket of the system's log receives all messages; on a machine with a log, that is the
/// log.
#[test]
fn a_mount_tells_its_terminal_or_the_log_of_the_system() {
    const LOG: &str = "/dev/log";
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place) = (scratch.volume(), Place::new(&scratch));
    let cut = || fs::File::options().write(true).open(&image).unwrap().set_len(1 << 17).unwrap();
    let server = command(["mount", "-f", &image, &place.0]).stderr(Stdio::piped()).spawn().unwrap();
    place.wait();
    fs::write(place.at("f"), "x").unwrap();
    cut();
    fails(1, ordo(["umount", &place.0]));
    let said = String::from_utf8(server.wait_with_output().unwrap().stderr).unwrap();
    assert!(said.contains("turned read-only: ") && said.starts_with("ordo: "), "{said}");

    if Path::new(LOG).exists() {
        eprintln!("skipped: this machine has a log");
        return;
    }
    let log = std::os::unix::net::UnixDatagram::bind(LOG).unwrap();
    log.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    fs::remove_file(&image).unwrap();
    scratch.volume();
    run(command(["mount", &image, &place.0]));
    fs::write(place.at("f"), "x").unwrap();
    cut();
    let ended = ordo(["umount", &place.0]);
    fs::remove_file(LOG).unwrap();
    assert_eq!(status(&ended), Some(1));
    let mut said = Vec::new();
    let mut record = [0; 4096];
    // Other tests have mounts of their own.
    while !said.iter().any(|line: &String| line.contains("turned read-only: ")) {
        let len = log.recv(&mut record).expect("the log is told");
        said.extend(Some(String::from_utf8_lossy(&record[..len]).into_owned()).filter(|line| line.contains(&image)));
    }
    assert!(said.iter().all(|line| line.starts_with("<27>ordo[")), "{said:?}");
}
