//! Figures about a trace, before it is played.

use super::request::{Op, Trace};
use crate::layout::in_place;
use crate::volume::{GROUP, Volume};

/// Figures about a trace, as `ordo sim list` shows them.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct About {
    /// Its name.
    pub trace: String,
    /// How many requests it has.
    pub requests: usize,
    /// The share of the requests for blocks that begin where the one before ended, in the same file.
    pub consecutive: f64,
    /// The share of the requests for blocks that lie in the first group of the disk or in groups 48 to 57.
    pub in_two_areas: f64,
    /// The share that writes.
    pub writes: f64,
    /// The share of requests after which the next one is for another file.
    pub other_file: f64,
    /// Different blocks of data, in MB.
    pub data_mb: f64,
    /// From the first request to the last, in seconds.
    pub seconds: f64,
    /// The drive.
    pub drive: &'static str,
}

impl Trace {
    /// Figures about it.
    pub fn about(&self) -> About {
        let groups = data_groups(self);
        let (mut asked, mut consecutive, mut inside, mut writes, mut other) = (0_u64, 0_u64, 0_u64, 0_u64, 0_u64);
        let mut seen = vec![false; groups.pages()];
        let mut last: Option<(u32, u32)> = None;
        for request in self.requests.iter().filter(|request| request.op != Op::Look) {
            asked += 1;
            writes += u64::from(request.op == Op::Write);
            consecutive += u64::from(last == Some((request.file, request.first)));
            other += u64::from(last.is_some_and(|(file, _)| file != request.file));
            let group = groups.group(request.file, request.first);
            inside += u64::from(group == 0 || (48..=57).contains(&group));
            last = Some((request.file, request.first + request.blocks));
            let page = groups.page(request.file, request.first);
            seen[page..page + request.blocks as usize].fill(true);
        }
        let share = |part: u64| part as f64 / asked.max(1) as f64;
        let ends = self.requests.first().zip(self.requests.last());
        About {
            trace: self.name.clone(),
            requests: self.requests.len(),
            consecutive: share(consecutive),
            in_two_areas: share(inside),
            writes: share(writes),
            other_file: share(other),
            data_mb: seen.iter().filter(|seen| **seen).count() as f64 * 4096.0 / 1e6,
            seconds: ends.map_or(0.0, |(first, last)| (last.at_ms - first.at_ms) / 1e3),
            drive: self.drive,
        }
    }
}

/// Where data of a trace lies when it is placed in groups: for what is said of a trace before it is played.
struct DataGroups {
    volume: Volume,
    places: Vec<u32>,
}

fn data_groups(trace: &Trace) -> DataGroups {
    let volume = Volume::of(trace, GROUP);
    let places = in_place(&volume);
    DataGroups { volume, places }
}

impl DataGroups {
    fn pages(&self) -> usize {
        self.places.len()
    }

    fn page(&self, file: u32, block: u32) -> usize {
        (self.volume.files[file as usize].page + block) as usize
    }

    fn group(&self, file: u32, block: u32) -> u32 {
        self.places[self.page(file, block)] / GROUP
    }
}
