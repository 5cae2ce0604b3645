//! Volumes on which everything that a run needs was prepared, for the many runs that begin with the same.
//!
//! V1. A prepared volume is a function of its [`Preparation`]. It is made in memory, where nothing takes time, by one
//!     scheme and from one seed, whatever the runs have; so runs that differ in their scheme find every file at the
//!     same place.
//! V2. It was unmounted cleanly. A run begins with a copy, and changes only that.

use std::rc::Rc;

use ordo_simdisk::SimDisk;
use ordo_workload::{Params, Session};
use ordofs::disk::{Disk, Frozen, RamDisk};
use ordofs::rt::Rt;
use ordofs::{LogKind, MountOptions, Mounted, Tuning, locate_on};

use crate::error::{LabError, Result};
use crate::machine::Machine;

/// The scheme that writes least, and what is unmounted under it is whole.
const SCHEME: &str = "async";
/// The seed of random numbers in it.
const SEED: u64 = 1;

/// What is prepared, and on which machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Preparation {
    pub(crate) machine: Machine,
    /// Bytes of the volume; `None` for the machine's.
    pub(crate) size: Option<u64>,
    /// The log in a file of the volume.
    pub(crate) log: Option<LogKind>,
    pub(crate) workload: String,
    pub(crate) params: Params,
    pub(crate) users: u32,
}

/// A prepared volume.
pub(crate) struct Prepared {
    contents: Frozen,
    /// What the workload needs is on it, too.
    pub(crate) has_work: bool,
}

impl Preparation {
    /// Prepares a volume.
    ///
    /// # Errors
    /// Unknown or impossible parameters, before anything is done; then errors of the file system.
    pub(crate) fn make(&self) -> Result<Prepared> {
        let rt = Rt::virtual_time(SEED);
        // The contents of the drive without its time.
        let drive = SimDisk::tagged(&rt, self.machine.profile()?, self.machine.tags);
        let disk = drive.contents().clone().volatile(false).with(|info| {
            info.immediate = true;
            info.times_only = !self.machine.keeps_contents;
        });
        let outcome = self.on(&rt, &disk);
        // Tasks hold the executor, and through it the cache.
        rt.drop_tasks();
        outcome.map(|()| Prepared { contents: disk.frozen(), has_work: true })
    }

    fn on(&self, rt: &Rt, ram: &RamDisk) -> Result<()> {
        let users = users(&self.workload, &self.params, self.users)?;
        let disk: Rc<dyn Disk> = Rc::new(ram.clone());
        let size = self.machine.volume_size(self.size, disk.info().size);
        self.machine.make(size).create_on(rt, disk.clone(), true)?;
        if let Some(kind) = self.log {
            Tuning::for_log(kind).apply_on(rt, disk.clone())?;
        }
        let options = MountOptions {
            scheme: Some(SCHEME.to_owned()),
            cache: self.machine.memory,
            policy: self.machine.policy,
            ..MountOptions::default()
        };
        let mounted = rt.block_on(Mounted::mount(rt, locate_on(rt, disk)?, &options))?;
        rt.block_on(async {
            let session = Session::new(&**mounted.fs());
            // One user after the other: the files of each are then close together, as after long use.
            for (base, params) in &users {
                ordo_workload::prepare(&self.workload, &session, base, params).await?;
            }
            Ok::<_, LabError>(())
        })?;
        Ok(rt.block_on(mounted.unmount())?)
    }
}

impl Prepared {
    /// A volume on which the workload has to prepare what it needs.
    pub(crate) fn without_work(contents: Frozen) -> Prepared {
        Prepared { contents, has_work: false }
    }

    /// Puts it on a drive that has just been switched on.
    pub(crate) fn put_on(&self, drive: &SimDisk) {
        drive.contents().begin_with(&self.contents);
    }
}

/// The directory and the parameters of each user of a program.
pub(crate) fn users(workload: &str, params: &Params, users: u32) -> Result<Vec<(String, Params)>> {
    let program = ordo_workload::find(workload)?;
    Ok((0..users).map(|user| (format!("u{user}"), params.for_user(&program, user.into()))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LogPlace, Outcome, Run, Start};
    use ordofs::schemes::{self, Settings};

    fn run<'a>(machine: &'a Machine, scheme: &'a str, seed: u64) -> Run<'a> {
        Run {
            machine,
            scheme,
            settings: Settings::default(),
            log: LogPlace::Volume,
            alloc_init: None,
            workload: "small-files",
            params: Params::parse("files=30,size=3000,per_dir=10,first=3").unwrap(),
            users: 2,
            start: Start::Cold,
            size: Some(128 << 20),
            seed,
            services: true,
            sync: false,
        }
    }

    /// All that an outcome has.
    fn shown(outcome: &Outcome) -> String {
        format!("{outcome:?}")
    }

    #[test]
    fn each_scheme_runs_on_what_was_prepared_and_as_if_it_had_made_that_itself() {
        let machine = Machine::today("seagate_cheetah_9gb_2000");
        for known in schemes::ALL {
            let run = run(&machine, known.name, 1);
            let outcome = run.run().unwrap_or_else(|why| panic!("{}: {why}", known.name));
            assert_eq!(outcome.ops(), 60, "{}", known.name);
            let prepared = run.preparation().unwrap().make().unwrap();
            // The first leaves nothing on it for the second.
            for _ in 0..2 {
                assert_eq!(shown(&run.run_on(Some(&prepared)).unwrap()), shown(&outcome), "{}", known.name);
            }
        }
    }

    #[test]
    fn what_is_prepared_depends_neither_on_the_seed_nor_on_a_scheme_without_a_log() {
        let machine = Machine::of_1994();
        let of = |scheme, seed| run(&machine, scheme, seed).preparation();
        assert_eq!(of("async", 1), of("softupdates", 2));
        assert_ne!(of("async", 1), of("wafs", 1));
        assert_eq!(of("wafs", 1), of("journal-file", 1));
        let apart = Run { log: LogPlace::Drive, ..run(&machine, "wafs", 1) };
        assert_eq!(of("async", 1), apart.preparation());
        let larger = Run { size: None, ..run(&machine, "async", 1) };
        assert_ne!(of("async", 1), larger.preparation());
        let warm = Run { start: Start::Warm, ..run(&machine, "async", 1) };
        assert_eq!((warm.preparation(), of(ordofs::LFS_SCHEME, 1)), (None, None));
    }
}
