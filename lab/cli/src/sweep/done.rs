//! What a unit resulted in.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// What a unit resulted in.
pub(crate) struct Done {
    /// The same each time (cli-sweep-2).
    pub(super) result: Box<RawValue>,
    /// Figures that differ from run to run.
    pub(super) times: Map<String, Value>,
    pub(super) violations: u64,
}

impl Done {
    pub(crate) fn new(result: &impl Serialize, violations: u64) -> anyhow::Result<Done> {
        Ok(Done { result: serde_json::value::to_raw_value(result)?, times: Map::new(), violations })
    }

    /// With something that differs from run to run.
    pub(crate) fn with_time(mut self, name: &str, value: Value) -> Done {
        self.times.insert(name.to_owned(), value);
        self
    }
}
