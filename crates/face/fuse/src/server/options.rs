//! How a mounted volume is presented and served.

use crate::transport::TransportChoice;
use rustix::io::Errno;
use std::pin::Pin;
use std::rc::Rc;

/// The work of [`crate::SCRUB`] or [`crate::ADOPT`], and its result. `Err`: the disk failed, or the volume has nothing
/// with which to verify.
pub type Scrub = Box<dyn Fn(u64) -> Pin<Box<dyn Future<Output = Result<String, Errno>>>>>;

/// The server's report on its volume.
#[derive(Debug, Clone)]
pub struct Status {
    /// The report.
    pub text: String,
    /// It will change: on a volume without attributes, ENOSYS must wait until then, because the kernel never queries
    /// again.
    pub busy: bool,
}

/// How a mounted volume is presented and served.
pub struct ServeOptions {
    /// The transport to the kernel.
    pub transport: TransportChoice,
    /// The kernel caches written data and sends it later, in larger pieces. Speeds up small writes, slows sequential
    /// ones.
    pub writeback: bool,
    /// The volume has extended attributes. Without them every request about them is answered with ENOSYS once.
    pub xattrs: bool,
    /// The volume has POSIX ACLs, and the kernel must enforce them. Needs `xattrs`.
    pub acls: bool,
    /// Shows every file as this user's.
    pub uid: Option<u32>,
    /// Shows every file as this group's.
    pub gid: Option<u32>,
    /// Permission bits that are masked.
    pub umask: u16,
    /// The serving thread moves to the CPU of a caller that is alone. `false`: it stays where the scheduler puts it.
    pub follow: bool,
    /// SIGTERM and SIGINT unmount; a second one ends the service at once.
    pub signals: bool,
    /// Called once, when the mount is usable: the kernel has the reply to its first request.
    pub ready: Option<Box<dyn FnOnce()>>,
    /// The value of the attribute [`crate::STATUS`] of the root: the state of the mounted volume.
    pub status: Option<Box<dyn Fn() -> Status>>,
    /// The work of [`crate::SCRUB`].
    pub scrub: Option<Scrub>,
    /// The work of [`crate::ADOPT`].
    pub adopt: Option<Scrub>,
    /// Called when the end takes long: from then on a signal gives it up.
    pub ends_slowly: Rc<dyn Fn()>,
    /// Called for every error of disk or image, of which the caller of the file system sees only an errno.
    pub complain: Box<dyn Fn(&ordo_vfs::Error)>,
}

impl Default for ServeOptions {
    fn default() -> ServeOptions {
        ServeOptions {
            transport: TransportChoice::Classic,
            writeback: false,
            xattrs: true,
            acls: false,
            uid: None,
            gid: None,
            umask: 0,
            follow: true,
            signals: false,
            ready: None,
            status: None,
            scrub: None,
            adopt: None,
            ends_slowly: Rc::new(|| ()),
            complain: Box::new(|_| ()),
        }
    }
}
