//! Days, dates, and how full a volume is on a day.
//!
//! The study took a snapshot each day for nine months. It names the months of three of its four measurements, always
//! the 26th, and the 20th of October for two servers; three months apart and nine months in all, the fourth is in July.
//!
//! C1. Days are played one by one. Of the years before the study, [`DAYS_OF_A_MONTH`] days of each month are played,
//!     with all that happens on a day. The first of them fills a new volume, as a copy of what an older one held; until
//!     the study begins it becomes as full as it is then.

use super::profile::Profile;
use ordo_rt::Rng;

/// Days of the study, from 20 October 1994 to 26 July 1995.
pub const STUDY: u32 = 279;
/// Days that are played for each month before it.
pub const DAYS_OF_A_MONTH: u32 = 4;
/// How full a new volume is, of what it is when the study begins.
const FIRST: u32 = 700;

/// A date of measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Date {
    /// In words.
    pub name: &'static str,
    /// The day of the study.
    pub day: u32,
}

impl Profile {
    /// Days that are played before the study.
    pub fn history(&self) -> u32 {
        self.months * DAYS_OF_A_MONTH
    }

    /// The four dates of measurement.
    pub fn dates(&self) -> [Date; 4] {
        let first = if self.first == 0 { "20 October" } else { "26 October" };
        [(first, self.first), ("26 January", 98), ("26 April", 188), ("26 July", STUDY)]
            .map(|(name, day)| Date { name, day })
    }

    /// How full it is on a day of the study, in permille of what users may fill.
    fn at(&self, day: u32) -> u32 {
        let behind = self.course.iter().position(|(at, _)| *at > day);
        match behind.map_or((self.course.last(), None), |at| (self.course[..at].last(), self.course.get(at))) {
            (Some((_, level)), None) | (None, Some((_, level))) => *level,
            (Some((from, low)), Some((to, high))) => {
                let (span, gone) = (i64::from(to - from), i64::from(day - from));
                (i64::from(*low) + (i64::from(*high) - i64::from(*low)) * gone / span) as u32
            }
            (None, None) => 0,
        }
    }

    /// The same on the day played as number `played`, the history among them.
    pub(super) fn level(&self, played: u32) -> u32 {
        match played.checked_sub(self.history()) {
            Some(day) => self.at(day),
            None => {
                let (start, full) = (self.at(0), self.history());
                start * FIRST / 1000 + start * (1000 - FIRST) / 1000 * played / full
            }
        }
    }
}

/// How far a volume is from its course: a random walk.
#[derive(Debug, Clone, Default)]
pub(super) struct Sway(i64);

impl Sway {
    /// How full the volume of `profile` is on the next day, `played`.
    pub(super) fn next(&mut self, rng: &mut Rng, profile: &Profile, played: u32) -> u64 {
        let (most, step) = (i64::from(profile.sway), i64::from(profile.sway / 4));
        self.0 = (self.0 + rng.below(2 * step as u64 + 1) as i64 - step).clamp(-most, most);
        (i64::from(profile.level(played)) + self.0).max(0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::profile::PROFILES;
    use super::*;

    #[test]
    fn a_volume_fills_up_in_its_history_and_keeps_to_its_course_in_the_study() {
        let cnews = Profile::named("cnews").unwrap();
        assert_eq!(cnews.history(), 124);
        let levels = [0, 62, 124, 154, 204, 254, 403, 900].map(|day| cnews.level(day));
        assert_eq!(levels, [630, 765, 900, 940, 1060, 850, 880, 880]);
        assert_eq!(cnews.dates().map(|date| date.day), [0, 98, 188, STUDY]);
        assert_eq!(Profile::named("white").unwrap().dates()[0], Date { name: "26 October", day: 6 });
    }

    #[test]
    fn a_fill_level_sways_but_not_far() {
        for profile in PROFILES {
            let (mut rng, mut sway) = (Rng::new(1), Sway::default());
            let far = (0..1000).map(|day| sway.next(&mut rng, profile, day).abs_diff(profile.level(day).into()));
            let far = far.max().unwrap();
            assert!(far <= profile.sway.into() && far > u64::from(profile.sway / 2), "{} {far}", profile.name);
        }
    }
}
