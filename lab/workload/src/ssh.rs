//! A program unpacked, configured and built: the ssh benchmark of Seltzer et al. (USENIX 2000, section 7.3.1).
//!
//! The original unpacks the compressed archive of ssh 1.2.26, runs its configure script, which compiles and runs small
//! programs to test the system's features, and runs make. The phases follow each other with a warm cache. The paper
//! gives their times, but not their file operations.
//!
//! What is reconstructed, from the paper's Table 4 and what FFS waits for a name on the modelled machine of 2000:
//!
//! - *unpack*: FFS waits 6.27 s more than FFS-async. At 13.6 ms for the two writes of a new name these are 461 names:
//!   445 files in 16 directories, 3.3 MB. tar sets the times of each.
//! - *config*: 5.35 s more, 563 names created or removed: 140 feature tests, each of which writes a program, compiles
//!   it, runs it and removes both. The result of each test is logged.
//! - *build*: 7.52 s more, 790 names: 240 sources compiled, each through one temporary file on the same volume, and
//!   linked into eight programs.
//!
//! S1. Every name, size and call is the same for the same parameters; the seed varies sizes only, and not their sum.
//!
//! The computing times, together with those of a modelled file system, add up to what FFS-async took: 1.02, 10.38 and
//! 42.60 s on a 500 MHz Pentium III.

use crate::compile::{At, Compile};
use crate::contents;
use crate::error::{Result, WorkloadError, at};
use crate::meter::{Meter, Phase, PhaseResult};
use crate::parameters::{Parameter, Values};
use crate::paths::{self, Held, Session};
use crate::program::Program;
use crate::unix::{Costs, Unix};
use ordo_rt::Rng;
use ordo_vfs::{FileSystem, Name, SetAttr, SetTime};
use std::time::Duration;

/// Its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ssh {
    /// Feature tests of configure.
    pub tests: u64,
    /// Temporary files of a compilation, on the volume.
    pub temps: u64,
    /// Bytes of one read or write, 1 to 2^30.
    pub transfer: u64,
    /// Microseconds of computing per process.
    pub process_us: u64,
    /// Milliseconds of computing to unpack the archive.
    pub unpack_ms: u64,
    /// Milliseconds of computing per feature test.
    pub test_ms: u64,
    /// Milliseconds of computing per source compiled.
    pub compile_ms: u64,
    /// Milliseconds of computing per program linked.
    pub link_ms: u64,
    /// The random seed for sizes.
    pub seed: u64,
}

impl Default for Ssh {
    fn default() -> Ssh {
        Ssh {
            tests: 140,
            temps: 1,
            transfer: 8192,
            process_us: 1_500,
            unpack_ms: 690,
            test_ms: 65,
            compile_ms: 155,
            link_ms: 400,
            seed: 42,
        }
    }
}

/// Directories of the tree, including its top.
const DIRS: u64 = 16;
/// Sources, headers and other files: suffix, number, mean bytes.
const KINDS: [(&str, u64, u64); 3] = [(".c", 240, 8_000), (".h", 60, 4_000), ("", 145, 7_800)];
const SOURCES: u64 = KINDS[0].1;
const HEADERS: u64 = KINDS[1].1;
/// Bytes of the archive.
const ARCHIVE: u64 = 1_050_000;
/// Headers that a source includes.
const INCLUDES: u64 = 8;
/// Programs and libraries that are linked.
const PROGRAMS: u64 = 8;
/// Processes of a feature test: shells, the compiler's passes, the program itself.
const TEST_PROCESSES: u64 = 6;
/// Bytes of a test's source, of its program, and of what it adds to the log.
const TEST: (u64, u64, u64) = (300, 12_000, 200);
/// Files that configure writes at its end, and their bytes.
const CONFIGURED: (u64, u64) = (9, 12_000);

/// A file of the archive.
struct File {
    dir: u64,
    name: String,
    size: u64,
}

