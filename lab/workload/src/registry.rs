//! All programs by name.

use crate::error::{Result, WorkloadError, at};
use crate::meter::{Meter, Phase, PhaseResult, SYNC};
use crate::parameters::{Params, Values, Workload};
use crate::paths::Session;
use crate::program::{Errand, Program, Stage};
use crate::table::Table;
use crate::{
    Andrew, CopyTree, CreateDelete, CreateFiles, CreateRemove, LargeFile, Netnews, Overwrites, Postmark, RemoveFiles,
    RemoveTree, Sdet, Sequential, SmallFiles, Ssh, Tpcb,
};
use ordo_vfs::FileSystem;

macro_rules! programs {
    ($($program:ident)*) => {
        /// All programs, in display order.
        pub fn workloads() -> Vec<Workload> {
            vec![$(described::<$program>()),*]
        }

        async fn dispatch<F: FileSystem>(
            name: &str,
            params: &Params,
            errand: Errand<'_, '_, F>,
        ) -> Result<Vec<PhaseResult>> {
            let values = Values::new(&find(name)?, params)?;
            match name {
                $($program::NAME => errand.of($program::new(&values)).await,)*
                other => Err(WorkloadError::Unknown(other.to_owned())),
            }
        }
    };
}

programs! {
    CreateDelete SmallFiles Sequential LargeFile Overwrites Postmark CopyTree RemoveTree CreateFiles RemoveFiles
    CreateRemove Andrew Sdet Ssh Netnews Tpcb
}

fn described<P: Program>() -> Workload {
    Workload { name: P::NAME, what: P::WHAT, parameters: P::parameters() }
}

/// The program called `name`.
///
/// # Errors
/// `Unknown`.
pub fn find(name: &str) -> Result<Workload> {
    workloads().into_iter().find(|w| w.name == name).ok_or_else(|| WorkloadError::Unknown(name.to_owned()))
}

/// Makes the directory `base` and in it what the program `name` needs for its work.
///
/// # Errors
/// `Unknown`, `UnknownParameter`, `Unusable` before anything is done; `Call` with `NotEmpty` if `base` is not empty;
/// then errors of the file system.
pub async fn prepare<F: FileSystem>(name: &str, session: &Session<'_, F>, base: &str, params: &Params) -> Result<()> {
    dispatch(name, params, Errand { stage: Stage::Prepare, session, base }).await.map(drop)
}

/// Runs the work of the program `name` in the directory `base`, which was prepared with the same parameters. This is
/// what is measured. It can be done once; then `base` must be cleaned.
///
/// # Errors
/// Like [`prepare`].
pub async fn work<F: FileSystem>(
    name: &str,
    session: &Session<'_, F>,
    base: &str,
    params: &Params,
    meter: Meter<'_>,
) -> Result<Vec<PhaseResult>> {
    dispatch(name, params, Errand { stage: Stage::Work(meter), session, base }).await
}

/// Makes everything durable that a work has left in memory, as a phase of its own: [`SYNC`].
///
/// # Errors
/// When the file system cannot write it.
pub async fn sync<F: FileSystem>(session: &Session<'_, F>, meter: Meter<'_>) -> Result<PhaseResult> {
    let phase = Phase::start(SYNC, meter);
    session.fs.syncfs().await.map_err(at("syncfs", "/"))?;
    Ok(phase.end())
}

/// Removes what the program `name` has left in the directory `base`, also after a work that failed. `base` itself
/// stays; it is not an error if it does not exist.
///
/// # Errors
/// Like [`prepare`].
pub async fn clean<F: FileSystem>(name: &str, session: &Session<'_, F>, base: &str, params: &Params) -> Result<()> {
    dispatch(name, params, Errand { stage: Stage::Clean, session, base }).await.map(drop)
}

