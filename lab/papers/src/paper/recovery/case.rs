//! One power cut on a modelled machine, and how long it takes until the volume can be used again.
//!
//! V1. The clock is that of the drive's model: reading and writing take time, computing takes none.
//! V2. The cut leaves what the drive has completed. What was in its cache without a flush is lost.
//! V3. Both ways of recovery begin with the same bytes: the scheme's own, and `fsck -y` of the whole volume.

use std::rc::Rc;
use std::time::Duration;

use ordo_fsck::{Mode, Options};
use ordo_simdisk::SimDisk;
use ordo_vfs::Caller;
use ordo_workload::random::{Outcome, Player};
use ordo_workload::script::Script;
use ordofs::disk::{Disk, RamDisk};
use ordofs::rt::Rt;
use ordofs::schemes::{DataMode, Settings};
use ordofs::{AllocInit, JournalChange, LayoutName, LogKind, MountOptions, Mounted, Tuning, locate_on, schemes};

use crate::error::{LabError, Result};
use crate::machine::Machine;

/// The seed of all runs.
pub(super) const SEED: u64 = 1;

/// Files per MiB of a volume, and their size in bytes.
const FILES_PER_MIB: u64 = 2;
const FILE: u64 = 8192;
/// Files in a directory.
const TOGETHER: u64 = 50;
/// Pause between the calls of the program that is interrupted.
const PAUSE: Duration = Duration::from_millis(5);
/// Size of the pieces in which contents are copied, in bytes; pieces of zeroes are skipped.
const CHUNK: usize = 1 << 20;

/// A power cut.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Case {
    /// The scheme's name.
    pub(super) scheme: &'static str,
    /// Bytes of the volume.
    pub(super) size: u64,
    /// Size of the log in bytes; `None` for the default of `ordo tune`.
    pub(super) log: Option<u64>,
    /// Time from the mount, when nothing was left to be written, to the cut.
    pub(super) since: Duration,
}

/// The durations.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Took {
    /// Until the volume is mounted for writing, in the scheme's own way: after fsck, after a replay, or at once.
    /// Seconds.
    pub(super) usable: f64,
    /// From then on, until everything that the cut had left allocated is free. Seconds.
    pub(super) background: f64,
    /// `fsck -y` of the whole volume, which replays a log and scans it all the same. Seconds.
    pub(super) scan: f64,
}

impl Case {
    /// Runs it.
    ///
    /// # Errors
    /// The volume cannot be made, a call fails, or recovery does not lead to a writable volume.
    pub(super) fn run(&self, machine: &Machine) -> Result<Took> {
        let cut = self.cut(machine)?;
        let (usable, background) = self.own_way(machine, &cut)?;
        Ok(Took { usable, background, scan: self.scan(machine, &cut)? })
    }

    /// The contents of the drive when the power went.
    fn cut(&self, machine: &Machine) -> Result<RamDisk> {
        let rt = Rt::virtual_time(SEED);
        let drive = SimDisk::tagged(&rt, machine.profile()?, machine.tags);
        let disk: Rc<dyn Disk> = Rc::new(drive.clone());
        machine.make(self.size).create_on(&rt, disk.clone(), true)?;
        self.fill(&rt, machine, &disk)?;
        match self.wants_log() {
            Some(LogKind::Redo) => {
                Tuning { log: Some(JournalChange::On(self.log)), ..Tuning::default() }.apply_on(&rt, disk.clone())?;
            }
            Some(LogKind::Active) => {
                Tuning { active: Some(JournalChange::On(self.log)), ..Tuning::default() }
                    .apply_on(&rt, disk.clone())?;
            }
            Some(LogKind::Intents) => {
                Tuning { journal: Some(JournalChange::On(self.log)), ..Tuning::default() }
                    .apply_on(&rt, disk.clone())?;
            }
            None => {}
        }
        let mounted = self.mount(&rt, machine, &disk, self.scheme)?;
        let worked = rt.block_on(self.work(&rt, &mounted));
        let cut = drive.contents().snapshot();
        cut.power_cut();
        // The mount that goes on is ended in order; its result is not used.
        let unmounted = rt.block_on(mounted.unmount());
        rt.drop_tasks();
        worked?;
        unmounted?;
        Ok(cut)
    }

    fn wants_log(&self) -> Option<LogKind> {
        schemes::by_name(self.scheme).and_then(schemes::Known::wants_log)
    }

    /// Fills the volume, without ordering, and syncs it.
    fn fill(&self, rt: &Rt, machine: &Machine, disk: &Rc<dyn Disk>) -> Result<()> {
        let mounted = self.mount(rt, machine, disk, "async")?;
        let files = (self.size >> 20) * FILES_PER_MIB;
        let filled = rt.block_on(async {
            let mut player = player(&mounted);
            for number in 0..files {
                let dir = number / TOGETHER;
                if number.is_multiple_of(TOGETHER) {
                    play(&mut player, &format!("mkdir d{dir}")).await?;
                }
                play(&mut player, &format!("create d{dir}/f{number}\nwrite d{dir}/f{number} 0 {FILE}")).await?;
            }
            Ok(())
        });
        let unmounted = rt.block_on(mounted.unmount());
        rt.drop_tasks();
        unmounted?;
        filled
    }

