//! How `umount` knows that the image can be moved.
//!
//! umount(2) returns when the mount is gone, and the server writes its caches back after that. So the server listens on
//! a socket with an abstract name made of the mount's device number, for as long as it has the image; it accepts nobody
//! before its end. Who unmounts connects first, unmounts, and then reads what became of the last writes: the kernel
//! ends the connection when the socket is closed, by whatever way the server ends. There is no file to be left behind
//! and no process number to be mistaken.
//!
//! U1. The lease outlives the open image.
//! U2. Nobody waits for a stranger: the listener must be root's or the caller's own.
//! U3. Only a server that has closed the image says how that went. An end without a word is a server that was killed,
//!      or that failed: what it had not written is lost, and `umount` must not pass over that.

use rt::Rt;
use rustix::net::sockopt::socket_peercred;
use std::io::{self, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

/// What a server says that has written everything.
const WRITTEN: &[u8] = b"written\n";
/// How long a server waits for one who unmounts and does not read.
const PATIENCE: Duration = Duration::from_secs(1);
/// Longest answer that is read, in bytes.
const ROOM: u64 = 4096;

/// Says that this process still has the image of a mount. [`Lease::end`] is called when the image is closed; dropped,
/// it says that the server failed.
#[derive(Debug)]
#[must_use = "without an end it says that the last writes are lost"]
pub struct Lease {
    socket: UnixListener,
}

fn address(device: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("ordo-fuse/{device}"))
}

impl Lease {
    /// Takes the lease of the mount with number `device` (`major:minor`).
    ///
    /// The kernel gives a number anew as soon as its mount is gone, when the server of that mount may still be writing
    /// back: it is waited for, for a second at the most.
    pub(super) fn take(device: &str) -> io::Result<Lease> {
        let (address, rt) = (address(device)?, Rt::real_time());
        let mut tries = 0..50;
        loop {
            match UnixListener::bind_addr(&address) {
                Err(e) if e.kind() == io::ErrorKind::AddrInUse && tries.next().is_some() => {
                    rt.block_on(rt.sleep(Duration::from_millis(20)));
                }
                bound => return Ok(Lease { socket: bound? }),
            }
        }
    }

    /// Tells whoever has unmounted what became of the last writes: `Err` says in one line why they failed. To be called
    /// when the image is closed.
    pub fn end(self, written: Result<(), &str>) {
        let said = match written {
            Ok(()) => WRITTEN,
            Err(why) => why.as_bytes(),
        };
        // Who cannot be told hears nothing, which is no success either (U3).
        let Ok(()) = self.socket.set_nonblocking(true) else { return };
        while let Ok((mut stream, _)) = self.socket.accept() {
            let ready = stream.set_nonblocking(false).and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
            let _ = ready.and_then(|()| stream.write_all(said));
        }
    }
}

/// What is known of the last writes of a server that is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LastWrites {
    Done,
    /// Why they failed.
    Failed(String),
    /// It ended without a word (U3).
    Unknown,
}

/// Waits for a lease to end.
#[derive(Debug)]
pub(super) struct Waiter(UnixStream);

impl Waiter {
    /// Looks for the server of the mount with number `device`; `None` where none can be seen from here (it is dead, or
    /// in another network namespace).
    pub(super) fn find(device: &str) -> Option<Waiter> {
        let stream = UnixStream::connect_addr(&address(device).ok()?).ok()?;
        let peer = socket_peercred(&stream).ok()?.uid;
        (peer.is_root() || peer == rustix::process::geteuid()).then_some(Waiter(stream))
    }

    /// Returns when the server has closed the image, or is dead.
    pub(super) fn wait(self) -> LastWrites {
        let mut said = Vec::new();
        // An error is the reset of a connection that was never accepted.
        let _ = self.0.take(ROOM).read_to_end(&mut said);
        match &said[..] {
            WRITTEN => LastWrites::Done,
            b"" => LastWrites::Unknown,
            why => LastWrites::Failed(String::from_utf8_lossy(why).into_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn the_wait_ends_with_the_lease_and_not_before() {
        let device = format!("test:{}", std::process::id());
        assert!(Waiter::find(&device).is_none());
        let lease = Lease::take(&device).unwrap();
        assert!(Lease::take(&device).is_err());
        let waiter = Waiter::find(&device).unwrap();
        let (done, ended) = mpsc::channel();
        std::thread::spawn(move || done.send(waiter.wait()).unwrap());
        assert!(ended.recv_timeout(std::time::Duration::from_millis(50)).is_err());
        lease.end(Ok(()));
        assert_eq!(ended.recv().unwrap(), LastWrites::Done);
    }

    #[test]
    fn what_failed_is_told_to_all_who_wait_and_silence_is_no_success() {
        let device = format!("test-failed:{}", std::process::id());
        let lease = Lease::take(&device).unwrap();
        let waiters = [(); 2].map(|()| Waiter::find(&device).unwrap());
        lease.end(Err("no space"));
        for waiter in waiters {
            assert_eq!(waiter.wait(), LastWrites::Failed("no space".into()));
        }
        let lease = Lease::take(&device).unwrap();
        let waiter = Waiter::find(&device).unwrap();
        drop(lease);
        assert_eq!(waiter.wait(), LastWrites::Unknown);
    }
}
