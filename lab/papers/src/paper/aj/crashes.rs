//! Claims about crashes: judged by what power cuts have shown of the scheme `block-journal`, which is ext3's journal.

use crate::paper::claims::{Claim, claims_of};
use crate::paper::features::Features;
use crate::paper::judge::Judged;
use crate::paper::set_up::SetUp;
use ordo_report::results::Document;
use ordofs::schemes::Settings;

const MODES: [(&str, &str); 3] =
    [("ext3-journal", "journal"), ("ext3-ordered", "ordered"), ("ext3-writeback", "writeback")];

/// The modes of ext3, as far as the scheme can be set to them.
pub(in crate::paper) fn set_ups() -> Vec<SetUp> {
    let set_up = |(name, mode): (&'static str, &str)| {
        let mut settings = Settings::default();
        settings.set("data", mode)?.ok()?;
        Some(SetUp { name, scheme: "block-journal", settings, separate_log: false })
    };
    MODES.into_iter().filter_map(set_up).collect()
}

/// Judges the findings, and adds them to the document.
pub(in crate::paper) fn judge(document: &mut Document, features: Features) {
    for claim in claims_of("aj") {
        let Some(judged) = judged(&claim, &features) else { continue };
        if let Some(verdict) = document.claims.iter_mut().find(|verdict| verdict.id == claim.id) {
            *verdict = judged.verdict(&claim);
        }
    }
    document.features = Some(features);
}

fn judged(claim: &Claim, features: &Features) -> Option<Judged> {
    // A question, and the modes of which the answer is to be yes.
    let all = MODES.map(|(name, _)| name);
    let (question, wanted): (&str, &[&str]) = match claim.id.strip_prefix("aj.s2.")? {
        "mode_safety" => ("data-first", &all[..2]),
        "no_durability" => ("on-return", &[]),
        "atomic" => ("atomic", &all),
        "redo_only_committed" => ("recovers", &all),
        _ => return None,
    };
    let mut holds = true;
    let mut shown = Vec::new();
    for mode in all {
        let answer = features.answer(mode, question)?;
        holds &= answer.yes == wanted.contains(&mode);
        let witness = if answer.witness.is_empty() { String::new() } else { format!(" ({})", answer.witness) };
        shown.push(format!("{mode} {}{witness}", if answer.yes { "yes" } else { "no" }));
    }
    Some(Judged {
        holds,
        expected: format!("{question}: {}", if wanted.is_empty() { "none".to_owned() } else { wanted.join(", ") }),
        ours: shown.join(", "),
        why: "what states after power cuts show of the scheme block-journal, where one that shows nothing proves \
              nothing"
            .to_owned(),
    })
}
