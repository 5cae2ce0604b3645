//! Learning and replicas (logs-active-10), on a disk that says where its head is.

use super::*;
use ordo_learning::Learns;
use ordo_rt::sync::Notify;
use std::cell::{Cell, RefCell};

/// Where a jump begins, beside the last group journal, and where it goes to.
const DOCK: u64 = 7000;
const FAR: u64 = 5;

/// A disk with a head. A write can be kept in flight.
#[derive(Clone)]
struct Arm {
    ram: RamDisk,
    state: Rc<ArmState>,
}

#[derive(Default)]
struct ArmState {
    head: Cell<u64>,
    reads: RefCell<Vec<u64>>,
    /// The next write of the journal's kind that is not forced stays in flight; one does.
    keep: Cell<bool>,
    kept: Cell<Option<u64>>,
    /// The next read stays on its way; one does.
    keep_read: Cell<bool>,
    go: Notify,
}

impl Disk for Arm {
    fn info(&self) -> DiskInfo {
        self.ram.info()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        self.state.head.set(at.0 + ordo_disk::read_len(&parts));
        self.state.reads.borrow_mut().push(at.0);
        if !self.state.keep_read.replace(false) {
            return self.ram.read(at, parts);
        }
        let arm = self.clone();
        DiskFuture::later(async move {
            arm.state.go.notified().await;
            arm.ram.read(at, parts).await
        })
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        self.state.head.set(at.0 + ordo_disk::write_len(&parts));
        if !self.state.keep.replace(false) {
            return self.ram.write(at, parts, fua);
        }
        let arm = self.clone();
        arm.state.kept.set(Some(at.0));
        DiskFuture::later(async move {
            arm.state.go.notified().await;
            arm.ram.write(at, parts, fua).await
        })
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.ram.flush()
    }

    fn positioning(&self, at: DiskOff, _: bool) -> Option<u64> {
        Some(at.0.abs_diff(self.state.head.get()))
    }
}

struct Desk {
    bed: Bed,
    arm: Arm,
    open: Open,
}

impl Desk {
    fn new(learning: Option<Learns>) -> Desk {
        let bed = Bed::new();
        let arm = Arm { ram: bed.ram.clone(), state: Rc::default() };
        let options = Options { learning, ..Options::default() };
        let kept = Kept { by: None, dirty: false };
        let open = bed.rt.block_on(async {
            let disk = Rc::new(arm.clone());
            let active = Active::open(&bed.rt, disk, &Bed::extents(), FRAG as u32, kept, options).await.unwrap();
            active.begins(ID, true).await.unwrap();
            let place = bed.place(&active);
            Journal::make(&place, FRAG as u32, ID).await.unwrap();
            let (journal, _) = Journal::open(place, ordo_blockjournal::Options::default()).await.unwrap();
            assert!(journal.tell(Rc::new(active.clone())));
            Open { active, journal }
        });
        Desk { bed, arm, open }
    }

    /// A replica of two fragments is being written, and waits until the arm goes on.
    fn with_replica_in_flight() -> Desk {
        let desk = Desk::new(None);
        desk.put(0, &[(FAR, 1), (FAR + 1, 2)]);
        desk.teach(FAR, 2);
        let active = desk.open.active.clone();
        desk.arm.state.keep.set(true);
        desk.bed.rt.spawn(async move { active.go_home(Homeward::Few).await.unwrap() });
        desk.bed.rt.run_until_idle();
        desk
    }

    fn state(&self) -> State {
        self.open.active.state()
    }

    fn head_at(&self, at: u64) {
        self.open.active.0.head.set(at);
        self.arm.state.head.set(at);
    }

    /// Committed near the head at `head`, and at home.
    fn put(&self, head: u64, blocks: &[(u64, u8)]) {
        self.head_at(head);
        self.open.commit(&self.bed, blocks);
        self.bed.home(&self.open.active);
    }

    fn read(&self, frag: u64, count: u64) -> Vec<u8> {
        self.bed.read(&self.open.active, frag * FRAG, count * FRAG).unwrap()
    }

    /// A read at the dock, then one of fragments far away.
    fn jump(&self, far: u64, count: u64) -> Vec<u8> {
        self.read(DOCK, 1);
        self.read(far, count)
    }

    /// Where the last read went.
    fn last_read(&self) -> u64 {
        *self.arm.state.reads.borrow().last().unwrap()
    }

    fn idle(&self) {
        self.bed.rt.block_on(self.open.active.go_home(Homeward::Few)).unwrap();
    }

