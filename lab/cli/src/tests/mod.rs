//! Each command of README, and of the pages that go on where it ends, is one that the program reads: also of the lines
//! that no test can run.

use crate::args::Cli;
use std::ffi::OsString;

/// The commands of a line of shell: what is between semicolons, without the redirection of its output.
fn commands(line: &str) -> Vec<Vec<String>> {
    // A word that begins with # is a comment.
    let words = shlex::split(line).unwrap_or_else(|| panic!("no shell reads {line:?}"));
    let of = |words: &[String]| {
        let end = words.iter().position(|word| word == ">").unwrap_or(words.len());
        words[..end].iter().map(|word| word.trim_end_matches(';').to_owned()).collect()
    };
    words.split_inclusive(|word| word.ends_with(';')).map(of).collect()
}

#[test]
fn every_command_of_readme_is_read_by_the_real_parser() {
    let pages = [
        include_str!("../../../../README.md"),
        include_str!("../../../../docs/laboratory.md"),
        include_str!("../../../../docs/beyond.md"),
        include_str!("../../../../docs/layouts/lfs.md"),
    ];
    let blocks = pages.iter().flat_map(|page| page.split("```\n").skip(1).step_by(2));
    let mut read = 0;
    for line in blocks.flat_map(str::lines) {
        for words in commands(line).into_iter().filter(|words| words.first().is_some_and(|word| word == "ordo")) {
            let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
            let of_the_laboratory = ordo_cli::lab::is_asked(&words);
            let parsed = if of_the_laboratory { Cli::parsed(words).map(drop) } else { ordo_cli::parses(words) };
            if let Err(error) = parsed {
                panic!("{line}\n{error}");
            }
            read += 1;
        }
    }
    assert!(read >= 40, "only {read} commands");
}
