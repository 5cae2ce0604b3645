//! A table of a paper: our number, the paper's, and how far apart they are.

use crate::number::{decimals, fixed, short};
use crate::results::{Table, TableRow};
use maud::{Markup, html};

/// Classes by how far a ratio is from one; these are the upper bounds of the first three.
const STEPS: [(f64, &str); 3] = [(1.1, "within 10 %"), (1.25, "within 25 %"), (2.0, "within a factor of 2")];
const FARTHER: &str = "farther apart";

/// The legend for the shades of all tables.
pub(crate) fn key() -> Markup {
    html! {
        p.key {
            span { "ours \u{f7} paper" }
            @for (at, says) in STEPS.iter().map(|(_, says)| *says).chain([FARTHER]).enumerate() {
                span class=(format!("ratio d{at}")) { (says) }
            }
        }
    }
}

/// The class of a ratio: 0 is the nearest.
fn step(ratio: f64) -> usize {
    let apart = if ratio < 1.0 { 1.0 / ratio } else { ratio };
    // With a small margin, since 110 to 100 counts as within ten per cent.
    STEPS.iter().position(|(most, _)| apart <= most * (1.0 + 1e-9)).unwrap_or(STEPS.len())
}

fn at(values: &[Option<f64>], column: usize) -> Option<f64> {
    values.get(column).copied().flatten()
}

/// The table.
pub(crate) fn of(table: &Table) -> Markup {
    let columns: Vec<_> = table.columns.iter().enumerate().map(|(at, column)| Shown::of(table, at, column)).collect();
    html! {
        // Outside the scrolling part, where a narrow window would cut it off.
        h4 { (table.title) }
        div.scroll tabindex="0" role="region" aria-label=(table.title) {
            table.numbers {
                caption.hidden { (table.title) }
                thead {
                    tr {
                        td rowspan="2" {}
                        @for column in &columns {
                            th scope="colgroup" colspan=(if column.has_theirs { 3 } else { 1 }) {
                                (column.name) @if !column.unit.is_empty() { " " small { (column.unit) } }
                            }
                        }
                    }
                    tr.sub {
                        @for column in &columns {
                            th.first scope="col" { "ours" }
                            @if column.has_theirs { th scope="col" { "paper" } th scope="col" { "ratio" } }
                        }
                    }
                }
                tbody { @for row in &table.rows { (line(row, &columns)) } }
            }
        }
    }
}

/// A column, as displayed.
struct Shown<'a> {
    name: &'a str,
    unit: &'a str,
    has_theirs: bool,
    /// The most decimals with which the paper prints a number.
    decimals: Option<usize>,
}

impl<'a> Shown<'a> {
    fn of(table: &Table, column: usize, of: &'a crate::results::Column) -> Shown<'a> {
        let theirs: Vec<f64> = table.rows.iter().filter_map(|row| at(&row.theirs, column)).collect();
        let decimals = theirs.iter().map(|value| decimals(*value)).max();
        Shown { name: &of.name, unit: &of.unit, has_theirs: !theirs.is_empty(), decimals }
    }

    /// In the format of the paper's number beside it: four significant digits, no more decimals than elsewhere in the
    /// column.
    fn number(&self, value: Option<f64>, beside: Option<f64>) -> String {
        let before = |value: f64| (value.abs().max(1.0).log10() as usize) + 1;
        let places = |value: f64, most: usize| most.min(4_usize.saturating_sub(before(beside.unwrap_or(value))));
        let text = |value| self.decimals.map_or_else(|| short(value), |most| fixed(value, places(value, most)));
        value.map_or_else(|| "\u{2013}".into(), text)
    }
}

fn line(row: &TableRow, columns: &[Shown<'_>]) -> Markup {
    html! {
        tr {
            th scope="row" {
                @for (at, label) in row.labels.iter().enumerate() {
                    @if at == 0 { (label) } @else { " " small { (label) } }
                }
            }
            @for (column, shown) in columns.iter().enumerate() {
                @let (ours, theirs) = (at(&row.ours, column), at(&row.theirs, column));
                td.first { (shown.number(ours, theirs)) }
                @if shown.has_theirs { td.theirs { (shown.number(theirs, None)) } (ratio(ours, theirs)) }
            }
        }
    }
}

fn ratio(ours: Option<f64>, theirs: Option<f64>) -> Markup {
    let ratio = ours.zip(theirs).map(|(ours, theirs)| ours / theirs).filter(|ratio| ratio.is_finite() && *ratio > 0.0);
    html! {
        @if let Some(ratio) = ratio {
            td { span class=(format!("ratio d{}", step(ratio))) { (if ratio < 10.0 { fixed(ratio, 2) } else { short(ratio) }) } }
        } @else { td {} }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Column;

    #[test]
    fn a_ratio_is_as_near_from_above_as_from_below() {
        assert_eq!([1.0, 1.1, 1.0 / 1.1, 1.2, 0.8, 2.0, 0.5, 2.1, 0.01].map(step), [0, 0, 0, 1, 1, 2, 2, 3, 3]);
    }

    #[test]
    fn our_numbers_have_the_decimals_of_the_paper_and_what_is_missing_is_a_dash() {
        let columns = vec![Column { name: "elapsed".into(), unit: "s".into() }, Column::default()];
        let row = |ours, theirs| TableRow { labels: vec!["sync".into()], ours, theirs };
        let rows = vec![
            row(vec![Some(391.04), Some(36075.9)], vec![Some(390.7)]),
            row(vec![None], vec![Some(0.0)]),
            row(vec![Some(1.0), None], vec![Some(0.0)]),
            row(vec![Some(25791.64)], vec![Some(22173.0)]),
        ];
        let drawn = of(&Table { columns, rows, ..Table::default() }).into_string();
        for shown in [
            ">391.0<",
            ">390.7<",
            ">1.00<",
            ">36,076<",
            ">25,792<",
            ">22,173<",
            ">\u{2013}<",
            "colspan=\"3\"",
            "colspan=\"1\"",
        ] {
            assert!(drawn.contains(shown), "{shown}: {drawn}");
        }
        assert_eq!(drawn.matches("ratio d").count(), 2, "nothing is divided by nothing: {drawn}");
    }
}
