//! What a use remembers from day to day.

use super::profile::Use;
use std::collections::VecDeque;

/// Newsgroups are expired by how long they are kept: each third of them twice as long as the third before.
pub(super) const KEPT: [u32; 5] = [1, 2, 3, 5, 8];
/// What a use remembers.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) use_: Use,
    /// Users or packages: the directory of each, and those below it. Of a spool: its newsgroups.
    pub(super) families: Vec<Vec<u32>>,
    /// Directories in which people work.
    pub(super) working: Vec<u32>,
    /// The articles of each class of newsgroups in the order in which they came: directory and file.
    pub(super) queues: [VecDeque<(u32, u32)>; 5],
    /// Bytes of packages that should have been replaced.
    pub(super) due: u64,
}

impl State {
    pub(super) fn new(of: &Use) -> State {
        State { use_: *of, families: Vec::new(), working: Vec::new(), queues: Default::default(), due: 0 }
    }
}
