//! Programs on mounts, beside other file systems (`benches/programs.py`): a table, and bars of how fast each system is
//! beside the reference.

use crate::bars::{self, Bar, Group};
use crate::document::{Program, Programs};
use crate::number::short;
use maud::{Markup, html};

/// Other systems are compared with this one, if it was measured.
const REFERENCE: &str = "ext4";

/// The title of its section.
pub(crate) fn title(of: &Programs) -> String {
    match of.systems.iter().any(|name| name == REFERENCE) {
        true => format!("Programs, beside {REFERENCE}"),
        false => "Programs".into(),
    }
}

/// A section for one run.
pub(crate) fn of(all: &Programs) -> Markup {
    let runs =
        if all.runs > 0.0 { format!("; medians of {} alternating runs", short(all.runs)) } else { String::new() };
    html! {
        p.lead { "The same programs on each file system, all on one disk. " (all.machine) (runs) "." }
        div.scroll tabindex="0" role="region" aria-label="Programs" {
            table.numbers {
                caption.hidden { "Programs" }
                thead { tr { th scope="col" { "program" } th scope="col" { "unit" } @for name in &all.systems { th scope="col" { (name) } } } }
                tbody { @for program in &all.programs { (line(program, &all.systems)) } }
            }
        }
        @let groups = beside(all);
        @if !groups.is_empty() {
            figure { (bars::of(html! { "How fast, beside " (REFERENCE) ": a longer bar is faster" }, &groups)) }
        }
    }
}

/// A rate is better if it is higher, a time if it is lower.
fn is_rate(program: &Program) -> bool {
    program.what.ends_with("/s")
}

fn line(program: &Program, systems: &[String]) -> Markup {
    let (name, unit) = match program.what.strip_suffix("/s") {
        Some(name) => (name, "a second"),
        None => (program.what.as_str(), "seconds"),
    };
    html! {
        tr {
            th scope="row" { (name) }
            td.word { (unit) }
            @for system in systems { td { (program.medians.get(system).map_or("none".into(), |number| short(*number))) } }
        }
    }
}

/// Of each program the speeds over that of the reference.
fn beside(all: &Programs) -> Vec<Group> {
    let colours = crate::colour::of(all.systems.iter().map(String::as_str));
    let group = |program: &Program| {
        let reference = program.medians.get(REFERENCE).copied().filter(|number| *number > 0.0)?;
        let speed = |number: f64| match is_rate(program) {
            true => Some(number / reference),
            false => (number > 0.0).then(|| reference / number),
        };
        let bar = |(at, system): (usize, &String)| {
            let value = speed(*program.medians.get(system)?);
            Some(Bar { label: system.clone(), value, says: None, colour: colours[at] })
        };
        let bars = all.systems.iter().enumerate().filter(|(_, name)| *name != REFERENCE).filter_map(bar).collect();
        Some(Group { name: program.what.trim_end_matches("/s").into(), bars })
    };
    all.programs.iter().filter_map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_and_a_time_are_faster_with_longer_bars() {
        let text = r#"{"programs":[{"what":"rm -r","medians":{"softupdates":4.0,"ext4":2.0}},
            {"what":"pgbench/s","medians":{"softupdates":150.0,"ext4":100.0}}],
            "systems":["softupdates","ext4","<x>"],"machine":"2 CPUs","runs":3}"#;
        let read: Programs = serde_json::from_str(text).unwrap();
        assert_eq!(title(&read), "Programs, beside ext4");
        let drawn = of(&read).into_string();
        for shown in
            ["rm -r", "seconds", "a second", "<td>4</td>", "150", "&lt;x&gt;", "none", "medians of 3", "2 CPUs"]
        {
            assert!(drawn.contains(shown), "{shown}: {drawn}");
        }
        let speeds: Vec<Option<f64>> = beside(&read).iter().map(|group| group.bars[0].value).collect();
        assert_eq!(speeds, [Some(0.5), Some(1.5)]);
    }

    #[test]
    fn without_the_reference_there_are_no_bars() {
        let text = r#"{"programs":[{"what":"make","medians":{"wafs":4.0}}],"systems":["wafs"]}"#;
        let read: Programs = serde_json::from_str(text).unwrap();
        assert!(beside(&read).is_empty() && title(&read) == "Programs");
        assert!(!of(&read).into_string().contains("beside"));
    }
}
