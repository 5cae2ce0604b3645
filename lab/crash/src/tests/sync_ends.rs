//! A sync ends though other callers never stop, under every scheme for everyday use; and what was there when it began
//! is then on the disk.

use crate::Shape;
use crate::device::Device;
use crate::disks::{Disks, Split};
use crate::mount::mount;
use crate::order::honest;
use crate::tree::Tree;
use crate::volume::fresh;
use ordo_buf::CrashLeaves;
use ordo_rt::Rt;
use ordo_schemes::Settings;
use ordo_vfs::{Caller, FileSystem};
use ordo_workload::random::Player;
use ordo_workload::script::Script;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// Bufs of every kind are dirty again before the last one is written.
const BUSY: &str = "mkdir d\n create d/a\n write d/a 0 9000\n rename d/a b\n create d/c\n mkdir d/e\n rename d/e f\n \
    write b 9000 60000\n unlink d/c\n link b d/g\n unlink b\n rename d/g h\n truncate h 3000\n unlink h\n rmdir f\n rmdir d";

/// A call each 100 microseconds. A sync takes many milliseconds.
async fn never_stop(fs: Rc<ordofs::Fs>, rt: Rt, stop: Rc<Cell<bool>>) {
    let script = Script::parse("busy", BUSY).unwrap();
    let mut player = Player::new(&*fs, Caller { privileged: true, ..Caller::default() });
    while !stop.get() {
        for op in &script.calls {
            player.apply(op).await;
            rt.sleep(Duration::from_micros(100)).await;
        }
    }
}

#[test]
fn a_sync_ends_though_others_never_stop() {
    // Schemes for study let the queue grow as far as memory allows, as their authors did; a sync waits for all of it.
    for scheme in ordo_schemes::to_use().map(|scheme| scheme.name) {
        let (device, rt) = (Device::by_name("scsi94").unwrap(), Rt::virtual_time(5));
        let honest = |name| honest(name, &Settings::default()).unwrap();
        let shape = Shape::small(device);
        let ram = fresh(&shape, Split::none(shape.size), &honest(scheme)).unwrap().snapshot();
        let mounted = mount(&rt, &ram, Disks::one(device.on(&rt, &ram, 5)), honest(scheme), false).unwrap();
        let fs = mounted.fs().clone();
        let stop = Rc::new(Cell::new(false));
        rt.spawn(never_stop(fs.clone(), rt.clone(), stop.clone()));
        let synced = rt.block_on(async {
            rt.sleep(Duration::from_secs(1)).await;
            let script = Script::parse("kept", "create kept\n write kept 0 70000").unwrap();
            let mut player = Player::new(&*fs, Caller { privileged: true, ..Caller::default() });
            for op in &script.calls {
                player.apply(op).await;
            }
            let began = rt.now();
            fs.syncfs().await.unwrap();
            assert!(rt.now() - began < Duration::from_secs(20), "{scheme}: {:?}", rt.now() - began);
            ram.snapshot()
        });
        stop.set(true);
        rt.block_on(rt.sleep(Duration::from_secs(20)));
        drop(fs);
        rt.block_on(mounted.unmount()).unwrap();
        rt.drop_tasks();

        let rt = Rt::virtual_time(6);
        if honest(scheme).declares().crash_leaves == CrashLeaves::Log {
            let replay =
                ordo_fsck::check(&rt, Rc::new(synced.clone()), ordo_fsck::Options::new(ordo_fsck::Mode::Preen));
            assert!(!rt.block_on(replay).unwrap().left, "{scheme}");
        }
        let mounted = mount(&rt, &synced, Disks::one(Rc::new(synced.clone())), honest("async"), true).unwrap();
        let tree = rt.block_on(Tree::read(&**mounted.fs())).unwrap();
        let kept = tree.entry(tree.root, b"kept").unwrap_or_else(|| panic!("{scheme}: the name is lost"));
        assert_eq!(tree.files[&kept].size, 70_000, "{scheme}");
        drop(mounted);
        rt.drop_tasks();
    }
}
