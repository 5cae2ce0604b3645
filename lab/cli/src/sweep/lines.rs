//! The lines of a file, and their reader.

use super::head::MOST_UNITS;
use super::{Sweep, SweepError, shard};
use ordo_crash::Shard;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use xxhash_rust::xxh3::xxh3_128;

/// Maximum length of a line, with its end. The hashes of a part take 640,000 bytes.
const MOST_LINE: u64 = 1 << 28;

/// The first line of a run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Head {
    #[serde(flatten)]
    pub(super) sweep: Sweep,
    pub(super) shard: String,
}

/// The line of a unit.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct UnitLine<'a> {
    pub(super) unit: u64,
    pub(super) name: String,
    pub(super) violations: u64,
    #[serde(borrow)]
    pub(super) result: &'a RawValue,
    /// See [`hash`].
    pub(super) hash: String,
    #[serde(borrow)]
    pub(super) times: &'a RawValue,
}

/// Of what a unit resulted in. A line that was damaged on its way is not counted as something else, and two lines of a
/// unit contradict whatever of it differs.
pub(super) fn hash(unit: u64, name: &str, violations: u64, result: &RawValue) -> u128 {
    xxh3_128(format!("{unit} {violations} {name} {result}").as_bytes())
}

/// A hash as it is written.
pub(super) fn digits(hash: u128) -> String {
    format!("{hash:032x}")
}

/// The last line of a run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct End {
    pub(super) end: Counts,
}

/// What the file holds of the shard, with what was there before the run.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Counts {
    pub(super) units: u64,
    pub(super) violations: u64,
}

/// A unit's line in a file.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// Index of the file.
    pub(super) file: usize,
    pub(super) at: u64,
    pub(super) len: usize,
    /// Of what it says.
    pub(super) hash: u128,
    pub(super) name: String,
    pub(super) violations: u64,
}

/// What a file holds.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) sweep: Option<Sweep>,
    pub(super) shards: Vec<Shard>,
    pub(super) units: Vec<(u64, Place)>,
    /// Lines that were torn.
    pub(super) torn: u64,
    /// The last byte ends a line.
    pub(super) whole: bool,
}

/// Reads a file. One that is empty, or has a torn head alone, holds nothing.
///
/// # Errors
/// It cannot be read, is no file of a sweep, or has a wrong line that was not torn.
pub(super) fn read(path: &Path, file: usize) -> Result<Contents, SweepError> {
    let name = path.display().to_string();
    let from = File::open(path).map_err(SweepError::io(path))?;
    if !from.metadata().map_err(SweepError::io(path))?.is_file() {
        // A device may have no end.
        return Err(SweepError::NoFile { path: name });
    }
    let mut from = BufReader::new(from);
    let mut contents = Contents { whole: true, ..Contents::default() };
    let (mut at, mut number, mut line, mut doubt) = (0, 0, Vec::new(), None::<u64>);
    loop {
        line.clear();
        let len = (&mut from).take(MOST_LINE).read_until(b'\n', &mut line).map_err(SweepError::io(path))?;
        if len == 0 {
            break;
        }
        number += 1;
        contents.whole = line.ends_with(b"\n");
        if len as u64 == MOST_LINE && !contents.whole {
            let why = format!("it is longer than {MOST_LINE} bytes");
            return Err(SweepError::Damaged { path: name, line: number, why });
        }
        let damaged = |why: String| SweepError::Damaged { path: name.clone(), line: number, why };
        if let Ok(head) = serde_json::from_slice::<Head>(&line) {
            // What was torn before it ended an earlier run (cli-sweep-3).
            contents.torn += u64::from(doubt.take().is_some());
            if let Some(own) = &contents.sweep {
                own.refuse_other(&format!("{name} begins with"), &head.sweep, &name)?;
            }
            if head.sweep.units > MOST_UNITS {
                return Err(damaged(format!("a sweep of {} units; it has {MOST_UNITS} at most", head.sweep.units)));
            }
            contents.shards.push(shard::parse(&head.shard).map_err(damaged)?);
            contents.sweep = Some(head.sweep);
        } else if let Some(doubtful) = doubt {
            let why = "no line of a sweep, and no torn end of a run".into();
            return Err(SweepError::Damaged { path: name, line: doubtful, why });
        } else if let (Ok(unit), Some(sweep)) = (serde_json::from_slice::<UnitLine<'_>>(&line), &contents.sweep) {
            let number = unit.unit;
            let falls = |shard: &Shard| number % u64::from(shard.of) == u64::from(shard.index);
            if number >= sweep.units || !contents.shards.iter().any(falls) {
                return Err(damaged(format!("unit {number} does not belong to this shard")));
            }
            let hash = hash(number, &unit.name, unit.violations, unit.result);
            if digits(hash) != unit.hash {
                return Err(damaged(format!("unit {number} is damaged: it does not have its hash")));
            }
            let place = Place { file, at, len, hash, name: unit.name, violations: unit.violations };
            contents.units.push((number, place));
        } else if serde_json::from_slice::<End>(&line).is_err() {
            if number == 1 && contents.whole {
                return Err(SweepError::NoSweep { path: name });
            }
            doubt = Some(number);
        }
        at += len as u64;
    }
    contents.torn += u64::from(doubt.is_some());
    Ok(contents)
}
