//! Volumes that live on through power cuts, and what these tests and random scripts have found: each was a violation
//! once.

use crate::common;

use ordo_crash::{Budget, Counters, Device, Endurance, Endured, Memory, Plan, Shape, Subject, endure, explore_with};
use ordo_ondisk::{Endian, Format};
use ordo_workload::script::Script;
use std::time::Duration;

/// Twenty cuts in a quarter of an hour. `ordo crash --cuts 200 --hours 2` is the full test.
fn life(scheme: &str, disk: &str, without: Option<&str>) -> Endured {
    let device = Device::by_name(disk).expect("it comes ready");
    let mut plan = Plan {
        budget: Budget { states: 10, seed: 7, ..Budget::default() },
        ..Plan::new(scheme, Script::default(), device)
    };
    plan.subject.settings.without.extend(without.map(str::to_owned));
    let what = Endurance { plan, cuts: 20, time: Duration::from_secs(900) };
    endure(&what, &Counters::default()).unwrap_or_else(|error| panic!("{scheme} on {disk}: {error}"))
}

#[test]
fn volumes_live_on() {
    let lives = [("softupdates", "nvme"), ("suj", "sata"), ("sync", "sata"), ("softupdates", "scsi94"), ("suj", "plp")];
    for lived in common::by_two(lives.len(), |at| life(lives[at].0, lives[at].1, None)) {
        let report = &lived.report;
        let told = serde_json::to_string_pretty(&report.violations).unwrap();
        assert!(report.violations.is_empty(), "{} on {}: {told}", report.scheme, report.disk);
        assert!(report.leaks_only || report.scheme == "sync", "{} on {}: worse than leaks", report.scheme, report.disk);
        assert!(report.cuts >= 20 && lived.seconds >= 900.0 && lived.done > 300, "{lived:?}");
    }
}

#[test]
fn a_rule_that_is_dropped_ends_a_life() {
    let lived = life("softupdates", "nvme", Some("link-addition"));
    assert!(!lived.report.violations.is_empty() && lived.report.cuts < 20, "{lived:?}");
}

