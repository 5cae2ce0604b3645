//! Horizontal places in the picture: time runs to the right, and idle periods are shortened.

use ordo_crash::trace::{Event, What};

/// Pixels from a column to the next one.
const STEP: i32 = 46;
/// Pixels of an idle period.
const GAP: i32 = 34;
/// Microseconds from which an idle period is shortened.
const IDLE_US: u64 = 500_000;

/// A column: events at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) x: i32,
    pub(super) us: u64,
    /// Idle microseconds before it.
    pub(super) gap: Option<u64>,
}

/// Which events may share a column, if they happen at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Not in the picture.
    Hidden,
    /// In a column of its own.
    Alone,
    Leaves,
    Lands,
}

fn class(what: &What) -> Class {
    match what {
        What::Call { .. } | What::Log { .. } => Class::Hidden,
        What::Step { .. } | What::Returns | What::Sync | What::Waits { .. } => Class::Alone,
        What::Leaves { .. } | What::Flush => Class::Leaves,
        What::Landed { .. } | What::Flushed | What::Freed { .. } | What::Durable => Class::Lands,
    }
}

/// The columns, from `left` on; and for each event the index of its column.
pub(super) fn columns(events: &[Event], left: i32) -> (Vec<Column>, Vec<usize>) {
    let mut columns: Vec<Column> = Vec::new();
    let mut of = Vec::with_capacity(events.len());
    let mut last = Class::Hidden;
    for event in events {
        let class = class(&event.what);
        let joins =
            columns.last().is_some_and(|column| column.us == event.us) && class == last && class != Class::Alone;
        if class == Class::Hidden || joins {
            of.push(columns.len().saturating_sub(1));
            continue;
        }
        last = class;
        let column = match columns.last() {
            None => Column { x: left, us: event.us, gap: None },
            Some(before) => {
                let gap = Some(event.us - before.us).filter(|gap| *gap >= IDLE_US);
                let x = before.x + STEP + if gap.is_some() { GAP } else { 0 };
                Column { x, us: event.us, gap }
            }
        };
        columns.push(column);
        of.push(columns.len() - 1);
    }
    (columns, of)
}

/// A time in a short form that is still exact enough.
pub(super) fn short(us: u64) -> String {
    match us {
        0 => "0".into(),
        1..1_000 => format!("{us} µs"),
        1_000..1_000_000 => format!("{:.1} ms", us as f64 / 1e3),
        _ => format!("{:.2} s", us as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_together_shares_a_column_and_a_gap_is_short() {
        let leaves = |buf: &str| What::Leaves { buf: buf.into(), image: 1, rolled_back: false, undone: vec![] };
        let events = [
            (0, What::Call { says: "begin".into(), answer: String::new() }),
            (0, What::Returns),
            (30_000_000, leaves("a")),
            (30_000_000, leaves("b")),
            (30_000_100, What::Landed { buf: "a".into(), image: 1 }),
            (30_000_200, What::Landed { buf: "b".into(), image: 1 }),
        ];
        let (columns, of) = columns(&events.map(|(us, what)| Event { us, what }), 100);
        assert_eq!(of, [0, 0, 1, 1, 2, 3]);
        assert_eq!(columns[1], Column { x: 100 + STEP + GAP, us: 30_000_000, gap: Some(30_000_000) });
        assert_eq!((columns[3].x - columns[2].x, columns[3].gap), (STEP, None));
    }

    #[test]
    fn times_are_short() {
        assert_eq!([0, 90, 9_100, 30_012_345].map(short), ["0", "90 µs", "9.1 ms", "30.01 s"]);
    }
}
