//! Snapshots on disks in memory: what is read from one while the volume changes under every scheme, what fsck says of
//! both, and what a power cut leaves.
//!
//! The oracle is a copy of the disk from the moment after a snapshot was taken: each block that was in use then must
//! read in the snapshot as it reads there.

use ordo_fsck::Mode;
use ordo_ondisk::cg::{Cg, check_maps, map};
use ordo_ondisk::superblock::newfs::NewfsParams;
use ordo_ondisk::{Cgx, Endian, Format, FragNo, Superblock};
use ordo_simdisk::{Effect, Fault, FaultPlan, Faulty};
use ordo_vfs::{Caller, FileSystem, Kind, Mode as Bits, RenameMode, SetAttr};
use ordofs::disk::{Block, Disk, DiskError, DiskFuture, DiskInfo, DiskOff, DiskOp, RamDisk, ReadPart, Tag, WritePart};
use ordofs::path::{Held, parent, resolve};
use ordofs::rt::{Rng, Rt};
use ordofs::{
    Fs, Located, LogKind, MountOptions, Mounted, NewVolume, Snapshot, SnapshotError, Tuning, kept_in_repair, locate_on,
    locate_snapshot, remove_snapshot, snapshots,
};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const MIB: u64 = 1 << 20;

fn rt() -> Rt {
    Rt::virtual_time(1)
}

fn who() -> Caller {
    Caller { privileged: true, ..Caller::default() }
}

/// Format, byte order, bytes of a block and of a fragment.
const SHAPES: [(Format, Endian, u32, u32); 5] = [
    (Format::Ufs2, Endian::Little, 32768, 4096),
    (Format::Ufs1, Endian::Big, 8192, 1024),
    (Format::Ufs2, Endian::Big, 8192, 1024),
    (Format::Ufs1, Endian::Little, 4096, 512),
    (Format::Ufs2, Endian::Little, 4096, 4096),
];

fn volume((format, endian, bsize, fsize): (Format, Endian, u32, u32), bytes: u64) -> RamDisk {
    let params = NewfsParams { endian, bsize, fsize, now: 1, ..NewfsParams::new(format, bytes) };
    let disk = RamDisk::new(bytes);
    NewVolume { params }.create_on(&rt(), Rc::new(disk.clone()), true).unwrap();
    disk
}

fn located(disk: &RamDisk) -> Located {
    locate_on(&rt(), Rc::new(disk.clone())).unwrap()
}

fn superblock(located: &Located) -> Superblock {
    located.found.clone().into_ufs().unwrap().superblock
}

fn check(disk: Rc<dyn Disk>, mode: Mode) -> (i32, String) {
    let rt = rt();
    let inner = rt.clone();
    let report = rt.block_on(async move { ordo_fsck::check(&inner, disk, ordo_fsck::Options::new(mode)).await });
    let report = report.unwrap();
    (report.exit_code().into(), format!("{report:?}"))
}

#[track_caller]
fn is_clean(disk: &RamDisk) {
    let (code, said) = check(Rc::new(disk.clone()), Mode::Check);
    assert_eq!(code, 0, "{said}");
}

fn mount(disk: &RamDisk, scheme: &str) -> (Rt, Mounted) {
    let rt = rt();
    let options = MountOptions { scheme: Some(scheme.into()), ..MountOptions::default() };
    let mounted = rt.block_on(Mounted::mount(&rt, located(disk), &options)).unwrap();
    assert_eq!(mounted.why_read_only(), None);
    (rt, mounted)
}

/// Works on the mounted volume.
fn mounted<T>(disk: &RamDisk, scheme: &str, work: impl AsyncFnOnce(&Rc<Fs>) -> T) -> T {
    let (rt, mounted) = mount(disk, scheme);
    let done = rt.block_on(work(mounted.fs()));
    rt.block_on(mounted.unmount()).unwrap();
    done
}

async fn put(fs: &Rc<Fs>, path: &str, bytes: &[u8]) -> Result<(), ordofs::Error> {
    let (dir, name) = parent(fs, path.as_bytes()).await?;
    let file = match dir.find(name.bytes()).await? {
        Some(file) => file,
        None => Held::new(fs, fs.mknod(&who(), dir.node(), name, Kind::Regular, Bits::new(0o644), 0).await?),
    };
    let written = fs.write(&who(), file.node(), 0, bytes).await?;
    if written as usize == bytes.len() { Ok(()) } else { Err(ordo_vfs::Refusal::NoSpace.into()) }
}

