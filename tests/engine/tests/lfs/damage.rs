//! Damaged volumes, with the checksums made right: a mount is refused, or what is there works as far as it is whole.
//! Nothing panics, and nothing goes on for ever.

use crate::{Made, SMALL, made, mount_on};
use ordo_buf::{Cache, Health, Policy, Syncer};
use ordo_disk::{Counted, Disk, Queue, QueueOptions, RamDisk};
use ordo_lfs::OpenOptions;
use ordo_ondisk::lfs::summary::{Item, seal};
use ordo_ondisk::lfs::{Geometry, IFILE, Pseg, SegNo, Summary, Superblock, cksum};
use ordo_ondisk::{Endian, Lbn};
use ordo_rt::{Rng, Rt};
use ordo_ufs::Ufs;
use ordo_vfs::{Caller, Error, FallocMode, FileSystem, Kind, Mode, Name, NodeId, SetAttr};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

const OF: Made = Made { block: 1024, fragment: 512, segment: 64 << 10, endian: Endian::Little, size: 8 << 20 };

/// A volume with files of all lengths, some of them behind the last checkpoint.
fn volume(of: Made, unmounted: bool) -> Vec<u8> {
    let rt = Rt::virtual_time(1);
    let ram = made(of);
    rt.block_on(async {
        let mounted = mount_on(&rt, Rc::new(ram.clone()), 4 << 20).await;
        let (fs, who) = (&mounted.fs, Caller { privileged: true, ..Caller::default() });
        let block = u64::from(of.block);
        for round in 0..3 {
            let name = format!("d{round}");
            let dir = fs.mkdir(&who, fs.root(), Name::new(name.as_bytes()).unwrap(), Mode::new(0o755)).await.unwrap();
            for (i, blocks) in [0, 1, 3, 12, 14, 280, 600].into_iter().enumerate() {
                let name = format!("f{i}");
                let name = Name::new(name.as_bytes()).unwrap();
                let made = fs.mknod(&who, dir.node, name, Kind::Regular, Mode::new(0o644), 0).await.unwrap();
                fs.write(&who, made.node, 0, &vec![7; (blocks * block / 2 + 100) as usize]).await.unwrap();
                if i > 3 {
                    // Far behind, where double and triple indirect blocks lead.
                    fs.write(&who, made.node, (300 << i) * block, &[9; 3000]).await.unwrap();
                    fs.write(&who, made.node, 66_000 * block, &[9; 3000]).await.unwrap();
                }
                fs.forget(made.node, 1);
            }
            let target = [b'x'; 300];
            fs.symlink(&who, dir.node, Name::new(b"long").unwrap(), &target).await.unwrap();
            fs.symlink(&who, dir.node, Name::new(b"short").unwrap(), b"f1").await.unwrap();
            for i in 0..40 {
                let name = format!("{i:0100}");
                fs.mknod(&who, dir.node, Name::new(name.as_bytes()).unwrap(), Kind::Regular, Mode::new(0o644), 0)
                    .await
                    .unwrap();
            }
            if round < 2 {
                fs.syncfs().await.unwrap();
            }
        }
        if unmounted {
            mounted.fs.unmount().await.unwrap();
        } else {
            mounted.cache.write_all(mounted.cache.unsettled()).await.unwrap();
        }
    });
    let bytes = ram.to_vec();
    rt.drop_tasks();
    bytes
}

/// A partial segment of the volume, with its first byte.
struct Found {
    at: usize,
    summary: Summary,
    pseg: Pseg,
}

fn partial_segments(bytes: &[u8], g: &Geometry) -> Vec<Found> {
    let mut all = Vec::new();
    for n in (0..g.nseg).map(SegNo) {
        let mut next = [false, true].into_iter().map(|copy| g.first_pseg(n, copy)).find(|at| {
            Summary::decode(&bytes[g.byte(*at).0 as usize..], g).is_ok_and(|summary| summary.walk(g, *at).is_ok())
        });
        while let Some(daddr) = next {
            let at = g.byte(daddr).0 as usize;
            let Ok(summary) = Summary::decode(&bytes[at..], g) else { break };
            let Ok(pseg) = summary.walk(g, daddr) else { break };
            next = pseg.next_here(g);
            all.push(Found { at, summary, pseg });
        }
    }
    all
}

