//! Text for people: names that are safe for a terminal, times, modes, tables.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::fmt::Write;

/// `bytes` as one line without control characters: an image may contain any name, including one that reprograms a
/// terminal. Bytes that are not printable text are shown as `\xNN`.
pub fn escape(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => shown.push_str("\\\\"),
                c if is_harmless(c) => shown.push(c),
                c => c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| push_hex(&mut shown, byte)),
            }
        }
        chunk.invalid().iter().for_each(|&byte| push_hex(&mut shown, byte));
    }
    shown
}

/// The bytes that [`escape`] has shown.
pub fn unescape(shown: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::with_capacity(shown.len()), shown);
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        rest = &rest[at + 1..];
        let byte = rest.strip_prefix('x').and_then(|rest| u8::from_str_radix(rest.get(..2)?, 16).ok());
        let (byte, len) = byte.map_or((b'\\', usize::from(rest.starts_with('\\'))), |byte| (byte, 3));
        bytes.push(byte);
        rest = &rest[len..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}

/// As [`escape`], for a text of this program that quotes others: a backslash stays as it is.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if is_harmless(c) => line.push(c),
            '\n' => line.push(' '),
            c => c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| push_hex(&mut line, byte)),
        }
    }
    line
}

/// Also refuses marks that change the direction of writing, with which a name could appear as another one.
fn is_harmless(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn push_hex(text: &mut String, byte: u8) {
    // Writing to a String does not fail.
    let _ = write!(text, "\\x{byte:02x}");
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A time as `2026-11-21 10:36:05`, UTC.
pub fn time(secs: i64) -> String {
    time_in(secs, &TimeZone::UTC)
}

/// A time in this zone. What is beyond the calendar, as damage makes it, is `@SECONDS` since 1970.
pub fn time_in(secs: i64, zone: &TimeZone) -> String {
    match Timestamp::from_second(secs) {
        Ok(at) => at.to_zoned_datetime(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
        Err(_) => format!("@{secs}"),
    }
}

/// How far the zone is from UTC at this time: `+0100`.
pub fn offset_in(secs: i64, zone: &TimeZone) -> String {
    match Timestamp::from_second(secs) {
        Ok(at) => at.to_zoned_datetime(zone.clone()).strftime("%z").to_string(),
        Err(_) => "+0000".to_owned(),
    }
}

/// Rows as aligned columns; the first `left` columns are left-aligned, the others right-aligned.
pub fn table(left: usize, rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match column < left {
            true => format!("{cell:<width$}"),
            false => format!("{cell:>width$}"),
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_reach_the_terminal_as_control_bytes() {
        assert_eq!(escape(b"a\x1b[31mred\n\x7f"), "a\\x1b[31mred\\x0a\\x7f");
        assert_eq!(escape("\u{9b}31m\u{202e}".as_bytes()), "\\xc2\\x9b31m\\xe2\\x80\\xae");
        assert_eq!(escape(b"caf\xe9 \\ caf\xc3\xa9"), "caf\\xe9 \\\\ caf\u{e9}");
        assert_eq!(one_line("one\ntwo \\ \x1b"), "one two \\ \\x1b");
    }

    #[test]
    fn moments_are_shown_in_the_gregorian_calendar() {
        let shown = [0, 951_782_400, 4_107_542_399, -1, -62_135_596_800, 253_402_300_800].map(time);
        let right = [
            "1970-01-01 00:00:00",
            "2000-02-29 00:00:00",
            "2100-02-28 23:59:59",
            "1969-12-31 23:59:59",
            "0001-01-01 00:00:00",
            "@253402300800",
        ];
        assert_eq!(shown, right);
        // The extremes that a volume can store.
        assert!(!time(i64::MIN).is_empty() && !time(i64::MAX).is_empty());
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["name".to_owned(), "n".to_owned()], vec!["x".to_owned(), "1000".to_owned()]];
        assert_eq!(table(1, &rows), "name     n\nx     1000\n");
    }
}
