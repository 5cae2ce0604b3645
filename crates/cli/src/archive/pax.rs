//! The records of a PAX header: `LENGTH KEY=VALUE`, each with an end of line. A value may have any bytes.

use crate::text;
use anyhow::{Context, bail};
use ordo_vfs::Stamp;

/// The records of one header, in their order.
#[derive(Debug, Default)]
pub(super) struct Pax(Vec<(Vec<u8>, Vec<u8>)>);

impl Pax {
    /// Reads the records.
    ///
    /// # Errors
    /// When one is not as POSIX says.
    pub(super) fn parse(mut bytes: &[u8]) -> anyhow::Result<Pax> {
        let mut all = Vec::new();
        while !bytes.is_empty() && bytes[0] != 0 {
            let one = record(bytes).context("a wrong record in a PAX header")?;
            all.push((one.0.to_vec(), one.1.to_vec()));
            bytes = one.2;
        }
        Ok(Pax(all))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a key; the last record counts.
    pub(super) fn bytes(&self, key: &str) -> Option<&[u8]> {
        let found = self.0.iter().rev().find(|(found, _)| found == key.as_bytes());
        found.map(|(_, value)| &value[..]).filter(|value| !value.is_empty())
    }

    /// All records, in their order.
    pub(super) fn records(&self) -> &[(Vec<u8>, Vec<u8>)] {
        &self.0
    }

    /// A number.
    ///
    /// # Errors
    /// When it is none: other readers take another one then, and see another file.
    pub(super) fn number(&self, key: &str) -> anyhow::Result<Option<u64>> {
        let Some(value) = self.bytes(key) else { return Ok(None) };
        let digits = std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
        let number = digits.and_then(|text| text.parse().ok());
        let wrong = || format!("{key}={} in its PAX header is no number from 0 to {}", text::escape(value), u64::MAX);
        number.with_context(wrong).map(Some)
    }

    /// A time, as decimal seconds.
    ///
    /// # Errors
    /// When it is none.
    pub(super) fn time(&self, key: &str) -> anyhow::Result<Option<Stamp>> {
        let Some(bytes) = self.bytes(key) else { return Ok(None) };
        let wrong = || format!("{key} of a PAX header is no time");
        let text = std::str::from_utf8(bytes).with_context(wrong)?;
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let secs: i64 = whole.parse().with_context(wrong)?;
        let digits: String = part.chars().chain(std::iter::repeat('0')).take(9).collect();
        let nanos: u32 = digits.parse().with_context(wrong)?;
        Ok(Some(match whole.starts_with('-') && nanos > 0 {
            true => Stamp { secs: secs - 1, nanos: 1_000_000_000 - nanos },
            false => Stamp { secs, nanos },
        }))
    }

    /// The map of a sparse file in the two older forms: stored ranges.
    ///
    /// # Errors
    /// When it has something else than numbers.
    pub(super) fn sparse(&self) -> anyhow::Result<Option<Vec<(u64, u64)>>> {
        let mut numbers: Vec<&[u8]> = Vec::new();
        for (key, value) in &self.0 {
            match &key[..] {
                b"GNU.sparse.map" => numbers.extend(value.split(|&b| b == b',')),
                b"GNU.sparse.offset" | b"GNU.sparse.numbytes" => numbers.push(value),
                _ => {}
            }
        }
        if numbers.is_empty() {
            return Ok(None);
        }
        let mut map = Vec::new();
        for pair in numbers.chunks(2) {
            let [at, len] = pair else { bail!("the map of its holes is wrong") };
            let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<u64>().ok();
            map.push(number(at).zip(number(len)).context("the map of its holes is wrong")?);
        }
        Ok(Some(map))
    }
}

/// The first record: key, value, and what follows.
fn record(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let space = bytes.iter().position(|&b| b == b' ')?;
    let len: usize = std::str::from_utf8(&bytes[..space]).ok()?.parse().ok()?;
    let line = bytes.get(space + 1..len)?.strip_suffix(b"\n")?;
    let equal = line.iter().position(|&b| b == b'=')?;
    Some((&line[..equal], &line[equal + 1..], &bytes[len..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_may_have_ends_of_lines_and_a_wrong_length_is_refused() {
        let pax = Pax::parse(b"12 path=a\nb\n29 mtime=1700000000.25000000\n").unwrap();
        assert_eq!(pax.bytes("path"), Some(&b"a\nb"[..]));
        assert_eq!(pax.time("mtime").unwrap(), Some(Stamp { secs: 1_700_000_000, nanos: 250_000_000 }));
        let pax = Pax::parse(b"9 size=1\n10 uid=-5\n28 gid=18446744073709551616\n11 mode=+1\n").unwrap();
        assert_eq!(pax.number("size").unwrap(), Some(1));
        assert_eq!(pax.number("atime").unwrap(), None);
        for key in ["uid", "gid", "mode"] {
            assert!(pax.number(key).unwrap_err().to_string().contains(key), "{key}");
        }
        for wrong in [&b"13 path=a\nb\n"[..], b"x path=a\n", b"9 path=a", b"999 path=a\n", b"3 =\n"] {
            assert!(Pax::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
