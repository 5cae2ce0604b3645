//! Damaged volumes: a program that meets one may refuse it, and nothing else may happen: no panic, no deadlock, no
//! endless work, no lost file that the damage did not hit, and what a repair leaves is sound.
//!
//! [`Kind::Words`] replaces every 32-bit word of the metadata at the head of a volume by values that break arithmetic:
//! the superblock, the summary, the first group's header and maps, inodes 2 to 9, the first chunks of the root
//! directory, an indirect block, extended attributes. [`Kind::Random`] flips bits, sets words, clears and copies
//! sectors, once or often, anywhere. [`Kind::Believed`] damages every structure of every layout and log, and makes all
//! sums right again ([`believed`]).
//!
//! D1. An image is a function of its name and the seed. A unit is some images in a row, the same however many machines
//!     share the units.
//! D2. Of a word in a structure only the file of that structure may be lost. Random damage may cost any file.

pub mod believed;
mod budget;
mod judge;
mod unit;
mod volumes;

pub use unit::{Failure, Tally, Unit};

use crate::Error;
use judge::{Loss, judge};
use ordo_disk::RamDisk;
use ordo_rt::Rng;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use unit::{IMAGES, ranges};
use volumes::{Base, SIZE, VARIANTS, Variant};
use xxhash_rust::xxh3::xxh3_128;

/// Values that break arithmetic.
const VALUES: [u32; 5] = [0, 1, i32::MAX as u32, 1 << 31, u32::MAX];
/// Words of a unit, with six images each.
const WORDS: u64 = 64;
/// The kinds of damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Each word of the first structures.
    Words,
    /// Random damage, to so many images of each kind of volume.
    Random(u64),
    /// Damage with right sums, to so many images of each kind of volume.
    Believed(u64),
}

/// All units of a kind, in their order.
///
/// # Errors
/// A volume cannot be made.
pub fn units(kind: Kind) -> Result<Vec<Unit>, Error> {
    if let Kind::Believed(images) = kind {
        return Ok(believed::units(images).collect());
    }
    let mut units = Vec::new();
    for (variant, about) in VARIANTS.iter().enumerate() {
        match kind {
            Kind::Words => {
                for (at, target) in about.base()?.targets.iter().enumerate() {
                    let part = format!("{:?}", target.part);
                    for range in ranges(target.len / 4, WORDS) {
                        let name = format!("{}, {part}, words {} to {}", about.name, range.start, range.end - 1);
                        units.push(Unit { variant, target: Some(at), believed: false, range, name });
                    }
                }
            }
            // Random damage makes no hash right again.
            Kind::Random(_) if about.resealed => {}
            Kind::Believed(_) => {}
            Kind::Random(images) => {
                for range in ranges(images, IMAGES) {
                    let name = format!("{}, images {} to {}", about.name, range.start, range.end - 1);
                    units.push(Unit { variant, target: None, believed: false, range, name });
                }
            }
        }
    }
    Ok(units)
}

/// Tries the images of a unit; also returns the hashes of their contents. Before each image `begins` is called with its
/// name.
///
/// # Errors
/// The volume cannot be made; what an image does is no error.
pub fn run(unit: &Unit, seed: u64, begins: &dyn Fn(&str)) -> Result<(Tally, BTreeSet<u128>), Error> {
    if unit.believed {
        return believed::run(unit.variant, unit.range.clone(), seed, begins);
    }
    let missing = || Error::Run(format!("there is no unit {:?}", unit.name));
    let variant = VARIANTS.get(unit.variant).ok_or_else(missing)?;
    let base = variant.base()?;
    let (mut tally, mut hashes) = (Tally::default(), BTreeSet::new());
    let mut take = |image: String, ram: RamDisk, loss: Loss, number: u64| {
        begins(&image);
        hashes.insert(xxh3_128(&ram.to_vec()));
        let scheme = if number.is_multiple_of(3) { "sync" } else { "async" };
        tally.images += 1;
        match judge(&base, &ram, loss, scheme) {
            Ok(fate) => tally.count(fate),
            Err(what) => tally.failures.push(Failure { image, what }),
        }
    };
    match unit.target {
        Some(target) => {
            let target = base.targets.get(target).ok_or_else(missing)?;
            for word in unit.range.clone() {
                let mut luck = Rng::new(seed ^ (unit.variant as u64) << 56 ^ (target.at / 4 + word) << 8);
                let drawn = u32::try_from(luck.below(1 << 32)).unwrap_or_default();
                for (n, value) in (0..).zip(VALUES.into_iter().chain([drawn])) {
                    let ram = base.ram.snapshot();
                    variant.damage(&ram, target, word, value);
                    let image = format!("{}, {:?}, byte {}, value {value:#x}", variant.name, target.part, word * 4);
                    take(image, ram, Loss::Of(target.part), word * 6 + n);
                }
            }
        }
        None => {
            for number in unit.range.clone() {
                let ram = at_random(&base, variant, seed, number);
                take(format!("{}, seed {seed}, image {number}", variant.name), ram, Loss::Any, number);
            }
        }
    }
    Ok((tally, hashes))
}

/// Random damage of every kind: flipped bits, extreme words, sectors zeroed or copied.
fn at_random(base: &Base, variant: &Variant, seed: u64, number: u64) -> RamDisk {
    let name = [variant.name.as_bytes(), &seed.to_le_bytes(), &number.to_le_bytes()].concat();
    let (ram, mut luck) = (base.ram.snapshot(), Rng::new(xxh3_128(&name) as u64));
    let times = [1, 1, 2, 8, 64][luck.below(5) as usize];
    for _ in 0..times {
        let at = match luck.below(3) {
            0 => base.superblock + luck.below(1376),
            1 => base.superblock + luck.below((1 << 20) - base.superblock),
            _ => luck.below(SIZE - 512),
        };
        let mut sector = [0; 512];
        match luck.below(4) {
            0 => {
                let mut byte = [0];
                ram.peek(at, &mut byte);
                ram.poke(at, &[byte[0] ^ 1 << luck.below(8)]);
            }
            1 => ram.poke(at, &VALUES[luck.below(5) as usize].to_le_bytes()),
            2 => ram.poke(at, &sector),
            _ => {
                ram.peek(luck.below(SIZE - 512), &mut sector);
                ram.poke(at, &sector);
            }
        }
    }
    ram
}
