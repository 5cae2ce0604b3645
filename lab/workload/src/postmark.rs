//! PostMark: the short-lived small files of a mail server.
//!
//! After J. Katcher, "PostMark: A New File System Benchmark", Network Appliance TR-3022 (1997): a pool of files of
//! random sizes is created; then each transaction reads a whole file or appends to one, and creates a file or deletes
//! one; then the pool is deleted. Sizes and choices are uniform. The random numbers are this crate's, so the stream of
//! operations has PostMark's distribution, not the numbers of any C library.

use crate::error::{Result, WorkloadError, at};
use crate::meter::{Meter, Phase, PhaseResult};
use crate::parameters::{Parameter, Values};
use crate::paths::{self, Held, Session};
use crate::program::Program;
use ordo_rt::Rng;
use ordo_vfs::{FileSystem, Name};

/// Its parameters. The defaults are those of PostMark 1.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Postmark {
    /// Files in the pool at first.
    pub files: u64,
    /// Transactions.
    pub transactions: u64,
    /// Smallest and largest size of a new file in bytes; appending stops at the largest.
    pub size_min: u64,
    /// See `size_min`.
    pub size_max: u64,
    /// Bytes of one read.
    pub read_size: u64,
    /// Bytes of one write.
    pub write_size: u64,
    /// Directories to spread the pool over; 0 keeps it in one.
    pub subdirs: u64,
    /// Of ten transactions, how many read (the others append); above 10 neither happens.
    pub bias_read: u64,
    /// Of ten transactions, how many create (the others delete); above 10 neither happens.
    pub bias_create: u64,
    /// The random seed.
    pub seed: u64,
}

impl Default for Postmark {
    fn default() -> Postmark {
        Postmark {
            files: 500,
            transactions: 500,
            size_min: 500,
            size_max: 9770,
            read_size: 512,
            write_size: 512,
            subdirs: 0,
            bias_read: 5,
            bias_create: 5,
            seed: 42,
        }
    }
}

/// A file of the pool: its number, and its size before the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PoolFile {
    no: u64,
    size: u64,
}

/// The next operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// Make a file and write it to this size.
    Create(PoolFile),
    Read(PoolFile),
    /// Add this many bytes.
    Append(PoolFile, u64),
    Delete(PoolFile),
}

/// The operations of a run, which depend on the parameters only.
struct Steps {
    params: Postmark,
    rng: Rng,
    pool: Vec<PoolFile>,
    made: u64,
}

const OFF: u64 = 10;

impl Steps {
    fn new(params: Postmark) -> Steps {
        Steps { params, rng: Rng::new(params.seed), pool: Vec::new(), made: 0 }
    }

    fn create(&mut self) -> Step {
        let size = self.rng.within(self.params.size_min, self.params.size_max);
        let file = PoolFile { no: self.made, size };
        self.made += 1;
        self.pool.push(file);
        Step::Create(file)
    }

    fn delete(&mut self) -> Option<Step> {
        let place = self.rng.below(self.pool.len() as u64) as usize;
        (place < self.pool.len()).then(|| Step::Delete(self.pool.swap_remove(place)))
    }

    fn read_or_append(&mut self) -> Option<Step> {
        if self.params.bias_read > OFF || self.pool.is_empty() {
            return None;
        }
        let reads = self.rng.below(OFF) < self.params.bias_read;
        let place = self.rng.below(self.pool.len() as u64) as usize;
        let file = self.pool[place];
        if reads {
            return Some(Step::Read(file));
        }
        let room = self.params.size_max.saturating_sub(file.size);
        let len = if room > 0 { self.rng.within(1, room) } else { 0 };
        self.pool[place].size += len;
        Some(Step::Append(file, len))
    }

    fn create_or_delete(&mut self) -> Option<Step> {
        if self.params.bias_create > OFF {
            return None;
        }
        if self.rng.below(OFF) < self.params.bias_create { Some(self.create()) } else { self.delete() }
    }
}

impl Postmark {
    /// "Small" of Seltzer et al. (USENIX 2000, section 8.2): 10,000 files, 20,000 transactions.
    pub fn small() -> Postmark {
        Postmark { files: 10_000, transactions: 20_000, size_min: 512, size_max: 16 << 10, ..Postmark::default() }
    }

