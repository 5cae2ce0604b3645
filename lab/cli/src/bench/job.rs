//! One run of one workload.
//!
//! B1. A run ends with a sync, a phase of its own: a scheme that leaves everything in memory is not the faster for it,
//!     and the total has all that the work has cost. What the preparation has left there is written before the work.

use super::bed::{Bed, Scratch};
use super::fresh::{self, NotHere};
use super::machine::MachineOf;
use crate::out::usage;
use anyhow::Context;
use ordo_cli::fresh::{Fresh, NewSize, wants_log};
use ordo_hostdir::HostDir;
use ordo_papers::{Machine, Shape, Start, together};
use ordo_vfs::FileSystem;
use ordo_workload::{Counts, Meter, Params, PhaseResult, Reading, Row, Session};
use ordofs::rt::Rt;
use ordofs::{LogKind, MountOptions};
use rustix::time::{ClockId, clock_gettime};
use std::path::Path;
use std::time::Duration;

/// A workload, and how to run it.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) workload: String,
    pub(crate) params: Params,
    /// Concurrent programs, each in a directory of its own.
    pub(crate) users: u32,
    /// Of the volume.
    pub(crate) size: NewSize,
    pub(crate) options: MountOptions,
    /// The transaction log of the scheme, if it keeps one, is on a second disk.
    pub(crate) separate_log: bool,
    /// Around a modelled drive.
    pub(crate) machine: MachineOf,
}

impl Job {
    /// Runs it once, on an empty volume or directory; the seed is for a modelled drive.
    ///
    /// # Errors
    /// [`NotHere`] if there can be no volume for its scheme; then those of the run.
    pub(crate) fn run(&self, bed: &Bed, seed: u64) -> anyhow::Result<Vec<Row>> {
        let rt = Rt::real_time();
        let (scheme, phases) = match bed {
            Bed::Ram => self.on_volume(&rt, fresh::in_ram(&rt, self.size, &self.options, self.has_own_log())?)?,
            Bed::File(path) => {
                let scratch = Scratch::new(path)?;
                let log = self.has_own_log().then(|| Scratch::beside(path)).transpose()?;
                let log = log.as_ref().map(|log| &*log.0);
                self.on_volume(&rt, fresh::in_files(&rt, &scratch.0, log, self.size, &self.options)?)?
            }
            Bed::Erase(_) if self.has_own_log() => return Err(usage("log=separate: erase:PLACE has no second disk")),
            Bed::Erase(place) => self.on_volume(&rt, fresh::over(&rt, place, self.size, &self.options)?)?,
            Bed::Dir(path) => self.in_directory(&rt, path)?,
            Bed::Sim(drive) => self.on_model(drive, seed)?,
        };
        Ok(ordo_workload::rows(&scheme, &self.workload, &bed.to_string(), &phases))
    }

    fn has_own_log(&self) -> bool {
        self.separate_log && wants_log(&self.options) == Some(LogKind::Redo)
    }

    /// Runs in virtual time: the same run gives the same rows, to the last digit.
    fn on_model(&self, drive: &str, seed: u64) -> anyhow::Result<(String, Vec<PhaseResult>)> {
        let scheme = self.options.scheme.clone().unwrap_or_else(|| ordofs::DEFAULT_SCHEME.to_owned());
        let machine = self.machine_for(drive, &scheme);
        let outcome = ordo_papers::Run {
            machine: &machine,
            scheme: &scheme,
            settings: self.options.settings.clone(),
            log: if self.separate_log { ordo_papers::LogPlace::Drive } else { ordo_papers::LogPlace::Volume },
            alloc_init: self.options.settings.alloc_init,
            workload: &self.workload,
            params: self.params.clone(),
            users: self.users,
            start: Start::of(&self.workload),
            size: Some(self.size.bytes),
            seed,
            services: false,
            sync: true,
        }
        .run()
        .map_err(modelled)?;
        let mut phases = outcome.users.concat();
        let sync = outcome.sync.clone().context("a run ends with a sync")?;
        if self.users > 1 {
            // Phases of different users overlap.
            let whole = PhaseResult {
                phase: TOGETHER,
                ops: outcome.ops(),
                bytes: phases.iter().map(|phase| phase.bytes).sum(),
                seconds: outcome.elapsed.as_secs_f64(),
                cpu_seconds: outcome.cpu.as_secs_f64() - sync.cpu_seconds,
                own_cpu_seconds: 0.0,
                counts: outcome.counts.since(&sync.counts),
            };
            phases = vec![whole];
        }
        phases.push(sync);
        Ok((scheme, phases))
    }

