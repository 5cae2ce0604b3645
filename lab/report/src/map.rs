//! The map of the schemes: speed to the right, what a crash costs downwards.
//!
//! G1. No two labels overlap, at any width: each scheme has a row of its own, within the band of its cost, and a label
//!     lies on the side of its mark where there is more room.
//! G2. The picture has no text and is stretched; labels are text of the page, in rows of a fixed height, so that they
//!     have the same size on every screen.

use crate::number::{share, short};
use crate::results::Promises;
use crate::subject::{OnDisk, Subject};
use maud::{Markup, html};
use std::fmt::Write;

/// Size of a row in units of the picture, and its width.
const ROW: usize = 10;
const WIDTH: f64 = 1000.0;

/// What a crash may leave, the least first: the name in documents, and in words.
const BANDS: [(&str, &str); 5] = [
    ("nothing", "nothing to repair after a crash"),
    ("log", "the mount replays a log; nothing is left"),
    ("leaks", "mounted at once; leaked space is reclaimed"),
    ("counts", "fsck first; it loses nothing"),
    ("anything", "fsck first; files may be lost"),
];
const UNKNOWN: &str = "not said by these documents";

fn band(promises: Option<&Promises>) -> usize {
    let known = |promises: &Promises| BANDS.iter().position(|(leaves, _)| *leaves == promises.crash_leaves);
    promises.and_then(known).unwrap_or(BANDS.len())
}

/// What a crash costs under a scheme, in a few words.
pub(crate) fn cost(promises: Option<&Promises>) -> &'static str {
    BANDS.get(band(promises)).map_or(UNKNOWN, |(_, says)| says)
}

/// A row: the heading of a band, or a scheme.
enum Row<'a> {
    Band(&'static str),
    Scheme(&'a Subject, Option<f64>),
}

/// Bands with their schemes, the fastest first.
fn rows<'a>(subjects: &'a [Subject], on: &OnDisk) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    for at in 0..=BANDS.len() {
        // Where some were measured, the others are named below the picture.
        let shown = |at: &usize| on.speeds.is_empty() || on.speeds.contains_key(at);
        let here = |(n, subject): &(usize, &Subject)| shown(n) && band(subject.promises.as_ref()) == at;
        let mut found: Vec<_> = subjects.iter().enumerate().filter(here).collect();
        found.sort_by(|(a, _), (b, _)| {
            let speed = |at: &usize| on.speeds.get(at).copied().unwrap_or(0.0);
            speed(b).total_cmp(&speed(a))
        });
        if !found.is_empty() {
            rows.push(Row::Band(BANDS.get(at).map_or(UNKNOWN, |(_, says)| says)));
        }
        rows.extend(found.into_iter().map(|(at, subject)| Row::Scheme(subject, on.speeds.get(&at).copied())));
    }
    rows
}

/// An axis of powers, from the decade below the slowest to the fastest, which has 1.
struct Scale(f64);

impl Scale {
    fn of(on: &OnDisk) -> Scale {
        let slowest = on.speeds.values().copied().fold(1.0, f64::min);
        Scale(slowest.log10().floor().clamp(-9.0, -1.0))
    }

    /// From 0 to 1.
    fn place(&self, speed: f64) -> f64 {
        (1.0 - speed.log10() / self.0).clamp(0.0, 1.0)
    }

    fn ticks(&self) -> Vec<f64> {
        match self.0 {
            decades if decades < -1.5 => (decades as i32..=0).map(|power| 10f64.powi(power)).collect(),
            _ => vec![0.1, 0.2, 0.5, 1.0],
        }
    }
}

