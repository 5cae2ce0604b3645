//! A log of segments. Where none is free, the holes of the emptiest one are filled (hole plugging): the paper's
//! simulator has no cleaner.

use crate::volume::NONE;
use std::collections::VecDeque;

/// The owner of a block that is not the trace's, and of one that has a summary.
const OTHERS: u32 = u32::MAX - 1;

#[derive(Debug)]
pub(super) struct Log {
    first: u32,
    segment: u32,
    /// The page that lies in each block.
    owners: Vec<u32>,
    live: Vec<u32>,
    current: usize,
    /// Blocks that can be written, in order.
    room: VecDeque<u32>,
}

impl Log {
    /// Segments of `segment` blocks over `blocks` blocks from `first` on.
    pub(super) fn new(first: u32, blocks: u32, segment: u32) -> Log {
        let segments = (blocks / segment).max(1) as usize;
        Log {
            first,
            segment,
            owners: vec![NONE; segments * segment as usize],
            live: vec![0; segments],
            current: 0,
            room: VecDeque::new(),
        }
    }

    fn at(&self, block: u32) -> Option<usize> {
        let at = block.checked_sub(self.first)? as usize;
        (at < self.owners.len()).then_some(at)
    }

    /// A page lies in a block from the start.
    pub(super) fn holds(&mut self, block: u32, page: u32) {
        if let Some(at) = self.at(block).filter(|at| self.owners[*at] == NONE) {
            self.owners[at] = page;
            self.live[at / self.segment as usize] += 1;
        }
    }

    /// The log goes on behind what is there at the start. What lies before that is others'; if hardly anything lies
    /// behind it, only the segments that hold something are taken.
    pub(super) fn begin(&mut self) {
        let last = self.live.iter().rposition(|live| *live > 0).map_or(0, |last| last + 1);
        self.current = last % self.live.len();
        if (self.live.len() - last) * 10 >= self.live.len() {
            for at in 0..last * self.segment as usize {
                self.holds(self.first + at as u32, OTHERS);
            }
        }
        self.refill();
    }

    fn refill(&mut self) {
        let segments = self.live.len();
        let clean = (0..segments).map(|more| (self.current + more) % segments).find(|at| self.live[*at] == 0);
        let emptiest = || (0..segments).min_by_key(|at| self.live[*at]);
        let chosen = clean.or_else(emptiest).unwrap_or(0);
        let from = chosen * self.segment as usize;
        let holes = (from..from + self.segment as usize).filter(|at| self.owners[*at] == NONE);
        self.room.extend(holes.map(|at| self.first + at as u32));
        self.current = (chosen + 1) % segments;
        if self.room.is_empty() {
            // Everything is live: others' files make way, as a cleaner would have moved them.
            let given = from..from + self.segment as usize;
            self.room.extend(given.map(|at| self.first + at as u32));
        }
    }

    /// The next block, for a page, or for a summary if it is `NONE`.
    pub(super) fn append(&mut self, page: u32) -> u32 {
        if self.room.is_empty() {
            self.refill();
        }
        // OK to default: `refill` leaves at least one block.
        let block = self.room.pop_front().unwrap_or(self.first);
        if let Some(at) = self.at(block).filter(|_| page != NONE) {
            self.live[at / self.segment as usize] += u32::from(self.owners[at] == NONE);
            self.owners[at] = page;
        }
        block
    }

    /// The page in this block lies elsewhere now.
    pub(super) fn dies(&mut self, block: u32, page: u32) {
        if let Some(at) = self.at(block).filter(|at| self.owners[*at] == page) {
            self.owners[at] = NONE;
            self.live[at / self.segment as usize] -= 1;
        }
    }

    /// Moves pages to the log's end, behind a summary, and returns the blocks that are written.
    pub(super) fn write(&mut self, pages: &[u32], places: &mut [u32]) -> Vec<u32> {
        let mut blocks = Vec::with_capacity(pages.len() + 1);
        for (at, &page) in pages.iter().enumerate() {
            if (at as u32).is_multiple_of(self.segment - 1) {
                blocks.push(self.append(NONE));
            }
            let place = &mut places[page as usize];
            self.dies(*place, page);
            *place = self.append(page);
            blocks.push(*place);
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_goes_on_behind_what_is_there_and_then_fills_holes() {
        let mut log = Log::new(100, 40, 4);
        let mut places: Vec<u32> = (100..108).collect();
        (0..8).for_each(|page| log.holds(100 + page, page));
        log.begin();
        assert_eq!(log.write(&[0, 1], &mut places), [108, 109, 110]);
        assert_eq!(&places[..3], [109, 110, 102]);
        for _ in 0..12 {
            log.write(&[2], &mut places);
        }
        assert!(places.iter().all(|place| (100..140).contains(place)));
        let mut all = places.clone();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 8, "no block has two pages");
    }
}
