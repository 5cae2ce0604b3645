//! The active disk with a journal above it.

use crate::layer::{Active, State};
use crate::options::{Kept, Options};
use ordo_blockjournal::{Journal, Place, Seq, Transaction};
use ordo_disk::{
    Block, ByteRange, Cause, Disk, DiskError, DiskFuture, DiskInfo, DiskOff, DiskOp, Homeward, KeepsCopies, Kind,
    Queue, QueueOptions, RamDisk, ReadPart, Tag, WritePart,
};
use ordo_rt::Rt;
use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

mod adopt;
mod beside;
mod cleaner;
mod hostile;
mod learn;
mod rounds;

const FRAG: u64 = 1024;
/// The volume's blocks are below this address; the file of the journal lies behind.
const FILE: u64 = 1 << 20;
const ID: u64 = 77;

struct Bed {
    rt: Rt,
    ram: RamDisk,
}

struct Open {
    active: Active,
    journal: Journal,
}

impl Bed {
    /// The disk, which refuses these requests.
    fn refusing<F: Fn(DiskOp, Range<u64>, Kind) -> bool>(&self, refuses: F) -> Refusing<F> {
        Refusing { ram: self.ram.clone(), max_transfer: self.ram.info().max_transfer, refuses }
    }

    fn new() -> Bed {
        Bed { rt: Rt::virtual_time(1), ram: RamDisk::new(8 << 20).volatile(true) }
    }

    fn extents() -> Vec<(DiskOff, u64)> {
        (0..4).map(|i| (DiskOff(FILE + (i << 20)), 256 << 10)).collect()
    }

    fn active(&self, kept: Kept) -> Active {
        self.active_on(Rc::new(self.ram.clone()), kept)
    }

    fn active_on(&self, disk: Rc<dyn Disk>, kept: Kept) -> Active {
        let options = Options { near_head: Some(true), ..Options::default() };
        self.rt.block_on(Active::open(&self.rt, disk, &Bed::extents(), FRAG as u32, kept, options)).unwrap()
    }

    fn place(&self, active: &Active) -> Place {
        let queue = Queue::new(&self.rt, Rc::new(active.clone()), QueueOptions::default());
        Place::new(&queue, &[active.journal()]).unwrap()
    }

    /// A new mount of a volume that the journal `before` has kept.
    fn begin(&self, before: Option<u64>, id: u64) -> Open {
        let active = self.active(Kept { by: before, dirty: false });
        self.rt.block_on(async {
            active.begins(id, false).await.unwrap();
            let place = self.place(&active);
            Journal::make(&place, FRAG as u32, id).await.unwrap();
            let (journal, _) = Journal::open(place, ordo_blockjournal::Options::default()).await.unwrap();
            assert!(journal.tell(Rc::new(active.clone())));
            Open { active, journal }
        })
    }

    /// What a mount after a crash finds: the journal's transactions, written home.
    fn recover(&self, id: u64) -> (Active, usize) {
        let active = self.active(Kept { by: Some(id), dirty: true });
        let found = self.rt.block_on(Journal::inspect(self.place(&active))).unwrap();
        assert_eq!((found.id, found.damage), (id, None));
        let all = &found.recovered.transactions;
        active.recovered(id, all.iter().map(|one| (one.seq.0, &one.stored[..], &one.revoked[..])));
        for (at, block) in found.recovered.replay() {
            self.write(&active, at.0, block).unwrap();
        }
        self.rt.block_on(active.settled()).unwrap();
        (active, all.len())
    }

    fn write(&self, active: &Active, at: u64, bytes: &[u8]) -> Result<(), DiskError> {
        let part = WritePart { image: Block::copy_of(bytes).image(), tag: Tag::of(Kind::Data) };
        self.rt.block_on(async { active.write(DiskOff(at), vec![part], false).await })
    }

    fn read(&self, active: &Active, at: u64, len: u64) -> Result<Vec<u8>, DiskError> {
        let part = ReadPart { block: Block::unspecified(len as usize), tag: Tag::of(Kind::Data) };
        let parts = self.rt.block_on(async { active.read(DiskOff(at), vec![part]).await })?;
        Ok(parts[0].block.to_vec())
    }

    fn home(&self, active: &Active) {
        self.rt.block_on(active.bring_home()).unwrap();
    }

