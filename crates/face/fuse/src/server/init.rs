//! INIT: negotiation of protocol version and features.

use super::options::ServeOptions;
use crate::proto::abi::{self, InitIn, InitOut, init};
use crate::transport::{MAX_TRANSFER, TransportChoice};
use rustix::io::Errno;

/// Requests that the kernel may send without a waiting caller (read-ahead, write-back, direct I/O in parallel).
const BACKGROUND_MOST: u16 = 64;

/// The negotiated features that later requests depend on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Agreed {
    /// SETXATTR has its longer form.
    pub(super) setxattr_ext: bool,
}

/// The reply to INIT.
pub(super) enum Negotiated {
    /// The kernel's major version is newer: it will send INIT again with ours.
    AskAgain(InitOut),
    /// The negotiation is complete.
    Settled(InitOut, Agreed),
}

/// The features to request if the kernel offers them.
fn wanted(opts: &ServeOptions) -> u64 {
    // Left out on purpose. ATOMIC_O_TRUNC: a size is set by SETATTR, since OPEN is not sent. AUTO_INVAL_DATA: only this
    // kernel changes files. POSIX_LOCKS, FLOCK_LOCKS: the kernel keeps locks itself. SPLICE_*: replies are gathered
    // without copying.
    let mut flags = init::ASYNC_READ
        | init::EXPORT_SUPPORT
        | init::BIG_WRITES
        | init::DONT_MASK
        | init::HAS_IOCTL_DIR
        | init::DO_READDIRPLUS
        | init::READDIRPLUS_AUTO
        | init::ASYNC_DIO
        | init::NO_OPEN_SUPPORT
        | init::NO_OPENDIR_SUPPORT
        | init::PARALLEL_DIROPS
        | init::MAX_PAGES
        | init::CACHE_SYMLINKS
        | init::EXPLICIT_INVAL_DATA
        | init::SETXATTR_EXT
        | init::INIT_EXT
        // Without it the kernel requests `security.capability` before every single write; with it, once per file.
        | init::HANDLE_KILLPRIV_V2;
    if opts.acls {
        flags |= init::POSIX_ACL;
    }
    if opts.transport == TransportChoice::Uring {
        flags |= init::OVER_IO_URING;
    }
    if opts.writeback {
        flags |= init::WRITEBACK_CACHE;
    }
    flags
}

/// Answers INIT.
///
/// # Errors
/// EPROTO for a kernel that is too old; EOPNOTSUPP for one that does not offer the transport.
pub(super) fn negotiate(asked: &InitIn, opts: &ServeOptions) -> Result<Negotiated, Errno> {
    let version = InitOut { major: abi::VERSION_MAJOR, minor: abi::VERSION_MINOR, ..Default::default() };
    if asked.major > abi::VERSION_MAJOR {
        return Ok(Negotiated::AskAgain(version));
    }
    if (asked.major, asked.minor) < (abi::VERSION_MAJOR, abi::VERSION_MINOR_LEAST) {
        return Err(Errno::PROTO);
    }
    let offered = u64::from(asked.flags2) << 32 | u64::from(asked.flags);
    let flags = wanted(opts) & offered;
    if opts.transport == TransportChoice::Uring && flags & init::OVER_IO_URING == 0 {
        return Err(Errno::OPNOTSUPP);
    }
    let out = InitOut {
        // The kernel takes the smaller of this and its own.
        max_readahead: MAX_TRANSFER,
        flags: flags as u32,
        flags2: (flags >> 32) as u32,
        max_background: BACKGROUND_MOST,
        congestion_threshold: BACKGROUND_MOST / 4 * 3,
        max_write: MAX_TRANSFER,
        time_gran: 1,
        max_pages: (MAX_TRANSFER / 4096) as u16,
        ..version
    };
    Ok(Negotiated::Settled(out, Agreed { setxattr_ext: flags & init::SETXATTR_EXT != 0 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(major: u32, minor: u32, flags: u64) -> Result<Negotiated, Errno> {
        let asked = InitIn { major, minor, flags: flags as u32, flags2: (flags >> 32) as u32, ..Default::default() };
        negotiate(&asked, &ServeOptions::default())
    }

    #[test]
    fn only_what_the_kernel_offers_is_agreed_on() {
        let Ok(Negotiated::Settled(out, agreed)) = ask(7, 45, init::MAX_PAGES | init::POSIX_ACL) else {
            panic!("not settled")
        };
        assert_eq!(u64::from(out.flags), init::MAX_PAGES);
        assert!(!agreed.setxattr_ext);
        assert_eq!((out.max_write, out.max_pages, out.time_gran), (1 << 20, 256, 1));
    }

    #[test]
    fn a_kernel_that_does_not_offer_the_ring_is_refused_it() {
        let opts = ServeOptions { transport: TransportChoice::Uring, ..ServeOptions::default() };
        let mut asked = InitIn { major: 7, minor: 45, ..Default::default() };
        assert_eq!(negotiate(&asked, &opts).err(), Some(Errno::OPNOTSUPP));
        asked.flags2 = (init::OVER_IO_URING >> 32) as u32;
        assert!(matches!(negotiate(&asked, &opts), Ok(Negotiated::Settled(out, _)) if out.flags2 == asked.flags2));
    }

    #[test]
    fn a_newer_major_version_is_asked_again_and_an_old_kernel_refused() {
        assert!(matches!(ask(8, 0, 0), Ok(Negotiated::AskAgain(out)) if out.major == 7));
        assert_eq!(ask(7, 30, 0).err(), Some(Errno::PROTO));
        assert_eq!(ask(6, 45, 0).err(), Some(Errno::PROTO));
    }
}
