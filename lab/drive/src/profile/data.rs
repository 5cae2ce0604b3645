//! The data of one drive, as the model has them.

use crate::geometry::Geometry;
use crate::seek::SeekCurve;

/// The data of one drive.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The stem of its file's name.
    pub id: String,
    /// The maker's name for it.
    pub name: String,
    /// Source of the data.
    pub source: String,
    /// True if the data were derived, not measured by DiskSim's authors.
    pub synthesised: bool,
    /// What was assumed where nothing is published.
    pub assumptions: Vec<String>,
    /// How it works.
    pub kind: Kind,
}

impl Profile {
    /// Commands that the drive takes at a time: one for flash, whose model serves one after the other.
    pub fn tags(&self) -> u32 {
        match &self.kind {
            Kind::Disk(disk) => disk.max_outstanding,
            Kind::Ssd(_) => 1,
        }
    }
}

/// How a drive works.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a program holds a handful of profiles, and most are disks")]
pub enum Kind {
    /// Platters and an arm.
    Disk(DiskProfile),
    /// Flash memory.
    Ssd(SsdProfile),
}

/// A mechanical drive. Times are in milliseconds.
#[derive(Clone, Debug)]
pub struct DiskProfile {
    /// Revolutions a minute.
    pub rpm: f64,
    /// Arm movement.
    pub seek: SeekCurve,
    /// Overheads of the controller, already multiplied by the profile's scale.
    pub controller: Controller,
    /// Transfer of a block over the bus to the host.
    pub read_block_ms: f64,
    /// Transfer of a block over the bus from the host.
    pub write_block_ms: f64,
    /// The buffer.
    pub cache: Cache,
    /// Commands that the drive accepts at once. The model of its mechanism takes one; the caller holds the others.
    pub max_outstanding: u32,
    /// What the profile says of a volatile write cache; `None` for drives of DiskSim's time.
    pub write_cache: Option<WriteCache>,
    /// Values of the cache that a validation run replaces; `None` if it replaces none.
    pub validation_cache: Option<Cache>,
    /// Maps block numbers to places.
    pub geometry: Geometry,
}

/// Two values of an overhead, by the type of the previous request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct After {
    /// After a read.
    pub read: f64,
    /// After a write.
    pub write: f64,
}

/// Overheads, in milliseconds, and behaviour of the controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Controller {
    /// Before everything else.
    pub per_request: f64,
    /// A read whose first block is in the buffer.
    pub read_hit: After,
    /// A read whose first block is not.
    pub read_miss: After,
    /// A write, when the drive writes back.
    pub write_hit: After,
    /// A write, when the drive writes through.
    pub write_miss: After,
    /// After the last block of a read.
    pub read_completion: f64,
    /// After the last block of a write.
    pub write_completion: f64,
    /// Before the first block of a transfer.
    pub data_preparation: f64,
    /// The first reconnection of a request.
    pub first_reselect: f64,
    /// Later ones.
    pub other_reselect: f64,
    /// Leaving the bus during a read.
    pub read_disconnect: After,
    /// Leaving the bus during a write.
    pub write_disconnect: f64,
    /// The shortest positioning time of a write, unless it starts at the end of the previous one, at the time that one
    /// ends.
    pub minimum_seek_delay: f64,
    /// The bus is held from command to answer.
    pub never_disconnect: bool,
    /// The bus is held once the data of a read have begun to be sent.
    pub hold_bus_whole_read: bool,
    /// The bus is held once the data of a write have begun to be received.
    pub hold_bus_whole_write: bool,
    /// The additional disconnection of a write, on drives that make one.
    pub extra_write_disconnect: Option<ExtraDisconnect>,
}

/// Times of the additional disconnection of a write, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExtraDisconnect {
    /// From arrival to the decision.
    pub command: f64,
    /// From there until the bus is free.
    pub first: f64,
    /// From there until it reconnects.
    pub gap: f64,
    /// The disconnection after the data.
    pub second: f64,
    /// From the decision until the mechanism may start.
    pub seek_delta: f64,
}

