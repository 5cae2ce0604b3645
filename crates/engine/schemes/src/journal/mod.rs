//! Journals: changes are written to a log before they are written in place.
//!
//! One mechanism, three logs. The calls of a period form a *transaction*. It is captured while none of them runs, made
//! durable in the log as a whole, and only then may its bufs be written in place ("go home", to be checkpointed),
//! lazily and in any order. After a crash the log is replayed: each complete transaction is applied again. `wafs` and
//! `journal-file` log the bytes that changed (Seltzer, Ganger, McKusick, Smith, Soules and Stein, "Journaling versus
//! Soft Updates", USENIX 2000, sections 3.2 and 5), `block-journal` whole blocks, as ext3 does.
//!
//! Q1. A transaction holds whole calls (see `gate`); one with a cancelled call is never written. So a crash leaves each
//!     call done or not begun, except for the contents of files, and nothing has to be undone: what is not complete in
//!     the log never left memory. (The paper's systems write a record for each step, and undo what has no end mark.)
//! Q2. A buf is written in place only with changes that are durable in the log ([`Rule::LogBeforeBuf`]). Changes of the
//!     running transaction are held back: the image from the last transaction is written instead (see `members`).
//! Q3. What a transaction frees is free once it is durable ([`Rule::LogBeforeReuse`]). Until the maps show that in a
//!     transaction of their own, each transaction lists what still waits, and replay frees it: nothing leaks.
//! Q4. An inode without a name is listed in each transaction as long as a caller has it open: replay frees it.
//! Q5. The log keeps a transaction until all its changes are in place ([`Rule::HomeBeforeReclaim`]), and the last one
//!     as long as it lists anything.
//! Q6. A call that changes little waits only for a capture; one that finds the running transaction too long for the log
//!     waits until it is captured.
//! Q7. With `data=journal` contents are logged like everything else. If the contents of one call do not fit into the
//!     log, they are first written in place, past the log, and the transaction voids what the log has for their places.
//!     A crash may leave a part of such a call. Such a buf stays outside the log until the transaction is captured,
//!     however much room there is by then: if the log had it as well, it could not be written before the transaction is
//!     durable, which waits for it.
//! Q8. Behind each transaction that lists files without a name, the log has room for one more transaction with only
//!     these lists: what a replay writes before it frees such files (fsck-redo-5). Otherwise a crash could leave a
//!     log that cannot be replayed. A transaction without that room is not written, as if it did not fit.

mod blocks;
mod gate;
mod log;
mod marks;
mod members;
mod outstanding;
mod redo;
mod rule;
mod work;

use blocks::Blocks;
use gate::{Done, Gate};
use log::Log;
pub(crate) use members::Captured;
pub(crate) use redo::Redo;
use rule::Rule;

use crate::rules::RuleNames;
use crate::{AllocInit, Checkpoint, DataMode, LogMode, Rules, Settings};
use members::{Going, Members};
use ordo_buf::{
    Answer, Boxed, BufRef, Cache, CrashLeaves, Durable, Fields, ImageNo, Key, Landing, Leave, LogFile, LogKind, Must,
    Op, Promises, Ready, Role, Scheme, Step, Ticket,
};
use ordo_disk::Block;
use ordo_rt::Time;
use ordo_rt::sync::Notify;
use ordo_vfs::Result;
use outstanding::Outstanding;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

/// The number of a transaction; the first of a mount is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Txn(pub(crate) u64);

impl Txn {
    pub(crate) fn next(self) -> Txn {
        Txn(self.0 + 1)
    }

    fn before(self) -> Txn {
        Txn(self.0.saturating_sub(1))
    }
}

/// How a journal of this kind works.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Policy {
    /// Its name.
    pub(crate) name: &'static str,
    /// When a call returns.
    pub(crate) mode: LogMode,
    /// Which contents of files are logged, or awaited.
    pub(crate) data: DataMode,
    /// How long changes may be only in memory, if no call waits for them.
    pub(crate) commit: Duration,
    /// Calls after which a transaction is captured, if no call waits.
    pub(crate) calls: u32,
    /// The log records each second where it starts, so that a replay is short; otherwise only when that frees enough of
    /// it.
    pub(crate) restless: bool,
    /// Durable transactions are checkpointed at once, not when the syncer or a full log demands it.
    pub(crate) home_at_once: bool,
}

