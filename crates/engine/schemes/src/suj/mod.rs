//! `suj`: soft updates with FreeBSD's intent journal. The order of writes is that of `softupdates`. In addition a log
//! records which links and blocks are about to change, so that a mount after a crash checks only these, and reclaims
//! what soft updates leaks. (McKusick and Roberson, "Journaled Soft-Updates", BSDCan 2010.)
//!
//! J1. A metadata buf is written only after every record of the changes made until then is durable. Otherwise a crash
//!     leaves a block or a link without a record, and it stays lost. All bufs that wait share one write of the log and
//!     one flush.
//! J2. The records of an inode carry its link count at its first record. Replay counts from there, and looks up each
//!     place that a record names. A record may therefore be made before the place of the link is known; it then names a
//!     place where no entry can be ([`records::NOWHERE`]).
//! J3. Segments are dropped all at once, at a moment when everything is durable, nothing is pending, and no call runs.
//!     Files open without a name are then recorded again. Such a moment is looked for after a sync, and calls wait for
//!     it when the log is two thirds full.
//! J4. If the log overflows all the same, it is made void by a segment that names a missing segment as the oldest one:
//!     after a crash a full check runs. It is valid again from the next moment of J3 on.
//!
//! J5. While other calls change metadata without a pause, there is always a record that is not durable, and J1 would
//!     delay expired bufs forever. After [`PATIENCE`] or [`PROMISED`] of that, calls wait for a sync.
//!
//! J6. A block of inodes that a group initialises is durable before any record names an inode of it. Our replay knows
//!     from the group which inodes were ever written; FreeBSD's reads what is on the disk, and would take the bytes
//!     that lay there for the inode: it would free the blocks that they name.
//! J7. The records are right for FreeBSD's replay, too, at every moment: `ordo-bsdreplay` is the model by which the
//!     explorer judges that.
//!
//! J8. The first segment of a session, which all others name as the oldest, is durable before another is written. A
//!     disk that kept one of them without it would have a journal that looks void (J4), and the volume would mount
//!     read-only until a full check.
//!
//! `records` makes records of steps, `log` makes them durable, `segments` places them.

mod log;
mod records;
mod segments;
#[cfg(test)]
mod tests;

use crate::SoftUpdates;
use log::Log;
use ordo_buf::{
    Answer, Boxed, BufRef, Cache, Capabilities, Defers, Explains, Held, How, ImageNo, KeepsLog, Landing, Leave,
    LogFile, LogKind, Must, Op, Promises, Ready, Role, Scheme, Step, TracksBufs, Wrapper,
};
use ordo_ondisk::Ino;
use records::Session;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

/// The name of J1, for dropping it, and its text.
const RECORDS_FIRST: (&str, &str) =
    ("records-first", "the log's records are written before the metadata that they are of");

/// How long expired bufs are delayed for records before calls wait: the default, and under a promised age.
const PATIENCE: Duration = Duration::from_secs(10);
const PROMISED: Duration = Duration::from_secs(1);

/// The scheme `suj`.
pub struct Suj {
    inner: Rc<SoftUpdates>,
    state: Rc<RefCell<State>>,
    /// J1 is kept.
    records_first: bool,
}

/// The scheme's state of its calls and its log.
#[derive(Default)]
struct State {
    log: Option<Rc<RefCell<Log>>>,
    session: Session,
    /// Calls that run.
    running: BTreeSet<u64>,
    /// Counts the beginnings, steps and ends of calls.
    events: u64,
    /// The last sync began when no call ran, and the count was this.
    quiet: Option<u64>,
    /// Since when each sweep of the syncer has found undurable records (J5).
    put_off: Option<ordo_rt::Time>,
    /// That has lasted too long.
    overdue: bool,
}

impl State {
    fn happens(&mut self) {
        self.events += 1;
    }

    /// Expired bufs can be written, or were written.
    fn not_put_off(&mut self) {
        (self.put_off, self.overdue) = (None, false);
    }
}

impl Suj {
    /// On top of these soft updates. `records_first` is false for a scheme that breaks J1, to test the tests.
    pub fn over(inner: SoftUpdates, records_first: bool) -> Suj {
        Suj { inner: Rc::new(inner), state: Rc::default(), records_first }
    }

    /// Whether `name` is the name of J1 in every scheme.
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

