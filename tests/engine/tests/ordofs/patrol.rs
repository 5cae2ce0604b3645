//! Scrubs and adoptions of a volume with an active journal while it is mounted.

use crate::active::{Bed, FILES, small_files_are_apart};
use ordo_ondisk::{Endian, Format, Ino};
use ordofs::disk::{Disk, DiskError, DiskFuture, DiskInfo, DiskOff, RamDisk, ReadPart, WritePart};
use ordofs::path::resolve;
use ordofs::rt::Rt;
use ordofs::vfs::FileSystem;
use ordofs::{Adopted, MountOptions, Mounted, NewVolume, Notice, Notices, active_at_rest, copies_of, locate_on};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const WEEK: u64 = 7 * 24 * 3600;

/// A mount with a schedule, and what it tells from now on.
fn mount(bed: &Bed, weeks: &str) -> (Mounted, Arc<Mutex<Vec<Notice>>>) {
    mount_on(bed, bed.disk(), weeks)
}

fn mount_on(bed: &Bed, disk: Rc<dyn Disk>, weeks: &str) -> (Mounted, Arc<Mutex<Vec<Notice>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let to = heard.clone();
    let notices = Notices::to(move |notice| to.lock().unwrap().push(notice.clone()));
    let mut options = MountOptions { scheme: Some("active".into()), notices, ..MountOptions::default() };
    options.settings.set("data", "journal").unwrap().unwrap();
    options.settings.set("scrub", weeks).unwrap().unwrap();
    let located = locate_on(&bed.rt, disk).unwrap();
    (bed.rt.block_on(Mounted::mount(&bed.rt, located, &options)).unwrap(), heard)
}

fn sleep(bed: &Bed, seconds: u64) {
    bed.rt.block_on(bed.rt.sleep(Duration::from_secs(seconds)));
}

/// The pass at rest, and the fragments that it has read.
fn at_rest(bed: &Bed) -> (ordofs::Pass, u64) {
    let state = active_at_rest(&bed.rt, &locate_on(&bed.rt, bed.disk()).unwrap()).unwrap().unwrap().0;
    (state.pass, state.passed)
}

#[test]
fn all_is_read_once_in_the_weeks_and_what_is_nowhere_right_is_told() {
    let bed = Bed::new();
    let mounted = bed.mount("active", "journal");
    bed.write(&mounted, 1, true);
    let inos = bed.rt.block_on(async {
        let mut inos = Vec::new();
        for file in 0..FILES {
            inos.push(resolve(mounted.fs(), format!("f{file}").as_bytes(), true).await.unwrap().attr().ino);
        }
        inos
    });
    bed.unmount(mounted);
    assert_eq!(at_rest(&bed), Default::default(), "no schedule");
    let (mounted, told) = mount(&bed, "1");
    sleep(&bed, 1);
    let began = mounted.active().unwrap().pass.began;
    sleep(&bed, WEEK / 2);
    let half = mounted.active().unwrap();
    assert!(half.pass.ended == 0 && half.passed > half.mapped / 3 && half.passed < half.mapped * 3 / 4, "{half:?}");
    bed.unmount(mounted);
    assert_eq!((at_rest(&bed).0.began, at_rest(&bed).1), (began, half.passed));
    let located = locate_on(&bed.rt, bed.disk()).unwrap();
    let of = |ino: &u64| copies_of(&bed.rt, &located, Ino((*ino).try_into().unwrap())).unwrap()[0].at.clone();
    let places = inos.iter().map(of).find(|at| at.len() > 1).expect("the journal has the newest files");
    let rot = |at: &u64| {
        let mut byte = [0];
        bed.ram.peek(at + 100, &mut byte);
        bed.ram.poke(at + 100, &[byte[0] ^ 0x55]);
    };
    rot(&places[0]);
    let (mounted, heals) = mount(&bed, "1");
    sleep(&bed, 2 * WEEK);
    let whole = mounted.active().unwrap();
    assert!(whole.pass.ended > began && whole.healed == 1, "{whole:?}");
    assert_eq!((told.lock().unwrap().len(), heals.lock().unwrap().len()), (0, 0));
    bed.unmount(mounted);
    bed.is_right();
    let (mounted, told) = mount(&bed, "1");
    places.iter().for_each(rot);
    sleep(&bed, 2 * WEEK);
    let told = told.lock().unwrap().clone();
    // Once in a pass.
    assert!(
        (1..=3).contains(&told.len()) && told.iter().all(|one| *one == Notice::NowhereRight(places[0])),
        "{told:?}"
    );
    places.iter().for_each(rot);
    bed.unmount(mounted);
    bed.is_right();
}

