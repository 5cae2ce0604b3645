//! multi1 and multi2: several programs at once. The paper: cscope and gcc; and with viewperf, too.
//!
//! Ours: each program has its own files. They begin at the same time and take turns, so that each takes as many times
//! as long as there are programs.
//!
//! The disk may have files of programs that do not run, too.

use crate::trace::{Catalogue, Contents, Directory, File, Request, Trace};
use std::ops::Range;

/// The files of all these traces on one disk, and those of them that `run`, as one.
pub(super) fn make(name: &str, traces: &[Trace], run: Range<usize>) -> Trace {
    let mut files = Catalogue { directories: vec![Directory { parent: None, place: 0.0 }], files: Vec::new() };
    let mut requests: Vec<Request> = Vec::new();
    for (at, trace) in traces.iter().enumerate() {
        let Contents::Files(own) = &trace.contents else { continue };
        let (first_directory, first_file) = (files.directories.len() as u32, files.files.len() as u32);
        files.directories.extend(own.directories.iter().map(|directory| Directory {
            parent: Some(directory.parent.map_or(0, |parent| parent + first_directory)),
            ..*directory
        }));
        let moved = |file: &File| File { directory: file.directory + first_directory, ..*file };
        files.files.extend(own.files.iter().map(moved));
        let asked = trace.requests.iter().filter(|_| run.contains(&at));
        requests.extend(asked.map(|r| Request { file: r.file + first_file, at_ms: r.at_ms * run.len() as f64, ..*r }));
    }
    // Stable: at the same time the first program comes first.
    requests.sort_by(|a, b| a.at_ms.total_cmp(&b.at_ms));
    // OK to index: `run` names some of them.
    Trace { name: name.to_owned(), drive: traces[run.start].drive, contents: Contents::Files(files), requests }
}
