//! All programs by name, with what can be set.

use crate::error::{Result, WorkloadError};
use crate::meter::{Meter, PhaseResult};
use crate::paths::Session;
use crate::{CreateDelete, Half, Postmark, Sequential, SmallFiles, Trees};
use vfs::FileSystem;

/// A number that can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub key: &'static str,
    /// Its value when nothing is said.
    pub default: u64,
    /// What it means, with its unit.
    pub what: &'static str,
}

/// A program that can be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one line.
    pub what: &'static str,
    /// What can be set.
    pub parameters: Vec<Parameter>,
}

const fn set(key: &'static str, default: u64, what: &'static str) -> Parameter {
    Parameter { key, default, what }
}

/// Every program, in the order in which they are shown.
pub fn workloads() -> Vec<Workload> {
    vec![
        create_delete(),
        small_files(),
        sequential(),
        postmark(),
        trees("copy-tree", "a tree of files copied"),
        trees("remove-tree", "a tree of files removed right after it was copied"),
    ]
}

fn create_delete() -> Workload {
    let d = CreateDelete::default();
    Workload {
        name: "create-delete",
        what: "empty files made and removed, one at a time",
        parameters: vec![set("pairs", d.pairs, "pairs of a create and a delete")],
    }
}

fn small_files() -> Workload {
    let d = SmallFiles::default();
    Workload {
        name: "small-files",
        what: "many files of one size: created, read, overwritten, deleted",
        parameters: vec![
            set("size", d.size, "bytes of a file"),
            set("files", d.files, "files; 0: as many as make 128 MiB, at least 512"),
            set("per_dir", d.per_dir, "files in one directory"),
        ],
    }
}

fn sequential() -> Workload {
    let d = Sequential::default();
    Workload {
        name: "sequential",
        what: "one large file: written, overwritten, read",
        parameters: vec![
            set("size", d.size, "bytes of the file"),
            set("transfer", d.transfer, "bytes of one transfer"),
            set("fsync", d.fsync.into(), "1: count an fsync after each phase that writes"),
        ],
    }
}

fn postmark() -> Workload {
    let d = Postmark::default();
    Workload {
        name: "postmark",
        what: "a mail server's short-lived small files (PostMark)",
        parameters: vec![
            set("files", d.files, "files in the pool at first"),
            set("transactions", d.transactions, "transactions"),
            set("size_min", d.size_min, "bytes of the smallest new file"),
            set("size_max", d.size_max, "bytes of the largest file"),
            set("read_size", d.read_size, "bytes of one read"),
            set("write_size", d.write_size, "bytes of one write"),
            set("subdirs", d.subdirs, "directories to spread the pool over; 0: one"),
            set("bias_read", d.bias_read, "of ten transactions, how many read, not append; above 10: neither"),
            set("bias_create", d.bias_create, "of ten transactions, how many create, not delete; above 10: neither"),
            set("seed", d.seed, "where the random numbers start"),
        ],
    }
}

fn trees(name: &'static str, what: &'static str) -> Workload {
    let d = Trees::default();
    Workload {
        name,
        what,
        parameters: vec![
            set("files", d.files, "files in the tree"),
            set("mean", d.mean, "mean bytes of a file"),
            set("seed", d.seed, "where the random sizes start"),
        ],
    }
}

/// The program called `name`.
///
/// # Errors
/// `Unknown`.
pub fn find(name: &str) -> Result<Workload> {
    workloads().into_iter().find(|w| w.name == name).ok_or_else(|| WorkloadError::Unknown(name.to_owned()))
}

/// What is set differently from the defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Params(Vec<(String, u64)>);

impl Params {
    /// Reads `key=number` pairs between commas; a number may end in k, M or G (powers of 1024).
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

