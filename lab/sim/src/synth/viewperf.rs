//! viewperf: SPEC's benchmark of graphics.
//!
//! The paper: 99 per cent of the references go to consecutive blocks of a few large files.
//!
//! Ours: ten data sets of 24 MB, each read from beginning to end by a few passes, two blocks at a time; then a result
//! is written to a file in the same directory. One request in a hundred reads a library or configuration file of the
//! program. On a disk with the files of all traces these lie behind the others, for the print says that free segments
//! follow what viewperf reads.

use super::scribe::{ATLAS, Scribe, group};
use crate::trace::{Directory, File, Op, Trace};

/// The group of its data sets on a disk of its own, and on one with the files of all traces.
pub(super) const ALONE: u32 = 30;
pub(super) const BEHIND: u32 = 58;

const SETS: u32 = 10;
const BLOCKS: u32 = 6144;
const PASSES: u32 = 2;
/// Blocks of a request.
const PIECE: u32 = 2;
const LIBRARIES: u32 = 40;

pub(super) fn make(seed: u64, first: u32) -> Trace {
    let mut scribe = Scribe::new("viewperf", ATLAS, seed);
    scribe.files.directories.push(Directory { parent: None, place: 0.0 });
    scribe.files.directories.push(Directory { parent: Some(0), place: group(first) });
    scribe.files.directories.push(Directory { parent: Some(0), place: group(first + 6) });
    for _ in 0..SETS {
        scribe.files.files.push(File { directory: 1, blocks: BLOCKS, new: false });
    }
    let results = scribe.files.files.len() as u32;
    scribe.files.files.push(File { directory: 1, blocks: SETS * PASSES, new: true });
    let libraries = scribe.files.files.len() as u32;
    for _ in 0..LIBRARIES {
        scribe.files.files.push(File { directory: 2, blocks: 20, new: false });
    }
    for set in 0..SETS {
        for pass in 0..PASSES {
            scribe.pass(1500.0);
            let mut at = 0;
            while at < BLOCKS {
                // A frame: its data, and then the time that it takes to draw it.
                let frame = 400.min(BLOCKS - at);
                scribe.pass_through(Op::Read, set, (at, at + frame), PIECE, 3.0);
                at += frame;
                let library = libraries + scribe.luck.below(LIBRARIES);
                let block = scribe.luck.below(20);
                scribe.ask(Op::Read, library, block, 1);
            }
            scribe.ask(Op::Write, results, set * PASSES + pass, 1);
        }
    }
    scribe.end()
}
