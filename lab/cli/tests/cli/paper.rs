//! `ordo paper`, without the experiments: those are covered by the tests of the laboratory.

use crate::common::{fails, ok, ordo};

#[test]
fn papers_are_listed_and_an_unknown_one_is_wrong_usage() {
    let lines = ok(ordo(["paper"]));
    assert!(lines.starts_with("mup1994") && lines.contains("jsu2000"), "{lines}");
    assert!(lines.contains("recovery") && lines.contains("write-cost") && lines.contains("features"), "{lines}");
    let listed: serde_json::Value = serde_json::from_str(&ok(ordo(["paper", "list", "--json"]))).unwrap();
    assert_eq!(listed[0]["key"], "mup1994");
    let said = fails(2, ordo(["paper", "nobody"]));
    assert!(said.contains("nobody") && said.contains("ordo paper list"), "{said}");
}