    /// Sets one more.
    #[must_use]
    pub fn with(mut self, key: &str, value: u64) -> Params {
        self.0.push((key.to_owned(), value));
        self
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

/// Values by key: those that were set, else the defaults.
struct Values(Vec<Parameter>);

impl Values {
    fn new(workload: &Workload, params: &Params) -> Result<Values> {
        let mut values = workload.parameters.clone();
        for (key, value) in &params.0 {
            let Some(parameter) = values.iter_mut().find(|parameter| parameter.key == key) else {
                return Err(WorkloadError::UnknownParameter { workload: workload.name, key: key.clone() });
            };
            parameter.default = *value;
        }
        Ok(Values(values))
    }

    fn get(&self, key: &str) -> u64 {
        self.0.iter().find(|parameter| parameter.key == key).map_or(0, |parameter| parameter.default)
    }
}

/// Runs the program called `name` in the directory `base` of the session's file system.
///
/// # Errors
/// `Unknown`, `UnknownParameter`, `Unusable` before anything is done; then what the file system says.
pub async fn run<F: FileSystem>(
    name: &str,
    session: &Session<'_, F>,
    base: &str,
    params: &Params,
    meter: Meter<'_>,
) -> Result<Vec<PhaseResult>> {
    let workload = find(name)?;
    let values = Values::new(&workload, params)?;
    let get = |key| values.get(key);
    match workload.name {
        "create-delete" => CreateDelete { pairs: get("pairs") }.run(session, base, meter).await,
        "small-files" => {
            let program = SmallFiles { size: get("size"), files: get("files"), per_dir: get("per_dir") };
            program.run(session, base, meter).await
        }
        "sequential" => {
            let program = Sequential { size: get("size"), transfer: get("transfer"), fsync: get("fsync") != 0 };
            program.run(session, base, meter).await
        }
        "postmark" => {
            let program = Postmark {
                files: get("files"),
                transactions: get("transactions"),
                size_min: get("size_min"),
                size_max: get("size_max"),
                read_size: get("read_size"),
                write_size: get("write_size"),
                subdirs: get("subdirs"),
                bias_read: get("bias_read"),
                bias_create: get("bias_create"),
                seed: get("seed"),
            };
            program.run(session, base, meter).await
        }
        "copy-tree" | "remove-tree" => {
            let half = if workload.name == "copy-tree" { Half::Copy } else { Half::Remove };
            let program = Trees { files: get("files"), mean: get("mean"), seed: get("seed") };
            program.run(session, base, half, meter).await
        }
        other => Err(WorkloadError::Unknown(other.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Reading;
    use model::{MemFs, ready};
    use std::cell::Cell;
    use std::time::Duration;

    #[test]
    fn every_program_runs_counts_and_leaves_nothing_behind() {
        let small = |name: &str| match name {
            "create-delete" => "pairs=100",
            "small-files" => "size=9k,files=120",
            "sequential" => "size=1M,transfer=33k",
            "postmark" => "subdirs=3",
            _ => "files=25,mean=3000",
        };
        for workload in workloads() {
            let fs = MemFs::timeless();
            let session = Session::new(&fs);
            let params = Params::parse(small(workload.name)).unwrap();
            let seconds = Cell::new(0);
            let meter = || {
                seconds.set(seconds.get() + 1);
                Reading { elapsed: Duration::from_secs(seconds.get()), ..Reading::default() }
            };
            let results = ready(run(workload.name, &session, "base", &params, &meter)).unwrap();
            assert!(results.iter().all(|phase| phase.ops > 0 && phase.seconds == 1.0), "{results:?}");
            let base = ready(session.resolve("base")).unwrap();
            assert!(ready(session.list(&base)).unwrap().is_empty(), "{} left something", workload.name);
            drop(base);
            assert_eq!(fs.lookups(), 0, "{} holds nodes", workload.name);
        }
    }

    #[test]
    fn parameters_are_parsed_and_strange_ones_refused() {
        let params = Params::parse("size=4k, files=2M,").unwrap();
        assert_eq!(params, Params::default().with("size", 4096).with("files", 2 << 20));
        for bad in ["size", "size=", "size=k", "size=-1", "size=99999999999G"] {
            assert!(matches!(Params::parse(bad), Err(WorkloadError::Malformed(_))), "{bad}");
        }
        let fs = MemFs::timeless();
        let unknown = ready(run("postmark", &Session::new(&fs), "b", &params, &Reading::default));
        assert!(matches!(unknown, Err(WorkloadError::UnknownParameter { .. })));
        let nothing = ready(run("nothing", &Session::new(&fs), "b", &params, &Reading::default));
        assert!(matches!(nothing, Err(WorkloadError::Unknown(_))));
    }
}
