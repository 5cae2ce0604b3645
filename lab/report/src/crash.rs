//! The results of the power-cut explorer: a row for each exploration; below it each violation, and the script with the
//! calls that the violations are about.
//!
//! V1. A promise is broken only by a scheme that makes it. What is found under a scheme that promises nothing, or under
//!     one that was run without a rule on purpose, is said to be that.
//! V2. Violations that say the same but for numbers are one, with a count, and each can be made again.

use crate::document::{Crash, Violation};
use crate::number::fixed;
use crate::results::Promises;
use crate::words::word;
use maud::{Markup, html};
use serde_json::Value;
use std::collections::BTreeMap;

/// A section for all explorations.
pub(crate) fn of(crashes: &[&Crash]) -> Markup {
    let names = ["violations", "workload", "disk", "writes", "states tried"];
    html! {
        p.lead { "The power was cut at every moment, undurable writes were lost, kept and torn; each state was recovered and held to what the scheme promises." }
        div.scroll tabindex="0" role="region" aria-label="Power cuts" {
            table.numbers.words {
                caption.hidden { "Power cuts" }
                thead { tr { th scope="col" { "scheme" } @for name in names { th scope="col" { (name) } } } }
                tbody { @for crash in crashes { (line(crash)) } }
            }
        }
        dl.keys {
            div { dt { "violations" } dd { (word("state", "states")) " that break a promise; counted once for each promise" } }
            div { dt { "workload" } dd { "the script of calls that ran when the power went" } }
            div { dt { "writes" } dd { "requests to write that the script caused" } }
            div { dt { "states tried" } dd { "how many of the disk's possible contents after a cut were recovered and compared" } }
            @for (disk, says) in disks(crashes) { div { dt { (disk) } dd { (says) } } }
        }
        @for (at, crash) in crashes.iter().enumerate().filter(|(_, crash)| !crash.violations.is_empty()) {
            details {
                summary {
                    (crash.scheme) @if let Some(dropped) = dropped(crash) { " " (dropped) }
                    ", " (crash.workload) ": " (fixed(total(crash), 0)) " violations, and the calls that they are about"
                }
                (violations(&format!("c{at}"), crash))
            }
        }
    }
}

/// In one line: how many explorations, and how many found something.
pub(crate) fn digest(crashes: &[&Crash]) -> String {
    let found = |wanted: Found| {
        let these = crashes.iter().filter(|crash| Found::of(crash) == wanted).map(|crash| crash.scheme.as_str());
        these.collect::<Vec<_>>().join(", ")
    };
    let states: f64 = crashes.iter().map(|crash| crash.states).sum();
    let said = |what: String, after: &str| if what.is_empty() { what } else { format!("; {what}{after}") };
    let broken = match found(Found::Broken) {
        none if none.is_empty() => "; no promise broken".into(),
        some => format!("; broken by {some}"),
    };
    let free = said(found(Found::Free), " promises nothing, and was damaged");
    let dropped = said(found(Found::Dropped), " without a rule, removed on purpose, was convicted");
    format!("{} states after a cut{broken}{free}{dropped}", fixed(states, 0))
}

/// What violations mean (V1).
#[derive(Clone, Copy, PartialEq)]
enum Found {
    Nothing,
    /// A promise was broken.
    Broken,
    /// The scheme promises nothing.
    Free,
    /// A rule of the scheme was removed on purpose: the violations show what it is for.
    Dropped,
}

impl Found {
    fn of(crash: &Crash) -> Found {
        match () {
            () if total(crash) <= 0.0 => Found::Nothing,
            () if !crash.without.is_empty() => Found::Dropped,
            () if crash.promises.as_ref().is_some_and(Promises::is_none) => Found::Free,
            () => Found::Broken,
        }
    }
}

/// That rules were removed, and which.
fn dropped(crash: &Crash) -> Option<String> {
    let rules = if crash.without.len() == 1 { "its rule" } else { "its rules" };
    let said = || format!("without {rules} {}, removed on purpose", crash.without.join(", "));
    (!crash.without.is_empty()).then(said)
}

