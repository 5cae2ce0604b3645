//! The results of the power-cut explorer: a row for each exploration, and below it the violations.

use crate::document::{Crash, Violation};
use crate::number::fixed;
use maud::{Markup, html};
use serde_json::Value;

/// A section for all explorations.
pub(crate) fn of(crashes: &[Crash]) -> Markup {
    let names = ["violations", "workload", "disk", "writes", "states tried"];
    html! {
        p.lead { "The power was cut at every moment, undurable writes were lost, kept and torn; each state was recovered and held to what the scheme promises." }
        div.scroll tabindex="0" role="region" aria-label="Power cuts" {
            table.numbers.words {
                caption.hidden { "Power cuts" }
                thead { tr { th scope="col" { "scheme" } @for name in names { th scope="col" { (name) } } } }
                tbody { @for crash in crashes { (line(crash)) } }
            }
        }
        @for crash in crashes.iter().filter(|crash| !crash.violations.is_empty()) {
            details {
                summary { (crash.scheme) ", " (crash.workload) ": what was violated" }
                ul.plain { @for violation in &crash.violations { li { (found(violation)) } } }
            }
        }
    }
}

fn line(crash: &Crash) -> Markup {
    let violations = crash.violations_total.unwrap_or(crash.violations.len() as f64);
    html! {
        tr {
            th scope="row" {
                (crash.scheme)
                @if !crash.without.is_empty() { " " small { "without " (crash.without.join(", ")) } }
            }
            td.word {
                @if violations > 0.0 { span.badge.broken { span aria-hidden="true" { "\u{2717} " } (fixed(violations, 0)) } }
                @else {
                    span.badge.held { span aria-hidden="true" { "\u{2713} " } "none" }
                    @if crash.leaks_only == Some(true) { " " small { "leaks at most" } }
                }
            }
            td.word { (crash.workload) }
            td.word { (crash.disk) }
            td { (fixed(crash.writes, 0)) }
            td { (fixed(crash.states, 0)) }
        }
    }
}

fn found(violation: &Violation) -> Markup {
    let oracle = match &violation.oracle {
        Value::String(name) => name.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    html! {
        strong { (oracle) } @if !violation.call.is_empty() { " after " code { (violation.call) } }
        p { (violation.detail) }
        @if !violation.id.is_empty() { p { small { "again: " code { "ordo crash --replay '" (violation.id) "'" } } } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exploration_is_a_row_with_all_its_violations_counted() {
        let read = |text: &str| serde_json::from_str::<Crash>(text).unwrap();
        let good = read(r#"{"scheme":"suj","workload":"mixed","states":12000,"violations":[],"leaks_only":true}"#);
        let bad = r#"{"scheme":"async","workload":"<w>","states":5,"violations":[{"oracle":"fsynced-data","detail":"<i>"}],
            "violations_total":1234}"#;
        let drawn = of(&[good, read(bad)]).into_string();
        for shown in ["12,000", "none", "leaks at most", "1,234", "fsynced-data", "&lt;w&gt;", "&lt;i&gt;"] {
            assert!(drawn.contains(shown), "{shown}: {drawn}");
        }
    }
}
