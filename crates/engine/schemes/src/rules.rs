//! Rules by name: what a scheme does to keep an order, and what `ordo crash --without` can drop.

use crate::{AllocInit, Settings};
use std::marker::PhantomData;

/// The rules of one scheme.
pub trait RuleNames: Copy + 'static {
    /// All, in the order of the documents; at most 32.
    const ALL: &'static [Self];

    /// Its place among them.
    fn number(self) -> u32;

    /// Its name, and its text.
    fn text(self) -> (&'static str, &'static str);

    /// Whether it is in force under this allocation initialisation.
    fn holds_with(self, init: AllocInit) -> bool;

    /// Finds a rule by its name.
    fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|rule| rule.text().0 == name)
    }
}

/// A set of rules.
#[derive(Debug)]
pub struct Rules<R>(u32, PhantomData<R>);

impl<R> Clone for Rules<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Rules<R> {}

impl<R> Default for Rules<R> {
    fn default() -> Self {
        Rules(0, PhantomData)
    }
}

impl<R: RuleNames> Rules<R> {
    /// Those that are in force under this allocation initialisation.
    pub fn in_force(init: AllocInit) -> Rules<R> {
        R::ALL.iter().copied().filter(|rule| rule.holds_with(init)).collect()
    }

    /// These, except `dropped`.
    pub fn without(self, dropped: Rules<R>) -> Rules<R> {
        Rules(self.0 & !dropped.0, PhantomData)
    }

    /// Whether `rule` is among them.
    #[inline]
    pub fn has(self, rule: R) -> bool {
        self.0 & 1 << rule.number() != 0
    }

    /// Their names and texts, in the order of the documents.
    pub fn texts(self) -> Vec<(&'static str, &'static str)> {
        R::ALL.iter().copied().filter(|rule| self.has(*rule)).map(R::text).collect()
    }
}

impl<R: RuleNames> FromIterator<R> for Rules<R> {
    fn from_iter<I: IntoIterator<Item = R>>(rules: I) -> Rules<R> {
        Rules(rules.into_iter().fold(0, |set, rule| set | 1 << rule.number()), PhantomData)
    }
}

impl Settings {
    /// The rules of this scheme that it is to break.
    pub(crate) fn dropped<R: RuleNames>(&self) -> Rules<R> {
        self.without.iter().filter_map(|name| R::by_name(name)).collect()
    }
}
