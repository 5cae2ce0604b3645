//! The cost of calls in process, on a RAM disk: `cargo bench -p ordo-model`. The in-memory model is measured for
//! comparison: it shows the cost without a disk layout.

use criterion::{Criterion, criterion_group, criterion_main};
use ordo_model::MemFs;
use ordofs::disk::{Disk, RamDisk};
use ordofs::rt::Rt;
use ordofs::vfs::{Caller, FileSystem, Kind, Mode, Name};
use ordofs::{Located, MountOptions, Mounted, NewVolume};
use std::rc::Rc;

fn mounted(rt: &Rt, scheme: &str) -> Mounted {
    let bytes = 256 << 20;
    let ram = RamDisk::new(bytes);
    let disk: Rc<dyn Disk> = Rc::new(ram.clone());
    NewVolume::new(bytes).create_on(rt, disk.clone(), true).expect("the shape is possible");
    let mut read = |at: ordofs::ondisk::ByteOff, into: &mut [u8]| {
        ram.peek(at.0, into);
        Ok(())
    };
    let found = ordofs::ondisk::superblock::search::find(&mut read, bytes).expect("there is a volume");
    let options = MountOptions { scheme: Some(scheme.into()), ..MountOptions::default() };
    rt.block_on(Mounted::mount(rt, Located { disk, found: found.into(), log: None, claim: None }, &options))
        .expect("the volume can be mounted")
}

async fn create_unlink<F: FileSystem>(fs: &F, name: Name<'_>) {
    let who = Caller::default();
    let made = fs.mknod(&who, fs.root(), name, Kind::Regular, Mode::new(0o644), 0).await.expect("there is room");
    fs.forget(made.node, 1);
    fs.unlink(fs.root(), name).await.expect("it is there");
}

fn metadata(c: &mut Criterion) {
    let name = Name::new(b"a-file-of-no-consequence").expect("a name");
    let mut group = c.benchmark_group("create+unlink");
    let rt = Rt::real_time();
    let model = MemFs::timeless();
    group.bench_function("model", |b| b.iter(|| rt.block_on(create_unlink(&model, name))));
    for scheme in ["async", "sync"] {
        let volume = mounted(&rt, scheme);
        group.bench_function(format!("ram/{scheme}"), |b| b.iter(|| rt.block_on(create_unlink(&**volume.fs(), name))));
    }
    group.finish();

    let volume = mounted(&rt, "async");
    let fs = volume.fs();
    let node = rt.block_on(async {
        let made =
            fs.mknod(&Caller::default(), fs.root(), name, Kind::Regular, Mode::new(0o644), 0).await.expect("room");
        fs.write(&Caller::default(), made.node, 0, &[7; 65536]).await.expect("room");
        made.node
    });
    let mut group = c.benchmark_group("warm");
    group.bench_function("lookup", |b| {
        b.iter(|| {
            let found = rt.block_on(fs.lookup(fs.root(), name)).expect("it is there");
            fs.forget(found.node, 1);
        })
    });
    group.bench_function("read 4 KiB", |b| b.iter(|| rt.block_on(fs.read(node, 8192, 4096)).expect("it is there")));
    group.bench_function("write 4 KiB", |b| {
        b.iter(|| rt.block_on(fs.write(&Caller::default(), node, 8192, &[9; 4096])).expect("room"))
    });
    group.finish();
}

criterion_group!(benches, metadata);
criterion_main!(benches);