/// Files of all sizes, some in directories.
async fn fill(fs: &Rc<Fs>, files: u32) {
    for dir in ["/d0", "/d1", "/d2"] {
        let (root, name) = parent(fs, dir.as_bytes()).await.unwrap();
        fs.mkdir(&who(), root.node(), name, Bits::new(0o755)).await.unwrap();
    }
    for n in 0..files {
        let len = [100, 5000, 40_000, 150_000][n as usize % 4];
        let bytes: Vec<u8> = (0..len).map(|i| (i * 7 + n as usize) as u8).collect();
        put(fs, &format!("/d{}/f{n}", n % 3), &bytes).await.unwrap();
    }
}

/// Calls at random: what a call answers does not matter, but for damage.
async fn change(fs: &Rc<Fs>, seed: u64, calls: u32) {
    let mut rng = Rng::new(seed);
    for call in 0..calls {
        let mut n = |below: u64| rng.below(below);
        let path = format!("/d{}/f{}", n(3), n(40));
        let done = match n(8) {
            0..=2 => put(fs, &path, &vec![call as u8; 1 + n(90_000) as usize]).await,
            3 => remove(fs, &path).await,
            4 => truncated(fs, &path, n(200_000)).await,
            5 => renamed(fs, &path, &format!("/d{}/f{}", n(3), n(40))).await,
            6 => made(fs, &format!("/d{}/x{call}", n(3))).await,
            _ => fs.syncfs().await,
        };
        match done {
            Ok(()) | Err(ordofs::Error::Refused(_)) => {}
            Err(error) => panic!("call {call}: {error}"),
        }
    }
}

async fn remove(fs: &Rc<Fs>, path: &str) -> Result<(), ordofs::Error> {
    let (dir, name) = parent(fs, path.as_bytes()).await?;
    fs.unlink(dir.node(), name).await
}

async fn truncated(fs: &Rc<Fs>, path: &str, size: u64) -> Result<(), ordofs::Error> {
    let file = resolve(fs, path.as_bytes(), true).await?;
    fs.setattr(file.node(), &SetAttr { size: Some(size), ..SetAttr::default() }).await.map(drop)
}

async fn renamed(fs: &Rc<Fs>, from: &str, to: &str) -> Result<(), ordofs::Error> {
    let (dir, name) = parent(fs, from.as_bytes()).await?;
    let (to_dir, to_name) = parent(fs, to.as_bytes()).await?;
    fs.rename(dir.node(), name, to_dir.node(), to_name, RenameMode::Replace).await
}

async fn made(fs: &Rc<Fs>, path: &str) -> Result<(), ordofs::Error> {
    let (dir, name) = parent(fs, path.as_bytes()).await?;
    fs.mkdir(&who(), dir.node(), name, Bits::new(0o755)).await.map(drop)
}

fn snapshot(disk: &RamDisk, path: &str) -> Result<Snapshot, SnapshotError> {
    ordofs::make_snapshot(&rt(), Rc::new(disk.clone()), path.as_bytes())
}

fn inside(disk: &RamDisk, name: &str) -> Located {
    locate_snapshot(&rt(), &located(disk), name.as_bytes()).unwrap()
}

fn read(disk: &Rc<dyn Disk>, at: u64, len: u64) -> Vec<u8> {
    let part = ReadPart { block: Block::zeroed(len as usize), tag: Tag::default() };
    rt().block_on(disk.read(DiskOff(at), vec![part])).unwrap().iter().flat_map(|part| part.block.to_vec()).collect()
}

/// A snapshot as it was when it was taken.
struct Moment {
    name: String,
    disk: RamDisk,
}

impl Moment {
    fn of(disk: &RamDisk, name: &str) -> Moment {
        Moment { name: name.into(), disk: disk.snapshot() }
    }

