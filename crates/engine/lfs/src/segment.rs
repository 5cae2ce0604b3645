//! The segment writer: gives blocks and inodes their places at the head of the log, partial segment by partial segment
//! (Seltzer and others 1993, section 3.2).
//!
//! W1. What gets a place is counted in its segment at once, and what it replaces is taken off: the table describes the
//!     disk as it will be (engine-lfs-4).
//! W2. A partial segment never crosses a segment. Where hardly more than a block is left, the next segment is opened at
//!     once, so that a superblock never names a head where nothing fits.
//! W3. Only the last partial segment of a chain ends it. A crash in the middle leaves a chain without an end, and the
//!     roll-forward drops it whole (engine-lfs-3).

use crate::log::{Log, Pending};
use ordo_buf::{Batch, BufRef, Role};
use ordo_disk::DiskOff;
use ordo_ondisk::lfs::ifile::SegFlags;
use ordo_ondisk::lfs::summary::{Full, InodeSlot, PsegBuilder, Stamp, SumFlags};
use ordo_ondisk::lfs::{Daddr, IFILE, SegNo};
use ordo_ondisk::{Ino, Lbn};
use ordo_vfs::{Error, Refusal, Result};

/// A chain of partial segments in the making.
pub(crate) struct Chain<'a> {
    log: &'a Log,
    flags: SumFlags,
    /// How old its contents are: the file that is being written, and the youngest in the open partial segment.
    age: u64,
    youngest: u64,
    /// The open partial segment.
    builder: PsegBuilder,
    bufs: Vec<(BufRef, usize)>,
    /// Those that are full.
    batches: Vec<Batch>,
}