    /// The machine around a modelled drive, with the volume's blocks, for this scheme.
    fn machine_for(&self, drive: &str, scheme: &str) -> Machine {
        let mut machine = self.machine.machine(drive);
        if let Some((block, frag)) = self.size.block_and_fragment() {
            machine.shape = Shape { block, frag, ..machine.shape };
        }
        match scheme == ordofs::LFS_SCHEME {
            true => machine.over_a_log(),
            false => machine,
        }
    }

    fn on_volume(&self, rt: &Rt, fresh: Fresh) -> anyhow::Result<(String, Vec<PhaseResult>)> {
        let Fresh { mounted, requests } = fresh;
        let meter = || {
            let (disk, cache) = (requests.get(), mounted.cache().stats());
            let counts = Counts {
                disk_reads: disk.reads,
                disk_writes: disk.writes,
                bytes_written: disk.bytes_written,
                rollbacks: cache.rollbacks,
                waits: cache.waits,
                flushes: disk.flushes,
                scheme: mounted.cache().capabilities().counters().into_iter().collect(),
                cleaning: ordo_papers::cleaning(&mounted),
            };
            reading(rt, counts)
        };
        let phases = rt.block_on(self.work(&**mounted.fs(), "bench", &meter));
        let degraded = mounted.degraded();
        rt.block_on(mounted.unmount()).context("the volume could not be written back")?;
        if let Some(why) = degraded {
            anyhow::bail!("the volume turned read-only: {why}");
        }
        let scheme = self.options.scheme.clone().unwrap_or_else(|| ordofs::DEFAULT_SCHEME.to_owned());
        Ok((scheme, phases?))
    }

    fn in_directory(&self, rt: &Rt, path: &Path) -> anyhow::Result<(String, Vec<PhaseResult>)> {
        let shown = || path.display().to_string();
        let fs = HostDir::open(path).with_context(shown)?;
        let base = format!("ordo-bench-{}", std::process::id());
        let meter = || reading(rt, Counts::default());
        let phases = rt.block_on(self.work(&fs, &base, &meter));
        // Removes what a failed program has left.
        let removed = rt.block_on(Session::new(&fs).remove_tree(&base));
        let phases = phases?;
        removed.with_context(shown)?;
        Ok((file_system(path), phases))
    }

    async fn work<F: FileSystem>(&self, fs: &F, base: &str, meter: Meter<'_>) -> anyhow::Result<Vec<PhaseResult>> {
        let session = Session::new(fs);
        let name = &self.workload;
        let workload = ordo_workload::find(name).map_err(workload_error)?;
        let users: Vec<_> = match self.users {
            1 => vec![(base.to_owned(), self.params.clone())],
            many => (0..many).map(|no| (format!("{base}/{no}"), self.params.for_user(&workload, no.into()))).collect(),
        };
        for (base, params) in &users {
            ordo_workload::prepare(name, &session, base, params).await.map_err(workload_error)?;
        }
        ordo_workload::sync(&session, meter).await.map_err(workload_error)?;
        let start = meter();
        let work = users.iter().map(|(base, params)| ordo_workload::work(name, &session, base, params, meter));
        let results = together(work).await;
        let end = meter();
        let sync = ordo_workload::sync(&session, meter).await;
        for (base, params) in &users {
            ordo_workload::clean(name, &session, base, params).await.map_err(workload_error)?;
        }
        let mut all = Vec::new();
        for phases in results {
            all.extend(phases.map_err(workload_error)?);
        }
        if self.users > 1 {
            all = vec![whole(&all, start, end)];
        }
        all.push(sync.map_err(workload_error)?);
        Ok(all)
    }
}