/// Changes some words of `bytes`; they are likely to be numbers that mean something.
fn substitute(bytes: &mut [u8], g: &Geometry, rng: &mut Rng, here: u64) {
    for _ in 0..rng.range(1, 4) {
        // The beginning has more that matters.
        let within = *rng.pick(&[64, 256, 1 << 16]);
        let at = rng.below((bytes.len().min(within) / 4) as u64) as usize * 4;
        let old = g.endian.get_u32(bytes, at).unwrap();
        let known = g.endian.get_u32(bytes, rng.below(bytes.len() as u64 / 4) as usize * 4).unwrap();
        let word = match rng.below(12) {
            0 => 0,
            1 => u32::MAX,
            2 => 1 << rng.below(32),
            3 => i32::MAX as u32,
            4 => rng.below(8) as u32,
            5 | 6 => rng.below(g.size) as u32,
            7 => here as u32,
            8 => known,
            9 => old.wrapping_add(1),
            10 => old.wrapping_sub(1),
            _ => rng.next_u64() as u32,
        };
        match rng.below(4) {
            0 => bytes[at + rng.below(4) as usize] = word as u8,
            _ => g.endian.put_u32(bytes, at, word).unwrap(),
        }
    }
}

fn make_right(bytes: &mut [u8], g: &Geometry, found: &Found) {
    let len = found.pseg.bytes(g) as usize;
    let pseg = &mut bytes[found.at..found.at + len];
    let sumsize = g.sumsize as usize;
    if seal::verify(pseg, g, &found.summary) != seal::Seal::Absent {
        let crc = seal::crc(0, &pseg[sumsize..]);
        seal::put(&mut pseg[..sumsize], g, found.summary.inode_blocks.len(), crc, found.summary.serial).unwrap();
    }
    let sum = found.pseg.datasum(pseg, g).unwrap();
    g.endian.put_u32(pseg, 4, sum).unwrap();
    let sum = cksum(&pseg[4..sumsize], g.endian);
    g.endian.put_u32(pseg, 0, sum).unwrap();
}

fn damage(bytes: &mut [u8], rng: &mut Rng) {
    let sb = Superblock::decode(&bytes[8192..]).expect("the volume is good");
    let g = sb.geometry();
    if rng.chance(1, 6) {
        let copies: Vec<usize> = g.sboffs[..2].iter().map(|at| g.byte(*at).0 as usize).collect();
        let mut image = bytes[copies[0]..copies[0] + 512].to_vec();
        substitute(&mut image, &g, rng, g.sboffs[0].0);
        let sum = cksum(&image[..508], g.endian);
        g.endian.put_u32(&mut image, 508, sum).unwrap();
        let which = rng.below(3);
        for (_, at) in copies.into_iter().enumerate().filter(|(i, _)| which != *i as u64) {
            bytes[at..at + 512].copy_from_slice(&image);
        }
        return;
    }
    let all = partial_segments(bytes, &g);
    for _ in 0..rng.range(1, 3) {
        // The last of the log have most of what is alive.
        let last = all.iter().rev().take(12).count() as u64;
        let nth = if rng.chance(1, 2) { all.len() as u64 - 1 - rng.below(last) } else { rng.below(all.len() as u64) };
        let found = &all[nth as usize];
        if rng.chance(1, 4) {
            let here = found.pseg.at.0;
            substitute(&mut bytes[found.at..found.at + g.sumsize as usize], &g, rng, here);
            let sum = cksum(&bytes[found.at + 4..found.at + g.sumsize as usize], g.endian);
            g.endian.put_u32(&mut bytes[found.at..], 0, sum).unwrap();
            continue;
        }
        let metadata = |item: &&Item| match item {
            Item::Inodes { .. } => true,
            Item::Block { ino, lbn, .. } => *ino == IFILE || lbn.0 < 0 || *lbn == Lbn(0),
        };
        let items: Vec<&Item> = found.pseg.items.iter().filter(metadata).collect();
        if items.is_empty() {
            continue;
        }
        let item = rng.pick(&items);
        let from = g.byte(item.at()).0 as usize;
        let len = g.bytes(item.units(&g)) as usize;
        substitute(&mut bytes[from..from + len], &g, rng, item.at().0);
        make_right(bytes, &g, found);
    }
}

