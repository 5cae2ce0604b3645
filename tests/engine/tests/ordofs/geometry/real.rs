//! Volumes that the kernels of FreeBSD and NetBSD made and filled: read, compared with what those systems list as their
//! contents, changed where that is allowed, and checked.

use crate::common::{assert_clean, located};
use ordo_ondisk::{ByteOff, Dialect};
use ordo_workload::Session;
use ordofs::disk::RamDisk;
use ordofs::rt::Rt;
use ordofs::vfs::{Attr, FileSystem, Kind, Result, Whence};
use ordofs::{Fs, Located, MountOptions, Mounted};
use std::rc::Rc;

fn mount(rt: &Rt, ram: &RamDisk) -> Mounted {
    let options = MountOptions { scheme: Some("async".into()), noatime: true, ..MountOptions::default() };
    rt.block_on(Mounted::mount(rt, located(ram, Rc::new(ram.clone())), &options)).expect("it can be mounted")
}

/// FNV-1a, 64 bits.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &b| (hash ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

/// A line of a manifest: type and mode, links, owner, group, size, sectors, inode, hash, path, target of a link.
async fn line(s: &Session<'_, Fs>, path: &str, attr: &Attr) -> Result<String> {
    let kind = match attr.kind {
        Kind::Directory => 'd',
        Kind::Symlink => 'l',
        _ => '-',
    };
    let (mut hash, mut target) = ("-".to_owned(), String::new());
    match attr.kind {
        Kind::Regular => hash = format!("{:016x}", fnv(&s.read_file(path).await?)),
        Kind::Symlink => {
            let link = s.resolve(path).await?;
            target = format!(" -> {}", String::from_utf8_lossy(&s.fs.readlink(link.node()).await?));
        }
        _ => {}
    }
    let Attr { nlink, uid, gid, size, sectors, ino, .. } = attr;
    Ok(format!("{kind}{:04o} {nlink} {uid} {gid} {size} {sectors} i{ino} {hash} /{path}{target}", attr.mode.bits()))
}

async fn manifest(fs: &Fs) -> Vec<String> {
    let s = Session::new(fs);
    let mut found = vec![(String::new(), s.root().await.expect("a root").attr)];
    s.walk("", |path, attr| found.push((path.to_owned(), *attr))).await.expect("the volume is whole");
    let mut lines = Vec::new();
    for (path, attr) in found {
        lines.push(line(&s, &path, &attr).await.unwrap_or_else(|error| panic!("{path}: {error}")));
    }
    lines.sort_unstable_by(|a, b| place(a).cmp(place(b)));
    lines
}

fn place(line: &str) -> &str {
    line.split_whitespace().nth(8).expect("a line of a manifest has a path")
}

/// Makes some of every change, and undoes all of them except a directory.
async fn change(fs: &Fs) -> Result<()> {
    let s = Session::new(fs);
    for dir in ["made", "made/below", "gone"] {
        s.mkdir_all(dir).await?;
        for i in 0..40u64 {
            s.write_file(&format!("{dir}/file-{i}"), &vec![i as u8; 300 * i as usize * i as usize % 20_000]).await?;
        }
    }
    s.remove_tree("gone").await.map(drop)
}

/// The lines of a manifest, with single spaces.
fn expected(name: &str) -> Vec<String> {
    let text = ordo_volumes::manifest(name);
    // newfs_lfs has printed warnings before them.
    let objects = text.lines().filter(|line| !line.starts_with("WARNING"));
    let mut lines: Vec<String> = objects.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    lines.sort_unstable_by(|a, b| place(a).cmp(place(b)));
    lines
}

#[test]
fn netbsds_volumes_hold_what_netbsd_says() {
    for name in ["netbsd-ffs2-le", "netbsd-ffs1-be", "netbsd-ffs0-be"] {
        let ram = RamDisk::from_bytes(&ordo_volumes::volume(name));
        let rt = Rt::virtual_time(1);
        let mounted = mount(&rt, &ram);
        let old = located(&ram, Rc::new(ram.clone())).found.into_ufs().expect("it is UFS").superblock.dialect
            == Dialect::OldBsd;
        assert_eq!(mounted.fs().read_only(), old, "{name}: {:?}", mounted.why_read_only());
        let before = rt.block_on(manifest(mounted.fs()));
        assert_eq!(before, expected(name), "{name}");
        if old {
            continue;
        }
        rt.block_on(change(mounted.fs())).unwrap_or_else(|error| panic!("{name}: {error}"));
        rt.block_on(mounted.unmount()).expect("the disk is well");
        assert_clean(&rt, &ram, name);
        let again = mount(&rt, &ram);
        // The old contents are unchanged, except that the root has one more directory.
        let after = rt.block_on(manifest(again.fs()));
        let kept: Vec<_> = after.iter().filter(|line| !place(line).starts_with("/made")).skip(1).collect();
        assert_eq!(kept, before.iter().skip(1).collect::<Vec<_>>(), "{name}");
        assert_eq!(after.len(), before.len() + 2 + 80, "{name}");
        rt.drop_tasks();
    }
}

