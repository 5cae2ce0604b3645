//! Commands that change a volume in more than one write, cut between any two of them: what is left is checked by itself
//! (`fsck -p`; `-y` after a resize), and is mounted, written to and unmounted, by who finds it next. No state keeps
//! everybody out.

use ordo_disk::{Disk, DiskError, DiskFuture, DiskInfo, DiskOff, RamDisk, ReadPart, WritePart};
use ordo_fsck::{Mode, Options};
use ordo_ondisk::{Endian, Format};
use ordo_rt::Rt;
use ordo_vfs::{Caller, FileSystem, Kind, Mode as Permissions, Name};
use ordofs::path::Held;
use ordofs::{
    Acls, JournalChange, MmpChange, MountOptions, Mounted, NewLfs, NewVolume, Tuning, VolumeId, claimed, locate_on,
    make_snapshot, remove_snapshot, resize_on,
};
use std::cell::RefCell;
use std::rc::Rc;

/// Bytes of the disk, and of the volume on it.
const DISK: u64 = 24 << 20;
const VOLUME: u64 = 16 << 20;
/// States of one command that are looked at: all, if they are fewer.
const STATES: usize = 24;

/// Where each write began, and its bytes.
type Writes = Rc<RefCell<Vec<(u64, Vec<u8>)>>>;

/// A disk that keeps what is written to it.
struct Noted {
    disk: RamDisk,
    writes: Writes,
}

impl Disk for Noted {
    fn info(&self) -> DiskInfo {
        self.disk.info()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        self.disk.read(at, parts)
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        let bytes = parts.iter().flat_map(|part| part.image.iter().copied()).collect();
        self.writes.borrow_mut().push((at.0, bytes));
        self.disk.write(at, parts, fua)
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.disk.flush()
    }
}

/// A command; the volume may refuse it.
type Command = (&'static str, fn(&Rt, Rc<dyn Disk>) -> Result<(), String>);

fn tuned(rt: &Rt, disk: Rc<dyn Disk>, tuning: Tuning) -> Result<(), String> {
    tuning.apply_on(rt, disk).map(drop).map_err(|error| error.to_string())
}

/// What is done one after the other, each to what the one before has left.
const COMMANDS: &[Command] = &[
    ("mmp=on", |rt, disk| tuned(rt, disk, Tuning { mmp: Some(MmpChange::On(200)), ..Tuning::default() })),
    ("mmp=on, another interval", |rt, disk| {
        tuned(rt, disk, Tuning { mmp: Some(MmpChange::On(100)), ..Tuning::default() })
    }),
    ("label", |rt, disk| tuned(rt, disk, Tuning { label: Some("home".into()), ..Tuning::default() })),
    ("mmp=off", |rt, disk| tuned(rt, disk, Tuning { mmp: Some(MmpChange::Off), ..Tuning::default() })),
    ("id", |rt, disk| tuned(rt, disk, Tuning { id: Some(VolumeId::Is([7, 9])), ..Tuning::default() })),
    ("acls", |rt, disk| tuned(rt, disk, Tuning { acls: Some(Acls::Posix), ..Tuning::default() })),
    ("softupdates", |rt, disk| tuned(rt, disk, Tuning { softupdates: Some(true), ..Tuning::default() })),
    ("journal=on", |rt, disk| tuned(rt, disk, Tuning { journal: Some(JournalChange::On(None)), ..Tuning::default() })),
    ("journal=off", |rt, disk| tuned(rt, disk, Tuning { journal: Some(JournalChange::Off), ..Tuning::default() })),
    ("log=on", |rt, disk| tuned(rt, disk, Tuning { log: Some(JournalChange::On(None)), ..Tuning::default() })),
    ("log=off", |rt, disk| tuned(rt, disk, Tuning { log: Some(JournalChange::Off), ..Tuning::default() })),
    ("check-hashes=off", |rt, disk| tuned(rt, disk, Tuning { check_hashes: Some(false), ..Tuning::default() })),
    ("check-hashes=on", |rt, disk| tuned(rt, disk, Tuning { check_hashes: Some(true), ..Tuning::default() })),
    ("grow", |rt, disk| resize_on(rt, disk, DISK).map(drop).map_err(|error| error.to_string())),
    ("shrink", |rt, disk| resize_on(rt, disk, VOLUME - (1 << 20)).map(drop).map_err(|error| error.to_string())),
    ("snapshot", |rt, disk| make_snapshot(rt, disk, b"/.snap/one").map(drop).map_err(|error| error.to_string())),
    ("snapshot removed", |rt, disk| remove_snapshot(rt, disk, b"/.snap/one").map_err(|error| error.to_string())),
];

fn check(rt: &Rt, ram: &RamDisk, mode: Mode) -> ordo_fsck::Report {
    rt.block_on(ordo_fsck::check(rt, Rc::new(ram.clone()), Options::new(mode))).expect("a check")
}

/// Claims, mounts, writes a file, and unmounts: as any program would that comes next.
fn used(rt: &Rt, ram: &RamDisk) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let located = locate_on(rt, Rc::new(ram.clone())).map_err(|error| text(&error))?;
    rt.block_on(async {
        let notices = ordofs::Notices::default();
        let located = claimed(rt, located, "next", &notices).await.map_err(|error| text(&error))?;
        let mounted = Mounted::mount(rt, located, &MountOptions::default()).await.map_err(|error| text(&error))?;
        if let Some(why) = mounted.why_read_only() {
            return Err(format!("read-only: {why}"));
        }
        let (fs, who) = (mounted.fs(), Caller::default());
        let name = Name::new(b"next").expect("a name");
        let made = fs.mknod(&who, fs.root(), name, Kind::Regular, Permissions::new(0o644), 0).await;
        drop(Held::new(fs, made.map_err(|error| text(&error))?));
        mounted.unmount().await.map_err(|error| text(&error))
    })
}

