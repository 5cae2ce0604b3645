//! What the paper says of its design, and no simulator can show: damage that is healed, versions, a change of the
//! journal and back, recovery. Asked of volumes of our own in memory, with the schemes `active` and `block-journal`.
//!
//! Q1. Each answer is one that a fault in the engine changes: what is read is compared with what was written, and what
//!     lies at home is looked at below the engine.
//! Q2. Contents are journaled (`data=journal`), so that all blocks are treated alike, as in the paper.

use crate::error::{LabError, Result};
use ordo_vfs::{Caller, FileSystem, Kind, Mode, Name};
use ordofs::disk::{Disk, RamDisk};
use ordofs::ondisk::Ino;
use ordofs::path::{Held, resolve};
use ordofs::rt::Rt;
use ordofs::schemes::{self, Settings};
use ordofs::{
    JournalChange, MountOptions, Mounted, NewVolume, Sought, Tuning, active_at_rest, copies_of, locate_on, scrub,
    versions_of,
};
use std::rc::Rc;
use std::time::Duration;

const SIZE: u64 = 64 << 20;
const WHO: Caller = Caller { uid: 0, gid: 0, umask: 0, privileged: true };
const NAME: &str = "file";
const FRAGMENT: usize = 4096;
/// The file's length: two blocks, and a fragment. The journal takes it whole.
const LENGTH: usize = 17 * FRAGMENT;
/// How often the file is written over.
const WORDS: u32 = 5;

/// The answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Engine {
    /// Fragments of a file of which the home was damaged, one after the other.
    pub(super) damaged: usize,
    /// Of these, how many were read right by `active`, and were right at home then.
    pub(super) healed: usize,
    /// Of as many, how many `block-journal` gave with the damage, without an error.
    pub(super) unnoticed: usize,
    /// Older versions of a file that was written over [`WORDS`] times.
    pub(super) versions: usize,
    /// The contents are right, the volume is clean, and the map was asked: with a passive journal, then an active one,
    /// then a passive one again.
    pub(super) switched: bool,
    /// After a power cut the newest of several committed contents is there, by `block-journal`.
    pub(super) newest_wins: bool,
    /// After a power cut recovery has written contents home, by `active`.
    pub(super) home_at_recovery: bool,
}

/// Asks for all of it.
pub(super) fn ask() -> Result<Engine> {
    let (damaged, healed) = of_damage("active")?;
    let (_, right) = of_damage("block-journal")?;
    Ok(Engine {
        damaged,
        healed,
        unnoticed: damaged - right,
        versions: on(of_versions)?,
        switched: on(of_a_switch)?,
        newest_wins: on(of_the_newest)?,
        home_at_recovery: on(of_recovery)?,
    })
}

/// A volume in memory.
struct Volume {
    rt: Rt,
    ram: RamDisk,
}

/// Asks a new volume, and ends its tasks, which hold its memory.
fn on<T>(ask: impl FnOnce(&Volume) -> Result<T>) -> Result<T> {
    let volume = Volume { rt: Rt::virtual_time(1), ram: RamDisk::new(SIZE).volatile(true) };
    let made = NewVolume::new(SIZE).create_on(&volume.rt, volume.disk(), true);
    let answer = made.map_err(LabError::from).and_then(|_| ask(&volume));
    volume.rt.drop_tasks();
    answer
}

fn contents(word: u32) -> Vec<u8> {
    (0..LENGTH as u32 / 4).flat_map(|i| i.wrapping_mul(0x9E37_79B1).wrapping_add(word).to_le_bytes()).collect()
}

impl Volume {
    fn disk(&self) -> Rc<dyn Disk> {
        Rc::new(self.ram.clone())
    }

    /// Gives the volume what the scheme needs.
    fn prepare(&self, scheme: &str) -> Result<()> {
        if let Some(kind) = schemes::by_name(scheme).and_then(schemes::Known::wants_log) {
            Tuning::for_log(kind).apply_on(&self.rt, self.disk())?;
        }
        Ok(())
    }

    /// `None`: the scheme that the volume remembers.
    fn mount(&self, scheme: Option<&str>) -> Result<Mounted> {
        let settings = Settings { data: Some(schemes::DataMode::Journal), ..Settings::default() };
        let options = MountOptions { scheme: scheme.map(str::to_owned), settings, ..MountOptions::default() };
        let located = locate_on(&self.rt, self.disk())?;
        Ok(self.rt.block_on(Mounted::mount(&self.rt, located, &options))?)
    }

    /// Writes the file, durably.
    fn write(&self, mounted: &Mounted, word: u32) -> Result<()> {
        let fs = mounted.fs();
        self.rt.block_on(async {
            let held = match resolve(fs, NAME.as_bytes(), true).await {
                Ok(held) => held,
                Err(_) => {
                    let name = Name::new(NAME.as_bytes())?;
                    Held::new(fs, fs.mknod(&WHO, fs.root(), name, Kind::Regular, Mode::new(0o644), 0).await?)
                }
            };
            fs.write(&WHO, held.node(), 0, &contents(word)).await?;
            Ok(fs.fsync(held.node(), false).await?)
        })
    }

    /// What a program reads, and the file's number.
    fn read(&self, mounted: &Mounted) -> Result<(Vec<u8>, Ino)> {
        let fs = mounted.fs();
        self.rt.block_on(async {
            let held = resolve(fs, NAME.as_bytes(), true).await?;
            Ok((fs.read(held.node(), 0, LENGTH as u32).await?.concat(), Ino(held.attr().ino as u32)))
        })
    }

