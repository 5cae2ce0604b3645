//! A trace as a picture: a lane for each buf, time to the right, a box for each image in flight, hatched if something
//! was rolled back in it; a number for each step; arrows for dependencies and waits.

use super::columns::{Column, columns, short};
use super::svg::{Anchor, Stroke, Svg};
use super::text::{dependency, until};
use ordo_crash::trace::{Kind, Trace, Until, What};

/// Pixels of a lane, from the top to the first one, from the left to the first column, and around a line of text.
const LANE: i32 = 44;
const TOP: i32 = 96;
const LEFT: i32 = 270;
const ROW: i32 = 18;
/// Half of the height of a box.
const BOX: i32 = 12;
/// Maximum characters of a line below the lanes, and the maximum width of one.
const WRAP: usize = 150;
const LEAST_WIDTH: i32 = 1060;

/// Draws it.
pub(super) fn draw(trace: &Trace) -> String {
    let (columns, of) = columns(&trace.events, LEFT + 24);
    let mut picture = Picture { trace, beside: vec![0; columns.len()], columns, of, svg: Svg::default() };
    picture.all()
}

struct Picture<'a> {
    trace: &'a Trace,
    columns: Vec<Column>,
    of: Vec<usize>,
    /// Number of arrows in each column so far: they are drawn side by side.
    beside: Vec<i32>,
    svg: Svg,
}

