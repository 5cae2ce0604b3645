//! Numbers formatted for people.

/// With a comma between thousands, and the given number of decimals.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    // A document may contain any number; digits beyond this are of no use.
    if value.abs() >= 1e15 {
        return format!("{value:.3e}");
    }
    let text = format!("{:.decimals$}", value.abs());
    let (whole, rest) = text.split_once('.').map_or((&text[..], None), |(whole, rest)| (whole, Some(rest)));
    let is_zero = text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    let mut shown = String::from(if value < 0.0 && !is_zero { "\u{2212}" } else { "" });
    for (at, digit) in whole.char_indices() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            shown.push(',');
        }
        shown.push(digit);
    }
    if let Some(rest) = rest {
        shown.push('.');
        shown.push_str(rest);
    }
    shown
}

/// With three significant digits, and all digits before the point.
pub(crate) fn short(value: f64) -> String {
    let decimals = match value.abs() {
        0.0 => 0,
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        size if size >= 0.1 => 3,
        _ => 4,
    };
    let text = fixed(value, decimals);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// With two significant digits: for shares, of which more would be noise.
pub(crate) fn share(value: f64) -> String {
    let decimals = if value > 0.0 && value < 1.0 { (-value.log10()).floor().clamp(0.0, 9.0) as usize + 2 } else { 1 };
    let text = fixed(value, decimals);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// How many decimals a number was written with, at most four.
pub(crate) fn decimals(value: f64) -> usize {
    let text = format!("{value}");
    text.split_once('.').map_or(0, |(_, rest)| rest.len().min(4))
}

/// Seconds to the millisecond, and below ten of these to the microsecond: a short phase has not cost nothing.
pub(crate) fn seconds(value: f64) -> String {
    fixed(value, if value.abs() < 0.01 { 6 } else { 3 })
}

/// A time in the unit that makes it shortest.
pub(crate) fn time_us(us: u64) -> String {
    match us {
        0 => "0".into(),
        1..1000 => format!("{us} \u{b5}s"),
        1000..1_000_000 => format!("{} ms", short(us as f64 / 1e3)),
        _ => format!("{} s", short(us as f64 / 1e6)),
    }
}

/// A point in time, precise enough to distinguish it from the next one: beyond a second to the millisecond.
pub(crate) fn moment_us(us: u64) -> String {
    if us < 1_000_000 { time_us(us) } else { format!("{} s", fixed(us as f64 / 1e6, 3)) }
}

/// Bytes, in powers of 1024.
pub(crate) fn bytes(count: f64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = count;
    let mut unit = units[0];
    for next in &units[1..] {
        if value.abs() < 1024.0 {
            break;
        }
        (value, unit) = (value / 1024.0, next);
    }
    format!("{} {unit}", short(value))
}

/// Positions for the lines of an axis from `low` to `high`: round numbers, about `wanted` of them, and the decimals
/// that they need. None if the two are equal or too far apart for numbers.
pub(crate) fn ticks(low: f64, high: f64, wanted: usize) -> (Vec<f64>, usize) {
    let span = high - low;
    if !(span.is_finite() && span > 0.0) {
        return (Vec::new(), 0);
    }
    let rough = span / wanted as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|by| by * power).into_iter().find(|step| *step >= rough).unwrap_or(rough);
    let decimals = if step >= 1.0 { 0 } else { (-step.log10()).ceil().clamp(0.0, 9.0) as usize };
    // Counted, because adding up would accumulate rounding errors.
    let first = (low / step).ceil();
    let ticks = (0..=wanted * 2).map(|at| (first + at as f64) * step).take_while(|tick| *tick <= high + step * 1e-9);
    (ticks.collect(), decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_thousands_stand_apart() {
        assert_eq!(fixed(1234567.891, 1), "1,234,567.9");
        assert_eq!(fixed(-0.04, 1), "0.0");
        assert_eq!(fixed(-1234.0, 0), "\u{2212}1,234");
        assert_eq!(
            [0.0, 0.01234, 3.0, 3.21159, 99.95, 36075.4].map(short),
            ["0", "0.0123", "3", "3.21", "100", "36,075"]
        );
        assert_eq!(
            [1.0, 0.999, 0.206, 0.66, 0.0123, 0.5, 0.0].map(share),
            ["1", "1", "0.21", "0.66", "0.012", "0.5", "0"]
        );
        assert_eq!(fixed(1e300, 2), "1.000e300");
        assert_eq!([390.7, 68.02, 4.0, 0.1 + 0.2].map(decimals), [1, 2, 0, 4]);
        assert_eq!([0, 149, 34_929, 77_051_506].map(time_us), ["0", "149 \u{b5}s", "34.9 ms", "77.1 s"]);
        assert_eq!([1.25, 0.0123, 0.000_41].map(seconds), ["1.250", "0.012", "0.000410"]);
        assert_eq!([149, 30_017_213].map(moment_us), ["149 \u{b5}s", "30.017 s"]);
        assert_eq!([512.0, 65536.0, 1.5e9].map(bytes), ["512 B", "64 KiB", "1.4 GiB"]);
    }

    #[test]
    fn an_axis_has_round_numbers() {
        assert_eq!(ticks(0.0, 10.0, 5), (vec![0.0, 2.0, 4.0, 6.0, 8.0, 10.0], 0));
        assert_eq!(ticks(-0.3, 0.9, 4), (vec![0.0, 0.5], 1));
        assert_eq!(ticks(0.0, 0.05, 5).1, 2);
        assert!(ticks(3.0, 3.0, 5).0.is_empty() && ticks(-f64::MAX, f64::MAX, 5).0.is_empty());
    }
}
