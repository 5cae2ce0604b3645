//! Files without a name: what they held before they got one may be seen after a crash, and what was made durable of
//! them must be.

use ordo_crash::{Budget, Device, LogShape, Plan, Shape, Subject, explore};
use ordo_ondisk::{Endian, Format};
use ordo_workload::script::Script;

/// Each writes twice before the link: a crash may leave the first contents, the second ones, or parts of both.
const SCRIPTS: &[&str] = &[
    "mkdir e 2755\n---\n tmpfile @5 / 600\n write @5 0 100\n write @5 0 65535\n link @5 e/d",
    "---\n tmpfile @5 / 600\n write @5 0 5000\n write @5 3000 9000\n truncate @5 4000\n chmod @5 644\n link @5 d\n write d 0 10",
    "mkdir e\n---\n tmpfile @1 e 600\n write @1 0 700\n fsync @1\n write @1 100 700\n link @1 e/a\n fsync e/a",
    // The other way round: the name goes, and what is changed then may be seen under it.
    "create a\n write a 0 5000\n---\n open @1 a\n unlink a\n write @1 0 600\n chmod @1 600\n truncate @1 9000\n close @1",
];

fn shape(bsize: u32, fsize: u32) -> Shape {
    Shape { format: Format::Ufs2, endian: Endian::Little, size: 24 << 20, bsize, fsize, log: None }
}

#[test]
fn what_a_file_held_before_its_name_is_its_own() {
    let schemes = ["sync", "softupdates", "suj", "block-journal", "wafs", "journal-file"];
    for (scheme, text) in schemes.into_iter().flat_map(|scheme| SCRIPTS.iter().map(move |text| (scheme, text))) {
        for (disk, shape) in [("plp", shape(65536, 65536)), ("sata", shape(4096, 512))] {
            let script = Script::parse("nameless", text).unwrap();
            let device = Device::by_name(disk).unwrap();
            let plan = Plan {
                budget: Budget { states: 400, recovery_cuts: 16, ..Budget::default() },
                ..Plan::new(scheme, script, device)
            };
            let report = explore(&Plan { subject: Subject { shape: shape.clone(), ..plan.subject }, ..plan }).unwrap();
            assert!(report.violations.is_empty(), "{scheme} on {disk}: {text}: {:#?}", report.violations[0]);
        }
    }
}

#[test]
fn the_same_in_a_log() {
    for text in SCRIPTS {
        let plan = Plan::on_log(Script::parse("nameless", text).unwrap(), Device::by_name("plp").unwrap());
        let log = Shape { log: Some(LogShape::of(8 << 20, 4096)), ..plan.subject.shape.clone() };
        let report = explore(&Plan {
            subject: Subject { shape: log, ..plan.subject },
            budget: Budget { states: 300, ..plan.budget },
            ..plan
        })
        .unwrap();
        assert!(report.violations.is_empty(), "{text}: {:#?}", report.violations[0]);
    }
}

/// `fsync` of a file without a name counts: a scheme that keeps nothing is convicted of what it lost of one.
#[test]
fn what_was_made_durable_before_the_name_must_be_there() {
    let text = "---\n tmpfile @5 / 600\n write @5 0 700\n fsync @5\n link @5 d";
    let device = Device::by_name("liar").unwrap();
    let plan = Plan {
        budget: Budget { states: 2000, ..Budget::default() },
        ..Plan::new("sync", Script::parse("lost", text).unwrap(), device)
    };
    let report = explore(&plan).unwrap();
    let of_the_data = |found: &str| found.contains("bytes 0 to") || found.contains("the size of");
    assert!(report.violations.iter().any(|found| of_the_data(&found.detail)), "{:#?}", report.violations);
}