    fn rot(&self, at: u64) {
        let mut byte = [0];
        self.ram.peek(at, &mut byte);
        self.ram.poke(at, &[byte[0] ^ 0x40]);
    }

    fn places(&self, active: &Active, at: u64) -> Vec<u64> {
        self.rt.block_on(active.copies(DiskOff(at), FRAG))[0].at.iter().map(|at| at.0).collect()
    }
}

fn bytes(seed: u8) -> Vec<u8> {
    (0..FRAG).map(|i| (i as u8).wrapping_mul(31) ^ seed).collect()
}

fn transaction(blocks: &[(u64, u8)]) -> Transaction {
    let blocks = blocks.iter().map(|(frag, seed)| (DiskOff(frag * FRAG), Block::copy_of(&bytes(*seed)).image()));
    Transaction { blocks: blocks.collect(), ..Transaction::default() }
}

impl Open {
    fn commit(&self, bed: &Bed, blocks: &[(u64, u8)]) {
        bed.rt.block_on(self.journal.commit(transaction(blocks))).unwrap();
    }

    /// The same of blocks that are committed often: their homes are left to the copies.
    fn commit_often(&self, bed: &Bed, blocks: &[(u64, u8)]) {
        let before: Vec<(u64, u8)> = blocks.iter().map(|(frag, seed)| (*frag, seed ^ 0x80)).collect();
        self.commit(bed, &before);
        self.commit(bed, blocks);
    }
}

#[test]
fn a_rotten_home_is_read_from_its_copy_and_healed() {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    open.commit_often(&bed, &[(5, 1), (6, 2)]);
    bed.write(&open.active, 5 * FRAG, &[bytes(1), bytes(2)].concat()).unwrap();
    bed.home(&open.active);
    bed.rot(5 * FRAG + 100);
    let whole = [bytes(1), bytes(2)].concat();
    // The head is at the home, so that it is read first.
    open.active.0.head.set(5 * FRAG);
    assert_eq!(bed.read(&open.active, 5 * FRAG, 2 * FRAG).unwrap(), whole);
    assert_eq!(open.active.state().healed, 1);
    let mut home = vec![0; 2 * FRAG as usize];
    bed.ram.peek(5 * FRAG, &mut home);
    assert_eq!(home, whole, "it is right at home again");
    bed.rot(6 * FRAG);
    assert_eq!(
        bed.read(&open.active, 6 * FRAG + 512, 512).unwrap(),
        bytes(2)[512..],
        "half a fragment is verified, too"
    );
    let state = State { healed: 2, mapped: 2, copies: 2, groups: 3, left_away: 1, ..State::default() };
    assert_eq!(open.active.state(), state);
}

#[test]
fn rot_in_all_copies_is_an_error_and_not_bytes() {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    open.commit(&bed, &[(5, 1)]);
    bed.write(&open.active, 5 * FRAG, &bytes(1)).unwrap();
    bed.home(&open.active);
    let places = bed.places(&open.active, 5 * FRAG);
    assert_eq!(places.len(), 2);
    places.iter().for_each(|at| bed.rot(*at));
    let error = bed.read(&open.active, 5 * FRAG, FRAG).unwrap_err();
    assert_eq!((error.cause, error.at.0), (Cause::Rot, 5 * FRAG));
    bed.rot(places[1]);
    assert_eq!(bed.read(&open.active, 5 * FRAG, FRAG).unwrap(), bytes(1), "the copy is right again");
}

#[test]
fn what_is_committed_and_not_home_is_read_from_the_journal() {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    bed.write(&open.active, 9 * FRAG, &bytes(7)).unwrap();
    open.commit_often(&bed, &[(9, 8)]);
    assert!(open.active.state().dirty);
    assert_eq!(bed.read(&open.active, 9 * FRAG, FRAG).unwrap(), bytes(8));
    assert_eq!(open.active.state().healed, 0, "nothing was wrong");
    bed.write(&open.active, 9 * FRAG, &bytes(8)).unwrap();
    assert!(open.active.state().dirty, "the copy has it, and the home need not");
    bed.home(&open.active);
    assert!(!open.active.state().dirty);
    let mut home = vec![0; FRAG as usize];
    bed.ram.peek(9 * FRAG, &mut home);
    assert_eq!(home, bytes(8));
}