impl<'a> Chain<'a> {
    /// A chain at the head of the log.
    ///
    /// # Errors
    /// `Bug`: nothing fits there, against W2.
    pub(crate) fn begin(log: &'a Log, flags: SumFlags) -> Result<Chain<'a>> {
        let builder = open_at_head(log)?;
        Ok(Chain { log, flags, age: 0, youngest: 0, builder, bufs: Vec::new(), batches: Vec::new() })
    }

    /// What follows was last changed at this time (cleaner-7).
    pub(crate) fn of_age(&mut self, age: u64) {
        self.age = age;
        self.youngest = self.youngest.max(age);
    }

    /// A place for a block of `bytes` bytes, counted (W1). With its index in the batch.
    pub(crate) fn block(&mut self, ino: Ino, version: u32, lbn: Lbn, bytes: u32) -> Result<(Daddr, usize)> {
        loop {
            match self.builder.block(ino, version, lbn, bytes) {
                Ok(at) => {
                    self.log.ifile.borrow_mut().count(at, bytes, false);
                    if ino != IFILE && lbn.0 >= 0 {
                        self.log.count(|counts| counts.bytes_of_files += u64::from(bytes));
                    }
                    return Ok((at, self.builder.offset_of(at)));
                }
                Err(Full::Summary | Full::Segment) => self.next()?,
            }
        }
    }

    /// A place for an inode, counted (W1). With its index in the batch.
    pub(crate) fn inode(&mut self) -> Result<(InodeSlot, usize)> {
        loop {
            match self.builder.inode() {
                Ok(slot) => {
                    let dinode = self.log.g.version.dinode_size();
                    let at = self.builder.offset_of(slot.at) + (slot.slot * dinode) as usize;
                    return Ok((slot, at));
                }
                Err(Full::Summary | Full::Segment) => self.next()?,
            }
        }
    }

    /// This buf leaves with the open partial segment, at byte `at` of it.
    pub(crate) fn takes(&mut self, buf: &BufRef, at: usize) {
        self.bufs.push((buf.clone(), at));
    }

    /// The partial segment is full: the chain goes on in another.
    fn next(&mut self) -> Result<()> {
        if self.builder.is_empty() {
            return Err(Error::bug("a block does not fit into an empty partial segment"));
        }
        self.close()?;
        self.builder = open_at_head(self.log)?;
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        let log = self.log;
        let builder = self.builder.clone();
        let flags = if self.flags.has(SumFlags::DIROP) { self.flags.with(SumFlags::CONT) } else { self.flags };
        let (at, end, segment) = (builder.at(), builder.end(), builder.segment());
        let stamp = {
            let mut sb = log.sb.borrow_mut();
            let fields = &mut sb.fields;
            fields.serial = fields.serial.next();
            fields.offset = end;
            Stamp { flags, serial: fields.serial, create: 0, next: fields.nextseg, reclino: 0 }
        };
        let stamp = Stamp { create: log.now(), ..stamp };
        log.ifile.borrow_mut().change_usage(segment, |entry| {
            entry.nsums = entry.nsums.saturating_add(1);
            entry.ninos = entry.ninos.saturating_add(u16::try_from(builder.inode_blocks()).unwrap_or(u16::MAX));
            entry.lastmod = entry.lastmod.max(self.youngest);
        });
        self.youngest = self.age;
        let byte = log.g.byte(at).0;
        let (len, bufs) = (builder.bytes(), std::mem::take(&mut self.bufs));
        log.count(|counts| counts.bytes_written += len as u64);
        log.pending.borrow_mut().insert(byte, Pending { builder, stamp });
        self.batches.push(Batch { at: DiskOff(byte), len, kind: Role::Data, bufs });
        log.changed.set(true);
        if log.g.next_pseg(segment, end).is_none() {
            open_next(log)?;
        }
        Ok(())
    }

    /// Ends the chain (W3).
    pub(crate) fn end(mut self) -> Result<Vec<Batch>> {
        if !self.builder.is_empty() {
            self.close()?;
        }
        if let Some(last) = self.batches.last() {
            let mut pending = self.log.pending.borrow_mut();
            if let Some(last) = pending.get_mut(&last.at.0) {
                last.stamp.flags = last.stamp.flags.without(SumFlags::CONT);
            }
        }
        Ok(self.batches)
    }
}

fn open_at_head(log: &Log) -> Result<PsegBuilder> {
    let offset = log.sb.borrow().fields.offset;
    PsegBuilder::new(&log.g, offset).ok_or_else(|| Error::bug(format!("no partial segment fits at {offset:?}")))
}

/// Opens the next segment, and chooses the one after it: each summary in it names that.
fn open_next(log: &Log) -> Result<()> {
    let (next, after) = {
        let sb = log.sb.borrow();
        let next = log.g.segment_starting(sb.fields.nextseg);
        let next = next.ok_or_else(|| Error::bug("the next segment is none"))?;
        (next, next_clean(log, next)?)
    };
    let mut ifile = log.ifile.borrow_mut();
    ifile.change_usage(next, |entry| {
        (entry.nbytes, entry.nsums, entry.ninos, entry.lastmod) = (0, 0, 0, 0);
        entry.flags = entry.flags.with(SegFlags::DIRTY).with(SegFlags::ACTIVE);
    });
    let superblock = ifile.usage(next).flags.has(SegFlags::SUPERBLOCK);
    let fields = &mut log.sb.borrow_mut().fields;
    (fields.lastseg, fields.curseg) = (fields.curseg, fields.nextseg);
    fields.nextseg = log.g.segment_start(after);
    fields.offset = log.g.first_pseg(next, superblock);
    log.opened.set(log.opened.get() + 1);
    log.count(|counts| counts.segments_written += 1);
    Ok(())
}

/// The next clean segment after `from`, around the end.
///
/// # Errors
/// `NoSpace`; the accounts of `space` make it impossible.
fn next_clean(log: &Log, from: SegNo) -> Result<SegNo> {
    let ifile = log.ifile.borrow();
    let mut at = log.g.after(from, log.g.interleave);
    for _ in 0..log.g.nseg {
        if at != from && !ifile.usage(at).flags.has(SegFlags::DIRTY) {
            return Ok(at);
        }
        at = log.g.after(at, 0);
    }
    Err(Refusal::NoSpace.into())
}

/// After a roll-forward: the segment after the head is chosen anew, and opened if nothing fits here any more (W2).
pub(crate) fn settle_head(log: &Log) -> Result<()> {
    let (segment, offset) = {
        let sb = log.sb.borrow();
        let segment = log.g.segment_of(sb.fields.curseg);
        (segment.ok_or_else(|| Error::bug("the current segment is none"))?, sb.fields.offset)
    };
    let after = next_clean(log, segment)?;
    log.sb.borrow_mut().fields.nextseg = log.g.segment_start(after);
    if log.g.segment_of(offset) != Some(segment) || log.g.next_pseg(segment, offset).is_none() {
        open_next(log)?;
    }
    Ok(())
}
