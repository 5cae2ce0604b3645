//! A trace of files as the calls of a file trace, so that the engine can do what the simulator simulates.
//!
//! Calls1. Each request becomes a call, in the same order: a read, a write or a question for the inode. Where a file is
//!         new, its first write has a `create` before it at the same time, which is no request.
//! Calls2. What was there before is made in the order of a walk: a directory, its files, the next directory. So a file
//!         system that takes the next free place puts them as the simulator does.
//! Calls3. A trace of a block device cannot be converted: it does not say which files its requests belong to.

use super::{Catalogue, Contents, Op, Request, Trace};
use ordo_filetrace::{Call, Cast, Found, Kind, Op as Does, Outcome};

/// Bytes of a block.
const BLOCK: u64 = 4096;
/// The number of the root in a file trace.
const ROOT: u64 = 1;

impl Trace {
    /// The same as calls on files; `None` if it is a trace of a device.
    pub fn cast(&self) -> Option<Cast> {
        let Contents::Files(files) = &self.contents else { return None };
        let numbers = Numbers(files);
        let mut calls = numbers.before();
        let mut made: Vec<bool> = files.files.iter().map(|file| !file.new).collect();
        for request in &self.requests {
            if request.op == Op::Write && !std::mem::replace(&mut made[request.file as usize], true) {
                calls.push(numbers.file(request.file, at_us(request), Does::Create, 0));
            }
            calls.push(numbers.call(request));
        }
        let mut cast = Cast::of(calls);
        // They have told what was there before. Nobody asks for it when the trace begins.
        cast.calls.retain(|call| call.op != Does::Entry);
        Some(cast)
    }
}

fn at_us(request: &Request) -> u64 {
    (request.at_ms * 1e3).round() as u64
}

/// The numbers of nodes: the root's, those of the other directories, those of the files.
struct Numbers<'a>(&'a Catalogue);

impl Numbers<'_> {
    fn of_directory(&self, directory: u32) -> u64 {
        ROOT + u64::from(directory)
    }

    fn of_file(&self, file: u32) -> u64 {
        ROOT + self.0.directories.len() as u64 + u64::from(file)
    }

    /// A call that finds or makes a file of so many bytes in its directory.
    fn file(&self, file: u32, at_us: u64, op: Does, size: u64) -> Call {
        let node = self.of_directory(self.0.files[file as usize].directory);
        let found = Found { node: self.of_file(file), kind: Kind::File, size };
        let name = format!("f{file}").into_bytes();
        Call { name, outcome: Outcome::Found(found), ..Call::new(at_us, op, node) }
    }

    /// A walk that finds all that was there before (Calls2).
    fn before(&self) -> Vec<Call> {
        let mut below = vec![Vec::new(); self.0.directories.len()];
        for (at, file) in self.0.files.iter().enumerate().filter(|(_, file)| !file.new) {
            below[file.directory as usize].push((at as u32, u64::from(file.blocks) * BLOCK));
        }
        let mut calls = Vec::new();
        for (at, directory) in self.0.directories.iter().enumerate() {
            if let Some(parent) = directory.parent {
                let found = Found { node: self.of_directory(at as u32), kind: Kind::Directory, size: 0 };
                let name = format!("d{at}").into_bytes();
                let outcome = Outcome::Found(found);
                calls.push(Call { name, outcome, ..Call::new(0, Does::Entry, self.of_directory(parent)) });
            }
            calls.extend(below[at].iter().map(|(file, size)| self.file(*file, 0, Does::Entry, *size)));
        }
        calls
    }

    fn call(&self, request: &Request) -> Call {
        let op = match request.op {
            Op::Read => Does::Read,
            Op::Write => Does::Write,
            Op::Look => Does::Getattr,
        };
        let (offset, len) = (u64::from(request.first) * BLOCK, u64::from(request.blocks) * BLOCK);
        Call { offset, len, ..Call::new(at_us(request), op, self.of_file(request.file)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth;
    use crate::trace::{Directory, File, is_request};

    #[test]
    fn requests_become_calls_on_files_that_are_there_or_are_made() {
        let directory = |parent| Directory { parent, place: 0.0 };
        let file = |directory, blocks, new| File { directory, blocks, new };
        let files = Catalogue {
            directories: vec![directory(None), directory(Some(0)), directory(Some(1))],
            files: vec![file(2, 3, false), file(1, 2, true), file(0, 1, false)],
        };
        let request = |at_ms, op, file, first, blocks| Request { at_ms, op, file, first, blocks };
        let requests = vec![
            request(0.5, Op::Look, 0, 0, 0),
            request(1.0, Op::Write, 1, 0, 1),
            request(1.25, Op::Write, 1, 1, 1),
            request(2.0, Op::Read, 0, 1, 2),
        ];
        let drive = "quantum_atlas_10k";
        let trace = Trace { name: "t".into(), drive, contents: Contents::Files(files), requests };
        let cast = trace.cast().unwrap();
        let lines: Vec<_> = cast.calls.iter().map(Call::to_string).collect();
        // Objects in the order of the walk: the root, its file, a directory, one in it, its file; then what is made.
        let expected = [
            "500 getattr 4",
            "1000 create 2 f1 = 5 f 0",
            "1000 write 5 0 4096",
            "1250 write 5 4096 4096",
            "2000 read 4 4096 8192",
        ];
        assert_eq!(lines, expected);
        let before: Vec<_> = cast.objects.iter().map(|object| (object.before, object.kind, object.size)).collect();
        let old = |kind, size| (true, kind, size);
        let (f, d) = (Kind::File, Kind::Directory);
        assert_eq!(before, [old(d, 0), old(f, 4096), old(d, 0), old(d, 0), old(f, 12288), (false, f, 0)]);
        assert_eq!(cast.names.len(), 4);
        let device = Trace { contents: Contents::Device(vec![0]), ..trace };
        assert!(device.cast().is_none());
    }

    #[test]
    fn the_engine_gets_as_many_requests_as_the_simulator() {
        for name in ["gcc", "viewperf"] {
            let trace = synth::named(name, 1).unwrap();
            let cast = trace.cast().unwrap();
            let requests = cast.calls.iter().filter(|call| is_request(call, &cast)).count();
            assert_eq!(requests, trace.requests.len(), "{name}");
            assert!(cast.calls.windows(2).all(|two| two[0].at_us <= two[1].at_us), "{name}");
        }
    }
}
