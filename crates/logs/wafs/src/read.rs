//! Reading the log sequentially, a megabyte at a time.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::Error;
use crate::state::Inner;
use ordo_ring::Circle;
use std::ops::Range;
use std::rc::Rc;

/// Bytes that are read at a time.
const AHEAD: u64 = 1 << 20;

/// A read-ahead window on the line. On a mounted log it also includes what is still in memory.
pub(crate) struct Reader {
    circle: Circle,
    live: Option<Rc<Inner>>,
    /// The first byte of the window.
    at: u64,
    bytes: Vec<u8>,
}

impl Reader {
    /// Reads from the disk only.
    pub(crate) fn new(circle: Circle) -> Reader {
        Reader { circle, live: None, at: 0, bytes: Vec::new() }
    }

    /// Reads a mounted log.
    pub(crate) fn live(log: Rc<Inner>) -> Reader {
        Reader { circle: log.circle.clone(), live: Some(log), at: 0, bytes: Vec::new() }
    }

    /// Loads `range` into the window, with what follows it up to `limit`.
    pub(crate) async fn load(&mut self, range: Range<u64>, limit: u64) -> Result<(), Error> {
        if self.has(&range) {
            return Ok(());
        }
        let from = self.circle.down(range.start);
        let to = self.circle.up(range.end.max(from.saturating_add(AHEAD).min(limit)));
        self.fill(from..to).await
    }

    /// Loads `range` into the window, with what precedes it down to `floor`.
    pub(crate) async fn load_back(&mut self, range: Range<u64>, floor: u64) -> Result<(), Error> {
        if self.has(&range) {
            return Ok(());
        }
        let from = self.circle.down(range.start.min(range.end.saturating_sub(AHEAD).max(floor)));
        let to = self.circle.up(range.end);
        self.fill(from..to).await
    }

    /// The bytes of `range`, as far as they are in the window.
    pub(crate) fn get(&self, range: Range<u64>) -> &[u8] {
        let index = |place: u64| place.saturating_sub(self.at).min(self.bytes.len() as u64) as usize;
        if range.start < self.at { &[] } else { &self.bytes[index(range.start)..index(range.end)] }
    }

    fn has(&self, range: &Range<u64>) -> bool {
        self.at <= range.start && range.end <= self.at.saturating_add(self.bytes.len() as u64)
    }

    async fn fill(&mut self, range: Range<u64>) -> Result<(), Error> {
        self.at = range.start;
        self.bytes.clear();
        let Some(log) = &self.live else { return Ok(self.circle.read(range, &mut self.bytes).await?) };
        // A chunk that is shipped during the read was in memory when the read began, so the copy is taken first.
        let (open_at, open) = log.open_bytes(range.clone());
        self.circle.read(range.start..range.end.min(open_at).max(range.start), &mut self.bytes).await?;
        self.bytes.extend_from_slice(&open);
        Ok(())
    }
}
