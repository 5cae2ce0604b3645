//! Judges a claim by the measurements.
//!
//! J1. A claim with bounds or a tolerance is judged by them.
//! J2. A number printed without a tolerance was measured on another machine: it holds within 20 per cent of itself, or
//!     within two of its own standard deviations if it has one.
//! J3. An order holds if each member of a group is on its side of each member of the next, or beyond it by 5 per cent
//!     at most: an order is not judged finer than the print, whose captions give that dispersion for elapsed times. It
//!     is the same for every order of every paper, also for those that hold without it.
//! J4. What was not measured is not tested; nothing is taken for true because the code was written that way.

use super::claims::Claim;
use ordo_report::results::Verdict;

/// Tolerance for a printed number (J2).
const TOLERANCE: f64 = 0.20;
/// Tolerance for an order (J3).
const DISPERSION: f64 = 0.05;

/// Why a claim of this class is not judged; `None` if it is, as far as the class decides.
pub(crate) fn not_judged(claim: &Claim) -> Option<&'static str> {
    match claim.cls.as_str() {
        "cited" => Some("quoted from other work"),
        "contradicted" => Some("the paper's own table says otherwise; the claim about the table is judged"),
        _ => None,
    }
}

/// A judgement from which a verdict is made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Judged {
    pub(crate) holds: bool,
    pub(crate) expected: String,
    pub(crate) ours: String,
    pub(crate) why: String,
}

impl Judged {
    pub(crate) fn verdict(self, claim: &Claim) -> Verdict {
        let Judged { holds, expected, ours, why } = self;
        let (id, place, statement) = (claim.id.clone(), claim.place.clone(), claim.statement.clone());
        Verdict { id, place, statement, tested: true, holds: Some(holds), expected, ours, why }
    }
}

/// A claim that nothing was measured for.
pub(crate) fn untested(claim: &Claim, why: impl Into<String>) -> Verdict {
    Verdict {
        id: claim.id.clone(),
        place: claim.place.clone(),
        statement: claim.statement.clone(),
        tested: false,
        holds: Some(false),
        expected: String::new(),
        ours: String::new(),
        why: why.into(),
    }
}

