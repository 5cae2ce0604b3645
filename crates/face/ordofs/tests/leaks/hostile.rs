//! A damaged volume after a crash under soft updates: reclaiming the leaks ends, whatever an inode contains.

use crate::scheme::AtOnce;
use crate::{BYTES, SHAPES, Stage, located};
use ordo_ondisk::{Cgx, Dinode, FragNo, Ino};
use ordofs::disk::{Counted, Disk, RamDisk};
use ordofs::rt::Rt;
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
