//! The bufs of which the log knows more than their home does.
//!
//! M1. A buf joins the running transaction before its first change in it, and its image of that moment is kept: what the
//!     transaction has changed is the difference.
//! M2. Three states of a buf can be newer than its home: one that is durable in the log (*stable*), one on its way there
//!     (*pending*), and that of the running transaction. Only a stable one may go home.
//! M3. `low` is the first transaction of which the home lacks something. The log must not forget it; not even when the buf
//!     is thrown away, for that counts only once it is in the log itself.

use super::Txn;
use buf::{BufRef, ImageNo};
use disk::{DiskOff, Image};

/// A buf as a transaction left it.
#[derive(Clone)]
struct State {
    txn: Txn,
    image: Image,
    at: Option<DiskOff>,
}

struct Member {
    buf: BufRef,
    /// In the running transaction since: the image before its first change, where that lay, and nothing of it did.
    running: Option<(Image, Option<DiskOff>, bool)>,
    pending: Option<State>,
    stable: Option<State>,
    low: Option<Txn>,
    /// The last transaction of which it has something, of the stable ones.
    last: Txn,
    /// Images on their way home, with the last transaction in each.
    sent: Vec<(ImageNo, Txn)>,
}

impl Member {
    fn is_over(&self) -> bool {
        self.running.is_none() && self.pending.is_none() && self.low.is_none()
    }
}

/// What a transaction has done to a block.
pub(crate) struct Captured {
    pub(crate) at: DiskOff,
    /// The block before, as the log and its home have it; `None` where they have nothing of it.
    pub(crate) before: Option<Image>,
    pub(crate) now: Image,
}

/// What may leave in a buf's place.
pub(super) enum Going {
    /// The buf as it is.
    AsIs,
    /// What of it is stable.
    Stable(Image),
    /// Nothing, until this transaction is durable.
    After(Txn),
}

/// All of them, by the slots of the bufs.
#[derive(Default)]
pub(super) struct Members {
    all: Vec<Option<Member>>,
    free: Vec<u32>,
    /// Joined the running transaction, in their order.
    running: Vec<u32>,
    /// Bytes of these.
    bytes: usize,
    /// Captured, not stable.
    pending: Vec<u32>,
    /// Thrown away: what their homes lack, until a transaction is durable (M3).
    gone: Vec<(Txn, Txn)>,
    on_their_way: usize,
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

    /// M1.
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
                    sent: Vec::new(),
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

    /// The running transaction has changed something.
    pub(super) fn has_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// Bytes of the bufs of the running transaction.
    pub(super) fn running_bytes(&self) -> usize {
        self.bytes
    }

    /// Takes what the running transaction, whose number is `txn`, has changed.
    pub(super) fn capture(&mut self, txn: Txn) -> Vec<Captured> {
        let (mut captured, mut stay) = (Vec::with_capacity(self.running.len()), Vec::new());
        self.bytes = 0;
        for index in std::mem::take(&mut self.running) {
            let Some(member) = self.all.get_mut(index as usize).and_then(Option::as_mut) else { continue };
            let Some((before, was_at, new)) = member.running.take() else { continue };
            let now = member.buf.image();
            let Some(at) = member.buf.addr() else {
                // No pointer leads to it yet.
                member.running = Some((before, was_at, new));
                stay.push(index);
                continue;
            };
            let fresh = new || was_at != Some(at) || before.len() != now.len();
            if !fresh && before[..] == now[..] {
                self.end_if_over(index);
                continue;
            }
            member.pending = Some(State { txn, image: now.clone(), at: Some(at) });
            self.pending.push(index);
            captured.push(Captured { at, before: (!fresh).then_some(before), now });
        }
        self.running = stay;
        captured
    }

    /// All that was captured is durable in the log.
    pub(super) fn stabilise(&mut self, txn: Txn) {
        for index in std::mem::take(&mut self.pending) {
            let Some(member) = self.all.get_mut(index as usize).and_then(Option::as_mut) else { continue };
            if let Some(state) = member.pending.take() {
                member.low.get_or_insert(state.txn);
                member.last = state.txn;
                member.stable = Some(state);
            }
        }
        self.gone.retain(|(_, until)| *until > txn);
    }

