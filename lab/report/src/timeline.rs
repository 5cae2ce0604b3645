//! Time lines of the arm: requests over time and cylinder, by kind of content.
//!
//! L1. A picture has at most a few thousand marks, whatever the number of requests: of those of one kind that lie close
//!     together, only the first is drawn. The text gives the number of requests.
//! L2. The lanes below show each kind separately, with its amount over time, so that no reader has to distinguish
//!     colours.

use crate::bars::{Bar, Group, of};
use crate::number::{fixed, short};
use crate::plot::{Axis, HEIGHT, WIDTH, frame};
use crate::results::Timeline;
use maud::{Markup, html};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Names of the kinds of request, in the order of their lanes.
const KINDS: [&str; 9] = ["superblock", "group", "inode", "directory", "indirect", "log", "data", "read", "other"];

/// Most marks of a picture.
const MOST: usize = 6000;
/// Sizes of a mark, in units of the picture; the first that leaves few enough marks is used.
const SIZES: [u32; 9] = [1, 2, 3, 4, 6, 8, 12, 20, 40];
/// Columns of a lane, and steps of its height.
const PLACES: u32 = 240;
const TALL: u32 = 12;

fn kind(name: &str) -> usize {
    KINDS.iter().position(|kind| *kind == name).unwrap_or(KINDS.len() - 1)
}

fn end(timeline: &Timeline) -> f64 {
    timeline.requests.iter().map(|request| request.at_ms + request.service_ms).fold(0.0, f64::max) / 1e3
}

/// All time lines, with the durations for comparison.
pub(crate) fn all(timelines: &[Timeline]) -> Markup {
    let colours = crate::colour::of(timelines.iter().map(|timeline| timeline.scheme.as_str()));
    let bar = |(at, timeline): (usize, &Timeline)| {
        let says = Some(format!("{} s", short(end(timeline))));
        Bar { label: timeline.scheme.clone(), value: Some(end(timeline)), says, colour: colours[at] }
    };
    let bars = timelines.iter().enumerate().map(bar).collect();
    html! {
        @if timelines.len() > 1 {
            figure { (of(html! { "Until the last request was answered" }, &[Group { name: String::new(), bars }])) }
        }
        @for timeline in timelines { (one(timeline)) }
    }
}

fn one(timeline: &Timeline) -> Markup {
    let seconds = Axis { label: "time, s".into(), low: 0.0, high: end(timeline).max(1e-3) };
    let most = timeline.requests.iter().map(|request| request.cylinder).fold(timeline.cylinders, u32::max);
    let cylinder = Axis { label: "cylinder".into(), low: 0.0, high: f64::from(most.max(1)) };
    let marks = marks(timeline, &seconds, &cylinder);
    let drawn = marks.iter().map(BTreeMap::len).sum::<usize>();
    let requests = timeline.requests.len();
    let mut says = format!("{} requests in {} s", fixed(requests as f64, 0), short(end(timeline)));
    if drawn < requests {
        says += &format!("; drawn as {} marks", fixed(drawn as f64, 0));
    }
    let picture = html! {
        // Frequent kinds are drawn first, so that they do not cover rare ones.
        @for kind in (0..KINDS.len()).rev().filter(|kind| !marks[*kind].is_empty()) {
            path class=(format!("dots k{kind}")) d=(path(&marks[kind])) {}
        }
    };
    let title = if timeline.title.is_empty() { &timeline.scheme } else { &timeline.title };
    html! {
        figure.timeline {
            figcaption { strong { (title) } " " small { (timeline.workload) @if !timeline.workload.is_empty() { ": " } (says) } }
            (frame(&seconds, &cylinder, title, &says, picture))
            ul.lanes style=(format!("--label:{}ch", fixed(most.into(), 0).len())) {
                @for (kind, name) in KINDS.iter().enumerate().filter(|(kind, _)| !marks[*kind].is_empty()) {
                    (lane(timeline, kind, name, &seconds))
                }
            }
        }
    }
}

fn lane(timeline: &Timeline, wanted: usize, name: &str, seconds: &Axis) -> Markup {
    let of_kind = || timeline.requests.iter().filter(|request| kind(&request.kind) == wanted);
    let place = |at_ms: f64| (seconds.place(at_ms / 1e3) * f64::from(PLACES - 1)) as u32;
    let mut counts = BTreeMap::new();
    of_kind().for_each(|request| *counts.entry(place(request.at_ms)).or_insert(0) += 1);
    html! {
        li {
            span.name { (name) }
            span.count { (fixed(of_kind().count() as f64, 0)) }
            svg viewBox=(format!("0 0 {PLACES} {TALL}")) preserveAspectRatio="none" aria-hidden="true" {
                path class=(format!("lane k{wanted}")) d=(steps(&counts)) {}
            }
        }
    }
}