#[test]
fn bytes_of_no_transaction_are_written_when_the_map_has_durably_nothing_of_their_place() {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    open.commit(&bed, &[(5, 1), (6, 2)]);
    bed.write(&open.active, 5 * FRAG, &[bytes(1), bytes(2)].concat()).unwrap();
    bed.home(&open.active);
    bed.rt.block_on(open.active.settled()).unwrap();
    bed.write(&open.active, 5 * FRAG, &bytes(9)).unwrap();
    assert_eq!(bed.read(&open.active, 5 * FRAG, FRAG).unwrap(), bytes(9));
    // As after a power cut directly after: what the pages say must not contradict the home.
    let again = bed.active(Kept { by: Some(ID), dirty: true });
    assert_eq!(bed.read(&again, 5 * FRAG, 2 * FRAG).unwrap(), [bytes(9), bytes(2)].concat());
    // The transaction itself is still in the journal. It is older than what the root says.
    let (again, count) = bed.recover(ID);
    assert_eq!((count, again.state().mapped), (1, 0), "its entry stays void, as that of the contents behind it");
}

#[test]
fn the_map_of_another_keeper_does_not_count() {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    open.commit(&bed, &[(5, 1)]);
    bed.write(&open.active, 5 * FRAG, &bytes(1)).unwrap();
    bed.home(&open.active);
    bed.rt.block_on(open.active.settled()).unwrap();
    let mapped = |by| bed.active(Kept { by, dirty: false }).state().mapped;
    assert_eq!([mapped(Some(ID)), mapped(Some(ID + 1)), mapped(None)], [1, 0, 0]);
    // Until the superblock names a new mount, the old one keeps the volume.
    let next = bed.begin(Some(ID), ID + 1);
    assert_eq!([mapped(Some(ID)), mapped(Some(ID + 1))], [1, 1]);
    assert_eq!(bed.places(&next.active, 5 * FRAG).len(), 2, "the copy of the last mount is still there");
    // Later mounts go on behind it, in place of beginning over it.
    let mut before = ID + 1;
    for mount in 2..5 {
        let open = bed.begin(Some(before), ID + mount);
        before = ID + mount;
        open.commit(&bed, &[(40 + mount, 3)]);
        bed.write(&open.active, (40 + mount) * FRAG, &bytes(3)).unwrap();
        bed.home(&open.active);
        bed.rt.block_on(open.active.settled()).unwrap();
        assert_eq!(bed.places(&open.active, 5 * FRAG).len(), 2, "mount {mount}");
    }
}

#[test]
fn after_many_laps_recovery_finds_all_and_each_home_is_right() {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    let mut rng = ordo_rt::Rng::new(5);
    let mut now = std::collections::BTreeMap::new();
    for round in 1..=600_u64 {
        let count = rng.range(1, 12);
        let blocks: Vec<(u64, u8)> = (0..count).map(|_| (rng.below(300), rng.below(250) as u8)).collect();
        open.commit(&bed, &blocks);
        now.extend(blocks.iter().copied());
        // A reader moves the head.
        let elsewhere = rng.below(7 << 10) * FRAG;
        bed.read(&open.active, elsewhere.min(FILE - FRAG), FRAG).unwrap();
        open.active.0.head.set(elsewhere);
        if round % 7 == 0 {
            for (frag, seed) in &now {
                bed.write(&open.active, frag * FRAG, &bytes(*seed)).unwrap();
            }
            bed.rt.block_on(async { open.active.flush().await }).unwrap();
            bed.rt.block_on(open.journal.checkpoint(Seq(round))).unwrap();
        }
    }
    let cut = bed.recover(ID).0;
    for (frag, seed) in &now {
        assert_eq!(bed.read(&cut, frag * FRAG, FRAG).unwrap(), bytes(*seed));
    }
    assert_eq!(cut.state().healed, 0, "no home was wrong");
    assert_eq!(cut.state().mapped, now.len() as u64);
}

