//! The page: header, table of contents, one section each, footer.

use crate::document::{Crash, Document, Programs, Segments, Trace};
use crate::{bench, crash, paper, programs, segments, tabs, trace};
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Nothing is fetched and no script runs, whatever the page contains.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// A section of the page: its kind, its title, and its content.
struct Section {
    kind: &'static str,
    title: String,
    content: Markup,
}

/// The whole page.
pub(crate) fn of(documents: Vec<Document>) -> String {
    let sections = sections(documents);
    let title = match &sections[..] {
        [only] => only.title.clone(),
        _ => "Results".into(),
    };
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="color-scheme" content="light dark";
                link rel="icon" href="data:,";
                title { (title) " \u{b7} OrdoFS" }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                header {
                    p.mark { "OrdoFS" @if let [only] = &sections[..] { " \u{b7} " (only.kind) } }
                    // A single section needs no heading of its own.
                    h1 id=[(sections.len() == 1).then_some("t0")] { (title) }
                    @if sections.len() > 1 {
                        nav aria-label="On this page" {
                            ul {
                                @for (at, section) in sections.iter().enumerate() {
                                    li { a href=(format!("#s{at}")) { (section.title) " " small { (section.kind) } } }
                                }
                            }
                        }
                    }
                }
                main {
                    @for (at, section) in sections.iter().enumerate() {
                        section id=(format!("s{at}")) aria-labelledby=(format!("t{at}")) {
                            @if sections.len() > 1 {
                                p.kind { (section.kind) }
                                h2 id=(format!("t{at}")) { (section.title) }
                            }
                            (section.content)
                        }
                    }
                }
                footer { p { "Made by ordo report, OrdoFS " (env!("CARGO_PKG_VERSION")) ". The page holds all that it shows." } }
            }
        }
    }
    .into_string()
}

/// Papers first, each in its own section; then benchmarks; all power cuts in one, all logs in one, all stories of
/// calls in one.
fn sections(documents: Vec<Document>) -> Vec<Section> {
    let (mut papers, mut benches) = (Vec::new(), Vec::new());
    let (mut crashes, mut traces): (Vec<Crash>, Vec<Trace>) = (Vec::new(), Vec::new());
    let (mut logs, mut programs): (Vec<Segments>, Vec<Programs>) = (Vec::new(), Vec::new());
    for document in documents {
        match document {
            Document::Paper(found) => {
                let title = if found.title.is_empty() { found.paper.clone() } else { found.title.clone() };
                let content = paper::of(&format!("p{}", papers.len()), &found);
                papers.push(Section { kind: "paper", title, content });
            }
            Document::Bench(rows) => benches.push(rows),
            Document::Crash(found) => crashes.push(found),
            Document::Trace(found) => traces.push(found),
            Document::Segments(found) => logs.push(found),
            Document::Programs(found) => programs.push(found),
        }
    }
    let mut sections = papers;
    // One section per document: runs of different machines are not one sample.
    sections.extend(benches.iter().map(|rows| Section {
        kind: "benchmark",
        title: bench::title(rows),
        content: bench::of(rows),
    }));
    sections.extend(programs.iter().map(|found| Section {
        kind: "programs",
        title: programs::title(found),
        content: programs::of(found),
    }));
    if !crashes.is_empty() {
        sections.push(Section { kind: "power cuts", title: "After a power cut".into(), content: crash::of(&crashes) });
    }
    if !logs.is_empty() {
        let title = if logs.len() == 1 { "A log-structured volume" } else { "Log-structured volumes" };
        sections.push(Section { kind: "segments", title: title.into(), content: segments::of(&logs) });
    }
    if !traces.is_empty() {
        let panels =
            traces.iter().map(|found| (format!("{}: {}", found.scheme, found.call), trace::of(found))).collect();
        let content = tabs::of("trace", "Call", panels);
        sections.push(Section { kind: "explained", title: "What one call writes, and why".into(), content });
    }
    sections
}
