//! All short sequences of calls that create, move, exchange and remove directories, with durability calls among them.
//!
//! ACE's bounds have no exchange and hardly any directory in a directory, where there are the most dependencies: a
//! directory has a name, a `..`, and links that count both. Bugs in soft updates that neither ACE's sequences nor the
//! handwritten scripts showed were found here.
//!
//! M1. Five directories, `d`, `e` and `g`, `d/f` and `e/f`. The first two exist; the others exist or not, in all eight
//!     combinations.
//! M2. Every call does something (script-3): sequences with a call that is refused or changes nothing are left out.
//! M3. A number means the same sequence for as long as the calls below are the same.
//!
//! ```
//! use ordo_workload::script::moves::Space;
//!
//! let space = Space::new(1);
//! assert_eq!(space.count(), 158);
//! ```

use super::calls::{Script, numbers};
use crate::random::{Op, Outcome, Player};
use ordo_model::{MemFs, ready};
use ordo_vfs::{Caller, RenameMode};

/// The directories; the first two are always there.
const DIRS: [&str; 5] = ["d", "e", "g", "d/f", "e/f"];

/// How many of them always exist.
const ALWAYS: usize = 2;

/// Combinations of the others.
const SETUPS: u8 = 1 << (DIRS.len() - ALWAYS);

/// Most calls of a sequence. There are a million sequences of four, and each would have to be tried on the model.
const LONGEST: usize = 3;

/// All sequences of a length.
pub struct Space {
    calls: Vec<Op>,
    /// Each entry is the set-up, then the calls.
    sequences: Vec<[u8; LONGEST + 1]>,
    length: usize,
}

impl Space {
    /// The sequences of `length` calls, at least one and at most three.
    pub fn new(length: usize) -> Space {
        let mut space = Space { calls: calls(), sequences: Vec::new(), length: length.clamp(1, LONGEST) };
        for setup in 0..SETUPS {
            let mut sequence = [0; LONGEST + 1];
            sequence[0] = setup;
            space.extend(&mut sequence, 0);
        }
        space
    }

    /// Their number.
    pub fn count(&self) -> u64 {
        self.sequences.len() as u64
    }

    /// The sequence with this number, from 0.
    pub fn nth(&self, index: u64) -> Option<Script> {
        let sequence = self.sequences.get(usize::try_from(index).ok()?)?;
        let (setup, calls) = self.ops(sequence, self.length);
        Some(Script {
            name: format!("moves{}-{index}", self.length),
            says: calls.iter().map(Op::to_string).collect::<Vec<_>>().join(", "),
            setup,
            calls,
            ..Script::default()
        })
    }

    /// `n` different ones, or all if there are fewer, chosen by `seed`.
    pub fn sample(&self, seed: u64, n: u64) -> impl Iterator<Item = Script> {
        numbers(self.count(), seed, n).into_iter().map_while(|index| self.nth(index))
    }

    /// All sequences that begin with the first `done` calls of this one.
    fn extend(&mut self, sequence: &mut [u8; LONGEST + 1], done: usize) {
        if done == self.length {
            self.sequences.push(*sequence);
            return;
        }
        for call in 0..self.calls.len() {
            // OK to unwrap: there are fewer than 256 calls.
            sequence[done + 1] = u8::try_from(call).unwrap();
            if self.plays(sequence, done + 1) {
                self.extend(sequence, done + 1);
            }
        }
        sequence[done + 1] = 0;
    }

    /// Whether the last of the first `length` calls does something (M2); those before it do.
    fn plays(&self, sequence: &[u8; LONGEST + 1], length: usize) -> bool {
        let (setup, calls) = self.ops(sequence, length);
        let fs = MemFs::timeless();
        let mut player = Player::new(&fs, Caller { privileged: true, ..Caller::default() });
        let outcomes = setup.iter().chain(&calls).map(|op| ready(player.apply(op)));
        matches!(outcomes.last(), Some(Outcome::Done))
    }

