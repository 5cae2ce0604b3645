//! What becomes of each undurable write when the power goes, and which combinations (futures) are tried.
//!
//! F1. A future gives every undurable write one fate. The device decides which fates there are.
//! F2. Up to a bound every subset of lost writes is tried. Beyond it come first the ones that have found bugs: nothing
//!     lost, all lost, one lost, one kept, the newest lost, the oldest lost; then random ones from the seed.
//! F3. A torn write is tried at its edges and in alternate units, each with all other writes kept and with all lost.

use crate::device::{Device, Torn};
use crate::disks::Side;
use ordo_rt::Rng;
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// The fate of one write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fate {
    /// Nothing of it is on the disk.
    Lost,
    /// All of it is.
    Kept,
    /// Only its first unit is.
    First,
    /// All but its last unit are.
    AllButLast,
    /// Only its last unit is.
    Last,
    /// The first half of its units are.
    Front,
    /// The second half of its units are.
    Back,
    /// Every other unit is, from the first on.
    Even,
    /// Every other unit is, from the second on.
    Odd,
    /// All but the last unit are, and that is half written.
    Mixed,
    /// All but the last unit are, and that cannot be read.
    Unreadable,
}

/// The result for one unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Old,
    New,
    Half,
    Bad,
}

const LETTERS: [(Fate, char, &str); 11] = [
    (Fate::Lost, '0', "lost"),
    (Fate::Kept, '1', "kept"),
    (Fate::First, 'a', "torn: only its first unit kept"),
    (Fate::AllButLast, 'y', "torn: its last unit lost"),
    (Fate::Last, 'z', "torn: only its last unit kept"),
    (Fate::Front, 'f', "torn: its first half kept"),
    (Fate::Back, 'b', "torn: its second half kept"),
    (Fate::Even, 'e', "torn: units 0, 2, 4… kept"),
    (Fate::Odd, 'o', "torn: units 1, 3, 5… kept"),
    (Fate::Mixed, 'm', "torn: its last unit half written"),
    (Fate::Unreadable, 'u', "torn: its last unit unreadable"),
];

impl Fate {
    pub(crate) fn letter(self) -> char {
        // OK to index: every fate has its row.
        LETTERS[self as usize].1
    }

    fn by_letter(letter: char) -> Option<Fate> {
        LETTERS.iter().find(|(_, known, _)| *known == letter).map(|(fate, ..)| *fate)
    }

    /// A description for people.
    pub fn says(self) -> &'static str {
        LETTERS[self as usize].2
    }

    /// The result for unit number `unit` of `units`.
    pub(crate) fn unit(self, unit: usize, units: usize) -> Unit {
        let last = unit + 1 == units;
        let new = match self {
            Fate::Lost => false,
            Fate::Kept => true,
            Fate::First => unit == 0,
            Fate::AllButLast => !last,
            Fate::Last => last,
            Fate::Front => unit < units.div_ceil(2),
            Fate::Back => unit >= units.div_ceil(2),
            Fate::Even => unit.is_multiple_of(2),
            Fate::Odd => !unit.is_multiple_of(2),
            Fate::Mixed if last => return Unit::Half,
            Fate::Unreadable if last => return Unit::Bad,
            Fate::Mixed | Fate::Unreadable => true,
        };
        if new { Unit::New } else { Unit::Old }
    }
}

/// The fates of all undurable writes at a cut, oldest write first.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fates(pub(crate) Vec<Fate>);

impl fmt::Display for Fates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|fate| write!(f, "{}", fate.letter()))
    }
}

impl FromStr for Fates {
    type Err = ();

    fn from_str(text: &str) -> Result<Fates, ()> {
        text.chars().map(Fate::by_letter).collect::<Option<Vec<_>>>().map(Fates).ok_or(())
    }
}

/// Which futures of a cut are tried.
pub(crate) struct Futures<'a> {
    pub(crate) device: &'a Device,
    /// Atomic units of each undurable write, oldest first.
    pub(crate) units: &'a [usize],
    /// The disk of each.
    pub(crate) sides: &'a [Side],
    /// Most futures that are tried.
    pub(crate) most: usize,
    /// Undurable writes up to which every subset is tried.
    pub(crate) exhaustive: usize,
}

