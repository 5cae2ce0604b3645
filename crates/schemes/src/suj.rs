//! `suj`: soft updates with FreeBSD's intent journal. The order of writes is that of `softupdates`; beside it a log says
//! which links and blocks were about to change, so that a mount after a crash looks at these alone, and takes back what
//! soft updates leaves. (McKusick and Roberson, "Journaled Soft-Updates", BSDCan 2010.)
//!
//! J1. No buf with metadata leaves before every record of what was changed until then is durable. Otherwise a crash
//!     leaves a block or a link of which no record tells, and it stays lost. All bufs that wait share one write of the log
//!     and one flush.
//! J2. A count begins with what the inode had when its first record was made. Replay counts from there, and looks up each
//!     place that a record names; so a record may be made before it is known at which place the link will be, and says
//!     then a place where nothing can be ([`records::NOWHERE`]).
//! J3. Segments are given up all at once, at a moment at which everything is durable, nothing depends on anything, and no
//!     call runs. A file that was open without a name is told of again. The moment is one after a sync, and calls wait
//!     for it when the log is two thirds full.
//! J4. A log that overflows all the same is made void, by a segment that asks for one that is not there: a crash then
//!     takes a full check. It is valid again from the next moment of J3 on.
//!
//! J5. While others change metadata without a pause there is always a record that is not durable, and J1 would put off for
//!     ever what has come of age. After [`PATIENCE`] or [`PROMISED`] of that, calls wait for a sync.
//!
//! `records` makes records of steps, `log` makes them durable, `ring` says where.

mod log;
mod records;
mod ring;
#[cfg(test)]
mod tests;

use crate::SoftUpdates;
use buf::{
    Answer, Boxed, BufRef, Cache, Held, How, ImageNo, Leave, LogFile, LogKind, Must, Op, Promises, Ready, Role, Scheme,
    Step, Wrapper,
};
use log::Log;
use ondisk::Ino;
use records::Session;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

/// The name of J1, to break it with, and what it says.
const RECORDS_FIRST: (&str, &str) =
    ("records-first", "the log's records are written before the metadata that they are of");

/// How long bufs that have come of age are put off for the sake of records, before calls wait: here, and where an age is
/// promised.
const PATIENCE: Duration = Duration::from_secs(10);
const PROMISED: Duration = Duration::from_secs(1);

/// The scheme `suj`.
pub struct Suj {
    inner: Rc<SoftUpdates>,
    state: Rc<RefCell<State>>,
    /// J1 is kept.
    records_first: bool,
}

/// What the scheme knows of its calls and its log.
#[derive(Default)]
struct State {
    log: Option<Rc<RefCell<Log>>>,
    session: Session,
    /// Calls that run.
    running: BTreeSet<u64>,
    /// Counts what calls do: begin, tell a step, end.
    events: u64,
    /// The last sync began when no call ran, and this was the count.
    quiet: Option<u64>,
    /// Since when each sweep of the syncer has found records that were not durable (J5).
    put_off: Option<rt::Time>,
    /// That has lasted too long.
    overdue: bool,
}

impl State {
    fn happens(&mut self) {
        self.events += 1;
    }

    /// What has come of age can leave, or has left.
    fn not_put_off(&mut self) {
        (self.put_off, self.overdue) = (None, false);
    }
}

impl Suj {
    /// Over these soft updates. `records_first` is false for a liar, to test the tests with.
    pub fn over(inner: SoftUpdates, records_first: bool) -> Suj {
        Suj { inner: Rc::new(inner), state: Rc::default(), records_first }
    }

    /// Whether every scheme knows the rule by this name as J1.
    pub(crate) fn is_records_first(name: &str) -> bool {
        name == RECORDS_FIRST.0
    }

    fn log(&self) -> Option<Rc<RefCell<Log>>> {
        self.state.borrow().log.clone()
    }

    /// J1: the log, if this buf must wait for it.
    fn held_by_log(&self, buf: &BufRef) -> Option<Rc<RefCell<Log>>> {
        self.log().filter(|log| needs_records(buf) && self.records_first && !log.borrow().is_durable())
    }

    /// All that was told until now, at once and for all bufs.
    fn records_durable(&self, cache: &Rc<Cache>) -> Must {
        match self.log().filter(|_| self.records_first) {
            Some(log) => Must::Wait(Log::commit(&log, cache)),
            None => Must::Nothing,
        }
    }

    fn note(&self, op: Op, step: &Step<'_>) {
        let mut state = self.state.borrow_mut();
        state.happens();
        state.running.insert(op.id);
        let State { log: Some(log), session, .. } = &mut *state else { return };
        let mut log = log.borrow_mut();
        let block = log.block();
        if session.note(step, block, &mut |record| log.tell(record)).is_none() {
            log.give_out();
        }
    }
}

/// The array of sums as well: replay counts only the groups that records name anew, and believes it of the others.
fn needs_records(buf: &BufRef) -> bool {
    use Role::{CylinderGroup, Directory, Indirect, InodeBlock, Summary};
    matches!(buf.kind(), CylinderGroup | Summary | InodeBlock | Directory | Indirect)
}

