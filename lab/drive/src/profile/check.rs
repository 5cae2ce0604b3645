//! Converts a profile from its file's form to the model's, and names every contradiction.

use std::io::Read;

use super::data::{
    After, Cache, Controller, DiskProfile, ExtraDisconnect, Kind, Latency, Prefetch, Profile, Requested, SsdProfile,
    WriteCache, WritePolicy,
};
use super::{embedded, raw};
use crate::error::ProfileError;
use crate::geometry::{Child, Entry, Geometry, Indexed, Map, Pattern, Sparing, Zone, ZoneData};
use crate::seek::{Curve, SeekCurve};

type Result<T> = std::result::Result<T, ProfileError>;

/// Larger sizes are mistakes; below them no sum here overflows.
const MOST_BLOCKS: u64 = 1 << 44;
const MOST_CYLINDERS: u32 = 1 << 24;
const MOST_SURFACES: u32 = 256;
const MOST_SECTORS: u32 = 1 << 16;
const MOST_SEGMENTS: usize = 1 << 12;
/// No overhead, seek or block time of a drive reaches a minute.
const MOST_MS: f64 = 60_000.0;
/// A layout that unpacks to more is a mistake.
const MOST_LAYOUT_BYTES: u64 = 16 << 20;

pub(super) fn profile(text: &str) -> Result<Profile> {
    let head: raw::Head = toml::from_str(text)?;
    if head.schema != 1 {
        let what = format!("{} is not known", head.schema);
        return Err(ProfileError::value("schema", what, "write 1"));
    }
    let kind = match head.kind.as_str() {
        "hdd" => Kind::Disk(disk(toml::from_str(text)?)?),
        "ssd" => Kind::Ssd(ssd(toml::from_str(text)?)?),
        other => {
            return Err(ProfileError::value("kind", format!("{other:?} is not known"), "write \"hdd\" or \"ssd\""));
        }
    };
    Ok(Profile {
        id: head.id,
        name: head.name,
        source: head.source,
        synthesised: head.synthesised,
        assumptions: head.assumptions,
        kind,
    })
}

fn within<T: PartialOrd + std::fmt::Display>(key: &str, value: T, low: T, high: T) -> Result<T> {
    if value >= low && value <= high {
        return Ok(value);
    }
    Err(ProfileError::value(key, format!("{value} is not within {low} and {high}"), "write a value of the range"))
}

/// A time in milliseconds that is not negative.
fn time(key: &str, value: f64) -> Result<f64> {
    within(key, value, 0.0, MOST_MS)
}

fn disk(file: raw::Hdd) -> Result<DiskProfile> {
    let cache = cache(&file.cache)?;
    let validation_cache = match &file.validation.overrides {
        None => None,
        Some(over) => {
            let mut cache = cache;
            if let Some(enabled) = over.caching_enabled {
                cache.caching_enabled = enabled;
            }
            if let Some(code) = over.write_policy_code {
                cache.write_policy = write_policy("validation.overrides.write_policy_code", code)?;
            }
            if let Some(code) = over.prefetch_code {
                cache.prefetch = prefetch("validation.overrides.prefetch_code", code)?;
            }
            Some(cache)
        }
    };
    if file.geometry.bytes_per_sector != 512 {
        return Err(ProfileError::value("geometry.bytes_per_sector", "blocks have 512 bytes", "write 512"));
    }
    let rpm = within("mechanics.rpm", file.mechanics.rpm, 1.0, 1e6)?;
    Ok(DiskProfile {
        rpm,
        seek: seek(&file.mechanics)?,
        controller: controller(&file.controller)?,
        read_block_ms: time("bus.effective_read_block_ms", file.bus.effective_read_block_ms)?,
        write_block_ms: time("bus.effective_write_block_ms", file.bus.effective_write_block_ms)?,
        cache,
        max_outstanding: within("queue.max_outstanding", file.queue.max_outstanding, 1, 1 << 16)?,
        write_cache: file.write_cache.as_ref().map(write_cache).transpose()?,
        validation_cache,
        geometry: geometry(file.geometry)?,
    })
}

