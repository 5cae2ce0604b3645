//! The bufs whose home locations are older than what the log has.
//!
//! M1. A buf joins the running transaction before its first change in it, and its image of that moment is kept: the
//!     difference is what the transaction has changed.
//! M2. Three states of a buf can be newer than its home: one that is durable in the log (*stable*), one that is being
//!     written to the log (*pending*), and that of the running transaction. Only a stable one may be written home.
//! M3. `low` is the first transaction with a change that the home lacks. The log must not drop it, even if the buf is
//!     discarded, until the discard is durable in the log itself.
//! M4. A buf without a place is not in the log: its layout, which gives it one when it leaves, recovers it by itself
//!     (a batch has a summary). It may leave once the transaction is durable.

use super::txn::{Captured, Txn};
use ordo_buf::{BufRef, ImageNo, Landing};
use ordo_disk::{DiskOff, Image};
use std::rc::Rc;

/// A buf as a transaction left it.
#[derive(Clone)]
struct Version {
    txn: Txn,
    image: Image,
    at: Option<DiskOff>,
}

struct Member {
    buf: BufRef,
    /// If it is in the running transaction: the image before its first change, its address then, and whether the home
    /// had nothing of it.
    running: Option<(Image, Option<DiskOff>, bool)>,
    pending: Option<Version>,
    stable: Option<Version>,
    low: Option<Txn>,
    /// The last stable transaction that changed it.
    last: Txn,
    /// Images being written home, each with the last transaction in it. That they are in flight the cache knows, too;
    /// what they hold only their member does.
    homeward: Vec<(ImageNo, Txn)>,
    /// The last image that went home as the stable state, and the last transaction that it lacked.
    older: Option<(ImageNo, Txn)>,
}

impl Member {
    fn is_over(&self) -> bool {
        self.running.is_none() && self.pending.is_none() && self.low.is_none()
    }

    /// It is newer than its stable state.
    fn is_newer(&self) -> bool {
        self.running.is_some() || self.pending.is_some()
    }

    /// The buf has the same address and length as in `state`.
    fn is_in_place(&self, state: &Version) -> bool {
        (self.buf.addr(), self.buf.len()) == (state.at, state.image.len())
    }

    /// An image has landed at home.
    fn landed(&mut self, image: ImageNo) {
        let home = self.homeward.iter().filter(|(number, _)| *number <= image).map(|(_, txn)| *txn).max();
        self.homeward.retain(|(number, _)| *number > image);
        if let Some(txn) = home {
            self.is_home(txn);
        }
    }

    /// The pending state is durable in the log.
    fn stabilise(&mut self) {
        if let Some(state) = self.pending.take() {
            self.low.get_or_insert(state.txn);
            self.last = state.txn;
            self.stable = Some(state);
        }
    }

    /// The first transaction with a change that its home lacks, or will lack (M3).
    fn lacks(&self) -> Option<Txn> {
        self.low.or(self.pending.as_ref().map(|state| state.txn))
    }

    /// Its home has everything up to `txn`.
    fn is_home(&mut self, txn: Txn) {
        let later = self.last > txn;
        self.low = self.low.filter(|low| later || *low > txn).map(|low| low.max(txn.next()));
    }
}

/// What may be written in place of a buf.
pub(super) enum Going {
    /// The buf as it is.
    AsIs,
    /// Its stable state.
    Stable(Image),
    /// Nothing, until this transaction is durable.
    After(Txn),
}

/// All members, by the slots of their bufs.
#[derive(Default)]
pub(super) struct Members {
    all: Vec<Option<Member>>,
    free: Vec<u32>,
    /// Members of the running transaction, in the order of joining.
    running: Vec<u32>,
    /// Their bytes.
    bytes: usize,
    /// Captured, not stable yet.
    pending: Vec<u32>,
    /// Discarded by a transaction that is not durable yet (M3).
    gone: Vec<(Member, Txn)>,
}

impl Members {
    fn of(&mut self, buf: &BufRef) -> Option<&mut Member> {
        self.all.get_mut((buf.slot() as usize).checked_sub(1)?)?.as_mut()
    }

    /// The buf has joined already.
    #[inline]
    pub(super) fn has_joined(&self, buf: &BufRef) -> bool {
        let at = (buf.slot() as usize).wrapping_sub(1);
        matches!(self.all.get(at), Some(Some(member)) if member.running.is_some())
    }

