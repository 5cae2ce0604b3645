//! The public interface of a drive: checked requests in, completion times out.

use crate::disk::{Disk, Recorded};
use crate::error::RequestError;
use crate::mechanism::Passed;
use crate::profile::{Kind, Profile};
use crate::request::{Completion, Op, Options, Request};
use crate::ssd::Ssd;
use crate::units::{Lbn, Ms};

/// A drive in virtual time. The caller owns the clock: each call passes its time.
#[derive(Clone, Debug)]
pub struct Drive {
    device: Device,
    /// When the last request completed.
    free: f64,
    volatile: bool,
}

#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a drive is made once, and most are disks")]
enum Device {
    Disk(Disk),
    Ssd(Ssd),
}

/// A run of blocks that became durable one after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Written {
    /// The write that they come from: [`Completion::number`].
    pub number: u64,
    /// The first of them.
    pub lbn: Lbn,
    /// How many.
    pub blocks: u64,
    passed: Passed,
}

impl Written {
    /// When the block `index` places after the first became durable.
    pub fn at(&self, index: u64) -> Ms {
        Ms(self.passed.done(index))
    }

    /// How many of the blocks, counted from the first, are durable at `time`.
    pub fn durable_by(&self, time: Ms) -> u64 {
        // A bisection over `at`, so that the two never differ by a rounding.
        let (mut low, mut high) = (0, self.blocks);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.at(middle) <= time { low = middle + 1 } else { high = middle }
        }
        low
    }
}

impl Drive {
    /// A drive that has just been switched on: the arm on cylinder 0, the buffer empty.
    pub fn new(profile: Profile) -> Drive {
        Drive::with(profile, Options::default())
    }

    /// Like [`Drive::new`], with a choice of behaviours.
    pub fn with(profile: Profile, options: Options) -> Drive {
        match profile.kind {
            Kind::Disk(disk) => {
                let back = disk.cache.write_policy == crate::profile::WritePolicy::Back;
                let volatile = disk.write_cache.map_or(back, |cache| cache.volatile);
                Drive { device: Device::Disk(Disk::new(disk, options)), free: 0.0, volatile }
            }
            Kind::Ssd(ssd) => Drive { device: Device::Ssd(Ssd::new(ssd, options)), free: 0.0, volatile: ssd.volatile },
        }
    }

    /// The size in blocks of 512 bytes.
    pub fn blocks(&self) -> u64 {
        match &self.device {
            Device::Disk(disk) => disk.blocks(),
            Device::Ssd(ssd) => ssd.blocks(),
        }
    }

    /// The number of cylinders; 0 on flash.
    pub fn cylinders(&self) -> u32 {
        match &self.device {
            Device::Disk(disk) => disk.geometry().cylinders(),
            Device::Ssd(_) => 0,
        }
    }

    /// The cylinder of a block: where the arm goes for it. Zero on flash.
    ///
    /// # Errors
    ///
    /// If the drive has no such block.
    pub fn cylinder(&self, lbn: Lbn) -> Result<u32, RequestError> {
        self.check_range(lbn, 1)?;
        Ok(match &self.device {
            Device::Disk(disk) => disk.geometry().locate(lbn.0).cylinder,
            Device::Ssd(_) => 0,
        })
    }

    /// Whether a completed write may be lost with the power.
    pub fn is_volatile(&self) -> bool {
        self.volatile
    }

    /// When the last request completes; the next may not come before.
    pub fn free_at(&self) -> Ms {
        Ms(self.free)
    }

    fn check(&self, now: Ms) -> Result<f64, RequestError> {
        if now.0 >= self.free && now.0.is_finite() {
            Ok(now.0)
        } else {
            Err(RequestError::Early { now, free: Ms(self.free) })
        }
    }

    fn check_range(&self, lbn: Lbn, blocks: u64) -> Result<(), RequestError> {
        let capacity = self.blocks();
        if lbn.0 < capacity && blocks <= capacity - lbn.0 {
            Ok(())
        } else {
            Err(RequestError::Beyond { lbn, blocks, capacity })
        }
    }

    /// Serves a request that arrives at `now`, and returns when it completes.
    ///
    /// # Errors
    ///
    /// If the request is empty, ends beyond the drive, or comes before the previous one has completed.
    pub fn submit(&mut self, now: Ms, request: Request) -> Result<Completion, RequestError> {
        self.submit_queued(now, now, request)
    }

