//! Background work: capturing a transaction, writing it, and reclaiming the log.

use super::log::Capture;
use super::log::Log;
use super::rule::Rule;
use super::txn::Txn;
use super::{Lists, Shared};
use crate::LogMode;
use ordo_buf::{Boxed, Cache, LogKind, Op};
use ordo_disk::{Homeward, Tag};
use ordo_vfs::{Error, Result};
use std::rc::Rc;

impl<L: Log> Shared<L> {
    /// Admits a call if it may run now.
    pub(super) fn enter(self: &Rc<Self>, cache: &Rc<Cache>, op: Op) -> bool {
        let most = self.log.borrow().as_ref().map_or(usize::MAX, |log| log.most_before_a_call());
        let may = {
            let mut state = self.state.borrow_mut();
            let long = state.members.running_bytes() > most;
            if long {
                state.wanted = state.wanted.max(state.running);
            }
            let alone = self.policy.mode == LogMode::Sync;
            // One write of the log per call: no call joins a transaction that waits to be written.
            let full = alone && state.wanted >= state.running;
            !long && !full && state.gate.enter(op, alone)
        };
        if !may {
            Shared::work(self, cache);
        }
        may
    }

    /// Waits until a call may run.
    pub(super) async fn entered(shared: Rc<Shared<L>>, cache: Rc<Cache>, op: Op) -> Result<()> {
        loop {
            let told = shared.changed.notified();
            shared.sound()?;
            if shared.enter(&cache, op) {
                return Ok(());
            }
            told.await;
        }
    }

    fn sound(&self) -> Result<()> {
        match &self.state.borrow().failed {
            Some(failure) => Err(failure.clone()),
            None => Ok(()),
        }
    }

