//! The paper's rule. Reads near each other are a *sequence group*; a pause ends a *window* of groups. A group longer
//! than the dock's length is a dock, where it ends; what shorter groups in the same window read prefers to lie near the
//! dock before them. One block may prefer several docks.

use crate::preferences::Preferences;
use crate::run::{Read, Wish};

#[derive(Debug)]
pub(crate) struct Docks {
    near: u64,
    longest: u64,
    /// A group longer than this is a dock.
    short: u64,
    /// The runs of the group that is being read, with where they were served, as long as the group is short.
    group: Vec<(Read, u64)>,
    length: u64,
    /// The last address of the read before.
    last: Option<u64>,
    dock: Option<u64>,
}

impl Docks {
    pub(crate) fn new(near: u64, short: u64, longest: u64) -> Docks {
        Docks { near, longest, short, group: Vec::new(), length: 0, last: None, dock: None }
    }

    pub(crate) fn read(&mut self, read: Read, preferences: &mut Preferences) {
        if self.last.is_some_and(|last| read.at.abs_diff(last) >= self.near) {
            self.end_group(preferences);
        }
        self.length += read.len;
        if self.length <= self.short {
            match self.group.last_mut() {
                Some((run, len)) if run.at + *len == read.at && *len + read.len <= self.longest => *len += read.len,
                _ => self.group.push((read, read.len)),
            }
        }
        self.last = Some(read.end() - 1);
    }

    pub(crate) fn pause(&mut self, preferences: &mut Preferences) {
        self.end_group(preferences);
        (self.last, self.dock) = (None, None);
    }

    fn end_group(&mut self, preferences: &mut Preferences) {
        if self.length > self.short {
            self.dock = self.last;
        } else if let Some(dock) = self.dock {
            for (run, len) in self.group.iter().filter(|(_, len)| *len <= self.longest) {
                let granted = run.served.is_some_and(|served| served.abs_diff(dock) < self.near);
                preferences.seen(Wish { dock, at: run.at, len: *len }, granted);
            }
        }
        self.group.clear();
        self.length = 0;
    }
}
