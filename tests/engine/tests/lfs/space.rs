//! A volume that is filled until nothing fits, made less full, and filled again: a call is told that there is no room,
//! and what was acknowledged can always be written. No sync, fsync or unmount fails, and no call waits for ever.

use crate::{Made, SMALL, WHOLE, made, mount_on, wrong};
use ordo_disk::RamDisk;
use ordo_lfs::Lfs;
use ordo_ondisk::Endian;
use ordo_rt::{Rng, Rt};
use ordo_ufs::{Layout, Ufs};
use ordo_vfs::{Caller, Error, FallocMode, FileSystem, Kind, Mode, Name, NodeId, Refusal, SetAttr};
use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

/// The smallest volume of small segments that newfs makes: 80 segments of 32 KiB.
const TINY: Made =
    Made { block: 1024, fragment: 512, segment: 32 << 10, endian: Endian::Little, size: 80 * (32 << 10) + 8192 };
const SMALL_SEGMENTS: Made = Made { segment: 64 << 10, size: 80 * (64 << 10) + 8192, ..SMALL };
const BIG_ENDIAN: Made = Made { segment: 64 << 10, size: 96 * (64 << 10) + 8192, ..WHOLE };

struct File {
    node: NodeId,
    /// What was written, by its offset; in between are holes.
    pieces: BTreeMap<u64, Vec<u8>>,
}

struct Full {
    rt: Rt,
    ram: RamDisk,
    fs: Rc<Ufs<Lfs>>,
    rng: Rng,
    block: u64,
    number: u64,
    dirs: Vec<(String, NodeId)>,
    files: BTreeMap<(NodeId, String), File>,
}

/// What a call answers; `None` that there is no room. Every other failure, and a call that hangs, ends the test.
async fn told<T>(rt: &Rt, what: &str, call: impl Future<Output = ordo_vfs::Result<T>>) -> Option<T> {
    let (mut call, mut late) = (pin!(call), pin!(rt.sleep(Duration::from_secs(3600))));
    let answer = std::future::poll_fn(|cx| match (call.as_mut().poll(cx), late.as_mut().poll(cx)) {
        (Poll::Ready(answer), _) => Poll::Ready(answer),
        (_, Poll::Ready(())) => panic!("{what} does not return"),
        _ => Poll::Pending,
    });
    match answer.await {
        Ok(answer) => Some(answer),
        Err(Error::Refused(Refusal::NoSpace | Refusal::NoInodes)) => None,
        Err(error) => panic!("{what}: {error}"),
    }
}

impl Full {
    fn who(&mut self) -> Caller {
        Caller { privileged: self.rng.chance(1, 2), ..Caller::default() }
    }

    fn name(&mut self) -> String {
        self.number += 1;
        let long = *self.rng.pick(&[1, 1, 20, 200]);
        format!("{:0long$}", self.number, long = long)
    }

    /// Makes something, or makes it larger; `false` if there is no room.
    async fn take(&mut self) -> bool {
        let (who, rt, fs) = (self.who(), self.rt.clone(), self.fs.clone());
        let dir = self.rng.pick(&self.dirs).1;
        match self.rng.below(20) {
            0 => {
                let name = self.name();
                let made =
                    told(&rt, "mkdir", fs.mkdir(&who, dir, Name::new(name.as_bytes()).unwrap(), Mode::new(0o755)));
                let made = made.await;
                made.map(|made| self.dirs.push((name, made.node))).is_some()
            }
            1 => {
                let name = self.name();
                let target = vec![b'x'; self.rng.range(1, 900) as usize];
                told(&rt, "symlink", fs.symlink(&who, dir, Name::new(name.as_bytes()).unwrap(), &target))
                    .await
                    .is_some()
            }
            2..=9 => {
                let name = self.name();
                let known = Name::new(name.as_bytes()).unwrap();
                let made = told(&rt, "mknod", fs.mknod(&who, dir, known, Kind::Regular, Mode::new(0o644), 0)).await;
                let Some(made) = made else { return false };
                self.files.insert((dir, name.clone()), File { node: made.node, pieces: BTreeMap::new() });
                let most = 1 << self.rng.range(4, 18);
                self.write(&who, (dir, name), most).await
            }
            10..=11 => {
                let Some(key) = self.some_file() else { return true };
                let most = 1 << self.rng.range(10, 19);
                let len = self.rng.range(1, most);
                let file = &self.files[&key];
                let from = file.pieces.last_key_value().map_or(0, |(at, data)| at + data.len() as u64);
                let done = told(
                    &rt,
                    "fallocate",
                    fs.fallocate(&who, file.node, from, len, FallocMode::Allocate { keep_size: false }),
                );
                if done.await.is_none() {
                    return false;
                }
                self.files.get_mut(&key).unwrap().pieces.insert(from, vec![0; len as usize]);
                true
            }
            _ => {
                let Some(key) = self.some_file() else { return true };
                let most = 1 << self.rng.range(4, 16);
                self.write(&who, key, most).await
            }
        }
    }

