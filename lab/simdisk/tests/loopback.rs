//! The client in one process with its server, in virtual time: what a flush covers is durable, whatever was lost.

use ordo_disk::{Block, Disk, DiskOff, Kind, RamDisk, ReadPart, WritePart};
use ordo_rt::{Rng, Rt, together};
use ordo_simdisk::{NbdFlaw, NbdLoopback, NbdLosses};
use std::rc::Rc;
use std::time::Duration;

/// Tasks, each with sectors of its own.
const TASKS: u64 = 6;
const SECTORS: u64 = 16;

fn part(value: u64) -> Vec<WritePart> {
    let bytes: Vec<u8> = value.to_le_bytes().repeat(64);
    vec![WritePart { image: Block::copy_of(&bytes).image(), tag: Kind::Data.into() }]
}

fn value(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Writes, reads and flushes; after each flush the power is cut, and what it covers must be there.
async fn works(rt: Rt, disk: Rc<dyn Disk>, ram: RamDisk, task: u64, mut rng: Rng) -> Result<(), String> {
    let mut newest = [0; SECTORS as usize];
    for step in 1..=60u64 {
        let sector = rng.below(SECTORS);
        let at = DiskOff((task * SECTORS + sector) * 512);
        match rng.below(6) {
            0 | 1 => {
                let read = ReadPart { block: Block::zeroed(512), tag: Kind::Data.into() };
                let read = disk.read(at, vec![read]).await.map_err(|error| error.to_string())?;
                let (found, should) = (value(&read[0].block), newest[sector as usize]);
                if found != should {
                    return Err(format!("task {task}, step {step}: sector {sector} reads {found}, should be {should}"));
                }
            }
            2 => {
                let covered = newest;
                disk.flush().await.map_err(|error| error.to_string())?;
                let after = ram.snapshot();
                after.power_cut();
                for (sector, should) in (0..).zip(covered) {
                    let mut bytes = [0; 512];
                    after.peek((task * SECTORS + sector) * 512, &mut bytes);
                    let found = value(&bytes);
                    if found < should {
                        return Err(format!("task {task}, step {step}: {sector} is {found} after a flush of {should}"));
                    }
                }
            }
            what => {
                let forced = what == 3;
                disk.write(at, part(step), forced).await.map_err(|error| error.to_string())?;
                newest[sector as usize] = step;
            }
        }
        rt.sleep(Duration::from_micros(rng.below(300))).await;
    }
    Ok(())
}

fn run(seed: u64, flaw: Option<NbdFlaw>) -> (Result<(), String>, NbdLosses) {
    let rt = Rt::virtual_time(seed);
    let ram = RamDisk::new(TASKS * SECTORS * 512).volatile(true);
    let options =
        NbdLoopback { seed, kept: 16 << 10, connections: 1 + seed as usize % 3, server_caches: seed % 4 != 3, flaw };
    let (disk, losses) = options.over(&rt, Rc::new(ram.clone()));
    let tasks = (0..TASKS).map(|task| works(rt.clone(), disk.clone(), ram.clone(), task, Rng::new(seed ^ task << 32)));
    let done = rt.block_on(together(tasks)).into_iter().collect();
    rt.drop_tasks();
    (done, losses.get())
}

#[test]
fn what_a_flush_covers_is_durable_and_the_newest_bytes_are_read() {
    let mut all = NbdLosses::default();
    for seed in 0..300 {
        let (done, lost) = run(seed, None);
        assert_eq!(done, Ok(()), "seed {seed}: {lost:?}");
        all = all + lost;
    }
    assert!(all.in_flushes > 1000 && all.servers > 500 && all.again > 3000, "{all:?}");
}

#[test]
fn a_wrong_client_loses_something() {
    for flaw in [NbdFlaw::BelievesFlush, NbdFlaw::ForgetsAnswered] {
        let failed = (0..40).filter(|seed| run(*seed, Some(flaw)).0.is_err()).count();
        assert!(failed > 20, "{flaw:?}: only {failed} of 40");
    }
}

#[test]
fn the_same_seed_loses_the_same() {
    assert_eq!(run(7, None), run(7, None));
}
