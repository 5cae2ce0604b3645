//! The stages of a call as a picture. Three lanes (memory, disk cache, durable), one track per buf, one column per
//! event; columns are not to scale.
//!
//! S1. A change is in memory from the step that made it until an image with all of the buf leaves. An image is in the
//!     cache until it has landed, then it is durable, until a later one has landed. Hatched is an image in which
//!     something was rolled back.
//! S2. What waits for what is said in words, in the track and in the list below: lines between tracks would cross each
//!     other where it gets interesting.
//! S3. The picture has no text and is stretched; numbers and times are text of the page.

use crate::document::{Event, Held, Trace};
use crate::number::moment_us;
use crate::words::word;
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Width of a column and height of a track, in units of the picture.
const COLUMN: usize = 100;
const TRACK: usize = 10;
/// From one line of a hatched bar to the next.
const HATCH: usize = 20;
/// More bufs than this are no picture.
const MOST: usize = 24;
/// A time label is drawn if it is so far from the one before, in percent of the width.
const APART: f64 = 17.0;
/// The same for the numbers of bars in a track.
const NUMBER: f64 = 6.0;

const LANES: [&str; 3] = ["in memory", "in the disk\u{2019}s cache", "durable"];

/// What may share a column if it happens at the same time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Hidden,
    Step,
    Returns,
    Leaves,
    Flush,
    Lands,
    Durable,
}

fn class(event: &Event) -> Class {
    match event.event.as_str() {
        "step" => Class::Step,
        "returns" => Class::Returns,
        "leaves" => Class::Leaves,
        "flush" => Class::Flush,
        "flushed" | "landed" => Class::Lands,
        "durable" => Class::Durable,
        _ => Class::Hidden,
    }
}

/// A bar: lane, track, from one column to another, and whether its image was rolled back.
#[derive(Debug, PartialEq, Eq)]
struct Bar {
    lane: usize,
    track: usize,
    from: usize,
    to: usize,
    undone: bool,
}

/// What there is to draw.
#[derive(Default)]
struct Stages<'a> {
    /// The bufs, in the order in which they are first touched.
    bufs: Vec<&'a str>,
    bars: Vec<Bar>,
    /// The time of each column.
    times: Vec<u64>,
    /// Columns in which a flush ends.
    flushes: Vec<usize>,
    returns: Option<usize>,
    durable: Option<usize>,
    /// For each buf what its changes wait for: the bufs, with what is held.
    waits: BTreeMap<usize, Vec<(&'a Held, Vec<usize>)>>,
    /// Bufs that the call waits for.
    awaited: BTreeSet<usize>,
    /// Since when a buf is in memory only, in the cache, durable; with what was rolled back.
    memory: BTreeMap<usize, usize>,
    cache: BTreeMap<(usize, Option<u64>), (usize, bool)>,
    disk: BTreeMap<usize, (usize, bool)>,
}

