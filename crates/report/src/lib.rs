//! One self-contained HTML page from results: what `ordo bench`, `ordo paper`, `ordo crash` and `ordo trace --explain` print
//! with `--json`.
//!
//! ```
//! use report::Source;
//!
//! let rows = r#"[{"scheme":"sync","workload":"copy","phase":"total","disk":"ram","ops":9,"seconds":3.0,"rate":3.0}]"#;
//! let page = report::page(&[Source { name: "bench.json".into(), text: rows.into() }])?;
//! assert!(page.starts_with("<!DOCTYPE html>"));
//! # Ok::<(), report::Refused>(())
//! ```
//!
//! R1. The same documents in the same order give the same bytes: nothing here reads a clock, a file or the environment.
//! R2. What a document says is text. It becomes HTML through `maud` alone, which escapes; a picture that a document
//!     brings is an `<img>`, in which nothing runs. The page forbids itself scripts and the network besides.
//! R3. The page needs nothing else: style and pictures are in it. It has no script; what can be chosen is chosen by CSS.
//! R4. Nothing is told by a colour alone.
//! R5. A document of an unknown shape is refused, with the name of its file. What a known one leaves out is left out.
//!
//! `document` knows the shapes, `page` puts sections together; `bench`, `paper` (with `compared`, `claims`, `timeline`),
//! `crash` and `trace` make a section each, with `bars` and `plot` for figures, `tabs` for what stands side by side, and
//! `number` for numbers.
#![forbid(unsafe_code)]

mod bars;
mod bench;
mod claims;
mod compared;
mod crash;
mod document;
mod features;
mod number;
mod page;
mod paper;
mod plot;
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
