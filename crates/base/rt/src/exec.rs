//! The executor: tasks, and the loop that runs them.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::ready::{Ready, TaskId, TaskWaker};
use crate::timers::Timers;
use crate::watches::{Watches, turn};
use crate::{Rng, Time};

/// Virtual time starts at 2000-01-01 00:00:00 UTC, in seconds since 1970.
const VIRTUAL_EPOCH: i64 = 946_684_800;

/// In real time descriptors are checked after this many polls, and after this time, even if tasks are always ready:
/// what waits for them may be a caller, beside a task that computes.
const POLLS_BETWEEN_LOOKS: u32 = 16;
const TIME_BETWEEN_LOOKS: Duration = Duration::from_micros(250);

/// Polls at one instant of virtual time after which it counts as stuck: far more than any work of one instant.
const POLLS_OF_AN_INSTANT: u32 = 1 << 24;

/// A handle of the executor; clones are handles of the same one. It stays on its thread.
#[derive(Clone)]
pub struct Rt(Rc<Inner>);

struct Inner {
    clock: Clock,
    /// What [`Rt::wall`] adds to its clock, in seconds.
    wall_shift: Cell<i64>,
    ready: Arc<Ready>,
    tasks: RefCell<Tasks>,
    timers: RefCell<Timers>,
    watches: RefCell<Watches>,
    rng: RefCell<Rng>,
    /// When the modelled CPU is free again.
    cpu_free: Cell<Time>,
    one_caller: Cell<bool>,
    main: Arc<TaskWaker>,
    /// The same as `main`, made once: a waker for each call would be an allocation (rt-3).
    main_waker: Waker,
    running: Cell<bool>,
}

enum Clock {
    Virtual(Cell<Time>),
    Real { start: u64 },
}

#[derive(Default)]
struct Tasks {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

#[derive(Default)]
struct Slot {
    generation: u32,
    task: Option<Task>,
}

struct Task {
    /// Taken out while it is being polled.
    work: Option<Work>,
    state: Arc<TaskWaker>,
}

struct Work {
    future: Pin<Box<dyn Future<Output = ()>>>,
    waker: Waker,
}

impl Rt {
    /// An executor in virtual time: the clock starts at zero and moves only when nothing is ready. `seed` determines
    /// all generators of [`Rt::rng`].
    pub fn virtual_time(seed: u64) -> Rt {
        Rt::new(Clock::Virtual(Cell::new(Time::ZERO)), seed)
    }

    /// An executor on the machine's clock.
    pub fn real_time() -> Rt {
        let seed = nanos(ClockId::Realtime);
        Rt::new(Clock::Real { start: nanos(ClockId::Monotonic) }, seed)
    }

    fn new(clock: Clock, seed: u64) -> Rt {
        let ready = Arc::new(Ready::default());
        let main = Arc::new(TaskWaker { task: TaskId::MAIN, ready: ready.clone(), queued: AtomicBool::new(false) });
        Rt(Rc::new(Inner {
            clock,
            wall_shift: Cell::new(0),
            ready,
            tasks: RefCell::default(),
            timers: RefCell::default(),
            watches: RefCell::default(),
            rng: RefCell::new(Rng::new(seed)),
            cpu_free: Cell::new(Time::ZERO),
            one_caller: Cell::new(false),
            main_waker: Waker::from(main.clone()),
            main,
            running: Cell::new(false),
        }))
    }

    /// True for an executor in virtual time.
    pub fn is_virtual(&self) -> bool {
        matches!(self.0.clock, Clock::Virtual(_))
    }

    /// Says whether all work here is for one caller, who waits for each answer (rt-6).
    pub fn set_one_caller(&self, one: bool) {
        self.0.one_caller.set(one);
    }

    /// A short blocking call on this thread delays no caller but the one that waits for it (rt-6). False until the
    /// server of the callers has said so.
    pub fn has_one_caller(&self) -> bool {
        self.0.one_caller.get()
    }

    /// The time since the executor started.
    pub fn now(&self) -> Time {
        match &self.0.clock {
            Clock::Virtual(now) => now.get(),
            Clock::Real { start } => Time::from_nanos(nanos(ClockId::Monotonic).saturating_sub(*start)),
        }
    }

    /// The time since the executor started or some moment before, on a clock that goes on while the machine sleeps: for
    /// who must know that it had been stopped. In virtual time [`Rt::now`].
    pub fn now_with_sleep(&self) -> Time {
        match &self.0.clock {
            Clock::Virtual(now) => now.get(),
            Clock::Real { .. } => Time::from_nanos(nanos(ClockId::Boottime)),
        }
    }

