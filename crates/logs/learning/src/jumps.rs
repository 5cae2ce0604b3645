//! Our rule. A *jump* is a read far from where the read before it has left the head: its dock. What follows it without
//! a gap is one run, which prefers to lie at the dock. Docks are where the head was, and not homes: a run that is
//! served near its dock leaves the head there, so that a row of runs gathers around one dock.

use crate::preferences::Preferences;
use crate::run::{Read, Wish};

#[derive(Debug)]
pub(crate) struct Jumps {
    near: u64,
    longest: u64,
    /// Where the last read has left the head, and where it has ended at home.
    last: Option<(u64, u64)>,
    /// The run that was jumped to and is being read; and whether it was served near the dock.
    run: Option<(Wish, bool)>,
}

impl Jumps {
    pub(crate) fn new(near: u64, longest: u64) -> Jumps {
        Jumps { near, longest, last: None, run: None }
    }

    pub(crate) fn read(&mut self, read: Read, preferences: &mut Preferences) {
        let from = read.served.unwrap_or(read.at);
        if self.last.is_none_or(|(_, end)| end != read.at) {
            self.end_run(preferences);
            let far = |dock: u64, at: u64| at.abs_diff(dock) >= self.near;
            let dock = self.last.map(|(head, _)| head).filter(|head| far(*head, read.at));
            self.run = dock.map(|dock| (Wish { dock, at: read.at, len: 0 }, !far(dock, from)));
        }
        if let Some((run, _)) = &mut self.run {
            run.len += read.len;
        }
        self.run = self.run.filter(|(run, _)| run.len <= self.longest);
        self.last = Some((from + read.len, read.end()));
    }

    pub(crate) fn pause(&mut self, preferences: &mut Preferences) {
        self.end_run(preferences);
        self.last = None;
    }

    fn end_run(&mut self, preferences: &mut Preferences) {
        if let Some((run, granted)) = self.run.take() {
            preferences.seen(run, granted);
        }
    }
}
