//! `cargo bench -p ordo-wafs [-- DIR]`: the cost of the log in wall-clock time. Files are written to DIR, which should
//! be on the disk to be measured.
//!
//! Three goals: appending records of 64 KiB at 80 per cent of the disk's own sequential bandwidth; a million records of
//! 100 bytes a second, asynchronous, in RAM; reading a log of 128 MiB after a crash in under three seconds.

use ordo_disk::{Block, Disk, DiskOff, FileOptions, Kind, Queue, QueueOptions, RamDisk};
use ordo_rt::Rt;
use ordo_wafs::{Log, Lsn, MakeOptions, Mode, MountOptions, Place};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

const RUNS: usize = 5;
const ASYNC: MountOptions = MountOptions { mode: Mode::Async };

fn main() {
    let named = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).map(PathBuf::from);
    let parent = named.unwrap_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")));
    let dir = tempfile::tempdir_in(parent).unwrap();
    println!("medians of {RUNS} runs, least and most in brackets");
    println!(
        "append, 100 bytes, asynchronous, RAM: {} records a second",
        summary((0..RUNS).map(|_| in_ram()).collect(), 1.0)
    );
    let path = dir.path().join("log.wafs");
    for direct in [false, true] {
        let way = if direct { "direct" } else { "page cache" };
        bandwidth(&path, direct, way);
        for length in [100, 1000, 65536] {
            replay(&path, direct, length, way);
        }
    }
}

fn median(rates: &mut [f64]) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

fn summary(mut rates: Vec<f64>, unit: f64) -> String {
    let median = median(&mut rates);
    format!("{:.2} [{:.2} to {:.2}]", median / unit, rates[0] / unit, rates[rates.len() - 1] / unit)
}

fn seconds(rt: &Rt, work: impl AsyncFnOnce()) -> f64 {
    let began = rt.now();
    rt.block_on(work());
    rt.now().since(began).as_secs_f64()
}

/// Two million records through a log of 64 MiB: more than four laps.
fn in_ram() -> f64 {
    const RECORDS: usize = 2_000_000;
    let rt = Rt::real_time();
    let place = Place::whole(&rt, Rc::new(RamDisk::new(64 << 20)));
    rt.block_on(Log::make(&place, MakeOptions { zero: true, ..MakeOptions::default() })).unwrap();
    let log = rt.block_on(Log::mount(place, ASYNC)).unwrap();
    let (data, mut low) = ([7; 100], Lsn::NONE);
    let took = seconds(&rt, async || {
        for i in 0..RECORDS {
            let lsn = log.append_patiently(&data).await.unwrap();
            if i % 100_000 == 0 {
                log.reclaim(std::mem::replace(&mut low, lsn)).unwrap();
            }
        }
        log.sync().await.unwrap();
    });
    RECORDS as f64 / took
}

fn open(rt: &Rt, path: &Path, direct: bool) -> Rc<dyn Disk> {
    ordo_disk::open(rt, path, &FileOptions { direct, ..FileOptions::default() }).unwrap()
}

/// Writes a gigabyte to a file whose blocks are all allocated, and flushes: through the log, and without it.
fn bandwidth(path: &Path, direct: bool, way: &str) {
    const BYTES: u64 = 1 << 30;
    let size = BYTES + (64 << 20);
    Log::create(path, size, MakeOptions::default()).unwrap();
    let (mut logged, mut plain) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let rt = Rt::real_time();
        let took = {
            let log = rt.block_on(Log::mount(Place::whole(&rt, open(&rt, path, direct)), ASYNC)).unwrap();
            let data = vec![9; 65536];
            let took = seconds(&rt, async || {
                for _ in 0..BYTES / 65536 {
                    log.append_patiently(&data).await.unwrap();
                }
                log.force(log.last()).await.unwrap();
            });
            log.reclaim(log.end()).unwrap();
            rt.block_on(log.unmount()).unwrap();
            took
        };
        rt.drop_tasks();
        logged.push(BYTES as f64 / took);
        plain.push(BYTES as f64 / sequential(path, direct, size - BYTES, BYTES));
    }
    let ratio = median(&mut logged) / median(&mut plain);
    let (logged, plain) = (summary(logged, 1e6), summary(plain, 1e6));
    println!("append, 64 KiB, {way}: {logged} MB/s; the disk alone {plain} MB/s; ratio {ratio:.2}");
}

/// Writes of 1 MiB, sixteen in flight at a time.
fn sequential(path: &Path, direct: bool, from: u64, bytes: u64) -> f64 {
    const PIECE: u64 = 1 << 20;
    let rt = Rt::real_time();
    // After the log's own beginning, which must not be overwritten.
    let queue = Queue::new(&rt, open(&rt, path, direct), QueueOptions::default());
    let image = Block::copy_of(&vec![5; PIECE as usize]).image();
    let took = seconds(&rt, async || {
        let mut under_way = std::collections::VecDeque::new();
        for at in (from..from + bytes).step_by(PIECE as usize) {
            if under_way.len() == 16 {
                let first: ordo_disk::Written = under_way.pop_front().unwrap();
                first.completed().await.unwrap();
            }
            under_way.push_back(queue.write(DiskOff(at), image.clone(), Kind::Log.into()));
        }
        for written in under_way {
            written.completed().await.unwrap();
        }
        queue.flush().await.unwrap();
    });
    drop(queue);
    rt.drop_tasks();
    took
}

/// Fills a log of 128 MiB, then opens it and reads every record, as after a crash.
fn replay(path: &Path, direct: bool, length: usize, way: &str) {
    Log::create(path, 128 << 20, MakeOptions::default()).unwrap();
    let rt = Rt::real_time();
    let log = rt.block_on(Log::mount(Place::whole(&rt, open(&rt, path, direct)), ASYNC)).unwrap();
    let data = vec![3; length];
    let appended = rt.block_on(async {
        let mut count = 0u64;
        while log.append_patiently(&data).await.is_ok() {
            count += 1;
        }
        log.force(log.last()).await.unwrap();
        count
    });
    drop(log);
    rt.run_until_idle();
    rt.drop_tasks();
    let (mut found, mut all) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let rt = Rt::real_time();
        let began = rt.now();
        let log = rt.block_on(Log::open(Place::whole(&rt, open(&rt, path, direct)))).unwrap();
        found.push(rt.now().since(began).as_secs_f64());
        let mut count = 0;
        rt.block_on(async {
            let mut scan = log.scan(Lsn::NONE);
            while scan.next().await.unwrap().is_some() {
                count += 1;
            }
        });
        assert_eq!(count, appended);
        all.push(rt.now().since(began).as_secs_f64());
        drop(log);
        rt.drop_tasks();
    }
    let goal = Duration::from_secs(3).as_secs_f64();
    let (found, met) = (summary(found, 1.0), median(&mut all) < goal);
    println!(
        "replay of 128 MiB, {appended} records of {length} bytes, {way}: end found in {found} s, all read in {} s{}",
        summary(all, 1.0),
        if met { "" } else { ": TOO SLOW" }
    );
}
