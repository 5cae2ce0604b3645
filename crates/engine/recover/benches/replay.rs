//! The cost of replaying a full journal of 32 MiB on a volume of 1 TiB, on a RAM disk:
//! `cargo bench -p ordo-recover`. The records describe files that were made and have no name; half of them
//! are on the disk, half only in the bitmaps. A quarter of a million inodes in about a thousand groups, with three
//! blocks each.

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use ordo_disk::{Disk, RamDisk};
use ordo_fsck::{Mode, Options, Report};
use ordo_ondisk::cg::{CgMut, map};
use ordo_ondisk::dinode::mode;
use ordo_ondisk::suj::{self, BlockRecord, Record, RefRecord, Segment, lay_out};
use ordo_ondisk::superblock::fields::flag;
use ordo_ondisk::superblock::newfs::NewfsParams;
use ordo_ondisk::superblock::search::Recovery;
use ordo_ondisk::{CgLayout, Cgx, Dinode, Format, FragNo, Geometry, Ino, Lbn, Superblock, cg, dirent};
use ordo_recover::Replayed;
use ordo_rt::Rt;
use std::rc::Rc;

const BYTES: u64 = 1 << 40;
const MOUNTED: i64 = 1_000_000_000;
/// Initialised inodes of each group.
const INODES: u32 = 256;
const JOURNAL: u32 = 3;
/// Records of a segment of 64 sectors.
const RECORDS: usize = 64 * 15;

fn run(rt: &Rt, ram: &RamDisk, mode: Mode) -> Report {
    let (inner, disk): (Rt, Rc<dyn Disk>) = (rt.clone(), Rc::new(ram.clone()));
    rt.block_on(async move { ordo_fsck::check(&inner, disk, Options::new(mode)).await }).expect("a volume")
}

fn replay(rt: &Rt, ram: &RamDisk) -> Replayed {
    let (inner, disk): (Rt, Rc<dyn Disk>) = (rt.clone(), Rc::new(ram.clone()));
    rt.block_on(async move { ordo_recover::replay_suj(&inner, disk).await }).expect("a journal")
}

struct Volume {
    ram: RamDisk,
    sb: Superblock,
    g: Geometry,
}

impl Volume {
    /// Superblocks and groups as newfs writes them; the root directory comes from a repair.
    fn new(rt: &Rt) -> Volume {
        let mut sb = NewfsParams::new(Format::Ufs2, BYTES).superblock().expect("a possible shape");
        let (g, ram) = (sb.geometry(), RamDisk::new(BYTES));
        for c in (0..g.ncg).map(Cgx) {
            let at = g.byte(g.cgsblock(c));
            ram.poke(at.0, &sb.encode_copy(at));
            let mut group = cg::init(&g, c, cg::first_inodes(&g));
            cg::seal(&mut group, &g, 0).expect("a whole block");
            ram.poke(g.byte(g.cgtod(c)).0, &group);
        }
        ram.poke(sb.at.0, &sb.encode(0));
        ram.poke(Recovery::AT.0, &Recovery::of(&sb).encode());
        run(rt, &ram, Mode::Repair);
        Volume { ram, sb, g }
    }

    fn inode(&self, ino: u32, change: impl FnOnce(&mut Dinode)) {
        let mut bytes = vec![0; 256];
        self.ram.peek(Dinode::place(&self.g, Ino(ino)).0, &mut bytes);
        let mut dinode = Dinode::decode(&bytes, &self.g, Ino(ino)).expect("an inode");
        change(&mut dinode);
        dinode.encode(&mut bytes, &self.g).expect("an inode");
        self.ram.poke(Dinode::place(&self.g, Ino(ino)).0, &bytes);
    }

    /// Writes the journal, in group 1; returns where its contiguous blocks are.
    fn journal(&self, rt: &Rt) -> u64 {
        let (g, first) = (&self.g, self.g.cgdmin(Cgx(1)));
        let block = |n: u32| first.plus(n * g.frag);
        let count = (suj::SUJ_MAX / u64::from(g.bsize)) as u32;
        self.inode(JOURNAL, |d| {
            (d.mode, d.nlink, d.size, d.flags) = (suj::MODE, 1, suj::SUJ_MAX, suj::NEW_FLAGS);
            (d.blocks, d.modrev) = (u64::from(count + 1) * u64::from(g.bsize / 512), MOUNTED as u64);
            d.db = std::array::from_fn(|n| block(n as u32));
            d.ib[0] = block(count);
        });
        let mut pointers = vec![0; g.bsize as usize];
        (12..count).for_each(|n| g.put_pointer(&mut pointers, n - 12, block(n)).expect("room"));
        self.ram.poke(g.byte(block(count)).0, &pointers);
        let mut bytes = vec![0; 256];
        self.ram.peek(Dinode::place(g, Ino::ROOT).0, &mut bytes);
        let root = g.byte(Dinode::decode(&bytes, g, Ino::ROOT).expect("the root").db[0]).0;
        let mut names = dirent::new_directory(g.dir_format(), Ino::ROOT, Ino::ROOT);
        dirent::set_reclen(&mut names, 12, g.dir_format(), 12).expect("room");
        dirent::write(&mut names, 24, g.dir_format(), 512 - 24, Ino(JOURNAL), 8, suj::NAME.as_bytes()).expect("room");
        self.ram.poke(root, &names);
        let report = run(rt, &self.ram, Mode::Repair);
        assert!(!report.left);
        g.byte(first).0
    }

