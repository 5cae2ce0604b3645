//! The claims of the papers, as data. The head of the data file explains its fields.

use serde::Deserialize;
use toml::{Table, Value};

/// A claim of a paper.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Claim {
    /// Its id.
    pub id: String,
    /// The paper's key.
    pub paper: String,
    /// Where in the paper it is.
    #[serde(rename = "where")]
    pub place: String,
    /// `measured`, `design`, `param`, …
    pub cls: String,
    /// The systems it is about.
    pub systems: Vec<String>,
    /// The workload.
    pub workload: String,
    /// The quantity compared.
    pub metric: String,
    /// The claim in one line.
    pub statement: String,
    /// The expectation.
    pub expected: Table,
    /// The questions that it asks of the results.
    #[serde(default)]
    pub(crate) query: Vec<Query>,
    /// Conditions and doubts.
    #[serde(default)]
    pub notes: String,
}

/// How the numbers are judged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum By {
    /// Each by the claim's value or bounds.
    #[default]
    Number,
    /// Their geometric mean over the sizes, so.
    Mean,
    /// In the claim's order, at each size.
    Order,
    /// What is lost from the first size to the last, in the claim's order.
    Fall,
    /// All alike, at each size.
    Comparable,
    /// More or less at the last size than at the first, as the claim's direction says, for each system.
    Trend,
}

/// What a claim asks of the results; the head of the data file explains its keys.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Query {
    pub(crate) by: By,
    pub(crate) step: Vec<String>,
    pub(crate) at: Vec<u32>,
    pub(crate) sizes: Option<(u32, u32)>,
    pub(crate) field: String,
    pub(crate) over: Option<String>,
    pub(crate) a: Vec<String>,
    pub(crate) b: Vec<String>,
    pub(crate) per: Option<f64>,
    pub(crate) loss: bool,
    pub(crate) times: Option<f64>,
    pub(crate) each: bool,
    pub(crate) name: Option<String>,
    pub(crate) says: Option<String>,
    pub(crate) why: Option<String>,
}

impl Claim {
    /// A number in the expectation.
    pub(crate) fn number(&self, key: &str) -> Option<f64> {
        match self.expected.get(key)? {
            Value::Float(value) => Some(*value),
            Value::Integer(value) => Some(*value as f64),
            _ => None,
        }
    }

    /// A text in the expectation.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.expected.get(key)?.as_str()
    }

    /// A list of systems: one, several between commas, or an array.
    pub(crate) fn list(&self, key: &str) -> Vec<String> {
        match self.expected.get(key) {
            Some(Value::String(text)) => text.split(',').map(|part| part.trim().to_owned()).collect(),
            Some(Value::Array(parts)) => parts.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        }
    }

    /// The groups of an ordering, first to last.
    pub(crate) fn groups(&self) -> Vec<Vec<String>> {
        let groups = self.expected.get("order").and_then(Value::as_array).cloned().unwrap_or_default();
        let group = |group: &Value| {
            group.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        groups.iter().map(group).collect()
    }
}

/// The claims of one paper, in the order of the file.
pub fn claims_of(paper: &str) -> Vec<Claim> {
    #[derive(Deserialize)]
    struct File {
        claim: Vec<Claim>,
    }
    // OK to expect: the text is part of the program, and a test reads it.
    let file: File = toml::from_str(include_str!("../../data/claims.toml")).expect("the claims can be read");
    file.claim.into_iter().filter(|claim| claim.paper == paper).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_claims_can_be_read_and_each_has_an_id_of_its_own() {
        let claims = claims_of("mup1994");
        assert_eq!(claims.len(), 177);
        let ids: std::collections::BTreeSet<&str> = claims.iter().map(|claim| claim.id.as_str()).collect();
        assert_eq!(ids.len(), claims.len());
        let order = claims.iter().find(|claim| claim.id == "mup1994.f3.best_nr_cb").unwrap();
        assert_eq!(order.groups()[1], ["flag-part-nr", "flag-part-cb"]);
        assert_eq!(claims_of("jsu2000").len(), 198);
        assert!(claims_of("nobody").is_empty());
    }
}
