//! An fsync of the contents only: what it writes, and what it may not leave behind.

use crate::common;

use common::fresh;
use ordo_buf::{LogKind, Role};
use ordo_workload::random::{Outcome, Player};
use ordofs::disk::{Counted, RamDisk, Requests};
use ordofs::path::{Held, resolve};
use ordofs::rt::Rt;
use ordofs::schemes::{DataMode, Settings};
use ordofs::vfs::{Caller, FileSystem, Mode, SetAttr};
use ordofs::{Fs, MountOptions, Mounted, Tuning};
use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

const SIZE: u64 = 16 << 20;
/// Schemes that keep their metadata without a log, and those with a log of transactions.
const SCHEMES: [&str; 12] = [
    "sync",
    "async",
    "softupdates",
    "conventional",
    "flag-full",
    "flag-part-nr-cb",
    "chains",
    "chains-barrier-cb",
    "chains-cb",
    "journal-file",
    "wafs",
    "block-journal",
];

/// The kind of log that the volume of this scheme must have.
fn log_of(scheme: &str) -> Option<LogKind> {
    ordofs::schemes::by_name(scheme).and_then(|known| known.wants_log())
}

struct Bed {
    rt: Rt,
    ram: RamDisk,
    mounted: Mounted,
    requests: Rc<Cell<Requests>>,
}

impl Bed {
    /// A volume with a file of 64 KiB, all of it durable.
    fn new(scheme: &str) -> Bed {
        Bed::with(scheme, DataMode::default())
    }

    /// The same, with the contents of files treated so.
    fn with(scheme: &str, data: DataMode) -> Bed {
        let rt = Rt::virtual_time(1);
        let ram = fresh(&rt, common::SHAPES[0], SIZE);
        if let Some(kind) = log_of(scheme) {
            Tuning::for_log(kind).apply_on(&rt, Rc::new(ram.clone())).expect("there is room for a log");
        }
        let ram = ram.volatile(true);
        let (counted, requests) = Counted::count(Rc::new(ram.clone()));
        let settings = Settings { data: Some(data), ..Settings::default() };
        let options = MountOptions { scheme: Some(scheme.into()), settings, ..MountOptions::default() };
        let mounted = rt.block_on(Mounted::mount(&rt, common::located(&ram, counted), &options));
        let mounted = mounted.expect("the volume can be mounted");
        let bed = Bed { rt, ram, mounted, requests };
        bed.rt.block_on(async {
            let file = ordo_workload::Session::new(&**bed.mounted.fs()).write_file("file", &[1; 64 << 10]).await;
            file.expect("the disk is well");
            bed.mounted.fs().syncfs().await.expect("the disk is well");
            bed.rt.sleep(Duration::from_secs(40)).await;
        });
        bed
    }

    fn file(&self) -> Held<Fs> {
        self.rt.block_on(resolve(self.mounted.fs(), b"file", true)).expect("it is there")
    }

    fn write(&self, at: u64, len: usize) {
        let (fs, file) = (self.mounted.fs(), self.file());
        self.rt.block_on(async { fs.write(&who(), file.node(), at, &vec![7; len]).await }).expect("it fits");
    }

    fn fdatasync(&self) -> (u64, u64) {
        let (fs, file, before) = (self.mounted.fs(), self.file(), self.requests.get());
        self.rt.block_on(fs.fsync(file.node(), true)).expect("the disk is well");
        let after = self.requests.get();
        (after.writes - before.writes, after.flushes - before.flushes)
    }

    /// The power is cut; what a mount under `async` shows of the file: its size and its mode.
    fn after_a_cut(self) -> (u64, u16) {
        let (rt, mounted) = self.cut();
        let held = rt.block_on(resolve(mounted.fs(), b"file", true)).expect("it is there");
        let attr = held.attr();
        (attr.size, attr.mode.bits())
    }

    /// The power is cut; a mount under `async`.
    fn cut(self) -> (Rt, Mounted) {
        let Bed { rt, ram, mounted, .. } = self;
        ram.power_cut();
        rt.drop_tasks();
        drop(mounted);
        let options = MountOptions { scheme: Some("async".into()), read_only: true, ..MountOptions::default() };
        let mounted = rt.block_on(Mounted::mount(&rt, common::located(&ram, Rc::new(ram.clone())), &options));
        let mounted = mounted.expect("it can be read");
        (rt, mounted)
    }
}

fn who() -> Caller {
    Caller { privileged: true, ..Caller::default() }
}

#[test]
fn an_overwrite_costs_one_write_and_one_flush() {
    for scheme in SCHEMES {
        let bed = Bed::new(scheme);
        for round in 0..5 {
            bed.rt.block_on(bed.rt.sleep(Duration::from_millis(40)));
            bed.write(8192 * round, 8192);
            // Nothing is known of the inode before the first.
            let cost = bed.fdatasync();
            assert!(round == 0 || cost == (1, 1), "{scheme}, round {round}: {cost:?}");
        }
    }
}