    /// What has to be done for a replica of these fragments near the dock.
    fn teach(&self, far: u64, count: u64) {
        for _ in 0..3 {
            self.jump(far, count);
            self.open.active.0.learning.iter().for_each(|learning| learning.borrow_mut().pause());
        }
    }

    /// A desk with a replica of two fragments; and where it is.
    fn with_replica() -> (Desk, u64) {
        let desk = Desk::new(None);
        desk.put(0, &[(FAR, 1), (FAR + 1, 2)]);
        desk.teach(FAR, 2);
        desk.idle();
        assert_eq!(desk.state().replicas, 2);
        assert_eq!(desk.jump(FAR, 2), [bytes(1), bytes(2)].concat());
        assert_eq!(desk.state().from_replica, 1);
        let at = desk.last_read();
        (desk, at)
    }

    /// The place with this address, and whether no piece has it.
    fn place_at(&self, at: u64) -> (u32, bool) {
        let layer = &self.open.active.0;
        let place = (0..layer.area.places).find(|place| at - layer.area.place(*place).0 < layer.area.place_len());
        let place = place.unwrap();
        (place, (0..layer.area.pieces()).all(|piece| layer.groups.borrow().place_of(piece) != Some(place)))
    }

    /// One transaction after the other, each near this address, until `done`.
    fn commit_at(&self, head: u64, done: impl Fn(u64) -> bool) -> u64 {
        let first = self.open.journal.last().0 + 1;
        let mut seq = first;
        while !done(seq) {
            self.head_at(head);
            self.open.commit(&self.bed, &[(100 + seq % 90, seq as u8), (200, seq as u8)]);
            self.bed.home(&self.open.active);
            self.bed.rt.block_on(self.open.journal.checkpoint(Seq(seq))).unwrap();
            seq += 1;
            assert!(seq < first + 5000, "it never came");
        }
        seq
    }
}

#[test]
fn a_learned_jump_gets_a_replica_and_the_read_goes_there() {
    let (desk, at) = Desk::with_replica();
    let (_, has_no_owner) = desk.place_at(at);
    assert!(has_no_owner && at.abs_diff(DOCK * FRAG) < DOCK * FRAG / 2);
    // Not from there if the home, or the copy, is nearer; and a part of it is enough.
    desk.read(FAR + 2, 1);
    desk.read(FAR, 2);
    assert_eq!(desk.last_read(), FAR * FRAG);
    assert_eq!(desk.jump(FAR + 1, 1), bytes(2));
    assert_eq!((desk.last_read(), desk.state().from_replica), (at + FRAG, 2));
    assert_eq!(desk.state().healed, 0);
}

#[test]
fn nothing_is_learned_without_a_head_or_if_it_is_not_wanted() {
    let desk = Desk::new(Some(Learns::No));
    desk.put(0, &[(FAR, 1), (FAR + 1, 2)]);
    desk.teach(FAR, 2);
    desk.idle();
    assert_eq!((desk.state().replicas, desk.state().from_replica), (0, 0));
    let disk = Rc::new(desk.bed.ram.clone());
    let options = Options { learning: Some(Learns::Yes), ..Options::default() };
    let kept = Kept { by: Some(ID), dirty: false };
    let ssd =
        desk.bed.rt.block_on(Active::open(&desk.bed.rt, disk, &Bed::extents(), FRAG as u32, kept, options)).unwrap();
    assert!(ssd.0.learning.is_none());
}

#[test]
fn a_fragment_that_changes_is_not_read_from_its_replica() {
    let (desk, _) = Desk::with_replica();
    desk.put(0, &[(FAR, 9)]);
    assert_eq!(desk.state().replicas, 0);
    assert_eq!(desk.jump(FAR, 2), [bytes(9), bytes(2)].concat());
    assert_eq!(desk.state().from_replica, 1);
    // Neither if bytes of no transaction come, nor if the place becomes free.
    let (desk, _) = Desk::with_replica();
    desk.bed.write(&desk.open.active, (FAR + 1) * FRAG, &bytes(7)).unwrap();
    assert_eq!(desk.state().replicas, 0);
    assert_eq!(desk.jump(FAR, 2), [bytes(1), bytes(7)].concat());
    let (desk, _) = Desk::with_replica();
    let revoked = ByteRange::new(DiskOff(FAR * FRAG), FRAG).into_iter().collect();
    desk.bed.rt.block_on(desk.open.journal.commit(Transaction { revoked, ..transaction(&[(9, 9)]) })).unwrap();
    assert_eq!(desk.state().replicas, 0);
}