#[test]
fn a_busy_disk_is_left_alone_and_a_power_cut_costs_a_part_of_the_pass() {
    let bed = Bed::new();
    let (mounted, _) = mount(&bed, "1");
    bed.write(&mounted, 1, true);
    sleep(&bed, WEEK / 2);
    bed.unmount(mounted);
    let passed = at_rest(&bed).1;
    assert!(passed > 0);
    // Far behind its time, and something is written every second.
    sleep(&bed, 2 * WEEK);
    let (mounted, _) = mount(&bed, "1");
    for word in 2..40 {
        bed.write(&mounted, word, true);
        sleep(&bed, 1);
        assert_eq!(mounted.active().unwrap().pass.ended, 0, "second {word}");
    }
    sleep(&bed, 60);
    assert!(mounted.active().unwrap().pass.ended > 0);
    sleep(&bed, WEEK / 2);
    bed.write(&mounted, 77, true);
    bed.cut(mounted);
    let (mounted, told) = mount(&bed, "1");
    bed.check(&mounted, 77);
    sleep(&bed, 2 * WEEK);
    assert!(mounted.active().unwrap().pass.ended > 0);
    assert!(!told.lock().unwrap().iter().any(|notice| matches!(notice, Notice::NowhereRight(_))));
    bed.unmount(mounted);
    bed.is_right();
}

/// All of the volume, part by part, with something written between.
fn adopt(bed: &Bed, mounted: &Mounted, mut between: impl FnMut(u64)) -> Adopted {
    let adopter = mounted.adopter();
    let (mut all, mut next, mut part) = (Adopted::default(), Some(0), 0);
    while let Some(from) = next {
        let (some, then) = bed.rt.block_on(adopter(from)).unwrap().unwrap();
        all += some;
        next = then;
        between(part);
        part += 1;
    }
    all
}

#[test]
fn a_mounted_volume_is_adopted_beside_its_calls() {
    for (format, endian) in [
        (Format::Ufs2, Endian::Little),
        (Format::Ufs2, Endian::Big),
        (Format::Ufs1, Endian::Little),
        (Format::Ufs1, Endian::Big),
    ] {
        let bed = Bed::of(NewVolume::new(64 << 20).with(|shape| (shape.format, shape.endian) = (format, endian)));
        for (round, cut) in [(1, false), (2, true), (3, false), (4, true)] {
            let mounted = bed.mount("active", "ordered");
            bed.write(&mounted, round * 100, true);
            let done = adopt(&bed, &mounted, |part| bed.write(&mounted, round * 100 + part as u32, part % 2 == 0));
            assert!(done.new > 0 && done.left == 0, "{done:?}");
            bed.write(&mounted, round * 100 + 99, true);
            if cut {
                bed.cut(mounted);
            } else {
                bed.unmount(mounted);
            }
            let mounted = bed.mount("active", "ordered");
            bed.check(&mounted, round * 100 + 99);
            bed.unmount(mounted);
            bed.is_right();
        }
        let mounted = bed.mount("active", "ordered");
        adopt(&bed, &mounted, |_| ());
        assert_eq!(adopt(&bed, &mounted, |_| ()).new, 0, "all is known");
        bed.unmount(mounted);
        bed.is_right();
        let mounted = bed.mount("softupdates", "");
        assert!(bed.rt.block_on(mounted.adopter()(0)).is_none());
        bed.unmount(mounted);
    }
}

#[test]
fn small_files_of_a_mounted_volume_are_adopted_one_by_one() {
    small_files_are_apart(|bed| {
        let mounted = bed.mount("active", "ordered");
        adopt(bed, &mounted, |_| ());
        bed.unmount(mounted);
    });
}

/// A disk whose reads take 10 ms, and how many there were.
struct Slow {
    ram: RamDisk,
    rt: Rt,
    is_slow: Rc<Cell<bool>>,
    requests: Rc<Cell<u64>>,
}

impl Disk for Slow {
    fn info(&self) -> DiskInfo {
        DiskInfo { immediate: false, depth: 8, ..self.ram.info() }
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        self.requests.set(self.requests.get() + 1);
        let (rt, ram, is_slow) = (self.rt.clone(), self.ram.clone(), self.is_slow.get());
        DiskFuture::later(async move {
            if is_slow {
                rt.sleep(Duration::from_millis(10)).await;
            }
            ram.read(at, parts).await
        })
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        self.requests.set(self.requests.get() + 1);
        self.ram.write(at, parts, fua)
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.ram.flush()
    }
}