#[test]
fn a_new_size_and_a_new_mode_are_durable_after_it() {
    for scheme in SCHEMES {
        let bed = Bed::new(scheme);
        bed.write(0, 8192);
        bed.fdatasync();
        // The size is sent by others first; then only times change.
        bed.write(64 << 10, 100);
        let (fs, file) = (bed.mounted.fs(), bed.file());
        let set = SetAttr { mode: Some(Mode::new(0o640)), ..SetAttr::default() };
        bed.rt.block_on(fs.setattr(file.node(), &set)).expect("it is ours");
        drop(file);
        bed.write(0, 8192);
        bed.fdatasync();
        assert_eq!(bed.after_a_cut(), ((64 << 10) + 100, 0o640), "{scheme}");
    }
}

/// A journal may write the inode's block as it was in the last transaction: that such an image has landed does not make
/// a newer mode durable.
#[test]
fn an_image_of_an_older_transaction_is_no_proof() {
    for scheme in SCHEMES.into_iter().filter(|scheme| log_of(scheme).is_some()) {
        let bed = Bed::new(scheme);
        bed.write(0, 8192);
        bed.fdatasync();
        let (fs, file) = (bed.mounted.fs(), bed.file());
        bed.rt.block_on(fs.fsync(file.node(), false)).expect("the disk is well");
        let set = SetAttr { mode: Some(Mode::new(0o640)), ..SetAttr::default() };
        bed.rt.block_on(fs.setattr(file.node(), &set)).expect("it is ours");
        drop(file);
        let cache = bed.mounted.cache();
        let inodes: Vec<_> = cache.unsettled().into_iter().filter(|buf| buf.kind() == Role::Inodes).collect();
        cache.write_soon(&inodes);
        bed.rt.block_on(cache.queue().flush()).expect("the disk is well");
        assert!(inodes.iter().any(|buf| buf.is_dirty()), "{scheme}: the image had all of it");
        bed.fdatasync();
        assert_eq!(bed.after_a_cut(), (64 << 10, 0o640), "{scheme}");
    }
}

/// The name of a directory above is durable with the contents, although the file's inode has nothing new but times.
#[test]
fn a_new_name_above_is_durable_after_it() {
    for scheme in SCHEMES.into_iter().filter(|scheme| log_of(scheme).is_some()) {
        let bed = Bed::new(scheme);
        let fs = bed.mounted.fs();
        let mut player = Player::new(&**fs, who());
        for line in [
            "mkdir /old",
            "rename /file /old/file replace",
            "fsync /old/file data",
            "sync",
            "write /old/file 0 8192 7",
            "rename /old /new replace",
            "fsync /new/file data",
        ] {
            let done = bed.rt.block_on(player.apply(&line.parse().expect("it is an operation")));
            assert!(!matches!(done, Outcome::Refused(_) | Outcome::Failed(_)), "{scheme}: {line}: {done:?}");
        }
        drop(player);
        let (rt, mounted) = bed.cut();
        rt.block_on(resolve(mounted.fs(), b"new/file", true)).unwrap_or_else(|_| panic!("{scheme}: the name is lost"));
    }
}

/// A file grows and is made durable; then only its contents change, and its inode and its indirect block are not at
/// home yet. What comes after a change of more than contents must be durable again.
#[test]
fn what_one_fsync_has_made_durable_the_next_need_not() {
    for scheme in SCHEMES {
        let bed = Bed::new(scheme);
        bed.write(0, 2 << 20);
        bed.fdatasync();
        bed.write(8192, 8192);
        assert_eq!(bed.fdatasync(), (1, 1), "{scheme}");
        let (fs, file) = (bed.mounted.fs(), bed.file());
        let set = SetAttr { mode: Some(Mode::new(0o640)), ..SetAttr::default() };
        bed.rt.block_on(fs.setattr(file.node(), &set)).expect("it is ours");
        drop(file);
        bed.fdatasync();
        bed.write(2 << 20, 5);
        bed.fdatasync();
        bed.write(0, 8192);
        assert_eq!(bed.fdatasync(), (1, 1), "{scheme}");
        assert_eq!(bed.after_a_cut(), ((2 << 20) + 5, 0o640), "{scheme}");
    }
}

