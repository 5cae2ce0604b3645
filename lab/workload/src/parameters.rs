//! The numbers that a program is set to.

use crate::error::{Result, WorkloadError};

/// A numeric parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub key: &'static str,
    /// Its default.
    pub default: u64,
    /// Its meaning, with its unit.
    pub what: &'static str,
}

/// A program that can be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one line.
    pub what: &'static str,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
}

impl Parameter {
    /// A parameter `key` with its default, and its meaning with its unit.
    pub const fn new(key: &'static str, default: u64, what: &'static str) -> Parameter {
        Parameter { key, default, what }
    }
}

/// Parameters that differ from the defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Params(Vec<(String, u64)>);

impl Params {
    /// Parses `key=number` pairs separated by commas; a number may end in k, M or G (powers of 1024).
    ///
    /// # Errors
    /// `Malformed`, with the pair.
    pub fn parse(text: &str) -> Result<Params> {
        let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| {
            let parsed = pair.split_once('=').and_then(|(key, value)| Some((key.to_owned(), number(value)?)));
            parsed.ok_or_else(|| WorkloadError::Malformed(pair.to_owned()))
        });
        Ok(Params(pairs.collect::<Result<_>>()?))
    }

    /// Sets one more parameter.
    #[must_use]
    pub fn with(mut self, key: &str, value: u64) -> Params {
        self.0.push((key.to_owned(), value));
        self
    }

    /// These parameters for a run of `workload` that only fills a cache, and is not measured: a tenth of its
    /// `transactions`, if it has any. They work on files that are all made before the first of them.
    #[must_use]
    pub fn for_rehearsal(&self, workload: &Workload) -> Params {
        let set = self.0.iter().rev().find(|(key, _)| key == "transactions").map(|(_, count)| *count);
        match workload.parameters.iter().find(|parameter| parameter.key == "transactions") {
            Some(count) => self.clone().with("transactions", set.unwrap_or(count.default).div_ceil(10)),
            None => self.clone(),
        }
    }

    /// These parameters for one of several users of `workload`: a `seed` is increased by `user`, so that users do not
    /// do the same at the same time. The first user is number 0.
    #[must_use]
    pub fn for_user(&self, workload: &Workload, user: u64) -> Params {
        let set = self.0.iter().rev().find(|(key, _)| key == "seed").map(|(_, seed)| *seed);
        match workload.parameters.iter().find(|parameter| parameter.key == "seed") {
            Some(seed) => self.clone().with("seed", set.unwrap_or(seed.default).wrapping_add(user)),
            None => self.clone(),
        }
    }
}

fn number(text: &str) -> Option<u64> {
    let (digits, shift) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 10),
        b'm' | b'M' => (&text[..text.len() - 1], 20),
        b'g' | b'G' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Values by key: those that were set, otherwise the defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Values(Vec<Parameter>);

impl Values {
    /// The values of `workload` with `params` applied.
    ///
    /// # Errors
    /// `UnknownParameter`.
    pub fn new(workload: &Workload, params: &Params) -> Result<Values> {
        let mut values = workload.parameters.clone();
        for (key, value) in &params.0 {
            let Some(parameter) = values.iter_mut().find(|parameter| parameter.key == key) else {
                return Err(WorkloadError::UnknownParameter { workload: workload.name, key: key.clone() });
            };
            parameter.default = *value;
        }
        Ok(Values(values))
    }

    /// The value of the parameter `key`; 0 if the program has none of this name.
    pub fn get(&self, key: &str) -> u64 {
        self.0.iter().find(|parameter| parameter.key == key).map_or(0, |parameter| parameter.default)
    }
}