/// What was wrong; the script; the disk; the seed. Run with pauses between the calls, and without.
const FOUND: &[(&str, &str, &str, u64)] = &[
    (
        "a file that was rolled back ended in a hole: it was cut into one",
        "create a\n write a 30071 4096\n sync\n---\n truncate a 1536\n sync",
        "scsi94",
        1,
    ),
    (
        "the same, where a hole was punched over its first block",
        "mkdir A\n---\n create A/foo\n write A/foo 0 32768\n fallocate A/foo 0 5000 punch\n fsync A",
        "sata",
        0,
    ),
    (
        "a new directory that was renamed where it is had a name before its parent counted it",
        "---\n mkdir e\n rename e d noreplace\n fsync d data",
        "nvme",
        12,
    ),
    (
        "a removal overtook a name, and not what that waited for",
        "mkdir d\n---\n rename d e\n open @1 e\n create b\n symlink @1/b target/target/target\n sync\n \
         rename e/b b exchange\n rename b a",
        "nvme",
        11,
    ),
    ("a directory lost its own link before its older name", "mkdir d\n---\n rename d e\n rmdir e", "nvme", 12),
    (
        "an unmount left an inode in use on a clean volume",
        "mkdir e\n create b\n---\n truncate b 3145728\n mkdir d\n rename d e",
        "scsi94",
        13,
    ),
    (
        "a longer list of attributes was durable before its size",
        "create c\n setxattr c user.x 4 1 set\n setxattr c user.y 4 2 set\n removexattr c user.y\n sync\n---\n \
         setxattr c user.y 100 3 set\n fsync c",
        "sata",
        1,
    ),
    (
        "a replay took garbage for pointers, of a block that was new and never written",
        "mkdir d\n tmpfile @3 /\n rmdir d\n---\n truncate @3 2150399\n mkdir d\n fsync d",
        "nvme",
        12,
    ),
    (
        "of two names that a directory had in its parent another one stayed where the mount was cut",
        "mkdir a\n mkdir d\n sync\n---\n rename a d/a\n rename d/a d/b",
        "sata",
        1,
    ),
    (
        "a directory that was renamed in its parent and synced had its older name, too, which stayed",
        "mkdir D\n create D/LONG1\n create D/LONG2\n sync\n---\n mkdir D/a\n fsync D/a\n rename D/a D/LONG3\n \
         fsync D/LONG3",
        "sata",
        0,
    ),
    (
        "the last name of a directory went before one that it had elsewhere, and it came back with a foreign `..`",
        "mkdir d\n mkdir e\n sync\n---\n rename e d/d\n rmdir d/d",
        "sata",
        0,
    ),
    (
        "the same, where another directory took the last name over",
        "mkdir d\n mkdir e\n mkdir x\n sync\n---\n rename e d/d\n rename x d/d",
        "sata",
        0,
    ),
    (
        "a name that was cancelled left with the bytes around a removal that was held",
        "mkdir e\n create b\n rename b e/b\n sync\n---\n mkdir d\n symlink a target\n rename a e/b exchange\n unlink e/b",
        "sata",
        0,
    ),
    (
        "a directory went while one that had been renamed into it, and removed there, was still at its older place",
        "mkdir a\n mkdir b\n mkdir a/x\n mkdir b/y\n sync\n---\n rename a/x b/y\n rmdir b/y\n rmdir b",
        "sata",
        0,
    ),
    (
        "blocks were free while an image of an indirect block led to them, which a new pointer then reached",
        "create a\n---\n close @1\n create c\n write a 3145728 27478\n chown c 500 1000\n rename a a\n \
         truncate a 2146550",
        "sata",
        51,
    ),
    (
        "a replay counted a number as a directory's that was another file's by then",
        "mkdir e\n---\n mkdir d\n mkdir e/d\n rmdir e/d\n tmpfile @3 e\n sync",
        "sata",
        42,
    ),
    (
        "a parent that went before the links of what was in it was never freed",
        "mkdir d\n mkdir e\n mkdir x\n sync\n---\n rename e d/d\n rename x d/d\n rmdir d/d\n rmdir d",
        "scsi94",
        0,
    ),
    (
        "a directory that was exchanged and removed lost its links while the disk had its older name",
        "mkdir e\n mkdir d\n---\n rename d e exchange\n rmdir d",
        "sata",
        1,
    ),
    (
        "the same, after two exchanges",
        "mkdir e\n mkdir d\n---\n rename d e exchange\n rename e d exchange\n rmdir d\n rmdir e",
        "scsi94",
        1,
    ),
    (
        "the same, across directories",
        "mkdir e\n mkdir d\n mkdir d/f\n---\n rename d/f e exchange\n rmdir d/f\n rename e d/g\n rmdir d/g",
        "nvme",
        2,
    ),
    (
        "a directory moved into one that an exchange had taken out of it, and both were cut off",
        "mkdir d\n mkdir e\n mkdir e/f\n---\n rename d e/f exchange\n rename e d/f",
        "sata",
        1,
    ),
    (
        "the same, without an exchange, and not right below it",
        "mkdir e\n mkdir e/x\n mkdir e/x/f\n mkdir h\n mkdir k\n---\n rename h k/h\n rename e/x/f k/h/g\n \
         rename e k/h/g/e",
        "sata",
        1,
    ),
    (
        "the same, below what had moved",
        "mkdir e\n mkdir e/f\n mkdir e/f/s\n mkdir k\n---\n rename e/f k/g\n rename e k/g/s/e\n rename k e",
        "nvme",
        1,
    ),
    (
        "a directory that never got to its new name was found under its old one with a new `..`",
        "mkdir e\n mkdir g\n---\n mkdir e/f\n rename e/f g exchange\n rmdir e/f",
        "sata",
        1,
    ),
    (
        "the same, where another directory takes its new name",
        "mkdir e\n mkdir g\n mkdir h\n---\n mkdir e/f\n rename e/f g exchange\n rename h e/f",
        "nvme",
        1,
    ),
    (
        "a removed directory that was open kept its `..`, and a replay without the records of its removal refused it",
        "mkdir b\n open @1 b\n---\n rmdir b\n sync\n sync\n sync",
        "plp",
        0,
    ),
    (
        "a rename into a removed directory that was open was taken for damage",
        "mkdir d\n mkdir e\n open @1 d\n---\n rmdir d\n sync\n rename e @1/x\n rename @1/y e\n sync",
        "sata",
        0,
    ),
    (
        "not of a scheme: the oracle took a file that was open for the one that had its name after it",
        "create b\n open @1 b\n unlink b\n create b\n---\n write b 0 700\n fsync @1 all",
        "sata",
        0,
    ),
];

