//! A flash drive: latency by queue depth, a write cache, flush.
//!
//! S1. With a volatile cache nothing counts as durable before a flush has completed or the write was forced, whatever
//!     the drive has moved to flash by itself.
//! S2. Without one a write is durable when it completes.
//!
//! The cache empties at the sustained rate while time passes; a flush pays for what is left.

use crate::disk::Recorded;
use crate::mechanism::Passed;
use crate::profile::SsdProfile;
use crate::request::{Completion, Op, Options, Phases};
use crate::units::Ms;

const BLOCK: u64 = 512;

#[derive(Clone, Debug)]
pub(crate) struct Ssd {
    profile: SsdProfile,
    options: Options,
    /// Bytes in a volatile cache at `since`.
    dirty: f64,
    since: f64,
    /// Completed, but not durable.
    waiting: Vec<(u64, u64, u64)>,
    number: u64,
    pub(crate) written: Vec<Recorded>,
}

impl SsdProfile {
    /// How long a request of `blocks` blocks takes with `depth` of its kind outstanding: the latency of a page, and the
    /// rest beyond a page at the sequential rate.
    pub fn latency(&self, op: Op, blocks: u64, depth: u32) -> Ms {
        let kind = match op {
            Op::Read => &self.read,
            Op::Write => &self.write,
        };
        let by_rate = f64::from(depth.clamp(1, self.max_queue_depth)) / kind.pages_per_ms;
        let page = if by_rate > kind.alone_ms { by_rate } else { kind.alone_ms };
        Ms(page + self.beyond_page(blocks) / kind.bytes_per_ms)
    }

    fn beyond_page(&self, blocks: u64) -> f64 {
        (blocks * BLOCK).saturating_sub(self.page_bytes) as f64
    }
}

impl Ssd {
    pub(crate) fn new(profile: SsdProfile, options: Options) -> Ssd {
        Ssd { profile, options, dirty: 0.0, since: 0.0, waiting: Vec::new(), number: 0, written: Vec::new() }
    }

    pub(crate) fn blocks(&self) -> u64 {
        self.profile.blocks
    }

    fn drain(&mut self, now: f64) {
        let left = self.dirty - (now - self.since) * self.profile.sustained_bytes_per_ms;
        self.dirty = if left > 0.0 { left } else { 0.0 };
        self.since = now;
    }

    fn record(&mut self, first: u64, blocks: u64, number: u64, done: f64) {
        if self.options.record_writes {
            let passed = Passed { first, blocks, from: (done, 0), width: 0.0 };
            self.written.push(Recorded { passed, number });
        }
    }

    pub(crate) fn submit(&mut self, now: f64, op: Op, lbn: u64, blocks: u64, fua: bool) -> Completion {
        let forced = fua && op == Op::Write && self.profile.volatile;
        let time = if forced {
            self.profile.fua_ms + self.profile.beyond_page(blocks) / self.profile.write.bytes_per_ms
        } else {
            self.profile.latency(op, blocks, 1).0
        };
        let at = now + time;
        if op == Op::Write {
            if self.profile.volatile && !forced {
                self.drain(now);
                self.dirty += (blocks * BLOCK) as f64;
                if self.options.record_writes {
                    self.waiting.push((lbn, blocks, self.number));
                }
            } else {
                self.record(lbn, blocks, self.number, at);
            }
        }
        let buffered = op == Op::Write && !forced;
        let number = self.number;
        self.number += 1;
        Completion { number, at: Ms(at), phases: Phases::new(now, at, 0.0, 0.0, 0.0, 0.0), buffered }
    }

    pub(crate) fn flush(&mut self, now: f64) -> f64 {
        self.drain(now);
        let at = now + self.profile.flush_ms + self.dirty / self.profile.sustained_bytes_per_ms;
        self.dirty = 0.0;
        self.since = at;
        for (first, blocks, number) in std::mem::take(&mut self.waiting) {
            self.record(first, blocks, number, at);
        }
        at
    }
}