fn seek(mechanics: &raw::Mechanics) -> Result<SeekCurve> {
    let curve = match &mechanics.seek {
        raw::Seek::Table { points } => {
            let key = "mechanics.seek.points";
            if points.is_empty() {
                return Err(ProfileError::value(key, "the list is empty", "write at least one point"));
            }
            let mut before = 0;
            for (distance, value) in points {
                time(key, *value)?;
                if *distance <= before {
                    let what = format!("distance {distance} follows {before}");
                    return Err(ProfileError::value(key, what, "list distances from 1 up, ascending"));
                }
                before = *distance;
            }
            Curve::Table(points.clone())
        }
        raw::Seek::HplFirstTen { v, first_ten_ms } => {
            let key = "mechanics.seek.v";
            let [knee, root, by_root, line, by_line, ..] = v[..] else {
                return Err(ProfileError::value(key, format!("{} values", v.len()), "write at least five"));
            };
            for value in [knee, root, by_root, line, by_line] {
                within(key, value, 0.0, MOST_MS)?;
            }
            let key = "mechanics.seek.first_ten_ms";
            for value in first_ten_ms {
                time(key, *value)?;
            }
            let first = first_ten_ms
                .as_slice()
                .try_into()
                .map_err(|_| ProfileError::value(key, format!("{} values", first_ten_ms.len()), "write ten"))?;
            Curve::FirstTen { first, knee, root: (root, by_root), line: (line, by_line) }
        }
    };
    Ok(SeekCurve {
        curve,
        head_switch: time("mechanics.head_switch_ms", mechanics.head_switch_ms)?,
        write_settle: within("mechanics.write_settle_ms", mechanics.write_settle_ms, -10.0, MOST_MS)?,
    })
}

fn controller(file: &raw::Controller) -> Result<Controller> {
    let scale = within("controller.overhead_scale", file.overhead_scale, 0.0, 1e3)?;
    let scaled = |key: &str, value: f64| time(&format!("controller.{key}"), value).map(|value| value * scale);
    let after = |key: &str, read: f64, write: f64| -> Result<After> {
        Ok(After {
            read: scaled(&format!("{key}_after_read_ms"), read)?,
            write: scaled(&format!("{key}_after_write_ms"), write)?,
        })
    };
    let extra_write_disconnect = if file.extra_write_disconnect {
        Some(ExtraDisconnect {
            command: scaled("extra_disconnect_command_ms", file.extra_disconnect_command_ms)?,
            first: scaled("extra_disconnect_first_ms", file.extra_disconnect_first_ms)?,
            gap: scaled("extra_disconnect_gap_ms", file.extra_disconnect_gap_ms)?,
            second: scaled("extra_disconnect_second_ms", file.extra_disconnect_second_ms)?,
            seek_delta: scaled("extra_disconnect_seek_delta_ms", file.extra_disconnect_seek_delta_ms)?,
        })
    } else {
        None
    };
    Ok(Controller {
        per_request: scaled("per_request_ms", file.per_request_ms)?,
        read_hit: after("read_hit", file.read_hit_after_read_ms, file.read_hit_after_write_ms)?,
        read_miss: after("read_miss", file.read_miss_after_read_ms, file.read_miss_after_write_ms)?,
        write_hit: after("write_hit", file.write_hit_after_read_ms, file.write_hit_after_write_ms)?,
        write_miss: after("write_miss", file.write_miss_after_read_ms, file.write_miss_after_write_ms)?,
        read_completion: scaled("read_completion_ms", file.read_completion_ms)?,
        write_completion: scaled("write_completion_ms", file.write_completion_ms)?,
        data_preparation: scaled("data_preparation_ms", file.data_preparation_ms)?,
        first_reselect: scaled("first_reselect_ms", file.first_reselect_ms)?,
        other_reselect: scaled("other_reselect_ms", file.other_reselect_ms)?,
        read_disconnect: after(
            "read_disconnect",
            file.read_disconnect_after_read_ms,
            file.read_disconnect_after_write_ms,
        )?,
        write_disconnect: scaled("write_disconnect_ms", file.write_disconnect_ms)?,
        minimum_seek_delay: scaled("minimum_seek_delay_ms", file.minimum_seek_delay_ms)?,
        never_disconnect: file.never_disconnect,
        hold_bus_whole_read: file.hold_bus_whole_read,
        hold_bus_whole_write: file.hold_bus_whole_write,
        extra_write_disconnect,
    })
}

