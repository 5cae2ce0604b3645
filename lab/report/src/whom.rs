//! Which scheme for whom: the map, for each kind of user the scheme that does best what they need, and what a crash
//! costs under each.
//!
//! W1. `NEEDS` has what each kind of user needs, as a question to the promises of a scheme, which the documents state.
//!     Of the schemes that keep them the fastest is named, as the documents measured it. No scheme and no number is
//!     written here.
//! W2. Nothing is guessed: if the documents lack something, the page names the command that makes it.

use crate::document::{Document, Given};
use crate::number::{bytes, fixed, share};
use crate::results::Promises;
use crate::subject::{OnDisk, Subject, on_disks, subjects};
use crate::words::word as explained;
use crate::{map, tabs, yes_or_no};
use maud::{Markup, html};

/// Within so much of the best is as good: less is no reason to choose.
const AS_GOOD: f64 = 0.95;
/// Names in a cell; the others are counted.
const NAMED: usize = 3;

/// What decides among those that keep the promises.
#[derive(Clone, Copy, PartialEq)]
enum By {
    Speed,
    Wear,
}

/// Who, what they need in words, the same as a question to the promises, and what decides then.
struct Need {
    who: &'static str,
    needs: &'static str,
    is_kept: fn(&Promises) -> bool,
    by: By,
}

const NEEDS: [Need; 7] = [
    Need {
        who: "a database, a mail server",
        needs: "what was fsynced stays, with its name, and no file shows bytes of another one",
        is_kept: |says| says.durable_stays && says.fsync_covers_name && says.no_stale_data,
        by: By::Speed,
    },
    Need {
        who: "a laptop, a machine that nobody watches",
        needs: "mounted at once after a crash; what was durable stays, a rename loses nothing",
        is_kept: |says| says.mount_at_once && says.durable_stays && says.rename_never_loses,
        by: By::Speed,
    },
    Need {
        who: "a server whose clients rely on each call",
        needs: "a name is durable when the call returns",
        is_kept: |says| says.name_added == "on-return" && says.name_removed == "on-return",
        by: By::Speed,
    },
    Need {
        who: "a package manager, a store of versions",
        needs: "no call is done by half, and calls are kept in their order",
        is_kept: |says| says.names_of_a_moment,
        by: By::Speed,
    },
    Need {
        who: "forensics, a disk that goes to another system",
        needs: "a crash leaves no log that only OrdoFS replays, and nothing is lost",
        is_kept: |says| matches!(&*says.crash_leaves, "nothing" | "leaks" | "counts"),
        by: By::Speed,
    },
    Need {
        who: "a builder of images, scratch of a build server",
        needs: "speed alone: after a crash it is made again",
        is_kept: |_| true,
        by: By::Speed,
    },
    Need {
        who: "flash that should live long",
        needs: "the fewest bytes written for a call, and a crash loses no file",
        is_kept: |says| says.crash_leaves != "anything",
        by: By::Wear,
    },
];

/// Whether the documents say anything of a scheme.
pub(crate) fn is_known(given: &[Given]) -> bool {
    !subjects(given).is_empty()
}

/// The section, below its heading.
pub(crate) fn of(given: &[Given]) -> Markup {
    let subjects = subjects(given);
    let disks = on_disks(given, &subjects);
    let panel = |on: &OnDisk| (on.disk.clone(), html! { (map::draw(&subjects, on)) (needs(&subjects, on)) });
    html! {
        p.lead { "Each " (explained("scheme", "scheme")) " decides when a change reaches the disk. To the right is faster; the higher, the less a crash costs." }
        @if disks.is_empty() { (map::draw(&subjects, &OnDisk::default())) (needs(&subjects, &OnDisk::default())) }
        @else { (tabs::of("whom", "Disk", disks.iter().map(panel).collect())) }
        (missing(given, &subjects, &disks))
        @if subjects.iter().any(|subject| subject.promises.is_some()) { (costs(&subjects)) }
    }
}

