//! Whole runs of small traces: the same each time, and what sets the systems apart.

use ordo_sim::{
    Catalogue, Contents, Directory, File, Mode, Op, Outcome, Request, Scheduler, Setting, System, Trace, run,
};

/// Directories over the whole disk with small files and one large file each; every file is read, and some are written.
fn trace(writes: bool) -> Trace {
    let mut files = Catalogue { directories: vec![Directory { parent: None, place: 0.0 }], files: Vec::new() };
    let mut requests = Vec::new();
    let mut at_ms = 0.0;
    for number in 1..=20 {
        files.directories.push(Directory { parent: Some(0), place: f64::from(number) / 21.0 });
        for blocks in [1, 1, 3, 40] {
            let file = files.files.len() as u32;
            files.files.push(File { directory: number, blocks, new: false });
            for (pass, op) in [Op::Look, Op::Read, if writes { Op::Write } else { Op::Read }].into_iter().enumerate() {
                at_ms += 7.0 + pass as f64;
                let blocks = if op == Op::Look { 0 } else { blocks };
                requests.push(Request { at_ms, op, file, first: 0, blocks });
            }
        }
    }
    // Late enough for the timer.
    requests.push(Request { at_ms: at_ms + 9000.0, op: Op::Look, file: 0, first: 0, blocks: 0 });
    let contents = Contents::Files(files);
    Trace { name: "small".to_owned(), drive: "quantum_atlas_10k", contents, requests }
}

fn played(system: System, writes: bool, setting: &Setting) -> Outcome {
    run(system, &trace(writes), setting).unwrap()
}

const EXT3: System = System::Ext3(Mode::Ordered);

#[test]
fn every_system_with_every_scheduler_serves_every_request_and_the_same_way_each_time() {
    for system in System::ALL {
        for scheduler in Scheduler::ALL {
            let setting = Setting { scheduler, cache: 1 << 20, ..Setting::default() };
            let (a, b) = (played(system, true, &setting), played(system, true, &setting));
            assert_eq!(a, b);
            assert_eq!(a.distribution.iter().sum::<u64>(), a.requests as u64, "{}", a.system);
            let (time, distance) = (a.seeks.time_ms.bins(), a.seeks.distance_cylinders.bins());
            assert_eq!(time.iter().sum::<u64>(), distance.iter().sum::<u64>());
            assert!(a.mean_response_ms > 0.0 && a.p95_ms <= a.max_ms, "{}", a.system);
        }
    }
}

#[test]
fn what_memory_holds_is_not_read_again() {
    let of = |cache| played(System::Ext2, false, &Setting { cache, ..Setting::default() }).work.blocks_read;
    let (much, little) = (of(100 << 20), of(64 << 10));
    assert!(much < little, "{much} and {little} blocks");
    // 45 blocks of data in each directory, once.
    assert!((20 * 45..20 * 45 + 100).contains(&much), "{much} blocks");
}

#[test]
fn a_journal_writes_metadata_twice_and_in_its_whole_mode_data_too() {
    let work = |mode| played(System::Ext3(mode), true, &Setting::default()).work;
    let (ordered, whole) = (work(Mode::Ordered), work(Mode::Journal));
    assert_eq!(ordered.journaled, ordered.checkpointed);
    assert!(ordered.journal_blocks >= ordered.journaled + 2 * ordered.commits, "descriptors and commit blocks");
    assert!(whole.journaled >= ordered.journaled + 20 * 45);
    assert_eq!(played(System::Ext2, true, &Setting::default()).work.journal_blocks, 0);
}

#[test]
fn an_active_journal_commits_near_the_head_and_without_free_space_is_a_passive_one() {
    let travel = |system, full| {
        let setting = Setting { full, ..Setting::default() };
        let work = played(system, false, &setting).work;
        work.commit_cylinders as f64 / work.commit_writes as f64
    };
    assert!(travel(System::Active, 0.9) < travel(EXT3, 0.9) / 5.0);
    let full = Setting { full: 1.0, ..Setting::default() };
    let (active, passive) = (played(System::Active, true, &full), played(EXT3, true, &full));
    assert_eq!(Outcome { system: "ext3", ..active }, passive);
}

#[test]
fn a_shorter_timer_commits_more_often() {
    let commits = |timer_ms| played(EXT3, true, &Setting { timer_ms, ..Setting::default() }).work.commits;
    let (short, usual, long) = (commits(500.0), commits(5000.0), commits(50_000.0));
    assert!(short > 5 * usual / 2 && usual > long, "{short}, {usual} and {long} commits");
}

#[test]
fn a_journal_of_any_size_takes_whole_commits_and_a_large_one_more_groups_than_the_first() {
    let of = |journal| played(EXT3, true, &Setting { journal, ..Setting::default() });
    let [small, usual, large] = [16, 8192, 102_400].map(of);
    let written = |played: &Outcome| (played.work.commits > 0, played.work.journal_blocks >= played.work.journaled);
    assert!([&small, &usual, &large].iter().all(|played| written(played) == (true, true)));
    assert!(large.mean_response_ms != usual.mean_response_ms, "files make way for it");
    assert_eq!(small.work.checkpointed, small.work.journaled);
}

