//! File traces of our own mounts (`docs/format/file-trace.md`): from calls to requests for blocks of files.
//!
//! F1. Reads and writes of a file are requests; what asks for its inode is a look. The simulator has nothing for the
//!     rest: no removal, no sync, no listing. A file that is moved stays where it was put.
//! F2. A file has all the blocks that it ever had in the trace. It is new if the trace makes it.
//! F3. Where a directory lies is not in the trace: those in the root lie apart from each other, evenly over the drive,
//!     and others beside the one that they are in. What is known only by its number lies in the root.

use super::format::{Format, TraceError};
use super::request::{Catalogue, Contents, Directory, File, Op, Request, Trace};
use crate::volume::{LARGEST_SECTORS, SECTORS, drive_for};
use ordo_filetrace::{Call, Cast, Kind, Object, Op as Does};

/// Bytes of a block.
const BLOCK: u64 = 4096;
/// Blocks of the largest drive.
const LARGEST: u64 = LARGEST_SECTORS / SECTORS;

pub(super) fn read(name: &str, text: &str) -> Result<Trace, TraceError> {
    let bad = |line, what| TraceError::Line { line, format: Format::Files, what };
    of_calls(name, ordo_filetrace::read(text).map_err(|error| bad(error.line, error.what))?)
}

/// The calls of a file trace as a trace. `name` is what the results call it.
///
/// # Errors
/// A call behind the largest drive, files that are together too large, or no request.
pub fn of_calls(name: &str, calls: Vec<Call>) -> Result<Trace, TraceError> {
    let bad = |line, what| TraceError::Line { line, format: Format::Files, what };
    let is_outside = |call: &&Call| moves(call).is_some() && call.end().div_ceil(BLOCK) > LARGEST;
    if let Some(call) = calls.iter().find(is_outside) {
        return Err(bad(call.line, "it ends behind the largest drive, of 146 GB"));
    }
    let cast = Cast::of(calls);
    let blocks = sizes(&cast);
    let total = blocks.iter().fold(0, |sum: u64, blocks| sum.saturating_add(*blocks));
    // A tenth of each group stays free, and inodes and pointers need some.
    if total > LARGEST / 5 * 4 {
        return Err(TraceError::TooLarge);
    }
    let (files, catalogue) = catalogue(&cast, &blocks);
    let requests: Vec<Request> = cast.calls.iter().filter_map(|call| request(call, &files)).collect();
    if requests.is_empty() {
        return Err(TraceError::Empty);
    }
    let drive = drive_for((total + total / 4) as u32);
    Ok(Trace { name: name.to_owned(), drive, contents: Contents::Files(catalogue), requests })
}

/// Whether a call reads or writes blocks of a file.
fn moves(call: &Call) -> Option<Op> {
    match call.op {
        _ if !call.is_done() || call.len == 0 => None,
        Does::Read => Some(Op::Read),
        Does::Write => Some(Op::Write),
        _ => None,
    }
}

/// The blocks of each object (F2).
fn sizes(cast: &Cast) -> Vec<u64> {
    let is_file = |object: &Object| object.kind == Kind::File;
    let mut blocks: Vec<u64> =
        cast.objects.iter().map(|object| if is_file(object) { object.size.div_ceil(BLOCK) } else { 0 }).collect();
    for call in cast.calls.iter().filter(|call| moves(call).is_some()) {
        let blocks = &mut blocks[call.node as usize];
        *blocks = (*blocks).max(call.end().div_ceil(BLOCK));
    }
    blocks
}