/// The amount in each column of a lane, as an area under a stepped line; the largest fills the lane, and the smallest
/// is still visible.
fn steps(counts: &BTreeMap<u32, u32>) -> String {
    let most = f64::from(counts.values().copied().max().unwrap_or(1));
    let mut path = format!("M0 {TALL}");
    let mut before = 0;
    for place in 0..PLACES {
        let height = counts.get(&place).map_or(0, |count| (f64::from(*count) / most * f64::from(TALL)).ceil() as u32);
        if height != before {
            // Writing to a String does not fail.
            let _ = write!(path, "H{place}V{}", TALL - height);
            before = height;
        }
    }
    path + &format!("H{PLACES}V{TALL}z")
}

/// Marks of each kind, by grid cell.
type Marks = Vec<BTreeMap<(u32, u32), (u32, u32)>>;

/// Marks on the finest grid that has few enough of them: the first request of each cell, at its own position, so that
/// the grid is not visible.
fn marks(timeline: &Timeline, x: &Axis, y: &Axis) -> Marks {
    let on = |size: u32| {
        let mut marks = vec![BTreeMap::new(); KINDS.len()];
        for request in &timeline.requests {
            let left = (x.place(request.at_ms / 1e3) * WIDTH).round() as u32;
            let top = ((1.0 - y.place(request.cylinder.into())) * HEIGHT).round() as u32;
            marks[kind(&request.kind)].entry((left / size, top / size)).or_insert((left, top));
        }
        marks
    };
    let few = |marks: &Marks| marks.iter().map(BTreeMap::len).sum::<usize>() <= MOST;
    let (last, finer) = (SIZES[SIZES.len() - 1], &SIZES[..SIZES.len() - 1]);
    finer.iter().map(|size| on(*size)).find(few).unwrap_or_else(|| on(last))
}

/// Marks as one path, each relative to the one before.
fn path(marks: &BTreeMap<(u32, u32), (u32, u32)>) -> String {
    let mut path = String::new();
    let mut before = (0, 0);
    for &(left, top) in marks.values() {
        let (left, top) = (i64::from(left), i64::from(top));
        let (across, down) = (left - before.0, top - before.1);
        // Writing to a String does not fail.
        let _ = write!(path, "m{across}{}{down}h0", if down < 0 { "" } else { " " });
        before = (left, top);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Dot;

    fn timeline(requests: usize) -> Timeline {
        let request = |at: usize| Dot {
            at_ms: at as f64,
            service_ms: 1.0,
            cylinder: (at * 7919 % 2000) as u32,
            kind: KINDS[at % KINDS.len()].into(),
            write: true,
        };
        Timeline { cylinders: 2000, requests: (0..requests).map(request).collect(), ..Timeline::default() }
    }

    #[test]
    fn a_picture_stays_light_whatever_it_shows() {
        let drawn = one(&timeline(60_000)).into_string();
        assert!(drawn.len() < 80_000, "{} bytes", drawn.len());
        assert!(drawn.contains("60,000 requests in 60 s; drawn as"), "{drawn}");
        let few = one(&timeline(90)).into_string();
        assert!(few.contains("90 requests") && !few.contains("drawn as"), "{few}");
        assert_eq!(few.matches("h0").count(), 90);
    }

    #[test]
    fn every_kind_has_a_lane_and_an_unknown_one_is_other() {
        let mut timeline = timeline(9);
        timeline.requests[0].kind = "tape".into();
        let drawn = one(&timeline).into_string();
        assert!(!drawn.contains(">superblock<") && drawn.contains(">other<") && drawn.contains(">inode<"), "{drawn}");
    }

    #[test]
    fn a_lane_rises_with_what_happened_and_marks_follow_one_another() {
        assert_eq!(steps(&BTreeMap::from([(1, 4), (2, 4), (5, 1)])), "M0 12H1V0H3V12H5V9H6V12H240V12z");
        assert_eq!(steps(&BTreeMap::from([(0, 1000), (1, 1)])), "M0 12H0V0H1V11H2V12H240V12z");
        let marks = [(1, 5), (1, 7), (4, 2)];
        assert_eq!(path(&marks.map(|mark| (mark, mark)).into()), "m1 5h0m0 2h0m3-5h0");
    }

    #[test]
    fn a_time_line_without_requests_is_drawn_empty() {
        assert!(one(&Timeline::default()).into_string().contains("0 requests in 0 s"));
    }
}