impl<'a> Stages<'a> {
    fn of(trace: &'a Trace) -> Stages<'a> {
        let mut stages = Stages::default();
        let mut last = Class::Hidden;
        for event in &trace.events {
            let class = class(event);
            if class == Class::Hidden {
                continue;
            }
            if class != last || stages.times.last() != Some(&event.us) {
                stages.times.push(event.us);
                last = class;
            }
            let column = stages.times.len() - 1;
            stages.happens(event, class, column);
        }
        stages.end();
        stages
    }

    fn buf(&mut self, name: &'a str) -> usize {
        self.bufs.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.bufs.push(name);
            self.bufs.len() - 1
        })
    }

    fn happens(&mut self, event: &'a Event, class: Class, column: usize) {
        match class {
            Class::Step => {
                for name in &event.bufs {
                    let buf = self.buf(name);
                    self.memory.entry(buf).or_insert(column);
                }
                for name in &event.waits_for {
                    let buf = self.buf(name);
                    self.awaited.insert(buf);
                }
                for held in event.made.iter().filter(|held| !held.buf.is_empty() && held.how != "kept") {
                    let buf = self.buf(&held.buf);
                    let until: Vec<_> = held.until.iter().filter_map(|until| until.get("buf")).collect();
                    let until = until.into_iter().map(|name| self.buf(name)).collect();
                    self.waits.entry(buf).or_default().push((held, until));
                }
            }
            Class::Leaves => {
                let buf = self.buf(&event.buf);
                if !event.rolled_back {
                    let from = self.memory.remove(&buf).unwrap_or_else(|| column.saturating_sub(1));
                    self.bars.push(Bar { lane: 0, track: buf, from, to: column, undone: false });
                }
                self.cache.insert((buf, event.image), (column, event.rolled_back));
            }
            Class::Lands if event.event == "flushed" => self.flushes.push(column),
            Class::Lands => {
                let buf = self.buf(&event.buf);
                // An image that never left: then it is durable from now on.
                let (from, undone) = self.cache.remove(&(buf, event.image)).unwrap_or((column, false));
                self.bars.push(Bar { lane: 1, track: buf, from, to: column, undone });
                if let Some((from, undone)) = self.disk.insert(buf, (column, undone)) {
                    self.bars.push(Bar { lane: 2, track: buf, from, to: column, undone });
                }
            }
            Class::Returns => self.returns = self.returns.or(Some(column)),
            Class::Durable => self.durable = self.durable.or(Some(column)),
            Class::Flush | Class::Hidden => {}
        }
    }

    /// What goes on goes on to the right edge.
    fn end(&mut self) {
        let to = self.times.len();
        let bar = |lane, track, from, undone| Bar { lane, track, from, to, undone };
        self.bars.extend(self.memory.iter().map(|(buf, from)| bar(0, *buf, *from, false)));
        self.bars.extend(self.cache.iter().map(|((buf, _), (from, undone))| bar(1, *buf, *from, *undone)));
        self.bars.extend(self.disk.iter().map(|(buf, (from, undone))| bar(2, *buf, *from, *undone)));
        self.bars.retain(|bar| bar.to > bar.from);
        self.bars.sort_by_key(|bar| (bar.lane, bar.track, bar.from));
    }

    /// The number of a bar has room if the bar before it in the same track begins far enough from it.
    fn has_room(&self, at: usize) -> bool {
        let bar = &self.bars[at];
        let before = at.checked_sub(1).map(|before| &self.bars[before]);
        let before = before.filter(|before| (before.lane, before.track) == (bar.lane, bar.track));
        before.is_none_or(|before| self.percent(bar.from) - self.percent(before.from) >= NUMBER)
    }

    /// The numbers that a bar in memory waits for, where its track has room for words.
    fn waits_in_track(&self, bar: &Bar) -> Option<String> {
        let alone = self.bars.iter().filter(|other| (other.lane, other.track) == (bar.lane, bar.track)).count() == 1;
        let mut others: Vec<usize> =
            self.waits.get(&bar.track)?.iter().flat_map(|(_, until)| until).map(|at| at + 1).collect();
        others.sort_unstable();
        others.dedup();
        let room = bar.lane == 0 && alone && self.percent(bar.from) < 50.0 && (1..=3).contains(&others.len());
        room.then(|| others.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
    }

    fn percent(&self, column: usize) -> f64 {
        column as f64 * 100.0 / self.times.len().max(1) as f64
    }

    /// Times that have room, with the columns where they begin.
    fn labels(&self) -> Vec<(f64, String)> {
        let mut labels: Vec<(f64, String)> = Vec::new();
        let mut shown = None;
        for (column, us) in self.times.iter().enumerate() {
            let at = self.percent(column);
            let room = labels.last().is_none_or(|(before, _)| at - before >= APART) && at <= 100.0 - APART / 2.0;
            if shown != Some(us) && room {
                labels.push((at, moment_us(*us)));
                shown = Some(us);
            }
        }
        labels
    }

    /// The row of a track: each lane has a heading above its tracks.
    fn row(&self, lane: usize, track: usize) -> usize {
        lane * (self.bufs.len() + 1) + 1 + track
    }

    fn rows(&self) -> usize {
        LANES.len() * (self.bufs.len() + 1)
    }
}

