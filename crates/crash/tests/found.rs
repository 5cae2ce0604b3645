//! Scripts with which others convicted a scheme, each with the rule that it was missing: the script is clear now, and shows a
//! violation again without that rule.

mod common;

use crash::{Counters, Device, Memory, Plan, Report, Shape, explore_with};
use ondisk::Format;
use workload::script::Script;

/// A script, the geometry that shows it, and the rule that was missing.
struct Case {
    name: &'static str,
    text: &'static str,
    shape: Shape,
    rule: &'static str,
}

const fn shape(format: Format, bsize: u32, fsize: u32, mib: u64) -> Shape {
    Shape { format, size: mib << 20, bsize, fsize }
}

/// One that lies beside this file.
macro_rules! case {
    ($name:literal, $shape:expr, $rule:literal) => {
        Case { name: $name, text: include_str!(concat!("found/", $name, ".scr")), shape: $shape, rule: $rule }
    };
}

const CASES: [Case; 6] = [
    case!("shrinks-and-grows", shape(Format::Ufs2, 8192, 1024, 16), "cut-run"),
    case!("shrinks-and-grows-32k", shape(Format::Ufs2, 32768, 4096, 16), "cut-run"),
    case!("name-in-a-moved-block", shape(Format::Ufs2, 4096, 512, 8), "moved-entry"),
    case!("exchange-in-a-moved-block", shape(Format::Ufs2, 4096, 512, 16), "moved-entry"),
    case!("moved-before-it-was-there", shape(Format::Ufs1, 32768, 4096, 8), "moved-directory"),
    case!("renamed-above", shape(Format::Ufs1, 32768, 4096, 8), "renamed-above"),
];

fn explored(case: &Case, scheme: &str, without: Option<&str>) -> Report {
    let script = Script::parse(case.name, case.text).unwrap_or_else(|error| panic!("{}: {error:?}", case.name));
    let sata = Device::by_name("sata").expect("it comes ready");
    let mut plan = Plan { shape: case.shape.clone(), ..Plan::new(scheme, script, sata) };
    plan.settings.without.extend(without.map(str::to_owned));
    if without.is_some() {
        (plan.enough, plan.recovery_cuts) = (1, 0);
    }
    explore_with(&plan, &mut Memory::default(), &Counters::default())
        .unwrap_or_else(|error| panic!("{}, {scheme}: {error}", case.name))
}

#[test]
fn they_are_clear_and_each_needs_its_rule() {
    let schemes = ["softupdates", "suj"];
    let wrong = common::by_two(CASES.len() * schemes.len(), |at| {
        let (case, scheme) = (&CASES[at / schemes.len()], schemes[at % schemes.len()]);
        let whole = explored(case, scheme, None);
        let first = whole.violations.first();
        let told = first.map(|found| format!("{}, {scheme}: {}: {}", case.name, found.oracle, found.detail));
        // The exchange shows nothing under suj, whose journal has both names.
        let shows = scheme == "softupdates" || case.name != "exchange-in-a-moved-block";
        told.or_else(|| {
            let missed = shows && explored(case, scheme, Some(case.rule)).violations.is_empty();
            missed.then(|| format!("{}, {scheme}: nothing is missed without {}", case.name, case.rule))
        })
    });
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
