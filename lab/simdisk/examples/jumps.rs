//! What replicas gain on a modelled drive, in virtual time: reads in pairs, from one place to another that is far away,
//! with and without learning; and what a sequential read loses. Before that, commits go round the journal's line LAPS
//! times: right after a mount (0 laps) all places without an owner are the last ones of the file, and they spread as
//! the line goes on.
//!
//! `cargo run --release -p ordo-simdisk --example jumps [DRIVE [LAPS]]`

use ordo_active::{Active, Kept, Options};
use ordo_blockjournal::{Journal, Place, Transaction};
use ordo_disk::{Block, Disk, DiskOff, Homeward, KeepsCopies, Kind, Queue, QueueOptions, ReadPart, Tag, WritePart};
use ordo_drive::Profile;
use ordo_learning::Learns;
use ordo_rt::{Rng, Rt};
use ordo_simdisk::SimDisk;
use std::rc::Rc;
use std::time::Duration;

const FRAG: u64 = 4096;
/// Bytes of a read.
const READ: u64 = 2 * FRAG;
const PAIRS: u64 = 200;
const ROUNDS: u32 = 8;
/// Between two reads.
const THINKS: Duration = Duration::from_millis(3);

/// A drive with a group journal of 256 KiB in every fortieth of it, and with contents at random places.
struct Bench {
    rt: Rt,
    drive: SimDisk,
    active: Active,
    /// Where a read is followed by which.
    pairs: Vec<(u64, u64)>,
}

impl Bench {
    fn new(drive: &str, learning: bool, laps: u64) -> Bench {
        let rt = Rt::virtual_time(1);
        let drive = SimDisk::new(&rt, Profile::named(drive).expect("a drive that is built in"));
        let part = drive.info().size / 40 / READ * READ;
        let extents: Vec<(DiskOff, u64)> = (0..40).map(|n| (DiskOff(n * part + part / 2), 256 << 10)).collect();
        let options = Options { learning: Some(if learning { Learns::Yes } else { Learns::No }), ..Options::default() };
        let kept = Kept { by: None, dirty: false };
        let active = rt.block_on(Active::open(&rt, Rc::new(drive.clone()), &extents, FRAG as u32, kept, options));
        let active = active.expect("the drive has room");
        let mut rng = Rng::new(7);
        // Never in a group journal: these are in the middle of each part.
        let mut place = || rng.below(40) * part + rng.below(part / 3 / READ) * READ;
        let pairs = (0..PAIRS).map(|_| (place(), place())).collect();
        let bench = Bench { rt, drive, active, pairs };
        bench.rt.block_on(async {
            bench.active.begins(1, true).await.expect("a drive does not fail");
            bench.commit(laps, &mut rng).await;
            for at in bench.pairs.iter().flat_map(|(from, to)| [*from, *to]) {
                let image = Block::copy_of(&vec![at as u8; READ as usize]).image();
                let part = WritePart { image, tag: Tag::of(Kind::Data) };
                bench.active.write(DiskOff(at), vec![part], false).await.expect("a drive does not fail");
            }
            bench.active.flush().await.expect("a drive does not fail");
        });
        bench
    }

    /// Transactions of a few blocks, each after a read somewhere, until the line was round so often.
    async fn commit(&self, laps: u64, rng: &mut Rng) {
        let queue = Queue::new(&self.rt, Rc::new(self.active.clone()), QueueOptions::default());
        let place = Place::new(&queue, &[self.active.journal()]).expect("it has whole sectors");
        Journal::make(&place, FRAG as u32, 1).await.expect("a drive does not fail");
        let (journal, _) = Journal::open(place, Default::default()).await.expect("it was made");
        journal.tell(Rc::new(self.active.clone()));
        let end = self.drive.info().size / FRAG;
        for _ in 0..laps * journal.size() / 8 {
            self.read(rng.below(end) * FRAG, FRAG).await;
            // Blocks at the end of the drive, which no pair has.
            let block = |n| (DiskOff((end - 9 + n) * FRAG), Block::copy_of(&vec![n as u8; FRAG as usize]).image());
            let blocks = (0..6).map(block).collect();
            let seq = journal.commit(Transaction { blocks, ..Transaction::default() }).await.expect("it has room");
            journal.checkpoint(seq).await.expect("a drive does not fail");
        }
        self.active.go_home(Homeward::All).await.expect("a drive does not fail");
    }

    async fn read(&self, at: u64, len: u64) {
        let part = ReadPart { block: Block::unspecified(len as usize), tag: Tag::of(Kind::Data) };
        self.active.read(DiskOff(at), vec![part]).await.expect("a drive does not fail");
    }

    /// All pairs in a new order: milliseconds of the reads, and cylinders that the arm moved.
    fn round(&self, rng: &mut Rng) -> (f64, u64) {
        let mut pairs = self.pairs.clone();
        rng.shuffle(&mut pairs);
        self.drive.note_services();
        self.rt.block_on(async {
            for (from, to) in pairs {
                for at in [from, to] {
                    self.read(at, READ).await;
                    self.rt.sleep(THINKS).await;
                }
            }
        });
        let services = self.drive.take_services();
        let cylinders: Vec<u64> = services.iter().map(|one| one.cylinder.into()).collect();
        let moved = cylinders.iter().zip(cylinders.iter().skip(1)).map(|(one, next)| one.abs_diff(*next)).sum();
        let ms = services.iter().map(|one| (one.done.as_nanos() - one.at.as_nanos()) as f64 / 1e6).sum();
        (ms, moved)
    }

    /// Reads 64 MiB in a row: milliseconds.
    fn sequential(&self) -> f64 {
        let before = self.rt.now().as_nanos();
        self.rt.block_on(async {
            for at in (0..64 << 20).step_by(64 << 10) {
                self.read(at, 64 << 10).await;
            }
        });
        (self.rt.now().as_nanos() - before) as f64 / 1e6
    }
}

fn main() {
    let drive = std::env::args().nth(1).unwrap_or_else(|| "quantum_atlas_10k".into());
    let laps = std::env::args().nth(2).map_or(2, |laps| laps.parse().expect("a number of laps"));
    println!("{drive}, {laps} laps: {PAIRS} pairs of reads of {READ} bytes; ms, and cylinders that the arm moved");
    for learning in [false, true] {
        let (bench, mut rng) = (Bench::new(&drive, learning, laps), Rng::new(9));
        println!("learning: {learning}; 64 MiB in a row: {:.1} ms", bench.sequential());
        for round in 1..=ROUNDS {
            let (ms, moved) = bench.round(&mut rng);
            let before = bench.rt.now().as_nanos();
            // What the idle disk does until nothing is left to do.
            for _ in 0..PAIRS / 16 {
                bench.rt.block_on(bench.active.go_home(Homeward::Few)).expect("a drive does not fail");
            }
            let idle = (bench.rt.now().as_nanos() - before) as f64 / 1e6;
            let state = bench.active.state();
            println!(
                "round {round}: {ms:.0} ms, {moved} cylinders; then {idle:.0} ms idle work, {} fragments in replicas, \
                 {} reads from them",
                state.replicas, state.from_replica
            );
        }
        println!("again 64 MiB in a row: {:.1} ms", bench.sequential());
    }
}
