//! gcc: Linux 2.4.20 is built.
//!
//! The paper: sequential; no number.
//!
//! Ours: of the files that a configuration compiles, one after the other is read with some headers, and an object file
//! is written beside it; at the end of each directory its objects are linked, and at the end of all, the kernel.
//! make(1) looks at every file of a directory first. Headers lie in one directory. The source lies in groups 20 to 29.

use super::scribe::{ATLAS, Scribe, group};
use super::source::{self, Source};
use crate::trace::{Directory, File, Op, Trace};

/// The share of the files that are compiled, and headers that one includes.
const COMPILED: f64 = 0.35;
const INCLUDED: u32 = 9;
const HEADERS: u32 = 2600;
/// Blocks of the kernel.
const KERNEL: u32 = 900;

pub(super) fn make(seed: u64) -> Trace {
    let mut scribe = Scribe::new("gcc", ATLAS, seed);
    scribe.files.directories.push(Directory { parent: None, place: 0.0 });
    let Source { files } = source::add(&mut scribe, 0, (20, 29));
    let headers = scribe.files.files.len() as u32;
    let include = scribe.files.directories.len() as u32;
    scribe.files.directories.push(Directory { parent: Some(1), place: group(19) });
    for _ in 0..HEADERS {
        let blocks = 1 + scribe.luck.below(4);
        scribe.files.files.push(File { directory: include, blocks, new: false });
    }
    let mut objects: Vec<u32> = Vec::new();
    let mut file = files.start;
    while file < files.end {
        let directory = scribe.files.files[file as usize].directory;
        let mut end = file;
        while end < files.end && scribe.files.files[end as usize].directory == directory {
            end += 1;
        }
        let made = compile(&mut scribe, file..end, headers);
        objects.extend(made);
        file = end;
    }
    let kernel = scribe.files.files.len() as u32;
    scribe.files.files.push(File { directory: 1, blocks: KERNEL, new: true });
    for object in objects {
        scribe.whole(Op::Read, object, 16, 16.0);
    }
    scribe.whole(Op::Write, kernel, 16, 1.0);
    scribe.end()
}

/// Compiles the files of a directory, and links what comes of it into one object, which is returned.
fn compile(scribe: &mut Scribe, files: std::ops::Range<u32>, headers: u32) -> Option<u32> {
    let directory = scribe.files.files[files.start as usize].directory;
    for file in files.clone() {
        scribe.pass(1.0);
        scribe.ask(Op::Look, file, 0, 0);
    }
    let mut made = Vec::new();
    // A directory's files include much the same headers.
    let common = scribe.luck.below(HEADERS - 60);
    for file in files {
        if !scribe.luck.chance(COMPILED) {
            continue;
        }
        scribe.whole(Op::Read, file, 8, 3.0);
        for _ in 0..INCLUDED {
            let near = scribe.luck.chance(0.7);
            let header = if near { common + scribe.luck.below(60) } else { scribe.luck.below(HEADERS / 10) };
            scribe.whole(Op::Read, headers + header, 8, 0.5);
        }
        scribe.pass(30.0);
        let blocks = scribe.files.files[file as usize].blocks * 2;
        let object = scribe.files.files.len() as u32;
        scribe.files.files.push(File { directory, blocks, new: true });
        scribe.whole(Op::Write, object, 16, 0.3);
        made.push((object, blocks));
    }
    let blocks = made.iter().map(|(_, blocks)| blocks).sum::<u32>();
    if blocks == 0 {
        return None;
    }
    let linked = scribe.files.files.len() as u32;
    scribe.files.files.push(File { directory, blocks, new: true });
    for (object, _) in made {
        scribe.whole(Op::Read, object, 16, 0.5);
    }
    scribe.whole(Op::Write, linked, 16, 0.3);
    Some(linked)
}