    /// Joins the running transaction (M1).
    pub(super) fn join(&mut self, buf: &BufRef) {
        let index = match buf.slot() {
            0 => {
                let member = Member {
                    buf: buf.clone(),
                    running: None,
                    pending: None,
                    stable: None,
                    low: None,
                    last: Txn::default(),
                    homeward: Vec::new(),
                    older: None,
                };
                let index = self.free.pop().unwrap_or_else(|| {
                    self.all.push(None);
                    (self.all.len() - 1) as u32
                });
                self.all[index as usize] = Some(member);
                buf.set_slot(index + 1);
                index
            }
            slot => slot - 1,
        };
        let Some(member) = self.all.get_mut(index as usize).and_then(Option::as_mut) else { return };
        let known = member.pending.is_some() || member.low.is_some();
        member.running = Some((buf.image(), buf.addr(), buf.is_new() && !known));
        self.running.push(index);
        self.bytes += buf.len();
    }

    /// Calls `each` for the dirty bufs of the running transaction.
    pub(super) fn each_running(&self, mut each: impl FnMut(&BufRef)) {
        let members = self.running.iter().filter_map(|index| self.all.get(*index as usize)?.as_ref());
        members.filter(|member| member.buf.is_dirty()).for_each(|member| each(&member.buf));
    }

    /// The running transaction has changes.
    pub(super) fn has_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// Bytes of the bufs of the running transaction.
    pub(super) fn running_bytes(&self) -> usize {
        self.bytes
    }

    /// Captures the changes of the running transaction, whose number is `txn`.
    pub(super) fn capture(&mut self, txn: Txn, place_of: impl Fn(&BufRef) -> Option<DiskOff>) -> Vec<Captured> {
        let (mut captured, mut stay) = (Vec::with_capacity(self.running.len()), Vec::new());
        self.bytes = 0;
        for index in std::mem::take(&mut self.running) {
            let Some(member) = self.all.get_mut(index as usize).and_then(Option::as_mut) else { continue };
            let Some((before, was_at, new)) = member.running.take() else { continue };
            let (now, at) = (member.buf.image(), place_of(&member.buf));
            if !member.buf.is_dirty() {
                // It has no pointer yet: it was filled, and setting the pointer will make it dirty.
                member.running = Some((before, was_at, new));
                stay.push(index);
                continue;
            }
            let Some(at) = at else {
                // M4.
                member.pending = Some(Version { txn, image: now, at: None });
                self.pending.push(index);
                continue;
            };
            let fresh = new || was_at != Some(at) || before.len() != now.len();
            if !fresh && before[..] == now[..] {
                self.end_if_over(index);
                continue;
            }
            member.pending = Some(Version { txn, image: now.clone(), at: Some(at) });
            self.pending.push(index);
            captured.push(Captured { at, before: (!fresh).then_some(before), now });
        }
        self.running = stay;
        captured
    }

    /// Everything that was captured is durable in the log.
    pub(super) fn stabilise(&mut self, txn: Txn) {
        for index in std::mem::take(&mut self.pending) {
            let Some(member) = self.all.get_mut(index as usize).and_then(Option::as_mut) else { continue };
            member.stabilise();
        }
        self.gone.retain(|(_, until)| *until > txn);
        self.gone.iter_mut().for_each(|(member, _)| member.stabilise());
    }

    /// What of `buf` may be written, as its image number `image` (M2).
    pub(super) fn leaving(&mut self, buf: &BufRef, image: ImageNo, running: Txn) -> Going {
        let Some(member) = self.of(buf) else { return Going::AsIs };
        let newer = match (&member.running, &member.pending) {
            (Some(_), _) => Some(running),
            (None, pending) => pending.as_ref().map(|state| state.txn),
        };
        let stays = member.stable.as_ref().is_some_and(|state| newer.is_some() && !member.is_in_place(state));
        let stable = if stays { None } else { member.stable.take() };
        let (going, txn) = match (newer, stable) {
            (None, _) => (Going::AsIs, member.last),
            (Some(lacked), Some(state)) => {
                member.older = Some((image, lacked));
                (Going::Stable(state.image), state.txn)
            }
            (Some(txn), None) => return Going::After(txn),
        };
        member.homeward.push((image, txn));
        going
    }

    /// The last transaction that an image of `buf` with this landing may have lacked. A buf that is no member any more
    /// lacked nothing that is not durable.
    pub(super) fn lacks(&self, buf: &BufRef, landing: &Landing) -> Txn {
        let at = (buf.slot() as usize).wrapping_sub(1);
        let older = self.all.get(at).and_then(Option::as_ref).and_then(|member| member.older);
        older.filter(|(image, _)| *image >= landing.image()).map_or(Txn::default(), |(_, txn)| txn)
    }

