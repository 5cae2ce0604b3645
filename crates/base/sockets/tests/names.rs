//! What has a name already, and who may connect.

use ordo_sockets::{Address, Listener};
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

fn bind(path: &Path) -> std::io::Result<Listener> {
    Listener::bind(&Address::Unix(path.into()))
}

#[test]
fn what_is_no_abandoned_socket_is_refused_and_untouched() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("text"), "thesis").unwrap();
    std::fs::create_dir(at("dir")).unwrap();
    symlink("text", at("link")).unwrap();
    symlink("nowhere", at("broken")).unwrap();
    let live = UnixListener::bind(at("live")).unwrap();
    let _datagrams = UnixDatagram::bind(at("datagrams")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, at("fifo"), rustix::fs::Mode::RUSR).unwrap();
    for name in ["text", "dir", "link", "broken", "live", "datagrams", "fifo"] {
        let before = at(name).symlink_metadata().unwrap();
        let refused = bind(&at(name)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::AddrInUse, "{name}: {refused}");
        let after = at(name).symlink_metadata().unwrap();
        assert_eq!(before.file_type(), after.file_type(), "{name}");
        assert_eq!(before.modified().unwrap(), after.modified().unwrap(), "{name}");
    }
    assert_eq!(std::fs::read_to_string(at("text")).unwrap(), "thesis");
    live.set_nonblocking(true).unwrap();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 7, "nothing was left beside them");
}

#[test]
fn an_abandoned_socket_makes_way_and_ours_goes_with_its_server_only() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("socket");
    drop(UnixListener::bind(&path).unwrap());
    let ours = bind(&path).unwrap();
    assert_eq!(bind(&path).unwrap_err().kind(), ErrorKind::AddrInUse);
    // Somebody removes it, and another server comes.
    std::fs::remove_file(&path).unwrap();
    let theirs = bind(&path).unwrap();
    drop(ours);
    assert!(UnixStream::connect(&path).is_ok());
    drop(theirs);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn nobody_else_keeps_a_server_from_its_own_abandoned_socket() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("socket");
    drop(UnixListener::bind(&path).unwrap());
    // As far as anybody comes who may read the directory.
    let theirs = std::fs::File::open(dir.path()).unwrap();
    rustix::fs::flock(&theirs, rustix::fs::FlockOperation::LockExclusive).unwrap();
    drop(bind(&path).unwrap());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    // What a server that was killed has left of its turn is no obstacle, and what it has kept there stays.
    let room = dir.path().join(".socket.turn");
    std::fs::create_dir(&room).unwrap();
    std::fs::set_permissions(&room, std::fs::Permissions::from_mode(0o700)).unwrap();
    std::fs::write(room.join("0"), "thesis").unwrap();
    drop(UnixListener::bind(&path).unwrap());
    drop(bind(&path).unwrap());
    assert_eq!(std::fs::read_to_string(room.join("0")).unwrap(), "thesis");
    // One that others can open, and lock, is not used.
    std::fs::set_permissions(&room, std::fs::Permissions::from_mode(0o755)).unwrap();
    drop(bind(&path).unwrap());
    drop(UnixListener::bind(&path).unwrap());
    assert!(bind(&path).unwrap_err().to_string().contains("choose another name for the socket"));
}

#[test]
fn of_servers_that_start_together_one_listens_and_is_reachable() {
    let dir = tempfile::tempdir().unwrap();
    for round in 0..100 {
        let path = dir.path().join(format!("{round}"));
        drop(UnixListener::bind(&path).unwrap());
        let bound: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| bind(&path))).collect();
            threads.into_iter().filter_map(|thread| thread.join().unwrap().ok()).collect()
        });
        assert!(bound.len() <= 1, "{} of them think that they listen there", bound.len());
        assert!(bound.is_empty() || UnixStream::connect(&path).is_ok());
    }
}

#[test]
fn the_file_of_a_socket_is_never_another_users() {
    let dir = tempfile::tempdir().unwrap();
    let (path, ends, loose) = (dir.path().join("socket"), AtomicBool::new(false), AtomicU32::new(0));
    rustix::process::umask(rustix::fs::Mode::empty());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(Ordering::Relaxed) {
                if let Ok(file) = path.symlink_metadata().filter_socket() {
                    loose.fetch_or(file & 0o177, Ordering::Relaxed);
                }
            }
        });
        for _ in 0..3000 {
            drop(bind(&path).unwrap());
        }
        ends.store(true, Ordering::Relaxed);
    });
    assert_eq!(loose.into_inner(), 0, "permission bits that others have had");
}

trait FilterSocket {
    fn filter_socket(self) -> Result<u32, ()>;
}

impl FilterSocket for std::io::Result<std::fs::Metadata> {
    fn filter_socket(self) -> Result<u32, ()> {
        self.ok().filter(|file| file.file_type().is_socket()).map(|file| file.permissions().mode()).ok_or(())
    }
}
