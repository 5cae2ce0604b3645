//! What a run gives: response times, and how far the arm moved.

use crate::layout::Done;
use serde::Serialize;

/// The upper ends of the bins of the paper's Table II, in milliseconds and in cylinders. The first bin is exactly 0,
/// and the last one is open.
pub const TIME_BINS: [f64; 5] = [2.0, 4.0, 6.0, 7.0, 8.0];
/// The same in cylinders.
pub const DISTANCE_BINS: [u32; 5] = [21, 81, 321, 641, 1281];

/// Movements of the arm by their time in milliseconds: the bins of Table II.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "each is what its name in the output says")]
pub struct Times {
    #[serde(rename = "0")]
    pub zero: u64,
    #[serde(rename = "<2")]
    pub below_2: u64,
    #[serde(rename = "<4")]
    pub below_4: u64,
    #[serde(rename = "<6")]
    pub below_6: u64,
    #[serde(rename = "<7")]
    pub below_7: u64,
    #[serde(rename = "<8")]
    pub below_8: u64,
    #[serde(rename = ">8")]
    pub above_8: u64,
}

/// Movements of the arm by their distance in cylinders: the bins of Table II.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "each is what its name in the output says")]
pub struct Distances {
    #[serde(rename = "0")]
    pub zero: u64,
    #[serde(rename = "<21")]
    pub below_21: u64,
    #[serde(rename = "<81")]
    pub below_81: u64,
    #[serde(rename = "<321")]
    pub below_321: u64,
    #[serde(rename = "<641")]
    pub below_641: u64,
    #[serde(rename = "<1281")]
    pub below_1281: u64,
    #[serde(rename = ">1281")]
    pub above_1281: u64,
}

impl Times {
    fn bin(&mut self, ms: f64) -> &mut u64 {
        match TIME_BINS.iter().position(|end| ms < *end) {
            _ if ms <= 0.0 => &mut self.zero,
            Some(0) => &mut self.below_2,
            Some(1) => &mut self.below_4,
            Some(2) => &mut self.below_6,
            Some(3) => &mut self.below_7,
            Some(_) => &mut self.below_8,
            None => &mut self.above_8,
        }
    }

    /// The bins in their order.
    pub fn bins(&self) -> [u64; 7] {
        [self.zero, self.below_2, self.below_4, self.below_6, self.below_7, self.below_8, self.above_8]
    }
}

impl Distances {
    fn bin(&mut self, cylinders: u32) -> &mut u64 {
        match DISTANCE_BINS.iter().position(|end| cylinders < *end) {
            _ if cylinders == 0 => &mut self.zero,
            Some(0) => &mut self.below_21,
            Some(1) => &mut self.below_81,
            Some(2) => &mut self.below_321,
            Some(3) => &mut self.below_641,
            Some(_) => &mut self.below_1281,
            None => &mut self.above_1281,
        }
    }

    /// The bins in their order.
    pub fn bins(&self) -> [u64; 7] {
        [self.zero, self.below_21, self.below_81, self.below_321, self.below_641, self.below_1281, self.above_1281]
    }
}

/// Movements of the arm: each request for the medium is one, that of an arm that stays where it is included. A read
/// that the drive answers from its buffer is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Seeks {
    /// By time.
    pub time_ms: Times,
    /// By distance.
    pub distance_cylinders: Distances,
}

impl Seeks {
    /// Counts one, of so many cylinders and milliseconds.
    pub fn count(&mut self, cylinders: u32, ms: f64) {
        *self.time_ms.bin(ms) += 1;
        *self.distance_cylinders.bin(cylinders) += 1;
    }

    /// How many there were.
    pub fn all(&self) -> u64 {
        self.time_ms.bins().iter().sum()
    }
}