impl Picture<'_> {
    fn all(&mut self) -> String {
        let title = format!("{} under {}, on {}", self.trace.call, self.trace.scheme, self.trace.disk);
        self.svg.text((20, 32), 20, Anchor::Start, &title);
        let Trace { writes, rollbacks, waits, flushes, durable_us, returned_us, .. } = self.trace;
        let facts = format!(
            "returned after {}, durable after {}; {writes} writes, {rollbacks} rolled back, {waits} waits, {flushes} flushes",
            short(*returned_us),
            short(*durable_us)
        );
        self.svg.text((20, 54), 13, Anchor::Start, &facts);
        let right = self.columns.last().map_or(LEFT, |column| column.x) + 60;
        self.lanes(right);
        self.axis(right);
        self.running();
        // Boxes first: arrows and numbers are drawn over them.
        for index in 0..self.trace.events.len() {
            self.image(index);
        }
        for index in 0..self.trace.events.len() {
            self.arrows(index);
        }
        for index in 0..self.trace.events.len() {
            self.mark(index);
        }
        let bottom = self.legend();
        std::mem::take(&mut self.svg).document((right.max(LEAST_WIDTH), bottom), &title)
    }

    /// Lane 0 is the call, the last one the disk's flushes.
    fn y(&self, lane: usize) -> i32 {
        TOP + LANE * lane as i32 + LANE / 2
    }

    fn lane_of(&self, buf: &str) -> usize {
        self.trace.lanes.iter().position(|lane| lane == buf).map_or(0, |at| at + 1)
    }

    fn flushes(&self) -> usize {
        self.trace.lanes.len() + 1
    }

    fn x(&self, event: usize) -> i32 {
        self.columns.get(self.of[event]).map_or(LEFT, |column| column.x)
    }

    fn lanes(&mut self, right: i32) {
        let named = self.trace.lanes.iter().map(String::as_str);
        let names: Vec<&str> = std::iter::once("the call").chain(named).chain(["flushes"]).collect();
        for (lane, name) in names.into_iter().enumerate() {
            let y = self.y(lane);
            self.svg.line((LEFT, y), (right - 20, y), Stroke::Lane);
            self.svg.text((LEFT - 12, y + 4), 13, Anchor::End, name);
        }
    }

    /// The times, and a break for each idle period.
    fn axis(&mut self, right: i32) {
        let y = TOP - 6;
        self.svg.line((LEFT, y), (right - 20, y), Stroke::Thin);
        let (mut shown, mut high) = (None, false);
        for column in self.columns.clone() {
            let Column { x, us, gap } = column;
            if shown != Some(us) {
                high = shown.is_some() && !high;
                self.svg.line((x, y - 4), (x, y), Stroke::Thin);
                self.svg.text((x, y - if high { 19 } else { 7 }), 10, Anchor::Middle, &short(us));
                shown = Some(us);
            }
            if gap.is_some() {
                let (at, bottom) = (x - 46, self.y(self.flushes()) + LANE / 2);
                self.svg.line((at - 3, y + 5), (at + 1, y - 5), Stroke::Thin);
                self.svg.line((at + 2, y + 5), (at + 6, y - 5), Stroke::Thin);
                self.svg.line((at, y + 6), (at, bottom), Stroke::Lane);
            }
        }
    }

    /// The call, from its first column until it returns.
    fn running(&mut self) {
        let Some(returns) = self.trace.events.iter().position(|event| event.what == What::Returns) else { return };
        let (left, right, y) = (self.columns[0].x - 18, self.x(returns), self.y(0));
        self.svg.rect((left, y - BOX), (right - left, 2 * BOX), "#e8e8e8", &self.trace.call);
    }

    /// An image from when its write starts until it is durable, and a flush from its beginning to its end.
    fn image(&mut self, index: usize) {
        let events = &self.trace.events;
        let later = || events.iter().enumerate().skip(index + 1);
        let (lane, fill, label, end) = match &events[index].what {
            What::Leaves { buf, image, rolled_back, .. } => {
                let lands = |what: &What| matches!(what, What::Landed { buf: b, image: i } if b == buf && i >= image);
                let fill = if *rolled_back { "url(#hatched)" } else { "#cfe3f5" };
                let end = later().find(|(_, event)| lands(&event.what));
                (self.lane_of(buf), fill, format!("image {image}"), end)
            }
            What::Flush => {
                let end = later().find(|(_, event)| event.what == What::Flushed);
                (self.flushes(), "#ddd", "flush".to_owned(), end)
            }
            _ => return,
        };
        let end = end.map(|(end, _)| self.x(end));
        let (left, y) = (self.x(index), self.y(lane));
        let right = end.unwrap_or_else(|| self.columns.last().map_or(left, |column| column.x)).max(left + 20);
        self.svg.rect((left, y - BOX), (right - left, 2 * BOX), fill, &label);
        self.svg.text((right, y - BOX - 3), 10, Anchor::End, &label);
    }

    /// Dependencies and waits: dashed for one that a step created, solid for one that caused a rollback in an image,
    /// thick for one that the call waits for.
    fn arrows(&mut self, index: usize) {
        let x = self.x(index);
        let mut drawn: Vec<(usize, usize, Stroke)> = Vec::new();
        match &self.trace.events[index].what {
            What::Step { made, waits_for, .. } => {
                for held in made.iter().filter(|held| held.how != Kind::Kept) {
                    let from = self.lane_of(&held.buf);
                    drawn.extend(held.until.iter().map(|until| (from, self.lane_of(&until.buf), Stroke::Dashed)));
                }
                drawn.extend(waits_for.iter().map(|buf| (0, self.lane_of(buf), Stroke::Thick)));
            }
            What::Leaves { buf, undone, .. } => {
                let until = undone.iter().flat_map(|held| &held.until);
                let to = |until: &Until| (self.lane_of(buf), self.lane_of(&until.buf), Stroke::Thin);
                drawn.extend(until.map(to));
            }
            What::Waits { buf, until } => {
                drawn.extend(until.iter().map(|other| (self.lane_of(buf), self.lane_of(other), Stroke::Thin)));
            }
            _ => return,
        }
        let mut done = Vec::new();
        for one in drawn.into_iter().filter(|(from, to, _)| from != to) {
            if done.contains(&one) {
                continue;
            }
            done.push(one);
            let (from, to, stroke) = one;
            let Some(beside) = self.beside.get_mut(self.of[index]) else { return };
            *beside += 1;
            // Beside the numbers.
            let x = x + 6 * *beside + if stroke == Stroke::Thin { -1 } else { 7 };
            let ends = if from < to { -BOX } else { BOX };
            self.svg.arrow((x, self.y(from)), (x, self.y(to) + ends), stroke);
        }
    }

    /// Numbers of steps in the lanes that they changed; a step without a lane is put in that of the call.
    fn mark(&mut self, index: usize) {
        let (x, top) = (self.x(index), self.y(0));
        match &self.trace.events[index].what {
            What::Step { number, bufs, .. } => {
                let lanes = std::iter::once(0).chain(bufs.iter().map(|buf| self.lane_of(buf)));
                let heights: Vec<i32> = lanes.map(|lane| self.y(lane)).collect();
                heights.into_iter().for_each(|y| self.svg.bullet((x, y), *number));
            }
            What::Returns => self.svg.text((x + 4, top + 4), 11, Anchor::Start, "returns"),
            What::Sync => self.svg.text((x, top + 4), 11, Anchor::Middle, "sync"),
            What::Durable => {
                let bottom = self.y(self.flushes()) + LANE / 2;
                self.svg.line((x + 4, top - LANE / 2), (x + 4, bottom), Stroke::Thick);
                self.svg.text((x + 8, top - 8), 11, Anchor::Start, "durable");
            }
            _ => {}
        }
    }

    /// The steps by their numbers, and what was rolled back. Returns the bottom of the picture.
    fn legend(&mut self) -> i32 {
        let mut y = self.y(self.flushes()) + LANE / 2 + 30;
        let keys = "number: a step, in the bufs that it changed.  Box: an image in flight, until it is durable; hatched: \
            rolled back.  Arrow: waits for; dashed: made by a step, whole: an image without it leaves, thick: the call waits.";
        for line in wrap(keys, WRAP) {
            self.svg.text((20, y), 11, Anchor::Start, &line);
            y += ROW;
        }
        y += ROW / 2;
        for (indent, text) in notes(self.trace) {
            for (at, line) in wrap(&text, WRAP).into_iter().enumerate() {
                self.svg.text((20 + 18 * (indent + i32::from(at > 0)), y), 12, Anchor::Start, &line);
                y += ROW;
            }
        }
        y + 10
    }
}

/// Lines below the lanes, with their indentation.
fn notes(trace: &Trace) -> Vec<(i32, String)> {
    let mut notes = Vec::new();
    for event in &trace.events {
        match &event.what {
            What::Step { number, says, made, answer, .. } => {
                notes.push((0, format!("{number}  {says}")));
                notes.extend(made.iter().map(|held| (1, dependency(held))));
                notes.extend((!answer.is_empty()).then(|| (1, answer.clone())));
            }
            What::Leaves { buf, image, rolled_back: true, undone } => {
                notes.push((0, format!("{buf}, image {image}, rolled back at {}", short(event.us))));
                notes.extend(undone.iter().map(|held| (1, format!("without {}{}", held.what, until(held)))));
            }
            What::Log { says, holds } => {
                notes.push((0, format!("written at {}: {says}", short(event.us))));
                notes.extend(holds.iter().map(|held| (1, held.clone())));
            }
            What::Freed { what } => notes.push((0, format!("ripe at {}: {what}", short(event.us)))),
            _ => {}
        }
    }
    notes
}

/// Lines of at most `most` characters, broken between words if possible.
fn wrap(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_between_words() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("incomprehensibilities", 8), ["incomprehensibilities"]);
    }
}
