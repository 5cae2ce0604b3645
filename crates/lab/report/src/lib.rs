//! Renders results as one self-contained HTML page: what `ordo bench`, `ordo paper`, `ordo crash`, `ordo trace
//! --explain`, `ordo info --segments` and `benches/programs.py` print with `--json`.
//!
//! ```
//! use ordo_report::Source;
//!
//! let rows = r#"[{"scheme":"sync","workload":"copy","phase":"total","disk":"ram","ops":9,"seconds":3.0,"rate":3.0}]"#;
//! let page = ordo_report::page(&[Source { name: "bench.json".into(), text: rows.into() }])?;
//! assert!(page.starts_with("<!DOCTYPE html>"));
//! # Ok::<(), ordo_report::Refused>(())
//! ```
//!
//! R1. The same documents in the same order give the same bytes: nothing here reads a clock, a file or the environment.
//! R2. The content of a document is text. It becomes HTML through `maud` alone, which escapes it; a picture in a
//!     document becomes an `<img>`, in which no script runs. The page's own policy also forbids scripts and network
//!     access.
//! R3. The page is self-contained: style and pictures are in it. It has no script; all selection is done with CSS.
//! R4. Nothing is conveyed by colour alone.
//! R5. A document of an unknown shape is rejected, with the name of its file. Missing fields of a known shape are
//!     omitted.
//!
//! `document` defines the shapes, `page` assembles the sections; `bench`, `paper` (with `choice`, `compared`,
//! `claims`, `timeline`), `crash`, `programs`, `segments` and `trace` make a section each, with `bars` and `plot` for
//! figures, `tabs` for panels, and `number` for numbers.
#![forbid(unsafe_code)]

mod bars;
mod bench;
mod choice;
mod claims;
mod compared;
mod crash;
mod document;
mod features;
mod number;
mod page;
mod paper;
mod plot;
mod programs;
mod segments;
mod tabs;
mod timeline;
mod trace;

pub use document::{Refused, Source};

/// The page of these documents.
///
/// # Errors
///
/// Names the first document that is not JSON, or has none of the shapes.
pub fn page(sources: &[Source]) -> Result<String, Refused> {
    let documents: Vec<_> = sources.iter().map(document::read).collect::<Result<Vec<_>, _>>()?;
    Ok(page::of(documents.into_iter().flatten().collect()))
}