    /// Makes files without a name in a group, and their records.
    fn files(&self, c: u32, count: u32, records: &mut Vec<Record>) {
        let g = &self.g;
        let at = g.byte(g.cgtod(Cgx(c))).0;
        let mut group = vec![0; g.cgsize as usize];
        self.ram.peek(at, &mut group);
        let mut maps = CgMut::new(&mut group, CgLayout::computed(g, Cgx(c)), g.endian).expect("a whole block");
        for n in 0..count {
            let ino = Ino(c * g.ipg + n);
            let block = |lbn: u32| g.cgdmin(Cgx(c)).plus((n * 3 + lbn) * g.frag);
            let of = RefRecord { ino, parent: Ino::ROOT, nlink: 0, mode: mode::REG | 0o644, diroff: 300 };
            records.push(Record::AddRef(of));
            map::set(maps.iused_mut(), n);
            for lbn in 0..3 {
                let (blkno, lbn) = (block(lbn), Lbn(lbn.into()));
                records.push(Record::NewBlk(BlockRecord { ino, blkno, lbn, frags: g.frag as u16, oldfrags: 0 }));
                map::fill(maps.free_mut(), g.dtogd(blkno).0, g.frag, false);
            }
            if n % 2 == 0 {
                self.inode(ino.0, |d| {
                    (d.mode, d.nlink, d.size) = (mode::REG | 0o644, 1, 3 * u64::from(g.bsize));
                    d.blocks = 3 * u64::from(g.bsize / 512);
                    d.db = std::array::from_fn(|lbn| if lbn < 3 { block(lbn as u32) } else { FragNo::HOLE });
                });
            }
        }
        maps.rebuild_counts(0);
        cg::seal(&mut group, g, 0).expect("a whole block");
        self.ram.poke(at, &group);
    }

    /// Writes the superblock of a mounted volume.
    fn mount(&mut self) {
        let mut bytes = vec![0; ordo_ondisk::superblock::SBLOCKSIZE];
        self.ram.peek(self.sb.at.0, &mut bytes);
        let mut sb = Superblock::decode(&bytes, self.sb.at).expect("a superblock");
        (sb.fields.clean, sb.fields.mtime) = (0, MOUNTED);
        sb.fields.flags |= flag::SUJ | flag::DOSOFTDEP;
        self.ram.poke(sb.at.0, &sb.encode(0));
    }
}

fn crashed(rt: &Rt) -> RamDisk {
    let mut volume = Volume::new(rt);
    let place = volume.journal(rt);
    let most = (suj::SUJ_MAX / 512 * 15) as usize;
    let mut records = Vec::with_capacity(most + 4);
    for c in 2..volume.g.ncg {
        let left = (most - records.len()) as u32 / 4;
        volume.files(c, left.min(INODES), &mut records);
    }
    for (n, records) in records.chunks(RECORDS).enumerate() {
        let head = Segment { seq: n as u64, oldest: 0, time: MOUNTED };
        let bytes = lay_out(head, records, 512, volume.g.endian).expect("records");
        volume.ram.poke(place + n as u64 * 64 * 512, &bytes);
    }
    volume.mount();
    volume.ram
}

fn bench(c: &mut Criterion) {
    let rt = Rt::virtual_time(1);
    let ram = crashed(&rt);
    let once = ram.snapshot();
    let done = replay(&rt, &once);
    println!("{done:?}");
    assert_eq!(run(&rt, &once, Mode::Check).count(), 0);
    let mut group = c.benchmark_group("replay");
    group.sample_size(10);
    group.bench_function("32 MiB on 1 TiB", |b| {
        b.iter_batched(|| ram.snapshot(), |ram| replay(&rt, &ram), BatchSize::PerIteration);
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