/// The map of one disk.
pub(crate) fn draw(subjects: &[Subject], on: &OnDisk) -> Markup {
    let (rows, scale) = (rows(subjects, on), Scale::of(on));
    let tall = rows.len() * ROW;
    let measured = !on.speeds.is_empty();
    html! {
        figure {
            @if measured { p.axis { "faster \u{2192}" } }
            div.map style=(format!("--rows:{}", rows.len())) {
                svg viewBox=(format!("0 0 {WIDTH} {tall}")) preserveAspectRatio="none" role="img" {
                    title { "Speed against what a crash costs" }
                    desc { (said(&rows)) }
                    (picture(&rows, &scale, tall, measured))
                }
                @for (at, row) in rows.iter().enumerate() { (label(at, row, &scale)) }
            }
            @if measured {
                div.numbers.across aria-hidden="true" {
                    @for tick in scale.ticks() { span style=(format!("left:{:.1}%", scale.place(tick) * 100.0)) { (short(tick)) } }
                }
                p.axis.below { "speed beside the fastest, logarithmic" }
            }
            (legend(subjects))
            @let others: Vec<_> = subjects.iter().enumerate().filter(|(at, _)| !on.speeds.contains_key(at)).map(|(_, one)| &*one.name).collect();
            @if measured && !others.is_empty() { p.soft { "Not measured here: " (others.join(", ")) "." } }
        }
    }
}

fn on_return(subject: &Subject) -> Option<bool> {
    subject.promises.as_ref().map(|promises| promises.name_added == "on-return" && promises.name_removed == "on-return")
}

