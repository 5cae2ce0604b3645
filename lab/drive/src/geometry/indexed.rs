//! The layout of a drive whose zones differ in pattern from track to track: a tree of repeated runs.
//!
//! A node is a list of entries; an entry says that from some block on the same child is repeated several times, each
//! time shifted by so many blocks, cylinders and revolutions. The leaves are tracks.

use super::location::Location;

/// What an entry repeats.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Child {
    Node(usize),
    Track { pattern: usize, head: u32 },
}

/// A run of equal children.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) lbn: u64,
    pub(crate) cylinder: i64,
    pub(crate) offset: f64,
    pub(crate) child_lbns: u64,
    pub(crate) child_cylinders: i64,
    pub(crate) child_angle: f64,
    pub(crate) run_lbns: u64,
    /// The cylinders descend from child to child.
    pub(crate) descends: bool,
    pub(crate) child: Child,
}

/// Entries in ascending order of block.
pub(crate) type Node = Vec<Entry>;

/// The sectors of a track that hold blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pattern {
    pub(crate) low: u32,
    pub(crate) high: u32,
    pub(crate) sectors: u32,
}

/// The tree, its root last, and the slipped blocks.
#[derive(Clone, Debug)]
pub(crate) struct Indexed {
    pub(crate) nodes: Vec<Node>,
    pub(crate) patterns: Vec<Pattern>,
    /// One more than the highest cylinder.
    pub(crate) cylinders: u32,
    /// Location and length of each slip, ascending, in block numbers that count slipped blocks.
    pub(crate) slips: Vec<(u64, u64)>,
    /// The sum of the lengths up to and including each slip.
    pub(crate) sums: Vec<u64>,
    /// The block from which on each slip counts.
    pub(crate) from: Vec<u64>,
}

impl Indexed {
    pub(crate) fn new(nodes: Vec<Node>, patterns: Vec<Pattern>, slips: Vec<(u64, u64)>, cylinders: u32) -> Indexed {
        let mut sum = 0;
        let (mut sums, mut from) = (Vec::new(), Vec::new());
        for (at, length) in &slips {
            from.push(at.saturating_sub(sum));
            sum += length;
            sums.push(sum);
        }
        Indexed { nodes, patterns, cylinders, slips, sums, from }
    }

    /// The first block whose number with slips is `number` or higher.
    fn without_slips(&self, number: u64) -> u64 {
        let passed = self.slips.partition_point(|(at, _)| *at < number);
        if passed == 0 {
            return number;
        }
        let (at, length) = self.slips[passed - 1];
        let whole = self.sums[passed - 1] - length;
        number - whole - length.min(number - at)
    }

    pub(crate) fn locate(&self, lbn: u64) -> Location {
        let passed = self.from.partition_point(|from| *from <= lbn);
        let slipped = if passed == 0 { 0 } else { self.sums[passed - 1] };
        let number = lbn + slipped;

        let mut node = self.nodes.len() - 1;
        let (mut rest, mut cylinder, mut angle) = (number, 0_i64, 0.0);
        loop {
            let entries = &self.nodes[node];
            let entry = &entries[entries.partition_point(|entry| entry.lbn <= rest).saturating_sub(1)];
            let child = (rest - entry.lbn) / entry.child_lbns;
            rest = (rest - entry.lbn) % entry.child_lbns;
            let across = child as i64 * entry.child_cylinders;
            cylinder += entry.cylinder + if entry.descends { -across } else { across };
            angle += entry.offset + child as f64 * entry.child_angle;
            match entry.child {
                Child::Node(index) => node = index,
                Child::Track { pattern, head } => {
                    let pattern = self.patterns[pattern];
                    let start = number - rest;
                    let run_rest = entry.run_lbns - child * entry.child_lbns;
                    let end = start + run_rest.min(entry.child_lbns);
                    let first = self.without_slips(start);
                    let last = self.without_slips(end).min(lbn + (end - number)) - 1;
                    let stretch = self.from.get(passed).map_or(last, |next| last.min(next - 1));
                    let turns = angle + rest as f64 / f64::from(pattern.sectors);
                    return Location {
                        cylinder: cylinder as u32,
                        head,
                        sector: pattern.low + rest as u32,
                        sectors: pattern.sectors,
                        angle: turns - (turns as u64) as f64,
                        track_first: first,
                        track_last: last,
                        stretch_last: stretch,
                    };
                }
            }
        }
    }
}
