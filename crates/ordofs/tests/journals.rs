//! The journals with many users at once, and with a log that is short: nobody waits for ever, nothing is lost, the log goes
//! round. In virtual time.

mod common;

use common::{assert_clean, fresh, located};
use ordofs::disk::RamDisk;
use ordofs::path::Held;
use ordofs::rt::{Rng, Rt};
use ordofs::schemes::Settings;
use ordofs::vfs::{Caller, FileSystem, Kind, Mode, Name, RenameMode, Result};
use ordofs::{Fs, JournalChange, MountOptions, Mounted, Tuning};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

const USERS: u64 = 8;
const ROUNDS: u64 = 60;

/// Each journal in each of its modes.
const CASES: &[(&str, &str)] = &[
    ("journal-file", ""),
    ("wafs", "logmode=sync"),
    ("wafs", "logmode=async"),
    ("wafs", "logmode=group"),
    ("block-journal", "data=journal"),
    ("block-journal", "data=ordered"),
    ("block-journal", "data=writeback,checkpoint=now"),
];

fn mount(rt: &Rt, ram: &RamDisk, (scheme, settings): (&str, &str), cache: usize) -> Mounted {
    let mut options = MountOptions { scheme: Some(scheme.into()), cache, ..MountOptions::default() };
    for (key, value) in settings.split(',').filter_map(|set| set.split_once('=')) {
        let Settings { .. } = options.settings;
        options.settings.set(key, value).expect("it is a setting of a scheme").expect("it can be set so");
    }
    rt.block_on(Mounted::mount(rt, located(ram, Rc::new(ram.clone())), &options)).expect("it can be mounted")
}

/// Makes, writes, renames and removes files in a directory of its own; every fifth time with an fsync.
async fn user(fs: Rc<Fs>, rt: Rt, number: u64) -> Result<()> {
    let (who, mut rng) = (Caller { privileged: true, ..Caller::default() }, Rng::new(number));
    let home = format!("u{number}");
    let dir = Held::new(&fs, fs.mkdir(&who, fs.root(), Name::new(home.as_bytes())?, Mode::new(0o755)).await?);
    let name = |n: u64| format!("file-{n}");
    for n in 0..ROUNDS {
        let (this, moved) = (name(n), format!("moved-{n}"));
        let made = fs.mknod(&who, dir.node(), Name::new(this.as_bytes())?, Kind::Regular, Mode::new(0o644), 0).await?;
        let file = Held::new(&fs, made);
        let bytes = vec![n as u8; 1 + rng.below(60_000) as usize];
        fs.write(&who, file.node(), 0, &bytes).await?;
        if n % 5 == 0 {
            fs.fsync(file.node(), false).await?;
        }
        if n % 3 == 0 {
            let to = Name::new(moved.as_bytes())?;
            fs.rename(dir.node(), Name::new(this.as_bytes())?, dir.node(), to, RenameMode::Replace).await?;
        } else if n % 3 == 1 {
            fs.unlink(dir.node(), Name::new(this.as_bytes())?).await?;
        }
        rt.sleep(Duration::from_millis(rng.below(40))).await;
    }
    Ok(())
}

#[test]
fn many_users_at_once_end_and_leave_a_sound_volume() {
    for case in CASES {
        let rt = Rt::virtual_time(7);
        let ram = fresh(&rt, common::SHAPES[0], 96 << 20);
        let log = Tuning { log: Some(JournalChange::On(Some(1 << 20))), ..Tuning::default() };
        log.apply_on(&rt, Rc::new(ram.clone())).expect("there is room for a log");
        // A cache that is far too small as well, so that bufs must leave while calls run.
        for (round, cache) in [64 << 20, 2 << 20].into_iter().enumerate() {
            let mounted = mount(&rt, &ram, *case, cache);
            let (ended, fs) = (Rc::new(Cell::new(0)), mounted.fs().clone());
            for number in 0..USERS {
                let (ended, fs, inner) = (ended.clone(), fs.clone(), rt.clone());
                rt.spawn(async move {
                    user(fs, inner, number + USERS * round as u64).await.expect("nothing fails");
                    ended.set(ended.get() + 1);
                });
            }
            rt.block_on(async {
                for _ in 0..4000 {
                    if ended.get() == USERS {
                        break;
                    }
                    rt.sleep(Duration::from_millis(500)).await;
                }
            });
            assert_eq!(ended.get(), USERS, "{case:?}: users that wait for ever");
            drop(fs);
            let counters = mounted.scheme().counters();
            rt.block_on(mounted.unmount()).expect("it is unmounted in order");
            rt.drop_tasks();
            assert_clean(&rt, &ram, &format!("{case:?}"));
            let of = |what: &str| counters.iter().find(|(name, _)| *name == what).map_or(0, |(_, n)| *n);
            assert!(of("log_transactions") > 10, "{case:?}: {counters:?}");
        }
    }
}

/// The same power cut many times over: what was made durable by fsync is there, and fsck -p leaves nothing to find.
#[test]
fn what_fsync_promised_is_there_after_a_cut_in_the_middle_of_many_users() {
    for case in CASES {
        let rt = Rt::virtual_time(9);
        let ram = fresh(&rt, common::SHAPES[2], 64 << 20);
        Tuning { log: Some(JournalChange::On(None)), ..Tuning::default() }
            .apply_on(&rt, Rc::new(ram.clone()))
            .expect("there is room for a log");
        let mounted = mount(&rt, &ram, *case, 64 << 20);
        let fs = mounted.fs().clone();
        for number in 0..USERS {
            let (fs, inner) = (fs.clone(), rt.clone());
            rt.spawn(async move {
                // The cut ends it.
                let _ = user(fs, inner, number).await;
            });
        }
        for _ in 0..20 {
            rt.block_on(rt.sleep(Duration::from_millis(137)));
            let cut = ram.snapshot();
            let again = Rt::virtual_time(1);
            let report = common::check(&again, &cut, fsck::Mode::Preen);
            assert!(!report.left, "{case:?}: {report:#?}");
            assert_clean(&again, &cut, &format!("{case:?}, after the replay"));
        }
        drop(fs);
        rt.block_on(mounted.unmount()).expect("it is unmounted in order");
        rt.drop_tasks();
    }
}
