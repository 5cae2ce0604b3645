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
//!     these lists: what a replay writes before it frees such files (recover-redo-5). Otherwise a crash could leave a
//!     log that cannot be replayed. A transaction without that room is not written, as if it did not fit.
//! Q9. An fsync does not force the log if the log has nothing for it: what is new of the inode is at home, or an fsync
//!     has made it durable before (ufs-inode-4); all of the file that belongs into the log is durable there; and so are
//!     all names. An image of the inode that has landed does not show this: it may have been a stable image, without
//!     the newest changes (Q2). The transaction of those must be durable, too.

mod blocks;
mod gate;
mod log;
mod marks;
mod members;
mod outstanding;
mod policy;
mod redo;
mod rule;
mod scheme;
mod txn;
mod work;

use blocks::Blocks;
use gate::Gate;
use log::Log;
use policy::Policy;
use redo::Redo;
use rule::Rule;
use txn::Txn;

use crate::{AllocInit, DataMode, Rules, Settings};
use members::Members;
use ordo_buf::{Boxed, BufRef, Cache, Key, Landing, LogKind, Role, Scheme, Ticket};
use ordo_ondisk::superblock::Keeper;
use ordo_rt::Time;
use ordo_rt::sync::Notify;
use ordo_vfs::{Error, Result};
use outstanding::Outstanding;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The scheme `block-journal`.
pub(crate) fn of_blocks(settings: &Settings) -> Rc<dyn Scheme> {
    let policy = Policy::of_blocks(settings, Keeper::OF_BLOCKS, LogKind::Redo);
    Rc::new(Journal::<Blocks>::new(policy, settings.dropped()))
}

/// The scheme `active`: the same transactions, on a disk that keeps what they have as copies.
pub(crate) fn active(settings: &Settings) -> Rc<dyn Scheme> {
    let policy = Policy::of_blocks(settings, Keeper::ACTIVE, LogKind::Active);
    Rc::new(Journal::<Blocks>::new(policy, settings.dropped()))
}

/// The scheme `journal-file`.
pub(crate) fn in_file(settings: &Settings) -> Rc<dyn Scheme> {
    Rc::new(Journal::<Redo>::new(Policy::in_file(settings), settings.dropped()))
}

/// The scheme `wafs`.
pub(crate) fn in_wafs(settings: &Settings) -> Rc<dyn Scheme> {
    Rc::new(Journal::<Redo>::new(Policy::in_wafs(settings), settings.dropped()))
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
    /// Calls of it that have ended and did more than [`gate::Done::Little`]. Little changes are bounded by their bytes
    /// and age.
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
    /// The last transaction in which a name was added, removed or changed.
    named: Txn,
    /// The last transaction in the log, if it lists anything. Its lists must stay in the log until another transaction
    /// replaces them, even if few of them are left in memory (Q5).
    lists: Option<Lists>,
    /// A call waits for all transactions up to this one.
    wanted: Txn,
    /// A task is capturing and writing.
    at_work: bool,
    checkpointing: bool,
    failed: Option<Error>,
    counts: Counts,
    /// [`Counts::changes`] at the last tick.
    changes_before: u64,
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
    /// As `changes_of` in `scheme` counts them.
    changes: u64,
    /// Of these, a block taken or freed.
    of_blocks: u64,
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
            named: Txn(0),
            lists: None,
            wanted: Txn(0),
            at_work: false,
            checkpointing: false,
            failed: None,
            counts: Counts::default(),
            changes_before: 0,
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

    /// Q9: the news of an inode, whose block is `inode`, some name, or one of `contents` that belongs into the log is
    /// not known to be durable.
    fn has_news(&self, inode: &BufRef, news: &Landing, contents: &[BufRef]) -> bool {
        let state = self.shared.state.borrow();
        let inode_has =
            !news.is_of_nothing_new() && (!news.is_done() || state.members.lacks(inode, news) > state.durable);
        let undurable = |buf: &BufRef| self.logs(buf.kind()) && !state.members.is_durable_in_log(buf);
        inode_has || state.named > state.durable || contents.iter().any(undurable)
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

impl<L: Log> Journal<L> {
    /// Q3: the ledger reports what waits to be freed, from the first call on.
    fn watch(&self, cache: &Rc<Cache>) {
        let mut state = self.shared.state.borrow_mut();
        if std::mem::replace(&mut state.watched, true) {
            return;
        }
        let outstanding = state.outstanding.clone();
        cache.ledger().keep_account(Rc::new(move |event| outstanding.borrow_mut().note(event)));
    }
}
