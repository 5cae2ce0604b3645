//! The inode map that grows far between two checkpoints: what was synced is there after a crash, whatever its number.

use crate::{Made, SMALL, made, mount_on, wrong};
use ordo_rt::Rt;
use ordo_vfs::{Caller, FileSystem, Kind, Mode, Name};
use std::rc::Rc;

/// Makes files, removes all but the last of them before they are written, and syncs that one.
fn grow(of: Made, dirs: u32, each: u32) {
    let rt = Rt::virtual_time(1);
    let ram = made(of);
    rt.block_on(async {
        let mounted = mount_on(&rt, Rc::new(ram.clone()), 256 << 20).await;
        let (fs, who) = (&mounted.fs, Caller { privileged: true, ..Caller::default() });
        let mut last = None;
        let name = |n: u32| format!("{n}").into_bytes();
        for d in 0..dirs {
            let dir = name(d);
            let dir = fs.mkdir(&who, fs.root(), Name::new(&dir).unwrap(), Mode::new(0o755)).await.unwrap().node;
            for f in 0..each {
                let file = name(f);
                let file = Name::new(&file).unwrap();
                let made = fs.mknod(&who, dir, file, Kind::Regular, Mode::new(0o600), 0).await.unwrap();
                last = Some((dir, made.node));
                fs.forget(made.node, u64::from((d, f) != (dirs - 1, each - 1)));
            }
        }
        for d in 0..dirs {
            let dir = fs.lookup(fs.root(), Name::new(&name(d)).unwrap()).await.unwrap().node;
            for f in (0..each).filter(|f| (d, *f) != (dirs - 1, each - 1)) {
                fs.unlink(dir, Name::new(&name(f)).unwrap()).await.unwrap();
            }
        }
        let (_, node) = last.unwrap();
        fs.write(&who, node, 0, b"precious").await.unwrap();
        fs.fsync(node, false).await.unwrap();
        let crashed = ram.snapshot();
        assert_eq!(wrong(&rt, &crashed).await, [""; 0], "after a crash");
        let again = mount_on(&rt, Rc::new(crashed.clone()), 8 << 20).await;
        let dir = again.fs.lookup(again.fs.root(), Name::new(&name(dirs - 1)).unwrap()).await.unwrap().node;
        let file = again.fs.lookup(dir, Name::new(&name(each - 1)).unwrap()).await.unwrap().node;
        assert_eq!(again.fs.read(file, 0, 100).await.unwrap().concat(), b"precious");
        again.fs.unmount().await.unwrap();
        assert_eq!(wrong(&rt, &crashed).await, [""; 0], "after a roll-forward");
        fs.unmount().await.unwrap();
    });
    rt.drop_tasks();
}

#[test]
fn file_is_found_after_many_that_were_removed_before_they_were_written() {
    // Inode numbers up to 6000: a block of the map has 51.
    grow(Made { block: 1024, fragment: 512, segment: 64 << 10, size: 64 << 20, ..SMALL }, 6, 1000);
}

#[test]
fn checkpoint_comes_before_the_map_is_too_far_ahead() {
    // Inode numbers up to 140 000: a roll-forward takes 131 072 beyond the checkpoint's map.
    grow(Made { block: 1024, fragment: 512, segment: 256 << 10, size: 128 << 20, ..SMALL }, 140, 1000);
}
