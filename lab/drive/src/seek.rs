//! Seek times.

use crate::geometry::Location;

/// The parts of a movement, in milliseconds.
#[derive(Clone, Debug)]
pub struct SeekCurve {
    pub(crate) curve: Curve,
    /// Change of head on a cylinder.
    pub(crate) head_switch: f64,
    /// Added to every movement before a write. Some drives state a negative value.
    pub(crate) write_settle: f64,
}

/// Seek time by distance in cylinders.
#[derive(Clone, Debug)]
pub(crate) enum Curve {
    /// Points in ascending order of distance. Linear between them; before the first from (0, 0), after the last with
    /// the slope of the last two.
    Table(Vec<(u32, f64)>),
    /// The form of Ruemmler and Wilkes with the first ten distances listed.
    FirstTen {
        first: [f64; 10],
        /// Distance from which the time is linear.
        knee: f64,
        root: (f64, f64),
        line: (f64, f64),
    },
}

impl Curve {
    fn time(&self, distance: u32) -> f64 {
        let far = f64::from(distance);
        match self {
            _ if distance == 0 => 0.0,
            Curve::FirstTen { first, .. } if distance <= 10 => first[distance as usize - 1],
            Curve::FirstTen { knee, root, .. } if far < *knee => root.0 + root.1 * far.sqrt(),
            Curve::FirstTen { line, .. } => line.0 + line.1 * far,
            Curve::Table(points) => {
                let beyond = points.partition_point(|(d, _)| *d <= distance);
                let (low, high) = match beyond {
                    0 => ((0, 0.0), points[0]),
                    end if end == points.len() => match points[..] {
                        [.., before, last] => (before, last),
                        _ => ((0, 0.0), points[0]),
                    },
                    at => (points[at - 1], points[at]),
                };
                let slope = (high.1 - low.1) / f64::from(high.0 - low.0);
                low.1 + slope * f64::from(distance - low.0)
            }
        }
    }
}

impl SeekCurve {
    /// Milliseconds for `distance` cylinders, with a change of head or without, to read or to write.
    pub fn time(&self, distance: u32, head_changes: bool, write: bool) -> f64 {
        let mut time = self.curve.time(distance);
        if head_changes && time < self.head_switch {
            time = self.head_switch;
        }
        if write && time != 0.0 {
            time += self.write_settle;
        }
        time
    }

    /// Milliseconds from the position of the arm to the track of `place`.
    pub(crate) fn to(&self, arm: Arm, place: &Location, write: bool) -> f64 {
        self.time(arm.cylinder.abs_diff(place.cylinder), arm.head != place.head, write)
    }
}

/// Where the arm is, and which head is selected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arm {
    pub(crate) cylinder: u32,
    pub(crate) head: u32,
}

impl Arm {
    pub(crate) fn on(place: &Location) -> Arm {
        Arm { cylinder: place.cylinder, head: place.head }
    }
}
