//! Which way is best for which work: the best of each in short, what a crash costs under each way, and all numbers.
//!
//! A table here has a column for each disk and wraps, so that it fits a phone; the best is said in words.

use crate::number::short;
use crate::results::{Choice, Chosen, Way};
use maud::{Markup, html};

/// The parts of the section, below its heading.
pub(crate) fn of(choice: &Choice) -> Markup {
    html! {
        @if !choice.says.is_empty() { p { (choice.says) } }
        h4 { "The fastest" }
        table.choice {
            caption.hidden { "The fastest for each work" }
            thead { tr {
                th scope="col" { "work" }
                @for disk in &choice.disks { th scope="col" { (disk) } }
            } }
            tbody { @for work in &choice.works { tr {
                th scope="row" { (work.name) }
                @for disk in 0..choice.disks.len() { td { (names(work, disk, &choice.ways)) } }
            } } }
        }
        h4 { "What a crash costs" }
        dl.ways { @for way in &choice.ways { (crash(way)) } }
        h4 { "All numbers" }
        div.many { @for work in &choice.works { (numbers(choice, work)) } }
    }
}

/// The best of a disk. Where most are as fast, the others are named; where all are, nobody is.
fn names(work: &Chosen, disk: usize, ways: &[Way]) -> String {
    let best = work.best.get(disk).map_or(&[][..], |best| &best[..]);
    let run = work.rates.get(disk).map_or(0, |rates| rates.iter().flatten().count());
    let others: Vec<&str> = ways.iter().map(|way| &*way.name).filter(|name| !best.iter().any(|b| b == name)).collect();
    match others.len() {
        _ if best.is_empty() => "\u{2013}".into(),
        0 if run == ways.len() => "no difference".into(),
        few if run == ways.len() && few < best.len() => format!("all but {}", others.join(", ")),
        _ => best.join(", "),
    }
}

fn crash(way: &Way) -> Markup {
    html! {
        dt {
            (way.name) " "
            small {
                (way.what)
                @if !way.scheme.is_empty() && way.scheme != way.name { " (scheme " (way.scheme) ")" }
            }
        }
        dd { (way.crash) }
    }
}

fn numbers(choice: &Choice, work: &Chosen) -> Markup {
    html! {
        table.choice.rates {
            caption { strong { (work.name) } " " small { (work.unit) } }
            thead { tr {
                th scope="col" { "way" }
                @for disk in &choice.disks { th scope="col" { (disk) } }
            } }
            tbody { @for (at, way) in choice.ways.iter().enumerate() { tr {
                th scope="row" { (way.name) }
                @for disk in 0..choice.disks.len() {
                    @let rate = work.rates.get(disk).and_then(|rates| rates.get(at)).copied().flatten();
                    @let best = work.best.get(disk).is_some_and(|best| best.contains(&way.name));
                    td {
                        @if best { strong { (rate.map_or_else(String::new, short)) } " " small { "best" } }
                        @else { (rate.map_or_else(|| "\u{2013}".into(), short)) }
                    }
                }
            } } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(text: &str) -> String {
        of(&serde_json::from_str(text).unwrap()).into_string()
    }

    #[test]
    fn the_best_is_named_and_marked_by_a_word() {
        let text = r#"{"title":"t","says":"how","disks":["old","new"],
            "ways":[{"name":"log","what":"a log","scheme":"lfs","crash":"reads the log"},{"name":"ffs","crash":"fsck"}],
            "works":[{"name":"create","unit":"files/s","rates":[[400,28.25],[100,99]],"best":[["log"],["log","ffs"]]},
                {"name":"none","unit":"files/s","rates":[[null,7]],"best":[["ffs"]]}]}"#;
        let shown = drawn(text);
        assert!(shown.contains("<td><strong>400</strong> <small>best</small></td><td>"), "{shown}");
        assert!(shown.contains("<td>28.3</td>") || shown.contains("<td>28.2</td>"), "{shown}");
        assert!(shown.contains("<th scope=\"row\">create</th><td>log</td><td>no difference</td>"), "{shown}");
        assert!(shown.contains("a log (scheme lfs)") && shown.contains("<dd>reads the log</dd>"), "{shown}");
        // Nothing was run on the second disk, and one way has no number on the first.
        assert!(shown.contains("<th scope=\"row\">none</th><td>ffs</td><td>\u{2013}</td>"), "{shown}");
        assert_eq!(shown.matches("best</small>").count(), 4, "{shown}");
    }

    #[test]
    fn where_most_are_as_fast_the_others_are_named() {
        let text = r#"{"disks":["one"],"ways":[{"name":"a"},{"name":"b"},{"name":"c"}],
            "works":[{"name":"w","rates":[[10,5,10]],"best":[["c","a"]]},{"name":"v","rates":[[10,null,10]],"best":[["c","a"]]}]}"#;
        let shown = drawn(text);
        assert!(shown.contains("<td>all but b</td>") && shown.contains("<td>c, a</td>"), "{shown}");
    }

    #[test]
    fn what_is_missing_breaks_nothing() {
        for text in ["{}", r#"{"disks":["a"],"ways":[{}],"works":[{"name":"w"}]}"#] {
            assert!(!drawn(text).contains("NaN"));
        }
    }
}
