//! Joins files of one sweep: what is there, what is missing, what contradicts.
//!
//! The first pass keeps of each line its place and a hash of its result only, so what fits on a disk can be joined;
//! the second reads the results in the order of the units, so the joined result depends on no file's name or order.

use super::done::Done;
use super::lines::{Place, UnitLine, read};
use super::write::Writer;
use super::{Sweep, SweepError, shard};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::BufWriter;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The files of one sweep.
pub(crate) struct Joined {
    pub(crate) sweep: Sweep,
    files: Vec<PathBuf>,
    units: BTreeMap<u64, Vec<Place>>,
    /// Shards that have a file, as they count themselves.
    shards: BTreeSet<(u32, u32)>,
    torn: u64,
}

/// What is there and what is not.
#[derive(Debug, Serialize)]
pub(crate) struct Account {
    #[serde(flatten)]
    pub(crate) sweep: Sweep,
    pub(crate) complete: bool,
    /// Units that are there.
    pub(crate) there: u64,
    pub(crate) shards_there: u64,
    /// Shards of which no unit is there although they have some.
    pub(crate) shards_missing: Vec<String>,
    /// Units that are missing, by shard.
    pub(crate) units_missing: BTreeMap<String, Vec<u64>>,
    /// Units that came more than once.
    pub(crate) twice: u64,
    /// Lines that were torn, and so are lost.
    pub(crate) torn: u64,
    pub(crate) contradictions: Vec<Contradiction>,
    pub(crate) violations: u64,
}

/// A unit with different results.
#[derive(Debug, Serialize)]
pub(crate) struct Contradiction {
    pub(crate) unit: u64,
    pub(crate) name: String,
    pub(crate) files: Vec<String>,
}

/// A unit that is there.
pub(crate) struct UnitThere {
    pub(crate) unit: u64,
    pub(crate) name: String,
    pub(crate) violations: u64,
    /// As JSON.
    pub(crate) result: String,
    pub(crate) times: Map<String, Value>,
}

/// The files that arguments name: of a directory all `*.jsonl`, in their order.
fn listed(paths: &[PathBuf]) -> Result<Vec<PathBuf>, SweepError> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let mut inside = Vec::new();
        for entry in std::fs::read_dir(path).map_err(SweepError::io(path))? {
            let entry = entry.map_err(SweepError::io(path))?.path();
            if entry.extension().is_some_and(|extension| extension == "jsonl") && !entry.is_dir() {
                inside.push(entry);
            }
        }
        inside.sort();
        files.extend(inside);
    }
    Ok(files)
}

impl Joined {
    /// Reads the files.
    ///
    /// # Errors
    /// One cannot be read or is no file of a sweep; two are of different sweeps; none holds anything.
    pub(crate) fn read(paths: &[PathBuf]) -> Result<Joined, SweepError> {
        let said = || paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
        let (mut sweep, mut files) = (None::<(Sweep, String)>, Vec::new());
        let (mut units, mut shards, mut torn) = (BTreeMap::<u64, Vec<Place>>::new(), BTreeSet::new(), 0);
        for path in listed(paths)? {
            let contents = read(&path, files.len())?;
            torn += contents.torn;
            let name = path.display().to_string();
            match (&sweep, contents.sweep) {
                (Some((own, of)), Some(next)) => own.refuse_other(of, &next, &name)?,
                (None, Some(next)) => sweep = Some((next, name)),
                (_, None) => {}
            }
            shards.extend(contents.shards.iter().map(|shard| (shard.of, shard.index)));
            contents.units.into_iter().for_each(|(unit, place)| units.entry(unit).or_default().push(place));
            files.push(path);
        }
        // Of several results the one with the smallest hash counts, so that the order of the files decides nothing.
        units.values_mut().for_each(|places| places.sort_by_key(|place| place.hash));
        let (sweep, _) = sweep.ok_or_else(|| SweepError::Nothing(said()))?;
        Ok(Joined { sweep, files, units, shards, torn })
    }

