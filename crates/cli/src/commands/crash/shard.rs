//! `I/N`: one of several machines that share an exploration.

use ordo_crash::Shard;

/// Parses `I/N`, where I is from 1 to N.
///
/// # Errors
/// One line, for the user, about what is wrong with the text.
pub(super) fn parse(text: &str) -> Result<Shard, String> {
    let parts = text.split_once('/').and_then(|(part, of)| Some((part.parse::<u32>().ok()?, of.parse::<u32>().ok()?)));
    match parts {
        Some((part, of)) if (1..=of).contains(&part) && of <= MOST => Ok(Shard { index: part - 1, of }),
        _ => Err(format!("{text:?} is not a shard; write 2/8 for the second of eight ({MOST} at most)")),
    }
}

/// Maximum number of parts: multiplied by the maximum number of threads it still fits in 32 bits.
const MOST: u32 = 1 << 20;

/// The textual form, as it is parsed.
pub(super) fn name(shard: Shard) -> String {
    format!("{}/{}", shard.index + 1, shard.of)
}

/// Combines shards of one exploration: the whole if all are there.
pub(super) fn together(names: &[String]) -> Result<Vec<String>, String> {
    let mut shards: Vec<Shard> = names.iter().map(|name| parse(name)).collect::<Result<_, _>>()?;
    shards.sort_by_key(|shard| shard.index);
    if let Some(other) = shards.iter().find(|shard| shard.of != shards[0].of) {
        return Err(format!("{} and {} are not shards of one exploration", name(shards[0]), name(*other)));
    }
    if let Some(twice) = shards.windows(2).find(|two| two[0] == two[1]) {
        return Err(format!("shard {} is given twice", name(twice[0])));
    }
    let whole = shards.first().is_some_and(|first| first.of as usize == shards.len());
    Ok(if whole { vec![name(Shard::WHOLE)] } else { shards.into_iter().map(name).collect() })
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

    #[test]
    fn all_parts_are_the_whole() {
        let of = |names: &[&str]| together(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["2/2", "1/2"]), Ok(vec!["1/1".to_owned()]));
        assert_eq!(of(&["3/3", "1/3"]), Ok(vec!["1/3".to_owned(), "3/3".to_owned()]));
        assert!(of(&["1/2", "1/2"]).unwrap_err().contains("twice"));
        assert!(of(&["1/2", "2/3"]).is_err());
    }
}