    fn unmount(&self, mounted: Mounted) -> Result<()> {
        Ok(self.rt.block_on(mounted.unmount())?)
    }

    /// The power is cut: what was not made durable is gone, and so is the server.
    fn cut(&self, mounted: Mounted) {
        self.ram.power_cut();
        self.rt.drop_tasks();
        drop(mounted);
    }

    /// Where the file's fragments lie at home, and their bytes. The volume is not mounted.
    fn homes(&self, ino: Ino) -> Result<Vec<(u64, Vec<u8>)>> {
        let mut homes = Vec::new();
        for part in copies_of(&self.rt, &locate_on(&self.rt, self.disk())?, ino)? {
            let home = part.at.first().copied().unwrap_or_default();
            for at in (home..home + part.len).step_by(FRAGMENT) {
                let mut bytes = vec![0; FRAGMENT];
                self.ram.peek(at, &mut bytes);
                homes.push((at, bytes));
            }
        }
        Ok(homes)
    }

    fn is_at_home(&self, (at, bytes): &(u64, Vec<u8>)) -> bool {
        let mut here = vec![0; bytes.len()];
        self.ram.peek(*at, &mut here);
        here == *bytes
    }

    /// A volume with the file, which is unmounted.
    fn with_file(&self, scheme: &str) -> Result<Ino> {
        self.prepare(scheme)?;
        let mounted = self.mount(Some(scheme))?;
        self.write(&mounted, 0)?;
        let (_, ino) = self.read(&mounted)?;
        self.unmount(mounted)?;
        Ok(ino)
    }
}

/// How many homes were damaged, and after how many of these what was read was right, and right at home then.
fn of_damage(scheme: &str) -> Result<(usize, usize)> {
    on(|volume| {
        let ino = volume.with_file(scheme)?;
        let homes = volume.homes(ino)?;
        let mut right = 0;
        for home in &homes {
            let (at, bytes) = home;
            let middle = bytes.len() / 2;
            volume.ram.poke(at + middle as u64, &[!bytes[middle]]);
            let mounted = volume.mount(Some(scheme))?;
            let (read, _) = volume.read(&mounted)?;
            volume.unmount(mounted)?;
            right += usize::from(read == contents(0) && volume.is_at_home(home));
            volume.ram.poke(*at, bytes);
        }
        Ok((homes.len(), right))
    })
}

fn of_versions(volume: &Volume) -> Result<usize> {
    let ino = volume.with_file("active")?;
    let mounted = volume.mount(None)?;
    for word in 1..=WORDS {
        // A version has a time of its own.
        volume.rt.block_on(volume.rt.sleep(Duration::from_secs(1)));
        volume.write(&mounted, word)?;
    }
    volume.unmount(mounted)?;
    let located = locate_on(&volume.rt, volume.disk())?;
    Ok(versions_of(&volume.rt, &located, &Sought::Here(ino, None))?.list().count())
}

fn of_a_switch(volume: &Volume) -> Result<bool> {
    let mut word = 0;
    let mut goes_on = |scheme| -> Result<bool> {
        let mounted = volume.mount(scheme)?;
        let kept = word == 0 || volume.read(&mounted)?.0 == contents(word);
        word += 1;
        volume.write(&mounted, word)?;
        let is_active = mounted.active().is_some();
        volume.unmount(mounted)?;
        Ok(kept && is_active == scheme.is_none())
    };
    let change = |active| {
        let tuning = Tuning { active: Some(active), ..Tuning::default() };
        tuning.apply_on(&volume.rt, volume.disk()).map(|_| ())
    };
    volume.prepare("block-journal")?;
    let mut right = goes_on(Some("block-journal"))?;
    change(JournalChange::On(None))?;
    right &= goes_on(None)?;
    let done = scrub(&volume.rt, &locate_on(&volume.rt, volume.disk())?)?;
    right &= done.blocks > 0 && done.rotten == 0;
    change(JournalChange::Off)?;
    volume.prepare("block-journal")?;
    right &= goes_on(Some("block-journal"))?;
    Ok(right && active_at_rest(&volume.rt, &locate_on(&volume.rt, volume.disk())?)?.is_none())
}

fn of_the_newest(volume: &Volume) -> Result<bool> {
    let scheme = "block-journal";
    volume.with_file(scheme)?;
    let mounted = volume.mount(Some(scheme))?;
    for word in 1..=WORDS {
        volume.write(&mounted, word)?;
    }
    volume.cut(mounted);
    let mounted = volume.mount(Some(scheme))?;
    let (read, _) = volume.read(&mounted)?;
    volume.unmount(mounted)?;
    Ok(read == contents(WORDS))
}

/// The file is written over where it lies: what it had is at home until something brings what it has.
fn of_recovery(volume: &Volume) -> Result<bool> {
    let ino = volume.with_file("active")?;
    let homes = volume.homes(ino)?;
    let mounted = volume.mount(None)?;
    volume.write(&mounted, 1)?;
    volume.cut(mounted);
    let old = homes.iter().filter(|home| volume.is_at_home(home)).count();
    if old == 0 {
        return Err(LabError::Program("the contents came home before the power cut".into()));
    }
    let mounted = volume.mount(None)?;
    let still = homes.iter().filter(|home| volume.is_at_home(home)).count();
    volume.unmount(mounted)?;
    Ok(still < old)
}