/// A number as text, with three significant digits.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 0.1 || v == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// One number for each of several things, judged by the claim's value or bounds.
pub(crate) fn number(claim: &Claim, ours: &[(String, f64)]) -> Judged {
    let (value, min, max) = (claim.number("value"), claim.number("min"), claim.number("max"));
    let mut rules = Vec::new();
    let mut holds = true;
    for (_, number) in ours {
        let rule = match (value, min, max) {
            (Some(value), None, None) => {
                let (width, rule) = width(claim, value);
                holds &= (number - value).abs() <= width;
                rule
            }
            _ => {
                holds &= min.is_none_or(|min| *number >= min) && max.is_none_or(|max| *number <= max);
                "within the claim's bounds".to_owned()
            }
        };
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    let bounds = match (value, min, max) {
        (Some(value), None, None) => short(value),
        (_, Some(min), Some(max)) => format!("{} to {}", short(min), short(max)),
        (_, Some(min), None) => format!("at least {}", short(min)),
        (_, None, Some(max)) => format!("at most {}", short(max)),
        (None, None, None) => "a number".to_owned(),
    };
    let unit = claim.text("unit").map(|unit| format!(" {unit}")).unwrap_or_default();
    let listed = |(name, number): &(String, f64)| match ours.len() {
        1 => short(*number),
        _ => format!("{name} {}", short(*number)),
    };
    let ours = ours.iter().map(listed).collect::<Vec<_>>().join(", ");
    Judged { holds, expected: format!("{bounds}{unit}"), ours, why: rules.join("; ") }
}

fn width(claim: &Claim, value: f64) -> (f64, String) {
    if let Some(width) = claim.number("tol_abs") {
        return (width, format!("the claim allows {width}"));
    }
    if let Some(part) = claim.number("tol_rel") {
        return (value.abs() * part, format!("the claim allows {:.0} per cent", part * 100.0));
    }
    let deviations = match (claim.number("sd"), claim.number("a_value"), claim.number("b_value")) {
        (Some(sd), _, _) => 2.0 * sd,
        (None, Some(a), Some(b)) => {
            let part = |key, of: f64| claim.number(key).map_or(0.0, |sd| sd / of);
            2.0 * value * (part("a_sd", a).powi(2) + part("b_sd", b).powi(2)).sqrt()
        }
        _ => 0.0,
    };
    let width = (value.abs() * TOLERANCE).max(deviations);
    let rule = match deviations > value.abs() * TOLERANCE {
        true => "within two standard deviations of the print",
        false => "within 20 per cent of the print",
    };
    (width, rule.to_owned())
}

/// An order of groups; `value_of` gives each member's number.
pub(crate) fn order(claim: &Claim, value_of: impl Fn(&str) -> Option<f64>) -> Option<Judged> {
    let groups = claim.groups();
    let descending = claim.text("sort") == Some("desc");
    let mut numbers: Vec<Vec<(String, f64)>> = Vec::new();
    for group in &groups {
        numbers.push(group.iter().map(|name| Some((name.clone(), value_of(name)?))).collect::<Option<_>>()?);
    }
    let beyond = claim.number("tol_rel").unwrap_or(DISPERSION);
    let side = |a: f64, b: f64| if descending { a >= b * (1.0 - beyond) } else { a <= b * (1.0 + beyond) };
    let pair = |pair: &[Vec<(String, f64)>]| {
        pair[0].iter().all(|(_, first)| pair[1].iter().all(|(_, next)| side(*first, *next)))
    };
    let holds = numbers.windows(2).all(pair);
    let sign = if descending { " ≥ " } else { " ≤ " };
    let expected = groups.iter().map(|group| group.join(", ")).collect::<Vec<_>>().join(sign);
    let shown = |group: &Vec<(String, f64)>| {
        group.iter().map(|(name, number)| format!("{name} {}", short(*number))).collect::<Vec<_>>().join(", ")
    };
    let ours = numbers.iter().map(shown).collect::<Vec<_>>().join("; ");
    let why = format!("each group on its side of the next, or beyond by {:.0} per cent at most", beyond * 100.0);
    Some(Judged { holds, expected, ours, why })
}

/// Systems whose largest and smallest number differ by at most the claim's tolerance.
pub(crate) fn comparable(claim: &Claim, names: &[String], value_of: impl Fn(&str) -> Option<f64>) -> Option<Judged> {
    let numbers: Option<Vec<(String, f64)>> = names.iter().map(|name| Some((name.clone(), value_of(name)?))).collect();
    let (numbers, tolerance) = (numbers?, claim.number("tol_rel")?);
    let values = numbers.iter().map(|(_, number)| *number);
    let (least, most) = values.fold((f64::INFINITY, 0.0f64), |(a, b), value| (a.min(value), b.max(value)));
    let shown = numbers.iter().map(|(name, number)| format!("{name} {}", short(*number))).collect::<Vec<_>>();
    Some(Judged {
        holds: most <= least * (1.0 + tolerance),
        expected: format!("largest over smallest at most {}", short(1.0 + tolerance)),
        ours: shown.join(", "),
        why: "the claim's tolerance".to_owned(),
    })
}

/// One rule that must hold in every case, by the names of the cases.
pub(crate) fn each(judged: Vec<(String, Judged)>) -> Judged {
    let (holds, first) = (judged.iter().all(|(_, one)| one.holds), judged.first().map(|(_, one)| one.clone()));
    let shown = judged.iter().map(|(place, one)| {
        let broken = if one.holds { "" } else { " (does not hold)" };
        format!("{place}: {}{broken}", one.ours)
    });
    Judged {
        holds: holds && first.is_some(),
        expected: first.as_ref().map(|one| one.expected.clone()).unwrap_or_default(),
        ours: shown.collect::<Vec<_>>().join("; "),
        why: format!("{}, everywhere", first.map(|one| one.why).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(expected: &str) -> Claim {
        let text = format!(
            "id = 'x'\npaper = 'p'\nwhere = 'w'\ncls = 'measured'\nsystems = []\nworkload = 'l'\nmetric = 'm'\n\
             statement = 's'\nexpected = {expected}"
        );
        toml::from_str(&text).unwrap()
    }

    fn holds(expected: &str, ours: f64) -> bool {
        number(&claim(expected), &[("a".into(), ours)]).holds
    }

    #[test]
    fn a_tolerance_that_is_given_counts_and_one_that_is_not_is_a_fifth() {
        assert!(holds("{ value = 10 }", 11.9) && !holds("{ value = 10 }", 12.1));
        assert!(holds("{ value = 10, tol_abs = 0.5 }", 10.5) && !holds("{ value = 10, tol_abs = 0.5 }", 10.6));
        assert!(holds("{ value = 20, tol_rel = 0.12 }", 22.3) && !holds("{ value = 20, tol_rel = 0.12 }", 22.5));
        assert!(holds("{ value = 1, sd = 0.5 }", 1.9) && !holds("{ value = 1, sd = 0.5 }", 2.1));
        assert!(holds("{ min = 5 }", 5.0) && !holds("{ min = 5 }", 4.9));
        assert!(!holds("{ min = 1.03, max = 1.05 }", 1.06));
        let ratio = "{ value = 6.73, a_value = 2.49, b_value = 0.37, a_sd = 0.5, b_sd = 0.48 }";
        assert!(holds(ratio, 20.0), "the print's own deviation is larger than the print");
    }

    #[test]
    fn an_order_is_judged_between_groups_and_not_within_one() {
        let claim = claim("{ order = [['a'], ['b', 'c'], ['d']], sort = 'asc' }");
        let of = |numbers: [f64; 4]| {
            let at = |name: &str| Some(numbers[usize::from(name.as_bytes()[0] - b'a')]);
            order(&claim, at).unwrap().holds
        };
        assert!(of([1.0, 3.0, 2.0, 4.0]) && of([1.0, 1.0, 1.0, 1.0]));
        assert!(!of([1.0, 3.0, 2.0, 2.5]) && !of([2.5, 3.0, 2.0, 4.0]));
        assert!(order(&claim, |_| None).is_none(), "what was not measured is not tested");
    }

    #[test]
    fn an_order_is_not_judged_finer_than_the_print() {
        let of = |more: &str, sort: &str, a: f64, b: f64| {
            let claim = claim(&format!("{{ order = [['a'], ['b']], sort = '{sort}'{more} }}"));
            order(&claim, |name| Some(if name == "a" { a } else { b })).unwrap().holds
        };
        assert!(of("", "asc", 104.9, 100.0) && !of("", "asc", 105.1, 100.0));
        assert!(of("", "desc", 95.1, 100.0) && !of("", "desc", 94.9, 100.0));
        assert!(of(", tol_rel = 0.1", "asc", 109.0, 100.0) && !of(", tol_rel = 0.01", "asc", 102.0, 100.0));
    }

    #[test]
    fn what_others_are_quoted_for_and_what_the_table_contradicts_is_not_judged() {
        let of = |cls: &str| not_judged(&Claim { cls: cls.to_owned(), ..claim("{ value = 1 }") }).is_some();
        assert!(of("cited") && of("contradicted") && !of("measured"));
    }

    #[test]
    fn systems_are_comparable_within_the_claims_tolerance_and_everywhere_is_every_place() {
        let claim = claim("{ tol_rel = 0.1 }");
        let of = |b: f64| {
            let names = ["a".to_owned(), "b".to_owned()];
            comparable(&claim, &names, |name| Some(if name == "a" { 10.0 } else { b })).unwrap()
        };
        assert!(of(10.9).holds && of(9.2).holds && !of(11.1).holds && !of(9.0).holds);
        let places = |b| vec![("x".to_owned(), of(10.0)), ("y".to_owned(), of(b))];
        assert!(each(places(10.5)).holds && !each(places(12.0)).holds && !each(Vec::new()).holds);
        assert!(each(places(12.0)).ours.contains("b 12.0 (does not hold)"));
    }
}
