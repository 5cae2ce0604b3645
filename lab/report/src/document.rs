//! The input documents, by shape.
//!
//! D1. A shape is recognised by fields that only it has; other fields may be missing, and unknown ones are ignored.
//! D2. Control characters and marks that change the direction of text are replaced first: one name cannot be displayed
//!     as another.
//! D3. A field that is null counts as missing.

use crate::results::{self, LeftOut, Made, Promises};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;

/// A document that was not parsed yet.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name in error messages: the name of its file.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// A document of an unknown shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name}: {why}; give what ordo bench, paper, crash, trace --explain, info --segments or benches/programs.py prints with --json"
)]
pub struct Refused {
    /// The document.
    pub name: String,
    /// What is wrong with it.
    pub why: String,
}

/// A document, the name of its file, and how it was made, if it says so.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) file: String,
    pub(crate) made: Option<Made>,
    pub(crate) document: Document,
}

/// The name of a document's file, without the directory.
pub(crate) fn file(one: &Given) -> &str {
    one.file.rsplit('/').next().unwrap_or_default()
}

/// What the page says of the documents that they do not say themselves.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// When a file was written, by the name of its source. For documents without a date of their own.
    pub written: BTreeMap<String, String>,
}

/// A parsed document.
#[derive(Debug)]
pub(crate) enum Document {
    Bench(Vec<Row>),
    Paper(Box<results::Document>),
    Crash(Crash),
    Trace(Trace),
    Segments(Segments),
    Programs(Programs),
}

/// A row of `ordo bench`.
#[derive(Debug, Deserialize)]
pub(crate) struct Row {
    pub(crate) scheme: String,
    pub(crate) workload: String,
    #[serde(default)]
    pub(crate) disk: String,
    pub(crate) phase: String,
    #[serde(default)]
    pub(crate) ops: f64,
    pub(crate) seconds: f64,
    pub(crate) rate: f64,
    #[serde(default)]
    pub(crate) cpu_seconds: f64,
    #[serde(default)]
    pub(crate) disk_reads: f64,
    #[serde(default)]
    pub(crate) disk_writes: f64,
    #[serde(default)]
    pub(crate) bytes_written: f64,
    #[serde(default)]
    pub(crate) rollbacks: f64,
    #[serde(default)]
    pub(crate) waits: f64,
    /// In the first row: what is missing in the document.
    #[serde(default)]
    pub(crate) left_out: Vec<LeftOut>,
    /// In the first row: how all were made, and what the disk is.
    pub(crate) made: Option<Made>,
    #[serde(default)]
    pub(crate) disk_says: String,
    /// In the first row of each scheme.
    pub(crate) promises: Option<Promises>,
}

/// What `ordo crash` prints.
#[derive(Debug, Deserialize)]
pub(crate) struct Crash {
    pub(crate) scheme: String,
    pub(crate) workload: String,
    #[serde(default)]
    pub(crate) disk: String,
    #[serde(default)]
    pub(crate) disk_says: String,
    pub(crate) promises: Option<Promises>,
    #[serde(default)]
    pub(crate) without: Vec<String>,
    #[serde(default)]
    pub(crate) writes: f64,
    pub(crate) states: f64,
    pub(crate) violations: Vec<Violation>,
    pub(crate) violations_total: Option<f64>,
    pub(crate) leaks_only: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Violation {
    pub(crate) id: String,
    pub(crate) oracle: Value,
    pub(crate) promise: String,
    /// Which of several scripts, from 0.
    pub(crate) script: u64,
    pub(crate) call: String,
    pub(crate) detail: String,
    pub(crate) should: String,
    pub(crate) is: String,
    /// The calls of the script up to the cut, numbered from 1, with what became of each.
    pub(crate) calls: Vec<String>,
    /// The writes that were not durable, with what became of each.
    pub(crate) writes: Vec<String>,
    pub(crate) shrunk: Option<Box<Violation>>,
}

/// What `ordo info --segments` prints.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Segments {
    pub(crate) image: String,
    pub(crate) segment_size: f64,
    pub(crate) segments: Vec<Segment>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Segment {
    pub(crate) state: String,
    pub(crate) live_bytes: f64,
    pub(crate) superblock: bool,
}

/// What `benches/programs.py` prints.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Programs {
    pub(crate) programs: Vec<Program>,
    pub(crate) systems: Vec<String>,
    pub(crate) machine: String,
    pub(crate) runs: f64,
}

