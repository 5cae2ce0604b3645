//! A line of the table, and how its scheme is made from settings.

use crate::Settings;
use ordo_buf::Scheme;
use std::rc::Rc;

/// A rule was to be dropped that the scheme does not have, or that is not in force with the other settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{scheme} has no rule {rule:?} to break; its rules are: {}", listed(.rules))]
pub struct NoRule {
    /// The scheme.
    pub scheme: &'static str,
    /// The rule that it does not have.
    pub rule: String,
    /// The rules that it has.
    pub rules: Vec<&'static str>,
}

fn listed(rules: &[&str]) -> String {
    if rules.is_empty() { "none".into() } else { rules.join(", ") }
}

/// A scheme as `ordo schemes` lists it.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// For comparison only, not for use.
    pub for_study: bool,
    pub(super) make: fn(&Settings) -> Rc<dyn Scheme>,
}

impl Known {
    /// Makes a scheme of this kind.
    ///
    /// # Errors
    /// [`NoRule`] when a rule is to be dropped that does not exist.
    pub fn make(&self, settings: Settings) -> Result<Rc<dyn Scheme>, NoRule> {
        let scheme = (self.make)(&settings);
        let rules: Vec<_> = scheme.declares().rules.into_iter().map(|(name, _)| name).collect();
        match settings.without.iter().find(|rule| !rules.contains(&rule.as_str())) {
            None => Ok(scheme),
            Some(rule) => Err(NoRule { scheme: self.name, rule: rule.clone(), rules }),
        }
    }

    /// The kind of log for which its volumes must have a place.
    pub fn wants_log(&self) -> Option<ordo_buf::LogKind> {
        (self.make)(&Settings::default()).capabilities().log_kind()
    }
}
