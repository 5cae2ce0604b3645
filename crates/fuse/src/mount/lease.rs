//! How `umount` knows that the image can be moved.
//!
//! umount(2) returns when the mount is gone, and the server writes its caches back after that. So the server listens on
//! a socket with an abstract name made of the mount's device number, for as long as it has the image; it never accepts.
//! Who unmounts connects first, unmounts, and then reads: the kernel ends the connection when the socket is closed,
//! by whatever way the server ends. There is no file to be left behind and no process number to be mistaken.
//!
//! U1. The lease outlives the open image.
//! U2. Nobody waits for a stranger: the listener must be root's or the caller's own.

use rt::Rt;
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use std::io::{self, Read};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

/// Says that this process still has the image of a mount; dropped when it is closed.
#[derive(Debug)]
pub struct Lease {
    _socket: UnixListener,
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
                bound => return Ok(Lease { _socket: bound? }),
            }
        }
    }
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
    pub(super) fn wait(mut self) {
        loop {
            match self.0.read(&mut [0; 16]) {
                Ok(n) if n > 0 => {}
                Err(e) if e.raw_os_error() == Some(Errno::INTR.raw_os_error()) => {}
                // The end, or the reset of a connection that was never accepted.
                _ => return,
            }
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
        std::thread::spawn(move || {
            waiter.wait();
            done.send(()).unwrap();
        });
        assert!(ended.recv_timeout(std::time::Duration::from_millis(50)).is_err());
        drop(lease);
        ended.recv().unwrap();
    }
}