/// Seconds, or a rate if its name ends with `/s`, by system.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Program {
    pub(crate) what: String,
    pub(crate) medians: BTreeMap<String, f64>,
}

/// What `ordo trace --explain` prints.
#[derive(Debug, Deserialize)]
pub(crate) struct Trace {
    pub(crate) scheme: String,
    pub(crate) call: String,
    #[serde(default)]
    pub(crate) disk: String,
    #[serde(default)]
    pub(crate) disk_says: String,
    #[serde(default)]
    pub(crate) setup: Vec<String>,
    pub(crate) refused: Option<String>,
    pub(crate) events: Vec<Event>,
    #[serde(default)]
    pub(crate) returned_us: u64,
    #[serde(default)]
    pub(crate) durable_us: u64,
    #[serde(default)]
    pub(crate) writes: f64,
    #[serde(default)]
    pub(crate) rollbacks: f64,
    #[serde(default)]
    pub(crate) waits: f64,
    #[serde(default)]
    pub(crate) flushes: f64,
}

/// A line of a trace; its fields depend on the kind of event.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Event {
    pub(crate) us: u64,
    pub(crate) event: String,
    pub(crate) number: Option<u64>,
    pub(crate) says: String,
    /// The bufs that a step changed, and those that the call waits for before it goes on.
    pub(crate) bufs: Vec<String>,
    pub(crate) waits_for: Vec<String>,
    pub(crate) answer: String,
    pub(crate) made: Vec<Held>,
    pub(crate) undone: Vec<Held>,
    pub(crate) buf: String,
    pub(crate) image: Option<u64>,
    pub(crate) rolled_back: bool,
    pub(crate) what: String,
    /// Names of bufs.
    pub(crate) until: Vec<String>,
    /// What a write of a log has in it.
    pub(crate) holds: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Held {
    pub(crate) buf: String,
    pub(crate) what: String,
    pub(crate) how: String,
    pub(crate) until: Vec<BTreeMap<String, String>>,
}

/// The documents of a source: one, or a list of them.
pub(crate) fn read(source: &Source) -> Result<Vec<Given>, Refused> {
    let refused = |why: String| Refused { name: source.name.clone(), why: one_line(&why) };
    let mut value: Value = serde_json::from_str(&source.text).map_err(|error| refused(format!("no JSON: {error}")))?;
    clean(&mut value);
    let has = |value: &Value, fields: &[&str]| fields.iter().all(|field| value.get(field).is_some());
    let is_row = |value: &Value| has(value, &["scheme", "workload", "phase", "rate"]);
    let given = |made, document| Given { file: source.name.clone(), made, document };
    let one = |value: Value| {
        // What says how it was made is no reason to refuse a document.
        let made = value.get("made").and_then(|made| serde_json::from_value(made.clone()).ok());
        shape(value, has).map(|document| given(made, document)).map_err(refused)
    };
    match value {
        Value::Array(list) if list.is_empty() => Err(refused("an empty list".into())),
        Value::Array(list) if list.iter().all(is_row) => {
            let rows: Vec<Row> = typed(Value::Array(list), "a list of ordo bench").map_err(refused)?;
            let made = rows.iter().find_map(|row| row.made.clone());
            Ok(vec![given(made, Document::Bench(rows))])
        }
        Value::Array(list) => list.into_iter().map(one).collect(),
        value => Ok(vec![one(value)?]),
    }
}

fn shape(value: Value, has: impl Fn(&Value, &[&str]) -> bool + Copy) -> Result<Document, String> {
    if has(&value, &["paper"]) && value["paper"].is_string() {
        typed(value, "a document of ordo paper").map(Document::Paper)
    } else if has(&value, &["scheme", "workload", "states", "violations"]) {
        typed(value, "a document of ordo crash").map(Document::Crash)
    } else if has(&value, &["scheme", "call", "events"]) {
        typed(value, "a document of ordo trace").map(Document::Trace)
    } else if has(&value, &["segment_size", "segments"]) && value["segments"].is_array() {
        typed(value, "a document of ordo info --segments").map(Document::Segments)
    } else if has(&value, &["programs", "systems"]) {
        typed(value, "a document of benches/programs.py").map(Document::Programs)
    } else {
        Err("a document of no known shape".into())
    }
}

