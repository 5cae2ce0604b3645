//! A damaged volume after a crash under soft updates: reclaiming the leaks ends, whatever an inode contains.

use crate::common::{fresh, mount, mount_on};
use crate::leaks::plant::Raw;
use crate::leaks::scheme::AtOnce;
use crate::leaks::{BYTES, SHAPES, Stage, file, ino, located};
use ordo_ondisk::{Cgx, Dinode, FragNo, Ino};
use ordofs::disk::{Counted, Disk, RamDisk};
use ordofs::rt::Rt;
use ordofs::vfs::{Error, FileSystem, Name, RenameMode, SetAttr, Whence};
use ordofs::{LeaksPhase, LeaksProgress, MountOptions, Mounted};
use std::rc::Rc;

/// More reads than a few passes over the volume take.
const READS: u64 = BYTES / 512;

/// Reclaims a copy, which may be damaged, and returns how that ended.
fn ends(ram: &RamDisk) -> Option<LeaksProgress> {
    let (rt, copy) = (Rt::virtual_time(1), ram.snapshot());
    let (counted, requests) = Counted::count(Rc::new(copy.clone()) as Rc<dyn Disk>);
    let (scheme, options) = (AtOnce::over("async"), MountOptions::default());
    let mounted = rt.block_on(Mounted::mount_with(&rt, located(&copy, counted), scheme, &options)).ok()?;
    let ended = rt.block_on(mounted.leaks_ended());
    // Damage that was met makes the volume read-only; the state after the unmount is not checked.
    let _ = rt.block_on(mounted.unmount());
    rt.drop_tasks();
    assert!(requests.get().reads < READS, "{} reads", requests.get().reads);
    Some(ended)
}

fn damage(stage: &Stage, ino: Ino, at: usize, bytes: &[u8]) -> RamDisk {
    let (ram, g) = (stage.ram.snapshot(), &stage.raw.g);
    let place = Dinode::place(g, ino).0;
    let mut inode = vec![0; g.dinode_size as usize];
    ram.peek(place, &mut inode);
    inode[at..at + bytes.len()].copy_from_slice(bytes);
    let mut lax = g.clone();
    lax.inode_hash = false;
    let dinode = Dinode::decode(&inode, &lax, ino).expect("a hash is not looked at");
    dinode.encode(&mut inode, g).expect("an inode fits");
    ram.poke(place, &inode);
    ram
}

#[test]
fn each_word_of_an_inode_may_hold_anything() {
    let (mut done, mut runs) = (0, 0);
    for shape in 0..SHAPES.len() {
        let stage = Stage::new(shape);
        let size = stage.raw.g.dinode_size as usize;
        for path in ["/a/big", "/b/c"] {
            for at in (0..size).step_by(4) {
                for value in [u64::MAX, 0x7fff_fe00, 1 << 40] {
                    let bytes = if at % 8 == 0 { &value.to_le_bytes()[..] } else { &value.to_le_bytes()[..4] };
                    let ended = ends(&damage(&stage, stage.ino(path), at, bytes));
                    runs += 1;
                    done += u32::from(ended.is_some_and(|ended| ended.phase == LeaksPhase::Done));
                }
            }
        }
    }
    assert!(done > runs / 10, "{done} of {runs} ended well: the others tell little");
}

#[test]
fn pointers_that_lead_in_circles_come_to_an_end() {
    for shape in 0..SHAPES.len() {
        let stage = Stage::new(shape);
        let g = &stage.raw.g;
        let block = FragNo(g.cgdmin(Cgx(g.ncg - 1)).0.next_multiple_of(g.frag.into()) + 8 * u64::from(g.frag));
        let mut pointers = vec![0; g.bsize as usize];
        (0..g.nindir).for_each(|i| g.put_pointer(&mut pointers, i, block).expect("it is one"));
        stage.ram.poke(g.byte(block).0, &pointers);
        stage.raw.set_inode(stage.ino("/a/big"), |d| (d.size, d.ib) = (g.maxfilesize, [block; 3]));
        let ended = ends(&stage.ram).expect("it can be mounted");
        let why = ended.failure.unwrap_or_default();
        assert!(why.contains("more blocks than the volume"), "shape {shape}: {:?} {why}", ended.phase);
    }
}

/// A file of the largest size, of which every pointer leads to pointers: of one block that names itself, or of three,
/// each of which names the next one as often as it can.
fn endless(shape: usize, shared: bool) -> (Rt, RamDisk, Ino) {
    let rt = Rt::virtual_time(1);
    let ram = fresh(&rt, SHAPES[shape], BYTES);
    let mounted = mount(&rt, &ram, "async");
    let big = rt.block_on(async {
        file(&mounted, "/", "big", 900_000).await;
        ino(&mounted, "/big").await
    });
    rt.block_on(mounted.unmount()).expect("the disk is well");
    let raw = Raw::of(&ram);
    let g = &raw.g;
    let first = g.cgdmin(Cgx(g.ncg - 1)).0.next_multiple_of(g.frag.into()) + 8 * u64::from(g.frag);
    let blocks = [0, 1, 2, 3].map(|n| FragNo(first + n * u64::from(g.frag)));
    for n in 0..3 {
        let mut pointers = vec![0; g.bsize as usize];
        let to = if shared { blocks[n + 1] } else { blocks[n] };
        (0..g.nindir).for_each(|i| g.put_pointer(&mut pointers, i, to).expect("it is one"));
        ram.poke(g.byte(blocks[n]).0, &pointers);
    }
    let roots = if shared { [FragNo::HOLE, FragNo::HOLE, blocks[0]] } else { [blocks[0]; 3] };
    raw.set_inode(big, |d| (d.size, d.ib) = (g.maxfilesize, roots));
    (rt, ram, big)
}

