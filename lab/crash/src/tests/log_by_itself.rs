//! The log by itself (`wafs`) under power cuts: on every device, at every moment, during its recovery, and in the lives
//! that follow.
//!
//! L1. What was durable when the power went is read back, in order and unchanged, from the first record that was not
//!     reclaimed.
//! L2. Nothing is read back that was not appended, and nothing after a record that is lost.
//! L3. No power cut looks like damage, and none prevents the log from being mounted.
//! L4. A recovery that is interrupted does not change what the next one finds.
//! L5. Each rule of the log that is switched off is detected.

use crate::cut::Cuts;
use crate::device::{Device, Torn};
use crate::disks::{Side, Split};
use crate::fate::{Fates, Futures};
use crate::record::Recording;
use crate::recover::{Logged, Traced, interruptions};
use ordo_disk::{Disk, RamDisk};
use ordo_rt::{Rng, Rt};
use ordo_simdisk::Recorder;
use ordo_wafs::planted::{Broken, plant};
use ordo_wafs::{Log, Lsn, MakeOptions, Mode, MountOptions, Place};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

/// Lengths of records, in bytes: small, so that they wrap soon, and a new record often fits where a lost one was.
const LENGTHS: [usize; 6] = [0, 16, 72, 464, 976, 1500];
const UNITS: u64 = 16;
/// Calls in a life, and how many lives follow each other, each from what a cut has left.
const CALLS: usize = 40;
const LIVES: u32 = 3;
/// Futures of a cut.
const MOST: usize = 60;

type Records = BTreeMap<u64, Vec<u8>>;

/// What had been acknowledged and reclaimed after so many events at the disk.
struct Note {
    at: usize,
    durable: u64,
    low: u64,
}

struct Life {
    recording: Recording,
    notes: Vec<Note>,
    /// The records that the log may hold: those at the start, and those that were appended.
    known: Records,
}

/// A disk on which the sector that was being written becomes unreadable.
fn unreadable() -> Device {
    Device { name: "unreadable", torn: Torn::Unreadable, ..Device::by_name("sata").unwrap().clone() }
}

fn fresh(device: &Device, unit: u32) -> RamDisk {
    // Small requests, so that a few records are many writes in flight.
    let ram = RamDisk::new(8192 + UNITS * u64::from(unit)).with(|info| {
        info.sector = device.sector;
        info.max_transfer = 2 * unit;
    });
    let rt = Rt::virtual_time(0);
    let place = Place::whole(&rt, Rc::new(ram.clone()));
    rt.block_on(Log::make(&place, MakeOptions { unit: Some(unit), zero: false })).unwrap();
    rt.drop_tasks();
    ram
}

fn on_its_own(ram: RamDisk, device: &Device, bad: &[u64]) -> Traced {
    let split = Split::none(ram.info().size);
    Traced::new(ram, device, split, bad)
}

/// Runs a life on `base`, which holds `known` from `low` on.
fn live(base: &RamDisk, device: &Device, seed: u64, known: &Records, low: u64) -> Life {
    let (rt, ram, mut rng) = (Rt::virtual_time(seed), base.snapshot(), Rng::new(seed));
    let recorder = Recorder::new(&rt, device.on(&rt, &ram, seed), true);
    let durable = known.last_key_value().map_or(0, |(last, _)| last + 1);
    let (mut known, mut notes) = (known.clone(), vec![Note { at: 0, durable, low }]);
    rt.block_on(async {
        let mode = if rng.chance(1, 2) { Mode::GROUP } else { Mode::Sync };
        let log = Log::mount(Place::whole(&rt, Rc::new(recorder.clone())), MountOptions { mode }).await.unwrap();
        for call in 0..CALLS {
            let mut data = vec![0; LENGTHS[rng.below(LENGTHS.len() as u64) as usize]];
            rng.fill(&mut data);
            match rng.below(12) {
                0..6 => {
                    if let Ok(lsn) = log.append(&data) {
                        known.insert(lsn.0, data);
                    }
                }
                6..8 => {
                    if let Ok(lsn) = log.commit(&data).await {
                        known.insert(lsn.0, data);
                    }
                }
                8 => log.force(log.last()).await.unwrap_or(()),
                9..11 => {
                    let back = rng.below(5) as usize;
                    let low = known.keys().rev().nth(back).map_or(log.low(), |lsn| Lsn(*lsn));
                    log.reclaim(if rng.chance(1, 4) { log.end() } else { low }).unwrap();
                }
                _ if rng.chance(1, 2) => log.sync().await.unwrap(),
                _ => rt.sleep(Duration::from_micros(rng.below(20_000))).await,
            }
            let at = recorder.with_events(<[_]>::len);
            notes.push(Note { at, durable: log.durable().0, low: log.low().0 });
            if call + 1 == CALLS && rng.chance(1, 2) {
                log.sync().await.unwrap();
            }
        }
    });
    let mut at: Vec<usize> = notes.iter().map(|note| note.at).collect();
    let recording = Recording::of_disk(base.snapshot(), &recorder, device, &mut at).unwrap();
    notes.iter_mut().zip(at).for_each(|(note, at)| note.at = at);
    rt.drop_tasks();
    Life { recording, notes, known }
}

