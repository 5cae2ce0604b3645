//! The device shrinks, disappears or turns read-only while it is mounted, and two mounts want one image.
//!
//! The loss is reported as an I/O error or as a read-only volume, whatever was in progress; nothing panics, nothing
//! hangs, the unmount ends. Of two writers of one image the second is refused, by whatever name it opens the image.

use crate::common;

use ordo_ondisk::Format;
use ordo_workload::Session;
use ordo_workload::random::{Features, Generator, Op, Outcome, Player, Shape};
use ordofs::disk::{
    Cause, Disk, DiskError, DiskFuture, DiskInfo, DiskOff, DiskOp, EngineChoice, FileDisk, FileOptions,
    OpenError as DiskOpen, ReadPart, WritePart, read_len, write_len,
};
use ordofs::rt::Rt;
use ordofs::vfs::{Caller, Error, FileSystem, Refusal};
use ordofs::{MountOptions, Mounted, NewVolume, OpenError, Volume, locate_on};
use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

/// The state of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Now {
    Well,
    Gone,
    ReadOnly,
    /// It ends here.
    Short(u64),
}

/// A device whose state changes.
#[derive(Clone)]
struct Fickle {
    disk: Rc<dyn Disk>,
    now: Rc<Cell<Now>>,
}

impl Fickle {
    fn refuse(&self, op: DiskOp, at: DiskOff, len: u64) -> Result<(), DiskError> {
        let size = self.disk.info().size;
        let cause = match self.now.get() {
            Now::Gone => Cause::Gone { size },
            Now::ReadOnly if op != DiskOp::Read => Cause::ReadOnly,
            Now::Short(end) if at.0 + len > end => Cause::OutOfRange { size: end },
            _ => return Ok(()),
        };
        Err(DiskError::new(op, at, len, cause))
    }
}

impl Disk for Fickle {
    fn info(&self) -> DiskInfo {
        self.disk.info()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        match self.refuse(DiskOp::Read, at, read_len(&parts)) {
            Ok(()) => self.disk.read(at, parts),
            Err(error) => DiskFuture::now(Err(error)),
        }
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        match self.refuse(DiskOp::Write, at, write_len(&parts)) {
            Ok(()) => self.disk.write(at, parts, fua),
            Err(error) => DiskFuture::now(Err(error)),
        }
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        match self.refuse(DiskOp::Flush, DiskOff(0), 0) {
            Ok(()) => self.disk.flush(),
            Err(error) => DiskFuture::now(Err(error)),
        }
    }
}

/// Runs a script; after `until` operations the device becomes `then`.
fn play(seed: u64, until: usize, then: Now, scheme: &str) {
    let what = format!("seed {seed}, {then:?} after {until} steps, {scheme}");
    let rt = Rt::virtual_time(seed);
    let watch = rt.clone();
    rt.spawn(async move {
        watch.sleep(Duration::from_secs(1_000_000)).await;
        panic!("a call never ended");
    });
    let shape = common::SHAPES[seed as usize % common::SHAPES.len()];
    let ram = common::fresh(&rt, shape, 24 << 20);
    let now = Rc::new(Cell::new(Now::Well));
    let disk = Rc::new(Fickle { disk: Rc::new(ram.clone()), now: now.clone() });
    let options = MountOptions { scheme: Some(scheme.into()), cache: 512 << 10, ..MountOptions::default() };
    let mounted = rt.block_on(Mounted::mount(&rt, common::located(&ram, disk), &options)).expect("it is well yet");
    let small = Shape { block: shape.2.into(), max_offset: 1 << 20, max_transfer: 1 << 15, ..Shape::default() };
    let features = Features { devices: false, trusted: false, ..Features::all() };
    let ops: Vec<Op> = Generator::new(seed, small, features).take(until + 150).collect();
    rt.block_on(async {
        let mut player = Player::new(&**mounted.fs(), Caller { privileged: true, ..Caller::default() });
        for (step, op) in ops.iter().enumerate() {
            if step == until {
                now.set(then);
            }
            if step % 20 == 19 {
                rt.sleep(Duration::from_secs(35)).await;
            }
            let answer = player.apply(op).await;
            let place = format!("{what}, step {step}, {op}: {answer:?}");
            match &answer {
                Outcome::Failed(why) => {
                    let known = ["the disk is gone", "the disk is read-only", "the disk ends at", "until fsck"];
                    assert!(step >= until && known.iter().any(|known| why.contains(known)), "{place}");
                }
                Outcome::Refused(Refusal::ReadOnly) => assert!(mounted.degraded().is_some(), "{place}"),
                _ => {}
            }
        }
        let synced = mounted.fs().syncfs().await;
        assert!(synced.is_ok() == mounted.degraded().is_none(), "{what}: {synced:?}, {:?}", mounted.degraded());
    });
    // The lost part of the device may never have been accessed.
    let noticed = mounted.degraded().is_some() || !matches!(then, Now::Short(_));
    let unmounted = rt.block_on(mounted.unmount());
    assert!(!noticed || matches!(unmounted, Err(Error::Io(_))), "{what}: {unmounted:?}");
    rt.drop_tasks();
    // The device comes back as it was before.
    let rt = Rt::virtual_time(0);
    assert!(!common::check(&rt, &ram, ordo_fsck::Mode::Repair).left, "{what}");
    common::assert_clean(&rt, &ram, &what);
}

#[test]
fn a_device_that_goes_away_is_told_and_not_waited_for() {
    for seed in 0..12 {
        for scheme in ["sync", "async"] {
            for until in [0, 7, 60, 133] {
                for then in [Now::Gone, Now::ReadOnly, Now::Short(12 << 20), Now::Short(200 << 10), Now::Short(0)] {
                    play(seed, until, then, scheme);
                }
            }
        }
    }
}

