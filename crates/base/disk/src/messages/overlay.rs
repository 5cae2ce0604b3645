//! A stream whose new messages stay in memory: for a look at a volume as its replay will leave it.

use super::stream::{Answered, Messages, StreamError, StreamLimits, StreamState};
use bytes::Bytes;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A stream over another one, which is only read.
pub struct OverlayStream {
    below: Rc<dyn Messages>,
    above: Rc<Above>,
}

/// What was published, behind the last message of the stream below; and what was purged.
#[derive(Default)]
struct Above {
    published: RefCell<Vec<Bytes>>,
    first: Cell<u64>,
}

impl OverlayStream {
    /// Begins with the contents of `below`.
    pub fn new(below: Rc<dyn Messages>) -> OverlayStream {
        OverlayStream { below, above: Rc::default() }
    }
}

impl Messages for OverlayStream {
    fn name(&self) -> String {
        self.below.name()
    }

    fn limits(&self) -> StreamLimits {
        self.below.limits()
    }

    fn state(&self) -> Answered<StreamState> {
        let (below, above) = (self.below.state(), self.above.clone());
        Box::pin(async move {
            let below = below.await?;
            let published = above.published.borrow();
            let bytes = published.iter().map(|message| message.len() as u64).sum::<u64>();
            Ok(StreamState {
                first: below.first.max(above.first.get()),
                last: below.last + published.len() as u64,
                bytes: below.bytes + bytes,
            })
        })
    }

    fn publish(&self, after: u64, _id: String, message: Bytes) -> Answered<u64> {
        let (state, above) = (self.state(), self.above.clone());
        Box::pin(async move {
            if state.await?.last != after {
                return Err(StreamError::NotNext);
            }
            above.published.borrow_mut().push(message);
            Ok(after + 1)
        })
    }

    fn read(&self, number: u64) -> Answered<Option<Bytes>> {
        let (state, read, above) = (self.below.state(), self.below.read(number), self.above.clone());
        Box::pin(async move {
            let last = state.await?.last;
            if number < above.first.get() {
                return Ok(None);
            }
            match number.checked_sub(last + 1) {
                Some(at) => Ok(usize::try_from(at).ok().and_then(|at| above.published.borrow().get(at).cloned())),
                None => read.await,
            }
        })
    }

    fn purge(&self, before: u64) -> Answered<()> {
        self.above.first.set(self.above.first.get().max(before));
        Box::pin(async { Ok(()) })
    }
}
