//! Every geometry that a volume can be made with: formats, byte orders, all legal sizes of blocks and fragments,
//! volumes from the smallest on, truncated groups, densities, reserves, clusters, rotation. Each volume is made,
//! checked, used together with the model, checked again, compared after a remount, cleared and checked: nothing may be
//! left over.
//!
//! `ORDO_GEOMETRY=full` tests every combination instead of a selection; it takes some minutes.

use crate::common;
mod real;
mod script;

use common::{assert_clean, judge, located};
use ordo_model::{MemFs, Options};
use ordo_ondisk::superblock::newfs::{NewfsError, NewfsParams, Rotation};
use ordo_ondisk::{Endian, Format};
use ordo_workload::random::compare_trees;
use ordofs::disk::RamDisk;
use ordofs::rt::Rt;
use ordofs::vfs::{FileSystem, Name, Stamp};
use ordofs::{MountOptions, Mounted, NewVolume};
use script::Done;
use std::rc::Rc;

const MIB: u64 = 1 << 20;

/// All of them, or one in `every`.
fn choice(all: Vec<NewfsParams>, every: usize) -> Vec<NewfsParams> {
    let full = std::env::var_os("ORDO_GEOMETRY").is_some_and(|value| value == "full");
    all.into_iter().step_by(if full { 1 } else { every }).collect()
}

/// All combinations of format, byte order, block and fragment size.
fn shapes() -> Vec<NewfsParams> {
    let mut shapes = Vec::new();
    for format in [Format::Ufs1, Format::Ufs2] {
        for endian in [Endian::Little, Endian::Big] {
            for bsize in (12..=16).map(|shift| 1 << shift) {
                for fsize in (0..=3).map(|shift| bsize >> shift) {
                    shapes.push(NewfsParams { endian, bsize, fsize, ..NewfsParams::new(format, 0) });
                }
            }
        }
    }
    shapes
}

/// The description of the volume in a panic message.
fn words(p: &NewfsParams) -> String {
    let NewfsParams {
        format, endian, bsize, fsize, volume_bytes, density, minfree, maxcontig, max_fpg, rotation, ..
    } = p;
    format!(
        "{format:?} {endian:?} {bsize}/{fsize}, {volume_bytes} bytes, density {density:?}, minfree {minfree}, \
         maxcontig {maxcontig:?}, max_fpg {max_fpg:?}, rotation {}",
        rotation.is_some()
    )
}

fn mount(rt: &Rt, ram: &RamDisk, scheme: &str) -> Mounted {
    let options = MountOptions { scheme: Some(scheme.into()), cache: 16 << 20, ..MountOptions::default() };
    rt.block_on(Mounted::mount(rt, located(ram, Rc::new(ram.clone())), &options)).expect("the volume can be mounted")
}

/// Runs the whole test on one volume.
fn live(p: &NewfsParams, scheme: &str) -> Done {
    let what = words(p);
    let rt = Rt::virtual_time(1);
    let ram = RamDisk::new(p.volume_bytes.next_multiple_of(p.sector.into())).with(|info| info.sector = p.sector);
    let new = NewVolume { params: p.clone() };
    new.create_on(&rt, Rc::new(ram.clone()), true).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_clean(&rt, &ram, &format!("{what}: new"));

    let g = p.superblock().expect("it was made").geometry();
    let (mounted, clock) = (mount(&rt, &ram, scheme), rt.clone());
    let model = MemFs::new(Options { max_file_size: g.maxfilesize, ..Options::default() }, move || {
        let (secs, nanos) = clock.wall();
        Stamp { secs, nanos }
    });
    let done = rt.block_on(async {
        let fs = mounted.fs();
        fs.rmdir(fs.root(), Name::new(b".snap").expect("a name")).await.expect("newfs made it, and it is empty");
        script::play(fs, &model, &g).await
    });
    rt.block_on(mounted.unmount()).expect("the disk is well");
    assert_clean(&rt, &ram, &format!("{what}: used"));

    let again = mount(&rt, &ram, scheme);
    rt.block_on(compare_trees(&model, &**again.fs()))
        .unwrap_or_else(|error| panic!("{what}: after a remount: {error}"));
    rt.block_on(script::clear(again.fs())).unwrap_or_else(|error| panic!("{what}: clearing: {error}"));
    rt.block_on(again.unmount()).expect("the disk is well");
    assert_clean(&rt, &ram, &format!("{what}: cleared"));
    let usage = judge(&rt, &ram).usage;
    assert_eq!((usage.files, usage.directories), (1, 1), "{what}: only the root is left");
    rt.drop_tasks();
    done
}

/// Counts volumes, so that the selections of one test differ.
#[derive(Default)]
struct Tally {
    volumes: u64,
    impossible: u64,
    done: Done,
}

impl Tally {
    /// Tests this volume, if it can be made; newfs may refuse it only for lack of space.
    fn live(&mut self, p: &NewfsParams) {
        match p.superblock() {
            Ok(_) => {
                let scheme = if self.volumes % 4 == 3 { "sync" } else { "async" };
                let done = live(p, scheme);
                self.volumes += 1;
                self.done.steps += done.steps;
                self.done.refused += done.refused;
            }
            Err(NewfsError::TooSmall { .. }) => self.impossible += 1,
            Err(error) => panic!("{}: {error}", words(p)),
        }
    }