/// The answer, within an hour of virtual time.
async fn in_time<T>(rt: &Rt, call: impl Future<Output = T>) -> T {
    let (mut call, mut late) = (pin!(call), pin!(rt.sleep(Duration::from_secs(36_000))));
    std::future::poll_fn(|cx| match (call.as_mut().poll(cx), late.as_mut().poll(cx)) {
        (Poll::Ready(done), _) => Poll::Ready(done),
        (_, Poll::Ready(())) => panic!("a call does not return"),
        _ => Poll::Pending,
    })
    .await
}

/// Reads everything, within limits.
async fn walk(fs: &Ufs<ordo_lfs::Lfs>) -> Vec<(NodeId, Vec<u8>, NodeId, Kind)> {
    let (mut all, mut waiting, mut dirs) = (Vec::new(), vec![fs.root()], 0);
    while let Some(dir) = waiting.pop() {
        dirs += 1;
        let mut names = Vec::new();
        let _ = fs
            .readdir(dir, 0, &mut |entry| {
                names.push(entry.name.to_vec());
                names.len() < 500
            })
            .await;
        for name in names.iter().filter(|name| *name != b"." && *name != b"..") {
            let Ok(known) = Name::new(name) else { continue };
            let Ok(entry) = fs.lookup(dir, known).await else { continue };
            let _ = fs.read(entry.node, 0, 1 << 16).await;
            let _ = fs.read(entry.node, entry.attr.size.saturating_sub(1 << 14), 1 << 15).await;
            let _ = fs.seek(entry.node, 0, ordo_vfs::Whence::Data).await;
            let _ = fs.readlink(entry.node).await;
            if entry.attr.kind == Kind::Directory && dirs < 20 {
                waiting.push(entry.node);
            }
            all.push((dir, name.clone(), entry.node, entry.attr.kind));
        }
    }
    all
}

async fn use_it(rt: &Rt, ram: &RamDisk, rng: &mut Rng, read_only: bool) -> bool {
    let queue = Queue::new(rt, Rc::new(ram.clone()), QueueOptions::default());
    let policy = Policy { syncer: Syncer::Age(Duration::from_secs(2)), ..Policy::default() };
    let health = if read_only { Health::read_only() } else { Health::default() };
    let cache = Cache::new(rt.clone(), queue, health, 1 << 20, policy);
    let options = OpenOptions { read_only, ..OpenOptions::default() };
    let Ok(opened) = in_time(rt, ordo_lfs::open(&cache, options)).await else { return false };
    let fs = Rc::new(Ufs::new(opened.layout, ordo_ufs::Atime::default()));
    rt.spawn(Cache::run_syncer(Rc::downgrade(&cache)));
    rt.spawn(Ufs::run_upkeep(Rc::downgrade(&fs)));
    in_time(rt, async {
        let all = walk(&fs).await;
        let who = Caller { privileged: true, ..Caller::default() };
        for (dir, name, node, _) in all.iter().filter(|_| !read_only) {
            let name = Name::new(name).unwrap();
            match rng.below(7) {
                0 => drop(fs.write(&who, *node, rng.below(40_000), &[1; 5000]).await),
                1 => {
                    let set = SetAttr { size: Some(rng.below(600_000)), ..SetAttr::default() };
                    drop(fs.setattr(*node, &set).await);
                }
                2 | 3 => {
                    drop(fs.unlink(*dir, name).await);
                    fs.forget(*node, 1);
                }
                4 => drop(fs.fallocate(&who, *node, rng.below(300_000), 90_000, FallocMode::PunchHole).await),
                5 => drop(fs.fsync(*node, false).await),
                _ => {}
            }
        }
        let _ = fs.mkdir(&who, fs.root(), Name::new(b"new").unwrap(), Mode::new(0o755)).await;
        let _ = fs.syncfs().await;
        let _ = fs.layout().clean().await;
        let _ = fs.statfs().await;
        let _ = fs.unmount().await;
    })
    .await;
    true
}

/// Whether it could be mounted.
fn play(good: &[u8], seed: u64) -> bool {
    let mut rng = Rng::new(seed);
    let mut bytes = good.to_vec();
    damage(&mut bytes, &mut rng);
    let rt = Rt::virtual_time(seed);
    let ram = RamDisk::from_bytes(&bytes);
    let read_only = rng.chance(1, 5);
    let mounted = rt.block_on(use_it(&rt, &ram, &mut rng, read_only));
    rt.drop_tasks();
    mounted
}

