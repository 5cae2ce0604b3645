//! Each command of README is one that the program reads: also of the lines that no test can run.

use crate::args::Cli;
use clap::Parser;

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
    let readme = include_str!("../../../README.md");
    let blocks = readme.split("```\n").skip(1).step_by(2);
    let mut read = 0;
    for line in blocks.flat_map(str::lines) {
        for words in commands(line).into_iter().filter(|words| words.first().is_some_and(|word| word == "ordo")) {
            if let Err(error) = Cli::try_parse_from(&words) {
                panic!("README: {line}\n{error}");
            }
            read += 1;
        }
    }
    assert!(read >= 40, "only {read} commands");
}
