//! A disk as plain bytes, for who searches it, or reads what it can of a damaged volume.
//!
//! Y1. What the disk tells to be zeros is not read: over a network that is most of a disk with much free space. A disk
//!     that does not know is asked once.
//! Y2. What it has told is kept, so that a small read costs no question. It would be wrong if somebody wrote to the
//!     disk meanwhile; but then what is read is of two times, too.
//! Y3. A disk may tell of very many small stretches; only so many are kept.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use ordo_disk::{Cause, Disk, DiskOff, Extent, FileOptions};
use ordo_rescue::{Source, Stretch, Why};
use ordo_rt::Rt;

use crate::OpenError;
use crate::sectors::read_bytes;

/// Stretches that are kept (see Y3).
const KEPT: usize = 1 << 16;

/// Bytes that are read where the disk fails to tell: the read says what is wrong with it.
const NOT_TOLD: u64 = 4 << 20;

/// See the module.
pub struct DiskBytes {
    rt: Rt,
    disk: Rc<dyn Disk>,
    told: RefCell<Told>,
}

#[derive(Default)]
struct Told {
    /// It does not know.
    silent: bool,
    /// Where each stretch begins and ends, and whether it is zeros.
    stretches: BTreeMap<u64, (u64, bool)>,
}

impl DiskBytes {
    /// The bytes of `disk`.
    pub fn new(rt: &Rt, disk: Rc<dyn Disk>) -> DiskBytes {
        DiskBytes { rt: rt.clone(), disk, told: RefCell::default() }
    }

    /// The bytes of a file, a device or an export, which is opened for reading only.
    ///
    /// # Errors
    /// When it cannot be opened or is in use.
    pub fn open(rt: &Rt, path: &Path) -> Result<DiskBytes, OpenError> {
        let options = FileOptions { read_only: true, ..FileOptions::default() };
        Ok(DiskBytes::new(rt, ordo_disk::open(rt, path, &options)?))
    }

    /// Asks the disk, and keeps what it tells.
    fn ask(&self, at: u64) -> Option<Stretch> {
        let sector = u64::from(self.disk.info().sector.max(1));
        let from = at - at % sector;
        let len = (self.size() - from) / sector * sector;
        match self.rt.block_on(self.disk.extents(DiskOff(from), len)) {
            Ok(extents) => {
                let mut told = self.told.borrow_mut();
                told.keep(from, &extents);
                told.find(at)
            }
            Err(error) => {
                self.told.borrow_mut().silent = error.cause == Cause::Unsupported;
                None
            }
        }
    }
}

impl Told {
    fn find(&self, at: u64) -> Option<Stretch> {
        let (_, (end, zeros)) = self.stretches.range(..=at).next_back()?;
        let len = end.checked_sub(at).filter(|len| *len > 0)?;
        Some(if *zeros { Stretch::Zeros(len) } else { Stretch::Unknown(len) })
    }

    fn keep(&mut self, mut at: u64, extents: &[Extent]) {
        if self.stretches.len() + extents.len() > KEPT {
            self.stretches.clear();
        }
        for alike in extents.chunk_by(|one, other| one.zero == other.zero).take(KEPT) {
            let end = alike.iter().fold(at, |end, extent| end.saturating_add(extent.len));
            self.stretches.insert(at, (end, alike[0].zero));
            at = end;
        }
    }
}

impl Source for DiskBytes {
    fn size(&self) -> u64 {
        self.disk.info().size
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Why> {
        let len = into.len() as u64;
        if at.checked_add(len).is_none_or(|end| end > self.size()) {
            return Err(Why::Beyond);
        }
        if matches!(self.stretch(at), Stretch::Zeros(zeros) if zeros >= len) {
            into.fill(0);
            return Ok(());
        }
        read_bytes(&self.rt, &self.disk, at, into).map_err(|_| Why::Unreadable)
    }

    fn stretch(&self, at: u64) -> Stretch {
        let (silent, known) = {
            let told = self.told.borrow();
            (told.silent, told.find(at))
        };
        match known {
            Some(stretch) => stretch,
            None if silent || at >= self.size() => Stretch::Unknown(u64::MAX),
            None => self.ask(at).unwrap_or(Stretch::Unknown(NOT_TOLD)),
        }
    }
}