#[test]
fn a_full_journal_leaves_nothing_behind_that_counts() {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    let mut seq = 0;
    while open.journal.fits(4) {
        seq += 1;
        // The last piece that is entered is that of the tail, if there is room; it would move.
        open.active.0.head.set(if open.journal.room() < 9 { 0 } else { 4 << 20 });
        open.commit(&bed, &[(seq % 300, seq as u8)]);
        if seq == 2 {
            bed.home(&open.active);
            bed.rt.block_on(open.active.settled()).unwrap();
            bed.rt.block_on(open.journal.checkpoint(Seq(1))).unwrap();
        }
    }
    bed.rt.block_on(async { open.active.flush().await }).unwrap();
    assert_eq!(bed.recover(ID).1 as u64, seq - 1);
}

#[test]
fn a_rotten_page_of_the_map_is_read_from_its_twin_and_without_both_its_places_are_not_verified() {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    open.commit(&bed, &[(5, 1), (6, 2)]);
    bed.write(&open.active, 5 * FRAG, &[bytes(1), bytes(2)].concat()).unwrap();
    bed.home(&open.active);
    bed.rt.block_on(open.active.settled()).unwrap();
    let area = &open.active.0.area;
    let first = area.run(area.page(0, false)).0.0;
    let twin = area.run(area.page(0, true)).0.0;
    let pages = |at: u64| (0..u64::from(area.pages)).for_each(|page| bed.rot(at + page * 4096 + 50));
    pages(first);
    let again = bed.active(Kept { by: Some(ID), dirty: false });
    assert_eq!((again.state().mapped, again.state().lost_pages), (2, 0));
    pages(twin);
    let again = bed.active(Kept { by: Some(ID), dirty: false });
    assert_eq!((again.state().mapped, again.state().lost_pages), (0, 1));
    assert_eq!(bed.read(&again, 5 * FRAG, FRAG).unwrap(), bytes(1));
}

#[test]
fn a_rotten_root_does_not_bring_back_an_entry_that_had_to_go() {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    open.commit(&bed, &[(5, 1)]);
    bed.write(&open.active, 5 * FRAG, &bytes(1)).unwrap();
    bed.rt.block_on(open.active.settled()).unwrap();
    bed.write(&open.active, 5 * FRAG, &bytes(9)).unwrap();
    let area = &open.active.0.area;
    for number in [0, 1] {
        bed.rot(area.run(area.root(number)[0]).0.0 + 30);
    }
    let again = bed.active(Kept { by: Some(ID), dirty: false });
    assert_eq!(again.state().mapped, 0);
    assert_eq!(bed.read(&again, 5 * FRAG, FRAG).unwrap(), bytes(9));
}

#[test]
fn a_volume_with_bytes_that_are_nowhere_right_is_not_brought_home() {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    open.commit_often(&bed, &[(5, 1), (900, 2)]);
    bed.write(&open.active, 5 * FRAG, &bytes(1)).unwrap();
    bed.write(&open.active, 900 * FRAG, &bytes(2)).unwrap();
    bed.rot(bed.places(&open.active, 5 * FRAG)[0]);
    // Not in silence when the disk is idle, either.
    bed.rt.block_on(open.active.go_home(Homeward::Few)).unwrap();
    for _ in 0..2 {
        let error = bed.rt.block_on(open.active.bring_home()).unwrap_err();
        assert_eq!((error.cause, error.at.0), (Cause::Rot, 5 * FRAG));
    }
    assert_eq!(bed.places(&open.active, 900 * FRAG)[0], 900 * FRAG, "the others are at home");
    assert_eq!(bed.read(&open.active, 5 * FRAG, FRAG).unwrap_err().cause, Cause::Rot);
    bed.write(&open.active, 5 * FRAG, &bytes(9)).unwrap();
    bed.home(&open.active);
}

