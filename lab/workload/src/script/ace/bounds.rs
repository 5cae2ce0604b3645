//! The bounds of a set of sequences.

use super::filled::Core;

/// Most operations of a sequence. Longer ones could not be counted in 64 bits.
const LONGEST: usize = 5;

/// The bounds of a set of sequences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    pub(super) length: usize,
    pub(super) ops: Vec<Core>,
    pub(super) nested: bool,
}

impl Bounds {
    /// Sequences of `length` of ACE's 13 core operations, at least 1 and at most 5.
    ///
    /// Up to two operations, any path may be made durable that is used, is a sibling of a used one or its parent. In
    /// longer sequences only used paths may, and each operation must be related to those before.
    pub fn length(length: usize) -> Bounds {
        Bounds { length: length.clamp(1, LONGEST), ops: Core::ALL.to_vec(), nested: false }
    }

    /// Only these operations.
    #[must_use]
    pub fn ops(self, ops: &[Core]) -> Bounds {
        Bounds { ops: ops.to_vec(), ..self }
    }

    /// Also the directory `A/C` and files in it.
    #[must_use]
    pub fn nested(self) -> Bounds {
        Bounds { nested: true, ..self }
    }
}
