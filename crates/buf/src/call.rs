//! Calls that change the volume: begun, told step by step, ended. Here the engine waits for what the scheme demands.
//!
//! A call whose future is dropped before its end ([`Cache::call`]) has done a part of what it was to do: an inode was taken
//! and has no name. The volume is read-only from then on, as after a write that failed, and the next mount finds what a
//! crash would have left. A journal would otherwise make that part durable, or wait for the end of the call for ever.

use crate::{Answer, Cache, CallKind, Must, Op, Step, Ticket};
use std::pin::pin;
use std::rc::Rc;
use vfs::Result;

impl Cache {
    /// A call that changes the volume: begun, done, ended. See the module's head for one that is dropped before its end.
    ///
    /// # Errors
    /// `ReadOnly` when nothing can be changed; what `work` or the scheme's waits end with.
    pub async fn call<T>(self: &Rc<Self>, kind: CallKind, work: impl AsyncFnOnce(Op) -> Result<T>) -> Result<T> {
        let op = self.begin(kind).await?;
        let mut work = pin!(work(op));
        // After `work`, and so dropped before it: it shall know of tickets that go with the call.
        let mut unended = Unended { cache: self, op: Some(op) };
        let outcome = work.as_mut().await;
        unended.op = None;
        self.end(op).await?;
        outcome
    }

    /// Begins a call that changes the volume.
    ///
    /// # Errors
    /// `ReadOnly` when nothing can be changed; what the scheme's wait ends with.
    pub(crate) async fn begin(self: &Rc<Self>, kind: CallKind) -> Result<Op> {
        self.health.writable()?;
        self.running.set(0);
        let id = self.next_op.get();
        self.next_op.set(id + 1);
        let op = Op { id, kind };
        if let Err(error) = self.admit(op).await {
            // The scheme was told of the call, and shall not wait for its end. The call has done nothing to wait for.
            drop(self.scheme().end(self, op));
            return Err(error);
        }
        self.running.set(id);
        Ok(op)
    }

    async fn admit(self: &Rc<Self>, op: Op) -> Result<()> {
        if self.should_write_back() {
            self.write_back();
        }
        if self.is_over_dirty() {
            self.throttle().await?;
        }
        if let Some(spare) = self.options.spare {
            self.room_for_copies(spare).await;
        }
        // Last: a scheme may count the call as one that runs from here on, and wait for its end before anything leaves.
        match self.scheme().begin(self, op) {
            Must::Nothing => Ok(()),
            must => self.obey(must).await,
        }
    }

    /// How many calls that change the volume have begun: the [`Op::id`] of the last one.
    pub fn calls_begun(&self) -> u64 {
        self.next_op.get() - 1
    }

    /// Ends a call.
    ///
    /// # Errors
    /// What the scheme's wait ends with.
    pub(crate) async fn end(self: &Rc<Self>, op: Op) -> Result<()> {
        self.running.set(0);
        let must = self.scheme().end(self, op);
        if let Must::Nothing = must {
            return Ok(());
        }
        self.obey(must).await
    }

    /// Tells the scheme a step, and waits for what it demands. A ticket comes back when it is ripe. Where the scheme
    /// demands nothing, nothing is awaited and nothing allocated.
    ///
    /// # Errors
    /// `Io` when a write that the scheme demands fails. What the step's ticket would free then stays taken.
    #[inline]
    pub async fn step(self: &Rc<Self>, op: Op, step: Step<'_>) -> Result<Option<Ticket>> {
        step.each_changed(|buf| buf.cause.set(op.id));
        self.running.set(op.id);
        let Answer { must, ripe } = self.scheme().step(self, op, step);
        if let Must::Nothing = must {
            return Ok(ripe);
        }
        self.running.set(0);
        let outcome = self.obey(must).await;
        self.running.set(op.id);
        match outcome {
            Ok(()) => Ok(ripe),
            Err(error) => {
                self.stuck.borrow_mut().extend(ripe);
                Err(error)
            }
        }
    }

    /// Waits for what a scheme demands.
    ///
    /// # Errors
    /// `Io` when a write fails.
    pub async fn obey(self: &Rc<Self>, must: Must) -> Result<()> {
        match must {
            Must::Nothing => Ok(()),
            Must::Durable(buf) => {
                self.count(|s| s.waits += 1);
                self.write(&buf).await
            }
            Must::InOrder(bufs) => {
                self.count(|s| s.waits += 1);
                for buf in &bufs {
                    self.write(buf).await?;
                }
                Ok(())
            }
            Must::Sent(buf) => self.send_now(&buf).await,
            Must::Wait(until) => {
                self.count(|s| s.waits += 1);
                until.await
            }
        }
    }

    /// A ticket's time has come, though no call waits for it: the volume's upkeep gives it back to the layout.
    pub fn ripen(&self, ticket: Ticket) {
        self.ripe.borrow_mut().push_back(ticket);
        self.upkeep.notify_all();
    }

    /// The next ripe ticket, for the volume's upkeep.
    pub fn take_ripe(&self) -> Option<Ticket> {
        self.ripe.borrow_mut().pop_front()
    }

    /// A ticket is ripe, and nobody has given it back yet.
    pub fn has_ripe(&self) -> bool {
        !self.ripe.borrow().is_empty()
    }

    /// Woken when the volume's upkeep has something to do: a ticket has ripened, a file lost its last user.
    pub fn upkeep_wanted(&self) -> Rc<rt::sync::Notify> {
        self.upkeep.clone()
    }

    /// Keeps a ticket that cannot be redeemed any more because the volume failed: its space stays taken.
    pub fn keep_stuck(&self, ticket: Ticket) {
        self.stuck.borrow_mut().push(ticket);
    }
}

/// A call that runs. Dropped with it, the call was given up.
struct Unended<'a> {
    cache: &'a Rc<Cache>,
    op: Option<Op>,
}

impl Drop for Unended<'_> {
    fn drop(&mut self) {
        let Some(op) = self.op else { return };
        self.cache
            .health
            .degrade("a call was given up before its end; the volume is read-only until it is mounted again");
        self.cache.running.set(0);
        self.cache.ledger().let_go();
        self.cache.scheme().give_up(self.cache, op);
    }
}