#[test]
fn without_both_slots_of_the_newest_root_the_one_before_does_not_count_and_a_dirty_volume_says_so() {
    for unreadable in [false, true] {
        let bed = Bed::new();
        let open = bed.begin(None, ID);
        for seed in [1, 2] {
            open.commit(&bed, &[(5, seed)]);
            bed.write(&open.active, 5 * FRAG, &bytes(seed)).unwrap();
            bed.home(&open.active);
            bed.rt.block_on(open.active.settled()).unwrap();
        }
        bed.write(&open.active, 5 * FRAG, &bytes(9)).unwrap();
        let area = &open.active.0.area;
        let newest = open.active.0.root.borrow().number;
        let slots = area.root(newest).map(|at| area.run(at).0);
        if !unreadable {
            slots.iter().for_each(|at| bed.rot(at.0 + 30));
        }
        let holds_slot = move |range: Range<u64>| slots.iter().any(|at| range.start < at.0 + 512 && at.0 < range.end);
        let refuses = move |op, range, _| unreadable && op == DiskOp::Read && holds_slot(range);
        let faulty: Rc<dyn Disk> = Rc::new(bed.refusing(refuses));
        let options = Options { near_head: Some(true), ..Options::default() };
        let open_as = |dirty| {
            let kept = Kept { by: Some(ID), dirty };
            bed.rt.block_on(Active::open(&bed.rt, faulty.clone(), &Bed::extents(), FRAG as u32, kept, options))
        };
        assert!(matches!(open_as(true), Err(crate::OpenError::MapLost)));
        let again = open_as(false).unwrap();
        assert_eq!((again.state().mapped, again.state().is_void), (0, true));
        assert_eq!(bed.read(&again, 5 * FRAG, FRAG).unwrap(), bytes(9), "not healed from a copy of an older root");
        // The next root counts, also when the lost one comes back.
        bed.rt.block_on(again.begins(ID + 1, false)).unwrap();
        assert!(again.0.root.borrow().number > newest + 1);
        assert_eq!(bed.active(Kept { by: Some(ID + 1), dirty: false }).state().mapped, 0);
    }
}

#[test]
fn a_scrub_heals_homes_and_drops_bad_copies() {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    open.commit(&bed, &[(5, 1), (6, 2), (7, 3)]);
    bed.write(&open.active, 5 * FRAG, &[bytes(1), bytes(2), bytes(3)].concat()).unwrap();
    bed.home(&open.active);
    bed.rot(5 * FRAG);
    bed.rot(bed.places(&open.active, 6 * FRAG)[1]);
    bed.places(&open.active, 7 * FRAG).iter().for_each(|at| bed.rot(*at));
    let done = bed.rt.block_on(open.active.scrub()).unwrap();
    assert_eq!((done.blocks, done.healed, done.bad_copies, done.rotten), (3, 1, 1, 1));
    let again = bed.rt.block_on(open.active.scrub()).unwrap();
    assert_eq!((again.healed, again.bad_copies, again.rotten), (0, 0, 1));
    // In parts it is the same, with what only spans have.
    bed.rt.block_on(open.active.begins(ID, true)).unwrap();
    bed.write(&open.active, 16 * FRAG, &[7; 16 * FRAG as usize]).unwrap();
    let (whole, mut parts, mut next) = (bed.rt.block_on(open.active.scrub()).unwrap(), Vec::new(), Some(0));
    while let Some(from) = next {
        let part;
        (part, next) = bed.rt.block_on(open.active.scrub_some(from, 1)).unwrap();
        parts.push(part.blocks);
    }
    assert_eq!((whole.blocks, parts), (19, vec![1, 1, 1, 0, 8, 8, 0]));
}

#[test]
fn bytes_that_only_a_copy_has_are_at_home_before_other_bytes_take_their_place() {
    // Their entry goes before the new bytes are there: after a power cut between the two the old ones must be there.
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    open.commit_often(&bed, &[(5, 1)]);
    bed.write(&open.active, 5 * FRAG, &bytes(1)).unwrap();
    bed.rt.block_on(open.active.settled()).unwrap();
    bed.rt.block_on(open.journal.checkpoint(Seq(2))).unwrap();
    let sorted = [5];
    bed.rt.block_on(async {
        open.active.0.void(&sorted, &[], true).await.unwrap();
    });
    let mut home = vec![0; FRAG as usize];
    bed.ram.peek(5 * FRAG, &mut home);
    assert_eq!(home, bytes(1));
    assert_eq!(open.active.state().mapped, 0);
}