impl Ssh {
    /// The archive's files, sources first, spread over the directories in turn.
    fn files(&self) -> Vec<File> {
        let mut rng = Rng::new(self.seed);
        let mut files = Vec::new();
        for (suffix, count, mean) in KINDS {
            let sizes = contents::sizes(&mut rng, count, mean, mean - mean / 8);
            files.extend((0..).zip(sizes).map(|(no, size)| File {
                dir: no % DIRS,
                name: format!("f{no}{suffix}"),
                size,
            }));
        }
        files
    }
}

/// Directory number `no` of the tree: the top is number 0, the others are in it.
fn dir_path(base: &str, no: u64) -> String {
    if no == 0 { format!("{base}/ssh") } else { format!("{base}/ssh/d{no}") }
}

/// The caller of the commands.
struct Hands<'h, 'a, F: FileSystem> {
    ssh: &'h Ssh,
    unix: Unix<'h, 'a, F>,
}

impl<'a, F: FileSystem> Hands<'_, 'a, F> {
    async fn dirs(&self, base: &str) -> Result<Vec<Held<'a, F>>> {
        let mut dirs = Vec::new();
        for no in 0..DIRS {
            let path = dir_path(base, no);
            dirs.push(self.unix.session.resolve(&path).await.map_err(at("lookup", &path))?);
        }
        Ok(dirs)
    }

    /// The empty tree in the directory `home`.
    async fn make_dirs(&self, home: &Held<'_, F>) -> ordo_vfs::Result<Vec<Held<'a, F>>> {
        let session = self.unix.session;
        let mut dirs = vec![session.mkdir(home, Name::new(b"ssh")?).await?];
        for no in 1..DIRS {
            dirs.push(session.mkdir(&dirs[0], Name::new(format!("d{no}").as_bytes())?).await?);
        }
        Ok(dirs)
    }

    /// gunzip and tar. Returns the bytes moved.
    async fn unpack(&self, base: &str) -> Result<u64> {
        let session = self.unix.session;
        for _ in ["gunzip", "tar"] {
            self.unix.process().await;
        }
        let files = self.ssh.files();
        let home = session.resolve(base).await.map_err(at("lookup", base))?;
        let archive = Name::new(b"ssh.tar.gz").map_err(at("name", "ssh.tar.gz"))?;
        let mut moved = self.unix.read(&home, archive).await.map_err(at("read", "ssh.tar.gz"))?;
        let dirs = self.make_dirs(&home).await.map_err(at("mkdir", base))?;
        let work = Duration::from_millis(self.ssh.unpack_ms) / files.len() as u32;
        for file in &files {
            session.compute(work).await;
            let (dir, name) = (&dirs[file.dir as usize], Name::new(file.name.as_bytes()));
            let written = async {
                let name = name?;
                let bytes = self.unix.write(dir, name, &paths::bytes(file.size, file.dir)).await?;
                let then = SetAttr { mtime: Some(SetTime::Now), ..SetAttr::default() };
                let file = session.lookup(dir, name).await?;
                session.fs.setattr(file.node(), &then).await?;
                Ok(bytes)
            };
            moved += written.await.map_err(at("unpack", &file.name))?;
        }
        Ok(moved)
    }

    /// One feature test; its result is written at `noted` in the log.
    async fn test(&self, top: &Held<'_, F>, log: &Held<'_, F>, noted: u64) -> ordo_vfs::Result<u64> {
        let session = self.unix.session;
        let (source, program) = (Name::new(b"conftest.c")?, Name::new(b"conftest")?);
        for _ in 0..TEST_PROCESSES {
            self.unix.process().await;
        }
        let mut moved = self.unix.write(top, source, &paths::bytes(TEST.0, noted)).await?;
        moved += self.unix.read(top, source).await?;
        session.compute(Duration::from_millis(self.ssh.test_ms)).await;
        moved += self.unix.write(top, program, &paths::bytes(TEST.1, noted)).await?;
        moved += self.unix.read(top, program).await?;
        session.fs.unlink(top.node(), source).await?;
        session.fs.unlink(top.node(), program).await?;
        session.write_at(log, noted, &paths::bytes(TEST.2, noted)).await?;
        Ok(moved + TEST.2)
    }

    /// configure.
    async fn configure(&self, base: &str, phase: &mut Phase<'_>) -> Result<()> {
        let dirs = self.dirs(base).await?;
        let configured = async {
            let log = self.unix.create(&dirs[0], Name::new(b"config.log")?).await?;
            for test in 0..self.ssh.tests {
                phase.done(self.test(&dirs[0], &log, test * TEST.2).await?);
            }
            for no in 0..CONFIGURED.0 {
                let name = format!("Makefile{no}");
                phase.bytes += self
                    .unix
                    .write(&dirs[no as usize], Name::new(name.as_bytes())?, &paths::bytes(CONFIGURED.1, no))
                    .await?;
            }
            Ok(())
        };
        configured.await.map_err(at("configure", base))
    }

    /// make.
    async fn build(&self, base: &str, phase: &mut Phase<'_>) -> Result<()> {
        let dirs = self.dirs(base).await?;
        let built = async {
            self.unix.process().await;
            for no in 0..SOURCES {
                phase.done(self.compile(&dirs, no).await?);
            }
            for program in 0..PROGRAMS {
                let objects: Vec<_> = (0..SOURCES).filter(|no| no % PROGRAMS == program).collect();
                let objects: Vec<_> = objects.into_iter().map(|no| object(&dirs, no)).collect();
                let program = At { dir: &dirs[0], name: format!("program{program}") };
                phase.bytes += self.unix.link(&objects, &program, Duration::from_millis(self.ssh.link_ms)).await?;
            }
            Ok(())
        };
        built.await.map_err(at("make", base))
    }

    /// cc -c of source number `no`, with consecutive headers starting at that number.
    async fn compile(&self, dirs: &[Held<'a, F>], no: u64) -> ordo_vfs::Result<u64> {
        let header = |at: u64| {
            let header = (no + at) % HEADERS;
            At { dir: &dirs[(header % DIRS) as usize], name: format!("f{header}.h") }
        };
        let compile = Compile {
            source: At { dir: &dirs[(no % DIRS) as usize], name: format!("f{no}.c") },
            headers: (0..INCLUDES).map(header).collect(),
            object: object(dirs, no),
            tmp: &dirs[(no % DIRS) as usize],
            temps: self.ssh.temps,
            work: Duration::from_millis(self.ssh.compile_ms),
        };
        self.unix.compile(&compile).await
    }
}

fn object<'d, 'a, F: FileSystem>(dirs: &'d [Held<'a, F>], no: u64) -> At<'d, 'a, F> {
    At { dir: &dirs[(no % DIRS) as usize], name: format!("f{no}.o") }
}