/// J3: a new session of the log, if nothing of the old one is needed.
async fn begin_anew(
    inner: Rc<SoftUpdates>,
    state: Rc<RefCell<State>>,
    cache: Rc<Cache>,
    quiet: Option<u64>,
) -> vfs::Result<()> {
    inner.tick(&cache, cache.rt().now());
    let durable = {
        let mut state = state.borrow_mut();
        let calm = quiet == Some(state.events) && state.running.is_empty();
        let settled = cache.is_settled() && cache.ledger().outstanding() == 0 && !inner.wants_flush();
        let State { log: Some(log), session, .. } = &mut *state else { return Ok(()) };
        if !(calm && settled && log.borrow_mut().begin_anew()) {
            return Ok(());
        }
        for record in session.begin_anew() {
            log.borrow_mut().tell(record);
        }
        Log::commit(log, &cache)
    };
    durable.await
}

impl Wrapper for Suj {
    type Inner = SoftUpdates;

    fn inner(&self) -> &Self::Inner {
        &*self.inner
    }

    fn name(&self) -> &'static str {
        "suj"
    }

    fn declares(&self) -> Promises {
        let mut promises = self.inner.declares();
        promises.rules.push(RECORDS_FIRST);
        promises
    }

    fn wants_log(&self) -> Option<LogKind> {
        Some(LogKind::Intents)
    }

    fn begin_log(&self, file: LogFile) -> Boxed<'static, vfs::Result<u64>> {
        let id = file.stamp.unsigned_abs();
        self.state.borrow_mut().log = Some(Rc::new(RefCell::new(Log::new(file))));
        Box::pin(async move { Ok(id) })
    }

    fn wants_sync(&self) -> bool {
        self.state.borrow().overdue || self.log().is_some_and(|log| log.borrow().is_full())
    }

    fn begin(&self, cache: &Rc<Cache>, op: Op) -> Must {
        {
            let mut state = self.state.borrow_mut();
            state.happens();
            state.running.insert(op.id);
        }
        self.inner.begin(cache, op)
    }

    fn end(&self, cache: &Rc<Cache>, op: Op) -> Must {
        {
            let mut state = self.state.borrow_mut();
            state.happens();
            state.running.remove(&op.id);
        }
        self.inner.end(cache, op)
    }

    fn give_up(&self, cache: &Rc<Cache>, op: Op) {
        self.state.borrow_mut().running.remove(&op.id);
        self.inner.give_up(cache, op);
    }

    fn step(&self, cache: &Rc<Cache>, op: Op, step: Step<'_>) -> Answer {
        self.note(op, &step);
        self.inner.step(cache, op, step)
    }

    fn leaving(&self, cache: &Rc<Cache>, buf: &BufRef, image: ImageNo) -> Leave {
        match self.held_by_log(buf) {
            Some(log) => Leave::After(Log::commit(&log, cache)),
            None => self.inner.leaving(cache, buf, image),
        }
    }

    fn ready(&self, cache: &Rc<Cache>, buf: &BufRef) -> Ready {
        match self.held_by_log(buf) {
            Some(log) => {
                self.state.borrow_mut().put_off.get_or_insert_with(|| cache.rt().now());
                if cache.promised_age().is_some() {
                    // The sweep waits for the records, and comes back.
                    return Ready::Yes;
                }
                // It begins by itself; the buf comes round again.
                drop(Log::commit(&log, cache));
                Ready::After(Vec::new())
            }
            None => {
                if needs_records(buf) {
                    self.state.borrow_mut().not_put_off();
                }
                self.inner.ready(cache, buf)
            }
        }
    }

    fn fsync(&self, cache: &Rc<Cache>, ino: Ino, inode: &BufRef, data_only: bool) -> Must {
        let (records, must) = (self.records_durable(cache), self.inner.fsync(cache, ino, inode, data_only));
        let cache = cache.clone();
        Must::Wait(Box::pin(async move {
            cache.obey(records).await?;
            cache.obey(must).await
        }))
    }

    fn sync(&self, cache: &Rc<Cache>) -> Must {
        // Two syncs in a row with nothing between them: what the layout keeps beside its bufs is durable, too.
        let quiet = {
            let mut state = self.state.borrow_mut();
            let now = state.running.is_empty().then_some(state.events);
            std::mem::replace(&mut state.quiet, now)
        };
        // First the records, or each round would find all metadata waiting for them.
        let records = self.records_durable(cache);
        let (must, cache) = (self.inner.sync(cache), cache.clone());
        let (inner, state) = (self.inner.clone(), self.state.clone());
        Must::Wait(Box::pin(async move {
            cache.obey(records).await?;
            cache.obey(must).await?;
            state.borrow_mut().not_put_off();
            begin_anew(inner, state, cache, quiet).await
        }))
    }

    fn tick(&self, cache: &Rc<Cache>, now: rt::Time) {
        self.inner.tick(cache, now);
        let mut state = self.state.borrow_mut();
        let patience = if cache.promised_age().is_some() { PROMISED } else { PATIENCE };
        state.overdue |= state.put_off.is_some_and(|since| since + patience <= now);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let mut counters = self.inner.counters();
        counters.extend(self.log().into_iter().flat_map(|log| log.borrow().counters()));
        counters
    }

    fn explain(&self, cache: &Rc<Cache>, buf: &BufRef) -> Vec<Held> {
        let mut held = self.inner.explain(cache, buf);
        if self.held_by_log(buf).is_some() {
            held.push(Held {
                what: "all of it, until its records are durable".into(),
                how: How::Waits,
                until: Vec::new(),
            });
        }
        held
    }
}
