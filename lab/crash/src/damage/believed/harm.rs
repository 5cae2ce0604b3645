//! What is damaged: words of structures, by values that are likely to be believed.

use super::base::{Base, SIZE};
use super::structure::Structure;
use super::sums::bytes;
use ordo_disk::RamDisk;
use ordo_rt::Rng;
use std::fmt;

/// Bytes of one structure that are replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Poke {
    /// Index of the structure.
    structure: usize,
    /// Offset in it.
    offset: u64,
    is: Vec<u8>,
}

/// All that is done to an image, before the sums are made right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Harm(pub(super) Vec<Poke>);

/// Attempts to draw a word that is not zero, or a value that is another one.
const TRIES: u32 = 6;

impl Harm {
    /// Draws the damage of an image.
    pub(super) fn draw(base: &Base, luck: &mut Rng) -> Harm {
        let mut pokes = Vec::new();
        let times = [1, 1, 1, 1, 1, 1, 1, 2, 2, 3][luck.below(10) as usize];
        while pokes.len() < times {
            // Every class comes up as often as any other, however many structures it has.
            let class = luck.pick(&base.classes).clone();
            let at = class[luck.below(class.len() as u64) as usize];
            let other = class[luck.below(class.len() as u64) as usize];
            match luck.below(12) {
                0 if other != at => {
                    let (here, there) = (base.bytes(at), base.bytes(other));
                    pokes.push(Poke { structure: at, offset: 0, is: cut(&there, here.len()) });
                    pokes.push(Poke { structure: other, offset: 0, is: cut(&here, there.len()) });
                }
                1 if other != at => {
                    let is = cut(&base.bytes(other), base.bytes(at).len());
                    pokes.push(Poke { structure: at, offset: 0, is });
                }
                _ => pokes.extend(word(base, at, other, luck)),
            }
        }
        Harm(pokes)
    }

    /// Does it to a copy of the volume, whose sums are right afterwards.
    pub(super) fn image(&self, base: &Base) -> RamDisk {
        let ram = base.ram.snapshot();
        for poke in &self.0 {
            ram.poke(base.structures[poke.structure].at + poke.offset, &poke.is);
        }
        for poke in &self.0 {
            base.structures[poke.structure].fixes.iter().for_each(|fix| fix.apply(&ram));
        }
        ram
    }

    /// Only structures are damaged that say where everything lies.
    pub(super) fn is_of_maps_of_the_volume(&self, base: &Base) -> bool {
        self.0.iter().all(|poke| base.structures[poke.structure].guards)
    }

    /// In words.
    pub(super) fn said(&self, base: &Base) -> String {
        let said = |poke: &Poke| {
            let Structure { class, at, .. } = &base.structures[poke.structure];
            let from = at + poke.offset;
            let was = bytes(&base.ram, &(from..from + poke.is.len() as u64));
            format!("{class} at byte {at}, offset {}: {} becomes {}", poke.offset, Hex(&was), Hex(&poke.is))
        };
        self.0.iter().map(said).collect::<Vec<_>>().join("; ")
    }
}

/// As many bytes as there is room for.
fn cut(from: &[u8], room: usize) -> Vec<u8> {
    from[..from.len().min(room)].to_vec()
}

/// Another value for a word of the structure, of two, four or eight bytes.
fn word(base: &Base, at: usize, other: usize, luck: &mut Rng) -> Option<Poke> {
    let (structure, here) = (&base.structures[at], base.bytes(at));
    let width = [2, 4, 4, 4, 8, 8][luck.below(6) as usize];
    let places = here.len() as u64 / width;
    let get = |bytes: &[u8], from: u64| -> Option<u64> {
        let word = bytes.get(from as usize..)?.get(..width as usize)?;
        let mut whole = [0; 8];
        match structure.endian {
            ordo_ondisk::Endian::Little => whole[..width as usize].copy_from_slice(word),
            ordo_ondisk::Endian::Big => whole[8 - width as usize..].copy_from_slice(word),
        }
        Some(structure.endian.u64(whole))
    };
    let mut offset = 0;
    for _ in 0..TRIES {
        offset = luck.below(places.max(1)) * width;
        if get(&here, offset).is_some_and(|value| value != 0) {
            break;
        }
    }
    let was = get(&here, offset)?;
    let all = u64::MAX >> (64 - 8 * width);
    let most = all >> 1;
    // What may be an address is replaced by another one more often than by anything else.
    let is_address = (1..SIZE / base.unit).contains(&was) && luck.chance(1, 3);
    for _ in 0..TRIES {
        let value = match if is_address { 10 } else { luck.below(16) } {
            0 => 0,
            1 => 1,
            2 => all,
            3 => most,
            4 => most + 1,
            5 => was.wrapping_add(1),
            6 => was.wrapping_sub(1),
            7 => get(&here, offset + width).unwrap_or(2),
            8 => offset.checked_sub(width).and_then(|before| get(&here, before)).unwrap_or(3),
            9 => get(&base.bytes(other), offset).unwrap_or(4),
            10 | 11 => address(base, luck),
            12 => was ^ 1 << luck.below(8 * width),
            13 => 1 << luck.below(8 * width),
            14 => luck.below(64),
            _ => any_word(base, width, luck),
        } & all;
        if value != was {
            return Some(Poke { structure: at, offset, is: spelled(structure, value, width as usize) });
        }
    }
    None
}

fn spelled(structure: &Structure, value: u64, width: usize) -> Vec<u8> {
    let mut whole = [0; 8];
    // OK to ignore: eight bytes have room for a word.
    let _ = structure.endian.put_u64(&mut whole, 0, value);
    match structure.endian {
        ordo_ondisk::Endian::Little => whole[..width].to_vec(),
        ordo_ondisk::Endian::Big => whole[8 - width..].to_vec(),
    }
}

/// The address of some structure, in the unit of one of the formats, or beside it.
fn address(base: &Base, luck: &mut Rng) -> u64 {
    let at = base.structures[luck.below(base.structures.len() as u64) as usize].at;
    let unit = *luck.pick(&[base.unit, base.unit, base.unit, 512, 1]);
    (at / unit).wrapping_add(*luck.pick(&[0, 0, 0, 1, u64::MAX]))
}

/// A word of some structure.
fn any_word(base: &Base, width: u64, luck: &mut Rng) -> u64 {
    let bytes = base.bytes(luck.below(base.structures.len() as u64) as usize);
    let from = luck.below((bytes.len() as u64 / width).max(1)) * width;
    let word = bytes.get(from as usize..).and_then(|rest| rest.get(..width as usize)).unwrap_or_default();
    word.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// Bytes in hexadecimal, the first of many.
struct Hex<'a>(&'a [u8]);

/// Bytes that are shown.
const SHOWN: usize = 8;

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().take(SHOWN).try_for_each(|byte| write!(f, "{byte:02x}"))?;
        if self.0.len() > SHOWN { write!(f, "… ({} bytes)", self.0.len()) } else { Ok(()) }
    }
}
