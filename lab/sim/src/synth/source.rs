//! A tree of source files of the size of Linux 2.4.20, which cscope and gcc work on. From the release: 12,400 files in
//! 700 directories, 143 MB; two of three files have at most four blocks. How deep it is, is ours.

use super::scribe::{Scribe, group};
use crate::trace::{Directory, File};

const DIRECTORIES: u32 = 700;
const FILES: u32 = 12_400;
/// Directories of the first level.
const TOP: u32 = 16;

/// The tree in a catalogue: the files' numbers, in the order of a walk.
pub(super) struct Source {
    pub(super) files: std::ops::Range<u32>,
}

/// Adds a tree in groups `from` to `to` below directory `root`, each file with `beside` new ones of its size in its
/// directory.
pub(super) fn add(scribe: &mut Scribe, root: u32, (from, to): (u32, u32)) -> Source {
    let first = scribe.files.files.len() as u32;
    let base = scribe.files.directories.len() as u32;
    scribe.files.directories.push(Directory { parent: Some(root), place: group(from) });
    let mut parent = base;
    for at in 0..DIRECTORIES {
        // Linux 2.4 puts a new directory into a group of those with the most room: a walk jumps between them.
        let place = group(from + scribe.luck.below(to - from + 1));
        let top = at % (DIRECTORIES / TOP) == 0;
        let directory = scribe.files.directories.len() as u32;
        scribe.files.directories.push(Directory { parent: Some(if top { base } else { parent }), place });
        if top {
            parent = directory;
        }
        for _ in 0..FILES / DIRECTORIES + u32::from(at < FILES % DIRECTORIES) {
            let blocks = size(scribe);
            scribe.files.files.push(File { directory, blocks, new: false });
        }
    }
    Source { files: first..scribe.files.files.len() as u32 }
}

/// Blocks of a source file: few, and sometimes many.
fn size(scribe: &mut Scribe) -> u32 {
    match scribe.luck.unit() {
        u if u < 0.38 => 1,
        u if u < 0.66 => 2 + scribe.luck.below(3),
        u if u < 0.92 => 3 + scribe.luck.below(5),
        u if u < 0.99 => 8 + scribe.luck.below(12),
        _ => 20 + scribe.luck.below(60),
    }
}
