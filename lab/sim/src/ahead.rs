//! What the kernel reads ahead of a reader: Linux' rule at the time of the traces (2.4). The paper's simulator has such
//! a module, and its runs leave it off (Table I).
//!
//! Ahead1. A *group* is what was asked for at one time. The *window* is the newest group and the one before it. A read
//!         within the window, or just behind it, goes on; every other one begins anew.
//! Ahead2. A reader who must wait for a block outside of the window gets a group with it. One who finds a block of the
//!         newest group in memory causes the next group, for which nobody waits.
//! Ahead3. Each group is twice as long as the one before, up to a limit. One who jumps gets two blocks more than he
//!         asks for.

use std::ops::Range;

/// Blocks ahead of one who reads on, at least and at most: Linux' numbers.
const LEAST: u32 = 3;
const MOST: u32 = 31;

/// The reader of a file.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ahead {
    /// The first block behind the window.
    end: u32,
    /// Blocks of the newest group, and of the window.
    group: u32,
    window: u32,
    /// How many blocks come next.
    next: u32,
    goes_on: bool,
}

impl Ahead {
    /// A read of `blocks` blocks from `first` on begins.
    pub(crate) fn begins(&mut self, first: u32, blocks: u32) {
        let goes_on = first <= self.end && first + self.window >= self.end;
        if !goes_on {
            *self = Ahead::default();
        }
        let least = if goes_on { LEAST } else { 0 };
        (self.goes_on, self.next) = (goes_on, self.next.max(blocks + 1).max(least).min(MOST));
    }

    /// It has come to a block, which is in memory or `comes` from the disk: the blocks of its file, which has `size`,
    /// that are read now. Those in memory are not read again.
    pub(crate) fn at(&mut self, block: u32, comes: bool, size: u32) -> Range<u32> {
        let is_outside = self.group == 0 || block >= self.end || block + self.window < self.end;
        let (from, more, window) = if comes && is_outside {
            (block + 1, self.next, 0)
        } else if !comes && self.goes_on && block <= self.end && block + self.group >= self.end {
            (self.end, self.next + 1, self.group)
        } else {
            return 0..0;
        };
        let to = (from + more).min(size).max(from);
        // A group that the reader waits for has the block at which it was asked for.
        let group = to - from + u32::from(window == 0);
        if window == 0 || to > from {
            (self.end, self.group, self.window) = (to, group, window + group);
            self.next = (self.next * 2).min(MOST);
        }
        from..to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read for each of these reads of one block in a file of 100; a block that was read before is in memory.
    fn read(blocks: impl IntoIterator<Item = u32>) -> Vec<Range<u32>> {
        let (mut ahead, mut here) = (Ahead::default(), [false; 100]);
        let one = |block: u32| {
            ahead.begins(block, 1);
            let more = ahead.at(block, !std::mem::replace(&mut here[block as usize], true), 100);
            more.clone().for_each(|block| here[block as usize] = true);
            more
        };
        blocks.into_iter().map(one).collect()
    }

    #[test]
    fn a_reader_from_the_beginning_on_never_waits_again_and_gets_more_and_more() {
        let read = read(0..100);
        let groups: Vec<_> = read.iter().filter(|more| !more.is_empty()).cloned().collect();
        assert_eq!(groups, [1..4, 4..11, 11..24, 24..49, 49..81, 81..100]);
        // The first block of the newest group causes the next.
        assert_eq!(read.iter().position(|more| *more == (11..24)), Some(4));
    }

    #[test]
    fn one_who_jumps_gets_two_blocks_more_than_he_asks_for() {
        assert_eq!(read([50, 20, 80, 5]), [51..53, 21..23, 81..83, 6..8]);
        let mut ahead = Ahead::default();
        ahead.begins(40, 8);
        assert_eq!((ahead.at(40, true, 100), ahead.at(41, true, 100)), (41..50, 0..0));
    }

    #[test]
    fn nothing_is_read_behind_the_end() {
        assert_eq!(read([99, 98]), [100..100, 99..100]);
        assert!(read([0, 1, 2, 3].map(|at| at + 96)).iter().all(|more| more.end <= 100));
    }
}
