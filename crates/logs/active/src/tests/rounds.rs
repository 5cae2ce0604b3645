//! The line goes round many times while homes are written, the cleaner works and the power is cut, at random.
//!
//! A disk with requests in flight lies below, and the model of what must be there beside it. Every cut is recovered,
//! and each block of the volume compared. `SEEDS=3000 cargo test -p ordo-active line_overwrites` does more of them.

use super::*;
use ordo_blockjournal::Commit;
use ordo_rt::Rng;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A disk whose requests take time. A write reaches it when it completes; what is in flight at a cut may be there in
/// part.
#[derive(Clone)]
struct Slow {
    rt: Rt,
    ram: RamDisk,
    volatile: bool,
    /// It says where its head is.
    positions: bool,
    state: Rc<RefCell<Requests>>,
}

struct Requests {
    rng: Rng,
    head: u64,
    next: u64,
    in_flight: BTreeMap<u64, (u64, Vec<u8>)>,
    /// Writes that flushes have made durable.
    flushed: usize,
}

impl Slow {
    fn new(rt: &Rt, size: u64, volatile: bool, positions: bool, rng: Rng) -> Slow {
        let ram = RamDisk::new(size).volatile(true);
        let requests = Requests { rng, head: 0, next: 0, in_flight: BTreeMap::new(), flushed: 0 };
        Slow { rt: rt.clone(), ram, volatile, positions, state: Rc::new(RefCell::new(requests)) }
    }

    async fn pass(&self) {
        let nanos = self.state.borrow_mut().rng.range(1, 2000);
        self.rt.sleep(Duration::from_nanos(nanos)).await;
    }

    /// What a power cut leaves now.
    fn cut(&self, rng: &mut Rng) -> RamDisk {
        let left = self.ram.snapshot();
        let mut in_flight: Vec<(u64, Vec<u8>)> = self.state.borrow().in_flight.values().cloned().collect();
        rng.shuffle(&mut in_flight);
        for (at, bytes) in in_flight {
            let part = WritePart { image: Block::copy_of(&bytes).image(), tag: Tag::default() };
            now(left.write(DiskOff(at), vec![part], false));
        }
        match rng.below(4) {
            0 => left.power_cut(),
            1 => left.power_cut_keeping(|_, _| true),
            _ => left.power_cut_at_random(rng),
        }
        left
    }
}

/// A request of a disk in memory is done at once.
fn now<T>(future: DiskFuture<Result<T, DiskError>>) -> T {
    match future {
        DiskFuture::Now(Some(done)) => done.unwrap(),
        _ => panic!("a disk in memory waits for nothing"),
    }
}

impl Disk for Slow {
    fn info(&self) -> DiskInfo {
        DiskInfo { volatile_cache: self.volatile, immediate: false, ..self.ram.info() }
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        let disk = self.clone();
        DiskFuture::later(async move {
            disk.pass().await;
            let done = disk.ram.read(at, parts).await;
            disk.pass().await;
            done
        })
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        let bytes: Vec<u8> = parts.iter().flat_map(|part| part.image.to_vec()).collect();
        let mut state = self.state.borrow_mut();
        let (from, end) = (at.0, at.0 + bytes.len() as u64);
        let apart = |(other, there): &(u64, Vec<u8>)| *other >= end || from >= other + there.len() as u64;
        assert!(state.in_flight.values().all(apart), "two writes at once of the same place {at}");
        state.head = end;
        state.next += 1;
        let id = state.next;
        state.in_flight.insert(id, (at.0, bytes));
        drop(state);
        let disk = self.clone();
        DiskFuture::later(async move {
            disk.pass().await;
            disk.state.borrow_mut().in_flight.remove(&id);
            disk.ram.write(at, parts, fua || !disk.volatile).await
        })
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        let upto = self.state.borrow().flushed + self.ram.unflushed();
        let disk = self.clone();
        DiskFuture::later(async move {
            disk.pass().await;
            let more = upto.saturating_sub(disk.state.borrow().flushed);
            disk.ram.flush_oldest(more);
            disk.state.borrow_mut().flushed += more;
            Ok(())
        })
    }