impl Futures<'_> {
    /// How many futures there are: each write is lost, kept, or kept in any set of its units; on a device that
    /// completes in order, only the first lost write of each disk varies, and where it is torn. Saturates at the
    /// largest number.
    pub(crate) fn exist(&self) -> u64 {
        let units = |write: usize| if self.device.tears { self.units[write] } else { 1 };
        if !self.device.reorders {
            let ends = |side| 1 + self.on(side).into_iter().map(units).sum::<usize>() as u64;
            return ends(Side::Volume).saturating_mul(ends(Side::Log));
        }
        let bits: usize = (0..self.units.len()).map(units).sum();
        if bits < 64 { 1 << bits } else { u64::MAX }
    }

    /// The futures to try, those most likely to find a bug first, without duplicates.
    pub(crate) fn list(&self, rng: &mut Rng) -> Vec<Fates> {
        let mut list = List { seen: rustc_hash::FxHashSet::default(), fates: Vec::new(), most: self.most.max(1) };
        if self.device.reorders {
            self.reordered(&mut list, rng);
        } else {
            self.in_order(&mut list);
        }
        list.fates
    }

    /// The writes to one disk, oldest first.
    fn on(&self, side: Side) -> Vec<usize> {
        (0..self.units.len()).filter(|write| self.sides[*write] == side).collect()
    }

    /// A device that completes in order loses its newest writes, and tears the first one that it loses; with two disks,
    /// each loses its own.
    fn in_order(&self, list: &mut List) {
        let (volume, log) = (self.ends(Side::Volume), self.ends(Side::Log));
        for of_volume in &volume {
            for of_log in &log {
                let mut fates = vec![Fate::Lost; self.units.len()];
                of_volume.iter().chain(of_log).for_each(|(write, fate)| fates[*write] = *fate);
                list.add(fates);
            }
        }
    }

    /// The ways in which a disk that completes in order can end, latest end first: the fate of each of its writes.
    fn ends(&self, side: Side) -> Vec<Vec<(usize, Fate)>> {
        let writes = self.on(side);
        let mut ends = Vec::new();
        for kept in (0..=writes.len()).rev() {
            let end = |torn: Fate| {
                let fate = |place: usize| match place.cmp(&kept) {
                    Ordering::Less => Fate::Kept,
                    Ordering::Equal => torn,
                    Ordering::Greater => Fate::Lost,
                };
                writes.iter().enumerate().map(|(place, write)| (*write, fate(place))).collect()
            };
            ends.push(end(Fate::Lost));
            if let Some(write) = writes.get(kept) {
                ends.extend(self.tears(*write).into_iter().filter(|fate| is_prefix(*fate)).map(end));
            }
        }
        ends
    }

    fn reordered(&self, list: &mut List, rng: &mut Rng) {
        let n = self.units.len();
        list.add(vec![Fate::Kept; n]);
        list.add(vec![Fate::Lost; n]);
        if n <= self.exhaustive && 1usize << n <= self.most {
            for subset in 0..1u64 << n {
                list.add((0..n).map(|i| if subset >> i & 1 == 1 { Fate::Kept } else { Fate::Lost }).collect());
            }
        } else {
            self.telling(list);
        }
        for torn in 0..n {
            for fate in self.tears(torn) {
                for others in [Fate::Kept, Fate::Lost] {
                    list.add((0..n).map(|i| if i == torn { fate } else { others }).collect());
                }
            }
        }
        // Random futures fill the remaining room; half of them have a torn write.
        let mut tries = 0;
        while n > self.exhaustive.min(6) && list.has_room() && tries < 2 * self.most {
            tries += 1;
            let one_in = rng.range(2, 6);
            let mut fates: Vec<Fate> =
                (0..n).map(|_| if rng.chance(1, one_in) { Fate::Lost } else { Fate::Kept }).collect();
            if rng.chance(1, 2) {
                let torn = rng.below(n as u64) as usize;
                let tears = self.tears(torn);
                if !tears.is_empty() {
                    fates[torn] = tears[rng.below(tears.len() as u64) as usize];
                }
            }
            if rng.chance(1, 2) {
                fates.iter_mut().for_each(|fate| *fate = opposite(*fate));
            }
            list.add(fates);
        }
    }

    /// One lost, one kept, the newest lost, the oldest lost; interleaved, so that a short list has some of each.
    fn telling(&self, list: &mut List) {
        let n = self.units.len();
        for i in 0..n {
            let pick =
                |test: &dyn Fn(usize) -> bool| (0..n).map(|j| if test(j) { Fate::Kept } else { Fate::Lost }).collect();
            list.add(pick(&|j| j != n - 1 - i));
            list.add(pick(&|j| j == n - 1 - i));
            list.add(pick(&|j| j < n - i));
            list.add(pick(&|j| j >= n - i));
        }
    }

    /// The ways in which the device may tear a write.
    fn tears(&self, write: usize) -> Vec<Fate> {
        let units = self.units[write];
        let mut tears = Vec::new();
        if self.device.tears && units > 1 {
            tears.extend([Fate::First, Fate::AllButLast, Fate::Last]);
        }
        if self.device.tears && units > 3 {
            tears.extend([Fate::Front, Fate::Back, Fate::Even, Fate::Odd]);
        }
        match self.device.torn {
            Torn::OldOrNew => {}
            Torn::Mixed => tears.push(Fate::Mixed),
            Torn::Unreadable => tears.push(Fate::Unreadable),
        }
        tears
    }
}

