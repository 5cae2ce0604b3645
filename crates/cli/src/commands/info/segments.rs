//! `ordo info --segments`: a map of the segments of a log-structured volume.

use crate::image::Opened;
use crate::listing::json_text;
use crate::out::{Outcome, Status, print, usage};
use crate::size;
use ordo_ondisk::lfs::SegUse;
use ordo_ondisk::lfs::ifile::SegFlags;
use ordofs::rt::Rt;
use ordofs::{ImageSpec, LfsSegments};
use serde::Serialize;

/// Segments in a line of the map.
const ACROSS: usize = 64;
/// Steps of the histogram, and the longest bar of it.
const STEPS: usize = 10;
const LONGEST: usize = 40;

/// The states of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    /// It can be written.
    Clean,
    Dirty,
    /// Nothing in it is alive; it is clean after the next checkpoints.
    Empty,
    /// The log goes on in it, or has been there since the last checkpoint.
    Active,
    /// The cleaner could not clean it.
    Error,
}

/// A segment, as the usage table has it.
#[derive(Debug, Serialize)]
struct Segment {
    segment: usize,
    state: State,
    live_bytes: u32,
    summaries: u16,
    inode_blocks: u16,
    /// A copy of the superblock is at its start.
    superblock: bool,
    last_written: u64,
}

/// All segments of a volume.
#[derive(Debug, Serialize)]
pub struct SegmentMap {
    image: String,
    #[serde(rename = "type")]
    kind: &'static str,
    segment_size: u32,
    clean_segments: usize,
    live_bytes: u64,
    segments: Vec<Segment>,
}

fn state(usage: &SegUse, is_head: bool) -> State {
    let has = |flag| usage.flags.has(flag);
    match () {
        () if has(SegFlags::ERROR) || has(SegFlags::INVAL) => State::Error,
        () if is_head || has(SegFlags::ACTIVE) => State::Active,
        () if !has(SegFlags::DIRTY) => State::Clean,
        () if usage.nbytes == 0 => State::Empty,
        () => State::Dirty,
    }
}

impl SegmentMap {
    /// The map of a volume with this name.
    pub fn new(image: String, of: &LfsSegments) -> SegmentMap {
        let segment = |(n, usage): (usize, &SegUse)| Segment {
            segment: n,
            state: state(usage, of.head.is_some_and(|head| head.0 as usize == n)),
            live_bytes: usage.nbytes,
            summaries: usage.nsums,
            inode_blocks: usage.ninos,
            superblock: usage.flags.has(SegFlags::SUPERBLOCK),
            last_written: usage.lastmod,
        };
        let segments: Vec<Segment> = of.usage.iter().enumerate().map(segment).collect();
        SegmentMap {
            image,
            kind: "lfs",
            segment_size: of.segment_size,
            clean_segments: segments.iter().filter(|segment| segment.state == State::Clean).count(),
            live_bytes: segments.iter().map(|segment| u64::from(segment.live_bytes)).sum(),
            segments,
        }
    }

    /// Its share of live bytes in tenths, of which 10 counts as 9.
    fn tenths(&self, segment: &Segment) -> usize {
        let size = u64::from(self.segment_size.max(1));
        (u64::from(segment.live_bytes) * STEPS as u64 / size).min(STEPS as u64 - 1) as usize
    }

    fn letter(&self, segment: &Segment) -> char {
        match segment.state {
            State::Clean => '.',
            State::Empty => '-',
            State::Active => '*',
            State::Error => '!',
            // OK to expect: it is less than ten.
            State::Dirty => char::from_digit(self.tenths(segment) as u32, 10).expect("OK to expect: a digit"),
        }
    }

    fn lines(&self) -> Vec<String> {
        let count = self.segments.len();
        let all = u64::from(self.segment_size) * count as u64;
        let share = (self.live_bytes * 100).checked_div(all).unwrap_or(0);
        let mut lines = vec![
            format!(
                "{}: {count} segments of {}, {} clean; {} alive, {share}%",
                self.image,
                size::human(self.segment_size.into()),
                self.clean_segments,
                size::human(self.live_bytes)
            ),
            String::new(),
        ];
        for (row, segments) in self.segments.chunks(ACROSS).enumerate() {
            let letters: String = segments.iter().map(|segment| self.letter(segment)).collect();
            lines.push(format!("{:>8}  {letters}", row * ACROSS));
        }
        lines.push(String::new());
        lines.push("0 to 9: in use, the tenths that are alive   .: clean   -: nothing alive".to_owned());
        lines.push("*: the log goes on here   !: cannot be cleaned".to_owned());
        lines.push(String::new());
        lines.extend(self.histogram());
        lines
    }

    /// Segments that are not clean, by how much of them is alive.
    fn histogram(&self) -> Vec<String> {
        let mut counts = [0_usize; STEPS];
        for segment in self.segments.iter().filter(|segment| segment.state != State::Clean) {
            counts[self.tenths(segment)] += 1;
        }
        let most = counts.iter().copied().max().unwrap_or(0).max(1);
        let line = |(step, count): (usize, &usize)| {
            let bar = "#".repeat((count * LONGEST).div_ceil(most));
            let (from, to) = (step * 100 / STEPS, (step + 1) * 100 / STEPS);
            format!("{from:>3} to {to:>3}%  {count:>6}  {bar}").trim_end().to_owned()
        };
        counts.iter().enumerate().map(line).collect()
    }
}

/// Prints the map of the volume.
pub(super) fn show(spec: &ImageSpec, json: bool) -> Outcome {
    let rt = Rt::real_time();
    let opened = Opened::to_read(&rt, spec)?;
    let Some(found) = opened.mounted.lfs_segments() else {
        return Err(usage(format!("{spec}: is UFS; only a log-structured volume (LFS) has segments")));
    };
    let map = SegmentMap::new(json_text(spec.to_string().as_bytes()).0, &found);
    print(|out| if json { out.json(&map) } else { map.lines().into_iter().try_for_each(|line| out.line(line)) })?;
    Ok(Status::DONE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_ondisk::lfs::SegNo;

    #[test]
    fn each_segment_has_a_letter_and_its_place_in_the_histogram() {
        let usage = |flags: SegFlags, nbytes| SegUse { flags, nbytes, ..SegUse::default() };
        let (clean, dirty) = (SegFlags::default(), SegFlags::DIRTY);
        let usage = vec![
            usage(dirty.with(SegFlags::SUPERBLOCK), 1000),
            usage(dirty, 990),
            usage(dirty, 99),
            usage(clean, 0),
            usage(dirty.with(SegFlags::EMPTY), 0),
            usage(dirty, 500),
            usage(dirty.with(SegFlags::ERROR), 450),
        ];
        let map = SegmentMap::new("v".into(), &LfsSegments { segment_size: 1000, usage, head: Some(SegNo(5)) });
        let lines = map.lines();
        assert_eq!(lines[0], "v: 7 segments of 1000, 1 clean; 3.0k alive, 43%");
        assert_eq!(lines[2], "       0  990.-*!");
        let counts: Vec<String> =
            map.histogram().iter().filter_map(|line| line.split_whitespace().nth(3).map(str::to_owned)).collect();
        assert_eq!(counts, ["2", "0", "0", "0", "1", "1", "0", "0", "0", "2"]);
    }
}
