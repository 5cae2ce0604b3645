//! The record of the one writer of a volume (multiple-mount protection), in its boot area: two sectors, which no BSD
//! reads, writes or checks there. docs/one-writer.md has the bytes, and why they are there.
//!
//! W1. The sector of the *owner* is written only when a writer claims or releases the volume, that of the *beat* all
//!     the time. So a beat that arrives late, from a machine that had been stopped, cannot undo another one's claim.
//! W2. Both are little-endian on every volume: who has to read them does not know the volume's order yet.
//! W3. Where one of the two has its magic number, of whatever version, the protection is on. A sector with a magic
//!     number and a wrong checksum or an unknown version is damaged, and is never taken for one that is free: a later
//!     program's record must keep an older program out.

use crate::{ByteOff, Endian};

/// Bytes of each of the two.
pub const SECTOR: usize = 512;
/// Where the checksum is: behind all that it covers.
const SUM: usize = 508;
const OWNER: [u8; 8] = *b"OrdoOwn\x01";
const BEAT: [u8; 8] = *b"OrdoBea\x01";
const HOST: usize = 64;
const DOING: usize = 32;
/// The shortest and the longest interval of beats, in milliseconds.
pub const INTERVALS: std::ops::RangeInclusive<u32> = 100..=30_000;
const LE: Endian = Endian::Little;

/// Where the record of a volume is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The sector of the owner.
    pub owner: ByteOff,
    /// The sector of the beats.
    pub beat: ByteOff,
}

impl Place {
    /// In a boot area of 64 KiB. Two different units of 4 KiB, for disks with such sectors, and neither is the last one
    /// of the area, which FreeBSD's record of the backups is in.
    const WIDE: Place = Place { owner: ByteOff(57_344), beat: ByteOff(53_248) };
    /// In a boot area of 8 KiB: its last two sectors.
    const NARROW: Place = Place { owner: ByteOff(7168), beat: ByteOff(7680) };

    /// All places at which a volume may have its record, whatever it is.
    pub const ALL: [Place; 2] = [Place::WIDE, Place::NARROW];

    /// The place on a UFS volume, by the place of its superblock. `None`: the volume has no boot area, or a shifted
    /// one.
    pub fn in_ufs(superblock: ByteOff) -> Option<Place> {
        match superblock.0 {
            65_536 => Some(Place::WIDE),
            8192 => Some(Place::NARROW),
            _ => None,
        }
    }

    /// The place on a log-structured volume: behind its label.
    pub fn in_lfs() -> Place {
        Place::NARROW
    }
}

/// A writer, as the record names it. For people only: nothing is decided by a name or a time of day.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Holder {
    /// Distinguishes this claim from all others.
    pub session: [u8; 16],
    /// The name of its machine.
    pub host: String,
    /// Its process there.
    pub pid: u32,
    /// What it does.
    pub doing: String,
    /// When it claimed the volume, by its own clock, in seconds since 1970.
    pub since: i64,
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Holder { host, pid, doing, since, .. } = self;
        write!(f, "{doing}, process {pid} on {host}, since {} UTC by its clock", utc(*since))
    }
}

/// The sector of the owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Milliseconds from beat to beat.
    pub interval: u32,
    /// Claims so far.
    pub claims: u32,
    /// Who has the volume, or who had it last.
    pub holder: Result<Holder, Released>,
}

/// Nobody has the volume: the session of who released it last. The last beat must be of the same one; otherwise this
/// was written late, over the claim of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Released(pub [u8; 16]);

/// The sector of the beats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Beat {
    /// Whose they are.
    pub session: [u8; 16],
    /// How many so far.
    pub seq: u64,
    /// When, by the owner's clock, in seconds since 1970. For people only.
    pub at: i64,
}

/// A sector with the magic number of one of the two, and wrong contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Damage(pub &'static str);

impl Owner {
    /// Nobody's, from a new record on.
    pub fn free(interval: u32) -> Owner {
        Owner { interval, claims: 0, holder: Err(Released::default()) }
    }

    /// The claim that it is, or was.
    pub fn session(&self) -> [u8; 16] {
        match &self.holder {
            Ok(holder) => holder.session,
            Err(Released(session)) => *session,
        }
    }