fn cache(file: &raw::Cache) -> Result<Cache> {
    let segments = within("cache.segments", file.segments, 1, MOST_SEGMENTS)?;
    let dedicated_write_segment = file.dedicated_write_segment;
    if dedicated_write_segment && segments < 2 {
        let what = "the only segment is for writes";
        return Err(ProfileError::value("cache.dedicated_write_segment", what, "add a segment or write false"));
    }
    let requested = match file.read_ahead_may_replace_requested {
        1 => Requested::Replaced,
        0 => Requested::Kept,
        -1 => Requested::Dropped,
        other => {
            let key = "cache.read_ahead_may_replace_requested";
            return Err(ProfileError::value(key, format!("{other} is not known"), "write 1, 0 or -1"));
        }
    };
    Ok(Cache {
        segments,
        segment_blocks: within("cache.segment_blocks", file.segment_blocks, 1, MOST_BLOCKS)?,
        max_write_segments: within("cache.max_write_segments", file.max_write_segments, 1, MOST_SEGMENTS)?,
        dedicated_write_segment,
        caching_enabled: file.caching_enabled,
        prefetch: prefetch("cache.prefetch_code", file.prefetch_code)?,
        max_read_ahead: within("cache.max_read_ahead_blocks", file.max_read_ahead_blocks, 0, MOST_BLOCKS)?,
        requested,
        read_ahead_on_idle_hit: file.read_ahead_on_idle_hit,
        zero_latency_read: file.zero_latency_read,
        zero_latency_write: file.zero_latency_write,
        write_policy: write_policy("cache.write_policy_code", file.write_policy_code)?,
        combine_sequential_writes: file.combine_sequential_writes,
        read_hits_on_write_data: file.read_hits_on_write_data,
        abort_prefetch_mid_sector: file.abort_prefetch_mid_sector,
        transfer_partial_hit_at_once: file.transfer_partial_hit_at_once,
        write_low_water: within("cache.write_low_water", file.write_low_water, 0.0, 1.0)?,
        read_high_water: within("cache.read_high_water", file.read_high_water, 0.0, 1.0)?,
    })
}

fn prefetch(key: &str, code: u32) -> Result<Prefetch> {
    Ok(match code {
        0 => Prefetch::None,
        1 => Prefetch::Track,
        2 => Prefetch::Cylinder,
        3 => Prefetch::Segment,
        4 => Prefetch::Stream,
        other => return Err(ProfileError::value(key, format!("{other} is not known"), "write 0 to 4")),
    })
}

fn write_policy(key: &str, code: u32) -> Result<WritePolicy> {
    match code {
        0 => Ok(WritePolicy::Through),
        // With one request outstanding the two behave alike.
        1 | 2 => Ok(WritePolicy::Back),
        other => Err(ProfileError::value(key, format!("{other} is not known"), "write 0, 1 or 2")),
    }
}

fn write_cache(file: &raw::DiskWriteCache) -> Result<WriteCache> {
    let physical = file.physical_sector_bytes;
    if physical < 512 || !physical.is_multiple_of(512) || physical > 1 << 20 {
        let what = format!("{physical} bytes");
        return Err(ProfileError::value("write_cache.physical_sector_bytes", what, "write a multiple of 512"));
    }
    Ok(WriteCache {
        volatile: file.volatile,
        dirty_limit: within("write_cache.dirty_limit_kib", file.dirty_limit_kib, 1, MOST_BLOCKS / 2)? * 2,
        supports_fua: file.supports_fua,
        flush_ms: time("write_cache.flush_command_overhead_ms", file.flush_command_overhead_ms)?,
        physical_blocks: physical / 512,
        unaligned_revolutions: within(
            "write_cache.unaligned_write_extra_revolutions",
            file.unaligned_write_extra_revolutions,
            0,
            16,
        )?,
    })
}

