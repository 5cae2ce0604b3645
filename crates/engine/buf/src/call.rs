//! Calls that change the volume: begin, steps, end. Here the engine waits for what the scheme demands.
//!
//! A call is cancelled when its future is dropped before it finished ([`Cache::call`]). It has then done a part of its
//! work, for example allocated an inode that has no name. The volume turns read-only, as after a failed write, and the
//! next mount finds what a crash would have left. Otherwise a journal would make that part durable, or wait forever for
//! the end of the call.
//!
//! A wait is rare, and its future large: it is boxed, so that the future of each call need not have room for it.

use crate::{Answer, Cache, CallKind, Must, Op, Step, Ticket};
use ordo_vfs::Result;
use std::pin::pin;
use std::rc::Rc;

impl Cache {
    /// Runs a call that changes the volume: begin, `work`, end. The module's head says what happens to a cancelled
    /// call.
    ///
    /// # Errors
    /// `ReadOnly` when nothing can be changed; else the error of `work` or of the scheme's waits.
    pub async fn call<T>(self: &Rc<Self>, kind: CallKind, work: impl AsyncFnOnce(Op) -> Result<T>) -> Result<T> {
        let op = self.begin(kind).await?;
        let mut work = pin!(work(op));
        // Declared after `work`, and so dropped before it: it releases the tickets of the call.
        let mut bracket = Bracket { cache: self, op, at: At::Within };
        let outcome = work.as_mut().await;
        bracket.at = At::Through;
        self.end(op).await?;
        outcome
    }

    /// Begins a call that changes the volume.
    ///
    /// # Errors
    /// `ReadOnly` when nothing can be changed; else the error of the scheme's wait.
    pub(crate) async fn begin(self: &Rc<Self>, kind: CallKind) -> Result<Op> {
        self.health.writable()?;
        self.running.set(0);
        let id = self.next_op.get();
        self.next_op.set(id + 1);
        let op = Op { id, kind };
        let mut bracket = Bracket { cache: self, op, at: At::Door };
        self.admit(op).await?;
        bracket.at = At::Through;
        self.running.set(id);
        Ok(op)
    }

    async fn admit(self: &Rc<Self>, op: Op) -> Result<()> {
        if self.should_write_back() {
            self.write_back();
        }
        if self.is_over_dirty() {
            Box::pin(self.throttle()).await?;
        }
        if self.writing_back.get() {
            Box::pin(self.segments_written(op)).await;
        }
        if let Some(spare) = self.policy.spare {
            Box::pin(self.room_for_copies(spare)).await;
        }
        // Last: from here on the scheme may count the call as running, and hold back writes until it ends.
        match self.scheme().begin(self, op) {
            Must::Nothing => Ok(()),
            must => Box::pin(self.obey(must)).await,
        }
    }

    /// How many calls that change the volume have begun: the [`Op::id`] of the last one.
    pub fn calls_begun(&self) -> u64 {
        self.next_op.get() - 1
    }

    /// Ends a call.
    ///
    /// # Errors
    /// The error of the scheme's wait.
    pub(crate) async fn end(self: &Rc<Self>, op: Op) -> Result<()> {
        self.running.set(0);
        let must = self.scheme().end(self, op);
        if let Must::Nothing = must {
            return Ok(());
        }
        Box::pin(self.obey(must)).await
    }

    /// Notifies the scheme of a step, and waits for what it demands. Returns the step's ticket if it is ripe then. If
    /// the scheme demands nothing, this awaits and allocates nothing. The scheme is notified at once, whether or not
    /// the result is awaited.
    ///
    /// # Errors
    /// `Io` when a write that the scheme demands fails. What the step's ticket would free then stays allocated.
    #[inline]
    pub fn step<'a>(
        self: &'a Rc<Self>,
        op: Op,
        step: Step<'_>,
    ) -> impl Future<Output = Result<Option<Ticket>>> + use<'a> {
        // Not in the future: that would be as large as a step, in each future of a call, and moved with it.
        step.each_changed(|buf| buf.cause.set(op.id));
        self.running.set(op.id);
        let Answer { must, ripe } = self.scheme().step(self, op, step);
        async move {
            if let Must::Nothing = must {
                return Ok(ripe);
            }
            self.running.set(0);
            let outcome = Box::pin(self.obey(must)).await;
            self.running.set(op.id);
            match outcome {
                Ok(()) => Ok(ripe),
                Err(error) => {
                    self.stuck.borrow_mut().extend(ripe);
                    Err(error)
                }
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

    /// Records that a ticket is ripe that no call waits for: the volume's upkeep returns it to the layout.
    pub fn ripen(&self, ticket: Ticket) {
        self.ripe.borrow_mut().push_back(ticket);
        self.upkeep.notify_all();
    }

    /// The next ripe ticket, for the volume's upkeep.
    pub fn take_ripe(&self) -> Option<Ticket> {
        self.ripe.borrow_mut().pop_front()
    }

    /// Puts a ticket back that the upkeep took and could not return: the next one tries again. Notifies nobody, or the
    /// upkeep of a volume whose disk fails would never rest.
    pub fn put_back(&self, ticket: Ticket) {
        self.ripe.borrow_mut().push_front(ticket);
    }

    /// A ripe ticket waits for the volume's upkeep.
    pub fn has_ripe(&self) -> bool {
        !self.ripe.borrow().is_empty()
    }

    /// Notified when the volume's upkeep has work: a ticket has ripened, or a file lost its last user.
    pub fn upkeep_wanted(&self) -> Rc<ordo_rt::sync::Notify> {
        self.upkeep.clone()
    }

    /// Keeps a ticket that cannot be redeemed any more because the volume failed: its space stays allocated.
    pub fn keep_stuck(&self, ticket: Ticket) {
        self.stuck.borrow_mut().push(ticket);
    }
}

/// How far a call has got.
enum At {
    /// The scheme may know of it; it has done nothing.
    Door,
    Within,
    Through,
}

/// Cleans up after a call that does not finish, because it was refused or cancelled.
struct Bracket<'a> {
    cache: &'a Rc<Cache>,
    op: Op,
    at: At,
}

impl Drop for Bracket<'_> {
    fn drop(&mut self) {
        let Bracket { cache, op, at } = self;
        match at {
            // The scheme must not wait for its end.
            At::Door => drop(cache.scheme().end(cache, *op)),
            At::Within => {
                let reason = "a call was cancelled; the volume is read-only until it is mounted again";
                cache.health.degrade(ordo_vfs::Error::io(reason));
                cache.running.set(0);
                cache.ledger().let_go();
                cache.scheme().cancelled(cache, *op);
            }
            At::Through => {}
        }
    }
}