/// Reading such a file ends with an error, and so do cutting and removing it, after few reads and with little memory.
#[test]
fn a_file_without_end_is_read_cut_and_removed_by_an_error() {
    for (shape, shared) in (0..SHAPES.len()).flat_map(|shape| [(shape, false), (shape, true)]) {
        for scheme in ["softupdates", "sync", "async"] {
            let (rt, ram, big) = endless(shape, shared);
            let (counted, requests) = Counted::count(Rc::new(ram.clone()) as Rc<dyn Disk>);
            let mounted = mount_on(&rt, &ram, counted, scheme);
            rt.block_on(async {
                let fs = mounted.fs();
                let name = Name::new(b"big").expect("a name");
                let node = fs.lookup(fs.root(), name).await.expect("it is there").node;
                let what = format!("shape {shape}, {shared}, {scheme}");
                // The hole before the third root is long.
                let first = if shared { 12 * u64::from(SHAPES[shape].2) } else { 0 };
                let mut at = fs.seek(node, first, Whence::Data).await.expect("there is more");
                let last = at + 2 * BYTES;
                let ended = loop {
                    match fs.read(node, at, 1 << 20).await {
                        Err(error) => break error,
                        Ok(pieces) => {
                            let len: usize = pieces.iter().map(|piece| piece.len()).sum();
                            at += len as u64;
                            assert!(len > 0 && at < last, "{what}: reading does not end by an error");
                        }
                    }
                };
                assert!(matches!(ended, Error::Corrupt(_)), "{what}: {ended}");
                let hole = fs.seek(node, at, Whence::Hole).await;
                assert!(matches!(hole, Err(Error::Corrupt(_))), "{what}: {hole:?}");
                let sized = |size| SetAttr { size: Some(size), ..SetAttr::default() };
                let cut = fs.setattr(node, &sized(7)).await.expect_err("nothing is freed twice");
                assert!(cut.to_string().contains(&format!("inode {}", big.0)), "{what}: {cut}");
                // The name goes, and its inode is left to fsck.
                let _ = fs.unlink(fs.root(), name).await;
                fs.forget(node, 1);
                let _ = fs.syncfs().await;
            });
            let _ = rt.block_on(mounted.unmount());
            rt.drop_tasks();
            assert!(requests.get().reads < 2 * READS, "{} reads", requests.get().reads);
        }
    }
}

/// A pointer of the inode leads beyond the volume, or to where data may not lie: neither `rm` nor a rename over the
/// file takes the name of what cannot be freed.
#[test]
fn a_file_that_cannot_be_freed_keeps_its_name() {
    for (shape, scheme) in (0..SHAPES.len()).flat_map(|shape| ["softupdates", "sync"].map(|scheme| (shape, scheme))) {
        let rt = Rt::virtual_time(1);
        let ram = fresh(&rt, SHAPES[shape], BYTES);
        let mounted = mount(&rt, &ram, "async");
        let big = rt.block_on(async {
            file(&mounted, "/", "big", 900_000).await;
            file(&mounted, "/", "new", 1).await;
            ino(&mounted, "/big").await
        });
        rt.block_on(mounted.unmount()).expect("the disk is well");
        let raw = Raw::of(&ram);
        let g = &raw.g;
        // A block that the end cuts in two, one behind it, one far behind it, and the maps.
        let wild = [g.size - u64::from(g.frag) / 2, g.size, u64::from(u32::MAX), g.cgtod(Cgx(1)).0].map(FragNo);
        for (place, to) in ["direct", "root"].into_iter().flat_map(|place| wild.map(|to| (place, to))) {
            let ram = ram.snapshot();
            let raw = Raw::of(&ram);
            match place {
                "direct" => raw.set_inode(big, |d| d.db[3] = to),
                _ => raw.set_inode(big, |d| d.ib[0] = to),
            }
            let what = format!("shape {shape}, {scheme}, {place} {}", to.0);
            let mounted = mount(&rt, &ram, scheme);
            rt.block_on(async {
                let (fs, [old, new]) =
                    (mounted.fs(), [&b"big"[..], b"new"].map(|name| Name::new(name).expect("a name")));
                let root = fs.root();
                let removed = fs.unlink(root, old).await;
                assert!(matches!(removed, Err(Error::Corrupt(_))), "{what}: {removed:?}");
                let replaced = fs.rename(root, new, root, old, RenameMode::Replace).await;
                assert!(matches!(replaced, Err(Error::Corrupt(_))), "{what}: {replaced:?}");
                for (name, ino) in [(old, Some(big)), (new, None)] {
                    let found = fs.lookup(root, name).await.unwrap_or_else(|error| panic!("{what}: {error}"));
                    assert!(found.attr.nlink == 1 && ino.is_none_or(|ino| found.node.0 == u64::from(ino.0)), "{what}");
                    fs.forget(found.node, 1);
                }
            });
            rt.block_on(mounted.unmount()).unwrap_or_else(|error| panic!("{what}: {error}"));
            rt.drop_tasks();
        }
    }
}
