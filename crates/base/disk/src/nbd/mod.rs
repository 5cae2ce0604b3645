//! A disk behind a network block device server: `nbd://host[:port]/export`, `nbd+unix:///export?socket=/path`.
//!
//! After the protocol document of the NBD project (doc/proto.md): fixed newstyle handshake, simple replies, flush,
//! forced writes (FUA) and trim where the server has them. No TLS.
//!
//! N1. A lost connection fails every request in flight and every later one as *gone*. It is not re-established behind
//!     the caller's back, since the server may have lost what was not flushed.
//! N2. Lengths that the server reports are bounded before anything is allocated.
//!
//! A server does not tell who else uses an export: unlike a file, an export cannot be locked from here.

mod handshake;
mod link;
pub mod proto;
mod stream;

use std::path::Path;
use std::rc::Rc;

use ordo_rt::Rt;

use crate::engine::Driven;
use crate::engine::work::Work;
use crate::error::OpenError;
use crate::{Disk, DiskError, DiskFuture, DiskInfo, DiskOff, ReadPart, WritePart};
use handshake::Export;
use link::{Link, PATIENCE};
use stream::{Stream, Url};

/// How to use an export.
#[derive(Clone, Debug, Default)]
pub struct NbdOptions {
    /// Read only, even if the server accepts writes.
    pub read_only: bool,
    /// Overrides what the server reports about its cache: one that offers a flush has a volatile cache.
    pub volatile_cache: Option<bool>,
}

/// Why an export could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NbdError {
    /// The address is not valid.
    #[error("not an address of the form nbd://host[:port]/export or nbd+unix:///export?socket=/path")]
    Url,
    /// No connection, or it broke.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The server does not speak the protocol.
    #[error("the server breaks the protocol: {what} is {found:#x}")]
    Protocol {
        /// The field.
        what: &'static str,
        /// Its value.
        found: u64,
    },
    /// The server refuses the export.
    #[error("the server refuses the export (code {code:#x}): {text}")]
    Refused {
        /// The error of the protocol.
        code: u32,
        /// The server's text.
        text: String,
    },
}

/// An export of an NBD server; clones are handles of the same connection.
#[derive(Clone)]
pub struct NbdDisk(Rc<Shared>);

struct Shared {
    info: DiskInfo,
    export: Export,
    driven: Driven,
}

impl NbdDisk {
    /// Connects to the export that `url` names. Blocks during the handshake.
    pub fn connect(rt: &Rt, url: &str, options: &NbdOptions) -> Result<NbdDisk, OpenError> {
        let refused = |source| OpenError::Nbd { url: url.into(), source };
        let parsed = Url::parse(url).ok_or_else(|| refused(NbdError::Url))?;
        NbdDisk::shake_hands(rt, &parsed, options).map_err(refused)
    }

    fn shake_hands(rt: &Rt, url: &Url, options: &NbdOptions) -> Result<NbdDisk, NbdError> {
        let mut stream = Stream::connect(&url.place)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let export = handshake::shake_hands(&mut stream, &url.export)?;
        stream.set_read_timeout(None)?;
        let info = DiskInfo {
            size: export.size - export.size % u64::from(export.sector),
            sector: export.sector,
            volatile_cache: options.volatile_cache.unwrap_or(export.can_flush()),
            read_only: options.read_only || export.is_read_only(),
            max_transfer: export.max_transfer.min(1 << 20),
            depth: 32,
            immediate: false,
            times_only: false,
        };
        let driven = Driven::new(rt, Rc::new(Link::new(stream)?), None)?;
        Ok(NbdDisk(Rc::new(Shared { info, export, driven })))
    }

    /// True if `location` is an address of this kind and not a path.
    pub fn is_url(location: &Path) -> bool {
        location.to_str().is_some_and(|text| text.starts_with("nbd://") || text.starts_with("nbd+unix://"))
    }
}

impl Disk for NbdDisk {
    fn info(&self) -> DiskInfo {
        self.0.info.clone()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        self.0.driven.ask(&self.0.info, at, Work::Read { at: at.0, parts }, Work::into_read)
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        if !fua || self.0.export.can_force() || !self.0.export.can_flush() {
            let fua = fua && self.0.export.can_force();
            return self.0.driven.ask(&self.0.info, at, Work::Write { at: at.0, parts, fua }, |_| Ok(()));
        }
        let (disk, write) = (self.clone(), self.write(at, parts, false));
        DiskFuture::later(async move {
            write.await?;
            disk.flush().await
        })
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        if self.0.info.read_only || !self.0.export.can_flush() {
            return DiskFuture::now(Ok(()));
        }
        self.0.driven.ask(&self.0.info, DiskOff(0), Work::Flush, |_| Ok(()))
    }

    fn discard(&self, at: DiskOff, len: u64) -> DiskFuture<Result<(), DiskError>> {
        if !self.0.export.can_trim() || u32::try_from(len).is_err() {
            let error = DiskError::new(crate::DiskOp::Discard, at, len, crate::Cause::Unsupported);
            return DiskFuture::now(Err(error));
        }
        self.0.driven.ask(&self.0.info, at, Work::Punch { at: at.0, len }, |_| Ok(()))
    }
}

#[cfg(test)]
mod tests;