/// The picture, and what waits for what. Nothing if nothing reached the disk.
pub(crate) fn of(trace: &Trace) -> Markup {
    let stages = Stages::of(trace);
    if stages.bufs.is_empty() || stages.bufs.len() > MOST || stages.bars.is_empty() {
        return html! {};
    }
    html! {
        figure {
            figcaption { strong { "Where each piece of the volume is, and when" } " " small { "a column for each moment; time is not to scale" } }
            div.map.stages style=(format!("--rows:{}", stages.rows())) {
                svg viewBox=(format!("0 0 {} {}", stages.times.len() * COLUMN, stages.rows() * TRACK)) preserveAspectRatio="none" role="img" {
                    title { "The stages of " (trace.call) }
                    desc { "Three lanes: in memory, in the cache of the disk, durable. The story below says the same in words." }
                    (picture(&stages))
                }
                @for (lane, name) in LANES.iter().enumerate() {
                    span.band style=(format!("--at:{}", stages.row(lane, 0) - 1)) { (name) }
                }
                @for bar in stages.bars.iter().enumerate().filter(|(at, _)| stages.has_room(*at)).map(|(_, bar)| bar) {
                    span.chip style=(format!("--at:{};left:{:.1}%", stages.row(bar.lane, bar.track), stages.percent(bar.from))) {
                        (bar.track + 1)
                        @if let Some(others) = stages.waits_in_track(bar) { " " small { "waits for " (others) } }
                    }
                }
            }
            div.numbers.across aria-hidden="true" {
                @for (at, text) in stages.labels() { span.start style=(format!("left:{at:.1}%")) { (text) } }
            }
            (keys(&stages))
        }
        ol.bufs { @for (at, name) in stages.bufs.iter().enumerate() { li {
            (name)
            @if stages.awaited.contains(&at) { p.held { "the call waits until it is " (word("durable", "durable")) } }
            @for (held, until) in stages.waits.get(&at).into_iter().flatten() { p.held { (waits(held, until)) } }
        } } }
    }
}

fn waits(held: &Held, until: &[usize]) -> Markup {
    let numbers: Vec<String> = until.iter().map(|at| (at + 1).to_string()).collect();
    html! {
        (held.what) " waits until " strong { (numbers.join(" and ")) } (if numbers.len() == 1 { " is " } else { " are " }) (word("durable", "durable"))
        @if held.how == "rolled-back" { "; an image that leaves before is " (word("rollback", "rolled back")) }
    }
}

fn rectangle(path: &mut String, stages: &Stages<'_>, bar: &Bar) {
    let (x, y) = (bar.from * COLUMN, stages.row(bar.lane, bar.track) * TRACK + 2);
    // Writing to a String does not fail.
    let _ = write!(path, "M{x} {y}H{}v{}H{x}z", bar.to * COLUMN, TRACK - 4);
}

fn hatched(path: &mut String, stages: &Stages<'_>, bar: &Bar) {
    let (low, high) = ((stages.row(bar.lane, bar.track) + 1) * TRACK - 2, TRACK - 4);
    for x in (bar.from * COLUMN..bar.to * COLUMN).step_by(HATCH) {
        // Writing to a String does not fail.
        let _ = write!(path, "M{x} {low}l{HATCH}-{high}");
    }
}

fn picture(stages: &Stages<'_>) -> Markup {
    let mut paths = [const { String::new() }; 3];
    let (mut undone, mut hatch) = (String::new(), String::new());
    for bar in &stages.bars {
        rectangle(if bar.undone { &mut undone } else { &mut paths[bar.lane] }, stages, bar);
        if bar.undone {
            hatched(&mut hatch, stages, bar);
        }
    }
    let (wide, tall) = (stages.times.len() * COLUMN, stages.rows() * TRACK);
    let mut bands = String::new();
    for lane in 0..LANES.len() {
        // Writing to a String does not fail.
        let _ = write!(bands, "M0 {}h{wide}v{TRACK}h-{wide}z", (stages.row(lane, 0) - 1) * TRACK);
    }
    let down =
        |columns: &[usize]| columns.iter().map(|column| format!("M{} 0V{tall}", column * COLUMN)).collect::<String>();
    let option = |column: Option<usize>| down(&column.into_iter().collect::<Vec<_>>());
    html! {
        path.band d=(bands) {}
        path.stage.memory d=(paths[0]) {}
        path.stage.cache d=(paths[1]) {}
        path.stage.safe d=(paths[2]) {}
        path.stage.undone d=(undone) {}
        path.hatch d=(hatch) {}
        path.flushed d=(down(&stages.flushes)) {}
        path.returned d=(option(stages.returns)) {}
        path.finished d=(option(stages.durable)) {}
    }
}

