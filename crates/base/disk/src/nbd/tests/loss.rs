//! The server dies at every request, in every way, and forgets what was not flushed: nobody above sees it.

use std::collections::BTreeMap;

use ordo_rt::Rng;

use super::server::{Fate, Nature, SIZE, Server, nature};
use super::*;
use proto::{FLAG_CAN_MULTI_CONN, FLAG_SEND_WRITE_ZEROES};

/// Sectors that the run uses.
const SECTORS: u64 = 48;
const STEPS: usize = 40;

/// What a sector may hold: the number of its newest write that is durable, and of the newest one. Zero is before all.
#[derive(Clone, Copy, Default)]
struct Truth {
    floor: u16,
    newest: u16,
    /// Its contents are undefined: it was trimmed.
    trimmed: bool,
}

struct Run<'a> {
    rt: &'a Rt,
    queue: &'a Queue,
    rng: Rng,
    truth: Vec<Truth>,
    next: u16,
}

fn sector(number: u16) -> [u8; 512] {
    let mut bytes = [number as u8; 512];
    bytes[..2].copy_from_slice(&number.to_le_bytes());
    bytes
}

impl Run<'_> {
    fn all(&mut self) {
        for _ in 0..STEPS {
            match self.rng.below(10) {
                0..=4 => self.burst(false),
                5 => self.burst(true),
                6 => self.trim(),
                7 => self.zero(),
                _ => self.flush(),
            }
            self.look();
        }
        self.flush();
        self.look();
    }

    fn range(&mut self) -> (u64, u64) {
        let at = self.rng.below(SECTORS - 8);
        (at, self.rng.range(1, 8))
    }

    fn wrote(&mut self, at: u64, len: u64, numbers: impl Fn(u64) -> u16, forced: bool) {
        for i in 0..len {
            let truth = &mut self.truth[(at + i) as usize];
            truth.newest = numbers(i);
            truth.trimmed = false;
            if forced {
                truth.floor = truth.newest;
            }
        }
    }

    /// Several writes at once, with reads of some of them; the queue keeps those in order that overlap.
    fn burst(&mut self, forced: bool) {
        let mut written = Vec::new();
        for _ in 0..self.rng.range(1, 5) {
            let (at, len) = self.range();
            let first = self.next + 1;
            self.next += len as u16;
            let bytes: Vec<u8> = (0..len).flat_map(|i| sector(first + i as u16)).collect();
            let image = Block::copy_of(&bytes).image();
            let place = DiskOff(at * 512);
            written.push(match forced {
                true => self.queue.write_fua(place, image, Kind::Data.into()),
                false => self.queue.write(place, image, Kind::Data.into()),
            });
            self.wrote(at, len, |i| first + i as u16, forced);
        }
        self.rt.block_on(async {
            for written in &written {
                written.completed().await.unwrap();
            }
        });
    }

    fn trim(&mut self) {
        let (at, len) = self.range();
        self.rt.block_on(self.queue.discard(DiskOff(at * 512), len * 512)).unwrap();
        // What was durable may be gone, too.
        (at..at + len).for_each(|i| self.truth[i as usize] = Truth { floor: 0, newest: 0, trimmed: true });
    }

    fn zero(&mut self) {
        let (at, len) = self.range();
        let written = self.queue.write(DiskOff(at * 512), Block::zeroed(len as usize * 512).image(), Kind::Data.into());
        self.rt.block_on(written.completed()).unwrap();
        // Zeros have no number, and are written over at once; the power may go between the two.
        (at..at + len).for_each(|i| self.truth[i as usize].floor = 0);
        let first = self.next + 1;
        self.next += len as u16;
        let bytes: Vec<u8> = (0..len).flat_map(|i| sector(first + i as u16)).collect();
        let written = self.queue.write(DiskOff(at * 512), Block::copy_of(&bytes).image(), Kind::Data.into());
        self.rt.block_on(written.completed()).unwrap();
        self.wrote(at, len, |i| first + i as u16, false);
    }

    fn flush(&mut self) {
        self.rt.block_on(self.queue.flush()).unwrap();
        self.truth.iter_mut().filter(|truth| !truth.trimmed).for_each(|truth| truth.floor = truth.newest);
    }

    /// What is read is the newest.
    fn look(&self) {
        let read = self.queue.read(DiskOff(0), (SECTORS * 512) as usize, Kind::Data.into());
        let bytes = self.rt.block_on(read).unwrap();
        for (i, truth) in self.truth.iter().enumerate().filter(|(_, truth)| !truth.trimmed) {
            let wanted = if truth.newest == 0 { [0; 512] } else { sector(truth.newest) };
            assert!(bytes[i * 512..][..512] == wanted, "sector {i} is not its write {}", truth.newest);
        }
    }
}

