//! The superblock: what a log is, and where reading starts (ring-1).
//!
//! Each begins with the same envelope: a magic number, a version, and a checksum of the whole. What follows is the
//! log's own.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::Error;
use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes from one slot to the next.
pub const SLOT: u64 = 4096;
/// Bytes of both slots. The circle begins after them.
pub const FIRST: u64 = 2 * SLOT;
/// Bytes of a superblock.
pub const SUPERBLOCK: usize = 512;

/// The first bytes of each superblock.
#[derive(Clone, Copy, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Envelope {
    magic: [u8; 8],
    version: U32,
    /// CRC-32C of the superblock, with zeros here.
    checksum: U32,
}

/// A superblock whose fields are consistent.
pub trait Superblock: Clone {
    /// Its first bytes.
    const MAGIC: [u8; 8];
    /// The version of the format that this program knows.
    const VERSION: u32;

    /// Grows with each superblock; its lowest bit is the slot.
    fn sequence(&self) -> u64;

    /// Its successor, in the other slot.
    fn next(&self) -> Self;

    /// Its bytes. What they say in the place of the [`Envelope`] is ignored.
    fn to_bytes(&self) -> [u8; SUPERBLOCK];

    /// The inverse, from bytes whose envelope is valid; or why the fields are inconsistent (ring-7).
    ///
    /// # Errors
    /// What is wrong.
    fn from_bytes(bytes: &[u8; SUPERBLOCK]) -> Result<Self, &'static str>;

    /// The encoded bytes, with their envelope.
    fn encode(&self) -> [u8; SUPERBLOCK] {
        let mut bytes = self.to_bytes();
        let mut envelope = Envelope { magic: Self::MAGIC, version: Self::VERSION.into(), checksum: 0.into() };
        bytes[..size_of::<Envelope>()].copy_from_slice(envelope.as_bytes());
        envelope.checksum = crc32c::crc32c(&bytes).into();
        bytes[..size_of::<Envelope>()].copy_from_slice(envelope.as_bytes());
        bytes
    }

    /// Decodes and validates all fields.
    ///
    /// # Errors
    /// [`Error::NoMagic`], [`Error::Superblock`], [`Error::Version`].
    fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let Some(bytes) = bytes.first_chunk::<SUPERBLOCK>() else { return Err(Error::NoMagic) };
        let Ok((envelope, _)) = Envelope::read_from_prefix(bytes) else { return Err(Error::NoMagic) };
        if envelope.magic != Self::MAGIC {
            return Err(Error::NoMagic);
        }
        let mut plain = *bytes;
        let unsummed = Envelope { checksum: 0.into(), ..envelope };
        plain[..size_of::<Envelope>()].copy_from_slice(unsummed.as_bytes());
        if crc32c::crc32c(&plain) != envelope.checksum.get() {
            return Err(Error::Superblock { why: "the checksum is wrong" });
        }
        if envelope.version.get() != Self::VERSION {
            return Err(Error::Version { version: envelope.version.get(), known: Self::VERSION });
        }
        Self::from_bytes(bytes).map_err(|why| Error::Superblock { why })
    }

    /// The superblock to use, from the bytes of both slots.
    ///
    /// # Errors
    /// Why neither slot is valid, as [`Superblock::decode`].
    fn choose(slots: [&[u8]; 2]) -> Result<Self, Error> {
        let [first, second] = slots.map(Self::decode);
        match (first, second) {
            (Ok(first), Ok(second)) => Ok(if first.sequence() > second.sequence() { first } else { second }),
            // Even beside a valid superblock of our version: a newer program has used the log since.
            (Err(newer @ Error::Version { .. }), _) | (_, Err(newer @ Error::Version { .. })) => Err(newer),
            (Ok(one), Err(_)) | (Err(_), Ok(one)) => Ok(one),
            (Err(Error::NoMagic), Err(error)) | (Err(error), Err(_)) => Err(error),
        }
    }

    /// The offset of its slot in the place.
    fn slot(&self) -> u64 {
        if self.sequence().is_multiple_of(2) { 0 } else { SLOT }
    }
}

/// A field of a superblock: its form on the disk.
pub trait Field: Sized {
    /// Little-endian, without alignment.
    type Raw;

    /// As it is on the disk.
    fn raw(&self) -> Self::Raw;

    /// The inverse.
    fn of(raw: Self::Raw) -> Self;
}

impl Field for u64 {
    type Raw = U64;

    fn raw(&self) -> U64 {
        U64::new(*self)
    }

    fn of(raw: U64) -> u64 {
        raw.get()
    }
}

impl Field for u32 {
    type Raw = U32;

    fn raw(&self) -> U32 {
        U32::new(*self)
    }

    fn of(raw: U32) -> u32 {
        raw.get()
    }
}

impl Field for bool {
    type Raw = U32;

    fn raw(&self) -> U32 {
        U32::new(u32::from(*self))
    }

    fn of(raw: U32) -> bool {
        raw.get() != 0
    }
}

