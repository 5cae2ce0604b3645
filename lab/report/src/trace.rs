//! The story of one call: its stages as a picture, what was written when, and what was held back until when.

use crate::document::{Event, Held, Trace};
use crate::number::{fixed, moment_us, time_us};
use crate::stages;
use crate::words::word;
use maud::{Markup, html};

/// A story.
pub(crate) fn of(trace: &Trace) -> Markup {
    let mut shown = None;
    // A time is shown only once.
    let mut time = |us: u64| if shown.replace(us) == Some(us) { String::new() } else { moment_us(us) };
    let plain = |text: &str| html! { (text) };
    let facts = [
        (plain("returned after"), time_us(trace.returned_us)),
        (word("durable", "durable after"), time_us(trace.durable_us)),
        (plain("writes"), fixed(trace.writes, 0)),
        (word("rollback", "rolled back"), fixed(trace.rollbacks, 0)),
        (plain("waits of the call"), fixed(trace.waits, 0)),
        (word("flush", "flushes"), fixed(trace.flushes, 0)),
    ];
    html! {
        p {
            code { (trace.call) } " under " (trace.scheme)
            @if !trace.disk.is_empty() { " on " (trace.disk) }
            @if !trace.disk_says.is_empty() { " (" (trace.disk_says) ")" }
            @for call in &trace.setup { "; before it " code { (call) } }
        }
        @if let Some(why) = &trace.refused { p { span.badge.broken { "refused" } " " (why) } }
        dl.facts { @for (name, value) in facts { div { dt { (name) } dd { (value) } } } }
        (stages::of(trace))
        details {
            summary { "The story in words" }
            ol.story {
                @for event in trace.events.iter().filter(|event| !changes_nothing(event)) {
                    li { span.time { (time(event.us)) } div { (line(event)) } }
                }
            }
        }
    }
}

/// A step that only says a number again: `links: of inode 3, 0 -> 0`.
fn changes_nothing(event: &Event) -> bool {
    let same = |says: &str| {
        let (before, after) = says.rsplit_once(" -> ")?;
        Some(before.rsplit_once(", ")?.1 == after)
    };
    event.event == "step" && event.made.is_empty() && event.answer.is_empty() && same(&event.says) == Some(true)
}

fn line(event: &Event) -> Markup {
    let image = || event.image.map(|image| format!(", image {image}")).unwrap_or_default();
    match event.event.as_str() {
        "call" | "step" => html! {
            @if let Some(number) = event.number { span.step { (number) } " " }
            (event.says)
            (held(&event.made))
            @if !event.answer.is_empty() { p.held { "\u{2192} " (event.answer) } }
        },
        "returns" => html! { strong { "the call returns" } },
        "leaves" if event.rolled_back => html! {
            "leaves: " (event.buf) (image()) ", " strong { "rolled back" }
            @for held in &event.undone { p.held { "without " (held.what) (until(held)) } }
        },
        "leaves" => html! { "leaves: " (event.buf) (image()) },
        "waits" => {
            html! { "waits: " (event.buf) @if !event.until.is_empty() { ", until durable: " (event.until.join(" and ")) } }
        }
        "landed" => html! { "durable: " (event.buf) (image()) },
        "log" => html! { "written: " (event.says) @for held in &event.holds { p.held { (held) } } },
        "flush" => html! { "the disk flushes" },
        "flushed" => html! { "the disk has flushed" },
        "freed" => html! { "ripe: " (event.what) },
        "sync" => html! { "sync: nothing more would be written, or flushed" },
        "durable" => html! { strong { "everything is durable" } },
        other => html! { (other) " " (event.says) (event.what) (event.buf) },
    }
}

fn held(made: &[Held]) -> Markup {
    html! {
        @for held in made {
            p.held {
                (if held.how == "kept" { "kept: " } else { "held: " }) (held.what)
                @if !held.buf.is_empty() && held.how != "kept" { ", in " (held.buf) }
                (until(held))
            }
        }
    }
}

/// What must be durable first, and by which rule.
fn until(held: &Held) -> String {
    let one = |until: &std::collections::BTreeMap<String, String>| {
        let rule = until.get("rule").map(|rule| format!(" ({rule})")).unwrap_or_default();
        until.get("buf").map(|buf| format!("{buf}{rule}"))
    };
    let until: Vec<String> = held.until.iter().filter_map(one).collect();
    if until.is_empty() { String::new() } else { format!(", until durable: {}", until.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_story_tells_what_is_held_and_until_when() {
        let text = r#"{"scheme":"softupdates","call":"mkdir <d>","returned_us":12,"durable_us":30000213,"events":[
            {"us":0,"event":"step","number":2,"says":"link added","answer":"wait","made":[{"buf":"block 0","what":"entry",
              "how":"rolled-back","until":[{"buf":"inode block @8","rule":"inode-before-name"}]}]},
            {"us":0,"event":"leaves","buf":"block 0","image":1,"rolled_back":true,"undone":[{"what":"entry"}]},
            {"us":0,"event":"step","number":3,"says":"links: of inode 3, 0 -> 0"},
            {"us":0,"event":"step","number":4,"says":"links: of inode 3, 0 -> 1"},
            {"us":5,"event":"waits","buf":"b","until":["c","d"]},
            {"us":6,"event":"sings","says":"la"}]}"#;
        let drawn = of(&serde_json::from_str(text).unwrap()).into_string();
        for shown in [
            "mkdir &lt;d&gt;",
            "12 \u{b5}s",
            "30 s",
            "held: entry, in block 0, until durable: inode block @8 (inode-before-name)",
            "without entry",
            "until durable: c and d",
            "sings la",
            "\u{2192} wait",
        ] {
            assert!(drawn.contains(shown), "{shown}: {drawn}");
        }
        assert!(drawn.contains("0 -> 1") || drawn.contains("0 -&gt; 1"), "{drawn}");
        assert!(!drawn.contains("0 -> 0") && !drawn.contains("0 -&gt; 0"), "it changes nothing: {drawn}");
        assert_eq!(drawn.matches("<span class=\"time\">0</span>").count(), 1, "a moment is told once: {drawn}");
    }
}
