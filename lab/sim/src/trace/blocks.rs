//! From requests for sectors to a trace of blocks of 4 KB.

use super::request::{Contents, Op, Request, Trace};
use crate::volume::{SECTORS, drive_for};

/// A request as a device sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BlockRequest {
    /// In nanoseconds: timestamps since 1601 have more digits than a float keeps.
    pub(super) at_ns: u64,
    pub(super) write: bool,
    /// The first sector of 512 bytes.
    pub(super) sector: u64,
    /// At least one.
    pub(super) sectors: u64,
}

impl BlockRequest {
    /// The first sector behind it.
    pub(super) fn end(&self) -> u64 {
        self.sector.saturating_add(self.sectors)
    }

    /// Refuses a request for nothing.
    pub(super) fn checked(self) -> Result<BlockRequest, &'static str> {
        match self {
            BlockRequest { sectors: 0, .. } => Err("it asks for no blocks"),
            _ => Ok(self),
        }
    }
}

/// Why a line is none of a form, or its request; `None` is a line that says nothing of interest.
pub(super) type Line = Result<Option<BlockRequest>, &'static str>;

/// A text as nanoseconds, of which a unit has `unit`; `None` if it is no time since a start.
pub(super) fn nanoseconds(text: &str, unit: f64) -> Option<u64> {
    let value = text.parse::<f64>().ok()? * unit;
    // A year is long enough for a trace, and a bound for the numbers that follow.
    (0.0..3.2e16).contains(&value).then_some((value + 0.5) as u64)
}

/// The trace of these requests; `None` if there is none. The first comes at time 0. They end within the largest drive.
pub(super) fn trace_of(name: &str, mut requests: Vec<BlockRequest>) -> Option<Trace> {
    requests.sort_by_key(|request| request.at_ns);
    let start = requests.first()?.at_ns;
    let span = |request: &BlockRequest| {
        let (first, last) = (request.sector / SECTORS, (request.end() - 1) / SECTORS);
        (first as u32, (last - first + 1) as u32)
    };
    let mut blocks: Vec<u32> = Vec::new();
    for request in &requests {
        let (first, count) = span(request);
        blocks.extend(first..first + count);
    }
    blocks.sort_unstable();
    blocks.dedup();
    let drive = drive_for(blocks.last().map_or(0, |last| last + 1));
    let asked = requests.iter().map(|request| {
        let (first, count) = span(request);
        Request {
            at_ms: (request.at_ns - start) as f64 / 1e6,
            op: if request.write { Op::Write } else { Op::Read },
            file: 0,
            first: blocks.partition_point(|block| *block < first) as u32,
            blocks: count,
        }
    });
    let requests = asked.collect();
    Some(Trace { name: name.to_owned(), drive, contents: Contents::Device(blocks), requests })
}
