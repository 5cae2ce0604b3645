//! A disk behind a network block device server: `nbd://host[:port]/export`, `nbd+unix:///export?socket=/path`.
//! docs/nbd.md is the user's page. `nbds://` is encrypted, with the feature `tls`.
//!
//! After the protocol document of the NBD project (doc/proto.md): fixed newstyle handshake, simple and structured
//! replies, flush, forced writes (FUA), trim, zeroes and block status where the server has them.
//!
//! N1. A connection that is lost is made again, and what was not answered is sent again, so that nobody above sees it.
//!     A connection is lost when it ends, and when a reply breaks the protocol, was not asked for, or comes twice.
//! N2. Lengths that the server reports are bounded before anything is allocated; a reply is believed only inside of
//!     what its request allows (nbd-wire-1).
//! N3. A server that dies may lose every change that it has answered and that no flush covers. These are kept, and a
//!     write that finds no memory for its own keeping waits for a flush of ours. A server that offers no flush writes
//!     through, and a disk whose cache the user calls safe loses nothing: there nothing is kept.
//! N4. After a loss, what is kept goes first, and nothing else is sent before all of it is answered: a read would find
//!     old bytes, and a newer write would land under an older one. What is kept does not overlap. A connection is made
//!     only after the server has ended the old one, or some seconds: what it had still to do could land over a newer
//!     write. (A server that does not end what it has begun cannot be fenced off; the protocol has no word for that.)
//! N5. A flush covers what was answered before it was sent, on whichever connection, and is answered only when the
//!     server has answered it: one that was lost is sent again, after what is kept.
//! N6. Flushes are sent one at a time. The server drops what it cannot write and tells one flush: that one fails with
//!     all that wait for it, and after a flush of ours that failed the next one of the caller fails.
//! N7. The export that comes back is the one that was lost, or the disk is gone: another size, other flags or blocks
//!     mean another disk, and what is kept must not be written over it.
//! N8. A server that answers nothing for the time-out is given up: all fails, now and later, with an error that says
//!     what to do. So nothing waits for ever, unless the user says `timeout=0`.
//! N9. Several connections only where the server says that they share one cache; they are lost together.
//!
//! N10. Under a lease ([`Disk::hold`]) nothing that changes the disk is sent, or sent again, after its end: each lane
//!     asks before it sends, and the disk is given up. Reads go on as long as no change waits or is kept.
//!
//! Requests that overlap and are under way at the same time have no order, as on every [`Disk`].
//!
//! A server does not tell who else uses an export: unlike a file, an export cannot be locked from here.

mod asked;
mod clock;
mod error;
mod handshake;
mod inside;
mod kept;
mod link;
mod notice;
mod plain;
pub mod proto;
mod stream;
mod table;
mod target;
#[cfg(feature = "tls")]
mod tls;
mod url;
mod wire;

use std::path::Path;
use std::rc::{Rc, Weak};
use std::time::Duration;

use ordo_rt::Rt;

use crate::engine::Driven;
use crate::engine::work::Work;
use crate::error::OpenError;
use crate::fence::Lease;
use crate::{Cause, Disk, DiskError, DiskFuture, DiskInfo, DiskOff, DiskOp, Extent, ReadPart, WritePart};
pub use error::NbdError;
use handshake::Export;
use inside::Inside;
pub use inside::{NbdLanes, NbdWay};
use link::{Link, Manner, PATIENCE};
pub use notice::{NbdGone, NbdListener, NbdNotice};
use proto::{FLAG_CAN_MULTI_CONN, FLAG_HAS_FLAGS, FLAG_SEND_FLUSH, FLAG_SEND_FUA, FLAG_SEND_WRITE_ZEROES};
use table::Table;
use target::Target;
use url::Url;

/// How long a server may answer nothing, unless the user says otherwise: an administrator can start it again.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Connections to a server that can share, unless the user says otherwise.
const CONNECTIONS: usize = 2;

/// Memory for changes that the server may lose (nbd-3).
const KEPT: u64 = 64 << 20;