/// Calls per transaction if no call waits, in `wafs`: so many calls that make and remove empty files fill two blocks of
/// 4 KiB in the log.
const CALLS: u32 = 256;

/// The same in `journal-file`, which writes its log in clusters of 64 KiB: so many calls on empty files fill 60 of
/// them.
const CALLS_OF_A_CLUSTER: u32 = 3200;

/// The scheme `block-journal`.
pub(crate) fn of_blocks(settings: &Settings) -> Rc<dyn Scheme> {
    let policy = Policy {
        name: "block-journal",
        mode: settings.log_mode.unwrap_or(LogMode::Async),
        data: settings.data.unwrap_or_default(),
        commit: settings.commit.unwrap_or(Duration::from_secs(5)),
        calls: u32::MAX,
        restless: false,
        home_at_once: settings.checkpoint == Some(Checkpoint::AtOnce),
    };
    Rc::new(Journal::<Blocks>::new(policy, settings.dropped()))
}

/// The scheme `journal-file`.
pub(crate) fn in_file(settings: &Settings) -> Rc<dyn Scheme> {
    let policy = Policy {
        name: "journal-file",
        mode: LogMode::Async,
        data: settings.data.unwrap_or_default(),
        commit: settings.commit.unwrap_or(Duration::from_secs(1)),
        calls: CALLS_OF_A_CLUSTER,
        restless: true,
        home_at_once: settings.checkpoint == Some(Checkpoint::AtOnce),
    };
    Rc::new(Journal::<Redo>::new(policy, settings.dropped()))
}

/// The scheme `wafs`.
pub(crate) fn in_wafs(settings: &Settings) -> Rc<dyn Scheme> {
    let policy = Policy {
        name: "wafs",
        mode: settings.log_mode.unwrap_or_default(),
        data: settings.data.unwrap_or_default(),
        commit: settings.commit.unwrap_or(Duration::from_secs(1)),
        calls: CALLS,
        restless: false,
        home_at_once: settings.checkpoint == Some(Checkpoint::AtOnce),
    };
    Rc::new(Journal::<Redo>::new(policy, settings.dropped()))
}

/// A journal.
pub(crate) struct Journal<L> {
    shared: Rc<Shared<L>>,
}

struct Shared<L> {
    policy: Policy,
    rules: Rules<Rule>,
    state: RefCell<State>,
    /// The log, once it exists. A volume mounted by force has none, and then no order either.
    log: RefCell<Option<Rc<L>>>,
    /// Notified by every event that a task may wait for.
    changed: Notify,
}

struct State {
    gate: Gate,
    members: Members,
    outstanding: Rc<RefCell<Outstanding>>,
    watched: bool,
    /// The running transaction.
    running: Txn,
    /// Calls of it that have ended and did more than [`Done::Little`]. Little changes are bounded by their bytes and
    /// age.
    calls: u32,
    /// Since when it has changes.
    since: Option<Time>,
    /// Contents that must be durable before it. They pin no buf: a file may be larger than the cache.
    data: Vec<Landing>,
    /// Contents among these that belong into the log, but did not fit (Q7).
    past: BTreeMap<Key, BufRef>,
    /// Tickets that are ripe when it is durable (Q3), with those of the transaction being written.
    tickets: Vec<Ticket>,
    ripening: Vec<Ticket>,
    /// All transactions up to this one are durable.
    durable: Txn,
    /// The last transaction in the log, if it lists anything. Its lists must stay in the log until another transaction
    /// replaces them, even if few of them are left in memory (Q5).
    lists: Option<Lists>,
    /// A call waits for all transactions up to this one.
    wanted: Txn,
    /// A task is capturing and writing.
    at_work: bool,
    checkpointing: bool,
    failed: Option<String>,
    counts: Counts,
}

/// What a transaction in the log lists.
#[derive(Clone)]
struct Lists {
    txn: Txn,
    waiting: Vec<ordo_ondisk::redo::Waiting>,
    nameless: Vec<ordo_ondisk::Ino>,
}

#[derive(Default, Clone, Copy)]
struct Counts {
    /// See [`changes_of`].
    changes: u64,
    transactions: u64,
    blocks: u64,
    forced: u64,
    checkpoints: u64,
}

