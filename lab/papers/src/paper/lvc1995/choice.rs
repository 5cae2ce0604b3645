//! Which way to keep metadata in order is best for which work. For each work the ways stand beside each other, on a
//! disk of the paper's time and on one of today: their speeds, which is fastest, and what a crash costs under each.
//!
//! C1. The fastest is named together with all that are within a twentieth of it: less is no reason to choose.
//! C2. What a crash costs is what the scheme declares, with all its rules, and the crash explorer checks; no word here
//!     is about a result. (FFS runs without two waits that BSD does not have either.)

use super::experiments::{FULL, Results, Work};
use super::systems::{BEYOND, Disk, System};
use crate::promised::cost_of_crash;
use ordo_report::results::{Choice, Chosen, Way};
use ordofs::schemes::{self, Settings};

/// Within so much of the fastest is as fast.
const AS_FAST: f64 = 0.95;

const DISKS: [(Disk, &str); 2] = [(Disk::Theirs, "disk of 1995"), (Disk::Today, "flash with power-loss protection")];

/// What is done, in words, with its unit, and the phase of the runs that has the rate.
fn works() -> Vec<(String, &'static str, Work, &'static str)> {
    let mut works = Vec::new();
    for (kib, files) in [(1, "files of 1 KB"), (64, "files of 64 KB"), (1024, "files of 1 MB")] {
        for (step, said) in [("create", "create"), ("read", "read"), ("write", "write over"), ("delete", "remove")] {
            works.push((format!("{said} {files}"), "files/s", Work::files(step, kib), step));
        }
    }
    for (pass, said) in [
        ("write", "write a file of 100 MB in order"),
        ("read", "read it in order"),
        ("random-write", "write it at random, 8 KB at a time"),
        ("random-read", "read it at random, 8 KB at a time"),
        ("re-read", "read it in order after that"),
    ] {
        works.push((said.to_owned(), "MB/s", Work::Large, pass));
    }
    let said = format!("TPC-B, the disk {} % full", FULL[0]);
    works.push((said, "transactions/s", Work::Full(FULL[0]), "transactions"));
    works
}

pub(super) fn choice(results: &Results) -> Choice {
    let works = works().into_iter().map(|(name, unit, work, phase)| {
        let rate = |system: &System, disk: Disk| {
            let phase = results.on(work, system.key, disk, phase)?;
            Some(if unit == "MB/s" { phase.mb_s } else { phase.rate })
        };
        let rates: Vec<Vec<_>> =
            DISKS.iter().map(|(disk, _)| BEYOND.iter().map(|system| rate(system, *disk)).collect()).collect();
        let best = rates.iter().map(|rates| best(rates)).collect();
        Chosen { name, unit: unit.to_owned(), rates, best }
    });
    Choice {
        title: "Which should I use for what, today?".to_owned(),
        says: "Each work under each way to keep metadata in order, on the same engine. Those named best are within a \
               twentieth of the fastest."
            .to_owned(),
        disks: DISKS.iter().map(|(_, name)| (*name).to_owned()).collect(),
        ways: BEYOND.iter().map(way).collect(),
        works: works.collect(),
    }
}

/// The names of the fastest, and of all that are as fast (C1), the fastest first.
fn best(rates: &[Option<f64>]) -> Vec<String> {
    let most = rates.iter().flatten().fold(0.0f64, |most, rate| most.max(*rate));
    let named = |(system, rate): (&System, &Option<f64>)| Some((system.key.to_owned(), (*rate)?));
    let mut fast: Vec<_> =
        BEYOND.iter().zip(rates).filter_map(named).filter(|(_, rate)| *rate >= AS_FAST * most).collect();
    fast.sort_by(|a, b| b.1.total_cmp(&a.1));
    fast.into_iter().map(|(name, _)| name).collect()
}

fn way(system: &System) -> Way {
    let promises = match system.is_lfs() {
        true => Some(ordofs::lfs::promises()),
        false => schemes::by_name(system.scheme)
            .and_then(|known| known.make(Settings { alloc_init: system.alloc_init(), ..Settings::default() }).ok())
            .map(|scheme| scheme.declares()),
    };
    Way {
        name: system.key.to_owned(),
        what: system.what.to_owned(),
        scheme: system.scheme.to_owned(),
        crash: promises.map_or_else(String::new, |promises| cost_of_crash(&promises)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_is_named_with_all_that_are_as_fast() {
        let mut rates = vec![None; BEYOND.len()];
        assert!(best(&rates).is_empty());
        (rates[1], rates[2], rates[4], rates[5]) = (Some(95.1), Some(100.0), Some(94.9), Some(97.0));
        assert_eq!(best(&rates), [BEYOND[2].key, BEYOND[5].key, BEYOND[1].key]);
    }

    #[test]
    fn every_way_says_what_a_crash_costs_and_every_work_has_a_place_for_every_way() {
        let choice = choice(&Results::default());
        assert_eq!((choice.ways.len(), choice.disks.len()), (BEYOND.len(), 2));
        let crash = |key: &str| &*choice.ways.iter().find(|way| way.name == key).expect("it is one").crash;
        assert!(crash("no-order").contains("may remove files"), "{}", crash("no-order"));
        assert!(crash("no-order").contains("old bytes of another one") && crash("ffs-m8r0").contains("fsck must run"));
        assert!(crash("bsd-lfs").contains("reads the log") && crash("bsd-lfs").contains("one moment"));
        assert!(crash("soft-updates").contains("reclaimed") && crash("soft-updates").contains("may be undone"));
        assert!(crash("wafs").contains("stays so") && crash("block-journal").contains("may be undone"));
        for work in &choice.works {
            assert!(work.rates.iter().all(|rates| rates.len() == choice.ways.len()), "{}", work.name);
            assert_eq!((work.rates.len(), work.best.len()), (2, 2), "{}", work.name);
        }
    }
}