    /// The blocks in use then, by the maps of the snapshot.
    fn blocks(&self) -> Vec<u64> {
        let then = inside(&self.disk, &self.name);
        let g = superblock(&then).geometry();
        let mut used = vec![];
        for c in (0..g.ncg).map(Cgx) {
            let bytes = read(&then.disk, g.byte(g.cgtod(c)).0, g.cgsize.into());
            let layout = check_maps(&bytes, &g, c).unwrap();
            let cg = Cg::new(&bytes, layout, g.endian).unwrap();
            for first in (0..layout.ndblk).step_by(g.frag as usize) {
                let n = g.frag.min(layout.ndblk - first);
                if !map::all(cg.free(), first, n, true) {
                    used.push(g.block_of_frag(FragNo(g.cgbase(c).0 + u64::from(first))));
                }
            }
        }
        used
    }

    /// The volume as it is now has the same snapshot.
    #[track_caller]
    fn is_in(&self, now: &RamDisk) {
        let (then, is) = (inside(&self.disk, &self.name), inside(now, &self.name));
        let g = superblock(&then).geometry();
        let volume = g.byte(FragNo(g.size)).0;
        for block in self.blocks() {
            let at = block * u64::from(g.bsize);
            let len = u64::from(g.bsize).min(volume - at);
            let same = read(&then.disk, at, len) == read(&is.disk, at, len);
            assert!(same, "block {block} of {} is not what it was", self.name);
        }
        let (code, said) = check(is.disk, Mode::Check);
        assert_eq!(code, 0, "{said}");
    }
}

#[test]
fn a_snapshot_is_the_volume_as_it_was() {
    for shape in SHAPES {
        let disk = volume(shape, 24 * MIB);
        mounted(&disk, "sync", async |fs| fill(fs, 40).await);
        let before = disk.snapshot();
        let taken = snapshot(&disk, "/.snap/one").unwrap();
        assert!(taken.shared > 0, "{taken:?}");
        is_clean(&disk);
        let moment = Moment::of(&disk, "one");
        moment.is_in(&disk);
        // The files are those of the volume before.
        let (rt, was, is) = (rt(), located(&before), inside(&disk, "/.snap/one"));
        let options = MountOptions { read_only: true, ..MountOptions::default() };
        for n in 0..40 {
            let path = format!("/d{}/f{n}", n % 3);
            let mut contents = vec![];
            for located in [&was, &is] {
                let located =
                    Located { disk: located.disk.clone(), found: located.found.clone(), log: None, claim: None };
                let mounted = rt.block_on(Mounted::mount(&rt, located, &options)).unwrap();
                contents.push(rt.block_on(async {
                    let file = resolve(mounted.fs(), path.as_bytes(), true).await.unwrap();
                    mounted.fs().read(file.node(), 0, file.attr().size as u32).await.unwrap().concat()
                }));
            }
            assert_eq!(contents[0], contents[1], "{path}");
        }
    }
}

/// Schemes, and whether they keep a log in the volume.
const SCHEMES: [(&str, bool); 8] = [
    ("sync", false),
    ("softupdates", false),
    ("async", false),
    ("flag-part", false),
    ("chains", false),
    ("wafs", true),
    ("journal-file", true),
    ("block-journal", true),
];

/// A volume with files, and with a log if the scheme wants one.
fn with_files(shape: (Format, Endian, u32, u32), bytes: u64, log: bool) -> RamDisk {
    let disk = volume(shape, bytes);
    if log {
        Tuning::for_log(LogKind::Redo).apply_on(&rt(), Rc::new(disk.clone())).unwrap();
    }
    mounted(&disk, "sync", async |fs| fill(fs, 40).await);
    disk
}

#[test]
fn the_snapshot_stays_while_the_volume_changes() {
    for shape in SHAPES {
        for (scheme, log) in SCHEMES {
            let disk = with_files(shape, 32 * MIB, log);
            snapshot(&disk, "/.snap/one").unwrap();
            let first = Moment::of(&disk, "one");
            mounted(&disk, scheme, async |fs| change(fs, 1, 120).await);
            is_clean(&disk);
            first.is_in(&disk);
            snapshot(&disk, "/.snap/two").unwrap();
            let second = Moment::of(&disk, "two");
            is_clean(&disk);
            mounted(&disk, scheme, async |fs| change(fs, 2, 120).await);
            is_clean(&disk);
            first.is_in(&disk);
            second.is_in(&disk);
        }
    }
}

fn removed(disk: &RamDisk, path: &str) -> Result<(), SnapshotError> {
    remove_snapshot(&rt(), Rc::new(disk.clone()), path.as_bytes())
}

