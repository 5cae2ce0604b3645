//! cscope: the source of Linux 2.4.20 is examined.
//!
//! The paper: mostly sequential; 98.9 per cent of the requests fall into two areas of the disk, around the first
//! allocation group and in groups 48 to 57. With 160 MB of memory ext3 sends about 12,000 requests to the drive
//! (Table II).
//!
//! Ours: the source lies in groups 48 to 57, and cscope's data base and its temporary files in the first. A data base
//! is built: every file is read, and references go to a file. Then questions are asked: the data base is searched from
//! beginning to end, and one of the tree's parts from its first file to its last. Between files, one request in a
//! hundred goes to other places (headers of the system).

use super::source::{self, Source};
use super::{ATLAS, Scribe, group};
use crate::trace::{Directory, File, Op, Trace};
use std::ops::Range;

const QUESTIONS: u32 = 24;
/// Parts of the tree.
const PARTS: u32 = 12;
/// Blocks of the data base.
const BASE: u32 = 4500;
/// Headers: their group, and how many there are.
const HEADERS: (u32, u32) = (24, 360);
/// How many files are read for one request elsewhere.
const ELSEWHERE: f64 = 0.02;

pub(super) fn make(seed: u64) -> Trace {
    let mut scribe = Scribe::new("cscope", ATLAS, seed);
    scribe.files.directories.push(Directory { parent: None, place: 0.0 });
    scribe.files.directories.push(Directory { parent: Some(0), place: 0.0 });
    scribe.files.files.push(File { directory: 1, blocks: BASE, new: true });
    let headers = headers(&mut scribe);
    let Source { files } = source::add(&mut scribe, 0, (48, 57));
    build(&mut scribe, files.clone(), headers.clone());
    let part = (files.end - files.start) / PARTS;
    for _ in 0..QUESTIONS {
        let first = files.start + scribe.luck.below(PARTS) * part;
        question(&mut scribe, first..first + part, headers.clone());
    }
    scribe.end()
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
    scribe.whole(Op::Read, file, 8, 5.0);
    if scribe.luck.chance(ELSEWHERE) {
        let header = headers.start + scribe.luck.below(headers.end - headers.start);
        scribe.whole(Op::Read, header, 8, 1.0);
    }
}

/// Every file is read; the data base grows.
fn build(scribe: &mut Scribe, files: Range<u32>, headers: Range<u32>) {
    let (all, mut written) = (files.end - files.start, 0);
    for file in files.clone() {
        look(scribe, file, &headers);
        let due = (u64::from(file - files.start + 1) * u64::from(BASE) / u64::from(all)) as u32;
        if due - written >= 16 {
            scribe.pass_through(Op::Write, 0, (written, due), 16, 0.5);
            written = due;
        }
    }
    scribe.pass_through(Op::Write, 0, (written, BASE), 16, 0.5);
}

fn question(scribe: &mut Scribe, part: Range<u32>, headers: Range<u32>) {
    scribe.pass(1000.0);
    scribe.pass_through(Op::Read, 0, (0, BASE), 8, 4.0);
    part.for_each(|file| look(scribe, file, &headers));
}