    fn say(&self, what: &str) {
        let Done { steps, refused } = self.done;
        println!(
            "{what}: {} volumes, {} impossible, {steps} steps, {refused} without room",
            self.volumes, self.impossible
        );
    }
}

/// The smallest volume of this shape.
fn smallest(shape: &NewfsParams) -> NewfsParams {
    let fsize = u64::from(shape.fsize);
    (1..4096)
        .map(|frags| NewfsParams { volume_bytes: frags * fsize, ..shape.clone() })
        .find(|p| p.superblock().is_ok())
        .expect("4096 fragments are enough")
}

#[test]
fn every_block_and_fragment_size_works_on_the_smallest_volume_and_on_one_with_room() {
    let mut tally = Tally::default();
    for (i, shape) in shapes().into_iter().enumerate() {
        tally.live(&smallest(&shape));
        let room = 90 * u64::from(shape.bsize) + 2 * MIB;
        tally.live(&NewfsParams { volume_bytes: room + 512 * i as u64, ..shape });
    }
    tally.say("shapes");
    assert_eq!((tally.volumes, tally.impossible), (160, 0));
}

#[test]
fn a_volume_may_end_anywhere() {
    let mut tally = Tally::default();
    for shape in choice(shapes(), 7) {
        let (f, frag) = (u64::from(shape.fsize), u64::from(shape.bsize / shape.fsize));
        // Fragment by fragment from the smallest volume on; every larger one is possible.
        let least = smallest(&shape).volume_bytes;
        for step in [1, 2, frag, frag + 1, 5 * frag] {
            tally.live(&NewfsParams { volume_bytes: least + step * f, ..shape.clone() });
        }
        for step in 0..3000 {
            let p = NewfsParams { volume_bytes: least + step * f, ..shape.clone() };
            assert!(p.superblock().is_ok(), "{}: a smaller volume is possible", words(&p));
        }
        for mib in [1, 2, 3] {
            tally.live(&NewfsParams { volume_bytes: least + mib * MIB, ..shape.clone() });
        }
    }
    tally.say("ends");
    assert_eq!(tally.impossible, 0);
}

#[test]
fn the_last_group_may_be_short() {
    let mut tally = Tally::default();
    for (i, shape) in choice(shapes(), 5).into_iter().enumerate() {
        let frag = shape.bsize / shape.fsize;
        // Groups have at most this size; the volume is one to nine of them and a rest.
        let max_fpg = Some((smallest(&shape).volume_bytes as u32 / shape.fsize + 40 * frag).next_multiple_of(frag));
        let groups = [1, 2, 4, 9][i % 4];
        let large = NewfsParams { volume_bytes: 64 * MIB, max_fpg, ..shape.clone() };
        let g = large.superblock().expect("64 MiB are enough").geometry();
        for rest in [0, 1, frag, g.dblkno - 1, g.dblkno, g.dblkno + 1, g.dblkno + frag, g.dblkno + 4 * frag, g.fpg - 1]
        {
            let frags = u64::from(groups * g.fpg + rest);
            let volume_bytes = frags * u64::from(shape.fsize);
            tally.live(&NewfsParams { volume_bytes, max_fpg, ..shape.clone() });
        }
    }
    tally.say("last groups");
    assert_eq!(tally.impossible, 0);
}

#[test]
fn density_reserve_clusters_rotation_and_sectors_may_be_chosen() {
    let densities = |shape: &NewfsParams| [None, Some(shape.fsize), Some(shape.bsize), Some(64 << 10), Some(4 << 20)];
    let rotations = |shape: &NewfsParams| match shape.format {
        Format::Ufs1 => vec![None, Some(Rotation { rotdelay_ms: 4, rps: 60, nsect: 32 })],
        Format::Ufs2 => vec![None],
    };
    let mut wishes = Vec::new();
    for shape in shapes() {
        for (density, rotation) in
            densities(&shape).into_iter().flat_map(|d| rotations(&shape).into_iter().map(move |r| (d, r)))
        {
            for (minfree, maxcontig) in [0, 8, 50].into_iter().flat_map(|m| [Some(1), Some(16), None].map(|c| (m, c))) {
                for (sector, max_fpg) in [(512, None), (4096, Some(2000))] {
                    let label = "a label of thirty-one characters"[..(minfree as usize).min(31)].to_owned();
                    let volume_bytes = 60 * u64::from(shape.bsize) + 3 * MIB;
                    if sector <= shape.fsize {
                        let shape = NewfsParams {
                            density,
                            rotation,
                            minfree,
                            maxcontig,
                            sector,
                            max_fpg,
                            label,
                            ..shape.clone()
                        };
                        wishes.push(NewfsParams { volume_bytes, check_hashes: minfree != 0, ..shape });
                    }
                }
            }
        }
    }
    let mut tally = Tally::default();
    for p in choice(wishes, 43) {
        tally.live(&p);
    }
    tally.say("wishes");
}

#[test]
fn a_tebibyte_is_a_volume_like_any_other() {
    let mut tally = Tally::default();
    for (format, bsize, density) in [(Format::Ufs2, 65536, 1 << 20), (Format::Ufs1, 32768, 4 << 20)] {
        let shape = NewfsParams { bsize, fsize: bsize / 8, ..NewfsParams::new(format, 1 << 40) };
        tally.live(&NewfsParams { density: Some(density), ..shape });
    }
    tally.say("tebibytes");
}
