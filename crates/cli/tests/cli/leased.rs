//! What a mount's server is to `ordo umount`, to mount(8) and umount(8), and to strangers.
#![allow(clippy::disallowed_methods, reason = "the time that programs of their own take")]

use crate::common::{Scratch, command, fails, ok, ordo};
use crate::mounting::{Place, can_mount, is_mounted};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Far more than any of this takes on a busy machine.
const AGES: Duration = Duration::from_secs(60);

/// Starts a mount in the foreground; it stays this process's child.
fn foreground(image: &str, place: &Place, options: &str) -> Child {
    let mut server = command(["mount", "-f", "-o", options, image, &place.0]);
    let child = server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    place.wait();
    // Usable, not only there.
    assert!(fs::read_dir(&place.0).is_ok());
    child
}

/// Runs `ordo umount`, which must end.
fn unmounts(place: &Place) -> Output {
    let mut child = command(["umount", &place.0]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let since = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if since.elapsed() > AGES {
            let _ = child.kill();
            panic!("ordo umount waits for somebody else");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

/// Where everybody may run them.
const PYTHON: &str = "/usr/bin/python3";
const SETPRIV: &str = "/usr/bin/setpriv";

fn can_act() -> bool {
    let missing: Vec<_> = [PYTHON, SETPRIV].into_iter().filter(|tool| !fs::exists(tool).unwrap()).collect();
    if !missing.is_empty() {
        eprintln!("skipped: needs {missing:?}");
    }
    can_mount() && missing.is_empty()
}

/// A program in Python that has said that it is ready, and goes on until this is dropped.
struct Actor(Child);

impl Actor {
    fn new(program: &str, argument: &str) -> Actor {
        Actor::start(Command::new(PYTHON).args(["-c", program, argument]))
    }

    fn of_nobody(program: &str, argument: &str) -> Actor {
        let mut command = Command::new(SETPRIV);
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", PYTHON, "-c", program, argument]);
        Actor::start(&mut command)
    }

    fn start(command: &mut Command) -> Actor {
        let mut actor = Actor(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
        let (mut line, said) = (String::new(), actor.0.stdout.as_mut().unwrap());
        std::io::BufRead::read_line(&mut std::io::BufReader::new(said), &mut line).unwrap();
        assert_eq!(line, "ready\n");
        actor
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Number and mark of a mount, as its lease is called by them.
fn number_and_mark(place: &Place) -> String {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let line = table.lines().rev().find(|line| line.split(' ').nth(4) == Some(&place.0)).unwrap();
    let mark = line.split([' ', ',']).find_map(|word| word.strip_prefix("max_read=")).unwrap();
    format!("{}/{mark}", line.split(' ').nth(2).unwrap())
}

/// Where umount(8) is not wanted: its helper may be installed, and waits.
fn only_unmount(place: &Place) {
    rustix::mount::unmount(&place.0, rustix::mount::UnmountFlags::empty()).unwrap();
}

#[test]
fn umount_neither_waits_for_nor_reports_the_server_of_another_mount() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (one, other) = (scratch.path("one.img"), scratch.path("other.img"));
    for image in [&one, &other] {
        ok(ordo(["mkfs", "-q", "--size", "16M", image]));
    }
    let (first, second) = (Place::new_at(&scratch, "first"), Place::new_at(&scratch, "second"));
    let (mut same, mut tries) = (false, 0);
    // The kernel gives the lowest number that is free; another test may have been faster.
    while !same && tries < 10 {
        tries += 1;
        let mut slow = foreground(&one, &first, "rw");
        let number = fs::metadata(&first.0).unwrap().dev();
        fs::write(first.at("x"), "x").unwrap();
        kill_process(Pid::from_child(&slow), Signal::STOP).unwrap();
        only_unmount(&first);
        let mut server = foreground(&other, &second, "rw");
        same = fs::metadata(&second.0).unwrap().dev() == number;
        ok(unmounts(&second));
        assert!(server.wait().unwrap().success());
        // Its own server still has to write.
        kill_process(Pid::from_child(&slow), Signal::CONT).unwrap();
        assert!(slow.wait().unwrap().success());
    }
    if !same {
        eprintln!("the number of a mount was never used again at once: what this is about was not met");
    }
}

/// What a stranger can do to the names and places by which servers are known: he fills every queue that he finds, and
/// makes what looks like a lease.
const STRANGER: &str = r#"
import fcntl, os, resource, socket, sys
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
number, kept = sys.argv[1], []
names = [line.split()[-1] for line in open("/proc/net/unix") if number in line and "@" in line]
for name in ["@ordo-fuse/" + number] + names:
    for _ in range(5000):
        s = socket.socket(socket.AF_UNIX)
        s.setblocking(False)
        try:
            s.connect("\0" + name[1:])
        except OSError:
            break
        kept.append(s)
for n in range(100):
    fd = os.memfd_create("ordo-lease:%s:%020d.%09d" % (number, 10**15 + n, n))
    fcntl.flock(fd, fcntl.LOCK_EX)
    os.write(fd, b"held\n")
print("ready", flush=True)
sys.stdin.read()
"#;

#[test]
fn a_stranger_cannot_delay_an_umount_or_answer_for_the_server() {
    if !can_act() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place) = (scratch.volume(), Place::new(&scratch));
    let mut server = foreground(&image, &place, "rw");
    let _stranger = Actor::of_nobody(STRANGER, &number_and_mark(&place));
    fs::write(place.at("x"), "x").unwrap();
    ok(unmounts(&place));
    assert!(server.wait().unwrap().success());
    ok(ordo(["fsck", "-n", &image]));
}

#[test]
fn a_dead_mount_with_a_program_in_it_says_what_helps() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place) = (scratch.volume(), Place::new(&scratch));
    let mut server = foreground(&image, &place, "rw");
    let mut inside = Command::new("sleep").arg("1000").current_dir(&place.0).spawn().unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    let said = fails(3, ordo(["umount", &place.0]));
    assert!(said.contains("its server is gone") && said.contains("ordo umount -l"), "{said}");
    ordo(["umount", "-l", &place.0]);
    assert!(!is_mounted(&place.0));
    inside.kill().unwrap();
    inside.wait().unwrap();
}

#[test]
fn a_remount_makes_a_mount_read_only_and_writable_again_and_loosens_nothing() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place, helper) = (scratch.volume(), Place::new(&scratch), scratch.path("mount.fuse.ordo"));
    symlink(crate::PROGRAM, &helper).unwrap();
    let remount = |options: &str| Command::new(&helper).args([&*image, &place.0, "-o", options]).output().unwrap();
    let server = foreground(&image, &place, "commit=3600");
    fs::write(place.at("kept"), "kept").unwrap();
    let open = fs::File::create(place.at("open")).unwrap();
    let said = fails(32, remount("ro,remount"));
    assert!(said.contains("open for writing"), "{said}");
    drop(open);
    // With what mount(8) takes from the table of mounts.
    ok(remount("ro,nosuid,nodev,relatime,remount,user_id=0,group_id=0,default_permissions"));
    assert!(fs::write(place.at("no"), "").is_err());
    let here = || {
        fs::read_to_string("/proc/self/mounts").unwrap().lines().find(|line| line.contains(&place.0)).map(str::to_owned)
    };
    assert!(here().unwrap().contains("nosuid,nodev"));
    // It is durable: a copy of the image has it after a crash.
    let copy = scratch.path("copy.img");
    fs::copy(&image, &copy).unwrap();
    assert_eq!(ok(ordo(["cat", &format!("{copy}:/kept")])), "kept");
    ok(remount("rw,remount"));
    fs::write(place.at("yes"), "").unwrap();
    assert!(here().unwrap().contains("nosuid,nodev"), "a remount that does not say so trusts nothing");
    ok(unmounts(&place));
    drop(server);
    ok(ordo(["mount", "-o", "ro", &image, &place.0]));
    let said = fails(32, remount("rw,remount"));
    assert!(said.contains("reading only"), "{said}");
    ok(unmounts(&place));
}

