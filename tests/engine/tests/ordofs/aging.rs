//! An expired change is durable, however busy or quiet the callers are, under every scheme. The power of a volume is
//! cut: all changes older than the limit (`commit=`), plus a small margin, must be there.

use crate::common;

use common::slow::Slow;
use common::tree::{Tree, look};
use common::{SHAPES, fresh, located};
use ordo_workload::random::{Op, Outcome, Player};
use ordofs::disk::RamDisk;
use ordofs::rt::Rt;
use ordofs::schemes::Known;
use ordofs::vfs::{Caller, FileSystem, Kind, Mode, Name};
use ordofs::{COMMIT, JournalChange, LogKind, MountOptions, Mounted, Tuning};
use std::rc::Rc;
use std::time::Duration;

const WHO: Caller = Caller { uid: 0, gid: 0, umask: 0o022, privileged: true };
/// How long names are made.
const TIME: Duration = Duration::from_secs(60);
/// The time from the expiry of a change until it is durable on a volume that is never quiet: the bufs it depends on are
/// in use by other calls, and are written without those calls' changes.
const BUSY: Duration = Duration::from_secs(4);
/// The same on a quiet volume: a log is written one sweep before the bufs that it covers.
const QUIET: Duration = Duration::from_secs(2);

/// The state before: files with their names and contents, all durable.
const BEFORE: &str =
    "mkdir old 755; create old/grows 644; write old/grows 0 5000 1; create old/name 644; create old/goes 644;
    write old/goes 0 100000 2; create old/both 644; link old/both old/other; mkdir old/dir 755; create old/dir/in 644;
    create old/short 644; write old/short 0 300000 3; create old/was 644; write old/was 0 9000 4;
    create old/over 644; write old/over 0 20000 8";
/// The changes that must become durable: each kind of change of names, sizes, contents and attributes. The last one
/// waits under all schemes: contents that are overwritten in place, which no name and no log writes along.
const CALLS: &str =
    "mkdir d 755; mkdir d/e 755; create d/e/f 644; write d/e/f 0 70000 5; create d/e/g 600; symlink d/l ../x;
    write old/grows 5000 300000 6; rename old/name d/e/moved replace; unlink old/goes; unlink old/other;
    rename old/dir d/dir replace; truncate old/short 1000; create d/new 644; write d/new 0 9000 7;
    rename d/new old/was replace; chmod old/both 600; mkdir d/e/h 755; rmdir d/e/h;
    write old/over 100 1000 9";

/// Prepares a volume for being mounted with `scheme`.
fn prepared(rt: &Rt, ram: &RamDisk, scheme: &Known) {
    let on = Some(JournalChange::On(None));
    let tuning = match scheme.wants_log() {
        None => return,
        Some(LogKind::Intents) => Tuning { journal: on, ..Tuning::default() },
        Some(LogKind::Redo) => Tuning { log: on, ..Tuning::default() },
        Some(LogKind::Active) => Tuning { active: on, ..Tuning::default() },
    };
    tuning.apply_on(rt, Rc::new(ram.clone())).expect("there is room for a log");
}

/// Mounts with `commit=` these seconds, if given, on a disk whose writes take `takes`.
fn mount(rt: &Rt, ram: &RamDisk, scheme: &Known, commit: Option<u64>, takes: Duration) -> Mounted {
    let disk = Rc::new(Slow { rt: rt.clone(), ram: ram.clone(), takes });
    let mut options = MountOptions { scheme: Some(scheme.name.into()), ..MountOptions::default() };
    options.settings.commit = commit.map(Duration::from_secs);
    rt.block_on(Mounted::mount(rt, located(ram, disk), &options)).expect("the volume can be mounted")
}

/// What a power cut would leave now, as seen by the next mount.
fn cut<T>(ram: &RamDisk, scheme: &Known, look: impl AsyncFn(&ordofs::Fs) -> T) -> T {
    let (rt, cut) = (Rt::virtual_time(2), ram.snapshot());
    cut.power_cut();
    let again = mount(&rt, &cut, scheme, None, Duration::from_millis(1));
    let seen = rt.block_on(look(again.fs()));
    rt.block_on(again.unmount()).expect("the disk is well");
    seen
}

async fn play(fs: &ordofs::Fs, calls: &str) {
    let mut player = Player::new(fs, WHO);
    for line in calls.split(';') {
        let op: Op = line.trim().parse().expect("it is an operation");
        let outcome = player.apply(&op).await;
        assert!(!matches!(outcome, Outcome::Refused(_) | Outcome::Failed(_) | Outcome::Skipped), "{op}: {outcome:?}");
    }
}

/// Everything except the schemes' own logs and the delayed effects of a removal: the space, and link counts.
async fn seen(fs: &ordofs::Fs) -> Tree {
    let mut tree = look(fs).await.expect("it can be read");
    tree.space = Default::default();
    tree.leaves.retain(|path, _| !path.starts_with(b"/."));
    tree.leaves.values_mut().for_each(|leaf| leaf.attr.nlink = 0);
    tree
}

