//! What each rule demands: the answers with it and without it.

use super::{Rule, Rules, Synchronous};
use crate::RuleNames;
use crate::testing::World;
use crate::{AllocInit, NoRule, Settings};
use std::rc::Rc;

/// What a scheme demands at each step, and at the end of a call with that step alone.
fn demands(init: AllocInit, dropped: &[Rule]) -> Vec<(&'static str, (String, String))> {
    let world = World::new(Rc::new(Synchronous::without(init, dropped.iter().copied().collect())));
    let told = world.steps().into_iter().zip(1..);
    told.map(|(told, id)| (told.0, world.demands(id, told))).collect()
}

/// The steps whose answer changes when these rules are dropped: those not awaited any more, and those awaited only at
/// the end of the call.
fn differences(init: AllocInit, dropped: &[Rule]) -> (Vec<&'static str>, Vec<&'static str>) {
    let (mut never, mut late) = (Vec::new(), Vec::new());
    for ((step, whole), (_, broken)) in demands(init, &[]).into_iter().zip(demands(init, dropped)) {
        assert!(whole.1.is_empty(), "{step}: a scheme that keeps its rules has nothing left to wait for");
        if whole == broken {
            continue;
        }
        assert!(!whole.0.is_empty() && broken.0.is_empty(), "{step}: a dropped rule demands less, never more");
        if broken.1.is_empty() {
            never.push(step)
        } else {
            late.push(step)
        }
        assert!(broken.1.is_empty() || broken.1 == format!("[{}]", whole.0), "{step}: the same block, only later");
    }
    (never, late)
}

/// What dropping each rule changes, in the order of [`differences`].
const EFFECTS: &[(Rule, &[&str], &[&str])] = &[
    (Rule::InodeBeforeName, &["links up"], &[]),
    (Rule::NameOnReturn, &["name created"], &[]),
    (Rule::NewNameBeforeOld, &[], &["name linked", "name renamed"]),
    (Rule::NameGoneBeforeLink, &[], &["name removed", "old name removed"]),
    (Rule::LinkBeforeFree, &["links down", "blocks released"], &[]),
    (Rule::DirectorySize, &["directory size", "directory pointed to"], &[]),
    (Rule::InodesInitialised, &["inodes ready", "inodes initialised"], &[]),
    (Rule::IndirectInitialised, &["indirect initialised"], &[]),
    (Rule::DirectoryInitialised, &["directory initialised", "directory grown"], &[]),
    (Rule::TargetInitialised, &["target initialised"], &[]),
    (Rule::AttributesInitialised, &["attributes initialised"], &[]),
    (Rule::MovedContents, &["data moved"], &[]),
    (Rule::DataInitialised, &[], &[]),
    (Rule::MovedFragment, &["fragment moved", "cluster moved"], &[]),
];

#[test]
fn a_dropped_rule_drops_what_it_demands_and_nothing_else() {
    assert_eq!(EFFECTS.iter().map(|effect| effect.0).collect::<Vec<_>>(), Rule::ALL, "each rule has its line");
    for (rule, never, late) in EFFECTS {
        let found = differences(AllocInit::Directories, &[*rule]);
        assert_eq!(found, (never.to_vec(), late.to_vec()), "{rule:?}");
    }
}

#[test]
fn a_wait_that_serves_two_rules_goes_with_the_second() {
    use Rule::*;
    let with = |dropped: &[Rule]| differences(AllocInit::Directories, dropped);
    assert_eq!(with(&[NewNameBeforeOld, NameOnReturn]).0, ["name created", "name linked", "name renamed"]);
    assert_eq!(
        with(&[NewNameBeforeOld, NameGoneBeforeLink]).1,
        ["name linked", "name renamed", "name replaced", "name removed", "old name removed"]
    );
    assert_eq!(with(&[NameGoneBeforeLink, NameOnReturn]).0.len(), 3);
    assert_eq!(
        with(&[DirectoryInitialised, MovedContents]).0,
        ["directory initialised", "data moved", "directory moved", "directory grown"]
    );
}

#[test]
fn the_option_decides_which_rules_are_in_force() {
    let all = AllocInit::All;
    assert_eq!(differences(all, &[Rule::DataInitialised]).0, ["data initialised", "data moved"]);
    assert_eq!(differences(AllocInit::None, &[Rule::MovedContents]).0, ["data moved", "directory moved"]);

    let listed = |init| Rules::<Rule>::in_force(init).texts().into_iter().map(|text| text.0).collect::<Vec<_>>();
    let all = listed(AllocInit::All);
    assert!(all.contains(&"data-initialised") && !all.contains(&"moved-contents"), "one rule for every block");
    let dirs = listed(AllocInit::Directories);
    assert!(!dirs.contains(&"data-initialised") && dirs.contains(&"directory-initialised"));
    assert_eq!(listed(AllocInit::None).len(), Rule::ALL.len() - 2);
}

#[test]
fn whoever_breaks_a_rule_declares_it_all_the_same() {
    let sync = crate::by_name("sync").expect("it is known");
    let whole = sync.make(Settings::default()).expect("nothing is broken").declares();
    for (name, _) in &whole.rules {
        let settings = Settings { without: [(*name).to_owned()].into(), ..Settings::default() };
        assert_eq!(sync.make(settings).expect("it has the rule").declares(), whole);
        assert_eq!(Rule::by_name(name).map(|rule| rule.text().0), Some(*name));
    }
}

#[test]
fn a_rule_that_there_is_not_cannot_be_broken() {
    let refused = |scheme: &str, rule: &str| -> NoRule {
        let alloc_init = Some(AllocInit::Directories);
        let settings = Settings { without: [rule.to_owned()].into(), alloc_init, ..Settings::default() };
        crate::by_name(scheme).expect("it is known").make(settings).err().expect("there is no such rule")
    };
    let error = refused("sync", "link-before-fre");
    assert_eq!((error.scheme, &*error.rule), ("sync", "link-before-fre"));
    assert!(error.rules.contains(&"link-before-free") && error.to_string().contains("link-before-free, "));
    assert!(!refused("sync", "data-initialised").rules.contains(&"data-initialised"), "it is not in force");
    assert_eq!(
        refused("async", "name-on-return").to_string(),
        "async has no rule \"name-on-return\" to break; its rules are: none"
    );
}
