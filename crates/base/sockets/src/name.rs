//! The file of a Unix socket: how it comes, makes way, and goes (sockets-1, sockets-2).

use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, Mode, OFlags, fchmod, flock, fstat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with};
use rustix::process::geteuid;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
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
            match &turn {
                Ok(turn) => make_way(path, turn)?,
                Err(why) => return Err(io::Error::new(why.kind(), why.to_string())),
            }
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

/// One server at a time listens at a name: between bind(2) and listen(2) a socket looks abandoned, and a second server
/// would remove it. It is a locked directory beside the socket, which this user alone can open: a lock that others can
/// take, as that of the directory above, would let them keep the server away.
struct Turn {
    room: PathBuf,
    #[expect(dead_code, reason = "it is unlocked when this is dropped")]
    lock: OwnedFd,
}

impl Turn {
    fn take(path: &Path) -> io::Result<Turn> {
        let mut name = std::ffi::OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(".turn");
        let room = path.with_file_name(name);
        for _ in 0..ASKS {
            if let Some(lock) = locked(&room)? {
                return Ok(Turn { room, lock });
            }
            std::thread::sleep(BETWEEN);
        }
        Err(in_use("another process is about to listen there"))
    }

    /// A name in the room that is free; what an earlier server could not put back is still there.
    fn free_name(&self) -> PathBuf {
        let mut names = (0..).map(|n: u64| self.room.join(n.to_string()));
        // There are more numbers than files.
        names.find(|name| name.symlink_metadata().is_err()).unwrap_or_default()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // What could not be put back stays in it.
        let _ = std::fs::remove_dir(&self.room);
    }
}

/// The lock of a directory of this user alone, which is made if it is missing; `None` if another process has it.
fn locked(room: &Path) -> io::Result<Option<OwnedFd>> {
    match std::fs::DirBuilder::new().mode(0o700).create(room) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let lock = match rustix::fs::open(room, flags, Mode::empty()) {
        // Its server has ended.
        Err(Errno::NOENT) => return Ok(None),
        opened => opened.map_err(|errno| not_ours(room, errno.kind()))?,
    };
    let about = fstat(&lock)?;
    if about.st_uid != geteuid().as_raw() || about.st_mode & 0o077 != 0 {
        return Err(not_ours(room, ErrorKind::AddrInUse));
    }
    if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(None);
    }
    // Its server may have ended, and removed it, before it was locked here.
    let is_there = Identity::of(room).ok() == Some(Identity { device: about.st_dev, ino: about.st_ino });
    Ok(is_there.then_some(lock))
}

fn not_ours(room: &Path, kind: ErrorKind) -> io::Error {
    let why = "is not a directory of this user alone; remove it, or choose another name for the socket";
    io::Error::new(kind, format!("{} {why}", room.display()))
}

/// Removes the file at `path` if it is an abandoned socket of this user, which has the turn.
fn make_way(path: &Path, turn: &Turn) -> io::Result<()> {
    let seen = abandoned(path)?;
    // It is looked at again where nobody else can change it: something else may have taken its place meanwhile.
    let aside = turn.free_name();
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
