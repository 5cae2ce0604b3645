//! How the files of a volume lie: counted on volumes of which every block is known.

use crate::common;

use common::{SHAPES, fresh, mount};
use ordo_vfs::{FileSystem, SetAttr};
use ordo_workload::Session;
use ordofs::disk::{Disk, RamDisk};
use ordofs::ondisk::{Endian, Format};
use ordofs::rt::Rt;
use ordofs::{NewLfs, OpenError, Part, Placement, locate_on};
use std::rc::Rc;

const BLOCK: usize = 8192;
const SHAPE: (Format, Endian, u32, u32) = (Format::Ufs1, Endian::Little, 8192, 1024);

fn placement(rt: &Rt, ram: &RamDisk) -> Result<Placement, OpenError> {
    Placement::of(rt, &locate_on(rt, Rc::new(ram.clone())).expect("there is a volume"))
}

/// A volume with files of these sizes in its root, made in this order; those called `x...` are removed before the
/// others are made that follow `|`.
fn with(shape: (Format, Endian, u32, u32), files: &[(&str, usize)]) -> (Rt, RamDisk) {
    let rt = Rt::virtual_time(1);
    let ram = fresh(&rt, shape, 64 << 20);
    let mounted = mount(&rt, &ram, "async");
    rt.block_on(async {
        let session = Session::new(&**mounted.fs());
        for (name, bytes) in files {
            match bytes {
                0 => drop(session.remove_tree(name).await.expect("it was made")),
                _ => session.write_file(name, &vec![7; *bytes]).await.expect("there is room"),
            }
        }
    });
    rt.block_on(mounted.unmount()).expect("the disk is well");
    rt.drop_tasks();
    (rt, ram)
}

#[test]
fn files_of_a_new_volume_are_contiguous_and_free_space_is_counted() {
    // Where a block is a fragment, a file begins in a gap between the format's own parts.
    for &shape in SHAPES.iter().filter(|(.., bsize, fsize)| bsize != fsize) {
        let bsize = shape.2 as usize;
        let (rt, ram) = with(shape, &[("a", bsize), ("b", 2 * bsize), ("c", 5 * bsize), ("d", 30 * bsize), ("e", 1)]);
        let seen = placement(&rt, &ram).unwrap();
        assert_eq!((seen.files, seen.score.of), (5, 1 + 4 + 29), "{shape:?}");
        let one = Part { part: 1, of: 1 };
        assert_eq!((seen.two_blocks, seen.two_whole_blocks), (one, one), "{shape:?}: {seen:?}");
        // The block of pointers lies between the twelfth block and the next.
        assert_eq!(seen.thirty_two_blocks, Part { part: 28, of: 29 }, "{shape:?}");
        assert_eq!(seen.score, Part { part: 33, of: 34 }, "{shape:?}");
        let sizes: Vec<_> = seen.classes.iter().map(|class| (class.blocks, class.files)).collect();
        assert_eq!(sizes, [((2, 2), 1), ((3, 4), 0), ((5, 8), 1), ((9, 16), 0), ((17, 32), 1)]);
        let located = locate_on(&rt, Rc::new(ram.clone())).unwrap();
        let fields = &located.found.ufs().unwrap().superblock.fields;
        assert_eq!(
            (seen.free_blocks as i64, seen.free_frags as i64),
            (fields.cs_nbfree, fields.cs_nffree),
            "{shape:?}"
        );
        let in_tenths: u64 = seen.tenths.iter().map(|tenth| tenth.free.part).sum();
        let in_runs: u64 = seen.tenths.iter().map(|tenth| tenth.run_blocks).sum();
        assert!(in_tenths == in_runs && seen.free_blocks - in_tenths < 20 * u64::from(shape.3), "{shape:?}: {seen:?}");
    }
}

