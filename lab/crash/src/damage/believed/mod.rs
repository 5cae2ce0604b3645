//! Damage that is believed: words of every structure of every layout and log are replaced by values that are likely to
//! pass, and all sums are made right again, as a program with a bug or somebody with intent would leave them.
//!
//! B1. An image is a function of the kind of volume, the seed and its number: its [`ImageId`]. A failure is shrunk to
//!     the words that it needs.
//! B2. Nothing may panic, never end, or take memory without bound. What `fsck` says it has repaired, it has. A repaired
//!     volume can be used. And where only that is damaged which says where everything lies, a program that takes the
//!     volume may write to what is free only: files that were not written to keep their bytes.
//! B3. What a damaged file loses is not judged: nobody could know what it had.

mod base;
mod harm;
mod journals;
mod judge;
mod log;
mod structure;
mod sums;
mod tree;

use super::unit::{Failure, IMAGES, Tally, Unit, ranges};
use crate::Error;
use base::{Base, VARIANTS, Variant};
use harm::Harm;
use ordo_disk::RamDisk;
use ordo_rt::Rng;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use xxhash_rust::xxh3::xxh3_128;

/// An image (B1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageId {
    variant: usize,
    seed: u64,
    number: u64,
}

impl fmt::Display for ImageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", VARIANTS[self.variant].name, self.seed, self.number)
    }
}

impl FromStr for ImageId {
    type Err = String;

    fn from_str(text: &str) -> Result<ImageId, String> {
        let known = || VARIANTS.map(|variant| variant.name).join(", ");
        let [name, seed, number] = text.split(':').collect::<Vec<_>>()[..] else {
            return Err(format!("{text:?}: write VOLUME:SEED:NUMBER, with one of these volumes: {}", known()));
        };
        let variant = VARIANTS.iter().position(|variant| variant.name == name);
        let variant = variant.ok_or_else(|| format!("there is no volume {name:?}: {}", known()))?;
        let parse = |text: &str| text.parse::<u64>().map_err(|_| format!("{text:?} is not a number"));
        Ok(ImageId { variant, seed: parse(seed)?, number: parse(number)? })
    }
}

impl ImageId {
    fn variant(&self) -> &'static Variant {
        &VARIANTS[self.variant]
    }

    fn harm(&self, base: &Base) -> Harm {
        let name = format!("believed {self}");
        Harm::draw(base, &mut Rng::new(xxh3_128(name.as_bytes()) as u64))
    }

    /// The bytes of the image, and what was done to it.
    ///
    /// # Errors
    /// The volume cannot be made.
    pub fn bytes(&self) -> Result<(Vec<u8>, String), Error> {
        let base = self.variant().base()?;
        let harm = self.harm(&base);
        Ok((harm.image(&base).to_vec(), harm.said(&base)))
    }

    /// Tries the image alone.
    ///
    /// # Errors
    /// The volume cannot be made.
    pub fn run(&self) -> Result<Tally, Error> {
        let base = self.variant().base()?;
        let (mut tally, harm) = (Tally::default(), self.harm(&base));
        self.take(&base, &harm, &harm.image(&base), &mut tally);
        Ok(tally)
    }

    fn take(&self, base: &Base, harm: &Harm, ram: &RamDisk, tally: &mut Tally) {
        tally.images += 1;
        match self.judged(base, harm, ram) {
            Ok(fate) => tally.count(fate),
            Err(what) => {
                let (harm, what) = self.shrunk(base, harm, what);
                let image = format!("{self} ({})", harm.said(base));
                tally.failures.push(Failure { image, what });
            }
        }
    }

    fn judged(&self, base: &Base, harm: &Harm, ram: &RamDisk) -> Result<super::judge::Fate, String> {
        judge::judge(self.variant(), ram, harm.is_of_maps_of_the_volume(base))
    }

    /// The same failure with less damage.
    fn shrunk(&self, base: &Base, harm: &Harm, what: String) -> (Harm, String) {
        let (mut least, mut why) = (harm.clone(), what);
        for at in (0..harm.0.len()).rev().filter(|_| harm.0.len() > 1) {
            let mut fewer = least.clone();
            fewer.0.remove(at);
            if let Err(what) = self.judged(base, &fewer, &fewer.image(base))
                && kind_of(&what) == kind_of(&why)
            {
                (least, why) = (fewer, what);
            }
        }
        (least, why)
    }
}

/// What kind of failure it is: its words up to the first colon.
fn kind_of(what: &str) -> &str {
    what.split(':').next().unwrap_or(what)
}

/// All units, of so many images of each kind of volume.
pub(super) fn units(images: u64) -> impl Iterator<Item = Unit> {
    VARIANTS.iter().enumerate().flat_map(move |(variant, about)| {
        ranges(images, IMAGES / 4).map(move |range| {
            let name = format!("{}, images {} to {}", about.name, range.start, range.end - 1);
            Unit { variant, target: None, range, name, believed: true }
        })
    })
}

/// Tries the images of a unit; `begins` is called with the id of each before.
pub(super) fn run(
    variant: usize,
    range: Range<u64>,
    seed: u64,
    begins: &dyn Fn(&str),
) -> Result<(Tally, BTreeSet<u128>), Error> {
    let missing = || Error::Run(format!("there is no kind of volume with number {variant}"));
    let base = VARIANTS.get(variant).ok_or_else(missing)?.base()?;
    let (mut tally, mut hashes) = (Tally::default(), BTreeSet::new());
    for number in range {
        let id = ImageId { variant, seed, number };
        begins(&id.to_string());
        let harm = id.harm(&base);
        let ram = harm.image(&base);
        hashes.insert(xxh3_128(&ram.to_vec()));
        id.take(&base, &harm, &ram, &mut tally);
    }
    Ok((tally, hashes))
}

#[cfg(test)]
mod tests;