fn geometry(file: raw::Geometry) -> Result<Geometry> {
    let cylinders = within("geometry.cylinders", file.cylinders, 1, MOST_CYLINDERS)?;
    let surfaces = within("geometry.surfaces", file.surfaces, 1, MOST_SURFACES)?;
    let blocks = within("geometry.mapped_sectors", file.mapped_sectors, 1, MOST_BLOCKS)?;
    // The HP C2490A and the Cheetah 15K.5 state one cylinder less than their maps have; the maps decide.
    let (map, most_sectors) = match file.mapping.as_str() {
        "conventional" => zones(&file, false)?,
        "serpentine_reset_each_zone" => zones(&file, true)?,
        "indexed" => {
            let name = file.layout_file.as_deref().unwrap_or_default();
            let indexed =
                layout(name, blocks, surfaces).map_err(|what| ProfileError::Layout { file: name.to_owned(), what })?;
            let most = indexed.patterns.iter().map(|pattern| pattern.sectors).max().unwrap_or(1);
            (Map::Indexed(indexed), most)
        }
        other => {
            let remedy = "write \"conventional\", \"serpentine_reset_each_zone\" or \"indexed\"";
            return Err(ProfileError::value("geometry.mapping", format!("{other:?} is not known"), remedy));
        }
    };
    let cylinders = match &map {
        Map::Zones(_, zones) => zones.last().map_or(0, Zone::end_cylinder),
        Map::Indexed(indexed) => indexed.cylinders,
    }
    .max(cylinders);
    Ok(Geometry { cylinders, surfaces, blocks, most_sectors, map })
}

fn sparing(file: &raw::Geometry) -> Result<Sparing> {
    let surfaces = u64::from(file.surfaces);
    let code = file.sparing_code.unwrap_or(0);
    Ok(match code {
        0 => Sparing::None,
        1 => Sparing::TracksAtZoneEnd,
        2 => Sparing::Group { tracks: surfaces, pattern_moves: true },
        3 => Sparing::Group { tracks: 1, pattern_moves: true },
        7 => Sparing::DiskEnd,
        8 => {
            let key = "geometry.sparing_range_cylinders";
            let range = within(key, file.sparing_range_cylinders.unwrap_or(0), 1, u64::from(MOST_CYLINDERS))?;
            Sparing::Group { tracks: range * surfaces, pattern_moves: false }
        }
        9 => Sparing::ZoneEnd,
        other => {
            let what = format!("{other} is used by no drive");
            return Err(ProfileError::value("geometry.sparing_code", what, "write 0 to 3 or 7 to 9"));
        }
    })
}

fn zones(file: &raw::Geometry, serpentine: bool) -> Result<(Map, u32)> {
    let sparing = sparing(file)?;
    let (mut next_cylinder, mut next_lbn, mut most) = (0, 0, 1);
    let (mut firsts, mut zones) = (Vec::new(), Vec::new());
    for (index, table) in file.zones.iter().enumerate() {
        let key = format!("geometry.zones[{index}]");
        let zone: raw::Zone = table.clone().try_into().map_err(|cause: toml::de::Error| {
            ProfileError::value(key.clone(), cause.message().to_owned(), "give every zone all of its keys")
        })?;
        let data = zone_data(&key, file, zone, sparing, serpentine)?;
        if data.first_cylinder < next_cylinder || data.first_lbn != next_lbn {
            let what = format!("it begins at cylinder {} and block {}", data.first_cylinder, data.first_lbn);
            return Err(ProfileError::value(key, what, "let each zone follow the one before it"));
        }
        next_cylinder = data.last_cylinder + 1;
        next_lbn = data.first_lbn + data.count;
        most = most.max(data.sectors);
        firsts.push(data.first_lbn);
        let last_cylinder = data.last_cylinder;
        let zone = Zone::new(data);
        if zone.locate(next_lbn - 1).cylinder > last_cylinder {
            let what = "they push the last block out of the zone";
            return Err(ProfileError::value(format!("{key}.slips"), what, "list no more slips than spares"));
        }
        zones.push(zone);
    }
    if next_lbn != file.mapped_sectors {
        let what = format!("the zones hold {next_lbn} blocks");
        return Err(ProfileError::value("geometry.mapped_sectors", what, "write the sum of all lbn_count"));
    }
    Ok((Map::Zones(firsts, zones), most))
}