#[test]
fn a_fragment_that_changes_while_its_replica_is_written_has_none() {
    let desk = Desk::with_replica_in_flight();
    assert!(desk.arm.state.kept.get().is_some());
    desk.put(0, &[(FAR + 1, 3)]);
    desk.arm.state.go.notify_all();
    desk.bed.rt.run_until_idle();
    assert_eq!(desk.state().replicas, 0);
    assert_eq!(desk.jump(FAR, 2), [bytes(1), bytes(3)].concat());
}

/// What is known of a fragment may go while its bytes come from a copy or a replica: it made room in the map, or a file
/// before it was overwritten. Nobody keeps that place for it any more.
#[test]
fn bytes_of_a_place_that_nobody_keeps_any_more_are_not_returned() {
    for is_replica in [false, true] {
        let (desk, replica) = Desk::with_replica();
        let copy = desk.bed.places(&desk.open.active, FAR * FRAG)[1];
        let (active, at) = (desk.open.active.clone(), if is_replica { replica } else { copy });
        desk.head_at(at);
        desk.arm.state.keep_read.set(true);
        let part = ReadPart { block: Block::unspecified(FRAG as usize), tag: Tag::of(Kind::Data) };
        let (done, read) = ordo_rt::sync::oneshot();
        desk.bed.rt.spawn(async move { done.send(active.read(DiskOff(FAR * FRAG), vec![part]).await) });
        desk.bed.rt.run_until_idle();
        assert_eq!(desk.last_read(), at);
        desk.open.active.0.forget(FAR..FAR + 1);
        desk.arm.ram.poke(at, &bytes(99));
        desk.arm.state.go.notify_all();
        let parts = desk.bed.rt.block_on(read).unwrap().unwrap();
        assert_eq!(*parts[0].block, bytes(1), "{is_replica}");
    }
}

#[test]
fn a_replica_ends_when_a_piece_of_the_journal_gets_its_place() {
    let (desk, at) = Desk::with_replica();
    desk.commit_at(at, |_| !desk.place_at(at).1);
    assert_eq!(desk.state().replicas, 0);
    assert_eq!(desk.jump(FAR, 2), [bytes(1), bytes(2)].concat());
    assert_eq!((desk.state().from_replica, desk.state().healed), (1, 0));
}

#[test]
fn a_replica_in_flight_does_not_land_over_what_the_journal_has() {
    let desk = Desk::with_replica_in_flight();
    let at = desk.arm.state.kept.get().unwrap();
    let (place, _) = desk.place_at(at);
    let pieces = u64::from(desk.open.active.0.area.pieces());
    // More than a lap of the journal, each piece of which would like this place.
    let blocks = pieces * 8;
    let last = desk.commit_at(at, |seq| seq > blocks);
    assert!(desk.place_at(at).1, "place {place} is lent");
    for seq in last..last + 40 {
        desk.head_at(at);
        desk.open.commit(&desk.bed, &[(300 + seq % 90, seq as u8), (200, seq as u8)]);
    }
    desk.arm.state.go.notify_all();
    desk.bed.rt.run_until_idle();
    desk.bed.rt.block_on(async { desk.open.active.flush().await }).unwrap();
    let (cut, _) = desk.bed.recover(ID);
    for seq in last..last + 40 {
        assert_eq!(desk.bed.read(&cut, (300 + seq % 90) * FRAG, FRAG).unwrap(), bytes(seq as u8));
    }
    // The place is there for the journal again.
    desk.open.active.0.groups.borrow().without_owner(DiskOff(at)).find(|(_, free)| *free == place).unwrap();
}

#[test]
fn a_new_journal_begins_when_no_replica_is_in_flight() {
    let desk = Desk::with_replica_in_flight();
    let (active, began) = (desk.open.active.clone(), Rc::new(Cell::new(false)));
    let tell = began.clone();
    desk.bed.rt.spawn(async move {
        active.begins(ID + 1, true).await.unwrap();
        tell.set(true);
    });
    desk.bed.rt.run_until_idle();
    assert!(!began.get());
    desk.arm.state.go.notify_all();
    desk.bed.rt.run_until_idle();
    assert!(began.get());
    assert_eq!(desk.state().replicas, 0, "its place has its first owner again");
}

