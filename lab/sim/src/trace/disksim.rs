//! DiskSim's ASCII form: arrival in milliseconds, device, first sector of 512 bytes, sectors, flags (bit 0: read).

use super::blocks::{BlockRequest, Line, nanoseconds};

pub(super) fn line(line: &str) -> Line {
    let mut fields = line.split_ascii_whitespace();
    let mut next = || fields.next().ok_or("it has fewer than five fields");
    let (at, device, sector, sectors, flags) = (next()?, next()?, next()?, next()?, next()?);
    if fields.next().is_some() {
        return Err("it has more than five fields");
    }
    let _: u32 = device.parse().map_err(|_| "field 2 is no device")?;
    let flags = match flags.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).map_err(|_| "field 5 is no flags")?,
        None => flags.parse().map_err(|_| "field 5 is no flags")?,
    };
    let request = BlockRequest {
        at_ns: nanoseconds(at, 1e6).ok_or("field 1 is no time")?,
        write: flags & 1 == 0,
        sector: sector.parse().map_err(|_| "field 3 is no block")?,
        sectors: sectors.parse().map_err(|_| "field 4 is no number of blocks")?,
    };
    request.checked().map(Some)
}
