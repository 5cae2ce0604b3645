//! Sizes in human-readable form: `512`, `64k`, `1G`; powers of 1024.

pub use ordofs::parse_size as parse;

const SUFFIXES: [char; 5] = ['k', 'M', 'G', 'T', 'P'];

/// As [`parse`], for a size that is stored in 32 bits.
///
/// # Errors
/// As [`parse`], and for 4G or more.
pub fn parse_u32(text: &str) -> Result<u32, String> {
    u32::try_from(parse(text)?).map_err(|_| format!("{text:?} is too large here"))
}

/// A size with at most one digit behind the point: `512`, `64.0k`, `1.5G`.
pub fn human(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut suffix = None;
    for next in SUFFIXES {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        suffix = Some(next);
    }
    match suffix {
        None => bytes.to_string(),
        Some(suffix) => format!("{value:.1}{suffix}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_1024_in_every_spelling() {
        let same = [("512", 512), ("64k", 65536), ("64K", 65536), ("64KiB", 65536), ("1M", 1 << 20), ("3GB", 3 << 30)];
        for (text, bytes) in same {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        assert_eq!(parse("2T"), Ok(2 << 40));
        assert_eq!(parse_u32("4k"), Ok(4096));
    }

    #[test]
    fn a_text_that_is_not_a_size_is_refused() {
        for text in ["", "k", "-1", "1.5G", "1x", "1kk", "1 k", "99999999999G", "18446744073709551616"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse_u32("4G").is_err());
    }

    #[test]
    fn large_numbers_are_shortened_for_people() {
        let shown: Vec<String> = [0, 1023, 1024, 1536, 1 << 30, u64::MAX].into_iter().map(human).collect();
        assert_eq!(shown, ["0", "1023", "1.0k", "1.5k", "1.0G", "16384.0P"]);
    }
}