/// All records in the log on `disk`.
fn read(disk: Rc<dyn Disk>) -> Result<Records, String> {
    let rt = Rt::virtual_time(0);
    let read = rt.block_on(async {
        let log = Log::open(Place::whole(&rt, disk)).await?;
        if let Some(damage) = log.recovery().damage {
            return Err(damage.into());
        }
        let (mut scan, mut records) = (log.scan(Lsn::NONE), Records::new());
        while let Some(record) = scan.next().await? {
            records.insert(record.lsn.0, record.data);
        }
        let (mut back, mut count) = (log.scan_back(log.last()), 0);
        while !records.is_empty() && back.next().await?.is_some() {
            count += 1;
        }
        assert_eq!(count, records.len(), "backward there are others than forward");
        Ok(records)
    });
    rt.drop_tasks();
    read.map_err(|error: ordo_wafs::Error| error.to_string())
}

/// Reads the log, mounts it, cuts the mount's own writes off at every place, and reads again (L3, L4).
fn recover(image: &RamDisk, bad: &[u64], device: &Device) -> Result<Records, String> {
    let found = read(on_its_own(image.snapshot(), device, bad).disks().volume)?;
    let traced = on_its_own(image.snapshot(), device, bad);
    let rt = Rt::virtual_time(0);
    let mounted = rt.block_on(Log::mount(Place::whole(&rt, traced.disks().volume), MountOptions::default()));
    drop(mounted.map_err(|error| format!("it cannot be mounted: {error}"))?);
    rt.drop_tasks();
    let writes = traced.take_log();
    let again = |writes: &[Logged]| {
        let (ram, written): (_, Vec<u64>) = (image.snapshot(), writes.iter().map(|write| write.at / 512).collect());
        writes.iter().for_each(|write| ram.poke(write.at, &write.image));
        let bad: Vec<u64> = bad.iter().copied().filter(|sector| !written.contains(sector)).collect();
        match read(on_its_own(ram, device, &bad).disks().volume) {
            Ok(other) if other == found => Ok(()),
            other => Err(format!("a recovery cut after {} writes finds {other:?}", writes.len())),
        }
    };
    interruptions(&writes, device).iter().try_for_each(|writes| again(writes))?;
    again(&writes)?;
    Ok(found)
}

/// L1 and L2.
fn judge(found: &Records, known: &Records, note: &Note) -> Result<(), String> {
    if let Some((lsn, _)) = found.iter().find(|(lsn, data)| known.get(lsn) != Some(data)) {
        return Err(format!("the record {lsn} is read, and was not appended so"));
    }
    let (Some((first, _)), Some((last, _))) = (found.first_key_value(), found.last_key_value()) else {
        return match known.range(note.low..note.durable.max(note.low)).next() {
            Some((lost, _)) => Err(format!("the durable record {lost} is lost, with all others")),
            None => Ok(()),
        };
    };
    if let Some((hole, _)) = known.range(first..=last).find(|(lsn, _)| !found.contains_key(lsn)) {
        return Err(format!("the record {hole} is missing before {last}"));
    }
    match known.range(note.low..note.durable.max(note.low)).find(|(lsn, _)| !found.contains_key(lsn)) {
        Some((lost, _)) => Err(format!("the durable record {lost} is lost")),
        None => Ok(()),
    }
}

#[derive(Default, Debug)]
struct Counts {
    cuts: u64,
    states: u64,
    distinct: u64,
    lives: u64,
}

