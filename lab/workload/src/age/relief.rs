//! What the users do when the volume refuses them for lack of space.
//!
//! F1. A file that was refused is given up: it is removed, and nothing more is done to it.
//! F2. Then files that are older than the day go, before their time: four times as much as was refused. Those of news
//!     go first, the oldest first; otherwise those of any directory.
//! F3. A directory for which there is no room even so is done without. It is tried again, once, before each operation
//!     that needs it; a file in it is given up if that fails.

use super::aging::Aging;
use super::op::Op;
use super::profile::Kind;

/// How much more than what was refused is removed.
const MORE: u64 = 4;
/// Directories that are looked at for older files.
const TRIES: usize = 200;

impl Aging {
    /// A file that was refused is not there (F1).
    pub(super) fn give_up(&mut self, dir: u32, file: u32) {
        self.tree.remove(dir, file);
    }

    /// What goes because `bytes` were refused (F2).
    pub(super) fn relieve(&mut self, bytes: u64) -> Vec<Op> {
        let wanted = self.tree.space.of(bytes).max(self.tree.space.block).saturating_mul(MORE);
        let (mut ops, mut freed) = (Vec::new(), 0);
        let spool = self.profile.uses.iter().position(|of| of.kind == Kind::Spool);
        while let Some(of) = spool.filter(|_| freed < wanted) {
            // Articles that came today are behind all others.
            let old = |queue: &&mut std::collections::VecDeque<(u32, u32)>| {
                queue.front().is_some_and(|(dir, file)| self.tree.born(*dir, *file).is_none_or(|born| born < self.day))
            };
            let oldest = self.uses[of].queues.iter_mut().filter(old).min_by_key(|queue| queue.front().map(|at| at.1));
            let Some((dir, file)) = oldest.and_then(std::collections::VecDeque::pop_front) else { break };
            freed += self.take(dir, file, &mut ops);
        }
        for _ in 0..TRIES {
            if freed >= wanted {
                break;
            }
            let dir = self.rng.below(self.tree.dirs.len() as u64) as u32;
            let files = self.tree.dir(dir).files.iter().filter(|file| file.born < self.day);
            let files: Vec<u32> = files.map(|file| file.no).collect();
            for file in files {
                if freed < wanted {
                    freed += self.take(dir, file, &mut ops);
                }
            }
        }
        ops
    }

    fn take(&mut self, dir: u32, file: u32, ops: &mut Vec<Op>) -> u64 {
        self.tree.remove(dir, file).map_or(0, |gone| {
            ops.push(Op::Remove { dir, file });
            self.tree.space.of(gone.bytes)
        })
    }
}
