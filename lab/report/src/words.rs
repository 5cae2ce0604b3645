//! Words of the page that a newcomer does not know, from `docs/glossary.md`: a test compares them, so that they do not
//! diverge.

use maud::{Markup, html};

/// A word, its row in the glossary, and how that begins.
pub(crate) const WORDS: [(&str, &str, &str); 12] = [
    (
        "rollback",
        "rollback",
        "In an image that leaves, the unsafe changes are replaced by their old values, so that the image is consistent with the disk",
    ),
    (
        "dependency",
        "dependency",
        "One change that must not be on the disk before something else is, kept for each pointer and not for each block",
    ),
    ("flush", "flush, FUA", "A flush empties the disk's volatile cache."),
    ("durable", "durable", "It survives a power cut."),
    ("buf", "buf", "A piece of the volume in memory, found by what it is (`Key`), not by its address"),
    (
        "leave, land",
        "leave, land",
        "A buf *leaves* when the cache takes an image of it for the disk. It has *landed* when that image is durable",
    ),
    (
        "scheme",
        "layout, scheme",
        "A layout decides where a block goes, a scheme when and in which order a change becomes durable",
    ),
    (
        "step",
        "step",
        "One change in memory that the engine reports to the scheme; the engine then does what the scheme answers before it goes on",
    ),
    ("leak", "leak", "Space, an inode or a link that is marked used and is not used."),
    (
        "state",
        "state",
        "A cut of the power at one moment, and what became of each write that was not durable then: kept, lost or torn",
    ),
    ("violation", "violation", "A state that breaks a promise."),
    ("replay", "replay", "To do again what a log says, after a crash, before the volume is used"),
];

fn id(word: &str) -> String {
    format!("w-{}", word.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default())
}

/// A word that leads to its explanation; `word` is one of `WORDS`.
pub(crate) fn word(word: &str, shown: &str) -> Markup {
    html! { a.word href=(format!("#{}", id(word))) { (shown) } }
}

/// All of them, for the end of the page.
pub(crate) fn all() -> Markup {
    html! {
        dl.ways { @for (word, _, says) in WORDS {
            dt id=(id(word)) { (word) }
            dd { (says.replace(['*', '`'], "").trim_end_matches('.')) "." }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_those_of_the_glossary() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/glossary.md");
        let glossary = std::fs::read_to_string(path).expect("docs/glossary.md, the source of these words");
        for (_, row, says) in WORDS {
            assert!(glossary.contains(&format!("\n| {row} | {says}")), "docs/glossary.md says something else of {row}");
        }
    }

    #[test]
    fn every_word_has_a_place_of_its_own() {
        let shown = all().into_string();
        for (one, ..) in WORDS {
            let href = word(one, "x").into_string();
            let id = href.split('#').nth(1).and_then(|rest| rest.split('"').next()).unwrap();
            assert_eq!(shown.matches(&format!("id=\"{id}\"")).count(), 1, "{one}: {shown}");
        }
    }
}
