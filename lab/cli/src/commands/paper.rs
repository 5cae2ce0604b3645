//! `ordo paper`

mod features;

use crate::bench::bed::drive_says;
use crate::commands::trace::a_create;
use crate::made::{self, Told};
use crate::out::{Out, Outcome, Status, print, usage};
use crate::sweep::{self, Done, Kind, UnitThere, Whole, parameters};
use crate::text;
use indicatif::{ProgressBar, ProgressStyle};
use ordo_papers::paper::{
    Document, FEATURES, PAPERS, Paper, features_alone, judge_crashes_of_aj, judge_features, run as run_paper, systems,
};
use ordo_report::results::{Figure, Story, Table, Verdict};
use serde_json::Value;
use std::io::IsTerminal;

/// Runs the experiments of a paper again and shows our results beside the paper's
///
/// Everything runs on a modelled machine in virtual time: the same numbers each time, on every machine. Each claim of
/// the paper is judged: + it holds, - it does not, . nothing was measured for it. Exit status 1 if a claim that was
/// measured does not hold, unless --json asks for the document alone. In a sweep (--jsonl) each paper is a unit, and
/// --seed changes nothing: the papers have seeds of their own.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ordo paper list\n  ordo paper features\n  ordo paper recovery\n  ordo paper write-cost --json > cost.json; ordo report cost.json\n  ordo paper mup1994\n  ordo paper mup1994 --json > mup1994.json\n  ordo paper aj\n  \
    ordo paper mup1994 lvc1995 aj recovery --shard 2/4 --jsonl 2.jsonl"
)]
pub(crate) struct Args {
    /// Papers, or list
    #[arg(value_name = "KEY", default_value = "list")]
    keys: Vec<String>,
    #[command(flatten)]
    sweep: sweep::Args,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

/// Runs them.
pub(crate) fn run(args: &Args) -> Outcome {
    if args.keys == ["list"] {
        return list(args.json);
    }
    for key in &args.keys {
        if !all().any(|paper| paper.key == key) {
            return Err(usage(format!("no paper called {key:?}; ordo paper list names them")));
        }
    }
    args.sweep.needs_file()?;
    if args.sweep.jsonl.is_some() {
        return swept(args);
    }
    let documents = args.keys.iter().map(|key| document(key)).collect::<anyhow::Result<Vec<_>>>()?;
    match (&documents[..], args.json) {
        ([one], true) => print(|out| out.json(&told(one)))?,
        (all, true) => print(|out| out.json(&all.iter().map(told).collect::<Vec<_>>()))?,
        (all, false) => print(|out| out.bytes(all.iter().map(shown).collect::<Vec<_>>().join("\n").as_bytes()))?,
    }
    let broken = documents.iter().flat_map(|document| &document.claims).any(|claim| claim.tested && !claim.is_held());
    Ok(if broken && !args.json { Status(1) } else { Status::DONE })
}

/// Runs the papers of the shard as a sweep. A claim that does not hold is a result, and no violation.
fn swept(args: &Args) -> Outcome {
    let key = |unit: u64| args.keys[unit as usize].clone();
    let one = |unit: u64| Done::new(&document(&key(unit))?, 0);
    let work = sweep::Work {
        kind: Kind::Paper,
        parameters: parameters([("papers", args.keys.clone().into())]),
        units: args.keys.len() as u64,
        name: &key,
        one: &one,
    };
    args.sweep.run(&work, 1)
}

/// Papers, joined.
#[derive(Default)]
pub(crate) struct Papers(Vec<Document>);

impl Whole for Papers {
    fn add(&mut self, unit: &UnitThere) -> anyhow::Result<()> {
        self.0.push(unit.parsed()?);
        Ok(())
    }

    fn json(&mut self, _: bool) -> anyhow::Result<Value> {
        Ok(serde_json::json!({ "papers": self.0 }))
    }

    fn show(&mut self, out: &mut Out) -> anyhow::Result<()> {
        self.0.iter().try_for_each(|document| out.line(shown(document)))
    }
}

/// A document, with how it was made, and what its drive is.
fn told(document: &Document) -> Told<'_, Document> {
    let made = Some(made::in_virtual_time());
    Told { document, made, disk_says: drive_says(&document.disk), promises: None, left_out: Vec::new() }
}

/// All papers that can be run.
fn all() -> impl Iterator<Item = &'static Paper> {
    PAPERS.iter().chain([&FEATURES])
}

fn list(json: bool) -> Outcome {
    print(|out| {
        if json {
            let pairs = all().map(|paper| serde_json::json!({ "key": paper.key, "about": paper.what }));
            return out.json(&pairs.collect::<Vec<_>>());
        }
        let rows: Vec<_> = all().map(|paper| vec![paper.key.to_owned(), paper.what.to_owned()]).collect();
        out.bytes(text::table(2, &rows).as_bytes())
    })?;
    Ok(Status::DONE)
}