    fn some_file(&mut self) -> Option<(NodeId, String)> {
        let nth = self.rng.below(self.files.len().max(1) as u64) as usize;
        self.files.keys().nth(nth).cloned()
    }

    /// Overwrites, appends, or writes behind a hole, up to where only triple indirect blocks lead.
    async fn write(&mut self, who: &Caller, key: (NodeId, String), most: u64) -> bool {
        let mut data = vec![0; self.rng.range(1, most.max(2)) as usize];
        self.rng.fill(&mut data);
        let file = &self.files[&key];
        let end = file.pieces.last_key_value().map_or(0, |(at, data)| at + data.len() as u64);
        let nindir = self.block / 4;
        let (old, at) = match self.rng.below(8) {
            0..=2 => {
                let old = self.rng.below(file.pieces.len().max(1) as u64) as usize;
                let old = file.pieces.iter().nth(old).map(|(at, old)| (*at, old.len()));
                data.truncate(old.map_or(data.len(), |(_, len)| len.max(1)));
                (old.is_some(), old.map_or(end, |(at, _)| at))
            }
            3 => {
                let far = *self.rng.pick(&[13, 12 + nindir, 12 + nindir + nindir * nindir]);
                let at = (far + self.rng.below(64) * nindir * self.rng.pick(&[1, nindir])) * self.block;
                (false, at.max(end))
            }
            _ => (false, end),
        };
        if data.is_empty() {
            return true;
        }
        let (rt, fs, node) = (self.rt.clone(), self.fs.clone(), file.node);
        let Some(done) = told(&rt, "write", fs.write(who, node, at, &data)).await else { return false };
        let full = done as usize == data.len();
        data.truncate(done as usize);
        let pieces = &mut self.files.get_mut(&key).unwrap().pieces;
        if old {
            let piece = pieces.get_mut(&at).unwrap();
            piece[..data.len()].copy_from_slice(&data);
        } else if !data.is_empty() {
            pieces.insert(at, data);
        }
        full
    }

    /// Removes or shortens something: that must always work.
    async fn give(&mut self) {
        let Some(key) = self.some_file() else { return };
        let (rt, fs) = (self.rt.clone(), self.fs.clone());
        let file = &self.files[&key];
        if self.rng.chance(1, 4) {
            let all: Vec<u64> = file.pieces.keys().copied().collect();
            let Some(from) = all.get(self.rng.below(all.len().max(1) as u64) as usize).copied() else { return };
            let set = SetAttr { size: Some(from), ..SetAttr::default() };
            told(&rt, "truncate", fs.setattr(file.node, &set)).await.expect("to truncate needs no room");
            self.files.get_mut(&key).unwrap().pieces.retain(|at, _| *at < from);
        } else {
            let unlinked = told(&rt, "unlink", fs.unlink(key.0, Name::new(key.1.as_bytes()).unwrap())).await;
            unlinked.expect("to unlink needs no room");
            fs.forget(file.node, 1);
            self.files.remove(&key);
        }
    }

    async fn sync(&mut self) {
        let (rt, fs) = (self.rt.clone(), self.fs.clone());
        let key = self.some_file();
        let done = match key {
            Some(key) if self.rng.chance(2, 3) => told(&rt, "fsync", fs.fsync(self.files[&key].node, false)).await,
            _ => told(&rt, "sync", fs.syncfs()).await,
        };
        let why = fs.layout().cache().health().reason();
        done.unwrap_or_else(|| panic!("a sync is told that there is no room: {why:?}"));
    }

    async fn compare(&self, fs: &Ufs<Lfs>, nodes: &BTreeMap<NodeId, NodeId>) {
        for ((dir, name), file) in &self.files {
            let dir = nodes.get(dir).copied().unwrap_or(*dir);
            let found = fs.lookup(dir, Name::new(name.as_bytes()).unwrap()).await;
            let node = found.unwrap_or_else(|error| panic!("{name}: {error}")).node;
            for (at, data) in &file.pieces {
                let read = fs.read(node, *at, data.len() as u32).await.unwrap().concat();
                let first = read.iter().zip(data).position(|(a, b)| a != b);
                assert!(read == *data, "{name} from {at}: {} of {} bytes, differ at {first:?}", read.len(), data.len());
            }
            fs.forget(node, 1);
        }
    }
}

