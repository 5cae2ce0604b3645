//! The active disk of a mounted volume: its state, and a scrub in use.

use super::Mounted;
use crate::active::{ActiveState, made_durable};
use ordo_active::{Active, Scrubbed, Watch};
use ordo_disk::DiskError;
use std::pin::Pin;

/// What a part of a scrub has found, and where the next one begins.
pub type ScrubbedPart = (Scrubbed, Option<u64>);
type Boxed<T> = Pin<Box<dyn Future<Output = T>>>;

/// Fragments or spans that a part of a scrub reads: some seconds on the slowest disk.
const PART: usize = 256;

impl Mounted {
    pub(crate) fn active_disk(&self) -> Option<&Active> {
        self.active_disk.as_ref()
    }

    /// The state of the volume's active journal, if it is mounted with one.
    pub fn active(&self) -> Option<ActiveState> {
        self.active_watch()()
    }

    /// The same at any later moment, without keeping the file system in memory; `None` once it is gone.
    pub fn active_watch(&self) -> impl Fn() -> Option<ActiveState> + use<> {
        let active = self.active_disk.as_ref().map(Active::downgrade);
        move || Some(ActiveState::mounted(&active.as_ref()?.upgrade()?))
    }

    /// Reads everything that the active journal knows, and heals it, while the volume is in use: a part at a time, the
    /// first from 0, each other from what the one before has returned, until that is `None`. The future gives `None` if
    /// the volume is mounted without an active journal, or gone. The closure does not keep the file system in memory.
    pub fn scrubber(&self) -> impl Fn(u64) -> Boxed<Option<Result<ScrubbedPart, DiskError>>> + use<> {
        let active = self.active_disk.as_ref().map(Active::downgrade);
        move |from| {
            let active = active.as_ref().and_then(Watch::upgrade);
            Box::pin(async move {
                let active = active?;
                let some = active.scrub_some(from, PART).await;
                if let Ok((_, None)) = &some
                    && let Err(failed) = made_durable(&active).await
                {
                    return Some(Err(failed));
                }
                Some(some)
            })
        }
    }
}
