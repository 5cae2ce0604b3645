//! Builds a script from operations with parameters: what they need is made first.

use super::filled::{Action, Change, Filled, Range};
use super::names::Node;
use super::tree::{Tree, parent};
use crate::random::Op;
use crate::script::Script;
use ordo_vfs::{FallocMode, RenameMode, XattrMode};

/// Bytes that are appended, and that a file gets before it is overwritten.
const APPENDED: u32 = 32768;

const XATTR: &str = "user.x";

/// What follows an operation to make something durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Persist {
    Fsync(Node),
    Sync,
    Nothing,
}

/// The script of these operations, each followed by the element of `persists` at the same index.
pub(super) fn build(name: String, filled: &[Filled], persists: &[Persist]) -> Script {
    let mut builder = Builder { script: Script { name, ..Script::default() }, ..Builder::default() };
    let mut says = Vec::new();
    for (slot, (filled, persist)) in (0..).zip(filled.iter().zip(persists)) {
        says.push(filled.to_string());
        builder.act(slot, filled.action);
        match *persist {
            Persist::Fsync(place) => {
                says.push(format!("fsync {}", place.path()));
                builder.need(place);
                builder.call(Op::Fsync { path: place.path().to_owned(), data_only: false });
            }
            Persist::Sync => {
                says.push("sync".to_owned());
                builder.call(Op::Sync);
            }
            Persist::Nothing => {}
        }
    }
    for slot in std::mem::take(&mut builder.held) {
        builder.call(Op::Close { slot });
    }
    // Marks are counted from the start of the set-up, which is complete only now.
    let setup = builder.script.setup.len();
    builder.script.refused = std::mem::take(&mut builder.refused).into_iter().map(|call| setup + call).collect();
    builder.script.says = says.join(", ");
    builder.script
}

#[derive(Default)]
struct Builder {
    script: Script,
    tree: Tree,
    seed: u64,
    /// Slots to close at the end.
    held: Vec<u8>,
    /// Which calls are refused.
    refused: Vec<usize>,
}

impl Builder {
    fn call(&mut self, op: Op) {
        self.script.calls.push(op);
    }

    /// Adds an operation that a call needs, in the set-up or before the call.
    fn prepare(&mut self, durable: bool, op: Op) {
        let list = if durable { &mut self.script.setup } else { &mut self.script.calls };
        list.push(op);
    }

    fn next_seed(&mut self) -> u64 {
        self.seed += 1;
        self.seed
    }

    fn need(&mut self, place: Node) {
        self.need_path(place.path(), place.is_dir());
    }

    fn need_path(&mut self, path: &str, dir: bool) {
        if self.tree.has(path) {
            return;
        }
        self.need_path(parent(path), true);
        let durable = self.tree.is_untouched(path);
        let owned = path.to_owned();
        let op = if dir { Op::Mkdir { path: owned, mode: 0o755 } } else { Op::Create { path: owned, mode: 0o644 } };
        self.prepare(durable, op);
        self.tree.add(path);
    }

    /// Whether this file existed and was durable before the calls, and is in the set-up under this path.
    fn is_of_setup(&self, path: &str) -> bool {
        self.tree.is_untouched(path) && !self.tree.node(path).changed
    }

    fn need_bytes(&mut self, place: Node) {
        self.need(place);
        let path = place.path();
        if self.tree.node(path).size > 0 {
            return;
        }
        let (durable, seed) = (self.is_of_setup(path), self.next_seed());
        self.prepare(durable, Op::Write { path: path.to_owned(), offset: 0, len: APPENDED, seed });
        self.tree.change(path, |node| node.size = u64::from(APPENDED));
    }

    fn need_xattr(&mut self, place: Node) {
        self.need(place);
        let path = place.path();
        if self.tree.node(path).xattr {
            return;
        }
        let durable = self.is_of_setup(path);
        let op = self.set_xattr(path);
        self.prepare(durable, op);
        self.tree.change(path, |node| node.xattr = true);
    }

    fn set_xattr(&mut self, path: &str) -> Op {
        let seed = self.next_seed();
        Op::SetXattr { path: path.to_owned(), name: XATTR.to_owned(), len: 32, seed, mode: XattrMode::Set }
    }

