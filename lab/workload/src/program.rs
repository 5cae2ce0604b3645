//! Programs and their three stages.
//!
//! G1. A program is prepared, then works, then is cleaned up. Only the work is measured, so that several programs can
//!     be prepared first, measured together and cleaned up last. Stages share only what is in the file system.
//! G2. A program uses its base directory alone. `prepare` refuses a directory that is not empty, so that `clean`, which
//!     removes all that it finds there, removes only the program's own files.

use crate::error::{Result, at};
use crate::meter::{Meter, PhaseResult};
use crate::parameters::{Parameter, Values};
use crate::paths::{Session, join};
use ordo_vfs::{FileSystem, Refusal};

/// A program over any file system.
#[allow(async_fn_in_trait)]
pub trait Program: Sized {
    /// Its name for `ordo bench --workload`.
    const NAME: &'static str;
    /// What it does, in one line.
    const WHAT: &'static str;

    /// Its parameters, with the defaults.
    fn parameters() -> Vec<Parameter>;

    /// The program with these values for all of its parameters.
    fn new(values: &Values) -> Self;

    /// # Errors
    /// `Unusable` where the parameters contradict each other.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Makes what the work needs in `base`, which exists and is empty.
    ///
    /// # Errors
    /// Errors of the file system.
    async fn prepare<F: FileSystem>(&self, _session: &Session<'_, F>, _base: &str) -> Result<()> {
        Ok(())
    }

    /// The measured work, phase by phase, in the prepared `base`.
    ///
    /// # Errors
    /// Errors of the file system.
    async fn work<F: FileSystem>(
        &self,
        session: &Session<'_, F>,
        base: &str,
        meter: Meter<'_>,
    ) -> Result<Vec<PhaseResult>>;
}

/// A stage of a program.
#[derive(Clone, Copy)]
pub(crate) enum Stage<'m> {
    Prepare,
    Work(Meter<'m>),
    Clean,
}

/// Which stage of a program to run, and where.
pub(crate) struct Errand<'e, 'a, F: FileSystem> {
    pub(crate) stage: Stage<'e>,
    pub(crate) session: &'e Session<'a, F>,
    pub(crate) base: &'e str,
}

impl<F: FileSystem> Errand<'_, '_, F> {
    /// Runs it for `program`. Only the work has results.
    pub(crate) async fn of<P: Program>(&self, program: P) -> Result<Vec<PhaseResult>> {
        program.check()?;
        let (session, base) = (self.session, self.base);
        match self.stage {
            Stage::Prepare => {
                make_base(session, base).await.map_err(at("prepare", base))?;
                program.prepare(session, base).await?;
                Ok(Vec::new())
            }
            Stage::Work(meter) => program.work(session, base, meter).await,
            Stage::Clean => empty(session, base).await.map_err(at("clean", base)).map(|()| Vec::new()),
        }
    }
}

async fn make_base<F: FileSystem>(session: &Session<'_, F>, base: &str) -> ordo_vfs::Result<()> {
    let dir = session.mkdir_all(base).await?;
    if session.list(&dir).await?.is_empty() { Ok(()) } else { Err(Refusal::NotEmpty.into()) }
}

/// Removes everything below `base`, if that exists.
async fn empty<F: FileSystem>(session: &Session<'_, F>, base: &str) -> ordo_vfs::Result<()> {
    let dir = match session.resolve(base).await {
        Err(ordo_vfs::Error::Refused(Refusal::NotFound)) => return Ok(()),
        other => other?,
    };
    for (name, _) in session.list(&dir).await? {
        session.remove_tree(&join(base, &String::from_utf8_lossy(&name))).await?;
    }
    Ok(())
}
