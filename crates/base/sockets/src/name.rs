//! The file of a Unix socket: how it comes, makes way, and goes (sockets-1, sockets-2).

use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, Mode, OFlags, fchmod, flock};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with};
use rustix::process::geteuid;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Clients that wait to be accepted; the system has a limit of its own.
const BACKLOG: i32 = 128;

/// The file of a socket that this process has bound; removed with this, if it is still the same.
#[derive(Debug)]
pub(crate) struct Name {
    path: PathBuf,
    file: Option<Identity>,
}

/// Which file it is, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    ino: u64,
}

impl Identity {
    fn of(path: &Path) -> io::Result<Identity> {
        path.symlink_metadata().map(|file| Identity { device: file.dev(), ino: file.ino() })
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        if self.file.is_some() && Identity::of(&self.path).ok() == self.file {
            // If it cannot be removed, the next server finds it abandoned.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Binds and listens. The file is for this user alone.
pub(crate) fn bind_file(path: &Path) -> io::Result<(UnixListener, Name)> {
    let place = SocketAddrUnix::new(path)?;
    let turn = Turn::take(path);
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    // bind(2) gives the file the permissions of the descriptor, less the umask.
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    match bind(&socket, &place) {
        Err(Errno::ADDRINUSE) => {
            abandoned(path)?;
            make_way(path, &turn.ok_or_else(|| in_use("another process is about to listen in this directory"))?)?;
            bind(&socket, &place)?;
        }
        outcome => outcome?,
    }
    let name = Name { path: path.into(), file: Identity::of(path).ok() };
    listen(&socket, BACKLOG)?;
    Ok((UnixListener::from(socket), name))
}

fn in_use(why: &str) -> io::Error {
    io::Error::new(ErrorKind::AddrInUse, why.to_owned())
}

/// How often the turn is asked for, and the pause between.
const ASKS: u32 = 50;
const BETWEEN: Duration = Duration::from_millis(20);

/// One server at a time listens in a directory: between bind(2) and listen(2) a socket looks abandoned, and a second
/// server would remove it. A lock of the directory, with this.
struct Turn(#[allow(dead_code)] OwnedFd);

impl Turn {
    /// `None`: others may hold the lock of a directory that they can read, and are not waited for.
    fn take(path: &Path) -> Option<Turn> {
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(dir, flags, Mode::empty()).ok()?;
        for _ in 0..ASKS {
            if flock(&dir, FlockOperation::NonBlockingLockExclusive).is_ok() {
                return Some(Turn(dir));
            }
            std::thread::sleep(BETWEEN);
        }
        None
    }
}

/// Removes the file at `path` if it is an abandoned socket of this user, which has the turn.
fn make_way(path: &Path, _: &Turn) -> io::Result<()> {
    let seen = abandoned(path)?;
    // It is looked at again where nobody else can change it: something else may have taken its place meanwhile.
    let room = room_beside(path)?;
    let aside = room.0.join("socket");
    std::fs::rename(path, &aside)?;
    if Identity::of(&aside)? == seen {
        return std::fs::remove_file(&aside);
    }
    // Only where the name is still free: what came after is not ours to replace.
    let _ = std::fs::hard_link(&aside, path).and_then(|()| std::fs::remove_file(&aside));
    Err(in_use("something else has just got this name"))
}

/// Which file it is, if it is a socket of this user at which nobody listens.
fn abandoned(path: &Path) -> io::Result<Identity> {
    let file = path.symlink_metadata()?;
    if !file.file_type().is_socket() {
        return Err(in_use("something that is no socket has this name; choose another name, or remove it"));
    }
    if file.uid() != geteuid().as_raw() {
        return Err(in_use("the socket of another user has this name; choose another name"));
    }
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let knocking = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match connect(&knocking, &SocketAddrUnix::new(path)?) {
        Err(Errno::CONNREFUSED) => Ok(Identity { device: file.dev(), ino: file.ino() }),
        _ => Err(in_use("another process listens there")),
    }
}

/// A directory of this user alone beside `path`, removed with this if it is empty.
struct Room(PathBuf);

impl Drop for Room {
    fn drop(&mut self) {
        // What could not be put back stays in it.
        let _ = std::fs::remove_dir(&self.0);
    }
}

fn room_beside(path: &Path) -> io::Result<Room> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    let room = path.with_file_name(name);
    std::fs::DirBuilder::new().mode(0o700).create(&room)?;
    Ok(Room(room))
}