    /// Whether `buf` may be written as it is.
    pub(super) fn is_stable(&self, buf: &BufRef) -> bool {
        let at = (buf.slot() as usize).wrapping_sub(1);
        !matches!(self.all.get(at), Some(Some(member)) if member.running.is_some() || member.pending.is_some())
    }

    /// All that `buf` holds is durable in the log. False if it is not known here.
    pub(super) fn is_durable_in_log(&self, buf: &BufRef) -> bool {
        let at = (buf.slot() as usize).wrapping_sub(1);
        matches!(self.all.get(at), Some(Some(member)) if !member.is_newer())
    }

    /// An image has landed at home.
    pub(super) fn landed(&mut self, buf: &BufRef, image: ImageNo) {
        self.each(buf, |member| member.landed(image));
    }

    /// A write of `buf` failed: its images in flight are not at home.
    pub(super) fn failed(&mut self, buf: &BufRef) {
        self.each(buf, |member| member.homeward.clear());
    }

    /// Applies `with` to the member of `buf`, and to those of its discarded predecessors.
    fn each(&mut self, buf: &BufRef, with: impl Fn(&mut Member)) {
        let gone = self.gone.iter_mut().filter(|(member, _)| Rc::ptr_eq(&member.buf, buf));
        gone.for_each(|(member, _)| with(member));
        if let Some(member) = self.of(buf) {
            with(member);
            self.end_if_over(buf.slot() - 1);
        }
    }

    /// `buf` was discarded by a call of the transaction `running` (M3).
    pub(super) fn discarded(&mut self, buf: &BufRef, running: Txn) {
        let Some(index) = (buf.slot() as usize).checked_sub(1) else { return };
        let Some(mut member) = self.all.get_mut(index).and_then(Option::take) else { return };
        if member.running.take().is_some() {
            self.bytes = self.bytes.saturating_sub(buf.len());
            self.running.retain(|joined| *joined as usize != index);
        }
        buf.set_slot(0);
        if member.lacks().is_some() {
            self.gone.push((member, running));
        }
        // An index among the pending ones must not be reused for another buf before these are settled.
        self.pending.retain(|pending| *pending as usize != index);
        self.free.push(index as u32);
    }

    fn end_if_over(&mut self, index: u32) {
        let Some(slot) = self.all.get_mut(index as usize) else { return };
        if let Some(member) = slot.take_if(|member| member.is_over()) {
            member.buf.set_slot(0);
            self.free.push(index);
        }
    }

    /// The first transaction with a change that a home lacks (M3).
    pub(super) fn low(&self) -> Option<Txn> {
        let gone = self.gone.iter().map(|(member, _)| member);
        self.all.iter().flatten().chain(gone).filter_map(Member::lacks).min()
    }

    /// Bufs whose homes lack a change of a transaction up to `upto`.
    pub(super) fn behind(&self, upto: Txn) -> Vec<BufRef> {
        let gone = self.gone.iter().map(|(member, _)| member);
        let behind = self.all.iter().flatten().chain(gone).filter(|member| member.low.is_some_and(|low| low <= upto));
        behind.map(|member| member.buf.clone()).collect()
    }

    /// Stable states of bufs that have moved, changed their length or were discarded since, so that they cannot be
    /// written in place of the buf (M2); with the address of their old home. No other file gets that place before the
    /// next transaction is durable.
    pub(super) fn left_behind(&self) -> Vec<(BufRef, Txn, DiskOff, Image)> {
        let moved = |member: &&Member| {
            member.is_newer() && member.stable.as_ref().is_some_and(|state| !member.is_in_place(state))
        };
        let left = |member: &Member| {
            let state = member.stable.as_ref()?;
            Some((member.buf.clone(), state.txn, state.at?, state.image.clone()))
        };
        let gone = self.gone.iter().map(|(member, _)| member);
        self.all.iter().flatten().filter(moved).chain(gone).filter_map(left).collect()
    }

    /// The state that `txn` left of `buf` is at its old home.
    pub(super) fn came_home(&mut self, buf: &BufRef, txn: Txn) {
        self.each(buf, |member| {
            member.stable.take_if(|state| state.txn == txn);
            member.is_home(txn);
        });
    }

    /// Images are being written home.
    pub(super) fn are_homeward(&self) -> bool {
        let gone = self.gone.iter().map(|(member, _)| member);
        self.all.iter().flatten().chain(gone).any(|member| !member.homeward.is_empty())
    }
}

#[cfg(test)]
mod tests;