/// Cuts the power at every moment of a life, and goes on with some of the images.
fn explore(
    base: &RamDisk,
    device: &Device,
    seed: u64,
    known: &Records,
    low: u64,
    depth: u32,
    counts: &mut Counts,
) -> Result<(), String> {
    let life = live(base, device, seed, known, low);
    counts.lives += 1;
    let (mut cuts, mut rng) = (Cuts::new(&life.recording, device), Rng::new(seed ^ 0x006c_6f67));
    let mut seen: FxHashMap<u128, Records> = FxHashMap::default();
    let mut heirs: Vec<(RamDisk, Records, u64)> = Vec::new();
    loop {
        let moved = cuts.step();
        if !moved && cuts.at >= life.recording.moments.len() {
            break;
        }
        if !moved {
            continue;
        }
        counts.cuts += 1;
        let now: Vec<&Note> = life.notes.iter().take_while(|note| note.at <= cuts.at).collect();
        let most = |of: fn(&Note) -> u64| now.iter().map(|note| of(note)).max().unwrap_or(0);
        let note = Note { at: cuts.at, durable: most(|note| note.durable), low: most(|note| note.low) };
        let units = cuts.units();
        let sides = vec![Side::Volume; units.len()];
        let futures = Futures { sides: &sides, device, units: &units, most: MOST, exhaustive: 5 }.list(&mut rng);
        for fates in &futures {
            counts.states += 1;
            let told = |why: String| told(device, seed, depth, &note, fates, &why);
            let number = cuts.fingerprint(fates);
            if let Some(found) = seen.get(&number) {
                judge(found, &life.known, &note).map_err(told)?;
                continue;
            }
            let (image, bad) = cuts.image(fates);
            counts.distinct += 1;
            let found = recover(&image, &bad, device).map_err(told)?;
            judge(&found, &life.known, &note).map_err(told)?;
            if bad.is_empty() && rng.chance(1, 50) {
                heirs.push((image, found.clone(), note.low));
            }
            seen.insert(number, found);
        }
    }
    for (i, (image, found, low)) in heirs.into_iter().take(if depth + 1 < LIVES { 5 } else { 0 }).enumerate() {
        explore(&image, device, seed * 31 + i as u64, &found, low, depth + 1, counts)?;
    }
    Ok(())
}

fn told(device: &Device, seed: u64, depth: u32, note: &Note, fates: &Fates, why: &str) -> String {
    let Note { at, durable, low } = note;
    format!(
        "{}, seed {seed}, life {depth}, moment {at}, fates {fates}: {why} (kept from {low}, durable to {durable})",
        device.name
    )
}

/// Explores `seeds` first lives on a device.
fn explore_seeds(device: &Device, unit: u32, seeds: std::ops::Range<u64>) -> Result<Counts, String> {
    let mut counts = Counts::default();
    for seed in seeds {
        let base = fresh(device, unit);
        explore(&base, device, seed, &Records::new(), 0, 0, &mut counts)?;
    }
    Ok(counts)
}

fn devices() -> Vec<(Device, u32)> {
    let named = |name| Device::by_name(name).unwrap().clone();
    vec![
        (named("sata"), 512),
        (named("sata"), 4096),
        (named("nvme"), 4096),
        (named("plp"), 512),
        (named("plp"), 4096),
        (named("scsi94"), 512),
        (unreadable(), 512),
        (unreadable(), 4096),
    ]
}

/// First lives on each device; `ORDO_LOG_SEEDS` sets more, for long runs.
fn seeds() -> u64 {
    std::env::var("ORDO_LOG_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(6)
}

#[test]
fn no_power_cut_takes_what_was_durable_or_makes_what_was_not() {
    holds_on(devices().into_iter().step_by(2));
}

#[test]
fn nor_does_it_on_the_other_devices() {
    holds_on(devices().into_iter().skip(1).step_by(2));
}

fn holds_on(devices: impl Iterator<Item = (Device, u32)>) {
    for (device, unit) in devices {
        let counts = explore_seeds(&device, unit, 1..seeds() + 1);
        let counts = counts.unwrap_or_else(|violation| panic!("unit {unit}: {violation}"));
        println!("{} unit {unit}: {counts:?}", device.name);
        assert!(counts.lives > 5 && counts.distinct > 100, "{} {counts:?}", device.name);
    }
}

/// The log is empty, and after its start lies a record from before an earlier crash: it was taken for valid.
#[test]
fn a_record_of_an_earlier_mount_does_not_come_back_in_an_empty_log() {
    explore_seeds(Device::by_name("plp").unwrap(), 512, 18..19).unwrap();
}

#[test]
fn each_rule_that_is_switched_off_is_convicted() {
    let sata = || Device::by_name("sata").unwrap().clone();
    let rules = [
        (Broken::Flush, sata(), 512),
        (Broken::Checksum, sata(), 512),
        (Broken::Chain, sata(), 4096),
        (Broken::Epoch, sata(), 512),
        (Broken::Reuse, sata(), 512),
        (Broken::Superblock, unreadable(), 512),
        (Broken::Unit, unreadable(), 512),
    ];
    for (rule, device, unit) in rules {
        let _broken = plant(rule);
        match explore_seeds(&device, unit, 1..60) {
            Err(why) => println!("{rule:?}: {why}"),
            Ok(counts) => panic!("{rule:?} is not missed on {}: {counts:?}", device.name),
        }
    }
}

/// A disk that ignores flushes: no promise can hold there, and this test shows that the checks notice it.
#[test]
fn a_disk_that_lies_is_convicted() {
    let liar = Device::by_name("liar").unwrap();
    let why = explore_seeds(liar, 512, 1..5).unwrap_err();
    assert!(why.contains("lost") || why.contains("damaged") || why.contains("missing"), "{why}");
}
