//! multi1 and multi2: several programs at once. The paper: cscope and gcc; and with viewperf, too.
//!
//! Ours: each program has its own files. They begin at the same time and take turns, so that each takes as many times
//! as long as there are programs.

use super::scribe::ATLAS;
use crate::trace::{Catalogue, Contents, Directory, File, Request, Trace};

/// The traces as one.
pub(super) fn make(name: &str, traces: &[Trace]) -> Trace {
    let mut files = Catalogue { directories: vec![Directory { parent: None, place: 0.0 }], files: Vec::new() };
    let mut requests: Vec<Request> = Vec::new();
    for trace in traces {
        let Contents::Files(own) = &trace.contents else { continue };
        let (first_directory, first_file) = (files.directories.len() as u32, files.files.len() as u32);
        files.directories.extend(own.directories.iter().map(|directory| Directory {
            parent: Some(directory.parent.map_or(0, |parent| parent + first_directory)),
            ..*directory
        }));
        let moved = |file: &File| File { directory: file.directory + first_directory, ..*file };
        files.files.extend(own.files.iter().map(moved));
        requests.extend(trace.requests.iter().map(|r| Request {
            file: r.file + first_file,
            at_ms: r.at_ms * traces.len() as f64,
            ..*r
        }));
    }
    // Stable: at the same time the first program comes first.
    requests.sort_by(|a, b| a.at_ms.total_cmp(&b.at_ms));
    Trace { name: name.to_owned(), drive: ATLAS, contents: Contents::Files(files), requests }
}