/// Fills and empties the volume so many times.
fn rounds(of: Made, memory: usize, seed: u64, rounds: u64) {
    let rt = Rt::virtual_time(seed);
    let ram = made(of);
    rt.block_on(async {
        let mounted = mount_on(&rt, Rc::new(ram.clone()), memory).await;
        let root = mounted.fs.root();
        let (fs, rng) = (mounted.fs.clone(), Rng::new(seed));
        let (dirs, files) = (vec![(String::new(), root)], BTreeMap::new());
        let mut full = Full { rt: rt.clone(), ram, fs, rng, block: of.block.into(), number: 0, dirs, files };
        for round in 0..rounds {
            let (mut refused, mut calls) = (0, 0);
            while refused < 12 && calls < 4000 {
                calls += 1;
                refused += u64::from(!full.take().await);
                if full.rng.chance(1, 30) {
                    full.sync().await;
                }
                if full.rng.chance(1, 10) {
                    let wait = full.rng.below(3_000_000);
                    rt.sleep(Duration::from_micros(wait)).await;
                }
            }
            assert!(refused >= 12, "the volume is never full");
            full.compare(&full.fs, &BTreeMap::new()).await;
            full.sync().await;
            told(&rt, "sync", full.fs.syncfs()).await.expect("a sync needs no room");
            assert_eq!(wrong(&rt, &full.ram).await, [""; 0], "fsck of a full volume, round {round}");
            let keep = full.rng.below(full.files.len() as u64 + 1) as usize;
            while full.files.len() > keep {
                full.give().await;
                if full.rng.chance(1, 20) {
                    full.sync().await;
                }
            }
            told(&rt, "sync", full.fs.syncfs()).await.expect("a sync needs no room");
            assert_eq!(wrong(&rt, &full.ram).await, [""; 0], "fsck of a volume less full, round {round}");
        }
        while full.take().await {}
        told(&rt, "unmount", full.fs.unmount()).await.expect("an unmount needs no room");
        assert_eq!(wrong(&rt, &full.ram).await, [""; 0], "fsck after the unmount");
        let again = mount_on(&rt, Rc::new(full.ram.clone()), memory).await;
        let mut nodes = BTreeMap::new();
        for (name, dir) in full.dirs.iter().skip(1) {
            // Its parent was made before it; the first that has the name is it, since names are used once.
            for parent in full.dirs.iter().map(|(_, dir)| nodes.get(dir).copied().unwrap_or(*dir)) {
                if let Ok(found) = again.fs.lookup(parent, Name::new(name.as_bytes()).unwrap()).await {
                    nodes.insert(*dir, found.node);
                    break;
                }
            }
        }
        full.compare(&again.fs, &nodes).await;
        told(&rt, "unmount", again.fs.unmount()).await.expect("an unmount needs no room");
    });
    rt.drop_tasks();
}

#[test]
fn full_volumes_tell_the_call_that_there_is_no_room() {
    // Another range for a longer search: SPACE_SEED is the first, SPACE_COUNT how many.
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("SPACE_SEED").unwrap_or(0);
    for seed in first..first + number("SPACE_COUNT").unwrap_or(6) {
        let of = [TINY, SMALL_SEGMENTS, BIG_ENDIAN][seed as usize % 3];
        let memory = [1 << 20, 256 << 10, 8 << 20][(seed / 3) as usize % 3];
        let ran = std::panic::catch_unwind(|| rounds(of, memory, seed, 3));
        ran.unwrap_or_else(|_| panic!("seed {seed}: {of:?}, {memory} bytes of memory"));
    }
}