#[test]
fn a_file_in_the_holes_of_others_is_not_contiguous() {
    let mut files: Vec<(String, usize)> = (0..8).map(|i| (format!("f{i}"), BLOCK)).collect();
    // Every second goes; the last stays, so that the holes end before the free space.
    files.extend([0, 2, 4].map(|i| (format!("f{i}"), 0)));
    files.extend([("four".to_owned(), 4 * BLOCK), ("two".to_owned(), BLOCK + 1000)]);
    let files: Vec<(&str, usize)> = files.iter().map(|(name, bytes)| (&**name, *bytes)).collect();
    let (rt, ram) = with(SHAPE, &files);
    let seen = placement(&rt, &ram).unwrap();
    // Three holes and then a block behind f7: none of the four follows the one before. Nor does a fragment, which goes
    // into a block that is partly in use. It counts as a block, but not as a whole one.
    assert_eq!(seen.score, Part { part: 0, of: 4 }, "{seen:?}");
    assert_eq!((seen.two_blocks, seen.two_whole_blocks), (Part { part: 0, of: 1 }, Part::default()));
}

#[test]
fn holes_and_pointers_of_every_level_are_followed() {
    let rt = Rt::virtual_time(1);
    let ram = fresh(&rt, (Format::Ufs2, Endian::Little, 4096, 512), 64 << 20);
    let mounted = mount(&rt, &ram, "async");
    rt.block_on(async {
        let session = Session::new(&**mounted.fs());
        session.write_file("far", b"").await.unwrap();
        let file = session.resolve("far").await.unwrap();
        // Two blocks below each root: direct, and one, two and three indirect blocks away.
        for lbn in [3, 100, 12 + 512 + 7, 12 + 512 + 512 * 512 + 9] {
            session.write_at(&file, lbn * 4096, &[1; 8192]).await.unwrap();
        }
    });
    rt.block_on(mounted.unmount()).unwrap();
    rt.drop_tasks();
    let seen = placement(&rt, &ram).unwrap();
    assert_eq!((seen.files, seen.score), (1, Part { part: 4, of: 7 }), "{seen:?}");
}

#[test]
fn files_of_the_system_are_no_files_of_the_users() {
    let rt = Rt::virtual_time(1);
    let ram = fresh(&rt, (Format::Ufs2, Endian::Little, 4096, 512), 64 << 20);
    let mounted = mount(&rt, &ram, "async");
    rt.block_on(async {
        let session = Session::new(&**mounted.fs());
        // So many names that the root directory has indirect blocks, and the journal's name is in one.
        for i in 0..600 {
            session.write_file(&format!("{i:0>100}"), b"").await.unwrap();
        }
        for name in ["quota.user", ".ordofs-log", ".sujournal", "mine"] {
            session.write_file(name, &[1; 3 * 4096]).await.unwrap();
        }
        let journal = session.resolve(".sujournal").await.unwrap();
        let flags = Some(ordofs::ondisk::suj::NEW_FLAGS);
        session.fs.setattr(journal.node(), &SetAttr { flags, ..SetAttr::default() }).await.unwrap();
    });
    rt.block_on(mounted.unmount()).unwrap();
    rt.drop_tasks();
    // A file with a log's name and without its flags is the users'.
    let seen = placement(&rt, &ram).unwrap();
    assert_eq!((seen.files, seen.score.of), (2, 4), "{seen:?}");
}

#[test]
fn a_damaged_pointer_and_a_log_are_refused() {
    let (rt, ram) = with((Format::Ufs1, Endian::Little, 8192, 1024), &[("a", 3 * BLOCK)]);
    let located = locate_on(&rt, Rc::new(ram.clone())).unwrap();
    let g = located.found.ufs().unwrap().superblock.geometry();
    let at = (3..64).map(ordofs::ondisk::Ino).map(|ino| ordofs::ondisk::Dinode::place(&g, ino).0);
    // The inode of a regular file of this size.
    let of_file = |at: &u64| {
        let mut bytes = [0; 16];
        ram.peek(*at, &mut bytes);
        bytes[1] >> 4 == 8 && bytes[8..] == (3 * BLOCK as u64).to_le_bytes()
    };
    let inode = at.into_iter().find(of_file).expect("the file");
    ram.poke(inode + 40, &8u32.to_le_bytes());
    let said = placement(&rt, &ram).unwrap_err().to_string();
    assert!(said.contains("no data block"), "{said}");

    let ram = RamDisk::new(64 << 20);
    let disk: Rc<dyn Disk> = Rc::new(ram.clone());
    NewLfs::new(64 << 20).create_on(&rt, disk, false).unwrap();
    assert!(matches!(placement(&rt, &ram), Err(OpenError::OnlyUfs)));
}