/// For each kind of user, the scheme to take.
fn needs(subjects: &[Subject], on: &OnDisk) -> Markup {
    // What nobody states cannot be kept or broken.
    if subjects.iter().all(|subject| subject.promises.is_none()) {
        return html! {};
    }
    let works = on.workloads.join(", ");
    html! {
        div.scroll.stacked tabindex="0" role="region" aria-label="Which scheme for whom" {
            table.choice.needs {
                caption {
                    strong { "For whom" }
                    " " small { "the fastest that keeps what is needed" @if !works.is_empty() { ", by " (works) " on " (on.disk) } }
                }
                thead { tr { @for name in ["for", "needs", "take", "because"] { th scope="col" { (name) } } } }
                tbody { @for need in &NEEDS { (line(need, subjects, on)) } }
            }
        }
    }
}

fn line(need: &Need, subjects: &[Subject], on: &OnDisk) -> Markup {
    let keeps = |at: &usize| subjects[*at].promises.as_ref().is_some_and(need.is_kept);
    // Who was not measured where others were cannot be recommended, nor passed over; nor who promises nothing here.
    let known: Vec<usize> = (0..subjects.len())
        .filter(|at| subjects[*at].promises.is_some() && (on.speeds.is_empty() || on.speeds.contains_key(at)))
        .collect();
    let fit: Vec<usize> = known.iter().copied().filter(keeps).collect();
    let best = best(need.by, &fit, on);
    html! {
        tr {
            th scope="row" { (need.who) }
            td data-name="needs" { (need.needs) }
            td data-name="take" { strong { (take(&best, &fit, subjects)) } }
            td data-name="because" { (because(need.by, best.first().copied(), fit.len(), known.len(), on)) }
        }
    }
}

/// Those that are as good as the best, the best first.
fn best(by: By, fit: &[usize], on: &OnDisk) -> Vec<usize> {
    let numbers = if by == By::Speed { &on.speeds } else { &on.wear };
    // If it is not known of all, the one that is not known may be the best.
    if by == By::Wear && !fit.iter().all(|at| on.wear.contains_key(at)) {
        return Vec::new();
    }
    // Wear is better if it is less.
    let good = |at: &usize| numbers.get(at).map(|number| if by == By::Speed { *number } else { -number });
    let mut found: Vec<(usize, f64)> = fit.iter().filter_map(|at| Some((*at, good(at)?))).collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    let Some(&(_, top)) = found.first() else { return Vec::new() };
    let is_as_good = |value: f64| if by == By::Speed { value >= top * AS_GOOD } else { value >= top / AS_GOOD };
    found.into_iter().filter(|(_, value)| is_as_good(*value)).map(|(at, _)| at).collect()
}

fn take(best: &[usize], fit: &[usize], subjects: &[Subject]) -> String {
    let list = if best.is_empty() { fit } else { best };
    let names: Vec<&str> = list.iter().take(NAMED).map(|at| &*subjects[*at].name).collect();
    let named = match (list.len(), best.is_empty()) {
        (0, _) => return "none of these".into(),
        (_, true) => names.join(" or "),
        _ => names.join(", "),
    };
    if list.len() > NAMED { format!("{named} and {} more", list.len() - NAMED) } else { named }
}

fn because(by: By, first: Option<usize>, fit: usize, of: usize, on: &OnDisk) -> String {
    let kept = match fit {
        0 => return "none of these schemes promises it".into(),
        one if one == of => "all keep it".to_owned(),
        1 => format!("the only one of {of} that keeps it"),
        some => format!("{some} of {of} keep it"),
    };
    let Some(first) = first else {
        let ended = by == By::Wear && !on.speeds.is_empty();
        let why = if ended { ": some of these runs ended before anything was written" } else { "" };
        return format!("{kept}; not measured{why}");
    };
    match by {
        By::Wear => {
            format!("{} for an operation; {kept}", on.wear.get(&first).map_or_else(String::new, |wear| bytes(*wear)))
        }
        By::Speed => match on.speeds.get(&first).copied().unwrap_or_default() {
            speed if speed > 0.999 => format!("the fastest of all; {kept}"),
            speed => format!("{} of the speed of the fastest; {kept}", share(speed)),
        },
    }
}

