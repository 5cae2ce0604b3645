//! The rules by name.

use super::Rule;
use crate::rules::{RuleNames, Rules};
use crate::{AllocInit, Settings};
use std::collections::BTreeSet;

#[test]
fn each_rule_is_found_by_its_name_and_declared_where_it_is_in_force() {
    for rule in Rule::ALL {
        assert_eq!(Rule::by_name(rule.text().0), Some(*rule));
    }
    let declared = |init| Rules::<Rule>::in_force(init).texts().len();
    let all = Rule::ALL.len();
    assert_eq!([AllocInit::All, AllocInit::Directories, AllocInit::None].map(declared), [all, all - 1, all - 2]);
}

#[test]
fn a_rule_that_is_not_in_force_cannot_be_dropped() {
    let known = crate::by_name("softupdates").expect("it is known");
    let settings = |alloc_init| Settings { alloc_init, without: BTreeSet::from(["data-initialised".to_owned()]) };
    assert!(known.make(settings(None)).is_ok());
    assert!(known.make(settings(Some(AllocInit::Directories))).is_err());
}
