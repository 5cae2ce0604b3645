//! What was printed, as data: tables as lines of fields between commas, the first line telling what the fields are.

use super::document::Column;

/// The lines of a table as fields, without the head.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().skip(1).map(|line| line.split(',').collect())
}

/// Fields as numbers; `None` for what is none.
pub(super) fn numbers(fields: &[&str]) -> Vec<Option<f64>> {
    fields.iter().map(|field| field.parse().ok()).collect()
}

/// Columns, by name and unit.
pub(super) fn columns(names: &[(&str, &str)]) -> Vec<Column> {
    names.iter().map(|(name, unit)| Column { name: (*name).to_owned(), unit: (*unit).to_owned() }).collect()
}
