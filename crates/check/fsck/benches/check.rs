//! The cost of checking a small, empty volume on a RAM disk: `cargo bench -p ordo-fsck`. The power-cut explorer spends
//! most of its time on such checks.

use criterion::{Criterion, criterion_group, criterion_main};
use ordo_disk::{Disk, RamDisk};
use ordo_fsck::{Mode, Options, Report};
use ordo_ondisk::superblock::newfs::NewfsParams;
use ordo_ondisk::superblock::search::Recovery;
use ordo_ondisk::{Cgx, Format, cg};
use ordo_rt::Rt;
use std::rc::Rc;

fn run(rt: &Rt, ram: &RamDisk, mode: Mode) -> Report {
    let (inner, disk): (Rt, Rc<dyn Disk>) = (rt.clone(), Rc::new(ram.clone()));
    rt.block_on(async move { ordo_fsck::check(&inner, disk, Options::new(mode)).await }).expect("a volume")
}

/// Superblocks and groups as newfs writes them; the root directory comes from a repair.
fn empty(rt: &Rt, bytes: u64, bsize: u32, fsize: u32) -> RamDisk {
    let wanted = NewfsParams { bsize, fsize, ..NewfsParams::new(Format::Ufs2, bytes) };
    let mut sb = wanted.superblock().expect("a possible shape");
    let (g, ram) = (sb.geometry(), RamDisk::new(bytes));
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
    assert_eq!(run(rt, &ram, Mode::Check).exit_code(), 0);
    ram
}

fn check(c: &mut Criterion) {
    let mut group = c.benchmark_group("check");
    let rt = Rt::virtual_time(1);
    for (mib, bsize, fsize) in [(64, 32768, 4096), (64, 4096, 512), (4, 4096, 512)] {
        let ram = empty(&rt, mib << 20, bsize, fsize);
        group.bench_function(format!("{mib} MiB, {bsize}/{fsize}"), |b| b.iter(|| run(&rt, &ram, Mode::Check)));
    }
    group.finish();
}

criterion_group!(benches, check);
criterion_main!(benches);