#[test]
fn words_that_mount_does_not_pass_on_are_obeyed_if_it_was_asked_for_them() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place, tools) = (scratch.volume(), Place::new(&scratch), scratch.path("sbin"));
    fs::create_dir(&tools).unwrap();
    let ordo = crate::PROGRAM;
    symlink(ordo, format!("{tools}/mount.fuse.ordo")).unwrap();
    // Where mount(8) looks for its helpers, as only the shell and what it starts see it.
    let hide = format!("/usr/bin/mount --bind {tools} /usr/sbin");
    let show = format!("grep -F {} /proc/self/mounts && {ordo} umount {}", place.0, place.0);
    let trusts = |mount: &str| {
        let script = format!("{hide} && {mount} && {show}");
        let shown = ok(Command::new("unshare").args(["-m", "sh", "-c", &script]).output().unwrap());
        assert!(shown.contains("fuse.ordo"), "{shown}");
        !shown.contains("nosuid") && !shown.contains("nodev")
    };
    let with = |options: &str| format!("/usr/bin/mount -t fuse.ordo -o {options} {image} {}", place.0);
    assert!(trusts(&with("suid,dev")));
    assert!(!trusts(&with("defaults")) && !trusts(&with("suid,nosuid,dev,nodev")));
    // A line of fstab is that of its source, too.
    let (fstab, other) = (scratch.path("fstab"), scratch.path("other.img"));
    fs::copy(&image, &other).unwrap();
    let lines = format!("{image} {} fuse.ordo suid,dev 0 0\n{other} {} fuse.ordo noauto 0 0\n", place.0, place.0);
    fs::write(&fstab, lines).unwrap();
    assert!(trusts(&format!("/usr/bin/mount -T {fstab} {image}")));
    assert!(!trusts(&format!("/usr/bin/mount -T {fstab} {other}")));
    // Who only calls himself mount is not believed.
    let script = format!("{tools}/mount.fuse.ordo {image} {} -o rw && {show}", place.0);
    let called = Command::new("sh").arg0("mount").args(["-c", &script, "-o", "suid,dev"]).output().unwrap();
    assert!(ok(called).contains("nosuid,nodev"));
}