#[test]
fn a_copy_is_overwritten_when_the_home_has_its_bytes_durably() {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    open.commit_often(&bed, &[(900, 7), (901, 8)]);
    bed.write(&open.active, 900 * FRAG, &[bytes(7), bytes(8)].concat()).unwrap();
    assert_eq!(open.active.state().left_away, 1);
    let mut rng = ordo_rt::Rng::new(9);
    let mut round = 2;
    // Until the line has come around.
    while bed.places(&open.active, 900 * FRAG)[0] != 900 * FRAG {
        round += 1;
        open.active.0.head.set(FILE + rng.below(4 << 20));
        open.commit(&bed, &[(rng.below(300), round as u8), (rng.below(300), 3)]);
        bed.rt.block_on(open.journal.checkpoint(Seq(round))).unwrap();
        assert!(round < 5000, "the copy was never overwritten");
    }
    bed.ram.power_cut();
    let cut = bed.recover(ID).0;
    assert_eq!(bed.read(&cut, 900 * FRAG, 2 * FRAG).unwrap(), [bytes(7), bytes(8)].concat());
}

#[test]
fn older_versions_are_known_with_the_transactions_between_which_they_were_there() {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    for seed in 1..=3 {
        open.commit(&bed, &[(5, seed)]);
        open.commit(&bed, &[(6, seed)]);
    }
    let versions = |active: &Active| {
        let map = active.0.map.borrow();
        let all = map.versions(5..6);
        all.map(|(_, since, old)| (since, old.until, old.sum == crc32c::crc32c(&bytes(old.until as u8 / 2)))).collect()
    };
    let all: Vec<_> = versions(&open.active);
    assert_eq!(all, [(1, 3, true), (3, 5, true)]);
    bed.home(&open.active);
    bed.rt.block_on(open.active.settled()).unwrap();
    let again: Vec<_> = versions(&bed.active(Kept { by: Some(ID), dirty: false }));
    assert_eq!(again, all);
}

#[test]
fn what_was_carried_home_while_the_disk_was_idle_is_durable_before_its_copy_is_overwritten() {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    open.commit_often(&bed, &[(900, 7)]);
    bed.write(&open.active, 900 * FRAG, &bytes(7)).unwrap();
    bed.rt.block_on(open.active.go_home(Homeward::Few)).unwrap();
    assert!(!open.active.state().dirty);
    bed.ram.power_cut();
    let mut home = vec![0; FRAG as usize];
    bed.ram.peek(900 * FRAG, &mut home);
    assert_eq!(home, bytes(7));
}

#[test]
fn contents_past_the_journal_are_verified_by_spans_and_what_does_not_fill_one_by_itself() {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    bed.rt.block_on(open.active.begins(ID, true)).unwrap();
    let all: Vec<u8> = (0..18).flat_map(bytes).collect();
    bed.write(&open.active, 23 * FRAG, &all).unwrap();
    assert_eq!(open.active.state().mapped, 18);
    bed.home(&open.active);
    bed.rt.block_on(open.active.settled()).unwrap();
    let again = bed.active(Kept { by: Some(ID), dirty: false });
    assert_eq!(again.state().mapped, 18);
    assert_eq!(bed.read(&again, 23 * FRAG, 18 * FRAG).unwrap(), all);
    for (rotten, read) in [(23, 23), (29, 26), (40, 40)] {
        bed.rot(rotten * FRAG + 9);
        let error = bed.read(&again, read * FRAG, FRAG).unwrap_err();
        assert_eq!(error.cause, Cause::Rot, "fragment {rotten}, read at {read}");
        assert_eq!(bed.rt.block_on(again.scrub()).unwrap().rotten, if rotten == 29 { 8 } else { 1 });
        bed.rot(rotten * FRAG + 9);
    }
    // One fragment of a span changes: of the others nothing is known any more, durably, before it is written.
    bed.rt.block_on(again.begins(ID, true)).unwrap();
    bed.write(&again, 30 * FRAG, &bytes(99)).unwrap();
    assert_eq!(again.state().mapped, 11, "the one that was written is known again");
    let cut = bed.active(Kept { by: Some(ID), dirty: true });
    assert_eq!(bed.read(&cut, 30 * FRAG, FRAG).unwrap(), bytes(99));
}