#[test]
fn what_was_found_is_not_found_again() {
    let schemes = ["softupdates", "suj"];
    let wrong = common::by_two(FOUND.len() * schemes.len() * 2, |at| {
        let ((what, script, disk, seed), scheme) = (FOUND[at / 2 / schemes.len()], schemes[at / 2 % schemes.len()]);
        // Two names of this length fill 512 bytes.
        let script = script.replace("LONG", &"n".repeat(200));
        let script = Script::parse("found", &script).unwrap_or_else(|error| panic!("{what}: {error:?}"));
        let device = Device::by_name(disk).expect("it comes ready");
        let plan = Plan {
            pauses: at % 2 == 0,
            budget: Budget { states: 2000, seed, ..Budget::default() },
            ..Plan::new(scheme, script, device)
        };
        let report = explore_with(&plan, &mut Memory::default(), &Counters::default()).unwrap();
        report.violations.first().map(|found| format!("{scheme}: {what}: {}", found.detail))
    });
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What was wrong with `block-journal`: the script, `data=`, the disk, the volume, the states that showed it, one in
/// how many recoveries was cut, and the seed.
type Journaled = (&'static str, &'static str, &'static str, &'static str, Shape, u64, u32, u64);

const fn ufs2(mib: u64, bsize: u32) -> Shape {
    Shape { format: Format::Ufs2, endian: Endian::Little, size: mib << 20, bsize, fsize: 4096, log: None }
}

const OF_JOURNALS: [Journaled; 3] = [
    (
        "a log was too full for the transaction that a replay adds",
        include_str!("found/journal-full-data-journal.scr"),
        "journal",
        "scsi94",
        ufs2(8, 32768),
        1500,
        16,
        72579,
    ),
    (
        "the same, where the log has no contents",
        include_str!("found/journal-full-writeback.scr"),
        "writeback",
        "sata",
        ufs2(16, 32768),
        200,
        0,
        32636,
    ),
    (
        "contents were past the log and in it: their transaction waited for itself, and the run never ended",
        include_str!("found/journal-waits-for-itself.scr"),
        "journal",
        "sata",
        ufs2(8, 4096),
        200,
        0,
        0,
    ),
];

/// A transaction was being written, and a tick gave the log's room back up to the log's end, past its records.
#[test]
fn a_log_keeps_what_is_being_written_to_it() {
    let script = Script::parse("found", include_str!("found/log-forgets-what-it-writes.scr")).expect("it is a script");
    let sata = Device::by_name("sata").expect("it comes ready");
    let shape = Shape { fsize: 2048, ..ufs2(8, 16384) };
    let mut plan = Plan {
        budget: Budget { states: 800, seed: 5_000_000, ..Budget::default() },
        ..Plan::of(Subject { shape, ..Subject::new("wafs", sata) }, script)
    };
    for (key, value) in [("logmode", "sync"), ("data", "journal")] {
        plan.subject.settings.set(key, value).expect("it is a setting").expect("it can be set so");
    }
    let report = explore_with(&plan, &mut Memory::default(), &Counters::default()).unwrap();
    assert_eq!(report.violations.first().map(|found| found.detail.clone()), None);
}

#[test]
fn what_was_found_of_journals_is_not_found_again() {
    let wrong = common::by_two(OF_JOURNALS.len(), |at| {
        let (what, script, data, disk, shape, states, recovery_cuts, seed) = &OF_JOURNALS[at];
        let script = Script::parse("found", script).unwrap_or_else(|error| panic!("{what}: {error:?}"));
        let device = Device::by_name(disk).expect("it comes ready");
        let (shape, states, recovery_cuts, seed) = (shape.clone(), *states, *recovery_cuts, *seed);
        let mut plan = Plan {
            budget: Budget { states, recovery_cuts, seed, ..Budget::default() },
            ..Plan::of(Subject { shape, ..Subject::new("block-journal", device) }, script)
        };
        plan.subject.settings.set("data", data).expect("it is a setting").expect("it can be set so");
        let report = explore_with(&plan, &mut Memory::default(), &Counters::default()).unwrap();
        report.violations.first().map(|found| format!("{what}: {}", found.detail))
    });
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A directory of blocks of 4 KiB whose names take 512 bytes each, with as many as `before`; then calls on a file `NEW`
/// in it. From 96 names on the next block hangs on an indirect one, and from 104 on that is there already.
fn in_a_long_directory(before: usize, calls: &str) -> Script {
    let made: Vec<String> = (0..before).map(|at| format!("create d/{at:03}{}", "x".repeat(248))).collect();
    let calls = calls.replace("NEW", &format!("d/{}", "n".repeat(251)));
    let script = format!("mkdir d\ncreate f\n{}\n---\n{calls}", made.join("\n"));
    Script::parse("long", &script).unwrap_or_else(|error| panic!("{calls}: {error:?}"))
}

#[test]
fn names_are_found_in_blocks_that_hang_on_indirect_ones() {
    let calls = [
        "create NEW\nfsync NEW",
        "link f NEW\nfsync f",
        "rename f NEW",
        "create NEW\nrename f NEW\nfsync f",
        "create NEW\nrename NEW q",
    ];
    let plans: Vec<_> = [96, 104].iter().flat_map(|before| calls.map(|calls| (*before, calls))).collect();
    let wrong = common::by_two(plans.len() * 4, |at| {
        let ((before, calls), pauses, scheme) = (plans[at / 4], at % 2 == 0, ["softupdates", "suj"][at / 2 % 2]);
        let device = Device::by_name("sata").expect("it comes ready");
        let plan = Plan {
            pauses,
            budget: Budget { states: 500, ..Budget::default() },
            ..Plan::new(scheme, in_a_long_directory(before, calls), device)
        };
        let report = explore_with(&plan, &mut Memory::default(), &Counters::default()).unwrap();
        report.violations.first().map(|found| format!("{scheme}: {before}, {calls}: {}", found.detail))
    });
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The log has the lower byte of a group's count, 511, and the replay that was cut has left 512 there: begun again, it
/// found 766.
#[test]
fn a_replay_that_is_begun_again_rebuilds_the_counts_that_it_mixes() {
    let text = "mkdir c\n mkdir b\n create c/e\n write c/e 0 3000\n truncate c/e 425983\n---\n \
                create b/a 755\n unlink b/a\n rename c b replace";
    let script = Script::parse("found", text).expect("it is a script");
    let sata = Device::by_name("sata").expect("it comes ready");
    let shape = Shape { format: Format::Ufs1, ..ufs2(8, 32768) };
    let plan = Plan {
        budget: Budget { states: 400, recovery_cuts: 1, ..Budget::default() },
        ..Plan::of(Subject { shape, ..Subject::new("journal-file", sata) }, script)
    };
    let report = explore_with(&plan, &mut Memory::default(), &Counters::default()).unwrap();
    assert_eq!(report.violations.first().map(|found| found.detail.clone()), None);
}

/// An fsync that finds the name of its file durable has nothing to write. The oracle held it to all calls before it.
#[test]
fn an_fsync_of_what_is_durable_covers_no_call_of_others() {
    let calls = "create b\n create c\n---\n rename b c exchange\n rename b d noreplace\n fsync c all\n symlink a target\n fsync d all";
    for disk in ["sata", "scsi94"] {
        let device = Device::by_name(disk).expect("it comes ready");
        let script = Script::parse("found", calls).expect("it is a script");
        let shape = Shape::small_log(device);
        let plan = Plan {
            budget: Budget { states: 200, ..Budget::default() },
            ..Plan::of(Subject { shape, ..Subject::new("lfs", device) }, script)
        };
        let report = explore_with(&plan, &mut Memory::default(), &Counters::default()).unwrap();
        assert_eq!(report.violations.first().map(|found| found.detail.clone()), None, "{disk}");
    }
}

/// A write of the recovery was torn, and what it left had the sector that a torn partial segment missed.
#[test]
fn a_recovery_does_not_complete_what_was_torn() {
    let before = "mkdir A\n create A/foo\n write A/foo 0 32768\n";
    let calls = "fallocate A/foo 30768 5000 allocate\n open @1 A/foo\n unlink A/foo\n create A/foo\n fsync A/foo all";
    let script = Script::parse("found", &format!("{before}---\n{calls}")).expect("it is a script");
    let device = Device::by_name("sata").expect("it comes ready");
    let shape = Shape::small_log(device);
    let plan = Plan {
        budget: Budget { states: 500, recovery_cuts: 1, seed: 27, ..Budget::default() },
        ..Plan::of(Subject { shape, ..Subject::new("lfs", device) }, script)
    };
    let report = explore_with(&plan, &mut Memory::default(), &Counters::default()).unwrap();
    assert_eq!(report.violations.first().map(|found| found.detail.clone()), None);
}

/// The name of the file was durable with a chain that another fsync had written, so its own did not cover that the
/// directory above moved. The oracle did not see directories in writes of a log.
#[test]
fn an_fsync_covers_no_later_move_of_a_directory_above() {
    let calls = "mkdir c\n mkdir c/d\n create c/d/f\n mkdir b\n fsync b all\n rename c/d g replace\n fsync g/f all";
    let script = Script::parse("found", &format!("---\n{calls}")).expect("it is a script");
    let device = Device::by_name("sata").expect("it comes ready");
    let plan = Plan {
        budget: Budget { states: 200, ..Budget::default() },
        ..Plan::of(Subject { shape: Shape::small_log(device), ..Subject::new("lfs", device) }, script)
    };
    let report = explore_with(&plan, &mut Memory::default(), &Counters::default()).unwrap();
    assert_eq!(report.violations.first().map(|found| found.detail.clone()), None);
}