fn new_image(path: &Path) {
    NewVolume::new(8 << 20).create(path).expect("there is room for an image");
}

#[test]
fn a_file_that_is_cut_under_its_mount_is_noticed() {
    let dir = tempfile::tempdir().expect("a directory");
    for (engine, scheme) in [(EngineChoice::Auto, "sync"), (EngineChoice::Threads, "async")] {
        for left in [0, 4096, 3 << 20, (8 << 20) - 4096] {
            let what = format!("{engine:?}, {scheme}, {left} bytes are left");
            let image = dir.path().join("cut.img");
            new_image(&image);
            let rt = Rt::real_time();
            let disk = FileDisk::open(&rt, &image, &FileOptions { engine, ..FileOptions::default() });
            let located = locate_on(&rt, Rc::new(disk.expect("it is free"))).expect("it has just been made");
            let options = MountOptions { scheme: Some(scheme.into()), ..MountOptions::default() };
            let mounted = rt.block_on(Mounted::mount(&rt, located, &options)).expect("it is sound");
            rt.block_on(async {
                let session = Session::new(&**mounted.fs());
                session.write_file("kept", &[1; 5000]).await.expect("all is well");
                session.fs.syncfs().await.expect("all is well");
                let file = std::fs::OpenOptions::new().write(true).open(&image).expect("it is there");
                file.set_len(left).expect("a file can be cut");
                // What is in memory may still be read, and changed there.
                let _ = session.read_file("kept").await;
                let _ = session.write_file("late", &[2; 100_000]).await;
                let _ = session.mkdir_all("later").await;
                let synced = session.fs.syncfs().await;
                assert!(matches!(synced, Err(Error::Io(_))), "{what}: {synced:?}");
                let made = session.write_file("never", b"").await;
                assert!(matches!(made, Err(Error::Refused(Refusal::ReadOnly))), "{what}: {made:?}");
            });
            let why = mounted.degraded().unwrap_or_default();
            assert!(why.contains("the disk is gone"), "{what}: {why}");
            assert!(rt.block_on(mounted.unmount()).is_err(), "{what}");
            rt.drop_tasks();
            std::fs::remove_file(&image).expect("it is ours");
        }
    }
}

/// Mounts, if possible.
fn mount(image: &Path, read_only: bool) -> Result<Volume, OpenError> {
    let volume = Volume::open(image)?;
    if read_only { volume.read_only().mount() } else { volume.mount() }
}

#[test]
fn a_second_writer_is_refused_by_whatever_name_it_comes() {
    let dir = tempfile::tempdir().expect("a directory");
    let image = dir.path().join("disk.img");
    partitioned(&image);
    let (link, twin) = (dir.path().join("link.img"), dir.path().join("twin.img"));
    std::os::unix::fs::symlink(&image, &link).expect("a symbolic link");
    std::fs::hard_link(&image, &twin).expect("a hard link");
    let named = |path: &Path, part: &str| path.with_file_name(format!("{}{part}", path.file_name().unwrap().display()));
    for (first_read_only, second_read_only) in [(false, false), (false, true), (true, false), (true, true)] {
        let first = mount(&named(&image, "@s1"), first_read_only).expect("nobody has it");
        for path in [&image, &link, &twin] {
            // Without a partition's name as well: there are two partitions, and the image is in use before they are
            // searched.
            for part in ["@s1", "@s2", ""] {
                let what = format!("{} after one that is read-only: {first_read_only}", named(path, part).display());
                match mount(&named(path, part), second_read_only) {
                    Err(OpenError::Disk(DiskOpen::Locked { .. })) => {
                        assert!(!first_read_only || !second_read_only, "{what}: two readers exclude each other");
                    }
                    Err(OpenError::SeveralVolumes(_)) => assert!(part.is_empty() && first_read_only, "{what}"),
                    Err(error) => panic!("{what}: {error}"),
                    Ok(second) => {
                        assert!(first_read_only && second_read_only, "{what}: a second mount beside a writer");
                        second.unmount().expect("it changed nothing");
                    }
                }
            }
        }
        let made = NewVolume::new(8 << 20).create(&twin);
        assert!(matches!(made, Err(OpenError::Disk(DiskOpen::Locked { .. }))), "newfs: {made:?}");
        first.unmount().expect("the disk is well");
        mount(&named(&link, "@s2"), false).expect("nobody has it any more").unmount().expect("the disk is well");
    }
    // Even a volume that is dropped, as after a crash, closes its image.
    drop(mount(&named(&image, "@s2"), false).expect("nobody has it"));
    mount(&named(&image, "@s2"), true).expect("nobody has it any more").unmount().expect("it changed nothing");
}

/// Two volumes in two slices of one file.
fn partitioned(image: &Path) {
    let mut bytes = vec![0; 17 << 20];
    for (entry, start) in [(446, 1u32 << 20), (462, 9 << 20)] {
        let rt = Rt::virtual_time(0);
        let ram = common::fresh(&rt, (Format::Ufs2, ordo_ondisk::Endian::Little, 32768, 4096), 8 << 20);
        bytes[start as usize..][..8 << 20].copy_from_slice(&ram.to_vec());
        bytes[entry + 4] = 0xa5;
        bytes[entry + 8..entry + 12].copy_from_slice(&(start / 512).to_le_bytes());
        bytes[entry + 12..entry + 16].copy_from_slice(&(8u32 << 11).to_le_bytes());
    }
    bytes[510..512].copy_from_slice(&[0x55, 0xaa]);
    std::fs::write(image, bytes).expect("there is room for an image");
}
