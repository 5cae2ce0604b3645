//! The work that no call does: capturing a transaction, writing it, and giving the log its room back.

use super::log::Capture;
use super::{Log, Rule, Shared, Txn};
use crate::LogMode;
use buf::{Boxed, Cache, Op};
use std::rc::Rc;
use vfs::{Error, Result};

impl<L: Log> Shared<L> {
    /// A call may run, and does from now on.
    pub(super) fn enter(self: &Rc<Self>, cache: &Rc<Cache>, op: Op) -> bool {
        let most = self.log.borrow().as_ref().map_or(usize::MAX, |log| log.most());
        let may = {
            let mut state = self.state.borrow_mut();
            let long = state.members.running_bytes() > most;
            if long {
                state.wanted = state.wanted.max(state.running);
            }
            let alone = self.policy.mode == LogMode::Sync;
            // One write of the log for each call: nobody joins a transaction that waits to be written.
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
            Some(why) => Err(Error::io(why)),
            None => Ok(()),
        }
    }

    /// Ends when all transactions up to `upto` are durable in the log.
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

    /// Somebody captures and writes what is wanted.
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
                // Q1.
                state.gate.close();
            }
            loop {
                let told = shared.changed.notified();
                if shared.state.borrow().gate.is_still() {
                    break;
                }
                told.await;
            }
            if let Err(error) = shared.write_one(&cache).await {
                let why = format!("{error}, writing the log; the volume is read-only now");
                cache.health().degrade(why);
                let mut state = shared.state.borrow_mut();
                state.failed = Some(error.to_string());
                state.gate.open();
            }
            shared.changed.notify_all();
        }
    }

    /// Captures the running transaction, lets calls begin the next one, and makes it durable.
    async fn write_one(self: &Rc<Self>, cache: &Rc<Cache>) -> Result<()> {
        let (capture, data, tickets) = {
            let mut state = self.state.borrow_mut();
            let txn = state.running;
            state.running = txn.next();
            (state.calls, state.since) = (0, None);
            let blocks = state.members.capture(txn);
            let changed = state.outstanding.borrow().has_changed();
            let (waiting, nameless) = state.outstanding.borrow_mut().take();
            let past = std::mem::take(&mut state.past);
            let void = past.iter().filter_map(|buf| Some((buf.addr()?, buf.len() as u64))).collect();
            let capture = Capture { txn, blocks, waiting, nameless, void };
            let mut data = std::mem::take(&mut state.data);
            data.extend(past);
            let tickets = std::mem::take(&mut state.tickets);
            state.gate.open();
            let nothing = capture.blocks.is_empty() && data.is_empty() && !changed;
            (if nothing { Err(txn) } else { Ok(capture) }, data, tickets)
        };
        self.changed.notify_all();
        let txn = match capture {
            Err(txn) => txn,
            Ok(capture) => {
                // A failure is the file's, whose next fsync tells it; the metadata goes on.
                let _ = cache.write_all(data).await;
                if let Err(error) = self.write_captured(cache, &capture).await {
                    // Nobody frees this any more: the volume is read-only, and the log does not say that it may.
                    tickets.into_iter().for_each(|ticket| cache.keep_stuck(ticket));
                    return Err(error);
                }
                let mut state = self.state.borrow_mut();
                let lists = !capture.waiting.is_empty() || !capture.nameless.is_empty();
                state.lists = lists.then_some(capture.txn);
                state.counts.transactions += 1;
                state.counts.blocks += capture.blocks.len() as u64;
                capture.txn
            }
        };
        {
            let mut state = self.state.borrow_mut();
            state.durable = txn;
            state.members.stabilise(txn);
        }
        tickets.into_iter().for_each(|ticket| cache.ripen(ticket));
        let short = self.log.borrow().as_ref().is_some_and(|log| log.is_short());
        let now = self.policy.home_at_once;
        if (short || now) && !std::mem::replace(&mut self.state.borrow_mut().checkpointing, true) {
            let (shared, cache) = (self.clone(), cache.clone());
            cache.rt().clone().spawn(async move {
                // An error is kept with the bufs; the log fills up then, and says so.
                let _ = shared.checkpoint(&cache, now).await;
                shared.state.borrow_mut().checkpointing = false;
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
        log.write(capture.txn, form).await
    }

    /// Sends home what the log holds, or the older half of it, and gives its room back. What cannot leave now, since only
    /// a newer state of it can, stays: the transaction that is being written may be the one that it waits for.
    async fn checkpoint(self: &Rc<Self>, cache: &Rc<Cache>, all: bool) -> Result<()> {
        let bufs = {
            let mut state = self.state.borrow_mut();
            state.counts.checkpoints += 1;
            let (low, durable) = (state.members.low().unwrap_or(state.durable), state.durable);
            let upto = if all { durable } else { Txn(low.0.midpoint(durable.0)) };
            state.members.behind(upto)
        };
        cache.write_ready(bufs).await?;
        Shared::reclaim_now(self, all).await
    }

    /// Q5: the log forgets what all homes have.
    pub(super) async fn reclaim(shared: &Rc<Shared<L>>) -> Result<()> {
        Shared::reclaim_now(shared, shared.policy.restless).await
    }

    async fn reclaim_now(shared: &Rc<Shared<L>>, now: bool) -> Result<()> {
        let Some(log) = shared.log.borrow().clone() else { return Ok(()) };
        let start = {
            let state = shared.state.borrow();
            let behind = if shared.rules.has(Rule::HomeBeforeReclaim) { state.members.low() } else { None };
            let all = state.durable.next();
            behind.unwrap_or(all).min(state.lists.unwrap_or(all))
        };
        log.reclaim(start, now).await
    }
}
