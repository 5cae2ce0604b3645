//! A landing, the event that soft updates waits for: a buf with its present contents is durable.

use crate::buf::{ImageNo, Progress, State};
use crate::{Buf, BufRef, Key};
use std::fmt;
use std::rc::Rc;

/// The landing of what a buf holds at some moment. It has happened once an image sent after that moment is durable:
/// bufs are only written whole, and their images land in order. A buf discarded before that never lands.
///
/// A landing does not pin its buf; the cache evicts a buf only after all of it has landed.
#[derive(Clone)]
pub struct Landing {
    progress: Rc<Progress>,
    image: ImageNo,
}

impl Landing {
    /// The landing of what `buf` holds now.
    #[inline]
    pub fn of(buf: &Buf) -> Landing {
        Landing { progress: buf.progress.clone(), image: buf.current_image() }
    }

    /// The landing of what `buf` held when it was read from the disk: it has happened.
    pub fn of_nothing_new(buf: &Buf) -> Landing {
        Landing { progress: buf.progress.clone(), image: ImageNo::default() }
    }

    /// See [`Landing::of_nothing_new`].
    pub fn is_of_nothing_new(&self) -> bool {
        self.image == ImageNo::default()
    }

    /// It has happened: what the buf held then survives a power cut.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.progress.durable.get() >= self.image
    }

    /// The same, if the change was rolled back in the images up to `held`.
    #[inline]
    pub fn is_done_after(&self, held: ImageNo) -> bool {
        self.progress.durable.get() >= self.image.max(held.next())
    }

    /// Which buf.
    pub fn key(&self) -> Key {
        self.progress.key
    }

    /// The buf, while it holds something that has not landed.
    pub fn buf(&self) -> Option<BufRef> {
        self.progress.buf.upgrade().filter(|buf| matches!(buf.state.get(), State::Clean | State::Dirty))
    }

    /// Both are of the same buf.
    #[inline]
    pub fn is_of_same(&self, other: &Landing) -> bool {
        Rc::ptr_eq(&self.progress, &other.progress)
    }

    /// The first image that holds what is waited for.
    pub fn image(&self) -> ImageNo {
        self.image
    }
}

impl fmt::Debug for Landing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "image {} of {:?}", self.image.0, self.key())
    }
}
