//! The laboratory's command line. Its help calls it `ordo`, since that is what people type.

use crate::commands::*;
use crate::out::Outcome;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use std::ffi::{OsStr, OsString};

/// Measures and tests Berkeley file systems
#[derive(Debug, Parser)]
#[command(name = "ordo", bin_name = "ordo", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Age(age::Args),
    Bench(bench::Args),
    Crash(crash::Args),
    Disks(disks::Args),
    Fuzz(fuzz::Args),
    #[command(hide = true)]
    Man(man::Args),
    Merge(merge::Args),
    Paper(paper::Args),
    Report(report::Args),
    Sim(sim::Args),
    #[command(hide = true)]
    Tour(tour::Args),
    Trace(trace::Args),
    Workloads(workloads::Args),
}

/// The clap definition, for manual pages and completions.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

/// What these arguments may be, beside what those of `ordo` may be.
pub(crate) fn words(command: &str, argument: &str, _value: &str) -> Option<ArgValueCompleter> {
    let of = |names: fn(&OsStr) -> Vec<CompletionCandidate>| Some(ArgValueCompleter::new(names));
    match (command, argument) {
        ("bench", "disk") => of(|typed| {
            let drives: Vec<String> = ordo_papers::drives().iter().map(|drive| format!("sim:{drive}")).collect();
            let places = drives.iter().map(String::as_str).chain(["ram", "file:", "dir:", "erase:"]);
            ordo_cli::complete::named_like(typed, places)
        }),
        ("bench", "workload") => of(|typed| {
            ordo_cli::complete::named_like(typed, ordo_workload::workloads().iter().map(|workload| workload.name))
        }),
        _ => None,
    }
}

impl Cli {
    /// These arguments.
    pub(crate) fn parsed(arguments: Vec<OsString>) -> Result<Cli, clap::Error> {
        Cli::from_arg_matches(&command().try_get_matches_from(arguments)?)
    }

    /// Runs the command.
    pub(crate) fn run(&self) -> Outcome {
        match &self.command {
            Command::Age(args) => age::run(args),
            Command::Bench(args) => bench::run(args),
            Command::Crash(args) => crash::run(args),
            Command::Disks(args) => disks::run(args),
            Command::Fuzz(args) => fuzz::run(args),
            Command::Man(args) => man::run(args, &command()),
            Command::Merge(args) => merge::run(args),
            Command::Paper(args) => paper::run(args),
            Command::Report(args) => report::run(args),
            Command::Sim(args) => sim::run(args),
            Command::Tour(args) => tour::run(args),
            Command::Trace(args) => trace::run(args),
            Command::Workloads(args) => workloads::run(args),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(of: &clap::Command) -> Vec<clap::Command> {
        of.get_subcommands().filter(|sub| !sub.is_hide_set()).cloned().collect()
    }

    #[test]
    fn the_definition_holds_together() {
        command().debug_assert();
    }

    #[test]
    fn every_command_has_help_with_examples() {
        let subs = listed(&command());
        for sub in subs.iter().chain(&subs.iter().flat_map(listed).collect::<Vec<_>>()) {
            let help = sub.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:"), "{}", sub.get_name());
            assert!(sub.get_about().is_some(), "{}", sub.get_name());
        }
    }

    #[test]
    fn ordo_lists_each_command_with_what_it_is_for() {
        let ours = listed(&command());
        let about = |sub: &clap::Command| sub.get_about().map(ToString::to_string).unwrap_or_default();
        let ours: Vec<(String, String)> = ours.iter().map(|sub| (sub.get_name().to_owned(), about(sub))).collect();
        let known = ordo_cli::lab::COMMANDS.map(|(name, about)| (name.to_owned(), about.to_owned()));
        assert_eq!(ours, known);
    }

    #[test]
    fn lists_and_shards_are_parsed() {
        let reads = |line: &str| Cli::parsed(line.split(' ').map(OsString::from).collect()).is_ok();
        assert!(reads("ordo bench --scheme sync,async --workload postmark"));
        assert!(!reads("ordo crash --shard 3/2"));
    }
}
