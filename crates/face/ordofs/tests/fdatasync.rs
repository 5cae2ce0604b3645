//! An fsync of the contents only: what it writes, and what it may not leave behind.

mod common;

use common::{fresh, mount_on};
use ordofs::disk::{Counted, RamDisk, Requests};
use ordofs::path::{Held, resolve};
use ordofs::rt::Rt;
use ordofs::vfs::{Caller, FileSystem, Mode, SetAttr};
use ordofs::{Fs, MountOptions, Mounted};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

const SIZE: u64 = 16 << 20;
/// Schemes that keep their metadata without a log.
const SCHEMES: [&str; 9] = [
    "sync",
    "async",
    "softupdates",
    "conventional",
    "flag-full",
    "flag-part-nr-cb",
    "chains",
    "chains-barrier-cb",
    "chains-cb",
];

struct Bed {
    rt: Rt,
    ram: RamDisk,
    mounted: Mounted,
    requests: Rc<Cell<Requests>>,
}

impl Bed {
    /// A volume with a file of 64 KiB, all of it durable.
    fn new(scheme: &str) -> Bed {
        let rt = Rt::virtual_time(1);
        let ram = fresh(&rt, common::SHAPES[0], SIZE).volatile(true);
        let (counted, requests) = Counted::count(Rc::new(ram.clone()));
        let mounted = mount_on(&rt, &ram, counted, scheme);
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
        let Bed { rt, ram, mounted, .. } = self;
        ram.power_cut();
        rt.drop_tasks();
        drop(mounted);
        let options = MountOptions { scheme: Some("async".into()), read_only: true, ..MountOptions::default() };
        let mounted = rt.block_on(Mounted::mount(&rt, common::located(&ram, Rc::new(ram.clone())), &options));
        let mounted = mounted.expect("it can be read");
        let held = rt.block_on(resolve(mounted.fs(), b"file", true)).expect("it is there");
        let attr = held.attr();
        (attr.size, attr.mode.bits())
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