#[test]
fn one_of_several_is_removed_and_the_others_stay() {
    for (shape, goes) in SHAPES.into_iter().flat_map(|shape| (0..3).map(move |goes| (shape, goes))) {
        let disk = with_files(shape, 32 * MIB, false);
        let free = superblock(&located(&disk)).totals();
        let mut moments = vec![];
        for (seed, name) in (1..).zip(["a", "b", "c"]) {
            snapshot(&disk, &format!("/.snap/{name}")).unwrap();
            moments.push(Moment::of(&disk, name));
            mounted(&disk, "softupdates", async |fs| change(fs, seed, 60).await);
        }
        let gone = moments.remove(goes);
        removed(&disk, &format!("/.snap/{}", gone.name)).unwrap();
        is_clean(&disk);
        assert_eq!(snapshots(&rt(), &located(&disk)).unwrap().len(), 2);
        moments.iter().for_each(|moment| moment.is_in(&disk));
        mounted(&disk, "softupdates", async |fs| change(fs, 9, 60).await);
        is_clean(&disk);
        moments.iter().for_each(|moment| moment.is_in(&disk));
        for moment in &moments {
            removed(&disk, &format!("/.snap/{}", moment.name)).unwrap();
            is_clean(&disk);
        }
        // All files gone, all space is back but for what directories have grown.
        mounted(&disk, "sync", async |fs| {
            for dir in ["/d0", "/d1", "/d2"] {
                for name in resolve(fs, dir.as_bytes(), true).await.unwrap().names().await.0 {
                    let path = format!("{dir}/{}", String::from_utf8(name).unwrap());
                    let (above, name) = parent(fs, path.as_bytes()).await.unwrap();
                    match fs.unlink(above.node(), name).await {
                        Ok(()) => {}
                        Err(_) => fs.rmdir(above.node(), name).await.unwrap(),
                    }
                }
            }
        });
        is_clean(&disk);
        assert!(superblock(&located(&disk)).totals().nbfree > free.nbfree);
    }
}

#[test]
fn without_space_calls_fail_and_the_snapshots_stay() {
    for shape in SHAPES {
        for scheme in ["sync", "softupdates", "wafs"] {
            let disk = with_files(shape, 24 * MIB, scheme == "wafs");
            snapshot(&disk, "/.snap/one").unwrap();
            let moment = Moment::of(&disk, "one");
            for round in 0..3u8 {
                let (rt, mounted) = mount(&disk, scheme);
                let refused = rt.block_on(async {
                    let mut refused = 0;
                    for n in 0..60 {
                        let path = format!("/d{}/{}{n}", n % 3, if round == 1 { "f" } else { "big" });
                        match put(mounted.fs(), &path, &vec![round; 700_000]).await {
                            Ok(()) => {}
                            Err(ordofs::Error::Refused(_)) => refused += 1,
                            Err(error) => panic!("{error}"),
                        }
                    }
                    refused
                });
                assert!(refused > 0, "{shape:?} {scheme}");
                assert_eq!(mounted.degraded(), None, "{shape:?} {scheme}");
                rt.block_on(mounted.unmount()).unwrap();
                is_clean(&disk);
                moment.is_in(&disk);
            }
            // Another one has no room: nothing is left of the attempt.
            let outcome = snapshot(&disk, "/.snap/two");
            assert!(outcome.is_err(), "{outcome:?}");
            is_clean(&disk);
            moment.is_in(&disk);
        }
    }
}

#[test]
fn a_power_cut_at_any_write_leaves_the_snapshot_as_it_was() {
    let shapes = [SHAPES[1], SHAPES[4]];
    for (shape, (scheme, log)) in shapes.into_iter().flat_map(|shape| SCHEMES.map(|scheme| (shape, scheme))) {
        let whole = with_files(shape, 24 * MIB, log);
        snapshot(&whole, "/.snap/one").unwrap();
        mounted(&whole, scheme, async |fs| change(fs, 3, 20).await);
        snapshot(&whole, "/.snap/two").unwrap();
        let moments = ["one", "two"].map(|name| Moment::of(&whole, name));
        let cuts = works(&whole, scheme);
        assert!(cuts.len() > 10, "{scheme}: {}", cuts.len());
        for (seed, ram) in (1..).zip(cuts) {
            ram.power_cut_at_random(&mut Rng::new(seed));
            // A superblock of which not all sectors were written is none.
            let Ok(found) = locate_on(&rt(), Rc::new(ram.clone())) else { continue };
            println!("{shape:?} {scheme} cut {seed}");
            for moment in &moments {
                moment.is_in(&ram);
            }
            recovered(&ram, found, scheme);
            for moment in &moments {
                moment.is_in(&ram);
            }
        }
    }
}

