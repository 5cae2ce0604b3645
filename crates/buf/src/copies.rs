//! Memory for copies: a scheme that lets a block be changed while its image is on its way has both of them in memory
//! ([`WhileLeaving::Copy`]), and where nobody waits for a write there can be thousands.
//!
//! A cache has them within its bound of what is dirty or on its way. A machine whose memory is full of other things has less:
//! what it keeps for them ([`CacheOptions::spare`](crate::CacheOptions::spare)), and what the cache has given back, since
//! files were removed. There a call waits for room before it begins. It holds nothing then that another one could wait for.

use crate::{BufRef, Cache, WhileLeaving};
use disk::Written;
use std::rc::Rc;

impl Cache {
    /// An image was sent in its order, and nobody waits for it: until the device has it, it is a copy.
    pub(crate) fn copy_sent(self: &Rc<Self>, buf: &BufRef, written: Written) {
        if self.options.spare.is_none() || self.scheme().while_leaving() == WhileLeaving::Lock {
            return;
        }
        let (cache, len) = (self.clone(), buf.len());
        self.copied.set(self.copied.get() + len);
        self.rt.spawn(async move {
            // A failure is told where the write is landed.
            let _ = written.completed().await;
            cache.copied.set(cache.copied.get() - len);
            cache.progress.notify_all();
        });
    }

    /// Waits while copies take more memory than there is for them. Who came first goes first: whoever is let in makes copies
    /// again, and would leave no room to others.
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