    fn ops(&self, sequence: &[u8; LONGEST + 1], length: usize) -> (Vec<Op>, Vec<Op>) {
        let there = |at: &usize| *at < ALWAYS || sequence[0] >> (at - ALWAYS) & 1 == 1;
        let setup = (0..DIRS.len()).filter(there).map(|at| mkdir(DIRS[at])).collect();
        let calls = sequence[1..=length].iter().map(|&call| self.calls[usize::from(call)].clone()).collect();
        (setup, calls)
    }
}

fn mkdir(path: &str) -> Op {
    Op::Mkdir { path: path.to_owned(), mode: 0o755 }
}

/// All calls, in the order that M3 relies on.
fn calls() -> Vec<Op> {
    let pairs = || DIRS.iter().flat_map(|path| DIRS.iter().map(move |to| (*path, *to)));
    let rename = |(path, to): (&str, &str), mode| Op::Rename { path: path.to_owned(), to: to.to_owned(), mode };
    let moves = pairs().filter(|(path, to)| path != to).map(|pair| rename(pair, RenameMode::Replace));
    let exchanges = pairs().filter(|(path, to)| path < to).map(|pair| rename(pair, RenameMode::Exchange));
    let makes = DIRS.iter().map(|path| mkdir(path));
    let removes = DIRS.iter().map(|path| Op::Rmdir { path: (*path).to_owned() });
    let syncs = DIRS.iter().map(|path| Op::Fsync { path: (*path).to_owned(), data_only: false });
    moves.chain(exchanges).chain(makes).chain(removes).chain(syncs).chain([Op::Sync]).collect()
}

/// The sequence with this name: `moves2-17`.
pub fn find(name: &str) -> Option<Script> {
    let (length, index) = name.strip_prefix("moves")?.split_once('-')?;
    let length = length.parse().ok().filter(|length| (1..=LONGEST).contains(length))?;
    let script = Space::new(length).nth(index.parse().ok()?)?;
    (script.name == name).then_some(script)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_sequence_is_there_once_and_reads_back_from_its_text() {
        let space = Space::new(2);
        let all: Vec<Script> = (0..space.count()).map_while(|index| space.nth(index)).collect();
        let texts: BTreeSet<String> =
            all.iter().map(|script| Script { says: String::new(), ..script.clone() }.to_string()).collect();
        assert_eq!((texts.len(), all.len() as u64), (all.len(), space.count()));
        for script in all.iter().step_by(53) {
            assert_eq!(Script::parse(&script.name, &script.to_string()), Ok(script.clone()));
            assert_eq!(find(&script.name).as_ref(), Some(script));
        }
        for name in ["moves2-99999", "moves-1", "moves02-1", "moves0-1", "moves4-1", "moves9999999999-1"] {
            assert_eq!(find(name), None, "{name}");
        }
        assert_eq!(space.nth(u64::MAX), None);
    }

    #[test]
    fn what_was_found_by_chance_is_among_them() {
        let space = Space::new(2);
        let wanted =
            Script::parse("", "mkdir d\n mkdir e\n mkdir g\n mkdir e/f\n---\n rename e/f g exchange\n rmdir e/f")
                .unwrap();
        let mut all = (0..space.count()).map_while(|index| space.nth(index));
        assert!(all.any(|script| script.setup == wanted.setup && script.calls == wanted.calls));
    }

    #[test]
    fn no_call_is_refused_and_none_leaves_all_as_it_was() {
        let space = Space::new(1);
        let has = |setup: &str, calls: &str| {
            let wanted = Script::parse("", &format!("{setup}\n---\n{calls}")).unwrap();
            (0..space.count())
                .map_while(|index| space.nth(index))
                .any(|script| script.setup == wanted.setup && script.calls == wanted.calls)
        };
        assert!(has("mkdir d\n mkdir e", "rename d e"));
        assert!(has("mkdir d\n mkdir e", "rename d e exchange"));
        assert!(has("mkdir d\n mkdir e", "rename d e/f"));
        assert!(!has("mkdir d\n mkdir e", "rename d d/f"), "below itself");
        assert!(!has("mkdir d\n mkdir e\n mkdir e/f", "rename d e"), "not empty");
        assert!(!has("mkdir d\n mkdir e", "fsync g"), "not there");
    }
}
