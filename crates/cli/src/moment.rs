//! Times as the user writes them: RFC 3339 with up to nine digits of a second, or seconds since 1970 after an `@`.

use ordo_vfs::Stamp;

/// Parses a time: `2001-02-03T04:05:06.789012345Z`, with `+02:00` for another zone, or `@981173106.5`. Without a zone
/// it is UTC; without a time of day it is midnight.
///
/// # Errors
/// One line, for the user.
pub(crate) fn parse(text: &str) -> Result<Stamp, String> {
    let wrong = || format!("{text:?} is not a time; write 2001-02-03T04:05:06.789Z, or @SECONDS since 1970");
    match text.strip_prefix('@') {
        Some(rest) => seconds(rest).ok_or_else(wrong),
        None => rfc3339(text).ok_or_else(wrong),
    }
}

/// `[-]SECONDS[.FRACTION]`. Digits after the ninth are dropped.
pub(crate) fn seconds(text: &str) -> Option<Stamp> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let secs: i64 = number(whole)?;
    let nanos = nanos(fraction)?;
    Some(match (negative, nanos) {
        (false, _) => Stamp { secs, nanos },
        (true, 0) => Stamp { secs: -secs, nanos },
        // The nanoseconds of a stamp always count forward.
        (true, _) => Stamp { secs: -secs - 1, nanos: 1_000_000_000 - nanos },
    })
}

fn rfc3339(text: &str) -> Option<Stamp> {
    let (date, rest) = text.split_at_checked(10)?;
    let [year, month, day] = date.split('-').map(number).collect::<Option<Vec<i64>>>()?[..] else { return None };
    if date.len() != 10 || !(1..=12).contains(&month) || !(1..=days_of(year, month)).contains(&day) {
        return None;
    }
    let midnight = Stamp { secs: days(year, month, day) * 86400, nanos: 0 };
    let Some(rest) = rest.strip_prefix(['T', 't', ' ']) else { return rest.is_empty().then_some(midnight) };
    let at = rest.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.').unwrap_or(rest.len());
    let (clock, zone) = rest.split_at(at);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let of_day = match clock.split(':').map(number).collect::<Option<Vec<i64>>>()?[..] {
        [hour @ 0..24, minute @ 0..60] => hour * 3600 + minute * 60,
        // 60: a leap second, which 1970's count gives to the next minute.
        [hour @ 0..24, minute @ 0..60, second @ 0..=60] => hour * 3600 + minute * 60 + second,
        _ => return None,
    };
    Some(Stamp { secs: midnight.secs + of_day - offset(zone)?, nanos: nanos(fraction)? })
}

/// Seconds by which a zone is ahead of UTC.
fn offset(zone: &str) -> Option<i64> {
    let sign = match zone.chars().next() {
        None | Some('Z' | 'z') => return (zone.len() < 2).then_some(0),
        Some('+') => 1,
        Some('-') => -1,
        Some(_) => return None,
    };
    let (hours, minutes) = zone[1..].split_once(':')?;
    let (hours, minutes): (i64, i64) = (number(hours)?, number(minutes)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// Digits only: `parse` also takes a sign.
fn number(text: &str) -> Option<i64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

fn nanos(fraction: &str) -> Option<u32> {
    if !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    format!("{fraction:0<9}").get(..9)?.parse().ok()
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 in the Gregorian calendar: the inverse of what `text::time` does.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_to_the_nanosecond() {
        let at = |text: &str| parse(text).map(|stamp| (stamp.secs, stamp.nanos));
        assert_eq!(at("2001-02-03T04:05:06.789012345Z"), Ok((981_173_106, 789_012_345)));
        assert_eq!(at("2001-02-03 06:05:06.5+02:00"), Ok((981_173_106, 500_000_000)));
        assert_eq!(at("2001-02-02T23:35:06-04:30"), Ok((981_173_106, 0)));
        assert_eq!((at("1970-01-01"), at("1969-12-31T23:59:59Z")), (Ok((0, 0)), Ok((-1, 0))));
        assert_eq!(at("2024-02-29T00:00Z"), Ok((1_709_164_800, 0)));
        assert_eq!((at("@12.000000001"), at("@-1.5"), at("@-2")), (Ok((12, 1)), Ok((-2, 500_000_000)), Ok((-2, 0))));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "@",
            "@x",
            "@1.x",
            "@+1",
            "2001-02-29",
            "2001-13-01",
            "2001-02-03T24:00",
            "2001-02-03T04:05:06.Z1",
            "2001-02-03T04:05:06+2",
            "now",
            "+001-02-03",
            "2001-02-03é",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_time_is_the_inverse_of_how_times_are_shown() {
        for secs in (-62_135_596_800i64..200_000_000_000).step_by(86_400 * 37 + 12_345) {
            let shown = crate::text::time(secs);
            if shown.len() == 19 {
                assert_eq!(parse(&shown), Ok(Stamp { secs, nanos: 0 }), "{shown}");
            }
        }
    }
}
