//! How many files can be created, removed, or created and removed again per second.
//!
//! After Ganger and Patt (OSDI 1994, section 5.1): 10,000 files of 1 KB divided among the users, each of whom works in
//! a directory of its own. In the third program each file is removed right after it was created. `files` are those of
//! one user. With `fsync` each new file is made durable before the next one is begun, as mail servers and databases do:
//! the case for group commit.

use crate::error::{Result, WorkloadError, at};
use crate::meter::{Meter, Phase, PhaseResult};
use crate::parameters::{Parameter, Values};
use crate::paths::{self, Held, Session};
use crate::program::Program;
use ordo_vfs::{FileSystem, Name};

/// The files of one user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Files {
    /// How many.
    pub files: u64,
    /// Bytes of each, at most 2^30.
    pub size: u64,
}

impl Default for Files {
    fn default() -> Files {
        Files { files: 10_000, size: 1024 }
    }
}

impl Files {
    fn parameters() -> Vec<Parameter> {
        let d = Files::default();
        vec![Parameter::new("files", d.files, "files of this user"), Parameter::new("size", d.size, "bytes of a file")]
    }

    fn new(values: &Values) -> Files {
        Files { files: values.get("files"), size: values.get("size") }
    }

    fn check(&self, workload: &'static str) -> Result<()> {
        if self.size > 1 << 30 {
            return Err(WorkloadError::Unusable { workload, why: "size must not be above 1G" });
        }
        Ok(())
    }

    /// A user at work in the directory `base`.
    async fn at_work<'s, 'a, F: FileSystem>(
        &self,
        session: &'s Session<'a, F>,
        base: &str,
    ) -> Result<AtWork<'s, 'a, F>> {
        let dir = session.resolve(base).await.map_err(at("lookup", base))?;
        Ok(AtWork { session, dir, data: paths::bytes(self.size, 1) })
    }
}

/// One user in the directory.
struct AtWork<'s, 'a, F: FileSystem> {
    session: &'s Session<'a, F>,
    dir: Held<'a, F>,
    data: Vec<u8>,
}

impl<F: FileSystem> AtWork<'_, '_, F> {
    async fn create(&self, file_no: u64, fsync: bool) -> Result<u64> {
        let path = file_name(file_no);
        let made = async {
            let file = self.session.create(&self.dir, Name::new(path.as_bytes())?).await?;
            self.session.write_at(&file, 0, &self.data).await?;
            if fsync { self.session.fs.fsync(file.node(), false).await } else { Ok(()) }
        };
        made.await.map_err(at("create", &path))?;
        Ok(self.data.len() as u64)
    }

    async fn remove(&self, file_no: u64) -> Result<()> {
        let path = file_name(file_no);
        let removed = async { self.session.fs.unlink(self.dir.node(), Name::new(path.as_bytes())?).await };
        removed.await.map_err(at("unlink", &path))
    }
}

fn file_name(file_no: u64) -> String {
    format!("f{file_no}")
}

/// Files made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CreateFiles {
    /// How many, and how large.
    pub files: Files,
    /// Each is made durable before the next one.
    pub fsync: bool,
}

/// Files removed in the order in which they were made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RemoveFiles(pub Files);

/// Files made and each removed right after that.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CreateRemove(pub Files);

impl Program for CreateFiles {
    const NAME: &'static str = "create-files";
    const WHAT: &'static str = "small files made in one directory";

    fn parameters() -> Vec<Parameter> {
        let mut all = Files::parameters();
        all.push(Parameter::new("fsync", 0, "1: fsync each file before the next one"));
        all
    }

    fn new(values: &Values) -> CreateFiles {
        CreateFiles { files: Files::new(values), fsync: values.get("fsync") != 0 }
    }

    fn check(&self) -> Result<()> {
        self.files.check(Self::NAME)
    }

    /// The unit is the file.
    async fn work<F: FileSystem>(
        &self,
        session: &Session<'_, F>,
        base: &str,
        meter: Meter<'_>,
    ) -> Result<Vec<PhaseResult>> {
        let user = self.files.at_work(session, base).await?;
        let mut phase = Phase::start("create", meter);
        for file_no in 0..self.files.files {
            phase.done(user.create(file_no, self.fsync).await?);
        }
        Ok(vec![phase.end()])
    }
}

impl Program for RemoveFiles {
    const NAME: &'static str = "remove-files";
    const WHAT: &'static str = "small files removed from one directory";

    fn parameters() -> Vec<Parameter> {
        Files::parameters()
    }

    fn new(values: &Values) -> RemoveFiles {
        RemoveFiles(Files::new(values))
    }

    fn check(&self) -> Result<()> {
        self.0.check(Self::NAME)
    }

    async fn prepare<F: FileSystem>(&self, session: &Session<'_, F>, base: &str) -> Result<()> {
        let user = self.0.at_work(session, base).await?;
        for file_no in 0..self.0.files {
            user.create(file_no, false).await?;
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
        let user = self.0.at_work(session, base).await?;
        let mut phase = Phase::start("remove", meter);
        for file_no in 0..self.0.files {
            user.remove(file_no).await?;
            phase.done(0);
        }
        Ok(vec![phase.end()])
    }
}

impl Program for CreateRemove {
    const NAME: &'static str = "create-remove";
    const WHAT: &'static str = "small files made, each removed right after that";

    fn parameters() -> Vec<Parameter> {
        Files::parameters()
    }

    fn new(values: &Values) -> CreateRemove {
        CreateRemove(Files::new(values))
    }

    fn check(&self) -> Result<()> {
        self.0.check(Self::NAME)
    }

    /// The unit is the file.
    async fn work<F: FileSystem>(
        &self,
        session: &Session<'_, F>,
        base: &str,
        meter: Meter<'_>,
    ) -> Result<Vec<PhaseResult>> {
        let user = self.0.at_work(session, base).await?;
        let mut phase = Phase::start("create-remove", meter);
        for file_no in 0..self.0.files {
            let bytes = user.create(file_no, false).await?;
            user.remove(file_no).await?;
            phase.done(bytes);
        }
        Ok(vec![phase.end()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Reading;
    use crate::tests::Calls;
    use ordo_model::{MemFs, ready};

    /// Creates, writes and unlinks of the preparation and of the work.
    fn counted(program: &impl Program) -> [[u64; 4]; 2] {
        let calls = Calls::of(MemFs::timeless());
        let session = Session::new(&calls);
        ready(session.mkdir_all("b")).unwrap();
        let counts = || {
            let counts = ["mknod", "write", "unlink", "fsync"].map(|call| calls.count(call));
            calls.reset();
            counts
        };
        ready(program.prepare(&session, "b")).unwrap();
        let prepared = counts();
        let results = ready(program.work(&session, "b", &Reading::default)).unwrap();
        assert_eq!(results[0].ops, 30);
        [prepared, counts()]
    }

    #[test]
    fn each_program_makes_and_removes_its_files_once() {
        let files = Files { files: 30, size: 1024 };
        assert_eq!(counted(&CreateFiles { files, fsync: false }), [[0; 4], [30, 30, 0, 0]]);
        assert_eq!(counted(&CreateFiles { files, fsync: true }), [[0; 4], [30, 30, 0, 30]]);
        assert_eq!(counted(&RemoveFiles(files)), [[30, 30, 0, 0], [0, 0, 30, 0]]);
        assert_eq!(counted(&CreateRemove(files)), [[0; 4], [30, 30, 30, 0]]);
    }
}
