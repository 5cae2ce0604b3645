//! The sequences of ACE: how many there are, that they play on the model, and that numbers and names stay valid.

use super::*;
use crate::random::{Outcome, Player};
use ordo_model::{MemFs, ready};
use ordo_vfs::Caller;
use std::collections::BTreeSet;

/// Plays a script on the model; script-3.
fn assert_plays(script: &Script) {
    let fs = MemFs::timeless();
    let mut player = Player::new(&fs, Caller::default());
    for (op, refused) in script.steps() {
        let outcome = ready(player.apply(op));
        let bad = match outcome {
            Outcome::Skipped | Outcome::Failed(_) => true,
            Outcome::Refused(_) => !refused,
            _ => refused,
        };
        assert!(!bad, "{}: {outcome:?} of {op} in\n{script}", script.name);
    }
}

fn calls(script: &Script) -> String {
    script.calls.iter().map(|op| format!("{op}\n")).collect()
}

fn has(bounds: &Bounds, setup: &str, wanted: &str) -> bool {
    let wanted = Script::parse("", &format!("{setup}\n---\n{wanted}")).unwrap();
    sequences(bounds).any(|script| script.setup == wanted.setup && script.calls == wanted.calls)
}

/// ace-1.
#[test]
fn there_are_as_many_as_aces_generator_makes() {
    assert_eq!(Space::new(&Bounds::length(1)).filled(), 76);
    assert_eq!(Space::new(&Bounds::length(1).nested()).filled(), 128);
    assert_eq!(count(&Bounds::length(1)), 328);
    assert_eq!(count(&Bounds::length(2)), 241_720);
    assert_eq!(count(&Bounds::length(2).nested()), 909_362);
}

#[test]
fn there_are_as_many_as_are_counted() {
    let heads: BTreeSet<String> = sequences(&Bounds::length(1)).map(|script| script.says).collect();
    assert_eq!(heads.len(), 328);
    let bounds = Bounds::length(2).ops(&[Core::Creat, Core::Rename, Core::Truncate]);
    let heads: BTreeSet<String> = sequences(&bounds).map(|script| script.says).collect();
    assert_eq!(heads.len() as u64, count(&bounds));
    let bounds = Bounds::length(3).ops(&[Core::Creat, Core::Mkdir]);
    assert_eq!(sequences(&bounds).count() as u64, count(&bounds));
    assert_eq!((nth(&bounds, count(&bounds)), count(&bounds.ops(&[]))), (None, 0));
}

#[test]
fn every_sequence_of_one_and_many_of_more_play_on_the_model() {
    sequences(&Bounds::length(1)).for_each(|script| assert_plays(&script));
    sequences(&Bounds::length(1).nested()).for_each(|script| assert_plays(&script));
    let space = Space::new(&Bounds::length(2));
    (0..space.count()).step_by(97).for_each(|index| assert_plays(&space.nth(index).unwrap()));
    for bounds in [Bounds::length(2).nested(), Bounds::length(3), Bounds::length(3).nested(), Bounds::length(5)] {
        sample(&bounds, 1, 500).for_each(|script| assert_plays(&script));
    }
}

#[test]
fn scripts_read_back_from_their_texts_and_are_found_by_their_names() {
    for script in sample(&Bounds::length(2), 3, 100).chain(sample(&Bounds::length(1).nested(), 3, 100)) {
        assert_eq!(Script::parse(&script.name, &script.to_string()), Ok(script.clone()));
        assert_eq!(find(&script.name), Some(script));
    }
    for name in ["seq2-241720", "seq2", "seq-1", "seqx-1", "seq02-1", "create"] {
        assert_eq!(find(name), None, "{name}");
    }
}

/// ace-3, and that a sample is one.
#[test]
fn a_sample_is_the_same_for_a_seed_and_has_nothing_twice() {
    let names = |seed| sample(&Bounds::length(3), seed, 1000).map(|script| script.name).collect::<Vec<_>>();
    assert_eq!(names(7), names(7));
    assert_ne!(names(7), names(8));
    assert_eq!(names(7).into_iter().collect::<BTreeSet<_>>().len(), 1000);
    assert_eq!(sample(&Bounds::length(1), 7, 1000).count(), 328);
}

/// Recorded failures are identified by number, so numbers must not change.
#[test]
fn some_numbers_have_known_sequences() {
    let text = |name| find(name).map(|script| script.to_string()).unwrap_or_default();
    assert_eq!(text("seq1-0"), "# creat foo, fsync /\n\ncreate foo 644\nfsync / all\n");
    assert_eq!(
        text("seq1-327"),
        "# truncate A/foo 2500, sync\n\nmkdir A 755\ncreate A/foo 644\nwrite A/foo 0 32768 1\n---\n\
         truncate A/foo 2500\nsync\n"
    );
    assert_eq!(
        text("seq2-0"),
        "# creat foo, fsync /, creat foo, fsync /\n\n\
         create foo 644\nfsync / all\nunlink foo\ncreate foo 644\nfsync / all\n"
    );
}

/// ACE's authors list which bugs are within its bounds.
#[test]
fn bugs_that_are_known_to_be_within_the_bounds_are() {
    let one = Bounds::length(1);
    assert!(has(&one, "mkdir A\ncreate A/foo", "rename A/foo A/bar\nfsync A/bar"), "k13");
    let two = |ops: &[Core]| Bounds::length(2).ops(ops);
    assert!(
        has(&two(&[Core::Link, Core::Unlink]), "create foo", "link foo bar\nsync\nunlink bar\ncreate bar\nfsync bar"),
        "k24"
    );
    assert!(
        has(
            &two(&[Core::Rename, Core::Creat]),
            "mkdir A\ncreate A/foo",
            "rename A/foo A/bar\ncreate A/foo\nfsync A/bar"
        ),
        "k21"
    );
    assert!(
        has(
            &two(&[Core::SetXattr, Core::RemoveXattr]),
            "create foo",
            "setxattr foo user.x 32\nsync\nremovexattr foo user.x\nfsync foo"
        ),
        "k06"
    );
}

#[test]
fn what_calls_need_is_durable_unless_calls_changed_the_name() {
    let bounds = Bounds::length(2).ops(&[Core::Rename, Core::Write]);
    let script = sequences(&bounds).find(|script| script.says == "rename A B, sync, write A/foo first 5000, sync");
    let script = script.unwrap();
    assert_eq!(script.setup, ["mkdir A".parse().unwrap()]);
    assert_eq!(
        calls(&script),
        "rename A B replace\nsync\nmkdir A 755\ncreate A/foo 644\nwrite A/foo 0 32768 1\nwrite A/foo 0 5000 2\nsync\n"
    );
}
