//! A drive with nothing but the log of a program on it ([`ordo_workload::OwnLog`]).
//!
//! D1. The log is written in order from the drive's first sector, and begins again there when it reaches the end. The
//!     last sector of a write may be partly filled: the next write writes it again, with more in it.
//! D2. An append costs what a write by a program costs: a call, the move of its bytes, and a request of the drive. It
//!     passes no cache, as a data base does that writes to the raw disk.

use crate::cpu::Share;
use ordo_vfs::Error;
use ordo_workload::OwnLog;
use ordofs::disk::{Block, Disk, DiskOff, Kind, Tag, WritePart};
use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The drive, and where the log ends on it.
pub(crate) struct LogDrive {
    disk: Rc<dyn Disk>,
    end: Cell<u64>,
}

impl LogDrive {
    pub(crate) fn new(disk: Rc<dyn Disk>) -> LogDrive {
        LogDrive { disk, end: Cell::new(0) }
    }

    /// The sectors for so many bytes more: the first byte, and how many.
    fn take(&self, bytes: u64) -> (u64, u64) {
        let info = self.disk.info();
        let sector = u64::from(info.sector);
        let fits = |from: u64| (from + bytes).next_multiple_of(sector) <= info.size;
        let from = Some(self.end.get()).filter(|end| fits(*end)).unwrap_or(0);
        self.end.set(from + bytes);
        let first = from / sector * sector;
        (first, (from + bytes).next_multiple_of(sector) - first)
    }

    async fn append(&self, bytes: u64) -> ordo_vfs::Result<()> {
        let (at, len) = self.take(bytes);
        let part = WritePart { image: Arc::new(Block::zeroed(len as usize)), tag: Tag::of(Kind::Log) };
        self.disk.write(DiskOff(at), vec![part], false).await.map_err(Error::io)?;
        match self.disk.info().volatile_cache {
            true => self.disk.flush().await.map_err(Error::io),
            false => Ok(()),
        }
    }
}

/// The log as one user writes it.
pub(crate) struct UserLog<'a> {
    pub(crate) drive: &'a LogDrive,
    pub(crate) share: &'a Share,
}

impl OwnLog for UserLog<'_> {
    fn append(&self, bytes: u64) -> Pin<Box<dyn Future<Output = ordo_vfs::Result<()>> + '_>> {
        Box::pin(async move {
            let costs = self.share.costs();
            let moving = Duration::from_nanos((costs.kib.as_nanos() * u128::from(bytes) / 1024) as u64);
            self.share.work(costs.call + moving + costs.request).await;
            self.drive.append(bytes).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordofs::disk::RamDisk;

    #[test]
    fn the_log_goes_on_in_the_sector_that_is_partly_filled_and_begins_again_at_the_end() {
        let log = LogDrive::new(Rc::new(RamDisk::new(4096)));
        let taken = [700, 324, 1, 2047, 1025, 100, 4096, 1].map(|bytes| log.take(bytes));
        assert_eq!(
            taken,
            [(0, 1024), (512, 512), (1024, 512), (1024, 2048), (0, 1536), (1024, 512), (0, 4096), (0, 512)]
        );
    }
}
