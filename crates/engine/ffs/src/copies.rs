//! The room that the disk below has for copies, which snapshots need (ffs-snapshot-1).

use std::fmt;
use std::rc::Rc;

/// How many blocks the disk below can still copy; the largest number if it can copy all that could need it.
#[derive(Clone)]
pub struct Copies(Rc<dyn Fn() -> u64>);

impl Copies {
    /// By asking `ask`.
    pub fn new(ask: impl Fn() -> u64 + 'static) -> Copies {
        Copies(Rc::new(ask))
    }

    /// The number.
    pub(crate) fn left(&self) -> u64 {
        (self.0)()
    }
}

impl fmt::Debug for Copies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Copies({})", self.left())
    }
}