    fn positioning(&self, at: DiskOff, _is_write: bool) -> Option<u64> {
        self.positions.then(|| at.0.abs_diff(self.state.borrow().head) / 512)
    }
}

/// What a run is.
#[derive(Debug, Clone, Copy)]
struct Shape {
    frag: u64,
    /// Bytes of the journal's file, and its extents.
    file: u64,
    extents: u64,
    frags: u64,
    near_head: bool,
    positions: bool,
    volatile: bool,
    contents: bool,
    together: bool,
    most: u64,
}

impl Shape {
    fn random(rng: &mut Rng) -> Shape {
        let frag = *rng.pick(&[512, 1024, 2048, 4096, 4096, 16384, 65536]);
        let extents = rng.range(1, 4);
        // A header and a rest of each extent are lost.
        let file = (crate::least(frag) * *rng.pick(&[4, 5, 8, 12]) / 4 + (extents - 1) * (frag.max(4096) * 10))
            .next_multiple_of(frag.max(4096) * extents);
        Shape {
            frag,
            file,
            extents,
            frags: rng.range(8, 160),
            near_head: rng.chance(3, 4),
            positions: rng.chance(1, 2),
            volatile: rng.chance(2, 3),
            contents: rng.chance(1, 2),
            together: rng.chance(2, 3),
            most: *rng.pick(&[4, 12, 60]),
        }
    }

    fn places(&self) -> Vec<(DiskOff, u64)> {
        let (len, gap) = (self.file / self.extents, self.frag.max(4096) * 16);
        let from = (self.frags * self.frag).next_multiple_of(1 << 20);
        (0..self.extents).map(|n| (DiskOff(from + n * (len + gap)), len)).collect()
    }

    fn size(&self) -> u64 {
        let (at, len) = self.places().pop().unwrap();
        (at.0 + len).next_multiple_of(1 << 20)
    }

