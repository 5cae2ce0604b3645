//! The disk at one moment of a recording: what is durable, what is not, and every image that a power cut could leave.
//!
//! C1. Writes that are not durable are applied in the order in which they were issued; a write that a later durable
//!     write covers cannot come back.
//! C2. Images share all chunks in which they do not differ: no image is copied whole.

use crate::device::Device;
use crate::disks::Side;
use crate::fate::{Fate, Fates, Unit};
use crate::fingerprint::{Fingerprint, of_sector};
use crate::record::{Moment, Recording};
use ordo_disk::{RamDisk, SECTOR};
use rustc_hash::{FxHashMap, FxHashSet};

/// Walks a recording from its first moment to its last.
pub(crate) struct Cuts<'a> {
    recording: &'a Recording,
    device: &'a Device,
    /// Moments that have happened.
    pub(crate) at: usize,
    /// The disk with everything durable applied.
    now: RamDisk,
    fingerprint: Fingerprint,
    /// Writes that are not durable, in the order of issue.
    pub(crate) pending: Vec<usize>,
    /// By sector, the newest durable write.
    newest: FxHashMap<u64, usize>,
    /// What each pending write changes in the fingerprint if it alone is kept, whole.
    alone: Vec<u128>,
    /// Two pending writes share a sector.
    overlap: bool,
}

impl<'a> Cuts<'a> {
    pub(crate) fn new(recording: &'a Recording, device: &'a Device) -> Cuts<'a> {
        let fingerprint = Fingerprint::starting(recording.fingerprint);
        Cuts {
            recording,
            device,
            at: 0,
            now: recording.base.snapshot(),
            fingerprint,
            pending: Vec::new(),
            newest: FxHashMap::default(),
            alone: Vec::new(),
            overlap: false,
        }
    }

    /// Goes on by one moment. `true` if what a power cut could leave has changed.
    pub(crate) fn step(&mut self) -> bool {
        let Some(moment) = self.recording.moments.get(self.at) else { return false };
        self.at += 1;
        let before = self.pending.len();
        if let Moment::Issued(write) = moment {
            self.pending.push(*write);
        }
        let landed: Vec<usize> = self.pending.iter().copied().filter(|w| self.write(*w).durable <= self.at).collect();
        for write in &landed {
            self.land(*write);
        }
        self.pending.retain(|write| !landed.contains(write));
        let changed = self.pending.len() != before || !landed.is_empty();
        if changed {
            self.look();
        }
        changed
    }

    fn write(&self, index: usize) -> &'a crate::record::Write {
        &self.recording.writes[index]
    }

    fn land(&mut self, index: usize) {
        let write = self.write(index);
        for (bytes, (sector, add)) in write.sectors().zip(&write.adds) {
            let newest = self.newest.entry(*sector).or_insert(index);
            if *newest > index {
                continue;
            }
            *newest = index;
            self.fingerprint.set(&self.now, *sector, *add);
            self.now.poke(sector * SECTOR as u64, bytes);
        }
    }

    fn look(&mut self) {
        let mut seen = FxHashSet::default();
        (self.overlap, self.alone) = (false, Vec::with_capacity(self.pending.len()));
        for i in 0..self.pending.len() {
            let mut changes = 0;
            for (sector, add) in &self.write(self.pending[i]).adds {
                self.overlap |= !seen.insert(*sector) || self.newest.get(sector) > Some(&self.pending[i]);
                changes ^= self.fingerprint.sector(&self.now, *sector) ^ add;
            }
            self.alone.push(changes);
        }
    }

    /// Atomic units of each pending write.
    pub(crate) fn units(&self) -> Vec<usize> {
        self.pending.iter().map(|write| self.units_of(*write)).collect()
    }

    /// The disk of each pending write.
    pub(crate) fn sides(&self) -> Vec<Side> {
        self.pending.iter().map(|write| self.recording.side(*write)).collect()
    }

    fn units_of(&self, write: usize) -> usize {
        (self.write(write).adds.len() * SECTOR).div_ceil(self.device.atomic as usize)
    }

    /// The fingerprint of the image that these fates leave.
    pub(crate) fn fingerprint(&mut self, fates: &Fates) -> u128 {
        let whole = |fate: &Fate| matches!(fate, Fate::Kept | Fate::Lost);
        if !self.overlap && fates.0.iter().all(whole) {
            let kept = fates.0.iter().zip(&self.alone).filter(|(fate, _)| **fate == Fate::Kept);
            return kept.fold(self.fingerprint.value, |value, (_, alone)| value ^ alone);
        }
        let mut over: FxHashMap<u64, u128> = FxHashMap::default();
        let mut value = self.fingerprint.value;
        let disk = fates.0.contains(&Fate::Mixed).then(|| self.image(fates).0);
        self.each_sector(fates, |this, sector, unit, add, _| {
            let add = match (unit, &disk) {
                (Unit::Half, Some(disk)) => {
                    let mut bytes = [0; SECTOR];
                    disk.peek(sector * SECTOR as u64, &mut bytes);
                    of_sector(sector, &bytes)
                }
                (Unit::Bad, _) => of_sector(sector, b"unreadable"),
                _ => add,
            };
            let old = over.insert(sector, add).unwrap_or_else(|| this.fingerprint.sector(&this.now, sector));
            value ^= old ^ add;
        });
        value
    }

    /// Calls `with` for each sector that these fates change: its number, what became of its unit, its contribution to
    /// the fingerprint when new, and its new bytes.
    fn each_sector(&mut self, fates: &Fates, mut with: impl FnMut(&mut Cuts<'a>, u64, Unit, u128, &[u8])) {
        let per_unit = self.device.atomic as usize / SECTOR;
        for (i, fate) in fates.0.iter().enumerate().filter(|(_, fate)| **fate != Fate::Lost) {
            let Some(index) = self.pending.get(i).copied() else { return };
            let (write, units) = (self.write(index), self.units_of(index));
            for (at, (bytes, (sector, add))) in write.sectors().zip(&write.adds).enumerate() {
                let unit = fate.unit(at / per_unit, units);
                if unit != Unit::Old && self.newest.get(sector) <= Some(&index) {
                    with(self, *sector, unit, *add, bytes);
                }
            }
        }
    }

    /// The image that these fates leave, and the sectors of it that cannot be read.
    pub(crate) fn image(&mut self, fates: &Fates) -> (RamDisk, Vec<u64>) {
        let (disk, mut bad) = (self.now.snapshot(), Vec::new());
        self.each_sector(fates, |_, sector, unit, _, bytes| {
            let at = sector * SECTOR as u64;
            bad.retain(|known| *known != sector);
            match unit {
                Unit::Old => {}
                Unit::New => disk.poke(at, bytes),
                Unit::Half => disk.poke(at, &bytes[..SECTOR / 2]),
                Unit::Bad => bad.push(sector),
            }
        });
        (disk, bad)
    }
}