    /// The time of day: seconds since 1970 and nanoseconds. In virtual time 2000-01-01 plus [`Rt::now`].
    pub fn wall(&self) -> (i64, u32) {
        let (secs, nanos) = match &self.0.clock {
            Clock::Virtual(now) => {
                let now = now.get().as_nanos();
                (VIRTUAL_EPOCH + (now / 1_000_000_000) as i64, (now % 1_000_000_000) as u32)
            }
            Clock::Real { .. } => {
                let now = clock_gettime(ClockId::Realtime);
                (now.tv_sec, now.tv_nsec as u32)
            }
        };
        (secs.saturating_add(self.0.wall_shift.get()), nanos)
    }

    /// Moves the time of day by `secs`, as a wrong battery clock or an administrator would; [`Rt::now`] does not
    /// change.
    pub fn jump_wall(&self, secs: i64) {
        self.0.wall_shift.set(self.0.wall_shift.get().saturating_add(secs));
    }

    /// When the modelled CPU has done `work`, after all that it was given before; at once in real time.
    pub(crate) fn occupy_cpu(&self, work: Duration) -> Time {
        if !self.is_virtual() {
            return Time::ZERO;
        }
        let done = self.0.cpu_free.get().max(self.now()) + work;
        self.0.cpu_free.set(done);
        done
    }

    /// Moves the clock of virtual time to `until`, if nothing happens before.
    pub(crate) fn skip_to(&self, until: Time) {
        let Clock::Virtual(now) = &self.0.clock else { return };
        let is_next = self.0.timers.borrow().first().is_none_or(|first| until < first)
            && self.0.ready.len() == 0
            && !self.0.watches.borrow().any_waiting();
        if is_next {
            now.set(until.max(now.get()));
        }
    }

    /// Ready at the second poll: every task that is ready now runs first.
    pub fn yield_now(&self) -> YieldNow {
        YieldNow { yielded: false }
    }

    /// A separate generator for the caller, determined by the executor's seed and the number of calls so far.
    pub fn rng(&self) -> Rng {
        self.0.rng.borrow_mut().fork()
    }

    /// Adds a task. It runs for the first time after the tasks that are ready now, inside [`Rt::block_on`] or
    /// [`Rt::run_until_idle`].
    pub fn spawn(&self, future: impl Future<Output = ()> + 'static) {
        let mut tasks = self.0.tasks.borrow_mut();
        let slot = tasks.free.pop().unwrap_or_else(|| {
            tasks.slots.push(Slot::default());
            // A slot costs far more than 4 bytes of memory: the number cannot pass 32 bits.
            (tasks.slots.len() - 1) as u32
        });
        let id = TaskId { slot, generation: tasks.slots[slot as usize].generation };
        let state = Arc::new(TaskWaker { task: id, ready: self.0.ready.clone(), queued: AtomicBool::new(true) });
        let waker = Waker::from(state.clone());
        let work = Work { future: Box::pin(future), waker };
        tasks.slots[slot as usize].task = Some(Task { work: Some(work), state });
        self.0.ready.push(id);
    }

