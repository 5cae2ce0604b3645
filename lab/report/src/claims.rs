//! The claims of a paper, and whether they hold here.

use crate::results::Verdict;
use maud::{Markup, html};

/// The verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Became {
    Held,
    Broken,
    Untested,
}

impl Became {
    const ALL: [Became; 3] = [Became::Held, Became::Broken, Became::Untested];

    fn of(claim: &Verdict) -> Became {
        match (claim.tested, claim.holds) {
            (false, _) | (_, None) => Became::Untested,
            (true, Some(true)) => Became::Held,
            (true, Some(false)) => Became::Broken,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Became::Held => "held",
            Became::Broken => "broken",
            Became::Untested => "untested",
        }
    }

    /// A mark, and its text.
    fn says(self) -> (&'static str, &'static str) {
        match self {
            Became::Held => ("\u{2713}", "holds"),
            Became::Broken => ("\u{2717}", "does not hold"),
            Became::Untested => ("\u{25cb}", "not tested"),
        }
    }
}

fn count(claims: &[Verdict], verdict: Became) -> usize {
    claims.iter().filter(|claim| Became::of(claim) == verdict).count()
}

/// The same without markup.
pub(crate) fn digest(claims: &[Verdict]) -> String {
    let [held, broken, untested] = Became::ALL.map(|verdict| count(claims, verdict));
    let untested = if untested > 0 { format!(", {untested} not tested") } else { String::new() };
    if claims.is_empty() { String::new() } else { format!("{held} of {} tested claims hold{untested}", held + broken) }
}

/// One line: how many were tested, and how many hold.
pub(crate) fn verdict(claims: &[Verdict]) -> Markup {
    let [held, broken, untested] = Became::ALL.map(|verdict| count(claims, verdict));
    html! {
        @if !claims.is_empty() {
            div.verdict {
                p {
                    strong { (held) " of " (held + broken) } " tested claims hold"
                    @if broken > 0 { ", " (broken) " " (if broken == 1 { "does" } else { "do" }) " not" }
                    @if untested > 0 { "; " (untested) " " (if untested == 1 { "was" } else { "were" }) " not tested" }
                    "."
                }
                div.share aria-hidden="true" {
                    @for verdict in Became::ALL {
                        span class=(verdict.name()) style=(format!("flex-grow:{}", count(claims, verdict))) {}
                    }
                }
            }
        }
    }
}

/// What most reasons begin with, up to a semicolon: said once above the table, it need not be said in each row.
fn common(claims: &[Verdict]) -> Option<&str> {
    let first = |claim: &'_ Verdict| -> usize { claim.why.find("; ").unwrap_or(claim.why.len()) };
    let starts: Vec<&str> =
        claims.iter().filter(|claim| !claim.why.is_empty()).map(|claim| &claim.why[..first(claim)]).collect();
    let count = |start: &str| starts.iter().filter(|other| **other == start).count();
    let most = starts.iter().copied().max_by_key(|start| count(start))?;
    (count(most) > 2 && count(most) * 2 > starts.len()).then_some(most)
}

/// A reason without what is said above.
fn rest<'a>(why: &'a str, common: Option<&str>) -> &'a str {
    let after = common.and_then(|common| why.strip_prefix(common));
    after.map_or(why, |rest| rest.strip_prefix("; ").unwrap_or(rest))
}

/// The claims, grouped by verdict; `id` distinguishes the filters of a page.
pub(crate) fn table(id: &str, claims: &[Verdict]) -> Markup {
    let common = common(claims);
    html! {
        @if let Some(why) = common { p { "Why, unless a row says more: " (why) "." } }
        fieldset.claims {
            legend.hidden { "Which claims to show" }
            input.all type="radio" name=(id) id=(format!("{id}-all")) checked;
            label for=(format!("{id}-all")) { "all " small { (claims.len()) } }
            @for verdict in Became::ALL {
                input class=(verdict.name()) type="radio" name=(id) id=(format!("{id}-{}", verdict.name()));
                label for=(format!("{id}-{}", verdict.name())) { (verdict.says().1) " " small { (count(claims, verdict)) } }
            }
            table {
                caption.hidden { "Claims, and what became of them" }
                thead { tr { @for name in ["claim", "expected", "ours", "why"] { th scope="col" { (name) } } } }
                @for verdict in Became::ALL.into_iter().filter(|verdict| count(claims, *verdict) > 0) {
                    tbody class=(verdict.name()) {
                        tr { th.group scope="rowgroup" colspan="4" { (badge(verdict)) } }
                        @for claim in claims.iter().filter(|claim| Became::of(claim) == verdict) { (line(claim, common)) }
                    }
                }
            }
        }
    }
}

fn badge(verdict: Became) -> Markup {
    let (mark, words) = verdict.says();
    html! { span class=(format!("badge {}", verdict.name())) { span aria-hidden="true" { (mark) " " } (words) } }
}

fn line(claim: &Verdict, common: Option<&str>) -> Markup {
    html! {
        tr {
            th scope="row" {
                (claim.statement)
                small { (claim.id) @if !claim.place.is_empty() { @if !claim.id.is_empty() { " \u{b7} " } (claim.place) } }
            }
            @for (name, value) in [("expected", &*claim.expected), ("ours", &*claim.ours), ("why", rest(&claim.why, common))] {
                @if value.is_empty() { td.empty {} } @else { td data-name=(name) { (value) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(tested: bool, holds: Option<bool>) -> Verdict {
        Verdict { statement: "it is fast".into(), tested, holds, ..Verdict::default() }
    }

    #[test]
    fn a_claim_is_held_broken_or_not_tested() {
        let known = [(true, Some(true)), (true, Some(false)), (false, Some(true)), (true, None)];
        let found = known.map(|(tested, holds)| Became::of(&claim(tested, holds)));
        assert_eq!(found, [Became::Held, Became::Broken, Became::Untested, Became::Untested]);
        let claims = known.map(|(tested, holds)| claim(tested, holds));
        let said = verdict(&claims).into_string();
        assert!(said.contains("<strong>1 of 2</strong> tested claims hold, 1 does not; 2 were not tested."), "{said}");
        assert!(verdict(&[]).into_string().is_empty());
    }

    #[test]
    fn a_reason_that_most_have_is_said_once() {
        let of = |whys: &[&str]| {
            whys.iter().map(|why| Verdict { why: (*why).into(), ..claim(true, Some(true)) }).collect::<Vec<_>>()
        };
        let claims = of(&["seen; for example x", "seen", "seen", "another", ""]);
        let shown = table("t", &claims).into_string();
        assert_eq!((shown.matches("seen").count(), shown.matches("another").count()), (1, 1), "{shown}");
        assert!(shown.contains("<td data-name=\"why\">for example x</td>"), "{shown}");
        assert_eq!(common(&of(&["a", "a", "b", "c"])), None);
        assert_eq!(common(&[]), None);
    }
}
