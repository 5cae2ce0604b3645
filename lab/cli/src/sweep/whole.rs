//! What the units of a sweep make together.

use super::join::UnitThere;
use crate::out::Out;
use serde_json::Value;

/// The joined result of one kind of sweep.
pub(crate) trait Whole {
    /// Adds a unit; they come in their order.
    fn add(&mut self, unit: &UnitThere) -> anyhow::Result<()>;
    /// An object.
    fn json(&mut self, times: bool) -> anyhow::Result<Value>;
    fn show(&mut self, out: &mut Out) -> anyhow::Result<()>;
}
