//! The data base's own cache of pages, in the process, over its files.
//!
//! P1. It never holds more pages than it may. To make room it gives up the page that was used longest ago, and writes
//!     it first if it has changed: one write of a page at its place, without an fsync.
//! P2. No page is pinned. What is used in each transaction stays because it is used.

use super::layout::{File, PageId};
use crate::error::{Result, at};
use crate::paths::{Held, Session};
use ordo_vfs::{Error, FileSystem};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

struct Frame {
    bytes: Vec<u8>,
    dirty: bool,
    /// When it was used last, in uses of any page.
    used: u64,
}

/// The cache, and the files under it.
pub(super) struct Pool<'s, 'a, F: FileSystem> {
    session: &'s Session<'a, F>,
    files: [Held<'a, F>; 4],
    /// Bytes of a page.
    page: usize,
    /// Pages that it may hold, at least one.
    most: usize,
    /// Check each page that is read.
    verify: bool,
    frames: FxHashMap<PageId, Frame>,
    /// The pages by when they were used last.
    by_use: BTreeMap<u64, PageId>,
    uses: u64,
    /// Bytes read and written so far.
    pub(super) moved: u64,
}

/// An error for a page that is not what was written there.
pub(super) fn wrong(file: File, what: String) -> crate::WorkloadError {
    at("verify", file.name())(Error::corrupt(what))
}

impl<'s, 'a, F: FileSystem> Pool<'s, 'a, F> {
    /// An empty cache of `bytes`, over `files` in the order of [`super::layout::FILES`].
    pub(super) fn new(
        session: &'s Session<'a, F>,
        files: [Held<'a, F>; 4],
        (page, bytes): (u64, u64),
        verify: bool,
    ) -> Pool<'s, 'a, F> {
        let most = usize::try_from(bytes / page).unwrap_or(usize::MAX).max(1);
        Pool {
            session,
            files,
            page: page as usize,
            most,
            verify,
            frames: FxHashMap::default(),
            by_use: BTreeMap::new(),
            uses: 0,
            moved: 0,
        }
    }

    /// The bytes of a page, to read.
    pub(super) async fn get(&mut self, id: PageId) -> Result<&[u8]> {
        Ok(&self.frame(id).await?.bytes)
    }

    /// The bytes of a page, to change.
    pub(super) async fn change(&mut self, id: PageId) -> Result<&mut [u8]> {
        let frame = self.frame(id).await?;
        frame.dirty = true;
        Ok(&mut frame.bytes)
    }

    /// The bytes of a page that neither the file nor the cache has yet, to fill.
    pub(super) async fn add(&mut self, id: PageId) -> Result<&mut [u8]> {
        self.make_room().await?;
        let bytes = vec![0; self.page];
        Ok(&mut self.insert(id, Frame { bytes, dirty: true, used: 0 }).bytes)
    }

    /// Writes a page now, if it is here and has changed. It stays.
    pub(super) async fn write(&mut self, id: PageId) -> Result<()> {
        let Some(frame) = self.frames.get_mut(&id).filter(|frame| frame.dirty) else { return Ok(()) };
        let (file, offset) = (&self.files[id.file as usize], id.no * self.page as u64);
        self.session.write_at(file, offset, &frame.bytes).await.map_err(at("write", id.file.name()))?;
        frame.dirty = false;
        self.moved += self.page as u64;
        Ok(())
    }

    /// Writes all that has changed, in the order of the files.
    pub(super) async fn write_all(&mut self) -> Result<()> {
        let mut ids: Vec<PageId> = self.frames.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            self.write(id).await?;
        }
        Ok(())
    }

    async fn frame(&mut self, id: PageId) -> Result<&mut Frame> {
        let frame = match self.frames.remove(&id) {
            Some(frame) => {
                self.by_use.remove(&frame.used);
                frame
            }
            None => {
                self.make_room().await?;
                Frame { bytes: self.read(id).await?, dirty: false, used: 0 }
            }
        };
        Ok(self.insert(id, frame))
    }

    fn insert(&mut self, id: PageId, frame: Frame) -> &mut Frame {
        self.uses += 1;
        self.by_use.insert(self.uses, id);
        let used = self.uses;
        self.frames.entry(id).insert_entry(Frame { used, ..frame }).into_mut()
    }

