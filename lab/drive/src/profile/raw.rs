//! A profile as it is in its file. Keys for people (`derived_*`, sources, notes) are ignored.

use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(super) struct Head {
    pub(super) schema: u32,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) synthesised: bool,
    pub(super) source: String,
    #[serde(default)]
    pub(super) assumptions: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Hdd {
    pub(super) mechanics: Mechanics,
    pub(super) controller: Controller,
    pub(super) bus: Bus,
    pub(super) cache: Cache,
    pub(super) queue: Queue,
    pub(super) write_cache: Option<DiskWriteCache>,
    pub(super) validation: Validation,
    pub(super) geometry: Geometry,
}

#[derive(Debug, Deserialize)]
pub(super) struct Mechanics {
    pub(super) rpm: f64,
    pub(super) head_switch_ms: f64,
    pub(super) write_settle_ms: f64,
    pub(super) seek: Seek,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Seek {
    Table { points: Vec<(u32, f64)> },
    HplFirstTen { v: Vec<f64>, first_ten_ms: Vec<f64> },
}

#[derive(Debug, Deserialize)]
pub(super) struct Controller {
    pub(super) overhead_scale: f64,
    pub(super) per_request_ms: f64,
    pub(super) read_hit_after_read_ms: f64,
    pub(super) read_hit_after_write_ms: f64,
    pub(super) read_miss_after_read_ms: f64,
    pub(super) read_miss_after_write_ms: f64,
    pub(super) write_hit_after_read_ms: f64,
    pub(super) write_hit_after_write_ms: f64,
    pub(super) write_miss_after_read_ms: f64,
    pub(super) write_miss_after_write_ms: f64,
    pub(super) read_completion_ms: f64,
    pub(super) write_completion_ms: f64,
    pub(super) data_preparation_ms: f64,
    pub(super) first_reselect_ms: f64,
    pub(super) other_reselect_ms: f64,
    pub(super) read_disconnect_after_read_ms: f64,
    pub(super) read_disconnect_after_write_ms: f64,
    pub(super) write_disconnect_ms: f64,
    pub(super) minimum_seek_delay_ms: f64,
    pub(super) never_disconnect: bool,
    pub(super) hold_bus_whole_read: bool,
    pub(super) hold_bus_whole_write: bool,
    pub(super) extra_write_disconnect: bool,
    #[serde(default)]
    pub(super) extra_disconnect_command_ms: f64,
    #[serde(default)]
    pub(super) extra_disconnect_first_ms: f64,
    #[serde(default)]
    pub(super) extra_disconnect_gap_ms: f64,
    #[serde(default)]
    pub(super) extra_disconnect_second_ms: f64,
    #[serde(default)]
    pub(super) extra_disconnect_seek_delta_ms: f64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Bus {
    pub(super) effective_read_block_ms: f64,
    pub(super) effective_write_block_ms: f64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Cache {
    pub(super) segments: usize,
    pub(super) segment_blocks: u64,
    pub(super) max_write_segments: usize,
    pub(super) dedicated_write_segment: bool,
    pub(super) caching_enabled: bool,
    pub(super) prefetch_code: u32,
    pub(super) max_read_ahead_blocks: u64,
    pub(super) read_ahead_may_replace_requested: i32,
    pub(super) read_ahead_on_idle_hit: bool,
    pub(super) zero_latency_read: bool,
    pub(super) zero_latency_write: bool,
    pub(super) write_policy_code: u32,
    pub(super) combine_sequential_writes: bool,
    pub(super) read_hits_on_write_data: bool,
    pub(super) abort_prefetch_mid_sector: bool,
    pub(super) transfer_partial_hit_at_once: bool,
    pub(super) write_low_water: f64,
    pub(super) read_high_water: f64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Queue {
    pub(super) max_outstanding: u32,
}

#[derive(Debug, Deserialize)]
pub(super) struct DiskWriteCache {
    pub(super) volatile: bool,
    pub(super) dirty_limit_kib: u64,
    pub(super) supports_fua: bool,
    pub(super) flush_command_overhead_ms: f64,
    pub(super) physical_sector_bytes: u64,
    pub(super) unaligned_write_extra_revolutions: u32,
}

#[derive(Debug, Deserialize)]
pub(super) struct Validation {
    pub(super) overrides: Option<Overrides>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Overrides {
    pub(super) caching_enabled: Option<bool>,
    pub(super) write_policy_code: Option<u32>,
    pub(super) prefetch_code: Option<u32>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Geometry {
    pub(super) bytes_per_sector: u32,
    pub(super) cylinders: u32,
    pub(super) surfaces: u32,
    pub(super) mapped_sectors: u64,
    pub(super) mapping: String,
    pub(super) sparing_code: Option<u32>,
    pub(super) sparing_range_cylinders: Option<u64>,
    pub(super) layout_file: Option<String>,
    #[serde(default)]
    pub(super) zones: Vec<toml::Table>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Zone {
    pub(super) first_cylinder: u32,
    pub(super) last_cylinder: u32,
    pub(super) sectors_per_track: u32,
    pub(super) first_block_offset: u64,
    pub(super) reserved_at_front: u64,
    pub(super) track_skew: u64,
    pub(super) cylinder_skew: u64,
    pub(super) spares: u64,
    pub(super) slips: Vec<u64>,
    pub(super) defects: Vec<(u64, u64)>,
    pub(super) first_lbn: u64,
    pub(super) lbn_count: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Ssd {
    pub(super) geometry: SsdGeometry,
    pub(super) link: Link,
    pub(super) latency: Latencies,
    pub(super) write_cache: SsdWriteCache,
}

#[derive(Debug, Deserialize)]
pub(super) struct SsdGeometry {
    pub(super) bytes_per_sector: u32,
    pub(super) mapped_sectors: u64,
    pub(super) page_bytes: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Link {
    pub(super) sequential_read_mb_per_s: f64,
    pub(super) sequential_write_mb_per_s: f64,
    pub(super) sequential_write_sustained_mb_per_s: f64,
    pub(super) max_queue_depth: u32,
}

#[derive(Debug, Deserialize)]
pub(super) struct Latencies {
    pub(super) read: Latency,
    pub(super) write: Latency,
}

#[derive(Debug, Deserialize)]
pub(super) struct Latency {
    pub(super) qd1_4k_us: f64,
    pub(super) max_4k_iops: f64,
}

#[derive(Debug, Deserialize)]
pub(super) struct SsdWriteCache {
    pub(super) volatile: bool,
    pub(super) flush_us: f64,
    pub(super) fua_4k_us: f64,
}
