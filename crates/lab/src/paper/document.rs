//! What a re-run of a paper is written down as: the document that `ordo paper --json` prints and `ordo report` shows.

use super::features::Features;
use serde::{Deserialize, Serialize};

/// A paper's results beside ours.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Document {
    /// The paper's key.
    pub paper: String,
    /// Its title.
    pub title: String,
    /// Its authors, where and when.
    pub reference: String,
    /// The modelled drive.
    pub disk: String,
    /// The first seed of the runs.
    pub seed: u64,
    /// What a reader must know of all of it.
    pub notes: Vec<String>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Figures. The paper's survive as words only, so they have no numbers of theirs.
    pub figures: Vec<Figure>,
    /// Every claim of the paper.
    pub claims: Vec<Verdict>,
    /// Which features systems have, as far as power cuts show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<Features>,
    /// What the drive did, scheme by scheme.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timelines: Vec<Timeline>,
    /// What one call made durable, scheme by scheme.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stories: Vec<Story>,
}

/// A table: ours and theirs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// `table1`.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// Columns of numbers.
    pub columns: Vec<Column>,
    /// Rows.
    pub rows: Vec<TableRow>,
}

/// A column of numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// What.
    pub name: String,
    /// In what.
    pub unit: String,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableRow {
    /// What it is of.
    pub labels: Vec<String>,
    /// Our numbers, one for each column.
    pub ours: Vec<Option<f64>>,
    /// The paper's.
    pub theirs: Vec<Option<f64>>,
}

/// A figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// `figure1a`.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// `bar` or `line`.
    pub kind: Chart,
    /// The axis of categories or points.
    pub x: Axis,
    /// The axis of values.
    pub y: Axis,
    /// Of a bar chart: what stands beside each other.
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
    /// What.
    pub label: String,
    /// In what; empty for a number of things.
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

/// What became of a claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The claim's id.
    pub id: String,
    /// Where the paper says it.
    #[serde(rename = "where")]
    pub place: String,
    /// In one line.
    pub statement: String,
    /// Something was measured for it.
    pub tested: bool,
    /// It agrees.
    pub holds: bool,
    /// What was expected, as a number or an order.
    pub expected: String,
    /// What was found.
    pub ours: String,
    /// By which rule it holds or not; why it was not tested.
    pub why: String,
}

/// The drive's requests during a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// The scheme.
    pub scheme: String,
    /// What it shows.
    pub title: String,
    /// The program.
    pub workload: String,
    /// Cylinders of the drive.
    pub cylinders: u32,
    /// Requests in the order of service.
    pub requests: Vec<Dot>,
}

/// A request of a time line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dot {
    /// When it came to the drive, from the start of the run.
    pub at_ms: f64,
    /// How long it took.
    pub service_ms: f64,
    /// Where.
    pub cylinder: u32,
    /// What was moved.
    pub kind: String,
    /// Written, not read.
    pub write: bool,
}

/// The story of one call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Story {
    /// The scheme.
    pub scheme: String,
    /// What it shows.
    pub title: String,
    /// A picture.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub svg: String,
    /// In words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}
