//! `/dev/fuse`: one read for a request, one writev for a reply.

use super::message::{Message, Pool};
use super::seam::{Gone, MAX_TRANSFER, Notifier, Transport};
use crate::proto::abi::{InHeader, OutHeader, WriteIn};
use crate::proto::reply::{Answer, Notice, Reply};
use ordo_rt::{Rt, Watch};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{Errno, ioctl_fionbio, read, writev};
use std::io::IoSlice;
use std::rc::Rc;
use zerocopy::IntoBytes;

/// The most slices of one writev (`UIO_MAXIOV`).
const SLICES_MOST: usize = 1024;

/// The classic device.
pub struct DevFuse {
    fd: Rc<OwnedFd>,
    watch: Watch,
    pool: Rc<Pool>,
}

impl DevFuse {
    /// Serves through `fd`, an open `/dev/fuse` that is mounted.
    ///
    /// # Errors
    /// The system's, when the descriptor cannot be made non-blocking.
    pub fn new(rt: &Rt, fd: OwnedFd) -> rustix::io::Result<DevFuse> {
        ioctl_fionbio(&fd, true)?;
        let fd = Rc::new(fd);
        // The kernel refuses to read into less than the largest write with its headers.
        let pool = Pool::new(MAX_TRANSFER as usize + size_of::<InHeader>() + size_of::<WriteIn>());
        Ok(DevFuse { watch: rt.watch(fd.clone()), fd, pool })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    fn send(&self, unique: u64, error: i32, pieces: &[&[u8]]) -> bool {
        send(&self.fd, unique, error, pieces)
    }
}

fn send(fd: impl AsFd, unique: u64, error: i32, pieces: &[&[u8]]) -> bool {
    let header = size_of::<OutHeader>();
    let len = header + pieces.iter().map(|piece| piece.len()).sum::<usize>();
    let head = OutHeader { len: len as u32, error, unique };
    let mut slices = Vec::with_capacity(1 + pieces.len());
    slices.push(IoSlice::new(head.as_bytes()));
    slices.extend(pieces.iter().map(|piece| IoSlice::new(piece)));
    loop {
        match writev(fd.as_fd(), &slices) {
            // The kernel accepts a reply as a whole or not at all.
            Ok(_) => return true,
            Err(Errno::INTR) => {}
            // ENOENT: the request is gone (its connection was aborted). ENODEV: the whole mount is.
            Err(_) => return false,
        }
    }
}

fn notify(fd: impl AsFd, notice: Notice) {
    let (code, body) = notice.encode();
    send(fd, 0, code, &[&body]);
}

impl Transport for DevFuse {
    fn receive(&self) -> Result<Option<Message>, Gone> {
        let mut buffer = self.pool.take();
        loop {
            match read(&self.fd, buffer.bytes_mut()) {
                Ok(len) => return Ok(Some(Message::new(buffer, len, &self.pool))),
                Err(Errno::AGAIN) => {
                    self.pool.give_back(buffer);
                    return Ok(None);
                }
                // ENOENT: the caller gave up while its request was being copied. The next request may be there.
                Err(Errno::INTR | Errno::NOENT) => {}
                Err(Errno::NODEV | Errno::CONNABORTED) => return Err(Gone::Unmounted),
                Err(errno) => return Err(Gone::Failed(errno)),
            }
        }
    }

    async fn ready(&self) {
        self.watch.readable().await;
    }

    fn reply(&self, unique: u64, answer: &Answer) -> bool {
        match answer {
            Err(errno) => self.send(unique, -errno.raw_os_error(), &[]),
            Ok(Reply::Silent) => true,
            Ok(Reply::Done) => self.send(unique, 0, &[]),
            Ok(Reply::Bytes(bytes) | Reply::Entry(_, bytes) | Reply::Listing(_, bytes)) => {
                self.send(unique, 0, &[bytes])
            }
            Ok(Reply::Data(pieces)) if pieces.len() < SLICES_MOST => {
                let pieces: Vec<&[u8]> = pieces.iter().map(|piece| &piece[..]).collect();
                self.send(unique, 0, &pieces)
            }
            Ok(Reply::Data(pieces)) => self.send(unique, 0, &[&pieces.concat()]),
        }
    }

    fn notify(&self, notice: Notice) {
        notify(&self.fd, notice);
    }

    fn notifier(&self) -> rustix::io::Result<Notifier> {
        let fd = rustix::io::fcntl_dupfd_cloexec(&self.fd, 0)?;
        Ok(Box::new(move |notice| notify(&fd, notice)))
    }
}
