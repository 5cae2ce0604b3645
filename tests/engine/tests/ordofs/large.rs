//! Extremes: a directory of a million names, and a file with bytes a terabyte away.

use crate::common;

use common::{SHAPES, assert_clean, fresh, mount};
use ordofs::rt::Rt;
use ordofs::vfs::{Caller, FileSystem, Kind, Mode, Name, NodeId};

const NAMES: u32 = 1_000_000;
/// Names of one file: below the highest link count.
const LINKS: u32 = 30_000;

fn name(i: u32) -> String {
    format!("name-{i:07}")
}

async fn link_all<F: FileSystem>(fs: &F, dir: NodeId) {
    let mut file = None;
    for i in 0..NAMES {
        let text = name(i);
        let name = Name::new(text.as_bytes()).expect("a name");
        if i % LINKS == 0 {
            let made = fs.mknod(&Caller::default(), dir, name, Kind::Regular, Mode::new(0o644), 0).await.expect("room");
            file.replace(made.node).into_iter().for_each(|old| fs.forget(old, 1));
        } else {
            let node = file.expect("the first name makes the file");
            fs.link(node, dir, name).await.expect("room");
            fs.forget(node, 1);
        }
    }
    file.into_iter().for_each(|last| fs.forget(last, 1));
}

#[test]
fn a_directory_of_a_million_names_is_entered_found_listed_and_thinned_out() {
    let rt = Rt::virtual_time(7);
    let ram = fresh(&rt, SHAPES[0], 256 << 20);
    let mounted = mount(&rt, &ram, "async");
    let fs = mounted.fs();
    rt.block_on(link_all(&**fs, fs.root()));
    rt.block_on(mounted.unmount()).expect("the disk is well");
    assert_clean(&rt, &ram, "a million names");

    let mounted = mount(&rt, &ram, "async");
    let fs = mounted.fs();
    rt.block_on(async {
        for i in (0..NAMES).step_by(997) {
            let found =
                fs.lookup(fs.root(), Name::new(name(i).as_bytes()).expect("a name")).await.expect("it is there");
            assert_eq!(found.attr.nlink, LINKS.min(NAMES - i / LINKS * LINKS));
            fs.forget(found.node, 1);
        }
        assert!(fs.lookup(fs.root(), Name::new(name(NAMES).as_bytes()).expect("a name")).await.is_err());
        for i in (0..NAMES).step_by(2) {
            fs.unlink(fs.root(), Name::new(name(i).as_bytes()).expect("a name")).await.expect("it is there");
        }
        let mut listed = 0;
        let count = &mut |entry: ordofs::vfs::DirEntry<'_>| {
            listed += u32::from(entry.name.starts_with(b"name-"));
            true
        };
        fs.readdir(fs.root(), 0, count).await.expect("it can be read");
        assert_eq!(listed, NAMES / 2);
    });
    rt.block_on(mounted.unmount()).expect("the disk is well");
    assert_clean(&rt, &ram, "half a million names");
    rt.drop_tasks();
}

#[test]
fn a_byte_a_terabyte_away_is_written_found_and_cut_off() {
    // 32 KiB blocks reach 128 TiB; 4 KiB blocks of UFS1 with its 1024 pointers 4 TiB.
    for shape in [SHAPES[0], SHAPES[3]] {
        let rt = Rt::virtual_time(8);
        let ram = fresh(&rt, shape, 32 << 20);
        let mounted = mount(&rt, &ram, "sync");
        let fs = mounted.fs();
        let far = (1 << 40) + 12_345;
        rt.block_on(async {
            let who = Caller::default();
            let at = Name::new(b"far").expect("a name");
            let file = fs.mknod(&who, fs.root(), at, Kind::Regular, Mode::new(0o600), 0).await.expect("room").node;
            fs.write(&who, file, far, b"far away").await.expect("the format reaches there");
            assert_eq!(fs.read(file, far, 100).await.expect("it is there").concat(), b"far away");
            assert_eq!(fs.read(file, 1 << 39, 4).await.expect("a hole").concat(), [0; 4]);
            assert!(fs.getattr(file).await.expect("it is there").sectors < 2048);
            let cut = ordofs::vfs::SetAttr { size: Some(3), ..Default::default() };
            assert_eq!(fs.setattr(file, &cut).await.expect("it can be cut").size, 3);
            fs.forget(file, 1);
        });
        rt.block_on(mounted.unmount()).expect("the disk is well");
        assert_clean(&rt, &ram, "after the cut");
        rt.drop_tasks();
    }
}