#[test]
fn the_helper_of_umount_waits_until_the_image_can_be_moved() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place, helper) = (scratch.volume(), Place::new(&scratch), scratch.path("umount.fuse.ordo"));
    symlink(crate::PROGRAM, &helper).unwrap();
    ok(ordo(["mount", "-o", "commit=3600", &image, &place.0]));
    fs::write(place.at("large"), vec![7; 8 << 20]).unwrap();
    // As umount(8) says of -r: what is in use becomes read-only.
    let inside = fs::File::open(place.at("large")).unwrap();
    fails(32, Command::new(&helper).args([&*place.0]).output().unwrap());
    let busy = Command::new(&helper).args([&*place.0, "-r"]).output().unwrap();
    assert!(fails(0, busy).contains("read-only now"));
    assert!(fs::write(place.at("no"), "").is_err());
    drop(inside);
    ok(Command::new(&helper).args([&*place.0, "-n", "-v", "-t", "fuse.ordo"]).output().unwrap());
    ok(ordo(["fsck", "-n", &image]));
    fails(32, Command::new(&helper).arg(&place.0).output().unwrap());
}

#[test]
fn a_server_that_gives_up_its_rights_serves_and_ends_as_any_other() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place) = (scratch.volume(), Place::new(&scratch));
    assert!(fails(2, ordo(["mount", "-o", "runas=65534:65534", &image, &place.0])).contains("allow_other"));
    assert!(fails(2, ordo(["mount", "-o", "allow_other,runas=no-such-user", &image, &place.0])).contains("no user"));
    let mut server = foreground(&image, &place, "allow_other,runas=65534:65533");
    let status = fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
    assert_eq!(line("Uid:"), ["65534"; 4].join("\t"));
    assert_eq!(line("Gid:"), ["65533"; 4].join("\t"));
    assert_eq!((line("Groups:"), line("CapEff:"), line("CapPrm:")), (String::new(), "0".repeat(16), "0".repeat(16)));
    fs::write(place.at("file"), "root's").unwrap();
    ok(ordo(["sync", &place.0]));
    ok(unmounts(&place));
    assert!(server.wait().unwrap().success());
    assert_eq!(ok(ordo(["cat", &format!("{image}:/file")])), "root's");
}