/// Runs against such a server, cuts its power at the end, and looks for what was promised. The requests that it took.
fn survives(nature: &Nature, options: &NbdOptions, what: &str) -> u64 {
    survives_at(nature, options, what, |server| server.url.clone())
}

/// The same, with the server at an address.
pub(super) fn survives_at(
    nature: &Nature,
    options: &NbdOptions,
    what: &str,
    url: impl FnOnce(&Server) -> String,
) -> u64 {
    let (rt, server) = (Rt::real_time(), Server::start(nature.clone()));
    let disk = NbdDisk::connect(&rt, &url(&server), options).unwrap();
    let queue = Queue::new(&rt, Rc::new(disk), QueueOptions::default());
    let mut rng = Rng::new(nature.seed);
    let truth = vec![Truth::default(); SECTORS as usize];
    let mut run = Run { rt: &rt, queue: &queue, rng: rng.fork(), truth, next: 0 };
    run.all();
    run.burst(false);
    let truth = run.truth;
    drop(queue);
    rt.run_until_idle();
    let bytes = server.cut_power(&mut rng);
    for (i, truth) in truth.iter().enumerate().filter(|(_, truth)| !truth.trimmed && truth.floor > 0) {
        let found = u16::from_le_bytes([bytes[i * 512], bytes[i * 512 + 1]]);
        assert!(
            found >= truth.floor && found <= truth.newest && bytes[i * 512..][..512] == sector(found),
            "{what}: sector {i} has {found}, and {} was durable",
            truth.floor
        );
    }
    assert_eq!(bytes.len() as u64, SIZE);
    server.lock().requests
}

const FATES: [Fate; 8] = [
    Fate::Dies,
    Fate::DiesUnanswered,
    Fate::DiesAnswering,
    Fate::Cut,
    Fate::Twice,
    Fate::Other,
    Fate::Garbage,
    Fate::Leaves,
];

#[test]
fn a_server_that_dies_at_any_request_loses_nothing_that_was_answered() {
    let zeroes = nature().with(FLAG_SEND_WRITE_ZEROES);
    let shared = nature().structured().with(FLAG_CAN_MULTI_CONN | FLAG_SEND_WRITE_ZEROES);
    let reorders = Nature { reorders: true, ..shared.clone() };
    for (kind, nature) in [zeroes, shared, reorders].into_iter().enumerate() {
        let count = survives(&nature, &NbdOptions::default(), "a good server");
        for request in (1..count).step_by(if kind == 2 { 7 } else { 1 }) {
            let fate = FATES[(request as usize + kind) % FATES.len()];
            let seed = request * 10 + kind as u64;
            let nature = Nature { seed, ..nature.clone() }.at(request, fate);
            survives(&nature, &NbdOptions::default(), &format!("kind {kind}, request {request}: {fate:?}"));
        }
    }
}

#[test]
fn a_server_that_dies_again_and_again_loses_nothing_that_was_answered() {
    let shared = nature().structured().with(FLAG_CAN_MULTI_CONN | FLAG_SEND_WRITE_ZEROES);
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let mut fates = BTreeMap::new();
        let mut at = 0;
        while at < 400 {
            at += rng.range(1, 25);
            fates.insert(at, FATES[rng.below(FATES.len() as u64) as usize]);
        }
        let nature = Nature { fates, seed, ..if seed % 2 == 0 { nature() } else { shared.clone() } };
        // Little memory: writes wait for flushes of ours.
        let options = NbdOptions { kept: Some(24 << 10), ..NbdOptions::default() };
        survives(&nature, &options, &format!("seed {seed}"));
    }
}
