//! Scripts that found bugs in soft updates, each with the rule that was missing: the script passes now, and shows a
//! violation again without that rule. Some of the bugs were not a missing rule but a path that bypassed one.

use crate::common;

use ordo_crash::{Counters, Device, LogShape, Memory, Plan, Report, Shape, Subject, explore_with};
use ordo_ondisk::lfs::Version;
use ordo_ondisk::{Endian, Format};
use ordo_workload::script::Script;

/// A script, the geometry that shows it, and the rule that was missing, if one was.
struct Case {
    name: &'static str,
    text: &'static str,
    shape: Shape,
    rule: Option<&'static str>,
    /// Schemes under which the script shows a violation without it.
    by: &'static [&'static str],
}

const fn shape(format: Format, bsize: u32, fsize: u32, mib: u64) -> Shape {
    Shape { format, endian: Endian::Little, size: mib << 20, bsize, fsize, log: None }
}

const BOTH: [&str; 2] = ["softupdates", "suj"];

const SMALL: Shape = shape(Format::Ufs2, 4096, 512, 8);

/// A script in a file beside this one.
macro_rules! case {
    ($name:literal, $shape:expr, $rule:literal) => {
        Case {
            name: $name,
            text: include_str!(concat!("found/", $name, ".scr")),
            shape: $shape,
            rule: Some($rule),
            by: &BOTH,
        }
    };
}

/// In the texts, `L7x200` stands for `L7` followed by 200 times x.
const CASES: [Case; 15] = [
    case!("shrinks-and-grows", shape(Format::Ufs2, 8192, 1024, 16), "cut-run"),
    case!("shrinks-and-grows-32k", shape(Format::Ufs2, 32768, 4096, 16), "cut-run"),
    case!("name-in-a-moved-block", SMALL, "moved-entry"),
    // Under suj the journal has both names.
    Case {
        by: &["softupdates"],
        ..case!("exchange-in-a-moved-block", shape(Format::Ufs2, 4096, 512, 16), "moved-entry")
    },
    case!("moved-before-it-was-there", shape(Format::Ufs1, 32768, 4096, 8), "moved-directory"),
    case!("renamed-above", shape(Format::Ufs1, 32768, 4096, 8), "renamed-above"),
    Case {
        name: "a name went and came again in another sector, and a torn write left both",
        text: "create L5x231\n create L1x228\n mkdir L12x111\n---\n rename L1x228 L12x111/L8x246\n \
               rename L12x111/L8x246 L12x111/L16x112\n rename L12x111 L20x241 noreplace\n \
               link L20x241/L16x112 L20x241/L13x230\n rename L20x241/L13x230 L12x111",
        shape: shape(Format::Ufs2, 65536, 8192, 8),
        rule: Some("same-name"),
        by: &["softupdates"],
    },
    Case {
        name: "the same, where the older one waits for another name",
        text: "symlink L17x232 t\n create L22x229\n link L22x229 L20x245\n link L22x229 L4x236\n---\n unlink L20x245\n \
               rename L4x236 L0x115 noreplace\n create L4x236",
        shape: shape(Format::Ufs1, 32768, 32768, 8),
        rule: Some("same-name"),
        by: &["suj"],
    },
    Case {
        name: "a name that came and went counted as reached when its image left, and the image was lost",
        text: "---\n mkdir L17x216\n create L17x216/L17x216\n fsync L17x216/L17x216\n \
               rename L17x216/L17x216 L0x253\n rename L0x253 L12x239\n create L14x236\n create L1x221\n \
               rename L17x216 L14x236 exchange",
        shape: shape(Format::Ufs2, 32768, 4096, 8),
        rule: None,
        by: &[],
    },
    Case {
        name: "a `..` that a waiting name needed was cancelled by a second move",
        text: "mkdir a\n mkdir d\n---\n mkdir a/a\n fsync a/a\n mkdir a/d\n rename a/d d/b\n rename a/a d/b/a\n \
               rename d/b L23x248 noreplace",
        shape: shape(Format::Ufs1, 32768, 16384, 8),
        rule: None,
        by: &[],
    },
    Case {
        name: "an entry changed twice, and the second change did not wait for what the first one waited for",
        text: "mkdir c\n mkdir L2\n create L2/a\n symlink e ttt\n---\n rename L2/a c exchange\n rename c e exchange",
        shape: SMALL,
        rule: None,
        by: &[],
    },
    Case {
        name: "the second block of attributes that a file had no more was written over another file's",
        text: "create c\n---\n setxattr c user.a 10842 1 set\n setxattr c user.x 10842 3 set\n removexattr c user.a\n \
               create g\n create a\n setxattr g user.x 1 5 set\n setxattr a user.x 260 6 set\n fsync a data",
        shape: shape(Format::Ufs2, 16384, 16384, 8),
        rule: None,
        by: &[],
    },
    Case {
        name: "fsync of a renamed directory left it the older name, which another file was to get",
        text: "---\n mkdir f\n rename f a noreplace\n fsync /\n create c\n rename c a exchange\n \
               rename c L6x242 noreplace\n fsync L6x242 data",
        shape: shape(Format::Ufs2, 65536, 8192, 8),
        rule: None,
        by: &[],
    },
    Case {
        name: "of the first commit of a journal the first segment was lost, and the others named it",
        text: "---\n create a\n write a 0 4097\n fallocate a 4096 2797568 allocate\n truncate a 32769\n fsync a all",
        shape: shape(Format::Ufs1, 4096, 4096, 8),
        rule: None,
        by: &[],
    },
    // FreeBSD's replay leaves fragments in use then, by the records of its own kernel, too.
    Case {
        name: "a last block was cut, then moved, and its file removed",
        text: "create c\n write c 0 32650\n---\n truncate c 20479\n write c 24576 10294\n unlink c\n sync",
        shape: shape(Format::Ufs1, 32768, 4096, 8),
        rule: None,
        by: &[],
    },
];