    /// Runs `future` to its end, and all other tasks meanwhile.
    ///
    /// # Panics
    /// If called from inside a task. In virtual time also if nothing can happen any more and `future` is not done (it
    /// waits for an event that no task will cause), and if tasks keep waking each other while the time stands still.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let _running = self.enter();
        let mut future = pin!(future);
        let mut cx = Context::from_waker(&self.0.main_waker);
        let (mut polls, mut instant, mut since) = (0u32, self.now(), 0u32);
        self.0.main.queued.store(false, Ordering::SeqCst);
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return output;
        }
        loop {
            match self.0.ready.pop() {
                Some(TaskId::MAIN) => {
                    self.0.main.queued.store(false, Ordering::SeqCst);
                    if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
                        return output;
                    }
                }
                Some(task) => self.run(task),
                None => {
                    self.idle();
                    (instant, since) = (self.now(), polls);
                }
            }
            polls = polls.wrapping_add(1);
            let now = self.now();
            if self.is_virtual() {
                if now != instant {
                    (instant, since) = (now, polls);
                } else if polls.wrapping_sub(since) > POLLS_OF_AN_INSTANT {
                    panic!("time stands still at {instant}: tasks wake each other, and none of them ends");
                }
            } else if polls.wrapping_sub(since) >= POLLS_BETWEEN_LOOKS || now - instant >= TIME_BETWEEN_LOOKS {
                self.look_outside();
                (instant, since) = (self.now(), polls);
            }
        }
    }

    /// Runs what is ready now, and what that makes ready, until nothing is. Time does not move.
    pub fn run_until_idle(&self) {
        let _running = self.enter();
        if !self.is_virtual() {
            self.look_outside();
        }
        while let Some(task) = self.0.ready.pop() {
            self.run(task);
        }
    }

    /// Drops every task that is not being polled now, as a power cut does. Tasks hold handles of the executor, so a
    /// world that is no longer needed is freed only after this.
    pub fn drop_tasks(&self) {
        let dropped: Vec<Task> = {
            let mut tasks = self.0.tasks.borrow_mut();
            let idle = |slot: &mut Slot| slot.task.take_if(|task| task.work.is_some());
            let dropped = tasks.slots.iter_mut().filter_map(idle).collect();
            let Tasks { slots, free } = &mut *tasks;
            free.clear();
            for (i, slot) in slots.iter_mut().enumerate().filter(|(_, slot)| slot.task.is_none()) {
                slot.generation = slot.generation.wrapping_add(1);
                free.push(i as u32);
            }
            dropped
        };
        // Outside the borrow: a future's end may spawn, wake or send.
        drop(dropped);
    }

    fn enter(&self) -> Running<'_> {
        assert!(!self.0.running.replace(true), "block_on was called from inside a task: await the future instead");
        Running(&self.0.running)
    }

    fn run(&self, id: TaskId) {
        let taken = {
            let mut tasks = self.0.tasks.borrow_mut();
            let slot = tasks.slots.get_mut(id.slot as usize).filter(|slot| slot.generation == id.generation);
            slot.and_then(|slot| slot.task.as_mut()).and_then(|task| {
                task.state.queued.store(false, Ordering::SeqCst);
                task.work.take()
            })
        };
        let Some(mut work) = taken else { return };
        let done = work.future.as_mut().poll(&mut Context::from_waker(&work.waker)).is_ready();
        let mut tasks = self.0.tasks.borrow_mut();
        let slot = &mut tasks.slots[id.slot as usize];
        if !done {
            if let Some(task) = slot.task.as_mut() {
                task.work = Some(work);
            }
            return;
        }
        let ended = slot.task.take();
        slot.generation = slot.generation.wrapping_add(1);
        tasks.free.push(id.slot);
        drop(tasks);
        // A late wake of a finished task must not enter the list.
        ended.inspect(|task| task.state.queued.store(true, Ordering::SeqCst));
        drop(work);
    }

    /// Nothing is ready: waits for the next event, in virtual time by moving the clock to it.
    fn idle(&self) {
        let timer = self.0.timers.borrow().first();
        match &self.0.clock {
            Clock::Virtual(_) if self.0.watches.borrow().any_waiting() => self.turn(None),
            Clock::Virtual(now) => match timer {
                Some(at) => now.set(at.max(now.get())),
                None => panic!("deadlock at {}: {}", now.get(), self.who_waits()),
            },
            Clock::Real { .. } => self.turn(timer.map(|at| at.since(self.now()))),
        }
        self.fire_timers();
    }

    fn look_outside(&self) {
        if self.0.watches.borrow().any_waiting() {
            self.turn(Some(Duration::ZERO));
        }
        self.fire_timers();
    }

    fn turn(&self, timeout: Option<Duration>) {
        if let Err(errno) = turn(&self.0.watches, &self.0.ready, timeout) {
            // poll fails only for lack of memory or descriptors, or on a bug; without it no task wakes again.
            panic!("poll failed: {errno}");
        }
    }

    fn fire_timers(&self) {
        if self.0.timers.borrow().first().is_none() {
            return;
        }
        let now = self.now();
        loop {
            let due = self.0.timers.borrow_mut().pop_due(now);
            let Some(waker) = due else { return };
            waker.wake();
        }
    }

    fn who_waits(&self) -> String {
        let tasks = self.0.tasks.borrow().slots.iter().filter(|slot| slot.task.is_some()).count();
        format!("block_on and {tasks} tasks wait, no timer is set and no descriptor is awaited")
    }

    pub(crate) fn timers(&self) -> &RefCell<Timers> {
        &self.0.timers
    }

    pub(crate) fn watches(&self) -> &RefCell<Watches> {
        &self.0.watches
    }
}

/// Marks the executor as running for as long as it lives, through a panic too.
struct Running<'a>(&'a Cell<bool>);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

fn nanos(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// See [`Rt::yield_now`].
#[must_use = "futures do nothing until they are awaited"]
pub struct YieldNow {
    yielded: bool,
}

impl Future for YieldNow {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests;
