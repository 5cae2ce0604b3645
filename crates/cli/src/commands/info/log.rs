//! What is said of a log-structured volume.

use super::mmp::MmpInfo;
use super::part::{Part, bytes, missing_line, name_of};
use crate::text;
use ordo_ondisk::lfs::{Geometry, Superblock};
use ordofs::lfs::Counters;
use ordofs::{FoundLfs, LfsState};
use serde::Serialize;

/// Of any volume, mounted or not. Sizes in bytes.
#[derive(Debug, Clone, Serialize)]
pub(super) struct LogFacts {
    #[serde(rename = "type")]
    kind: &'static str,
    version: u32,
    /// Addresses of 64 bits.
    #[serde(rename = "wide_addresses")]
    wide: bool,
    endian: &'static str,
    block_size: u32,
    frag_size: u32,
    segment_size: u32,
    size: u64,
    segments: u32,
    clean_segments: u32,
    /// It was unmounted in order: the log ends where the superblock says.
    clean: bool,
}

impl LogFacts {
    fn new(g: &Geometry, clean_segments: u32, clean: bool) -> LogFacts {
        LogFacts {
            kind: "lfs",
            version: g.version.number(),
            wide: g.version.is_wide(),
            endian: name_of(g.endian),
            block_size: g.bsize,
            frag_size: g.fsize,
            segment_size: g.ssize,
            size: g.bytes(g.size),
            segments: g.nseg,
            clean_segments,
            clean,
        }
    }
}

/// Of a mounted volume, and since the mount.
#[derive(Debug, Serialize)]
struct MountedLog {
    #[serde(flatten)]
    facts: LogFacts,
    segments_cleaned: u64,
    segments_read: u64,
    segments_written: u64,
    write_cost: Option<f64>,
}

/// What a mount reports of its log-structured volume.
pub(crate) fn of_mounted_log(log: &LfsState) -> serde_json::Map<String, serde_json::Value> {
    let Counters { segments_cleaned, segments_read, segments_written, write_cost, .. } = log.counters;
    // The mark of an orderly unmount is not there while it is mounted.
    let facts = LogFacts::new(&log.geometry, log.clean_segments, false);
    let told =
        serde_json::to_value(MountedLog { facts, segments_cleaned, segments_read, segments_written, write_cost });
    // OK to ignore: plain fields always become an object.
    told.ok().and_then(|told| told.as_object().cloned()).unwrap_or_default()
}

/// Of a volume that is not mounted.
#[derive(Debug, Serialize)]
pub(super) struct LfsInfo {
    image: String,
    #[serde(flatten)]
    facts: LogFacts,
    /// Bytes of the volume that the image lacks at its end.
    #[serde(skip_serializing_if = "super::part::is_zero")]
    pub(super) missing: u64,
    /// Fragments.
    free_frags: i64,
    minfree: u32,
    min_free_segments: u32,
    reserve_segments: u32,
    /// The order of its writes: its own.
    scheme: &'static str,
    /// Serial number of the last partial segment before the checkpoint.
    serial: u64,
    last_mount_point: String,
    last_written: i64,
    /// The record of its one writer, if that is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mmp: Option<MmpInfo>,
    /// What is wrong with one of the two superblocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    damage: Option<String>,
    /// After a crash a mount rolls the log forward, and does not end at the last checkpoint.
    rolls_forward: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    partitions: Vec<Part>,
}

impl LfsInfo {
    pub(super) fn new(image: String, found: &FoundLfs, partitions: Vec<Part>) -> LfsInfo {
        let sb = &found.superblock;
        let (g, f) = (sb.geometry(), &sb.fields);
        LfsInfo {
            image,
            facts: LogFacts::new(&g, f.nclean, sb.is_clean()),
            missing: 0,
            free_frags: f.bfree,
            minfree: g.minfree,
            min_free_segments: g.minfreeseg,
            reserve_segments: g.resvseg,
            scheme: "lfs",
            serial: f.serial.0,
            last_mount_point: mounted_on(sb),
            last_written: i64::try_from(f.tstamp).unwrap_or(i64::MAX),
            damage: found.damage.as_ref().map(ToString::to_string),
            mmp: None,
            rolls_forward: sb.has_serial(),
            partitions,
        }
    }

    pub(super) fn lines(&self) -> Vec<(&'static str, String)> {
        let of = &self.facts;
        let clean = match (of.clean, self.rolls_forward) {
            (true, _) => "yes",
            (false, true) => "no: a mount rolls the log forward",
            (false, false) => "no: a mount goes back to the last checkpoint, which another system wrote",
        };
        let width = if of.wide { " with 64-bit addresses" } else { "" };
        let mut lines = vec![
            ("image", self.image.clone()),
            ("type", format!("lfs, version {}{width}, {}-endian", of.version, of.endian)),
            ("size", bytes(of.size)),
            ("missing", if self.missing == 0 { String::new() } else { missing_line(self.missing) }),
            ("blocks", format!("{} bytes, fragments of {}", of.block_size, of.frag_size)),
            ("segments", format!("{} of {}", of.segments, bytes(of.segment_size.into()))),
            (
                "free",
                format!(
                    "{} clean segments and {} fragments; {}% are kept, {} segments are not counted, {} are the cleaner's",
                    of.clean_segments, self.free_frags, self.minfree, self.min_free_segments, self.reserve_segments
                ),
            ),
            ("clean", clean.to_owned()),
            ("scheme", "the log is its order; it takes no other".to_owned()),
            ("last on", self.last_mount_point.clone()),
            ("written", format!("{} UTC", text::time(self.last_written))),
            ("serial", self.serial.to_string()),
        ];
        lines.extend(self.mmp.iter().map(|mmp| ("mmp", mmp.line())));
        lines.extend(self.damage.iter().map(|damage| ("superblock", format!("one of the two is damaged: {damage}"))));
        lines.extend(self.partitions.iter().map(Part::line));
        lines
    }
}

pub(crate) fn mounted_on(sb: &Superblock) -> String {
    let name = sb.fields.fsmnt.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(name).into_owned()
}
