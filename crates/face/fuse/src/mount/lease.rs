//! The lease: how `umount` learns that the image can be moved.
//!
//! umount(2) returns when the mount is gone, but the server writes its caches back after that. Therefore the server
//! listens on a socket with an abstract name made of the mount's device number, as long as it has the image open; it
//! accepts no connection before its end. `umount` connects first, unmounts, and then reads the result of the last
//! writes: the kernel ends the connection when the socket is closed, however the server ends. This leaves no stale
//! file, and does not depend on a process number.
//!
//! U1. The lease outlives the open image.
//! U2. `umount` does not wait for a foreign process: the listener must belong to root or to the caller.
//! U3. Only a server that has closed the image reports the result. An end without a report means a server that was
//!     killed, or that failed: what it had not written is lost, and `umount` must not ignore that.

use ordo_rt::Rt;
use rustix::net::sockopt::socket_peercred;
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io::{self, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

/// The report of a server that has written everything.
const WRITTEN: &[u8] = b"written\n";
/// How long a server waits for an `umount` that does not read the report.
const PATIENCE: Duration = Duration::from_secs(1);
/// The maximum length of a report, in bytes.
const ROOM: u64 = 4096;

/// States that this process still has the image of a mount open. [`Lease::end`] is called when the image is closed; a
/// dropped lease means that the server failed.
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
    /// The kernel reuses a number as soon as its mount is gone, when the server of that mount may still be writing
    /// back: this waits for that server, for at most a second.
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

    /// Reports the result of the last writes to `umount`: `Err` says in one line why they failed. Must be called when
    /// the image is closed.
    pub fn end(self, written: Result<(), &str>) {
        let said = match written {
            Ok(()) => WRITTEN,
            Err(why) => why.as_bytes(),
        };
        // If nothing can be sent, `umount` does not take that for success (U3).
        let Ok(()) = self.socket.set_nonblocking(true) else { return };
        while let Ok((mut stream, _)) = self.socket.accept() {
            let ready = stream.set_nonblocking(false).and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
            let _ = ready.and_then(|()| stream.write_all(said));
        }
    }
}

/// What is known of the last writes of a server that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LastWrites {
    Done,
    /// They failed, for this reason.
    Failed(String),
    /// The server ended without a report (U3).
    Unknown,
}

impl LastWrites {
    fn of(report: &[u8]) -> LastWrites {
        match report {
            WRITTEN => LastWrites::Done,
            b"" => LastWrites::Unknown,
            why => LastWrites::Failed(String::from_utf8_lossy(why).into_owned()),
        }
    }
}

/// Waits for a lease to end.
#[derive(Debug)]
pub(super) struct Waiter(UnixStream);

impl Waiter {
    /// Finds the server of the mount with number `device`; `None` if none is visible from here (it is dead, or in
    /// another network namespace).
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
        LastWrites::of(&said)
    }
}

/// How often a server that is to give up is told so, and from when on. It has an end of its own that takes a while, and
/// counts the signals (`server::signals`).
const TOLD: std::ops::Range<u32> = 6..30;

impl Waiter {
    /// As [`Waiter::wait`]; a server that needs long is told to give up. `Err` is its number if it goes on then.
    pub(super) fn insist(mut self) -> Result<LastWrites, i32> {
        let process = socket_peercred(&self.0).map(|peer| peer.pid).map_err(|_| 0)?;
        // The number is the server's at every moment at which the connection is not at its end.
        let handle = pidfd_open(process, PidfdFlags::empty()).ok();
        let mut said = Vec::new();
        self.0.set_read_timeout(Some(Duration::from_secs(1))).map_err(|_| process.as_raw_nonzero().get())?;
        for second in 0..TOLD.end {
            // A report comes in one piece.
            match (&mut self.0).take(ROOM).read_to_end(&mut said) {
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
                _ => return Ok(LastWrites::of(&said)),
            }
            if let (Some(handle), true) = (&handle, second >= TOLD.start) {
                let _ = pidfd_send_signal(handle, Signal::TERM);
            }
        }
        Err(process.as_raw_nonzero().get())
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