#[test]
fn small_segments_have_more_summaries_and_small_groups_other_places() {
    let lfs = |segment| played(System::Lfs, true, &Setting { segment, ..Setting::default() }).work.blocks_written;
    let (small, usual, same) = (lfs(Some(16)), lfs(None), lfs(Some(1024)));
    // A summary for fifteen blocks.
    assert!(usual == same && small > usual + usual / 20, "{small} and {usual} blocks");
    for system in System::ALL.into_iter().filter(|system| *system != System::Lfs) {
        let of = |group| played(system, true, &Setting { group, ..Setting::default() });
        let (small, usual) = (of(8192), of(32_768));
        assert_eq!(small.requests as u64, small.distribution.iter().sum::<u64>(), "{}", system.name());
        assert_ne!(small.seeks, usual.seeks, "{}", system.name());
    }
}

/// Eight readers of a file of 400 blocks each, a block at a time, with time between; and one who jumps.
fn readers(jump: bool) -> Trace {
    let mut files = Catalogue { directories: vec![Directory { parent: None, place: 0.3 }], files: Vec::new() };
    let mut requests = Vec::new();
    for file in 0..8 {
        files.files.push(File { directory: 0, blocks: 400, new: false });
        for at in 0..400 {
            // 149 and 400 have no divisor in common: every block once, none behind the one before.
            let first = if jump { at * 149 % 400 } else { at };
            let at_ms = f64::from(file * 400 + at) * 20.0;
            requests.push(Request { at_ms, op: Op::Read, file, first, blocks: 1 });
        }
    }
    Trace { name: "readers".to_owned(), drive: "quantum_atlas_10k", contents: Contents::Files(files), requests }
}

#[test]
fn what_the_kernel_reads_ahead_is_there_before_it_is_asked_for_and_read_once() {
    let of = |trace: &Trace, prefetch| run(EXT3, trace, &Setting { prefetch, ..Setting::default() }).unwrap();
    let row = readers(false);
    let (with, without) = (of(&row, true), of(&row, false));
    assert_eq!(with.work.blocks_read, without.work.blocks_read, "every block once");
    assert!(with.work.reads * 8 < without.work.reads, "{} and {} reads", with.work.reads, without.work.reads);
    assert!(with.mean_response_ms * 4.0 < without.mean_response_ms, "{with:?} {without:?}");
    let jumps = readers(true);
    let (with, without) = (of(&jumps, true), of(&jumps, false));
    assert!(with.work.reads <= without.work.reads && with.work.blocks_read == without.work.blocks_read);
    let small = |prefetch| run(EXT3, &jumps, &Setting { prefetch, cache: 1 << 20, ..Setting::default() }).unwrap();
    let (with, without) = (small(true).work.blocks_read, small(false).work.blocks_read);
    assert!(with > without, "{with} and {without}: what is read ahead in vain throws out other blocks");
}

#[test]
fn what_no_system_can_be_set_to_is_refused_in_one_line() {
    let usual = Setting::default();
    let bad = [
        (Setting { journal: 15, ..usual }, "a journal of 15 blocks; choose 16 to 102400"),
        (Setting { journal: 102_401, ..usual }, "a journal of 102401 blocks; choose 16 to 102400"),
        (Setting { group: 32_769, ..usual }, "a group of 32769 blocks; choose 8192 to 32768"),
        (Setting { segment: Some(0), ..usual }, "a segment of 0 blocks; choose 16 to 32768"),
        (Setting { timer_ms: 0.0, ..usual }, "a commit every 0 ms; choose 1 to 3600000"),
        (Setting { timer_ms: f64::NAN, ..usual }, "a commit every NaN ms; choose 1 to 3600000"),
        (Setting { full: 1.1, ..usual }, "groups that are full to 1.1; choose 0 to 1"),
    ];
    for (setting, says) in bad {
        assert_eq!(run(EXT3, &trace(false), &setting).unwrap_err().to_string(), says);
    }
}

#[test]
fn a_virtual_checkpoint_writes_the_map_alone() {
    let work = |system| played(system, false, &Setting::default()).work;
    let (whole, virtual_) = (work(System::Active), work(System::ActiveVirtual));
    assert!(virtual_.mapped == virtual_.checkpointed && virtual_.forced == 0);
    assert!(virtual_.checkpoint_blocks < whole.checkpoint_blocks / 2, "{virtual_:?}");
}

#[test]
fn a_log_writes_in_one_place_what_others_scatter() {
    let writes = |system| played(system, false, &Setting::default()).work.writes;
    assert!(writes(System::Lfs) * 3 < writes(System::Ext2), "{} and {}", writes(System::Lfs), writes(System::Ext2));
}