fn is_prefix(fate: Fate) -> bool {
    matches!(fate, Fate::First | Fate::AllButLast | Fate::Front | Fate::Mixed | Fate::Unreadable)
}

fn opposite(fate: Fate) -> Fate {
    match fate {
        Fate::Lost => Fate::Kept,
        Fate::Kept => Fate::Lost,
        other => other,
    }
}

struct List {
    seen: rustc_hash::FxHashSet<Vec<Fate>>,
    fates: Vec<Fates>,
    most: usize,
}

impl List {
    fn has_room(&self) -> bool {
        self.fates.len() < self.most
    }

    fn add(&mut self, fates: Vec<Fate>) {
        if self.has_room() && self.seen.insert(fates.clone()) {
            self.fates.push(Fates(fates));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(device: &str, units: &[usize], most: usize) -> Vec<String> {
        let sides = vec![Side::Volume; units.len()];
        list_on(device, units, &sides, most)
    }

    fn list_on(device: &str, units: &[usize], sides: &[Side], most: usize) -> Vec<String> {
        let device = Device::by_name(device).unwrap();
        let futures = Futures { device, units, sides, most, exhaustive: 10 };
        futures.list(&mut Rng::new(1)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_disk_that_completes_in_order_loses_the_newest_and_tears_one() {
        assert_eq!(list("scsi94", &[4], 100), ["1", "0", "a", "y", "f"]);
        assert_eq!(list("scsi94", &[1, 1], 100), ["11", "10", "00"]);
    }

    #[test]
    fn two_disks_that_complete_in_order_lose_the_newest_each_for_itself() {
        let sides = [Side::Volume, Side::Log, Side::Volume];
        assert_eq!(list_on("scsi94", &[1, 1, 1], &sides, 100), ["111", "101", "110", "100", "010", "000"]);
        let torn = list_on("scsi94", &[1, 2], &sides[..2], 100);
        assert_eq!(torn, ["11", "10", "1a", "1y", "01", "00", "0a", "0y"]);
        let scsi = Device::by_name("scsi94").unwrap();
        let futures = Futures { device: scsi, units: &[1, 2], sides: &sides[..2], most: 100, exhaustive: 10 };
        assert_eq!(futures.exist(), 6);
    }

    #[test]
    fn every_subset_up_to_the_bound_and_each_once() {
        let three = list("sata", &[1, 1, 1], 1000);
        assert_eq!(three.len(), 8);
        assert_eq!(list("nvme", &[2], 1000), ["1", "0", "a", "y", "z"]);
    }

    #[test]
    fn beyond_the_bound_single_ones_come_first_and_the_room_is_filled() {
        let many = list("sata", &[1; 20], 500);
        assert_eq!(many.len(), 500);
        assert_eq!(many[0], "1".repeat(20));
        assert_eq!(many[1], "0".repeat(20));
        assert_eq!(many[2], format!("{}0", "1".repeat(19)));
        assert_ne!(many, list("sata", &[1; 20], 501)[..500].iter().rev().cloned().collect::<Vec<_>>());
        assert!(many.contains(&format!("0{}", "1".repeat(19))));
    }

    #[test]
    fn fates_survive_being_written_and_read() {
        for (i, (fate, letter, _)) in LETTERS.iter().enumerate() {
            assert_eq!(*fate as usize, i);
            assert_eq!(Fate::by_letter(*letter), Some(*fate));
        }
        assert_eq!("01az".parse::<Fates>().unwrap().to_string(), "01az");
        assert!("x".parse::<Fates>().is_err());
    }
}
