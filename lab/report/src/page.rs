//! The page: what it is and how its documents were made; which scheme for whom, if they know of schemes; then the
//! details, folded, a section each; the words; footer.
//!
//! A1. A section is folded by `details`, which needs no script; a link of the contents leads into it, so that a browser
//!     unfolds it. In print all are unfolded. A page of one document has one section, which is not folded.

use crate::document::{Context, Crash, Document, Given, Programs, Segments, Trace, file};
use crate::results::Made;
use crate::{bench, claims, crash, paper, programs, segments, tabs, trace, whom, words};
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Nothing is fetched and no script runs, whatever the page contains.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// A section of the page: its kind, its title, the most important in one line, and its content.
struct Section {
    kind: &'static str,
    title: String,
    digest: String,
    content: Markup,
}

/// The whole page.
pub(crate) fn of(given: &[Given], context: &Context) -> String {
    let sections = sections(given);
    let (title, for_whom) = (title(given, &sections), whom::is_known(given));
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
                    p.mark { "A report of OrdoFS" }
                    h1 { (title) }
                    (made(given, context))
                    nav aria-label="On this page" { details.made { summary { "On this page" } ul {
                        @if for_whom { li { a href="#whom" { "Which scheme for whom" } } }
                        @for (at, section) in sections.iter().enumerate() {
                            li { a href=(format!("#s{at}")) { (section.title) } " " small { (section.kind) } }
                        }
                        li { a href="#words" { "The words" } }
                    } } }
                }
                main {
                    @if for_whom {
                        section #whom aria-labelledby="t-whom" {
                            h2 #t-whom { "Which scheme for whom" }
                            (whom::of(given))
                        }
                    }
                    @for (at, section) in sections.iter().enumerate() { (folded(at, section, sections.len() == 1)) }
                    details.section {
                        summary { h2 { "The words" } span.digest { "rollback, dependency, flush, and others" } }
                        div #words { (words::all()) }
                    }
                }
                footer { p { "Made by ordo report, OrdoFS " (env!("CARGO_PKG_VERSION")) ". The page holds all that it shows." } }
            }
        }
    }
    .into_string()
}

fn folded(at: usize, section: &Section, open: bool) -> Markup {
    html! {
        details.section open[open] {
            summary {
                span.kind { (section.kind) }
                h2 id=(format!("t{at}")) { (section.title) }
                @if !section.digest.is_empty() { span.digest { (section.digest) } }
            }
            section id=(format!("s{at}")) aria-labelledby=(format!("t{at}")) { (section.content) }
        }
    }
}

