//! The page of the tour: its results as documents, each with how it was made and what its schemes promise, as the
//! commands print them that make one alone.

use super::{Amount, Told as Tour, compared, cut};
use crate::bench::bed::drive_says;
use crate::made::{self, Told};
use crate::size;
use ordo_crash::Report;
use ordo_papers::promised;
use ordo_report::Source;
use ordo_report::results::{LeftOut, Promises};
use ordo_workload::Row;
use ordofs::schemes::Settings;

/// What the tour has found.
pub(crate) struct Results<'a> {
    pub(crate) told: &'a Tour,
    pub(crate) cut: &'a [Report],
    pub(crate) compared: &'a [Row],
    pub(crate) left_out: &'a [LeftOut],
}

/// The page.
pub(crate) fn of(results: &Results<'_>, amount: &Amount) -> anyhow::Result<String> {
    let texts = [
        ("the work", work(results)?),
        ("the power cuts", cuts(results, amount)?),
        ("the modelled drive", drive(results, amount)?),
    ];
    // Of a scheme that has no place on the old drive nothing is measured there.
    let known = texts.into_iter().filter(|(_, text)| text != "[]");
    let sources: Vec<_> = known.map(|(name, text)| Source { name: name.to_owned(), text }).collect();
    Ok(ordo_report::page(&sources)?)
}

fn promised_by(scheme: &str) -> Option<Promises> {
    promised::of_scheme(scheme, &Settings::default())
}

fn work(results: &Results<'_>) -> anyhow::Result<String> {
    let (disk, says) = match results.told.mounted {
        true => ("mount", "a file of this machine, mounted"),
        false => ("file", "a file of this machine, in this process"),
    };
    let rows: Vec<Row> = results.told.legs.iter().flat_map(|leg| leg.rows(disk)).collect();
    let told = Told::of_rows(
        &rows,
        made::by(made::here_and_now(), results.told.command.iter().map(String::as_str)),
        Some(says.to_owned()),
        &[],
        |row| promised_by(&row.scheme),
    );
    Ok(serde_json::to_string(&told)?)
}

fn cuts(results: &Results<'_>, amount: &Amount) -> anyhow::Result<String> {
    let says = cut::device()?.says;
    let told: Vec<_> = results.cut.iter().map(|report| cut_told(report, amount, says)).collect();
    Ok(serde_json::to_string(&told)?)
}

fn cut_told<'a>(report: &'a Report, amount: &Amount, says: &str) -> Told<'a, Report> {
    let Report { scheme, workload, without, .. } = report;
    let (states, recovery) = (amount.states.to_string(), format!("recovery={}", cut::RECOVERY_CUTS));
    let words = ["crash", "--scheme", scheme, "--workload", workload, "--states", &states, "--set", &recovery];
    let rules = without.iter().flat_map(|rule| ["--without", rule]);
    Told {
        document: report,
        made: Some(made::by(made::in_virtual_time(), words.into_iter().chain(rules).chain(["--json"]))),
        disk_says: Some(says.to_owned()),
        promises: promised_by(scheme),
        left_out: Vec::new(),
    }
}

fn drive(results: &Results<'_>, amount: &Amount) -> anyhow::Result<String> {
    let mut schemes: Vec<&str> = results.compared.iter().map(|row| &*row.scheme).collect();
    schemes.dedup();
    let (schemes, disk, size) = (schemes.join(","), format!("sim:{}", compared::DRIVE), size::human(compared::VOLUME));
    let mut words = vec!["bench", "--scheme", &schemes, "--workload", amount.workload, "--disk", &disk];
    words.extend(["--size", &size]);
    if !amount.params.is_empty() {
        words.extend(["--param", amount.params]);
    }
    words.push("--json");
    let made = made::by(made::in_virtual_time(), words);
    let says = drive_says(compared::DRIVE);
    let told = Told::of_rows(results.compared, made, says, results.left_out, |row| promised_by(&row.scheme));
    Ok(serde_json::to_string(&told)?)
}
