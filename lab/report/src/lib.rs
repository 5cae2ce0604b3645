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
//!     When the files were written, the caller says ([`Context`]).
//! R2. The content of a document is text. It becomes HTML through `maud` alone, which escapes it; a picture in a
//!     document becomes an `<img>`, in which no script runs. The page's own policy also forbids scripts and network
//!     access.
//! R3. The page is self-contained: style and pictures are in it. It has no script; all selection is done with CSS.
//! R4. Nothing is conveyed by colour alone.
//! R5. A document of an unknown shape is rejected, with the name of its file. Missing fields of a known shape are
//!     omitted.
//!
//! `results` has the shapes that are written and read, `document` reads them and those that it knows in part, `page`
//! assembles the sections. `whom` is the first one, which scheme for whom, with `subject` (what the documents know of
//! each scheme) and `map` (the picture). `bench`, `paper` (with `choice`, `compared`, `claims`, `features`,
//! `timeline`), `crash`, `programs`, `segments` and `trace` (with `stages`) make a section each, with `bars` and
//! `plot` for figures, `colour` for the colour of each scheme, `tabs` for panels, `words` for what a word means,
//! `number` for numbers, and `yes_or_no` for those.
#![forbid(unsafe_code)]

mod bars;
mod bench;
mod choice;
mod claims;
mod colour;
mod compared;
mod crash;
mod document;
mod features;
mod map;
mod number;
mod page;
mod paper;
mod plot;
mod programs;
pub mod results;
mod segments;
mod stages;
mod subject;
mod tabs;
mod timeline;
mod trace;
mod whom;
mod words;
mod yes_or_no;

pub use document::{Context, Refused, Source};

/// The page of these documents.
///
/// # Errors
///
/// Names the first document that is not JSON, or has none of the shapes.
pub fn page(sources: &[Source]) -> Result<String, Refused> {
    page_in(sources, &Context::default())
}

/// The same, with more said.
///
/// # Errors
///
/// As [`page()`].
pub fn page_in(sources: &[Source], context: &Context) -> Result<String, Refused> {
    let documents: Vec<_> = sources.iter().map(document::read).collect::<Result<Vec<_>, _>>()?;
    Ok(page::of(&documents.into_iter().flatten().collect::<Vec<_>>(), context))
}