/// A volume whose clean segments are used up, while most of what is in the others is dead; what takes `bytes` in one
/// call finds room.
fn one_call_waits_for_the_cleaner(call: impl AsyncFn(&Ufs<Lfs>, NodeId, u32)) {
    let rt = Rt::virtual_time(3);
    let ram = made(SMALL_SEGMENTS);
    let who = Caller { privileged: true, ..Caller::default() };
    rt.block_on(async {
        let mounted = mount_on(&rt, Rc::new(ram.clone()), 8 << 20).await;
        let (fs, block) = (mounted.fs.clone(), vec![7; 4096]);
        let made = async |name: &[u8]| {
            let name = Name::new(name).unwrap();
            fs.mknod(&who, fs.root(), name, Kind::Regular, Mode::new(0o600), 0).await.unwrap().node
        };
        let (old, new) = (made(b"old").await, made(b"new").await);
        // A third is alive, spread over all segments that were written.
        for turn in 0..8 {
            for i in 0..300 {
                if turn == 0 || i % 5 != turn % 5 {
                    fs.write(&who, old, i * 4096, &block).await.unwrap();
                }
            }
            fs.fsync(old, false).await.unwrap();
        }
        call(&fs, new, 1_000_000).await;
        fs.unmount().await.unwrap();
    });
    assert_eq!(rt.block_on(wrong(&rt, &ram)), [""; 0]);
    rt.drop_tasks();
}

#[test]
fn a_long_write_waits_for_the_cleaner() {
    one_call_waits_for_the_cleaner(async |fs, node, len| {
        let (who, data) = (Caller { privileged: true, ..Caller::default() }, vec![9; len as usize]);
        assert_eq!(fs.write(&who, node, 0, &data).await.unwrap(), len, "bytes written");
        assert!(fs.read(node, 0, len).await.unwrap().concat() == data);
    });
}

#[test]
fn a_long_fallocate_waits_for_the_cleaner() {
    one_call_waits_for_the_cleaner(async |fs, node, len| {
        let who = Caller { privileged: true, ..Caller::default() };
        let done = fs.fallocate(&who, node, 0, len.into(), FallocMode::Allocate { keep_size: false }).await;
        done.unwrap();
    });
}

/// The last block of the file is not in the cache, and is not read for a call that is said to overwrite all of it.
#[test]
fn allocating_over_what_is_stored_changes_no_byte() {
    let rt = Rt::virtual_time(5);
    let ram = made(WHOLE);
    let who = Caller { privileged: true, ..Caller::default() };
    let grow = FallocMode::Allocate { keep_size: false };
    rt.block_on(async {
        let name = Name::new(b"f").unwrap();
        let mounted = mount_on(&rt, Rc::new(ram.clone()), 8 << 20).await;
        let fs = mounted.fs;
        let node = fs.mknod(&who, fs.root(), name, Kind::Regular, Mode::new(0o600), 0).await.unwrap().node;
        fs.write(&who, node, 0, &[7; 5000]).await.unwrap();
        fs.unmount().await.unwrap();
        let fs = mount_on(&rt, Rc::new(ram.clone()), 8 << 20).await.fs;
        let node = fs.lookup(fs.root(), name).await.unwrap().node;
        fs.fallocate(&who, node, 0, 8000, grow).await.unwrap();
        assert_eq!(fs.read(node, 0, 9000).await.unwrap().concat(), [[7; 5000].to_vec(), vec![0; 3000]].concat());
        fs.unmount().await.unwrap();
    });
    assert_eq!(rt.block_on(wrong(&rt, &ram)), [""; 0]);
    rt.drop_tasks();
}

/// One of several programs on a full volume: makes, overwrites, shortens, removes and syncs files of its own.
async fn program(rt: Rt, fs: Rc<Ufs<Lfs>>, n: u64, seed: u64, steps: u64) -> BTreeMap<String, Vec<u8>> {
    let (mut rng, mut files) = (Rng::new(seed * 100 + n), BTreeMap::<String, (NodeId, Vec<u8>)>::new());
    let (who, root) = (Caller { privileged: n.is_multiple_of(2), ..Caller::default() }, fs.root());
    for step in 0..steps {
        let nth = rng.below(files.len().max(1) as u64) as usize;
        let some = files.keys().nth(nth).cloned();
        match (rng.below(10), some) {
            (0..=2, _) | (_, None) => {
                let name = format!("p{n}-{step}");
                let known = Name::new(name.as_bytes()).unwrap();
                let made = told(&rt, "mknod", fs.mknod(&who, root, known, Kind::Regular, Mode::new(0o666), 0)).await;
                if let Some(made) = made {
                    files.insert(name, (made.node, Vec::new()));
                }
            }
            (3..=6, Some(name)) => {
                let (node, data) = files.get_mut(&name).unwrap();
                let at = rng.below(data.len() as u64 + 1) as usize;
                let most = 1 << rng.range(8, 17);
                let bytes = vec![step as u8; rng.range(1, most) as usize];
                if let Some(len) = told(&rt, "write", fs.write(&who, *node, at as u64, &bytes)).await {
                    data.resize(data.len().max(at + len as usize), 0);
                    data[at..at + len as usize].copy_from_slice(&bytes[..len as usize]);
                }
            }
            (7, Some(name)) => {
                let set = SetAttr { size: Some(files[&name].1.len() as u64 / 2), ..SetAttr::default() };
                let done = told(&rt, "truncate", fs.setattr(files[&name].0, &set)).await;
                done.expect("to truncate needs no room");
                let data = &mut files.get_mut(&name).unwrap().1;
                data.truncate(data.len() / 2);
            }
            (8, Some(name)) => {
                let done = told(&rt, "unlink", fs.unlink(root, Name::new(name.as_bytes()).unwrap())).await;
                done.expect("to unlink needs no room");
                fs.forget(files[&name].0, 1);
                files.remove(&name);
            }
            (_, Some(name)) => {
                told(&rt, "fsync", fs.fsync(files[&name].0, false)).await.expect("an fsync needs no room");
            }
        }
        if rng.chance(1, 8) {
            rt.sleep(Duration::from_micros(rng.below(500_000))).await;
        }
    }
    files.into_iter().map(|(name, (_, data))| (name, data)).collect()
}

