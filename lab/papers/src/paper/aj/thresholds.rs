//! The numbers of the learning, found from outside: traces of a few requests, after which there is a copy or not.

use crate::error::Result;
use ordo_sim::{Contents, Op, Outcome, Request, Setting, System, Trace};

/// What was found.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Thresholds {
    /// The most blocks of a sequence group that is no dock.
    pub(super) dock_blocks: u32,
    /// The smallest distance at which a read begins a new sequence group, in blocks.
    pub(super) distance_blocks: u32,
    /// The longest pause within a window, in milliseconds.
    pub(super) gap_ms: u32,
    /// Blocks that were written for each copy, more than without copies.
    pub(super) copy_cost: f64,
}

/// A stretch of blocks, a block some way behind it after a pause, and both again when they are no longer in memory.
fn play(dock: u32, distance: u32, gap_ms: u32, learns: bool) -> Result<Outcome> {
    let mut blocks: Vec<u32> = (0..dock).collect();
    blocks.push(dock - 1 + distance);
    let first_other = blocks.len() as u32;
    blocks.extend((0..400).map(|at| 1_500_000 + at));
    let mut requests = Vec::new();
    let mut at_ms = 0.0;
    let mut ask = |at_ms: f64, op, first, blocks| requests.push(Request { at_ms, op, file: 0, first, blocks });
    for _ in 0..2 {
        for page in 0..dock {
            at_ms += 1.0;
            ask(at_ms, Op::Read, page, 1);
        }
        at_ms += f64::from(gap_ms);
        ask(at_ms, Op::Read, dock, 1);
        at_ms += 1000.0;
        ask(at_ms, Op::Read, first_other, 399);
        at_ms += 5000.0;
        ask(at_ms, Op::Write, first_other + 399, 1);
        at_ms += 15_000.0;
    }
    ask(at_ms, Op::Read, first_other, 1);
    let contents = Contents::Device(blocks);
    let trace = Trace { name: "threshold".to_owned(), drive: "quantum_atlas_10k", contents, requests };
    // Less memory than what is read in between.
    Ok(ordo_sim::run(System::Active, &trace, &Setting { cache: 1 << 20, learns, ..Setting::default() })?)
}

fn copied(dock: u32, distance: u32, gap_ms: u32) -> Result<bool> {
    Ok(play(dock, distance, gap_ms, true)?.work.copies > 0)
}

/// The largest number below `end` for which something does not hold, if it holds from some number on.
fn last_without(end: u32, holds: impl Fn(u32) -> Result<bool>) -> Result<u32> {
    let (mut without, mut with) = (0, end);
    while with - without > 1 {
        let middle = without + (with - without) / 2;
        if holds(middle)? { with = middle } else { without = middle }
    }
    Ok(without)
}

/// Finds them.
pub(super) fn find() -> Result<Thresholds> {
    let (far, soon, many) = (300_000, 1, 64);
    let (with, without) = (play(many, far, soon, true)?.work, play(many, far, soon, false)?.work);
    let more = with.blocks_written as f64 - without.blocks_written as f64;
    Ok(Thresholds {
        dock_blocks: last_without(many, |dock| copied(dock.max(1), far, soon))?,
        distance_blocks: last_without(far, |distance| copied(many, distance, soon))? + 1,
        gap_ms: last_without(1000, |gap| Ok(!copied(many, far, gap)?))?,
        copy_cost: more / with.copies.max(1) as f64,
    })
}
