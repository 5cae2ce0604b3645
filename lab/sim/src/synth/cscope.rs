//! cscope: the source of Linux 2.4.20 is examined.
//!
//! The paper: mostly sequential; 98.9 per cent of the requests fall into two areas of the disk, around the first
//! allocation group and in groups 48 to 57. With 160 MB of memory ext3 sends about 12,000 requests to the drive
//! (Table II).
//!
//! Ours: the source lies in groups 48 to 57, and cscope's data base in the first. The data base is built: every file is
//! read, and then it is written. Then questions are asked in turn: for a pattern, for which a part of the tree is read
//! from its first file to its last; and for a symbol, for which the data base is searched from beginning to end and the
//! files with hits are read, which are the same ones when a symbol is asked for again. Between files, one request in a
//! hundred goes to other places (headers of the system).

use super::scribe::{ATLAS, Scribe, group};
use super::source::{self, Source};
use crate::trace::{Directory, File, Op, Trace};
use std::ops::Range;

const QUESTIONS: u32 = 30;
/// Parts of the tree, and symbols that are asked for.
const PARTS: u32 = 3;
const SYMBOLS: u32 = 4;
/// Files with hits.
const HITS: u32 = 500;
/// Blocks of the data base.
const BASE: u32 = 10_000;
/// Headers: their group, and how many there are.
const HEADERS: (u32, u32) = (24, 360);
/// Milliseconds before each request.
const EACH: f64 = 9.0;
/// How many files are read for one request elsewhere.
const ELSEWHERE: f64 = 0.016;

pub(super) fn make(seed: u64) -> Trace {
    let mut scribe = Scribe::new("cscope", ATLAS, seed);
    scribe.files.directories.push(Directory { parent: None, place: 0.0 });
    scribe.files.directories.push(Directory { parent: Some(0), place: 0.0 });
    scribe.files.files.push(File { directory: 1, blocks: BASE, new: true });
    let headers = headers(&mut scribe);
    let Source { files } = source::add(&mut scribe, 0, (48, 57));
    let hits: Vec<Vec<u32>> = (0..SYMBOLS).map(|_| hits(&mut scribe, &files)).collect();
    build(&mut scribe, files.clone(), &headers);
    let part = (files.end - files.start) / PARTS;
    for _ in 0..QUESTIONS {
        let first = files.start + scribe.luck.below(PARTS) * part;
        pattern(&mut scribe, first..first + part, &headers);
        let symbol = scribe.luck.below(SYMBOLS) as usize;
        question(&mut scribe, &hits[symbol], &headers);
    }
    scribe.end()
}

/// The files with hits for a symbol, in the order of the walk.
fn hits(scribe: &mut Scribe, files: &Range<u32>) -> Vec<u32> {
    let mut hits: Vec<u32> = (0..HITS).map(|_| files.start + scribe.luck.below(files.end - files.start)).collect();
    hits.sort_unstable();
    hits.dedup();
    hits
}

/// Headers of the system, in a group between the two areas.
fn headers(scribe: &mut Scribe) -> Range<u32> {
    let first = scribe.files.files.len() as u32;
    let directory = scribe.files.directories.len() as u32;
    scribe.files.directories.push(Directory { parent: Some(0), place: group(HEADERS.0) });
    for _ in 0..HEADERS.1 {
        let blocks = 1 + scribe.luck.below(4);
        scribe.files.files.push(File { directory, blocks, new: false });
    }
    first..scribe.files.files.len() as u32
}

/// A file of the tree, and sometimes a header.
fn look(scribe: &mut Scribe, file: u32, headers: &Range<u32>) {
    scribe.whole(Op::Read, file, 8, EACH);
    if scribe.luck.chance(ELSEWHERE) {
        let header = headers.start + scribe.luck.below(headers.end - headers.start);
        scribe.whole(Op::Read, header, 8, 1.0);
    }
}

/// Every file is read, and then the data base is written.
fn build(scribe: &mut Scribe, files: Range<u32>, headers: &Range<u32>) {
    files.for_each(|file| look(scribe, file, headers));
    scribe.whole(Op::Write, 0, 16, 14.0);
}

fn pattern(scribe: &mut Scribe, part: Range<u32>, headers: &Range<u32>) {
    scribe.pass(1000.0);
    part.for_each(|file| look(scribe, file, headers));
}

fn question(scribe: &mut Scribe, hits: &[u32], headers: &Range<u32>) {
    scribe.pass(1000.0);
    scribe.pass_through(Op::Read, 0, (0, BASE), 16, 14.0);
    hits.iter().for_each(|file| look(scribe, *file, headers));
}
