//! Parses from the command line what to explain.

use super::args::Args;
use crate::layout;
use crate::mount_options;
use crate::out::usage;
use crate::scheme_set::SchemeSet;
use ordo_crash::trace::{Asked, size_of};
use ordo_crash::{Device, Error, Subject};
use ordo_workload::random::Op;
use ordo_workload::script::Script;
use ordofs::{DEFAULT_SCHEME, LFS_SCHEME};

/// Parses it.
///
/// # Errors
/// Wrong usage, with what would be right.
pub(super) fn read(args: &Args) -> anyhow::Result<Asked> {
    let device = Device::by_name(&args.disk).ok_or_else(|| {
        let known: Vec<_> = ordo_crash::DEVICES.iter().map(|device| device.name).collect();
        usage(format!("no disk is called {:?}; there are: {}", args.disk, known.join(", ")))
    })?;
    let log = layout::is_lfs(args.layout, &args.scheme.as_deref().into_iter().collect::<Vec<_>>())?;
    let usual = if log { LFS_SCHEME } else { DEFAULT_SCHEME };
    let scheme = mount_options::scheme(args.scheme.as_deref().unwrap_or(usual))?;
    let (setup, call) = calls(&args.setup, &args.call.join(" "))?;
    let SchemeSet { settings, separate_log, .. } = SchemeSet::read(&args.set)?;
    if let Some(set) = settings.said().first().filter(|_| log) {
        return Err(usage(format!("--set {set}: is for the schemes of UFS volumes; leave it out")));
    }
    let subject = if log { Subject::on_log(device) } else { Subject::new(scheme, device) };
    let subject = Subject { settings, separate_log, ..subject };
    Ok(Asked { subject, setup, call, at_once: args.at_once, seed: args.seed })
}

/// The calls of the set-up, and the call. Every write has different contents, so all are parsed as one script.
fn calls(setup: &[String], call: &str) -> anyhow::Result<(Vec<Op>, Op)> {
    let mut lines: Vec<String> = Vec::new();
    for line in setup {
        lines.push(exact(&parse(&lines)?.0, line)?);
    }
    lines.push("---".to_owned());
    lines.push(exact(&parse(&lines)?.0, call)?);
    let (setup, calls) = parse(&lines)?;
    match <[Op; 1]>::try_from(calls) {
        Ok([call]) => Ok((setup, call)),
        Err(_) => Err(usage(format!("{call:?} must be one call"))),
    }
}

/// The calls above the separator, or all if there is none; and those below.
fn parse(lines: &[String]) -> anyhow::Result<(Vec<Op>, Vec<Op>)> {
    let script =
        Script::parse("the call", &lines.join("\n")).map_err(|bad| usage(format!("{:?}: {}", bad.text, bad.right)))?;
    let has_rule = lines.iter().any(|line| line == "---");
    Ok(if has_rule { (script.setup, script.calls) } else { (script.calls, Vec::new()) })
}

/// Converts `append FILE BYTES` to the write that it is after these calls; all else is unchanged.
fn exact(before: &[Op], line: &str) -> anyhow::Result<String> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    match words[..] {
        ["append", path, bytes] => Ok(format!("write {path} {} {bytes}", size_of(before, path))),
        ["append", ..] => Err(usage(format!("{line:?}: write: append FILE BYTES"))),
        _ => Ok(line.to_owned()),
    }
}

/// Converts to wrong usage what the user can correct.
pub(super) fn trace_error(error: Error) -> anyhow::Error {
    match error {
        Error::NoScheme(_) | Error::NoLog(_) | Error::Settings(_) => usage(error.to_string()),
        Error::Run(why) if why.starts_with("set-up: ") => usage(why),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(setup: &[&str], call: &str) -> Result<Vec<String>, String> {
        let setup: Vec<String> = setup.iter().map(|line| (*line).to_owned()).collect();
        let (mut all, call) = calls(&setup, call).map_err(|error| error.to_string())?;
        all.push(call);
        Ok(all.iter().map(Op::to_string).collect())
    }

    #[test]
    fn an_append_is_a_write_behind_the_end() {
        let all = said(&["mkdir /a", "create /a/f", "append /a/f 3000"], "append /a/f 20000").unwrap();
        assert_eq!(all[2..], ["write /a/f 0 3000 1", "write /a/f 3000 20000 2"]);
        assert!(said(&[], "append /f").unwrap_err().contains("append FILE BYTES"));
    }

    #[test]
    fn a_line_that_is_not_a_call_is_wrong_usage() {
        assert!(said(&[], "move /a /b").unwrap_err().contains("a call is one of"));
        assert!(said(&["rename /a"], "sync").unwrap_err().contains("rename FROM TO"));
        assert!(said(&[], "create /a{0..2}").unwrap_err().contains("must be one call"));
    }
}
