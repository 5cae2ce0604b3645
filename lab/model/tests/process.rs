//! The server as a process: moved to the background, and ended by umount, by signals and by being killed.
//!
//! Does not use the standard test harness: the program runs itself again as the server. Over each transport. Without
//! root or /dev/fuse, or where a transport is switched off, it says so and passes.

use ordo_fuse::{
    Background, MountError, MountOptions, ServeOptions, TransportChoice, Unmounted, background, mount, serve, unmount,
};
use ordo_model::MemFs;
use ordo_rt::Rt;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};
use std::rc::Rc;
use std::time::Duration;

/// Where the server mounts; beside it are `pid`, and `closed` once the image would be closed.
const DIR: &str = "ORDO_TEST_DIR";
/// The name of its transport.
const TRANSPORT: &str = "ORDO_TEST_TRANSPORT";

fn main() -> ExitCode {
    if let Some(dir) = std::env::var_os(DIR) {
        return server(Path::new(&dir));
    }
    if !Path::new("/dev/fuse").exists() || !rustix::process::geteuid().is_root() {
        eprintln!("process: skipped, needs root and /dev/fuse");
        return ExitCode::SUCCESS;
    }
    type Test = fn(&str);
    let tests: [(&str, Test); 7] = [
        ("umount_returns_when_the_image_is_closed", umount_returns_when_the_image_is_closed),
        ("the_parent_tells_why_a_mount_failed", the_parent_tells_why_a_mount_failed),
        ("a_signal_unmounts", a_signal_unmounts),
        (
            "a_signal_detaches_a_mount_in_use_and_its_user_goes_on",
            a_signal_detaches_a_mount_in_use_and_its_user_goes_on,
        ),
        ("a_second_signal_ends_the_service_at_once", a_second_signal_ends_the_service_at_once),
        ("a_dead_mount_is_named_and_can_be_removed", a_dead_mount_is_named_and_can_be_removed),
        (
            "a_server_that_waits_awake_sleeps_in_the_end_and_hears_signals",
            a_server_that_waits_awake_sleeps_in_the_end_and_hears_signals,
        ),
    ];
    for transport in ["classic", "uring"] {
        if let Err(why) = TransportChoice::by_name(transport).unwrap().available() {
            eprintln!("process: skipped over {transport}: {why}");
            continue;
        }
        for (name, test) in tests {
            test(transport);
            println!("test {name} ({transport}) ... ok");
        }
    }
    ExitCode::SUCCESS
}

fn server(dir: &Path) -> ExitCode {
    let tell = match background().unwrap() {
        Background::Parent(Ok(())) => return ExitCode::SUCCESS,
        Background::Parent(Err(why)) => {
            eprintln!("{why}");
            return ExitCode::from(3);
        }
        Background::Child(tell) => tell,
    };
    let beside = |name| dir.with_file_name(name);
    fs::write(beside("pid"), std::process::id().to_string()).unwrap();
    let session = match mount(dir, &MountOptions::new("memory")) {
        Ok(session) => session,
        Err(error) => {
            tell.failed(&error.to_string());
            return ExitCode::FAILURE;
        }
    };
    let transport = TransportChoice::by_name(&std::env::var(TRANSPORT).unwrap()).unwrap();
    let rt = Rt::real_time();
    let ready = Some(Box::new(move || tell.usable().unwrap()) as Box<dyn FnOnce()>);
    let opts = ServeOptions { ready, transport, signals: true, ..ServeOptions::default() };
    let ended = rt.block_on(serve(&rt, Rc::new(MemFs::timeless()), session, opts)).unwrap();
    // The caches are written back.
    rt.block_on(rt.sleep(Duration::from_millis(200)));
    fs::write(beside("closed"), format!("{:?}", ended.reason)).unwrap();
    if let Some(lease) = ended.lease {
        lease.end(Ok(()));
    }
    ExitCode::SUCCESS
}

/// A server in a scratch directory.
struct Server {
    _scratch: tempfile::TempDir,
    dir: PathBuf,
}

impl Server {
    fn start(transport: &str) -> Server {
        let scratch = tempfile::tempdir().unwrap();
        let dir = scratch.path().join("mnt");
        fs::create_dir(&dir).unwrap();
        let out = Server::run(&dir, transport);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        Server { _scratch: scratch, dir }
    }

    fn run(dir: &Path, transport: &str) -> Output {
        Command::new(std::env::current_exe().unwrap()).env(DIR, dir).env(TRANSPORT, transport).output().unwrap()
    }

