//! Declares a structure on disk once, as a table of offset, name and type. The struct in the host's order, its
//! decoding, its encoding and the list that is compared with the documentation are generated from it.
//!
//! F1. The fields of a structure tile it: no gap, no overlap, up to its last byte. The compiler checks it, so a
//!     mistyped offset does not compile.

use crate::Endian;

/// A value at a fixed place in a structure.
pub(crate) trait Field: Sized {
    /// Bytes on disk.
    const SIZE: usize;
    /// Reads the value at byte `at`; `None` if `bytes` ends before it does.
    fn load(bytes: &[u8], at: usize, endian: Endian) -> Option<Self>;
    /// Writes the value at byte `at`; `None` if `bytes` ends before it does.
    fn store(&self, bytes: &mut [u8], at: usize, endian: Endian) -> Option<()>;
}

macro_rules! integer_fields {
    ($($int:ident $get:ident $put:ident),*) => { $(
        impl Field for $int {
            const SIZE: usize = size_of::<$int>();
            #[inline]
            fn load(bytes: &[u8], at: usize, endian: Endian) -> Option<$int> {
                endian.$get(bytes, at)
            }
            #[inline]
            fn store(&self, bytes: &mut [u8], at: usize, endian: Endian) -> Option<()> {
                endian.$put(bytes, at, *self)
            }
        }
    )* };
}

integer_fields!(i8 get_i8 put_i8, u8 get_u8 put_u8, i16 get_i16 put_i16, u16 get_u16 put_u16);
integer_fields!(i32 get_i32 put_i32, u32 get_u32 put_u32, i64 get_i64 put_i64, u64 get_u64 put_u64);

impl<T: Field + Copy, const N: usize> Field for [T; N]
where
    [T; N]: Zeroed,
{
    const SIZE: usize = T::SIZE.saturating_mul(N);
    #[inline]
    fn load(bytes: &[u8], at: usize, endian: Endian) -> Option<[T; N]> {
        let mut all = <[T; N]>::ZERO;
        let mut place = at;
        for item in &mut all {
            *item = T::load(bytes, place, endian)?;
            place = place.checked_add(T::SIZE)?;
        }
        Some(all)
    }
    #[inline]
    fn store(&self, bytes: &mut [u8], at: usize, endian: Endian) -> Option<()> {
        let mut place = at;
        for item in self {
            item.store(bytes, place, endian)?;
            place = place.checked_add(T::SIZE)?;
        }
        Some(())
    }
}

/// Types that have a zero. `Default` covers arrays of up to 32 elements only.
pub(crate) trait Zeroed {
    /// Zero, in every element.
    const ZERO: Self;
}

macro_rules! zeroed {
    ($($int:ident)*) => { $( impl Zeroed for $int { const ZERO: Self = 0; } impl<const N: usize> Zeroed for [$int; N] { const ZERO: Self = [0; N]; } )* };
}
zeroed!(i8 u8 i16 u16 i32 u32 i64 u64);

/// The place of a field in a structure, for documentation and for tools that print a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldPlace {
    /// First byte, from the start of the structure.
    pub offset: usize,
    /// Bytes.
    pub size: usize,
    /// Type as written in the declaration.
    pub kind: &'static str,
    /// Name as written in the declaration.
    pub name: &'static str,
}

/// `true` if the fields tile the structure (F1).
pub(crate) const fn tiles(fields: &[FieldPlace], size: usize) -> bool {
    let mut rest = fields;
    let mut end = 0;
    while let [first, tail @ ..] = rest {
        if first.offset != end {
            return false;
        }
        end = first.offset.saturating_add(first.size);
        rest = tail;
    }
    end == size
}

/// Declares a structure on disk. See the head of the module.
macro_rules! on_disk {
    (
        $(#[$meta:meta])*
        pub struct $name:ident, $size:literal bytes {
            $( $(#[$fmeta:meta])* $off:literal $field:ident: $kind:ty, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name { $( $(#[$fmeta])* pub $field: $kind, )* }

        impl $name {
            /// Bytes on disk.
            pub const SIZE: usize = $size;
            /// Every field, in order of offset.
            pub const FIELDS: &'static [crate::FieldPlace] = &[ $( crate::FieldPlace {
                offset: $off,
                size: <$kind as crate::field::Field>::SIZE,
                kind: stringify!($kind),
                name: stringify!($field),
            }, )* ];

            /// All fields zero.
            pub fn zeroed() -> $name {
                $name { $( $field: <$kind as crate::field::Zeroed>::ZERO, )* }
            }

            /// Reads the structure from the start of `bytes`; `None` if they are shorter.
            #[inline]
            pub fn load(bytes: &[u8], endian: crate::Endian) -> Option<$name> {
                let bytes: &[u8; $size] = bytes.first_chunk()?;
                Some($name { $( $field: <$kind as crate::field::Field>::load(bytes, $off, endian)?, )* })
            }

            /// Writes the structure to the start of `bytes`; `None` if they are shorter.
            #[inline]
            pub fn store(&self, bytes: &mut [u8], endian: crate::Endian) -> Option<()> {
                let bytes: &mut [u8; $size] = bytes.first_chunk_mut()?;
                $( crate::field::Field::store(&self.$field, bytes, $off, endian)?; )*
                Some(())
            }
        }

        const _: () = assert!(crate::field::tiles($name::FIELDS, $size), "fields must tile the structure");
    };
}
pub(crate) use on_disk;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cg::CgHeader;

    #[test]
    fn structure_reads_back_what_it_wrote_in_both_orders() {
        let mut head = CgHeader::zeroed();
        (head.magic, head.old_ncyl, head.frsum, head.time) = (crate::cg::MAGIC, -2, [0, 1, 2, 3, 4, 5, 6, 7], -3);
        for endian in [Endian::Little, Endian::Big] {
            let mut b = [0xaa; 169];
            head.store(&mut b, endian).unwrap();
            assert_eq!(b[168], 0xaa);
            assert_eq!(b[4..8], endian.u32_bytes(0x0009_0255));
            assert_eq!(b[80..84], endian.u32_bytes(7));
            assert_eq!(CgHeader::load(&b, endian).as_ref(), Some(&head));
            assert_eq!(CgHeader::load(&b[..167], endian), None);
        }
        let frsum = CgHeader::FIELDS.iter().find(|f| f.name == "frsum");
        assert_eq!(frsum, Some(&FieldPlace { offset: 52, size: 32, kind: "[u32; 8]", name: "frsum" }));
    }

    #[test]
    fn gap_or_overlap_between_fields_is_noticed() {
        let at = |offset, size| FieldPlace { offset, size, kind: "", name: "" };
        assert!(tiles(&[at(0, 4), at(4, 4)], 8));
        assert!(!tiles(&[at(0, 4), at(6, 2)], 8));
        assert!(!tiles(&[at(0, 4), at(2, 6)], 8));
        assert!(!tiles(&[at(0, 4)], 8));
    }
}