/// How far a drive reads ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefetch {
    /// Not at all.
    None,
    /// To the end of the track.
    Track,
    /// To the end of the cylinder.
    Cylinder,
    /// Until the segment is full.
    Segment,
    /// To the end of the track, and one track more for a sequential stream.
    Stream,
}

/// When a write completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WritePolicy {
    /// When it is on the medium.
    Through,
    /// When it is in the buffer.
    Back,
}

/// What prefetch may do to the blocks that a read requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requested {
    /// They stay while the segment has room for both.
    Kept,
    /// Prefetch may overwrite them.
    Replaced,
    /// They are dropped when the read has completed.
    Dropped,
}

/// The buffer. Lengths are in blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cache {
    /// Segments.
    pub segments: usize,
    /// Length of each.
    pub segment_blocks: u64,
    /// Segments that may hold unwritten data.
    pub max_write_segments: usize,
    /// Writes have a segment of their own.
    pub dedicated_write_segment: bool,
    /// Segments in use serve reads too.
    pub caching_enabled: bool,
    /// How far to read ahead.
    pub prefetch: Prefetch,
    /// Largest read-ahead beyond the request; zero: to the end of the segment.
    pub max_read_ahead: u64,
    /// What happens to the requested blocks.
    pub requested: Requested,
    /// A read that is wholly in the buffer restarts the prefetch.
    pub read_ahead_on_idle_hit: bool,
    /// Reads may begin in the middle of the request.
    pub zero_latency_read: bool,
    /// Writes may begin in the middle of the request.
    pub zero_latency_write: bool,
    /// When a write completes.
    pub write_policy: WritePolicy,
    /// A write that continues one in the buffer joins it.
    pub combine_sequential_writes: bool,
    /// Written data can serve reads.
    pub read_hits_on_write_data: bool,
    /// Prefetch stops at once, not at the end of a sector.
    pub abort_prefetch_mid_sector: bool,
    /// A read whose first part is in the buffer begins to send at once.
    pub transfer_partial_hit_at_once: bool,
    /// A write goes on receiving when at most this fraction of it is unwritten.
    pub write_low_water: f64,
    /// A read begins to send when this fraction of it is in the buffer.
    pub read_high_water: f64,
}

/// A write cache that loses its content with the power.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WriteCache {
    /// True if a completed write may be lost.
    pub volatile: bool,
    /// Most blocks that may be unwritten.
    pub dirty_limit: u64,
    /// A single write can be forced to the medium.
    pub supports_fua: bool,
    /// A flush of an empty cache, in milliseconds.
    pub flush_ms: f64,
    /// Blocks in a physical sector.
    pub physical_blocks: u64,
    /// Revolutions that a write costs in addition if it does not cover whole physical sectors.
    pub unaligned_revolutions: u32,
}

/// A drive of flash memory. Times are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SsdProfile {
    /// Size in blocks of 512 bytes.
    pub blocks: u64,
    /// Page size for which the latencies hold, in bytes.
    pub page_bytes: u64,
    /// Latency of reads.
    pub read: Latency,
    /// Latency of writes.
    pub write: Latency,
    /// Bytes per millisecond that a flush writes.
    pub sustained_bytes_per_ms: f64,
    /// Largest number of commands at once.
    pub max_queue_depth: u32,
    /// True if a completed write may be lost.
    pub volatile: bool,
    /// A flush with nothing to write.
    pub flush_ms: f64,
    /// A forced write of one page.
    pub fua_ms: f64,
}

/// Latency of one kind of request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// One page at a time, in milliseconds.
    pub alone_ms: f64,
    /// Pages per millisecond when many are outstanding.
    pub pages_per_ms: f64,
    /// Bytes per millisecond of long transfers.
    pub bytes_per_ms: f64,
}

impl Profile {
    /// The size in blocks of 512 bytes.
    pub fn blocks(&self) -> u64 {
        match &self.kind {
            Kind::Disk(disk) => disk.geometry.blocks(),
            Kind::Ssd(ssd) => ssd.blocks,
        }
    }

    /// The same drive with the values that its validation run replaces.
    pub fn for_validation(mut self) -> Profile {
        if let Kind::Disk(disk) = &mut self.kind
            && let Some(cache) = disk.validation_cache
        {
            disk.cache = cache;
        }
        self
    }
}