#[test]
fn a_server_that_may_not_unmount_ends_by_one_signal_and_nothing_is_lost() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place) = (scratch.volume(), Place::new(&scratch));
    let mut server = foreground(&image, &place, "allow_other,runas=65534:65534,commit=3600");
    fs::write(place.at("file"), "kept").unwrap();
    kill_process(Pid::from_child(&server), Signal::TERM).unwrap();
    assert!(server.wait().unwrap().success());
    assert!(fs::write(place.at("more"), "").is_err());
    assert!(fails(0, unmounts(&place)).contains("nothing is lost"));
    assert!(!is_mounted(&place.0));
    assert_eq!(ok(ordo(["cat", &format!("{image}:/file")])), "kept");
    // A server that was killed is another matter.
    let mut server = foreground(&image, &place, "allow_other,runas=65534:65534");
    fs::write(place.at("file"), "lost").unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(fails(1, unmounts(&place)).contains("is lost; run ordo fsck"));
}

#[test]
fn umount_f_tells_the_server_to_end_and_no_one_who_waits_for_it() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place) = (scratch.volume(), Place::new(&scratch));
    let mut server = foreground(&image, &place, "rw");
    kill_process(Pid::from_child(&server), Signal::STOP).unwrap();
    // As `umount` has it open while it waits.
    let mut files = fs::read_dir(format!("/proc/{}/fd", server.id())).unwrap().map(|file| file.unwrap().path());
    let is_lease = |file: &std::path::PathBuf| {
        fs::read_link(file).is_ok_and(|name| name.to_string_lossy().starts_with("/memfd:ordo-lease:"))
    };
    let lease = files.find(is_lease).unwrap();
    let mut waits = Command::new("sleep").arg("1000").stdin(fs::File::open(lease).unwrap()).spawn().unwrap();
    let forced = command(["umount", "-f", &place.0]).stderr(Stdio::piped()).spawn().unwrap();
    let told = || {
        let status = fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
        let pending = status.lines().find_map(|line| line.strip_prefix("ShdPnd:")).unwrap().trim().to_owned();
        u64::from_str_radix(&pending, 16).unwrap() & 1 << (Signal::TERM.as_raw() - 1) != 0
    };
    for _ in 0..AGES.as_millis() / 20 {
        if told() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(told(), "the server was not told to end");
    assert!(waits.try_wait().unwrap().is_none(), "somebody else was told to end");
    kill_process(Pid::from_child(&server), Signal::CONT).unwrap();
    ok(forced.wait_with_output().unwrap());
    assert!(server.wait().unwrap().success());
    waits.kill().unwrap();
    waits.wait().unwrap();
}

/// Keeps one mount in a namespace of its own, and not those of the tests beside this one.
const KEEPS: &str = r#"
while read -r _ dir kind _; do
    case $kind in fuse*) [ "$dir" = "$0" ] || umount -i -l "$dir" ;; esac
done < /proc/self/mounts
echo ready
exec cat
"#;

#[test]
fn umount_does_not_wait_for_a_mount_that_is_still_in_another_namespace() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place) = (scratch.volume(), Place::new(&scratch));
    let mut server = foreground(&image, &place, "rw");
    let elsewhere = Actor::start(Command::new("unshare").args(["-m", "sh", "-c", KEEPS, &place.0]));
    assert!(fails(0, unmounts(&place)).contains("in use elsewhere"));
    drop(elsewhere);
    assert!(server.wait().unwrap().success());
}

/// What a process of the user as whom a server runs can make: a newer lease of the same mount.
const IMPOSTOR: &str = r#"
import fcntl, os, sys
fd = os.memfd_create("ordo-lease:%s:%020d.%09d" % (sys.argv[1], 10**19, 0))
fcntl.flock(fd, fcntl.LOCK_EX)
os.write(fd, b"held\nnot the server's words")
print("ready", flush=True)
sys.stdin.read()
"#;

