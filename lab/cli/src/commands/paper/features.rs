//! The features of the systems of a paper and of others: determined from the states that power cuts leave.

use crate::text;
use anyhow::anyhow;
use ordo_crash::features::{Answer, Freed, ask_all, freed};
use ordo_crash::{DEFAULT_DEVICE, Device, Question, Subject};
use ordo_papers::paper::features::{self, Asked, Features, Recovery, System};
use ordo_papers::paper::{SetUp, run_all, set_ups, set_ups_of_aj};

/// Schemes that the paper does not have, or has in another form, with their settings.
const OURS: &[(&str, &[(&str, &str)])] = &[
    ("sync", &[]),
    ("conventional", &[]),
    ("flag-part-nr-cb", &[]),
    ("chains", &[]),
    ("suj", &[]),
    ("journal-file", &[("data", "ordered")]),
    ("wafs", &[("data", "ordered")]),
    ("block-journal", &[("data", "journal")]),
    ("block-journal", &[("data", "ordered")]),
    ("block-journal", &[("data", "writeback")]),
];

/// The feature that is determined from the bitmaps.
const FREED: &str = "freed-later";

/// Determines the features. `progress` is called with the number of finished systems and their total.
///
/// # Errors
/// A scheme cannot be made, or a script does not run on it.
pub(super) fn found(progress: &(dyn Fn(usize, usize) + Sync)) -> anyhow::Result<Features> {
    found_of(subjects()?, progress)
}

/// The same of the modes of ext3's journal alone.
///
/// # Errors
/// As [`found`].
pub(super) fn found_of_aj(progress: &(dyn Fn(usize, usize) + Sync)) -> anyhow::Result<Features> {
    let device = Device::by_name(DEFAULT_DEVICE).ok_or_else(|| anyhow!("no disk is called {DEFAULT_DEVICE:?}"))?;
    found_of(set_ups_of_aj().into_iter().map(|system| subject(system, device)).collect(), progress)
}

fn found_of(subjects: Vec<(String, Subject)>, progress: &(dyn Fn(usize, usize) + Sync)) -> anyhow::Result<Features> {
    let questions = Question::ALL.iter().map(|question| (question.name(), question.says()));
    let questions = questions.chain([(FREED, "blocks of a removed file become free after the call")]);
    let asked: Vec<Asked> =
        questions.map(|(name, says)| Asked { name: name.to_owned(), says: says.to_owned() }).collect();
    let mut systems = Vec::new();
    let answered = run_all(&subjects, progress, |(_, subject)| answers_of(subject))?;
    for ((name, subject), answers) in subjects.iter().zip(answered) {
        let yes = |question: Question| {
            asked.iter().zip(&answers).any(|(asked, answer)| asked.name == question.name() && answer.yes)
        };
        let by_mount = subject.promises()?.mount_at_once;
        let recovery = Recovery::of(yes(Question::AsItIs), yes(Question::Recovers), by_mount);
        systems.push(System {
            name: name.clone(),
            scheme: said(subject),
            recovery: recovery.name().to_owned(),
            answers,
        });
    }
    Ok(Features {
        title: "Features, found by power cuts".to_owned(),
        doubt: format!(
            "A no has a state that shows it (ordo crash --replay ID); no later script was run. A yes means that no examined \
             state, on a disk of the kind {DEFAULT_DEVICE:?} and a volume of 8 MiB, shows the contrary: that is no proof."
        ),
        asked,
        systems,
    })
}

/// A system by name.
fn subject(system: SetUp, device: &Device) -> (String, Subject) {
    let SetUp { name, scheme, settings, separate_log } = system;
    (name.to_owned(), Subject { settings, separate_log, ..Subject::new(scheme, device) })
}

/// The systems by name.
fn subjects() -> anyhow::Result<Vec<(String, Subject)>> {
    let device = Device::by_name(DEFAULT_DEVICE).ok_or_else(|| anyhow!("no disk is called {DEFAULT_DEVICE:?}"))?;
    let mut subjects: Vec<_> = set_ups().into_iter().map(|system| subject(system, device)).collect();
    for (scheme, sets) in OURS {
        let mut subject = Subject::new(scheme, device);
        for (key, value) in *sets {
            match subject.settings.set(key, value) {
                Some(Ok(())) => {}
                _ => return Err(anyhow!("{scheme} cannot be set to {key}={value}")),
            }
        }
        let name = std::iter::once((*scheme).to_owned()).chain(sets.iter().map(|(_, value)| (*value).to_owned()));
        subjects.push((name.collect::<Vec<_>>().join(" "), subject));
    }
    Ok(subjects)
}

/// A scheme, and its settings.
fn said(subject: &Subject) -> String {
    let mut said = vec![subject.scheme.clone()];
    said.extend(subject.settings.said());
    said.extend(subject.separate_log.then(|| "log=separate".to_owned()));
    said.extend(subject.settings.without.iter().map(|rule| format!("without {rule}")));
    said.join(" ")
}

fn answers_of(subject: &Subject) -> anyhow::Result<Vec<features::Answer>> {
    let asked = ask_all(subject)?.into_iter().map(table_answer);
    Ok(asked.chain([by_the_maps(freed(subject)?)]).collect())
}

fn table_answer(answer: Answer) -> features::Answer {
    let (yes, Answer { states, against, witness, .. }) = (answer.holds(), answer);
    let (witness, shows) = witness.map_or_else(Default::default, |found| (found.id, found.detail));
    features::Answer { yes, states, against, witness, shows }
}

fn by_the_maps(freed: Freed) -> features::Answer {
    let shows = format!("{} bytes free when the call returned, {} later", freed.at_return, freed.later);
    features::Answer { yes: freed.in_background(), states: 0, against: 0, witness: String::new(), shows }
}

/// The table, and a witness for each no.
pub(super) fn shown(features: &Features) -> String {
    let Features { title, doubt, asked, systems } = features;
    let heads = asked.iter().map(|asked| asked.name.clone());
    let mut rows = vec![["".to_owned(), "recovery".to_owned()].into_iter().chain(heads).collect::<Vec<_>>()];
    for system in systems {
        let cells = system.answers.iter().map(|answer| match (answer.yes, answer.states) {
            (yes, 0) => word(yes).to_owned(),
            (true, states) => format!("yes ({states})"),
            (false, states) => format!("no ({} of {states})", answer.against),
        });
        let recovery = features::in_words(&system.recovery).to_owned();
        rows.push([system.name.clone(), recovery].into_iter().chain(cells).collect());
    }
    let mut text =
        format!("\n{title}: number of states examined, and how many of them say no\n{}", text::table(2, &rows));
    text.push_str(&format!("{doubt}\n"));
    for asked in asked {
        text.push_str(&format!("  {}: {}\n", asked.name, asked.says));
    }
    text.push_str("\nA state for each no:\n");
    for system in systems {
        text.push_str(&format!("{} ({})\n", system.name, system.scheme));
        for (asked, answer) in asked.iter().zip(&system.answers).filter(|(_, answer)| !answer.shows.is_empty()) {
            text.push_str(&format!("  {}: {}\n", asked.name, text::one_line(&answer.shows)));
            if !answer.witness.is_empty() {
                text.push_str(&format!("    {}\n", answer.witness));
            }
        }
    }
    text
}

fn word(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}