    /// The bytes of a fragment, by their number; 0: those of an empty disk.
    fn bytes(&self, number: u64) -> Vec<u8> {
        if number == 0 {
            return vec![0; self.frag as usize];
        }
        let word = |n: u64| (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (n << 1 | 1)).to_le_bytes();
        (0..self.frag / 8).flat_map(word).collect()
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Home {
    /// The newest committed bytes, and their transaction.
    newest: u64,
    seq: u64,
    /// Those before, unless the home has, or gets, the newest.
    older: u64,
    /// It got those last: a cache has the newest, and does not read.
    behind: bool,
    /// It is being written.
    busy: bool,
    /// It gets bytes of no transaction, which are not durable.
    void: Option<u64>,
}

impl Home {
    /// It is written now: with its newest bytes, or, if there are any, older ones.
    fn take(&mut self, is_older: bool) -> Option<u64> {
        if self.busy || self.seq == 0 {
            return None;
        }
        self.busy = true;
        let number = if self.older > 0 && is_older { self.older } else { self.newest };
        self.behind = number != self.newest;
        if !self.behind {
            self.older = 0;
        }
        Some(number)
    }
}

#[derive(Debug, Clone, Default)]
struct Model {
    homes: Vec<Home>,
    /// The blocks of the commit in flight.
    pending: Vec<(u64, u64)>,
    last: u64,
    dropped: u64,
    number: u64,
    stops: bool,
    running: u32,
}

/// A cut, and what was promised by then.
struct Cut {
    disk: RamDisk,
    model: Model,
}

#[derive(Clone)]
struct Run {
    rt: Rt,
    shape: Shape,
    active: Active,
    journal: Journal,
    model: Rc<RefCell<Model>>,
    rng: Rc<RefCell<Rng>>,
    checkpointing: Rc<ordo_rt::sync::Mutex<()>>,
}

impl Run {
    async fn open(rt: &Rt, shape: Shape, disk: Rc<dyn Disk>, rng: Rng) -> Run {
        let active = open(rt, disk, shape, Kept { by: None, dirty: false }).await;
        active.begins(ID, shape.contents).await.unwrap();
        let queue = Queue::new(rt, Rc::new(active.clone()), QueueOptions::default());
        let place = Place::new(&queue, &[active.journal()]).unwrap();
        Journal::make(&place, shape.frag as u32, ID).await.unwrap();
        let commit = if shape.together { Commit::Together } else { Commit::AfterFlush };
        let (journal, _) = Journal::open(place, ordo_blockjournal::Options { commit }).await.unwrap();
        assert!(journal.tell(Rc::new(active.clone())));
        let model = Model { homes: vec![Home::default(); shape.frags as usize], ..Model::default() };
        Run {
            rt: rt.clone(),
            shape,
            active,
            journal,
            model: Rc::new(RefCell::new(model)),
            rng: Rc::new(RefCell::new(rng)),
            checkpointing: Rc::new(ordo_rt::sync::Mutex::new(())),
        }
    }

    fn below(&self, bound: u64) -> u64 {
        self.rng.borrow_mut().below(bound)
    }

    async fn pause(&self, most: u64) {
        let nanos = self.below(most);
        self.rt.sleep(Duration::from_nanos(nanos)).await;
    }

    fn start(&self, task: impl Future<Output = ()> + 'static) {
        self.model.borrow_mut().running += 1;
        let model = self.model.clone();
        self.rt.spawn(async move {
            task.await;
            model.borrow_mut().running -= 1;
        });
    }

    fn number(&self) -> u64 {
        let mut model = self.model.borrow_mut();
        model.number += 1;
        model.number
    }

    async fn commits(self) {
        while !self.model.borrow().stops {
            let most = self.shape.most.min(self.journal.size() / 3);
            let count = match self.below(3) {
                0 => 1 + self.below(most),
                _ => 1 + self.below(most.min(4)),
            };
            let (mut frags, mut next) = (BTreeSet::new(), 0);
            for _ in 0..count {
                // A few are committed often, and some follow each other.
                next = match self.below(4) {
                    0 => self.below(self.shape.frags.min(6)),
                    1 => self.below(self.shape.frags),
                    _ => (next + 1) % self.shape.frags,
                };
                frags.insert(next);
            }
            frags.retain(|frag| self.model.borrow().homes[*frag as usize].void.is_none());
            if frags.is_empty() {
                self.pause(3000).await;
                continue;
            }
            let cost = self.journal.cost(frags.len() as u64, 0, 0);
            if !self.journal.fits(cost) {
                self.checkpoint(true).await;
            }
            if !self.journal.fits(cost) {
                self.pause(1000).await;
                continue;
            }
            frags.retain(|frag| self.model.borrow().homes[*frag as usize].void.is_none());
            let same = self.below(8) == 0;
            let mut blocks: Vec<(u64, u64)> = Vec::new();
            for frag in frags {
                let newest = self.model.borrow().homes[frag as usize].newest;
                blocks.push((frag, if same && newest > 0 { newest } else { self.number() }));
            }
            self.model.borrow_mut().pending = blocks.clone();
            let image = |number| Block::copy_of(&self.shape.bytes(number)).image();
            let images = blocks.iter().map(|(frag, number)| (DiskOff(frag * self.shape.frag), image(*number)));
            let transaction = Transaction { blocks: images.collect(), ..Transaction::default() };
            let seq = self.journal.commit(transaction).await.unwrap();
            self.model.borrow_mut().committed(seq.0, blocks);
            if self.journal.room() < self.journal.size() / 4 && self.below(2) == 0 {
                let run = self.clone();
                self.start(async move {
                    run.checkpoint(false).await;
                    if run.below(4) > 0 {
                        run.active.go_home(Homeward::Next).await.unwrap();
                    }
                });
            }
            if self.below(4) == 0 {
                self.pause(20_000).await;
            }
        }
    }

    /// Writes homes that lie together.
    async fn write(&self, frags: Vec<(u64, u64)>, kind: Kind) {
        let first = frags[0].0;
        let image = |(_, number): &(u64, u64)| Block::copy_of(&self.shape.bytes(*number)).image();
        let parts = frags.iter().map(|one| WritePart { image: image(one), tag: Tag::of(kind) }).collect();
        self.active.write(DiskOff(first * self.shape.frag), parts, false).await.unwrap();
    }

    /// Writes home what the journal has up to the last transaction, or to its middle, and drops it.
    async fn checkpoint(&self, all: bool) {
        let _one = self.checkpointing.lock().await;
        let (last, dropped) = (self.model.borrow().last, self.model.borrow().dropped);
        let upto = if all { last } else { dropped.midpoint(last) };
        if upto <= dropped {
            return;
        }
        let wanted = |home: &Home| home.seq > dropped && home.seq <= upto;
        let mut next = 0;
        loop {
            let most = 1 + self.below(6) as usize;
            let some = self.model.borrow_mut().take_run(&mut next, most, wanted);
            if some.is_empty() && next < self.shape.frags as usize {
                // Another one writes it.
                self.pause(500).await;
                continue;
            }
            if some.is_empty() {
                break;
            }
            let run = self.clone();
            let write = async move {
                let kind = if run.below(3) == 0 { Kind::Other } else { Kind::Data };
                run.write(some.clone(), kind).await;
                some.iter().for_each(|(frag, _)| run.model.borrow_mut().homes[*frag as usize].busy = false);
            };
            match self.below(3) {
                0 => write.await,
                _ => self.start(write),
            }
        }
        while self.model.borrow().homes.iter().any(|home| wanted(home) && home.busy) {
            self.pause(500).await;
        }
        self.active.flush().await.unwrap();
        self.journal.checkpoint(Seq(upto)).await.unwrap();
        self.model.borrow_mut().dropped = upto;
    }

    /// Other things that happen.
    async fn others(self) {
        while !self.model.borrow().stops {
            self.pause(12_000).await;
            match self.below(12) {
                0 => self.active.flush().await.unwrap(),
                1 => self.active.go_home(Homeward::Few).await.unwrap(),
                2 => self.active.go_home(Homeward::Next).await.unwrap(),
                3 => self.checkpoint(self.below(2) == 0).await,
                // What is committed meanwhile is not at home.
                4 if self.below(8) == 0 => _ = self.active.go_home(Homeward::All).await,
                5 => self.void().await,
                6 | 7 => {
                    // A home gets its newest bytes, or older ones.
                    let (frag, is_older) = (self.below(self.shape.frags), self.below(2) == 0);
                    let number = self.model.borrow_mut().homes[frag as usize].take(is_older);
                    let Some(number) = number else { continue };
                    self.write(vec![(frag, number)], Kind::Data).await;
                    self.model.borrow_mut().homes[frag as usize].busy = false;
                }
                _ => self.read().await,
            }
        }
    }

    /// Bytes of no transaction.
    async fn void(&self) {
        let first = self.below(self.shape.frags);
        let count = 1 + self.below(10);
        let mut frags = Vec::new();
        for frag in (first..self.shape.frags).take(count as usize) {
            let number = self.number();
            let mut model = self.model.borrow_mut();
            let is_pending = model.pending.iter().any(|(one, _)| *one == frag);
            let dropped = model.dropped;
            let home = &mut model.homes[frag as usize];
            if home.busy || home.behind || home.seq > dropped || is_pending {
                break;
            }
            (home.busy, home.void) = (true, Some(number));
            frags.push((frag, number));
        }
        if frags.is_empty() {
            return;
        }
        self.write(frags.clone(), Kind::Data).await;
        self.active.flush().await.unwrap();
        for (frag, number) in frags {
            self.model.borrow_mut().homes[frag as usize] = Home { newest: number, ..Home::default() };
        }
    }

    async fn read(&self) {
        let first = self.below(self.shape.frags);
        let count = (1 + self.below(8)).min(self.shape.frags - first);
        // A cache does not read what it writes.
        let range = first as usize..(first + count) as usize;
        if self.model.borrow().homes[range.clone()].iter().any(|home| home.busy) {
            return;
        }
        self.model.borrow_mut().homes[range.clone()].iter_mut().for_each(|home| home.busy = true);
        let before = self.model.borrow().clone();
        let part = ReadPart { block: Block::unspecified((count * self.shape.frag) as usize), tag: Tag::of(Kind::Data) };
        let at = DiskOff(first * self.shape.frag);
        let read = self.active.read(at, vec![part]).await;
        let read = read.unwrap_or_else(|error| panic!("{:?}: {error}, {first} {count}", self.shape));
        self.model.borrow_mut().homes[range].iter_mut().for_each(|home| home.busy = false);
        let after = self.model.borrow();
        for (frag, got) in (first..first + count).zip(read[0].block.chunks(self.shape.frag as usize)) {
            let (was, is) = (before.homes[frag as usize], after.homes[frag as usize]);
            // What the volume has is known if nothing has changed, and if the home is not behind it in the journal.
            if !is.behind
                && was.void.is_none()
                && is.void.is_none()
                && was.newest == is.newest
                && before.last == after.last
            {
                let entry = self.active.0.map.borrow().get(frag);
                let has = (0..=after.number).find(|number| got == self.shape.bytes(*number));
                assert!(
                    has == Some(is.newest),
                    "a read of fragment {frag}: {has:?}, {is:?}, {entry:?}, {:?}",
                    self.shape
                );
            }
        }
    }
}

async fn open(rt: &Rt, disk: Rc<dyn Disk>, shape: Shape, kept: Kept) -> Active {
    let options = Options { near_head: Some(shape.near_head), ..Options::default() };
    Active::open(rt, disk, &shape.places(), shape.frag as u32, kept, options).await.unwrap()
}

/// The bytes may be these; of what was being written past the journal, sectors of either.
fn is_right(shape: Shape, got: &[u8], may: &[u64], mixed: bool) -> bool {
    let all: Vec<Vec<u8>> = may.iter().map(|number| shape.bytes(*number)).collect();
    match mixed {
        false => all.iter().any(|one| one == got),
        true => got.chunks(512).enumerate().all(|(n, sector)| all.iter().any(|one| &one[n * 512..][..512] == sector)),
    }
}

impl Cut {
    /// A mount, with its own power cut, and a mount that ends.
    fn recovers(self, shape: Shape, rng: &mut Rng, of: &str) {
        let rt = Rt::virtual_time(2);
        let ram = self.disk;
        for again in [true, false] {
            let disk: Rc<dyn Disk> = Rc::new(ram.clone().volatile(true));
            let active = rt.block_on(open(&rt, disk, shape, Kept { by: Some(ID), dirty: true }));
            let queue = Queue::new(&rt, Rc::new(active.clone()), QueueOptions::default());
            let place = Place::new(&queue, &[active.journal()]).unwrap();
            let found = rt.block_on(Journal::inspect(place)).unwrap();
            assert_eq!((found.id, found.damage), (ID, None), "{of}");
            let all = &found.recovered.transactions;
            let (last, known) = (found.recovered.last().0.max(found.tail.0 - 1), self.model.last);
            assert!(
                last == known || (last == known + 1 && !self.model.pending.is_empty()),
                "{of}: {last}, not {known}"
            );
            active.recovered(ID, all.iter().map(|one| (one.seq.0, &one.stored[..], &one.revoked[..])));
            for (at, block) in found.recovered.replay() {
                let part = WritePart { image: block.clone().image(), tag: Tag::of(Kind::Data) };
                rt.block_on(async { active.write(at, vec![part], false).await }).unwrap();
            }
            rt.block_on(active.settled()).unwrap();
            self.model.check(shape, last, of, |frag| {
                let part = ReadPart { block: Block::unspecified(shape.frag as usize), tag: Tag::of(Kind::Data) };
                let read = rt.block_on(async { active.read(DiskOff(frag * shape.frag), vec![part]).await });
                read.unwrap_or_else(|error| panic!("{of}, fragment {frag}: {error}"))[0].block.to_vec()
            });
            if again {
                ram.power_cut_at_random(rng);
                continue;
            }
            rt.block_on(active.bring_home()).unwrap();
            ram.power_cut();
            self.model.check(shape, last, of, |frag| {
                let mut home = vec![0; shape.frag as usize];
                ram.peek(frag * shape.frag, &mut home);
                home
            });
        }
    }
}

impl Model {
    /// A transaction is durable.
    fn committed(&mut self, seq: u64, blocks: Vec<(u64, u64)>) {
        self.pending.clear();
        self.last = seq;
        for (frag, number) in blocks {
            let home = &mut self.homes[frag as usize];
            *home = Home { newest: number, seq, older: home.newest, ..*home };
        }
    }

    /// Homes that lie together, from `next` on, which nothing else writes now. Empty before the end: something does.
    fn take_run(&mut self, next: &mut usize, most: usize, wanted: impl Fn(&Home) -> bool) -> Vec<(u64, u64)> {
        let mut some = Vec::new();
        while *next < self.homes.len() && some.len() < most {
            let home = &mut self.homes[*next];
            let is_wanted = wanted(home);
            if is_wanted && !home.busy {
                (home.busy, home.older, home.behind) = (true, 0, false);
                some.push((*next as u64, home.newest));
            } else if is_wanted || !some.is_empty() {
                break;
            }
            *next += 1;
        }
        some
    }

    fn check(&self, shape: Shape, last: u64, of: &str, get: impl Fn(u64) -> Vec<u8>) {
        for (frag, home) in (0..).zip(&self.homes) {
            let pending = self.pending.iter().find(|(one, _)| *one == frag && last > self.last);
            let newest = pending.map_or(home.newest, |(_, number)| *number);
            let may: Vec<u64> = [newest].into_iter().chain(home.void).collect();
            let got = get(frag);
            let was = |n: &u64| got == shape.bytes(*n);
            assert!(
                is_right(shape, &got, &may, home.void.is_some()),
                "{of}, fragment {frag}: {home:?}, it has {:?}",
                (0..=self.number).find(was)
            );
        }
    }
}

fn one_run(seed: u64, cuts: usize) -> u64 {
    let mut rng = Rng::new(seed);
    let shape = Shape::random(&mut rng);
    let of = format!("seed {seed}, {shape:?}");
    let rt = Rt::virtual_time(seed);
    let slow = Slow::new(&rt, shape.size(), shape.volatile, shape.positions, rng.fork());
    let run = rt.block_on(Run::open(&rt, shape, Rc::new(slow.clone()), rng.fork()));
    run.start(run.clone().commits());
    (0..rng.range(1, 3)).for_each(|_| run.start(run.clone().others()));
    let mut left = Vec::new();
    for _ in 0..cuts {
        let wait = match rng.below(3) {
            0 => rng.below(5_000),
            _ => rng.below(400_000),
        };
        rt.block_on(async { rt.sleep(Duration::from_nanos(wait)).await });
        let model = run.model.borrow().clone();
        left.push(Cut { disk: slow.cut(&mut rng), model });
    }
    run.model.borrow_mut().stops = true;
    rt.block_on(async {
        while run.model.borrow().running > 0 {
            rt.sleep(Duration::from_nanos(1000)).await;
        }
        run.active.bring_home().await.unwrap();
        run.active.flush().await.unwrap();
    });
    let end = run.model.borrow().clone();
    assert!(slow.state.borrow().in_flight.is_empty());
    let blocks = run.journal.counters().blocks;
    left.into_iter().for_each(|cut| cut.recovers(shape, &mut rng, &of));
    let undropped = |home: &Home| home.seq > end.dropped;
    if end.homes.iter().any(undropped) {
        rt.block_on(run.checkpoint(true));
        rt.block_on(run.active.bring_home()).unwrap();
    }
    slow.ram.power_cut();
    end.check(shape, end.last, &of, |frag| {
        let mut home = vec![0; shape.frag as usize];
        slow.ram.peek(frag * shape.frag, &mut home);
        home
    });
    blocks / run.journal.size()
}

/// The journal takes the place of a copy, and the home gets newer bytes, while a wrong read asks both.
const BESIDE_COMMITS: u64 = 683;

#[test]
fn whatever_the_line_overwrites_is_at_home() {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let few = (1..=10).chain([BESIDE_COMMITS]);
    let seeds: Vec<u64> = number("SEEDS").map_or_else(|| few.collect(), |most| (1..=most).collect());
    let one = |seed| {
        println!("seed {seed}");
        one_run(seed, 8)
    };
    let rounds: u64 = seeds.into_iter().map(one).sum();
    assert!(rounds > 20, "the line goes round");
}
