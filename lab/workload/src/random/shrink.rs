//! Shrinks a long list of operations that fails to a short one.

use super::Op;
use std::collections::BTreeSet;

/// Most lists that are tried: enough for a thousand operations, and a limit if `fails` is slow.
const TRIES: usize = 20_000;

/// A list made from `ops` for which `fails` is still true and from which no single operation can be left out, unless
/// the tries run out before. `fails` must play its list from the beginning on fresh file systems.
///
/// Ever smaller pieces are left out (the delta debugging of Zeller and Hildebrandt, 2002). Then one path replaces
/// another, which makes the operations that created the other needless, and pieces are left out again.
pub fn shrink(ops: &[Op], fails: impl FnMut(&[Op]) -> bool) -> Vec<Op> {
    let mut shrinker = Shrinker { kept: ops.to_vec(), fails, tries: 0 };
    shrinker.leave_out();
    while shrinker.merge_paths() {
        shrinker.leave_out();
    }
    shrinker.kept
}

struct Shrinker<F> {
    kept: Vec<Op>,
    fails: F,
    tries: usize,
}

impl<F: FnMut(&[Op]) -> bool> Shrinker<F> {
    /// Keeps `ops` if it fails.
    fn try_list(&mut self, ops: Vec<Op>) -> bool {
        self.tries += 1;
        let fails = self.tries <= TRIES && (self.fails)(&ops);
        if fails {
            self.kept = ops;
        }
        fails
    }

    fn leave_out(&mut self) {
        let mut piece = self.kept.len().div_ceil(2);
        while piece > 0 {
            let mut from = 0;
            let mut shorter = false;
            while from < self.kept.len() {
                let mut without = self.kept[..from].to_vec();
                without.extend_from_slice(&self.kept[self.kept.len().min(from + piece)..]);
                if self.try_list(without) {
                    shorter = true;
                } else {
                    from += piece;
                }
            }
            // A removed operation may have been what another was needed for, so single ones are tried once more.
            piece = if piece == 1 && shorter { 1 } else { piece / 2 };
        }
    }

    /// Replaces one path by another or by the root, or leaves out a path's directories. `true` if that worked once.
    fn merge_paths(&mut self) -> bool {
        let mut list = self.kept.clone();
        let paths: BTreeSet<String> = list.iter_mut().flat_map(Op::paths_mut).map(|path| path.clone()).collect();
        for old in &paths {
            let last = old.rsplit('/').next().unwrap_or_default();
            let simpler = paths.iter().map(String::as_str).filter(|path| is_simpler(path, old));
            for new in simpler.chain([last, "/"].into_iter().filter(|path| is_simpler(path, old))) {
                let mut ops = self.kept.clone();
                ops.iter_mut()
                    .flat_map(Op::paths_mut)
                    .filter(|path| *path == old)
                    .for_each(|path| *path = new.to_owned());
                if self.try_list(ops) {
                    return true;
                }
            }
        }
        false
    }
}

/// An order of paths, so that merging terminates: shallower, then shorter, then first in the alphabet.
fn is_simpler(path: &str, than: &str) -> bool {
    let weight = |path: &str| (path.trim_matches('/').matches('/').count(), path.trim_matches('/').len());
    !path.is_empty() && (weight(path), path) < (weight(than), than)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(path: &str) -> Op {
        Op::Stat { path: path.to_owned() }
    }

    #[test]
    fn a_list_shrinks_to_what_the_failure_needs_in_its_order() {
        let ops: Vec<Op> = (0..500).map(|no| stat(&no.to_string())).collect();
        let mut tries = 0;
        let kept = shrink(&ops, |ops| {
            tries += 1;
            [3, 77, 78].iter().all(|no| ops.contains(&stat(&no.to_string())))
        });
        assert_eq!(kept, [stat("3"), stat("77"), stat("78")]);
        assert!(tries < 200, "{tries} tries");
    }

    #[test]
    fn a_deep_path_that_does_not_matter_becomes_a_plain_one() {
        let ops = [stat("d/e/f"), stat("d/e/f"), stat("g")];
        assert_eq!(
            shrink(&ops, |ops| ops.len() >= 2 && ops[0] == ops[1] && ops[0] != stat("/")),
            [stat("f"), stat("f")]
        );
    }

    #[test]
    fn a_list_that_always_fails_shrinks_to_nothing() {
        assert!(shrink(&[Op::Sync, Op::Sync, Op::Sync], |_| true).is_empty());
    }
}
