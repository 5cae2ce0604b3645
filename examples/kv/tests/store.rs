//! What the store promises, through crashes.

use kv::{Kv, KvError};
use ordo_wafs::{FileError, Mode, MountOptions};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

fn open(dir: &Path) -> Kv {
    Kv::open(dir, 1 << 18, MountOptions { mode: Mode::GROUP }).unwrap()
}

/// The system takes a killed program's I/O apart, and its lock with it, a moment after the program is gone.
fn open_after_a_kill(dir: &Path) -> Kv {
    for _ in 0..1000 {
        match Kv::open(dir, 1 << 18, MountOptions::default()) {
            Err(KvError::File(FileError::Open(ordo_disk::OpenError::Locked { .. }))) => {
                let rt = ordo_rt::Rt::real_time();
                rt.block_on(rt.sleep(Duration::from_millis(10)));
            }
            opened => return opened.unwrap(),
        }
    }
    panic!("somebody has the store for ten seconds");
}

#[test]
fn values_are_there_again_through_snapshots_and_laps_of_the_log() {
    let dir = tempfile::tempdir().unwrap();
    for round in 0..3u32 {
        let kv = open(dir.path());
        for i in 0..200u32 {
            kv.put(format!("key {}", i % 20).as_bytes(), &vec![round as u8; (i * 31 % 3000) as usize]).unwrap();
        }
        kv.remove(b"key 7").unwrap();
        assert_eq!(kv.keys().len(), 19);
    }
    assert!(dir.path().join("kv.snapshot").exists());
    let kv = open(dir.path());
    assert_eq!((kv.get(b"key 7"), kv.get(b"key 19")), (None, Some(vec![2; 199 * 31 % 3000])));
    assert!(matches!(Kv::open(dir.path(), 1 << 18, MountOptions::default()), Err(KvError::File(_))));
}

#[test]
fn threads_share_it_and_the_later_one_wins() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path());
    let work = |thread: u8| {
        for i in 0..200u8 {
            kv.put(b"same", &[thread, i]).unwrap();
            kv.put(&[thread], &[i]).unwrap();
        }
    };
    std::thread::scope(|scope| (0..8).for_each(|thread| drop(scope.spawn(move || work(thread)))));
    let same = kv.get(b"same");
    drop(kv);
    let kv = open(dir.path());
    assert_eq!(kv.get(b"same"), same);
    assert!((0..8).all(|thread| kv.get(&[thread]) == Some(vec![199])));
}

#[test]
fn a_damaged_snapshot_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path());
    kv.put(b"key", b"value").unwrap();
    kv.snapshot().unwrap();
    drop(kv);
    let path = dir.path().join("kv.snapshot");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[20] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    assert!(matches!(Kv::open(dir.path(), 1 << 18, MountOptions::default()), Err(KvError::Snapshot(_))));
}

#[test]
fn acknowledged_puts_survive_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let mut told: BTreeMap<String, u64> = BTreeMap::new();
    for lines in [50, 700, 3000, 400] {
        let mut filling = Command::new(env!("CARGO_BIN_EXE_ordo-kv"));
        let mut filling = filling.arg(dir.path()).arg("fill").stdout(Stdio::piped()).spawn().unwrap();
        told.clear();
        let mut out = BufReader::new(filling.stdout.take().unwrap()).lines();
        for line in out.by_ref().take(lines) {
            let line = line.unwrap();
            let (key, count) = line.split_once(' ').unwrap();
            told.insert(key.into(), count.parse().unwrap());
        }
        filling.kill().unwrap();
        filling.wait().unwrap();
        let kv = open_after_a_kill(dir.path());
        for (key, count) in &told {
            let value = String::from_utf8(kv.get(key.as_bytes()).unwrap()).unwrap();
            assert!(value.trim_end().parse::<u64>().unwrap() >= *count, "{key}: {value} after {count}");
        }
    }
}