#[test]
fn a_part_ends_when_somebody_else_asks_and_an_unmount_is_the_end_of_all() {
    let bed = Bed::new();
    let (is_slow, requests) = (Rc::<Cell<bool>>::default(), Rc::<Cell<u64>>::default());
    let (ram, rt) = (bed.ram.clone(), bed.rt.clone());
    let disk = Slow { ram, rt, is_slow: is_slow.clone(), requests: requests.clone() };
    let (mounted, _) = mount_on(&bed, Rc::new(disk), "1");
    bed.write(&mounted, 1, true);
    sleep(&bed, 20);
    is_slow.set(true);
    let wait = |millis| bed.rt.block_on(bed.rt.sleep(Duration::from_millis(millis)));
    let until_a_part_runs = || {
        // It is far behind, if nothing is read for a whole week.
        let before = requests.get();
        for _ in 0..WEEK {
            wait(1000);
            if requests.get() > before + 8 {
                return;
            }
        }
        panic!("nothing is read");
    };
    // What the map knows of now, and not for the first time: a part of it is due every hour or so.
    let scrubber = mounted.scrubber();
    until_a_part_runs();
    bed.rt.block_on(async { mounted.fs().syncfs().await.unwrap() });
    bed.write(&mounted, 2, false);
    bed.rt.block_on(async { mounted.fs().syncfs().await.unwrap() });
    // A piece has at most 16 entries, each with a home and a copy.
    wait(330);
    let after = requests.get();
    wait(400);
    assert_eq!(requests.get(), after, "somebody else asked");
    until_a_part_runs();
    let part = scrubber(0);
    let running = Rc::new(Cell::new(true));
    let ends = running.clone();
    bed.rt.spawn(async move {
        let _ = part.await;
        ends.set(false);
    });
    wait(500);
    assert!(running.get());
    bed.rt.block_on(mounted.unmount()).unwrap();
    let at_the_end = requests.get();
    sleep(&bed, 3 * WEEK);
    assert_eq!(requests.get(), at_the_end, "after the unmount");
    assert!(bed.rt.block_on(scrubber(0)).is_none());
    bed.rt.drop_tasks();
    bed.is_right();
}

#[test]
fn the_end_of_a_scrub_that_somebody_else_began_is_not_that_of_a_whole_one() {
    let bed = Bed::new();
    let mounted = bed.mount("active", "journal");
    bed.write(&mounted, 1, true);
    let scrubber = mounted.scrubber();
    assert_eq!(bed.rt.block_on(scrubber(u64::MAX)).unwrap().unwrap().1, None);
    assert_eq!(mounted.active().unwrap().pass.ended, 0);
    let mut next = Some(0);
    while let Some(from) = next {
        next = bed.rt.block_on(scrubber(from)).unwrap().unwrap().1;
    }
    assert!(mounted.active().unwrap().pass.ended > 0);
    bed.unmount(mounted);
}

/// Overwrites the pass in each root on the disk, with right checksums.
fn damage_roots(bed: &Bed, pass: [u64; 3]) {
    let bytes = bed.ram.to_vec();
    let roots = (0..bytes.len()).step_by(512).filter(|at| bytes[*at + 8..].starts_with(b"ORDOAJMP"));
    let mut count = 0;
    for at in roots {
        let mut root = bytes[at..at + 512].to_vec();
        for (field, n) in pass.into_iter().zip(0..) {
            root[76 + n * 8..84 + n * 8].copy_from_slice(&field.to_le_bytes());
        }
        let sum = crc32c::crc32c(&root[4..]);
        root[..4].copy_from_slice(&sum.to_le_bytes());
        bed.ram.poke(at as u64, &root);
        count += 1;
    }
    assert!(count > 0);
}

#[test]
fn a_root_may_say_anything_of_its_pass_and_one_of_before_says_nothing() {
    let bed = Bed::new();
    let (mounted, _) = mount(&bed, "1");
    bed.write(&mounted, 1, true);
    bed.unmount(mounted);
    // The first is what a root of before has.
    for pass in [[0; 3], [9_999, 1, u64::MAX], [1 << 63, u64::MAX, 1], [u64::MAX, u64::MAX >> 1, 0], [u64::MAX; 3]] {
        damage_roots(&bed, pass);
        at_rest(&bed);
        let (mounted, told) = mount(&bed, "1");
        mounted.active().unwrap();
        sleep(&bed, 2 * WEEK);
        let found = mounted.active().unwrap();
        let now = bed.rt.wall().0 as u64;
        assert!((1..=now).contains(&found.pass.ended) && now - found.pass.ended < 2 * WEEK, "{pass:?}: {found:?}");
        assert!(told.lock().unwrap().is_empty(), "{told:?}");
        bed.check(&mounted, 1);
        bed.unmount(mounted);
    }
    bed.is_right();
}

#[test]
fn who_wants_a_schedule_that_cannot_be_is_told() {
    let bed = Bed::new();
    bed.unmount(bed.mount("active", "journal"));
    for (scheme, read_only) in [("active", true), ("softupdates", false)] {
        let mut options = MountOptions { scheme: Some(scheme.into()), read_only, ..MountOptions::default() };
        options.settings.set("scrub", "4").unwrap().unwrap();
        let (mounted, told) = bed.mount_with(options);
        assert!(told.iter().any(|notice| matches!(notice, Notice::NotScrubbed(_))), "{scheme}: {told:?}");
        bed.unmount(mounted);
    }
}
