//! One colour a scheme, in all charts of a page.
//!
//! K1. A scheme has its colour whatever the others beside it are, and those of the papers that are the same way have
//!     the same: who has learnt one chart can read the next.
//! K2. What is no scheme takes the colours that are left in its own chart.

/// Colours of the page; those that go on repeat them, and each bar has its label beside it.
pub(crate) const COLOURS: usize = 10;

/// How the names of a way begin, each with its colour. The first that fits is taken.
const WAYS: [(&str, usize); 16] = [
    ("softupdates", 2),
    ("soft-updates", 2),
    ("suj", 3),
    ("async", 1),
    ("no-order", 1),
    ("ffs-async", 1),
    ("sync", 0),
    ("conventional", 0),
    ("ffs", 0),
    ("wafs", 4),
    ("lffs-wafs", 4),
    ("journal-file", 5),
    ("lffs-file", 5),
    ("block-journal", 6),
    ("active", 7),
    ("lfs", 8),
];

fn known(name: &str) -> Option<usize> {
    let begins =
        |way: &str| name.strip_prefix(way).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()));
    WAYS.iter().find(|(way, _)| begins(way)).map(|(_, colour)| *colour)
}

/// The colours of what one chart shows.
pub(crate) fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<usize> {
    let known: Vec<Option<usize>> = names.into_iter().map(known).collect();
    let mut free =
        (0..COLOURS).filter(|colour| !known.contains(&Some(*colour))).collect::<Vec<_>>().into_iter().cycle();
    known.iter().map(|colour| colour.or_else(|| free.next()).unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheme_has_one_colour_in_any_company() {
        let all = ["sync", "async", "softupdates", "suj", "wafs", "journal-file", "block-journal", "active", "lfs"];
        let colours = of(all);
        let mut distinct = colours.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), all.len(), "no two alike: {colours:?}");
        assert_eq!(of(["suj", "ext4", "softupdates", "xfs"]), [colours[3], 0, colours[2], 1]);
        assert_eq!(of(["suj (2)", "soft-updates+ai", "no-order"]), [colours[3], colours[2], colours[1]]);
        assert_eq!(of(["syncer"]), [0]);
        assert_eq!(of(["ext4"; 12]).len(), 12);
    }
}
