//! Injected faults: each kind does what it says, once or for ever, and the same plan gives the same damage.

use std::ops::Range;

use ordo_rt::Rt;

use super::*;
use ordo_disk::{Kind, Queue, QueueOptions, RamDisk};

struct World {
    rt: Rt,
    ram: RamDisk,
    disk: Faulty,
}

fn world(plan: FaultPlan) -> World {
    let ram = RamDisk::new(1 << 16).volatile(true);
    World { rt: Rt::virtual_time(0), disk: Faulty::new(Rc::new(ram.clone()), plan), ram }
}

impl World {
    fn write(&self, sector: u64, byte: u8, sectors: usize, kind: Kind) -> Result<(), DiskError> {
        let part = WritePart { image: Block::copy_of(&vec![byte; sectors * 512]).image(), tag: kind.into() };
        self.rt.block_on(self.disk.write(DiskOff(sector * 512), vec![part], false))
    }

    fn read(&self, sector: u64) -> Result<Block, DiskError> {
        let part = ReadPart { block: Block::zeroed(512), tag: Kind::Data.into() };
        Ok(self.rt.block_on(self.disk.read(DiskOff(sector * 512), vec![part]))?.remove(0).block)
    }

    fn firsts(&self, sectors: Range<u64>) -> Vec<u8> {
        let bytes = self.ram.to_vec();
        sectors.map(|sector| bytes[sector as usize * 512]).collect()
    }
}

#[test]
fn the_nth_request_of_a_kind_fails_once() {
    let world = world(FaultPlan::new(0).with(Fault::error(DiskOp::Write, 2).of(&[Kind::Log])));
    for (i, kind) in [Kind::Log, Kind::Data, Kind::Data, Kind::Log, Kind::Log].into_iter().enumerate() {
        let outcome = world.write(i as u64, 1, 1, kind);
        assert_eq!(outcome.is_err(), i == 3, "write {i}");
    }
    assert_eq!(world.firsts(0..5), [1, 1, 1, 0, 1]);
    assert_eq!(world.disk.injected(), [Injected { fault: 0, op: DiskOp::Write, at: DiskOff(3 * 512) }]);
}

#[test]
fn a_bad_spot_fails_for_ever_and_its_neighbours_never() {
    let spot = Fault::error(DiskOp::Read, 1).for_ever().within(DiskOff(512)..DiskOff(1024));
    let world = world(FaultPlan::new(0).with(spot));
    for _ in 0..3 {
        let outcomes = [0, 1, 2].map(|sector| world.read(sector).is_ok());
        assert_eq!(outcomes, [true, false, true]);
    }
}

#[test]
fn short_torn_lost_and_misdirected_writes_leave_what_they_say() {
    let plan = FaultPlan::new(3)
        .with(Fault::new(DiskOp::Write, 1, Effect::Short(2)))
        .with(Fault::new(DiskOp::Write, 2, Effect::Lost))
        .with(Fault::new(DiskOp::Write, 3, Effect::Misdirected(4 * 512)))
        .with(Fault::new(DiskOp::Write, 4, Effect::Torn));
    let world = world(plan);
    assert!(world.write(0, 1, 4, Kind::Data).is_err());
    assert_eq!(world.firsts(0..4), [1, 1, 0, 0]);
    world.write(4, 2, 1, Kind::Data).unwrap();
    world.write(8, 3, 1, Kind::Data).unwrap();
    assert_eq!(world.firsts(4..13), [0, 0, 0, 0, 0, 0, 0, 0, 3]);
    assert!(world.write(64, 9, 32, Kind::Data).is_err());
    let torn: Vec<u8> = world.firsts(64..96);
    assert!(torn.contains(&9) && torn.contains(&0), "{torn:?}");
}

