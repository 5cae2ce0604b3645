//! A worker in the background, beside the calls, and how it ends. What it may use is in `access`.
//!
//! The reclaim of what a crash of soft updates leaked is one (`ordo_reclaim`). The cleaner of a log-structured layout
//! will need the same: to copy what is live out of a segment it must lock the inodes that own it, find out which names
//! and links they have while no call changes either, and end before the volume is unmounted. A cleaner also waits until
//! segments run short; that wants one more answer in [`Then`].
//!
//! W1. A worker is attached before the first call, at most once. From then on, until the worker is over, every call
//!     that changes links holds the gate shared, from before its first lock to its end. So what runs in
//!     [`Access::call_alone`] sees link counts and names that belong together: within a call a count is ahead of its
//!     names (engine-ufs-1). A file system without a worker does not pay for the gate.
//! W2. A step is bounded, and calls run between two steps.
//! W3. An unmount stops the worker after its present step, before it writes anything: what the worker changes is
//!     written with the rest, and it changes nothing after the volume was marked clean.
//! W4. The gate comes before the locks of inodes, for a worker as for a call, and those in the order of engine-ufs-3.
//!     So a worker and a call never wait for each other.

use ordo_rt::sync::{Notify, RwLock};
use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;

/// What a worker does after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// Its next step, after other tasks have run.
    Again,
    /// Nothing more.
    Over,
}

/// A step that runs.
pub type Working<'a> = Pin<Box<dyn Future<Output = Then> + 'a>>;

/// What works in the background on the file system `F`. It must not hold it: the file system holds its worker.
pub trait Worker<F> {
    /// One bounded step (W2).
    fn step<'a>(&'a self, fs: Access<'a, F>) -> Working<'a>;

    /// An unmount ends it between two steps (W3): no step follows.
    fn stopped(&self, fs: Access<'_, F>);
}

/// A worker, and where it is.
pub(crate) struct Attached<F> {
    pub(crate) worker: Rc<dyn Worker<F>>,
    /// Shared by calls that change links (W1).
    pub(crate) gate: RwLock<()>,
    /// A step is running.
    pub(crate) stepping: Cell<bool>,
    pub(crate) stop: Cell<bool>,
    pub(crate) over: Cell<bool>,
    pub(crate) ended: Notify,
}

impl<F> Attached<F> {
    /// The gate, for a call that changes links.
    #[inline]
    pub(crate) fn gate(&self) -> Option<&RwLock<()>> {
        if self.over.get() { None } else { Some(&self.gate) }
    }

    pub(crate) fn end(&self) {
        self.over.set(true);
        self.ended.notify_all();
    }
}

/// The inside of a file system, for its worker.
pub struct Access<'a, F>(pub(crate) &'a F);

impl<F> Clone for Access<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Access<'_, F> {}
