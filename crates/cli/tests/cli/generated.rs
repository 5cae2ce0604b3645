//! The manual pages and the completions, which packaging/build makes by the program itself.

use crate::common::{Scratch, ok, ordo};
use std::fs;

#[test]
fn each_command_has_a_manual_page_and_helpers_lead_to_theirs() {
    let scratch = Scratch::new();
    ok(ordo(["man", &scratch.path("man")]));
    let mut pages = 0;
    for entry in fs::read_dir(scratch.path("man")).unwrap().map(Result::unwrap) {
        let page = fs::read_to_string(entry.path()).unwrap();
        let is_link = page.starts_with(".so man8/ordo-") && page.lines().count() == 1;
        assert!(is_link || page.contains(".SH NAME") && page.contains(".SH SEE ALSO"), "{entry:?}");
        pages += 1;
    }
    assert!(pages >= 50, "only {pages} pages");
    assert!(fs::read_to_string(scratch.path("man/ordo-mount.8")).unwrap().contains("fstab"));
}

#[test]
fn each_shell_has_a_script_that_asks_the_program() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(ok(ordo(["completions", shell])).contains("ORDO_COMPLETE"), "{shell}");
    }
}
