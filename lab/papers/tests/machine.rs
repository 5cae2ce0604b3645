//! Runs on the machine of 1994: they are repeatable, and CPU time is charged to the right user.

use ordo_papers::{LogPlace, Machine, Outcome, Run, Start};
use ordo_workload::Params;
use ordofs::AllocInit;
use ordofs::schemes::Settings;

fn run(scheme: &str, init: AllocInit, workload: &str, params: &str, users: u32, seed: u64) -> Outcome {
    let machine = Machine::of_1994();
    let params = Params::parse(params).unwrap();
    let start = Start::of(workload);
    let alloc_init = Some(init);
    let run = Run {
        machine: &machine,
        scheme,
        settings: Settings::default(),
        log: LogPlace::Volume,
        alloc_init,
        workload,
        params,
        users,
        start,
        size: None,
        seed,
        services: false,
        sync: false,
    };
    run.run().unwrap()
}

/// The part of an outcome that must repeat.
fn shown(outcome: &Outcome) -> String {
    let Outcome { users, user_elapsed, cpu, disk, drained, .. } = outcome;
    format!("{users:?} {user_elapsed:?} {cpu:?} {disk:?} {drained:?}")
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_one_another() {
    let copy = |seed| shown(&run("softupdates", AllocInit::Directories, "copy-tree", "files=40", 2, seed));
    assert_eq!(copy(1), copy(1));
    assert_ne!(copy(1), copy(2));
}

#[test]
fn who_frees_in_the_call_pays_and_who_leaves_it_to_the_background_does_not() {
    let remove = |scheme| run(scheme, AllocInit::Directories, "remove-tree", "files=60,per_dir=30", 1, 1);
    let (frees, leaves) = (remove("async"), remove("softupdates"));
    assert!(leaves.cpu < frees.cpu, "{:?} and {:?}", leaves.cpu, frees.cpu);
    let (waits, copies) = (remove("sync"), remove("flag-part-nr-cb"));
    assert!(copies.cpu > waits.cpu, "a copied block costs time");
    assert!(copies.elapsed < waits.elapsed, "and saves the wait");
    // Two writes for each file, and a few for the directories.
    let extra = waits.requests() - frees.requests();
    assert!((120..140).contains(&extra), "{extra}");
}

#[test]
fn a_block_that_must_be_initialised_is_written_twice_where_zeroes_go_first() {
    let copy = |scheme, init| run(scheme, init, "copy-tree", "files=20,mean=40000", 1, 1).disk.writes;
    let blocks = 20 * 40_000 / 4096;
    let (plain, zeroed) = (copy("sync", AllocInit::Directories), copy("sync", AllocInit::All));
    assert!(zeroed >= plain + blocks, "{plain} and {zeroed}");
    let deferred = copy("softupdates", AllocInit::All);
    assert!(deferred < plain, "{deferred}: soft updates write a block once, whatever must be initialised");
}

#[test]
fn work_left_to_the_background_is_counted() {
    let create = run("async", AllocInit::Directories, "create-files", "files=100", 2, 1);
    assert!(create.drained > create.elapsed);
    assert!(create.disk.writes >= 100, "{:?}", create.disk);
    assert_eq!((create.ops(), create.users.len()), (200, 2));
}

#[test]
fn a_program_that_runs_again_finds_its_inodes_and_nothing_else() {
    let machine = Machine::of_1994();
    let reads = |start| {
        let (params, scheme, workload) = (Params::parse("files=300").unwrap(), "async", "create-files");
        let run = Run {
            machine: &machine,
            scheme,
            settings: Settings::default(),
            log: LogPlace::Volume,
            alloc_init: None,
            workload,
            params,
            users: 2,
            start,
            size: None,
            seed: 1,
            services: false,
            sync: false,
        };
        let outcome = run.run().unwrap();
        assert_eq!(outcome.ops(), 600, "an earlier run is no part of what is measured");
        outcome.disk.reads
    };
    assert!(reads(Start::Cold) > 10);
    assert_eq!(reads(Start::Again), 0);
}

fn on_2000(scheme: &str, workload: &str, params: &str) -> Outcome {
    let machine = Machine::of_2000();
    let run = Run {
        machine: &machine,
        scheme,
        settings: Settings::default(),
        log: LogPlace::Volume,
        alloc_init: None,
        workload,
        params: Params::parse(params).unwrap(),
        users: 1,
        start: Start::Cold,
        size: Some(256 << 20),
        seed: 1,
        services: false,
        sync: false,
    };
    run.run().unwrap()
}

#[test]
fn a_name_costs_more_in_a_large_directory_where_all_of_it_is_read_through() {
    let each = |files: u64| {
        let outcome = on_2000("async", "create-files", &format!("files={files},size=0"));
        outcome.cpu.as_secs_f64() / files as f64
    };
    let (small, large) = (each(50), each(4_000));
    // 4,000 names of up to 16 bytes are 62 KiB in the end, half of that on average, at 1 µs a KiB.
    assert!((large - small - 31e-6).abs() < 7e-6, "{small} and {large}");
}

#[test]
fn soft_updates_free_a_removed_file_long_after_the_call_and_async_in_it() {
    let freed = |scheme| on_2000(scheme, "small-files", "files=1,size=64k,first=3").freed.as_secs();
    assert_eq!(freed("async"), 0);
    assert!((30..=62).contains(&freed("softupdates")), "{}", freed("softupdates"));
}

#[test]
fn no_result_depends_on_whether_the_contents_of_files_are_kept() {
    let runs = [
        ("softupdates", "small-files", "files=200"),
        ("flag-part-nr-cb", "copy-tree", "files=60"),
        ("journal-file", "postmark", "files=300,transactions=300"),
        ("sync", "overwrites", "size=4194304,count=300"),
        ("async", "large-file", "size=4M"),
        ("softupdates", "tpcb", "accounts=30000,transactions=200,cache=256k,warm=100"),
    ];
    for machine in [Machine::of_1994(), Machine::of_2000()] {
        for (scheme, workload, params) in runs {
            let outcome = |keeps_contents| {
                let machine = Machine { keeps_contents, ..machine.clone() };
                let run = Run {
                    machine: &machine,
                    scheme,
                    settings: Settings::default(),
                    log: LogPlace::Volume,
                    alloc_init: None,
                    workload,
                    params: Params::parse(params).unwrap(),
                    users: 2,
                    start: Start::Cold,
                    size: None,
                    seed: 3,
                    services: true,
                    sync: false,
                };
                let outcome = run.run().unwrap();
                format!("{} {:?} {:?}", shown(&outcome), outcome.counts, outcome.services)
            };
            assert!(outcome(true) == outcome(false), "{scheme} {workload} on {}", machine.drive);
        }
    }
}

#[test]
fn a_log_on_a_drive_of_its_own_spares_the_way_there_and_back() {
    let machine = Machine::of_1994();
    let run = |scheme, mode: &str, log| {
        let mut settings = Settings::default();
        settings.set("logmode", mode).unwrap().unwrap();
        let (params, workload) = (Params::parse("files=200").unwrap(), "create-files");
        let run = Run {
            machine: &machine,
            scheme,
            settings,
            log,
            alloc_init: None,
            workload,
            params,
            users: 1,
            start: Start::Again,
            size: None,
            seed: 1,
            services: false,
            sync: false,
        };
        run.run().unwrap()
    };
    let (beside, apart) = (run("wafs", "sync", LogPlace::Volume), run("wafs", "sync", LogPlace::Drive));
    assert_eq!((beside.ops(), apart.ops()), (200, 200));
    assert!(apart.elapsed < beside.elapsed, "{:?} and {:?}", apart.elapsed, beside.elapsed);
    assert!(apart.counts.disk_writes >= 200, "the log's drive is counted, too: {:?}", apart.counts);
    assert!(apart.disk.writes < beside.disk.writes, "and not for the volume's");
    let kept = run("wafs", "sync", LogPlace::Nvram);
    assert!(
        kept.elapsed < apart.elapsed,
        "memory has no turns to wait for: {:?} and {:?}",
        kept.elapsed,
        apart.elapsed
    );
    let later = run("wafs", "async", LogPlace::Drive);
    assert!(later.elapsed < apart.elapsed, "what is set of the scheme arrives there");
    let (without, with) = (run("softupdates", "sync", LogPlace::Volume), run("softupdates", "sync", LogPlace::Drive));
    assert_eq!((without.elapsed, without.disk), (with.elapsed, with.disk), "no log, nothing apart");
}
