//! The manual pages and completions in the repository are those of the program.
//!
//! After a change of the command line: `ordo man man`, and `ordo completions SHELL > completions/...`, as below.

use crate::common::{Scratch, ok, ordo};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn pages(dir: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(path).unwrap()))
        .collect()
}

#[test]
fn manual_pages_are_current() {
    let scratch = Scratch::new();
    ok(ordo(["man", &scratch.path("man")]));
    let (made, kept) = (pages(Path::new(&scratch.path("man"))), pages(&repository().join("man")));
    assert_eq!(made.keys().collect::<Vec<_>>(), kept.keys().collect::<Vec<_>>(), "run: ordo man man");
    for (name, page) in &made {
        assert!(page == &kept[name], "man/{name} is out of date; run: ordo man man");
        let is_link = page.starts_with(".so man8/ordo-") && page.lines().count() == 1;
        assert!(is_link || page.contains(".SH NAME") && page.contains(".SH SEE ALSO"), "{name}");
    }
    assert!(made["ordo-mount.8"].contains("fstab"));
}

#[test]
fn completions_are_current() {
    for (shell, file) in [("bash", "ordo.bash"), ("zsh", "_ordo"), ("fish", "ordo.fish")] {
        let kept = fs::read_to_string(repository().join("completions").join(file)).unwrap();
        let made = ok(ordo(["completions", shell]));
        assert!(made == kept, "run: ordo completions {shell} > completions/{file}");
        assert!(made.contains("ORDO_COMPLETE"), "{shell}");
    }
}
