//! How much is being freed at this moment.

use ordo_rt::sync::Notify;
use std::cell::Cell;

/// The orphans and tickets that were taken and are not freed: neither the queue of orphans nor the scheme has them
/// then. An unmount that overlooks one marks a volume clean on which a file without a name keeps its space.
#[derive(Default)]
pub(crate) struct Freeing {
    number: Cell<u32>,
    ended: Notify,
}

impl Freeing {
    /// One is being freed, until the answer is dropped.
    pub(crate) fn begin(&self) -> Begun<'_> {
        self.number.set(self.number.get() + 1);
        Begun(self)
    }

    /// Waits until none is being freed. `true`: there was one, and it may have left more to do.
    pub(crate) async fn waited(&self) -> bool {
        let any = self.number.get() > 0;
        while self.number.get() > 0 {
            self.ended.notified().await;
        }
        any
    }
}

pub(crate) struct Begun<'a>(&'a Freeing);

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.0.number.set(self.0.number.get() - 1);
        self.0.ended.notify_all();
    }
}