fn document(key: &str) -> anyhow::Result<Document> {
    let bar = match std::io::stderr().is_terminal() {
        true => ProgressBar::new(0),
        false => ProgressBar::hidden(),
    };
    if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}") {
        bar.set_style(style);
    }
    bar.set_message(key.to_owned());
    let progress = |done: usize, all: usize| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    };
    if key == FEATURES.key {
        let document = features_alone(features::found(&progress)?);
        bar.finish_and_clear();
        return Ok(document);
    }
    let mut document = run_paper(key, &progress)?;
    match key {
        "jsu2000" => judge_features(&mut document, features::found(&progress)?),
        "aj" => judge_crashes_of_aj(&mut document, features::found_of_aj(&progress)?),
        _ => (),
    }
    bar.finish_and_clear();
    document.stories = stories(key)?;
    Ok(document)
}

/// What a create makes durable under each of the paper's systems.
fn stories(key: &str) -> anyhow::Result<Vec<Story>> {
    let story = |(name, scheme): (&str, String)| {
        let (svg, text) = a_create(&scheme)?;
        Ok(Story { scheme: name.to_owned(), title: format!("A file is created under {scheme}"), svg, text })
    };
    systems(key).into_iter().map(story).collect()
}

/// A document as text for a terminal.
fn shown(document: &Document) -> String {
    let Document { title, reference, disk, tables, figures, claims, notes, features, .. } = document;
    let on = if disk.is_empty() { String::new() } else { format!("; on the model of {disk}") };
    let mut text = format!("{title}\n{reference}{on}\n");
    notes.iter().for_each(|note| text.push_str(&format!("{note}\n")));
    tables.iter().for_each(|table| text.push_str(&shown_table(table)));
    figures.iter().for_each(|figure| text.push_str(&shown_figure(figure)));
    text.extend(features.iter().map(features::shown));
    text.push_str(&shown_claims(claims));
    text
}

fn number(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value.abs() >= 100.0 => format!("{value:.0}"),
        Some(value) if value.abs() >= 10.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.2}"),
    }
}

fn shown_table(table: &Table) -> String {
    let labels = table.rows.first().map_or(0, |row| row.labels.len());
    let unit = |unit: &str| if unit.is_empty() { String::new() } else { format!(" ({unit})") };
    let heads = table.columns.iter().map(|column| format!("{}{}", column.name, unit(&column.unit)));
    let mut rows = vec![vec![String::new(); labels].into_iter().chain(heads).collect::<Vec<_>>()];
    for row in &table.rows {
        let pairs =
            row.ours.iter().zip(&row.theirs).map(|(ours, theirs)| format!("{} / {}", number(*ours), number(*theirs)));
        rows.push(row.labels.iter().cloned().chain(pairs).collect());
    }
    format!("\n{}: {} (ours / theirs)\n{}", table.id, table.title, text::table(labels, &rows))
}

fn shown_figure(figure: &Figure) -> String {
    let unit = if figure.y.unit.is_empty() { String::new() } else { format!(" ({})", figure.y.unit) };
    let mut rows = Vec::new();
    if figure.categories.is_empty() {
        let points = figure.series.first().map(|series| &series.points[..]).unwrap_or_default();
        let head = points.iter().map(|(x, _)| format!("{x}"));
        rows.push(std::iter::once(figure.x.label.clone()).chain(head).collect::<Vec<_>>());
        for series in &figure.series {
            let values = series.points.iter().map(|(_, y)| number(Some(*y)));
            rows.push(std::iter::once(series.name.clone()).chain(values).collect());
        }
    } else {
        for (at, category) in figure.categories.iter().enumerate() {
            let values = figure.series.iter().map(|series| number(series.values.get(at).copied().flatten()));
            rows.push(std::iter::once(category.clone()).chain(values).collect());
        }
    }
    format!("\n{}: {}, {}{unit}\n{}", figure.id, figure.title, figure.y.label, text::table(1, &rows))
}

fn shown_claims(claims: &[Verdict]) -> String {
    if claims.is_empty() {
        return String::new();
    }
    let tested = claims.iter().filter(|claim| claim.tested).count();
    let held = claims.iter().filter(|claim| claim.is_held()).count();
    let mut text = format!("\nClaims: {} in all, {tested} measured, {held} hold\n", claims.len());
    for claim in claims {
        let mark = match (claim.tested, claim.is_held()) {
            (false, _) => ".",
            (true, true) => "+",
            (true, false) => "-",
        };
        text.push_str(&format!("{mark} {} ({}): {}\n", claim.id, claim.place, claim.statement));
        if claim.tested {
            text.push_str(&format!("    expected {}; ours {}; {}\n", claim.expected, claim.ours, claim.why));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_system_of_a_paper_has_its_story_of_a_create() {
        let stories = stories("mup1994").unwrap();
        let names: Vec<_> = stories.iter().map(|story| story.scheme.as_str()).collect();
        assert_eq!(names, ["conventional", "flag-part-nr-cb", "chains", "soft-updates", "no-order"]);
        let waits: Vec<_> = stories.iter().map(|story| story.text.contains("wait until")).collect();
        assert_eq!(waits, [true, false, false, false, false], "only the conventional one waits");
        assert!(stories.iter().all(|story| story.svg.starts_with("<svg") && story.text.contains("durable")));
    }
}
