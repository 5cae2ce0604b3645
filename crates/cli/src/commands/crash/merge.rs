//! `--merge`: the reports of shards as one.

use super::document::{Document, Split};
use super::{Args, shard, show, status};
use crate::made::Made;
use crate::out::{Outcome, print, usage};
use anyhow::Context;
use ordo_crash::Report;

/// Reads, merges, prints.
pub(super) fn run(args: &Args) -> Outcome {
    let mut whole = None::<Document>;
    for path in &args.merge {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).with_context(|| name.clone())?;
        let next: Document = serde_json::from_str(&text)
            .map_err(|error| usage(format!("{name}: not a report of ordo crash --json: {error}")))?;
        whole = Some(match whole {
            Some(whole) => merged(whole, next).map_err(|why| usage(format!("{name}: {why}")))?,
            None => next,
        });
    }
    // OK to expect: the option takes at least one file.
    let document = whole.expect("at least one file");
    print(|out| if args.json { out.json(&document) } else { show::report(out, &document) })?;
    Ok(status(document.report.violations_total))
}

fn merged(a: Document, b: Document) -> Result<Document, String> {
    fn same(report: &Report) -> (&str, &[String], &str, &str, u64) {
        (&report.scheme, &report.without, &report.workload, &report.disk, report.seed)
    }
    let alike = match a.split {
        // Each shard has run the same scripts.
        Split::Images => (a.report.writes, a.report.cuts, a.scripts) == (b.report.writes, b.report.cuts, b.scripts),
        Split::Scripts => true,
    };
    if same(&a.report) != same(&b.report) || a.split != b.split || !alike {
        return Err("it belongs to another exploration".into());
    }
    let shards = shard::together(&[a.shards, b.shards].concat())?;
    let (report, scripts) = match a.split {
        Split::Images => (a.report.merge(b.report), a.scripts),
        Split::Scripts => (a.report.and(b.report), a.scripts + b.scripts),
    };
    let mut report = report;
    // As in an undivided exploration, the first violation of each oracle is the one that was shrunk.
    let mut seen = std::collections::BTreeSet::new();
    for violation in &mut report.violations {
        if !seen.insert(violation.oracle) {
            violation.shrunk = None;
        }
    }
    Ok(Document {
        report,
        scripts,
        shards,
        split: a.split,
        states_per_second: a.states_per_second + b.states_per_second,
        disk_says: a.disk_says,
        promises: a.promises,
        made: Some(Made::in_virtual_time()),
    })
}
