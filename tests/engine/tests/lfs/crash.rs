//! What fsync promises on a log: when it has returned, the log on the disk alone has the file, whatever the power cut
//! leaves of what was not flushed. Several tasks write, with so little memory that batches and reads make room for each
//! other, on a disk that completes its requests in any order, and now and then fails one or sees a caller give up.

use crate::{Made, SMALL, made, mount_on, wrong};
use ordo_buf::{Cache, Health};
use ordo_disk::{Disk, DiskError, DiskFuture, DiskInfo, DiskOff, DiskOp, RamDisk};
use ordo_disk::{ReadPart, WritePart};
use ordo_lfs::Lfs;
use ordo_rt::{Rng, Rt};
use ordo_simdisk::{Fault, FaultPlan, Faulty};
use ordo_ufs::{Layout, Ufs};
use ordo_vfs::{Caller, FileSystem, Kind, Mode, Name, NodeId, SetAttr};
use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

/// Bytes of a block.
const BLOCK: u64 = 4096;

/// Each request takes up to 20 ms, and up to eight are at the disk.
pub(crate) struct Jitter {
    below: Rc<dyn Disk>,
    rt: Rt,
    rng: RefCell<Rng>,
}

impl Jitter {
    pub(crate) fn new(below: Rc<dyn Disk>, rt: &Rt, rng: Rng) -> Jitter {
        Jitter { below, rt: rt.clone(), rng: RefCell::new(rng) }
    }

    fn later<T: Unpin + 'static>(&self, act: impl FnOnce(Rc<dyn Disk>) -> DiskFuture<T> + 'static) -> DiskFuture<T> {
        let (below, rt) = (self.below.clone(), self.rt.clone());
        let micros = self.rng.borrow_mut().below(20_000);
        DiskFuture::later(async move {
            rt.sleep(Duration::from_micros(micros)).await;
            act(below).await
        })
    }
}

impl Disk for Jitter {
    fn info(&self) -> DiskInfo {
        DiskInfo { immediate: false, depth: 8, ..self.below.info() }
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        self.later(move |disk| disk.read(at, parts))
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        self.later(move |disk| disk.write(at, parts, fua))
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        // It covers what was completed before it began.
        self.below.flush()
    }
}

/// Polls `work` for `time`, and drops it if it is not done.
async fn given_up<T>(rt: &Rt, time: Duration, work: impl Future<Output = T>) -> Option<T> {
    let (mut work, mut late) = (pin!(work), pin!(rt.sleep(time)));
    std::future::poll_fn(|cx| match (work.as_mut().poll(cx), late.as_mut().poll(cx)) {
        (Poll::Ready(done), _) => Poll::Ready(Some(done)),
        (_, Poll::Ready(())) => Poll::Ready(None),
        _ => Poll::Pending,
    })
    .await
}

/// The contents of a file, as a mount finds them on what a power cut leaves of `ram`.
async fn survives(rt: &Rt, ram: &RamDisk, rng: &mut Rng, node: NodeId) -> Vec<u8> {
    let after = ram.snapshot();
    after.power_cut_at_random(rng);
    let judged = wrong(rt, &after).await;
    assert_eq!(judged, [""; 0], "fsck of what the power cut left");
    let again = mount_on(rt, Rc::new(after.clone()), 1 << 20).await;
    let found = again.fs.read(node, 0, u32::MAX).await;
    let found = found.unwrap_or_else(|error| panic!("file {}: {error}", node.0)).concat();
    again.fs.unmount().await.expect("what was rolled forward can be written");
    assert_eq!(wrong(rt, &after).await, [""; 0], "fsck after the roll-forward");
    found
}

struct Task {
    rt: Rt,
    ram: RamDisk,
    fs: Rc<Ufs<Lfs>>,
    rng: Rng,
    number: u64,
    checks: Rc<Cell<u64>>,
}