    /// Serves a request that the drive has had since `came`, while it served others, and whose turn is `now` (tagged
    /// queueing): a disk has processed the command meanwhile, and received the data of a write. Returns when it
    /// completes.
    ///
    /// # Errors
    ///
    /// As [`Drive::submit`]; and if the request comes after its turn.
    pub fn submit_queued(&mut self, came: Ms, now: Ms, request: Request) -> Result<Completion, RequestError> {
        let free = now;
        let now = self.check(now)?;
        if came > free || !came.0.is_finite() {
            return Err(RequestError::Early { now: came, free });
        }
        let Request { op, lbn, blocks, fua } = request;
        if blocks == 0 {
            return Err(RequestError::Empty { lbn });
        }
        self.check_range(lbn, blocks)?;
        let completion = match &mut self.device {
            Device::Disk(disk) => disk.submit(came.0, now, op, lbn.0, blocks, fua),
            Device::Ssd(ssd) => ssd.submit(now, op, lbn.0, blocks, fua),
        };
        self.free = completion.at.0;
        Ok(completion)
    }

    /// Makes every completed write durable. Returns the time when that is so and the flush completes.
    ///
    /// # Errors
    ///
    /// If it comes before the last request has completed.
    pub fn flush(&mut self, now: Ms) -> Result<Ms, RequestError> {
        let now = self.check(now)?;
        self.free = match &mut self.device {
            Device::Disk(disk) => disk.flush(now),
            Device::Ssd(ssd) => ssd.flush(now),
        };
        Ok(Ms(self.free))
    }

    /// When everything completed so far is durable if no more requests come; `None` if only a flush makes it so.
    pub fn settled(&self) -> Option<Ms> {
        match &self.device {
            Device::Disk(disk) => Some(Ms(disk.settled(self.free))),
            Device::Ssd(_) if !self.volatile => Some(Ms(self.free)),
            Device::Ssd(_) => None,
        }
    }

    /// Which blocks became durable when, in that order; those of a write-back in flight with the time at which they
    /// will. Empty unless [`Options::record_writes`] is set.
    pub fn written(&self) -> Vec<Written> {
        let recorded = match &self.device {
            Device::Disk(disk) => disk.written(),
            Device::Ssd(ssd) => ssd.written.clone(),
        };
        let public = |&Recorded { passed, number }: &Recorded| Written {
            number,
            lbn: Lbn(passed.first),
            blocks: passed.blocks,
            passed,
        };
        recorded.iter().map(public).collect()
    }

    /// Drops the record of [`Drive::written`] for blocks that were durable at `time`.
    pub fn forget_written(&mut self, time: Ms) {
        match &mut self.device {
            Device::Disk(disk) => disk.forget_written(time.0),
            Device::Ssd(ssd) => ssd.written.retain(|recorded| recorded.passed.last_done() > time.0),
        }
    }

    /// Seek and rotation that a request for `lbn` would need at `now`: the key of a scheduler by shortest positioning
    /// time. Ignores the buffer. Zero on flash.
    ///
    /// # Errors
    ///
    /// If the drive has no such block.
    pub fn positioning(&self, now: Ms, lbn: Lbn, op: Op) -> Result<Ms, RequestError> {
        self.positioning_queued(now, now, lbn, op)
    }

    /// The same for a request that the drive has had since `came`.
    ///
    /// # Errors
    ///
    /// If the drive has no such block.
    pub fn positioning_queued(&self, came: Ms, now: Ms, lbn: Lbn, op: Op) -> Result<Ms, RequestError> {
        self.check_range(lbn, 1)?;
        Ok(match &self.device {
            Device::Disk(disk) => {
                let (seek, rotation) = disk.positioning(came.0, now.0, lbn.0, op);
                Ms(seek + rotation)
            }
            Device::Ssd(_) => Ms::ZERO,
        })
    }

    /// Cylinders between the arm at `now` and the block: the key of a scheduler by shortest seek. Zero on flash.
    ///
    /// # Errors
    ///
    /// If the drive has no such block.
    pub fn seek_distance(&self, now: Ms, lbn: Lbn) -> Result<u32, RequestError> {
        self.check_range(lbn, 1)?;
        Ok(match &self.device {
            Device::Disk(disk) => disk.seek_distance(now.0, lbn.0),
            Device::Ssd(_) => 0,
        })
    }
}