/// The files by object, and the catalogue.
fn catalogue(cast: &Cast, blocks: &[u64]) -> (Vec<Option<u32>>, Catalogue) {
    let (directories, catalogue) = directories(cast);
    let home = |object: &Object| object.place.as_ref().and_then(|place| directories[place.0 as usize]).unwrap_or(0);
    let mut order: Vec<u32> = (0..cast.objects.len() as u32)
        .filter(|at| matches!(cast.objects[*at as usize].kind, Kind::File | Kind::Symlink))
        .collect();
    let name = |object: &Object| object.place.as_ref().map(|place| place.1.clone());
    order.sort_by_cached_key(|at| {
        let object = &cast.objects[*at as usize];
        (home(object), name(object), *at)
    });
    let (mut files, mut catalogue) = (vec![None; cast.objects.len()], catalogue);
    for at in order {
        let object = &cast.objects[at as usize];
        files[at as usize] = Some(catalogue.files.len() as u32);
        let blocks = blocks[at as usize] as u32;
        catalogue.files.push(File { directory: home(object), blocks, new: !object.before });
    }
    (files, catalogue)
}

/// The directories by object, and a catalogue of them in the order of a walk.
fn directories(cast: &Cast) -> (Vec<Option<u32>>, Catalogue) {
    let mut below: Vec<Vec<u32>> = vec![Vec::new(); cast.objects.len()];
    for (at, object) in cast.objects.iter().enumerate().skip(1).filter(|(_, object)| object.kind == Kind::Directory) {
        // One that is said to lie in itself, or in a file, is in a trace that was made by hand.
        let parent = object.place.as_ref().map_or(0, |place| place.0);
        let fits = cast.objects[parent as usize].kind == Kind::Directory && !is_below(cast, parent, at as u32);
        below[if fits { parent as usize } else { 0 }].push(at as u32);
    }
    let top = below[0].len().max(1) as f64;
    let (mut numbers, mut catalogue) = (vec![None; cast.objects.len()], Catalogue::default());
    let mut walk: Vec<(u32, Option<u32>, f64)> = vec![(0, None, 0.0)];
    while let Some((at, parent, place)) = walk.pop() {
        let number = catalogue.directories.len() as u32;
        numbers[at as usize] = Some(number);
        catalogue.directories.push(Directory { parent, place });
        for (child, next) in below[at as usize].iter().enumerate().rev() {
            let place = if at == 0 { (child as f64 + 0.5) / top } else { place };
            walk.push((*next, Some(number), place));
        }
    }
    (numbers, catalogue)
}

/// Whether `at` is `above`, or below it.
fn is_below(cast: &Cast, mut at: u32, above: u32) -> bool {
    for _ in 0..cast.objects.len() {
        if at == above {
            return true;
        }
        match &cast.objects[at as usize].place {
            Some((parent, _)) => at = *parent,
            None => return false,
        }
    }
    true
}

fn request(call: &Call, files: &[Option<u32>]) -> Option<Request> {
    let (object, op) = asks(call)?;
    let file = files[object as usize]?;
    let (first, end) = match op {
        Op::Look => (0, 0),
        Op::Read | Op::Write => (call.offset / BLOCK, call.end().div_ceil(BLOCK)),
    };
    Some(Request { at_ms: call.at_us as f64 / 1e3, op, file, first: first as u32, blocks: (end - first) as u32 })
}

/// What a call asks of which object, if it is something that the simulator knows (F1).
fn asks(call: &Call) -> Option<(u64, Op)> {
    match call.op {
        Does::Read | Does::Write => Some((call.node, moves(call)?)),
        _ if !call.is_done() => None,
        Does::Lookup => Some((call.found()?.node, Op::Look)),
        Does::Getattr | Does::Readlink | Does::Getxattr => Some((call.node, Op::Look)),
        _ => None,
    }
}

/// Whether a call is a request of the simulator's, and hence counts where the two are compared.
pub fn is_request(call: &Call, cast: &Cast) -> bool {
    let is_file = |object: u64| matches!(cast.objects[object as usize].kind, Kind::File | Kind::Symlink);
    asks(call).is_some_and(|(object, _)| is_file(object))
}

