//! Which sweep it is: what must be equal in all files that are joined.

use super::SweepError;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;
use xxhash_rust::xxh3::xxh3_128;

/// The form of the lines.
const FORMAT: u32 = 1;

/// Maximum number of units, so that their list fits in memory whatever a head says.
pub(super) const MOST_UNITS: u64 = 1 << 24;

/// The kinds of sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// Power cuts.
    Crash,
    /// Faults of the device.
    Faults,
    /// Words of a volume's metadata.
    Words,
    /// Random damage.
    Fuzz,
    /// Damage with right sums.
    Sums,
    /// Papers run again.
    Paper,
    /// Workloads under schemes.
    Bench,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Crash => "crash",
            Kind::Faults => "faults",
            Kind::Words => "words",
            Kind::Fuzz => "fuzz",
            Kind::Sums => "sums",
            Kind::Paper => "paper",
            Kind::Bench => "bench",
        })
    }
}

/// A sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sweep {
    pub(crate) sweep: Kind,
    format: u32,
    /// Version of the program.
    ordo: String,
    /// Hash of the program: two builds of one version may differ.
    program: String,
    pub(crate) seed: u64,
    pub(crate) parameters: Map<String, Value>,
    /// Units of all shards.
    pub(crate) units: u64,
}

impl Sweep {
    /// A sweep of this program.
    ///
    /// # Errors
    /// The program cannot read itself.
    pub(crate) fn here(
        sweep: Kind,
        seed: u64,
        parameters: Map<String, Value>,
        units: u64,
    ) -> Result<Sweep, SweepError> {
        let path = std::path::Path::new("/proc/self/exe");
        let bytes = std::fs::read(path).map_err(SweepError::io(path))?;
        let (ordo, program) = (env!("CARGO_PKG_VERSION").to_owned(), format!("{:032x}", xxh3_128(&bytes)));
        Ok(Sweep { sweep, format: FORMAT, ordo, program, seed, parameters, units })
    }

    /// Nothing, if both are one sweep; else what differs first, here and there.
    fn difference(&self, other: &Sweep) -> Option<(&'static str, String, String)> {
        let parameters = |sweep: &Sweep| Value::from(sweep.parameters.clone()).to_string();
        let fields = |sweep: &Sweep| {
            [
                ("the sweep", sweep.sweep.to_string()),
                ("the form of the lines", sweep.format.to_string()),
                ("the version of ordo", sweep.ordo.clone()),
                ("the program", sweep.program.clone()),
                ("the seed", sweep.seed.to_string()),
                ("what is swept", parameters(sweep)),
                ("the number of units", sweep.units.to_string()),
            ]
        };
        let pairs = fields(self).into_iter().zip(fields(other));
        pairs.into_iter().find(|(a, b)| a != b).map(|((what, here), (_, there))| (what, here, there))
    }

    /// Refuses another sweep, of the file `path`, beside this one, of `own`.
    ///
    /// # Errors
    /// `Other`.
    pub(super) fn refuse_other(&self, own: &str, other: &Sweep, path: &str) -> Result<(), SweepError> {
        match self.difference(other) {
            None => Ok(()),
            Some((what, wanted, found)) => {
                Err(SweepError::Other { path: path.into(), other: own.into(), what, found, wanted })
            }
        }
    }
}
