//! Log sequence numbers.

use ordo_ring::Field;
use std::fmt;
use std::str::FromStr;
use zerocopy::byteorder::little_endian::U64;

/// Names a record: the offset of its first byte, counted from the beginning of the log and never reset. Later records
/// have larger numbers. 0 names no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lsn(pub u64);

impl Lsn {
    /// Names no record; before all others.
    pub const NONE: Lsn = Lsn(0);
}

impl Field for Lsn {
    type Raw = U64;

    fn raw(&self) -> U64 {
        U64::new(self.0)
    }

    fn of(raw: U64) -> Lsn {
        Lsn(raw.get())
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Lsn {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Lsn, Self::Err> {
        text.parse().map(Lsn)
    }
}
