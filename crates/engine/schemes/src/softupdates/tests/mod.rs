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
    assert_eq!([AllocInit::All, AllocInit::None].map(declared), [Rule::ALL.len(); 2]);
}

#[test]
fn a_rule_that_there_is_not_cannot_be_dropped() {
    let known = crate::by_name("softupdates").expect("it is known");
    let settings = |rule: &str| Settings { without: BTreeSet::from([rule.to_owned()]), ..Settings::default() };
    assert!(known.make(settings("link-removal")).is_ok());
    assert!(known.make(settings("name-on-return")).is_err());
}
