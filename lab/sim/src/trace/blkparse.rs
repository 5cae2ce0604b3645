//! The text that blkparse prints: device, CPU, number, seconds, process, action, what it does, first sector `+`
//! sectors, and the program's name in brackets. Only requests that enter the queue count (action `Q`); of these, reads
//! and writes of data.

use super::blocks::{BlockRequest, Line, nanoseconds};

/// The summary that ends the listing begins so.
pub(super) fn is_summary(line: &str) -> bool {
    line.starts_with("CPU") || line.starts_with("Total (")
}

pub(super) fn line(line: &str) -> Line {
    if is_summary(line) {
        return Ok(None);
    }
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let [device, cpu, number, at, process, action, does, rest @ ..] = &fields[..] else {
        return Err("it has fewer than seven fields");
    };
    let is_device = device.split_once(',').is_some_and(|(a, b)| a.parse::<u32>().is_ok() && b.parse::<u32>().is_ok());
    if !is_device {
        return Err("field 1 is no device");
    }
    if [cpu, number, process].iter().any(|field| field.parse::<u64>().is_err()) {
        return Err("field 2, 3 or 5 is no number");
    }
    let at_ns = nanoseconds(at, 1e9).ok_or("field 4 is no time")?;
    let write = does.contains('W');
    if *action != "Q" || !(write || does.contains('R')) || does.contains('D') {
        return Ok(None);
    }
    let [sector, "+", sectors, ..] = rest else {
        // A flush has no sectors.
        return Ok(None);
    };
    let request = BlockRequest {
        at_ns,
        write,
        sector: sector.parse().map_err(|_| "the first sector is no number")?,
        sectors: sectors.parse().map_err(|_| "the number of sectors is none")?,
    };
    request.checked().map(Some)
}
