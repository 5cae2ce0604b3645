//! A variation of a script: for a search that continues from scripts that reached something.

use super::author::{LISTS, longest_attribute};
use super::ground::Ground;
use super::writer::Writer;
use crate::random::{Op, Player};
use crate::script::Script;
use ordo_model::MemFs;
use ordo_rt::Rng;
use ordo_vfs::Caller;

/// Most changes.
const CHANGES: u64 = 3;
/// Most calls of a varied script.
const CALLS: usize = 90;

/// `script` with calls left out, doubled, swapped, changed in size or name, or taken from `other`. Only calls that
/// succeed are kept (script-3), and each write has a seed of its own (script-2). The set-up stays, except what
/// this volume cannot have.
pub fn vary(script: &Script, other: &Script, ground: Ground, seed: u64) -> Script {
    let mut rng = Rng::new(seed ^ 0x7661_7279);
    let mut calls = script.calls.clone();
    for _ in 0..rng.within(1, CHANGES) {
        change(&mut calls, &other.calls, ground, &mut rng);
    }
    calls.truncate(CALLS);
    calls.retain_mut(|op| fits(op, ground));
    let fs = MemFs::timeless();
    let player = Player::new(&fs, Caller { privileged: true, ..Caller::default() });
    let mut writer = Writer { player, rng: Rng::new(seed), calls: Vec::new(), seeds: 0 };
    for mut op in script.setup.iter().cloned() {
        if fits(&mut op, ground) {
            writer.add(op);
        }
    }
    let setup = std::mem::take(&mut writer.calls);
    for op in calls {
        writer.add(op);
    }
    Script { name: format!("varied-{seed}"), setup, calls: writer.calls, ..Script::default() }
}

/// The largest device number of UFS1: 16 bits, of which the kernel's form has more.
const OLD_DEVICE: u64 = 0xffff;

/// Whether a call, perhaps of a script for another volume, can succeed on this one: UFS1 has no attributes and no large
/// device
/// numbers. A value that is longer than the volume takes is cut.
fn fits(op: &mut Op, ground: Ground) -> bool {
    if let Op::SetXattr { len, .. } = op {
        *len = u32::try_from(longest_attribute(ground) - LISTS).map_or(*len, |most| most.min(*len));
    }
    match op {
        Op::SetXattr { .. } | Op::RemoveXattr { .. } | Op::SetAcl { .. } => !ground.ufs1,
        Op::Mknod { rdev, .. } => !ground.ufs1 || *rdev <= OLD_DEVICE,
        _ => true,
    }
}

fn change(calls: &mut Vec<Op>, other: &[Op], ground: Ground, rng: &mut Rng) {
    let at = |rng: &mut Rng, len: usize| rng.below(len as u64) as usize;
    if calls.is_empty() {
        calls.extend_from_slice(other);
        return;
    }
    let here = at(rng, calls.len());
    match rng.below(10) {
        0 => {
            calls.remove(here);
        }
        1 => {
            let again = calls[at(rng, calls.len())].clone();
            calls.insert(here, again);
        }
        2 => {
            let there = at(rng, calls.len());
            calls.swap(here, there);
        }
        3 | 4 if !other.is_empty() => calls.insert(here, other[at(rng, other.len())].clone()),
        5 if !other.is_empty() => {
            calls.truncate(here);
            calls.extend_from_slice(&other[at(rng, other.len())..]);
        }
        6 => {
            let mut path = calls[here].clone().paths_mut().pop().cloned();
            let path = path.take().filter(|_| rng.chance(70, 100)).unwrap_or_else(|| "/".to_owned());
            calls.insert(here + 1, Op::Fsync { path, data_only: rng.chance(30, 100) });
        }
        7 => {
            let mut from = calls[at(rng, calls.len())].clone();
            if let (Some(name), Some(path)) = (from.paths_mut().pop(), calls[here].paths_mut().pop()) {
                path.clone_from(name);
            }
        }
        _ => other_size(&mut calls[here], ground, rng),
    }
}

/// Changes an offset, a size or a length by a byte, or to another fragment.
fn other_size(op: &mut Op, ground: Ground, rng: &mut Rng) {
    let mut moved = |size: u64| match rng.below(4) {
        0 => size + 1,
        1 => size.saturating_sub(1),
        2 => size / ground.frag * ground.frag,
        _ => size / ground.block * ground.block + ground.frag * rng.below(ground.block / ground.frag + 1),
    };
    match op {
        Op::Write { offset, .. } => *offset = moved(*offset),
        Op::Truncate { size, .. } => *size = moved(*size),
        Op::Fallocate { offset, len, .. } => (*offset, *len) = (moved(*offset), moved(*len).max(1)),
        Op::SetXattr { len, .. } => *len = len.saturating_sub(1),
        Op::Pause { millis } => *millis += 1000,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Outcome;
    use crate::script::random::{by_turns, on};
    use ordo_model::ready;
    use std::collections::BTreeSet;

    /// script-2, script-3.
    #[test]
    fn what_is_varied_is_a_script_still_and_mostly_another_one() {
        let mut others = 0;
        for seed in 0..300 {
            let ground = Ground::of(seed, 512);
            let elsewhere = Ground::of(seed + 1, 512);
            let (one, two) = (on(ground, by_turns(seed), seed), on(elsewhere, by_turns(seed + 1), seed + 1));
            let varied = vary(&one, &two, ground, seed);
            assert_eq!(varied, vary(&one, &two, ground, seed));
            others += u64::from(varied.calls != one.calls);
            let fs = MemFs::timeless();
            let mut player = Player::new(&fs, Caller { privileged: true, ..Caller::default() });
            let mut seeds = BTreeSet::new();
            for (op, _) in varied.steps() {
                let attribute = matches!(op, Op::SetXattr { .. } | Op::RemoveXattr { .. });
                let large = matches!(op, Op::Mknod { rdev, .. } if *rdev > OLD_DEVICE);
                assert!(!(ground.ufs1 && (attribute || large)), "{op}, on UFS1");
                let outcome = ready(player.apply(op));
                assert!(matches!(outcome, Outcome::Done | Outcome::Attr(_) | Outcome::Time(_)), "{op}: {outcome:?}");
                if let Op::Write { seed, .. } | Op::SetXattr { seed, .. } = op {
                    assert!(seeds.insert(*seed), "{op}");
                }
            }
        }
        assert!(others > 200, "{others} of 300");
    }
}
