//! Only what a caller has written reaches the image: not the old contents of the disk, not those of another file.
//!
//! The disk is filled with one pattern before the volume is made, and its free blocks with another before files are
//! allocated there. Then the image is inspected: the padding of names, the rest of directory blocks, of the last
//! fragments of files, links and attributes, of indirect blocks, inodes and superblocks. Finally all unused bytes are
//! overwritten, as another system may have left them, and new writes beside them must not copy them.

use crate::common;
mod image;

use common::SHAPES;
use image::Image;
use ordo_ondisk::superblock::newfs::NewfsParams;
use ordo_ondisk::{Cgx, Ino};
use ordo_workload::Session;
use ordofs::disk::RamDisk;
use ordofs::rt::Rt;
use ordofs::vfs::{FileSystem, Kind, Mode, Name, RenameMode, Result, SetAttr, XattrMode};
use ordofs::{Mounted, NewVolume, locate_on};
use std::rc::Rc;

/// What the disk held before it had a volume.
const DISK: u8 = 0xa5;
/// The contents of files, before and after they are removed.
const DATA: u8 = 0xee;

/// Names of every length, created and removed; files that grow, shrink and end within fragments; all of it where other
/// files were.
async fn work<F: FileSystem>(fs: &F, bsize: u64, fsize: u64) -> Result<()> {
    let s = Session::new(fs);
    let data = |len: u64| vec![DATA; len as usize];
    for i in 0..12 {
        s.write_file(&format!("old-{i}"), &data(14 * bsize)).await?;
    }
    for i in 0..12 {
        s.remove_tree(&format!("old-{i}")).await?;
    }
    fs.syncfs().await?;
    s.mkdir_all("names").await?;
    for round in [255, 200, 90, 33] {
        for len in 1..=255usize {
            let path = format!("names/{}", "n".repeat(len.min(round)));
            if s.resolve(&path).await.is_err() {
                s.write_file(&path, b"").await?;
            }
            if len % 3 == round % 3 {
                s.remove_tree(&path).await?;
            }
        }
    }
    let (root, names) = (s.root().await?, s.resolve("names").await?);
    for (i, len) in [1, fsize - 1, fsize, fsize + 1, bsize - 1, bsize, bsize + 1, 5 * bsize + 7, 12 * bsize + 3]
        .into_iter()
        .enumerate()
    {
        let path = format!("file-{i}");
        s.write_file(&path, &data(len)).await?;
        let file = s.resolve(&path).await?;
        // Truncated within a fragment, then extended again after a gap.
        let size = Some(len / 2 + 1);
        fs.setattr(file.node(), &SetAttr { size, ..SetAttr::default() }).await?;
        s.write_at(&file, len + 100, b"end").await?;
        let _ = fs.setxattr(&s.who, file.node(), b"user.a", &data(len.min(900)), XattrMode::Set).await;
        let _ = fs.setxattr(&s.who, file.node(), b"user.a", b"less", XattrMode::Set).await;
        let name = format!("link-{i}");
        let target = "t".repeat([3, 59, 60, 61, 119, 120, 121, 600, 1023][i]);
        fs.symlink(&s.who, root.node(), Name::new(name.as_bytes())?, target.as_bytes()).await?;
        let to = "m".repeat(20 * i + 4);
        fs.rename(
            root.node(),
            Name::new(name.as_bytes())?,
            names.node(),
            Name::new(to.as_bytes())?,
            RenameMode::Replace,
        )
        .await?;
        s.mkdir_all(&format!("names/d{i}/e")).await?;
    }
    for (i, size) in [1, fsize + 1, bsize - 1, 2 * bsize + 9].into_iter().enumerate() {
        let path = format!("cut-{i}");
        s.write_file(&path, &data(3 * bsize)).await?;
        let set = SetAttr { size: Some(size), ..SetAttr::default() };
        fs.setattr(s.resolve(&path).await?.node(), &set).await?;
    }
    let sparse = s.create(&root, Name::new(b"sparse")?).await?;
    s.write_at(&sparse, (12 + bsize / 4 + 3) * bsize + 9, b"behind single indirect blocks").await?;
    fs.mknod(&s.who, root.node(), Name::new(b"fifo")?, Kind::Fifo, Mode::new(0o600), 0).await?;
    Ok(())
}

/// Writes names and bytes beside what was overwritten.
async fn work_beside<F: FileSystem>(fs: &F) -> Result<()> {
    let s = Session::new(fs);
    for len in 1..=80 {
        s.write_file(&format!("names/{}", "z".repeat(len)), b"").await?;
    }
    for i in 0..4 {
        let file = s.resolve(&format!("cut-{i}")).await?;
        let size = file.attr.size;
        s.write_at(&file, size + 50, b"end").await?;
        let read = s.read_at(&file, size, 100).await?;
        assert_eq!(read, [&[0; 50][..], b"end"].concat(), "what lies between the old end and the new bytes");
    }
    Ok(())
}

#[test]
fn no_byte_of_memory_reaches_the_image_unintended() {
    for (i, &(format, endian, bsize, fsize)) in SHAPES.iter().enumerate() {
        for scheme in ["sync", "async"] {
            let rt = Rt::virtual_time(3);
            let bytes = 24 << 20;
            let ram = RamDisk::from_bytes(&vec![DISK; bytes]);
            let params = NewfsParams { endian, bsize, fsize, ..NewfsParams::new(format, bytes as u64) };
            NewVolume { params }.create_on(&rt, Rc::new(ram.clone()), false).expect("the shape is possible");
            let what = format!("shape {i}, {scheme}");
            let write = async |m: &Mounted| work(&**m.fs(), bsize.into(), fsize.into()).await;
            change(&rt, &ram, scheme, &what, write);
            let sb = locate_on(&rt, Rc::new(ram.clone()))
                .expect("it is there")
                .found
                .into_ufs()
                .expect("it is UFS")
                .superblock;
            let mut image = Image { ram, g: sb.geometry(), what, spoiled: false };
            for at in (0..image.g.ncg).map(|c| image.g.byte(image.g.cgsblock(Cgx(c)))).chain([sb.at]) {
                let mut bytes = vec![0; (sb.len_on_disk() as usize).next_multiple_of(512)];
                image.ram.peek(at.0, &mut bytes);
                image.zero(&bytes[1376..], "what lies behind a superblock", Ino(0));
            }
            image.inspect();
            image.spoil();
            image.spoiled = true;
            change(&rt, &image.ram, scheme, &image.what, async |m: &Mounted| work_beside(&**m.fs()).await);
            image.inspect();
        }
    }
}

fn change(rt: &Rt, ram: &RamDisk, scheme: &str, what: &str, work: impl AsyncFnOnce(&Mounted) -> Result<()>) {
    let mounted = common::mount(rt, ram, scheme);
    rt.block_on(work(&mounted)).expect("there is room");
    rt.block_on(mounted.unmount()).expect("the disk is well");
    common::assert_clean(rt, ram, what);
    rt.drop_tasks();
}