fn zone_data(key: &str, file: &raw::Geometry, zone: raw::Zone, sparing: Sparing, serpentine: bool) -> Result<ZoneData> {
    let name = |what: &str| format!("{key}.{what}");
    within(&name("last_cylinder"), zone.last_cylinder, zone.first_cylinder, MOST_CYLINDERS - 1)?;
    within(&name("sectors_per_track"), zone.sectors_per_track, 1, MOST_SECTORS)?;
    within(&name("track_skew"), zone.track_skew, 0, u64::from(MOST_SECTORS))?;
    within(&name("cylinder_skew"), zone.cylinder_skew, 0, u64::from(MOST_SECTORS))?;
    within(&name("first_block_offset"), zone.first_block_offset, 0, u64::from(MOST_SECTORS))?;
    within(&name("lbn_count"), zone.lbn_count, 1, MOST_BLOCKS)?;
    let data = ZoneData {
        first_cylinder: zone.first_cylinder,
        last_cylinder: zone.last_cylinder,
        surfaces: file.surfaces,
        sectors: zone.sectors_per_track,
        first_block_offset: zone.first_block_offset,
        reserved: zone.reserved_at_front,
        track_skew: zone.track_skew,
        cylinder_skew: zone.cylinder_skew,
        spares: zone.spares,
        slips: zone.slips,
        defects: zone.defects,
        first_lbn: zone.first_lbn,
        count: zone.lbn_count,
        sparing,
        serpentine,
    };
    let unit = if sparing == Sparing::TracksAtZoneEnd { u64::from(data.sectors) } else { 1 };
    let places = data.sectors_in_all() / unit;
    let pairs = data.defects.iter().flat_map(|(place, replacement)| [*place, *replacement]);
    if let Some(place) = data.slips.iter().copied().chain(pairs).find(|place| *place >= places) {
        let what = format!("place {place} of {places}");
        return Err(ProfileError::value(name("slips"), what, "number slips and defects from the zone's start"));
    }
    match sparing {
        Sparing::Group { tracks, .. } => {
            if data.spares >= tracks * u64::from(data.sectors) {
                let what = format!("{} spares leave no block", data.spares);
                return Err(ProfileError::value(name("spares"), what, "write fewer spares than sectors"));
            }
            if !data.slips.windows(2).all(|pair| pair[0] < pair[1]) {
                let what = "they do not ascend";
                return Err(ProfileError::value(name("slips"), what, "list slips in ascending order"));
            }
        }
        Sparing::DiskEnd if data.spares != 0 => {
            let what = "spares in the zone of a drive whose spares are at the end of the disk";
            return Err(ProfileError::value(name("spares"), what, "write 0"));
        }
        _ => {}
    }
    if data.capacity() != Some(data.count) {
        let what = format!("{} blocks, but sectors, spares, slips and reserve make another number", data.count);
        return Err(ProfileError::value(name("lbn_count"), what, "compute it by the rule of the sparing"));
    }
    Ok(data)
}

#[derive(serde::Deserialize)]
struct RawLayout {
    track_patterns: Vec<(u32, u32, u32)>,
    index: Vec<Vec<serde_json::Value>>,
    slips: Vec<(u64, u64)>,
    remaps: Vec<serde_json::Value>,
}

type RawEntry = (u64, i64, f64, u64, i64, f64, u64, i64, String, usize);
type RawTrack = (u64, i64, f64, u64, i64, f64, u64, i64, String, usize, u32);

