//! The Andrew benchmark: a small program's source is copied, listed, read, and compiled.
//!
//! What is known of the original (Howard et al., ACM TOCS 6(1), 1988): the source of a program, about 70 files of about
//! 200 KB; five phases: the directories of a target tree are created, the files copied into it, the attributes of each
//! examined without its contents, every byte read, all compiled and linked. Of the modified benchmark (Ousterhout,
//! USENIX Summer 1990) the makefile is known: it makes five directories `testfs1` to `testfs5`, each with `include`,
//! `include/sys` and `include/netinet`, examines with `find -exec ls -l` and `du -s`, and reads with `find -exec grep`
//! and `find -exec wc`. Both are followed here.
//!
//! What is reconstructed: how many of the 70 files are of which kind (in each of the five parts 8 sources, 5 headers in
//! the directories for them, 1 other), random sizes with a sum of 200,000 bytes ([`plan`]), one process per cp, and a
//! compiler's file operations (`compile`). A source includes the headers of its part. The compiler's own files and
//! libraries are not part of it. Temporary files are on the file system that is measured.
//!
//! # Default computing times
//!
//! With the file system's own time they should give about the five times of the No Order row of Ganger and Patt (OSDI
//! 1994, Table 3: 0.37, 2.74, 4.14, 5.84, 276.6 s on a 33 MHz 486). The file system's time is not part of them; it is
//! taken as 3.5 ms to create or remove and 1.2 s to copy a MB (the paper's Tables 2 and 1), and guessed as 1 ms to look
//! at a file:
//!
//! | phase | computed by the programs | left for the file system |
//! | --- | --- | --- |
//! | 1 | 7 processes: a mkdir for each part | 20 directories |
//! | 2 | 72 processes: a cp for each file | 70 files of 200 KB copied |
//! | 3 | 95 processes; 363 looks: find 91, ls 70 + 21 + 90, du 91 | the looks |
//! | 4 | 186 processes, 182 looks, 400 KB scanned | 400 KB read |
//! | 5 | 205 processes, 80 looks, 40 compilations, one link | 5 MB moved, 521 files made or removed |
//!
//! Each phase starts two more processes than it needs, echo and date. Phases 2 and 4 give 27 ms a process, phase 3 then
//! 3.5 ms a look; 300 ns a byte are ten cycles. The rest of phase 5 is 6.58 s a compilation.
//!
//! The conventional scheme needs 19.2 s more in phase 5 (the same table). At the paper's 17.4 ms a request those are
//! about 1,100 writes; with two ordered writes for each file made and each removed, 40 compilations of 6 temporary
//! files and an object make 1,040.

mod plan;

use crate::compile::{At, Compile};
use crate::error::{Result, WorkloadError, at};
use crate::meter::{Meter, Phase, PhaseResult};
use crate::parameters::{Parameter, Values};
use crate::paths::{self, Held, Session, join};
use crate::program::Program;
use crate::unix::{Costs, Unix};
use ordo_vfs::{FileSystem, Kind, Name};
use plan::{DIRS, Plan, Planned, dir_name, dir_path, dirs};
use std::time::Duration;

/// Its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Andrew {
    /// Headers that a source includes, again from the first when its part has no more.
    pub includes: u64,
    /// Temporary files of a compilation.
    pub temps: u64,
    /// Bytes of one read or write, 1 to 2^30.
    pub transfer: u64,
    /// The random seed.
    pub seed: u64,
    /// Microseconds of computing per process.
    pub process_us: u64,
    /// Microseconds of computing per file whose attributes find, ls, du or make examine.
    pub look_us: u64,
    /// Nanoseconds of computing per byte that grep and wc read.
    pub byte_ns: u64,
    /// Milliseconds of computing per source compiled.
    pub compile_ms: u64,
    /// Milliseconds of computing per link.
    pub link_ms: u64,
}

impl Default for Andrew {
    fn default() -> Andrew {
        Andrew {
            includes: 5,
            temps: 6,
            transfer: 8192,
            seed: 42,
            process_us: 27_000,
            look_us: 3_500,
            byte_ns: 300,
            compile_ms: 6_580,
            link_ms: 2_000,
        }
    }
}

