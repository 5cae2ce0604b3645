//! Features of systems: a table of yes and no with the number of states checked, and a witness for each no.

use crate::document::{Answer, Features, System};
use maud::{Markup, html};

/// The table, its caveats, and the witnesses.
pub(crate) fn of(found: &Features) -> Markup {
    let shows = |system: &&System| system.answers.iter().any(|answer| !answer.shows.is_empty());
    html! {
        p { (found.doubt) }
        div.scroll tabindex="0" role="region" aria-label=(found.title) {
            table.numbers.answers {
                caption.hidden { (found.title) }
                thead { tr {
                    th scope="col" { "system" }
                    th scope="col" { "recovery" }
                    @for asked in &found.asked { th scope="col" { (asked.name) } }
                } }
                tbody { @for system in &found.systems { tr {
                    th scope="row" {
                        (system.name)
                        @if system.scheme != system.name { br; small { (system.scheme) } }
                    }
                    td { (system.recovery.replace('-', " ")) }
                    @for answer in &system.answers { td { (cell(answer)) } }
                } } }
            }
        }
        dl { @for asked in &found.asked { dt { (asked.name) } dd { (asked.says) } } }
        @for system in found.systems.iter().filter(shows) {
            details {
                summary { (system.name) ": what shows it" }
                dl { @for (asked, answer) in found.asked.iter().zip(&system.answers).filter(|(_, answer)| !answer.shows.is_empty()) {
                    dt { (asked.name) }
                    dd {
                        (answer.shows)
                        @if !answer.witness.is_empty() { br; code { (answer.witness) } }
                    }
                } }
            }
        }
    }
}

fn cell(answer: &Answer) -> Markup {
    let word = if answer.yes { "yes" } else { "no" };
    html! {
        (word)
        @if answer.states > 0 {
            " " small { @if answer.yes { (answer.states) } @else { (answer.against) " of " (answer.states) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_no_tells_how_often_and_where_and_a_yes_of_how_many() {
        let text = r#"{"title":"t","doubt":"no proof","asked":[{"name":"atomic","says":"wholly"},{"name":"later"}],
            "systems":[{"name":"s","scheme":"sync","recovery":"maybe-impossible",
                "answers":[{"yes":false,"states":9,"against":2,"witness":"the:id","shows":"both names"},{"yes":true}]}]}"#;
        let shown = of(&serde_json::from_str(text).unwrap()).into_string();
        assert!(shown.contains("no <small>2 of 9</small>") && shown.contains("<td>yes</td>"), "{shown}");
        assert!(shown.contains("<code>the:id</code>") && shown.contains("no proof"), "{shown}");
        assert!(shown.contains("s<br><small>sync</small>"), "a name and its scheme are two words: {shown}");
        assert!(shown.contains("maybe impossible") && shown.contains("both names"), "{shown}");
    }
}