#[test]
fn netbsds_log_structured_volume_holds_what_netbsd_says() {
    let bytes = ordo_volumes::volume("netbsd-lfs2");
    let (rt, ram) = (Rt::virtual_time(1), RamDisk::from_bytes(&bytes));
    let mut read = |at: ByteOff, into: &mut [u8]| {
        ram.peek(at.0, into);
        Ok(())
    };
    let found = ordofs::find(&mut read, bytes.len() as u64).expect("there is a volume");
    let located = Located { found, disk: Rc::new(ram.clone()), log: None, claim: None };
    let options = MountOptions { noatime: true, read_only: true, ..MountOptions::default() };
    let mounted = rt.block_on(Mounted::mount(&rt, located, &options)).expect("it can be mounted");
    assert_eq!(rt.block_on(manifest(mounted.fs())), expected("netbsd-lfs2"));
    rt.block_on(mounted.unmount()).expect("the disk is well");
    assert!(ram.to_vec() == bytes, "a reader has written");
    rt.drop_tasks();
}

/// Checks FreeBSD's volumes against the notes that came with the images.
async fn read_freebsds(fs: &Fs) -> Result<()> {
    let s = Session::new(fs);
    assert_eq!(s.read_file("file1").await?, b"This is a simple file.\n");
    assert_eq!(s.read_file("dir1/dir2/dir3/file2").await?, b"Hello World\n");
    let numbers: String = (0..65536).map(|i| format!("{i:015x}\n")).collect();
    assert!(s.read_file("file3").await? == numbers.into_bytes());
    assert_eq!(&fs.readlink(s.resolve("link1").await?.node()).await?[..], b"dir1/dir2/dir3/file2");
    assert_eq!(fs.readlink(s.resolve("long-link").await?.node()).await?.len(), 1023);
    for (name, blocks) in [("sparse2", 12 + 4096), ("sparse3", 12 + 4096 + 4096 * 4096u64)] {
        let file = s.resolve(name).await?;
        // FreeBSD's dd stored the block before it, too, when it set the size.
        let (hole, stored) = ((blocks - 2) * 32768, blocks * 32768);
        assert_eq!(fs.seek(file.node(), hole, Whence::Data).await?, stored - 32768, "{name}");
        assert_eq!(s.read_at(&file, stored, 4096).await?, [b'x'; 4096], "{name}");
    }
    let of = async |path: &str, name: &str| fs.getxattr(s.resolve(path).await?.node(), name.as_bytes()).await;
    assert_eq!(&of("xattrs", "user.test").await?[..], b"testvalue");
    let names = fs.listxattr(s.resolve("xattrs2").await?.node()).await?;
    assert_eq!(names.len(), 2297);
    for name in names {
        let name = String::from_utf8(name).expect("the names are text");
        let value = name.replace("user.attr", "value");
        assert_eq!(of("xattrs2", &name).await?, value.as_bytes(), "{name}");
    }
    assert_eq!(of("xattrs3", "user.big").await?.len(), 63999);
    Ok(())
}

fn hold_what_their_maker_says() {
    for name in ["ufs-little", "ufs-big"] {
        let ram = RamDisk::from_bytes(&ordo_volumes::volume(name));
        let rt = Rt::virtual_time(1);
        let mounted = mount(&rt, &ram);
        assert!(!mounted.fs().read_only(), "{name}: {:?}", mounted.why_read_only());
        rt.block_on(read_freebsds(mounted.fs())).unwrap_or_else(|error| panic!("{name}: {error}"));
        rt.block_on(change(mounted.fs())).unwrap_or_else(|error| panic!("{name}: {error}"));
        rt.block_on(mounted.unmount()).expect("the disk is well");
        assert_clean(&rt, &ram, name);
        let again = mount(&rt, &ram);
        rt.block_on(read_freebsds(again.fs())).unwrap_or_else(|error| panic!("{name}: {error}"));
        rt.drop_tasks();
    }
}

ordo_volumes::freebsds_volumes!(freebsds_volumes_hold_what_their_maker_says, hold_what_their_maker_says());