    /// The bytes of a page as the file has them, past the cache.
    pub(super) async fn read(&mut self, id: PageId) -> Result<Vec<u8>> {
        let (file, offset) = (&self.files[id.file as usize], id.no * self.page as u64);
        let bytes = self.session.read_at(file, offset, self.page as u32).await.map_err(at("read", id.file.name()))?;
        // The size of a file is kept where its contents are not.
        if bytes.len() != self.page || self.verify && !id.is(&bytes) {
            return Err(wrong(id.file, format!("page {} is not there, or not what was written", id.no)));
        }
        self.moved += self.page as u64;
        Ok(bytes)
    }

    async fn make_room(&mut self) -> Result<()> {
        while self.frames.len() >= self.most
            && let Some((_, oldest)) = self.by_use.first_key_value()
        {
            let oldest = *oldest;
            self.write(oldest).await?;
            self.by_use.pop_first();
            self.frames.remove(&oldest);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::FILES;
    use super::*;
    use crate::tests::Calls;
    use ordo_model::{MemFs, ready};
    use ordo_vfs::Name;

    const PAGE: usize = 1024;

    fn id(no: u64) -> PageId {
        PageId { file: File::Teller, no }
    }

    /// Runs `test` with a cache of three pages over files of six.
    fn with_three_pages(verify: bool, test: impl AsyncFnOnce(&Calls<MemFs>, &mut Pool<'_, '_, Calls<MemFs>>)) {
        let calls = Calls::of(MemFs::timeless());
        let session = Session::new(&calls);
        ready(async {
            let files = FILES.map(|file| {
                let root = ready(session.root()).unwrap();
                let held = ready(session.create(&root, Name::new(file.name().as_bytes()).unwrap())).unwrap();
                for no in 0..6 {
                    let mut page = [0; PAGE];
                    PageId { file, no }.begin(&mut page, 0);
                    ready(session.write_at(&held, no * PAGE as u64, &page)).unwrap();
                }
                held
            });
            calls.reset();
            test(&calls, &mut Pool::new(&session, files, (PAGE as u64, 3 * PAGE as u64 + 1), verify)).await;
        });
        assert_eq!(calls.fs.lookups(), 0);
    }

    #[test]
    fn the_page_used_longest_ago_makes_room_and_is_written_only_if_it_has_changed() {
        with_three_pages(true, async |calls, pool| {
            let did = || ["read", "write"].map(|call| calls.count(call));
            for no in [0, 1, 2] {
                pool.get(id(no)).await.unwrap();
            }
            pool.change(id(1)).await.unwrap()[PAGE - 1] = 7;
            pool.get(id(0)).await.unwrap();
            assert_eq!(did(), [3, 0]);
            // 2 is the oldest, and is what was read; then it is 1, which has changed.
            pool.get(id(3)).await.unwrap();
            assert_eq!(did(), [4, 0]);
            pool.get(id(4)).await.unwrap();
            assert_eq!(did(), [5, 1]);
            pool.get(id(0)).await.unwrap();
            assert_eq!(did(), [5, 1]);
            assert_eq!(pool.get(id(1)).await.unwrap()[PAGE - 1], 7);
            assert_eq!((did(), pool.frames.len(), pool.by_use.len()), ([6, 1], 3, 3));
            assert_eq!(pool.moved, 7 * PAGE as u64);
        });
    }

    #[test]
    fn a_page_is_written_once_for_all_its_changes_and_at_its_place() {
        with_three_pages(true, async |calls, pool| {
            for byte in 1..=5 {
                pool.change(id(5)).await.unwrap()[100] = byte;
            }
            id(6).begin(pool.add(id(6)).await.unwrap(), 0);
            pool.write(id(5)).await.unwrap();
            assert_eq!((calls.count("read"), calls.count("write")), (1, 1));
            pool.write_all().await.unwrap();
            pool.write_all().await.unwrap();
            assert_eq!((calls.count("read"), calls.count("write")), (1, 2));
            assert_eq!(pool.read(id(5)).await.unwrap()[100], 5);
            assert!(id(6).is(&pool.read(id(6)).await.unwrap()));
        });
    }

    #[test]
    fn a_page_beyond_the_file_is_an_error_and_a_wrong_one_if_that_is_asked() {
        for verify in [false, true] {
            with_three_pages(verify, async |_, pool| {
                assert!(pool.get(id(6)).await.is_err());
                PageId { file: File::Branch, no: 2 }.begin(pool.change(id(2)).await.unwrap(), 0);
                pool.write_all().await.unwrap();
                assert_eq!(pool.read(id(2)).await.is_err(), verify);
            });
        }
    }
}