fn layout(name: &str, blocks: u64, surfaces: u32) -> std::result::Result<Indexed, String> {
    let found = embedded::LAYOUTS.iter().find(|(known, _)| *known == name);
    let (_, packed) = found.ok_or("no layout of that name is built in; name one that is")?;
    let mut text = String::new();
    let mut unpacked = flate2::read::GzDecoder::new(*packed).take(MOST_LAYOUT_BYTES);
    unpacked.read_to_string(&mut text).map_err(|cause| format!("it cannot be unpacked: {cause}"))?;
    let file: RawLayout = serde_json::from_str(&text).map_err(|cause| cause.to_string())?;
    if !file.remaps.is_empty() {
        return Err("it has remapped blocks, which no rule describes".to_owned());
    }

    let mut patterns = Vec::new();
    for (low, high, sectors) in file.track_patterns {
        if low > high || high >= sectors || sectors > MOST_SECTORS {
            return Err(format!("track pattern {low}, {high}, {sectors} is not a part of a track"));
        }
        patterns.push(Pattern { low, high, sectors });
    }

    let mut nodes: Vec<Vec<Entry>> = Vec::new();
    // Blocks in each node, to compare with what its parents say.
    let mut lengths: Vec<u64> = Vec::new();
    for (number, node) in file.index.into_iter().enumerate() {
        let mut next = 0;
        let mut entries = Vec::new();
        let last = node.len().saturating_sub(1);
        for (position, value) in node.into_iter().enumerate() {
            let mut entry = entry(value).map_err(|what| format!("node {number}: {what}"))?;
            let longest = match entry.child {
                Child::Node(index) => lengths.get(index).copied(),
                Child::Track { pattern, head } => {
                    patterns.get(pattern).filter(|_| head < surfaces).map(|p| u64::from(p.high - p.low) + 1)
                }
            };
            // The last entry of the Cheetah 15K.5's root states more blocks than its child has.
            if let Some(longest) = longest
                && position == last
                && entry.run_lbns <= entry.child_lbns
            {
                entry.run_lbns = entry.run_lbns.min(longest);
                entry.child_lbns = entry.run_lbns;
            }
            let whole = entry.lbn == next && entry.child_lbns > 0 && entry.run_lbns > 0;
            if !whole || longest.is_none_or(|longest| entry.child_lbns.min(entry.run_lbns) > longest) {
                return Err(format!("node {number}: the entry at block {} contradicts what it repeats", entry.lbn));
            }
            next += entry.run_lbns;
            if next > MOST_BLOCKS {
                return Err(format!("node {number} is too long"));
            }
            entries.push(entry);
        }
        if entries.is_empty() {
            return Err(format!("node {number} is empty"));
        }
        nodes.push(entries);
        lengths.push(next);
    }
    let slipped: u64 = file.slips.iter().map(|(_, length)| *length).sum();
    let held = lengths.last().copied().unwrap_or(0);
    if held < blocks + slipped {
        return Err(format!("it has {held} places for {blocks} blocks and {slipped} slips"));
    }
    let apart = file.slips.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0);
    if !apart {
        return Err("its slips do not ascend".to_owned());
    }
    let cylinders = cylinders_of(&nodes)?;
    Ok(Indexed::new(nodes, patterns, file.slips, cylinders))
}

fn entry(value: serde_json::Value) -> std::result::Result<Entry, String> {
    let track = value.as_array().is_some_and(|fields| fields.len() == 11);
    let (fields, head): (RawEntry, u32) = if track {
        let (a, b, c, d, e, f, g, h, i, j, head): RawTrack =
            serde_json::from_value(value).map_err(|cause| cause.to_string())?;
        ((a, b, c, d, e, f, g, h, i, j), head)
    } else {
        (serde_json::from_value(value).map_err(|cause| cause.to_string())?, 0)
    };
    let (lbn, cylinder, offset, child_lbns, child_cylinders, child_angle, run_lbns, run_cylinders, kind, index) =
        fields;
    let child = match (kind.as_str(), track) {
        ("track", true) => Child::Track { pattern: index, head },
        ("index", false) => Child::Node(index),
        _ => return Err(format!("{kind:?} is no kind of child")),
    };
    for angle in [offset, child_angle] {
        if !(0.0..=1.0).contains(&angle) {
            return Err(format!("{angle} revolutions are not within one"));
        }
    }
    let descends = run_cylinders < 0;
    Ok(Entry { lbn, cylinder, offset, child_lbns, child_cylinders, child_angle, run_lbns, descends, child })
}

