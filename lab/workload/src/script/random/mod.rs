//! Random scripts from a seed, for combinations of calls that no author thought of.
//!
//! Each call is tried on the model first, and only calls that succeed there are kept: a script has no refused and no
//! skipped calls (script-3). Now and then something is made durable, since promises begin there. A script has a
//! [`Profile`], the kind of changes that it concentrates on, and a [`Ground`], the volume that it is made for; those of
//! [`Profile::Any`] are made for any volume, from calls of the [`Generator`] that change something.
//!
//! A1. A profile, a seed and a ground name one script. If no ground is given, the seed decides it.

mod author;
mod ground;
mod profile;
mod vary;
mod writer;

pub use ground::Ground;
pub use profile::{PROFILES, Profile};
pub use vary::vary;

use super::calls::Script;
use crate::random::{Features, Generator, Op, Player, Shape};
use author::Author;
use ordo_model::MemFs;
use ordo_rt::Rng;
use ordo_vfs::Caller;
use writer::{Writer, changes};

/// Calls of the set-up.
const SETUP: u64 = 6;

/// Fewest and most calls after the set-up, without those that make something durable.
const CALLS: (u64, u64) = (8, 12);

/// Percentage of calls after which something is made durable.
const DURABLE: u64 = 30;

/// The script of a seed. `attributes` says whether the volume can have extended attributes; UFS1 has none.
pub fn script(seed: u64, attributes: bool) -> Script {
    let fs = MemFs::timeless();
    // With the same privileges as the player of scripts.
    let player = Player::new(&fs, Caller { privileged: true, ..Caller::default() });
    let mut writer = Writer { player, rng: Rng::new(seed ^ 0x7363_7269_7074), calls: Vec::new(), seeds: 0 };
    let mut generator = Generator::new(seed, shape(), features(attributes));
    writer.write(&mut generator, SETUP, 0);
    let setup = std::mem::take(&mut writer.calls);
    let calls = writer.rng.within(CALLS.0, CALLS.1);
    writer.write(&mut generator, calls, DURABLE);
    Script {
        name: format!("random-{seed}"),
        says: "Random calls, each of which does something.".to_owned(),
        setup,
        calls: writer.calls,
        ..Script::default()
    }
}

/// The script of a profile and a seed for a volume.
pub fn on(ground: Ground, profile: Profile, seed: u64) -> Script {
    if profile == Profile::Any {
        return script(seed, !ground.ufs1);
    }
    let fs = MemFs::timeless();
    let player = Player::new(&fs, Caller { privileged: true, ..Caller::default() });
    let mut writer = Writer { player, rng: Rng::new(seed ^ 0x7772_6974_6572), calls: Vec::new(), seeds: 0 };
    let mut author = Author::new(profile, seed, ground);
    let (setup, calls) = author.lengths();
    for op in author.fill() {
        writer.add(op);
    }
    writer.compose(&mut author, &fs, setup, false);
    let setup = std::mem::take(&mut writer.calls);
    writer.compose(&mut author, &fs, calls, true);
    Script { name: format!("random-{}-{seed}", profile.name()), setup, calls: writer.calls, ..Script::default() }
}

/// Profile and seed of the script with this name: `random-sizes-17`; `random-17` has any calls.
pub fn named(name: &str) -> Option<(Profile, u64)> {
    let rest = name.strip_prefix("random-")?;
    let (profile, seed) = match rest.split_once('-') {
        Some((profile, seed)) => (Profile::by_name(profile).filter(|profile| *profile != Profile::Any)?, seed),
        None => (Profile::Any, rest),
    };
    let number = seed.parse().ok()?;
    (seed == u64::to_string(&number)).then_some((profile, number))
}

/// The profile of script number `at` if all profiles take turns.
pub fn by_turns(at: u64) -> Profile {
    PROFILES[(at % PROFILES.len() as u64) as usize].0
}

