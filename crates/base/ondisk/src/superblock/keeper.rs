//! The superblock's record of the scheme that last kept the volume, and the place of its log.
//!
//! It is in the first words of `fs_sparecon32`, which is not used by any system. Other systems write it back as they
//! read it; so it contains the time of the superblock with which it was written. A superblock that another system has
//! written since has another time, and a log from before that must not be replayed: it would undo that system's
//! changes.
//!
//! Behind it stands the scheme that the volume's owner has chosen for it, which counts whoever has written since.

use super::{Dialect, Superblock};
use crate::Ino;
use crate::num::low32;

const MAGIC: u32 = 0x4f72_6446;
/// Longest name of a scheme, in bytes.
const NAME: usize = 16;
const WORDS: usize = 11;
/// The chosen scheme: a magic, the name, a sum.
const CHOSEN: u32 = 0x4f72_6443;
const CHOSEN_WORDS: usize = 2 + NAME / 4;
/// The place of a log that a copy follows. Another program does not know it, and takes the copy for a volume that was
/// not unmounted and has no log.
const FOLLOWED: u32 = 4;

/// The place of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogAt {
    /// There is none, or none that a crash would need.
    #[default]
    Nowhere,
    /// In this file of the volume.
    File(Ino),
    /// On another disk.
    Elsewhere,
    /// In a stream of messages.
    Stream,
    /// In a stream, which this copy of a volume follows: it has what the messages before this one say. The scheme's
    /// name has at most 12 bytes then.
    Followed(u64),
}

/// The scheme that last kept the volume.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Keeper {
    /// Name of the scheme: at most 16 bytes.
    pub scheme: String,
    /// The place of its log.
    pub log: LogAt,
    /// Identifies the log among all others.
    pub id: u64,
}

/// What a log consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogForm {
    /// Records of changes.
    Records,
    /// Whole blocks.
    Blocks,
    /// Whole blocks, in the group journals of an active disk.
    Active,
}

impl Keeper {
    /// The name that says [`LogForm::Blocks`].
    pub const OF_BLOCKS: &str = "block-journal";
    /// The name that says [`LogForm::Active`].
    pub const ACTIVE: &str = "active";

    /// The form of its log. The record says it by the name of the scheme.
    pub fn form(&self) -> LogForm {
        match &*self.scheme {
            Keeper::OF_BLOCKS => LogForm::Blocks,
            Keeper::ACTIVE => LogForm::Active,
            _ => LogForm::Records,
        }
    }

    /// The words for a superblock written at `time`.
    fn words(&self, time: i64) -> [u32; WORDS] {
        let [a, b, c, mut d] = name_words(&self.scheme);
        let (kind, ino) = match self.log {
            LogAt::Nowhere => (0, 0),
            LogAt::File(ino) => (1, ino.0),
            LogAt::Elsewhere => (2, 0),
            LogAt::Stream => (3, 0),
            LogAt::Followed(next) => {
                let (low, high) = halves(next);
                d = high;
                (FOLLOWED, low)
            }
        };
        let (id, time) = (halves(self.id), halves(time.cast_unsigned()));
        let mut words = [MAGIC, kind, a, b, c, d, ino, id.0, id.1, time.0 ^ time.1.rotate_left(16), 0];
        words[WORDS - 1] = sum(&words);
        words
    }
}

fn halves(n: u64) -> (u32, u32) {
    (low32(n & u64::from(u32::MAX)), low32(n >> 32))
}

fn name_words(name: &str) -> [u32; NAME / 4] {
    let mut words = [[0; 4]; NAME / 4];
    words.as_flattened_mut().iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from);
    words.map(u32::from_le_bytes)
}

fn name_of(words: &[u32]) -> Option<String> {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes()).take_while(|byte| *byte != 0);
    String::from_utf8(bytes.collect()).ok()
}

/// The words are in one sector, which is never torn; the sum, which is the last of them, distinguishes them from
/// another system's data there.
fn sum(words: &[u32]) -> u32 {
    let step = |sum: u32, word: &u32| sum.rotate_left(5).wrapping_mul(0x9e37_79b1) ^ word;
    words.iter().take(words.len().saturating_sub(1)).fold(0x5eed, step)
}

impl Superblock {
    /// The recorded keeper, if there is one, and whether no other system has written the superblock since.
    pub fn keeper(&self) -> Option<(Keeper, bool)> {
        let mut words = [0; WORDS];
        words.iter_mut().zip(&self.fields.sparecon32).for_each(|(to, from)| *to = from.cast_unsigned());
        let [magic, kind, a, b, c, d, ino, low, high, ..] = words;
        if magic != MAGIC || words[WORDS - 1] != sum(&words) {
            return None;
        }
        let last = if kind == FOLLOWED { 0 } else { d };
        let log = match kind {
            0 => LogAt::Nowhere,
            1 => LogAt::File(Ino(ino)),
            2 => LogAt::Elsewhere,
            3 => LogAt::Stream,
            FOLLOWED => LogAt::Followed(u64::from(ino) | u64::from(d) << 32),
            _ => return None,
        };
        let keeper = Keeper { scheme: name_of(&[a, b, c, last])?, log, id: u64::from(low) | u64::from(high) << 32 };
        let untouched = keeper.words(self.fields.time) == words;
        Some((keeper, untouched))
    }

