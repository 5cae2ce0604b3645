//! What a volume keeps on a drive of which only the times are wanted (buf-9): everything but the contents of files.

use ordo_drive::Profile;
use ordo_simdisk::SimDisk;
use ordo_workload::Session;
use ordofs::ondisk::Format;
use ordofs::ondisk::superblock::newfs::NewfsParams;
use ordofs::rt::Rt;
use ordofs::vfs::{Caller, FileSystem, Name, SetAttr, XattrMode};
use ordofs::{MountOptions, Mounted, NewVolume, locate_on};
use std::rc::Rc;

const BYTES: u64 = 64 << 20;

fn name(name: &str) -> Name<'_> {
    Name::new(name.as_bytes()).expect("a name")
}

fn mount(rt: &Rt, drive: &SimDisk) -> Mounted {
    let options = MountOptions { scheme: Some("softupdates".into()), ..MountOptions::default() };
    rt.block_on(Mounted::mount(rt, locate_on(rt, Rc::new(drive.clone())).unwrap(), &options)).unwrap()
}

/// Makes one of everything, and mounts again; returns what the file, the link and the attribute hold then, the names,
/// the file's size, and the writes after it was cut within its last block.
fn lives(times_only: bool) -> (Vec<u8>, Vec<u8>, Vec<u8>, usize, u64, u64) {
    let rt = Rt::virtual_time(1);
    let drive = SimDisk::new(&rt, Profile::named("seagate_cheetah_9lp").unwrap());
    let params = NewfsParams::new(Format::Ufs2, BYTES);
    NewVolume { params }.create_on(&rt, Rc::new(drive.clone()), true).unwrap();
    if times_only {
        drive.times_only();
    }
    let target = [b't'; 700];
    let mounted = mount(&rt, &drive);
    rt.block_on(async {
        let s = Session::new(&**mounted.fs());
        let who = Caller { privileged: true, ..Caller::default() };
        s.write_file("file", &[7; 100_000]).await.unwrap();
        let root = mounted.fs().root();
        mounted.fs().symlink(&who, root, name("link"), &target).await.unwrap();
        let file = s.resolve("file").await.unwrap();
        mounted.fs().setxattr(&who, file.node(), b"user.a", &[9; 300], XattrMode::Create).await.unwrap();
        for i in 0..300 {
            s.write_file(&format!("n{i}"), b"").await.unwrap();
        }
    });
    rt.block_on(mounted.unmount()).unwrap();
    let mounted = mount(&rt, &drive);
    let seen = rt.block_on(async {
        let s = Session::new(&**mounted.fs());
        let root = s.root().await.unwrap();
        let (file, link) = (s.resolve("file").await.unwrap(), s.lookup(&root, name("link")).await.unwrap());
        let before = mounted.cache().stats().writes;
        mounted.fs().setattr(file.node(), &SetAttr { size: Some(99_000), ..SetAttr::default() }).await.unwrap();
        mounted.fs().syncfs().await.unwrap();
        (
            s.read_file("file").await.unwrap(),
            mounted.fs().readlink(link.node()).await.unwrap().to_vec(),
            mounted.fs().getxattr(file.node(), b"user.a").await.unwrap().to_vec(),
            s.list(&root).await.unwrap().len(),
            file.attr.size,
            mounted.cache().stats().writes - before,
        )
    });
    rt.block_on(mounted.unmount()).unwrap();
    rt.drop_tasks();
    seen
}

#[test]
fn only_the_contents_of_files_are_not_kept() {
    let (kept, without) = (lives(false), lives(true));
    assert_eq!(kept.0, [7; 99_000]);
    assert_eq!(without.0, [0; 99_000]);
    assert_eq!((kept.1, kept.2, kept.3, kept.4, kept.5), (without.1, without.2, without.3, without.4, without.5));
    assert!(without.3 >= 302, "the file, the link and 300 more");
}
