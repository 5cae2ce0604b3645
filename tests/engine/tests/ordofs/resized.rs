//! The library's `resize` on disks in memory: what fsck says of volumes of another size, what is in them, and what a
//! power cut leaves.

use ordo_fsck::Mode;
use ordo_ondisk::superblock::newfs::{NewfsParams, System};
use ordo_ondisk::{Endian, Format, Superblock};
use ordo_simdisk::{Effect, Fault, FaultPlan, Faulty};
use ordo_vfs::{Caller, FileSystem, Kind, Mode as Bits, Name};
use ordofs::disk::{Disk, DiskOp, RamDisk};
use ordofs::path::{Held, resolve};
use ordofs::rt::{Rng, Rt};
use ordofs::{MountOptions, Mounted, NewVolume, ResizeError, Resized, locate_on, resize_on};
use std::rc::Rc;

fn rt() -> Rt {
    Rt::virtual_time(1)
}

fn shape(format: Format, endian: Endian, bsize: u32, fsize: u32, bytes: u64) -> NewfsParams {
    NewfsParams { endian, bsize, fsize, now: 1, ..NewfsParams::new(format, bytes) }
}

/// A volume on a disk of `room` bytes that holds garbage behind it.
fn volume(params: &NewfsParams, room: u64) -> RamDisk {
    let disk = RamDisk::new(room);
    NewVolume { params: params.clone() }.create_on(&rt(), Rc::new(disk.clone()), true).unwrap();
    let garbage = vec![0xa5; 1 << 16];
    for at in (params.volume_bytes.next_multiple_of(1 << 16)..room).step_by(1 << 16) {
        disk.poke(at, &garbage[..garbage.len().min((room - at) as usize)]);
    }
    disk
}

fn superblock(disk: &RamDisk) -> Superblock {
    locate_on(&rt(), Rc::new(disk.clone())).unwrap().found.into_ufs().unwrap().superblock
}

fn check(disk: &RamDisk, mode: Mode) -> (i32, String) {
    let (rt, disk): (Rt, Rc<dyn Disk>) = (rt(), Rc::new(disk.clone()));
    let inner = rt.clone();
    let report = rt.block_on(async move { ordo_fsck::check(&inner, disk, ordo_fsck::Options::new(mode)).await });
    let report = report.unwrap();
    (report.exit_code().into(), format!("{report:?}"))
}

#[track_caller]
fn is_clean(disk: &RamDisk) {
    let (code, said) = check(disk, Mode::Check);
    assert_eq!(code, 0, "{said}");
    let sb = superblock(disk);
    assert!(sb.is_clean() && sb.warnings.is_empty(), "{:?}", sb.warnings);
}

/// Works on the mounted volume.
fn mounted<T>(disk: &RamDisk, work: impl AsyncFnOnce(&Rc<ordofs::Fs>) -> T) -> T {
    let rt = rt();
    let located = locate_on(&rt, Rc::new(disk.clone())).unwrap();
    let options = MountOptions { scheme: Some("sync".into()), ..MountOptions::default() };
    let mounted = rt.block_on(Mounted::mount(&rt, located, &options)).unwrap();
    let done = rt.block_on(work(mounted.fs()));
    rt.block_on(mounted.unmount()).unwrap();
    done
}

/// Makes a file of `len` bytes; returns how many there was room for.
fn put(disk: &RamDisk, name: &str, len: usize) -> usize {
    let who = Caller { privileged: true, ..Caller::default() };
    mounted(disk, async |fs| {
        let name = Name::new(name.as_bytes()).unwrap();
        let made = fs.mknod(&who, fs.root(), name, Kind::Regular, Bits::new(0o644), 0).await.unwrap();
        let file = Held::new(fs, made);
        let piece: Vec<u8> = (0..65536u32).map(|i| (i % 251) as u8).collect();
        let mut at = 0;
        while at < len {
            match fs.write(&who, file.node(), at as u64, &piece[..piece.len().min(len - at)]).await {
                Ok(n) => at += n as usize,
                Err(_) => break,
            }
        }
        at
    })
}

fn get(disk: &RamDisk, name: &str) -> Vec<u8> {
    mounted(disk, async |fs| {
        let file = resolve(fs, name.as_bytes(), true).await.unwrap();
        let size = file.attr().size as u32;
        fs.read(file.node(), 0, size).await.unwrap().concat()
    })
}