#[test]
fn no_home_is_written_when_the_map_could_not_be_made_durable() {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    open.commit(&bed, &[(5, 1), (6, 2)]);
    bed.write(&open.active, 5 * FRAG, &[bytes(1), bytes(2)].concat()).unwrap();
    bed.home(&open.active);
    bed.rt.block_on(open.active.settled()).unwrap();
    let is_first = Cell::new(true);
    let refuses = move |op, _, kind| op == DiskOp::Write && kind == Kind::Log && is_first.take();
    let again = bed.active_on(Rc::new(bed.refusing(refuses)), Kept { by: Some(ID), dirty: false });
    bed.write(&again, 5 * FRAG, &bytes(9)).unwrap_err();
    bed.write(&again, 5 * FRAG, &bytes(9)).unwrap_err();
    bed.write(&again, 6 * FRAG, &bytes(9)).unwrap_err();
    let cut = bed.active(Kept { by: Some(ID), dirty: true });
    assert_eq!(bed.read(&cut, 5 * FRAG, 2 * FRAG).unwrap(), [bytes(1), bytes(2)].concat());
}

#[test]
fn a_block_that_the_journal_cannot_keep_as_it_is_has_no_entry() {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    bed.write(&open.active, 5 * FRAG, &[bytes(1), bytes(2)].concat()).unwrap();
    bed.rt.block_on(open.active.flush()).unwrap();
    open.commit(&bed, &[(5, 3)]);
    let mut lies = bytes(4);
    lies[..4].copy_from_slice(b"oBJb");
    let blocks = vec![(DiskOff(5 * FRAG), Block::copy_of(&lies).image())];
    bed.rt.block_on(open.journal.commit(Transaction { blocks, ..Transaction::default() })).unwrap();
    bed.rt.block_on(open.active.go_home(Homeward::Few)).unwrap();
    bed.ram.power_cut();
    // Recovery reads around what it writes.
    let cut = bed.active(Kept { by: Some(ID), dirty: true });
    let found = bed.rt.block_on(Journal::inspect(bed.place(&cut))).unwrap();
    let all = &found.recovered.transactions;
    for _ in 0..2 {
        cut.recovered(ID, all.iter().map(|one| (one.seq.0, &one.stored[..], &one.revoked[..])));
        bed.home(&cut);
        assert_eq!(bed.read(&cut, 5 * FRAG, 2 * FRAG).unwrap()[FRAG as usize..], bytes(2));
        bed.rt.block_on(cut.settled()).unwrap();
    }
    bed.write(&cut, 5 * FRAG, &lies).unwrap();
    assert_eq!(bed.read(&cut, 5 * FRAG, FRAG).unwrap(), lies);
}

#[test]
fn what_a_full_map_gave_up_is_not_on_the_disk_when_its_home_is_overwritten() {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    bed.rt.block_on(open.active.begins(ID, true)).unwrap();
    // Contents past the journal, which fill no span.
    for frag in (100..1000).chain(1300..2000).step_by(2) {
        bed.write(&open.active, frag * FRAG, &bytes(1)).unwrap();
    }
    let next = || open.active.0.map.borrow().entries(100..2000).next().unwrap().0;
    let (mut seq, mut other) = (0, 2310);
    let mut commit = |frag: u64| {
        seq += 1;
        open.commit(&bed, &[(frag, 3)]);
        seq
    };
    while next() < 300 {
        let seq = commit(other);
        other += 1;
        bed.home(&open.active);
        bed.rt.block_on(open.journal.checkpoint(Seq(seq))).unwrap();
        assert!(other < 3060, "the map was never full");
    }
    // What a search from the beginning would find first.
    let seq = commit(10);
    bed.home(&open.active);
    bed.rt.block_on(open.journal.checkpoint(Seq(seq))).unwrap();
    let given_up = next();
    commit(other);
    assert!(next() > given_up);
    bed.write(&open.active, given_up * FRAG, &bytes(9)).unwrap();
    bed.rt.block_on(open.active.flush()).unwrap();
    bed.ram.power_cut();
    let cut = bed.recover(ID).0;
    assert_eq!(bed.read(&cut, given_up * FRAG, FRAG).unwrap(), bytes(9));
}

