//! Volumes for the tests of this crate.

use crate::{Ffs, Opening, newfs};
use ordo_buf::{
    Answer, Cache, CrashLeaves, Durable, Fields, Health, Key, Must, Op, Policy, Promises, Role, Scheme, Slot, Step,
};
use ordo_disk::{DiskOff, Queue, QueueOptions, RamDisk};
use ordo_ondisk::superblock::newfs::NewfsParams;
use ordo_ondisk::superblock::search;
use ordo_ondisk::{Cgx, Dinode, Endian, Format, Geometry, Ino};
use ordo_rt::Rt;
use ordo_ufs::{Inode, NewInode};
use ordo_vfs::{Caller, Kind};
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

/// A scheme that demands nothing and frees at once. At every step it checks the dinode in its block's buf: what a crash
/// between any two steps could leave must satisfy the rules of the format, or fsck would clear the file.
#[derive(Default)]
pub(crate) struct Plain {
    g: OnceCell<Geometry>,
    ready: RefCell<Vec<Key>>,
    /// The size at each step that reported one.
    pub(crate) sizes: RefCell<Vec<u64>>,
    /// New blocks of inodes, and the groups that then counted them, in the order of the steps.
    pub(crate) inodes_told: RefCell<Vec<Key>>,
    /// How many more blocks may become ready before one fails.
    pub(crate) ready_left: Cell<Option<u32>>,
}

impl Plain {
    pub(crate) fn of(g: &Geometry) -> Plain {
        Plain { g: g.clone().into(), ..Plain::default() }
    }

    fn look(&self, cache: &Cache, step: &Step<'_>) {
        let Some(g) = self.g.get() else { return };
        if let Step::BlockReady { role: Role::Inodes, block: told, .. } | Step::InodesReady { cg: told } = step {
            self.inodes_told.borrow_mut().push(told.key());
            return;
        }
        let ino = match step {
            Step::InodeChanged { ino, .. } | Step::BlocksReleased { ino, .. } | Step::InodeReleased { ino, .. } => *ino,
            Step::BlockReady { ino, block, .. } => {
                self.ready.borrow_mut().push(block.key());
                *ino
            }
            Step::BlockAllocated { ino, block, slot, new, .. } => {
                let at = self.ready.borrow().iter().position(|key| *key == block.key());
                self.ready.borrow_mut().swap_remove(at.expect("a block is ready before a pointer leads to it"));
                assert_eq!(block.addr(), Some(DiskOff(g.byte(new.at).0)));
                assert_eq!(block.len() as u32, new.frags * g.fsize);
                if let Slot::Indirect(above, i) = slot {
                    assert_eq!(g.pointer(&above.bytes(), *i), Some(new.at));
                }
                *ino
            }
            _ => return,
        };
        let (at, within) = g.inode_at(ino);
        let block = cache.find(Key::Device(at)).expect("the inode's block is in the cache");
        let dinode = Dinode::decode(&block.bytes()[within..], g, ino).unwrap();
        dinode.check(g, ino).unwrap();
        if let Step::InodeChanged { fields: Fields::Size, .. } = step {
            self.sizes.borrow_mut().push(dinode.size);
        }
        if let Step::BlockAllocated { slot: Slot::Inode(_, i), new, .. } = step {
            let pointers: Vec<_> = dinode.db.iter().chain(&dinode.ib).collect();
            assert_eq!(*pointers[usize::from(*i)], new.at);
        }
    }
}

impl Scheme for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }

    fn declares(&self) -> Promises {
        Promises {
            name_added: Durable::AfterSync,
            name_removed: Durable::AfterSync,
            data: Durable::AfterSync,
            attributes: Durable::AfterSync,
            fsync_covers_name: false,
            rename_never_loses: false,
            names_of_a_moment: false,
            durable_stays: false,
            crash_leaves: CrashLeaves::Anything,
            no_stale_data: false,
            mount_at_once: false,
            rules: Vec::new(),
        }
    }

    fn step(&self, cache: &Rc<Cache>, _op: Op, step: Step<'_>) -> Answer {
        if let (Step::BlockReady { .. }, Some(left)) = (&step, self.ready_left.get()) {
            self.ready_left.set(left.checked_sub(1));
            if left == 0 {
                return Must::Wait(Box::pin(async { Err(ordo_vfs::Error::io("a bad sector")) })).into();
            }
        }
        self.look(cache, &step);
        Answer { must: Must::Nothing, ripe: step.into_ticket() }
    }
}

pub(crate) const NOBODY: Caller = Caller { uid: 1000, gid: 1000, umask: 0o022, privileged: false };
pub(crate) const SOMEBODY: Caller = Caller { uid: 0, gid: 0, umask: 0o022, privileged: true };

/// Small volumes of every kind: format, byte order, fragments per block.
pub(crate) fn shapes() -> Vec<NewfsParams> {
    let mib = 1 << 20;
    let shape = |format, endian, bsize, fsize, bytes: u64| NewfsParams {
        endian,
        bsize,
        fsize,
        now: 1_000_000_000,
        id: 7,
        ..NewfsParams::new(format, bytes)
    };
    vec![
        shape(Format::Ufs2, Endian::Little, 4096, 512, 6 * mib + 4096 * 3 + 512 * 5),
        shape(Format::Ufs2, Endian::Big, 8192, 1024, 9 * mib),
        shape(Format::Ufs1, Endian::Little, 4096, 1024, 5 * mib + 1024),
        shape(Format::Ufs1, Endian::Big, 8192, 1024, 8 * mib),
        shape(Format::Ufs2, Endian::Little, 4096, 4096, 6 * mib),
        shape(Format::Ufs2, Endian::Little, 32768, 4096, 24 * mib),
        shape(Format::Ufs1, Endian::Little, 16384, 8192, 16 * mib),
    ]
}

