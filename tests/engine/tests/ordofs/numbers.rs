//! Files by number and generation, as the handles of an NFS server find them: across a remount, after a removal, and
//! with numbers that anybody may have made up.

use crate::common;

use common::{SHAPES, assert_clean, fresh, mount};
use ordofs::disk::RamDisk;
use ordofs::path::Held;
use ordofs::rt::Rt;
use ordofs::vfs::{Attr, Caller, Entry, Error, FileSystem, Kind, Mode, Name, Refusal, Result, SetAttr};
use ordofs::{Fs, MountOptions, Mounted, NewLfs, locate_on};
use std::rc::Rc;

const ROOT: Caller = Caller { uid: 0, gid: 0, umask: 0, privileged: true };

fn name(bytes: &[u8]) -> Name<'_> {
    Name::new(bytes).unwrap()
}

async fn make(fs: &Rc<Fs>, called: &[u8]) -> Attr {
    let made = fs.mknod(&ROOT, fs.root(), name(called), Kind::Regular, Mode::new(0o644), 0).await.unwrap();
    Held::new(fs, made);
    made.attr
}

/// What the number leads to; the lookup is given back.
async fn by_number(fs: &Rc<Fs>, ino: u64, generation: u32) -> Result<Attr> {
    let found: Entry = fs.by_number(ino, generation).await?;
    fs.forget(found.node, 1);
    Ok(found.attr)
}

fn is_stale(found: Result<Attr>) -> bool {
    matches!(found, Err(Error::Refused(Refusal::Stale)))
}

/// Goes through the life of two handles.
fn live(rt: &Rt, mount: impl Fn() -> Mounted) {
    let mounted = mount();
    let (kept, gone) = rt.block_on(async {
        let fs = mounted.fs();
        let root = fs.getattr(fs.root()).await.unwrap();
        assert_eq!(by_number(fs, root.ino, root.generation).await.unwrap(), root);
        (make(fs, b"kept").await, make(fs, b"gone").await)
    });
    rt.block_on(mounted.unmount()).unwrap();

    let mounted = mount();
    rt.block_on(async {
        let fs = mounted.fs();
        for attr in [kept, gone] {
            assert_eq!(by_number(fs, attr.ino, attr.generation).await.unwrap().ino, attr.ino, "after a remount");
            assert!(is_stale(by_number(fs, attr.ino, attr.generation.wrapping_add(1)).await));
        }
        // Removed while somebody has it: no new user, and its old one goes on.
        let held = Held::new(fs, fs.by_number(gone.ino, gone.generation).await.unwrap());
        fs.unlink(fs.root(), name(b"gone")).await.unwrap();
        assert!(is_stale(by_number(fs, gone.ino, gone.generation).await));
        assert!(fs.read(held.node(), 0, 10).await.is_ok());
        drop(held);
        fs.syncfs().await.unwrap();
        assert!(is_stale(by_number(fs, gone.ino, gone.generation).await));
        // The number is used again, until the same one comes back.
        let mut again = false;
        for i in 0..64 {
            let attr = make(fs, format!("new{i}").as_bytes()).await;
            again |= attr.ino == gone.ino;
            assert_eq!(attr.nlink, 1, "{attr:?}");
            assert!(is_stale(by_number(fs, gone.ino, gone.generation).await), "the number of {attr:?}");
        }
        assert!(again, "the number was never used again");
    });
    rt.block_on(mounted.unmount()).unwrap();

    // Numbers that were never given out, from memory that knows none of them.
    let mounted = mount();
    rt.block_on(async {
        let (fs, all) = (mounted.fs(), mounted.space().inodes);
        // What was made after the handle was stale is whole.
        for i in 0..64 {
            drop(Held::new(fs, fs.lookup(fs.root(), name(format!("new{i}").as_bytes())).await.unwrap()));
        }
        let numbers = (0..all + 70).chain([u64::from(u32::MAX), 1 << 32, u64::MAX]);
        let mut found = 0;
        for ino in numbers {
            for generation in [0, 1, kept.generation] {
                match by_number(fs, ino, generation).await {
                    Ok(attr) => found += u64::from(attr.ino == ino),
                    Err(Error::Refused(Refusal::Stale)) => {}
                    Err(error) => panic!("inode {ino}: {error}"),
                }
            }
        }
        assert!(found > 0, "not even the file that is there");
    });
    rt.block_on(mounted.unmount()).unwrap();
}

#[test]
fn a_handle_finds_its_file_and_no_other_on_every_shape_of_volume() {
    for &shape in SHAPES {
        let rt = Rt::virtual_time(7);
        let ram = fresh(&rt, shape, 24 << 20);
        live(&rt, || mount(&rt, &ram, "softupdates"));
        assert_clean(&rt, &ram, &format!("{shape:?}"));
    }
}

#[test]
fn a_handle_finds_its_file_and_no_other_in_a_log() {
    let rt = Rt::virtual_time(7);
    let ram = RamDisk::new(24 << 20);
    NewLfs::new(24 << 20).create_on(&rt, Rc::new(ram.clone()), false).unwrap();
    live(&rt, || {
        let located = locate_on(&rt, Rc::new(ram.clone())).unwrap();
        rt.block_on(Mounted::mount(&rt, located, &MountOptions::default())).unwrap()
    });
}

/// Two change a file that both have looked at, and depend on what they saw: NFS's guarded SETATTR.
fn guarded(rt: &Rt, mounted: Mounted) {
    let (won, lost) = (Rc::new(std::cell::Cell::new(0)), Rc::new(std::cell::Cell::new(0)));
    let (seen, node) = rt.block_on(async {
        let fs = mounted.fs();
        let made = fs.mknod(&ROOT, fs.root(), name(b"f"), Kind::Regular, Mode::new(0o600), 0).await.unwrap();
        rt.sleep(std::time::Duration::from_millis(1)).await;
        (made.attr.ctime, made.node)
    });
    for mode in [0o640, 0o644] {
        let (fs, won, lost) = (mounted.fs().clone(), won.clone(), lost.clone());
        rt.spawn(async move {
            let set = SetAttr { mode: Some(Mode::new(mode)), if_ctime: Some(seen), ..SetAttr::default() };
            let count = match fs.setattr(node, &set).await {
                Ok(_) => won,
                Err(Error::Refused(Refusal::Changed)) => lost,
                Err(error) => panic!("{error}"),
            };
            count.set(count.get() + 1);
        });
    }
    rt.block_on(async {
        while won.get() + lost.get() < 2 {
            rt.sleep(std::time::Duration::from_millis(1)).await;
        }
        let fs = mounted.fs();
        let size = SetAttr { size: Some(7), if_ctime: Some(seen), ..SetAttr::default() };
        assert!(matches!(fs.setattr(node, &size).await, Err(Error::Refused(Refusal::Changed))));
        let now = fs.getattr(node).await.unwrap();
        assert_eq!(now.size, 0, "nothing of it is done");
        let size = SetAttr { if_ctime: Some(now.ctime), ..size };
        assert_eq!(fs.setattr(node, &size).await.unwrap().size, 7);
        fs.forget(node, 1);
    });
    assert_eq!((won.get(), lost.get()), (1, 1));
    rt.block_on(mounted.unmount()).unwrap();
}

#[test]
fn of_two_guarded_changes_one_is_made() {
    for &shape in SHAPES {
        let rt = Rt::virtual_time(8);
        let ram = fresh(&rt, shape, 24 << 20);
        guarded(&rt, mount(&rt, &ram, "softupdates"));
        assert_clean(&rt, &ram, &format!("{shape:?}"));
    }
}