fn typed<T: DeserializeOwned>(value: Value, what: &str) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| format!("looks like {what}, but {error}"))
}

fn clean(value: &mut Value) {
    match value {
        Value::String(text) if text.chars().any(is_harmful) => {
            *text = text.chars().map(|c| if is_harmful(c) { char::REPLACEMENT_CHARACTER } else { c }).collect();
        }
        Value::Array(list) => list.iter_mut().for_each(clean),
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(clean);
        }
        _ => {}
    }
}

fn is_harmful(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source { name: "x.json".into(), text: text.into() }
    }

    fn documents(text: &str) -> Vec<Document> {
        read(&source(text)).unwrap().into_iter().map(|given| given.document).collect()
    }

    #[test]
    fn a_document_says_how_it_was_made_in_any_form_or_not_at_all() {
        let made = |text: &str| read(&source(text)).unwrap().remove(0).made.map(|made| made.command);
        let row = r#""scheme":"s","workload":"w","phase":"p","rate":1,"seconds":2"#;
        assert_eq!(made(r#"{"paper":"k","made":{"command":"ordo paper k"}}"#).as_deref(), Some("ordo paper k"));
        assert_eq!(made(&format!(r#"[{{{row},"made":{{"command":"c"}}}},{{{row}}}]"#)).as_deref(), Some("c"));
        assert_eq!((made(r#"{"paper":"k","made":7}"#), made(r#"{"paper":"k"}"#)), (None, None));
    }

    #[test]
    fn a_document_is_known_by_its_shape() {
        let kind = |text: &str| match &documents(text)[..] {
            [Document::Bench(rows)] => format!("bench {}", rows.len()),
            [Document::Paper(paper)] => format!("paper {}", paper.paper),
            [Document::Crash(crash)] => format!("crash {}", crash.states),
            [Document::Trace(trace)] => format!("trace {}", trace.call),
            [Document::Segments(of)] => format!("segments {}", of.segments.len()),
            [Document::Programs(of)] => format!("programs {}", of.programs.len()),
            several => format!("{} documents", several.len()),
        };
        let row = r#"{"scheme":"s","workload":"w","phase":"p","rate":1,"seconds":2,"new":[]}"#;
        assert_eq!(kind(&format!("[{row},{row}]")), "bench 2");
        assert_eq!(kind(r#"{"paper":"k","disk":null,"tables":[{"title":null}]}"#), "paper k");
        assert_eq!(kind(r#"{"scheme":"s","workload":"w","states":7,"violations":[]}"#), "crash 7");
        assert_eq!(kind(r#"{"scheme":"s","call":"mkdir /d","events":[{"us":1,"event":"flush"}]}"#), "trace mkdir /d");
        assert_eq!(
            kind(r#"{"image":"v","segment_size":9,"segments":[{"state":"clean","live_bytes":0}]}"#),
            "segments 1"
        );
        assert_eq!(kind(r#"{"programs":[{"what":"make","medians":{"ext4":1.5}}],"systems":["ext4"]}"#), "programs 1");
        assert_eq!(kind(r#"[{"paper":"a"},{"paper":"b"}]"#), "2 documents");
    }

    #[test]
    fn anything_else_is_refused_in_one_line_with_its_name() {
        for text in [
            "",
            "{",
            "7",
            "null",
            "[]",
            "[1]",
            "{}",
            r#"{"paper":7}"#,
            "\"a\\nb\"",
            r#"[{"scheme":"s","workload":"w","phase":"p","rate":"fast","seconds":2}]"#,
            r#"{"paper":"k","tables":7}"#,
            r#"[{"scheme":"s","workload":"w","phase":"p","rate":1,"seconds":2},{}]"#,
        ] {
            let said = read(&source(text)).unwrap_err().to_string();
            assert!(said.starts_with("x.json: ") && !said.contains('\n') && said.contains("--json"), "{text}: {said}");
        }
    }

    #[test]
    fn marks_that_turn_text_around_are_replaced() {
        let text = r#"{"paper":"k","title":"a\u202eb\u0007c\nd"}"#;
        match &documents(text)[..] {
            [Document::Paper(paper)] => assert_eq!(paper.title, "a\u{fffd}b\u{fffd}c\nd"),
            other => panic!("{other:?}"),
        }
    }
}