    /// Makes a path free that is a file's or an emptied directory's.
    fn need_free(&mut self, place: Node) {
        self.need_path(parent(place.path()), true);
        let path = place.path();
        if self.tree.has(path) {
            self.need_empty(path);
            let path = path.to_owned();
            self.tree.remove(&path);
            self.call(if place.is_dir() { Op::Rmdir { path } } else { Op::Unlink { path } });
        }
    }

    fn need_empty(&mut self, dir: &str) {
        for path in self.tree.below(dir) {
            self.tree.remove(&path);
            self.tree.touch(&path);
            // Only the directory C is ever within another one, under whatever path.
            self.call(if path.ends_with("/C") { Op::Rmdir { path } } else { Op::Unlink { path } });
        }
    }

    fn act(&mut self, slot: u8, action: Action) {
        match action {
            Action::Creat(place) | Action::Mkdir(place) => {
                self.need_free(place);
                let path = place.path().to_owned();
                self.tree.add(&path);
                self.tree.touch(&path);
                self.call(match action {
                    Action::Mkdir(_) => Op::Mkdir { path, mode: 0o755 },
                    _ => Op::Create { path, mode: 0o644 },
                });
            }
            Action::Link(from, to) => {
                self.need(from);
                self.need_free(to);
                self.tree.link(from.path(), to.path());
                self.tree.touch(to.path());
                self.call(Op::Link { path: from.path().to_owned(), to: to.path().to_owned() });
            }
            Action::Rename(from, to) => self.rename(from, to),
            Action::Unlink { place, held } => {
                self.need(place);
                let path = place.path().to_owned();
                if held {
                    self.call(Op::Open { slot, path: path.clone() });
                    self.held.push(slot);
                }
                self.tree.remove(&path);
                self.tree.touch(&path);
                self.call(Op::Unlink { path });
            }
            Action::Change(place, change) => self.change(place, change),
        }
    }

    fn rename(&mut self, from: Node, to: Node) {
        let (path, target) = (from.path(), to.path());
        self.need(from);
        self.need_path(parent(target), true);
        if target.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')) {
            // A directory moved into itself.
            self.refused.push(self.script.calls.len());
        } else if !self.tree.are_one(path, target) {
            if from.is_dir() {
                self.need_empty(target);
            }
            self.tree.remove(target);
            self.tree.rename(path, target);
            self.tree.touch(path);
            self.tree.touch(target);
        }
        self.call(Op::Rename { path: path.to_owned(), to: target.to_owned(), mode: RenameMode::Replace });
    }

    fn change(&mut self, place: Node, change: Change) {
        match change {
            Change::SetXattr | Change::Write(Range::Append) | Change::MmapWrite(Range::Append) => self.need(place),
            Change::RemoveXattr => self.need_xattr(place),
            _ => self.need_bytes(place),
        }
        let path = place.path().to_owned();
        let mut size = self.tree.node(&path).size;
        let op = match change {
            Change::Falloc(mode, range) => {
                let (offset, len) = span(range, size);
                let grows = !matches!(
                    mode,
                    FallocMode::PunchHole
                        | FallocMode::Allocate { keep_size: true }
                        | FallocMode::ZeroRange { keep_size: true }
                );
                size = if grows { size.max(offset + u64::from(len)) } else { size };
                Op::Fallocate { path: path.clone(), offset, len: u64::from(len), mode }
            }
            Change::Write(range) | Change::MmapWrite(range) => {
                let (offset, len) = span(range, size);
                size = size.max(offset + u64::from(len));
                Op::Write { path: path.clone(), offset, len, seed: self.next_seed() }
            }
            Change::SetXattr => self.set_xattr(&path),
            Change::RemoveXattr => Op::RemoveXattr { path: path.clone(), name: XATTR.to_owned() },
            Change::Truncate(to) => {
                size = to;
                Op::Truncate { path: path.clone(), size }
            }
        };
        self.call(op);
        let xattr = matches!(change, Change::SetXattr) || self.tree.node(&path).xattr;
        self.tree.change(&path, |node| {
            (node.size, node.xattr, node.changed) = (size, xattr && change != Change::RemoveXattr, true);
        });
        if matches!(change, Change::MmapWrite(_)) {
            self.call(Op::Fsync { path, data_only: true });
        }
    }
}

/// The position of a range in a file of this size: offset and length.
fn span(range: Range, size: u64) -> (u64, u32) {
    match range {
        Range::Append => (size, APPENDED),
        Range::Start(len) => (0, len),
        Range::Extend => (size.saturating_sub(2000), 5000),
    }
}
