//! `cargo bench -p ordo-kv --features sqlite [-- DIR]`: durable puts a second, this store against SQLite, in the same
//! directory.
//!
//! Both make each put durable before it returns: SQLite in WAL mode with `synchronous=FULL`, the store by group commit.
//! A put is 16 bytes of key and 100 of value. Runs alternate; the medians are printed. Before the first run both have
//! gone round their logs once, so that nobody's file grows under measurement. Threads of SQLite have a connection each,
//! or share one behind a lock; the faster way counts.

use kv::Kv;
use ordo_rt::Rt;
use ordo_wafs::MountOptions;
use rusqlite::{Connection, params};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const RUNS: usize = 5;
/// Puts of a run, for all threads together.
const PUTS: usize = 800;
/// No value is put twice: SQLite does not write what is there already.
static COUNT: AtomicU64 = AtomicU64::new(0);

fn main() {
    let named = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).map(PathBuf::from);
    let parent = named.unwrap_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")));
    let dir = tempfile::tempdir_in(parent).unwrap();
    let kv = Kv::open(dir.path(), 16 << 20, MountOptions::default()).unwrap();
    let sqlite = dir.path().join("kv.sqlite");
    connect(&sqlite).execute_batch("CREATE TABLE kv (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID").unwrap();
    on_store(&kv, 1);
    on_sqlite(&sqlite, 1);
    connect(&sqlite).query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(())).unwrap();
    println!("durable puts a second, medians of {RUNS} runs of {PUTS} puts, least and most in brackets");
    for threads in [1, 8] {
        let mut rates: [Vec<f64>; 3] = Default::default();
        for _ in 0..RUNS {
            rates[0].push(on_store(&kv, threads));
            rates[1].push(on_sqlite(&sqlite, threads));
            rates[2].push(on_shared_sqlite(&sqlite, threads));
        }
        let [ours, own, shared] = rates.map(summary);
        let better = if own.0 > shared.0 { own.0 } else { shared.0 };
        println!(
            "{threads} threads: kv on wafs {}, SQLite WAL {}, one connection {}; ratio {:.2}",
            ours.1,
            own.1,
            shared.1,
            ours.0 / better
        );
    }
}

fn summary(mut rates: Vec<f64>) -> (f64, String) {
    rates.sort_by(f64::total_cmp);
    let median = rates[rates.len() / 2];
    (median, format!("{median:.0} [{:.0} to {:.0}]", rates[0], rates[rates.len() - 1]))
}

/// Runs `put` from so many threads, each with what `prepare` gives it; puts a second.
fn rate<T>(threads: usize, prepare: impl Fn() -> T + Sync, put: impl Fn(&mut T, &[u8], &[u8]) + Sync) -> f64 {
    let rt = Rt::real_time();
    let began = rt.now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (prepare, put) = (&prepare, &put);
            scope.spawn(move || {
                let mut with = prepare();
                for i in 0..PUTS / threads {
                    let mut value = [0; 100];
                    value[..8].copy_from_slice(&COUNT.fetch_add(1, Ordering::Relaxed).to_le_bytes());
                    put(&mut with, format!("key {thread:03} {:08}", i % 500).as_bytes(), &value);
                }
            });
        }
    });
    PUTS as f64 / rt.now().since(began).as_secs_f64()
}

fn on_store(kv: &Kv, threads: usize) -> f64 {
    rate(threads, || (), |(), key, value| kv.put(key, value).unwrap())
}

fn connect(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(Duration::from_secs(60)).unwrap();
    connection.pragma_update(None, "journal_mode", "WAL").unwrap();
    connection.pragma_update(None, "synchronous", "FULL").unwrap();
    connection
}

fn insert(connection: &Connection, key: &[u8], value: &[u8]) {
    let mut put = connection.prepare_cached("INSERT OR REPLACE INTO kv VALUES (?1, ?2)").unwrap();
    put.execute(params![key, value]).unwrap();
}

fn on_sqlite(path: &Path, threads: usize) -> f64 {
    rate(threads, || connect(path), |connection, key, value| insert(connection, key, value))
}

fn on_shared_sqlite(path: &Path, threads: usize) -> f64 {
    let connection = Mutex::new(connect(path));
    let put = |(): &mut (), key: &[u8], value: &[u8]| {
        insert(&connection.lock().unwrap_or_else(PoisonError::into_inner), key, value);
    };
    rate(threads, || (), put)
}
