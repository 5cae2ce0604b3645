//! The executor in virtual and in real time: the order of tasks and timers, deadlocks, wakes from other threads.

use super::*;
use crate::timer::Sleep;

type Trace = Rc<RefCell<Vec<(u64, u64)>>>;

/// Ten tasks that sleep and yield according to their generators; each step records the time and the task.
fn run_world(seed: u64) -> Vec<(u64, u64)> {
    run_world_with(seed, Rt::charge)
}

fn run_world_with(seed: u64, charge: fn(&Rt, Duration) -> Sleep) -> Vec<(u64, u64)> {
    let rt = Rt::virtual_time(seed);
    let trace = Trace::default();
    for who in 0..10 {
        let (rt2, trace, mut rng) = (rt.clone(), trace.clone(), rt.rng());
        rt.spawn(async move {
            for _ in 0..20 {
                match rng.below(3) {
                    0 => rt2.yield_now().await,
                    1 => charge(&rt2, Duration::from_nanos(rng.below(50))).await,
                    _ => rt2.sleep(Duration::from_nanos(rng.below(100))).await,
                }
                trace.borrow_mut().push((rt2.now().as_nanos(), who));
            }
        });
    }
    rt.block_on(rt.sleep(Duration::from_millis(1)));
    trace.take()
}

#[test]
fn the_same_seed_gives_the_same_trace_and_another_seed_another() {
    let first = run_world(42);
    assert_eq!(first.len(), 200);
    assert_eq!(first, run_world(42));
    assert_ne!(first, run_world(43));
}

#[test]
fn whoever_would_be_next_anyway_need_not_give_way() {
    for seed in 0..50 {
        assert_eq!(run_world(seed), run_world_with(seed, Rt::charge_alone), "seed {seed}");
    }
    // Alone in the world: the clock moves at the first poll.
    let rt = Rt::virtual_time(0);
    rt.block_on(async {
        let mut alone = std::pin::pin!(rt.charge_alone(Duration::from_nanos(7)));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(alone.as_mut().poll(&mut cx).is_ready() && rt.now() == Time::from_nanos(7));
        assert!(std::pin::pin!(rt.charge(Duration::from_nanos(7))).poll(&mut cx).is_pending());
    });
}

#[test]
fn timers_fire_by_time_and_then_by_the_order_in_which_they_were_set() {
    let rt = Rt::virtual_time(0);
    let trace = Trace::default();
    for (who, wait) in [(0, 30), (1, 10), (2, 30), (3, 20)] {
        let (rt2, trace) = (rt.clone(), trace.clone());
        rt.spawn(async move {
            rt2.sleep(Duration::from_nanos(wait)).await;
            trace.borrow_mut().push((rt2.now().as_nanos(), who));
        });
    }
    rt.block_on(rt.sleep(Duration::from_nanos(100)));
    assert_eq!(*trace.borrow(), [(10, 1), (20, 3), (30, 0), (30, 2)]);
    assert_eq!(rt.now(), Time::from_nanos(100));
    assert_eq!(rt.wall(), (VIRTUAL_EPOCH, 100));
    rt.jump_wall(-5);
    assert_eq!(rt.wall(), (VIRTUAL_EPOCH - 5, 100));
}

#[test]
fn charges_queue_for_the_one_cpu() {
    let rt = Rt::virtual_time(0);
    for _ in 0..3 {
        let rt2 = rt.clone();
        rt.spawn(async move { rt2.charge(Duration::from_micros(10)).await });
    }
    rt.run_until_idle();
    rt.block_on(rt.charge(Duration::from_micros(10)));
    assert_eq!(rt.now(), Time::from_nanos(40_000));
}

#[test]
fn run_until_idle_does_not_move_the_clock() {
    let rt = Rt::virtual_time(0);
    let steps = Rc::new(Cell::new(0));
    let (rt2, steps2) = (rt.clone(), steps.clone());
    rt.spawn(async move {
        steps2.set(1);
        rt2.yield_now().await;
        steps2.set(2);
        rt2.sleep(Duration::from_nanos(1)).await;
        steps2.set(3);
    });
    rt.run_until_idle();
    assert_eq!((steps.get(), rt.now()), (2, Time::ZERO));
}

#[test]
#[should_panic(expected = "deadlock at 0.000000005s: block_on and 1 tasks wait")]
fn a_deadlock_in_virtual_time_is_told() {
    let rt = Rt::virtual_time(0);
    let rt2 = rt.clone();
    rt.spawn(async move {
        rt2.sleep(Duration::from_nanos(5)).await;
        std::future::pending().await
    });
    rt.block_on(std::future::pending())
}

#[test]
fn a_thread_wakes_the_executor_from_its_sleep() {
    let rt = Rt::real_time();
    let shared = Arc::new(std::sync::Mutex::new((false, None::<Waker>)));
    let theirs = shared.clone();
    let thread = std::thread::spawn(move || {
        loop {
            let mut state = theirs.lock().unwrap();
            if let Some(waker) = state.1.take() {
                state.0 = true;
                return waker.wake();
            }
            drop(state);
            std::thread::yield_now();
        }
    });
    rt.block_on(std::future::poll_fn(|cx| {
        let mut state = shared.lock().unwrap();
        if state.0 {
            return Poll::Ready(());
        }
        state.1 = Some(cx.waker().clone());
        Poll::Pending
    }));
    thread.join().unwrap();
}

#[test]
fn a_timer_fires_in_real_time_while_a_task_never_rests() {
    let rt = Rt::real_time();
    let rt2 = rt.clone();
    rt.spawn(async move {
        loop {
            rt2.yield_now().await;
        }
    });
    let before = rt.now();
    rt.block_on(rt.sleep(Duration::from_millis(3)));
    assert!(rt.now() - before >= Duration::from_millis(3));
    rt.drop_tasks();
}

#[test]
fn drop_tasks_frees_the_world_and_ignores_late_wakes() {
    let rt = Rt::virtual_time(0);
    let held = Rc::new(());
    let kept = Rc::new(RefCell::new(None::<Waker>));
    let (inside, rt2, kept2) = (held.clone(), rt.clone(), kept.clone());
    rt.spawn(async move {
        let _inside = (inside, rt2);
        std::future::poll_fn(|cx| {
            *kept2.borrow_mut() = Some(cx.waker().clone());
            Poll::<()>::Pending
        })
        .await;
    });
    rt.run_until_idle();
    rt.drop_tasks();
    assert_eq!(Rc::strong_count(&held), 1);
    let ran = Rc::new(Cell::new(false));
    let ran2 = ran.clone();
    kept.borrow_mut().take().unwrap().wake();
    rt.spawn(async move { ran2.set(true) });
    rt.run_until_idle();
    assert!(ran.get());
}

#[test]
fn a_panicking_future_leaves_the_executor_usable() {
    let rt = Rt::virtual_time(0);
    let outcome =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| rt.block_on(async { panic!("on purpose") })));
    assert!(outcome.is_err());
    assert_eq!(rt.block_on(async { 7 }), 7);
}
