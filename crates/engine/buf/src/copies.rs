//! Memory for copies. A scheme that allows changes to a block while its image is in flight keeps both in memory
//! ([`WhileLeaving::Copy`]); if no call waits for writes, there can be thousands of copies.
//!
//! The limit of dirty and in-flight bytes bounds them. A machine whose memory is full has less for them: the reserve
//! ([`Policy::spare`](crate::Policy::spare)) plus the memory that the cache has released since files were removed.
//! There a call waits for room before it begins, while it holds nothing that another call could wait for.

use crate::{BufRef, Cache, WhileLeaving};
use ordo_disk::Written;
use std::rc::Rc;

impl Cache {
    /// Counts an image that was sent in its order and that no call waits for: it is a copy until the device has
    /// completed it.
    pub(crate) fn copy_sent(self: &Rc<Self>, buf: &BufRef, written: Written) {
        if self.policy.spare.is_none() || self.capabilities().while_leaving == WhileLeaving::Lock {
            return;
        }
        let (cache, len) = (self.clone(), buf.len());
        self.copied.set(self.copied.get() + len);
        self.rt.spawn(async move {
            // A failure is reported where the write lands.
            let _ = written.completed().await;
            cache.copied.set(cache.copied.get() - len);
            cache.progress.notify_all();
        });
    }

    /// Waits while copies exceed their memory. First come, first served: an admitted call makes more copies, and could
    /// starve the others.
    pub(crate) async fn room_for_copies(&self, spare: usize) {
        let _turn = self.turn.lock().await;
        let given_back = || {
            let inner = self.inner.borrow();
            inner.most_bytes - inner.bytes
        };
        while self.copied.get() > spare + given_back() {
            self.progress.notified().await;
        }
    }
}