/// A disk that keeps how it was before some of its writes, with what a power cut could still lose.
struct Watched {
    ram: RamDisk,
    writes: Cell<u64>,
    cuts: Rc<RefCell<Vec<RamDisk>>>,
}

impl Disk for Watched {
    fn info(&self) -> DiskInfo {
        DiskInfo { immediate: false, ..self.ram.info() }
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        self.ram.read(at, parts)
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        let done = self.ram.write(at, parts, fua);
        self.writes.set(self.writes.get() + 1);
        if self.writes.get().is_multiple_of(CUT_EVERY) {
            self.cuts.borrow_mut().push(self.ram.snapshot());
        }
        done
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.ram.flush()
    }
}

/// Writes between two power cuts: no divisor of what one call writes.
const CUT_EVERY: u64 = 11;

/// Works on a volume; returns its disk at many moments.
fn works(whole: &RamDisk, scheme: &str) -> Vec<RamDisk> {
    let cuts = Rc::new(RefCell::new(vec![]));
    let ram = whole.snapshot().volatile(true);
    let disk = Rc::new(Watched { ram, writes: Cell::new(0), cuts: cuts.clone() });
    let rt = rt();
    let options = MountOptions { scheme: Some(scheme.into()), ..MountOptions::default() };
    let mounted = rt.block_on(Mounted::mount(&rt, locate_on(&rt, disk).unwrap(), &options)).unwrap();
    rt.block_on(async {
        let mut rng = Rng::new(5);
        for n in 0..12 {
            let path = format!("/d{}/f{}", rng.below(3), rng.below(40));
            let _ = put(mounted.fs(), &path, &vec![n; 1 + rng.below(60_000) as usize]).await;
            let _ = remove(mounted.fs(), &format!("/d{}/f{}", rng.below(3), rng.below(40))).await;
            mounted.fs().syncfs().await.unwrap();
        }
        mounted.unmount().await.unwrap();
    });
    cuts.take()
}

/// What an owner would do after the crash: a mount, or fsck first.
fn recovered(ram: &RamDisk, found: Located, scheme: &str) {
    let rt = rt();
    let options = MountOptions { scheme: Some(scheme.into()), ..MountOptions::default() };
    let mounted = rt.block_on(Mounted::mount(&rt, found, &options)).unwrap();
    if mounted.why_read_only().is_some() {
        drop(mounted);
        let kept = kept_in_repair(&rt, &located(ram)).unwrap();
        let (code, said) = check(kept, Mode::Repair);
        assert!(code <= 1, "{said}");
    } else {
        rt.block_on(async {
            mounted.leaks_ended().await;
            mounted.unmount().await.unwrap();
        });
    }
    is_clean(ram);
}

#[test]
fn a_power_cut_while_one_is_taken_or_removed_leaves_what_fsck_repairs() {
    for shape in [SHAPES[0], SHAPES[3]] {
        let plain = with_files(shape, 16 * MIB, false);
        snapshot(&plain, "/.snap/one").unwrap();
        mounted(&plain, "sync", async |fs| change(fs, 4, 40).await);
        let moment = Moment::of(&plain, "one");
        let both = plain.snapshot();
        snapshot(&both, "/.snap/two").unwrap();
        for (whole, removes) in [(&plain, false), (&both, true)] {
            for nth in (1..).step_by(5) {
                let ram = whole.snapshot().volatile(true);
                let plan = FaultPlan::new(nth).with(Fault::new(DiskOp::Write, nth, Effect::PowerCut));
                let cache = ram.clone();
                let faulty = Faulty::new(Rc::new(ram.clone()), plan);
                let disk = Rc::new(faulty.on_power_cut(move |rng| cache.power_cut_at_random(rng)));
                let done = match removes {
                    true => remove_snapshot(&rt(), disk, b"/.snap/two").is_ok(),
                    false => ordofs::make_snapshot(&rt(), disk, b"/.snap/two").is_ok(),
                };
                if done {
                    break;
                }
                let ram = ram.snapshot();
                let Ok(found) = locate_on(&rt(), Rc::new(ram.clone())) else { continue };
                println!("{shape:?}, removes: {removes}, write {nth}");
                let kept = kept_in_repair(&rt(), &found).unwrap();
                let (code, said) = check(kept, Mode::Repair);
                assert!(code <= 1, "{said}");
                is_clean(&ram);
                moment.is_in(&ram);
            }
        }
    }
}

