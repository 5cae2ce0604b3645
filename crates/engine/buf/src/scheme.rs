//! The seam between layouts and schemes: what every scheme is asked. What only some can do is in `capability`.
//!
//! S0. The engine performs the steps of every call in an order that would be safe if each step became durable before
//!     the next one began, and it awaits the scheme's answer after each step. A scheme answers one question at each
//!     step: what must happen before the engine may go on?
//! S1. A step is reported after its change is in memory, and before the next change is made.
//! S2. The engine does not free what must not be freed yet: the step carries a [`Ticket`](crate::Ticket), and the
//!     scheme returns it when freeing is safe, in its answer or later through [`crate::Cache::ripen`].
//! S3. The engine never asks which scheme it runs under. A scheme never searches a directory, computes a block's
//!     address, or knows the layout of a bitmap.

use crate::{Answer, BufRef, Cache, Capabilities, ImageNo, Landing, Leave, Must, Op, Promises, Step};
use ordo_ondisk::Ino;
use ordo_rt::Time;
use std::rc::Rc;

/// An update-ordering scheme.
pub trait Scheme {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// Its promises.
    fn declares(&self) -> Promises;

    /// What it can do beside this trait. Asked once, by [`Cache::attach`] (capability-1); by default nothing.
    fn capabilities(self: Rc<Self>) -> Capabilities {
        Capabilities::default()
    }

    /// A call begins.
    fn begin(&self, _cache: &Rc<Cache>, _op: Op) -> Must {
        Must::Nothing
    }

    /// A step of a call has happened in memory.
    fn step(&self, cache: &Rc<Cache>, op: Op, step: Step<'_>) -> Answer;

    /// A call ends.
    fn end(&self, _cache: &Rc<Cache>, _op: Op) -> Must {
        Must::Nothing
    }

    /// A call was cancelled: its future was dropped before it finished, and the volume is read-only from now on. Must
    /// not start anything: the executor may be about to stop.
    fn cancelled(&self, cache: &Rc<Cache>, op: Op) {
        drop(self.end(cache, op));
    }

    /// The queue is about to take `buf`: returns what to write. If it is an image, its number is `image`.
    fn leaving(&self, _cache: &Rc<Cache>, _buf: &BufRef, _image: ImageNo) -> Leave {
        Leave::AsIs
    }

    /// `image` of `buf` is durable (buf-2). Must not wait; ripe tickets go to [`crate::Cache::ripen`].
    fn landed(&self, _cache: &Rc<Cache>, _buf: &BufRef, _image: ImageNo) {}

    /// A write of `buf` failed; it stays dirty.
    fn failed(&self, _buf: &BufRef) {}

    /// What an fsync of `ino` demands; `inode` is the buf with its dinode, and `news` the landing of what that must
    /// have: of all its changes, or, for an fsync of the contents only, of the last that was more than times. By
    /// default all dirty blocks of the file, and the inode if its news have not landed; a scheme may need less.
    fn fsync(&self, cache: &Rc<Cache>, ino: Ino, inode: &BufRef, news: &Landing) -> Must {
        let mut bufs = cache.unsettled_of(ino);
        bufs.extend((!news.is_done()).then(|| inode.clone()));
        let cache = cache.clone();
        Must::Wait(Box::pin(async move { cache.write_all(bufs).await }))
    }

    /// Everything must be durable: for sync, unmount, and a change to read-only.
    fn sync(&self, cache: &Rc<Cache>) -> Must {
        let cache = cache.clone();
        Must::Wait(Box::pin(async move { cache.write_everything().await }))
    }

    /// Called once a second.
    fn tick(&self, _cache: &Rc<Cache>, _now: Time) {}
}