/// Leaves only so many requests, and the calls between them.
pub fn keep_first(cast: &mut Cast, requests: usize) {
    let mut left = requests;
    let end = cast.calls.iter().position(|call| {
        let counts = is_request(call, cast);
        let is_end = counts && left == 0;
        left -= usize::from(counts && left > 0);
        is_end
    });
    cast.calls.truncate(end.unwrap_or(usize::MAX));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Setting, System, run};

    fn text(lines: &str) -> String {
        format!("{}\n{lines}", ordo_filetrace::HEADER)
    }

    const LINES: &str = "0 lookup 1 src = 5 d 512\n1000 lookup 5 a.c = 7 f 9000\n2000 read 7 0 9000\n\
        3000 create 5 a.o = 8 f 0\n4000 write 8 0 4096\n5000 write 8 4096 100\n6000 rename 5 a.o 1 prog 0\n\
        7000 read 7 8192 808\n8000 fsync 8 0\n9000 unlink 1 prog\n";

    #[test]
    fn calls_become_requests_for_blocks_of_files() {
        let trace = read("t", &text(LINES)).unwrap();
        let Contents::Files(catalogue) = &trace.contents else { panic!("a device") };
        assert_eq!(catalogue.directories, [None, Some(0)].map(|parent| Directory { parent, place: place(parent) }));
        let file = |blocks, new| File { directory: 1, blocks, new };
        assert_eq!(catalogue.files, [file(3, false), file(2, true)]);
        let shape: Vec<_> = trace.requests.iter().map(|r| (r.at_ms, r.op, r.file, r.first, r.blocks)).collect();
        let expected = [
            (1.0, Op::Look, 0, 0, 0),
            (2.0, Op::Read, 0, 0, 3),
            (4.0, Op::Write, 1, 0, 1),
            (5.0, Op::Write, 1, 1, 1),
            (7.0, Op::Read, 0, 2, 1),
        ];
        assert_eq!(shape, expected);
        assert_eq!(run(System::Active, &trace, &Setting::default()).unwrap().requests, 5);
    }

    fn place(parent: Option<u32>) -> f64 {
        if parent.is_some() { 0.5 } else { 0.0 }
    }

    #[test]
    fn as_many_requests_are_kept_as_are_asked_for() {
        let whole = Cast::of(ordo_filetrace::read(&text(LINES)).unwrap());
        for (count, last) in [(0, 0), (1, 1), (2, 3), (4, 6), (5, 9), (99, 9)] {
            let mut cast = whole.clone();
            keep_first(&mut cast, count);
            assert_eq!(cast.calls.last().map(|call| call.at_us), Some(last * 1000), "{count}");
            assert_eq!(cast.calls.iter().filter(|call| is_request(call, &cast)).count(), count.min(5));
        }
    }

    #[test]
    fn a_bad_line_is_named_by_its_number() {
        let bad = |text: &str| crate::trace::read("t", text).unwrap_err().to_string();
        assert!(bad(&text("0 statfs\n1 read 7 x 1\n")).contains("line 3"));
        assert!(bad(&text(&format!("0 write 7 {} 1\n", 1_u64 << 50))).contains("line 2"));
        assert!(bad("ordofs-file-trace 9\n").contains("line 1"));
        assert!(bad(&text("0 statfs\n")).contains("no request"));
        let many: String = (0..9)
            .map(|at| format!("{at} create 1 f{at} = {} f 0\n{at} write {} 20000000000 1\n", at + 5, at + 5))
            .collect();
        assert!(bad(&text(&many)).contains("larger than the largest drive"));
    }

    #[test]
    fn directories_that_cannot_be_where_they_are_said_to_be_lie_in_the_root() {
        let trace =
            read("t", &text("0 mkdir 5 a = 5 d 0\n1 create 6 f = 9 f 0\n2 write 9 0 1\n3 read 6 0 10\n")).unwrap();
        let Contents::Files(catalogue) = &trace.contents else { panic!("a device") };
        assert!(catalogue.directories[1..].iter().all(|directory| directory.parent.is_some()));
        assert_eq!(catalogue.files.len(), 1);
    }
}