#[test]
fn a_rotten_replica_is_left_and_nothing_else_is_called_wrong() {
    let (desk, at) = Desk::with_replica();
    desk.bed.rot(at + FRAG + 3);
    assert_eq!(desk.jump(FAR, 2), [bytes(1), bytes(2)].concat());
    let state = desk.state();
    assert_eq!((state.replicas, state.from_replica, state.healed), (0, 1, 0));
    assert_ne!(desk.last_read(), at);
}

#[test]
fn a_replica_heals_what_is_wrong_at_home_and_in_its_copy() {
    let (desk, at) = Desk::with_replica();
    desk.bed.places(&desk.open.active, FAR * FRAG).iter().for_each(|at| desk.bed.rot(*at));
    // The head is at home: that is read first.
    desk.read(FAR + 2, 1);
    assert_eq!(desk.read(FAR, 2), [bytes(1), bytes(2)].concat());
    assert_eq!(desk.state().healed, 1);
    let mut home = vec![0; FRAG as usize];
    desk.bed.ram.peek(FAR * FRAG, &mut home);
    assert_eq!(home, bytes(1));
    // What only a copy has, and that is rotten, goes home from there.
    desk.open.commit(&desk.bed, &[(FAR, 4)]);
    desk.bed.write(&desk.open.active, FAR * FRAG, &bytes(4)).unwrap();
    desk.teach(FAR, 1);
    desk.open.active.0.replicas.borrow_mut().forget(0..0);
    desk.bed.rt.block_on(desk.open.active.make_replicas());
    assert_eq!((desk.state().replicas, desk.state().dirty), (1, true), "near {at}");
    let copy = desk.bed.places(&desk.open.active, FAR * FRAG)[0];
    assert_ne!(copy, FAR * FRAG);
    desk.bed.rot(copy);
    desk.bed.home(&desk.open.active);
    desk.bed.ram.peek(FAR * FRAG, &mut home);
    assert_eq!(home, bytes(4));
}

#[test]
fn contents_past_the_journal_have_replicas_too() {
    let desk = Desk::new(None);
    let all: Vec<u8> = (0..8).flat_map(bytes).collect();
    desk.bed.write(&desk.open.active, 8 * FRAG, &all).unwrap();
    desk.bed.rt.block_on(desk.open.active.flush()).unwrap();
    desk.teach(10, 1);
    desk.idle();
    assert_eq!(desk.state().replicas, 8, "one checksum has eight fragments");
    assert_eq!(desk.jump(10, 1), bytes(2));
    assert_eq!(desk.state().from_replica, 1);
    desk.bed.write(&desk.open.active, 9 * FRAG, &bytes(77)).unwrap();
    assert_eq!(desk.state().replicas, 0);
    // What is not known cannot be verified, and has none.
    desk.bed.ram.poke(40 * FRAG, &bytes(40));
    desk.teach(40, 1);
    desk.idle();
    assert_eq!(desk.state().replicas, 0);
}

#[test]
fn a_power_cut_finds_all_that_was_committed_whatever_was_replicated() {
    let (mut made, mut lives) = (0, 0);
    for seed in 0..60 {
        let desk = Desk::new(None);
        let mut rng = ordo_rt::Rng::new(seed);
        let mut now = std::collections::BTreeMap::new();
        // What no transaction has any more is at home, durably, or in a copy.
        for seq in 1..=rng.range(20, 300) {
            let blocks: Vec<(u64, u8)> = (0..rng.range(1, 9)).map(|_| (rng.below(60), rng.below(250) as u8)).collect();
            desk.open.active.0.head.set(rng.below(8 << 10) * FRAG);
            desk.open.commit(&desk.bed, &blocks);
            now.extend(blocks.iter().copied());
            for (frag, seed) in &now {
                desk.bed.write(&desk.open.active, frag * FRAG, &bytes(*seed)).unwrap();
            }
            if rng.below(3) == 0 {
                // Before that the log has the newest bytes, too.
                desk.bed.rt.block_on(desk.open.active.settled()).unwrap();
                desk.bed.rt.block_on(desk.open.journal.checkpoint(Seq(seq))).unwrap();
            }
            if rng.below(4) == 0 {
                let far = rng.below(50);
                desk.teach(far, rng.range(1, 8));
            }
            match rng.below(4) {
                0 => desk.idle(),
                // Nothing was carried home for it.
                1 => desk.bed.rt.block_on(desk.open.active.make_replicas()),
                _ => {}
            }
            if rng.below(30) == 0 {
                let some = rng.below(60);
                desk.bed.rt.block_on(desk.open.active.0.carry_run(some..some + 9)).unwrap();
                desk.bed.rt.block_on(desk.open.active.make_replicas());
            }
            made += desk.state().replicas;
            for (frag, seed) in &now {
                if rng.below(9) == 0 {
                    assert_eq!(desk.jump(*frag, 1), bytes(*seed), "fragment {frag} of life {seed}");
                }
            }
        }
        lives += desk.state().from_replica;
        desk.bed.ram.power_cut();
        let (cut, _) = desk.bed.recover(ID);
        for (frag, byte) in &now {
            let read = desk.bed.read(&cut, frag * FRAG, FRAG);
            assert!(read.is_ok_and(|read| read == bytes(*byte)), "fragment {frag} of life {seed}");
        }
        assert_eq!(cut.state().healed, 0, "life {seed}");
    }
    assert!(made > 1000 && lives > 100, "{made} {lives}");
}

