//! Short work on the executor's own thread, while there is one caller.
//!
//! io_uring hands each flush to a thread of the kernel, and so it does with buffered writes to file systems that cannot
//! say beforehand whether a write will wait (ext4). For one caller those two changes of thread cost more than the work:
//! each wakes a CPU that may be asleep.
//!
//! D1. Only while [`Rt::has_one_caller`] (rt-6), and only if nothing else is in flight here.
//! D2. Only what is short: a write of at most [`LARGEST`] bytes into the page cache, if the write before took at most
//!     [`QUICK`]; a flush or a forced write after at most [`UNFLUSHED`] bytes, if the one before did. A slow disk
//!     therefore never blocks the thread, one that becomes slow (or stops: a frozen file system below) blocks it once,
//!     for as long as that call takes, and one that becomes quick again is noticed.
//! D3. The work is that of the threads ([`Work::run`]): the same calls, results and errors.

use std::cell::Cell;
use std::fs::File;
use std::time::Duration;

use ordo_rt::{Rt, Time};
use rustix::fd::AsFd;

use super::work::{Done, Work};
use crate::write_len;

const LARGEST: u64 = 128 << 10;
const UNFLUSHED: u64 = 1 << 20;
const QUICK: Duration = Duration::from_millis(1);

/// See the module.
pub(crate) struct Direct {
    rt: Rt,
    file: File,
    /// Written since the last flush began.
    unflushed: Cell<u64>,
    /// How long the last write into the page cache took, on whatever thread.
    last_write: Cell<Duration>,
    /// How long the last flush or forced write took.
    last_barrier: Cell<Duration>,
}

impl Direct {
    /// For a file or device whose writes go into the page cache.
    pub(crate) fn new(rt: &Rt, file: &File) -> std::io::Result<Direct> {
        let unknown = || Cell::new(Duration::MAX);
        let (last_write, last_barrier) = (unknown(), unknown());
        Ok(Direct { rt: rt.clone(), file: file.try_clone()?, unflushed: Cell::new(0), last_write, last_barrier })
    }

    /// Does the work now; or returns it, to be done by the engine, and notes that it will be.
    pub(crate) fn take(&self, work: Work, engine_is_busy: bool) -> Result<Done, Work> {
        let short = self.is_short(&work);
        self.unflushed.set(match &work {
            Work::Flush => 0,
            Work::Write { parts, .. } => self.unflushed.get().saturating_add(write_len(parts)),
            Work::Read { .. } | Work::Punch { .. } | Work::Extents { .. } => self.unflushed.get(),
        });
        if !short || engine_is_busy || !self.rt.has_one_caller() {
            return Err(work);
        }
        let (began, barrier) = (self.rt.now(), work.is_barrier());
        let done = work.run(self.file.as_fd());
        self.ended(began, barrier);
        Ok(done)
    }

    /// A write that began then has ended, here or in the engine; or a flush or forced write, if `barrier`.
    pub(crate) fn ended(&self, began: Time, barrier: bool) {
        let last = if barrier { &self.last_barrier } else { &self.last_write };
        last.set(self.rt.now() - began);
    }

    fn is_short(&self, work: &Work) -> bool {
        let bytes = match work {
            Work::Read { .. } | Work::Punch { .. } | Work::Extents { .. } => return false,
            Work::Write { parts, .. } => write_len(parts),
            Work::Flush => 0,
        };
        let quick = match work.is_barrier() {
            true => self.unflushed.get() <= UNFLUSHED && self.last_barrier.get() <= QUICK,
            false => self.last_write.get() <= QUICK,
        };
        bytes <= LARGEST && quick
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Block, Tag, WritePart};

    fn write(len: u64, fua: bool) -> Work {
        let image = Block::zeroed(len as usize).image();
        Work::Write { at: 0, parts: vec![WritePart { image, tag: Tag::default() }], fua }
    }

    fn direct() -> (Rt, Direct) {
        let rt = Rt::virtual_time(0);
        rt.set_one_caller(true);
        let direct = Direct::new(&rt, &tempfile::tempfile().unwrap()).unwrap();
        took(&rt, &direct, 10, false);
        (rt, direct)
    }

    /// A write, or a barrier, takes so long in the engine.
    fn took(rt: &Rt, direct: &Direct, micros: u64, barrier: bool) {
        let began = rt.now();
        rt.block_on(rt.sleep(Duration::from_micros(micros)));
        direct.ended(began, barrier);
    }

    #[test]
    fn only_for_one_caller_and_beside_nothing_else() {
        let (rt, direct) = direct();
        assert!(direct.take(write(512, false), false).is_ok());
        assert!(direct.take(write(512, false), true).is_err());
        rt.set_one_caller(false);
        assert!(direct.take(write(512, false), false).is_err());
    }

    #[test]
    fn a_flush_is_taken_only_after_a_quick_one() {
        let (rt, direct) = direct();
        for barrier in [|| Work::Flush, || write(512, true)] {
            direct.last_barrier.set(Duration::MAX);
            assert!(direct.take(barrier(), false).is_err(), "not known yet");
            took(&rt, &direct, 1001, true);
            assert!(direct.take(barrier(), false).is_err());
            took(&rt, &direct, 1000, true);
            assert!(direct.take(barrier(), false).is_ok());
            // In virtual time a call takes none.
            assert_eq!(direct.last_barrier.get(), Duration::ZERO);
        }
    }

    #[test]
    fn a_write_is_taken_only_after_a_quick_one() {
        let (rt, direct) = direct();
        direct.last_write.set(Duration::MAX);
        took(&rt, &direct, 10, true);
        assert!(direct.take(write(512, false), false).is_err(), "not known yet");
        took(&rt, &direct, 1001, false);
        assert!(direct.take(write(512, false), false).is_err());
        took(&rt, &direct, 1000, false);
        assert!(direct.take(write(512, false), false).is_ok());
    }

    #[test]
    fn a_flush_after_many_bytes_goes_to_the_engine_and_the_next_one_need_not() {
        let (rt, direct) = direct();
        took(&rt, &direct, 10, true);
        for _ in 0..UNFLUSHED / LARGEST {
            assert!(direct.take(write(LARGEST, false), false).is_ok());
        }
        assert!(direct.take(write(512, false), true).is_err(), "what the engine writes counts, too");
        assert!(direct.take(write(512, true), false).is_err());
        assert!(direct.take(Work::Flush, false).is_err());
        assert!(direct.take(Work::Flush, false).is_ok());
    }

    #[test]
    fn large_writes_reads_and_discards_go_to_the_engine() {
        let (_rt, direct) = direct();
        let read = Work::Read { at: 0, parts: Vec::new() };
        for work in [write(LARGEST + 512, false), read, Work::Punch { at: 0, len: 512 }] {
            assert!(direct.take(work, false).is_err());
        }
    }
}