fn picture(rows: &[Row<'_>], scale: &Scale, tall: usize, measured: bool) -> Markup {
    let (mut bands, mut grid, mut leads) = (String::new(), String::new(), String::new());
    let (mut marks, mut rings, mut unknown) = (String::new(), String::new(), String::new());
    // Writing to a String does not fail.
    for (at, row) in rows.iter().enumerate() {
        let y = at * ROW;
        match row {
            Row::Band(_) => {
                let _ = write!(bands, "M0 {y}h{WIDTH}v{ROW}h-{WIDTH}z");
            }
            Row::Scheme(_, None) => {}
            Row::Scheme(subject, Some(speed)) => {
                let (x, y) = (scale.place(*speed) * WIDTH, y + ROW / 2);
                let _ = write!(leads, "M0 {y}H{x:.1}");
                let known = on_return(subject);
                let _ = write!(if known.is_some() { &mut marks } else { &mut unknown }, "M{x:.1} {y}h0");
                if known == Some(false) {
                    let _ = write!(rings, "M{x:.1} {y}h0");
                }
            }
        }
    }
    if measured {
        for tick in scale.ticks() {
            let _ = write!(grid, "M{:.1} 0V{tall}", scale.place(tick) * WIDTH);
        }
    }
    html! {
        path.grid d=(grid) {}
        path.band d=(bands) {}
        path.lead d=(leads) {}
        path.mark d=(marks) {}
        path.mark.ring d=(rings) {}
        path.mark.unknown d=(unknown) {}
    }
}

fn label(at: usize, row: &Row<'_>, scale: &Scale) -> Markup {
    let place = |speed: f64| scale.place(speed) * 100.0;
    // A name that is longer than its side is cut off there.
    let style =
        |side: &str, away: f64| format!("--at:{at};{side}:{away:.1}%;max-width:calc({:.1}% - .7rem)", 100.0 - away);
    html! {
        @match row {
            Row::Band(says) => span.band style=(format!("--at:{at}")) { (says) },
            Row::Scheme(subject, None) => span.name style=(style("left", 0.0)) { (subject.name) " " small { "not measured" } },
            Row::Scheme(subject, Some(speed)) if place(*speed) > 50.0 => {
                span.name.before style=(style("right", 100.0 - place(*speed))) {
                    (subject.name) " " small { (share(*speed)) }
                }
            },
            Row::Scheme(subject, Some(speed)) => {
                span.name.after style=(style("left", place(*speed))) { (subject.name) " " small { (share(*speed)) } }
            },
        }
    }
}

/// The same for a reader who does not see it.
fn said(rows: &[Row<'_>]) -> String {
    let one = |row: &Row<'_>| match row {
        Row::Band(says) => format!("{says}:"),
        Row::Scheme(subject, None) => format!("{}, not measured;", subject.name),
        Row::Scheme(subject, Some(speed)) => format!("{} {};", subject.name, share(*speed)),
    };
    rows.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn legend(subjects: &[Subject]) -> Markup {
    let any = |wanted: bool| subjects.iter().any(|subject| on_return(subject) == Some(wanted));
    let ages = subjects.iter().filter_map(|subject| subject.promises.as_ref()).map(|says| says.seconds_in_memory);
    let age = ages.fold(0.0, f64::max);
    let sample = |ring: bool| {
        html! { svg viewBox="0 0 28 10" aria-hidden="true" {
            path.mark d="M14 5h0" {}
            @if ring { path.mark.ring d="M14 5h0" {} }
        } }
    };
    html! {
        ul.legend {
            @if any(true) { li { (sample(false)) span { "a name is durable when its call returns" } } }
            @if any(false) {
                li {
                    (sample(true))
                    span {
                        "names of the last seconds may be lost"
                        @if age > 0.0 { ": of " (short(age)) " s on a mount, unless " code { "fsync" } " or " code { "ordo sync" } " was called" }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Given, Source, read};
    use crate::subject::{on_disks, subjects};

    fn given(schemes: &[(&str, &str, &str, f64)]) -> Vec<Given> {
        let row = |(name, leaves, event, rate): &(&str, &str, &str, f64)| {
            format!(
                r#"{{"scheme":"{name}","workload":"w","phase":"p","seconds":1,"rate":{rate},
                "promises":{{"crash_leaves":"{leaves}","name_added":"{event}","name_removed":"{event}","seconds_in_memory":5}}}}"#
            )
        };
        let rows = schemes.iter().map(row).collect::<Vec<_>>().join(",");
        read(&Source { name: "x.json".into(), text: format!("[{rows}]") }).unwrap()
    }

    #[test]
    fn a_scheme_lies_in_the_band_of_its_cost_and_has_a_row_of_its_own() {
        let given = given(&[
            ("none", "anything", "after-sync", 100.0),
            ("sync", "counts", "on-return", 1.0),
            ("soft", "leaks", "after-fsync", 60.0),
            ("suj", "leaks", "after-fsync", 80.0),
            ("odd", "smoke", "after-fsync", 50.0),
        ]);
        let subjects = subjects(&given);
        let drawn = draw(&subjects, &on_disks(&given, &subjects)[0]).into_string();
        let labels = drawn.split_once("</svg>").map_or("", |(_, labels)| labels);
        let at = |text: &str| labels.find(text).unwrap_or_else(|| panic!("{text}: {drawn}"));
        let order = [
            "leaked space",
            ">suj ",
            ">soft ",
            "it loses nothing",
            ">sync ",
            "may be lost<",
            ">none ",
            "not said by",
            ">odd ",
        ];
        assert!(order.windows(2).all(|pair| at(pair[0]) < at(pair[1])), "{drawn}");
        for row in 0..9 {
            assert_eq!(drawn.matches(&format!("--at:{row}")).count(), 1, "{drawn}");
        }
        // The slowest is on the left, its label after it; the fastest at the right, its label before it.
        assert!(
            drawn.contains("name after\" style=\"--at:4;left:0.0%")
                && drawn.contains("name before\" style=\"--at:6;right:0.0%"),
            "{drawn}"
        );
        assert!(
            drawn.contains("path class=\"mark ring\" d=\"M951.5 15h0M") && drawn.contains("of 5 s on a mount"),
            "{drawn}"
        );
    }

    #[test]
    fn without_a_measurement_there_is_no_axis_and_nothing_is_invented() {
        let given = given(&[("a", "leaks", "on-return", 0.0)]);
        let drawn = draw(&subjects(&given), &OnDisk::default()).into_string();
        assert!(drawn.contains("not measured") && !drawn.contains("faster") && !drawn.contains("NaN"), "{drawn}");
    }
}