impl Program for Andrew {
    const NAME: &'static str = "andrew";
    const WHAT: &'static str = "a program's source copied, looked at, read and compiled (Andrew)";

    fn parameters() -> Vec<Parameter> {
        let d = Andrew::default();
        let set = Parameter::new;
        vec![
            set("includes", d.includes, "headers that a source includes"),
            set("temps", d.temps, "temporary files of a compilation"),
            set("transfer", d.transfer, "bytes of one read or write"),
            set("seed", d.seed, "where the random sizes start"),
            set("process_us", d.process_us, "microseconds computed for each process (on a modelled machine)"),
            set("look_us", d.look_us, "microseconds computed for each file whose attributes are looked at"),
            set("byte_ns", d.byte_ns, "nanoseconds computed for each byte that grep and wc read"),
            set("compile_ms", d.compile_ms, "milliseconds computed for each source compiled"),
            set("link_ms", d.link_ms, "milliseconds computed to link"),
        ]
    }

    fn new(values: &Values) -> Andrew {
        Andrew {
            includes: values.get("includes"),
            temps: values.get("temps"),
            transfer: values.get("transfer"),
            seed: values.get("seed"),
            process_us: values.get("process_us"),
            look_us: values.get("look_us"),
            byte_ns: values.get("byte_ns"),
            compile_ms: values.get("compile_ms"),
            link_ms: values.get("link_ms"),
        }
    }

    fn check(&self) -> Result<()> {
        if !(1..=1 << 30).contains(&self.transfer) {
            return Err(WorkloadError::Unusable { workload: Self::NAME, why: "transfer must be between 1 and 1G" });
        }
        Ok(())
    }

    /// Makes the source, an empty target, and the directory for temporary files.
    async fn prepare<F: FileSystem>(&self, session: &Session<'_, F>, base: &str) -> Result<()> {
        for path in [join(base, "target"), join(base, "tmp")] {
            drop(session.mkdir_all(&path).await.map_err(at("mkdir", &path))?);
        }
        let paths: Vec<_> = dirs().map(|(part, dir)| dir_path(&join(base, "source"), part, dir)).collect();
        for path in &paths {
            drop(session.mkdir_all(path).await.map_err(at("mkdir", path))?);
        }
        for (no, file) in Plan::new(self.seed).files().enumerate() {
            let path = join(&paths[file.dir_no], &file.name);
            let data = paths::bytes(file.size, no as u64);
            session.write_file(&path, &data).await.map_err(at("write", &path))?;
        }
        Ok(())
    }

    /// Units: the directory, the file copied, the file examined, the file read, and the source compiled.
    async fn work<F: FileSystem>(
        &self,
        session: &Session<'_, F>,
        base: &str,
        meter: Meter<'_>,
    ) -> Result<Vec<PhaseResult>> {
        let costs = Costs {
            process: Duration::from_micros(self.process_us),
            look: Duration::from_micros(self.look_us),
            byte_ns: self.byte_ns,
        };
        let mut sources = Vec::new();
        for (part, dir) in dirs() {
            let path = dir_path(&join(base, "source"), part, dir);
            sources.push(session.resolve(&path).await.map_err(at("lookup", &path))?);
        }
        let (target, tmp) = (join(base, "target"), join(base, "tmp"));
        let run = Run {
            params: self,
            unix: Unix { session, costs, transfer: self.transfer },
            plan: Plan::new(self.seed),
            target: session.resolve(&target).await.map_err(at("lookup", &target))?,
            tmp: session.resolve(&tmp).await.map_err(at("lookup", &tmp))?,
            sources,
        };
        let mut results = Vec::new();

        let mut phase = Phase::start("create-dirs", meter);
        let targets = run.create_dirs(&mut phase).await.map_err(at("create-dirs", base))?;
        results.push(phase.end());

        let mut phase = Phase::start("copy-files", meter);
        run.copy_files(&targets, &mut phase).await.map_err(at("copy-files", base))?;
        results.push(phase.end());

        let mut phase = Phase::start("read-inodes", meter);
        run.read_inodes(&mut phase).await.map_err(at("read-inodes", base))?;
        results.push(phase.end());

        let mut phase = Phase::start("read-files", meter);
        run.read_files(&mut phase).await.map_err(at("read-files", base))?;
        results.push(phase.end());

        let mut phase = Phase::start("compile", meter);
        run.compile(&targets, &mut phase).await.map_err(at("compile", base))?;
        results.push(phase.end());
        Ok(results)
    }
}