/// The geometries of those volumes.
pub(crate) fn geometries() -> Vec<Geometry> {
    shapes().iter().map(|shape| shape.superblock().unwrap().geometry()).collect()
}

/// A volume on a disk in memory, mounted for writing.
pub(crate) struct Bench {
    pub(crate) rt: Rt,
    pub(crate) disk: RamDisk,
    pub(crate) ffs: Ffs,
    pub(crate) scheme: Rc<Plain>,
    pub(crate) op: Op,
}

impl Bench {
    pub(crate) fn new(shape: &NewfsParams) -> Bench {
        Bench::with(shape, Policy::default())
    }

    fn with(shape: &NewfsParams, policy: Policy) -> Bench {
        let rt = Rt::virtual_time(1);
        let disk = RamDisk::new(shape.volume_bytes);
        let sb = shape.superblock().unwrap();
        let g = sb.geometry();
        rt.block_on(newfs(&rt, Rc::new(disk.clone()), sb, rt.rng(), true)).unwrap();
        Bench::mount_with(rt, disk, Rc::new(Plain::of(&g)), &Opening::default(), policy)
    }

    pub(crate) fn mount(rt: Rt, disk: RamDisk, scheme: Rc<Plain>, opening: &Opening) -> Bench {
        Bench::mount_with(rt, disk, scheme, opening, Policy::default())
    }

    fn mount_with(rt: Rt, disk: RamDisk, scheme: Rc<Plain>, opening: &Opening, policy: Policy) -> Bench {
        let mut read = |at: ordo_ondisk::ByteOff, into: &mut [u8]| {
            disk.peek(at.0, into);
            Ok(())
        };
        let size = ordo_disk::Disk::info(&disk).size;
        let found = search::find(&mut read, size).unwrap();
        let queue = Queue::new(&rt, Rc::new(disk.clone()), QueueOptions::default());
        let cache = Cache::new(rt.clone(), queue, Health::default(), 64 << 20, policy);
        let ffs = rt.block_on(Ffs::open(&cache, scheme.clone(), found, opening)).unwrap();
        let op = Op { id: 1, kind: ordo_buf::CallKind::Write };
        Bench { rt, disk, ffs, scheme, op }
    }

    pub(crate) fn ufs2() -> Bench {
        Bench::new(&shapes()[0])
    }

    pub(crate) fn ufs2_with(policy: Policy) -> Bench {
        Bench::with(&shapes()[0], policy)
    }

    pub(crate) fn ufs1() -> Bench {
        Bench::new(&shapes()[2])
    }

    pub(crate) fn ufs1_with(policy: Policy) -> Bench {
        Bench::with(&shapes()[2], policy)
    }

    /// The geometry, to try what no volume here has.
    pub(crate) fn geometry_mut(&mut self) -> &mut Geometry {
        Rc::make_mut(&mut self.ffs.g)
    }

    pub(crate) fn load(&self, ino: Ino) -> Inode {
        self.rt.block_on(self.ffs.load(ino)).unwrap()
    }

    /// A new file of this kind in the root directory, without a name.
    pub(crate) fn create(&self, kind: Kind) -> Inode {
        let root = self.load(Ino::ROOT);
        self.rt.block_on(async {
            let NewInode { ino, generation, .. } = self.ffs.alloc_inode(self.op, &root, kind).await.unwrap();
            let mode = (kind as u16) << 12 | 0o644;
            let inode =
                Inode::new(ino, ordo_ondisk::Dinode { mode, nlink: 1, ..ordo_ondisk::Dinode::free(generation) });
            self.ffs.store(&inode).await.unwrap();
            inode
        })
    }

    /// Every group's counts equal a recount of its maps, the summary equals the groups, and the totals the summary.
    pub(crate) fn check_counts(&self) {
        let mut total = ordo_ondisk::CsumTotal::default();
        for c in (0..self.ffs.g.ncg).map(Cgx) {
            let group = self.rt.block_on(self.ffs.group(c)).unwrap();
            group.look(&self.ffs, |cg| {
                assert_eq!(cg.recount(cg.ndir()), cg.stated(), "group {}", c.0);
                assert_eq!(self.ffs.summary.cs(c), cg.cs(), "group {}", c.0);
                total = total.plus(cg.cs());
            });
        }
        assert_eq!(self.ffs.summary.total(), total);
    }

    /// Every bit of all maps.
    pub(crate) fn maps(&self) -> Vec<u8> {
        let mut all = Vec::new();
        for c in (0..self.ffs.g.ncg).map(Cgx) {
            let group = self.rt.block_on(self.ffs.group(c)).unwrap();
            group.look(&self.ffs, |cg| {
                all.extend_from_slice(cg.free());
                all.extend_from_slice(cg.iused());
            });
        }
        all
    }
}
