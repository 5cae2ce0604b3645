//! The record of a volume's one writer under power cuts: at every moment of a claim, of the beats beside a working
//! mount, of the release, and of a second life, with what the device may do to each write that is not durable.
//!
//! O1. Whatever is left, the record is whole, and the volume is claimed again and mounted without a person's help.
//! O2. What was fsynced is there, and after the unmount fsck finds nothing and nobody has the volume.
//! O3. Where a device breaks a sector that it was writing, the error says what to do, and that helps.

use crate::cut::Cuts;
use crate::device::{Device, Torn};
use crate::disks::Side;
use crate::fate::Futures;
use crate::record::Recording;
use crate::{Plan, volume};
use ordo_disk::{Disk, RamDisk};
use ordo_rt::{Rng, Rt};
use ordo_simdisk::Recorder;
use ordo_vfs::{Caller, FileSystem, Kind, Mode, Name};
use ordo_workload::script;
use ordofs::path::{Held, resolve};
use ordofs::{Located, MmpChange, MountOptions, Mounted, Tuning, Writer, locate_on, writer};
use rustc_hash::FxHashSet;
use std::rc::Rc;
use std::time::Duration;

/// Futures of a cut.
const MOST: usize = 40;

fn protect(rt: &Rt, ram: &RamDisk) -> Result<(), ordofs::TuneError> {
    let tuning = Tuning { mmp: Some(MmpChange::On(1000)), ..Tuning::default() };
    tuning.apply_on(rt, Rc::new(ram.clone())).map(|_| ())
}

fn options(scheme: Option<&str>) -> MountOptions {
    MountOptions { scheme: scheme.map(Into::into), ..MountOptions::default() }
}

/// Finds the volume of `ram` and mounts it through `disk`.
async fn mount(rt: &Rt, ram: &RamDisk, disk: Rc<dyn Disk>, scheme: Option<&str>) -> Result<Mounted, String> {
    let found = locate_on(&Rt::virtual_time(0), Rc::new(ram.snapshot())).map_err(|error| error.to_string())?.found;
    let located = Located { found, disk, log: None, claim: None };
    Mounted::mount(rt, located, &options(scheme)).await.map_err(|error| error.to_string())
}

/// Makes a file and fsyncs it.
async fn put(mounted: &Mounted, name: &[u8]) -> ordo_vfs::Result<()> {
    let (fs, who) = (mounted.fs(), Caller::default());
    let made = fs.mknod(&who, fs.root(), Name::new(name)?, Kind::Regular, Mode::new(0o644), 0).await?;
    let file = Held::new(fs, made);
    fs.write(&who, file.node(), 0, &[7; 3000]).await?;
    fs.fsync(file.node(), false).await
}

/// Two lives, each a claim, work, beats and a release; and after which event the file of each was durable.
fn live(base: &RamDisk, device: &Device, scheme: Option<&str>) -> (Recording, Vec<usize>) {
    let (rt, ram) = (Rt::virtual_time(5), base.snapshot());
    let recorder = Recorder::new(&rt, device.on(&rt, &ram, 5), true);
    let mut marks = vec![];
    for name in ["one", "two"] {
        rt.block_on(async {
            let mounted = mount(&rt, &ram, Rc::new(recorder.clone()), scheme).await.unwrap();
            put(&mounted, name.as_bytes()).await.unwrap();
            marks.push(recorder.with_events(<[_]>::len));
            rt.sleep(Duration::from_millis(2500)).await;
            mounted.unmount().await.unwrap();
        });
    }
    rt.drop_tasks();
    let recording = Recording::of_disk(base.snapshot(), &recorder, device, &mut marks).unwrap();
    (recording, marks)
}

/// O1 and O2.
fn judge(image: &RamDisk, scheme: Option<&str>, durable: &[&str]) -> Result<(), String> {
    let rt = Rt::virtual_time(9);
    rt.block_on(async {
        let mounted = mount(&rt, image, Rc::new(image.clone()), scheme).await?;
        mounted.leaks_ended().await;
        if let Some(why) = mounted.why_read_only() {
            return Err(format!("mounted read-only: {why}"));
        }
        for name in durable {
            let file = resolve(mounted.fs(), format!("/{name}").as_bytes(), true).await.map_err(|e| e.to_string())?;
            let read = mounted.fs().read(file.node(), 0, 3000).await.map_err(|error| error.to_string())?.concat();
            if read != [7; 3000] {
                return Err(format!("{name} is not what was fsynced"));
            }
        }
        put(&mounted, b"next").await.map_err(|error| error.to_string())?;
        mounted.unmount().await.map_err(|error| error.to_string())
    })?;
    rt.drop_tasks();
    let located = locate_on(&rt, Rc::new(image.clone())).map_err(|error| error.to_string())?;
    match writer(&rt, &located).map_err(|error| error.to_string())? {
        Writer::On(owner, Some(_)) if owner.holder.is_err() => {}
        other => return Err(format!("afterwards the record is {other:?}")),
    }
    let check = ordo_fsck::check(&rt, Rc::new(image.clone()), ordo_fsck::Options::new(ordo_fsck::Mode::Check));
    let report = rt.block_on(check).map_err(|error| error.to_string())?;
    if report.findings.is_empty() { Ok(()) } else { Err(format!("fsck finds {:?}", report.findings)) }
}