/// What the documents lack for this section, with the command that makes it.
fn missing(given: &[Given], subjects: &[Subject], disks: &[OnDisk]) -> Markup {
    let has_crash = subjects.iter().any(|subject| subject.tried > 0.0);
    let few = disks.iter().all(|on| on.speeds.len() < 2);
    let old: Vec<&str> = given.iter().filter(|one| is_silent(one)).map(crate::document::file).collect();
    html! {
        @if few || !has_crash || !old.is_empty() {
            ul.notes {
                @if few { li { "For the speed of several schemes: " code { "ordo bench --workload create-delete,postmark --json > bench.json" } } }
                @if !has_crash { li { "For what power cuts find: " code { "ordo crash --scheme softupdates --workload mixed --json > crash.json" } } }
                @if !old.is_empty() { li { "Made by an ordo that did not write what a scheme promises; make them again: " (old.join(", ")) } }
            }
        }
    }
}

/// A document that should say what its schemes promise, and does not.
fn is_silent(given: &Given) -> bool {
    match &given.document {
        Document::Crash(crash) => crash.promises.is_none(),
        // A directory of another file system has no scheme.
        Document::Bench(rows) => {
            rows.iter().any(|row| !row.disk.starts_with("dir:")) && rows.iter().all(|row| row.promises.is_none())
        }
        _ => false,
    }
}

/// A question about a crash, its answer for a scheme, and whether that answer is the good one.
type Asked = (&'static str, &'static str, fn(&Promises) -> (bool, bool));

const ASKED: [Asked; 6] = [
    ("last names lost?", "names of the last seconds may be lost, if neither fsync nor sync was called", |says| {
        let lost = says.name_added != "on-return";
        (lost, !lost)
    }),
    ("fsck first?", "fsck must run before the volume is mounted for writing", |says| {
        (!says.mount_at_once, says.mount_at_once)
    }),
    ("old files lost?", "what was durable may be gone, even if it was not in use", |says| {
        let lost = says.crash_leaves == "anything" || !says.durable_stays;
        (lost, !lost)
    }),
    ("fsync keeps the name?", "fsync of a new file also makes its name durable", |says| {
        (says.fsync_covers_name, says.fsync_covers_name)
    }),
    ("half a call?", "a call that was running may be done by half: a rename with both names", |says| {
        (!says.names_of_a_moment, says.names_of_a_moment)
    }),
    ("foreign bytes?", "a new file may show old bytes of another file", |says| {
        (!says.no_stale_data, says.no_stale_data)
    }),
];

/// What a crash costs under each scheme: questions and answers, and what power cuts found.
fn costs(subjects: &[Subject]) -> Markup {
    let known = || subjects.iter().filter_map(|subject| Some((subject, subject.promises.as_ref()?)));
    html! {
        details {
            summary { "What a crash costs, scheme by scheme" }
            div.scroll tabindex="0" role="region" aria-label="What a crash costs" {
                table.numbers.answers {
                    caption.hidden { "What a crash costs" }
                    thead { tr {
                        th scope="col" { "scheme" }
                        @for (name, ..) in ASKED { th scope="col" { (name) } }
                        th scope="col" { "power cuts" }
                    } }
                    tbody { @for (subject, promises) in known() { tr {
                        th scope="row" { (subject.name) }
                        @for (_, _, answer) in ASKED { @let (yes, good) = answer(promises); td { (yes_or_no::of(yes, good)) } }
                        td { (tried(subject)) }
                    } } }
                }
            }
            dl.keys {
                @for (name, says, _) in ASKED { div { dt { (name) } dd { (says) } } }
                div { dt { "power cuts" } dd { "states after a power cut that were examined, and in how many a promise was broken" } }
            }
            p { "The answers are what each scheme declares; " code { "ordo crash" } " tests whether it keeps it." }
            dl.ways { @for (subject, promises) in known() {
                dt { (subject.name) " " small { (map::cost(Some(promises))) } }
                @if !promises.says.is_empty() { dd { (promises.says) } }
            } }
        }
    }
}

fn tried(subject: &Subject) -> Markup {
    html! {
        @if subject.tried <= 0.0 { small { "none given" } }
        @else if subject.broken > 0.0 && subject.promises.as_ref().is_some_and(Promises::is_none) {
            (fixed(subject.broken, 0)) " damaged " small { "of " (fixed(subject.tried, 0)) "; it promises nothing" }
        }
        @else if subject.broken > 0.0 { span.badge.broken { (fixed(subject.broken, 0)) " broken" } " " small { "of " (fixed(subject.tried, 0)) } }
        @else { span.badge.held { "none broken" } " " small { "of " (fixed(subject.tried, 0)) } }
    }
}
