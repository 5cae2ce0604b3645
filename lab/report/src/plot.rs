//! Axes, and the area between them.
//!
//! The picture has no text and is stretched to the available width; its strokes are not. Numbers and labels are text of
//! the page around it, so they have the same size on every screen.

use crate::number::{fixed, short, ticks};
use crate::results::{Figure, Series};
use maud::{Markup, html};
use std::fmt::Write;

/// Size of the picture; what is drawn lies between 0 and these.
pub(crate) const WIDTH: f64 = 1000.0;
pub(crate) const HEIGHT: f64 = 500.0;

/// Above this number points are not marked.
const MARKED: usize = 60;

/// An axis: its label, its start and its end.
pub(crate) struct Axis {
    pub(crate) label: String,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Axis {
    /// An axis that covers all of these numbers, and zero if that is not far away.
    fn around(label: String, values: impl Iterator<Item = f64>) -> Axis {
        let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = if low > high { (0.0, 1.0) } else { (low, high) };
        let low = if low > 0.0 && low < high * 0.6 { 0.0 } else { low };
        let (low, high) = if low == high { (low - 0.5, high + 0.5) } else { (low, high) };
        Axis { label, low, high }
    }

    /// The relative position of a value, from 0 to 1.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let span = self.high - self.low;
        if span.is_finite() { ((value - self.low) / span).clamp(0.0, 1.0) } else { 0.5 }
    }

    /// The grid lines: position of each, in percent, and its number.
    fn lines(&self, wanted: usize) -> Vec<(f64, String)> {
        let (ticks, decimals) = ticks(self.low, self.high, wanted);
        ticks.into_iter().map(|tick| (self.place(tick) * 100.0, fixed(tick, decimals))).collect()
    }
}

/// Axes around a picture; `title` and `says` describe it for readers who do not see it.
pub(crate) fn frame(x: &Axis, y: &Axis, title: &str, says: &str, picture: Markup) -> Markup {
    let (across, up) = (x.lines(5), y.lines(4));
    let mut grid = String::new();
    for (at, _) in &up {
        // Writing to a String does not fail.
        let _ = write!(grid, "M0 {:.1}H{WIDTH}", HEIGHT * (1.0 - at / 100.0));
    }
    let widest = up.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(1);
    html! {
        div.frame style=(format!("--label:{widest}ch")) {
            p.axis.up { (y.label) }
            div.numbers.up aria-hidden="true" {
                @for (at, text) in &up { span style=(format!("bottom:{at:.1}%")) { (text) } }
            }
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" role="img" {
                title { (title) }
                desc { (says) }
                path.grid d=(grid) {}
                (picture)
            }
            div.numbers.across aria-hidden="true" {
                @for (at, text) in &across { span style=(format!("left:{at:.1}%")) { (text) } }
            }
            p.axis.across { (x.label) }
        }
    }
}

/// A label with its unit.
pub(crate) fn labelled(label: &str, unit: &str) -> String {
    match (label, unit) {
        (label, "") => label.to_owned(),
        ("", unit) => unit.to_owned(),
        (label, unit) => format!("{label}, {unit}"),
    }
}

/// A line chart: one line for each series, distinguished by colour and by stroke.
pub(crate) fn lines(figure: &Figure) -> Markup {
    let known = |series: &Series| series.points.iter().copied().filter(is_known).collect::<Vec<_>>();
    let all: Vec<_> = figure.series.iter().flat_map(known).collect();
    let x = Axis::around(labelled(&figure.x.label, &figure.x.unit), all.iter().map(|point| point.0));
    let y = Axis::around(labelled(&figure.y.label, &figure.y.unit), all.iter().map(|point| point.1));
    let said = figure.series.iter().map(|series| {
        let points = known(series);
        let ends = points.first().zip(points.last());
        let way = |((x0, y0), (x1, y1)): (&(f64, f64), &(f64, f64))| {
            format!(": {} at {}, {} at {}", short(*y0), short(*x0), short(*y1), short(*x1))
        };
        format!("{}{}", series.name, ends.map(way).unwrap_or_default())
    });
    let says = said.collect::<Vec<_>>().join("; ");
    let colours = crate::colour::of(figure.series.iter().map(|series| series.name.as_str()));
    let picture = html! {
        @for (at, series) in colours.iter().zip(&figure.series) {
            @let (line, dots) = paths(series, &x, &y);
            path class=(format!("line c{at}")) d=(line) {}
            @if series.points.len() <= MARKED { path class=(format!("dots large c{at}")) d=(dots) {} }
        }
    };
    html! {
        (frame(&x, &y, &figure.title, &says, picture))
        ul.legend {
            @for (at, series) in colours.iter().zip(&figure.series) {
                li {
                    svg viewBox="0 0 28 10" aria-hidden="true" { path class=(format!("line c{at}")) d="M0 5H28" {} }
                    (series.name)
                }
            }
        }
    }
}

fn is_known((x, y): &(f64, f64)) -> bool {
    !x.is_nan() && !y.is_nan()
}

/// The line and the points of a series; a missing point breaks the line.
fn paths(series: &Series, x: &Axis, y: &Axis) -> (String, String) {
    let (mut line, mut dots) = (String::new(), String::new());
    let mut goes_on = false;
    for point in &series.points {
        if !is_known(point) {
            goes_on = false;
            continue;
        }
        let (at, value) = *point;
        let (left, top) = (x.place(at) * WIDTH, (1.0 - y.place(value)) * HEIGHT);
        // Writing to a String does not fail.
        let _ = write!(line, "{}{left:.1} {top:.1}", if goes_on { 'L' } else { 'M' });
        let _ = write!(dots, "M{left:.1} {top:.1}h0");
        goes_on = true;
    }
    (line, dots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_gap_where_a_point_is_missing() {
        let axis = Axis { label: String::new(), low: 0.0, high: 10.0 };
        let points = vec![(0.0, 0.0), (5.0, f64::NAN), (10.0, 10.0), (1e308, -1e308)];
        let (line, dots) = paths(&Series { points, ..Series::default() }, &axis, &axis);
        assert_eq!(line, "M0.0 500.0M1000.0 0.0L1000.0 500.0");
        assert_eq!(dots.matches("h0").count(), 3);
    }

    #[test]
    fn an_axis_begins_at_zero_unless_that_is_far_away() {
        let around = |values: &[f64]| {
            let axis = Axis::around(String::new(), values.iter().copied());
            (axis.low, axis.high)
        };
        assert_eq!(around(&[2.0, 8.0]), (0.0, 8.0));
        assert_eq!(around(&[90.0, 100.0]), (90.0, 100.0));
        assert_eq!(around(&[-1.0, 8.0]), (-1.0, 8.0));
        assert_eq!(around(&[5.0]), (4.5, 5.5));
        assert_eq!(around(&[]), (0.0, 1.0));
        // Too far apart for numbers: drawn in the middle, without a number.
        let wide = Axis::around(String::new(), [-f64::MAX, f64::MAX].into_iter());
        assert_eq!((wide.place(0.0), wide.lines(5).len()), (0.5, 0));
    }
}