/// What the page is: the title of its only document, or the kinds of them.
fn title(given: &[Given], sections: &[Section]) -> String {
    if let ([_], [only]) = (given, sections) {
        return only.title.clone();
    }
    let mut kinds: Vec<&str> = Vec::new();
    for section in sections {
        let kind = match section.kind {
            "benchmark" => "benchmarks",
            "paper" => "papers run again",
            "explained" => "calls explained",
            other => other,
        };
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let last = kinds.pop().unwrap_or("results");
    let list = if kinds.is_empty() { last.to_owned() } else { format!("{} and {last}", kinds.join(", ")) };
    format!("OrdoFS: {list}")
}

/// Distinct texts, in their order.
fn distinct<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found = Vec::new();
    for text in texts.filter(|text| !text.is_empty()) {
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

/// When, where and how the documents were made.
fn made(given: &[Given], context: &Context) -> Markup {
    let made = || given.iter().filter_map(|one| one.made.as_ref());
    let mut dates = distinct(given.iter().map(|one| date(one, context)));
    dates.sort_unstable();
    let day = |date: &str| date.split(' ').next().unwrap_or_default().to_owned();
    let silent = given.iter().any(|one| one.made.is_none());
    let dates = match &dates[..] {
        [] if silent => "not said".to_owned(),
        [] => "none: the same on every day".to_owned(),
        [one] => (*one).to_owned(),
        [first, .., last] if day(first) == day(last) => day(first),
        [first, .., last] => format!("{} to {}", day(first), day(last)),
    };
    let machines = distinct(made().map(|made| made.machine.as_str()));
    let versions = distinct(made().map(|made| made.ordo.as_str()));
    let or_not = |said: Vec<&str>, none: &str| if said.is_empty() { none.to_owned() } else { said.join("; ") };
    let no_machine =
        if made().next().is_some() { "none: all ran in virtual time, on modelled disks" } else { "not said" };
    html! {
        dl.facts {
            div { dt { "date" } dd { (dates) } }
            div { dt { "machine" } dd { (or_not(machines, no_machine)) } }
            div { dt { "version" } dd { @if !versions.is_empty() { "ordo " } (or_not(versions, "not said")) } }
            @if let [one] = given { div { dt { "command" } dd { (command(one)) } } }
        }
        @if given.len() > 1 {
            details.made {
                summary { "The " (given.len()) " documents, and the commands that made them" }
                ul.plain { @for one in given { li { (command(one)) " " small { (file(one)) ", " (when(one, context)) } } } }
            }
        }
        @if silent { p { small { "Where it is not said, the document was made by an ordo that did not write it down." } } }
    }
}

/// The day on which a document was made, or else the file written.
fn date<'a>(one: &'a Given, context: &'a Context) -> &'a str {
    let said = one.made.as_ref().map_or("", |made| made.date.as_str());
    if said.is_empty() { context.written.get(&one.file).map_or("", String::as_str) } else { said }
}

fn when(one: &Given, context: &Context) -> String {
    let Made { date: said, ordo, .. } = one.made.clone().unwrap_or_default();
    let version = if ordo.is_empty() { String::new() } else { format!(", ordo {ordo}") };
    match (said.is_empty(), date(one, context)) {
        // Who says how it was made, and no date, had none.
        (_, "") if one.made.is_some() => format!("in virtual time{version}"),
        (_, "") => format!("no date{version}"),
        (true, written) => format!("file of {written}{version}"),
        (false, date) => format!("{date}{version}"),
    }
}

fn command(one: &Given) -> Markup {
    html! {
        @match &one.made {
            Some(made) if !made.command.is_empty() => code { (made.command) },
            _ => "command not said",
        }
    }
}

/// Benchmarks, each document in a section of its own, and programs; all power cuts in one; papers; all logs in one, all
/// stories of calls in one.
fn sections(given: &[Given]) -> Vec<Section> {
    let (mut sections, mut papers) = (Vec::new(), Vec::new());
    let (mut crashes, mut traces): (Vec<&Crash>, Vec<&Trace>) = (Vec::new(), Vec::new());
    let (mut logs, mut mounts): (Vec<&Segments>, Vec<&Programs>) = (Vec::new(), Vec::new());
    for one in given {
        match &one.document {
            Document::Paper(found) => {
                let title = if found.title.is_empty() { found.paper.clone() } else { found.title.clone() };
                let content = paper::of(&format!("p{}", papers.len()), found);
                papers.push(Section { kind: "paper", title, digest: claims::digest(&found.claims), content });
            }
            // One section per document: runs of different machines are not one sample.
            Document::Bench(rows) => sections.push(Section {
                kind: "benchmark",
                title: bench::title(rows),
                digest: bench::digest(rows),
                content: bench::of(rows),
            }),
            Document::Crash(found) => crashes.push(found),
            Document::Trace(found) => traces.push(found),
            Document::Segments(found) => logs.push(found),
            Document::Programs(found) => mounts.push(found),
        }
    }
    sections.extend(mounts.iter().map(|found| Section {
        kind: "programs",
        title: programs::title(found),
        digest: found.systems.join(", "),
        content: programs::of(found),
    }));
    if !crashes.is_empty() {
        let (title, digest) = ("After a power cut".into(), crash::digest(&crashes));
        sections.push(Section { kind: "power cuts", title, digest, content: crash::of(&crashes) });
    }
    sections.extend(papers);
    if !logs.is_empty() {
        let title = if logs.len() == 1 { "A log-structured volume" } else { "Log-structured volumes" };
        let digest = logs.iter().map(|log| log.image.as_str()).collect::<Vec<_>>().join("; ");
        sections.push(Section { kind: "segments", title: title.into(), digest, content: segments::of(&logs) });
    }
    if !traces.is_empty() {
        let name = |found: &Trace| format!("{}: {}", found.scheme, found.call);
        let digest = traces.iter().map(|found| name(found)).collect::<Vec<_>>().join("; ");
        let panels = traces.iter().map(|found| (name(found), trace::of(found))).collect();
        let content = tabs::of("trace", "Call", panels);
        sections.push(Section { kind: "explained", title: "What one call writes, and why".into(), digest, content });
    }
    sections
}
