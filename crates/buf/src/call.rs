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
        // After `work`, and so dropped before it: it lets go of the tickets that go with the call.
        let mut bracket = Bracket { cache: self, op, at: At::Within };
        let outcome = work.as_mut().await;
        bracket.at = At::Through;
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

/// How far a call has come.
enum At {
    /// The scheme may have been told of it, and it has done nothing.
    Door,
    Within,
    Through,
}

/// What must be done of a call that goes no further, because it was refused or its future was dropped.
struct Bracket<'a> {
    cache: &'a Rc<Cache>,
    op: Op,
    at: At,
}

impl Drop for Bracket<'_> {
    fn drop(&mut self) {
        let Bracket { cache, op, at } = self;
        match at {
            // The scheme shall not wait for its end.
            At::Door => drop(cache.scheme().end(cache, *op)),
            At::Within => {
                let reason = "a call was given up before its end; the volume is read-only until it is mounted again";
                cache.health.degrade(reason);
                cache.running.set(0);
                cache.ledger().let_go();
                cache.scheme().give_up(cache, *op);
            }
            At::Through => {}
        }
    }
}
