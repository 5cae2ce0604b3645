//! The time of day in a new volume, and the seed of its random numbers.
//!
//! C1. With `SOURCE_DATE_EPOCH` the volume depends on the arguments, the tree and that number alone: the time in it is
//!     that number, a tree is copied in virtual time, on a clock that begins there, and random numbers come from a
//!     seed.

use crate::out::usage;
use ordofs::rt::Rt;
use std::hash::{BuildHasher, Hasher};

/// When the volume is made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    pub(super) now: i64,
    pub(super) seed: u64,
    /// No file is younger.
    pub(super) latest: Option<i64>,
}

impl Clock {
    /// The clock of the system, or that of `SOURCE_DATE_EPOCH`.
    ///
    /// # Errors
    /// Wrong usage, when that is no time.
    pub(super) fn new() -> anyhow::Result<Clock> {
        let Some(text) = std::env::var_os("SOURCE_DATE_EPOCH").filter(|text| !text.is_empty()) else {
            let seed = std::collections::hash_map::RandomState::new().build_hasher().finish();
            return Ok(Clock { now: Rt::real_time().wall().0, seed, latest: None });
        };
        let secs = text.to_str().and_then(|text| text.parse().ok()).filter(|&secs: &i64| secs >= 0);
        let secs = secs.ok_or_else(|| usage("SOURCE_DATE_EPOCH is not a number of seconds since 1970"))?;
        Ok(Clock { now: secs, seed: secs.unsigned_abs(), latest: Some(secs) })
    }

    /// An executor on this clock. It waits for nothing: what waits for another program needs one in real time.
    pub(super) fn rt(self) -> Rt {
        let rt = Rt::virtual_time(self.seed);
        rt.jump_wall(self.now - rt.wall().0);
        rt
    }

    /// The random part of the volume's number.
    pub(super) fn id(self) -> u32 {
        (self.seed ^ self.seed >> 32) as u32
    }
}