fn modelled(error: ordo_papers::LabError) -> anyhow::Error {
    match error {
        ordo_papers::LabError::Workload(error) => workload_error(error),
        error @ (ordo_papers::LabError::Volume(_) | ordo_papers::LabError::Tune(_)) => {
            NotHere::because(&error.into()).into()
        }
        other => other.into(),
    }
}

/// Converts to wrong usage what the user can correct.
fn workload_error(error: ordo_workload::WorkloadError) -> anyhow::Error {
    match error {
        ordo_workload::WorkloadError::Call(_) => error.into(),
        other => usage(other.to_string()),
    }
}

/// The phase in which several users work together: those of different users overlap.
const TOGETHER: &str = "all users";

/// The work of several users, with the common elapsed time and cost.
fn whole(phases: &[PhaseResult], start: Reading, end: Reading) -> PhaseResult {
    PhaseResult {
        phase: TOGETHER,
        ops: phases.iter().map(|phase| phase.ops).sum(),
        bytes: phases.iter().map(|phase| phase.bytes).sum(),
        seconds: end.elapsed.saturating_sub(start.elapsed).as_secs_f64(),
        cpu_seconds: end.cpu.saturating_sub(start.cpu).as_secs_f64(),
        own_cpu_seconds: 0.0,
        counts: end.counts.since(&start.counts),
    }
}

fn reading(rt: &Rt, counts: Counts) -> Reading {
    let cpu = clock_gettime(ClockId::ProcessCPUTime);
    let cpu = Duration::new(cpu.tv_sec as u64, cpu.tv_nsec as u32);
    Reading { elapsed: rt.now().since(ordofs::rt::Time::ZERO), cpu, own_cpu: Duration::ZERO, counts }
}