    /// The sector.
    pub fn encode(&self) -> [u8; SECTOR] {
        let mut bytes = begun(OWNER);
        let nobody = Holder::default();
        let holder = self.holder.as_ref().unwrap_or(&nobody);
        LE.put_u32(&mut bytes, 8, u32::from(self.holder.is_ok()));
        LE.put_u32(&mut bytes, 12, self.interval);
        put(&mut bytes, 16, &self.session());
        LE.put_i64(&mut bytes, 32, holder.since);
        LE.put_u32(&mut bytes, 40, holder.pid);
        LE.put_u32(&mut bytes, 44, self.claims);
        put(&mut bytes, 48, cut(&holder.host, HOST));
        put(&mut bytes, 112, cut(&holder.doing, DOING));
        sealed(bytes)
    }

    /// What is in the sector; `None` if it is not one of these.
    ///
    /// # Errors
    /// It is damaged.
    pub fn decode(bytes: &[u8]) -> Result<Option<Owner>, Damage> {
        if !checked(bytes, OWNER)? {
            return Ok(None);
        }
        let short = Damage("it is shorter than a sector");
        let number = |at| LE.get_u32(bytes, at).ok_or(short);
        let interval = number(12)?;
        if !INTERVALS.contains(&interval) {
            return Err(Damage("its interval is not one"));
        }
        let session = session(bytes, 16).ok_or(short)?;
        let holder = match number(8)? {
            0 => Err(Released(session)),
            1 => Ok(Holder {
                session,
                host: text(bytes, 48, HOST),
                pid: number(40)?,
                doing: text(bytes, 112, DOING),
                since: LE.get_i64(bytes, 32).ok_or(short)?,
            }),
            _ => return Err(Damage("its state is unknown")),
        };
        Ok(Some(Owner { interval, claims: number(44)?, holder }))
    }
}

impl Beat {
    /// The sector.
    pub fn encode(&self) -> [u8; SECTOR] {
        let mut bytes = begun(BEAT);
        put(&mut bytes, 8, &self.session);
        LE.put_u64(&mut bytes, 24, self.seq);
        LE.put_i64(&mut bytes, 32, self.at);
        sealed(bytes)
    }

    /// What is in the sector; `None` if it is not one of these.
    ///
    /// # Errors
    /// It is damaged.
    pub fn decode(bytes: &[u8]) -> Result<Option<Beat>, Damage> {
        if !checked(bytes, BEAT)? {
            return Ok(None);
        }
        let read =
            || Some(Beat { session: session(bytes, 8)?, seq: LE.get_u64(bytes, 24)?, at: LE.get_i64(bytes, 32)? });
        read().ok_or(Damage("it is shorter than a sector")).map(Some)
    }
}

fn begun(magic: [u8; 8]) -> [u8; SECTOR] {
    let mut bytes = [0; SECTOR];
    put(&mut bytes, 0, &magic);
    bytes
}

fn sealed(mut bytes: [u8; SECTOR]) -> [u8; SECTOR] {
    let sum = sum(&bytes);
    LE.put_u32(&mut bytes, SUM, sum);
    bytes
}

fn sum(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes.get(..SUM).unwrap_or_default())
}

/// Whether the sector has this magic number.
fn checked(bytes: &[u8], magic: [u8; 8]) -> Result<bool, Damage> {
    let [name @ .., _version] = &magic;
    if !bytes.starts_with(name) {
        return Ok(false);
    }
    if !bytes.starts_with(&magic) {
        return Err(Damage("its version is unknown"));
    }
    if LE.get_u32(bytes, SUM) != Some(sum(bytes)) {
        return Err(Damage("its checksum is wrong"));
    }
    Ok(true)
}

fn put(bytes: &mut [u8], at: usize, what: &[u8]) {
    let place = bytes.get_mut(at..).unwrap_or_default();
    place.iter_mut().zip(what).for_each(|(to, from)| *to = *from);
}

fn session(bytes: &[u8], at: usize) -> Option<[u8; 16]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// At most `most` bytes of it, whole characters.
fn cut(text: &str, most: usize) -> &[u8] {
    let end = text.char_indices().map(|(at, c)| at.saturating_add(c.len_utf8())).take_while(|end| *end <= most).last();
    text.as_bytes().get(..end.unwrap_or(0)).unwrap_or_default()
}

