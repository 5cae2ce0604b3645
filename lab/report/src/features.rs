//! Features of systems: a table of yes and no with the number of states checked, and a witness for each no.

use crate::number::fixed;
use crate::results::{Answer, Features, System};
use crate::words::word;
use crate::yes_or_no;
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
                    @for asked in &found.asked { th scope="col" { (asked.name) } }
                    th scope="col" { "recovery" }
                } }
                tbody { @for system in &found.systems { tr {
                    th scope="row" {
                        (system.name)
                        @if system.scheme != system.name { br; small { (system.scheme) } }
                    }
                    @for answer in &system.answers { td { (cell(answer)) } }
                    td { (system.recovery.replace('-', " ")) }
                } } }
            }
        }
        dl.keys {
            div { dt { "yes 1,105" } dd { "1,105 " (word("state", "states")) " after a power cut were examined, and none shows the contrary" } }
            div { dt { "no 63 of 157" } dd { "of 157 states 63 show the contrary; one of them is below" } }
            @for asked in &found.asked { div { dt { (asked.name) } dd { (asked.says) } } }
            div { dt { "recovery" } dd { "what is needed before the volume is used again" } }
        }
        @if found.systems.iter().any(|system| shows(&system)) { details {
            summary { "A state for each no" }
            @for system in found.systems.iter().filter(shows) {
                h5 { (system.name) }
                dl.pair { @for (asked, answer) in found.asked.iter().zip(&system.answers).filter(|(_, answer)| !answer.shows.is_empty()) {
                    dt { (asked.name) }
                    dd {
                        (answer.shows)
                        @if !answer.witness.is_empty() { br; code { (answer.witness) } }
                    }
                } }
            }
        } }
    }
}

fn cell(answer: &Answer) -> Markup {
    let number = |count: u64| fixed(count as f64, 0);
    html! {
        (yes_or_no::of(answer.yes, answer.yes))
        @if answer.states > 0 {
            " " small { @if answer.yes { (number(answer.states)) } @else { (number(answer.against)) " of " (number(answer.states)) } }
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
        assert!(shown.contains("no</span> <small>2 of 9</small>") && shown.contains("yes</span></td>"), "{shown}");
        assert!(shown.contains("<code>the:id</code>") && shown.contains("no proof"), "{shown}");
        assert!(shown.contains("s<br><small>sync</small>"), "a name and its scheme are two words: {shown}");
        assert!(shown.contains("maybe impossible") && shown.contains("both names"), "{shown}");
    }
}