/// The three stages of the program `name`, one after the other.
///
/// # Errors
/// Like [`prepare`]. What a failed preparation has made stays.
pub async fn run<F: FileSystem>(
    name: &str,
    session: &Session<'_, F>,
    base: &str,
    params: &Params,
    meter: Meter<'_>,
) -> Result<Vec<PhaseResult>> {
    prepare(name, session, base, params).await?;
    let results = work(name, session, base, params, meter).await;
    let cleaned = clean(name, session, base, params).await;
    let results = results?;
    cleaned.map(|()| results)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Reading;
    use crate::tests::Calls;
    use ordo_model::{MemFs, ready};
    use std::cell::Cell;
    use std::time::Duration;

    #[test]
    fn every_program_runs_counts_and_leaves_nothing_behind() {
        let small = |name: &str| match name {
            "create-delete" => "pairs=100",
            "small-files" => "size=9k,files=120",
            "sequential" => "size=1M,transfer=33k",
            "large-file" => "size=1M,unit=33k",
            "overwrites" => "size=1M,count=50",
            "postmark" => "subdirs=3",
            "create-files" | "remove-files" | "create-remove" => "files=30",
            "andrew" | "sdet" | "ssh" => "transfer=4k",
            "netnews" => "scale=500",
            "tpcb" => "accounts=20000,transactions=300,cache=64k,warm=30",
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
    fn only_the_work_is_measured_and_each_stage_finds_what_the_one_before_left() {
        let fs = MemFs::timeless();
        let session = Session::new(&fs);
        let params = Params::parse("files=25,mean=3000").unwrap();
        let names = || {
            let base = ready(session.resolve("base")).unwrap();
            ready(session.list(&base)).unwrap().len()
        };
        ready(prepare("copy-tree", &session, "base", &params)).unwrap();
        assert_eq!(names(), 1);
        let readings = Cell::new(0);
        let meter = || {
            readings.set(readings.get() + 1);
            Reading::default()
        };
        assert_eq!(ready(work("copy-tree", &session, "base", &params, &meter)).unwrap()[0].ops, 25);
        assert_eq!((names(), readings.get()), (2, 2));
        ready(clean("copy-tree", &session, "base", &params)).unwrap();
        assert_eq!(names(), 0);
        ready(clean("copy-tree", &session, "never", &params)).unwrap();
        assert_eq!(fs.lookups(), 0);
    }

    #[test]
    fn a_base_with_something_in_it_is_refused_and_left_alone() {
        let fs = MemFs::timeless();
        let session = Session::new(&fs);
        ready(session.mkdir_all("base/mine")).unwrap();
        let refused = ready(run("create-delete", &session, "base", &Params::default(), &Reading::default));
        assert!(matches!(refused, Err(WorkloadError::Call(_))), "{refused:?}");
        assert!(ready(session.resolve("base/mine")).is_ok());
    }

    #[test]
    fn the_same_seed_makes_the_same_calls_and_another_user_gets_another_seed() {
        for workload in workloads().iter().filter(|workload| workload.parameters.iter().any(|p| p.key == "seed")) {
            let calls = |user| {
                let calls = Calls::of(MemFs::timeless());
                let small = match workload.name {
                    "netnews" => "scale=500",
                    "large-file" => "size=1M",
                    "tpcb" => "accounts=20000,transactions=300,cache=64k",
                    _ => "",
                };
                let params = Params::parse(small).unwrap().for_user(workload, user);
                ready(run(workload.name, &Session::new(&calls), "b", &params, &Reading::default)).unwrap();
                calls.hash()
            };
            assert_eq!(calls(0), calls(0), "{}", workload.name);
            assert_ne!(calls(0), calls(1), "{}", workload.name);
        }
        let rehearsed = |workload| Params::parse("transactions=7,transactions=25").unwrap().for_rehearsal(&workload);
        assert_eq!(
            Values::new(&find("postmark").unwrap(), &rehearsed(find("postmark").unwrap())).unwrap().get("transactions"),
            3
        );
        let seeded = Params::default().with("seed", 7).for_user(&find("sdet").unwrap(), 2);
        assert_eq!(Values::new(&find("sdet").unwrap(), &seeded).unwrap().get("seed"), 9);
        let none = Params::default().for_user(&find("create-files").unwrap(), 2);
        assert_eq!(none, Params::default());
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