/// Makes the changes, and nothing else. If `early` is given, not all of them are durable at that time after the
/// changes; when they have expired, all are.
fn quiet(scheme: &Known, commit: Option<u64>, early: Option<Duration>) {
    for millis in [200, 950] {
        let rt = Rt::virtual_time(1);
        let ram = fresh(&rt, SHAPES[1], 64 << 20).volatile(true);
        prepared(&rt, &ram, scheme);
        let mounted = mount(&rt, &ram, scheme, commit, Duration::from_millis(2));
        let fs = mounted.fs().clone();
        rt.block_on(async {
            play(&fs, BEFORE).await;
            fs.syncfs().await.expect("the disk is well");
            // Determines where between two sweeps the calls come.
            rt.sleep(Duration::from_millis(millis)).await;
        });
        rt.block_on(play(&fs, CALLS));
        let (called, wanted) = (rt.now(), rt.block_on(seen(&fs)));
        if let Some(early) = early {
            rt.block_on(rt.sleep_until(called + early));
            assert!(cut(&ram, scheme, seen) != wanted, "{}: all is durable after {early:?}", scheme.name);
        }
        let age = commit.map_or(COMMIT, Duration::from_secs);
        rt.block_on(rt.sleep_until(called + age + QUIET));
        let left = cut(&ram, scheme, seen);
        for (path, leaf) in &wanted.leaves {
            let (path, name) = (String::from_utf8_lossy(path), scheme.name);
            assert_eq!(left.leaves.get(path.as_bytes()), Some(leaf), "{name}, commit {commit:?}, {millis} ms: {path}");
        }
        assert_eq!(left, wanted, "{}, commit {commit:?}, {millis} ms", scheme.name);
        // The effects of a removal are changes of their own: of link counts, and then of bitmaps.
        rt.block_on(rt.sleep_until(called + 3 * (age + QUIET)));
        assert!(mounted.cache().is_settled(), "{}: something is dirty", scheme.name);
        rt.block_on(mounted.unmount()).expect("the disk is well");
        rt.drop_tasks();
    }
}

#[test]
fn changes_are_durable_five_seconds_later_under_every_scheme() {
    ordo_schemes::ALL.iter().for_each(|scheme| quiet(scheme, None, None));
}

#[test]
fn commit_says_how_old_a_change_may_become_under_every_scheme() {
    for scheme in ordo_schemes::ALL {
        quiet(scheme, Some(1), None);
        // The last change waits under all of them, and no call syncs it.
        quiet(scheme, Some(60), Some(Duration::from_secs(50)));
    }
}

/// Makes a name, removes the one a hundred names before it, and waits for `pause`, again and again. A write of the disk
/// takes as long, so that a write is always in flight while a name is made. One name in fifty stays. Returns how many
/// names are old enough that a crash must leave them, and panics if one of them is missing.
fn left_after_a_cut(scheme: &Known, commit: Option<u64>, pause: Duration) -> usize {
    let rt = Rt::virtual_time(1);
    let ram = fresh(&rt, SHAPES[0], 512 << 20).volatile(true);
    prepared(&rt, &ram, scheme);
    let mounted = mount(&rt, &ram, scheme, commit, pause);
    let fs = mounted.fs().clone();
    let end = rt.now() + TIME;
    let made = rt.block_on(async {
        let mut made = Vec::new();
        while rt.now() < end {
            let at = made.len();
            let (root, name) = (fs.root(), format!("{at:06}"));
            let name = Name::new(name.as_bytes()).expect("a name");
            let entry = fs.mknod(&WHO, root, name, Kind::Regular, Mode::new(0o644), 0).await.expect("room");
            fs.forget(entry.node, 1);
            made.push(rt.now());
            if let Some(old) = at.checked_sub(100).filter(|old| old % 50 != 0) {
                let old = format!("{old:06}");
                fs.unlink(root, Name::new(old.as_bytes()).expect("a name")).await.expect("it was made");
            }
            rt.sleep(pause).await;
        }
        made
    });
    let late = commit.map_or(COMMIT, Duration::from_secs) + BUSY;
    let due = made.iter().take_while(|made| **made + late <= rt.now()).count();
    let missing = cut(&ram, scheme, async |fs: &ordofs::Fs| {
        for at in (0..due).step_by(50) {
            let name = format!("{at:06}");
            if fs.lookup(fs.root(), Name::new(name.as_bytes()).expect("a name")).await.is_err() {
                return Some(at);
            }
        }
        None
    });
    rt.block_on(mounted.unmount()).expect("the disk is well");
    rt.drop_tasks();
    let name = scheme.name;
    assert_eq!(missing, None, "{name}, {commit:?}, {pause:?}: of {due} names that are older than {late:?}");
    due
}

#[test]
fn names_that_are_old_enough_survive_a_cut_though_others_are_made_without_a_pause() {
    for scheme in ordo_schemes::to_use() {
        for millis in [4, 40] {
            for commit in [None, Some(1)] {
                let due = left_after_a_cut(scheme, commit, Duration::from_millis(millis));
                assert!(due > 100, "{}: {due} names are old enough", scheme.name);
            }
        }
    }
}
