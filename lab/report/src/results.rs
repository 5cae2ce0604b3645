//! The shapes of documents that the laboratory writes and a report reads: each is declared here once.
//!
//! results-1. A reader takes a document of an older program, or of another one: every field may be missing, and a text
//!     may be a value of any kind (document-1). A writer sets every field.

use crate::number::short;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// How a document was made.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Made {
    /// The version of the program.
    pub ordo: String,
    /// The command line.
    pub command: String,
    /// When, in UTC.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub date: String,
    /// Processor, memory and kernel.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub machine: String,
}

/// A scheme that is missing in a document, because there can be no volume for it where the others were run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The scheme.
    pub scheme: String,
    /// Why.
    #[serde(default)]
    pub why: String,
}

impl std::fmt::Display for LeftOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: left out: {}", self.scheme, self.why)
    }
}

/// The promises of a scheme.
#[expect(clippy::struct_excessive_bools, reason = "as many promises as the trait has")]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Promises {
    /// After which event a new name survives a power cut: `on-return`, `after-fsync` or `after-sync`.
    pub name_added: String,
    /// The same of a name that was removed.
    pub name_removed: String,
    /// The same of contents.
    pub data: String,
    /// The same of mode, owner, times and extended attributes.
    pub attributes: String,
    /// fsync of a new file makes its name durable, too.
    pub fsync_covers_name: bool,
    /// A renamed file has one of its names after a crash.
    pub rename_never_loses: bool,
    /// After a crash all names are those of one moment.
    pub names_of_a_moment: bool,
    /// What was durable stays durable.
    pub durable_stays: bool,
    /// What a crash may leave: `nothing`, `leaks`, `counts`, `log` or `anything`.
    pub crash_leaves: String,
    /// A file never shows bytes of another file.
    pub no_stale_data: bool,
    /// A crashed volume may be mounted for writing at once.
    pub mount_at_once: bool,
    /// How old a change may get in memory on a mount, in seconds, until it is written without being asked for.
    pub seconds_in_memory: f64,
    /// What a crash costs, in words.
    pub says: String,
}

impl Promises {
    /// Nothing is promised: whatever is found after a crash breaks no promise.
    pub(crate) fn is_none(&self) -> bool {
        self.crash_leaves == "anything"
    }
}

/// A paper's results beside ours.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Document {
    /// The paper's key.
    pub paper: String,
    /// Its title.
    pub title: String,
    /// Authors, venue and year.
    pub reference: String,
    /// The modelled drive.
    pub disk: String,
    /// The drive in words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub disk_says: String,
    /// The first seed of the runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// What a reader must know about all of it.
    pub notes: Vec<String>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Figures. The paper's survive as words only, so their numbers are not given.
    pub figures: Vec<Figure>,
    /// Every claim of the paper.
    pub claims: Vec<Verdict>,
    /// Which way is best for which work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<Choice>,
    /// Which features systems have, as far as power cuts show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<Features>,
    /// The requests at the drive, by scheme.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub timelines: Vec<Timeline>,
    /// What one call made durable, by scheme.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stories: Vec<Story>,
}

/// Ways to keep metadata in order beside each other, work by work, on several disks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
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
#[serde(default)]
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
#[serde(default)]
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
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
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
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Column {
    /// The quantity.
    pub name: String,
    /// The unit.
    pub unit: String,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TableRow {
    /// What the row is about.
    pub labels: Vec<String>,
    /// Our numbers, one per column.
    pub ours: Vec<Option<f64>>,
    /// The paper's.
    pub theirs: Vec<Option<f64>>,
}

/// A figure.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// The series.
    pub series: Vec<Series>,
}

/// A kind of chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Chart {
    /// One line for each series.
    Line,
    /// One bar for each category and series.
    #[default]
    #[serde(other)]
    Bar,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Axis {
    /// The quantity.
    pub label: String,
    /// The unit; empty for a count.
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
#[serde(default)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// One value for each category.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Option<f64>>,
    /// Points; one that is missing is no number.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "points")]
    pub points: Vec<(f64, f64)>,
}

/// The verdict on a claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
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
    /// The measurement agrees. A document that does not say so has not tested it.
    pub holds: Option<bool>,
    /// The expected number or order.
    #[serde(deserialize_with = "text")]
    pub expected: String,
    /// The measured number or order.
    #[serde(deserialize_with = "text")]
    pub ours: String,
    /// The rule by which it holds or not, or the reason why it was not tested.
    pub why: String,
}

impl Verdict {
    /// It was measured, and agrees.
    pub fn is_held(&self) -> bool {
        self.tested && self.holds == Some(true)
    }
}

impl Default for Verdict {
    fn default() -> Verdict {
        let none = String::new;
        let (id, place, statement, expected, ours, why) = (none(), none(), none(), none(), none(), none());
        Verdict { id, place, statement, tested: true, holds: None, expected, ours, why }
    }
}