    /// "Large" of the same: 150,000 files. The paper leaves the number of transactions open.
    pub fn large() -> Postmark {
        Postmark { files: 150_000, ..Postmark::small() }
    }

    /// The directories of the pool.
    fn dirs(&self, base: &str) -> Vec<String> {
        let spread = (0..self.subdirs).map(|dir_no| format!("{base}/s{dir_no}"));
        if self.subdirs == 0 { vec![base.to_owned()] } else { spread.collect() }
    }
}

impl Program for Postmark {
    const NAME: &'static str = "postmark";
    const WHAT: &'static str = "a mail server's short-lived small files (PostMark)";

    fn parameters() -> Vec<Parameter> {
        let d = Postmark::default();
        let set = Parameter::new;
        vec![
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
        ]
    }

    fn new(values: &Values) -> Postmark {
        Postmark {
            files: values.get("files"),
            transactions: values.get("transactions"),
            size_min: values.get("size_min"),
            size_max: values.get("size_max"),
            read_size: values.get("read_size"),
            write_size: values.get("write_size"),
            subdirs: values.get("subdirs"),
            bias_read: values.get("bias_read"),
            bias_create: values.get("bias_create"),
            seed: values.get("seed"),
        }
    }

    fn check(&self) -> Result<()> {
        let unusable = |why| Err(WorkloadError::Unusable { workload: Self::NAME, why });
        if self.size_min > self.size_max || self.size_max > 1 << 30 {
            return unusable("size_min must not be above size_max, nor that above 1G");
        }
        if !(1..=1 << 30).contains(&self.read_size) || !(1..=1 << 30).contains(&self.write_size) {
            return unusable("read_size and write_size must be between 1 and 1G");
        }
        Ok(())
    }

    async fn prepare<F: FileSystem>(&self, session: &Session<'_, F>, base: &str) -> Result<()> {
        for path in self.dirs(base) {
            drop(session.mkdir_all(&path).await.map_err(at("mkdir", &path))?);
        }
        Ok(())
    }

    /// The unit is the file, and in the middle phase the transaction.
    async fn work<F: FileSystem>(
        &self,
        session: &Session<'_, F>,
        base: &str,
        meter: Meter<'_>,
    ) -> Result<Vec<PhaseResult>> {
        let mut dirs = Vec::new();
        for path in self.dirs(base) {
            dirs.push(session.resolve(&path).await.map_err(at("lookup", &path))?);
        }
        let runner = Runner { params: self, session, dirs, data: paths::bytes(self.size_max, 1) };
        let mut steps = Steps::new(*self);

        let mut create = Phase::start("create", meter);
        for _ in 0..self.files {
            create.done(runner.step(steps.create()).await?);
        }
        let create = create.end();

        let mut transactions = Phase::start("transactions", meter);
        for _ in 0..self.transactions {
            let mut moved = 0;
            if let Some(step) = steps.read_or_append() {
                moved += runner.step(step).await?;
            }
            if let Some(step) = steps.create_or_delete() {
                moved += runner.step(step).await?;
            }
            transactions.done(moved);
        }
        let transactions = transactions.end();

        let mut delete = Phase::start("delete", meter);
        while let Some(step) = steps.delete() {
            delete.done(runner.step(step).await?);
        }
        let delete = delete.end();

        Ok(vec![create, transactions, delete])
    }
}

/// The pool's directories, and the data to write.
struct Runner<'r, 'a, F: FileSystem> {
    params: &'r Postmark,
    session: &'r Session<'a, F>,
    dirs: Vec<Held<'a, F>>,
    data: Vec<u8>,
}

impl<F: FileSystem> Runner<'_, '_, F> {
    /// Does one step and returns how many bytes of contents it moved.
    async fn step(&self, step: Step) -> Result<u64> {
        let (Step::Create(file) | Step::Read(file) | Step::Append(file, _) | Step::Delete(file)) = step;
        let path = file.no.to_string();
        self.call(step, file, &path).await.map_err(at("postmark", &path))
    }