/// A file grows while an fsync of it is under way.
#[test]
fn a_change_while_an_fsync_runs_is_not_called_durable() {
    for scheme in SCHEMES {
        let bed = Bed::new(scheme);
        bed.write(0, 8192);
        bed.fdatasync();
        bed.write(64 << 10, 100);
        let (fs, file) = (bed.mounted.fs().clone(), bed.file());
        let (node, rt) = (file.node(), bed.rt.clone());
        let (sync, grow) = (fs.clone(), fs.clone());
        rt.block_on(async {
            let first: Pin<Box<dyn Future<Output = ()>>> =
                Box::pin(async move { sync.fsync(node, true).await.expect("the disk is well") });
            let then: Pin<Box<dyn Future<Output = ()>>> = Box::pin(async move {
                grow.write(&who(), node, (64 << 10) + 100, &[7; 100]).await.expect("it fits");
            });
            ordofs::rt::together([first, then].into_iter()).await;
        });
        drop(file);
        bed.write(0, 8192);
        bed.fdatasync();
        assert_eq!(bed.after_a_cut().0, (64 << 10) + 200, "{scheme}");
    }
}

/// With `data=journal` the log is the place of the contents.
#[test]
fn contents_that_belong_into_the_log_are_forced() {
    let bed = Bed::with("block-journal", DataMode::Journal);
    for byte in [8, 9] {
        let (fs, file) = (bed.mounted.fs(), bed.file());
        bed.rt.block_on(fs.write(&who(), file.node(), 0, &[byte; 8192])).expect("it fits");
        bed.fdatasync();
        bed.rt.block_on(async { if byte == 8 { fs.syncfs().await } else { Ok(()) } }).expect("the disk is well");
    }
    let (rt, mounted) = bed.cut();
    let held = rt.block_on(resolve(mounted.fs(), b"file", true)).expect("it is there");
    let read = rt.block_on(mounted.fs().read(held.node(), 0, 8192)).expect("it can be read");
    assert!(read.iter().flat_map(|part| part.iter()).all(|byte| *byte == 9));
}

/// What a power cut leaves of the size after an fdatasync that began after an ftruncate had returned. If `racing`,
/// another one began while that waited for the block of the inode.
fn size_after(scheme: &str, racing: bool) -> u64 {
    let rt = Rt::virtual_time(1);
    let ram = fresh(&rt, common::SHAPES[0], 16 << 20).volatile(true);
    let slow = Rc::new(common::slow::Slow { rt: rt.clone(), ram: ram.clone(), takes: Duration::from_millis(1) });
    let mounted = common::mount_on(&rt, &ram, slow, scheme);
    let fs = mounted.fs().clone();
    rt.block_on(async {
        let file = ordo_workload::Session::new(&*fs).write_file("file", &[1; 60_000]).await;
        file.expect("the disk is well");
        fs.syncfs().await.expect("the disk is well");
        rt.sleep(Duration::from_secs(40)).await;
    });
    let file = rt.block_on(resolve(&fs, b"file", true)).expect("it is there");
    let node = file.node();
    // The block of the inode is on its way to the disk, as the syncer sends it.
    let set = SetAttr { mode: Some(Mode::new(0o640)), ..SetAttr::default() };
    rt.block_on(fs.setattr(node, &set)).expect("it is ours");
    let cache = mounted.cache();
    let inodes: Vec<_> = cache.unsettled().into_iter().filter(|buf| buf.kind() == Role::Inodes).collect();
    cache.write_soon(&inodes);
    type Call = Pin<Box<dyn Future<Output = ()>>>;
    let (grow, sync) = (fs.clone(), fs.clone());
    let grow: Call = Box::pin(async move {
        let set = SetAttr { size: Some(61_000), ..SetAttr::default() };
        grow.setattr(node, &set).await.expect("it is ours");
    });
    let sync: Call = Box::pin(async move {
        if racing {
            sync.fsync(node, true).await.expect("the disk is well");
        }
    });
    rt.block_on(async { ordofs::rt::together([grow, sync].into_iter()).await });
    // The ftruncate has returned; this fdatasync begins after it, and succeeds.
    rt.block_on(fs.fsync(node, true)).expect("the disk is well");
    drop(file);
    drop(fs);
    ram.power_cut();
    rt.drop_tasks();
    drop(mounted);
    let options = MountOptions { scheme: Some("async".into()), read_only: true, ..MountOptions::default() };
    let located = common::located(&ram, Rc::new(RamDisk::clone(&ram)));
    let mounted = rt.block_on(Mounted::mount(&rt, located, &options)).expect("it can be read");
    rt.block_on(resolve(mounted.fs(), b"file", true)).expect("it is there").attr().size
}

#[test]
fn a_size_that_waits_for_the_block_of_the_inode_is_durable_after_the_next_one() {
    for scheme in SCHEMES.into_iter().filter(|scheme| log_of(scheme).is_none()) {
        for racing in [false, true] {
            assert_eq!(size_after(scheme, racing), 61_000, "{scheme}, racing: {racing}");
        }
    }
}