#[test]
fn a_damaged_snapshot_is_emptied_by_fsck_and_the_other_stays() {
    for shape in SHAPES {
        let disk = with_files(shape, 24 * MIB, false);
        snapshot(&disk, "/.snap/one").unwrap();
        let taken = snapshot(&disk, "/.snap/two").unwrap();
        let moment = Moment::of(&disk, "one");
        // Its second direct pointer.
        let g = superblock(&located(&disk)).geometry();
        let at = ordo_ondisk::Dinode::place(&g, ordo_ondisk::Ino(taken.ino)).0;
        let pointer = if g.dinode_size == 128 { 40 + 4 } else { 112 + 8 };
        disk.poke(at + pointer, &[0xff; 4]);
        let (code, said) = check(Rc::new(disk.clone()), Mode::Check);
        assert!(code & 4 != 0 && said.contains("SnapshotDamaged"), "{said}");
        let kept = kept_in_repair(&rt(), &located(&disk)).unwrap();
        assert_eq!(check(kept, Mode::Repair).0, 1);
        is_clean(&disk);
        moment.is_in(&disk);
        assert_eq!(snapshots(&rt(), &located(&disk)).unwrap().len(), 1);
    }
}

/// The group whose copy is damaged is not the volume's.
#[test]
fn a_damaged_copy_of_a_group_does_not_keep_fsck_from_its_work() {
    for shape in [SHAPES[0], SHAPES[1]] {
        let disk = with_files(shape, 24 * MIB, false);
        snapshot(&disk, "/.snap/one").unwrap();
        let g = superblock(&located(&disk)).geometry();
        let home = g.byte(g.cgtod(ordo_ondisk::Cgx(1))).0;
        let is_copy = |at: &u64| {
            let mut head = [0; 16];
            disk.peek(*at, &mut head);
            (g.endian.get_u32(&head, 4), g.endian.get_u32(&head, 12)) == (Some(0x0009_0255), Some(1))
        };
        let copies: Vec<u64> = (0..24 * MIB).step_by(g.bsize as usize).filter(is_copy).collect();
        let copy = *copies.iter().find(|&&at| at != home).unwrap();
        // cg_freeoff.
        disk.poke(copy + 96, &[0xff; 4]);
        let (code, said) = check(Rc::new(disk.clone()), Mode::Check);
        assert!(code & 4 != 0 && said.contains("SnapshotDamaged"), "{said}");
        let kept = kept_in_repair(&rt(), &located(&disk)).unwrap();
        assert_eq!(check(kept, Mode::Repair).0, 1);
        is_clean(&disk);
        assert!(snapshots(&rt(), &located(&disk)).unwrap().is_empty());
    }
}

#[test]
fn a_snapshot_gets_no_second_name() {
    let disk = with_files(SHAPES[0], 24 * MIB, false);
    snapshot(&disk, "/.snap/one").unwrap();
    let linked = mounted(&disk, "sync", async |fs| {
        let file = resolve(fs, b"/.snap/one", true).await?;
        let (dir, name) = parent(fs, b"/second").await?;
        fs.link(file.node(), dir.node(), name).await.map(drop)
    });
    assert!(matches!(linked, Err(ordofs::Error::Refused(ordo_vfs::Refusal::NotPermitted))), "{linked:?}");
    // As another system may have left it.
    let (g, ino) = (superblock(&located(&disk)).geometry(), snapshots(&rt(), &located(&disk)).unwrap()[0].ino);
    let at = ordo_ondisk::Dinode::place(&g, ordo_ondisk::Ino(ino)).0;
    let mut bytes = vec![0; g.dinode_size as usize];
    disk.peek(at, &mut bytes);
    let mut dinode = ordo_ondisk::Dinode::decode(&bytes, &g, ordo_ondisk::Ino(ino)).unwrap();
    dinode.nlink = 2;
    dinode.encode(&mut bytes, &g).unwrap();
    disk.poke(at, &bytes);
    assert!(matches!(removed(&disk, "/.snap/one"), Err(SnapshotError::Names(2))));
    assert_eq!(snapshots(&rt(), &located(&disk)).unwrap().len(), 1);
}

