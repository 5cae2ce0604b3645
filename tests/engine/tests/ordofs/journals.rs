//! The journals with many users at once, with a short log, and with cancelled calls: no call waits for ever, nothing is
//! lost, the log wraps around. In virtual time.

use crate::common;

use common::{assert_clean, fresh, located};
use ordo_simdisk::{Fault, FaultPlan, Faulty};
use ordofs::disk::{
    Disk, DiskError, DiskFuture, DiskInfo, DiskOff, DiskOp, Kind as Content, RamDisk, ReadPart, WritePart,
};
use ordofs::path::Held;
use ordofs::rt::{Rng, Rt};
use ordofs::vfs::{Caller, FileSystem, Kind, Mode, Name, RenameMode, Result};
use ordofs::{Fs, JournalChange, MountOptions, Mounted, Tuning};
use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
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

fn mount(rt: &Rt, ram: &RamDisk, case: (&str, &str), cache: usize) -> Mounted {
    mount_on(rt, ram, Rc::new(ram.clone()), case, cache)
}

fn mount_on(rt: &Rt, ram: &RamDisk, disk: Rc<dyn Disk>, (scheme, settings): (&str, &str), cache: usize) -> Mounted {
    let mut options = MountOptions { scheme: Some(scheme.into()), cache, ..MountOptions::default() };
    for (key, value) in settings.split(',').filter_map(|set| set.split_once('=')) {
        options.settings.set(key, value).expect("it is a setting of a scheme").expect("it can be set so");
    }
    rt.block_on(Mounted::mount(rt, located(ram, disk), &options)).expect("it can be mounted")
}

fn give_log(rt: &Rt, ram: &RamDisk, size: Option<u64>) {
    let log = Tuning { log: Some(JournalChange::On(size)), ..Tuning::default() };
    log.apply_on(rt, Rc::new(ram.clone())).expect("there is room for a log");
}

/// Transactions written since the mount.
fn transactions(mounted: &Mounted) -> u64 {
    let counters = mounted.cache().capabilities().counters();
    counters.iter().find(|(name, _)| *name == "log_transactions").expect("a journal counts them").1
}

/// A file of `len` bytes in the root directory.
async fn put(fs: &Rc<Fs>, name: &str, len: usize) -> Result<()> {
    let who = Caller { privileged: true, ..Caller::default() };
    let name = Name::new(name.as_bytes())?;
    let file = Held::new(fs, fs.mknod(&who, fs.root(), name, Kind::Regular, Mode::new(0o644), 0).await?);
    let bytes = vec![0x55; len];
    let mut at = 0;
    while at < len {
        at += fs.write(&who, file.node(), at as u64, &bytes[at..]).await? as usize;
    }
    Ok(())
}

/// Files that an fsync has made durable and that no user removes: either name, length, and the value of each byte.
type Kept = Rc<RefCell<Vec<([String; 2], usize, u8)>>>;

