//! Judges the paper's Table 2, and its statements about crashes, by what power cuts have shown.
//!
//! T1. A row of the table names the systems that have a feature, and thereby those that do not: among the eight systems
//!     of its tables, both are judged.
//! T2. Nothing is judged about a system that was not checked.

use super::systems::{SYSTEMS, eight};
use crate::LogPlace;
use crate::paper::claims::{Claim, claims_of};
use crate::paper::features::{Features, Recovery};
use crate::paper::judge::Judged;
use crate::paper::set_up::{FEATURES, SetUp};
use ordo_report::results::Document;

/// The systems that can be checked: all of the paper's that we have.
pub(in crate::paper) fn set_ups() -> Vec<SetUp> {
    let there = SYSTEMS.iter().filter(|system| system.is_there());
    let set_up = |system: &super::systems::System| {
        let settings = system.set_up()?;
        // NVRAM keeps its contents in a power cut, as a drive does.
        let separate_log = !matches!(system.log, LogPlace::Volume | LogPlace::Behind);
        Some(SetUp { name: system.key, scheme: system.scheme, settings, separate_log })
    };
    there.filter_map(set_up).collect()
}

/// Judges the findings in a document of the paper, and adds them to it.
pub(in crate::paper) fn judge(document: &mut Document, features: Features) {
    for claim in claims_of("jsu2000") {
        let Some(judged) = judged(&claim, &features) else { continue };
        if let Some(verdict) = document.claims.iter_mut().find(|verdict| verdict.id == claim.id) {
            *verdict = judged.verdict(&claim);
        }
    }
    document.features = Some(features);
}

/// A document of the features alone, with the claims that depend on them.
pub(in crate::paper) fn document(features: Features) -> Document {
    let claims = claims_of("jsu2000");
    let verdicts = claims.iter().filter_map(|claim| Some(judged(claim, &features)?.verdict(claim)));
    Document {
        paper: FEATURES.key.to_owned(),
        title: FEATURES.what.to_owned(),
        reference: "Table 2 and sections 4 and 6 of M. Seltzer and others, Journaling versus Soft Updates, USENIX 2000"
            .to_owned(),
        claims: verdicts.collect(),
        features: Some(features),
        ..Document::default()
    }
}

/// What a claim requires.
enum Wanted {
    /// A yes to a question.
    Yes(&'static str),
    /// A no.
    No(&'static str),
    /// A way to recover.
    By(Recovery),
}

impl Wanted {
    fn of(id: &str) -> Option<Wanted> {
        Some(match id.strip_prefix("jsu2000.")? {
            "t2.row1" | "s6.ffs_sync_ops" => Wanted::Yes("on-return"),
            "t2.row2" => Wanted::No("on-return"),
            "t2.row3" | "s6.rename_atomic" => Wanted::Yes("atomic"),
            "t2.row4" => Wanted::Yes("freed-later"),
            "t2.row5" => Wanted::Yes("data-first"),
            "t2.row6" => Wanted::By(Recovery::Scan),
            "t2.row7" => Wanted::By(Recovery::Replay),
            "t2.row8" => Wanted::By(Recovery::MaybeImpossible),
            "s4.crash_only_leaks" | "s4.mount_without_fsck" => Wanted::Yes("as-it-is"),
            "s6.async_unrecoverable" => Wanted::No("recovers"),
            "s6.su_no_stale_data" => Wanted::Yes("data-first"),
            "s6.journal_stale_data" => Wanted::No("data-first"),
            "s6.rename_su_both" => Wanted::No("atomic"),
            _ => return None,
        })
    }

    /// Whether a system has it, and the state that shows this if there is one.
    fn is_so<'a>(&self, features: &'a Features, system: &str) -> Option<(bool, &'a str)> {
        let answer = |question| features.answer(system, question);
        Some(match self {
            Wanted::Yes(question) => (answer(question)?.yes, answer(question)?.witness.as_str()),
            Wanted::No(question) => (!answer(question)?.yes, answer(question)?.witness.as_str()),
            Wanted::By(recovery) => (features.system(system)?.recovery == recovery.name(), ""),
        })
    }
}

fn judged(claim: &Claim, features: &Features) -> Option<Judged> {
    let wanted = Wanted::of(&claim.id)?;
    let named = claim.list("of");
    let exclusive = claim.expected.get("exclusive").and_then(toml::Value::as_bool) == Some(true);
    let asked: Vec<String> =
        if exclusive { eight().map(|system| system.key.to_owned()).collect() } else { named.clone() };
    let (mut so, mut states) = (Vec::new(), Vec::new());
    let mut holds = true;
    for system in &asked {
        let (is_so, witness) = wanted.is_so(features, system)?;
        let expected = named.contains(system);
        holds &= is_so == expected;
        if is_so {
            so.push(system.clone());
        }
        // Give a witness where the printed table is contradicted, and where a "no" is what the claim says.
        if !witness.is_empty() && (is_so != expected || matches!(wanted, Wanted::No(_))) {
            states.push(format!("{system}: {witness}"));
        }
    }
    let both = claim.id.ends_with("s6.rename_su_both");
    if both {
        // Both names may exist after a crash; having neither is a violation.
        holds &= asked.iter().all(|system| features.answer(system, "named").is_some_and(|answer| answer.yes));
    }
    let mut why = "what states after power cuts show, where one that shows nothing proves nothing".to_owned();
    if let Some(first) = states.first() {
        why = format!("{why}; for example {first}");
    }
    let only = if exclusive { "exactly: " } else { "" };
    let ours = if so.is_empty() { "none".to_owned() } else { so.join(", ") };
    Some(Judged { holds, expected: format!("{only}{}", named.join(", ")), ours, why })
}

#[cfg(test)]
mod tests;
