//! Blocks that wait in a large volatile cache, and the writes that they come from.

/// The write that blocks come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Source {
    /// The first block that no longer comes from it.
    pub(super) end: u64,
    /// Number of requests before it.
    pub(super) number: u64,
}

/// Blocks that wait to be written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Extent {
    pub(super) first: u64,
    pub(super) end: u64,
    /// When the last of them arrived in the cache.
    pub(super) there: f64,
    /// The writes that they come from.
    pub(super) sources: Vec<Source>,
}

impl Extent {
    /// What remains of it without the blocks `first` to `end`.
    pub(super) fn without(self, first: u64, end: u64) -> impl Iterator<Item = Extent> {
        let mut below = self.clone();
        below.end = below.end.min(first);
        for source in &mut below.sources {
            source.end = source.end.min(first);
        }
        // Of the sources that now end there, the first one has the last block.
        below.sources.dedup_by_key(|source| source.end);
        let mut above = self;
        above.first = above.first.max(end);
        above.sources.retain(|source| source.end > end);
        [below, above].into_iter().filter(|part| part.first < part.end)
    }
}