/// The drive's requests during a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Timeline {
    /// The scheme.
    pub scheme: String,
    /// Its title.
    pub title: String,
    /// The program.
    pub workload: String,
    /// Cylinders of the drive.
    #[serde(deserialize_with = "whole")]
    pub cylinders: u32,
    /// Requests in the order of service.
    pub requests: Vec<Dot>,
}

/// A request in a time line.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Dot {
    /// When it arrived at the drive, since the start of the run.
    pub at_ms: f64,
    /// How long it took.
    pub service_ms: f64,
    /// Its cylinder.
    #[serde(deserialize_with = "whole")]
    pub cylinder: u32,
    /// The kind of content.
    pub kind: String,
    /// It was a write.
    pub write: bool,
}

/// The story of one call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Story {
    /// The scheme.
    pub scheme: String,
    /// Its title.
    pub title: String,
    /// A picture.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub svg: String,
    /// The story as text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// The features of several systems.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Features {
    /// Its title.
    pub title: String,
    /// What must be considered before it is believed.
    pub doubt: String,
    /// The questions, in the order of each system's answers.
    pub asked: Vec<Asked>,
    /// The systems.
    pub systems: Vec<System>,
}

/// A question.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Asked {
    /// Its name.
    pub name: String,
    /// The promise that it checks.
    pub says: String,
}

/// The findings on a system.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct System {
    /// The paper's name for it; its scheme's name if no paper names it.
    pub name: String,
    /// Its scheme here, with settings.
    pub scheme: String,
    /// What is needed to use it again after a power cut: `nothing`, `replay`, `scan` or `maybe-impossible`.
    pub recovery: String,
    /// An answer to each question.
    pub answers: Vec<Answer>,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// No state contradicts it.
    pub yes: bool,
    /// States that were checked; 0 where one run is enough.
    pub states: u64,
    /// States that contradict it.
    pub against: u64,
    /// The id of the first of them, for `ordo crash --replay`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub witness: String,
    /// What is wrong in that state.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub shows: String,
}

impl Features {
    /// The answer of a system to a question; `None` if it was not checked.
    pub fn answer(&self, system: &str, question: &str) -> Option<&Answer> {
        let at = self.asked.iter().position(|asked| asked.name == question)?;
        self.system(system)?.answers.get(at)
    }

    /// A system by its name.
    pub fn system(&self, name: &str) -> Option<&System> {
        self.systems.iter().find(|system| system.name == name)
    }
}

/// A value of any kind, as text.
fn text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Value::deserialize(from).map(|value| said(&value))
}

fn said(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), short),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::Array(list) => list.iter().map(said).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| format!("{name}: {}", said(value))).collect::<Vec<_>>().join(", ")
        }
    }
}

/// Points with numbers that may be null, as what is no number is written.
fn points<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(f64, f64)>, D::Error> {
    let points: Vec<(Option<f64>, Option<f64>)> = Vec::deserialize(from)?;
    Ok(points.into_iter().map(|(x, y)| (x.unwrap_or(f64::NAN), y.unwrap_or(f64::NAN))).collect())
}

/// A whole number, also where it is written with a fraction.
fn whole<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    f64::deserialize(from).map(|number| number as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_any_kind_are_shown() {
        let value = serde_json::json!([1.23456, "a", true, null, {"b": 2}]);
        assert_eq!(said(&value), "1.23, a, yes, , b: 2");
    }

    /// results-1, and what is written is read as it was.
    #[test]
    fn a_document_is_read_as_it_was_written_and_one_with_less_is_read_too() {
        let points = vec![(1.0, 2.0), (3.0, f64::NAN)];
        let series = vec![Series { name: "s".into(), points, ..Series::default() }];
        let figures = vec![Figure { kind: Chart::Line, series, ..Figure::default() }];
        let claims = vec![Verdict { id: "c".into(), holds: Some(false), expected: "7".into(), ..Verdict::default() }];
        let written = Document { paper: "p".into(), seed: Some(1), figures, claims, ..Document::default() };
        let text = serde_json::to_string(&written).unwrap();
        let read: Document = serde_json::from_str(&text).unwrap();
        assert!(read.figures[0].series[0].points[1].1.is_nan());
        assert_eq!((serde_json::to_string(&read).unwrap(), &read.claims), (text, &written.claims));
        let less = r#"{"figures":[{"kind":"pie"}],"claims":[{"expected":[1,"a"]}],"timelines":[{"cylinders":7.0}]}"#;
        let read: Document = serde_json::from_str(less).unwrap();
        assert_eq!((read.figures[0].kind, read.timelines[0].cylinders), (Chart::Bar, 7));
        assert_eq!((&*read.claims[0].expected, read.claims[0].is_held()), ("1, a", false));
    }
}