fn total(crash: &Crash) -> f64 {
    crash.violations_total.unwrap_or(crash.violations.len() as f64)
}

/// The disks of which a document says what they are.
fn disks<'a>(crashes: &[&'a Crash]) -> BTreeMap<&'a str, &'a str> {
    let named = crashes.iter().filter(|crash| !crash.disk_says.is_empty());
    named.map(|crash| (crash.disk.as_str(), crash.disk_says.as_str())).collect()
}

fn line(crash: &Crash) -> Markup {
    let violations = total(crash);
    html! {
        tr {
            th scope="row" {
                (crash.scheme)
                @if let Some(dropped) = dropped(crash) { " " small { (dropped) } }
                @if Found::of(crash) == Found::Free { " " small { "promises nothing" } }
            }
            td.word {
                @if matches!(Found::of(crash), Found::Free | Found::Dropped) { (fixed(violations, 0)) }
                @else if violations > 0.0 { span.badge.broken { span aria-hidden="true" { "\u{2717} " } (fixed(violations, 0)) } }
                @else {
                    span.badge.held { span aria-hidden="true" { "\u{2713} " } "none" }
                    @if crash.leaks_only == Some(true) { " " small { (word("leak", "leaks")) " at most" } }
                }
            }
            td.word { (crash.workload) }
            td.word { (crash.disk) }
            td { (fixed(crash.writes, 0)) }
            td { (fixed(crash.states, 0)) }
        }
    }
}

/// The violations of an exploration, and its scripts; `id` distinguishes the explorations of a page.
fn violations(id: &str, crash: &Crash) -> Markup {
    let scripts = scripts(&crash.violations);
    let place = |script: u64, call: usize| format!("{id}-{script}-{call}");
    html! {
        @for (name, promise) in kinds(&crash.violations) {
            h4 { (name) @if !promise.is_empty() { " " small { (promise) } } }
            ul.plain { @for alike in alike(&crash.violations, &name, promise) {
                @if let Some(((at, first), others)) = alike.split_first() {
                    li id=(format!("{id}-v{at}")) {
                        (found(first, &place))
                        @if !others.is_empty() { (more(id, others)) }
                    }
                }
            } }
        }
        @for (script, calls) in scripts {
            h4 { "The script" @if crash.violations.iter().any(|other| other.script != script) { " " (script + 1) } }
            ol.script { @for (call, text) in calls.iter().enumerate() {
                li id=(place(script, call + 1)) {
                    code { (shortened(text)) }
                    @for (at, violation) in crash.violations.iter().enumerate() {
                        @if violation.script == script && cut(violation) == Some(call + 1) {
                            " " a.badge.broken href=(format!("#{id}-v{at}")) { "the power went: " (oracle(violation)) }
                        }
                    }
                }
            } }
        }
    }
}

