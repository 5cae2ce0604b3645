//! Files that are almost all holes: a hole costs no more than the pointers around it, however long it is.

use crate::{Made, SMALL, made, mount_on};
use ordo_lfs::Lfs;
use ordo_ondisk::{Ino, Lbn};
use ordo_rt::Rt;
use ordo_ufs::{Layout, Mapped, Ufs};
use ordo_vfs::{Caller, Entry, FileSystem, Kind, Mode, Name, Whence};
use std::rc::Rc;

const OF: Made = Made { block: 1024, fragment: 512, segment: 64 << 10, size: 16 << 20, ..SMALL };
const BLOCK: u64 = 1024;
/// Direct blocks, and those below a single, and below a double indirect block.
const AREAS: [u64; 3] = [12, 12 + 256, 12 + 256 + 256 * 256];
/// Blocks that are written, one by one.
const WRITTEN: [u64; 12] = [
    0,
    5,
    AREAS[0] - 1,
    AREAS[0] + 3,
    AREAS[0] + 4,
    AREAS[1] - 1,
    AREAS[1] + 700,
    AREAS[1] + 20_000,
    AREAS[2],
    AREAS[2] + 1,
    AREAS[2] + 3 * 256 * 256 + 7,
    AREAS[2] + 256 * 256 * 256 - 1,
];

/// A new file.
async fn sparse(fs: &Ufs<Lfs>) -> Entry {
    let who = Caller { privileged: true, ..Caller::default() };
    fs.mknod(&who, fs.root(), Name::new(b"sparse").unwrap(), Kind::Regular, Mode::new(0o600), 0).await.unwrap()
}

#[test]
fn holes_are_as_long_as_they_are_and_cost_few_looks() {
    let rt = Rt::virtual_time(1);
    let ram = made(OF);
    rt.block_on(async {
        let mounted = mount_on(&rt, Rc::new(ram.clone()), 4 << 20).await;
        let (fs, who) = (&mounted.fs, Caller { privileged: true, ..Caller::default() });
        let file = sparse(fs).await;
        for (i, lbn) in WRITTEN.iter().enumerate() {
            fs.write(&who, file.node, lbn * BLOCK, &[7; BLOCK as usize]).await.unwrap();
            if i == 6 {
                // Those before have places; those behind have none until later.
                fs.syncfs().await.unwrap();
            }
        }
        for settled in [false, true] {
            if settled {
                fs.syncfs().await.unwrap();
            }
            let layout = fs.layout();
            let inode = Layout::load(layout, Ino(u32::try_from(file.attr.ino).unwrap())).await.unwrap();
            let (mut lbn, mut looks, mut found) = (0, 0, Vec::new());
            let end = AREAS[2] + 256 * 256 * 256;
            while lbn < end {
                looks += 1;
                assert!(looks < 60, "many looks up to block {lbn}, settled: {settled}");
                let blocks = match Layout::map(layout, &inode, Lbn(lbn as i64), end - lbn).await.unwrap() {
                    Mapped::Hole { blocks } => blocks,
                    Mapped::Stored { blocks } | Mapped::Unplaced { blocks } => {
                        found.extend(lbn..lbn + blocks);
                        blocks
                    }
                };
                lbn += blocks;
            }
            assert_eq!((lbn, found), (end, WRITTEN.to_vec()), "settled: {settled}");
            let data = fs.seek(file.node, (AREAS[2] + 2) * BLOCK, Whence::Data).await.unwrap();
            assert_eq!(data, WRITTEN[10] * BLOCK);
        }
        fs.unmount().await.unwrap();
    });
    rt.drop_tasks();
}

#[test]
fn coalescing_does_not_look_at_each_block_of_a_hole() {
    // Some nine thousand million blocks of hole: a look at each would not end.
    let of = Made { block: 8192, fragment: 1024, segment: 256 << 10, size: 32 << 20, ..SMALL };
    let (block, far) = (8192, 12 + 2048 + 2048 * 2048 + 2048 * 2048 * 2048 - 1);
    let rt = Rt::virtual_time(1);
    let ram = made(of);
    rt.block_on(async {
        let mounted = mount_on(&rt, Rc::new(ram.clone()), 4 << 20).await;
        let (fs, who) = (&mounted.fs, Caller { privileged: true, ..Caller::default() });
        let file = sparse(fs).await.node;
        fs.write(&who, file, 0, &vec![7; 40 * block as usize]).await.unwrap();
        fs.write(&who, file, far * block, &[7; 1024]).await.unwrap();
        fs.syncfs().await.unwrap();
        let done = fs.layout().coalesce().await.unwrap();
        assert_eq!((done.files, done.rewritten), (1, 0));
        fs.unmount().await.unwrap();
    });
    rt.drop_tasks();
}