fn resize(disk: &RamDisk, bytes: u64) -> Result<Resized, ResizeError> {
    resize_on(&rt(), Rc::new(disk.clone()), bytes)
}

const MIB: u64 = 1 << 20;

#[test]
fn a_volume_grows_within_its_last_group_by_one_and_by_many_and_twice() {
    for (format, endian, bsize, fsize) in [
        (Format::Ufs2, Endian::Little, 32768, 4096),
        (Format::Ufs1, Endian::Big, 8192, 1024),
        (Format::Ufs2, Endian::Big, 4096, 512),
        (Format::Ufs1, Endian::Little, 4096, 4096),
    ] {
        for system in [System::FreeBsd, System::NetBsd] {
            let params = NewfsParams { system, ..shape(format, endian, bsize, fsize, 9 * MIB + 12288) };
            let disk = volume(&params, 64 * MIB);
            put(&disk, "f", 300_000);
            let first = superblock(&disk);
            for bytes in [9 * MIB + 65536, 10 * MIB, 31 * MIB + 4096, 64 * MIB] {
                let resized = resize(&disk, bytes).unwrap();
                assert!(resized.is <= bytes && bytes - resized.is < 2 * MIB, "{resized:?}");
                is_clean(&disk);
                assert_eq!(superblock(&disk).volume_bytes(), resized.is);
            }
            let last = superblock(&disk);
            assert!(last.fields.ncg > first.fields.ncg && last.hashes() == first.hashes());
            assert_eq!(put(&disk, "large", 40 << 20), 40 << 20, "{format:?} {bsize}");
            is_clean(&disk);
            assert_eq!(get(&disk, "f").len(), 300_000);
        }
    }
}

/// The places where searches for free blocks begin were in the part that is cut off.
#[test]
fn a_volume_that_was_full_and_shrinks_is_clean() {
    for format in [Format::Ufs1, Format::Ufs2] {
        for to in [36 * MIB, 30 * MIB, 12 * MIB] {
            let disk = volume(&shape(format, Endian::Little, 4096, 512, 40 * MIB), 40 * MIB);
            put(&disk, "big", 39 << 20);
            mounted(&disk, async |fs| fs.unlink(fs.root(), Name::new(b"big").unwrap()).await.unwrap());
            resize(&disk, to).unwrap();
            is_clean(&disk);
        }
    }
}

#[test]
fn sizes_at_random_up_and_down_leave_clean_volumes() {
    let mut rng = Rng::new(7);
    let mut below = |n: u64| rng.next_u64() % n;
    for _ in 0..40 {
        let (bsize, fsize) = [(4096, 512), (8192, 1024), (32768, 4096), (16384, 16384)][below(4) as usize];
        let format = [Format::Ufs1, Format::Ufs2][below(2) as usize];
        let endian = [Endian::Little, Endian::Big][below(2) as usize];
        // Small groups: many of them, and a summary that grows.
        let max_fpg = [None, Some(900), Some(2500)][below(3) as usize];
        let start = 4 * MIB + below(8 * MIB) / 512 * 512;
        let params = NewfsParams { max_fpg, ..shape(format, endian, bsize, fsize, start) };
        if params.superblock().is_err() {
            continue;
        }
        let disk = volume(&params, 48 * MIB);
        put(&disk, "f", 100_000 + below(500_000) as usize);
        let held = get(&disk, "f");
        for _ in 0..4 {
            let bytes = 4 * MIB + below(44 * MIB);
            let before = disk.to_vec();
            match resize(&disk, bytes) {
                Ok(resized) => assert!(resized.is <= bytes),
                Err(ResizeError::InUse { .. } | ResizeError::NoRoom { .. }) => assert!(disk.to_vec() == before),
                Err(error) => panic!("{params:?} to {bytes}: {error}"),
            }
            let (code, said) = check(&disk, Mode::Check);
            assert_eq!(code, 0, "{params:?} to {bytes}: {said}");
        }
        assert_eq!(get(&disk, "f"), held);
    }
}

#[test]
fn a_summary_that_outgrows_its_place_moves_to_where_freebsd_wants_it() {
    let params = NewfsParams { max_fpg: Some(600), ..shape(Format::Ufs2, Endian::Little, 4096, 512, 4 * MIB) };
    let disk = volume(&params, 128 * MIB);
    // The block behind that of the summary is taken.
    put(&disk, "f", 4 << 20);
    let before = superblock(&disk);
    resize(&disk, 128 * MIB).unwrap();
    is_clean(&disk);
    let (after, g) = (superblock(&disk), superblock(&disk).geometry());
    assert!(after.fields.cssize > before.fields.cssize, "the test needs more groups");
    assert_ne!(after.fields.csaddr, before.fields.csaddr);
    assert_eq!(g.csaddr, g.cgdmin(g.dtog(g.csaddr)));
}