impl<L: Log> Journal<L> {
    pub(crate) fn new(policy: Policy, dropped: Rules<Rule>) -> Journal<L> {
        let state = State {
            gate: Gate::default(),
            members: Members::default(),
            outstanding: Rc::default(),
            watched: false,
            running: Txn(1),
            calls: 0,
            since: None,
            data: Vec::new(),
            past: BTreeMap::new(),
            tickets: Vec::new(),
            ripening: Vec::new(),
            durable: Txn(0),
            lists: None,
            wanted: Txn(0),
            at_work: false,
            checkpointing: false,
            failed: None,
            counts: Counts::default(),
        };
        let shared = Shared {
            policy,
            rules: Rules::in_force(AllocInit::All).without(dropped),
            state: RefCell::new(state),
            log: RefCell::new(None),
            changed: Notify::new(),
        };
        Journal { shared: Rc::new(shared) }
    }

    fn has(&self, rule: Rule) -> bool {
        self.shared.rules.has(rule)
    }

    fn has_log(&self) -> bool {
        self.shared.log.borrow().is_some()
    }

    /// Whether the contents of such a buf are logged.
    fn logs(&self, role: Role) -> bool {
        match role {
            Role::Superblock | Role::Summary | Role::Log => false,
            Role::Data => self.shared.policy.data == DataMode::Journal,
            _ => true,
        }
    }

    /// Q7: the log has no room for these contents, and has nothing newer of them than their home.
    fn is_too_much(&self, members: &Members, buf: &BufRef) -> bool {
        let most = self.shared.log.borrow().as_ref().map_or(usize::MAX, |log| log.most());
        buf.slot() == 0 && members.running_bytes() + buf.len() > most / 2
    }

    /// Contents that must be durable first ([`Rule::DataBeforeLog`]).
    fn note_data(&self, block: &BufRef) {
        let first = block.has_moved() || self.shared.policy.data == DataMode::Ordered;
        if first && block.kind() == Role::Data && !self.logs(Role::Data) && self.has(Rule::DataBeforeLog) {
            self.shared.state.borrow_mut().data.push(Landing::of(block));
        }
    }

    /// Makes everything done so far durable in the log.
    fn all_durable(&self, cache: &Rc<Cache>) -> Boxed<'static, Result<()>> {
        let upto = self.shared.now();
        Shared::durable(&self.shared, cache, upto)
    }
}

impl<L: Log> Shared<L> {
    /// The last transaction that has changes so far.
    fn now(&self) -> Txn {
        let state = self.state.borrow();
        if state.has_something() { state.running } else { state.running.before() }
    }
}

/// A volume that failed, or was dropped without an unmount: what the tickets free stays allocated in memory, and the
/// log records what became of it.
impl Drop for State {
    fn drop(&mut self) {
        self.tickets.drain(..).chain(self.ripening.drain(..)).for_each(|ticket| drop(ticket.redeem()));
    }
}

impl State {
    fn has_something(&self) -> bool {
        self.members.has_running() || !self.tickets.is_empty() || self.outstanding.borrow().has_changed()
    }
}

/// The number of records that a log of logical records, like the paper's, would have for this step: one for each inode,
/// name or link made or removed, and each block taken or freed. A new size or time changes no names or maps; the record
/// of a new block counts with its pointer.
fn changes_of(step: &Step<'_>) -> u64 {
    match step {
        Step::BlocksReleased { blocks, .. } => blocks.len() as u64,
        Step::InodeChanged { fields: Fields::LinksUp | Fields::LinksDown, .. }
        | Step::InodeAllocated { .. }
        | Step::InodeReleased { .. }
        | Step::BlockAllocated { .. }
        | Step::LinkAdded { .. }
        | Step::LinkChanged { .. }
        | Step::LinkRemoved { .. } => 1,
        _ => 0,
    }
}

fn done_by(step: &Step<'_>) -> Done {
    match step {
        Step::LinkAdded { .. } | Step::LinkChanged { .. } | Step::LinkRemoved { .. } => Done::Names,
        Step::InodeChanged { fields: Fields::Times, .. } | Step::DataWritten { .. } => Done::Little,
        _ => Done::Much,
    }
}

