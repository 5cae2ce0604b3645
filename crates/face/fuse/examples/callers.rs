//! Programs that call a file system: how many calls a second get through, for `benches/where.sh`.
//!
//! `callers DIR PROGRAM CLIENTS MILLISECONDS` prints the calls of all clients in a second. The clients are threads,
//! each in a directory of its own below DIR. PROGRAM is one of
//!
//! * `pairs`: create and unlink an empty file;
//! * `stat`: ask for a name that is absent, and new each time;
//! * `overwrite`: write 8 KiB over a file at a random place, and fdatasync;
//! * `read`: open, read 1 KiB and close one of 1,000 files, whose bytes are dropped from the cache;
//! * `think`: work of 200 microseconds on the CPU, then one create and unlink;
//! * `create`: create a file of 1 KiB, 64 names by turns.
use ordo_rt::{Rt, Time};
use std::fs::{File, OpenOptions, create_dir_all, metadata, remove_dir_all, remove_file, write};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const OVERWRITTEN: u64 = 16 << 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [dir, program, clients, millis] = &args[..] else { return Err("usage: callers DIR PROGRAM CLIENTS MS".into()) };
    let (clients, time) = (clients.parse::<u32>()?, Duration::from_millis(millis.parse()?));
    let places: Vec<PathBuf> = (0..clients).map(|i| Path::new(dir).join(format!("c{i}"))).collect();
    for place in &places {
        create_dir_all(place)?;
        prepare(place, program)?;
    }
    let clock = Rt::real_time();
    let start = clock.now();
    let threads: Vec<_> = places
        .iter()
        .cloned()
        .map(|place| {
            let program = program.clone();
            std::thread::spawn(move || run(&place, &program, time))
        })
        .collect();
    let mut calls = 0;
    for thread in threads {
        calls += thread.join().map_err(|_| "a client panicked")??;
    }
    let took = (clock.now() - start).as_secs_f64();
    println!("{:.0}", calls as f64 / took);
    for place in &places {
        remove_dir_all(place)?;
    }
    Ok(())
}

fn prepare(place: &Path, program: &str) -> io::Result<()> {
    match program {
        "overwrite" => {
            write(place.join("f"), vec![1; OVERWRITTEN as usize])?;
            File::open(place.join("f"))?.sync_all()
        }
        "read" => (0..1000).try_for_each(|i| write(place.join(i.to_string()), [1; 1024])),
        _ => Ok(()),
    }
}

/// Calls for so long; returns how many.
fn run(place: &Path, program: &str, time: Duration) -> io::Result<u64> {
    let clock = Rt::real_time();
    let end = Time::ZERO + time;
    let opened = OpenOptions::new().write(true).create(true).truncate(false).open(place.join("f"))?;
    let (mut calls, mut random) = (0u64, 88_172_645_463_325_252u64);
    while clock.now() < end {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        match program {
            "pairs" => pair(&place.join("p"))?,
            "stat" => drop(metadata(place.join(format!("n{calls}")))),
            "overwrite" => {
                opened.write_all_at(&[calls as u8; 8192], random % (OVERWRITTEN / 8192) * 8192)?;
                opened.sync_data()?;
            }
            "read" => {
                let file = File::open(place.join((random % 1000).to_string()))?;
                file.read_at(&mut [0; 1024], 0)?;
                rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
            }
            "think" => {
                let until = clock.now() + Duration::from_micros(200);
                while clock.now() < until {
                    std::hint::spin_loop();
                }
                pair(&place.join("p"))?;
            }
            "create" => write(place.join((calls % 64).to_string()), [1; 1024])?,
            _ => return Err(io::Error::other(format!("no program {program}"))),
        }
        calls += 1;
    }
    Ok(calls)
}

fn pair(path: &Path) -> io::Result<()> {
    drop(OpenOptions::new().write(true).create_new(true).open(path)?);
    remove_file(path)
}
