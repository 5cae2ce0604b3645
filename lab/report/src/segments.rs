//! The segments of log-structured volumes: a cell for each, filled as far as it is alive, and how many are how full.
//! A state is told by the shape of its cell (report-4).

use crate::bars::{self, Bar, Group};
use crate::document::{Segment, Segments};
use crate::number::{bytes, fixed};
use maud::{Markup, html};
use std::fmt::Write;

/// Cells in a row, and the size of one with the gap behind it, and without.
const ACROSS: usize = 32;
const PITCH: usize = 12;
const SIDE: f64 = 10.0;
/// Steps of the histogram.
const STEPS: usize = 10;

/// A part of the section for each volume.
pub(crate) fn of(all: &[&Segments]) -> Markup {
    html! {
        p.lead {
            "Each cell is a segment, filled from below as far as its bytes are alive. The log writes into clean \
            segments only; the cleaner makes them, by copying what is alive out of others."
        }
        @for volume in all { (one(volume)) }
    }
}

fn one(volume: &Segments) -> Markup {
    let count = |state: &str| volume.segments.iter().filter(|segment| segment.state == state).count();
    let total = volume.segments.len();
    let live: f64 = volume.segments.iter().map(|segment| segment.live_bytes).sum();
    let size = volume.segment_size * total as f64;
    let facts = [
        ("segments", format!("{} of {}", fixed(total as f64, 0), bytes(volume.segment_size))),
        ("clean", fixed(count("clean") as f64, 0)),
        ("alive", format!("{} ({} %)", bytes(live), fixed(share(live, size) * 100.0, 0))),
    ];
    html! {
        section.part {
            h3 { (volume.image) }
            dl.facts { @for (name, value) in facts { div { dt { (name) } dd { (value) } } } }
            div.many {
                figure {
                    (picture(volume))
                    ul.legend {
                        @for (state, says) in STATES {
                            @let count = count(state);
                            @if count > 0 { li { (sample(state)) (says) ": " (count) } }
                        }
                        @if volume.segments.iter().any(|segment| segment.superblock) {
                            li { (sample("superblock")) "a superblock at its start" }
                        }
                    }
                }
                figure { (histogram(volume)) }
            }
        }
    }
}

/// The states, as the document names them.
const STATES: [(&str, &str); 5] = [
    ("clean", "clean"),
    ("dirty", "in use"),
    ("empty", "nothing alive, clean after the next checkpoints"),
    ("active", "the log goes on here"),
    ("error", "cannot be cleaned"),
];

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { (part / whole).clamp(0.0, 1.0) } else { 0.0 }
}

/// The paths of a picture: what is alive, and the outlines by state.
#[derive(Default)]
struct Paths {
    live: String,
    plain: String,
    dashed: String,
    thick: String,
    cross: String,
    dots: String,
}

impl Paths {
    /// Writing to a String does not fail.
    fn put(&mut self, (x, y): (f64, f64), state: &str, live: f64, superblock: bool) {
        let outline = match state {
            "empty" => &mut self.dashed,
            "active" => &mut self.thick,
            _ => &mut self.plain,
        };
        let _ = write!(outline, "M{x} {y}h{SIDE}v{SIDE}h-{SIDE}z");
        if live > 0.0 {
            let (height, bottom) = (live * SIDE, y + SIDE);
            let _ = write!(self.live, "M{x} {bottom}h{SIDE}v-{height:.2}h-{SIDE}z");
        }
        if state == "error" {
            let _ = write!(self.cross, "M{x} {y}l{SIDE} {SIDE}m0-{SIDE}l-{SIDE} {SIDE}");
        }
        if superblock {
            let _ = write!(self.dots, "M{} {}h0", x + 2.5, y + 2.5);
        }
    }

    fn drawn(&self) -> Markup {
        html! {
            path.live d=(self.live) {}
            path.cell d=(self.plain) {}
            path.cell.dashed d=(self.dashed) {}
            path.cell.thick d=(self.thick) {}
            path.cell.thick d=(self.cross) {}
            path.dots.superblock d=(self.dots) {}
        }
    }
}

fn sample(state: &str) -> Markup {
    let mut paths = Paths::default();
    let live = if matches!(state, "dirty" | "active" | "error") { 0.6 } else { 0.0 };
    paths.put((9.0, 0.0), state, live, state == "superblock");
    html! { svg.segments viewBox="0 0 28 10" aria-hidden="true" { (paths.drawn()) } }
}

fn picture(volume: &Segments) -> Markup {
    let mut paths = Paths::default();
    for (n, Segment { state, live_bytes, superblock }) in volume.segments.iter().enumerate() {
        let at = ((n % ACROSS * PITCH + 1) as f64, (n / ACROSS * PITCH + 1) as f64);
        paths.put(at, state, share(*live_bytes, volume.segment_size), *superblock);
    }
    let rows = volume.segments.len().div_ceil(ACROSS).max(1);
    html! {
        svg.segments viewBox=(format!("0 0 {} {}", ACROSS * PITCH, rows * PITCH)) role="img" {
            title { "Segments of " (volume.image) }
            desc { "A cell for each segment, in rows of " (ACROSS) "; the numbers are beside it." }
            (paths.drawn())
        }
    }
}

/// Segments that are not clean, by how much of them is alive.
fn histogram(volume: &Segments) -> Markup {
    let mut counts = [0_u32; STEPS];
    for segment in volume.segments.iter().filter(|segment| segment.state != "clean") {
        let step = (share(segment.live_bytes, volume.segment_size) * STEPS as f64) as usize;
        counts[step.min(STEPS - 1)] += 1;
    }
    let bars = counts.iter().enumerate().map(|(step, count)| Bar {
        label: format!("{}\u{2013}{} %", step * 100 / STEPS, (step + 1) * 100 / STEPS),
        value: Some(f64::from(*count)),
        says: None,
        colour: 0,
    });
    let bars = bars.collect();
    bars::of(html! { "Segments in use, by how much of them is alive" }, &[Group { name: String::new(), bars }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_has_its_shape_and_the_histogram_counts_what_is_not_clean() {
        let segment = |state: &str, live_bytes: f64| Segment { state: state.into(), live_bytes, superblock: false };
        let mut segments = vec![segment("clean", 0.0), segment("dirty", 50.0), segment("dirty", 100.0)];
        segments.extend([segment("empty", 0.0), segment("active", 10.0), segment("error", 55.0)]);
        segments[0].superblock = true;
        let drawn = of(&[&Segments { image: "<v>".into(), segment_size: 100.0, segments }]).into_string();
        for shown in [
            "&lt;v&gt;",
            "in use: 2",
            "cannot be cleaned: 1",
            "M13 11h10v-5.00h-10z",
            "M25 11h10v-10.00h-10z",
            "path class=\"cell dashed\" d=\"M37 1h",
            "path class=\"cell thick\" d=\"M49 1h",
            "M61 1l10 10m0-10l-10 10",
            "M3.5 3.5h0",
            "215 B (36 %)",
        ] {
            assert!(drawn.contains(shown), "{shown}: {drawn}");
        }
        let counts: Vec<&str> = drawn.split("<span class=\"value\">").skip(1).map(|rest| &rest[..1]).collect();
        assert_eq!(counts, ["1", "1", "0", "0", "0", "2", "0", "0", "0", "1"]);
    }

    #[test]
    fn a_volume_without_a_size_is_drawn() {
        let drawn = of(&[&Segments::default()]).into_string();
        assert!(!drawn.contains("NaN") && drawn.contains("0 of 0 B"), "{drawn}");
    }
}