    fn pid(&self) -> i32 {
        fs::read_to_string(self.dir.with_file_name("pid")).unwrap().parse().unwrap()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.pid()).unwrap(), signal).unwrap();
    }

    /// The CPU time of the server, in the system's ticks.
    fn ticks(&self) -> u64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        let fields: Vec<&str> = stat[stat.rfind(')').unwrap() + 1..].split_whitespace().collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    }

    /// How the service ended, if the server has closed its image.
    fn closed(&self) -> Option<String> {
        fs::read_to_string(self.dir.with_file_name("closed")).ok().filter(|text| !text.is_empty())
    }

    fn mounted(&self) -> bool {
        ordo_fuse::mount::table::mounted_at(&self.dir).unwrap().is_some()
    }
}

fn wait_until(what: impl Fn() -> bool) {
    let rt = Rt::real_time();
    for _ in 0..500 {
        if what() {
            return;
        }
        rt.block_on(rt.sleep(Duration::from_millis(10)));
    }
    panic!("it did not happen within five seconds");
}

fn umount_returns_when_the_image_is_closed(transport: &str) {
    let server = Server::start(transport);
    fs::write(server.dir.join("file"), b"text").unwrap();
    assert_eq!(server.closed(), None);
    assert_eq!(unmount(&server.dir, false).unwrap(), Unmounted::Finished);
    assert_eq!(server.closed().as_deref(), Some("Unmounted"));
}

fn the_parent_tells_why_a_mount_failed(transport: &str) {
    let scratch = tempfile::tempdir().unwrap();
    let out = Server::run(&scratch.path().join("missing"), transport);
    assert_eq!(out.status.code(), Some(3));
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(said.ends_with("missing: no such directory; make it first\n"), "{said}");
}

fn a_signal_unmounts(transport: &str) {
    let server = Server::start(transport);
    server.signal(Signal::TERM);
    wait_until(|| server.closed().is_some());
    assert_eq!((server.closed().as_deref(), server.mounted()), (Some("Unmounted"), false));
}

fn a_signal_detaches_a_mount_in_use_and_its_user_goes_on(transport: &str) {
    let server = Server::start(transport);
    let mut file = File::options().read(true).write(true).create_new(true).open(server.dir.join("file")).unwrap();
    server.signal(Signal::INT);
    wait_until(|| !server.mounted());
    file.write_all(b"still here").unwrap();
    let mut text = [0; 10];
    file.read_exact_at(&mut text, 0).unwrap();
    assert_eq!((&text, server.closed()), (b"still here", None));
    drop(file);
    wait_until(|| server.closed().is_some());
    assert_eq!(server.closed().as_deref(), Some("Unmounted"));
}

fn a_second_signal_ends_the_service_at_once(transport: &str) {
    let server = Server::start(transport);
    let file = File::create(server.dir.join("file")).unwrap();
    server.signal(Signal::TERM);
    wait_until(|| !server.mounted());
    server.signal(Signal::TERM);
    wait_until(|| server.closed().is_some());
    assert_eq!(server.closed().as_deref(), Some("Signalled"));
    assert_eq!(file.write_at(b"x", 0).unwrap_err().raw_os_error(), Some(107));
}

fn a_dead_mount_is_named_and_can_be_removed(transport: &str) {
    let server = Server::start(transport);
    server.signal(Signal::KILL);
    wait_until(|| fs::metadata(&server.dir).is_err());
    assert!(matches!(mount(&server.dir, &MountOptions::new("x")), Err(MountError::Dead(_))));
    assert_eq!(unmount(&server.dir, false).unwrap(), Unmounted::Died);
    assert!(matches!(unmount(&server.dir, false), Err(MountError::NotMounted(_))));
}

/// The server waits awake for a caller that is alone; a signal reaches it then, and it sleeps when the caller has gone.
fn a_server_that_waits_awake_sleeps_in_the_end_and_hears_signals(transport: &str) {
    let server = Server::start(transport);
    let rt = Rt::real_time();
    let began = rt.now();
    let mut asked = 0;
    // Longer than it takes to count as alone.
    while rt.now() - began < Duration::from_millis(100) {
        asked += 1;
        assert!(fs::metadata(server.dir.join(format!("absent{asked}"))).is_err());
    }
    // Ticks of 10 ms; awake it would be 50.
    let before = server.ticks();
    rt.block_on(rt.sleep(Duration::from_millis(500)));
    let idle = server.ticks() - before;
    assert!(idle < 10, "{idle} ticks without a caller");

    server.signal(Signal::TERM);
    while fs::metadata(server.dir.join(format!("absent{asked}"))).is_err() && server.mounted() {
        asked += 1;
    }
    wait_until(|| server.closed().is_some());
}