/// The number of cylinders that a tree covers. Children come before their parents, so one pass is enough.
fn cylinders_of(nodes: &[Vec<Entry>]) -> std::result::Result<u32, String> {
    let most = i64::from(MOST_CYLINDERS);
    let mut spans: Vec<(i64, i64)> = Vec::new();
    for (number, node) in nodes.iter().enumerate() {
        let (mut low, mut high) = (i64::MAX, i64::MIN);
        for entry in node {
            let (child_low, child_high) = match entry.child {
                Child::Node(index) => spans[index],
                Child::Track { .. } => (0, 0),
            };
            if entry.cylinder.abs() > most || entry.child_cylinders.abs() > most {
                return Err(format!("node {number} leaves the drive"));
            }
            let last = i64::try_from((entry.run_lbns - 1) / entry.child_lbns).unwrap_or(i64::MAX);
            let across = last.saturating_mul(entry.child_cylinders).clamp(-most, most);
            let across = if entry.descends { -across } else { across };
            low = low.min(entry.cylinder + child_low + across.min(0));
            high = high.max(entry.cylinder + child_high + across.max(0));
        }
        if low < -most || high > most {
            return Err(format!("node {number} leaves the drive"));
        }
        spans.push((low, high));
    }
    match spans.last() {
        Some((low, high)) if *low >= 0 => Ok(*high as u32 + 1),
        _ => Err("it begins before the first cylinder".to_owned()),
    }
}

fn ssd(file: raw::Ssd) -> Result<SsdProfile> {
    if file.geometry.bytes_per_sector != 512 {
        return Err(ProfileError::value("geometry.bytes_per_sector", "blocks have 512 bytes", "write 512"));
    }
    // Megabytes (10^6) a second are thousands of bytes a millisecond.
    let rate = |key: &str, value: f64| within(key, value, 0.001, 1e9).map(|rate| rate * 1e3);
    let latency = |key: &str, file: &raw::Latency, bytes_per_ms: f64| -> Result<Latency> {
        Ok(Latency {
            alone_ms: time(&format!("{key}.qd1_4k_us"), file.qd1_4k_us / 1e3)?,
            pages_per_ms: within(&format!("{key}.max_4k_iops"), file.max_4k_iops, 1.0, 1e12)? / 1e3,
            bytes_per_ms,
        })
    };
    let read = rate("link.sequential_read_mb_per_s", file.link.sequential_read_mb_per_s)?;
    let write = rate("link.sequential_write_mb_per_s", file.link.sequential_write_mb_per_s)?;
    let sustained = file.link.sequential_write_sustained_mb_per_s;
    Ok(SsdProfile {
        blocks: within("geometry.mapped_sectors", file.geometry.mapped_sectors, 1, MOST_BLOCKS)?,
        page_bytes: within("geometry.page_bytes", file.geometry.page_bytes, 512, 1 << 20)?,
        read: latency("latency.read", &file.latency.read, read)?,
        write: latency("latency.write", &file.latency.write, write)?,
        sustained_bytes_per_ms: rate("link.sequential_write_sustained_mb_per_s", sustained)?,
        max_queue_depth: within("link.max_queue_depth", file.link.max_queue_depth, 1, 1 << 20)?,
        volatile: file.write_cache.volatile,
        flush_ms: time("write_cache.flush_us", file.write_cache.flush_us / 1e3)?,
        fua_ms: time("write_cache.fua_4k_us", file.write_cache.fua_4k_us / 1e3)?,
    })
}
