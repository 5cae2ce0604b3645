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