#[test]
fn no_process_of_the_servers_user_answers_for_it() {
    if !can_act() {
        return;
    }
    let scratch = Scratch::new();
    let (image, place) = (scratch.volume(), Place::new(&scratch));
    let mut server = foreground(&image, &place, "allow_other,runas=65534:65534");
    let _impostor = Actor::of_nobody(IMPOSTOR, &number_and_mark(&place));
    fs::write(place.at("x"), "x").unwrap();
    ok(unmounts(&place));
    assert!(server.wait().unwrap().success());
}

#[test]
fn a_server_that_hangs_does_not_answer_for_a_later_mount_with_its_number() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (one, other, third) = (scratch.path("one.img"), scratch.path("other.img"), scratch.path("third.img"));
    for image in [&one, &other, &third] {
        ok(ordo(["mkfs", "-q", "--size", "16M", image]));
    }
    let (first, second) = (Place::new_at(&scratch, "first"), Place::new_at(&scratch, "second"));
    let (mut same, mut tries) = (false, 0);
    while !same && tries < 10 {
        tries += 1;
        let mut hangs = foreground(&one, &first, "rw");
        let number = fs::metadata(&first.0).unwrap().dev();
        kill_process(Pid::from_child(&hangs), Signal::STOP).unwrap();
        only_unmount(&first);
        let mut dead = foreground(&other, &second, "rw");
        same = fs::metadata(&second.0).unwrap().dev() == number;
        fs::write(second.at("x"), "x").unwrap();
        dead.kill().unwrap();
        dead.wait().unwrap();
        assert!(fails(3, ordo(["mount", &third, &second.0])).contains("whose server is gone"));
        assert!(fails(1, unmounts(&second)).contains("server had died"));
        kill_process(Pid::from_child(&hangs), Signal::CONT).unwrap();
        assert!(hangs.wait().unwrap().success());
        ok(ordo(["fsck", "-y", &other]));
    }
    if !same {
        eprintln!("the number of a mount was never used again at once: what this is about was not met");
    }
}

/// Writes into a map of a file, whose descriptor it keeps or not, and goes on having it mapped.
const MAPS: &str = r#"
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o644)
os.ftruncate(fd, 40 * 4096)
pages = mmap.mmap(fd, 40 * 4096)
os.close(fd)
for page in range(40):
    pages[page * 4096:page * 4096 + 4] = b"kept"
print("ready", flush=True)
sys.stdin.read()
"#;

/// Every end of a service whose mount a program still has a file of mapped into memory: what is in the map by then is
/// on the volume. The directory above is root's alone, so a server without rights cannot ask for it by a path.
#[test]
fn what_was_written_into_a_map_is_kept_by_every_end_of_the_service() {
    if !can_act() {
        return;
    }
    for (options, signals) in [("allow_other,runas=65534:65534", 1), ("allow_other,runas=65534:65534", 2), ("rw", 2)] {
        for transport in ["classic", "uring"] {
            let scratch = Scratch::new();
            fs::set_permissions(scratch.path("."), fs::Permissions::from_mode(0o700)).unwrap();
            let (image, place) = (scratch.volume(), Place::new(&scratch));
            let options = format!("{options},commit=3600,transport={transport}");
            if transport == "uring" && !ordo(["mount", "--fake", "-o", &options, &image, &place.0]).status.success() {
                eprintln!("transport=uring is not available here");
                continue;
            }
            let mut server = foreground(&image, &place, &options);
            let program = Actor::new(MAPS, &place.at("mapped"));
            for _ in 0..signals {
                // A server that has ended by the first signal has no need of the second.
                let _ = kill_process(Pid::from_child(&server), Signal::TERM);
                std::thread::sleep(Duration::from_millis(300));
            }
            assert!(server.wait().unwrap().success(), "{options}, {signals}");
            drop(program);
            if is_mounted(&place.0) {
                fails(0, unmounts(&place));
            }
            let found = Command::new(crate::PROGRAM).args(["cat", &format!("{image}:/mapped")]).output();
            let found = found.unwrap().stdout;
            assert_eq!(found.len(), 40 * 4096, "{options}, {signals}");
            assert!(found.chunks(4096).all(|page| page.starts_with(b"kept")), "{options}, {signals}: pages are lost");
            ok(ordo(["fsck", "-n", &image]));
        }
    }
}