    /// Makes all records until now durable, at once and for all bufs.
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

/// One, then the other.
fn both(cache: &Rc<Cache>, first: Must, then: Must) -> Must {
    let cache = cache.clone();
    Must::Wait(Box::pin(async move {
        cache.obey(first).await?;
        cache.obey(then).await
    }))
}

/// The array of sums as well: replay recounts only the groups that records name, and trusts it for the others.
fn needs_records(buf: &BufRef) -> bool {
    use Role::{Directory, Indirect, Inodes, Maps, Summary};
    matches!(buf.kind(), Maps | Summary | Inodes | Directory | Indirect)
}

/// J3: begins a new session of the log, if nothing of the old one is needed.
async fn begin_anew(
    inner: Rc<SoftUpdates>,
    state: Rc<RefCell<State>>,
    cache: Rc<Cache>,
    quiet: Option<u64>,
) -> ordo_vfs::Result<()> {
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

    fn inner(&self) -> &Rc<SoftUpdates> {
        &self.inner
    }

    fn capabilities(self: Rc<Self>) -> Capabilities {
        Capabilities {
            log: Some(self.clone()),
            defers: Some(self.clone()),
            explains: Some(self.clone()),
            ..self.inner.clone().capabilities()
        }
    }

    fn name(&self) -> &'static str {
        "suj"
    }

    fn declares(&self) -> Promises {
        let mut promises = self.inner.declares();
        promises.rules.push(RECORDS_FIRST);
        promises
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

    fn cancelled(&self, cache: &Rc<Cache>, op: Op) {
        {
            let mut state = self.state.borrow_mut();
            state.happens();
            state.running.remove(&op.id);
        }
        self.inner.cancelled(cache, op);
    }

    fn step(&self, cache: &Rc<Cache>, op: Op, step: Step<'_>) -> Answer {
        self.note(op, &step);
        let fresh = match step {
            Step::BlockReady { block, role: Role::Inodes, .. } => Some(block.clone()),
            _ => None,
        };
        let answer = self.inner.step(cache, op, step);
        match fresh.filter(|_| self.log().is_some()) {
            Some(block) => Answer { must: both(cache, answer.must, Must::Durable(block)), ..answer },
            None => answer,
        }
    }

    fn leaving(&self, cache: &Rc<Cache>, buf: &BufRef, image: ImageNo) -> Leave {
        match self.held_by_log(buf) {
            Some(log) => Leave::After(Log::commit(&log, cache)),
            None => self.inner.leaving(cache, buf, image),
        }
    }

    fn fsync(&self, cache: &Rc<Cache>, ino: Ino, inode: &BufRef, news: &Landing) -> Must {
        let (records, must) = (self.records_durable(cache), self.inner.fsync(cache, ino, inode, news));
        both(cache, records, must)
    }

    fn sync(&self, cache: &Rc<Cache>) -> Must {
        // Two syncs in a row with nothing in between: what the layout keeps outside its bufs is durable, too.
        let quiet = {
            let mut state = self.state.borrow_mut();
            let now = state.running.is_empty().then_some(state.events);
            std::mem::replace(&mut state.quiet, now)
        };
        // The records first; otherwise each round would find all metadata waiting for them.
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

    fn tick(&self, cache: &Rc<Cache>, now: ordo_rt::Time) {
        self.inner.tick(cache, now);
        let mut state = self.state.borrow_mut();
        let patience = if cache.promised_age().is_some() { PROMISED } else { PATIENCE };
        state.overdue |= state.put_off.is_some_and(|since| since + patience <= now);
    }
}

impl KeepsLog for Suj {
    fn kind(&self) -> LogKind {
        LogKind::Intents
    }

    fn takes_stream(&self) -> bool {
        // FreeBSD's journal is a file of the volume.
        false
    }

    fn begin_log(&self, file: LogFile) -> Boxed<'static, ordo_vfs::Result<u64>> {
        let id = file.stamp.unsigned_abs();
        self.state.borrow_mut().log = Some(Rc::new(RefCell::new(Log::new(file))));
        Box::pin(async move { Ok(id) })
    }

    fn at_rest(&self) -> Boxed<'static, ordo_vfs::Result<()>> {
        Box::pin(async { Ok(()) })
    }

    fn wants_sync(&self) -> bool {
        self.state.borrow().overdue || self.log().is_some_and(|log| log.borrow().is_full())
    }

    fn changes(&self) -> u64 {
        self.log().map_or(0, |log| log.borrow().told())
    }
}

impl Defers for Suj {
    fn ready(&self, cache: &Rc<Cache>, buf: &BufRef) -> Ready {
        match self.held_by_log(buf) {
            Some(log) => {
                self.state.borrow_mut().put_off.get_or_insert_with(|| cache.rt().now());
                if cache.promised_age().is_some() {
                    // The sweep waits for the records, and tries again.
                    return Ready::Yes;
                }
                // The commit runs by itself; the buf is tried again later.
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
}

impl Explains for Suj {
    fn explain(&self, buf: &BufRef) -> Vec<Held> {
        let mut held = self.inner.explain(buf);
        if self.held_by_log(buf).is_some() {
            held.push(Held {
                what: "all of it, until its records are durable".into(),
                how: How::Waits,
                until: Vec::new(),
            });
        }
        held
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let mut counters = self.inner.counters();
        counters.extend(self.log().into_iter().flat_map(|log| log.borrow().counters()));
        counters
    }
}