    /// Completes when all transactions up to `upto` are durable in the log.
    pub(super) fn durable(shared: &Rc<Shared<L>>, cache: &Rc<Cache>, upto: Txn) -> Boxed<'static, Result<()>> {
        {
            let mut state = shared.state.borrow_mut();
            state.wanted = state.wanted.max(upto);
        }
        Shared::work(shared, cache);
        let shared = shared.clone();
        Box::pin(async move {
            loop {
                let told = shared.changed.notified();
                if shared.state.borrow().durable >= upto {
                    return Ok(());
                }
                shared.sound()?;
                told.await;
            }
        })
    }

    /// Starts the task that captures and writes what is wanted, if it does not run.
    pub(super) fn work(shared: &Rc<Shared<L>>, cache: &Rc<Cache>) {
        let idle = {
            let mut state = shared.state.borrow_mut();
            let wanted = state.wanted > state.durable && state.failed.is_none();
            wanted && !std::mem::replace(&mut state.at_work, true)
        };
        if idle {
            cache.rt().spawn(Shared::write_wanted(shared.clone(), cache.clone()));
        }
    }

    async fn write_wanted(shared: Rc<Shared<L>>, cache: Rc<Cache>) {
        loop {
            {
                let mut state = shared.state.borrow_mut();
                if state.wanted <= state.durable || state.failed.is_some() {
                    state.at_work = false;
                    return;
                }
                // journals-1.
                state.gate.close();
            }
            loop {
                let told = shared.changed.notified();
                if shared.state.borrow().gate.is_still() {
                    break;
                }
                told.await;
            }
            // A call was cancelled while the gate was closed: the transaction to be captured holds a part of it.
            if shared.sound().is_err() {
                shared.state.borrow_mut().gate.open();
                continue;
            }
            if let Err(error) = shared.write_one(&cache).await {
                let why = format!(
                    "{error}, writing the log or what must be on the disk before it; the volume is read-only now"
                );
                let text = error.to_string();
                // The calls that wait were not refused: to them, this is a failure of the volume.
                let failure = error.told_as(text);
                cache.health().degrade(failure.clone().told_as(why));
                let mut state = shared.state.borrow_mut();
                state.failed = Some(failure);
                state.gate.open();
            }
            shared.changed.notify_all();
        }
    }

    /// Captures the running transaction, admits calls to the next one, and makes the captured one durable.
    async fn write_one(self: &Rc<Self>, cache: &Rc<Cache>) -> Result<()> {
        let (capture, data, nothing) = {
            let mut state = self.state.borrow_mut();
            let txn = state.running;
            state.running = txn.next();
            (state.calls, state.since) = (0, None);
            if self.policy.kind == LogKind::Active {
                // What goes home must be what the map has from the log.
                state.members.each_running(|buf| cache.seal(buf));
            }
            let blocks = state.members.capture(txn, |buf| cache.place_of(buf));
            let changed = state.outstanding.borrow().has_changed();
            let (waiting, nameless) = state.outstanding.borrow_mut().take();
            let past = std::mem::take(&mut state.past);
            let void = past.values().filter_map(|buf| Some((buf.addr()?, buf.len() as u64))).collect();
            let capture = Capture { txn, blocks, waiting, nameless, void };
            let unsettled = std::mem::take(&mut state.data).into_iter().filter(|landing| !landing.is_done());
            let data: Vec<_> = unsettled.filter_map(|landing| landing.buf()).chain(past.into_values()).collect();
            state.ripening = std::mem::take(&mut state.tickets);
            state.gate.open();
            let nothing = capture.blocks.is_empty() && capture.void.is_empty() && !changed;
            (capture, data, nothing)
        };
        self.changed.notify_all();
        let txn = capture.txn;
        if !nothing {
            // If contents cannot be written, the log ends: a pointer to them would show old bytes, and a moved fragment
            // would be lost with its old place.
            cache.write_all(data).await?;
            self.write_captured(cache, &capture).await?;
            let Capture { blocks, waiting, nameless, .. } = capture;
            let mut state = self.state.borrow_mut();
            state.counts.transactions += 1;
            state.counts.blocks += blocks.len() as u64;
            let lists = !waiting.is_empty() || !nameless.is_empty();
            state.lists = lists.then_some(Lists { txn, waiting, nameless });
        }
        let ripe = {
            let mut state = self.state.borrow_mut();
            state.durable = txn;
            state.members.stabilise(txn);
            std::mem::take(&mut state.ripening)
        };
        ripe.into_iter().for_each(|ticket| cache.ripen(ticket));
        let short = self.log.borrow().as_ref().is_some_and(|log| log.is_short());
        let now = self.policy.home_at_once;
        if (short || now) && !std::mem::replace(&mut self.state.borrow_mut().checkpointing, true) {
            let (shared, cache) = (self.clone(), cache.clone());
            cache.rt().clone().spawn(async move {
                // An error is kept with the bufs; the log then fills up, and reports it.
                let done = shared.checkpoint(&cache, now).await;
                shared.state.borrow_mut().checkpointing = false;
                if done.is_ok() {
                    // What does not go home now goes when the log comes to its copy: that tells.
                    let _ = shared.goes_home(Homeward::Next).await;
                }
            });
        }
        Ok(())
    }

    async fn write_captured(self: &Rc<Self>, cache: &Rc<Cache>, capture: &Capture) -> Result<()> {
        let Some(log) = self.log.borrow().clone() else { return Ok(()) };
        let form = log.form(capture);
        if log.is_full_for(&form) {
            self.checkpoint(cache, true).await?;
        }
        if log.is_full_for(&form) {
            self.repeat_lists(&log).await?;
        }
        // journals-8: better none than one that could not be replayed.
        if !log.has_room_for(&form) {
            let why =
                "one call changes more than the log holds; unmount, and give it a larger one: ordo tune -o log=SIZE";
            return Err(Error::io(why));
        }
        log.write(capture.txn, form).await
    }

    /// Replaces a long transaction, which the log must keep only for its lists, by one with the lists alone.
    async fn repeat_lists(&self, log: &Rc<L>) -> Result<()> {
        let lists = {
            let state = self.state.borrow();
            state.lists.clone().filter(|_| state.members.behind(state.durable).is_empty())
        };
        let Some(Lists { txn, waiting, nameless }) = lists else { return Ok(()) };
        let again = Capture { txn, blocks: Vec::new(), waiting, nameless, void: Vec::new() };
        log.write(txn, log.form(&again)).await?;
        self.reclaim_now(true).await
    }

    /// Writes in place what the log holds, or its older half, and reclaims the room. Does not wait for bufs that only a
    /// newer transaction would release: that may be the one for which there is no room.
    async fn checkpoint(self: &Rc<Self>, cache: &Rc<Cache>, all: bool) -> Result<()> {
        let bufs = {
            let mut state = self.state.borrow_mut();
            state.counts.checkpoints += 1;
            let (low, durable) = (state.members.low().unwrap_or(state.durable), state.durable);
            let upto = if all { durable } else { Txn(low.0.midpoint(durable.0)) };
            state.members.behind(upto)
        };
        cache.write_ready(bufs).await?;
        let left = if all { self.state.borrow().members.left_behind() } else { Vec::new() };
        for (buf, txn, at, image) in left {
            let tag = Tag { kind: buf.kind(), cause: buf.cause() };
            cache.queue().write(at, image, tag).durable().await.map_err(Error::io)?;
            self.state.borrow_mut().members.came_home(&buf, txn);
        }
        self.reclaim_now(all).await
    }

    /// journals-5: the log drops transactions whose changes are all in place.
    pub(super) async fn reclaim(&self) -> Result<()> {
        self.reclaim_now(self.policy.restless).await
    }

    /// Everything is at home, durably, and nothing below says otherwise: the volume may be marked clean.
    pub(super) async fn at_rest(&self) -> Result<()> {
        let Some(log) = self.log.borrow().clone() else { return Ok(()) };
        log.go_home(Homeward::All).await?;
        log.settle().await?;
        let is_needed = {
            let state = self.state.borrow();
            state.lists.is_some() || state.members.low().is_some() || state.has_something()
        };
        if is_needed { Ok(()) } else { log.end_here().await }
    }

    /// A part of what only copies have goes home: when nothing was changed for a while, or before the log needs their
    /// room.
    pub(super) async fn goes_home(&self, what: Homeward) -> Result<()> {
        let Some(log) = self.log.borrow().clone() else { return Ok(()) };
        log.go_home(what).await
    }

    async fn reclaim_now(&self, now: bool) -> Result<()> {
        let Some(log) = self.log.borrow().clone() else { return Ok(()) };
        let start = {
            let state = self.state.borrow();
            let behind = if self.rules.has(Rule::HomeBeforeReclaim) { state.members.low() } else { None };
            let all = state.durable.next();
            behind.unwrap_or(all).min(state.lists.as_ref().map_or(all, |lists| lists.txn))
        };
        log.reclaim(start, now).await
    }
}
