//! The numbers in the fields of a header.
//!
//! Octal text, which a blank or a NUL ends, and which blanks may precede; a field of nothing else is 0, as GNU tar and
//! bsdtar read it. If the first bit is set, the field is a number of base 256 with a sign (GNU): times before 1970 are
//! written so.

use crate::text;
use anyhow::{Context, bail};

/// The number of a field.
///
/// # Errors
/// When it has something else, or more than 64 bits.
pub(super) fn field(bytes: &[u8]) -> anyhow::Result<i64> {
    if let Some((&first, rest)) = bytes.split_first()
        && first & 0x80 != 0
    {
        // The bit after the mark is the sign.
        let head = if first & 0x40 != 0 { i128::from(first) - 0x100 } else { i128::from(first & 0x7f) };
        let value = rest.iter().try_fold(head, |value, &byte| value.checked_mul(256)?.checked_add(byte.into()));
        return value.and_then(|value| i64::try_from(value).ok()).context("a number of more than 64 bits");
    }
    let text = bytes.trim_ascii_start();
    let end = text.iter().position(|&b| b == 0 || b == b' ').unwrap_or(text.len());
    let digits = &text[..end];
    if digits.iter().any(|b| !(b'0'..=b'7').contains(b)) {
        bail!("{} is no octal number", text::escape(digits));
    }
    let value = digits.iter().try_fold(0i64, |value, b| value.checked_mul(8)?.checked_add((b - b'0').into()));
    value.context("a number of more than 64 bits")
}

/// The number of a field that counts something.
///
/// # Errors
/// As [`field`], and below zero.
pub(super) fn count(bytes: &[u8]) -> anyhow::Result<u64> {
    let value = field(bytes)?;
    u64::try_from(value).with_context(|| format!("{value} is below zero"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_gnu_tar_reads_them() {
        for (bytes, value) in [
            (&b"0000644\0"[..], 0o644),
            (b"  644 \0\0", 0o644),
            (b"644\0junk", 0o644),
            (b"\0\0\0\0\0\0\0\0", 0),
            (b"        ", 0),
            (b"\x80\0\0\0\0\0\x01\0", 256),
            (b"\xff\xff\xff\xff\xff\xff\xff\xfe", -2),
            (b"\xff\xff\xff\xff\xff\xff\xff\xff\xed\xfc\xc6\x80", -302_201_216),
            (b"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", i64::MAX),
        ] {
            assert_eq!(field(bytes).unwrap(), value, "{bytes:?}");
        }
        for wrong in
            [&b"0000648\0"[..], b"-000001\0", b"6x4", b"\x80\0\0\0\x80\0\0\0\0\0\0\0", b"\xc0\0\0\0\0\0\0\0\0\0\0\0"]
        {
            assert!(field(wrong).is_err(), "{wrong:?}");
        }
        assert!(count(b"\xff\xff\xff\xff\xff\xff\xff\xfe").is_err());
    }
}
