//! The questions find what is known: that `async` needs more than fsck, that `sync` does not, and which rule makes the
//! difference.

use super::*;
use crate::{DEFAULT_DEVICE, Device, Id, replay};

fn subject(scheme: &str, sets: &[(&str, &str)], without: &[&str]) -> Subject {
    let device = Device::by_name(DEFAULT_DEVICE).expect("the disk is there");
    let mut subject = Subject::new(scheme, device);
    for (key, value) in sets {
        subject.settings.set(key, value).expect("it is a setting of a scheme").expect("it can be set so");
    }
    subject.settings.without = without.iter().map(|rule| (*rule).to_owned()).collect();
    subject
}

/// Yes or no; for a no, the witness must replay to the same result.
fn yes(subject: &Subject, question: Question) -> bool {
    let answer = ask(subject, question, &mut Memory::default()).expect("it can be asked");
    assert!(answer.states > 100 || !answer.holds(), "{} states are no answer", answer.states);
    assert_eq!(answer.holds(), answer.witness.is_none());
    if let Some(witness) = &answer.witness {
        let id: Id = witness.id.parse().expect("an id can be read");
        let again = replay(&id).expect("it can be made again").expect("it is as bad as it was");
        assert_eq!((again.oracle, &again.is), (witness.oracle, &witness.is), "{}", witness.id);
        assert!(witness.id.contains(&format!("+ask={}", question.name())) && !witness.promised);
    }
    answer.holds()
}

#[test]
fn async_keeps_nothing_and_sync_keeps_all_but_what_it_leaves_to_fsck() {
    let of = |scheme| {
        let found = Question::ALL.map(|question| yes(&subject(scheme, &[], &[]), question));
        // One memory for several questions does not change an answer.
        let together = ask_all(&subject(scheme, &[], &[])).expect("they can be asked");
        assert!(together.iter().map(Answer::holds).eq(found));
        found
    };
    // On return, atomic, named, contents first, as it is, recovers, stays.
    assert_eq!(of("async"), [false; 7]);
    assert_eq!(of("sync"), [true, false, true, true, false, true, true]);
}

#[test]
fn a_rule_that_is_switched_off_is_found() {
    let outgrown = ["moved-contents", "moved-fragment"];
    assert!(!yes(&subject("sync", &[("allocinit", "dirs")], &outgrown), Question::Stays));
    let (with, without) = (subject("softupdates", &[], &[]), subject("softupdates", &[("allocinit", "dirs")], &[]));
    assert!(yes(&with, Question::DataFirst) && !yes(&without, Question::DataFirst));
}

#[test]
fn a_journal_is_atomic_and_must_be_replayed_and_its_mode_decides_what_returns() {
    let journal = |mode| subject("wafs", &[("logmode", mode), ("data", "writeback")], &[]);
    for (mode, on_return) in [("sync", true), ("async", false)] {
        let asked = [Question::OnReturn, Question::Atomic, Question::AsItIs, Question::DataFirst];
        assert_eq!(asked.map(|question| yes(&journal(mode), question)), [on_return, true, false, false], "{mode}");
    }
}

#[test]
fn soft_updates_free_blocks_later_and_sync_with_the_call() {
    let of = |scheme| freed(&subject(scheme, &[], &[])).expect("the file goes");
    assert!(of("softupdates").in_background() && !of("sync").in_background());
    assert!(of("sync").at_return >= 200_000 && of("softupdates").later >= 200_000);
}
