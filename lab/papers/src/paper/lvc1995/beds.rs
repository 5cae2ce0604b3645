//! The test beds as the paper prints them (Tables 1 and 5), and our model of each drive beside them.
//!
//! Of a CPU there is no number to compare: it is modelled as prices for kinds of work, not as a clock.

use super::aging;
use super::systems::SPRITE_DRIVE;
use crate::Machine;
use crate::paper::printed::{lines, numbers};
use ordo_drive::{DiskProfile, Kind, Profile};
use ordo_report::results::TableRow;

const TABLE1: &str = include_str!("../../../data/lvc1995_table1_testbed.csv");
const TABLE5: &str = include_str!("../../../data/lvc1995_table5_frag_testbed.csv");

/// Bytes of a sector of every modelled drive.
const SECTOR: f64 = 512.0;

/// The parameter that has a number on each end of a drive with zones.
const ZONED: &str = "sectors_per_track";

/// A row for each line of Table 1, with our number for each of the two drives.
pub(super) fn table1() -> Vec<TableRow> {
    let drives = [Machine::of_1995().drive, SPRITE_DRIVE.to_owned()].map(|name| disk(&name));
    let of = |fields: Vec<&str>| TableRow {
        labels: [fields[0], fields[1]].map(str::to_owned).to_vec(),
        ours: drives.iter().map(|drive| modelled(drive.as_ref()?, fields[1], 0)).collect(),
        theirs: numbers(&fields[2..]),
    };
    lines(TABLE1).map(of).collect()
}

/// A row for each line of Table 5; two for what differs between the inner and the outer edge of the disk. Text is a
/// label.
pub(super) fn table5() -> Vec<TableRow> {
    let drive = disk(aging::DRIVE);
    let row = |labels: [&str; 3], theirs, edge| TableRow {
        labels: labels.map(str::to_owned).to_vec(),
        ours: vec![drive.as_ref().and_then(|drive| modelled(drive, labels[1], edge))],
        theirs: vec![theirs],
    };
    let of = |fields: Vec<&'static str>| {
        let (section, parameter, value) = (fields[0], fields[1], fields[2]);
        match (value.parse().ok(), value.split_once('-')) {
            (None, Some((inner, outer))) if parameter == ZONED => {
                let last = drive.as_ref().map_or(0, |drive| drive.geometry.blocks() - 1);
                vec![
                    row([section, parameter, "innermost"], inner.parse().ok(), last),
                    row([section, parameter, "outermost"], outer.parse().ok(), 0),
                ]
            }
            (Some(number), _) => vec![row([section, parameter, ""], Some(number), 0)],
            (None, _) => vec![row([section, parameter, value], None, 0)],
        }
    };
    lines(TABLE5).flat_map(of).collect()
}

fn disk(name: &str) -> Option<DiskProfile> {
    match Profile::named(name).ok()?.kind {
        Kind::Disk(disk) => Some(disk),
        Kind::Ssd(_) => None,
    }
}

/// A parameter of the tables, of our model; what differs between tracks, of the one that has the block `at`.
fn modelled(drive: &DiskProfile, parameter: &str, at: u64) -> Option<f64> {
    let DiskProfile { geometry, cache, .. } = drive;
    Some(match parameter {
        "RPM" => drive.rpm,
        "sector_bytes" => SECTOR,
        ZONED => {
            let track = geometry.locate(at);
            (track.track_last - track.track_first + 1) as f64
        }
        "cylinders" => geometry.cylinders().into(),
        "tracks_per_cylinder" => geometry.surfaces().into(),
        "track_buffer_KB" => cache.segments as f64 * cache.segment_blocks as f64 * SECTOR / 1024.0,
        "avg_seek_ms" => average_seek(drive),
        "max_bus_bandwidth_MB_per_s" => SECTOR / drive.read_block_ms / 1e3,
        _ => return None,
    })
}

/// Milliseconds of a seek between two cylinders, each as likely as any other.
fn average_seek(drive: &DiskProfile) -> f64 {
    let cylinders = drive.geometry.cylinders();
    let pairs = |distance: u32| 2.0 * f64::from(cylinders - distance);
    let sum: f64 = (1..cylinders).map(|far| pairs(far) * drive.seek.time(far, false, false)).sum();
    sum / f64::from(cylinders).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_drives_are_within_two_per_cent_of_what_the_paper_prints_of_theirs() {
        let mut compared = 0;
        for row in table1().iter().chain(&table5()) {
            for (ours, theirs) in row.ours.iter().zip(&row.theirs) {
                if let (Some(ours), Some(theirs)) = (ours, theirs) {
                    assert!((ours / theirs - 1.0).abs() < 0.02, "{:?}: {ours} and {theirs}", row.labels);
                    compared += 1;
                }
            }
        }
        // Eight of each drive of Table 1, eight of the one of Table 5.
        assert_eq!(compared, 24);
    }

    #[test]
    fn a_drive_with_zones_has_a_row_for_each_edge() {
        let rows = table5();
        let edges: Vec<_> = rows.iter().filter(|row| row.labels[1] == ZONED).collect();
        assert_eq!(edges.iter().map(|row| row.theirs[0]).collect::<Vec<_>>(), [Some(68.0), Some(111.0)]);
        assert!(edges.iter().all(|row| row.ours == row.theirs), "{edges:?}");
        assert!(rows.iter().any(|row| row.labels[2] == "Fujitsu M2694EXA" && row.theirs == [None]));
    }
}