/// The state of a run.
struct Run<'r, 'a, F: FileSystem> {
    params: &'r Andrew,
    unix: Unix<'r, 'a, F>,
    plan: Plan,
    target: Held<'a, F>,
    tmp: Held<'a, F>,
    /// The directories of the source, by number.
    sources: Vec<Held<'a, F>>,
}

impl<'a, F: FileSystem> Run<'_, 'a, F> {
    /// echo and date, with which each phase starts.
    async fn announce(&self) {
        self.unix.process().await;
        self.unix.process().await;
    }

    /// A mkdir for the directories of each part.
    async fn create_dirs(&self, phase: &mut Phase<'_>) -> ordo_vfs::Result<Vec<Held<'a, F>>> {
        self.announce().await;
        let mut made: Vec<Held<'a, F>> = Vec::new();
        for (part, dir) in dirs() {
            if dir == 0 {
                self.unix.process().await;
            }
            let above = if dir == 0 { &self.target } else { &made[part * DIRS.len() + DIRS[dir].1] };
            let name = dir_name(part, dir);
            let new = self.unix.session.mkdir(above, Name::new(name.as_bytes())?).await?;
            made.push(new);
            phase.done(0);
        }
        Ok(made)
    }

    /// A cp for each file, directory by directory.
    async fn copy_files(&self, targets: &[Held<'a, F>], phase: &mut Phase<'_>) -> ordo_vfs::Result<()> {
        self.announce().await;
        for (dir_no, target) in targets.iter().enumerate() {
            for file in self.plan.files().filter(|file| file.dir_no == dir_no) {
                let name = Name::new(file.name.as_bytes())?;
                self.unix.process().await;
                phase.done(self.unix.copy((&self.sources[dir_no], name), (target, name)).await?);
            }
        }
        Ok(())
    }

    /// find -exec ls -l, then du -s.
    async fn read_inodes(&self, phase: &mut Phase<'_>) -> ordo_vfs::Result<()> {
        self.announce().await;
        self.unix.process().await;
        let found = self.unix.find(&self.target, Name::new(b".")?).await?;
        let mut looks = found.len() as u64;
        for found in &found {
            self.unix.process().await;
            looks += self.unix.list(&found.dir, Name::new(&found.name)?).await?;
        }
        self.unix.process().await;
        looks += self.unix.find(&self.target, Name::new(b".")?).await?.len() as u64;
        phase.ops = looks;
        Ok(())
    }

    /// find -exec grep, then find -exec wc. They open directories too, and find nothing to read.
    async fn read_files(&self, phase: &mut Phase<'_>) -> ordo_vfs::Result<()> {
        self.announce().await;
        for _ in ["grep", "wc"] {
            self.unix.process().await;
            for found in self.unix.find(&self.target, Name::new(b".")?).await? {
                self.unix.process().await;
                let name = Name::new(&found.name)?;
                if found.kind == Kind::Directory {
                    drop(self.unix.session.lookup(&found.dir, name).await?);
                } else {
                    phase.done(self.unix.scan(&found.dir, name).await?);
                }
            }
        }
        Ok(())
    }

    /// make: examines every source and object, compiles all, links.
    async fn compile(&self, targets: &[Held<'a, F>], phase: &mut Phase<'_>) -> ordo_vfs::Result<()> {
        let object = |source: &Planned| At { dir: &targets[source.dir_no], name: source.name.replace(".c", ".o") };
        let file = |file: &Planned| At { dir: &targets[file.dir_no], name: file.name.clone() };
        self.announce().await;
        self.unix.process().await;
        for source in &self.plan.sources {
            let (source, object) = (file(source), object(source));
            drop(self.unix.look(source.dir, source.name()?).await?);
            drop(self.unix.look_if_there(object.dir, object.name()?).await?);
        }
        for (no, source) in self.plan.sources.iter().enumerate() {
            let compile = Compile {
                source: file(source),
                headers: self.plan.headers_of(no, self.params.includes).map(file).collect(),
                object: object(source),
                tmp: &self.tmp,
                temps: self.params.temps,
                work: Duration::from_millis(self.params.compile_ms),
            };
            phase.done(self.unix.compile(&compile).await?);
        }
        let objects: Vec<_> = self.plan.sources.iter().map(object).collect();
        let program = At { dir: &self.target, name: "program".to_owned() };
        phase.bytes += self.unix.link(&objects, &program, Duration::from_millis(self.params.link_ms)).await?;
        Ok(())
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

    /// The table in the module's head.
    #[test]
    fn the_phases_call_and_compute_as_documented() {
        let (calls, sum) = (Calls::of(MemFs::timeless()), Sum::default());
        let session = Session::with_compute(&calls, &sum);
        let program = Andrew::default();
        ready(session.mkdir_all("b")).unwrap();
        ready(program.prepare(&session, "b")).unwrap();
        assert_eq!(sum.0.get(), Duration::ZERO);
        // Counts per phase: the reading at the end of each resets them.
        let seen = RefCell::new(Vec::new());
        let meter = || {
            let counts = ["mkdir", "mknod", "unlink", "lookup", "read"].map(|call| calls.count(call));
            seen.borrow_mut().push((counts, sum.0.take()));
            calls.reset();
            Reading::default()
        };
        let results = ready(program.work(&session, "b", &meter)).unwrap();
        let seen: Vec<_> = seen.into_inner().into_iter().skip(1).step_by(2).collect();
        let ops: Vec<_> = results.iter().map(|phase| (phase.phase, phase.ops)).collect();
        let wanted =
            [("create-dirs", 20), ("copy-files", 70), ("read-inodes", 363), ("read-files", 140), ("compile", 40)];
        assert_eq!(ops, wanted);
        let calls: Vec<_> = seen.iter().map(|(counts, _)| *counts).collect();
        assert_eq!(calls[0], [20, 0, 0, 0, 0]);
        // No file is longer than a transfer: one read returns it, another its end.
        assert_eq!(calls[1], [0, 70, 0, 3 * 70, 2 * 70]);
        assert_eq!(calls[2], [0, 0, 0, 363, 0]);
        assert_eq!(calls[3], [0, 0, 0, 2 * (91 + 91), 2 * 2 * 70]);
        let (made, removed) = (40 * 7 + 1, 40 * 6);
        // make looks twice; cc opens the source, 5 headers and 6 temporary files; ld opens the objects.
        assert_eq!(calls[4][..4], [0, made, removed, 40 * (2 + 1 + 5 + 6 + 1)]);
        assert_eq!(2 * (made - 1) + 2 * removed, 1040, "ordered writes of compilations");

        let bytes = |phase: usize| results[phase].bytes;
        let (process, look) = (Duration::from_millis(27), Duration::from_micros(3500));
        let scanned = Duration::from_nanos(300 * bytes(3));
        assert_eq!((bytes(1), bytes(3)), (200_000, 400_000));
        assert!((4_500_000..5_500_000).contains(&bytes(4)), "{}", bytes(4));
        let wanted = [
            process * 7,
            process * 72,
            process * 95 + look * 363,
            process * 186 + look * 182 + scanned,
            process * 205 + look * 80 + Duration::from_millis(6580) * 40 + Duration::from_secs(2),
        ];
        for ((_, computed), wanted) in seen.iter().zip(wanted) {
            // The computing of a compilation is divided into seven parts, each a whole number of nanoseconds.
            assert!(computed.abs_diff(wanted) < Duration::from_micros(1), "{computed:?} {wanted:?}");
        }
    }
}
