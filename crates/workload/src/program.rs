//! What a program is, and its three stages.
//!
//! G1. A program is prepared, then works, then is cleaned up after. Only the work is measured, so that several can be
//!     prepared first, measured together and cleaned up last. Stages share nothing but what lies in the file system.
//! G2. A program has its base directory for itself. `prepare` refuses one that holds anything, so that what `clean`
//!     removes, which is all that it finds there, is nobody else's.

use crate::error::{Result, at};
use crate::meter::{Meter, PhaseResult};
use crate::paths::{Session, join};
use crate::registry::{Parameter, Values};
use vfs::{FileSystem, Refusal};

/// A program over any file system.
#[allow(async_fn_in_trait)]
pub trait Program: Sized {
    /// As `ordo bench --workload` names it.
    const NAME: &'static str;
    /// What it does, in one line.
    const WHAT: &'static str;

    /// What can be set, with the defaults.
    fn parameters() -> Vec<Parameter>;

    /// The program with these values for all of its parameters.
    fn new(values: &Values) -> Self;

    /// # Errors
    /// `Unusable` where the parameters contradict each other.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Makes what the work needs in `base`, which is there and empty.
    ///
    /// # Errors
    /// What the file system says.
    async fn prepare<F: FileSystem>(&self, _session: &Session<'_, F>, _base: &str) -> Result<()> {
        Ok(())
    }

    /// What is measured, phase by phase, in the prepared `base`.
    ///
    /// # Errors
    /// What the file system says.
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

/// Which stage of a program is wanted, and where.
pub(crate) struct Errand<'e, 'a, F: FileSystem> {
    pub(crate) stage: Stage<'e>,
    pub(crate) session: &'e Session<'a, F>,
    pub(crate) base: &'e str,
}

impl<F: FileSystem> Errand<'_, '_, F> {
    /// Does it for `program`. Only the work has results.
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

async fn make_base<F: FileSystem>(session: &Session<'_, F>, base: &str) -> vfs::Result<()> {
    let dir = session.mkdir_all(base).await?;
    if session.list(&dir).await?.is_empty() { Ok(()) } else { Err(Refusal::NotEmpty.into()) }
}

/// Removes all that is below `base`, if that is there at all.
async fn empty<F: FileSystem>(session: &Session<'_, F>, base: &str) -> vfs::Result<()> {
    let dir = match session.resolve(base).await {
        Err(vfs::Error::Refused(Refusal::NotFound)) => return Ok(()),
        other => other?,
    };
    for (name, _) in session.list(&dir).await? {
        session.remove_tree(&join(base, &String::from_utf8_lossy(&name))).await?;
    }
    Ok(())
}
