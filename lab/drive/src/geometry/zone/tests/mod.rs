//! Zones compared with a literal, block-by-block implementation of the rules of sparing.

use super::*;

const SECTORS: u64 = 10;
const SURFACES: u64 = 2;
const CYLINDERS: u64 = 9;
const RESERVED: u64 = 7;
const FIRST: u64 = 1000;

fn naive_position(data: &ZoneData, block: u64) -> u64 {
    let cylinder = SECTORS * SURFACES;
    let pass = |start: u64, rest: u64| {
        data.slips.iter().filter(|slip| **slip >= start).fold(0, |s, slip| s + u64::from(slip - start <= rest + s))
    };
    match data.sparing {
        Sparing::None => block,
        Sparing::TracksAtZoneEnd => {
            let track = block / SECTORS;
            (track + pass(0, track)) * SECTORS + block % SECTORS
        }
        Sparing::Group { tracks, .. } => {
            let (unit, full) = (tracks * SECTORS, CYLINDERS * SURFACES / tracks);
            let group = (block / (unit - data.spares)).min(full);
            let rest = block - group * (unit - data.spares);
            let inside: Vec<u64> = data.slips.iter().copied().filter(|slip| slip / unit == group).collect();
            let passed = inside.iter().fold(0, |s, slip| s + u64::from(slip - group * unit <= rest + s));
            group * unit + rest + passed
        }
        Sparing::DiskEnd => {
            let at = block / cylinder;
            let passed = data.slips.iter().fold(0, |s, slip| {
                let before = slip / cylinder < at;
                s + u64::from(before || (slip / cylinder == at && slip - at * cylinder <= block % cylinder + s))
            });
            block + passed
        }
        Sparing::ZoneEnd => block + pass(0, block),
    }
}

#[test]
fn places_follow_from_the_rules() {
    let group = |tracks| Sparing::Group { tracks, pattern_moves: false };
    // Slips in the middle, at both ends of tracks, side by side, and among the spares.
    let sectors = vec![0, 5, 18, 19, 20, 58, 59, 61, 62, 63, 119, 139];
    let by_code = [
        (Sparing::None, 0, vec![]),
        (Sparing::TracksAtZoneEnd, 4, vec![0, 3, 4, 16]),
        (group(SURFACES), 4, sectors.clone()),
        (group(1), 3, vec![0, 5, 9, 18, 19, 37, 38, 39, 40]),
        (group(4), 5, sectors.clone()),
        (group(4), 5, vec![35, 36, 37, 38, 39, 40, 41]),
        // The last range, without spares, has more blocks than a full one.
        (group(4), 25, vec![]),
        (Sparing::DiskEnd, 0, vec![3, 21, 22, 60, 100]),
        (Sparing::ZoneEnd, 12, sectors),
        (Sparing::ZoneEnd, 12, vec![90, 91, 5, 30]),
    ];
    for (sparing, spares, slips) in by_code {
        for serpentine in [false, true] {
            let mut data = ZoneData {
                first_cylinder: 40,
                last_cylinder: 40 + CYLINDERS as u32 - 1,
                surfaces: SURFACES as u32,
                sectors: SECTORS as u32,
                first_block_offset: 3,
                reserved: RESERVED,
                track_skew: 2,
                cylinder_skew: 5,
                spares,
                slips: slips.clone(),
                defects: Vec::new(),
                first_lbn: FIRST,
                count: 0,
                sparing,
                serpentine,
            };
            data.count = data.capacity().expect("it has room");
            let zone = Zone::new(data.clone());
            let positions: Vec<u64> = (0..data.count).map(|lbn| naive_position(&data, lbn + RESERVED)).collect();
            for (index, position) in positions.iter().enumerate() {
                let what = format!("{sparing:?} {slips:?}, block {index}");
                let place = zone.locate(FIRST + index as u64);
                let (track, sector) = (position / SECTORS, position % SECTORS);
                let (cylinder, head) = (track / SURFACES, track % SURFACES);
                let mirrored = if serpentine && cylinder % 2 == 1 { SURFACES - 1 - head } else { head };
                let found = [place.cylinder, place.head, place.sector].map(u64::from);
                assert_eq!(found, [40 + cylinder, mirrored, sector], "{what}");
                let on_track = |p: &u64| p / SECTORS == track;
                let first = positions.iter().position(on_track).expect("the block itself");
                let last = positions.iter().rposition(on_track).expect("the block itself");
                assert_eq!(place.track_first, FIRST + first as u64, "{what}");
                assert_eq!(place.track_last, FIRST + last as u64, "{what}");
                let mut stretch = index;
                while stretch < last && positions[stretch + 1] == positions[stretch] + 1 {
                    stretch += 1;
                }
                assert_eq!(place.stretch_last, FIRST + stretch as u64, "{what}");
            }
        }
    }
}
