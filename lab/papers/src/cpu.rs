//! The modelled CPU: who uses it, for which work, and who waits for it.
//!
//! M1. There is one CPU. Work is done in the order in which it is charged; a program computes in slices, so that no
//!     other user waits longer than a slice for each user before it.
//! M2. Work is charged to the user whose call did it. A call runs in steps, between which it waits; what the file
//!     system did during one of its steps (requests made, blocks freed) is charged to that call, and nothing else is:
//!     steps of different calls never run at the same time. Otherwise a scheme that frees blocks in the background
//!     would be charged for it where another frees them in the call, and the papers' CPU times could not be compared.
//! M3. The file system's own work (its syncer, deferred removal) uses the CPU too, and is charged to no user.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::time::Duration;

use ordo_workload::Compute;
use ordofs::Mounted;
use ordofs::rt::Rt;

/// The CPU time of each kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Costs {
    /// A system call: entry, arguments, cache lookup, return.
    pub call: Duration,
    /// Creating a file, in addition: inode, name.
    pub create: Duration,
    /// Removing a file, in addition, without its blocks.
    pub remove: Duration,
    /// Returning a block to the free map.
    pub free_block: Duration,
    /// Moving a KiB between a program and the cache.
    pub kib: Duration,
    /// A disk request: setting it up, its interrupt, and the context switch that usually follows.
    pub request: Duration,
    /// Copying a block so that it is not locked while it is written.
    pub block_copy: Duration,
    /// Maintaining the list of requests that a request must follow.
    pub chain: Duration,
    /// Searching a KiB of a directory for a name, on a system that does so each time; zero with an index.
    pub search_kib: Duration,
    /// Tracking a KiB of new contents until it is initialised, for a scheme that defers that.
    pub init_kib: Duration,
    /// Making a log record of a change, other than of a block.
    pub log_record: Duration,
    /// Copying a KiB into the buffer from which a log-structured volume writes its segments.
    pub segment_kib: Duration,
    /// The additional cost if the log is a file system of its own (`wafs`), used through calls.
    pub log_call: Duration,
}

impl Costs {
    /// On a CPU that takes `factor` times as long.
    pub fn slower(self, factor: f64) -> Costs {
        let by = |cost: Duration| cost.mul_f64(factor);
        Costs {
            call: by(self.call),
            create: by(self.create),
            remove: by(self.remove),
            free_block: by(self.free_block),
            kib: by(self.kib),
            request: by(self.request),
            block_copy: by(self.block_copy),
            chain: by(self.chain),
            search_kib: by(self.search_kib),
            init_kib: by(self.init_kib),
            log_record: by(self.log_record),
            segment_kib: by(self.segment_kib),
            log_call: by(self.log_call),
        }
    }
}

/// Whether the scheme defers the initialisation of a block until it is written anyway.
pub(crate) fn defers(scheme: &str) -> bool {
    matches!(scheme, "softupdates" | "suj")
}

/// What a scheme adds to the cost of a request and of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Prices {
    pub(crate) costs: Costs,
    write: Duration,
    new_kib: Duration,
    /// A record of a change; zero without a log of changes.
    record: Duration,
    /// A KiB written that was copied before.
    written_kib: Duration,
}

impl Prices {
    /// The prices under a scheme, by its name and whether it initialises contents before pointers to them.
    pub(crate) fn new(costs: Costs, scheme: &str, init_all: bool) -> Prices {
        let mut write = Duration::ZERO;
        if scheme.ends_with("-cb") {
            write += costs.block_copy;
        }
        if scheme.starts_with("chains") {
            write += costs.chain;
        }
        let record = match scheme {
            "journal-file" => costs.log_record,
            "wafs" => costs.log_record + costs.log_call,
            _ => Duration::ZERO,
        };
        let new_kib = if defers(scheme) && init_all { costs.init_kib } else { Duration::ZERO };
        let written_kib = if scheme == ordofs::LFS_SCHEME { costs.segment_kib } else { Duration::ZERO };
        Prices { costs, write, new_kib, record, written_kib }
    }
}

/// The file system's work so far, as far as it costs CPU time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Done {
    reads: u64,
    writes: u64,
    /// Free fragments in the maps.
    free: u64,
    /// Changes that a log has recorded; counted only where they cost something.
    records: u64,
    /// KiB sent to the disk; counted only where they cost something.
    written_kib: u64,
}

/// The CPU of a machine with one mounted volume.
pub(crate) struct Cpu {
    rt: Rt,
    mounted: Rc<Mounted>,
    prices: Prices,
    frags_of_block: u64,
    frag_size: u64,
    /// What was charged to users; the rest is the system's.
    counted: Cell<Done>,
    /// Work that was charged to no user so far (M3).
    own: Cell<Duration>,
    /// There is one user, whose task polls nothing else.
    one_user: bool,
}

/// How long the system's own work is collected before it is charged (M3).
const GATHER: Duration = Duration::from_millis(50);
/// A slice of a program's computing (M1): a tick of the clock at 100 Hz.
const SLICE: Duration = Duration::from_millis(10);

