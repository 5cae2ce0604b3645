//! What a journal answers to the engine.

use super::gate::Done;
use super::log::Log;
use super::members::Going;
use super::policy::Policy;
use super::rule::Rule;
use super::{Counts, Journal, Shared, State};
use crate::rules::RuleNames;
use crate::{DataMode, LogMode};
use ordo_buf::{
    Answer, Boxed, BufRef, Cache, Capabilities, CrashLeaves, Defers, Durable, Explains, Fields, Held, ImageNo,
    KeepsLog, Landing, Leave, LogFile, LogKind, Must, Op, Promises, Ready, Role, Scheme, SeesChanges, Step, TracksBufs,
};
use ordo_disk::{Block, ByteRange, DiskError, Homeward, KeepsCopies, Stored};
use ordo_rt::Time;
use ordo_vfs::{Error, Result};
use std::cell::Cell;
use std::rc::Rc;

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

/// Those of them that are of a block.
fn blocks_of(step: &Step<'_>) -> u64 {
    match step {
        Step::BlocksReleased { .. } | Step::BlockAllocated { .. } => changes_of(step),
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

impl<L: Log + 'static> Scheme for Journal<L> {
    fn name(&self) -> &'static str {
        self.shared.policy.name
    }

    fn declares(&self) -> Promises {
        let Policy { mode, data, .. } = self.shared.policy;
        let name = if mode == LogMode::Async { Durable::AfterFsync } else { Durable::OnReturn };
        let active = self.shared.policy.kind == LogKind::Active;
        let rules = Rule::ALL.iter().filter_map(|rule| rule.text_of(active)).collect();
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

    fn capabilities(self: Rc<Self>) -> Capabilities {
        Capabilities {
            log: Some(self.clone()),
            changes: Some(self.clone()),
            defers: Some(self.clone()),
            bufs: Some(self.clone()),
            explains: Some(self),
            ..Capabilities::default()
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

    /// Its changes are in the running transaction, which is then never captured (journals-1).
    fn cancelled(&self, _cache: &Rc<Cache>, op: Op) {
        {
            let mut state = self.shared.state.borrow_mut();
            if state.gate.leave(op).is_some() {
                state.failed.get_or_insert_with(|| Error::io("a call was cancelled before its end"));
            }
        }
        self.shared.changed.notify_all();
    }

    fn step(&self, _cache: &Rc<Cache>, op: Op, step: Step<'_>) -> Answer {
        {
            let mut state = self.shared.state.borrow_mut();
            let done = done_by(&step);
            state.gate.does(op, done);
            if done == Done::Names {
                state.named = state.running;
            }
            state.counts.changes += changes_of(&step);
            state.counts.of_blocks += blocks_of(&step);
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

    fn landed(&self, _cache: &Rc<Cache>, buf: &BufRef, image: ImageNo) {
        self.shared.state.borrow_mut().members.landed(buf, image);
    }

    fn failed(&self, buf: &BufRef) {
        self.shared.state.borrow_mut().members.failed(buf);
    }

    fn fsync(&self, cache: &Rc<Cache>, ino: ordo_ondisk::Ino, inode: &BufRef, news: &Landing) -> Must {
        let mut contents = cache.unsettled_of(ino);
        if !self.has_log() {
            contents.extend((!news.is_done()).then(|| inode.clone()));
            let cache = cache.clone();
            return Must::Wait(Box::pin(async move { cache.write_all(contents).await }));
        }
        let log_has_something = self.has_news(inode, news, &contents);
        contents.retain(|buf| !self.logs(buf.kind()));
        // The log is checked only after the contents are durable: a size over them must not be durable first.
        let (shared, cache) = (self.shared.clone(), cache.clone());
        Must::Wait(Box::pin(async move {
            cache.write_all(contents).await?;
            if !log_has_something {
                return Ok(());
            }
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
        let is_idle = {
            let mut state = self.shared.state.borrow_mut();
            if state.has_something() && state.since.is_none_or(|since| since + self.shared.policy.commit <= now) {
                state.wanted = state.wanted.max(state.running);
            }
            let changes = state.counts.changes;
            let before = std::mem::replace(&mut state.changes_before, changes);
            !state.has_something() && changes == before
        };
        Shared::work(&self.shared, cache);
        let shared = self.shared.clone();
        cache.rt().spawn(async move {
            // An error is kept for the next caller.
            let _ = shared.reclaim().await;
            // What did not go home is still in its copy, and goes before that is overwritten: that tells.
            let _ = shared.goes_home(if is_idle { Homeward::Few } else { Homeward::Nothing }).await;
        });
    }
}

impl<L: Log> KeepsLog for Journal<L> {
    fn kind(&self) -> LogKind {
        self.shared.policy.kind
    }

    fn takes_stream(&self) -> bool {
        L::IN_STREAM
    }

    fn begin_log(&self, file: LogFile) -> Boxed<'static, Result<u64>> {
        let shared = self.shared.clone();
        Box::pin(async move {
            let settles = shared.rules.has(Rule::MapBeforeReclaim);
            let copies =
                file.copies.map(|copies| if settles { copies } else { Rc::new(Unsettled(copies, Cell::new(0))) });
            let (log, id) = L::begin(LogFile { copies, ..file }, shared.policy.data).await?;
            *shared.log.borrow_mut() = Some(Rc::new(log));
            Ok(id)
        })
    }

    fn at_rest(&self) -> Boxed<'static, Result<()>> {
        let shared = self.shared.clone();
        Box::pin(async move { shared.at_rest().await })
    }

    /// It checkpoints by itself, and a call that finds no room waits in `begin` (journals-6).
    fn wants_sync(&self) -> bool {
        false
    }

    fn changes(&self) -> u64 {
        let Counts { changes, of_blocks, .. } = self.shared.state.borrow().counts;
        changes - of_blocks
    }
}

/// A disk with copies whose map is made durable every second time only: [`Rule::MapBeforeReclaim`] is broken.
struct Unsettled(Rc<dyn KeepsCopies>, Cell<u32>);

impl KeepsCopies for Unsettled {
    fn committed(&self, seq: u64, stored: &[Stored], revoked: &[ByteRange]) {
        self.0.committed(seq, stored, revoked);
    }

    fn settle(&self) -> Boxed<'static, std::result::Result<(), DiskError>> {
        self.1.set(self.1.get() + 1);
        if self.1.get() % 2 == 1 { self.0.settle() } else { Box::pin(async { Ok(()) }) }
    }

    fn begins(&self, id: u64, contents: bool) -> Boxed<'static, std::result::Result<(), DiskError>> {
        self.0.begins(id, contents)
    }

    fn apart(&self) -> u64 {
        self.0.apart()
    }

    fn go_home(&self, what: Homeward) -> Boxed<'static, std::result::Result<(), DiskError>> {
        self.0.go_home(what)
    }
}

impl<L: Log> SeesChanges for Journal<L> {
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
}

impl<L: Log> Defers for Journal<L> {
    fn ready(&self, _cache: &Rc<Cache>, buf: &BufRef) -> Ready {
        let stable = !self.has_log() || self.shared.state.borrow().members.is_stable(buf);
        if stable { Ready::Yes } else { Ready::After(Vec::new()) }
    }
}

impl<L: Log> TracksBufs for Journal<L> {
    fn wants_flush(&self) -> bool {
        self.shared.state.borrow().members.are_homeward()
    }

    fn discarded(&self, buf: &BufRef) {
        let mut state = self.shared.state.borrow_mut();
        let running = state.running;
        state.members.discarded(buf, running);
    }
}

impl<L: Log> Explains for Journal<L> {
    /// It holds back no single change: a buf is written as it was in the last durable transaction, or waits.
    fn explain(&self, _buf: &BufRef) -> Vec<Held> {
        Vec::new()
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let Counts { changes, of_blocks, transactions, blocks, forced, checkpoints } =
            self.shared.state.borrow().counts;
        let mut counters = vec![
            ("log_changes", changes),
            ("log_changes_of_blocks", of_blocks),
            ("log_transactions", transactions),
            ("log_blocks_changed", blocks),
            ("log_waits_of_bufs", forced),
            ("log_checkpoints", checkpoints),
        ];
        counters.extend(self.shared.log.borrow().iter().flat_map(|log| log.counters()));
        counters
    }
}