/// How to use an export. What the address says as a parameter goes before.
#[derive(Clone, Debug, Default)]
pub struct NbdOptions {
    /// Read only, even if the server accepts writes.
    pub read_only: bool,
    /// Overrides what the server reports about its cache: one that offers a flush has a volatile cache.
    pub volatile_cache: Option<bool>,
    /// How long the server may answer nothing before the disk is given up; zero: for ever. 120 seconds if `None`.
    pub timeout: Option<Duration>,
    /// The most connections, from 1 to 16.
    pub connections: Option<usize>,
    /// The most memory for changes that the server may still lose, in bytes; 64 MiB if `None`.
    pub kept: Option<u64>,
    /// Who is told that the connection is lost and is back.
    pub listener: NbdListener,
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
        let refused = |why: NbdError| OpenError::Unusable { address: url.into(), source: why.into() };
        let parsed = Url::parse(url).map_err(refused)?;
        NbdDisk::shake_hands(rt, parsed, options).map_err(refused)
    }

    fn shake_hands(rt: &Rt, url: Url, options: &NbdOptions) -> Result<NbdDisk, NbdError> {
        let asked = options.timeout.map(|limit| (!limit.is_zero()).then_some(limit));
        let manner = Manner {
            timeout: url.timeout.or(asked).unwrap_or(Some(TIMEOUT)),
            connections: url.connections.or(options.connections).unwrap_or(CONNECTIONS),
            listener: options.listener.clone(),
        };
        let target = Target::new(url)?;
        let lanes = target.open_all(manner.connections, PATIENCE)?;
        let export = lanes[0].1.clone();
        let info = DiskInfo {
            size: export.size - export.size % u64::from(export.sector),
            sector: export.sector,
            volatile_cache: options.volatile_cache.unwrap_or(export.can_flush()),
            read_only: options.read_only || export.is_read_only(),
            max_transfer: export.max_transfer.min(1 << 20),
            depth: 32,
            immediate: false,
            times_only: false,
            rotates: export.rotates(),
        };
        let keeps = export.can_flush() && info.volatile_cache && !info.read_only;
        let table = Table::new(export.clone(), keeps, options.kept.unwrap_or(KEPT));
        let link = Rc::new(Link::new(target, lanes, table, manner)?);
        let driven = Driven::new(rt, link, None)?;
        Ok(NbdDisk(Rc::new(Shared { info, export, driven })))
    }

    /// The client of a server in the same process, without threads and sockets: the laboratory loses its connections.
    /// The export is as long as `disk` says, and has a flush if that one's cache is volatile.
    pub fn inside(rt: &Rt, disk: &DiskInfo, options: &NbdOptions, way: Weak<dyn NbdWay>) -> (NbdDisk, NbdLanes) {
        let flush = if disk.volatile_cache { FLAG_SEND_FLUSH } else { 0 };
        let flags = FLAG_HAS_FLAGS | flush | FLAG_SEND_FUA | FLAG_SEND_WRITE_ZEROES | FLAG_CAN_MULTI_CONN;
        let export = Export::of_disk(disk.size, flags, disk.sector, disk.max_transfer);
        let volatile_cache = options.volatile_cache.unwrap_or(export.can_flush());
        let info = DiskInfo { immediate: false, volatile_cache, ..disk.clone() };
        let keeps = export.can_flush() && volatile_cache;
        let table = Table::new(export.clone(), keeps, options.kept.unwrap_or(KEPT));
        let link = Rc::new(Inside::new(way, export.clone(), table));
        let driven = Driven::by_its_own(rt, link.clone());
        (NbdDisk(Rc::new(Shared { info, export, driven })), NbdLanes(link))
    }

    /// True if `location` is an address of this kind and not a path.
    pub fn is_url(location: &Path) -> bool {
        const SCHEMES: [&str; 4] = ["nbd://", "nbds://", "nbd+unix://", "nbds+unix://"];
        location.to_str().is_some_and(|text| SCHEMES.iter().any(|scheme| text.starts_with(scheme)))
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

    fn hold(&self, lease: &Lease) {
        self.0.driven.hold(lease);
    }

    fn discard(&self, at: DiskOff, len: u64) -> DiskFuture<Result<(), DiskError>> {
        if !self.0.export.can_trim() || u32::try_from(len).is_err() {
            return DiskFuture::now(Err(DiskError::new(DiskOp::Discard, at, len, Cause::Unsupported)));
        }
        self.0.driven.ask(&self.0.info, at, Work::Punch { at: at.0, len }, |_| Ok(()))
    }

    fn extents(&self, at: DiskOff, len: u64) -> DiskFuture<Result<Vec<Extent>, DiskError>> {
        if self.0.export.allocation.is_none() {
            return DiskFuture::now(Err(DiskError::new(DiskOp::Read, at, len, Cause::Unsupported)));
        }
        // The protocol's lengths have 32 bits.
        let len = len.min(u64::from(u32::MAX) + 1 - u64::from(self.0.info.sector));
        let work = Work::Extents { at: at.0, len, found: Vec::new() };
        self.0.driven.ask(&self.0.info, at, work, Work::into_extents)
    }
}

#[cfg(test)]
mod tests;