/// Several programs on a volume that is filled to 95 per cent and more before they begin. Returns the highest use that
/// was seen, in per cent of what a file may have.
fn several_programs(of: Made, seed: u64) -> u64 {
    let rt = Rt::virtual_time(seed);
    let ram = made(of);
    let most = rt.block_on(async {
        let mounted = mount_on(&rt, Rc::new(ram.clone()), 1 << 20).await;
        let (fs, who) = (mounted.fs.clone(), Caller { privileged: true, ..Caller::default() });
        let used = async |fs: &Ufs<Lfs>| {
            let stat = fs.statfs().await.unwrap();
            100 - stat.free_frags * 100 / stat.frags
        };
        let name = Name::new(b"filler").unwrap();
        let filler = fs.mknod(&who, fs.root(), name, Kind::Regular, Mode::new(0o600), 0).await.unwrap().node;
        let (mut at, target) = (0, 95 + seed % 4);
        while used(&fs).await < target {
            let Some(len) = told(&rt, "write", fs.write(&who, filler, at, &[9; 16384])).await else { break };
            at += u64::from(len);
        }
        let (found, mut most) = (Rc::new(std::cell::RefCell::new(Vec::new())), 0);
        for n in 0..4 {
            let (of, rt, fs) = (found.clone(), rt.clone(), fs.clone());
            rt.clone().spawn(async move {
                let files = program(rt, fs, n, seed, 150).await;
                of.borrow_mut().push(files);
            });
        }
        let mut waited = 0;
        while found.borrow().len() < 4 {
            most = most.max(used(&fs).await);
            rt.sleep(Duration::from_secs(1)).await;
            waited += 1;
            assert!(waited < 50_000, "the programs do not end");
        }
        told(&rt, "sync", fs.syncfs()).await.expect("a sync needs no room");
        let files = found.take();
        let same = async |fs: &Ufs<Lfs>| {
            for (name, data) in files.iter().flatten() {
                let node = fs.lookup(fs.root(), Name::new(name.as_bytes()).unwrap()).await.unwrap().node;
                let read = fs.read(node, 0, data.len() as u32).await.unwrap().concat();
                assert!(read == *data, "{name}: {} of {} bytes, or others", read.len(), data.len());
                fs.forget(node, 1);
            }
        };
        same(&fs).await;
        told(&rt, "unmount", fs.unmount()).await.expect("an unmount needs no room");
        assert_eq!(wrong(&rt, &ram).await, [""; 0], "fsck after the unmount");
        let again = mount_on(&rt, Rc::new(ram.clone()), 1 << 20).await;
        same(&again.fs).await;
        told(&rt, "unmount", again.fs.unmount()).await.expect("an unmount needs no room");
        most
    });
    rt.drop_tasks();
    most
}

#[test]
fn several_programs_on_a_full_volume_end() {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("SPACE_SEED").unwrap_or(0);
    for seed in first..first + number("SPACE_COUNT").unwrap_or(9) {
        let of = [TINY, SMALL_SEGMENTS, BIG_ENDIAN][seed as usize % 3];
        let ran = std::panic::catch_unwind(|| several_programs(of, seed));
        let most = ran.unwrap_or_else(|_| panic!("seed {seed}: {of:?}"));
        assert!(most >= 95, "seed {seed}: {most} per cent were used at most");
    }
}
