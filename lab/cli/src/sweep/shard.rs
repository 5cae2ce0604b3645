//! `I/N`: one of several machines that share a sweep.

use ordo_crash::Shard;

/// Parses `I/N`, where I is from 1 to N.
///
/// # Errors
/// One line, for the user, about what is wrong with the text.
pub(crate) fn parse(text: &str) -> Result<Shard, String> {
    let parts = text.split_once('/').and_then(|(part, of)| Some((part.parse::<u32>().ok()?, of.parse::<u32>().ok()?)));
    match parts {
        Some((part, of)) if (1..=of).contains(&part) && of <= MOST => Ok(Shard { index: part - 1, of }),
        _ => Err(format!("{text:?} is not a shard; write 2/8 for the second of eight ({MOST} at most)")),
    }
}

/// Maximum number of parts: multiplied by the maximum number of threads it still fits in 32 bits.
const MOST: u32 = 1 << 20;

/// The textual form, as it is parsed.
pub(crate) fn name(shard: Shard) -> String {
    format!("{}/{}", shard.index + 1, shard.of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_counted_from_one() {
        assert_eq!(parse("1/1"), Ok(Shard::WHOLE));
        assert_eq!(parse("3/8"), Ok(Shard { index: 2, of: 8 }));
        for text in ["", "0/2", "3/2", "1", "a/b", "1/0", "1/9999999"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(name(parse("3/8").unwrap()), "3/8");
    }
}