    async fn call(&self, step: Step, file: PoolFile, path: &str) -> ordo_vfs::Result<u64> {
        let name = Name::new(path.as_bytes())?;
        let dir = &self.dirs[(file.no % self.dirs.len() as u64) as usize];
        match step {
            Step::Create(_) => {
                let held = self.session.create(dir, name).await?;
                self.write(&held, 0, file.size).await
            }
            Step::Append(_, len) => {
                let held = self.session.lookup(dir, name).await?;
                self.write(&held, file.size, len).await
            }
            Step::Read(_) => {
                let held = self.session.lookup(dir, name).await?;
                let mut offset = 0;
                while offset < file.size {
                    let len = (file.size - offset).min(self.params.read_size);
                    self.session.fs.read(held.node(), offset, len as u32).await?;
                    offset += len;
                }
                Ok(file.size)
            }
            Step::Delete(_) => self.session.fs.unlink(dir.node(), name).await.map(|()| 0),
        }
    }

    async fn write(&self, file: &Held<'_, F>, from: u64, len: u64) -> ordo_vfs::Result<u64> {
        let mut done = 0;
        while done < len {
            let piece = (len - done).min(self.params.write_size);
            self.session.write_at(file, from + done, &self.data[..piece as usize]).await?;
            done += piece;
        }
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Reading;
    use ordo_model::{MemFs, ready};
    use std::hash::{Hash, Hasher};

    fn stream_hash(params: Postmark) -> u64 {
        let mut hasher = rustc_hash::FxHasher::default();
        let mut steps = Steps::new(params);
        (0..params.files).for_each(|_| steps.create().hash(&mut hasher));
        for _ in 0..params.transactions {
            steps.read_or_append().hash(&mut hasher);
            steps.create_or_delete().hash(&mut hasher);
        }
        while let Some(step) = steps.delete() {
            step.hash(&mut hasher);
        }
        hasher.finish()
    }

    #[test]
    fn the_same_seed_gives_the_same_operations_and_another_gives_others() {
        let other = Postmark { seed: 43, ..Postmark::small() };
        assert_eq!(stream_hash(Postmark::small()), stream_hash(Postmark::small()));
        assert_ne!(stream_hash(Postmark::small()), stream_hash(other));
    }

    #[test]
    fn choices_and_sizes_are_even() {
        let params = Postmark::small();
        let mut steps = Steps::new(params);
        let sizes: u64 = (0..params.files)
            .map(|_| match steps.create() {
                Step::Create(file) => file.size,
                _ => 0,
            })
            .sum();
        let mean = sizes / params.files;
        assert!((8300..8600).contains(&mean), "mean size {mean}");
        let mut count = [0u64; 4];
        for _ in 0..params.transactions {
            for step in [steps.read_or_append(), steps.create_or_delete()].into_iter().flatten() {
                let kind = match step {
                    Step::Create(_) => 0,
                    Step::Delete(_) => 1,
                    Step::Read(_) => 2,
                    Step::Append(..) => 3,
                };
                count[kind] += 1;
            }
        }
        assert!(count.iter().all(|count| (9700..10_300).contains(count)), "{count:?}");
    }

    #[test]
    fn a_run_counts_its_phases_and_empties_the_pool() {
        let fs = MemFs::timeless();
        let session = Session::new(&fs);
        let params = Postmark { subdirs: 7, ..Postmark::default() };
        ready(params.prepare(&session, "mail")).unwrap();
        let results = ready(params.work(&session, "mail", &Reading::default)).unwrap();
        let ops: Vec<_> = results.iter().map(|result| (result.phase, result.ops)).collect();
        assert_eq!(ops[..2], [("create", 500), ("transactions", 500)]);
        assert_eq!(ops[2].0, "delete");
        let pool = ready(session.resolve("mail/s6")).unwrap();
        assert!(ready(session.list(&pool)).unwrap().is_empty());
        drop(pool);
        assert_eq!(fs.lookups(), 0);
    }

    #[test]
    fn sizes_that_contradict_each_other_are_refused() {
        assert!(Postmark { size_min: 10, size_max: 5, ..Postmark::default() }.check().is_err());
    }
}