/// A superblock as a table: its magic number, its version, and its fields in their order on the disk, behind the
/// [`Envelope`]; what is left is zero. One field is `sequence`. `nonsense` says which fields are inconsistent (ring-7).
#[macro_export]
macro_rules! superblock {
    (
        $(#[$what:meta])*
        $vis:vis struct $name:ident($magic:literal, version $version:literal) {
            $($(#[$says:meta])* $field:ident: $kind:ty,)*
        }
    ) => {
        $(#[$what])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        $vis struct $name {
            $($(#[$says])* $vis $field: $kind,)*
        }

        /// The layout on the disk.
        #[derive(
            ::zerocopy::FromBytes, ::zerocopy::IntoBytes, ::zerocopy::KnownLayout, ::zerocopy::Immutable,
            ::zerocopy::Unaligned,
        )]
        #[repr(C)]
        struct Raw {
            envelope: $crate::Envelope,
            $($field: <$kind as $crate::Field>::Raw,)*
            zero: [u8; Raw::ZERO],
        }

        impl Raw {
            const ZERO: usize = $crate::SUPERBLOCK
                - size_of::<$crate::Envelope>()
                $(- size_of::<<$kind as $crate::Field>::Raw>())*;

            /// Where the fields are.
            #[cfg(test)]
            const FIELDS: &[(&str, usize)] = &[
                $((stringify!($field), ::std::mem::offset_of!(Raw, $field)),)*
                ("zero", ::std::mem::offset_of!(Raw, zero)),
            ];
        }

        impl $crate::Superblock for $name {
            const MAGIC: [u8; 8] = *$magic;
            const VERSION: u32 = $version;

            fn sequence(&self) -> u64 {
                self.sequence
            }

            fn next(&self) -> $name {
                $name { sequence: self.sequence.saturating_add(1), ..self.clone() }
            }

            fn to_bytes(&self) -> [u8; $crate::SUPERBLOCK] {
                ::zerocopy::transmute!(Raw {
                    envelope: $crate::Envelope::default(),
                    $($field: $crate::Field::raw(&self.$field),)*
                    zero: [0; Raw::ZERO],
                })
            }

            fn from_bytes(bytes: &[u8; $crate::SUPERBLOCK]) -> Result<$name, &'static str> {
                let raw: Raw = ::zerocopy::transmute!(*bytes);
                let superblock = $name { $($field: $crate::Field::of(raw.$field),)* };
                superblock.nonsense().map_or(Ok(superblock), Err)
            }
        }
    };
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::mem::offset_of;

    /// A superblock with nothing but its number.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Bare(pub(crate) u64);

    impl Superblock for Bare {
        const MAGIC: [u8; 8] = *b"ORDORING";
        const VERSION: u32 = 3;

        fn sequence(&self) -> u64 {
            self.0
        }

        fn next(&self) -> Bare {
            Bare(self.0 + 1)
        }

        fn to_bytes(&self) -> [u8; SUPERBLOCK] {
            let mut bytes = [0xee; SUPERBLOCK];
            bytes[16..24].copy_from_slice(&self.0.to_le_bytes());
            bytes
        }

        fn from_bytes(bytes: &[u8; SUPERBLOCK]) -> Result<Bare, &'static str> {
            let sequence = u64::from_le_bytes(std::array::from_fn(|i| bytes[16 + i]));
            if sequence > 100 { Err("the sequence cannot be") } else { Ok(Bare(sequence)) }
        }
    }

    #[test]
    fn a_superblock_survives_being_written_and_read() {
        assert_eq!(Bare::decode(&Bare(4).encode()), Ok(Bare(4)));
        assert_eq!((Bare(4).slot(), Bare(4).next().slot()), (0, 4096));
        assert_eq!(Bare::decode(&Bare(101).encode()), Err(Error::Superblock { why: "the sequence cannot be" }));
    }

    #[test]
    fn any_changed_byte_is_noticed() {
        let good = Bare(4).encode();
        for at in 0..SUPERBLOCK {
            let mut bad = good;
            bad[at] ^= 0x10;
            assert!(Bare::decode(&bad).is_err(), "byte {at}");
        }
    }

    #[test]
    fn the_newer_one_counts_and_a_bad_one_never() {
        let (old, new) = (Bare(4).encode(), Bare(5).encode());
        assert_eq!(Bare::choose([&old, &new]), Ok(Bare(5)));
        assert_eq!(Bare::choose([&new, &old]), Ok(Bare(5)));
        assert_eq!(Bare::choose([&old, &new[..100]]), Ok(Bare(4)));
        assert_eq!(Bare::choose([&[0; 512], &[0; 512]]), Err(Error::NoMagic));
        let mut torn = new;
        torn[40] ^= 1;
        assert_eq!(Bare::choose([&old, &torn]), Ok(Bare(4)));
        assert!(matches!(Bare::choose([&[0; 512], &torn]), Err(Error::Superblock { .. })));
    }

    #[test]
    fn a_later_version_is_refused_even_beside_one_of_ours() {
        let (mut later, sum) = (Bare(5).encode(), 12..16);
        later[8] += 1;
        later[sum.clone()].fill(0);
        let checksum = crc32c::crc32c(&later).to_le_bytes();
        later[sum].copy_from_slice(&checksum);
        let refused = Err(Error::Version { version: 4, known: 3 });
        assert_eq!(Bare::choose([&Bare(4).encode(), &later]), refused);
        assert_eq!(Bare::choose([&later, &Bare(6).encode()]), refused);
    }

    #[test]
    fn the_envelope_in_both_format_pages_is_that_of_the_declaration() {
        let pages =
            [include_str!("../../../../docs/format/wafs.md"), include_str!("../../../../docs/format/block-journal.md")];
        let fields = [
            ("magic", offset_of!(Envelope, magic)),
            ("version", offset_of!(Envelope, version)),
            ("checksum", offset_of!(Envelope, checksum)),
        ];
        for (page, (name, at)) in pages.iter().flat_map(|page| fields.map(|field| (page, field))) {
            let is_row = |line: &str| line.starts_with(&format!("| {at} |")) && line.contains(&format!("| {name} |"));
            assert!(page.lines().any(is_row), "{name} at byte {at}");
        }
    }
}
