//! Who is who in a trace: the number of a node may belong to several files, one after the other, and what was there
//! before the trace began is known only from what is done to it.
//!
//! C1. An object is one file in its whole life. Calls then name objects, which are numbered from 0; 0 is the root.
//! C2. What a trace finds, reads, removes or moves without having made it was there before. Its size is the one found
//!     when it was first looked up, and at least as much as was read of it before it was written.
//! C3. A name that the trace has made or removed says nothing about what was there before.

use crate::call::{Call, Found, Kind, Op, Outcome};
use std::collections::HashMap;

/// A file in its whole life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// What it is.
    pub kind: Kind,
    /// It was there before the trace began.
    pub before: bool,
    /// Its first directory, and its name there; `None` where the trace does not say it.
    pub place: Option<(u32, Vec<u8>)>,
    /// Its size when the trace began, in bytes, as far as is known (C2); of a symbolic link also later ones.
    pub size: u64,
    /// Something in it has changed.
    changed: bool,
}

/// A name that was there before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Before {
    /// Its directory.
    pub directory: u32,
    /// The name.
    pub name: Vec<u8>,
    /// What it names.
    pub object: u32,
}

/// A trace with objects in place of nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cast {
    /// The objects.
    pub objects: Vec<Object>,
    /// The names that were there before, in the order in which the trace meets them.
    pub names: Vec<Before>,
    /// The calls, in the order in which they came; `node`, `to` and what was found are objects.
    pub calls: Vec<Call>,
}

/// The number of the root in a trace.
const ROOT: u64 = 1;

impl Cast {
    /// The cast of these calls.
    pub fn of(calls: Vec<Call>) -> Cast {
        let mut casting = Casting::default();
        casting.object(ROOT, Kind::Directory);
        let calls = calls.into_iter().map(|call| casting.call(call)).collect();
        Cast { objects: casting.objects, names: casting.before, calls }
    }
}

#[derive(Default)]
struct Casting {
    objects: Vec<Object>,
    /// The object that has a number now.
    live: HashMap<u64, u32>,
    /// What a name names now; `None` if it was removed.
    names: HashMap<(u32, Vec<u8>), Option<u32>>,
    before: Vec<Before>,
}

impl Casting {
    fn add(&mut self, kind: Kind, before: bool, size: u64) -> u32 {
        self.objects.push(Object { kind, before, place: None, size, changed: false });
        self.objects.len() as u32 - 1
    }

    /// The object that has this number.
    fn object(&mut self, node: u64, kind: Kind) -> u32 {
        if let Some(known) = self.live.get(&node) {
            return *known;
        }
        let object = self.add(kind, true, 0);
        self.live.insert(node, object);
        object
    }

    fn call(&mut self, mut call: Call) -> Call {
        let number = call.node;
        let has_node = !call.op.fields().is_empty();
        if has_node {
            let directory = call.op.is_in_directory() || call.op == Op::Readdir;
            let kind = match call.op {
                _ if directory => Kind::Directory,
                Op::Readlink => Kind::Symlink,
                _ => Kind::File,
            };
            call.node = u64::from(self.object(number, kind));
        }
        match call.op {
            Op::Rename => call.to = u64::from(self.object(call.to, Kind::Directory)),
            Op::Link | Op::Copy => call.to = u64::from(self.object(call.to, Kind::File)),
            _ => (),
        }
        if let Outcome::Found(found) = &mut call.outcome {
            let object = if call.op.makes() { self.made(&call.name, call.node, found) } else { self.found(found) };
            if matches!(call.op, Op::Lookup | Op::Entry) {
                self.seen(call.node as u32, &call.name, object);
            }
            found.node = u64::from(object);
        }
        if call.is_done() {
            self.change(&call);
        }
        call
    }

    fn made(&mut self, name: &[u8], directory: u64, found: &Found) -> u32 {
        let object = self.add(found.kind, false, if found.kind == Kind::Symlink { found.size } else { 0 });
        self.live.insert(found.node, object);
        if !name.is_empty() {
            self.objects[object as usize].place = Some((directory as u32, name.to_vec()));
            self.names.insert((directory as u32, name.to_vec()), Some(object));
        }
        object
    }

    fn found(&mut self, found: &Found) -> u32 {
        let object = self.object(found.node, found.kind);
        let known = &mut self.objects[object as usize];
        if known.before && !known.changed {
            known.kind = found.kind;
            known.size = known.size.max(found.size);
        }
        object
    }

    /// A directory says that it has this name. Tells what was there before (C3).
    fn seen(&mut self, directory: u32, name: &[u8], object: u32) {
        if name == b"." || name == b".." {
            return;
        }
        let key = (directory, name.to_vec());
        let is_new = !self.names.contains_key(&key);
        self.names.insert(key, Some(object));
        let (old, known) = (self.objects[directory as usize].before, &mut self.objects[object as usize]);
        if !is_new || !old || !known.before || object == 0 {
            return;
        }
        known.place.get_or_insert_with(|| (directory, name.to_vec()));
        self.before.push(Before { directory, name: name.to_vec(), object });
    }

    /// What a name names; an object that nobody has looked up is one that was there before (C2).
    fn named(&mut self, directory: u64, name: &[u8], kind: Kind) -> Option<u32> {
        let directory = directory as u32;
        if let Some(known) = self.names.get(&(directory, name.to_vec())) {
            return *known;
        }
        let object = self.add(kind, true, 0);
        self.seen(directory, name, object);
        Some(object)
    }

    /// What the call does to names and sizes.
    fn change(&mut self, call: &Call) {
        let of = |directory: u64, name: &[u8]| (directory as u32, name.to_vec());
        match call.op {
            Op::Unlink | Op::Rmdir => {
                let kind = if call.op == Op::Rmdir { Kind::Directory } else { Kind::File };
                self.named(call.node, &call.name, kind);
                self.names.insert(of(call.node, &call.name), None);
            }
            Op::Link => {
                self.names.insert(of(call.node, &call.name), Some(call.to as u32));
            }
            Op::Rename => {
                let moved = self.named(call.node, &call.name, Kind::File);
                let other = match call.how {
                    2 => self.named(call.to, &call.to_name, Kind::File),
                    _ => None,
                };
                self.names.insert(of(call.node, &call.name), other);
                self.names.insert(of(call.to, &call.to_name), moved);
            }
            Op::Read => {
                let object = &mut self.objects[call.node as usize];
                if object.before && !object.changed && call.len > 0 {
                    object.size = object.size.max(call.end());
                }
            }
            Op::Write | Op::Fallocate => self.objects[call.node as usize].changed = true,
            Op::Setattr if call.how & 1 != 0 => self.objects[call.node as usize].changed = true,
            Op::Copy => self.objects[call.to as usize].changed = true,
            _ => (),
        }
    }
}