    /// Takes the record out: what the keeper knows of the volume does not count any more, whatever the time is.
    pub fn forget_keeper(&mut self) {
        if self.keeper().is_some() {
            self.fields.sparecon32.iter_mut().take(WORDS).for_each(|word| *word = 0);
        }
    }

    /// Whether an active journal was the last to write to the volume: its map counts.
    pub fn has_live_map(&self) -> bool {
        self.keeper().is_some_and(|(keeper, untouched)| untouched && keeper.form() == LogForm::Active)
    }

    /// The name of the scheme that the volume's owner has chosen for it ([`Superblock::choose_scheme`]).
    pub fn chosen_scheme(&self) -> Option<String> {
        let stored = self.fields.sparecon32.get(WORDS..WORDS + CHOSEN_WORDS)?;
        let words: Vec<u32> = stored.iter().map(|word| word.cast_unsigned()).collect();
        let (last, name) = (*words.last()?, words.get(1..=NAME / 4)?);
        if words.first() != Some(&CHOSEN) || last != sum(&words) {
            return None;
        }
        name_of(name).filter(|name| !name.is_empty())
    }

    /// Whether the superblock has a place for a chosen scheme.
    pub fn can_choose_scheme(&self) -> bool {
        self.dialect == Dialect::FreeBsd && self.wide
    }

    /// Chooses the scheme, of at most 16 bytes, with which the volume is mounted if the mount names none; `None`: as
    /// its flags say. To be asked first: [`Superblock::can_choose_scheme`].
    pub fn choose_scheme(&mut self, name: Option<&str>) {
        let mut words = vec![0; CHOSEN_WORDS];
        if let Some(name) = name {
            words.iter_mut().zip([CHOSEN].into_iter().chain(name_words(name))).for_each(|(to, word)| *to = word);
            let sum = sum(&words);
            words.iter_mut().skip(CHOSEN_WORDS - 1).for_each(|last| *last = sum);
        }
        let place = self.fields.sparecon32.iter_mut().skip(WORDS);
        place.zip(words).for_each(|(to, word)| *to = word.cast_signed());
    }

    /// The bytes to write at `fs_sblockloc`, as from [`Superblock::encode`], with this keeper. Without it on the
    /// volumes of systems other than FreeBSD.
    pub fn encode_kept(&mut self, now: i64, keeper: &Keeper) -> Vec<u8> {
        self.forget_keeper();
        if self.dialect == Dialect::FreeBsd && self.wide {
            let words = keeper.words(now);
            self.fields.sparecon32.iter_mut().zip(words).for_each(|(to, word)| *to = word.cast_signed());
        }
        self.encode_as_kept(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;
    use crate::superblock::newfs::NewfsParams;

    const NOW: i64 = 1_795_900_000;

    fn superblock() -> Superblock {
        NewfsParams::new(Format::Ufs2, 32 << 20).superblock().unwrap()
    }

    fn read(sb: &Superblock, bytes: &[u8]) -> Superblock {
        Superblock::decode(bytes, sb.at).unwrap()
    }

    #[test]
    fn who_writes_without_being_the_keeper_is_not_taken_for_it_within_the_same_second() {
        let (mut sb, scheme) = (superblock(), Keeper::ACTIVE.to_owned());
        let keeper = Keeper { scheme, log: LogAt::File(Ino(7)), id: 5 };
        let bytes = sb.encode_kept(NOW, &keeper);
        let mut kept = read(&sb, &bytes);
        assert_eq!((kept.keeper(), kept.has_live_map()), (Some((keeper, true)), true));
        let bytes = kept.encode(NOW);
        let other = read(&kept, &bytes);
        assert_eq!((other.keeper(), other.has_live_map()), (None, false));
    }

    #[test]
    fn a_chosen_scheme_stays_whoever_writes_and_damage_is_none() {
        let mut sb = superblock();
        assert!(sb.can_choose_scheme() && sb.chosen_scheme().is_none());
        sb.choose_scheme(Some("sixteen-letters-"));
        let keeper = Keeper { scheme: "wafs".into(), ..Keeper::default() };
        for bytes in [sb.encode_kept(NOW, &keeper), sb.encode(NOW), sb.encode(NOW + 1)] {
            assert_eq!(read(&sb, &bytes).chosen_scheme().as_deref(), Some("sixteen-letters-"));
        }
        for word in WORDS..WORDS + CHOSEN_WORDS {
            let mut damaged = sb.clone();
            damaged.fields.sparecon32[word] ^= 0x100;
            assert_eq!(damaged.chosen_scheme(), None, "word {word}");
        }
        sb.choose_scheme(None);
        assert_eq!((sb.chosen_scheme(), sb.fields.sparecon32), (None, [0; 21]));
    }
}
