//! A structure on the disk that is damaged, and what makes it right again.

use super::sums::Fix;
use ordo_ondisk::Endian;

/// A structure on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Structure {
    /// What it is. Structures of a class have the same form.
    pub(super) class: &'static str,
    pub(super) at: u64,
    pub(super) len: u64,
    pub(super) endian: Endian,
    /// What is made right after it was damaged, in this order.
    pub(super) fixes: Vec<Fix>,
    /// It says where everything lies. Whatever it says, a program that takes the volume may write only to what is
    /// free: a file that was not written to keeps its bytes. Of damage to what says which places are free, or to
    /// pointers, no program could know.
    pub(super) guards: bool,
}

impl Structure {
    /// One without a sum.
    pub(super) fn new(class: &'static str, at: u64, len: u64, endian: Endian) -> Structure {
        Structure { class, at, len, endian, fixes: Vec::new(), guards: false }
    }

    /// With these, in this order.
    pub(super) fn fixed(self, fixes: impl IntoIterator<Item = Fix>) -> Structure {
        Structure { fixes: fixes.into_iter().collect(), ..self }
    }

    /// See [`Structure::guards`].
    pub(super) fn guarding(self) -> Structure {
        Structure { guards: true, ..self }
    }
}
