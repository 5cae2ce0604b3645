//! Every 32-bit word of the metadata at the head of a volume, replaced by values that break arithmetic: the superblock,
//! the summary, the first group's header and maps, inodes 2 to 9, the first chunks of the root directory, an indirect
//! block, extended attributes. A program that meets such an image may refuse it, and nothing else may happen: no panic,
//! no deadlock, no endless work, no memory without bound.
//!
//! Each image is read as a whole, changed by force, checked, repaired and checked again. No repair may remove a file
//! that could be read before, except the one that contains the damage.
#![allow(clippy::disallowed_methods, reason = "a watchdog looks at the real clock, to end a hang")]

#[path = "../common/mod.rs"]
mod common;
mod images;

use common::budget::Budget;
use common::tree::{Tree, look};
use images::{Base, Part, VARIANTS};
use ordo_fsck::Mode;
use ordo_workload::Session;
use ordofs::disk::RamDisk;
use ordofs::rt::Rt;
use ordofs::vfs::{FileSystem, Name, RenameMode, SetAttr, XattrMode};
use ordofs::{MountOptions, Mounted};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Mutex;
use std::time::{Duration, Instant};

const VALUES: [u32; 5] = [0, 1, i32::MAX as u32, 1 << 31, u32::MAX];
/// Requests that one program may make of the disk for one image, far more than an undamaged one takes.
const REQUESTS: u64 = 20_000;
/// MiB by which the process may grow: the cache of a mount has 8, and there is one in each thread.
const MEMORY: u64 = 64;
const THREADS: usize = 2;

/// Changes whatever can be changed. The volume is damaged, and errors are expected.
async fn change<F: FileSystem>(fs: &F) {
    let s = Session::new(fs);
    let _ = s.write_file("new", &[3; 20_000]).await;
    let _ = s.mkdir_all("made/below").await;
    let _ = s.write_file("made/below/x", &[4; 700]).await;
    let name = |name: &'static [u8]| Name::new(name).expect("a name");
    let Ok(root) = s.root().await else { return };
    let root = root.node();
    let _ = fs.unlink(root, name(b"tagged")).await;
    let _ = fs.rename(root, name(b"new"), root, name(b"small"), RenameMode::Replace).await;
    let _ = fs.rename(root, name(b"d"), root, name(b"h"), RenameMode::Exchange).await;
    for (path, size) in [("indirect", 5000), ("sparse", 60_000)] {
        if let Ok(file) = s.resolve(path).await {
            let _ = s.write_at(&file, 50_000, &[8; 9000]).await;
            let _ = fs.setattr(file.node(), &SetAttr { size: Some(size), ..SetAttr::default() }).await;
            let _ = fs.setxattr(&s.who, file.node(), b"user.b", b"value", XattrMode::Set).await;
        }
    }
    let _ = fs.syncfs().await;
    let _ = s.remove_tree("e").await;
    let _ = fs.statfs().await;
}

/// Mounts the image if possible; read-only without a scheme.
fn mount(rt: &Rt, ram: &RamDisk, scheme: Option<&str>) -> Option<Mounted> {
    let disk = Rc::new(Budget::new(Rc::new(ram.clone()), REQUESTS));
    let located = ordofs::locate_on(rt, disk).ok()?;
    let options = MountOptions {
        read_only: scheme.is_none(),
        force: true,
        cache: 8 << 20,
        scheme: scheme.map(Into::into),
        ..MountOptions::default()
    };
    rt.block_on(Mounted::mount(rt, located, &options)).ok()
}

fn read(rt: &Rt, ram: &RamDisk) -> Option<Tree> {
    let mounted = mount(rt, ram, None)?;
    rt.block_on(look(&**mounted.fs())).ok()
}

/// `None`: there is no superblock to begin with.
fn check(rt: &Rt, ram: &RamDisk, mode: Mode) -> Option<ordo_fsck::Report> {
    let disk = Rc::new(Budget::new(Rc::new(ram.clone()), REQUESTS));
    match rt.block_on(ordo_fsck::check(rt, disk, ordo_fsck::Options::new(mode))) {
        Ok(report) => Some(report),
        Err(ordo_fsck::Error::NoSuperblock { .. } | ordo_fsck::Error::TooShort { .. }) => None,
        Err(error) => panic!("fsck failed: {error}"),
    }
}

/// Repairs the image; `false` if that is refused.
fn repair(rt: &Rt, ram: &RamDisk) -> bool {
    let Some(report) = check(rt, ram, Mode::Repair) else { return false };
    if report.refused.is_some() {
        return false;
    }
    assert!(!report.left, "not everything was repaired: {report:#?}");
    let again = check(rt, ram, Mode::Check).expect("a repaired volume has a superblock");
    assert!(again.findings.is_empty() && again.clean, "after a repair: {again:#?}");
    true
}

/// The result for one image.
struct Fate {
    read: bool,
    changed: bool,
    found: bool,
    repaired: bool,
}