/// Makes, writes, renames and removes files in a directory of its own; every fifth time with an fsync.
async fn user(fs: Rc<Fs>, rt: Rt, number: u64, kept: Kept) -> Result<()> {
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
            if n % 3 != 1 {
                let names = [&this, &moved].map(|name| format!("{home}/{name}"));
                kept.borrow_mut().push((names, bytes.len(), n as u8));
            }
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

/// The contents of the file at this path.
async fn contents(fs: &Rc<Fs>, path: &str) -> Result<Vec<u8>> {
    let mut file = Held::root(fs).await?;
    for name in path.split('/') {
        file = file.lookup(name.as_bytes()).await?;
    }
    Ok(fs.read(file.node(), 0, file.attr().size as u32).await?.concat())
}

#[test]
fn many_users_at_once_end_and_leave_a_sound_volume() {
    for case in CASES {
        let rt = Rt::virtual_time(7);
        let ram = fresh(&rt, common::SHAPES[0], 96 << 20);
        give_log(&rt, &ram, Some(1 << 20));
        // Also with a cache that is far too small, so that bufs must be evicted while calls run.
        for (round, cache) in [64 << 20, 2 << 20].into_iter().enumerate() {
            let mounted = mount(&rt, &ram, *case, cache);
            let (ended, fs) = (Rc::new(Cell::new(0)), mounted.fs().clone());
            for number in 0..USERS {
                let (ended, fs, inner) = (ended.clone(), fs.clone(), rt.clone());
                rt.spawn(async move {
                    user(fs, inner, number + USERS * round as u64, Kept::default()).await.expect("nothing fails");
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
            let written = transactions(&mounted);
            rt.block_on(mounted.unmount()).expect("it is unmounted in order");
            rt.drop_tasks();
            assert_clean(&rt, &ram, &format!("{case:?}"));
            assert!(written > 10, "{case:?}: {written} transactions");
        }
    }
}

/// `mkdir -p` and overwritten files: no such call has to wait for the log, or fills a transaction.
#[test]
fn a_call_that_changes_no_name_does_not_force_the_log() {
    for case in CASES {
        let rt = Rt::virtual_time(3);
        let ram = fresh(&rt, common::SHAPES[0], 64 << 20);
        give_log(&rt, &ram, None);
        let mounted = mount(&rt, &ram, *case, 16 << 20);
        let fs = mounted.fs().clone();
        let forced = rt.block_on(async {
            let who = Caller { privileged: true, ..Caller::default() };
            let dir = Name::new(b"dir").unwrap();
            drop(Held::new(&fs, fs.mkdir(&who, fs.root(), dir, Mode::new(0o755)).await.unwrap()));
            put(&fs, "file", 4096).await.unwrap();
            fs.syncfs().await.unwrap();
            let file = Held::root(&fs).await.unwrap().lookup(b"file").await.unwrap();
            let before = transactions(&mounted);
            // Twice as many as fill a transaction of any journal, in less time than a transaction is open.
            for _ in 0..7000 {
                // Its times change.
                rt.sleep(Duration::from_micros(50)).await;
                fs.write(&who, file.node(), 0, b"again").await.unwrap();
                let again = fs.mkdir(&who, fs.root(), dir, Mode::new(0o755)).await;
                assert!(again.is_err(), "it is there");
            }
            transactions(&mounted) - before
        });
        assert!(forced <= 1, "{case:?}: {forced} transactions");
        drop(fs);
        rt.block_on(mounted.unmount()).expect("it is unmounted in order");
        rt.drop_tasks();
        assert_clean(&rt, &ram, &format!("{case:?}"));
    }
}

/// The same power cut many times over: what fsync made durable is there, and after fsck -p nothing is left to find.
#[test]
fn fsynced_files_survive_a_cut_among_many_users() {
    for case in CASES {
        let rt = Rt::virtual_time(9);
        let ram = fresh(&rt, common::SHAPES[2], 64 << 20);
        give_log(&rt, &ram, None);
        let mounted = mount(&rt, &ram, *case, 64 << 20);
        let fs = mounted.fs().clone();
        let kept = Kept::default();
        for number in 0..USERS {
            let (fs, inner, kept) = (fs.clone(), rt.clone(), kept.clone());
            rt.spawn(async move {
                // The cut ends it.
                let _ = user(fs, inner, number, kept).await;
            });
        }
        for _ in 0..20 {
            rt.block_on(rt.sleep(Duration::from_millis(137)));
            let (cut, kept) = (ram.snapshot(), kept.borrow().clone());
            let again = Rt::virtual_time(1);
            let report = common::check(&again, &cut, ordo_fsck::Mode::Preen);
            assert!(!report.left, "{case:?}: {report:#?}");
            assert_clean(&again, &cut, &format!("{case:?}, after the replay"));
            let mounted = common::mount(&again, &cut, "sync");
            for (names, len, byte) in kept {
                let found = again.block_on(async {
                    match contents(mounted.fs(), &names[0]).await {
                        Ok(bytes) => Ok(bytes),
                        Err(_) => contents(mounted.fs(), &names[1]).await,
                    }
                });
                assert_eq!(found.ok(), Some(vec![byte; len]), "{case:?}: {names:?}");
            }
            drop(mounted);
            again.drop_tasks();
        }
        assert!(kept.borrow().len() > 20, "{case:?}");
        drop(fs);
        rt.block_on(mounted.unmount()).expect("it is unmounted in order");
        rt.drop_tasks();
    }
}

/// A pointer to contents that were not written would show the old contents of the block.
#[test]
fn contents_that_cannot_be_written_end_the_log_before_it_has_the_pointer() {
    for case in [("block-journal", "data=ordered"), ("wafs", "logmode=group,data=ordered"), ("wafs", "allocinit=all")] {
        let rt = Rt::virtual_time(3);
        let ram = fresh(&rt, common::SHAPES[2], 32 << 20);
        give_log(&rt, &ram, None);
        let fails = Fault::error(DiskOp::Write, 1).of(&[Content::Data]).for_ever();
        let faulty = Faulty::new(Rc::new(ram.clone()), FaultPlan::new(0).with(fails));
        let mounted = mount_on(&rt, &ram, Rc::new(faulty), case, 64 << 20);
        let fs = mounted.fs().clone();
        rt.block_on(async {
            // Calls that are durable on return report the error at once, the others are reported by the sync.
            let _ = put(&fs, "victim", 20_000).await;
            let _ = put(&fs, "later", 10).await;
            assert!(fs.syncfs().await.is_err(), "{case:?}");
            // The log's own timer expires, and it must not continue either.
            rt.sleep(Duration::from_secs(10)).await;
        });
        assert!(mounted.degraded().is_some(), "{case:?}");
        drop(fs);
        assert!(rt.block_on(mounted.unmount()).is_err(), "{case:?}");
        rt.drop_tasks();

        let again = Rt::virtual_time(1);
        assert!(!common::check(&again, &ram, ordo_fsck::Mode::Preen).left, "{case:?}");
        assert_clean(&again, &ram, &format!("{case:?}"));
        let mounted = common::mount(&again, &ram, "sync");
        let fs = mounted.fs().clone();
        let size = again.block_on(async {
            match Held::root(&fs).await.expect("a root").lookup(b"victim").await {
                Ok(file) => file.attr().size,
                Err(_) => 0,
            }
        });
        assert_eq!(size, 0, "{case:?}: a file of bytes that never came");
    }
}

/// Changes that only the log has may be discarded only by the user.
#[test]
fn a_damaged_log_is_left_alone_by_whoever_was_not_asked_to_give_it_up() {
    for (case, unit) in [(("wafs", "logmode=sync"), 4096), (("block-journal", "logmode=sync"), 4096)] {
        let rt = Rt::virtual_time(3);
        let ram = fresh(&rt, common::SHAPES[0], 64 << 20);
        give_log(&rt, &ram, None);
        let superblock = located(&ram, Rc::new(ram.clone())).found.into_ufs().expect("it is UFS").superblock;
        let place = rt.block_on(ordo_recover::place_of_log(&rt, Rc::new(ram.clone()), &superblock));
        let begin = place.expect("it is well").expect("there is one").extents[0].0.0 + 8192;
        let mounted = mount(&rt, &ram, case, 64 << 20);
        let fs = mounted.fs().clone();
        rt.block_on(async {
            for n in 0..40 {
                put(&fs, &format!("f{n}"), 0).await.expect("there is room");
            }
        });
        let crashed = ram.snapshot();
        drop(fs);
        rt.block_on(mounted.unmount()).expect("it is unmounted in order");
        rt.drop_tasks();
        // After the first transactions, before the last ones.
        for at in 2..6 {
            crashed.poke(begin + at * unit, &[0xa5; 512]);
        }

        let again = Rt::virtual_time(1);
        let before = crashed.snapshot();
        let report = common::check(&again, &crashed, ordo_fsck::Mode::Preen);
        assert!(report.left && report.refused.is_some(), "{case:?}: {report:#?}");
        let same = |at: u64| {
            let (mut old, mut new) = ([0; 4096], [0; 4096]);
            before.peek(at, &mut old);
            crashed.peek(at, &mut new);
            old == new
        };
        assert!((0..64 << 20).step_by(4096).all(same), "{case:?}: fsck -p has written");
        let mounted = mount(&again, &crashed, case, 64 << 20);
        assert!(
            mounted.why_read_only().is_some_and(|why| why.contains("log")) && mounted.unread_log().is_some(),
            "{case:?}"
        );
        drop(mounted);
        again.drop_tasks();
        let report = common::check(&again, &crashed, ordo_fsck::Mode::Repair);
        assert!(!report.left, "{case:?}: {report:#?}");
        assert_clean(&again, &crashed, &format!("{case:?}, given up"));
    }
}

/// Calls that fail for lack of space leave no block in the log that is never written in place.
#[test]
fn a_volume_that_is_full_again_and_again_goes_on() {
    for case in CASES {
        let rt = Rt::virtual_time(5);
        let ram = fresh(&rt, common::SHAPES[2], 16 << 20);
        give_log(&rt, &ram, None);
        let mounted = mount(&rt, &ram, *case, 64 << 20);
        let fs = mounted.fs().clone();
        rt.block_on(async {
            for round in 0..4 {
                let mut made = 0;
                while put(&fs, &format!("f{round}-{made}"), 150_000).await.is_ok() {
                    made += 1;
                }
                assert!(made > 20, "{case:?}: {made} files in round {round}");
                for n in 0..=made {
                    // The last one may have been made before the space ran out.
                    let name = format!("f{round}-{n}");
                    let _ = fs.unlink(fs.root(), Name::new(name.as_bytes()).expect("a name")).await;
                }
                fs.syncfs().await.expect("the disk is well");
                fs.syncfs().await.expect("the disk is well");
            }
        });
        let counters = mounted.cache().capabilities().counters();
        let of = |what: &str| counters.iter().find(|(name, _)| *name == what).map_or(0, |(_, n)| *n);
        assert!(of("log_bytes_in_use") < 300_000, "{case:?}: the log fills up: {counters:?}");
        drop(fs);
        rt.block_on(mounted.unmount()).expect("it is unmounted in order");
        rt.drop_tasks();
        assert_clean(&rt, &ram, &format!("{case:?}"));
    }
}

/// As after a crash, and without an alarm about lost tickets.
#[test]
fn a_volume_that_is_dropped_in_the_middle_is_one_after_a_crash() {
    for case in CASES {
        let rt = Rt::virtual_time(5);
        let ram = fresh(&rt, common::SHAPES[0], 64 << 20);
        give_log(&rt, &ram, None);
        let mounted = mount(&rt, &ram, *case, 64 << 20);
        let fs = mounted.fs().clone();
        rt.block_on(async {
            for n in 0..20 {
                put(&fs, &format!("f{n}"), 50_000).await.expect("there is room");
            }
            fs.syncfs().await.expect("the disk is well");
            for n in 0..20 {
                let name = format!("f{n}");
                fs.unlink(fs.root(), Name::new(name.as_bytes()).expect("a name")).await.expect("it is there");
            }
        });
        drop(fs);
        drop(mounted);
        rt.drop_tasks();
        let again = Rt::virtual_time(1);
        assert!(!common::check(&again, &ram, ordo_fsck::Mode::Preen).left, "{case:?}");
        assert_clean(&again, &ram, &format!("{case:?}"));
    }
}

/// Each request takes a millisecond.
struct Slow(RamDisk, Rt);

impl Slow {
    fn late<T: Unpin + 'static>(&self, answer: DiskFuture<T>) -> DiskFuture<T> {
        let wait = self.1.sleep(Duration::from_millis(1));
        DiskFuture::later(async move {
            wait.await;
            answer.await
        })
    }
}

impl Disk for Slow {
    fn info(&self) -> DiskInfo {
        self.0.info()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<std::result::Result<Vec<ReadPart>, DiskError>> {
        self.late(self.0.read(at, parts))
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<std::result::Result<(), DiskError>> {
        self.late(self.0.write(at, parts, fua))
    }

    fn flush(&self) -> DiskFuture<std::result::Result<(), DiskError>> {
        self.late(self.0.flush())
    }
}

/// Ends when the future does, or cancels it at the `left`th time that it has to wait.
struct GivenUp<F> {
    call: Pin<Box<F>>,
    left: u32,
}

impl<F: Future> Future for GivenUp<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<F::Output>> {
        match self.call.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if self.left == 0 => Poll::Ready(None),
            Poll::Pending => {
                self.left -= 1;
                Poll::Pending
            }
        }
    }
}

/// A directory in a group of its own, a file in it that needs indirect blocks, moved out of it; an older file is
/// removed.
async fn changes(fs: &Rc<Fs>) -> Result<()> {
    let who = Caller { privileged: true, ..Caller::default() };
    let name = |name: &'static str| Name::new(name.as_bytes());
    let dir = Held::new(fs, fs.mkdir(&who, fs.root(), name("dir")?, Mode::new(0o755)).await?);
    let made = fs.mknod(&who, dir.node(), name("file")?, Kind::Regular, Mode::new(0o644), 0).await?;
    let file = Held::new(fs, made);
    fs.write(&who, file.node(), 1 << 20, &[0x66; 50_000]).await?;
    fs.rename(dir.node(), name("file")?, fs.root(), name("moved")?, RenameMode::Replace).await?;
    fs.unlink(fs.root(), name("older")?).await
}

/// A call that is cancelled after part of it was done turns the volume read-only, wherever it was waiting. Otherwise
/// the part would be in the next transaction, or the next transaction would wait for the call's end.
#[test]
fn a_call_that_is_given_up_leaves_a_volume_as_after_a_crash() {
    for case in CASES.iter().chain(&[("sync", ""), ("softupdates", ""), ("suj", "")]) {
        let (mut before, mut within) = (0, 0);
        let mut ended = [false; 12];
        for (waits, late) in (0..).flat_map(|waits| (0..12).map(move |late| (waits, late))) {
            let rt = Rt::virtual_time(9);
            let ram = fresh(&rt, common::SHAPES[0], 32 << 20);
            if case.0 == "suj" {
                let journal = Tuning { journal: Some(JournalChange::On(None)), ..Tuning::default() };
                journal.apply_on(&rt, Rc::new(ram.clone())).expect("there is room for a journal");
            } else {
                give_log(&rt, &ram, None);
            }
            let mounted = mount(&rt, &ram, *case, 64 << 20);
            let fs = mounted.fs().clone();
            for name in ["kept", "older"] {
                rt.block_on(put(&fs, name, 500_000)).expect("there is room");
            }
            rt.block_on(fs.syncfs()).expect("the disk is well");
            let mounted = match rt.block_on(mounted.unmount()) {
                Ok(()) => mount_on(&rt, &ram, Rc::new(Slow(ram.clone(), rt.clone())), *case, 64 << 20),
                Err(error) => panic!("{case:?}: {error}"),
            };
            let fs = mounted.fs().clone();
            rt.block_on(put(&fs, "other", 10)).expect("there is room");
            // Another task, which waits for a transaction when the call is cancelled.
            let other = Rc::new(RefCell::new((false, None)));
            rt.spawn({
                let (fs, other, rt) = (fs.clone(), other.clone(), rt.clone());
                async move {
                    rt.sleep(Duration::from_micros(300 * late as u64)).await;
                    let mut outcome = fs.syncfs().await;
                    for n in 1.. {
                        if outcome.is_err() || other.borrow().0 {
                            break;
                        }
                        outcome = put(&fs, &format!("other-{n}"), 10 * n).await;
                        if outcome.is_ok() {
                            outcome = fs.syncfs().await;
                        }
                    }
                    other.borrow_mut().1 = Some(outcome.is_ok());
                }
            });
            let given_up = rt.block_on(GivenUp { call: Box::pin(changes(&fs)), left: waits }).is_none();
            let read_only = mounted.degraded().is_some();
            (before, within) = (before + u32::from(given_up && !read_only), within + u32::from(given_up && read_only));
            other.borrow_mut().0 = !read_only;
            rt.block_on(rt.sleep(Duration::from_secs(60)));
            assert_eq!(
                other.borrow().1,
                Some(!read_only),
                "{case:?}, after {waits} waits, late by {late}: the other one"
            );
            assert_eq!(
                rt.block_on(put(&fs, "next", 10)).is_err(),
                read_only,
                "{case:?}, after {waits} waits, late by {late}"
            );
            drop(fs);
            assert_eq!(
                rt.block_on(mounted.unmount()).is_err(),
                read_only,
                "{case:?}, after {waits} waits, late by {late}"
            );
            rt.drop_tasks();

            let again = Rt::virtual_time(1);
            if !CASES.contains(case) {
                assert!(
                    !common::check(&again, &ram, ordo_fsck::Mode::Preen).left,
                    "{case:?}, after {waits} waits, late by {late}"
                );
            }
            let mounted = mount(&again, &ram, *case, 64 << 20);
            let fs = mounted.fs().clone();
            let kept = again.block_on(contents(&fs, "kept")).expect("it was synced");
            assert_eq!(kept, vec![0x55; 500_000], "{case:?}, after {waits} waits, late by {late}");
            drop(fs);
            again.block_on(mounted.unmount()).expect("the disk is well");
            assert_clean(&again, &ram, &format!("{case:?}, after {waits} waits, late by {late}"));
            ended[late] |= !given_up;
            if ended == [true; 12] {
                break;
            }
        }
        assert!(within > 0, "{case:?}: given up {before} times before it began and {within} times within");
    }
}

/// Mounts of less than a second each get ahead of the clock. If a mount under another scheme set the time back, a later
/// one could have that of a journal that is over, which fsck would replay.
#[test]
fn the_time_of_a_mount_never_goes_back() {
    let rt = Rt::virtual_time(6);
    let ram = fresh(&rt, common::SHAPES[0], 24 << 20);
    let journal = Tuning { journal: Some(JournalChange::On(None)), ..Tuning::default() };
    journal.apply_on(&rt, Rc::new(ram.clone())).expect("there is room for a journal");
    let time = || located(&ram, Rc::new(ram.clone())).found.into_ufs().expect("it is a UFS").superblock.fields.mtime;
    let mut before = time();
    for scheme in ["suj", "suj", "suj", "sync", "softupdates", "suj", "sync"] {
        let mounted = mount(&rt, &ram, (scheme, ""), 8 << 20);
        rt.block_on(mounted.unmount()).expect("the disk is well");
        assert!(time() > before, "{scheme}");
        before = time();
    }
    ram.poke(65536 + 209, &[0]);
    let report = common::check(&rt, &ram, ordo_fsck::Mode::Repair);
    assert!(report.clean && time() > before, "{report:?}");
}
