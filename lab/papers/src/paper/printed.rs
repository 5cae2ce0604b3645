//! The papers' printed tables as data: lines of comma-separated fields, the first line naming the fields.

use ordo_report::results::Column;

/// The lines of a table as fields, without the first.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().skip(1).map(|line| line.split(',').collect())
}

/// Fields as numbers; `None` for a field that is not a number.
pub(super) fn numbers(fields: &[&str]) -> Vec<Option<f64>> {
    fields.iter().map(|field| field.parse().ok()).collect()
}

/// Columns, by name and unit.
pub(super) fn columns(names: &[(&str, &str)]) -> Vec<Column> {
    names.iter().map(|(name, unit)| Column { name: (*name).to_owned(), unit: (*unit).to_owned() }).collect()
}
