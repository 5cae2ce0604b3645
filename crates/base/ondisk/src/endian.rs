//! Byte order of a volume. Every integer of a volume is in the order of the machine that made it.

/// Byte order of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Endian {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

macro_rules! integers {
    ($($int:ident $bytes:ident $get:ident $put:ident $len:literal),*) => { $(
        #[doc = concat!("The `", stringify!($int), "` that these bytes are.")]
        #[inline]
        pub fn $int(self, bytes: [u8; $len]) -> $int {
            match self {
                Endian::Little => $int::from_le_bytes(bytes),
                Endian::Big => $int::from_be_bytes(bytes),
            }
        }

        #[doc = concat!("The bytes of a `", stringify!($int), "`.")]
        #[inline]
        pub fn $bytes(self, value: $int) -> [u8; $len] {
            match self {
                Endian::Little => value.to_le_bytes(),
                Endian::Big => value.to_be_bytes(),
            }
        }

        #[doc = concat!("The `", stringify!($int), "` at byte `at`; `None` where it is not wholly within `bytes`.")]
        #[inline]
        pub fn $get(self, bytes: &[u8], at: usize) -> Option<$int> {
            Some(self.$int(*bytes.get(at..)?.first_chunk()?))
        }

        #[doc = concat!("Stores a `", stringify!($int), "` at byte `at`; `None`, and nothing stored, where it does not fit.")]
        #[inline]
        pub fn $put(self, bytes: &mut [u8], at: usize, value: $int) -> Option<()> {
            *bytes.get_mut(at..)?.first_chunk_mut()? = self.$bytes(value);
            Some(())
        }
    )* };
}

impl Endian {
    integers! {
        i8 i8_bytes get_i8 put_i8 1,
        u8 u8_bytes get_u8 put_u8 1,
        u16 u16_bytes get_u16 put_u16 2,
        i16 i16_bytes get_i16 put_i16 2,
        u32 u32_bytes get_u32 put_u32 4,
        i32 i32_bytes get_i32 put_i32 4,
        u64 u64_bytes get_u64 put_u64 8,
        i64 i64_bytes get_i64 put_i64 8
    }

    /// The opposite order.
    pub const fn other(self) -> Endian {
        match self {
            Endian::Little => Endian::Big,
            Endian::Big => Endian::Little,
        }
    }

    /// The byte order of the host.
    pub const fn native() -> Endian {
        if cfg!(target_endian = "big") { Endian::Big } else { Endian::Little }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_orders_read_what_they_wrote_and_nothing_beyond_the_end() {
        let mut b = [0u8; 6];
        assert_eq!(Endian::Big.put_u32(&mut b, 2, 0x0001_1954), Some(()));
        assert_eq!(b, [0, 0, 0, 1, 0x19, 0x54]);
        assert_eq!(Endian::Little.get_u32(&b, 2), Some(0x5419_0100));
        assert_eq!(Endian::Little.get_u32(&b, 3), None);
        assert_eq!(Endian::Little.get_u32(&b, usize::MAX), None);
        assert_eq!(Endian::Big.put_i64(&mut b, 0, -1), None);
        assert_eq!(b, [0, 0, 0, 1, 0x19, 0x54]);
        assert_eq!(Endian::Big.get_i16(&[0xff, 0xfe], 0), Some(-2));
    }
}
