//! How a document was made: version, command line, and, where they matter, date and machine.
//!
//! M1. What ran in virtual time depends on its arguments alone, so its document names neither date nor machine: the
//!     same arguments give the same bytes.

use crate::text;
use ordo_report::results::{LeftOut, Made, Promises};
use ordo_workload::Row;
use ordofs::rt::Rt;
use serde::Serialize;
use std::collections::BTreeSet;
use std::ffi::OsString;

/// The same, of another command that makes this document alone.
pub(crate) fn by<'a>(made: Made, arguments: impl IntoIterator<Item = &'a str>) -> Made {
    Made { command: command(arguments.into_iter().map(OsString::from)), ..made }
}

/// Of what ran in virtual time (M1).
pub(crate) fn in_virtual_time() -> Made {
    let command = command(std::env::args_os().skip(1));
    Made { ordo: env!("CARGO_PKG_VERSION").to_owned(), command, ..Made::default() }
}

/// Of what was measured here and now.
pub(crate) fn here_and_now() -> Made {
    Made { date: date(now()), machine: machine(), ..in_virtual_time() }
}

/// A document, and how it was made.
#[derive(Debug, Serialize)]
pub(crate) struct Told<'a, T> {
    #[serde(flatten)]
    pub(crate) document: &'a T,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) made: Option<Made>,
    /// The disk in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) disk_says: Option<String>,
    /// What the scheme promises.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) promises: Option<Promises>,
    /// What is missing in this document.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) left_out: Vec<LeftOut>,
}

impl<'a> Told<'a, Row> {
    /// Rows of a benchmark: the first says how all were made, and the first of each scheme what it promises.
    pub(crate) fn of_rows(
        rows: &'a [Row],
        made: Made,
        disk_says: Option<String>,
        left_out: &[LeftOut],
        promised: impl Fn(&Row) -> Option<Promises>,
    ) -> Vec<Told<'a, Row>> {
        let mut seen = BTreeSet::new();
        let mut first = Some((made, disk_says, left_out.to_vec()));
        let tell = |document: &'a Row| {
            let (made, disk_says, left_out) = match first.take() {
                Some((made, disk_says, left_out)) => (Some(made), disk_says, left_out),
                None => (None, None, Vec::new()),
            };
            let promises = if seen.insert(&document.scheme) { promised(document) } else { None };
            Told { document, made, disk_says, promises, left_out }
        };
        rows.iter().map(tell).collect()
    }
}

/// A command line that a shell reads as these arguments.
fn command(arguments: impl Iterator<Item = OsString>) -> String {
    let mut line = "ordo".to_owned();
    for argument in arguments {
        let argument = argument.to_string_lossy();
        line.push(' ');
        // A NUL, which no shell can quote, is in no argument.
        line.push_str(&shlex::try_quote(&argument).unwrap_or_default());
    }
    line
}

/// The time of day, no later than `SOURCE_DATE_EPOCH`.
fn now() -> i64 {
    no_later(Rt::real_time().wall().0)
}

/// A time, or `SOURCE_DATE_EPOCH` if that is earlier: who sets it wants the same bytes tomorrow.
pub(crate) fn no_later(secs: i64) -> i64 {
    let limit = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse().ok());
    limit.map_or(secs, |limit: i64| limit.min(secs))
}

/// A time to the minute: more is of no use in a table.
pub(crate) fn date(secs: i64) -> String {
    let time = text::time(secs);
    format!("{} UTC", time.rsplit_once(':').map_or(&*time, |(minutes, _)| minutes))
}

/// Processor, memory and kernel, as far as the kernel tells.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let kernel = rustix::system::uname();
    let words = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let processor = field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| words(kernel.machine()));
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let mut parts = vec![processor, format!("{cpus} {}", if cpus == 1 { "CPU" } else { "CPUs" })];
    let kib = field(&read("/proc/meminfo"), "MemTotal").and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    parts.extend(kib.map(|kib| format!("{:.1} GiB of memory", kib / f64::from(1 << 20))));
    parts.push(format!("{} {}", words(kernel.sysname()), words(kernel.release())));
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_can_be_given_to_a_shell() {
        let line = command(["trace", "--setup", "mkdir /a", "it's"].map(OsString::from).into_iter());
        assert_eq!(line, "ordo trace --setup 'mkdir /a' \"it's\"");
        assert_eq!(shlex::split(&line).unwrap()[3], "mkdir /a");
    }

    #[test]
    fn only_what_was_measured_here_names_date_and_machine() {
        let (here, virtually) = (here_and_now(), in_virtual_time());
        assert_eq!((&*virtually.date, &*virtually.machine), ("", ""));
        let machine = here.machine;
        assert!(machine.contains("CPU") && machine.contains("Linux "), "{machine}");
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
    }
}