impl Task {
    /// Calls on files of its own, until a call fails: the volume is read-only then.
    async fn run(&mut self, steps: u64) -> ordo_vfs::Result<()> {
        let who = Caller { privileged: true, ..Caller::default() };
        let mut files: Vec<(NodeId, String, Vec<u8>)> = Vec::new();
        for step in 0..steps {
            let some = self.rng.below(4) as usize;
            if some >= files.len() {
                let name = format!("{}-{step}", self.number);
                let known = Name::new(name.as_bytes())?;
                let made = self.fs.mknod(&who, self.fs.root(), known, Kind::Regular, Mode::new(0o644), 0).await?;
                files.push((made.node, name, Vec::new()));
                continue;
            }
            let (node, name, model) = &mut files[some];
            match self.rng.below(20) {
                0 => {
                    self.fs.unlink(self.fs.root(), Name::new(name.as_bytes())?).await?;
                    self.fs.forget(*node, 1);
                    files.swap_remove(some);
                }
                1 | 2 => {
                    let size = self.rng.below(model.len() as u64 + 1);
                    self.fs.setattr(*node, &SetAttr { size: Some(size), ..SetAttr::default() }).await?;
                    model.truncate(size as usize);
                }
                3..=7 => {
                    self.fs.fsync(*node, false).await?;
                    self.checks.set(self.checks.get() + 1);
                    let found = survives(&self.rt, &self.ram, &mut self.rng, *node).await;
                    assert!(found == *model, "fsync of file {} has returned, and its contents are lost", node.0);
                }
                8 | 9 => {
                    let time = Duration::from_micros(self.rng.below(30_000));
                    let (fs, node) = (self.fs.clone(), *node);
                    let sync = self.rng.chance(1, 2);
                    let work = async { if sync { fs.syncfs().await } else { fs.fsync(node, false).await } };
                    given_up(&self.rt, time, work).await.unwrap_or(Ok(()))?;
                }
                10..=12 => {
                    let found = self.fs.read(*node, 0, u32::MAX).await?.concat();
                    assert!(found == *model, "file {} reads otherwise than it was written", node.0);
                }
                _ => {
                    let at = self.rng.below(model.len() as u64 + 1).min(30 * BLOCK);
                    let mut data = vec![0; self.rng.range(1, 8 * BLOCK) as usize];
                    self.rng.fill(&mut data);
                    let done = self.fs.write(&who, *node, at, &data).await? as usize;
                    let end = at as usize + done;
                    model.resize(model.len().max(end), 0);
                    model[at as usize..end].copy_from_slice(&data[..done]);
                }
            }
            self.rt.sleep(Duration::from_micros(self.rng.below(100_000))).await;
        }
        Ok(())
    }
}

/// Checks of one run.
fn play(seed: u64, steps: u64) -> u64 {
    play_on(made(Made { size: 16 << 20, segment: 64 << 10, ..SMALL }), seed, steps)
}

pub(crate) fn play_on(ram: RamDisk, seed: u64, steps: u64) -> u64 {
    let rt = Rt::virtual_time(seed);
    let mut rng = Rng::new(seed);
    let ram = ram.volatile(true);
    let mut plan = FaultPlan::new(seed);
    let faulty = rng.chance(1, 2);
    if faulty {
        let op = *rng.pick(&[DiskOp::Write, DiskOp::Read, DiskOp::Flush]);
        plan = plan.with(Fault::error(op, rng.range(60, 200)));
    }
    let below = Rc::new(Faulty::new(Rc::new(ram.clone()), plan));
    let disk = Jitter::new(below, &rt, rng.fork());
    let memory = *rng.pick(&[32, 64, 128]) * BLOCK as usize;
    let checks = Rc::new(Cell::new(0));
    rt.block_on(async {
        let mounted = mount_on(&rt, Rc::new(disk), memory).await;
        let running = Rc::new(Cell::new(4));
        for number in 0..4 {
            let (fs, rng, checks) = (mounted.fs.clone(), rng.fork(), checks.clone());
            let mut task = Task { rt: rt.clone(), ram: ram.clone(), fs, rng, number, checks };
            let running = running.clone();
            rt.spawn(async move {
                let outcome = task.run(steps).await;
                let cache: &Rc<Cache> = task.fs.layout().cache();
                let health: &Health = cache.health();
                assert!(outcome.is_ok() || faulty, "{outcome:?}, {:?}", health.reason());
                running.set(running.get() - 1);
            });
        }
        for _ in 0..1000 {
            if running.get() == 0 {
                break;
            }
            rt.sleep(Duration::from_secs(1)).await;
        }
        assert_eq!(running.get(), 0, "calls that never end");
        let _ = mounted.fs.unmount().await;
    });
    rt.drop_tasks();
    checks.get()
}

#[test]
fn what_fsync_has_returned_for_is_in_the_log() {
    // Another range for a longer search: LOG_SEED is the first, LOG_COUNT how many.
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("LOG_SEED").unwrap_or(0);
    let seeds = first..first + number("LOG_COUNT").unwrap_or(12);
    let mut checks = 0;
    for seed in seeds {
        let ran = std::panic::catch_unwind(|| play(seed, 40));
        checks += ran.unwrap_or_else(|_| panic!("seed {seed}"));
    }
    assert!(checks > 0, "nothing was checked");
}
