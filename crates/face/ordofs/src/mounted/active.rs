//! The active disk of a mounted volume: its state, and a scrub and an adoption in use.

use super::Mounted;
use super::parts::Parts;
use crate::active::{ActiveState, adopt_some, all_was_read, apart_in_all, made_durable, tails_of_group};
use crate::{Fs, OpenError};
use ordo_active::{Active, Adopted, Apart, Scrubbed, Watch};
use ordo_disk::DiskError;
use ordo_ondisk::{Cgx, Superblock};
use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::{Rc, Weak};

/// What a part of a scrub has found, and where the next one begins.
pub type ScrubbedPart = (Scrubbed, Option<u64>);
/// What a part of an adoption has done, and where the next one begins.
pub type AdoptedPart = (Adopted, Option<u64>);
type Boxed<T> = Pin<Box<dyn Future<Output = T>>>;

/// Fragments or spans that a part of a scrub reads: some seconds on the slowest disk.
const PART: usize = 256;
/// Fragments of a part of an adoption, which lie together: no more time than that.
const ADOPTED: u64 = 4096;

impl Mounted {
    pub(crate) fn active_disk(&self) -> Option<&Active> {
        self.active_disk.as_ref().map(|disk| &disk.active)
    }

    /// The state of the volume's active journal, if it is mounted with one.
    pub fn active(&self) -> Option<ActiveState> {
        self.active_watch()()
    }

    /// The same at any later moment, without keeping the file system in memory; `None` once it is gone.
    pub fn active_watch(&self) -> impl Fn() -> Option<ActiveState> + use<> {
        let active = self.active_disk().map(Active::downgrade);
        move || Some(ActiveState::mounted(&active.as_ref()?.upgrade()?))
    }

    /// Reads everything that the active journal knows, and heals it, while the volume is in use: a part at a time, the
    /// first from 0, each other from what the one before has returned, until that is `None`. The future gives `None` if
    /// the volume is mounted without an active journal, or gone. The closure does not keep the file system in memory.
    pub fn scrubber(&self) -> impl Fn(u64) -> Boxed<Option<Result<ScrubbedPart, DiskError>>> + use<> {
        let of = self.active_disk.as_ref().map(|disk| (disk.active.downgrade(), disk.parts.clone()));
        let rt = self.cache.rt().clone();
        // Where the next part of the scrub goes on that began at 0: the end of another one says nothing of the whole.
        let whole = Rc::new(Cell::new(0));
        move |from| {
            let (of, rt, whole) = (of.clone(), rt.clone(), whole.clone());
            Box::pin(async move {
                let (active, parts) = of?;
                let _one = parts.begin().await?;
                let active = active.upgrade()?;
                let some = active.scrub_some(from, PART).await;
                if let Ok((_, next)) = &some
                    && (from == 0 || from == whole.get())
                {
                    whole.set(next.unwrap_or_default());
                    if next.is_none() {
                        all_was_read(&active, rt.wall().0);
                    }
                }
                if let Ok((_, None)) = &some
                    && let Err(failed) = made_durable(&active).await
                {
                    return Some(Err(failed));
                }
                Some(some)
            })
        }
    }

    /// Takes the checksums of all that is in use and of which none is known, in the same way; those of what is taken
    /// into use meanwhile may be missing. The first parts only look where the tails of files are.
    pub fn adopter(&self) -> impl Fn(u64) -> Boxed<Option<Result<AdoptedPart, OpenError>>> + use<> {
        let adoption = self.active_disk.as_ref().map(|disk| {
            let (watch, sb, fs) = (disk.active.downgrade(), disk.sb.clone(), Rc::downgrade(&self.fs));
            Rc::new(Adoption { watch, sb, fs, tails: RefCell::default(), parts: disk.parts.clone() })
        });
        move |from| {
            let adoption = adoption.clone();
            Box::pin(async move { adoption?.part(from).await })
        }
    }
}

/// Adoptions of a mount.
struct Adoption {
    watch: Watch,
    sb: Rc<Superblock>,
    fs: Weak<Fs>,
    parts: Rc<Parts>,
    /// Of the present one; a part takes it while it runs.
    tails: RefCell<Option<Tails>>,
}

/// What is read apart, of the groups before this one.
struct Tails {
    apart: Apart,
    upto: Cgx,
    /// Something was adopted by them.
    used: bool,
}

impl Adoption {
    async fn part(&self, from: u64) -> Option<Result<AdoptedPart, OpenError>> {
        let _one = self.parts.begin().await?;
        let (active, fs) = (self.watch.upgrade()?, self.fs.upgrade()?);
        // Another adoption begins: the files have changed since.
        let known = self.tails.take().filter(|tails| from > 0 || !tails.used);
        let tails = known.unwrap_or_else(|| Tails { apart: apart_in_all(&self.sb), upto: Cgx(0), used: false });
        Some(self.part_with(&active, &fs, from, tails).await)
    }

    async fn part_with(&self, active: &Active, fs: &Fs, from: u64, mut tails: Tails) -> Result<AdoptedPart, OpenError> {
        if tails.upto.0 < self.sb.geometry().ncg {
            tails_of_group(fs, tails.upto, &mut tails.apart).await?;
            tails.upto.0 += 1;
            self.tails.replace(Some(tails));
            return Ok((Adopted::default(), Some(from)));
        }
        let some = adopt_some(active, &self.sb, &tails.apart, from, ADOPTED).await?;
        match some.1 {
            // Only a first part tells that the next one from 0 is of another adoption: of two at once each would begin
            // the other's anew.
            Some(_) => drop(self.tails.replace(Some(Tails { used: tails.used || from == 0, ..tails }))),
            None => made_durable(active).await?,
        }
        Ok(some)
    }
}