/// Until the copy of fragment 900 is about to be overwritten, or `cut` in transaction number so many: then the home is
/// written together with one that has no copy, and the power fails after the transaction.
fn a_lap(cut: Option<u64>) -> (Bed, u64) {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    open.commit(&bed, &[(900, 7)]);
    bed.write(&open.active, 900 * FRAG, &bytes(7)).unwrap();
    let mut seq = 1;
    bed.rt.block_on(open.journal.checkpoint(Seq(1))).unwrap();
    while !bed.places(&open.active, 900 * FRAG).contains(&(900 * FRAG)) {
        seq += 1;
        if cut == Some(seq) {
            bed.write(&open.active, 900 * FRAG, &[bytes(7), bytes(8)].concat()).unwrap();
        }
        open.commit(&bed, &[(seq % 300, seq as u8)]);
        if cut == Some(seq) {
            break;
        }
        // The others go home each time.
        bed.rt.block_on(open.active.0.carry_run(0..300)).unwrap();
        bed.rt.block_on(open.active.flush()).unwrap();
        bed.rt.block_on(open.journal.checkpoint(Seq(seq))).unwrap();
        assert!(seq < 5000, "the copy was never overwritten");
    }
    bed.ram.power_cut();
    (bed, seq)
}

#[test]
fn a_home_that_was_written_is_durable_before_its_copy_is_overwritten() {
    let (_, last) = a_lap(None);
    let (bed, _) = a_lap(Some(last));
    let cut = bed.recover(ID).0;
    assert_eq!(bed.read(&cut, 900 * FRAG, FRAG).unwrap(), bytes(7));
}

/// A disk that takes requests of so many bytes and refuses some of them.
struct Refusing<F> {
    ram: RamDisk,
    max_transfer: u32,
    refuses: F,
}

impl<F: Fn(DiskOp, Range<u64>, Kind) -> bool> Refusing<F> {
    fn check(&self, op: DiskOp, at: DiskOff, len: u64, first: Option<Tag>) -> Option<DiskError> {
        let refused = (self.refuses)(op, at.0..at.0 + len, first.unwrap_or_default().kind);
        refused.then(|| DiskError::new(op, at, len, Cause::Io(22)))
    }
}

impl<F: Fn(DiskOp, Range<u64>, Kind) -> bool> Disk for Refusing<F> {
    fn info(&self) -> DiskInfo {
        DiskInfo { max_transfer: self.max_transfer, ..self.ram.info() }
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        match self.check(DiskOp::Read, at, ordo_disk::read_len(&parts), parts.first().map(|part| part.tag)) {
            Some(error) => DiskFuture::now(Err(error)),
            None => self.ram.read(at, parts),
        }
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        match self.check(DiskOp::Write, at, ordo_disk::write_len(&parts), parts.first().map(|part| part.tag)) {
            Some(error) => DiskFuture::now(Err(error)),
            None => self.ram.write(at, parts, fua),
        }
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.ram.flush()
    }

    fn discard(&self, at: DiskOff, len: u64) -> DiskFuture<Result<(), DiskError>> {
        self.ram.discard(at, len)
    }
}

#[test]
fn no_request_is_longer_than_the_disk_takes() {
    let bed = Bed::new();
    const SHORT: u32 = 16 << 10;
    let refuses = |_, range: Range<u64>, _| range.end - range.start > SHORT.into();
    let short = Refusing { ram: bed.ram.clone(), max_transfer: SHORT, refuses };
    let active = bed.active_on(Rc::new(short), Kept { by: None, dirty: false });
    let journal = bed.rt.block_on(async {
        active.begins(ID, true).await.unwrap();
        let place = bed.place(&active);
        Journal::make(&place, FRAG as u32, ID).await.unwrap();
        let (journal, _) = Journal::open(place, ordo_blockjournal::Options::default()).await.unwrap();
        assert!(journal.tell(Rc::new(active.clone())));
        journal
    });
    // Contents in spans, of which a request takes two.
    let all: Vec<u8> = (0..16).flat_map(bytes).collect();
    for first in (304..400).step_by(16) {
        bed.write(&active, first * FRAG, &all).unwrap();
    }
    for round in 0..4 {
        let blocks: Vec<(u64, u8)> = (0..60).map(|frag| (round * 60 + frag, round as u8)).collect();
        bed.rt.block_on(journal.commit(transaction(&blocks))).unwrap();
    }
    assert_eq!(
        bed.read(&active, 307 * FRAG, 16 * FRAG).unwrap(),
        [&all[3 * FRAG as usize..], &all[..3 * FRAG as usize]].concat()
    );
    bed.home(&active);
    bed.rt.block_on(active.settled()).unwrap();
    let mut home = vec![0; FRAG as usize];
    bed.ram.peek(130 * FRAG, &mut home);
    assert_eq!(home, bytes(2));
}