/// The type of the file system that a directory is on.
fn file_system(path: &Path) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mounts = ordo_fuse::mount::table::mounts().unwrap_or_default();
    let above = mounts.into_iter().filter(|mount| path.starts_with(&mount.dir));
    // Of two mounts on one directory the later one is on top.
    above.max_by_key(|mount| mount.dir.components().count()).map_or_else(|| "unknown".to_owned(), |mount| mount.kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(users: u32) -> Job {
        let params = Params::parse("pairs=50").unwrap();
        let options = MountOptions { scheme: Some("async".into()), ..MountOptions::default() };
        let (workload, machine) = ("create-delete".to_owned(), MachineOf::Today);
        Job { workload, params, users, size: NewSize::of(16 << 20), options, separate_log: false, machine }
    }

    #[test]
    fn a_volume_in_memory_and_a_directory_run_the_same_program() {
        let rows = job(1).run(&Bed::Ram, 1).unwrap();
        assert_eq!((rows.len(), rows[0].ops, rows[0].scheme.as_str()), (3, 50, "async"));
        assert!(rows[0].seconds > 0.0 && rows[0].rate > 0.0);
        let dir = tempfile::tempdir().unwrap();
        let rows = job(1).run(&Bed::Dir(dir.path().to_owned()), 1).unwrap();
        assert_eq!((rows.len(), rows[0].ops, rows[0].disk_writes), (3, 50, 0));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_row_shows_what_the_scheme_has_counted_and_how_often_the_disk_flushed() {
        let run = |scheme: &str| {
            let options = MountOptions { scheme: Some(scheme.into()), ..MountOptions::default() };
            Job { options, ..job(1) }.run(&Bed::Ram, 1).unwrap().remove(0)
        };
        let (soft, sync) = (run("softupdates"), run("sync"));
        assert!(soft.scheme_counters["cancelled"] >= 50, "{soft:?}");
        assert!(sync.scheme_counters.is_empty() && sync.waits > 0, "{sync:?}");
    }

    /// The files stay: what the schemes that delay their writes owe when the work ends is in the sync, and the total
    /// has it. In memory and on a modelled drive, for one user and for several.
    #[test]
    fn whatever_is_delayed_is_written_by_the_sync_and_counted_in_the_total() {
        for (bed, scheme, users) in [("ram", "softupdates", 1), ("ram", "async", 3), ("sim:hp_c2447", "softupdates", 1)]
            .into_iter()
            .chain([("sim:hp_c2447", "suj", 2), ("sim:hp_c2447", "async", 1)])
        {
            let params = Params::parse("files=40").unwrap();
            let options = MountOptions { scheme: Some(scheme.into()), ..MountOptions::default() };
            let size = NewSize::of(256 << 20);
            let job = Job { workload: "create-files".into(), params, options, users, size, ..job(1) };
            let rows = job.run(&bed.parse().unwrap(), 1).unwrap();
            let [work, sync, total] = &rows[..] else { panic!("{rows:?}") };
            assert_eq!((work.ops, sync.ops, total.ops), (40 * u64::from(users), 0, 40 * u64::from(users)));
            assert!(sync.disk_writes > 0 && sync.bytes_written > 0 && sync.seconds > 0.0, "{bed} {scheme}: {sync:?}");
            let sum = (work.disk_writes + sync.disk_writes, work.bytes_written + sync.bytes_written);
            assert_eq!((total.disk_writes, total.bytes_written), sum, "{bed} {scheme}");
            assert!(total.seconds > work.seconds && total.rate < work.rate, "{bed} {scheme}: {total:?}");
        }
    }

    #[test]
    fn a_scheme_without_a_place_on_a_drive_is_known_by_its_error() {
        let options = MountOptions { scheme: Some("active".into()), ..MountOptions::default() };
        let job = Job { options, size: NewSize::of(1 << 30), machine: MachineOf::Of1994, ..job(1) };
        let why = job.run(&"sim:hp_c2447".parse().unwrap(), 1).unwrap_err();
        assert!(why.is::<NotHere>() && why.to_string().contains("pieces of"), "{why}");
        // What the work does wrong is no such reason.
        let full = Job { params: Params::parse("pairs=0").unwrap(), workload: "no".into(), ..job };
        assert!(!full.run(&Bed::Ram, 1).unwrap_err().is::<NotHere>());
    }

    #[test]
    fn users_together_do_the_work_of_each() {
        let rows = job(3).run(&Bed::Ram, 1).unwrap();
        let told: Vec<_> = rows.iter().map(|row| (row.phase.as_str(), row.ops)).collect();
        assert_eq!(told, [("all users", 150), ("sync", 0), ("total", 150)]);
    }

    #[test]
    fn a_modelled_drive_gives_the_same_rows_each_time_and_others_with_another_run() {
        let job = Job { size: NewSize::of(1 << 30), machine: MachineOf::Of1994, ..job(2) };
        let bed: Bed = "sim:hp_c2447".parse().unwrap();
        let rows = job.run(&bed, 1).unwrap();
        assert_eq!(rows, job.run(&bed, 1).unwrap());
        assert_eq!((rows.len(), rows[0].phase.as_str(), rows[0].ops), (3, "all users", 100));
        assert_ne!(rows[0].seconds, job.run(&bed, 2).unwrap()[0].seconds);
        assert!("sim:nothing".parse::<Bed>().is_err());
    }

    #[test]
    fn a_drive_brings_the_machine_that_it_belongs_to() {
        for (machine, own) in [
            (Machine::of_1994(), MachineOf::Of1994),
            (Machine::of_1995(), MachineOf::Of1995),
            (Machine::of_2000(), MachineOf::Of2000),
        ] {
            assert_eq!(MachineOf::with_drive(&machine.drive), own);
            assert_eq!(own.machine("ibm_18es").drive, "ibm_18es");
        }
        assert_eq!(MachineOf::with_drive("ibm_18es"), MachineOf::Today);
        let job = Job { size: NewSize::of(1 << 30), machine: MachineOf::Of2000, ..job(1) };
        let row = job.run(&"sim:seagate_cheetah_9gb_2000".parse().unwrap(), 1).unwrap().remove(0);
        // Half of each pair is a create, at 40 microseconds of this machine's CPU with its call.
        assert!(row.ops == 50 && row.cpu_seconds > 0.002, "{row:?}");
    }

    #[test]
    fn a_log_on_the_machine_of_1995_is_written_when_115_blocks_are_dirty_and_another_machine_has_no_such_rule() {
        let of = |machine, scheme: &str, bsize| {
            let size = NewSize { block: bsize, ..NewSize::of(1 << 30) };
            Job { machine, size, ..job(1) }.machine_for("dec_dsp3105", scheme)
        };
        for (bsize, block) in [(None, 8192), (Some(4096), 4096)] {
            let log = of(MachineOf::Of1995, "lfs", bsize);
            let counts = log.policy.counts.expect("that system counts");
            // More than 114.
            assert_eq!((counts.high, counts.low, counts.most_dirty, counts.segments), (114, 0, 228, true));
            assert_eq!(
                (log.shape.block, log.policy.cluster, log.memory),
                (block, 0, 500 * block as usize + (256 << 10))
            );
            assert_eq!(of(MachineOf::Of1995, "sync", bsize).policy, Machine::of_1995().policy);
        }
        for machine in [MachineOf::Of1994, MachineOf::Of2000, MachineOf::Today] {
            assert_eq!(of(machine, "lfs", None), machine.machine("dec_dsp3105"));
        }
        // One transaction dirties one page: the log is written once for some hundred of them.
        let row = |machine| {
            let params = Params::parse("accounts=300000,cache=64k,transactions=1150,warm=300").unwrap();
            let options = MountOptions { scheme: Some("lfs".into()), ..MountOptions::default() };
            let size = NewSize { block: Some(4096), ..NewSize::of(256 << 20) };
            let job = Job { workload: "tpcb".into(), params, machine, size, options, ..job(1) };
            job.run(&"sim:dec_dsp3105".parse().unwrap(), 1).unwrap().remove(0)
        };
        let row = row(MachineOf::Of1995);
        let kib = row.bytes_written as f64 / 1024.0 / 10.0;
        assert!((450.0..1100.0).contains(&kib), "the paper has 700 KB for 115 transactions, and here: {kib}");
    }

    #[test]
    fn a_file_is_made_for_the_run_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("v.img");
        assert_eq!(job(1).run(&Bed::File(path.clone()), 1).unwrap()[0].ops, 50);
        assert!(!path.exists());
    }

    #[test]
    fn a_log_on_a_second_disk_leaves_the_volume_without_one() {
        let run = |bed: &Bed, scheme: &str, separate_log| {
            let options = MountOptions { scheme: Some(scheme.into()), ..MountOptions::default() };
            Job { options, separate_log, ..job(1) }.run(bed, 1).unwrap().remove(0)
        };
        let dir = tempfile::tempdir().unwrap();
        let (path, log) = (dir.path().join("v.img"), dir.path().join("v.img.log"));
        for bed in [Bed::Ram, Bed::File(path.clone()), "sim:hp_c2447".parse().unwrap()] {
            let row = run(&bed, "wafs", true);
            assert_eq!((row.ops, row.scheme.as_str()), (50, "wafs"));
            // The program waits for the log, so the log was written.
            assert!(row.disk_writes >= 50 && row.scheme_counters["log_bytes"] > 0, "{bed}: {row:?}");
            assert_eq!(run(&bed, "sync", true).ops, 50, "{bed}: no log, nothing apart");
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "both files are removed");
        std::fs::write(&log, "mine").unwrap();
        let options = MountOptions { scheme: Some("wafs".into()), ..MountOptions::default() };
        let refused = Job { options, separate_log: true, ..job(1) }.run(&Bed::File(path), 1).unwrap_err();
        assert!(refused.to_string().contains("v.img.log"), "{refused}");
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "mine");
    }

    #[test]
    fn an_unknown_workload_is_wrong_usage() {
        let job = Job { workload: "no".into(), ..job(1) };
        assert!(job.run(&Bed::Ram, 1).unwrap_err().is::<crate::out::Usage>());
    }
}