fn keys(stages: &Stages<'_>) -> Markup {
    let line =
        |class: &str| html! { svg viewBox="0 0 28 10" aria-hidden="true" { path class=(class) d="M14 0V10" {} } };
    let block = |class: &str| {
        html! { svg viewBox="0 0 28 10" aria-hidden="true" {
            path class=(format!("stage {class}")) d="M1 1H27V9H1z" {}
            @if class == "undone" { path.hatch d="M1 9l6-8M8 9l6-8M15 9l6-8M21 9l6-8" {} }
        } }
    };
    html! {
        ul.legend {
            li { (block("memory")) "changed in memory, lost by a power cut" }
            li { (block("cache")) "on its way: lost, kept or torn" }
            li { (block("safe")) "survives a power cut" }
            @if stages.bars.iter().any(|bar| bar.undone) { li { (block("undone")) span { (word("rollback", "rolled back")) ": without an unsafe change" } } }
            @if stages.returns.is_some() { li { (line("returned")) "the call returns" } }
            @if !stages.flushes.is_empty() { li { (line("flushed")) span { "the disk has " (word("flush", "flushed")) } } }
            @if stages.durable.is_some() { li { (line("finished")) "everything is durable" } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(events: &str) -> Trace {
        serde_json::from_str(&format!(r#"{{"scheme":"s","call":"<c>","events":[{events}]}}"#)).unwrap()
    }

    const ROLLED_BACK: &str = r#"{"us":0,"event":"step","number":1,"bufs":["a"]},
        {"us":0,"event":"step","number":2,"bufs":["b"],"made":[{"buf":"b","what":"entry","how":"rolled-back","until":[{"buf":"a","rule":"r"}]}]},
        {"us":0,"event":"returns"},
        {"us":5,"event":"leaves","buf":"b","image":1,"rolled_back":true},
        {"us":5,"event":"leaves","buf":"a","image":1},
        {"us":7,"event":"flush"},{"us":9,"event":"flushed"},
        {"us":9,"event":"landed","buf":"b","image":1},{"us":9,"event":"landed","buf":"a","image":1},
        {"us":30,"event":"leaves","buf":"b","image":2},{"us":40,"event":"landed","buf":"b","image":2},
        {"us":40,"event":"durable"}"#;

    #[test]
    fn a_change_is_in_memory_until_an_image_with_it_leaves_and_durable_when_that_has_landed() {
        let trace = trace(ROLLED_BACK);
        let stages = Stages::of(&trace);
        // Columns: steps, return, leave, flush, land, leave, land, durable.
        assert_eq!((stages.bufs.clone(), stages.times.clone()), (vec!["a", "b"], vec![0, 0, 5, 7, 9, 30, 40, 40]));
        let bar = |lane, track, from, to, undone| Bar { lane, track, from, to, undone };
        let expected = [
            bar(0, 0, 0, 2, false),
            bar(0, 1, 0, 5, false),
            bar(1, 0, 2, 4, false),
            bar(1, 1, 2, 4, true),
            bar(1, 1, 5, 6, false),
            bar(2, 0, 4, 8, false),
            bar(2, 1, 4, 6, true),
            bar(2, 1, 6, 8, false),
        ];
        assert_eq!(stages.bars, expected);
        assert_eq!((stages.returns, stages.durable, stages.flushes), (Some(1), Some(7), vec![4]));
    }

    #[test]
    fn what_waits_for_what_is_said_by_number() {
        let drawn = of(&trace(ROLLED_BACK)).into_string();
        assert!(drawn.contains("left:0.0%\">2 <small>waits for 1</small>"), "{drawn}");
        for shown in [
            "entry waits until <strong>1</strong> is ",
            "rolled back</a>",
            "&lt;c&gt;",
            "in the disk\u{2019}s cache",
            "the call returns",
        ] {
            assert!(drawn.contains(shown), "{shown}: {drawn}");
        }
    }

    #[test]
    fn what_the_call_waits_for_is_said_of_that_buf() {
        let step = r#"{"us":0,"event":"step","bufs":["a","b"],"waits_for":["b"]},{"us":1,"event":"leaves","buf":"b"}"#;
        let drawn = of(&trace(step)).into_string();
        assert!(drawn.contains("<li>b<p class=\"held\">the call waits until it is "), "{drawn}");
        assert_eq!(drawn.matches("the call waits until").count(), 1, "{drawn}");
    }

    #[test]
    fn odd_traces_are_drawn_or_left_out() {
        assert!(of(&trace("")).into_string().is_empty());
        let landed =
            of(&trace(r#"{"us":1,"event":"landed","buf":"a"},{"us":2,"event":"leaves","buf":"b"}"#)).into_string();
        assert!(landed.contains("stage safe") && !landed.contains("NaN"), "{landed}");
        let many: Vec<String> = (0..99).map(|at| format!(r#"{{"us":1,"event":"leaves","buf":"{at}"}}"#)).collect();
        assert!(of(&trace(&many.join(","))).into_string().is_empty());
    }
}
