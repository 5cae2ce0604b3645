//! Many files of one size: created, read, overwritten and removed, in the same order each time.
//!
//! With its defaults it is the small-file benchmark of Seltzer et al. (USENIX 2000, section 8.1) at one size: 128 MB in
//! total, at least 512 files, 50 in a directory. With 10,000 files of 1 KB it is that of Rosenblum and Ousterhout
//! (1992).
//!
//! If each phase must find a cold cache, as in the former, run it by itself: steps before `first` belong to the
//! preparation, those after `last` are left out.

use crate::error::{Result, WorkloadError, at};
use crate::meter::{Meter, Phase, PhaseResult};
use crate::parameters::{Parameter, Values};
use crate::paths::{self, Held, Session};
use crate::program::Program;
use ordo_vfs::{FileSystem, Name};

/// Its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmallFiles {
    /// Bytes of each file.
    pub size: u64,
    /// Files; 0 means as many as make 128 MiB, at least 512.
    pub files: u64,
    /// Files in one directory, at least 1.
    pub per_dir: u64,
    /// The first step that is measured: 0 create, 1 read, 2 write, 3 delete.
    pub first: u64,
    /// The last one.
    pub last: u64,
}

impl Default for SmallFiles {
    fn default() -> SmallFiles {
        SmallFiles { size: 4096, files: 0, per_dir: 50, first: 0, last: 3 }
    }
}

/// Most bytes of one transfer.
const TRANSFER: u64 = 4 << 20;

impl Program for SmallFiles {
    const NAME: &'static str = "small-files";
    const WHAT: &'static str = "many files of one size: created, read, overwritten, deleted";

    fn parameters() -> Vec<Parameter> {
        let d = SmallFiles::default();
        vec![
            Parameter::new("size", d.size, "bytes of a file"),
            Parameter::new("files", d.files, "files; 0: as many as make 128 MiB, at least 512"),
            Parameter::new("per_dir", d.per_dir, "files in one directory"),
            Parameter::new(
                "first",
                d.first,
                "first step measured: 0 create, 1 read, 2 write, 3 delete; earlier ones prepare",
            ),
            Parameter::new("last", d.last, "last step"),
        ]
    }

    fn new(values: &Values) -> SmallFiles {
        SmallFiles {
            size: values.get("size"),
            files: values.get("files"),
            per_dir: values.get("per_dir"),
            first: values.get("first"),
            last: values.get("last"),
        }
    }

    fn check(&self) -> Result<()> {
        let unusable = |why| Err(WorkloadError::Unusable { workload: Self::NAME, why });
        if self.per_dir == 0 {
            return unusable("per_dir must be at least 1");
        }
        if self.first > self.last || self.last >= STEPS.len() as u64 {
            return unusable("first must not be above last, nor that above 3");
        }
        Ok(())
    }

    async fn prepare<F: FileSystem>(&self, session: &Session<'_, F>, base: &str) -> Result<()> {
        for step in &STEPS[..self.first as usize] {
            // A step that only reads leaves nothing to clean up.
            if *step != Step::Read {
                self.all(session, base, *step, &mut |_| ()).await?;
            }
        }
        Ok(())
    }

    /// The unit is the file.
    async fn work<F: FileSystem>(
        &self,
        session: &Session<'_, F>,
        base: &str,
        meter: Meter<'_>,
    ) -> Result<Vec<PhaseResult>> {
        let mut results = Vec::new();
        for step in &STEPS[self.first as usize..=self.last as usize] {
            let mut phase = Phase::start(step.name(), meter);
            self.all(session, base, *step, &mut |bytes| phase.done(bytes)).await?;
            results.push(phase.end());
        }
        Ok(results)
    }
}

impl SmallFiles {
    fn files(&self) -> u64 {
        if self.files > 0 { self.files } else { (128_u64 << 20).checked_div(self.size).unwrap_or(0).max(512) }
    }

    /// One step for every file; calls `done` with the bytes of each.
    async fn all<F: FileSystem>(
        &self,
        session: &Session<'_, F>,
        base: &str,
        step: Step,
        done: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let data = paths::bytes(self.size.min(TRANSFER), 1);
        for dir_no in 0..self.files().div_ceil(self.per_dir) {
            // Each directory is looked up once, like by a program that changes into it.
            let dir = format!("{base}/d{dir_no}");
            let held = session.mkdir_all(&dir).await.map_err(at("mkdir", &dir))?;
            for file_no in dir_no * self.per_dir..self.files().min((dir_no + 1) * self.per_dir) {
                let name = format!("f{file_no}");
                self.one(session, &held, &name, step, &data).await.map_err(at(step.name(), &name))?;
                done(if step == Step::Delete { 0 } else { self.size });
            }
        }
        Ok(())
    }

    async fn one<F: FileSystem>(
        &self,
        session: &Session<'_, F>,
        dir: &Held<'_, F>,
        name: &str,
        step: Step,
        data: &[u8],
    ) -> ordo_vfs::Result<()> {
        let name = Name::new(name.as_bytes())?;
        let file = match step {
            Step::Create => session.create(dir, name).await?,
            Step::Read | Step::Write => session.lookup(dir, name).await?,
            Step::Delete => return session.fs.unlink(dir.node(), name).await,
        };
        let mut offset = 0;
        while offset < self.size {
            let len = (self.size - offset).min(TRANSFER);
            if step == Step::Read {
                session.fs.read(file.node(), offset, len as u32).await?;
            } else {
                session.write_at(&file, offset, &data[..len as usize]).await?;
            }
            offset += len;
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Create,
    Read,
    Write,
    Delete,
}

const STEPS: [Step; 4] = [Step::Create, Step::Read, Step::Write, Step::Delete];

impl Step {
    fn name(self) -> &'static str {
        match self {
            Step::Create => "create",
            Step::Read => "read",
            Step::Write => "write",
            Step::Delete => "delete",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Reading;
    use crate::tests::Calls;
    use ordo_model::{MemFs, ready};

    #[test]
    fn steps_before_the_first_prepare_and_those_after_the_last_are_left_out() {
        let calls = Calls::of(MemFs::timeless());
        let session = Session::new(&calls);
        let program = SmallFiles { size: 1000, files: 120, first: 2, last: 2, ..SmallFiles::default() };
        ready(session.mkdir_all("b")).unwrap();
        let counts = || {
            let counts = ["mknod", "read", "write", "unlink"].map(|call| calls.count(call));
            calls.reset();
            counts
        };
        ready(program.prepare(&session, "b")).unwrap();
        assert_eq!(counts(), [120, 0, 120, 0]);
        let results = ready(program.work(&session, "b", &Reading::default)).unwrap();
        assert_eq!(counts(), [0, 0, 120, 0]);
        assert_eq!((results.len(), results[0].phase, results[0].bytes), (1, "write", 120_000));
    }

    #[test]
    fn files_are_those_of_the_paper_and_steps_in_their_order() {
        let files = |size| SmallFiles { size, ..SmallFiles::default() }.files();
        assert_eq!([files(1 << 10), files(64 << 10), files(1 << 20)], [131_072, 2_048, 512]);
        assert!(SmallFiles { first: 2, last: 1, ..SmallFiles::default() }.check().is_err());
        assert!(SmallFiles { last: 4, ..SmallFiles::default() }.check().is_err());
    }
}