/// Runs all tests on an image.
fn try_image(base: &Base, ram: &RamDisk, part: Part, scheme: &str) -> Fate {
    let rt = Rt::virtual_time(1);
    // The clock of virtual time advances as long as there is a syncer: a deadlock does not stop it.
    let watch = rt.clone();
    rt.spawn(async move {
        watch.sleep(Duration::from_secs(100_000)).await;
        panic!("a call never ended");
    });
    let before = read(&rt, ram);
    let forced = ram.snapshot();
    let mounted = mount(&rt, &forced, Some(scheme));
    let changed = mounted.is_some();
    if let Some(mounted) = mounted {
        rt.block_on(change(&**mounted.fs()));
        let _ = rt.block_on(mounted.unmount());
    }
    repair(&rt, &forced);
    // A check that wrote something would fail.
    let judged = check(&rt, &ram.snapshot().with(|info| info.read_only = true), Mode::Check);
    let repaired = repair(&rt, ram);
    if repaired {
        let after = read(&rt, ram).expect("a repaired volume can be mounted");
        if let Some(before) = &before {
            compare(before, &after, part, "could be read before the repair");
        }
        compare(&base.tree, &after, part, "was there before the damage");
    }
    rt.drop_tasks();
    Fate { read: before.is_some(), changed, found: judged.is_some_and(|report| !report.findings.is_empty()), repaired }
}

/// No file is lost except the one whose inode is damaged.
fn compare(before: &Tree, after: &Tree, part: Part, what: &str) {
    let kept: BTreeSet<_> = after.readable().map(|(_, ino, hashes)| (ino, hashes)).collect();
    for (path, ino, hashes) in before.readable().filter(|file| part.file() != Some(file.1)) {
        assert!(kept.contains(&(ino, hashes)), "{}, inode {ino}, {what}", String::from_utf8_lossy(path));
        // Damage in a directory may cost names: the files are then in lost+found.
        let may_move = part == Part::Root || part.file().is_some();
        let named = after.readable().any(|file| file == (path, ino, hashes));
        assert!(named || may_move, "{} has lost its name", String::from_utf8_lossy(path));
    }
}

#[derive(Default)]
struct Tally {
    images: u64,
    read: u64,
    changed: u64,
    found: u64,
    repaired: u64,
    failures: Vec<String>,
}

/// Tries those images of a variant whose number has the remainder `turn`.
fn campaign(turn: usize, now: &Mutex<(String, Instant)>, tally: &Mutex<Tally>) {
    let mut number = 0;
    for variant in &VARIANTS {
        let base = variant.base();
        for target in &base.targets {
            for (word, value) in (0..target.len / 4).flat_map(|word| VALUES.map(|value| (word, value))) {
                number += 1;
                if number % THREADS != turn {
                    continue;
                }
                let name = format!("{}, {:?}, byte {}, value {value:#x}", variant.name, target.part, word * 4);
                *now.lock().expect("nobody panics with it") = (name.clone(), Instant::now());
                let ram = base.ram.snapshot();
                variant.damage(&ram, target, word, value);
                let scheme = if number % 3 == 0 { "sync" } else { "async" };
                let outcome = catch_unwind(AssertUnwindSafe(|| try_image(&base, &ram, target.part, scheme)));
                let mut tally = tally.lock().expect("nobody panics with it");
                tally.images += 1;
                match outcome {
                    Ok(fate) => {
                        tally.read += u64::from(fate.read);
                        tally.changed += u64::from(fate.changed);
                        tally.found += u64::from(fate.found);
                        tally.repaired += u64::from(fate.repaired);
                    }
                    Err(_) => tally.failures.push(name),
                }
            }
        }
    }
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux tells it");
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().expect("a number") << 10
}

#[test]
fn no_word_of_the_metadata_makes_anything_panic_hang_or_lose_a_file() {
    let before = resident();
    let tally = Mutex::new(Tally::default());
    std::thread::scope(|scope| {
        let watches: Vec<_> = (0..THREADS).map(|_| Mutex::new((String::new(), Instant::now()))).collect();
        let watches: &'static [Mutex<(String, Instant)>] = watches.leak();
        let tally = &tally;
        let workers: Vec<_> =
            (0..THREADS).map(|turn| scope.spawn(move || campaign(turn, &watches[turn], tally))).collect();
        while !workers.iter().all(|worker| worker.is_finished()) {
            std::thread::sleep(Duration::from_millis(100));
            for watch in watches {
                let (name, since) = &*watch.lock().expect("nobody panics with it");
                if since.elapsed() > Duration::from_secs(60) && !name.is_empty() {
                    eprintln!("hangs: {name}");
                    std::process::exit(1);
                }
            }
        }
    });
    let Tally { images, read, changed, found, repaired, failures } = tally.into_inner().expect("nobody panics with it");
    let grown = (resident() - before) >> 20;
    println!("{images} images: {read} read, {changed} changed, {found} found bad, {repaired} repaired, {grown} MiB");
    let first = &failures[..failures.len().min(40)];
    assert!(failures.is_empty(), "{} of {images} images failed: {first:#?}", failures.len());
    // The campaign is meaningful only if most images pass the first check.
    assert!(
        images > 25_000 && read > images / 2 && changed > images / 2 && found > images / 4 && repaired > images / 2
    );
    assert!(grown < MEMORY);
}
