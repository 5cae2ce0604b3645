//! What `ordo age` prints: what happened, and how the files lie.

use crate::listing::json_text;
use crate::out::print;
use crate::size;
use ordo_workload::age::{Aged, Full, Profile};
use ordofs::{ImageSpec, Part, Placement};
use serde::Serialize;

/// The document.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    image: String,
    profile: &'static str,
    what: &'static str,
    seed: u64,
    /// Days that were played, and those of them before the study.
    days: u32,
    days_before: u32,
    operations: u64,
    files_made: u64,
    files_removed: u64,
    bytes_written: u64,
    /// Days on which there was no room: the day of the study, how much was refused, and the bytes that were free.
    full: Vec<NoRoom>,
    /// How the files lie; not of a log-structured volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    layout: Option<Layout>,
}

#[derive(Debug, Serialize)]
struct NoRoom {
    day: i64,
    refused: u64,
    free: u64,
}

/// How the files lie. Shares are from 0 to 1, and missing where there is nothing to share.
#[derive(Debug, Serialize)]
struct Layout {
    files: u64,
    in_use: Share,
    /// Of all blocks behind the first of a file, those directly behind the block before.
    score: Share,
    two_block_files: Share,
    two_whole_block_files: Share,
    blocks_of_32_block_files: Share,
    by_size: Vec<Class>,
    free_blocks: u64,
    /// Bytes that are free in blocks which are partly in use, and their share of the volume.
    free_in_fragments: u64,
    free_in_fragments_share: Option<f64>,
    /// Of the blocks in each tenth of the groups, those that are free, and the mean length of runs of free blocks.
    free_by_tenth: Vec<Option<f64>>,
    run_by_tenth: Vec<Option<f64>>,
}

#[derive(Debug, Serialize)]
struct Share {
    share: Option<f64>,
    of: u64,
}

#[derive(Debug, Serialize)]
struct Class {
    blocks: (u64, u64),
    files: u64,
    score: Share,
}

impl From<Part> for Share {
    fn from(part: Part) -> Share {
        Share { share: part.share(), of: part.of }
    }
}

impl Layout {
    fn of(placement: &Placement) -> Layout {
        let class =
            |class: &ordofs::Class| Class { blocks: class.blocks, files: class.files, score: class.contiguous.into() };
        let run = |tenth: &ordofs::Tenth| Part { part: tenth.run_blocks, of: tenth.runs }.share();
        Layout {
            files: placement.files,
            in_use: placement.in_use().into(),
            score: placement.score.into(),
            two_block_files: placement.two_blocks.into(),
            two_whole_block_files: placement.two_whole_blocks.into(),
            blocks_of_32_block_files: placement.thirty_two_blocks.into(),
            by_size: placement.classes.iter().map(class).collect(),
            free_blocks: placement.free_blocks,
            free_in_fragments: placement.free_frags * u64::from(placement.sizes.1),
            free_in_fragments_share: placement.free_in_fragments().share(),
            free_by_tenth: placement.tenths.iter().map(|tenth| tenth.free.share()).collect(),
            run_by_tenth: placement.tenths.iter().map(run).collect(),
        }
    }

    fn lines(&self) -> Vec<(&'static str, String)> {
        let all = |values: &[Option<f64>], show: fn(f64) -> String| {
            let shown = values.iter().map(|value| value.map_or_else(|| "-".to_owned(), show));
            shown.collect::<Vec<_>>().join(" ")
        };
        let sizes = self.by_size.iter().map(|class| {
            let (low, high) = class.blocks;
            let blocks = if low == high { low.to_string() } else { format!("{low}-{high}") };
            format!("{blocks}: {}", percent(class.score.share))
        });
        vec![
            ("in use", percent(self.in_use.share)),
            (
                "free",
                format!(
                    "{} blocks; in fragments {} ({})",
                    self.free_blocks,
                    size::human(self.free_in_fragments),
                    percent(self.free_in_fragments_share)
                ),
            ),
            ("files", self.files.to_string()),
            (
                "contiguous",
                format!("{} of {} blocks behind the first of their file", percent(self.score.share), self.score.of),
            ),
            (
                "two blocks",
                format!(
                    "{} of {} files; {} of {} with both whole",
                    percent(self.two_block_files.share),
                    self.two_block_files.of,
                    percent(self.two_whole_block_files.share),
                    self.two_whole_block_files.of
                ),
            ),
            (
                "32 blocks",
                format!(
                    "{} of {} blocks",
                    percent(self.blocks_of_32_block_files.share),
                    self.blocks_of_32_block_files.of
                ),
            ),
            ("by blocks", sizes.collect::<Vec<_>>().join(", ")),
            (
                "free at",
                format!(
                    "{} % of each tenth of the groups",
                    all(&self.free_by_tenth, |of| format!("{:.0}", of * 100.0))
                ),
            ),
            ("in runs of", format!("{} blocks", all(&self.run_by_tenth, |run| format!("{run:.1}")))),
        ]
    }
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.1}%", share * 100.0))
}

impl Shown {
    pub(super) fn new(
        profile: &'static Profile,
        seed: u64,
        spec: &ImageSpec,
        (days, aged): (u32, Aged),
        placement: Option<&Placement>,
    ) -> Shown {
        let no_room = |full: &Full| NoRoom { day: full.day, refused: full.refused, free: full.free };
        Shown {
            image: json_text(spec.to_string().as_bytes()).0,
            profile: profile.name,
            what: profile.what,
            seed,
            days,
            days_before: profile.history(),
            operations: aged.ops,
            files_made: aged.created,
            files_removed: aged.removed,
            bytes_written: aged.bytes,
            full: aged.full.iter().map(no_room).collect(),
            layout: placement.map(Layout::of),
        }
    }

    fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = vec![
            ("profile", format!("{}: {}; seed {}", self.profile, self.what, self.seed)),
            ("played", format!("{} days, {} of them before the study", self.days, self.days_before)),
            (
                "done",
                format!(
                    "{} operations; {} files made, {} removed, {} written",
                    self.operations,
                    self.files_made,
                    self.files_removed,
                    size::human(self.bytes_written)
                ),
            ),
        ];
        if let Some(first) = self.full.first() {
            let free = size::human(first.free);
            lines.push(("full", format!("on {} days, first on day {} with {free} free", self.full.len(), first.day)));
        }
        lines.extend(self.layout.iter().flat_map(Layout::lines));
        lines
    }

    /// Prints it.
    pub(super) fn print(&self, json: bool) -> anyhow::Result<()> {
        print(|out| {
            if json {
                return out.json(self);
            }
            self.lines().iter().try_for_each(|(what, value)| out.line(format!("{what:<11} {value}")))
        })
    }
}