#[test]
fn damaged_volumes_are_refused_or_work_as_far_as_they_are_whole() {
    // Another range for a longer search: DAMAGE_SEED is the first, DAMAGE_COUNT how many.
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("DAMAGE_SEED").unwrap_or(0);
    let kinds = [(OF, false), (OF, true), (Made { segment: 128 << 10, size: 12 << 20, ..SMALL }, false)];
    let good = kinds.map(|(of, unmounted)| volume(of, unmounted));
    let (mut mounts, mut refused) = (0, 0);
    for seed in first..first + number("DAMAGE_COUNT").unwrap_or(60) {
        if std::env::var("DAMAGE_SAY").is_ok() {
            eprintln!("seed {seed}");
        }
        let ran = std::panic::catch_unwind(|| play(&good[seed as usize % good.len()], seed));
        let mounted = ran.unwrap_or_else(|_| panic!("seed {seed}"));
        *(if mounted { &mut mounts } else { &mut refused }) += 1;
    }
    assert!(mounts > 5 && refused > 0, "{mounts} mounted, {refused} refused: it was no test");
}

/// Cutting a file whose pointers lead to one block again and again ends by an error, after few reads.
#[test]
fn what_two_pointers_lead_to_is_not_freed_twice() {
    for level in 0..3 {
        let mut bytes = volume(OF, true);
        let g = Superblock::decode(&bytes[8192..]).expect("the volume is good").geometry();
        for found in partial_segments(&bytes, &g) {
            for item in &found.pseg.items {
                let Item::Block { lbn, at, .. } = item else { continue };
                if lbn.0 >= 0 || g.tree().level(*lbn) != Some(level) {
                    continue;
                }
                let from = g.byte(*at).0 as usize;
                for word in 0..g.nindir as usize {
                    g.endian.put_u32(&mut bytes[from..], 4 * word, at.0 as u32).unwrap();
                }
                make_right(&mut bytes, &g, &found);
            }
        }
        let rt = Rt::virtual_time(1);
        let (counted, requests) = Counted::count(Rc::new(RamDisk::from_bytes(&bytes)) as Rc<dyn Disk>);
        let refused = rt.block_on(async {
            let mounted = mount_on(&rt, counted, 1 << 20).await;
            let (fs, mut refused) = (&mounted.fs, 0);
            for (_, _, node, _) in walk(fs).await.iter().filter(|(.., kind)| *kind == Kind::Regular) {
                let before = requests.get().reads;
                let cut = fs.setattr(*node, &SetAttr { size: Some(0), ..SetAttr::default() }).await;
                refused += u32::from(matches!(cut, Err(Error::Corrupt(_))));
                let reads = requests.get().reads - before;
                assert!(reads < 600, "level {level}: {reads} reads");
            }
            refused
        });
        assert!(refused >= 3, "level {level}: {refused} refused");
        rt.drop_tasks();
    }
}

#[test]
fn indirect_blocks_that_lead_to_themselves_are_not_followed_for_ever() {
    for unmounted in [false, true] {
        let mut bytes = volume(OF, unmounted);
        let g = Superblock::decode(&bytes[8192..]).expect("the volume is good").geometry();
        let mut circles = 0;
        for found in partial_segments(&bytes, &g) {
            for item in &found.pseg.items {
                let Item::Block { lbn, at, .. } = item else { continue };
                if lbn.0 >= 0 || g.tree().level(*lbn) != Some(2) {
                    continue;
                }
                let from = g.byte(*at).0 as usize;
                for word in 0..g.nindir as usize {
                    g.endian.put_u32(&mut bytes[from..], 4 * word, at.0 as u32).unwrap();
                }
                make_right(&mut bytes, &g, &found);
                circles += 1;
            }
        }
        assert!(circles > 3, "no file has triple indirect blocks");
        for seed in 0..2 {
            let rt = Rt::virtual_time(seed);
            let mounted = rt.block_on(use_it(&rt, &RamDisk::from_bytes(&bytes), &mut Rng::new(seed), false));
            assert!(mounted || !unmounted, "a file's damage is no reason to refuse an unmounted volume");
            rt.drop_tasks();
        }
    }
}