/// The violations of a kind; those that are alike but for numbers together (V2).
fn alike<'a>(violations: &'a [Violation], name: &str, promise: &str) -> Vec<Vec<(usize, &'a Violation)>> {
    let key = |violation: &Violation| {
        let text = [&violation.detail, &violation.should, &violation.is].map(|text| text.as_str()).join("\n");
        text.split(|c: char| c.is_ascii_digit()).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("0")
    };
    let mut groups: Vec<(String, Vec<(usize, &Violation)>)> = Vec::new();
    for (at, violation) in violations.iter().enumerate() {
        if (oracle(violation).as_str(), violation.promise.as_str()) != (name, promise) {
            continue;
        }
        let key = key(violation);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push((at, violation)),
            None => groups.push((key, vec![(at, violation)])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// Others like the one before, with the command that makes each again.
fn more(id: &str, others: &[(usize, &Violation)]) -> Markup {
    html! {
        details {
            summary { (others.len()) " more like it, after other moments" }
            ul.plain { @for (at, violation) in others {
                li id=(format!("{id}-v{at}")) {
                    @if !violation.call.is_empty() { "in, or after, " code { (shortened(&violation.call)) } " " }
                    @if !violation.id.is_empty() { small { "again: " code { "ordo crash --replay '" (violation.id) "'" } } }
                }
            } }
        }
    }
}

/// A run of this many equal characters, as in a name that shall be long, is shown by its ends and its length.
const LONG: usize = 20;

/// Text with its longest runs of one character shortened.
fn shortened(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| c != first).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        match run.chars().count() {
            count if count >= LONG && first.is_alphanumeric() => {
                shown += &format!("{first}{first}\u{2026}{first} ({count} times {first})");
            }
            _ => shown += run,
        }
        rest = after;
    }
    shown
}

/// The oracles that found something, each with the promise that it holds the scheme to.
fn kinds(violations: &[Violation]) -> Vec<(String, &str)> {
    let mut kinds = Vec::new();
    for violation in violations {
        let kind = (oracle(violation), violation.promise.as_str());
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

/// The calls of each script, as far as a violation got in it: without their numbers, and without what became of them.
fn scripts(violations: &[Violation]) -> BTreeMap<u64, Vec<&str>> {
    let mut scripts: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for violation in violations.iter().filter(|violation| !violation.calls.is_empty()) {
        let calls: Vec<&str> = violation.calls.iter().map(|call| bare(call)).collect();
        let known = scripts.entry(violation.script).or_default();
        if calls.len() > known.len() {
            *known = calls;
        }
    }
    scripts
}

/// `3. fsync a all: returned` is `fsync a all`.
fn bare(call: &str) -> &str {
    let after = call.split_once(". ").filter(|(number, _)| number.bytes().all(|byte| byte.is_ascii_digit()));
    let text = after.map_or(call, |(_, text)| text);
    text.rsplit_once(": ").map_or(text, |(text, _)| text)
}

/// The number of the call that was the last to begin before the cut.
fn cut(violation: &Violation) -> Option<usize> {
    Some(violation.calls.len()).filter(|count| *count > 0)
}

fn oracle(violation: &Violation) -> String {
    match &violation.oracle {
        Value::String(name) => name.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn found(violation: &Violation, place: &dyn Fn(u64, usize) -> String) -> Markup {
    html! {
        @if !violation.call.is_empty() {
            "the power went in, or after, "
            @match cut(violation) {
                Some(call) => a href=(format!("#{}", place(violation.script, call))) { "call " (call) ", " code { (shortened(&violation.call)) } },
                None => code { (shortened(&violation.call)) },
            }
        }
        @if violation.should.is_empty() && violation.is.is_empty() { p { (shortened(&violation.detail)) } }
        @else { dl.pair { dt { "should be" } dd { (shortened(&violation.should)) } dt { "is" } dd { (shortened(&violation.is)) } } }
        @if let Some(less) = &violation.shrunk {
            @if !less.calls.is_empty() {
                p { small { "as few calls as show it: " code { (less.calls.iter().map(|call| shortened(bare(call))).collect::<Vec<_>>().join("; ")) } } }
            }
        }
        @if !violation.id.is_empty() { p { small { "again: " code { "ordo crash --replay '" (violation.id) "'" } } } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exploration_is_a_row_with_all_its_violations_counted() {
        let read = |text: &str| serde_json::from_str::<Crash>(text).unwrap();
        let good = read(r#"{"scheme":"suj","workload":"mixed","states":12000,"violations":[],"leaks_only":true}"#);
        let bad = r#"{"scheme":"async","workload":"<w>","states":5,"violations":[{"oracle":"fsynced-data","detail":"<i>"}],
            "violations_total":1234}"#;
        let bad = read(bad);
        let drawn = of(&[&good, &bad]).into_string();
        for shown in ["12,000", "none", "leaks</a> at most", "1,234", "fsynced-data", "&lt;w&gt;", "&lt;i&gt;"] {
            assert!(drawn.contains(shown), "{shown}: {drawn}");
        }
        assert_eq!(digest(&[&good, &bad]), "12,005 states after a cut; broken by async");
    }

    #[test]
    fn only_who_makes_a_promise_can_break_it() {
        let crash = |scheme: &str, leaves: &str, without: &str| {
            let text = format!(
                r#"{{"scheme":"{scheme}","workload":"w","states":5,"violations":[{{"oracle":"tree"}}],
                "without":[{without}],"promises":{{"crash_leaves":"{leaves}"}}}}"#
            );
            serde_json::from_str::<Crash>(&text).unwrap()
        };
        let (free, dropped) = (crash("async", "anything", ""), crash("softupdates", "leaks", "\"a-rule\""));
        let said = digest(&[&free, &dropped]);
        assert_eq!(
            said,
            "10 states after a cut; no promise broken; async promises nothing, and was damaged; softupdates without a \
            rule, removed on purpose, was convicted"
        );
        let drawn = of(&[&free, &dropped]).into_string();
        assert!(drawn.contains("softupdates without its rule a-rule, removed on purpose, w: 1 violations"), "{drawn}");
        assert!(!drawn.contains("badge broken\"><span"), "{drawn}");
        let broken = crash("suj", "nothing", "");
        assert!(digest(&[&broken, &dropped]).contains("broken by suj;"));
    }

    #[test]
    fn what_is_alike_but_for_numbers_is_said_once_and_long_names_are_short() {
        let name = "n".repeat(64);
        let one = |id: u32, text: &str| {
            format!(r#"{{"id":"i{id}","oracle":"tree","call":"create {name}{id} 644","detail":"{text}"}}"#)
        };
        let all = [one(1, &format!("inode 3 of {name}1")), one(2, &format!("inode 14 of {name}2")), one(3, "other")];
        let text = format!(r#"{{"scheme":"s","workload":"w","states":5,"violations":[{}]}}"#, all.join(","));
        let drawn = of(&[&serde_json::from_str::<Crash>(&text).unwrap()]).into_string();
        assert_eq!((drawn.matches("inode ").count(), drawn.matches("1 more like it").count()), (1, 1), "{drawn}");
        for id in 1..4 {
            assert_eq!(drawn.matches(&format!("--replay 'i{id}'")).count(), 1, "{drawn}");
            assert_eq!(drawn.matches(&format!("id=\"c0-v{}\"", id - 1)).count(), 1, "{drawn}");
        }
        assert!(!drawn.contains(&name) && drawn.contains("nn\u{2026}n (64 times n)1"), "{drawn}");
        assert_eq!(shortened("--------------------------"), "--------------------------");
    }

    #[test]
    fn a_violation_leads_to_its_call_and_the_call_back_to_it() {
        let text = r#"{"scheme":"async","workload":"w","states":5,"violations":[
            {"oracle":"tree","call":"write a: b","calls":["1. create a 644: returned","2. write a: b: running when the power went"]},
            {"oracle":"structure","call":"create a 644","calls":["1. create a 644: running when the power went"]},
            {"oracle":"other","script":4,"call":"x","calls":["x: y"]}]}"#;
        let crash = serde_json::from_str::<Crash>(text).unwrap();
        let drawn = of(&[&crash]).into_string();
        for shown in [
            r##"<a href="#c0-0-2">call 2, <code>write a: b</code></a>"##,
            r##"<li id="c0-0-2"><code>write a: b</code> <a class="badge broken" href="#c0-v0">the power went: tree</a>"##,
            r##"<li id="c0-0-1"><code>create a 644</code> <a class="badge broken" href="#c0-v1">"##,
            r##"<li id="c0-4-1"><code>x</code>"##,
            "The script 5",
        ] {
            assert!(drawn.contains(shown), "{shown}: {drawn}");
        }
        // Every link has its place.
        for link in drawn
            .split("href=\"#")
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
            .filter(|link| link.starts_with('c'))
        {
            assert_eq!(drawn.matches(&format!("id=\"{link}\"")).count(), 1, "{link}");
        }
    }
}