#[test]
fn rot_flips_the_bit_that_it_is_told_and_otherwise_one_at_random() {
    let plan = FaultPlan::new(5)
        .with(Fault::new(DiskOp::Read, 1, Effect::BitRotAt(DiskOff(700), 0x81)).for_ever())
        .with(Fault::new(DiskOp::Read, 1, Effect::BitRot).within(DiskOff(2048)..DiskOff(2560)))
        .with(Fault::new(DiskOp::Write, 1, Effect::BitRot));
    let world = world(plan);
    let block = world.read(1).unwrap();
    assert_eq!((block[700 - 512], world.read(0).unwrap()[0]), (0x81, 0));
    let wrong_bits = |block: &[u8]| block.iter().map(|byte| byte.count_ones()).sum::<u32>();
    assert_eq!((wrong_bits(&world.read(4).unwrap()), wrong_bits(&world.read(4).unwrap())), (1, 0));
    world.write(8, 0, 2, Kind::Data).unwrap();
    assert_eq!(wrong_bits(&world.ram.to_vec()), 1);
}

#[test]
fn a_flush_can_fail_or_lie() {
    let plan = FaultPlan::new(0).with(Fault::error(DiskOp::Flush, 1)).with(Fault::new(DiskOp::Flush, 2, Effect::Lost));
    let world = world(plan);
    world.write(0, 1, 1, Kind::Data).unwrap();
    assert!(world.rt.block_on(world.disk.flush()).is_err());
    world.rt.block_on(world.disk.flush()).unwrap();
    assert_eq!(world.ram.unflushed(), 1);
    world.rt.block_on(world.disk.flush()).unwrap();
    assert_eq!(world.ram.unflushed(), 0);
}

#[test]
fn after_a_power_cut_nothing_works_and_what_was_durable_is_there() {
    let plan = FaultPlan::new(1).with(Fault::new(DiskOp::Write, 40, Effect::PowerCut));
    let World { rt, ram, disk } = world(plan);
    let cut = ram.clone();
    let disk = disk.on_power_cut(move |rng| cut.power_cut_at_random(rng));
    let queue = Queue::new(&rt, Rc::new(disk.clone()), QueueOptions::default());
    let write = |sector: u64| queue.write(DiskOff(sector * 512), Block::copy_of(&[7; 512]).image(), Kind::Data.into());
    rt.block_on(async {
        for sector in 0..20 {
            write(sector).durable().await.unwrap();
        }
        for sector in 20..39 {
            write(sector).completed().await.unwrap();
        }
        assert_eq!(write(39).completed().await.unwrap_err().cause, Cause::PowerCut);
        assert_eq!(queue.flush().await.unwrap_err().cause, Cause::PowerCut);
        assert_eq!(queue.read(DiskOff(0), 512, Kind::Data.into()).await.unwrap_err().cause, Cause::PowerCut);
    });
    let bytes = ram.to_vec();
    let firsts: Vec<u8> = (0..40).map(|sector| bytes[sector * 512]).collect();
    assert!(firsts[..20].iter().all(|&byte| byte == 7));
    assert!(firsts[20..].contains(&7) && firsts[20..].contains(&0), "{firsts:?}");
    assert!(disk.power_is_off());
}

#[test]
fn the_same_plan_gives_the_same_damage() {
    let run = |seed| {
        let world = world(FaultPlan::random(seed, 30, 100));
        for i in 0..100 {
            let _ = world.write(i, i as u8, 3, Kind::Data);
            let _ = world.read(i);
        }
        (world.ram.to_vec(), world.disk.injected())
    };
    assert!(run(1) == run(1));
    assert!(run(1).0 != run(2).0);
}

#[test]
fn a_request_that_is_under_way_fails_when_the_power_goes_off() {
    let rt = Rt::virtual_time(0);
    let slow = crate::SimDisk::new(&rt, ordo_drive::Profile::named("hp_c2447").unwrap());
    let disk = Faulty::new(Rc::new(slow), FaultPlan::new(0));
    let part = ReadPart { block: Block::zeroed(512), tag: Kind::Data.into() };
    let (read, flush) = (disk.read(DiskOff(0), vec![part]), disk.flush());
    rt.run_until_idle();
    disk.cut_power();
    assert_eq!(rt.block_on(read).unwrap_err().cause, Cause::PowerCut);
    assert_eq!(rt.block_on(flush).unwrap_err().cause, Cause::PowerCut);
}
