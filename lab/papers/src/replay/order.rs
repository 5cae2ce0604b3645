//! Which calls of a trace must be over before one begins.
//!
//! An open model sends each call at its time, even if a call that it needs was faster when the trace was recorded. What
//! a program did one after the other then stays in order: a name is used after it was made, a file is read after it was
//! written. What is independent overlaps.
//!
//! O1. A call waits only for calls that came before it. So no circle is possible.
//! O2. Of two calls on one thing, a name in a directory or a file, the later one waits, unless both only use it.
//! O3. What uses an object waits for the call that made it, or that found it first.
//! O4. Removing a directory waits for everything, since it must be empty.

use ordo_filetrace::{Call, Cast, Op};
use std::collections::HashMap;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Thing<'a> {
    Name(u64, &'a [u8]),
    Object(u64),
}

/// The last call that changed a thing, and those that have used it since.
#[derive(Default)]
struct Last {
    change: Option<u32>,
    uses: Vec<u32>,
}

/// For each call, the calls that it waits for.
pub(super) fn of(cast: &Cast) -> Vec<Vec<u32>> {
    let mut last: HashMap<Thing<'_>, Last> = HashMap::new();
    let mut source: HashMap<u64, u32> = HashMap::new();
    let mut all = Vec::with_capacity(cast.calls.len());
    let mut behind = 0;
    for (at, call) in cast.calls.iter().enumerate() {
        let at = at as u32;
        let mut waits = Vec::new();
        for (thing, changes) in things(call) {
            if let Thing::Object(object) = &thing {
                waits.extend(source.get(object));
            }
            let last = last.entry(thing).or_default();
            waits.extend(last.change);
            if changes {
                waits.append(&mut last.uses);
                last.change = Some(at);
            } else {
                last.uses.push(at);
            }
        }
        if let Some(found) = call.found() {
            source.entry(found.node).or_insert(at);
        }
        if call.op == Op::Rmdir {
            waits.extend(behind..at);
            behind = at;
        }
        waits.sort_unstable();
        waits.dedup();
        all.push(waits);
    }
    all
}

/// What a call is about, and whether it changes it.
fn things(call: &Call) -> Vec<(Thing<'_>, bool)> {
    let (node, to) = (Thing::Object(call.node), Thing::Object(call.to));
    let name = Thing::Name(call.node, &call.name);
    match call.op {
        Op::Lookup | Op::Entry => vec![(node, false), (name, false)],
        Op::Create | Op::Mkdir | Op::Symlink | Op::Unlink | Op::Rmdir => vec![(node, false), (name, true)],
        Op::Link => vec![(node, false), (name, true), (to, false)],
        Op::Rename => vec![(node, false), (name, true), (to, false), (Thing::Name(call.to, &call.to_name), true)],
        Op::Write | Op::Fallocate | Op::Setattr | Op::Forget => vec![(node, true)],
        Op::Copy => vec![(node, false), (to, true)],
        Op::Syncfs | Op::Statfs => Vec::new(),
        _ => vec![(node, false)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_on_one_thing_are_in_order_and_others_are_not() {
        let lines = "0 create 1 a = 7 f 0\n1 create 1 b = 8 f 0\n2 write 7 0 5\n3 read 8 0 5\n4 read 7 0 5\n\
            5 read 7 5 5\n6 write 7 9 5\n7 rename 1 a 1 c 0\n8 lookup 1 c = 7 f 9\n9 rmdir 1 d\n10 statfs\n11 unlink 1 d\n";
        let text = format!("{}\n{lines}", ordo_filetrace::HEADER);
        let waits = of(&Cast::of(ordo_filetrace::read(&text).unwrap()));
        let expected: [&[u32]; 12] = [
            &[],
            &[],
            &[0],
            &[1],
            &[0, 2],
            &[0, 2],
            &[0, 2, 4, 5],
            &[0],
            &[7],
            &[0, 1, 2, 3, 4, 5, 6, 7, 8],
            &[],
            &[9],
        ];
        assert_eq!(waits, expected);
        assert!(waits.iter().enumerate().all(|(at, waits)| waits.iter().all(|call| (*call as usize) < at)));
    }
}
