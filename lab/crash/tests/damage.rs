//! Damaged volumes: no word of the metadata and no random damage makes anything panic, hang or lose a file.
#![allow(clippy::disallowed_methods, reason = "a watchdog looks at the real clock, to end a hang")]

use ordo_crash::damage::believed::ImageId;
use ordo_crash::damage::{Kind, Tally, Unit, run, units};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// MiB by which the process may grow: the cache of a mount has 8, and there is one in each thread.
const MEMORY: u64 = 64;
const THREADS: usize = 2;
/// Of a unit, on a slow machine.
const HANG: Duration = Duration::from_secs(600);

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux tells it");
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().expect("a number") << 10
}

/// Runs units on two threads, and ends the test if one hangs.
fn all(units: Vec<Unit>) -> Tally {
    let units: &'static [Unit] = units.leak();
    let next: &'static AtomicUsize = Box::leak(Box::new(AtomicUsize::new(0)));
    let watches: Vec<Mutex<(&str, Instant)>> = (0..THREADS).map(|_| Mutex::new(("", Instant::now()))).collect();
    let watches: &'static [Mutex<(&str, Instant)>] = watches.leak();
    let work = |turn: usize| {
        let mut whole = Tally::default();
        while let Some(unit) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
            *watches[turn].lock().unwrap() = (&unit.name, Instant::now());
            whole = whole.and(run(unit, 0, &|_| ()).unwrap().0);
        }
        whole
    };
    let threads: Vec<_> = (0..THREADS).map(|turn| std::thread::spawn(move || work(turn))).collect();
    while !threads.iter().all(|thread| thread.is_finished()) {
        std::thread::park_timeout(Duration::from_millis(100));
        for watch in watches {
            let (name, since) = *watch.lock().unwrap();
            if since.elapsed() > HANG {
                eprintln!("hangs: {name}");
                std::process::exit(1);
            }
        }
    }
    threads.into_iter().map(|thread| thread.join().unwrap()).fold(Tally::default(), Tally::and)
}

#[test]
fn no_word_of_the_metadata_makes_anything_panic_hang_or_lose_a_file() {
    let before = resident();
    let tally = all(units(Kind::Words).unwrap());
    let grown = (resident() - before) >> 20;
    let Tally { images, read, changed, found, repaired, failures } = tally;
    println!("{images} images: {read} read, {changed} changed, {found} found bad, {repaired} repaired, {grown} MiB");
    assert!(failures.is_empty(), "{} of {images} images failed: {:#?}", failures.len(), &failures[..1]);
    // The campaign is meaningful only if most images pass the first check.
    assert!(
        images > 30_000 && read > images / 2 && changed > images / 2 && found > images / 4 && repaired > images / 2
    );
    assert!(grown < MEMORY);
}

#[test]
fn random_damage_is_refused_or_repaired() {
    let tally = all(units(Kind::Random(100)).unwrap());
    assert!(tally.failures.is_empty(), "{:#?}", &tally.failures[..1]);
    assert_eq!(tally.images, 400);
    assert!(tally.repaired > 300 && tally.found > 200, "{tally:?}");
}

#[test]
fn a_unit_is_the_same_each_time_and_another_seed_is_other_damage() {
    let units = units(Kind::Random(20)).unwrap();
    let hashes = |seed| run(&units[0], seed, &|_| ()).unwrap().1;
    assert_eq!((units.len(), hashes(1)), (4, hashes(1)));
    let both: BTreeSet<u128> = hashes(1).intersection(&hashes(2)).copied().collect();
    assert!(both.len() < 5, "few faults lie alike by chance: {}", both.len());
}

/// A short form of what runs at night; the seed is one whose images were all found to be refused or repaired.
#[test]
fn damage_that_is_believed_makes_nothing_panic_hang_grow_or_change_another_file() {
    let tally = all(units(Kind::Believed(40)).unwrap());
    let Tally { images, read, changed, found, repaired, failures } = tally;
    println!("{images} images: {read} read, {changed} changed, {found} found bad, {repaired} repaired");
    assert!(failures.is_empty(), "{} of {images} images failed: {failures:#?}", failures.len());
    // The damage is believed: most of the volumes can still be mounted and read.
    assert!(images == 22 * 40 && read > images / 2 && found > images / 3 && repaired > images / 2);
}

/// The program that changes the volume had walked such a directory for ever.
#[test]
fn a_directory_that_lies_below_itself_ends_a_walk() {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let image: ImageId = "block2le:1:995".parse().unwrap();
        tell.send(image.run().unwrap()).unwrap();
    });
    let tally = told.recv_timeout(HANG).expect("a walk never ends");
    assert!(tally.images == 1 && tally.failures.is_empty(), "{:?}", tally.failures);
}
