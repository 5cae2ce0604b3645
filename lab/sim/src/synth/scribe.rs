//! Writes down the requests of a trace that is made.

use crate::luck::Luck;
use crate::trace::{Catalogue, Contents, Op, Request, Trace};
use crate::volume::{GROUP, blocks_of};

/// The drive of all traces but one.
pub(super) const ATLAS: &str = "quantum_atlas_10k";
pub(super) const CHEETAH: &str = "seagate_cheetah_15k5";

/// The place of a group of the Atlas, which has 68.
pub(super) fn group(number: u32) -> f64 {
    (f64::from(number) + 0.5) / f64::from(blocks_of(ATLAS) / GROUP)
}

/// Writes down requests.
pub(super) struct Scribe {
    name: &'static str,
    drive: &'static str,
    pub(super) luck: Luck,
    at_ms: f64,
    pub(super) files: Catalogue,
    requests: Vec<Request>,
}

impl Scribe {
    pub(super) fn new(name: &'static str, drive: &'static str, seed: u64) -> Scribe {
        let (luck, files) = (Luck::of(seed, name), Catalogue::default());
        Scribe { name, drive, luck, at_ms: 0.0, files, requests: Vec::new() }
    }

    /// Time passes: about so many milliseconds.
    pub(super) fn pass(&mut self, mean_ms: f64) {
        self.at_ms += self.luck.about(mean_ms);
    }

    pub(super) fn ask(&mut self, op: Op, file: u32, first: u32, blocks: u32) {
        self.requests.push(Request { at_ms: self.at_ms, op, file, first, blocks });
    }

    /// Blocks `first` to `end` of a file in pieces, with about so much time before each.
    pub(super) fn pass_through(&mut self, op: Op, file: u32, (first, end): (u32, u32), piece: u32, each_ms: f64) {
        let mut at = first;
        while at < end {
            let blocks = piece.min(end - at);
            self.pass(each_ms);
            self.ask(op, file, at, blocks);
            at += blocks;
        }
    }

    /// A whole file.
    pub(super) fn whole(&mut self, op: Op, file: u32, piece: u32, each_ms: f64) {
        let blocks = self.files.files[file as usize].blocks;
        self.pass_through(op, file, (0, blocks), piece, each_ms);
    }

    pub(super) fn end(self) -> Trace {
        let Scribe { name, drive, files, requests, .. } = self;
        Trace { name: name.to_owned(), drive, contents: Contents::Files(files), requests }
    }
}