#[test]
fn a_replica_is_not_written_over_what_only_a_copy_has() {
    let desk = Desk::new(None);
    let active = &desk.open.active;
    // Their copies do not lie together: they are read at home.
    for half in [0..4, 4..8] {
        desk.put(0, &half.map(|n| (FAR + n, n as u8)).collect::<Vec<_>>());
    }
    // The copy of fragment 900 lies in the last place; then its piece moves away, and the place has no owner.
    let end = active.0.area.place(active.0.area.places - 1).0;
    desk.open.commit(&desk.bed, &[(900, 6)]);
    desk.head_at(end);
    // So many that another piece is entered.
    let more = (100..107).map(|frag| (frag, 1));
    desk.open.commit(&desk.bed, &more.chain([(900, 7)]).collect::<Vec<_>>());
    desk.bed.write(active, 900 * FRAG, &bytes(7)).unwrap();
    let copy = desk.bed.places(active, 900 * FRAG)[0];
    desk.bed.rt.block_on(active.0.carry_run(0..300)).unwrap();
    desk.bed.rt.block_on(async { active.flush().await }).unwrap();
    let layer = &active.0;
    let piece = layer.groups.borrow().piece_of(desk.place_at(copy).0).unwrap();
    layer.groups.borrow_mut().enter(&layer.area, piece..piece + 1, Some(DiskOff(0)), &|_, _| true, &|_| false);
    assert!(desk.place_at(copy).1);
    assert_eq!(desk.bed.places(active, 900 * FRAG), [copy], "the home lacks it, and no piece has the place");
    for _ in 0..3 {
        desk.read(end / FRAG - 1, 1);
        desk.read(FAR, 8);
        active.0.learning.iter().for_each(|learning| learning.borrow_mut().pause());
    }
    desk.bed.rt.block_on(active.make_replicas());
    assert_eq!(desk.state().replicas, 8);
    desk.read(end / FRAG - 1, 1);
    assert_eq!(desk.read(FAR, 8), (0..8).flat_map(bytes).collect::<Vec<_>>());
    assert_eq!(desk.state().from_replica, 1);
    assert_eq!(desk.read(900, 1), bytes(7));
    desk.bed.home(active);
    assert_eq!(desk.read(900, 1), bytes(7));
}

#[test]
fn a_replica_waits_until_what_was_carried_home_is_durable_there() {
    let desk = Desk::new(None);
    desk.put(0, &[(FAR, 1), (FAR + 1, 2)]);
    desk.open.commit(&desk.bed, &[(30, 3)]);
    desk.bed.rt.block_on(desk.open.active.0.carry_run(30..31)).unwrap();
    desk.teach(FAR, 2);
    desk.bed.rt.block_on(desk.open.active.make_replicas());
    assert_eq!(desk.state().replicas, 0);
    desk.bed.rt.block_on(async { desk.open.active.flush().await }).unwrap();
    desk.teach(FAR, 2);
    desk.bed.rt.block_on(desk.open.active.make_replicas());
    assert_eq!(desk.state().replicas, 2);
}

#[test]
fn a_fragment_of_which_nothing_is_known_any_more_is_not_read_from_a_replica() {
    let (desk, _) = Desk::with_replica();
    // As a full map does, when another entry needs the room.
    desk.open.active.0.map.borrow_mut().remove(FAR + 1);
    desk.bed.ram.poke((FAR + 1) * FRAG, &bytes(9));
    assert_eq!(desk.jump(FAR, 2), [bytes(1), bytes(9)].concat());
    assert_eq!(desk.state().from_replica, 1);
}