/// `count` calls for a volume with unknown contents: some will be refused. `written` counts the writes of earlier
/// calls, so that no two contents are alike (script-2).
pub fn calls(seed: u64, count: usize, attributes: bool, written: &mut u64) -> Script {
    let mut rng = Rng::new(seed ^ 0x0063_616c_6c73);
    let mut generator = Generator::new(seed, shape(), features(attributes));
    let mut calls = Vec::with_capacity(count);
    for mut op in generator.by_ref().filter(changes).take(count) {
        if let Op::Write { seed, .. } | Op::SetXattr { seed, .. } = &mut op {
            *written += 1;
            *seed = *written;
        }
        let path = op.paths_mut().pop().cloned();
        calls.push(op);
        if rng.chance(DURABLE, 100) {
            let one = path.filter(|_| rng.chance(75, 100));
            let data_only = rng.chance(30, 100);
            calls.push(one.map_or(Op::Sync, |path| Op::Fsync { path, data_only }));
        }
    }
    Script { name: format!("calls-{seed}"), calls, ..Script::default() }
}

/// The seeds of `n` scripts, from one seed for all. Lists of different seeds have little in common.
pub fn seeds(seed: u64, n: u64) -> Vec<u64> {
    let mut rng = Rng::new(seed);
    (0..n).map(|_| rng.below(1 << 32)).collect()
}

/// Few names, so that calls interact; sizes that fit on a small volume.
fn shape() -> Shape {
    Shape {
        dirs: ["d", "e"].map(str::to_owned).to_vec(),
        files: ["a", "b", "c"].map(str::to_owned).to_vec(),
        depth: 2,
        max_offset: 3 << 20,
        max_transfer: 1 << 15,
        ..Shape::default()
    }
}

/// Access control lists need a mount option, flags would block later calls, and volumes have only part of `trusted.`. A
/// volume without attributes is of UFS1, which has no room for large device numbers either.
fn features(attributes: bool) -> Features {
    Features { acls: false, flags: 0, devices: attributes, xattrs: attributes, trusted: false, ..Features::all() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Outcome;
    use ordo_model::ready;
    use std::collections::BTreeSet;

    /// script-2, script-3.
    #[test]
    fn every_call_does_something_and_no_two_writes_are_alike() {
        for seed in 0..700 {
            let ground = Ground::of(seed, 512);
            let script = on(ground, by_turns(seed), seed);
            let fs = MemFs::timeless();
            let mut player = Player::new(&fs, Caller { privileged: true, ..Caller::default() });
            let mut seeds = BTreeSet::new();
            for (op, _) in script.steps() {
                let outcome = ready(player.apply(op));
                assert!(matches!(outcome, Outcome::Done | Outcome::Attr(_) | Outcome::Time(_)), "{op}: {outcome:?}");
                assert!(changes(op), "{op}");
                assert!(!ground.ufs1 || !op.to_string().contains("xattr"), "{op}");
                if let Op::Write { seed, .. } | Op::SetXattr { seed, .. } = op {
                    assert!(seeds.insert(*seed), "{op}");
                }
            }
            assert!((3..=250).contains(&script.calls.len()), "{}: {}", script.name, script.calls.len());
            assert_eq!(Script::parse(&script.name, &script.to_string()).as_ref(), Ok(&script));
        }
    }

    #[test]
    fn a_seed_names_its_script_and_gives_it_again() {
        for (at, (profile, ..)) in (0..).zip(PROFILES) {
            let (ground, other) = (Ground::of(at, 512), Ground::of(at, 512));
            let one = on(ground, profile, 17);
            assert_eq!((named(&one.name), &one), (Some((profile, 17)), &on(other, profile, 17)));
            assert_ne!(one.calls, on(ground, profile, 18).calls);
        }
        for name in ["random-017", "random-any-17", "random-sizes", "random-", "sizes-1"] {
            assert_eq!(named(name), None, "{name}");
        }
        let (a, b) = (seeds(1, 50), seeds(2, 50));
        assert_eq!(a[..20], seeds(1, 20));
        assert!(a.iter().all(|seed| !b.contains(seed)));
    }

    #[test]
    fn most_scripts_make_something_durable() {
        let durable = |script: &Script| script.calls.iter().any(|op| matches!(op, Op::Fsync { .. } | Op::Sync));
        assert!((0..100).filter(|seed| durable(&script(*seed, true))).count() > 80);
    }
}