    /// Creates files, and removes one for every three, until the power goes.
    async fn work(&self, rt: &Rt, mounted: &Mounted) -> Result<()> {
        let (mut player, end) = (player(mounted), rt.now() + self.since);
        let mut number = 0u64;
        while rt.now() < end {
            let dir = number / TOGETHER;
            if number.is_multiple_of(TOGETHER) {
                play(&mut player, &format!("mkdir w{dir}")).await?;
            }
            play(&mut player, &format!("create w{dir}/f{number}\nwrite w{dir}/f{number} 0 1024")).await?;
            if number % TOGETHER % 3 == 2 {
                // An old file, as long as there are any; then one of its own directory.
                let old = number / 3;
                let goes = match old < (self.size >> 20) * FILES_PER_MIB {
                    true => format!("unlink d{}/f{old}", old / TOGETHER),
                    false => format!("unlink w{dir}/f{}", number - 1),
                };
                play(&mut player, &goes).await?;
            }
            number += 1;
            rt.sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Seconds until the volume is writable, and until nothing is left to be reclaimed.
    fn own_way(&self, machine: &Machine, cut: &RamDisk) -> Result<(f64, f64)> {
        let (rt, disk) = self.again(machine, cut)?;
        let at_once = schemes::by_name(self.scheme)
            .and_then(|known| known.make(Settings::default()).ok())
            .is_some_and(|scheme| LayoutName::Ffs.promises(&*scheme).mount_at_once);
        let start = rt.now();
        if !at_once {
            self.check(&rt, &disk)?;
        }
        let mounted = self.mount(&rt, machine, &disk, self.scheme)?;
        if let Some(why) = mounted.why_read_only() {
            return Err(LabError::Degraded(why.to_owned()));
        }
        let usable = rt.now() - start;
        rt.block_on(mounted.leaks_ended());
        let background = rt.now() - start - usable;
        rt.block_on(mounted.unmount())?;
        rt.drop_tasks();
        Ok((usable.as_secs_f64(), background.as_secs_f64()))
    }

    /// Seconds of a full check. It replays a log of transactions first; `fsck -p` would stop after that.
    fn scan(&self, machine: &Machine, cut: &RamDisk) -> Result<f64> {
        let (rt, disk) = self.again(machine, cut)?;
        let start = rt.now();
        rt.block_on(ordo_fsck::check(&rt, disk.clone(), Options::new(Mode::Repair)))?;
        rt.drop_tasks();
        Ok((rt.now() - start).as_secs_f64())
    }

    /// `fsck -p`, and if that leaves a question, `fsck -y`.
    fn check(&self, rt: &Rt, disk: &Rc<dyn Disk>) -> Result<()> {
        let preened = rt.block_on(ordo_fsck::check(rt, disk.clone(), Options::new(Mode::Preen)))?;
        if preened.left || preened.refused.is_some() {
            rt.block_on(ordo_fsck::check(rt, disk.clone(), Options::new(Mode::Repair)))?;
        }
        Ok(())
    }

    /// A drive that was just switched on, with these contents.
    fn again(&self, machine: &Machine, cut: &RamDisk) -> Result<(Rt, Rc<dyn Disk>)> {
        let rt = Rt::virtual_time(SEED);
        let drive = SimDisk::tagged(&rt, machine.profile()?, machine.tags);
        let (zeroes, mut bytes) = (vec![0; CHUNK], vec![0; CHUNK]);
        let size = self.size.min(cut.info().size);
        for at in (0..size).step_by(CHUNK) {
            let bytes = &mut bytes[..CHUNK.min((size - at) as usize)];
            cut.peek(at, bytes);
            if *bytes != zeroes[..bytes.len()] {
                drive.contents().poke(at, bytes);
            }
        }
        Ok((rt, Rc::new(drive)))
    }

    fn mount(&self, rt: &Rt, machine: &Machine, disk: &Rc<dyn Disk>, scheme: &str) -> Result<Mounted> {
        let options = MountOptions {
            scheme: Some(scheme.to_owned()),
            cache: machine.memory,
            settings: unordered(scheme),
            policy: machine.policy,
            ..MountOptions::default()
        };
        let located = locate_on(rt, disk.clone())?;
        Ok(rt.block_on(Mounted::mount(rt, located, &options))?)
    }
}

/// The papers' configuration of these schemes, which does not order contents: the time of a recovery must not depend on
/// a default.
fn unordered(scheme: &str) -> Settings {
    match scheme {
        "sync" => Settings { alloc_init: Some(AllocInit::Directories), ..Settings::default() },
        "wafs" | "journal-file" => Settings { data: Some(DataMode::Writeback), ..Settings::default() },
        _ => Settings::default(),
    }
}

fn player(mounted: &Mounted) -> Player<'_, ordofs::Fs> {
    Player::new(&**mounted.fs(), Caller { privileged: true, ..Caller::default() })
}

/// Plays a few calls, written as lines of a script.
async fn play(player: &mut Player<'_, ordofs::Fs>, calls: &str) -> Result<()> {
    // OK to expect: the calls are in this module, and its test plays them all.
    let script = Script::parse("calls", calls).expect("calls in the words of a script");
    for op in &script.calls {
        match player.apply(op).await {
            Outcome::Failed(why) => return Err(LabError::Program(format!("{op}: {why}"))),
            Outcome::Refused(why) => return Err(LabError::Program(format!("{op}: {why}"))),
            _ => {}
        }
    }
    Ok(())
}