/// While blocks are set aside the volume is at rest: nothing is in its log, and fsck -p may repair it.
#[test]
fn a_power_cut_while_blocks_are_set_aside_is_repaired_on_a_volume_with_a_log() {
    let whole = with_files(SHAPES[3], 16 * MIB, true);
    mounted(&whole, "wafs", async |fs| change(fs, 7, 20).await);
    snapshot(&whole, "/.snap/one").unwrap();
    // More is free now than at the last mount, and more must be set aside.
    mounted(&whole, "wafs", async |fs| change(fs, 8, 60).await);
    let moment = Moment::of(&whole, "one");
    let mut repaired = 0;
    for nth in 1..80 {
        let ram = whole.snapshot().volatile(true);
        let plan = FaultPlan::new(nth).with(Fault::new(DiskOp::Write, nth, Effect::PowerCut));
        let cache = ram.clone();
        let faulty = Faulty::new(Rc::new(ram.clone()), plan);
        let disk: Rc<dyn Disk> = Rc::new(faulty.on_power_cut(move |rng| cache.power_cut_at_random(rng)));
        let rt = rt();
        let options = MountOptions { scheme: Some("wafs".into()), ..MountOptions::default() };
        if let Ok(mounted) = rt.block_on(Mounted::mount(&rt, locate_on(&rt, disk).unwrap(), &options)) {
            let _ = rt.block_on(mounted.unmount());
        }
        let ram = ram.snapshot();
        let Ok(found) = locate_on(&rt, Rc::new(ram.clone())) else { continue };
        repaired += u32::from(superblock(&found).features().needs_fsck);
        let kept = kept_in_repair(&rt, &found).unwrap();
        let (code, said) = check(kept, Mode::Preen);
        assert!(code <= 1, "write {nth}: {said}");
        is_clean(&ram);
        moment.is_in(&ram);
    }
    assert!(repaired > 0, "no cut met the moment");
}

#[test]
fn a_snapshot_is_read_by_name_on_a_mount_that_does_not_write() {
    let disk = with_files(SHAPES[1], 16 * MIB, false);
    let taken = snapshot(&disk, "/.snap/one").unwrap();
    let rt = rt();
    let options = MountOptions { read_only: true, ..MountOptions::default() };
    let reading = rt.block_on(Mounted::mount(&rt, located(&disk), &options)).unwrap();
    let bytes = rt.block_on(async {
        let file = resolve(reading.fs(), b"/.snap/one", true).await.unwrap();
        assert_eq!(file.attr().ino, u64::from(taken.ino));
        reading.fs().read(file.node(), 0, 16 << 20).await.unwrap().concat()
    });
    let inside = inside(&disk, "one");
    assert!(bytes[..] == read(&inside.disk, 0, 16 * MIB)[..]);
    // While the volume changes, its name can neither be read through nor removed.
    mounted(&disk, "sync", async |fs| {
        let file = resolve(fs, b"/.snap/one", true).await.unwrap();
        assert!(fs.read(file.node(), 0, 4096).await.is_err());
        assert!(remove(fs, "/.snap/one").await.is_err());
    });
    is_clean(&disk);
}

#[test]
fn a_scheme_that_cannot_keep_snapshots_is_refused() {
    let disk = with_files(SHAPES[0], 32 * MIB, false);
    Tuning::for_log(LogKind::Intents).apply_on(&rt(), Rc::new(disk.clone())).unwrap();
    snapshot(&disk, "/.snap/one").unwrap();
    let rt = rt();
    let options = MountOptions { scheme: Some("suj".into()), ..MountOptions::default() };
    let outcome = rt.block_on(Mounted::mount(&rt, located(&disk), &options)).map(drop);
    let said = outcome.unwrap_err().to_string();
    assert!(said.contains("under the scheme suj"), "{said}");
    // Without a choice, another one is taken.
    let mounted = rt.block_on(Mounted::mount(&rt, located(&disk), &MountOptions::default())).unwrap();
    assert_eq!((mounted.scheme().name(), mounted.why_read_only()), ("softupdates", None));
    rt.block_on(mounted.unmount()).unwrap();
    is_clean(&disk);
}
