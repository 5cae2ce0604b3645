//! Units of time and of blocks.
//!
//! Time is a floating-point number of milliseconds, the unit of every profile. Only `+ - * /` and the square root are
//! applied to it; IEEE 754 rounds each of them in one way, so a run gives the same bytes on every machine. The
//! resolution of a double at a year is 4 microseconds, at a day 15 picoseconds.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A moment (milliseconds since the drive was switched on) or a span, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Ms(pub f64);

impl Ms {
    /// The moment at which the drive was switched on; a duration of zero.
    pub const ZERO: Ms = Ms(0.0);

    /// From whole nanoseconds.
    pub fn from_nanos(nanos: u64) -> Ms {
        Ms(nanos as f64 / 1e6)
    }

    /// The nearest whole nanosecond; zero for negative values.
    pub fn as_nanos(self) -> u64 {
        (self.0 * 1e6 + 0.5) as u64
    }

    /// The later, or longer, of two.
    pub fn max(self, other: Ms) -> Ms {
        if other.0 > self.0 { other } else { self }
    }
}

impl Add for Ms {
    type Output = Ms;
    fn add(self, by: Ms) -> Ms {
        Ms(self.0 + by.0)
    }
}

impl AddAssign for Ms {
    fn add_assign(&mut self, by: Ms) {
        self.0 += by.0;
    }
}

impl Sub for Ms {
    type Output = Ms;
    fn sub(self, by: Ms) -> Ms {
        Ms(self.0 - by.0)
    }
}

impl fmt::Display for Ms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6} ms", self.0)
    }
}

/// A block as the host numbers it, in units of 512 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lbn(pub u64);

impl fmt::Display for Lbn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