impl Program for Ssh {
    const NAME: &'static str = "ssh";
    const WHAT: &'static str = "a program unpacked, configured and built (ssh 1.2.26, reconstructed)";

    fn parameters() -> Vec<Parameter> {
        let d = Ssh::default();
        let set = Parameter::new;
        vec![
            set("tests", d.tests, "feature tests of configure"),
            set("temps", d.temps, "temporary files of a compilation on the volume"),
            set("transfer", d.transfer, "bytes of one read or write"),
            set("process_us", d.process_us, "microseconds computed for each process (on a modelled machine)"),
            set("unpack_ms", d.unpack_ms, "milliseconds computed to unpack the archive"),
            set("test_ms", d.test_ms, "milliseconds computed for each feature test"),
            set("compile_ms", d.compile_ms, "milliseconds computed for each source compiled"),
            set("link_ms", d.link_ms, "milliseconds computed for each program linked"),
            set("seed", d.seed, "where the random sizes start"),
        ]
    }

    fn new(values: &Values) -> Ssh {
        Ssh {
            tests: values.get("tests"),
            temps: values.get("temps"),
            transfer: values.get("transfer"),
            process_us: values.get("process_us"),
            unpack_ms: values.get("unpack_ms"),
            test_ms: values.get("test_ms"),
            compile_ms: values.get("compile_ms"),
            link_ms: values.get("link_ms"),
            seed: values.get("seed"),
        }
    }