impl<L: Log> Scheme for Journal<L> {
    fn name(&self) -> &'static str {
        self.shared.policy.name
    }

    fn declares(&self) -> Promises {
        let Policy { mode, data, .. } = self.shared.policy;
        let name = if mode == LogMode::Async { Durable::AfterFsync } else { Durable::OnReturn };
        let rules = Rule::ALL.iter().map(|rule| rule.text()).collect();
        Promises {
            name_added: name,
            name_removed: name,
            data: Durable::AfterFsync,
            attributes: Durable::AfterFsync,
            fsync_covers_name: true,
            rename_never_loses: true,
            names_of_a_moment: true,
            durable_stays: true,
            crash_leaves: CrashLeaves::Log,
            no_stale_data: data != DataMode::Writeback,
            mount_at_once: true,
            rules,
        }
    }

    fn wants_log(&self) -> Option<LogKind> {
        Some(LogKind::Redo)
    }

    fn begin_log(&self, file: LogFile) -> Boxed<'static, Result<u64>> {
        let shared = self.shared.clone();
        Box::pin(async move {
            let (log, id) = L::begin(file).await?;
            *shared.log.borrow_mut() = Some(Rc::new(log));
            Ok(id)
        })
    }

    fn wants_changes(&self) -> bool {
        true
    }

    fn will_change(&self, buf: &BufRef) {
        if self.logs(buf.kind()) && self.has_log() {
            let mut state = self.shared.state.borrow_mut();
            if state.members.has_joined(buf) {
                return;
            }
            let goes_past =
                |state: &State| state.past.contains_key(&buf.key()) || self.is_too_much(&state.members, buf);
            if buf.kind() == Role::Data && goes_past(&state) {
                // A discarded buf may have the same key; the present one replaces it.
                state.past.insert(buf.key(), buf.clone());
            } else {
                state.members.join(buf);
            }
        }
    }

    fn begin(&self, cache: &Rc<Cache>, op: Op) -> Must {
        if !self.has_log() {
            return Must::Nothing;
        }
        self.watch(cache);
        match self.shared.enter(cache, op) {
            true => Must::Nothing,
            false => Must::Wait(Box::pin(Shared::entered(self.shared.clone(), cache.clone(), op))),
        }
    }

    fn end(&self, cache: &Rc<Cache>, op: Op) -> Must {
        let wait = {
            let mut state = self.shared.state.borrow_mut();
            let Some(done) = state.gate.leave(op) else { return Must::Nothing };
            state.calls += u32::from(done > Done::Little);
            if state.has_something() {
                let now = cache.rt().now();
                state.since.get_or_insert(now);
            }
            let full = state.calls >= self.shared.policy.calls || !state.past.is_empty();
            if full && state.has_something() {
                state.wanted = state.wanted.max(state.running);
            }
            done == Done::Names && self.shared.policy.mode != LogMode::Async
        };
        self.shared.changed.notify_all();
        if wait {
            return Must::Wait(self.all_durable(cache));
        }
        Shared::work(&self.shared, cache);
        Must::Nothing
    }

    /// Its changes are in the running transaction, which is then never captured (Q1).
    fn give_up(&self, _cache: &Rc<Cache>, op: Op) {
        {
            let mut state = self.shared.state.borrow_mut();
            if state.gate.leave(op).is_some() {
                state.failed.get_or_insert_with(|| "a call was given up before its end".to_owned());
            }
        }
        self.shared.changed.notify_all();
    }

    fn step(&self, _cache: &Rc<Cache>, op: Op, step: Step<'_>) -> Answer {
        {
            let mut state = self.shared.state.borrow_mut();
            state.gate.does(op, done_by(&step));
            state.counts.changes += changes_of(&step);
        }
        match &step {
            Step::Links { ino, after, .. } => self.shared.state.borrow().outstanding.borrow_mut().links(*ino, *after),
            Step::InodeReleased { ino, .. } => self.shared.state.borrow().outstanding.borrow_mut().links(*ino, 1),
            Step::BlockAllocated { block, .. } => self.note_data(block),
            Step::SizeGrown { block, directory: false, .. } => self.note_data(block),
            _ => {}
        }
        let keeps =
            matches!(step, Step::BlockAllocated { .. } | Step::BlocksReleased { .. } | Step::InodeReleased { .. });
        let ticket = step.into_ticket();
        if keeps && self.has_log() && self.has(Rule::LogBeforeReuse) {
            self.shared.state.borrow_mut().tickets.extend(ticket);
            return Must::Nothing.into();
        }
        Answer { must: Must::Nothing, ripe: ticket }
    }

    fn leaving(&self, cache: &Rc<Cache>, buf: &BufRef, image: ImageNo) -> Leave {
        if !self.has_log() || !self.has(Rule::LogBeforeBuf) {
            return Leave::AsIs;
        }
        let going = {
            let mut state = self.shared.state.borrow_mut();
            let running = state.running;
            state.members.leaving(buf, image, running)
        };
        match going {
            Going::AsIs => Leave::AsIs,
            Going::Stable(image) => Leave::Older(Block::copy_of(&image)),
            Going::After(txn) => {
                self.shared.state.borrow_mut().counts.forced += 1;
                Leave::After(Shared::durable(&self.shared, cache, txn))
            }
        }
    }

    fn ready(&self, _cache: &Rc<Cache>, buf: &BufRef) -> Ready {
        let stable = !self.has_log() || self.shared.state.borrow().members.is_stable(buf);
        if stable { Ready::Yes } else { Ready::After(Vec::new()) }
    }

    fn landed(&self, _cache: &Rc<Cache>, buf: &BufRef, image: ImageNo) {
        self.shared.state.borrow_mut().members.landed(buf, image);
    }

    fn discarded(&self, _cache: &Rc<Cache>, buf: &BufRef) {
        let mut state = self.shared.state.borrow_mut();
        let running = state.running;
        state.members.discarded(buf, running);
    }

    fn wants_flush(&self) -> bool {
        self.shared.state.borrow().members.has_sent()
    }

    fn failed(&self, buf: &BufRef) {
        self.shared.state.borrow_mut().members.failed(buf);
    }

    fn fsync(&self, cache: &Rc<Cache>, ino: ordo_ondisk::Ino, inode: &BufRef, _data_only: bool) -> Must {
        let mut contents = cache.unsettled_of(ino);
        if !self.has_log() {
            contents.push(inode.clone());
            let cache = cache.clone();
            return Must::Wait(Box::pin(async move { cache.write_all(contents).await }));
        }
        contents.retain(|buf| !self.logs(buf.kind()));
        // The log is checked only after the contents are durable: a size over them must not be durable first.
        let (shared, cache) = (self.shared.clone(), cache.clone());
        Must::Wait(Box::pin(async move {
            cache.write_all(contents).await?;
            let upto = shared.now();
            Shared::durable(&shared, &cache, upto).await
        }))
    }

    fn sync(&self, cache: &Rc<Cache>) -> Must {
        let (shared, cache) = (self.shared.clone(), cache.clone());
        Must::Wait(Box::pin(async move {
            if shared.log.borrow().is_none() {
                return cache.write_everything().await;
            }
            if !shared.rules.has(Rule::LogBeforeBuf) {
                cache.write_everything().await?;
            }
            let contents = |buf: &BufRef| buf.kind() == Role::Data;
            cache.write_all(cache.unsettled().into_iter().filter(contents).collect()).await?;
            let upto = shared.now();
            Shared::durable(&shared, &cache, upto).await?;
            cache.write_everything().await?;
            shared.reclaim().await
        }))
    }

    fn tick(&self, cache: &Rc<Cache>, now: Time) {
        if !self.has_log() {
            return;
        }
        {
            let mut state = self.shared.state.borrow_mut();
            if state.has_something() && state.since.is_none_or(|since| since + self.shared.policy.commit <= now) {
                state.wanted = state.wanted.max(state.running);
            }
        }
        Shared::work(&self.shared, cache);
        let shared = self.shared.clone();
        cache.rt().spawn(async move {
            // An error is kept for the next caller.
            let _ = shared.reclaim().await;
        });
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let Counts { changes, transactions, blocks, forced, checkpoints } = self.shared.state.borrow().counts;
        let mut counters = vec![
            ("log_changes", changes),
            ("log_transactions", transactions),
            ("log_blocks_changed", blocks),
            ("log_waits_of_bufs", forced),
            ("log_checkpoints", checkpoints),
        ];
        counters.extend(self.shared.log.borrow().iter().flat_map(|log| log.counters()));
        counters
    }
}

impl<L: Log> Journal<L> {
    /// Q3: the ledger reports what waits to be freed, from the first call on.
    fn watch(&self, cache: &Rc<Cache>) {
        let mut state = self.shared.state.borrow_mut();
        if std::mem::replace(&mut state.watched, true) {
            return;
        }
        let outstanding = state.outstanding.clone();
        cache.ledger().keep_account(Rc::new(move |told| outstanding.borrow_mut().told(told)));
    }
}