    /// M2: what of `buf` may leave, as its image number `image`.
    pub(super) fn leaving(&mut self, buf: &BufRef, image: ImageNo, running: Txn) -> Going {
        let Some(member) = self.of(buf) else { return Going::AsIs };
        let newer = match (&member.running, &member.pending) {
            (Some(_), _) => Some(running),
            (None, pending) => pending.as_ref().map(|state| state.txn),
        };
        let place = (buf.addr(), buf.len());
        let stable = member.stable.take_if(|state| newer.is_none() || (state.at, state.image.len()) == place);
        let (going, txn) = match (newer, stable) {
            (None, _) => (Going::AsIs, member.last),
            (Some(_), Some(state)) => (Going::Stable(state.image), state.txn),
            (Some(txn), None) => return Going::After(txn),
        };
        member.sent.push((image, txn));
        self.on_their_way += 1;
        going
    }

    /// Whether `buf` may leave as it is.
    pub(super) fn is_stable(&self, buf: &BufRef) -> bool {
        let at = (buf.slot() as usize).wrapping_sub(1);
        !matches!(self.all.get(at), Some(Some(member)) if member.running.is_some() || member.pending.is_some())
    }

    /// An image is at home.
    pub(super) fn landed(&mut self, buf: &BufRef, image: ImageNo) {
        let Some(member) = self.of(buf) else { return };
        let before = member.sent.len();
        let home = member.sent.iter().filter(|(number, _)| *number <= image).map(|(_, txn)| *txn).max();
        member.sent.retain(|(number, _)| *number > image);
        let landed = before - member.sent.len();
        if let Some(home) = home {
            let later = member.last > home;
            member.low = member.low.filter(|low| later || *low > home).map(|low| low.max(home.next()));
        }
        self.on_their_way -= landed;
        let index = buf.slot() - 1;
        self.end_if_over(index);
    }

    /// A write of `buf` failed: what left in it is not at home.
    pub(super) fn failed(&mut self, buf: &BufRef) {
        let Some(member) = self.of(buf) else { return };
        let lost = std::mem::take(&mut member.sent).len();
        self.on_their_way -= lost;
    }

    /// `buf` was thrown away by a call of the transaction `running` (M3).
    pub(super) fn discarded(&mut self, buf: &BufRef, running: Txn) {
        let Some(index) = (buf.slot() as usize).checked_sub(1) else { return };
        let Some(member) = self.all.get_mut(index).and_then(Option::take) else { return };
        if let Some(low) = member.low.or(member.pending.as_ref().map(|state| state.txn)) {
            self.gone.push((low, running));
        }
        if member.running.is_some() {
            self.bytes = self.bytes.saturating_sub(buf.len());
            self.running.retain(|joined| *joined as usize != index);
        }
        self.on_their_way -= member.sent.len();
        buf.set_slot(0);
        // A number that is still among the pending ones must not be another buf's before these are settled.
        self.pending.retain(|pending| *pending as usize != index);
        self.free.push(index as u32);
    }

    fn end_if_over(&mut self, index: u32) {
        let Some(slot) = self.all.get_mut(index as usize) else { return };
        if let Some(member) = slot.take_if(|member| member.is_over()) {
            self.on_their_way -= member.sent.len();
            member.buf.set_slot(0);
            self.free.push(index);
        }
    }

    /// The first transaction of which a home lacks something (M3).
    pub(super) fn low(&self) -> Option<Txn> {
        let homes = self
            .all
            .iter()
            .flatten()
            .filter_map(|member| member.low.or(member.pending.as_ref().map(|state| state.txn)));
        homes.chain(self.gone.iter().map(|(low, _)| *low)).min()
    }

    /// Bufs whose homes lack something of a transaction up to `upto`.
    pub(super) fn behind(&self, upto: Txn) -> Vec<BufRef> {
        let behind = self.all.iter().flatten().filter(|member| member.low.is_some_and(|low| low <= upto));
        behind.map(|member| member.buf.clone()).collect()
    }

    /// Images are on their way home.
    pub(super) fn has_sent(&self) -> bool {
        self.on_their_way > 0
    }
}