    fn check(&self) -> Result<()> {
        if !(1..=1 << 30).contains(&self.transfer) {
            return Err(WorkloadError::Unusable { workload: Self::NAME, why: "transfer must be between 1 and 1G" });
        }
        Ok(())
    }

    /// Writes the archive.
    async fn prepare<F: FileSystem>(&self, session: &Session<'_, F>, base: &str) -> Result<()> {
        let path = format!("{base}/ssh.tar.gz");
        session.write_file(&path, &paths::bytes(ARCHIVE, self.seed)).await.map_err(at("write", &path))
    }

    /// Units: the file unpacked, the feature tested, the source compiled.
    async fn work<F: FileSystem>(
        &self,
        session: &Session<'_, F>,
        base: &str,
        meter: Meter<'_>,
    ) -> Result<Vec<PhaseResult>> {
        let costs = Costs { process: Duration::from_micros(self.process_us), ..Costs::default() };
        let hands = Hands { ssh: self, unix: Unix { session, costs, transfer: self.transfer } };
        let mut unpack = Phase::start("unpack", meter);
        unpack.bytes = hands.unpack(base).await?;
        unpack.ops = KINDS.iter().map(|(_, count, _)| count).sum();
        let unpack = unpack.end();
        let mut config = Phase::start("config", meter);
        hands.configure(base, &mut config).await?;
        let config = config.end();
        let mut build = Phase::start("build", meter);
        hands.build(base, &mut build).await?;
        Ok(vec![unpack, config, build.end()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compute::tests::Sum;
    use crate::meter::Reading;
    use crate::tests::Calls;
    use ordo_model::{MemFs, ready};
    use std::cell::RefCell;

    #[test]
    fn names_are_made_and_removed_as_table_4_asks_for() {
        let (calls, sum) = (Calls::of(MemFs::timeless()), Sum::default());
        let session = Session::with_compute(&calls, &sum);
        let ssh = Ssh::default();
        ready(session.mkdir_all("b")).unwrap();
        ready(ssh.prepare(&session, "b")).unwrap();
        calls.reset();
        // Names created and removed, and the computing time, at each end of a phase.
        let readings = RefCell::new(Vec::new());
        let meter = || {
            let names = ["mknod", "mkdir", "unlink"].map(|call| calls.count(call));
            readings.borrow_mut().push((names, sum.0.get()));
            Reading::default()
        };
        let results = ready(ssh.work(&session, "b", &meter)).unwrap();
        assert_eq!(results.iter().map(|phase| phase.ops).collect::<Vec<_>>(), [445, 140, 240]);
        assert!((3_300_000..4_500_000).contains(&results[0].bytes), "{}", results[0].bytes);
        let readings = readings.into_inner();
        let phase = |no: usize| {
            let (before, after) = (&readings[2 * no], &readings[2 * no + 1]);
            let names: Vec<u64> = after.0.iter().zip(before.0).map(|(after, before)| after - before).collect();
            (names, (after.1 - before.1).as_millis())
        };
        assert_eq!(phase(0).0, [445, 16, 0]);
        assert_eq!(phase(1).0, [2 * 140 + 10, 0, 2 * 140]);
        assert_eq!(phase(2).0, [2 * 240 + 8, 0, 240]);
        assert_eq!([phase(0).1, phase(1).1, phase(2).1], [692, 10_360, 42_225]);
        assert_eq!(calls.fs.lookups(), 0);
    }

    #[test]
    fn the_tree_has_the_same_bytes_for_every_seed() {
        let sizes = |seed| Ssh { seed, ..Ssh::default() }.files().iter().map(|file| file.size).collect::<Vec<_>>();
        let (a, b) = (sizes(1), sizes(2));
        assert_ne!(a, b);
        assert_eq!((a.len(), a.iter().sum::<u64>()), (445, b.iter().sum()));
        assert_eq!(a.iter().sum::<u64>(), 240 * 8_000 + 60 * 4_000 + 145 * 7_800);
    }
}