#[test]
fn only_what_is_free_is_cut_off() {
    let disk = volume(&shape(Format::Ufs2, Endian::Little, 32768, 4096, 32 * MIB), 32 * MIB);
    let put_in = put(&disk, "f", 24 << 20);
    assert_eq!(put_in, 24 << 20);
    let before = disk.to_vec();
    let refused = resize(&disk, 8 * MIB).unwrap_err();
    assert!(matches!(refused, ResizeError::InUse { blocks, .. } if blocks > 8 << 20), "{refused}");
    assert!(refused.to_string().contains("bytes in use lie beyond"), "{refused}");
    assert!(disk.to_vec() == before);
    assert!(matches!(resize(&disk, 1000), Err(ResizeError::TooSmall { .. })));
    assert!(matches!(resize(&disk, 1 << 40), Err(ResizeError::TooLarge { .. })));
    assert!(disk.to_vec() == before);
    let smaller = volume(&shape(Format::Ufs2, Endian::Little, 32768, 4096, 32 * MIB), 32 * MIB);
    assert_eq!(resize(&smaller, 16 * MIB).unwrap().is, 16 * MIB);
    is_clean(&smaller);
}

#[test]
fn a_volume_in_use_is_refused() {
    let disk = volume(&shape(Format::Ufs2, Endian::Little, 32768, 4096, 8 * MIB), 16 * MIB);
    let rt = rt();
    let located = locate_on(&rt, Rc::new(disk.clone())).unwrap();
    let mounted = rt.block_on(Mounted::mount(&rt, located, &MountOptions::default())).unwrap();
    assert!(matches!(resize(&disk, 16 * MIB), Err(ResizeError::Dirty)));
    rt.block_on(mounted.unmount()).unwrap();
    assert!(resize(&disk, 16 * MIB).is_ok());
}

#[test]
fn a_power_cut_at_any_write_leaves_a_volume_that_fsck_repairs_with_its_files() {
    for (format, to) in [(Format::Ufs2, 13 * MIB), (Format::Ufs1, 13 * MIB), (Format::Ufs2, 6 * MIB)] {
        let params = NewfsParams { max_fpg: Some(900), ..shape(format, Endian::Little, 4096, 512, 8 * MIB) };
        let whole = volume(&params, 16 * MIB);
        put(&whole, "f", 200_000);
        let held = get(&whole, "f");
        let mut cuts = 0;
        for (nth, seed) in (1..).step_by(3).flat_map(|nth| (0..2).map(move |seed| (nth, seed))) {
            let ram = whole.snapshot().volatile(true);
            let plan = FaultPlan::new(seed).with(Fault::new(DiskOp::Write, nth, Effect::PowerCut));
            let cache = ram.clone();
            let faulty = Faulty::new(Rc::new(ram.clone()), plan);
            let faulty = faulty.on_power_cut(move |rng| cache.power_cut_at_random(rng));
            if resize_on(&Rt::virtual_time(seed), Rc::new(faulty.clone()), to).is_ok() {
                break;
            }
            cuts += 1;
            let what = format!("{format:?} to {to}, write {nth}, seed {seed}");
            let ram = ram.snapshot();
            let untouched = ram.to_vec() == whole.to_vec();
            // A superblock of which not all sectors were written is none.
            let found = locate_on(&rt(), Rc::new(ram.clone())).and_then(|located| located.found.into_ufs());
            let marked = !found.is_ok_and(|found| found.superblock.is_clean());
            let (code, said) = check(&ram, Mode::Check);
            // A torn last write: all is in its place, and only the hash of the superblock is not.
            let torn = said.matches("finding: ").count() == said.matches("damage: SuperblockHash").count();
            assert!(untouched || marked || code == 0 || torn, "{what}: {said}");
            let (code, said) = check(&ram, Mode::Repair);
            assert!(code <= 1, "{what}: {said}");
            let (code, said) = check(&ram, Mode::Check);
            assert_eq!(code, 0, "{what}: {said}");
            assert!(get(&ram, "f") == held, "{what}");
        }
        assert!(cuts > 10, "{cuts}");
    }
}
