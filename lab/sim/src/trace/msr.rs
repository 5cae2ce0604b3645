//! The form of Microsoft Research's traces at SNIA: timestamp in units of 100 nanoseconds, host, disk, `Read` or
//! `Write`, offset in bytes, size in bytes, response time.

use super::blocks::{BlockRequest, Line};

/// The line of names that some files begin with.
pub(super) fn is_heading(line: &str) -> bool {
    line.trim_start().to_ascii_lowercase().starts_with("timestamp,")
}

pub(super) fn line(line: &str) -> Line {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let [at, _host, disk, does, offset, bytes, _response] = fields[..] else { return Err("it has not seven fields") };
    let _: u32 = disk.parse().map_err(|_| "field 3 is no disk")?;
    let write = match does.to_ascii_lowercase().as_str() {
        "read" => false,
        "write" => true,
        _ => return Err("field 4 is neither Read nor Write"),
    };
    let ticks: u64 = at.parse().map_err(|_| "field 1 is no timestamp")?;
    let offset: u64 = offset.parse().map_err(|_| "field 5 is no offset")?;
    let bytes: u64 = bytes.parse().map_err(|_| "field 6 is no size")?;
    let end = offset.checked_add(bytes).ok_or("it ends behind every device")?;
    let sector = offset / 512;
    let at_ns = ticks.checked_mul(100).ok_or("field 1 is no timestamp")?;
    let sectors = if bytes == 0 { 0 } else { end.div_ceil(512) - sector };
    BlockRequest { at_ns, write, sector, sectors }.checked().map(Some)
}