fn cut_everywhere(what: &str, pristine: &RamDisk) {
    let rt = Rt::virtual_time(1);
    let now = pristine.snapshot();
    for (name, command) in COMMANDS {
        let (before, writes) = (now.snapshot(), Rc::new(RefCell::new(Vec::new())));
        let noted = Rc::new(Noted { disk: now.clone(), writes: writes.clone() });
        if command(&rt, noted).is_err() && writes.borrow().is_empty() {
            // Not on this kind of volume.
            continue;
        }
        let writes = writes.borrow();
        let state = before.snapshot();
        let stride = writes.len().div_ceil(STATES).max(1);
        for (done, (at, bytes)) in writes.iter().enumerate() {
            let near_an_end = done < 6 || done + 6 > writes.len();
            if near_an_end || done.is_multiple_of(stride) {
                let what = format!("{what}, {name}: cut after {done} of {} writes", writes.len());
                let left = state.snapshot();
                // Groups in two sizes are no state that a crash leaves: a resize that was cut asks for `fsck -y`.
                let mode = if ["grow", "shrink"].contains(name) { Mode::Repair } else { Mode::Preen };
                let report = check(&rt, &left, mode);
                assert!(report.exit_code() <= 1, "{what}: {:?} {:?}", report.refused, report.findings);
                used(&rt, &left).unwrap_or_else(|why| panic!("{what}: {why}"));
                let report = check(&rt, &left, Mode::Check);
                assert_eq!(report.exit_code(), 0, "{what}: {:?}", report.findings);
            }
            state.poke(*at, bytes);
        }
    }
}

#[test]
fn no_cut_of_a_command_leaves_a_ufs_volume_that_nobody_can_use() {
    for (format, endian) in
        [(Format::Ufs2, Endian::Little), (Format::Ufs2, Endian::Big), (Format::Ufs1, Endian::Little)]
    {
        let ram = RamDisk::new(DISK);
        let new = NewVolume::new(VOLUME).with(|shape| {
            (shape.format, shape.endian, shape.bsize, shape.fsize) = (format, endian, 8192, 1024);
        });
        new.create_on(&Rt::virtual_time(1), Rc::new(ram.clone()), true).unwrap();
        cut_everywhere(&format!("{format:?} {endian:?}"), &ram);
    }
}

#[test]
fn no_cut_of_a_command_leaves_a_log_structured_volume_that_nobody_can_use() {
    let ram = RamDisk::new(DISK);
    NewLfs::new(DISK).create_on(&Rt::virtual_time(1), Rc::new(ram.clone()), false).unwrap();
    cut_everywhere("LFS", &ram);
}
