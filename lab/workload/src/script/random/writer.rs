//! Writes a script from calls that are drawn: only those that succeed on the model are kept (script-3).

use super::author::Author;
use crate::random::{Generator, Op, Outcome, Player};
use ordo_model::{MemFs, ready};
use ordo_rt::Rng;

/// Most calls that are drawn for one that succeeds.
const DRAWN: u64 = 30;

/// Writes a script.
pub(super) struct Writer<'a> {
    pub(super) player: Player<'a, MemFs>,
    pub(super) rng: Rng,
    pub(super) calls: Vec<Op>,
    /// The last seed that was used (script-2).
    pub(super) seeds: u64,
}

impl Writer<'_> {
    /// Adds `count` calls; after `durable` per cent of them a call that makes something durable.
    pub(super) fn write(&mut self, generator: &mut Generator, count: u64, durable: u64) {
        let mut written = 0;
        for op in generator.filter(changes) {
            if written == count {
                break;
            }
            if self.add(op) {
                written += 1;
                if self.rng.chance(durable, 100) {
                    self.make_durable();
                }
            }
        }
    }

    /// Adds `count` calls drawn by the author, or fewer if hardly any succeeds; with `durable` also durability calls
    /// and pauses.
    pub(super) fn compose(&mut self, author: &mut Author, fs: &MemFs, count: u64, durable: bool) {
        let mut written = 0;
        for _ in 0..count * DRAWN {
            if written == count {
                break;
            }
            let Some(op) = author.draw() else { continue };
            if !self.add(op) {
                continue;
            }
            written += 1;
            author.look(fs);
            if durable && author.is_durable_now() {
                let last = self.calls.last_mut().and_then(|op| op.paths_mut().pop().cloned());
                let op = author.make_durable(last);
                if !self.add(op) {
                    self.add(Op::Sync);
                }
            }
            let pause = if durable { author.pause() } else { None };
            self.calls.extend(pause);
        }
    }

    /// Adds a call, if it does something.
    pub(super) fn add(&mut self, mut op: Op) -> bool {
        if let Op::Write { seed, .. } | Op::SetXattr { seed, .. } = &mut op {
            self.seeds += 1;
            *seed = self.seeds;
        }
        let done = matches!(ready(self.player.apply(&op)), Outcome::Done | Outcome::Attr(_) | Outcome::Time(_));
        if done {
            self.calls.push(op);
        }
        done
    }

    /// Makes the last change durable, or everything.
    fn make_durable(&mut self) {
        let path = self.calls.last_mut().and_then(|op| op.paths_mut().pop().cloned());
        let (one, data_only) = (self.rng.chance(75, 100), self.rng.chance(30, 100));
        let one = path.filter(|_| one).map(|path| Op::Fsync { path, data_only });
        if !one.is_some_and(|op| self.add(op)) {
            self.add(Op::Sync);
        }
    }
}

/// Whether the disk could differ afterwards.
pub(super) fn changes(op: &Op) -> bool {
    !matches!(
        op,
        Op::Read { .. }
            | Op::Seek { .. }
            | Op::Readdir { .. }
            | Op::Readlink { .. }
            | Op::Stat { .. }
            | Op::GetXattr { .. }
            | Op::ListXattr { .. }
    )
}