impl Cpu {
    pub(crate) fn new(rt: &Rt, mounted: Rc<Mounted>, prices: Prices, users: usize) -> Rc<Cpu> {
        let space = mounted.space();
        let frags_of_block = u64::from(space.block_size / space.frag_size).max(1);
        let frag_size = space.frag_size.into();
        let (counted, own, one_user) = (Cell::default(), Cell::default(), users == 1);
        let cpu = Rc::new(Cpu { rt: rt.clone(), mounted, prices, frags_of_block, frag_size, counted, own, one_user });
        cpu.counted.set(cpu.done());
        let system = Rc::downgrade(&cpu);
        let rt = rt.clone();
        cpu.rt.spawn(async move {
            loop {
                rt.sleep(GATHER).await;
                let Some(cpu) = system.upgrade() else { return };
                let (now, before) = (cpu.done(), cpu.counted.get());
                cpu.counted.set(now);
                let price = cpu.price(before, now);
                cpu.own.set(cpu.own.get() + price);
                cpu.use_for(price);
            }
        });
        cpu
    }

    fn done(&self) -> Done {
        let cache = self.mounted.cache();
        let (reads, writes) = cache.queue().issued();
        let free = self.mounted.space().free_frags.saturating_sub(cache.ledger().frags());
        let records = if self.prices.record.is_zero() { 0 } else { cache.capabilities().logged_changes() };
        let sent = || cache.queue_stats().bytes_written / 1024;
        let written_kib = if self.prices.written_kib.is_zero() { 0 } else { sent() };
        Done { reads, writes, free, records, written_kib }
    }

    fn price(&self, before: Done, now: Done) -> Duration {
        let Prices { costs, write, new_kib, record, written_kib } = self.prices;
        let times = |cost: Duration, count: u64| cost * count.min(u64::from(u32::MAX)) as u32;
        let (reads, writes) = (now.reads.saturating_sub(before.reads), now.writes.saturating_sub(before.writes));
        let freed = now.free.saturating_sub(before.free).div_ceil(self.frags_of_block);
        let taken = before.free.saturating_sub(now.free) * self.frag_size / 1024;
        times(costs.request, reads)
            + times(costs.request + write, writes)
            + times(costs.free_block, freed)
            + times(new_kib, taken)
            + times(record, now.records.saturating_sub(before.records))
            + times(written_kib, now.written_kib.saturating_sub(before.written_kib))
    }

    /// Uses the CPU without a caller that waits: the next one to compute waits for it.
    fn use_for(&self, work: Duration) {
        if !work.is_zero() {
            drop(self.rt.charge(work));
        }
    }
}

/// One user's use of the CPU.
pub(crate) struct Share {
    cpu: Rc<Cpu>,
    used: Cell<Duration>,
}

impl Share {
    pub(crate) fn new(cpu: &Rc<Cpu>) -> Share {
        Share { cpu: cpu.clone(), used: Cell::default() }
    }

    /// CPU time of this user so far.
    pub(crate) fn used(&self) -> Duration {
        self.used.get()
    }

    /// CPU time of the file system's own work so far (M3).
    pub(crate) fn own(&self) -> Duration {
        self.cpu.own.get()
    }

    pub(crate) fn costs(&self) -> &Costs {
        &self.cpu.prices.costs
    }

    /// Computes, and returns when that is done.
    pub(crate) async fn work(&self, work: Duration) {
        self.used.set(self.used.get() + work);
        match self.cpu.one_user {
            true => self.cpu.rt.charge_alone(work).await,
            false => self.cpu.rt.charge(work).await,
        }
    }

    /// Runs a call of the file system and charges the work of its steps (M2).
    pub(crate) async fn call<T>(&self, call: impl Future<Output = T>) -> T {
        let mut call = pin!(call);
        let cpu = &self.cpu;
        poll_fn(|cx| {
            let before = cpu.done();
            let poll = call.as_mut().poll(cx);
            let after = cpu.done();
            if after != before {
                let price = cpu.price(before, after);
                self.used.set(self.used.get() + price);
                cpu.use_for(price);
                cpu.counted.set(cpu.counted.get().with(before, after));
            }
            poll
        })
        .await
    }
}

impl Done {
    /// This total after a step that changed the counts from `before` to `after`.
    fn with(self, before: Done, after: Done) -> Done {
        let plus = |mine: u64, from: u64, to: u64| (mine + to).saturating_sub(from);
        Done {
            reads: plus(self.reads, before.reads, after.reads),
            writes: plus(self.writes, before.writes, after.writes),
            free: plus(self.free, before.free, after.free),
            records: plus(self.records, before.records, after.records),
            written_kib: plus(self.written_kib, before.written_kib, after.written_kib),
        }
    }
}

impl Compute for Share {
    fn compute(&self, work: Duration) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(async move {
            let mut left = work;
            while !left.is_zero() {
                let slice = left.min(SLICE);
                self.work(slice).await;
                left -= slice;
            }
        })
    }
}
