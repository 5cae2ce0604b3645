//! The walk of one create in ARCHITECTURE.md goes through rooms that are there, by calls that they make.

use std::fs;
use std::path::Path;

/// A row of the table: its cells.
fn rows(page: &str) -> Vec<Vec<String>> {
    let (_, section) = page.split_once("## One `create`").expect("the page has the walk");
    let (section, _) = section.split_once("\n## ").expect("another section follows");
    let rows = section.lines().filter(|line| line.starts_with("| `crates/"));
    rows.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect())
        .collect()
}

#[test]
fn each_room_of_the_walk_has_the_function_that_is_entered_and_the_call_that_leaves_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let rows = rows(&fs::read_to_string(root.join("ARCHITECTURE.md")).expect("the page is there"));
    assert!((10..=11).contains(&rows.len()), "{} rooms were found; the way is to stay short", rows.len());
    for row in &rows {
        let [room, enters, _, leaves] = &row[..] else { panic!("{row:?} has not four cells") };
        let text = fs::read_to_string(root.join(room)).unwrap_or_else(|error| panic!("{room}: {error}"));
        let function = [format!("fn {enters}("), format!("fn {enters}<")].iter().any(|at| text.contains(at));
        assert!(function, "{room} has no function {enters}");
        assert!(text.contains(leaves.as_str()), "{room} is not left by {leaves}");
    }
    let rooms: std::collections::BTreeSet<&String> = rows.iter().map(|row| &row[0]).collect();
    assert_eq!(rooms.len(), rows.len(), "no room is entered twice");
}