    /// What is there and what is not.
    pub(crate) fn account(&self) -> Account {
        // Files of different divisions are joined by units alone.
        let all: BTreeSet<u32> = self.shards.iter().map(|(of, _)| *of).collect();
        let of = if all.len() == 1 { all.first().copied().unwrap_or(1) } else { 1 };
        let mut missing: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        for unit in (0..self.sweep.units).filter(|unit| !self.units.contains_key(unit)) {
            missing.entry((unit % u64::from(of)) as u32).or_default().push(unit);
        }
        let name = |index: u32| shard::name(ordo_crash::Shard { index, of });
        let is_gone = |index: u32| {
            of > 1
                && !self.shards.contains(&(of, index))
                && !(u64::from(index)..self.sweep.units).step_by(of as usize).any(|unit| self.units.contains_key(&unit))
        };
        let contradictions = self.units.iter().filter(|(_, places)| places.iter().any(|p| p.hash != places[0].hash));
        let contradictions: Vec<Contradiction> = contradictions
            .map(|(unit, places)| {
                let files = places.iter().map(|place| self.files[place.file].display().to_string());
                Contradiction { unit: *unit, name: places[0].name.clone(), files: files.collect() }
            })
            .collect();
        Account {
            sweep: self.sweep.clone(),
            complete: missing.is_empty(),
            there: self.units.len() as u64,
            shards_there: self.shards.len() as u64,
            shards_missing: missing.keys().filter(|index| is_gone(**index)).map(|index| name(*index)).collect(),
            units_missing: missing.iter().map(|(index, units)| (name(*index), units.clone())).collect(),
            twice: self.units.values().filter(|places| places.len() > 1).count() as u64,
            torn: self.torn,
            contradictions,
            violations: self.units.values().fold(0, |sum, places| sum.saturating_add(places[0].violations)),
        }
    }

    /// Writes what is there as one file of the whole, as a sweep by one process writes it.
    ///
    /// # Errors
    /// The file exists or cannot be written.
    pub(crate) fn write(&self, path: &Path, times: bool) -> Result<(), SweepError> {
        let new = File::options().write(true).create_new(true).open(path).map_err(SweepError::io(path))?;
        let mut to = Writer::of(BufWriter::new(new), path, &self.sweep)?;
        for unit in self.units() {
            let unit = unit?;
            let wrong = |error: serde_json::Error| SweepError::Result { unit: unit.unit, why: error.to_string() };
            let result = RawValue::from_string(unit.result).map_err(wrong)?;
            let times = if times { unit.times } else { Map::new() };
            to.unit(unit.unit, &unit.name, &Done { result, times, violations: unit.violations })?;
        }
        to.end().map(drop)
    }

    /// The units that are there, in their order.
    pub(crate) fn units(&self) -> impl Iterator<Item = Result<UnitThere, SweepError>> {
        self.units.iter().map(|(unit, places)| {
            // OK to index: a unit has a place.
            let place = &places[0];
            let path = &self.files[place.file];
            let mut line = vec![0; place.len];
            // Opened for each line: there may be more files than a process may have open.
            let file = File::open(path).map_err(SweepError::io(path))?;
            file.read_exact_at(&mut line, place.at).map_err(SweepError::io(path))?;
            told(*unit, &line, path)
        })
    }
}

fn told(unit: u64, line: &[u8], path: &Path) -> Result<UnitThere, SweepError> {
    let wrong = |error: serde_json::Error| SweepError::Result { unit, why: format!("{}: {error}", path.display()) };
    let line: UnitLine<'_> = serde_json::from_slice(line).map_err(wrong)?;
    let (result, times) = (line.result.get().to_owned(), serde_json::from_str(line.times.get()).map_err(wrong)?);
    Ok(UnitThere { unit, name: line.name, violations: line.violations, result, times })
}

impl UnitThere {
    /// The result.
    ///
    /// # Errors
    /// It is of another form.
    pub(crate) fn parsed<T: serde::de::DeserializeOwned>(&self) -> Result<T, SweepError> {
        serde_json::from_str(&self.result)
            .map_err(|error| SweepError::Result { unit: self.unit, why: error.to_string() })
    }

    /// CPU time that it took.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        self.times.get("cpu_seconds").and_then(Value::as_f64).unwrap_or_default()
    }
}
