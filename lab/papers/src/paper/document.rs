//! The document of a re-run paper: what `ordo paper --json` prints and `ordo report` shows.

use super::features::Features;
use serde::{Deserialize, Serialize};

/// A paper's results beside ours.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Document {
    /// The paper's key.
    pub paper: String,
    /// Its title.
    pub title: String,
    /// Authors, venue and year.
    pub reference: String,
    /// The modelled drive.
    pub disk: String,
    /// The first seed of the runs.
    pub seed: u64,
    /// What a reader must know about all of it.
    pub notes: Vec<String>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Figures. The paper's survive as words only, so their numbers are not given.
    pub figures: Vec<Figure>,
    /// Every claim of the paper.
    pub claims: Vec<Verdict>,
    /// Which way is best for which work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<Choice>,
    /// Which features systems have, as far as power cuts show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<Features>,
    /// The requests at the drive, by scheme.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timelines: Vec<Timeline>,
    /// What one call made durable, by scheme.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stories: Vec<Story>,
}

/// Ways to keep metadata in order beside each other, work by work, on several disks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Choice {
    /// The question.
    pub title: String,
    /// How it was answered.
    pub says: String,
    /// The disks.
    pub disks: Vec<String>,
    /// The ways.
    pub ways: Vec<Way>,
    /// The works.
    pub works: Vec<Chosen>,
}

/// A way to keep metadata in order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Way {
    /// Its name among our systems.
    pub name: String,
    /// What it is.
    pub what: String,
    /// The scheme with which a volume is mounted for it.
    pub scheme: String,
    /// What a crash costs.
    pub crash: String,
}

/// A work, and how fast each way does it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Chosen {
    /// The work.
    pub name: String,
    /// The unit of its rates.
    pub unit: String,
    /// A rate for each disk and way.
    pub rates: Vec<Vec<Option<f64>>>,
    /// For each disk, the ways that are fastest.
    pub best: Vec<Vec<String>>,
}

/// A table: our numbers and theirs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// `table1`.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Columns of numbers.
    pub columns: Vec<Column>,
    /// Rows.
    pub rows: Vec<TableRow>,
}

/// A column of numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// The quantity.
    pub name: String,
    /// The unit.
    pub unit: String,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableRow {
    /// What the row is about.
    pub labels: Vec<String>,
    /// Our numbers, one per column.
    pub ours: Vec<Option<f64>>,
    /// The paper's.
    pub theirs: Vec<Option<f64>>,
}

/// A figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// `figure1a`.
    pub id: String,
    /// Its title.
    pub title: String,
    /// `bar` or `line`.
    pub kind: Chart,
    /// The axis of categories or points.
    pub x: Axis,
    /// The axis of values.
    pub y: Axis,
    /// Of a bar chart: the groups of bars.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// The series.
    pub series: Vec<Series>,
}

/// A kind of chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Chart {
    /// One bar for each category and series.
    Bar,
    /// One line for each series.
    Line,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Axis {
    /// The quantity.
    pub label: String,
    /// The unit; empty for a count.
    #[serde(default)]
    pub unit: String,
}

impl Axis {
    /// An axis that shows `label` in `unit`.
    pub fn new(label: &str, unit: &str) -> Axis {
        Axis { label: label.to_owned(), unit: unit.to_owned() }
    }
}

/// A series: values by category, or points.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// One value for each category.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Option<f64>>,
    /// Points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<(f64, f64)>,
}

/// The verdict on a claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The claim's id.
    pub id: String,
    /// Where in the paper it is.
    #[serde(rename = "where")]
    pub place: String,
    /// The claim in one line.
    pub statement: String,
    /// It was measured.
    pub tested: bool,
    /// The measurement agrees.
    pub holds: bool,
    /// The expected number or order.
    pub expected: String,
    /// The measured number or order.
    pub ours: String,
    /// The rule by which it holds or not, or the reason why it was not tested.
    pub why: String,
}

/// The drive's requests during a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// The scheme.
    pub scheme: String,
    /// Its title.
    pub title: String,
    /// The program.
    pub workload: String,
    /// Cylinders of the drive.
    pub cylinders: u32,
    /// Requests in the order of service.
    pub requests: Vec<Dot>,
}

/// A request in a time line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dot {
    /// When it arrived at the drive, since the start of the run.
    pub at_ms: f64,
    /// How long it took.
    pub service_ms: f64,
    /// Its cylinder.
    pub cylinder: u32,
    /// The kind of content.
    pub kind: String,
    /// It was a write.
    pub write: bool,
}

/// The story of one call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Story {
    /// The scheme.
    pub scheme: String,
    /// Its title.
    pub title: String,
    /// A picture.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub svg: String,
    /// The story as text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}