/// What a person may be shown of a name from a disk.
fn text(bytes: &[u8], at: usize, most: usize) -> String {
    let name = bytes.get(at..).unwrap_or_default().iter().take(most).copied().take_while(|byte| *byte != 0);
    let name: Vec<u8> = name.collect();
    String::from_utf8_lossy(&name).chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// The time of day, for people: `2026-11-27 08:11:37`.
pub fn utc(secs: i64) -> String {
    let (days, of_day) = (secs.div_euclid(86_400), secs.rem_euclid(86_400));
    // The days of the proleptic calendar in eras of 400 years that begin with a March.
    let shifted = days.saturating_add(719_468);
    let (era, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let leaps = day.div_euclid(1460).saturating_sub(day.div_euclid(36_524)).saturating_add(day.div_euclid(146_096));
    let year = day.saturating_sub(leaps).div_euclid(365);
    let before = year.saturating_mul(365).saturating_add(year.div_euclid(4)).saturating_sub(year.div_euclid(100));
    let of_year = day.saturating_sub(before);
    let march = of_year.saturating_mul(5).saturating_add(2).div_euclid(153);
    let date = of_year.saturating_sub(march.saturating_mul(153).saturating_add(2).div_euclid(5)).saturating_add(1);
    let month = if march < 10 { march.saturating_add(3) } else { march.saturating_sub(9) };
    let year = year.saturating_add(era.saturating_mul(400)).saturating_add(i64::from(month <= 2));
    let (hour, minute) = (of_day.div_euclid(3600), of_day.div_euclid(60).rem_euclid(60));
    format!("{year:04}-{month:02}-{date:02} {hour:02}:{minute:02}:{:02}", of_day.rem_euclid(60))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held() -> Owner {
        let holder = Holder {
            session: [7; 16],
            host: "a".repeat(63) + "é",
            pid: 4711,
            doing: "ordo mount".into(),
            since: 1_795_767_097,
        };
        Owner { interval: 5000, claims: 3, holder: Ok(holder) }
    }

    #[test]
    fn both_sectors_are_read_as_they_were_written() {
        let mut owner = held();
        let back = Owner::decode(&owner.encode()).unwrap().unwrap();
        assert_eq!(back.session(), [7; 16]);
        // A name that is too long is cut at a character.
        owner.holder.as_mut().unwrap().host.pop();
        assert_eq!(back, owner);
        let free = Owner { claims: 9, holder: Err(Released([3; 16])), ..Owner::free(100) };
        assert_eq!(Owner::decode(&free.encode()), Ok(Some(free)));
        let beat = Beat { session: [1; 16], seq: u64::MAX, at: -5 };
        assert_eq!(Beat::decode(&beat.encode()), Ok(Some(beat)));
        assert_eq!((Owner::decode(&beat.encode()), Beat::decode(&held().encode())), (Ok(None), Ok(None)));
    }

    #[test]
    fn any_wrong_bit_is_seen_and_no_length_is_trusted() {
        let (owner, beat) = (held().encode(), Beat::default().encode());
        for bit in 56..SECTOR * 8 {
            for good in [owner, beat] {
                let mut bytes = good;
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert!(Owner::decode(&bytes).is_err() || Beat::decode(&bytes).is_err(), "bit {bit}");
            }
        }
        for len in 0..SECTOR {
            assert!(!matches!(Owner::decode(&owner[..len]), Ok(Some(_))), "{len}");
            assert!(!matches!(Beat::decode(&beat[..len]), Ok(Some(_))), "{len}");
        }
        assert_eq!(Owner::decode(&[0; SECTOR]), Ok(None));
        // A state or an interval that is none, with a right checksum.
        for (at, value) in [(8, 2u32), (12, 0), (12, 30_001)] {
            let mut bytes = owner;
            LE.put_u32(&mut bytes, at, value);
            assert!(Owner::decode(&sealed(bytes)).is_err(), "{at}");
        }
    }

    #[test]
    fn a_time_of_day_is_a_date() {
        for (secs, said) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_400, "2000-02-29 00:00:00"),
            (1_795_767_097, "2026-11-27 08:11:37"),
            (-1, "1969-12-31 23:59:59"),
            (4_102_444_799, "2099-12-31 23:59:59"),
        ] {
            assert_eq!(utc(secs), said);
        }
        utc(i64::MAX);
        utc(i64::MIN);
    }

    #[test]
    fn the_two_sectors_never_share_a_unit_of_4096_bytes_in_a_wide_area() {
        let wide = Place::in_ufs(ByteOff(65_536)).unwrap();
        assert_ne!(wide.owner.0 / 4096, wide.beat.0 / 4096);
        assert!(wide.owner.0 + 4096 <= 61_440 && wide.beat.0 >= 8192 + 1376);
        assert_eq!((Place::in_ufs(ByteOff(0)), Place::in_ufs(ByteOff(262_144))), (None, None));
    }
}