/// Expands long names.
fn long_names(text: &str) -> String {
    let mut written = String::new();
    for part in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let (name, end) = part.split_at(part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()).len());
        match name.strip_prefix('L').and_then(|name| name.split_once('x')).map(|(n, count)| (n, count.parse())) {
            Some((n, Ok(count))) => written.push_str(&format!("L{n}{}", "x".repeat(count))),
            _ => written.push_str(name),
        }
        written.push_str(end);
    }
    written
}

fn explored(case: &Case, scheme: &str, without: Option<&str>) -> Report {
    let script =
        Script::parse("found", &long_names(case.text)).unwrap_or_else(|error| panic!("{}: {error:?}", case.name));
    let sata = Device::by_name("sata").expect("it comes ready");
    let mut plan = Plan::of(Subject { shape: case.shape.clone(), ..Subject::new(scheme, sata) }, script);
    plan.subject.settings.without.extend(without.map(str::to_owned));
    if without.is_some() {
        (plan.budget.enough, plan.budget.recovery_cuts) = (1, 0);
    }
    explore_with(&plan, &mut Memory::default(), &Counters::default())
        .unwrap_or_else(|error| panic!("{}, {scheme}: {error}", case.name))
}

#[test]
fn they_are_clear_and_each_needs_its_rule() {
    let wrong = common::by_two(CASES.len() * BOTH.len(), |at| {
        let (case, scheme) = (&CASES[at / BOTH.len()], BOTH[at % BOTH.len()]);
        let whole = explored(case, scheme, None);
        let first = whole.violations.first();
        let told = first.map(|found| format!("{}, {scheme}: {}: {}", case.name, found.oracle, found.detail));
        told.or_else(|| {
            let rule = case.rule.filter(|_| case.by.contains(&scheme))?;
            let missed = explored(case, scheme, Some(rule)).violations.is_empty();
            missed.then(|| format!("{}, {scheme}: nothing is missed without {rule}", case.name))
        })
    });
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// In version 1 the time of a superblock says which is older. fsck gave its own that of the newer one, and a repair
/// that was cut between the two left a volume that no mount took.
#[test]
fn a_cut_repair_of_a_log_of_version_1_is_begun_again() {
    let script = Script::parse("found", "---\n create f\n fallocate f 0 2785279 allocate").unwrap();
    let mut plan = Plan::on_log(script, Device::by_name("sata").unwrap());
    let log = LogShape { version: Version::V1, segment: 262_144, free: 4, reserve: 3 };
    plan.subject.shape = Shape { log: Some(log), ..shape(Format::Ufs1, 32768, 4096, 8) };
    (plan.budget.states, plan.budget.recovery_cuts) = (60, 1);
    let report = explore_with(&plan, &mut Memory::default(), &Counters::default()).unwrap();
    assert!(report.violations.is_empty(), "{}", report.violations[0].detail);
    assert!(report.nested > 100, "{} recoveries were cut", report.nested);
}
