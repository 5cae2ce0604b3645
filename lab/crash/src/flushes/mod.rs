//! Counts what a disk gets for a promise: the writes and flushes of a change and of the fsync or sync after it.
//!
//! F1. What is counted is what reaches the disk, after merging. It begins with the change, so that a scheme whose calls
//!     are durable on return is charged for them, and ends when the last call returns: what is written later was not
//!     needed.
//! F2. The volume is quiet: everything before was made durable, and the syncer has nothing to do.
//! F3. The same subject and seed give the same counts: time is virtual, and random choices follow from the seed.

mod cases;
mod needs;
mod requests;
#[cfg(test)]
mod tests;

pub use cases::{CASES, Case};
pub use requests::{Cost, Requests};

use crate::bed::Bed;
use crate::{Error, Subject};
use ordo_rt::{Rt, together};
use ordo_simdisk::Recorder;
use ordo_vfs::Caller;
use ordo_workload::random::{Op, Outcome, Player};
use ordofs::{LayoutName, Mounted};
use std::time::Duration;

/// After so long the syncer of the papers has written everything, and a journal has reclaimed its log.
const QUIET: Duration = Duration::from_secs(40);

/// Time for the work that a sync leaves to the next tick.
const TICK: Duration = Duration::from_millis(1100);

/// Runs a case on a subject.
///
/// # Errors
/// There is no such scheme; a call fails.
pub fn requests(subject: &Subject, seed: u64, case: &Case) -> Result<Requests, Error> {
    let bed = Bed::new(subject, seed, false)?;
    let (rt, recorder) = (bed.rt.clone(), bed.recorder.clone());
    bed.run(subject.order()?, |mounted| Run { rt: &rt, mounted, recorder: &recorder }.all(case))
}

/// The requests that the order of a subject's scheme needs for a case; `None` if nobody has worked that out.
pub fn needed(subject: &Subject, case: &Case) -> Option<Requests> {
    let scheme = if subject.layout() == LayoutName::Lfs { "lfs" } else { &subject.scheme };
    needs::of(scheme, &subject.settings, case.name)
}

struct Run<'a> {
    rt: &'a Rt,
    mounted: &'a Mounted,
    recorder: &'a Recorder,
}

impl Run<'_> {
    fn all(&self, case: &Case) -> Result<Requests, Error> {
        self.play(case.before)?;
        self.quiet()?;
        // The first fsync after a mount does not know what is durable.
        self.play(case.once)?;
        self.quiet()?;
        self.recorder.take();
        let callers = case.callers.iter().map(|lines| play(self.mounted, lines));
        self.rt.block_on(together(callers)).into_iter().collect::<Result<(), Error>>()?;
        Ok(Requests::of(&self.recorder.take()))
    }

    fn play(&self, lines: &[&str]) -> Result<(), Error> {
        self.rt.block_on(play(self.mounted, lines))
    }

    /// F2.
    fn quiet(&self) -> Result<(), Error> {
        for pause in [QUIET, TICK] {
            self.play(&["sync"])?;
            self.rt.block_on(self.rt.sleep(pause));
        }
        Ok(())
    }
}

async fn play(mounted: &Mounted, lines: &[&str]) -> Result<(), Error> {
    let mut player = Player::new(&**mounted.fs(), Caller { privileged: true, ..Caller::default() });
    for line in lines {
        let op: Op = line.parse().map_err(|why| Error::Run(format!("{line}: {why}")))?;
        let refused = match player.apply(&op).await {
            Outcome::Refused(why) => format!("{why:?}"),
            Outcome::Failed(why) => why.to_string(),
            Outcome::Skipped => "it means nothing here".to_owned(),
            _ => continue,
        };
        return Err(Error::Run(format!("{line}: {refused}")));
    }
    Ok(())
}
