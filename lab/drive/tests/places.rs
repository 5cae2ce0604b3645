//! Places and seek times compared with those that DiskSim computes.

use std::collections::BTreeMap;
use std::io::Read;

use ordo_drive::{DiskProfile, Kind, Profile};

fn unpack(packed: &[u8]) -> String {
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed).read_to_string(&mut text).expect("the file is part of the tree");
    text
}

fn disk(name: &str) -> DiskProfile {
    match Profile::named(name).expect("built in").kind {
        Kind::Disk(disk) => disk,
        Kind::Ssd(_) => panic!("{name} is no disk"),
    }
}

fn rows(packed: &[u8]) -> BTreeMap<String, Vec<Vec<f64>>> {
    let mut drives: BTreeMap<String, Vec<Vec<f64>>> = BTreeMap::new();
    for line in unpack(packed).lines().skip(1) {
        let (name, rest) = line.split_once(',').expect("a name comes first");
        let values = rest.split(',').map(|value| value.parse().expect("a number")).collect();
        drives.entry(name.to_owned()).or_default().push(values);
    }
    drives
}

#[test]
fn blocks_are_where_disksim_puts_them() {
    let mut wrong = Vec::new();
    for (name, rows) in rows(include_bytes!("data/map.csv.gz")) {
        let geometry = disk(&name).geometry;
        for row in rows {
            let place = geometry.locate(row[0] as u64);
            let found = [place.cylinder, place.head, place.sector, place.sectors].map(f64::from);
            let track = [place.track_first as f64, place.track_last as f64];
            let turned = (place.angle - row[5]).abs();
            if found[..] != row[1..5] || turned.min(1.0 - turned) > 1e-6 || track[..] != row[6..8] {
                wrong.push(format!("{name} {row:?}: {place:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}

#[test]
fn seeks_take_as_long_as_in_disksim() {
    for (name, rows) in rows(include_bytes!("data/seek.csv.gz")) {
        let seek = disk(&name).seek;
        for row in rows {
            let distance = row[0] as u32;
            for (at, (head, write)) in
                [(false, false), (false, true), (true, false), (true, true)].into_iter().enumerate()
            {
                let time = seek.time(distance, head, write);
                assert!((time - row[1 + at]).abs() < 1e-5, "{name} {distance} {head} {write}: {time}, {}", row[1 + at]);
            }
        }
    }
}