/// What the system and its drive did for the requests.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Work {
    /// Transfers from the drive, and to it.
    pub reads: u64,
    /// See above.
    pub writes: u64,
    /// Blocks of 4 KB that were read.
    pub blocks_read: u64,
    /// And written.
    pub blocks_written: u64,
    /// Changes of metadata in memory.
    pub updates: u64,
    /// Commits of a journal.
    pub commits: u64,
    /// Blocks whose contents went into a journal.
    pub journaled: u64,
    /// Blocks that were written to free space of a journal.
    pub checkpointed: u64,
    /// Of these, blocks of the map of copies.
    pub mapped: u64,
    /// Of these, blocks that only lack of space sent home.
    pub forced: u64,
    /// Copies that were made of blocks.
    pub copies: u64,
    /// Cylinders that the arm moved to write to a journal, and the time that it took, in milliseconds.
    pub commit_cylinders: u64,
    /// See above.
    pub commit_seek_ms: f64,
    /// Transfers to a journal.
    pub commit_writes: u64,
    /// Blocks that the drive wrote to a journal, and in order to free its space.
    pub journal_blocks: u64,
    /// See above.
    pub checkpoint_blocks: u64,
    /// Where what was written lies on average: 0 is the beginning of the disk, 1 its end.
    pub mean_place: f64,
    /// The shortest time between the beginnings of two write-backs, in milliseconds.
    pub shortest_interval_ms: f64,
    /// The milliseconds during which the drive was busy.
    pub busy_ms: f64,
    /// When everything was done.
    pub end_ms: f64,
}

impl Work {
    pub(crate) fn add(&mut self, done: Done) {
        (self.commits, self.journaled, self.checkpointed) = (done.commits, done.journaled, done.checkpointed);
        (self.mapped, self.forced, self.copies) = (done.mapped, done.forced, done.copies);
    }
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The system's name.
    pub system: &'static str,
    /// The trace's.
    pub trace: String,
    /// Requests of the trace.
    pub requests: usize,
    /// Their mean response time, in milliseconds.
    pub mean_response_ms: f64,
    /// What 95 of 100 do not exceed.
    pub p95_ms: f64,
    /// The longest.
    pub max_ms: f64,
    /// How many took less than 1, 2, 4, … ms, each without those of the bins before; the last bin is open.
    pub distribution: [u64; 16],
    /// Movements of the arm.
    pub seeks: Seeks,
    /// What was done for it.
    pub work: Work,
}

/// Mean, 95th percentile, maximum and distribution of response times.
pub fn summary(responses: &mut [f64]) -> (f64, f64, f64, [u64; 16]) {
    let mut distribution = [0; 16];
    for ms in responses.iter() {
        let bin = (0..15).find(|bin| *ms < f64::from(1_u32 << bin)).unwrap_or(15);
        distribution[bin] += 1;
    }
    let count = responses.len();
    if count == 0 {
        return (0.0, 0.0, 0.0, distribution);
    }
    // Before the order is changed: a sum depends on it.
    let mean = responses.iter().sum::<f64>() / count as f64;
    let max = responses.iter().fold(0.0_f64, |most, ms| most.max(*ms));
    let rank = (count * 95).div_ceil(100) - 1;
    let (_, p95, _) = responses.select_nth_unstable_by(rank, f64::total_cmp);
    (mean, *p95, max, distribution)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bins_are_those_of_table_two() {
        let mut seeks = Seeks::default();
        for (cylinders, ms) in
            [(0, 0.0), (0, 0.2), (20, 1.9), (21, 2.0), (80, 3.9), (81, 4.0), (1280, 7.9), (1281, 8.0)]
        {
            seeks.count(cylinders, ms);
        }
        assert_eq!(seeks.time_ms.bins(), [1, 2, 2, 1, 0, 1, 1]);
        assert_eq!(seeks.distance_cylinders.bins(), [2, 1, 2, 1, 0, 1, 1]);
        assert_eq!(seeks.all(), 8);
        let text = serde_json::to_string(&seeks).unwrap();
        assert!(text.contains(r#"{"0":1,"<2":2,"<4":2,"<6":1,"<7":0,"<8":1,">8":1}"#), "{text}");
        assert!(text.contains(r#"{"0":2,"<21":1,"<81":2,"<321":1,"<641":0,"<1281":1,">1281":1}"#), "{text}");
    }

    #[test]
    fn the_95th_percentile_is_a_response_that_95_of_100_do_not_exceed() {
        let mut responses: Vec<f64> = (1..=100).map(f64::from).collect();
        let (mean, p95, max, distribution) = summary(&mut responses);
        assert_eq!((mean, p95, max), (50.5, 95.0, 100.0));
        assert_eq!(distribution[..8], [0, 1, 2, 4, 8, 16, 32, 37]);
        assert_eq!(summary(&mut []).2, 0.0);
    }
}