/// What the cuts have left of the record.
#[derive(Debug, Default)]
struct Left {
    images: u64,
    claimed: u64,
    free: u64,
    damaged: u64,
}

fn explore(plan: &Plan, scheme: Option<&str>) -> Left {
    let (base, device) = (volume::of(&plan.subject).unwrap(), &plan.subject.device);
    // The disk was used before; the record is made only where nothing lies.
    let place = if scheme.is_some() { [57_344, 53_248] } else { [7168, 7680] };
    place.iter().for_each(|at| base.poke(*at, &[0; 512]));
    protect(&Rt::virtual_time(1), &base).unwrap();
    let (recording, marks) = live(&base, device, scheme);
    let (mut cuts, mut rng) = (Cuts::new(&recording, device), Rng::new(3));
    let (mut left, mut seen) = (Left::default(), FxHashSet::default());
    loop {
        let moved = cuts.step();
        if !moved && cuts.at >= recording.moments.len() {
            return left;
        }
        let durable: Vec<&str> =
            ["one", "two"].into_iter().zip(&marks).filter_map(|(name, at)| (*at <= cuts.at).then_some(name)).collect();
        let units = cuts.units();
        let sides = vec![Side::Volume; units.len()];
        let futures = Futures { sides: &sides, device, units: &units, most: MOST, exhaustive: 5 }.list(&mut rng);
        for fates in futures.iter().filter(|_| moved) {
            if !seen.insert((cuts.fingerprint(fates), durable.len())) {
                continue;
            }
            let (image, _) = cuts.image(fates);
            left.images += 1;
            let told = |why: String| panic!("{scheme:?} on {}, moment {}, fates {fates}: {why}", device.name, cuts.at);
            let rt = Rt::virtual_time(0);
            match writer(&rt, &locate_on(&rt, Rc::new(image.clone())).unwrap()).unwrap() {
                Writer::On(owner, _) if owner.holder.is_ok() => left.claimed += 1,
                Writer::On(..) => left.free += 1,
                // O3.
                Writer::Damaged(_) if device.torn == Torn::Mixed => {
                    left.damaged += 1;
                    let refused = judge(&image, scheme, &durable).unwrap_err();
                    assert!(refused.contains("mmp=on"), "{refused}");
                    protect(&rt, &image).unwrap();
                }
                other => told(format!("the record is {other:?}")),
            }
            judge(&image, scheme, &durable).unwrap_or_else(told);
        }
    }
}

fn plan(scheme: Option<&str>, device: &Device) -> Plan {
    let script = script::find("create").unwrap();
    match scheme {
        Some(scheme) => Plan::new(scheme, script, device),
        None => Plan::on_log(script, device),
    }
}

#[test]
fn after_a_power_cut_at_any_moment_the_record_is_whole_and_the_volume_is_claimed_again() {
    let named = |name| Device::by_name(name).unwrap();
    for scheme in [Some("softupdates"), Some("wafs"), None] {
        for device in [named("sata"), named("plp")] {
            let left = explore(&plan(scheme, device), scheme);
            println!("{scheme:?} on {}: {left:?}", device.name);
            assert!(left.images > 50 && left.claimed > 20 && left.free > 2, "{scheme:?}, {}: {left:?}", device.name);
        }
    }
    // Sectors of 4096 bytes: each of the two lies in its own.
    let left = explore(&plan(Some("softupdates"), named("nvme")), Some("softupdates"));
    assert!(left.claimed > 20, "{left:?}");
}

#[test]
fn a_sector_that_breaks_while_it_is_written_is_reported_with_the_remedy() {
    let breaks = Device { torn: Torn::Mixed, ..Device::by_name("scsi94").unwrap().clone() };
    let left = explore(&plan(Some("softupdates"), &breaks), Some("softupdates"));
    assert!(left.damaged > 3, "{left:?}");
}
