//! A paper: its claims, which way is best for what, its tables beside ours, its figures, time lines of the arm, and
//! the story of a call.

use crate::bars::{self, Bar, Group};
use crate::results::{Chart, Document, Figure, Story};
use crate::{choice, claims, compared, features, plot, tabs, timeline};
use maud::{Markup, html};
use std::fmt::Write;

/// A section for a paper; `id` distinguishes the papers of a page.
pub(crate) fn of(id: &str, paper: &Document) -> Markup {
    let seed = paper.seed.map(|seed| seed.to_string());
    let disk = if paper.disk_says.is_empty() { &paper.disk } else { &paper.disk_says };
    let facts = [("disk", Some(disk)), ("seed", seed.as_ref())];
    let again = format!("ordo paper {}", paper.paper);
    html! {
        @if !paper.reference.is_empty() { p.reference { (paper.reference) } }
        dl.facts {
            @for (name, value) in facts {
                @if let Some(value) = value.filter(|value| !value.is_empty()) { div { dt { (name) } dd { (value) } } }
            }
            div { dt { "again" } dd { code { (again) } } }
        }
        (claims::verdict(&paper.claims))
        @if !paper.notes.is_empty() { ul.notes { @for note in &paper.notes { li { (note) } } } }
        @if let Some(found) = &paper.choice {
            section.part { h3 { (found.title) } (choice::of(found)) }
        }
        @if !paper.tables.is_empty() {
            section.part {
                h3 { "Tables, and ours beside them" }
                (compared::key())
                @for table in &paper.tables { (compared::of(table)) }
            }
        }
        @if let Some(found) = &paper.features {
            section.part { h3 { (found.title) } (features::of(found)) }
        }
        @if !paper.figures.is_empty() {
            section.part { h3 { "Figures" } div.many { @for figure in &paper.figures { (drawn(figure)) } } }
        }
        @if !paper.timelines.is_empty() {
            section.part { h3 { "Where the arm was" } (timeline::all(&paper.timelines)) }
        }
        @if !paper.stories.is_empty() {
            section.part {
                h3 { "One call under each scheme" }
                (tabs::of(&format!("{id}-story"), "Scheme", paper.stories.iter().map(told).collect()))
            }
        }
        @if !paper.claims.is_empty() {
            section.part { h3 { "Claims" } (claims::table(&format!("{id}-claims"), &paper.claims)) }
        }
    }
}

fn drawn(figure: &Figure) -> Markup {
    let caption = html! { strong { (figure.title) } };
    match figure.kind {
        Chart::Line => html! { figure.wide { figcaption { (caption) } (plot::lines(figure)) } },
        Chart::Bar => {
            let axis = plot::labelled(&figure.y.label, &figure.y.unit);
            let caption = html! { (caption) @if !axis.is_empty() { " " small { (axis) } } };
            html! { figure { (bars::of(caption, &groups(figure))) } }
        }
    }
}

/// A group for each category; a single series needs no group, its categories are the labels.
fn groups(figure: &Figure) -> Vec<Group> {
    let value = |series: usize, category: usize| figure.series[series].values.get(category).copied().flatten();
    if let [only] = &figure.series[..] {
        let bar = |(at, category): (usize, &String)| Bar {
            label: category.clone(),
            value: value(0, at),
            says: None,
            colour: 0,
        };
        return vec![Group { name: only.name.clone(), bars: figure.categories.iter().enumerate().map(bar).collect() }];
    }
    let colours = crate::colour::of(figure.series.iter().map(|series| series.name.as_str()));
    let group = |(category, name): (usize, &String)| {
        let bar = |(at, series): (usize, &crate::results::Series)| Bar {
            label: series.name.clone(),
            value: value(at, category),
            says: None,
            colour: colours[at],
        };
        Group { name: name.clone(), bars: figure.series.iter().enumerate().map(bar).collect() }
    };
    figure.categories.iter().enumerate().map(group).collect()
}

/// A story: its picture, and its text for readers who do not see it.
fn told(story: &Story) -> (String, Markup) {
    let title = if story.title.is_empty() { &story.scheme } else { &story.title };
    let told = html! {
        @if !story.title.is_empty() { p { (story.title) } }
        @if !story.svg.is_empty() {
            div.scroll.picture tabindex="0" role="region" aria-label=(title) {
                img src=(data_uri(&story.svg)) alt=(format!("{title}: a picture of what the text below says"));
            }
        }
        @if !story.text.is_empty() {
            details open[story.svg.is_empty()] { summary { "In words" } pre.scroll tabindex="0" { (story.text) } }
        }
    };
    (story.scheme.clone(), told)
}

/// A picture as a data URI. As an image it runs no script and fetches nothing.
fn data_uri(svg: &str) -> String {
    let mut uri = String::from("data:image/svg+xml,");
    for byte in svg.bytes() {
        match byte {
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b' '
            | b'='
            | b'/'
            | b':'
            | b'-'
            | b'.'
            | b','
            | b';'
            | b'('
            | b')' => {
                uri.push(char::from(byte));
            }
            // Writing to a String does not fail.
            byte => drop(write!(uri, "%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_of_a_document_is_an_image_and_nothing_else() {
        let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" onload='x'>\u{e9}\"><script>#</script></svg>";
        let uri = data_uri(svg);
        assert!(uri.starts_with("data:image/svg+xml,%3Csvg xmlns=%22http://"), "{uri}");
        assert!(!uri.contains(['<', '>', '"', '\'', '#', '&']) && uri.contains("%C3%A9"), "{uri}");
        let story = Story { scheme: "s".into(), svg: svg.into(), ..Story::default() };
        let drawn = told(&story).1.into_string();
        assert!(drawn.contains("<img src=\"data:image/svg+xml,") && !drawn.contains("<script"), "{drawn}");
    }

    #[test]
    fn a_figure_of_one_series_is_labelled_by_its_categories() {
        let figure = |text: &str| serde_json::from_str::<Figure>(text).unwrap();
        let labels = |figure: &Figure| {
            let of = |group: Group| (group.name, group.bars.into_iter().map(|bar| bar.label).collect::<Vec<_>>());
            groups(figure).into_iter().map(of).collect::<Vec<_>>()
        };
        let one = figure(r#"{"categories":["a","b"],"series":[{"name":"s","values":[1]}]}"#);
        assert_eq!(labels(&one), [("s".into(), vec!["a".into(), "b".into()])]);
        let two = figure(r#"{"categories":["a"],"series":[{"name":"s","values":[1]},{"name":"t"}]}"#);
        assert_eq!(labels(&two), [("a".to_owned(), vec!["s".to_owned(), "t".to_owned()])]);
        assert!(groups(&figure("{}")).is_empty());
    }
}
