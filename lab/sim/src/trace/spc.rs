//! The form of the Storage Performance Council: unit, first sector of 512 bytes, bytes, `R` or `W`, seconds; further
//! fields are allowed. All units are taken for one device.

use super::blocks::{BlockRequest, Line, nanoseconds};

pub(super) fn line(line: &str) -> Line {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let [unit, sector, bytes, does, at, ..] = fields[..] else { return Err("it has fewer than five fields") };
    let _: u32 = unit.parse().map_err(|_| "field 1 is no unit")?;
    let write = match does {
        "r" | "R" => false,
        "w" | "W" => true,
        _ => return Err("field 4 is neither R nor W"),
    };
    let bytes: u64 = bytes.parse().map_err(|_| "field 3 is no size")?;
    let request = BlockRequest {
        at_ns: nanoseconds(at, 1e9).ok_or("field 5 is no time")?,
        write,
        sector: sector.parse().map_err(|_| "field 2 is no block")?,
        sectors: bytes.div_ceil(512),
    };
    request.checked().map(Some)
}
