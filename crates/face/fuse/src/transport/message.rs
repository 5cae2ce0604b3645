//! Requests as bytes, and the buffers that they are read into.

use std::cell::RefCell;
use std::rc::Rc;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Unused buffers that are kept. Each has grown to the largest write it held, so the memory of a burst of pending
/// writes must be released.
const SPARE_BUFFERS: usize = 4;

/// Requests up to this size are copied out of the big buffer: all except large writes and attributes.
pub(super) const SMALL: usize = 1024;

/// Page-aligned memory: the kernel copies whole pages into it.
#[derive(Clone, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(4096))]
struct Page([u8; 4096]);

/// A buffer for the largest request.
pub(crate) struct Buffer(Box<[Page]>);

impl Buffer {
    fn new(size: usize) -> Buffer {
        Buffer(vec![Page([0; 4096]); size.div_ceil(4096)].into_boxed_slice())
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.0.as_mut_bytes()
    }
}

/// The free list of buffers of one size.
pub(crate) struct Pool {
    size: usize,
    spare: RefCell<Vec<Buffer>>,
}

impl Pool {
    /// Buffers of at least `size` bytes.
    pub(crate) fn new(size: usize) -> Rc<Pool> {
        Rc::new(Pool { size, spare: RefCell::default() })
    }

    pub(crate) fn take(&self) -> Buffer {
        self.spare.borrow_mut().pop().unwrap_or_else(|| Buffer::new(self.size))
    }

    pub(crate) fn give_back(&self, buffer: Buffer) {
        let mut spare = self.spare.borrow_mut();
        if spare.len() < SPARE_BUFFERS {
            spare.push(buffer);
        }
    }
}

/// One request, owned. A large one returns its buffer when it is dropped.
pub struct Message(Store);

enum Store {
    Small(Box<[u8]>),
    Large { buffer: Option<Buffer>, len: usize, pool: Rc<Pool> },
    Lent(Box<dyn AsRef<[u8]>>),
}

impl Message {
    /// The first `len` bytes of `buffer`, which comes from `pool`.
    pub(crate) fn new(buffer: Buffer, len: usize, pool: &Rc<Pool>) -> Message {
        if len > SMALL {
            return Message(Store::Large { buffer: Some(buffer), len, pool: pool.clone() });
        }
        let small = buffer.0.as_bytes()[..len].into();
        pool.give_back(buffer);
        Message(Store::Small(small))
    }

    /// A message that is a copy of `bytes`, for a transport that does not own its buffers.
    pub fn copied(bytes: &[u8]) -> Message {
        Message(Store::Small(bytes.into()))
    }

    /// A message of these bytes.
    pub(super) fn owned(bytes: Box<[u8]>) -> Message {
        Message(Store::Small(bytes))
    }

    /// A message in memory of the transport, which is given back when `bytes` is dropped.
    pub(super) fn lent(bytes: impl AsRef<[u8]> + 'static) -> Message {
        Message(Store::Lent(Box::new(bytes)))
    }

    /// The bytes, header first.
    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            Store::Small(bytes) => bytes,
            Store::Lent(lent) => (**lent).as_ref(),
            Store::Large { buffer, len, .. } => buffer.as_ref().map_or(&[], |b| &b.0.as_bytes()[..*len]),
        }
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        if let Store::Large { buffer, pool, .. } = &mut self.0
            && let Some(buffer) = buffer.take()
        {
            pool.give_back(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_messages_leave_the_buffer_and_large_ones_keep_it_until_dropped() {
        let pool = Pool::new(10_000);
        let mut buffer = pool.take();
        buffer.bytes_mut()[..3].copy_from_slice(b"abc");
        let small = Message::new(buffer, 3, &pool);
        assert_eq!((small.bytes(), pool.spare.borrow().len()), (&b"abc"[..], 1));
        let large = Message::new(pool.take(), 10_000, &pool);
        assert_eq!((large.bytes().len(), pool.spare.borrow().len()), (10_000, 0));
        drop(large);
        assert_eq!(pool.spare.borrow().len(), 1);
    }

    #[test]
    fn a_burst_of_large_messages_does_not_keep_its_memory() {
        let pool = Pool::new(4096);
        let burst: Vec<Message> = (0..50).map(|_| Message::new(pool.take(), 4096, &pool)).collect();
        drop(burst);
        assert_eq!(pool.spare.borrow().len(), SPARE_BUFFERS);
    }
}
