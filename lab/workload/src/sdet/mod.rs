//! Users of a machine for software development, after SPEC SDM's 057.sdet (1991).
//!
//! What is known of the original (SPEC's descriptions of the suite; S. Gaede, "Perspectives on the SPEC SDET
//! Benchmark", 1999): each user has a home with a copy of the same small tree, and one script of short commands; all
//! users have the same commands, each equally often, but subtasks come in a random order; the file systems for
//! temporary files are busy; the result is scripts per hour. Among the commands that are measured are cat, cc, cd, cp,
//! cpio, date, diff, echo, ed, find, grep, ls, make, mkdir, mv, nroff, pr, ps, rm, spell, touch, wc and who. The suite
//! is not freely available.
//!
//! What is reconstructed: the mix ([`mix`]: 150 commands in subtasks that can come in any order), the files (8 sources
//! of 3 KB, 4 headers of 2 KB, 6 documents of 6 KB), each command's file operations ([`user`]), and its computing.
//! Temporary files are in the user's own home, not in a shared directory. Commands that touch no file are processes and
//! nothing else; programs, libraries and manuals are not read.
//!
//! D1. A script has the same commands for every seed; the seed orders the subtasks. Give each user another seed
//!     ([`Params::for_user`](crate::Params::for_user)).
//!
//! A process, a look and a byte cost the same as in `andrew`, which took them from the same machine. The other times
//! are short, as SPEC says: 200 ms to compile, 100 ms to link, to format and to check the spelling.
//!
//! | a script | computed by the programs |
//! | --- | --- |
//! | 150 commands, which start 75 more processes (7 a cc, 12 a make, 3 a spell) | 6.1 s |
//! | 210 looks, 396,000 bytes | 0.9 s |
//! | 10 compilations, 8 links, 4 nroff, 3 spell | 3.5 s |
//!
//! It creates and removes 130 files and 5 directories. With two ordered writes for each file created and each removed,
//! at the paper's 17.4 ms a request, the conventional scheme waits 9 s for them: about as long as the processor works.
//! "No Order" being 50 to 70 percent ahead of "Conventional" requires that (Ganger and Patt, OSDI 1994, section 5.4).
//! On the modelled machine it was not enough; `ordo paper mup1994` uses shorter commands (`docs/papers/mup1994.md`).

mod mix;
mod setting;
mod user;

pub use setting::Sdet;

use crate::error::{Result, at};
use crate::meter::{Meter, Phase, PhaseResult};
use crate::paths::Session;
use crate::program::Program;
use mix::{MIX, Subtask};
use ordo_rt::Rng;
use ordo_vfs::FileSystem;
use user::User;

/// The subtasks of a script in a new random order.
fn script(rng: &mut Rng) -> Vec<&'static Subtask> {
    let mut subtasks: Vec<_> = MIX.iter().flat_map(|subtask| std::iter::repeat_n(subtask, subtask.times)).collect();
    rng.shuffle(&mut subtasks);
    subtasks
}

impl Program for Sdet {
    const NAME: &'static str = "sdet";
    const WHAT: &'static str = "a user's script of short commands in a random order (SPEC SDM, reconstructed)";

    fn check(&self) -> Result<()> {
        Self::must((1..=1 << 30).contains(&self.transfer), "transfer must be between 1 and 1G")
    }

    /// Makes the user's home.
    async fn prepare<F: FileSystem>(&self, session: &Session<'_, F>, base: &str) -> Result<()> {
        user::make_home(session, base).await.map_err(at("write", base))
    }

    /// The unit is the script.
    async fn work<F: FileSystem>(
        &self,
        session: &Session<'_, F>,
        base: &str,
        meter: Meter<'_>,
    ) -> Result<Vec<PhaseResult>> {
        let user = User::new(self, session, base).await.map_err(at("lookup", base))?;
        let mut rng = Rng::new(self.seed);
        let mut phase = Phase::start("scripts", meter);
        for _ in 0..self.scripts {
            let mut moved = 0;
            for command in script(&mut rng).into_iter().flat_map(|subtask| subtask.commands) {
                moved += user.give(*command).await.map_err(at("sdet", &format!("{command:?}")))?;
            }
            phase.done(moved);
        }
        Ok(vec![phase.end()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compute::tests::Sum;
    use crate::meter::Reading;
    use crate::tests::Calls;
    use ordo_model::{MemFs, ready};
    use std::collections::BTreeSet;
    use std::time::Duration;

    fn names(session: &Session<'_, Calls<MemFs>>) -> Vec<String> {
        let mut names = Vec::new();
        ready(session.walk("b", |path, _| names.push(path.to_owned()))).unwrap();
        names
    }

    /// The makes, removals and compute time of a script.
    fn run(seed: u64) -> ([u64; 6], Duration, u64) {
        let (calls, sum) = (Calls::of(MemFs::timeless()), Sum::default());
        let session = Session::with_compute(&calls, &sum);
        let program = Sdet { seed, ..Sdet::default() };
        ready(session.mkdir_all("b")).unwrap();
        ready(program.prepare(&session, "b")).unwrap();
        let before = names(&session);
        calls.reset();
        let results = ready(program.work(&session, "b", &Reading::default)).unwrap();
        assert_eq!((results[0].phase, results[0].ops), ("scripts", 1));
        let counts = ["mknod", "unlink", "mkdir", "rmdir", "rename", "setattr"].map(|call| calls.count(call));
        let hash = calls.hash();
        assert_eq!(names(&session), before, "a script leaves what it found");
        (counts, sum.0.get(), hash)
    }

    #[test]
    fn every_order_does_the_same_work_and_another_seed_gives_another_order() {
        let runs: Vec<_> = (1..=5).map(run).collect();
        assert!(runs.iter().all(|(counts, computed, _)| (counts, computed) == (&runs[0].0, &runs[0].1)), "{runs:?}");
        let orders: BTreeSet<_> = runs.iter().map(|(.., hash)| hash).collect();
        assert_eq!(orders.len(), 5);
        assert_eq!(run(1), runs[0]);
    }

    #[test]
    fn a_script_makes_and_computes_as_documented() {
        let (counts, computed, _) = run(42);
        // ed truncates 8 existing files by creating them; touch sets two times.
        let (files, edits, dirs, renames) = (130, 8, 5, 5);
        assert_eq!(counts, [files + edits, files, dirs, dirs, renames, edits + 2]);
        let wanted = Duration::from_millis(27) * (150 + 6 * 7 + 2 * 12 + 3 * 3)
            + Duration::from_micros(3500) * 210
            + Duration::from_nanos(300) * 396_000
            + Duration::from_millis(200) * (6 + 2 * 2)
            + Duration::from_millis(100) * (6 + 2 + 4 + 3);
        assert!(computed.abs_diff(wanted) < Duration::from_micros(1), "{computed:?} {wanted:?}");
        assert_eq!(wanted.as_millis(), 10_428);
    }
}
